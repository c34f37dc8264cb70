"""The front door to covering walks, on worlds that can be checked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

import veilroute as vr
from veilroute.covering import ENGINES, HEURISTICS, AStarEngine, FieldsEngine, prepare_task

WAYS = [(engine, None) for engine in ENGINES] + [("astar", name) for name in HEURISTICS]


def in_rooms(num: int, radius: float) -> vr.Problem:
    domain = vr.generate_rooms(60, 60, seed=2)
    ends = domain.label(0), domain.label(domain.num_nodes - 1)
    return vr.Problem(
        domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, num, seed=5), vr.WithinDistance(radius)
    )


@pytest.mark.parametrize(("engine", "heuristic"), WAYS)
def test_a_walk_and_a_bound_when_stopped_at_once(engine: str, heuristic: str | None) -> None:
    problem = in_rooms(12, 2)
    best = vr.cover(problem, problem.candidates)
    stopped = vr.cover(problem, problem.candidates, engine=engine, heuristic=heuristic, should_stop=lambda: True)
    assert stopped.lower_bound <= best.cost <= stopped.cost < math.inf
    # A good heuristic is done before it first looks at the clock.
    assert stopped.status == ("optimal" if stopped.cost == stopped.lower_bound else "feasible")
    assert (stopped.walk[0], stopped.walk[-1]) == (problem.trips[0].start, problem.trips[0].goal)
    alone = in_rooms(1, 0)  # the quick walk past one place is the best there is
    found = vr.cover(alone, alone.candidates, engine=engine, heuristic=heuristic, should_stop=lambda: True)
    assert (found.status, found.lower_bound) == ("optimal", found.cost)


def test_arrays_grow_with_the_search_until_they_may_not() -> None:
    problem = in_rooms(6, 8)
    best = vr.cover(problem, problem.candidates, engine="fields")
    blind = vr.cover(problem, problem.candidates, engine="astar", heuristic="blind")
    assert blind.num_generated > 2**15
    assert blind.cost == best.cost
    stopped = vr.cover(problem, problem.candidates, engine="astar", heuristic="blind", memory_bytes=10**6)
    assert stopped.status == "feasible"
    assert stopped.lower_bound < best.cost <= stopped.cost
    tiny = AStarEngine(prepare_task(problem), "tour", state_bytes=1)
    assert tiny.find(range(6)).status in ("feasible", "optimal")
    field = vr.grid_domain(["." * 80] * 80)
    last = vr.Problem(field, [vr.Trip((0, 0), (79, 79))], [(79, 78)])
    found = vr.cover(last, last.candidates, engine="astar", heuristic="blind")
    assert found.num_expanded <= field.num_nodes + 2, "no state twice: it is still known after the arrays have grown"
    # Each node makes the way to all later ones cheaper, and waits on the open list again; the states are few.
    edges = [(i, j, 1 if j == i + 1 else 1000 - 2 * i) for j in range(110) for i in range(j)]
    many = vr.Problem(vr.Domain.from_edges(110, *zip(*edges, strict=True)), [vr.Trip(0, 109)], [108])
    for memory_bytes, num_expanded in ((1, range(1, 100)), (10**6, range(109, 111))):
        looks = iter(range(100))
        found = vr.cover(
            many, [108], engine="astar", heuristic="blind", memory_bytes=memory_bytes,
            should_stop=lambda looks=looks: next(looks, None) is None,  # type: ignore[misc]
        )  # fmt: skip
        assert found.num_expanded in num_expanded and next(looks, 100) < 10


def test_sweeps_are_counted_by_the_search_that_made_them() -> None:
    task = prepare_task(in_rooms(6, 2))
    for engine in (AStarEngine(task, "tour"), FieldsEngine(task)):
        first, again = (engine.find(range(6)).counts.num_sweeps for _ in range(2))
        assert 0 <= again < first, "what they have found is kept"


def test_auto_goes_on_with_fields_and_keeps_to_what_both_have_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states of the first search take too much memory; fields may be stopped at any time, or have no room."""
    problem = in_rooms(8, 8)
    best = vr.cover(problem, problem.candidates, engine="fields")
    found = []
    for num_looks in (0, 17, 18, 19, 20, 21, 22, 10**9):
        left = iter(range(num_looks))
        found.append(
            vr.cover(
                problem, problem.candidates, engine="auto", memory_bytes=1,
                should_stop=lambda left=left: next(left, None) is None,  # type: ignore[misc]
            )
        )  # fmt: skip
        assert found[-1].lower_bound <= best.cost <= found[-1].cost
        assert (found[-1].status == "optimal") == (found[-1].lower_bound == found[-1].cost)
    assert (found[-1].cost, found[-1].status) == (best.cost, "optimal")
    first = vr.cover(problem, problem.candidates, engine="astar", memory_bytes=1)
    assert first.num_expanded and first.status == "feasible"
    assert any(each.status == "feasible" and each.num_sweeps > first.num_sweeps for each in found), "of the second"
    assert min(first.num_sweeps, *(each.num_sweeps for each in found)) >= 0
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    alone = vr.cover(problem, problem.candidates, engine="auto", memory_bytes=1)
    assert (alone.status, alone.walk[-1]) == ("feasible", problem.trips[0].goal)


