"""What can be seen of hidden candidates: who, in which class, by which routes, and how probable (docs/theory, risk)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import measured_domain
from veilroute.domain.graph import Label
from veilroute.model.areas import area_rows, close_masks, heaviest_area
from veilroute.model.playbook import PlaybookClass
from veilroute.model.problem import Privacy, Problem

Sight = tuple[tuple[Label, ...], ...]  #: the nodes that were seen of every trip


class RiskFigures(NamedTuple):
    """What an observer makes of all routes together; ``None`` when nobody is hidden."""

    worst: float | None  #: the largest posterior of an area
    worst_place: float | None  #: the largest posterior of one node
    bayes_success: float | None  #: how often the best guess of a node is right
    num_possible: int | None  #: how many nodes stay possible at least


class _Glance(NamedTuple):
    """The same for one thing that can be seen, not yet divided by how probable it is."""

    total: float
    largest: float
    largest_area: float
    num_possible: int


class Sights:
    """Everything that can be seen of hidden candidates: who, in which class, by which routes, and how probable.

    A sight is a candidate in a class that it may be in: one for each candidate in a partition, several where a class is
    drawn. Candidates are positions among those of the problem.
    """

    def __init__(self, problem: Problem, privacy: Privacy, classes: Sequence[PlaybookClass]) -> None:
        place = {label: i for i, label in enumerate(problem.candidates)}
        self.problem, self.privacy = problem, privacy
        hidden = [group for group in classes if group.anonymized]
        alone = [group for group in classes if not group.anonymized]
        counted = set(problem.counted)
        if any(place.get(member) not in counted for group in classes for member in group.members):
            raise InvalidInputError("playbook", "classes of candidates that count; audit it")
        #: Who can be covered and gets no route.
        self.refused = [place[member] for group in alone for member in group.members]
        entries = [(place[label], at) for at, group in enumerate(hidden) for label in group.members]
        self.candidates: Ints = np.array([c for c, _ in entries], dtype=np.int64)
        self.classes: Ints = np.array([at for _, at in entries], dtype=np.int64)
        hidden_once = list(dict.fromkeys(self.candidates.tolist()))
        everyone = sorted({*hidden_once, *self.refused})
        is_listed_twice = len(everyone) < len(hidden_once) + len(self.refused)
        draws = draw_chances(
            [c for c, _ in entries],
            [share for group in hidden for share in group.shares or [None] * len(group.members)],
        )
        if is_listed_twice or draws is None:
            raise InvalidInputError("playbook", "each candidate in one class, or in several with shares; audit it")
        self.draws: Floats = draws  #: how probable the class is when the candidate is the secret
        weights = np.zeros(len(problem.candidates))
        if everyone:
            # Not yet divided by their sum: when all are hidden, the hidden mass is 1 and not one bit less.
            own = np.ones(weights.size) if problem.prior is None else np.array(problem.prior)
            weights[everyone] = own[everyone] if own[everyone].any() else 1.0
        whole = math.fsum(weights.tolist())
        mass = math.fsum(weights[hidden_once].tolist())
        self.prior: Floats = weights / whole if whole else weights  #: over the candidates that can be covered
        self.hidden_mass = mass / whole if whole else 0.0
        # Places that no walk can cover: their trips are not covered either.
        lost = math.fsum(1.0 if problem.prior is None else problem.prior[i] for i in counted - set(everyone))
        self.covered_mass = mass / (whole + lost) if whole else 0.0  #: how many of all trips have a route
        self.joint: Floats = weights[self.candidates] * self.draws / (mass or 1.0)  #: given that the secret is hidden
        numbers: dict[Sight, int] = {}
        trips = range(len(problem.trips))
        ways = [
            numbers.setdefault(tuple(group.route_of(label, trip).nodes for trip in trips), len(numbers))
            for group in hidden
            for label in group.members
        ]
        self.ways: Ints = np.array(ways, dtype=np.int64)  #: the routes of each sight, as a position among ``routes``
        self.routes = list(numbers)  #: distinct ones, each with the nodes of every trip
        self._glances: dict[bytes, _Glance] = {}

    def alike(self, m: int | None) -> dict[Sight, Ints]:
        """Which sights look alike for m nodes of every trip: by these nodes, in the order of the first of each."""
        seen = [tuple(nodes[:m] for nodes in way) for way in self.routes]
        numbers = {key: at for at, key in enumerate(dict.fromkeys(seen))}
        alike = np.array([numbers[key] for key in seen], dtype=np.int64)
        return dict(zip(numbers, _split(alike[self.ways]), strict=True))

    def over_time(self, trip: int | None = None) -> Iterator[tuple[int, list[Ints]]]:
        """What looks alike after 1, 2, ... nodes of every trip, until the longest route has ended.

        With a ``trip``, after so many nodes of that one: trips before it were seen whole, later ones not yet.
        """
        steps = self._steps()
        before = [(at, each) for each in range(trip or 0) for at in range(steps.shape[2])]
        shown, longest = range(steps.shape[0]), steps.shape[2]
        if trip is not None:
            shown, longest = range(trip, trip + 1), max((len(way[trip]) for way in self.routes), default=0)
        alike = np.zeros(len(self.routes), dtype=np.int64)

        def split_by(alike: Ints, at: int, each: int) -> Ints:
            return np.unique(alike * (steps.max() + 2) + steps[each, :, at] + 1, return_inverse=True)[1]

        for at, each in before:
            alike = split_by(alike, at, each)
        num, groups = 0, _split(alike[self.ways])
        for at in range(longest):
            for each in shown:
                alike = split_by(alike, at, each)
            if alike.max() + 1 > num:
                num, groups = int(alike.max()) + 1, _split(alike[self.ways])
            yield at + 1, groups

    def _steps(self) -> Int32s:
        """The nodes of every trip and route in some numbering, -1 after the end."""
        longest = max((len(nodes) for way in self.routes for nodes in way), default=0)
        steps = np.full((len(self.problem.trips), len(self.routes), longest), -1, dtype=np.int32)
        numbers: dict[Label, int] = {}
        for at, way in enumerate(self.routes):
            for trip, nodes in enumerate(way):
                steps[trip, at, : len(nodes)] = [numbers.setdefault(node, len(numbers)) for node in nodes]
        return steps

    def figures(self, groups: Iterable[Ints]) -> RiskFigures:
        """What an observer makes of sights that look alike within each group."""
        glances = [glance for glance in map(self._glance, groups) if glance.total > 0]
        if not glances:
            return RiskFigures(None, None, None, None)
        return RiskFigures(
            max(min(1.0, glance.largest_area / glance.total) for glance in glances),
            max(min(1.0, glance.largest / glance.total) for glance in glances),
            min(1.0, math.fsum(glance.largest for glance in glances)),
            min(glance.num_possible for glance in glances),
        )

    def masses(self, group: Ints) -> tuple[Ints, Floats]:
        """Who is possible in a group, in the order of the sights, and how probable each is together with it."""
        candidates, first, at = np.unique(self.candidates[group], return_index=True, return_inverse=True)
        masses: Floats = np.bincount(at, self.joint[group], candidates.size).astype(np.float64)
        order = np.argsort(first)
        return candidates[order], masses[order]

    def spread_out(self, group: Ints) -> Floats:
        """How probable each of the problem's candidates is together with a group."""
        return np.bincount(self.candidates[group], self.joint[group], self.prior.size).astype(np.float64)

    def _glance(self, group: Ints) -> _Glance:
        # Ways part and never meet again, so that most groups are those of the step before.
        key = group.tobytes()
        if key not in self._glances:
            candidates, masses = self.masses(group)
            doors = np.unique(np.array(self.problem.candidate_nodes)[candidates], return_inverse=True)[1]
            at_doors = np.bincount(doors, masses)
            largest = largest_area = float(at_doors.max())
            if self._near is not None and candidates.size > 1:
                largest_area = max(largest, self._heaviest_area(candidates, masses))
            self._glances[key] = _Glance(math.fsum(masses.tolist()), largest, largest_area, int((at_doors > 0).sum()))
        return self._glances[key]

    def _heaviest_area(self, candidates: Ints, masses: Floats) -> float:
        """The largest mass of an area among some hidden candidates."""
        assert self._near is not None, "asked only when some are near each other"
        at = np.searchsorted(self._hidden, candidates)
        if self._areas is None:
            return heaviest_area(masses.tolist(), close_masks(self._near[np.ix_(at, at)]))
        return float((self._areas[:, at] @ masses).max(initial=0.0))

    def areas(self) -> list[list[int]] | None:
        """The maximal areas of two or more hidden candidates; ``None`` when there are too many to list."""
        if self._near is None:
            return []
        return None if self._areas is None else [self._hidden[row].tolist() for row in self._areas]

    def doors(self) -> list[list[int]]:
        """The hidden candidates at each node that has more than one of them."""
        names: dict[int, list[int]] = {}
        for candidate in self._hidden.tolist():
            names.setdefault(self.problem.candidate_nodes[candidate], []).append(candidate)
        return [each for each in names.values() if len(each) > 1]

    @cached_property
    def _areas(self) -> Flags | None:
        """Per maximal area of hidden candidates who is in it; ``None`` when there are too many to list."""
        return None if self._near is None else area_rows(self._near)

    @cached_property
    def _hidden(self) -> Ints:
        return np.unique(self.candidates)

    @cached_property
    def _near(self) -> Flags | None:
        """Per two hidden candidates whether they are closer than ell; ``None`` when nobody is close to anybody else."""
        domain, privacy = self.problem.domain, self.privacy
        nodes = [self.problem.candidate_nodes[i] for i in self._hidden.tolist()]
        is_far = privacy.measure != "straight" and len(set(nodes)) == len(nodes)
        if is_far and privacy.ell <= measured_domain(domain, privacy.measure).smallest_cost:
            return None  # before kernels are loaded
        from veilroute.covering.task import far_matrix

        near = ~far_matrix(domain, nodes, privacy)
        return near if near.sum() > len(near) else None


def draw_chances(candidates: Sequence[int], shares: Sequence[float | None]) -> Floats | None:
    """How probable it is that each entry is drawn when its candidate is the secret: by its share of the candidate's.

    Without shares it is certain. ``None`` when a candidate has several entries and no shares, or nothing but shares
    of 0.
    """
    by_candidate: dict[int, list[float | None]] = {}
    for candidate, share in zip(candidates, shares, strict=True):
        by_candidate.setdefault(candidate, []).append(share)
    totals: dict[int, float] = {}
    for candidate, own in by_candidate.items():
        given = [share for share in own if share is not None]
        totals[candidate] = math.fsum(given) if given else 1.0
        if len(given) < len(own) > 1 or totals[candidate] <= 0:
            return None
    chances = [1.0 if x is None else x / totals[c] for c, x in zip(candidates, shares, strict=True)]
    return np.array(chances)


def _split(numbers: Ints) -> list[Ints]:
    """The positions that have each number, in the order of the first of each."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order])) + 1
    groups = np.split(order, bounds) if numbers.size else []
    return sorted(groups, key=lambda group: int(group[0]))
