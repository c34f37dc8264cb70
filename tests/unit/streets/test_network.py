from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import veilroute as vr
from osm_files import Row, on_grid, pack_ways
from veilroute.streets import Vehicle, build_network

STEP_M = 111.195
ROAD = {"highway": "residential", "maxspeed": "36"}

TOWN: list[Row] = [
    (1, [11, 12, 13], ROAD | {"name": "First"}),
    (2, [13, 14], ROAD | {"name": "Second"}),
    (3, [13, 23, 33], ROAD | {"name": "Third", "oneway": "yes"}),
]
"""A street to the east with a one-way street to the north in its middle."""

PLACES = on_grid(11, 12, 13, 14, 23, 33)


def edges_of(network: vr.StreetNetwork | vr.Domain) -> dict[tuple[object, object], float]:
    domain = network if isinstance(network, vr.Domain) else network.domain
    tails, heads, costs = domain.edge_arrays()
    return {
        (domain.label(t), domain.label(h)): c for t, h, c in zip(tails.tolist(), heads.tolist(), costs, strict=True)
    }


def test_a_town_becomes_junctions_and_edges() -> None:
    """Seconds are metres over the limit of 10 m/s."""
    for cost, per_metre in (("metres", 1), ("seconds", 0.1)):
        domain = build_network(pack_ways(TOWN, PLACES), cost=cost).domain
        edges, streets = edges_of(domain), domain.streets
        assert domain.labels == (11, 13, 14, 33) and streets is not None
        steps = {(11, 13): 2, (13, 11): 2, (13, 14): 1, (13, 33): 2, (14, 13): 1}
        assert edges == {pair: pytest.approx(num * STEP_M * per_metre, abs=0.1) for pair, num in steps.items()}
        assert streets.lengths.tolist() == pytest.approx([num * STEP_M for num in steps.values()], abs=0.1)
        assert streets.unit == cost and "OpenStreetMap" in streets.attribution
        assert domain.costs.tolist() == np.round(domain.costs, 3).tolist()


def test_ways_with_missing_nodes_have_gaps() -> None:
    rows: list[Row] = [(1, [11, 12, 99, 14, 15], ROAD), (2, [98, 99], ROAD), (3, [11, 97], ROAD), (4, [15, 15], ROAD)]
    network = build_network(pack_ways(rows, on_grid(11, 12, 14, 15)))
    assert sorted(edges_of(network)) == [(11, 12), (12, 11), (14, 15), (15, 14)]
    assert (network.report.num_ways_cut, network.report.num_ways_lost) == (1, 2), "the fourth lacks no node"
    assert network.report.num_ways_kept == 1


def test_loops_rings_and_parallel_edges_are_parted() -> None:
    rows: list[Row] = [
        (1, [11, 12], ROAD),
        (2, [12, 22, 23, 12], ROAD | {"oneway": "yes"}),
        (3, [11, 21, 31, 12], ROAD | {"oneway": "yes"}),
        (4, [51, 52, 62, 51], ROAD | {"oneway": "yes"}),
    ]
    network = build_network(pack_ways(rows, on_grid(11, 12, 21, 22, 23, 31, 51, 52, 62)), cost="metres")
    report = network.report
    ring = [(12, 22), (22, 23), (23, 12), (51, 52), (52, 62), (62, 51)]
    assert sorted(edges_of(network)) == sorted([(11, 12), (12, 11), (11, 21), (21, 12), *ring])
    assert edges_of(network)[21, 12] == pytest.approx((1 + 5**0.5) * STEP_M, abs=0.1)
    assert (report.num_nodes_multi, report.num_edges_multi) == (3, 5)
    assert (report.num_loops, report.num_parallel, report.num_nodes_alone, report.num_nodes_between) == (0, 0, 0, 5)
    assert report.metres == pytest.approx(report.metres_multi)


def test_the_largest_component_on_request() -> None:
    rows: list[Row] = [
        (1, [11, 12], ROAD),
        (2, [12, 13], ROAD),
        (3, [12, 22], ROAD),
        (4, [13, 14], ROAD | {"oneway": "yes"}),
        (5, [51, 52], ROAD),
    ]
    ways = pack_ways(rows, on_grid(11, 12, 13, 14, 22, 51, 52))
    whole, part = build_network(ways), build_network(ways, connected=True, u_turns="allow")
    assert whole.domain.labels == (11, 12, 13, 14, 22, 51, 52)
    assert part.domain.labels == (11, 12, 13, 22)
    assert part.domain.num_edges == 6
    assert (part.report.num_nodes_apart, part.report.num_edges_apart) == (3, 3)
    assert (whole.report.num_nodes_apart, whole.report.num_edges_apart) == (0, 0)
    legal = build_network(ways, connected=True)
    assert legal.domain.labels == (11, 12, 22), "at 13 one can only go on, and never comes back"
    assert (legal.report.num_nodes_apart, legal.report.num_nodes_illegal, legal.report.num_edges_apart) == (3, 1, 5)


