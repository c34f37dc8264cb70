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
from typing import NamedTuple

from veilroute.auditing.survey import CrowMap, Survey, measured_map
from veilroute.auditing.walking import Effort, WalkingMap
from veilroute.domain.graph import at_least
from veilroute.model.problem import ROUNDING, Privacy

_APART_STEP = 2
_AREA_STEP = 0.5
"""What asking who stands apart, and looking at a candidate in the search for an area, take, measured in visits by
breadth-first search."""

_MAX_BRANCHES = 20_000
_MAX_BRANCHES_WIDEST = 500
"""Effort after which the search for a large enough or the largest set stops and reports what it has."""

_MAX_LOOKS = 1_000_000
"""How many candidates the search for the heaviest area looks at, when nobody counts its effort: about a second."""


def mask_of(candidates: Iterable[int]) -> int:
    """The bit mask of some candidates."""
    return reduce(operator.or_, (1 << candidate for candidate in candidates), 0)


def members_of(mask: int) -> Iterator[int]:
    """The candidates in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Area(NamedTuple):
    """The heaviest area that was found: candidates that are pairwise close."""

    mask: int
    mass: float  # what they weigh
    most: float  # no area weighs more; the same as the mass unless the search was given up

    @property
    def is_decided(self) -> bool:
        """Whether there is certainly no heavier area."""
        return self.most <= self.mass


class ClassRule:
    """What a class must be: at least k members, of whom k (``witness``) or all (``all-pairs``) are pairwise not close.

    Or, with a ``beta``: no *area*, a set of candidates that are pairwise close, weighs more than beta of the whole
    class; under ``all-pairs`` no two members are close as well. ``largest`` is how many members a class that matters
    has at most, if that is known otherwise.

    ``close`` has for each candidate a mask of those close to it. Everything in the auditor that asks whether candidates
    are a class, or could become one, asks here. With an ``effort`` every answer is exact or `TooMuchError`. Without
    one, a group does not qualify if k members apart cannot be found in 20,000 steps, or if the search for the heaviest
    area is given up and the candidates close to one member, who are no less than any area around it, weigh too much.

    Classes that can be split into two that qualify need not be looked at. Take any partition, and split such classes as
    long as it has one: the same candidates stay anonymized, and a part's walk costs no more than the walk for the
    whole, which covers it, so that every member pays at most what it paid. This ends, in classes that cannot be split.
    A bound on all partitions into such classes is therefore one on all partitions. The same holds for the number of
    anonymized candidates. When possibilities are counted, a set that can be split makes all larger sets splittable, so
    a search that adds members one by one may stop there.

    With a beta that does not follow: a heavier member, or one in a heavy area, may need everybody. But the rule is
    linear. Fix an area K. A set C keeps the bound for K when what is left of ``beta * p(C)`` after ``p(C & K)`` is not
    negative, and that remainder adds up over disjoint sets. So:

    - The union of disjoint classes is a class. Groups that look the same to an observer keep the promise together.
    - Let A be a class and X any others. A with X is a class if for every area K ::

          p(A & K) + (1 - beta) * p(X & K) <= beta * p(A)

      because ``p(X & K) - beta * p(X) <= (1 - beta) * p(X & K)``. This is then true of every subset of X as well, since
      a subset makes the left side smaller and leaves the right one as it is. One search for the heaviest area, in which
      members of A weigh what they weigh and others ``1 - beta`` of that, decides it for all areas and all subsets.
    - So if a group splits into the classes A and B, and those who may still join it fall into some that A can take in
      this way and some that B can, then whatever the search makes of the group splits too: it may stop there. (Under
      ``all-pairs`` an area has one member of a class at most, so that single members take the place of areas.)
    - If a class holds a group, it weighs at least the heaviest area of the group divided by beta, because no area
      becomes lighter when members join.

    ``lines`` are histories: for a candidate masks of those who are left beside it after earlier trips. What each line
    of each member leaves of a class must be a class as well. A candidate without lines may be anybody. A ledger of
    partitions gives one line to each candidate: by linearity, an observer who links fewer trips knows no more. There
    are several if classes were drawn on earlier trips, and in files of earlier versions; all of them are held.

    With histories a set that can be split may be part of one that cannot. With a beta, A can take X as above if every
    line of a member of X holds all of A, and the inequality is true not only of A but also of what each line of its
    members leaves of A: what a line leaves of A with some of X is one of these parts with a subset of X.

    When possibilities are counted, everybody has one history at most, and each holds the histories of all in it (as
    those of a ledger do, :attr:`stories`), this is true of a class C that cannot be split:

    - Of the histories of its members take one, M, that holds no other. Those of C in M all have the history M, so they
      are a class: a *core*. Each further member has a history that holds a core, and stays hidden among that core
      alone. So C falls into its cores, each with some of the others; as it does not, it has one core only, and this
      is part of the history of every member.
    - Were the core two classes, the others could go with either. Were those of C with another history than M a class,
      they could leave it: the rest has the core still.
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
        lines: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.k, self.close, self.is_all_pairs, self.effort = k, close, is_all_pairs, effort
        self.beta, self.masses, self.largest, self.lines = beta, masses or {}, largest, lines or {}
        self._known: dict[tuple[int, int | None], FarSet] = {}
        self._splits: dict[int, _Split | None] = {}

    def renumbered(self, members: Sequence[int], effort: Effort) -> ClassRule:
        """The same rule, exact, over another numbering of some candidates; with a beta, name the heaviest first."""
        place = {c: i for i, c in enumerate(members)}
        close = {i: mask_of(place[b] for b in members_of(self.close[a]) if b in place) for a, i in place.items()}
        masses = {i: self.masses[c] for c, i in place.items()} if self.masses else {}
        k = self.k if self.beta is None else max(self.k, _fewest(sorted(masses.values()), self.beta))
        lines = {
            i: tuple(mask_of(place[b] for b in members_of(line) if b in place) for line in self.lines[c])
            for c, i in place.items()
            if c in self.lines
        }
        return ClassRule(
            k,
            close,
            is_all_pairs=self.is_all_pairs,
            effort=effort,
            beta=self.beta,
            masses=masses,
            largest=self.largest,
            lines=lines,
        )

    def qualifies(self, group: int) -> bool:
        """Whether the group is a class."""
        parts = {line & group for c in members_of(group) for line in self.lines.get(c, ())} if self.lines else set()
        return self.hides(group) and all(part == group or self.hides(part) for part in parts)

    def hides(self, group: int) -> bool:
        """Whether the group is a class to who has seen no earlier trip."""
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
        """Whether certainly no area of a group weighs more than beta of the group."""
        return self.find_within(masses) is True

    def find_within(self, masses: Mapping[int, float]) -> bool | None:
        """Whether no area of a group weighs more than beta of it; ``None`` if the search for one was given up."""
        total = math.fsum(masses.values())
        if total <= 0:
            return False
        limit = (self.beta or 0.0) * total * (1 + ROUNDING)
        # Members close to one of them are no less than any area around it: this is enough, and quickly found.
        if self._heaviest_around(masses) <= limit:
            return True
        area = self.heaviest(masses)
        return area.most <= limit or (False if area.mass > limit else None)

    def heaviest(self, masses: Mapping[int, float]) -> Area:
        """The heaviest area of a group, whose members weigh so much, none less than nothing.

        Branch and bound over areas, that is cliques of the graph of who is close to whom. The candidates that may still
        join are put into sets of which no two members are close: an area has one of each set at most, so the heaviest
        members of the sets bound what it can gain. Of two areas that weigh the same, the first found is taken.
        """
        group = mask_of(masses)
        if not any(self.close[c] & group for c in masses):
            heaviest = max(masses, key=lambda c: (masses[c], -c))
            return Area(1 << heaviest, masses[heaviest], masses[heaviest])
        if not any(group & ~(self.close[c] | 1 << c) for c in masses):
            total = math.fsum(masses.values())
            return Area(group, total, total)
        search = AreaSearch(self.close, masses, self.effort)
        found = search.run(group)
        mass = math.fsum(masses[c] for c in members_of(found))
        return Area(found, mass, mass if search.is_complete else max(mass, self._heaviest_around(masses)))

    def grown_area(self, group: int, member: int, area: float) -> float:
        """What the heaviest area of a group weighs when a member joins; ``area`` is what it weighs before."""
        near = {c: self.masses[c] for c in members_of(self.close[member] & group)}
        return max(area, self.masses[member] + (self.heaviest(near).mass if near else 0.0))

    def _heaviest_around(self, masses: Mapping[int, float]) -> float:
        """The most that a member of a group weighs together with those close to it."""
        group = mask_of(masses)
        return max(
            math.fsum([own, *(masses[b] for b in members_of(self.close[c] & group))]) for c, own in masses.items()
        )

    @cached_property
    def _is_all_far(self) -> bool:
        """Whether all members of a class have to be far apart, or nobody is close to anybody."""
        return self.is_all_pairs or not any(self.close.values())

    @cached_property
    def max_size(self) -> int:
        """How many members a class has at most that cannot be split: 2k - 1, where any k of them are a class.

        With histories these are in its core, and for each further history that holds the core k - 1 more.
        """
        num = len(self.close)
        if self.largest is not None or self.beta is not None:
            return min(num, self.largest or num)
        if not self._is_all_far or (self.lines and self.stories is None):
            return num
        stories = set((self.stories or {}).values())
        levels = max((sum(story >> c & 1 for story in stories) for c in self.close), default=1)
        return min(num, 2 * self.k - 1 + max(0, levels - 1) * (self.k - 1))

    @cached_property
    def stories(self) -> dict[int, int] | None:
        """The history of each candidate, where nobody has two and each holds those of all in it; else ``None``."""
        everybody = mask_of(self.close)
        stories = {c: self.lines[c][0] if c in self.lines else everybody for c in self.close}
        is_single = self.beta is None and all(len(lines) == 1 for lines in self.lines.values())
        if is_single and not any(stories[b] & ~story for story in set(stories.values()) for b in members_of(story)):
            return stories
        return None

    @cached_property
    def partners(self) -> dict[int, int]:
        """For each candidate those who may be with it in a class that cannot be split, as far as histories say."""
        everybody, stories = mask_of(self.close), self.stories
        if not self.lines or stories is None:
            return dict.fromkeys(self.close, everybody)
        met = {
            story: {other for other in set(stories.values()) if (story & other).bit_count() >= self.k}
            for story in set(stories.values())
        }
        return {c: mask_of(b for b in stories if stories[b] in met[story]) for c, story in stories.items()}

    def may_join(self, group: int, member: int) -> bool:
        """Whether a class that cannot be split may hold the group, which one holds, and this member as well."""
        grown = group | 1 << member
        if self.is_all_pairs and not self.is_far(grown):
            return False
        if self.lines and not self._may_last(grown, member):
            return False
        if self.beta is not None:
            return not self._is_split_for_good(group, member)
        if self.lines:
            return True
        if self._is_all_far:
            return group.bit_count() < self.max_size
        return not self._is_parted(group, member)

    def _may_last(self, grown: int, newest: int) -> bool:
        """Whether what comes of a group by adding members after the newest may be a class, as far as histories say."""
        if self.effort is not None:
            self.effort.spend(_APART_STEP * grown.bit_count())
        possible = grown | (1 << len(self.close)) - (1 << newest)
        if self.stories is None:
            return all(self._is_enough(c, line & possible) for c in members_of(grown) for line in self.lines.get(c, ()))
        levels: dict[int, int] = {}
        for c in members_of(grown):
            levels[self.stories[c]] = levels.get(self.stories[c], 0) | 1 << c
        shared = reduce(operator.and_, levels)
        if not self._has_apart(shared & possible):
            return False
        for story, level in levels.items():
            if story != shared and self._has_apart(level):
                return False  # they can do without the core
        core = levels.get(shared, 0)
        if core >> newest & 1 == 0:
            return True
        return core.bit_count() < 2 * self.k or not (self._is_all_far or self._is_parted(core ^ 1 << newest, newest))

    def _is_enough(self, member: int, left: int) -> bool:
        """Whether those who are left may hide a member, as far as their number and mass say."""
        if self.beta is None:
            return left.bit_count() >= self.k
        total = math.fsum(self.masses[c] for c in members_of(left))
        return self.masses[member] <= self.beta * total * (1 + ROUNDING)

    def _has_apart(self, pool: int) -> bool:
        """Whether k of a pool stand apart."""
        return pool.bit_count() >= self.k and (self._is_all_far or self.has_far(pool, self.k))

    def _is_parted(self, group: int, member: int) -> bool:
        """Whether a group that cannot be split by spread can be with this member, who is then needed for it."""
        grown = group | 1 << member
        return grown.bit_count() >= 2 * self.k and any(
            self.has_far(grown & ~(apart | 1 << member), self.k)
            for apart in self.far_sets(group & ~self.close[member], self.k - 1)
        )

    def _is_split_for_good(self, group: int, first: int) -> bool:
        """Whether all that comes of a group by adding members from ``first`` on splits as the group does."""
        if group not in self._splits:
            parts = self._find_split(group)
            self._splits[group] = None if parts is None else _Split(parts, len(self.close), -1)
        split = self._splits[group]
        if split is None:
            return False
        # The fewer may still come, the sooner the parts can take them.
        if split.unknown_below <= first:
            return True
        if first <= split.fails_up_to:
            return False
        takes = any(
            all(self._can_take(part, some) for part, some in zip(split.parts, shared, strict=True))
            for shared in self._shared_out(split.parts, (1 << len(self.close)) - (1 << first))
        )
        if takes:
            split.unknown_below = first
        else:
            split.fails_up_to = first
        return takes

    def _shared_out(self, parts: tuple[int, int], later: int) -> Iterator[tuple[int, int]]:
        """Some ways to say which part of a split takes whom."""
        yield later, 0
        yield 0, later
        near_first = mask_of(c for c in members_of(later) if self.close[c] & parts[0])
        yield later & ~near_first, near_first

    def _can_take(self, part: int, later: int) -> bool:
        """Whether a class stays one when any of ``later`` join it; see the inequality above."""
        if not later:
            return True
        if any(part & ~line for x in members_of(later) for line in self.lines.get(x, ())):
            return False
        beta = self.beta or 0.0
        joining = {x: (1 - beta) * self.masses[x] for x in members_of(later)}
        for left in {part, *(line & part for c in members_of(part) for line in self.lines.get(c, ()))}:
            own = {c: self.masses[c] for c in members_of(left)}
            weights = own | joining
            most = max(weights.values()) if self._is_all_far else self.heaviest(weights).most
            # With half the rounding that the rule allows, so that sums which are off by less decide nothing.
            if most > beta * math.fsum(own.values()) * (1 + ROUNDING / 2):
                return False
        return True

    def _find_split(self, group: int) -> tuple[int, int] | None:
        """Two classes that make up the group, if there are some of which one has neighbours by mass only.

        It looks at a few splits only, so that it may overlook one: then the search goes on where it could stop.
        """
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
                if self.masses[heaviest] <= (self.beta or 0.0) * mass * (1 + ROUNDING):
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

    def largest_far_set(self, mask: int, *, enough: int | None = None, limit: int | None = None) -> FarSet:
        """A largest subset whose members are pairwise far apart; one of size ``enough`` will do.

        Branch and bound: whoever is close to nobody or to one only is taken, then the most crowded candidate is
        tried in and out. A cover of the rest by cliques of mutually close candidates bounds what can follow.
        Exact up to an effort that groups met in practice do not reach; without ``enough``, which no verdict hangs
        on, the effort is smaller, or as many branches as ``limit`` says.
        """
        key = (mask, enough)
        if key not in self._known:
            limit = limit or (_MAX_BRANCHES_WIDEST if enough is None else _MAX_BRANCHES)
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


