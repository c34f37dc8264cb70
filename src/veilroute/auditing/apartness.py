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

    ``lines`` are histories: for a candidate masks of those who are left beside it after earlier trips. What each line
    of each member leaves of a class must be a class as well. A candidate without lines may be anybody. Then a set that
    can be split may be part of one that cannot. But where everybody has one history at most, and each holds the
    histories of all in it (as those of a ledger do, :attr:`stories`), this is true of a class C that cannot be split:

    - Of the histories of its members take one, M, that holds no other. Those of C in M all have the history M, so they
      are a class: a *core*. Each further member has a history that holds a core, and stays hidden among that core
      alone. So C falls into its cores, each with some of the others; as it does not, it has one core only, and this
      is part of the history of every member.
    - Were the core two classes, the others could go with either. Were those of C with another history than M a class,
      they could leave it: the rest has the core still.

    With a beta, let A and B be the two parts of a split. Members still to come, lighter and far from everybody as
    above, may join A if all their lines hold A: what a line leaves of A and some of these outweighs what it
    leaves of A.
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
        self._splits: dict[int, tuple[int, int] | None] = {}

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
        """Whether all that comes of a group by adding lighter members, from ``first`` on, splits as the group does."""
        if group not in self._splits:
            self._splits[group] = self._find_split(group)
        split = self._splits[group]
        if split is None or self._is_all_far:
            return split is not None
        later = (1 << len(self.close)) - (1 << first)
        return all(
            not self.close[x] & later
            and any(
                not self.close[x] & part and not any(part & ~line for line in self.lines.get(x, ())) for part in split
            )
            for x in members_of(later)
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

    The distance of two candidates is the smaller of both directions, whatever turns are legal; a candidate is
    infinitely far from itself, and 0 from another at the same spot.
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
        """The coverable candidates that somebody could hide, as far as numbers, probabilities and histories say."""
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
