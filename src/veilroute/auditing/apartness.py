"""The auditor's own rule of what a class must be, and who stands far from whom.

Sets of candidates are bit masks, over their positions or any other numbering of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate

from veilroute.auditing.survey import CrowMap, Survey, measured_map
from veilroute.auditing.walking import Effort, WalkingMap
from veilroute.domain.graph import at_least
from veilroute.problem import ROUNDING, Privacy

_APART_STEP = 2  #: what asking who stands apart takes, measured in visits by breadth-first search

_MAX_BRANCHES = 20_000
_MAX_BRANCHES_WIDEST = 500
"""Effort after which the search for a large enough or the largest set stops and reports what it has."""


def mask_of(candidates: Iterable[int]) -> int:
    """The bit mask of some candidates."""
    return reduce(operator.or_, (1 << candidate for candidate in candidates), 0)


def members_of(mask: int) -> Iterator[int]:
    """The candidates in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class ClassRule:
    """What a class must be: at least k members, of whom k (``witness``) or all (``all-pairs``) stand ell apart.

    Or, with a ``beta``: no member weighs, with those close to it, more than beta of the whole class. ``largest`` is how
    many members a class that matters has at most, where that is known otherwise.

    ``close`` has for each candidate a mask of those close to it. Everything in the auditor that asks whether candidates
    are a class, or could become one, asks here. With an ``effort`` every answer is exact or `TooMuchError`. Without
    one, a group of which k members apart cannot be found in 20,000 steps does not qualify.

    Classes that can be split into two that qualify need not be looked at. Take any partition, and split such classes as
    long as it has one: the same candidates stay anonymized, and a part's walk costs no more than the walk for the
    whole, which covers it, so that every member pays at most what it paid. This ends, in classes that cannot be split.
    A bound on all partitions into such classes is therefore one on all partitions. The same holds for the number of
    anonymized candidates. A set that can be split makes all larger sets splittable, so a search that adds members one
    by one may stop there.

    With a beta this is true only as long as members are added from the heaviest to the lightest, and even then only of
    those who stand far from everybody else. Let A and B be two classes, and x be no heavier than any member of A. If x
    is far from all of A, then A with x is a class: what is close to others weighs as before, the whole weighs more, and
    x itself weighs no more than the heaviest of A, so no more than beta of it. Where x is close to somebody in A and
    to somebody in B, or to others still to come, nothing follows. A heavier x may need everybody.
    """

    def __init__(
        self,
        k: int,
        close: Mapping[int, int],
        *,
        is_all_pairs: bool,
        effort: Effort | None = None,
        beta: float | None = None,
        masses: Mapping[int, float] | None = None,
        largest: int | None = None,
    ) -> None:
        self.k, self.close, self.is_all_pairs, self.effort = k, close, is_all_pairs, effort
        self.beta, self.masses, self.largest = beta, masses or {}, largest
        self._known: dict[tuple[int, int | None], FarSet] = {}
        self._splits: dict[int, tuple[int, int] | None] = {}

    def renumbered(self, members: Sequence[int], effort: Effort) -> ClassRule:
        """The same rule, exact, over another numbering of some candidates; with a beta, name the heaviest first."""
        place = {c: i for i, c in enumerate(members)}
        close = {i: mask_of(place[b] for b in members_of(self.close[a]) if b in place) for a, i in place.items()}
        masses = {i: self.masses[c] for c, i in place.items()} if self.masses else {}
        k = self.k if self.beta is None else max(self.k, _fewest(sorted(masses.values()), self.beta))
        return ClassRule(
            k, close, is_all_pairs=self.is_all_pairs, effort=effort, beta=self.beta, masses=masses, largest=self.largest
        )

    def qualifies(self, group: int) -> bool:
        """Whether the group is a class."""
        if group.bit_count() < self.k:
            return False
        if self.beta is not None:
            if self.is_all_pairs and not self.is_far(group):
                return False
            return self.is_within({c: self.masses[c] for c in members_of(group)})
        if self._is_all_far:
            return self.is_far(group)
        if self.effort is None:
            return self.largest_far_set(group, enough=self.k).size >= self.k
        return self.has_far(group, self.k)

    def is_within(self, masses: Mapping[int, float]) -> bool:
        """Whether nobody of a group, with those close to it, weighs more than beta of the group."""
        total = math.fsum(masses.values())
        return total > 0 and self.heaviest(masses)[1] <= (self.beta or 0.0) * total * (1 + ROUNDING)

    def heaviest(self, masses: Mapping[int, float]) -> tuple[int, float]:
        """The member of a group that weighs most together with those close to it, and how much that is."""
        group = mask_of(masses)
        near = {
            c: math.fsum([own, *(masses[b] for b in members_of(self.close[c] & group))]) for c, own in masses.items()
        }
        return max(near.items(), key=lambda item: item[1])

    @cached_property
    def _is_all_far(self) -> bool:
        """Whether all members of a class have to be far apart, or nobody is close to anybody."""
        return self.is_all_pairs or not any(self.close.values())

    @cached_property
    def max_size(self) -> int:
        """How many members a class has at most that cannot be split: 2k - 1, where any k of them are a class."""
        if self.largest is not None or self.beta is not None:
            return min(len(self.close), self.largest or len(self.close))
        return min(len(self.close), 2 * self.k - 1) if self._is_all_far else len(self.close)

    def may_join(self, group: int, member: int) -> bool:
        """Whether a class that cannot be split may hold the group, which one holds, and this member as well."""
        grown = group | 1 << member
        if self.is_all_pairs and not self.is_far(grown):
            return False
        if self.beta is not None:
            return not self._is_split_for_good(group, member)
        if self._is_all_far:
            return group.bit_count() < self.max_size
        # The group itself cannot be split, so the new member is needed for it.
        return grown.bit_count() < 2 * self.k or not any(
            self.has_far(grown & ~(apart | 1 << member), self.k)
            for apart in self.far_sets(group & ~self.close[member], self.k - 1)
        )

    def _is_split_for_good(self, group: int, first: int) -> bool:
        """Whether all that comes of a group by adding lighter members, from ``first`` on, splits as the group does."""
        if group not in self._splits:
            self._splits[group] = self._find_split(group)
        split = self._splits[group]
        if split is None or self._is_all_far:
            return split is not None
        later = (1 << len(self.close)) - (1 << first)
        return all(
            not self.close[x] & later and not all(self.close[x] & part for part in split) for x in members_of(later)
        )

    def _find_split(self, group: int) -> tuple[int, int] | None:
        """Two classes that make up the group, if there are some of which one has neighbours by mass only."""
        if group.bit_count() < 2 * self.k:
            return None
        members = list(members_of(group))
        if self.effort is not None:
            self.effort.spend(_APART_STEP * len(members))
        for at, heaviest in enumerate(members[1:], 1):
            part, mass = 0, 0.0
            for member in members[at:]:
                part |= 1 << member
                mass += self.masses[member]
                if self.masses[heaviest] <= (self.beta or 0.0) * mass:
                    if self.qualifies(part) and self.qualifies(group ^ part):
                        return part, group ^ part
                    break
        return None

    def is_far(self, mask: int) -> bool:
        """Whether all members of a set are pairwise far apart."""
        return all(not self.close[a] & mask for a in members_of(mask))

    def has_far(self, pool: int, num: int) -> bool:
        """Whether ``num`` members of the pool are pairwise far apart."""
        return next(self.far_sets(pool, num), None) is not None

    def far_sets(self, pool: int, num: int) -> Iterator[int]:
        """All sets of ``num`` members of the pool that are pairwise far apart."""
        if num == 0:
            yield 0
        while pool.bit_count() >= num > 0:
            if self.effort is not None:
                self.effort.spend(_APART_STEP)
            low = pool & -pool
            pool ^= low
            for rest in self.far_sets(pool & ~self.close[low.bit_length() - 1], num - 1):
                yield low | rest

    def largest_far_set(self, mask: int, *, enough: int | None = None) -> FarSet:
        """A largest subset whose members are pairwise far apart; one of size ``enough`` will do.

        Branch and bound: whoever is close to nobody or to one only is taken, then the most crowded candidate is
        tried in and out. A cover of the rest by cliques of mutually close candidates bounds what can follow.
        Exact up to an effort that groups met in practice do not reach; without ``enough``, which no verdict hangs
        on, the effort is smaller.
        """
        key = (mask, enough)
        if key not in self._known:
            limit = _MAX_BRANCHES_WIDEST if enough is None else _MAX_BRANCHES
            found = FarSet(self.close, mask.bit_count() if enough is None else enough, limit)
            found.extend(0, mask)
            self._known[key] = found
        return self._known[key]