@dataclass
class _Split:
    """Two classes that make up a group, and from whom on these can take all members that may still join."""

    parts: tuple[int, int]
    unknown_below: int  # they can from this member on
    fails_up_to: int  # that they can was not found for this member, or for any before it


class Spread(ClassRule):
    """The rule of a privacy on a map: distances between candidates as far as it needs them.

    Two candidates are close when they are at the same node, whatever ell is, or less than ell apart. Their distance is
    the smaller of both directions, whatever turns are legal.
    ``here`` is the same without any past. Where the survey walks on other costs than the problem's, and not all are
    integers, it is not ``exact``.
    """

    def __init__(self, survey: Survey, privacy: Privacy, *, exact: bool = True) -> None:
        # Who is close to whom is kept as bits, and how close is worked out again when asked: there may be many pairs.
        close = dict.fromkeys(survey.nodes, 0)
        is_all_pairs, beta = privacy.spread == "all-pairs", privacy.beta
        masses = dict.fromkeys(survey.nodes, 0.0) | ({} if beta is None else survey.prior)
        lines: dict[int, tuple[int, ...]] = {}
        past = survey.problem.past
        for label, others in () if past is None else past.left:
            if (owner := survey.find(label)) is not None:
                line = mask_of(c for c in map(survey.find, others) if c is not None)
                lines[owner] = tuple(dict.fromkeys((*lines.get(owner, ()), line)))
        super().__init__(privacy.k, close, is_all_pairs=is_all_pairs, beta=beta, masses=masses, lines=lines)
        self._survey, self._measure = survey, privacy.measure
        exact = exact and privacy.measure == "cost" and survey.problem.domain.has_integer_costs
        self._limit = at_least(privacy.ell, exact=exact)
        candidates_at = survey.candidates_at
        for a, node in survey.nodes.items():
            close[a] = mask_of(b for b in candidates_at[node] if b != a)
        for a, around in self._surroundings(survey.nodes if self._limit > 0 else ()):
            for there in around.keys() & candidates_at.keys():
                for b in candidates_at[there] if around[there] < self._limit else ():
                    if a != b:
                        close[a] |= 1 << b
                        close[b] |= 1 << a
        self.here = ClassRule(privacy.k, dict(close), is_all_pairs=is_all_pairs, beta=beta, masses=masses)
        # A promise holds on the map that it was made for, also where places are farther apart by now.
        for one, other in () if past is None else past.near:
            pair = survey.find(one), survey.find(other)
            if pair[0] is not None and pair[1] is not None and pair[0] != pair[1]:
                close[pair[0]] |= 1 << pair[1]
                close[pair[1]] |= 1 << pair[0]

    @cached_property
    def hideable(self) -> tuple[int, ...]:
        """The coverable candidates that are not certainly impossible to hide: `Survey.hideable`, and histories."""
        found = self._survey.hideable(self.beta)
        while True:
            pool = mask_of(found)
            kept = [c for c in found if all(self._is_enough(c, line & pool) for line in self.lines.get(c, ()))]
            if len(kept) == len(found):
                return found
            found = self._survey.hideable(self.beta, kept)

    def outlasts(self, member: int, masses: Mapping[int, float]) -> int | None:
        """What the first history leaves of a group, and that does not hide a member; ``None`` when all do."""
        group = mask_of(masses)
        for line in self.lines.get(member, ()):
            left = line & group
            if not (
                self.hides(left) if self.beta is None else self.is_within({c: masses[c] for c in members_of(left)})
            ):
                return left
        return None

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
            yield a, self._ground.near(nodes[a], self._limit, wanted=self._survey.candidates_at.keys())

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


