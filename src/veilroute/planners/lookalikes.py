"""Classes that go the same way after a closure: an observer cannot tell which of them a vehicle is of.

If each of them keeps its promise, so do all of them together, because the bound on areas is linear (docs/theory,
:ref:`Closed roads <theory-closures>`). A class that falls short by itself is not rescued by the others: an observer who
has seen another trip of the same secret knows the class. What an observer of this trip alone can find out is worked out
here: which classes go a way, and how sure one can be of a place or an area then. Another class may or may not go the
same way: its driver may not know of the closure, or may choose otherwise. So each figure is the worst over all that the
others may do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Members
from veilroute.base.errors import BrokenPromiseError
from veilroute.covering.task import far_matrix
from veilroute.domain.graph import Domain, Label
from veilroute.model.areas import area_rows
from veilroute.model.closure import CHOICES, GIVE_UP, GO_ON, Replan, Sighting, Way
from veilroute.model.playbook import Playbook
from veilroute.model.problem import ROUNDING
from veilroute.model.rules import KAndEll, RiskBound, Rule

Nodes = tuple[Label, ...]

_HARDLY = 1e-15  #: by less than this a share does not rise any more


class Walk(NamedTuple):
    """How a class goes from the start to the goal of a trip."""

    shared: Nodes  #: what all members share, from the start on
    left: Nodes  #: the members whom it covers
    whole: tuple[Nodes, ...]  #: the walks of the members, each once

    @classmethod
    def along(cls, entry: Replan, way: Way) -> Walk | None:
        """The walk with one of the ways of a replan; ``None`` where no road leads to the goal."""
        before = entry.walked[:-1]
        rests = dict.fromkeys(nodes for nodes, _ in way.own.values()) or {way.route: None}
        return Walk(before + way.route, way.left, tuple(before + rest for rest in rests)) if way.route else None


@dataclass(frozen=True)
class Course:
    """What one class does under a closure: it keeps to its way, if nothing on that has changed, or it is replanned."""

    number: int  #: of the class
    kept: Walk | None  #: the way that it keeps to
    entry: Replan | None  #: how it is replanned; ``None`` where it is not, or cannot be

    def by_rule(self) -> Walk | None:
        """Its walk by the rule: it goes on if that keeps its promise, and has no route if not."""
        if self.entry is None:
            return self.kept
        return Walk.along(self.entry, self.entry.going_on) if self.entry.going_on.qualifies else None

    def by_choice(self, choice: str) -> Walk | None:
        """Its walk if that is chosen where it is replanned."""
        return self.kept if self.entry is None else Walk.along(self.entry, _way_of(self.entry, choice))


class Crowd:
    """Candidates with their probabilities, of one class or of several, and what is promised of them.

    They are numbered as they are given.
    """

    def __init__(self, playbook: Playbook, masses: Mapping[Label, float]) -> None:
        self.playbook, self.labels = playbook, tuple(masses)
        self.masses: Floats = np.array(list(masses.values()), dtype=np.float64)
        problem = playbook.problem
        at = {label: i for i, label in enumerate(problem.candidates)}
        if not masses.keys() <= at.keys():
            raise BrokenPromiseError
        self.candidates = [at[label] for label in self.labels]
        self.nodes = [problem.candidate_nodes[i] for i in self.candidates]
        # Who is left for each member by earlier trips, where the playbook was planned under a ledger.
        place = {label: i for i, label in enumerate(self.labels)}
        past = () if problem.past is None else problem.past.left
        self.lines = [(place[one], {place.get(other) for other in others}) for one, others in past if one in place]

    def far_on(self, domain: Domain) -> Flags:
        """Per two of them whether they are apart on a map."""
        far = far_matrix(domain, self.nodes, self.playbook.privacy)
        near, place = () if self.playbook.past is None else self.playbook.past.near, self.labels
        for one, other in ((place.index(a), place.index(b)) for a, b in near if {a, b} <= {*place}):
            far[one, other] = far[other, one] = False
        return far

    def rule_on(self, domain: Domain) -> Rule:
        """What the playbook's privacy makes of them on a map."""
        privacy, far = self.playbook.privacy, self.far_on(domain)
        if privacy.beta is None:
            return KAndEll.of(far, privacy.k, privacy.spread)
        return RiskBound.of(far, self.masses, privacy.beta, privacy.spread)

    def keeps(self, rule: Rule, members: Members) -> bool:
        """Whether some of them keep the promise, and so does what earlier trips leave of them for each."""
        histories = [[i for i in members if i in line] for owner, line in self.lines if owner in members]
        return rule.qualifies(members) and all(rule.qualifies(left) for left in histories)