def _fewest(masses: Sequence[float], beta: float) -> int:
    """How many members a class has at least, of some with these masses, ascending.

    With a given one for its heaviest, the fewest are enough when they are the next lighter ones.
    """
    fewest = len(masses) + 1
    for last, heaviest in enumerate(masses):
        totals = accumulate(masses[last::-1])
        enough = (size for size, total in enumerate(totals, 1) if heaviest <= beta * total * (1 + 2 * ROUNDING))
        fewest = min(fewest, next(enough, fewest))
    return fewest


class Spread(ClassRule):
    """The rule of a privacy on a map: distances between candidates as far as it needs them.

    The distance of two candidates is the smaller of both directions; a candidate is infinitely far from itself.
    """

    def __init__(self, survey: Survey, privacy: Privacy) -> None:
        # Who is close to whom is kept as bits, and how close is worked out again when asked: there may be many pairs.
        close = dict.fromkeys(survey.nodes, 0)
        is_all_pairs, beta = privacy.spread == "all-pairs", privacy.beta
        masses = dict.fromkeys(survey.nodes, 0.0) | ({} if beta is None else survey.prior)
        super().__init__(privacy.k, close, is_all_pairs=is_all_pairs, beta=beta, masses=masses)
        self._survey, self._measure = survey, privacy.measure
        is_cost = privacy.measure == "cost"
        self._limit = at_least(privacy.ell, exact=is_cost and survey.problem.domain.has_integer_costs)
        candidate_at = survey.candidate_at
        for a, around in self._surroundings(survey.nodes if self._limit > 0 else ()):
            for there in around.keys() & candidate_at.keys():
                b = candidate_at[there]
                if a != b and around[there] < self._limit:
                    close[a] |= 1 << b
                    close[b] |= 1 << a

    def close_pairs(self, mask: int) -> list[tuple[int, int, float]]:
        """The pairs within a set that stand too close, closest first, with their distance."""
        close = {a: self.close[a] & mask for a in members_of(mask)}
        gaps: dict[tuple[int, int], float] = {}
        for a, around in self._surroundings(a for a in close if close[a]):
            for b in members_of(close[a]):
                pair = (min(a, b), max(a, b))
                gap = around.get(self._survey.nodes[b], math.inf)
                gaps[pair] = min(gap, gaps.get(pair, math.inf))
        return [(a, b, gap) for gap, a, b in sorted((gap, a, b) for (a, b), gap in gaps.items())]

    def _surroundings(self, candidates: Iterable[int]) -> Iterator[tuple[int, dict[int, float]]]:
        """For each of some candidates the distances to the others' nodes, as far as they are within the limit."""
        nodes = self._survey.nodes
        for a in candidates:
            yield a, self._ground.near(nodes[a], self._limit, wanted=self._survey.candidate_at.keys())

    @cached_property
    def _ground(self) -> WalkingMap | CrowMap:
        survey = self._survey
        return survey.walking if self._measure == "cost" else measured_map(survey.problem.domain, self._measure)


