from __future__ import annotations

import math
from pathlib import Path

import networkx as nx
import pytest

import veilroute as vr
from veilroute.domain import checked_costs


def test_rows_are_sorted_and_cheapest_parallel_edge_is_kept() -> None:
    domain = vr.Domain.from_edges(3, [0, 0, 0, 1], [2, 1, 2, 1], [5, 1, 3, 9])
    assert domain.indptr.tolist() == [0, 2, 2, 2]
    assert domain.indices.tolist() == [1, 2]
    assert domain.costs.tolist() == [1, 3]


def test_costs_stay_integers_only_when_all_are_and_sum_below_a_limit() -> None:
    assert vr.Domain.from_edges(3, [0, 1], [1, 2], [2**45, 2**45 - 1]).has_integer_costs
    with pytest.raises(vr.InvalidInputError, match=r"2\^46"):
        vr.Domain.from_edges(3, [0, 1], [1, 2], [2**45, 2**45])
    assert vr.Domain.from_edges(2, [0], [1], [2]).has_integer_costs
    assert not vr.Domain.from_edges(2, [0], [1], [2.0]).has_integer_costs


def test_unit_cost_needs_equal_whole_positive_costs(line5: vr.Domain, ring6: vr.Domain) -> None:
    assert line5.unit_cost == 1
    assert ring6.unit_cost is None
    assert vr.Domain.from_edges(1, [], [], []).unit_cost == 1
    for cost, expected in ((0, None), (0.1, None), (3.0, 3)):
        assert vr.Domain.from_edges(2, [0, 1], [1, 0], [cost, cost]).unit_cost == expected


@pytest.mark.parametrize("cost", [math.nan, -1, math.inf, -0.5, 1e-300, 1e300])
def test_bad_costs_are_named(cost: float) -> None:
    with pytest.raises(vr.InvalidInputError, match=r"edges\[1\]\.cost: expected a finite number >= 0"):
        vr.Domain.from_edges(2, [0, 1], [1, 0], [1.0, cost])
    with pytest.raises(vr.InvalidInputError, match=r"edges\[0\]\.cost"):
        checked_costs(cost)  # as a file may have it in place of a list


def test_networkx_round_trip_keeps_labels_costs_and_positions() -> None:
    graph = nx.DiGraph()
    graph.add_node("depot", x=0, y=1)
    graph.add_node("bank", x=2, y=3)
    graph.add_edge("depot", "bank", weight=2.5)
    domain = vr.Domain.from_networkx(graph)
    assert domain.labels == ("depot", "bank")
    assert domain.coordinates is not None
    assert domain.coordinates.tolist() == [[0, 1], [2, 3]]
    back = domain.to_networkx()
    assert list(back.edges(data="weight")) == [("depot", "bank", 2.5)]


def test_hash_sees_costs_edges_and_labels() -> None:
    base = vr.Domain.from_edges(3, [0, 1], [1, 2], [1, 1])
    others = [
        vr.Domain.from_edges(3, [0, 1], [1, 2], [1, 2]),
        vr.Domain.from_edges(3, [0, 1], [1, 0], [1, 1]),
        vr.Domain.from_edges(3, [0, 1], [1, 2], [1.0, 1.0]),
        vr.Domain.from_edges(3, [0, 1], [1, 2], [1, 1], labels=["a", "b", "c"]),
        vr.Domain.from_edges(4, [0, 1], [1, 2], [1, 1]),
    ]
    assert len({domain.sha256 for domain in (base, *others)}) == 6


def test_tuples_in_tuples_survive_the_file(tmp_path: Path) -> None:
    domain = vr.Domain.from_networkx(nx.line_graph(nx.cycle_graph(6)), default_cost=1)
    names = domain.labels or ()
    problem = vr.Problem(domain, [vr.Trip(names[0], names[1])], names[2:], vr.Explicit({n: [n] for n in names}))
    playbook = vr.solve(problem, vr.Privacy(k=2))
    for embed in (True, False):
        playbook.write(tmp_path / "book.json", embed_domain=embed)
        again = vr.read_playbook(tmp_path / "book.json", domain=None if embed else domain)
        assert again.to_json() == playbook.to_json()
        assert vr.audit(again).holds