def test_costs_that_a_walk_could_not_add_up_exactly() -> None:
    with pytest.raises(vr.InvalidInputError, match=r"edges.cost: expected integers whose sum stays below 2\^46"):
        vr.Domain.from_edges(2, [0, 1], [1, 0], [2**46, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "magic"}, "engine: expected one of auto, astar, fields, got 'magic'"),
        ({"engine": "astar", "heuristic": "magic"}, "heuristic: expected one of blind, tunnel"),
        ({"engine": "fields", "heuristic": "tunnel"}, "heuristic: expected none but with the engine astar"),
        ({"trip": 1}, "trip: expected an index from 0 to 0, got 1"),
        ({"cost_bound": -1}, "cost_bound: expected a number >= 0, got -1"),
        ({"time_limit_s": "soon"}, "time_limit_s: expected"),
        ({"memory_bytes": 1e6}, "memory_bytes: expected a whole number of bytes"),
        ({"engine": "astar", "heuristic": []}, "heuristic: expected"),
        ({"time_limit_s": 0}, "time_limit_s: expected a number of seconds > 0"),
    ],
)
def test_bad_options(line5: vr.Domain, options: dict[str, Any], message: str) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2])
    with pytest.raises(vr.InvalidInputError) as caught:
        vr.cover(problem, [1], **options)
    assert str(caught.value).startswith(message)


def test_bad_members(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2])
    for members, message in (
        ([1, 3], "members[1]: expected a candidate of the problem"),
        ([9], "members[0]: expected a candidate of the problem"),
        ([{}], "members[0]: expected a candidate of the problem"),
        (5, "members: expected several candidates of the problem, got 'int'"),
        ("12", "members: expected several candidates of the problem, got 'str'"),
    ):
        with pytest.raises(vr.InvalidInputError) as caught:
            vr.cover(problem, members)  # type: ignore[arg-type]
        assert str(caught.value) == message
    with pytest.raises(vr.InvalidInputError, match="problem: expected a Problem, got 'str'"):
        vr.cover("line5.json", [1])  # type: ignore[arg-type]


def test_too_many_members() -> None:
    line = vr.Domain.from_edges(40, range(39), range(1, 40), [1] * 39)
    for engine, heuristic, most in (("fields", None, 20), ("astar", "tour", 20), ("astar", "tunnel", 31)):
        problem = vr.Problem(line, [vr.Trip(0, 39)], range(1, most + 2))
        with pytest.raises(vr.InvalidInputError, match=f"members: expected at most {most}"):
            vr.cover(problem, problem.candidates, engine=engine, heuristic=heuristic)
    assert vr.cover(problem, range(1, 32), engine="astar", heuristic="tunnel").cost == 39