def chances(playbook: Playbook, number: int, labels: Iterable[Label]) -> dict[Label, float]:
    """How probable members of a class are beside one another: by their shares where a class is drawn."""
    group = playbook.hidden_classes[number - 1]
    known = dict(zip(group.members, group.shares, strict=False)) if group.shares else playbook.coverable_prior
    return {label: known.get(label, 0.0) for label in labels}


def judge(
    playbook: Playbook, courses: Sequence[Course], maps: Sequence[Domain], told: Mapping[int, Walk] | None = None
) -> list[Course]:
    """The same courses, where a way qualifies only if the promise is kept whichever others go the same way.

    That follows if each class keeps it by itself. Under a risk a class that falls short can make an area too probable
    for others. ``maps`` are those on which members must be apart, and ``told`` the walks that the rule gives. Counted
    possibilities only become more.
    """
    if playbook.privacy.beta is None:
        return list(courses)

    def judged(course: Course, choice: str) -> Way:
        assert course.entry is not None
        way, walk = _way_of(course.entry, choice), course.by_choice(choice)
        if not way.qualifies or walk is None:
            return way
        same = _alike(playbook, courses, told or {}, course.number, walk)
        return replace(way, qualifies=_keep_together(playbook, course.number, walk, same, maps)) if same else way

    return [
        course
        if course.entry is None
        else replace(
            course,
            entry=replace(course.entry, going_on=judged(course, GO_ON), giving_up=judged(course, GIVE_UP)),
        )
        for course in courses
    ]


def _way_of(entry: Replan, choice: str) -> Way:
    return entry.going_on if choice == GO_ON else entry.giving_up


def _alike(
    playbook: Playbook, courses: Iterable[Course], told: Mapping[int, Walk], number: int, walk: Walk
) -> dict[int, list[Walk]]:
    """The walks on which other classes look the same, as far as anything is promised: by the rule or by any choice."""
    seen, found = walk.shared[: playbook.privacy.m], dict[int, dict[Walk, None]]()
    ways = [(at, own) for at, own in told.items()]
    ways += [(course.number, own) for course in courses for own in map(course.by_choice, CHOICES) if own is not None]
    for at, own in ways:
        if at != number and own.shared[: playbook.privacy.m] == seen:
            found.setdefault(at, {})[own] = None
    return {at: list(found[at]) for at in sorted(found)}


class _Sums:
    """How probable candidates are together with what is seen, as rows: of a class, and of others that may join it."""

    def __init__(self, playbook: Playbook, number: int, walk: Walk, same: Mapping[int, Sequence[Walk]]) -> None:
        members = {at: playbook.hidden_classes[at - 1].members for at in (number, *same)}
        self.crowd = Crowd(playbook, _masses(playbook, members.items()))
        self.left = self._row(number, walk.left), [[self._row(at, each.left) for each in same[at]] for at in same]
        # Members whom a walk does not cover may be the secret all the same: an observer can count them or not.
        self.whole = self._row(number, members[number]), [[self._row(at, members[at])] for at in same]

    def _row(self, number: int, labels: Nodes) -> Floats:
        own = chances(self.crowd.playbook, number, labels)
        return np.array([own.get(label, 0.0) for label in self.crowd.labels], dtype=np.float64)

    def areas(self, domain: Domain) -> Flags:
        """Maximal areas of the candidates on a map, a row each; neighbourhoods, which are no less, if too many."""
        near = ~self.crowd.far_on(domain)
        rows = area_rows(near)
        return np.vstack([self.doors(), near if rows is None else rows])

    def doors(self) -> Flags:
        """The candidates at each node, a row for each candidate."""
        nodes = np.array(self.crowd.nodes)
        return np.asarray(nodes[:, None] == nodes)


