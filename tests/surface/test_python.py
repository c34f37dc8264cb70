"""The doors for Python: what `import veilroute as vr` shows, requests and files in, figures out."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veilroute as vr
from plain_turns import cheapest, is_legal, neighbours
from veilroute.app import PlanResult
from veilroute.domain import Turns, street_domain, with_rules
from veilroute.planners import PLANNERS, Parameters, Partitioner

EVERYBODY = [(0, 1), (2, 1), (0, 5), (2, 5), (2, 6), (0, 6)]


@pytest.fixture
def problem(two_rooms: vr.Domain) -> vr.Problem:
    return vr.Problem(two_rooms, [vr.Trip((1, 0), (1, 6))], EVERYBODY)


@pytest.fixture
def book(problem: vr.Problem) -> vr.Playbook:
    return vr.solve(problem, vr.Privacy(k=2))


@pytest.fixture
def instance(problem: vr.Problem, tmp_path: Path) -> Path:
    path = tmp_path / "rooms.json"
    vr.write_instance(vr.Instance(problem, vr.Privacy(k=2)), path)
    return path


# What the package shows.


def test_the_top_shows_what_most_need_and_rooms_the_rest() -> None:
    assert len(vr.__all__) <= 36
    assert not [name for name in dir(vr) if not hasattr(vr, name)]
    assert {"plan", "check", "audit", "export", "fleet", "ledger", "bench"} <= set(dir(vr))
    assert not {"Van", "Stand", "Cut", "new_ledger"} & set(dir(vr))
    assert vr.fleet.Van is vr.Van and vr.ledger.new_ledger is vr.new_ledger and callable(vr.bench.run_cells)
    assert {"Van", "dispatch"} <= set(vr.fleet.__all__) and "new_ledger" in vr.ledger.__all__
    with pytest.raises(AttributeError):
        vr.strolls  # noqa: B018


# Requests and files.


def test_plan_does_what_solve_does(problem: vr.Problem, instance: Path, tmp_path: Path) -> None:
    three = vr.solve(problem, vr.Privacy(k=3)).to_json()
    told: list[str] = []
    found = vr.plan(instance, k=3, progress=lambda progress: told.append(progress.stage))
    assert isinstance(found, PlanResult) and found.playbook.to_json() == three and told
    assert found.warnings == () and found.places == {}
    (tmp_path / "trip.toml").write_text('map = "rooms.json"\n[privacy]\nk = 2\n')
    assert vr.plan(str(tmp_path / "trip.toml"), k=3).playbook.to_json() == three
    asked = vr.PlanRequest(problem=vr.app.ProblemSpec(map=instance), privacy=vr.app.PrivacySpec(k=3))
    assert vr.plan(asked).playbook.to_json() == three == vr.plan(map=instance, k=3).playbook.to_json()


def test_audit_and_export_take_a_playbook_or_its_path(book: vr.Playbook, tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    book.write(path)
    assert vr.audit(path).to_dict() == vr.audit(book).to_dict() and vr.audit(str(path)).holds
    for name in ("out.svg", "out.csv", "out.html"):
        books: tuple[vr.Playbook | Path, ...] = (book, path)
        written = [vr.export(each, tmp_path / f"{i}{name}").read_bytes() for i, each in enumerate(books)]
        assert written[0] == written[1]
    with pytest.raises(vr.UnknownMethodError, match="out: expected one of"):
        vr.export(book, tmp_path / "out.doc")


# Playbooks as figures.


def test_playbooks_are_equal_by_what_they_say(problem: vr.Problem, book: vr.Playbook, tmp_path: Path) -> None:
    again = vr.solve(problem, vr.Privacy(k=2))
    assert again is not book and again == book and hash(again) == hash(book) and len({again, book}) == 1
    book.write(tmp_path / "book.json", embed_domain=False)
    assert vr.read_playbook(tmp_path / "book.json") == book == pickle.loads(pickle.dumps(book))
    assert vr.solve(problem, vr.Privacy(k=3)) != book and replace(book, status="feasible") != book
    assert book != "book" and replace(book, stats=vr.model.PlanStats()) == book


def test_stats_are_measured_and_in_no_file(book: vr.Playbook, instance: Path, tmp_path: Path) -> None:
    for found in (book, vr.plan(instance).playbook, vr.solve(book.problem, planner="pbp", partitioner="merge-bb")):
        stats = found.stats
        assert stats.runtime_s is not None and 0 <= stats.runtime_s < 60 and stats.cpu_s is not None
    assert stats.num_expansions
    book.write(tmp_path / "book.json")
    assert b"runtime" not in (tmp_path / "book.json").read_bytes()
    assert vr.read_playbook(tmp_path / "book.json").stats == vr.model.PlanStats()


def test_rows_are_flat_and_sum_up(problem: vr.Problem, book: vr.Playbook) -> None:
    trips = [*problem.trips, vr.Trip((1, 6), (0, 0), 3.0)]
    several = vr.solve(replace(problem, trips=trips), vr.Privacy(k=2))
    for found in (book, several, vr.solve(problem, vr.Privacy(k=3, m=2)), vr.solve(problem, vr.Privacy(k=5))):
        rows = found.rows()
        assert len(rows) == len(found.classes) and all(set(row) == set(rows[0]) for row in rows)
        assert not [v for row in rows for v in row.values() if not isinstance(v, str | int | float | bool | None)]
        hidden = [row for row in rows if row["anonymized"]]
        assert [row["class"] for row in hidden] == [*range(1, len(hidden) + 1)]
        assert sum(row["size"] for row in hidden) == found.num_anonymized
        assert sum(row["size"] * row["extra"] for row in hidden) == pytest.approx(found.total_extra)
    assert book.rows()[0]["members"].split("; ")[0] == "0,1"
    assert (book.num_candidates, book.num_coverable, book.worst_extra) == (6, 6, book.claims.worst_extra)
    alone = replace(book, domain=None)
    assert [row["extra"] for row in alone.rows()] == [None] * len(book.classes)
    mixed = vr.solve(problem, vr.Privacy(k=2, mechanism="randomised"))
    assert sum(row["share"] for row in mixed.rows()) == pytest.approx(mixed.claims.hidden_mass)


def test_reprs_are_short_and_hold_no_candidate(book: vr.Playbook, instance: Path) -> None:
    report, found = vr.audit(book), vr.frontier(book.problem, [vr.Privacy(k=2)])
    group, cover = book.classes[0], vr.cover(book.problem, [])
    whole = (book, book.problem, book.domain, report, found, group, group.routes[0], cover, vr.plan(instance))
    for shown in map(repr, whole):
        assert shown.startswith("<") and "\n" not in shown and len(shown) < 160
        assert not [label for label in EVERYBODY if str(label) in shown or f"{label[0]},{label[1]}" in shown]
    assert repr(group) == "<PlaybookClass: 2 members, anonymized>" and repr(found) == "<Frontier: 1 point>"
    assert repr(report).startswith("<AuditReport: holds, ") and "1 trip, 6 candidates" in repr(book.problem)


def test_a_playbook_draws_itself(book: vr.Playbook) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert book.plot(axes) is axes and axes.has_data() and book.plot(trip=0) is not axes
    with pytest.raises(vr.InvalidInputError):
        book.plot(axes, trip=3)


# Graphs.

Edges = dict[tuple[int, int], float]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    num = draw(st.integers(1, 7))
    ends = st.tuples(st.integers(0, num - 1), st.integers(0, num - 1)).filter(lambda pair: pair[0] != pair[1])
    costs = st.integers(0, 4) | st.floats(0, 3).map(lambda cost: round(cost, 3))
    return num, draw(st.dictionaries(ends, costs, max_size=20)) if num > 1 else {}


@given(graphs(), st.randoms(use_true_random=False))
def test_distances_are_those_of_networkx(made: tuple[int, Edges], rng: Random) -> None:
    num, edges = made
    names = [f"n{node}" for node in range(num)]
    tails, heads = ([pair[i] for pair in edges] for i in range(2))
    domain = vr.Domain.from_edges(num, tails, heads, list(edges.values()), labels=names)
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((names[a], names[b], cost) for (a, b), cost in edges.items())
    a, b = rng.choice(names), rng.choice(names)
    path = domain.shortest_path(a, b)
    if nx.has_path(graph, a, b):
        expected = nx.shortest_path_length(graph, a, b, weight="weight")
        assert domain.distance(a, b) == pytest.approx(expected) and (path[0], path[-1]) == (a, b)
        assert nx.path_weight(graph, path, "weight") == pytest.approx(expected)
    else:
        assert domain.distance(a, b) == float("inf") and path == []
    assert dict(domain.neighbours(a)) == {head: data["weight"] for head, data in graph[a].items()}


@given(graphs(), st.randoms(use_true_random=False), st.sampled_from(["never", "dead-ends", "allow"]))
def test_shortest_paths_are_legal(made: tuple[int, Edges], rng: Random, u_turns: str) -> None:
    num, edges = made
    whole = [(a, b, float(cost)) for (a, b), cost in edges.items()]
    out = neighbours(whole)
    stretches = [walk for walk in (_wander(rng, out, rng.choice([*out])) for _ in range(4) if out) if len(walk) > 2]
    turns = Turns.of(u_turns, stretches, 0.5 if u_turns == "allow" else 0.0)
    tails, heads, costs = ([each[i] for each in whole] for i in range(3))
    plain = vr.Domain.from_edges(num, tails, heads, costs)
    domain = with_rules(plain, turns)
    a, b = rng.randrange(num), rng.randrange(num)
    path, least = domain.shortest_path(a, b), cheapest(whole, turns, a, b, [])
    if path:
        walk = [int(str(node)) for node in path]
        assert is_legal(walk, out, turns) and (walk[0], walk[-1]) == (a, b)
        rounds = sum(walk[i] == walk[i + 2] for i in range(len(walk) - 2))
        price = sum(edges[pair] for pair in pairwise(walk)) + turns.u_turn_cost * rounds
        assert price == pytest.approx(least)
    else:
        assert least == float("inf")
    assert domain.distance(a, b) == plain.distance(a, b), "rules for turns are not for distances"


def _wander(rng: Random, out: dict[int, list[int]], node: int) -> list[int]:
    walk = [node]
    while len(walk) < rng.randint(3, 4) and out.get(walk[-1]):
        walk.append(rng.choice(out[walk[-1]]))
    return walk


def test_distances_in_metres() -> None:
    lonlat = [(24.0, 60.0), (24.01, 60.0), (24.02, 60.0)]
    town = street_domain(
        tails=[0, 1], heads=[1, 2], costs=[9.0, 8.0], lonlat=lonlat, lengths=[600.0, 700.0], unit="seconds"
    )
    assert (town.distance(0, 2), town.distance(0, 2, "driving")) == (17, 1300)
    assert (town.distance(2, 0), town.distance(2, 0, "walking")) == (float("inf"), 1300)
    assert town.distance(0, 2, "straight") == pytest.approx(1112, rel=0.01)
    for wrong in ("feet", 3):
        with pytest.raises(vr.InvalidInputError):
            town.distance(0, 2, wrong)  # type: ignore[arg-type]
    with pytest.raises(vr.InvalidInputError, match="source"):
        town.distance(9, 2)
    with pytest.raises(vr.InvalidInputError, match="only street networks"):
        vr.grid_domain(["..."]).distance((0, 0), (0, 1), "driving")


def test_visibility_as_a_function(two_rooms: vr.Domain, problem: vr.Problem) -> None:
    def near(cell: Any) -> list[Any]:
        return [cell, *(other for other, _ in two_rooms.neighbours(cell))]

    sees = vr.Explicit.of(two_rooms, near)
    radius = vr.WithinDistance(1)
    books = [vr.solve(replace(problem, visibility=each), vr.Privacy(k=2)) for each in (sees, radius)]
    assert books[0].mac == books[1].mac and books[0].visibility == sees and vr.audit(books[0]).holds
    assert vr.Explicit.of(two_rooms, lambda cell: set(near(cell))) == sees, "in no order of sets"
    assert vr.Explicit.of(two_rooms, lambda cell: ()) == vr.Explicit()
    with pytest.raises(vr.InvalidInputError, match=r"visibility\.sees"):
        vr.Explicit.of(two_rooms, lambda cell: [(9, 9)])


@pytest.mark.parametrize("ratio", [0, 0.1, 0.3, 0.5, 1, 5.0, 10])
def test_m_as_in_the_paper(problem: vr.Problem, ratio: float) -> None:
    num_nodes = len(problem.domain.shortest_path((1, 0), (1, 6)))
    assert vr.m_of_ratio(problem, ratio) == max(1, round(ratio * num_nodes))


# Planners as objects.


def test_planners_as_objects_are_planners_by_name(problem: vr.Problem, instance: Path) -> None:
    here = vr.planners
    pairs: list[tuple[Parameters, dict[str, Any]]] = [
        (here.MergeBB(merge_order="random"), {"partitioner": "merge-bb", "merge_order": "random"}),
        (
            here.Pbp(partitioner=here.DfBB(branch_order="join-first")),
            {"partitioner": "df-bb", "branch_order": "join-first"},
        ),
        (here.Pbp(partitioner="naive"), {"partitioner": "naive"}),
        (here.LocalSearch(), {"partitioner": "local-search"}),
        (here.Pbp(), {}),
    ]
    for made, options in pairs:
        expected = vr.solve(problem, vr.Privacy(k=2), planner="pbp", **options)
        assert vr.solve(problem, vr.Privacy(k=2), planner=made).to_json() == expected.to_json()
        assert vr.plan(instance, planner=made).playbook.to_json() == expected.to_json()
    short = vr.Privacy(k=2, m=2)
    for made in (here.Cbp(centre="sum"), here.MPbp(partitioner=here.LocalSearch()), here.Rbp()):
        expected = vr.solve(problem, short, planner=made.planner, **made.options())
        assert vr.solve(problem, short, planner=made) == expected
    assert vr.solve(problem, planner=here.Reuse(partition=[EVERYBODY])).planner == "reuse"
    with pytest.raises(vr.InvalidInputError, match=r"merge_order: .* within MergeBB"):
        vr.solve(problem, planner=here.MergeBB(merge_order="random"), merge_order="random")


def kinds(base: type[Parameters]) -> list[type[Parameters]]:
    below = [kind for each in base.__subclasses__() for kind in (each, *kinds(each))]
    return list(dict.fromkeys(below))


def test_every_planner_and_option_is_an_object() -> None:
    """And the objects have no other options."""
    named = {kind.planner: kind for kind in kinds(Parameters) if not issubclass(kind, Partitioner)}
    assert set(named) == set(PLANNERS)
    for name in ("cbp", "rbp", "reuse", "fleet", "optimal", "constructive"):
        assert {each.name for each in fields(named[name])} == set(PLANNERS[name].options)
    own = {kind.partitioner: kind for kind in kinds(Partitioner) if hasattr(kind, "partitioner")}
    assert set(own) == set(vr.partition.PARTITIONERS)
    for name, kind in own.items():
        assert {each.name for each in fields(kind)} == set(vr.partition.PARTITIONERS[name].options)