@pytest.mark.parametrize(
    ("rows", "options", "word"),
    [
        ([(1, [11, 12], {"highway": "footway"})], {}, "drive along"),
        ([(1, [11, 12], ROAD | {"oneway": "yes"})], {"connected": True}, "from one junction to another"),
        ([(1, [11, 12], ROAD)], {"connected": True, "u_turns": "never"}, "legal turns"),
        (TOWN, {"u_turns": "often"}, "^u_turns: .*'often'"),
        (TOWN, {"u_turn_cost": -1}, "^u_turn_cost: .*-1"),
        (TOWN, {"u_turn_cost": 9.0, "cost": "metres"}, "^u_turn_cost: .*seconds"),
        (TOWN, {"u_turn_cost": 9.0, "u_turns": "never"}, "^u_turn_cost: .*dead-ends or allow"),
        (TOWN, {"vehicle": Vehicle(height=4)}, "truck, got 'drive'"),
        (TOWN, {"network": "fly"}, "^network: .*'fly'"),
        (TOWN, {"cost": "hours"}, "^cost: .*'hours'"),
    ],
)
def test_what_is_no_network(rows: list[Row], options: dict[str, object], word: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=word):
        build_network(pack_ways(rows, PLACES), **options)  # type: ignore[arg-type]


def test_the_order_of_ways_does_not_matter() -> None:
    domains = [build_network(pack_ways(rows, PLACES)).domain for rows in (TOWN, TOWN[::-1], TOWN[1:] + TOWN[:1])]
    assert len({domain.sha256 for domain in domains}) == 1
    assert len({repr((d.streets.names, d.streets.shape.tolist())) for d in domains if d.streets is not None}) == 1


# --- what the report counts

MIXED: list[Row] = [
    (1, [11, 12, 13], {"highway": "residential", "maxspeed": "30"}),
    (2, [13, 14, 15], {"highway": "primary", "oneway": "yes"}),
    (3, [13, 23], {"highway": "footway"}),
    (4, [23, 33], {"highway": "footway"}),
    (5, [11, 21], {"highway": "service"}),
    (6, [12, 22], {"highway": "residential", "access": "private"}),
    (7, [15, 99], {"highway": "residential"}),
    (8, [15, 98], {"highway": "residential", "oneway": "yes"}),
    (9, [13, 23, 22, 13], {"highway": "residential", "oneway": "yes"}),
]


def report_of(**options: bool | str) -> vr.NetworkReport:
    ways = pack_ways(MIXED, on_grid(11, 12, 13, 14, 15, 21, 22, 23, 33))
    barriers = {number: {"barrier": "bollard"} for number in (11, 14, 23, 99)} | {12: {"barrier": "gate"}}
    return build_network(replace(ways, num_read=20, barriers=barriers), **options).report  # type: ignore[arg-type]


def test_counts() -> None:
    report = report_of()
    # Two stretches of seven have a limit; the diagonal of the loop is as long as the square root of two.
    whole = 6 + 2**0.5
    expected = {
        "num_ways_read": 20, "num_highways": 9, "num_ways_kept": 3, "kept": (("residential", 2), ("primary", 1)),
        "dropped": (("highway=footway", 2), ("access=private", 1), ("highway=service", 1)), "num_ways_cut": 0,
        "num_ways_lost": 2, "num_raw_nodes": 7, "num_raw_segments": 9, "num_nodes": 7, "num_edges": 6, "num_loops": 0,
        "num_nodes_between": 0,
        "num_barriers": 2,  # 11 is a dead end, 99 is not here, and a gate may be open
        "stated_share": pytest.approx(2 / whole, abs=1e-3), "one_way_share": pytest.approx(1 - 2 / whole, abs=1e-3),
        "street_m": pytest.approx(111.195 * whole, rel=1e-4),
    }  # fmt: skip
    assert {name: getattr(report, name) for name in expected} == expected
    assert json.loads(json.dumps(report.to_dict()))["dropped"][0] == ["highway=footway", 2]
    walking = report_of(network="walk", connected=True)
    assert [walking.num_barriers, walking.stated_share, walking.one_way_share] == [0, None, 0]
    assert report_of(service=True).dropped == (("highway=footway", 2), ("access=private", 1))