@dataclass(eq=False)
class AreaSearch:
    """The search for the heaviest area among candidates that weigh so much: see `ClassRule.heaviest`."""

    close: Mapping[int, int]
    masses: Mapping[int, float]
    effort: Effort | None
    is_complete: bool = True
    _num_looks: int = 0

    def run(self, group: int) -> int:
        """The area; the heaviest one found so far where the search was given up."""
        found, heaviest = 0, -1.0
        # Of each step: who was taken, what they weigh, who is close to all of them, and in which order to try these.
        steps = [(0, 0.0, group, self._order(group))]
        while steps and self.is_complete:
            taken, mass, rest, order = steps[-1]
            # What is said beside a candidate bounds what it and those before it in the order can add.
            if not order or mass + order[-1][1] <= heaviest:
                steps.pop()
                continue
            c = order.pop()[0]
            steps[-1] = (taken, mass, rest & ~(1 << c), order)
            taken, mass, rest = taken | 1 << c, mass + self.masses[c], rest & self.close[c]
            if mass > heaviest:
                found, heaviest = taken, mass
            if rest:
                steps.append((taken, mass, rest, self._order(rest)))
        return found

    def _order(self, rest: int) -> list[tuple[int, float]]:
        """Candidates by sets of which no two members are close, each with the sum of the heaviest up to its set."""
        num = rest.bit_count()
        if self.effort is not None:
            self.effort.spend(_AREA_STEP * num)
        else:
            self._num_looks += num
            self.is_complete = self._num_looks <= _MAX_LOOKS
        order: list[tuple[int, float]] = []
        bound = 0.0
        while rest:
            apart, some = rest, []
            while apart:
                c = (apart & -apart).bit_length() - 1
                some.append(c)
                apart &= ~(self.close[c] | 1 << c)
                rest ^= 1 << c
            bound += max(self.masses[c] for c in some)
            order += [(c, bound) for c in some]
        return order
