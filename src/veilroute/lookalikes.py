"""Classes that go the same way after a closure: an observer cannot tell which of them a vehicle is of.

If each of them keeps its promise, so do all of them together, because the bound on areas is linear (docs/theory,
:ref:`Closed roads <theory-closures>`). A class that falls short by itself is not rescued by the others: an observer who
has seen another trip of the same secret knows the class. What an observer of this trip alone can find out is worked out
here: which classes go a way, and how sure one can be of a place or an area then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veilroute.areas import close_masks, heaviest_area
from veilroute.arrays import Flags, Floats, Members, as_members
from veilroute.closures import CHOICES, GIVE_UP, GO_ON, Replan, Sighting, Way
from veilroute.covering.task import far_matrix
from veilroute.domain.graph import Domain, Label
from veilroute.errors import BrokenPromiseError
from veilroute.playbook import Playbook
from veilroute.rules import KAndEll, RiskBound, Rule

Nodes = tuple[Label, ...]


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

    def rule_on(self, domain: Domain, spread: str | None = None) -> Rule:
        """What the playbook's privacy, or another reading of spread, makes of them on a map."""
        privacy, far = self.playbook.privacy, self.far_on(domain)
        if privacy.beta is None:
            return KAndEll.of(far, privacy.k, spread or privacy.spread)
        return RiskBound.of(far, self.masses, privacy.beta, spread or privacy.spread)

    def keeps(self, rule: Rule, members: Members) -> bool:
        """Whether some of them keep the promise, and so does what earlier trips leave of them for each."""
        histories = [[i for i in members if i in line] for owner, line in self.lines if owner in members]
        return rule.qualifies(members) and all(rule.qualifies(left) for left in histories)


def chances(playbook: Playbook, number: int, labels: Iterable[Label]) -> dict[Label, float]:
    """How probable members of a class are beside one another: by their shares where a class is drawn."""
    group = playbook.hidden_classes[number - 1]
    known = dict(zip(group.members, group.shares, strict=False)) if group.shares else playbook.coverable_prior
    return {label: known.get(label, 0.0) for label in labels}


def judge(playbook: Playbook, courses: Sequence[Course], maps: Sequence[Domain]) -> list[Course]:
    """The same courses, where a way qualifies only if all who look the same keep the promise together as well.

    That follows if each class does, unless a class falls short by itself: under a risk it can then make an area too
    probable for others. ``maps`` are those on which members must be apart. Counted possibilities only become more.
    """
    if playbook.privacy.beta is None:
        return list(courses)
    broken: set[tuple[int, str]] = set()
    for choice in CHOICES:
        for together in _alike(playbook, courses, choice).values():
            ways = [_way_of(course.entry, choice) for course, _ in together if course.entry is not None]
            if len(together) > 1 and any(way.qualifies for way in ways):
                crowd = Crowd(playbook, _masses(playbook, [(course.number, walk.left) for course, walk in together]))
                everybody = as_members(range(len(crowd.labels)))
                if not all(crowd.keeps(crowd.rule_on(each, "witness"), everybody) for each in maps):
                    broken |= {(course.number, choice) for course, _ in together}

    def judged(course: Course) -> Course:
        if course.entry is None:
            return course
        on, up = course.entry.going_on, course.entry.giving_up
        on = replace(on, qualifies=on.qualifies and (course.number, GO_ON) not in broken)
        up = replace(up, qualifies=up.qualifies and (course.number, GIVE_UP) not in broken)
        return replace(course, entry=replace(course.entry, going_on=on, giving_up=up))

    return [judged(course) for course in courses]


def _way_of(entry: Replan, choice: str) -> Way:
    return entry.going_on if choice == GO_ON else entry.giving_up


def _alike(playbook: Playbook, courses: Iterable[Course], choice: str) -> dict[Nodes, list[tuple[Course, Walk]]]:
    """Who look the same when all make the same choice: by what is seen, as far as anything is promised."""
    found: dict[Nodes, list[tuple[Course, Walk]]] = {}
    for course in courses:
        if (walk := course.by_choice(choice)) is not None:
            found.setdefault(walk.shared[: playbook.privacy.m], []).append((course, walk))
    return found


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

    ``courses`` are those of all classes if they make the same choices, and ``told`` the walks that the rule gives.
    """
    m, found = playbook.privacy.m, list[Way]()
    for choice in CHOICES:
        walk = Walk.along(entry, _way_of(entry, choice))
        if walk is None:
            found.append(_way_of(entry, choice))
            continue
        chosen = {course.number: own for course in courses if (own := course.by_choice(choice)) is not None}
        cases = []
        for case in (told, chosen):
            same = {number: own for number, own in case.items() if own.shared[:m] == walk.shared[:m]}
            cases.append({number: own.left for number, own in (same | {entry.number: walk}).items()})
        found.append(replace(_way_of(entry, choice), seen=_sighting(playbook, cases, maps)))
    return replace(entry, going_on=found[0], giving_up=found[1])


def _sighting(playbook: Playbook, cases: Sequence[Mapping[int, Nodes]], maps: Sequence[Domain]) -> Sighting:
    """What can be found out at worst, of the classes that look the same in each case with those who are covered."""
    members = {number: playbook.hidden_classes[number - 1].members for case in cases for number in case}
    crowd = Crowd(playbook, _masses(playbook, members.items()))
    near = [~crowd.far_on(each) for each in maps]
    places, areas, nums = [], [], []
    for some in cases:
        left = _masses(playbook, some.items())
        # Members who are not covered any more may be the secret all the same: an observer can count them or not.
        whole = _masses(playbook, [(number, members[number]) for number in some])
        for masses in (left, whole):
            doors: dict[int, float] = {}
            for node, label in zip(crowd.nodes, crowd.labels, strict=True):
                doors[node] = doors.get(node, 0.0) + masses.get(label, 0.0)
            nums.append(sum(mass > 0 for mass in doors.values()))
            if total := math.fsum(masses.values()):
                places.append(max(doors.values()) / total)
                given = [masses.get(label, 0.0) for label in crowd.labels]
                areas += [heaviest_area(given, close_masks(each)) / total for each in near]
    surely, perhaps = map(set[int], cases)
    return Sighting(
        tuple(sorted(surely)),
        tuple(sorted(perhaps - surely)),
        min(nums),
        min(1.0, max(places)) if places else None,
        min(1.0, max([*areas, *places])) if areas else None,
    )
