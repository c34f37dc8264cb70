"""Observers, and how often they guess right: several kinds, and those that installed packages add (docs/plugins).

An observer knows the playbook and the prior, watches a trip node by node, and says after each how much it believes in
every candidate. Its best guess is the node that it believes in most, with all candidates that are there: guessing the
right door is enough. If several are level, it takes one of them at random. :func:`watch_playbook` plays this for every
secret, each as often as it is probable, after 1, 2, ... nodes; :func:`watch_by_fraction` after parts of each route.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from veilroute.analysis.posterior import Prior, find_sights
from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError
from veilroute.base.registry import Plugin, Registry
from veilroute.domain.graph import Label
from veilroute.model.playbook import Playbook
from veilroute.planners.sights import Sight

Beliefs = Sequence[float] | Floats
_LEVEL = 1e-9  #: beliefs that differ by no more than this part of the largest are level


class Adversary(Protocol):
    """Somebody who watches. It is made from a playbook and a prior, which is parallel to the playbook's candidates."""

    def believe(self, seen: Sight, m: int) -> Beliefs:
        """How much it believes in each of the playbook's candidates: numbers >= 0, in any unit.

        ``seen`` has the first m nodes of every trip, and all of them where a trip has fewer.
        """


Maker = Callable[[Playbook, tuple[float, ...]], Adversary]


class Bayesian:
    """Believes in each as much as it is probable after what was seen: nobody guesses better.

    It looks up in the playbook whose routes begin like that.
    """

    def __init__(self, playbook: Playbook, prior: tuple[float, ...]) -> None:
        self._sights = find_sights(playbook, prior)
        self._m, self._alike = 0, dict[Sight, Ints]()

    def possible(self, seen: Sight, m: int) -> Ints:
        """The sights that begin like that."""
        if m != self._m:
            self._m, self._alike = m, self._sights.alike(m)
        return self._alike.get(seen, np.empty(0, dtype=np.int64))

    def believe(self, seen: Sight, m: int) -> Beliefs:
        """The posterior, but for a factor."""
        return self._sights.spread_out(self.possible(seen, m))


class Counting(Bayesian):
    """Believes in all alike whose routes begin with what was seen, whatever the prior: what k counts."""

    def believe(self, seen: Sight, m: int) -> Beliefs:
        """One for each who is possible."""
        beliefs = np.zeros(len(self._sights.problem.candidates))
        beliefs[self._sights.candidates[self.possible(seen, m)]] = 1.0
        return beliefs


