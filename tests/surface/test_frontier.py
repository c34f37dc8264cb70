"""What privacy costs: the command, the chart, and that shared work changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from veilroute.frontier import privacies_of
from veilroute.plotting import draw_frontier, plot_frontier

TRIP = ("--start", "1,18", "--goal", "32,60", "--random-candidates", "6")


def small(num: int = 7, radius: float = 0, *, streets: bool = False) -> vr.Problem:
    domain = vr.generate_streets(8, 9, seed=4) if streets else vr.generate_rooms(20, 30, seed=3)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, num, seed=2)
    return vr.Problem(domain, [vr.Trip(start, goal)], candidates, vr.WithinDistance(radius))


def point(k: int, longer: float | None, *, hidden: int = 8, ell: float = 1, m: int | None = None) -> vr.FrontierPoint:
    return vr.FrontierPoint(vr.Privacy(k=k, ell=ell, m=m), "optimal", longer, longer, 1.0, 1.0, hidden, 8, hidden / 8)


@pytest.mark.parametrize(("num", "radius", "streets"), [(7, 0, False), (7, 3, False), (20, 2, False), (9, 150, True)])
def test_shared_work_changes_nothing(num: int, radius: float, streets: bool) -> None:
    problem = small(num, radius, streets=streets)
    far = 200 if streets else 6
    wanted = [
        *privacies_of(vr.Privacy(), ks=(3, 2), ells=(far, 1), mechanisms=("partition", "randomised")),
        *privacies_of(vr.Privacy(), risks=(0.4,), mechanisms=("partition", "randomised")),
        vr.Privacy(k=2, m=9),
        vr.Privacy(k=2, m=14, ell=far),
    ]
    shared = problem.sharing_work()
    for privacy in wanted:
        assert vr.solve(shared, privacy).to_json() == vr.solve(problem, privacy).to_json(), privacy
    assert problem.kept is None


def test_points_are_those_of_the_plans() -> None:
    problem = small()
    seen: list[vr.Progress] = []
    wanted = list(privacies_of(vr.Privacy(ell=3), ks=(2, 3), mechanisms=("partition", "randomised")))
    found = vr.frontier(problem, wanted, progress=seen.append)
    for privacy, one in zip(wanted, found.points, strict=True):
        book = vr.solve(problem, privacy)
        assert (one.privacy, one.status, one.mac) == (privacy, book.status, book.mac)
        assert (one.total_extra, one.worst_extra) == (book.claims.total_extra, book.claims.worst_extra)
    assert {report.total for report in seen} == {4} and {report.done for report in seen} <= set(range(4))
    assert any(report.stage.startswith("3 of 4: ") for report in seen)


def test_stopping_keeps_the_points_so_far() -> None:
    seen: list[vr.Progress] = []
    wanted = list(privacies_of(vr.Privacy(), ks=(2, 3, 4)))
    found = vr.frontier(
        small(), wanted, progress=seen.append, should_stop=lambda: any(report.done == 1 for report in seen)
    )
    assert [one.privacy.k for one in found.points] == [2, 3]


def test_all_combinations() -> None:
    made = list(privacies_of(vr.Privacy(spread="all-pairs"), ks=(1, 2), risks=(0.3,), ells=(1, 2), ms=(5, None)))
    assert len(made) == 12 and all(each.spread == "all-pairs" for each in made)
    both = privacies_of(vr.Privacy(), ks=(1, 2), mechanisms=("partition", "randomised"))
    assert [(each.k, each.mechanism) for each in both] == [(1, "partition"), (2, "partition"), (2, "randomised")]
    assert list(privacies_of(vr.Privacy(risk=0.4))) == [vr.Privacy(risk=0.4)]


def test_the_most_private_within_a_budget() -> None:
    cheap, dear, near, short, partial, nothing = (
        point(2, 0.1, ell=5), point(3, 0.3), point(2, 0.05), point(2, 0.01, ell=5, m=9), point(5, 0.1, hidden=4),
        point(6, None, hidden=0),
    )  # fmt: skip
    found = vr.Frontier((nothing, partial, short, near, dear, cheap))
    assert found.best_within(0.3) is dear
    assert found.best_within(0.2) is cheap
    assert found.best_within(0.05) is short
    assert found.best_within(0.001) is None
    assert vr.Frontier((nothing, partial, dear)).best_within(0.2) is partial
    assert found.answer(0.2) == (
        "For at most 20% more you can hide among 2 places (partition), 5 apart, for the whole route: "
        "10.0% longer on average."
    )
    assert found.answer(0.001) == "For at most 0.1% more none of these can be had; the cheapest costs 1.0%."
    with pytest.raises(vr.InvalidInputError, match="budget"):
        found.best_within(-1)


def test_the_library_refuses() -> None:
    with pytest.raises(vr.InvalidInputError, match="at least one Privacy"):
        vr.frontier(small(), [])
    assert [point.status for point in vr.frontier(small(), [vr.Privacy(k=2), vr.Privacy(k=9)]).points][
        1
    ] == "infeasible"


def test_the_command(command: Command, building: Path, tmp_path: Path) -> None:
    done = command("frontier", building, *TRIP, "--k", "2,3", "--ell", "1,8", "--budget", "500%", "-o", "a.json")
    assert done.code == 0, done.err
    assert done.out.count("partition") + done.out.count("randomised") == 9 and "Points: a.json" in done.out
    assert "For at most 500% more you can hide among 3 places" in done.out and done.out.count("*") == 1
    points = json.loads((tmp_path / "a.json").read_bytes())["points"]
    assert len(points) == 8
    keys = {"k", "ell", "m", "mechanism", "mac", "total_extra", "worst_extra", "status"}
    assert all(keys <= set(each) and each["status"] == "optimal" for each in points)
    (plan,) = [each for each in points if (each["k"], each["ell"], each["mechanism"]) == (3, 8, "partition")]
    book = json.loads(command("plan", building, *TRIP, "-k", 3, "--ell", 8, "--json").out)
    assert all(plan[name] == book[name] for name in ("mac", "total_extra", "worst_extra", "num_anonymized"))
    shown = json.loads(
        command(
            "frontier", building, *TRIP, "--risk", "0.5,0.3", "--mechanism", "partition", "--budget", 0, "--json"
        ).out
    )
    assert [each["risk"] for each in shown["points"]] == [0.5, 0.3] and "k" not in shown["points"][0]
    assert shown["budget"] == 0 and shown["best"] is None and "none of these" in shown["answer"]


def test_the_usual_values_fit_the_candidates(command: Command, building: Path) -> None:
    trip = (*TRIP[:4], "--random-candidates", 3)
    data = json.loads(command("frontier", building, *trip, "--mechanism", "partition", "--m", "9,inf", "--json").out)
    assert [(each["k"], each["m"]) for each in data["points"]] == [(2, 9), (3, 9), (2, None), (3, None)]


def test_nothing_can_be_hidden(command: Command, building: Path) -> None:
    done = command("frontier", building, *TRIP, "--risk", "0.01,0.1", "--budget", "20", "-o", "a.png")
    assert done.code == 3 and "infeasible" in done.out and "none of these can be had." in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--k", "two"), ("--k", "2,3,4")),
        (("--k", "2,,3"), ("--k", "2,3,4")),
        (("--k", "0"), ("Privacy.k",)),
        (("--risk", "0.5,1"), ("Privacy.risk",)),
        (("--ell", "-1"), ("Privacy.ell",)),
        (("--m", "many"), ("--m", "inf")),
        (("--mechanism", "dice"), ("--mechanism", "partition, randomised or both")),
        (("--budget", "much"), ("--budget", "20%")),
        (("--budget", "-5"), ("--budget", "20%")),
        (("--budget", "nan"), ("--budget", "20%")),
        (("-o", "a.gif"), ("--out", ".json, .png, .svg")),
        (("-o", "no/such/a.png"), ("--out", "folder")),
        (("--time-limit", "0"), ("--time-limit", "or none")),
    ],
)
def test_bad_options(command: Command, building: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(command("frontier", building, *TRIP, *options), *words)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_charts_have_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    found = vr.Frontier((point(2, 0.1), point(3, 0.3), point(4, None, hidden=0), point(2, 0.2, ell=5, hidden=6)))
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in files:
        draw_frontier(found, path, budget=0.2)
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(vr.UnknownMethodError):
        draw_frontier(found, tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("points", "label", "ticks"),
    [
        ((point(2, 0.1), point(3, 0.3)), "k, or 1 / risk", ["2", "3"]),
        ((point(2, 0.1, ell=5), point(2, 0.05)), "ell", ["1", "5"]),
        ((point(2, 0.1), point(2, 0.05, m=9), point(2, 0.02, m=5)), "(m)", ["5", "9", "all"]),
        ((point(2, 0.1),), "k, or 1 / risk", ["2"]),
        ((), "k, or 1 / risk", []),
    ],
)
def test_what_the_chart_shows(points: tuple[vr.FrontierPoint, ...], label: str, ticks: list[str]) -> None:
    ax = plot_frontier(vr.Frontier(points))
    assert label in ax.get_xlabel()
    shown = [ax.xaxis.get_major_formatter()(place) for place in ax.xaxis.get_major_locator()()]
    assert shown == ticks
    assert ax.get_title(loc="left") == "What privacy costs"


def test_playbooks_of_the_points_are_those_of_plan(command: Command, building: Path) -> None:
    ask = ("frontier", building, *TRIP, "--k", "2,3", "--ell", "1,1000", "--mechanism", "partition", "--json")
    found = json.loads(command(*ask, "--playbooks", "points").out)
    hiding = [number for number, one in enumerate(found["points"]) if one["num_anonymized"]]
    assert sorted(path.name for path in Path("points").iterdir()) == [f"playbook-{number}.json" for number in hiding]
    assert hiding == [0, 1]
    assert command("plan", building, *TRIP, "-k", 3, "--ell", 1, "-o", "book.json").code == 0
    assert Path("points/playbook-1.json").read_bytes() == Path("book.json").read_bytes()
    assert_refused(command(*ask, "--playbooks", "points"), "--playbooks", "earlier frontier")
