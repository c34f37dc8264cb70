"""What privacy costs: shared work changes nothing, points are plans, and the answer for a budget.

What the command writes for programs is held by tests/golden.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused

TRIP = ("--start", "1,18", "--goal", "32,60", "--random-candidates", "6")


def small(num: int = 7, radius: float = 0, *, streets: bool = False) -> vr.Problem:
    domain = vr.generate_streets(8, 9, seed=4) if streets else vr.generate_rooms(20, 30, seed=3)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, num, seed=2)
    return vr.Problem(domain, [vr.Trip(start, goal)], candidates, vr.WithinDistance(radius))


def point(k: int, longer: float | None, *, hidden: int = 8, ell: float = 1, m: int | None = None) -> vr.FrontierPoint:
    return vr.FrontierPoint(vr.Privacy(k=k, ell=ell, m=m), "optimal", longer, longer, 1.0, 1.0, hidden, 8, hidden / 8)


@pytest.mark.parametrize(("num", "radius", "streets"), [(7, 0, False), (7, 3, False), (20, 2, False), (9, 150, True)])
def test_shared_work_changes_nothing_and_points_are_plans(num: int, radius: float, streets: bool) -> None:
    problem = small(num, radius, streets=streets)
    far = 200 if streets else 6
    wanted = [
        *(vr.Privacy(k=k, ell=ell) for k in (3, 2) for ell in (far, 1)),
        vr.Privacy(k=2, ell=1, mechanism="randomised"),
        *(vr.Privacy(risk=0.4, mechanism=mechanism) for mechanism in ("partition", "randomised")),
        vr.Privacy(k=2, m=9),
        vr.Privacy(k=2, m=14, ell=far),
    ]
    shared, books = problem.sharing_work(), [vr.solve(problem, privacy) for privacy in wanted]
    for privacy, book in zip(wanted, books, strict=True):
        assert vr.solve(shared, privacy).to_json() == book.to_json(), privacy
    seen: list[vr.Progress] = []
    for book, one in zip(books, vr.frontier(problem, wanted, progress=seen.append).points, strict=True):
        assert (one.privacy, one.status, one.mac) == (book.privacy, book.status, book.mac)
        assert (one.total_extra, one.worst_extra) == (book.claims.total_extra, book.claims.worst_extra)
    assert {report.total for report in seen} == {len(wanted)} and {report.done for report in seen} <= set(range(9))


def test_stopping_keeps_the_points_so_far() -> None:
    seen: list[vr.Progress] = []
    wanted = [vr.Privacy(k=k) for k in (2, 3, 4)]

    def is_stopped() -> bool:
        return any(report.done == 1 for report in seen)

    found = vr.frontier(small(), wanted, progress=seen.append, should_stop=is_stopped)
    assert [one.privacy.k for one in found.points] == [2, 3]
    assert [one.status for one in vr.frontier(small(), [vr.Privacy(k=9)]).points] == ["infeasible"]
    with pytest.raises(vr.InvalidInputError):
        vr.frontier(small(), [])


def test_the_most_private_within_a_budget() -> None:
    cheap, costly, near, short, partial, nothing = (
        point(2, 0.1, ell=5), point(3, 0.3), point(2, 0.05), point(2, 0.01, ell=5, m=9), point(5, 0.1, hidden=4),
        point(6, None, hidden=0),
    )  # fmt: skip
    found = vr.Frontier((nothing, partial, short, near, costly, cheap))
    assert [found.best_within(budget) for budget in (0.3, 0.2, 0.05, 0.001)] == [costly, cheap, short, None]
    assert vr.Frontier((nothing, partial, costly)).best_within(0.2) is partial
    assert all(words in found.answer(0.2) for words in ("20%", "2 places", "10.0%"))
    assert "1.0%" in found.answer(0.001)
    with pytest.raises(vr.InvalidInputError, match="budget"):
        found.best_within(-1)


def test_the_usual_values_and_the_playbooks_of_the_points(command: Command, building: Path) -> None:
    trip = (*TRIP[:4], "--random-candidates", 3)
    data = json.loads(command("frontier", building, *trip, "--mechanism", "partition", "--m", "9,inf", "--json").out)
    assert [(each["k"], each["m"]) for each in data["points"]] == [(2, 9), (3, 9), (2, None), (3, None)]
    ask = ("frontier", building, *TRIP, "--k", "2,3", "--ell", "1,1000", "--mechanism", "partition", "--json")
    found = json.loads(command(*ask, "--playbooks", "points").out)
    assert [number for number, one in enumerate(found["points"]) if one["num_anonymized"]] == [0, 1]
    assert sorted(path.name for path in Path("points").iterdir()) == ["playbook-0.json", "playbook-1.json"]
    assert command("plan", building, *TRIP, "-k", 3, "--ell", 1, "-o", "book.json").code == 0
    assert Path("points/playbook-1.json").read_bytes() == Path("book.json").read_bytes()
    assert_refused(command(*ask, "--playbooks", "points"), "--playbooks", "earlier frontier")
    assert command("frontier", building, *TRIP, "--risk", "0.01,0.1", "--budget", "20", "-o", "a.png").code == 3


@pytest.mark.parametrize(
    "options",
    [
        "--k two", "--k 2,,3", "--k 0", "--risk 0.5,1", "--ell -1", "--m many", "--mechanism dice", "--budget much",
        "--budget -5", "--budget nan", "-o a.gif", "-o no/such/a.png", "--time-limit 0",
    ],
)  # fmt: skip
def test_bad_options(command: Command, building: Path, options: str) -> None:
    option, _, value = options.partition(" ")
    done = command("frontier", building, *TRIP, option, value)
    typed = {"--k": "-k: ", "--ell": "-", "--m": "-", "-o": "--out"}
    assert_refused(done, typed.get(option, option))
