"""Observers: what each believes on a corridor, how ties are shared, and those that come from other packages."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from plugin_packages import install
from veilroute import InvalidInputError, PluginError, UnknownMethodError
from veilroute.analysis import ADVERSARIES, watch_by_fraction, watch_playbook

MODULE = """
class LastSeen:
    def __init__(self, playbook, prior):
        self.candidates = playbook.candidates

    def believe(self, seen, m):
        return [float(seen[0][-1] == label) for label in self.candidates]

class Fails(LastSeen):
    def believe(self, seen, m):
        raise KeyError("wall")

class Negative(LastSeen):
    def believe(self, seen, m):
        return [-1.0 for _ in self.candidates]

class Short(LastSeen):
    def believe(self, seen, m):
        return [1.0]

class Mute:
    def __init__(self, playbook, prior):
        pass
"""


@pytest.fixture
def book() -> vr.Playbook:
    """Two arms of a T: one class goes left and one goes right, and both come back to the middle."""
    domain = vr.grid_domain([".......", "@@@.@@@", "@@@.@@@"])
    problem = vr.Problem(domain, [vr.Trip((2, 3), (2, 3))], [(0, 0), (0, 1), (0, 5), (0, 6)], prior=[1, 4, 3, 2])
    return vr.solve(problem, vr.Privacy(k=2))


def test_counting_shares_ties_and_the_bayesian_bets_on_the_probable(book: vr.Playbook) -> None:
    counting, bayesian = (watch_playbook(book, name) for name in ("counting", "bayesian"))
    assert counting.over_time[0].success == pytest.approx(1 / 4), "one of four at random, whatever the prior"
    assert bayesian.over_time[0].success == pytest.approx(4 / 10)
    assert counting.success == counting.success_at_end == pytest.approx(1 / 2)
    assert bayesian.success == pytest.approx((4 + 3) / 10)
    uniform = watch_playbook(book, "bayesian", [1, 1, 1, 1])
    assert uniform.success == watch_playbook(book, "counting", [1, 1, 1, 1]).success == pytest.approx(1 / 2)


def test_the_bayesian_observer_is_the_measure_of_risk(book: vr.Playbook) -> None:
    for prior in (None, [1, 1, 1, 1], [9, 1, 1, 5]):
        report, watched = vr.risk(book, prior), watch_playbook(book, "bayesian", prior)
        assert [step.bayes_success for step in report.over_time] == pytest.approx(
            [step.success for step in watched.over_time]
        )
        for name in ADVERSARIES:
            other = watch_playbook(book, name, prior)
            for step, best in zip(other.over_time, watched.over_time, strict=True):
                assert step.success <= best.success + 1e-12, "nobody guesses better"


def test_goal_recognition_bets_on_the_cheapest_explanation(book: vr.Playbook) -> None:
    """Without a prior: at the crossing all are level; on the way to the far end the near one was passed for less."""
    route = book.route_for((0, 0)).nodes
    assert route == ((2, 3), (1, 3), (0, 3), (0, 2), (0, 1), (0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3))
    observer = ADVERSARIES.find("goal-recognition")(book, (1.0,) * 4)
    level = observer.believe((route[:3],), 3)
    assert level == pytest.approx([max(level)] * 4)
    left = observer.believe((route[:4],), 4)
    assert left[0] == left[1] == pytest.approx(1.0)
    assert left[2] == left[3] == pytest.approx(left[0] * 2.718281828459045**-2), "two steps for nothing"
    beyond = observer.believe((route[:6],), 6)
    assert beyond[0] == pytest.approx(1.0)
    assert beyond[1] == pytest.approx(2.718281828459045**-2), "covered on the way, but the way went on"
    done = observer.believe((route,), 99)
    assert done[2] == done[3] == 0.0, "not covered, and the trip is over"
    # The far end explains the route for nothing, so the near ones are never guessed.
    assert watch_playbook(book, "goal-recognition", [1, 1, 1, 1]).success == pytest.approx(1 / 2)


def test_observers_from_other_packages(book: vr.Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"last-seen": "LastSeen", "fails": "Fails", "negative": "Negative", "short": "Short", "mute": "Mute"}
    offers = {"veilroute.adversaries": {name: f"watchers:{value}" for name, value in names.items()}}
    install(tmp_path, "watchers", MODULE, offers)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "watchers", raising=False)
    watched = watch_playbook(book, "last-seen")
    assert watched.over_time[0].success == 0.0, "it believes in nobody"
    assert watched.over_time[5].success == pytest.approx((1 + 2) / 10), "both far ends"
    for name, words in {
        "fails": "failed with KeyError", "negative": "a finite number >= 0", "short": "each of 4", "mute": "believe"
    }.items():  # fmt: skip
        with pytest.raises(PluginError, match=f"adversary {name} of the package watchers: .*{words}"):
            watch_playbook(book, name)
    with pytest.raises(UnknownMethodError, match="counting, bayesian, goal-recognition"):
        watch_playbook(book, "nobody")


def test_at_the_end_the_observer_has_seen_that_the_trip_ended() -> None:
    """Two routes of one length from 0 to 2: one passes 1, the other 1 and 3. On the first, only 1 explains the end."""
    domain = vr.Domain.from_edges(4, [0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2], [1] * 6)
    problem = vr.Problem(domain, [vr.Trip(0, 2)], [1, 3])
    routes = {1: [0, 1, 0, 1, 2], 3: [0, 1, 2, 3, 2]}
    classes = [{"members": [place], "route": route} for place, route in routes.items()]
    book = vr.playbook_from_classes(problem, vr.Privacy(k=1), classes)
    # On the way back to 2, both explain the first route equally well as long as it may go on to 3.
    assert [step.success for step in watch_playbook(book, "goal-recognition").over_time][-1] == pytest.approx(0.75)
    for name in ADVERSARIES:
        assert watch_by_fraction(book, [1.0], name) == (watch_playbook(book, name).success_at_end,)
    assert watch_playbook(book, "goal-recognition").success == pytest.approx(1.0)
    assert watch_playbook(replace(book, privacy=vr.Privacy(k=1, m=5)), "goal-recognition").success == pytest.approx(
        0.75
    )


def test_by_fraction_each_route_counts_its_own_nodes() -> None:
    """From the middle of a corridor: after half of its nodes, the short route to 1 has gone one step, as the long one
    to 4 has two."""
    domain = vr.Domain.from_edges(5, [0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3], [1] * 8)
    problem = vr.Problem(domain, [vr.Trip(2, 2)], [1, 3, 4], prior=[5, 3, 2])
    book = vr.solve(problem, vr.Privacy(k=1))
    assert [group.routes[0].nodes for group in book.classes] == [(2, 1, 2), (2, 3, 2), (2, 3, 4, 3, 2)]
    # A third of 3 nodes is the start alone, where 1 is the best guess; of 5 nodes two, which is 3 rather than 4.
    assert watch_by_fraction(book, [1 / 3, 2 / 3, 0.9, 1.0]) == pytest.approx((0.5, 0.5 + 0.3 + 0.2, 1.0, 1.0))
    assert watch_by_fraction(book, [0.34], prior=[1, 2, 3]) == pytest.approx((1 / 6 + 3 / 6,))
    for wrong in (0, -0.1, 1.1, True, "half"):
        with pytest.raises(InvalidInputError, match="fractions: expected numbers above 0, up to 1"):
            watch_by_fraction(book, [wrong])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="hides some candidate"):
        watch_by_fraction(replace(book, classes=tuple(replace(g, anonymized=False) for g in book.classes)), [1.0])


def test_observers_see_a_planted_leak(book: vr.Playbook) -> None:
    """One member of a class takes another way than the others: from there on it is found out, and they are."""
    near, far = (0, 1), (0, 0)
    (at,) = (i for i, group in enumerate(book.classes) if far in group.members)
    leaking = [*book.classes]
    own = vr.cover(book.problem, [near])
    leaking[at] = replace(leaking[at], member_routes={(0, near): vr.Route(own.walk, own.cost)})
    leaky = replace(book, classes=tuple(leaking))
    assert watch_playbook(book, "bayesian").success == pytest.approx(0.4 + 0.3)
    assert watch_playbook(leaky, "bayesian").success == pytest.approx(0.4 + 0.1 + 0.3)
    for name in ADVERSARIES:
        assert watch_by_fraction(leaky, [1.0], name)[0] > watch_by_fraction(book, [1.0], name)[0], name
        tight, loose = ([step.success for step in watch_playbook(each, name).over_time] for each in (book, leaky))
        assert loose[:5] == pytest.approx(tight[:5]), "five nodes are still shared"