class GoalRecognition:
    """Knows the map and the prior, and bets on the cheapest explanation: it does not look at the playbook.

    This is goal recognition by cost difference (Ramirez and Geffner, "Probabilistic plan recognition using
    off-the-shelf classical planners", AAAI 2010), in the form of Masters and Sardina ("Cost-based goal recognition for
    path-planning", AAMAS 2017), which needs the last node that was seen and not the way to it. For each candidate it
    takes what the cheapest trip costs that goes on from there and has covered the candidate in the end, less what the
    cheapest trip costs that covers it. What was spent so far is the same for all. The belief in a candidate is its
    prior times exp(-difference), with differences in costs of a mean edge. (These papers put the difference into a
    logistic function; without a prior both rank the candidates alike.) A candidate that is not covered when the trip
    ends is impossible. The differences of several trips are added.
    """

    def __init__(self, playbook: Playbook, prior: tuple[float, ...]) -> None:
        from veilroute.covering.task import prepare_task
        from veilroute.covering.walks import Sweeper

        # On all walks, legal or not: which edge one arrived on is not in what it believes.
        problem = replace(playbook.problem, domain=replace(playbook.problem.domain, turns=None))
        domain = problem.domain
        task = prepare_task(problem)
        self._positions = np.array(task.members, dtype=np.int64)
        self._num = len(playbook.candidates)
        self._prior = np.array(prior)[self._positions]
        routes = [
            (trip, group.route_of(member, trip).nodes)
            for group in playbook.classes
            for member in group.members
            for trip in range(task.num_trips)
        ]
        nodes = sorted({domain.node(label) for _, route in routes for label in route})
        self._at = {domain.label(node): place for place, node in enumerate(nodes)}
        watched = [task.posts.nodes_of(member) for member in range(len(task.members))]
        self._sees: Flags = np.array([np.isin(nodes, own) for own in watched]).reshape(len(watched), len(nodes)).T
        scale = float(domain.costs.mean()) if domain.costs.size else 1.0
        unit = task.unit / (scale or 1.0)
        back = Sweeper(domain, backward=True, num_seeds=max((own.size for own in watched), default=1))
        self._ahead: Floats = np.empty((task.num_trips, len(nodes), len(watched)))  # through each candidate to the goal
        for trip, to_goal in enumerate(task.all_to_goal):
            for member, own in enumerate(watched):
                self._ahead[trip, :, member] = back.run_from(own, to_goal[own])[nodes] * unit
        self._home: Floats = task.all_to_goal[:, nodes] * unit
        self._base: Floats = task.base_costs / (scale or 1.0)
        self._covered: tuple[int, dict[tuple[Label, ...], Flags], dict[tuple[Label, ...], Flags]] = (0, {}, {})

    def believe(self, seen: Sight, m: int) -> Beliefs:
        """The prior of each candidate, less the more its trip now costs beyond its cheapest one."""
        extra = np.zeros(self._positions.size)
        for trip, nodes in enumerate(seen):
            at, covered = self._at[nodes[-1]], self._cover(nodes, m)
            onwards = np.where(covered, self._home[trip, at], self._ahead[trip, at])
            extra += np.where(covered | (len(nodes) == m), onwards, math.inf) - self._base[trip]
        beliefs = np.zeros(self._num)
        if np.isfinite(extra).any():
            beliefs[self._positions] = self._prior * np.exp(np.min(extra) - extra)
        return beliefs

    def _cover(self, nodes: tuple[Label, ...], m: int) -> Flags:
        """Which candidates the nodes have covered: those before the last node, if still known, and those it sees."""
        last_m, before, now = self._covered
        if m != last_m:
            before, now = (now, {}) if m == last_m + 1 else ({}, {})
            self._covered = m, before, now
        if nodes not in now:
            known = before.get(nodes if len(nodes) < m else nodes[:-1])
            places = [self._at[node] for node in nodes]
            now[nodes] = np.asarray(self._sees[places].any(axis=0)) if known is None else known | self._sees[places[-1]]
        return now[nodes]


def _adapt(plugin: Plugin) -> Maker:
    """An observer from elsewhere: what it raises is told in one line that names the package."""

    def make(playbook: Playbook, prior: tuple[float, ...]) -> Adversary:
        made = plugin.guard(plugin.value)(playbook, prior)
        if not callable(getattr(made, "believe", None)):
            raise plugin.error("expected an observer with a method `believe`")
        return _Guarded(plugin, plugin.guard(made.believe), len(playbook.candidates))

    return make