@dataclass(eq=False)
class FarSet:
    """Candidates pairwise far apart, and the search that found them."""

    close: Mapping[int, int]
    enough: int  # no more are looked for
    limit: int  # of branches
    mask: int = 0  # the largest set found so far
    branches: int = 0

    @property
    def size(self) -> int:
        """How many there are."""
        return self.mask.bit_count()

    @property
    def is_largest(self) -> bool:
        """Whether it is proved that no more are, or enough were found."""
        return self.size >= self.enough or self.branches < self.limit

    def extend(self, taken: int, rest: int) -> None:
        """Try to complete ``taken`` from ``rest``, all of whom are far from it."""
        while True:
            taken, rest, crowd = self._take_loners(taken, rest)
            if taken.bit_count() > self.size:
                self.mask = taken
            self.branches += 1
            if not rest or self.size >= self.enough or self.branches >= self.limit:
                return
            if taken.bit_count() + self._bound(rest) <= self.size:
                return
            pivot = max(crowd, key=lambda a: (crowd[a], -a))
            rest &= ~(1 << pivot)
            self.extend(taken | 1 << pivot, rest & ~self.close[pivot])

    def _take_loners(self, taken: int, rest: int) -> tuple[int, int, dict[int, int]]:
        """Take everyone close to at most one other: that never costs a larger set."""
        while True:
            crowd = {a: (self.close[a] & rest).bit_count() for a in members_of(rest)}
            loners = [a for a, num in crowd.items() if num <= 1]
            if not loners:
                return taken, rest, crowd
            for loner in loners:
                if rest >> loner & 1:
                    taken |= 1 << loner
                    rest &= ~(self.close[loner] | 1 << loner)

    def _bound(self, rest: int) -> int:
        """At most one of each clique of mutually close candidates can be taken."""
        cliques: list[int] = []
        for a in members_of(rest):
            for i, clique in enumerate(cliques):
                if clique & ~self.close[a] == 0:
                    cliques[i] = clique | 1 << a
                    break
            else:
                cliques.append(1 << a)
        return len(cliques)
