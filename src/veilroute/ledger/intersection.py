"""The places that an observer who links trips still has to choose from (:ref:`theory-linking`).

:class:`Linking` puts the entries of a ledger together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations_with_replacement, islice, product

import numpy as np

from veilroute.base.errors import TooLargeError
from veilroute.model.areas import close_masks, has_apart, heaviest_area
from veilroute.model.entry import Entry, Gap, Identity, Place
from veilroute.model.identities import Roster
from veilroute.model.problem import ROUNDING, Privacy

#: The most ways in which the draws of randomised playbooks may have gone together, for one candidate.
MAX_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Sighting:
    """What was seen of somebody in one entry: the class, or that there was no trip."""

    entry: int
    group: int  #: the number of the class, -1 for no trip
    members: frozenset[int]


@dataclass(eq=False)
class Linking:
    """Several playbooks as one who links their trips sees them. People are numbers of the roster."""

    entries: Sequence[Entry]
    #: What a day without a trip says: ``"occasional"``, nothing; ``"expected"``, that it is one of those without a
    #: route on that day; ``"listed"``, the same for those who are listed and refused only.
    trips: str = "occasional"
    identities: Sequence[Identity] = ()
    ids: list[tuple[int, ...]] = field(default_factory=list)  #: per entry and place its number
    #: Those of whom too much would have to be tried to know whether a promise is kept; it counts as broken.
    undecided: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.roster = Roster(self.identities)
        for entry in self.entries:
            self.ids.append(self.roster.enter(entry.domain, entry.places, entry.privacy, entry.close))
        self._chances: dict[int, dict[int, dict[int, float]]] = {}
        self._apart: dict[tuple[int, tuple[int, ...]], bool | None] = {}
        self._seen: dict[int, list[tuple[Sighting, ...]]] = {}
        self._days_of: dict[tuple[int, str | None, int | None], frozenset[int]] = {}
        self._places = [{person: at for at, person in enumerate(ids)} for ids in self.ids]
        self._near = [{frozenset(pair) for pair in entry.near} for entry in self.entries]
        # Promises of the same words about the same people are kept or broken together: the first stands for all.
        alike: dict[object, int] = {}
        self._first = [
            alike.setdefault((ids, entry.privacy, entry.near, entry.prior), number)
            for number, (entry, ids) in enumerate(zip(self.entries, self.ids, strict=True))
        ]
        self._groups: list[dict[int, list[Sighting]]] = []
        for number, (entry, ids) in enumerate(zip(self.entries, self.ids, strict=True)):
            options: dict[int, list[Sighting]] = {}
            for group, members in enumerate(entry.classes):
                sighting = Sighting(number, group, frozenset(ids[i] for i in members))
                for person in sighting.members:
                    options.setdefault(person, []).append(sighting)
            self._groups.append(options)

    def join(
        self, domain: str, places: Sequence[Place], privacy: Privacy, close: Iterable[Gap] | None = None
    ) -> tuple[int, ...]:
        """The numbers of places of a map that are going to be planned for: newcomers are people from now on."""
        numbers = self.roster.enter(domain, places, privacy, close)
        self._seen.clear()
        self.__dict__.pop("_without", None)
        self.__dict__.pop("_doors", None)
        return numbers

    @cached_property
    def _without(self) -> list[frozenset[int]]:
        """Per entry those of whom it shows that they have no trip."""
        everybody = frozenset(range(len(self.roster.places)))
        found = []
        for entry, ids, options in zip(self.entries, self.ids, self._groups, strict=True):
            if self.trips == "listed":
                found.append(frozenset(ids).difference(options))
            else:
                # A trip planned again, or a fleet's day, says nothing of those who were not on the way.
                is_shown = self.trips == "expected" and entry.kind == "playbook"
                found.append(everybody.difference(options) if is_shown else frozenset())
        return found

    def sightings(self, person: int, since: str | None = None, until: int | None = None) -> list[tuple[Sighting, ...]]:
        """For each trip that can be linked what may have been seen of somebody: one class, or one of several drawn.

        ``since`` is a day and ``until`` the number of the last entry. Trips of a randomised playbook on one occasion
        show the same class, so they count once.
        """
        if person not in self._seen:
            self._seen[person] = [
                tuple(options[person]) if person in options else (Sighting(number, -1, without),)
                for number, (options, without) in enumerate(zip(self._groups, self._without, strict=True))
                if person in options or person in without
            ]
        seen: list[tuple[Sighting, ...]] = []
        drawn: set[object] = set()
        for sightings in self._seen[person]:
            number = sightings[0].entry
            entry = self.entries[number]
            if (since is not None and entry.date < since) or (until is not None and number > until):
                continue
            if entry.shares and entry.occasion is not None:
                draw = (entry.playbook, entry.occasion, entry.shares, tuple((s.group, s.members) for s in sightings))
                if draw in drawn:
                    continue
                drawn.add(draw)
            seen.append(sightings)
        return seen

    def combinations(
        self, person: int, since: str | None = None, until: int | None = None
    ) -> Iterator[tuple[Sighting, ...]]:
        """All that may have been seen of somebody, one sighting for each trip; the order of repeated draws is left out.

        What is seen of several draws of one playbook stands where the first of them does.
        """
        options: dict[object, tuple[tuple[Sighting, ...], int]] = {}
        for sightings in self.sightings(person, since, until):
            same: object = sightings[0].entry
            if len(sightings) > 1:
                entry = self.entries[sightings[0].entry]
                same = (entry.playbook, entry.shares, tuple((s.group, s.members) for s in sightings))
            first, repeats = options.get(same, (sightings, 0))
            options[same] = (first, repeats + 1)
        ways = [math.comb(len(each) + repeats - 1, repeats) for each, repeats in options.values()]
        if (num := math.prod(ways)) > MAX_COMBINATIONS:
            expected = f"draws that may have gone together in at most {MAX_COMBINATIONS:,} ways (forget some: since)"
            raise TooLargeError("ledger", expected, num)
        parts = product(*(combinations_with_replacement(each, repeats) for each, repeats in options.values()))
        return (tuple(chain.from_iterable(part)) for part in parts)

    def left(self, person: int, since: str | None = None, until: int | None = None) -> frozenset[int]:
        """Who is still possible to who has linked all trips; where classes were drawn, after the worst of the draws."""
        return min(
            (remaining(seen) for seen in self.combinations(person, since, until) if seen),
            key=lambda people: (len(people), sorted(people)),
            default=frozenset(range(len(self.roster.places))),
        )

    def num_doors(self, people: Iterable[int]) -> int:
        """At how many places some people are: several names at one door are one place to an observer."""
        return len({self._doors[person] for person in people})

    @cached_property
    def _doors(self) -> list[object]:
        """Per person the door: where it is or, without coordinates, the first person who is known to be there too."""
        doors: list[object] = [
            number if place.at is None else place.at for number, place in enumerate(self.roster.places)
        ]
        for entry, ids in zip(self.entries, self.ids, strict=True):
            if entry.privacy.ell == 0:  # then only those at one node are near each other
                for one, other in sorted(tuple(sorted((ids[a], ids[b]))) for a, b in entry.near):
                    doors[other] = doors[one]
        return doors

    def lines(
        self,
        person: int,
        since: str | None = None,
        until: int | None = None,
        *,
        is_weighed: bool,
        among: Collection[int] | None = None,
    ) -> list[frozenset[int]]:
        """Who may be left beside somebody, ``among`` some people if they are given.

        Where places are counted, that is who is left after all trips; after some of them it is more. Where they are
        weighed, it is the same if all of them had their trips on the same days. If not, whoever had trips on some of
        these days only may leave people of whom no history is what is left: these are lines of their own. All else that
        some of the trips may leave falls into lines, so a promise that is kept by these is kept (docs/theory,
        :ref:`Linked trips <theory-linking>`).
        """
        linked = self.sightings(person, since, until)
        every = [options if among is None else _narrowed(options, among) for options in linked]
        found: set[frozenset[int]] = set()
        if is_weighed and all(len(options) == 1 for options in every):
            found, every = self._begin_lines(every, since, until)
        for options in every:
            now = {sighting.members for sighting in options}
            both = {one & other for one in found for other in now}
            found = found | now | both if is_weighed else (both or now)
            if len(found) > MAX_COMBINATIONS:
                raise TooLargeError(
                    "ledger", f"at most {MAX_COMBINATIONS:,} histories (forget some: since)", len(found)
                )
        if is_weighed and found and all(len(options) == 1 for options in linked):
            last = frozenset.intersection(*found)
            found = {some for some in found if some == last or self._is_own_line(person, some, since, until)}
        return sorted(found, key=lambda people: (len(people), sorted(people)))

    def _days(self, person: int, since: str | None, until: int | None) -> frozenset[int]:
        """The entries that show something of somebody."""
        key = (person, since, until)
        if key not in self._days_of:
            self._days_of[key] = frozenset(options[0].entry for options in self.sightings(*key))
        return self._days_of[key]

    def _begin_lines(
        self, every: Sequence[tuple[Sighting, ...]], since: str | None, until: int | None
    ) -> tuple[set[frozenset[int]], list[tuple[Sighting, ...]]]:
        """Who is left after the trips that all who matter have in common, if any, and the other trips."""
        people = frozenset().union(*(sighting.members for (sighting,) in every))
        while True:
            common = frozenset.intersection(*(self._days(other, since, until) for other in people)) if people else ()
            shared = [sighting.members for (sighting,) in every if sighting.entry in common]
            if not shared:
                return set(), list(every)
            left = frozenset.intersection(*shared)
            if left == people:
                return {left}, [options for options in every if options[0].entry not in common]
            people = left

    def _is_own_line(self, person: int, people: frozenset[int], since: str | None, until: int | None) -> bool:
        """Whether people had all their common trips in one class, and are no history of one of them."""
        days = {other: self._days(other, since, until) for other in people}
        common = frozenset.intersection(*days.values())
        shown = {s[0].entry: s[0].members for s in self.sightings(person, since, until)}
        if any(not people <= shown[number] for number in common):
            return False
        wider = [own for own in days.values() if own != common]
        return bool(wider) and frozenset.intersection(*wider) == common

    def _stories(
        self, person: int, since: str | None, until: int | None, *, is_weighed: bool
    ) -> Iterator[tuple[tuple[Sighting, ...], frozenset[int]]]:
        """What may have been seen of somebody, and who is left by it."""
        linked = self.sightings(person, since, until)
        if not is_weighed or any(len(sightings) > 1 for sightings in linked):
            for seen in self.combinations(person, since, until):
                yield seen, remaining(seen)
            return
        for people in self.lines(person, since, until, is_weighed=True):
            common = frozenset.intersection(*(self._days(other, since, until) for other in people))
            yield tuple(s[0] for s in linked if s[0].entry in common), people

    def keeps(self, number: int, seen: Sequence[Sighting], people: frozenset[int]) -> bool | None:
        """Whether the promise of an entry is kept where trips have shown this, and these people are still possible.

        ``None`` when that would take too long to find out.
        """
        entry, place, near = self.entries[number], self._places[number], self._near[number]
        left = sorted(place[person] for person in people if person in place)
        beta, watched = entry.privacy.beta, _watched(entry)
        if any(_watched(self.entries[each.entry]) < watched for each in seen if each.group >= 0):
            return False  # routes may have parted where that playbook promised nothing any more, but this one does
        if entry.privacy.spread == "all-pairs" and any(pair.issubset(left) for pair in near):
            return False
        if beta is None and (entry.privacy.spread == "all-pairs" or not near):
            return len(left) >= entry.privacy.k
        known = self._first[number], tuple(left)
        if beta is None and known in self._apart:
            return self._apart[known]
        is_near = np.array([[frozenset((one, other)) in near for other in left] for one in left], dtype=np.bool_)
        close = close_masks(is_near.reshape(len(left), len(left)))
        if beta is None:
            # All members of a class may have the same history, so the answer is kept.
            self._apart[known] = has_apart(close, entry.privacy.k)
            return self._apart[known]
        masses = [self.weight(number, at, seen) for at in left]
        total = math.fsum(masses)
        return total > 0 and heaviest_area(masses, close) <= beta * total * (1 + ROUNDING)

    def weight(self, number: int, at: int, seen: Sequence[Sighting]) -> float:
        """How probable a place of an entry is, times how probable it is that its draws went as they were seen."""
        entry, person = self.entries[number], self.ids[number][at]
        weight = 1.0 if entry.prior is None else entry.prior[at]
        for sighting in seen:
            if self.entries[sighting.entry].shares or person not in sighting.members:
                weight *= self.chance(sighting, person)
        return weight

    def chance(self, sighting: Sighting, person: int) -> float:
        """How probable it is that a secret shows this class, or no trip: certain in a partition."""
        if person not in sighting.members:
            return 0.0
        if sighting.group < 0 or not self.entries[sighting.entry].shares:
            return 1.0
        return self._draws(sighting.entry)[person][sighting.group]

    def _draws(self, number: int) -> dict[int, dict[int, float]]:
        """Per person in a randomised playbook how probable it is that each of its classes is drawn."""
        if number not in self._chances:
            entry, ids = self.entries[number], self.ids[number]
            shares: dict[int, dict[int, float]] = {}
            for group, members in enumerate(entry.classes):
                for at, share in zip(members, entry.shares[group], strict=True):
                    shares.setdefault(ids[at], {})[group] = share
            self._chances[number] = {
                person: {group: share / math.fsum(own.values()) for group, share in own.items()}
                for person, own in shares.items()
            }
        return self._chances[number]

    def promises(self, person: int) -> list[int]:
        """The entries that promise to hide somebody."""
        return [number for number, options in enumerate(self._groups) if person in options]

    def is_refused(self, person: int) -> bool:
        """Whether the last entry that lists somebody gives it no route."""
        listed = [number for number, place in enumerate(self._places) if person in place]
        return bool(listed) and person not in self._groups[listed[-1]]

    def broken(self, person: int, since: str | None = None, until: int | None = None) -> int | None:
        """The first promise about somebody that linked trips have broken; ``None`` where all are kept."""
        by_start: dict[str | None, list[int]] = {}
        for number in self.promises(person):
            entry = self.entries[number]
            if (since is None or entry.date >= since) and (until is None or number <= until):
                by_start.setdefault(max(filter(None, (since, entry.since)), default=None), []).append(number)
        found = []
        for start, numbers in by_start.items():
            is_weighed = any(self.entries[number].privacy.beta is not None for number in numbers)
            for seen, people in self._stories(person, start, until, is_weighed=is_weighed):
                shown = {self._first[each.entry] for each in seen}
                found += list(islice(self._short(person, numbers, shown, seen, people), 1))
        return min(found, default=None)

    def _short(
        self, person: int, numbers: Iterable[int], shown: set[int], seen: Sequence[Sighting], people: frozenset[int]
    ) -> Iterator[int]:
        """Those of some promises, of which one of each wording is enough, that are not kept."""
        asked: set[int] = set()
        for number in numbers:
            first = self._first[number]
            if first in shown and first not in asked:
                asked.add(first)
                kept = self.keeps(number, seen, people)
                if kept is None:
                    self.undecided.add(person)
                if not kept:
                    yield number

    def fell_short(self, person: int, since: str | None = None) -> tuple[int, int] | None:
        """The first promise about somebody that trips have broken, and the entry that broke it; ``None`` without any.

        A promise lasts: what a day without a trip shows breaks it also after the last day that somebody is hidden on.
        """
        for last in self._turns(person, since):
            if (promise := self.broken(person, since, last)) is not None:
                return promise, last
        return None

    def _turns(self, person: int, since: str | None) -> list[int]:
        """The entries by which, since the one before, fewer are left of somebody or more is promised."""
        linked = self.sightings(person, since)
        numbers = [sightings[0].entry for sightings in linked]
        own = [self.entries[number] for number in numbers]
        if len({entry.since for entry in own}) != 1 or any(entry.shares for entry in own):
            return numbers
        found = []
        promised: set[int | None] = {None}  # a day without a trip promises nothing
        people = linked[0][0].members
        for (sighting,) in linked:
            promise = self._first[sighting.entry] if sighting.group >= 0 else None
            if promise not in promised or not people <= sighting.members:
                found.append(sighting.entry)
            promised.add(promise)
            people &= sighting.members
        return found


def _narrowed(options: Iterable[Sighting], among: Collection[int]) -> tuple[Sighting, ...]:
    """What was seen of somebody, of some people only."""
    return tuple(replace(sighting, members=sighting.members.intersection(among)) for sighting in options)


def _watched(entry: Entry) -> float:
    """For how many nodes of a route an entry promises anything."""
    return math.inf if entry.privacy.m is None else entry.privacy.m


def remaining(seen: Iterable[Sighting]) -> frozenset[int]:
    """Who was possible every time."""
    return frozenset.intersection(*(sighting.members for sighting in seen))