def _surest(own: Floats, others: Sequence[Sequence[Floats]], insides: Flags) -> float | None:
    """The largest share of any of some sets in what is seen, whichever others join; ``None`` if there is no mass.

    Dinkelbach's method, for each set: the classes that raise a share are those in which it is larger than it is so far.
    It ends, because the share rises each time and there are finitely many ways to choose.
    """
    best = None
    for inside in insides:
        part, total = math.fsum(own[inside]), math.fsum(own)
        options = [[(math.fsum(row[inside]), math.fsum(row)) for row in rows] for rows in others]
        if total <= 0:  # nobody of the class itself is possible: the others are seen alone
            part, total = max(
                (each for rows in options for each in rows if each[1] > 0), default=(0.0, 0.0), key=_ratio
            )
        if total <= 0:
            continue
        base, share = (part, total) if math.fsum(own) > 0 else (0.0, 0.0), -1.0
        while part > (share + _HARDLY) * total:
            share = part / total
            joined = [max(rows, key=lambda each: each[0] - share * each[1]) for rows in options]
            joined = [each for each in joined if each[0] > share * each[1]]
            part, total = (math.fsum(each) for each in zip(base, *joined, strict=True))
        best = share if best is None else max(best, share)
    return best


def _ratio(each: tuple[float, float]) -> float:
    return each[0] / each[1]


def _keep_together(
    playbook: Playbook, number: int, walk: Walk, same: Mapping[int, Sequence[Walk]], maps: Sequence[Domain]
) -> bool:
    """Whether no area is more probable than promised, whichever others look the same, also after earlier trips."""
    beta = playbook.privacy.beta
    assert beta is not None
    sums = _Sums(playbook, number, walk, same)
    own, others = sums.left
    possible = [np.ones(own.size, dtype=np.bool_)]
    for owner, line in sums.crowd.lines:
        if own[owner] > 0:
            possible.append(np.isin(np.arange(own.size), [at for at in line if at is not None]))
    for each in map(sums.areas, maps):
        for kept in possible:
            worst = _surest(own * kept, [[row * kept for row in rows] for rows in others], each)
            if worst is not None and worst > beta * (1 + ROUNDING):
                return False
    return True


def _masses(playbook: Playbook, parts: Iterable[tuple[int, Nodes]]) -> dict[Label, float]:
    """How probable some members of classes are; those that are drawn with several of the classes add up."""
    found: dict[Label, float] = {}
    for number, labels in parts:
        for label, mass in chances(playbook, number, labels).items():
            found[label] = found.get(label, 0.0) + mass
    return found


def with_sightings(
    playbook: Playbook, entry: Replan, courses: Iterable[Course], told: Mapping[int, Walk], maps: Sequence[Domain]
) -> Replan:
    """A replan with what an observer of each way can find out.

    ``courses`` are those of all classes if they made the same choices before, ``told`` the walks that the rule gives.
    """
    found, courses = list[Way](), list(courses)
    for choice in CHOICES:
        walk, way = Walk.along(entry, _way_of(entry, choice)), _way_of(entry, choice)
        seen = None if walk is None else _sighting(playbook, entry.number, walk, courses, told, maps)
        found.append(replace(way, seen=seen))
    return replace(entry, going_on=found[0], giving_up=found[1])


def _sighting(
    playbook: Playbook,
    number: int,
    walk: Walk,
    courses: Sequence[Course],
    told: Mapping[int, Walk],
    maps: Sequence[Domain],
) -> Sighting:
    """What can be found out of a way, at worst."""
    same = _alike(playbook, courses, told, number, walk)
    sums, m = _Sums(playbook, number, walk, same), playbook.privacy.m
    by_rule = {at: own for at, own in told.items() if at in same and own.shared[:m] == walk.shared[:m]}
    together = _masses(playbook, [(number, walk.left), *((at, own.left) for at, own in by_rule.items())])
    nodes = dict(zip(sums.crowd.labels, sums.crowd.nodes, strict=True))
    areas = np.vstack([sums.areas(each) for each in maps])
    shares = [
        [share for own, others in (sums.left, sums.whole) if (share := _surest(own, others, sets)) is not None]
        for sets in (sums.doors(), areas)
    ]
    worst_place, worst_area = (min(1.0, max(each)) if each else None for each in shares)
    return Sighting(
        looks_like=tuple(sorted({number, *by_rule})),
        may_look_like=tuple(sorted(same.keys() - by_rule.keys())),
        num_together=len({nodes[label] for label, mass in together.items() if mass > 0}),
        num_possible=len({nodes[label] for label, mass in chances(playbook, number, walk.left).items() if mass > 0}),
        worst_place=worst_place,
        worst_area=worst_area,
    )