class _Guarded:
    """An observer from elsewhere, whose beliefs are looked at before they are used."""

    def __init__(self, plugin: Plugin, believe: Callable[[Sight, int], Beliefs], num: int) -> None:
        self._plugin, self._believe, self._num = plugin, believe, num

    def believe(self, seen: Sight, m: int) -> Beliefs:
        try:
            beliefs = np.array(self._believe(seen, m), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._plugin.error(f"expected numbers, {error}") from error
        if beliefs.shape != (self._num,) or not (np.isfinite(beliefs) & (beliefs >= 0)).all():
            raise self._plugin.error(f"expected a finite number >= 0 for each of {self._num} candidates")
        return beliefs


ADVERSARIES: Registry[Maker] = Registry(
    "adversary",
    "veilroute.adversaries",
    _adapt,
    {"counting": Counting, "bayesian": Bayesian, "goal-recognition": GoalRecognition},
)
"""By name; each is called as ``make(playbook, prior)`` and gives an :class:`Adversary`."""


@dataclass(frozen=True)
class GuessStep:
    """How often the best guess is right after m nodes of every trip."""

    m: int
    success: float


@dataclass(frozen=True)
class WatchReport:
    """How an observer fares against a playbook, when the secret is one of the hidden candidates."""

    name: str
    success: float | None  #: within the promise; ``None`` when nobody is hidden
    success_at_end: float | None  #: when all has been seen
    over_time: tuple[GuessStep, ...]  #: after 1, 2, ... nodes

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return asdict(self) | {"over_time": [asdict(step) for step in self.over_time]}

    def to_text(self) -> str:
        """For people, in a line."""
        if self.success is None:
            return f"The {self.name} observer has nobody to look for.\n"
        rest = f", and {self.success_at_end:.1%} when all has been seen" if self.success_at_end != self.success else ""
        over = "on average over all trips that are covered"
        return f"The {self.name} observer guesses right {self.success:.1%} of the time, {over}{rest}.\n"


def watch_playbook(playbook: Playbook, adversary: str = "bayesian", prior: Prior | None = None) -> WatchReport:
    """Let an observer watch the trips of every hidden candidate, and count how often it guesses right.

    Parameters
    ----------
    playbook
        With its domain.
    adversary
        ``counting``, ``bayesian`` or ``goal-recognition``, or the name of a plug-in.
    prior
        As in :func:`veilroute.risk`: what the observer knows, and what the secret is drawn by.
    """
    observer = _Guesser(playbook, adversary, prior)
    sights = observer.sights
    longest = max((len(nodes) for way in sights.routes for nodes in way), default=0)
    # The last look, after more nodes than any route has, sees that every trip has ended.
    chances = [
        min(1.0, math.fsum(observer.chance_right(seen, m, group) for seen, group in sights.alike(m).items()))
        for m in range(1, longest + 2 if sights.joint.any() else 1)
    ]
    steps = tuple(GuessStep(m, success) for m, success in enumerate(chances[:-1], start=1))
    promised = chances[: playbook.privacy.m]
    return WatchReport(adversary, promised[-1] if promised else None, chances[-1] if chances else None, steps)


def watch_by_fraction(
    playbook: Playbook, fractions: Iterable[float], adversary: str = "bayesian", prior: Prior | None = None
) -> tuple[float, ...]:
    """How often an observer guesses right who stops watching after a part of the route, for each of some fractions.

    Of every route the observer sees the first ``ceil(fraction * nodes)`` nodes, of several trips those of each up to
    that fraction of the longest, and at 1 that the trips have ended. The observer does not know how much is still to
    come. Goal recognition is measured like this in its literature, because routes differ in length.

    Parameters
    ----------
    playbook, adversary, prior
        As in :func:`watch_playbook`. Some candidate must be hidden.
    fractions
        Numbers above 0, up to 1.
    """
    observer = _Guesser(playbook, adversary, prior)
    sights = observer.sights
    if not sights.joint.any():
        raise InvalidInputError("playbook", "one that hides some candidate")
    found = []
    for fraction in fractions:
        if not is_number(fraction, 0, 1) or not fraction:
            raise InvalidInputError("fractions", "numbers above 0, up to 1", fraction)
        chances = []
        for number, way in enumerate(sights.routes):
            longest = max(map(len, way))
            m = longest + 1 if fraction == 1 else math.ceil(fraction * longest)
            group = np.flatnonzero(sights.ways == number)
            chances.append(observer.chance_right(tuple(nodes[:m] for nodes in way), m, group))
        found.append(min(1.0, math.fsum(chances)))
    return tuple(found)


class _Guesser:
    """An observer of a playbook, and how probable it is that its guess is right."""

    def __init__(self, playbook: Playbook, adversary: str, prior: Prior | None) -> None:
        make, self.sights = ADVERSARIES.find(adversary), find_sights(playbook, prior)
        num, problem = len(playbook.candidates), self.sights.problem
        self._observer = make(playbook, tuple(problem.prior or [1 / num] * num))
        self._doors: Ints = np.unique(np.array(problem.candidate_nodes), return_inverse=True)[1]

    def chance_right(self, seen: Sight, m: int, group: Ints) -> float:
        """How probable it is that one of a group of sights happens and the guess from what was seen is right."""
        beliefs = np.bincount(self._doors, np.array(self._observer.believe(seen, m)))
        guesses = np.flatnonzero((beliefs >= beliefs.max() * (1 - _LEVEL)) & (beliefs > 0))
        at_doors = np.bincount(self._doors, self.sights.spread_out(group))
        return float(at_doors[guesses].sum()) / guesses.size if guesses.size else 0.0
