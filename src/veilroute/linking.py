"""What an observer is left with who links the trips of one secret (docs/theory, :ref:`Linked trips <theory-linking>`).

:class:`Linking` puts the entries of a ledger together. Places are told by their names and where they are, because on
another map a number may be another node (:class:`Roster`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations_with_replacement, product

from veilroute.domain.geography import great_circle_m
from veilroute.domain.graph import Label
from veilroute.entries import CLOSEST_M, FURTHEST_M, Entry, Place, Spot
from veilroute.errors import InvalidInputError, TooLargeError
from veilroute.problem import ROUNDING

#: The most ways in which the draws of randomised playbooks may have gone together, for one candidate.
MAX_COMBINATIONS = 100_000


class Roster:
    """Everybody who was ever listed, told by labels on one map, and by names and places on others."""

    def __init__(self) -> None:
        self.places: list[Place] = []  # as they were listed last
        self._labels: dict[tuple[str, Label], int] = {}
        self._names: dict[str, set[int]] = {}
        self._spots: dict[Spot, set[int]] = {}
        self._all_names: list[set[str]] = []
        self._all_spots: list[set[Spot]] = []
        self._on_map: set[tuple[str, int]] = set()

    def enter(self, domain: str, places: Sequence[Place]) -> tuple[int, ...]:
        """The numbers of some places, new ones for those never listed; an ambiguous match is an error."""
        # Who is found by name and place is nobody else who is listed beside it: several may be at one spot.
        sure = {n for named, there in (self._fitting(domain, place) for place in places) for n in named & there}
        found = [self._find(domain, place, sure) for place in places]
        known = [number for number in found if number is not None]
        if len(set(known)) < len(known):
            twice = next(
                place for at, place in enumerate(places) if found[at] is not None and found.count(found[at]) > 1
            )
            raise _ambiguous(twice, "two places of this map are one place of the ledger")
        for place, number in zip(places, found, strict=True):
            if number is None:
                self._check_new(domain, place, set(known))
        numbers = []
        for place, number in zip(places, found, strict=True):
            if number is None:
                number = len(self.places)
                self.places.append(place)
                self._all_names.append(set())
                self._all_spots.append(set())
            self.places[number] = place
            self._labels[domain, place.label] = number
            self._on_map.add((domain, number))
            for name in called(place):
                self._names.setdefault(name, set()).add(number)
                self._all_names[number].add(name)
            if place.at is not None:
                self._spots.setdefault(place.at, set()).add(number)
                self._all_spots[number].add(place.at)
            numbers.append(number)
        return tuple(numbers)

    def _check_new(self, domain: str, place: Place, taken: set[int]) -> None:
        """Raise when somebody who seems to be new may be somebody of another map: a newcomer has no history."""
        for number, spots in enumerate(self._all_spots):
            if number in taken or (domain, number) in self._on_map or is_elsewhere(place.at, spots, CLOSEST_M):
                continue
            other = self.places[number].text
            if not (called(place) and self._all_names[number]):
                raise _ambiguous(place, f"neither names nor coordinates say whether it is {other}: give names")
            if place.at is not None and any(spot[: _kind(place.at)] == place.at[: _kind(place.at)] for spot in spots):
                # Or a new map with new names would make everybody a newcomer.
                raise _ambiguous(place, f"it stands where {other} stood: keep that name")

    def _fitting(self, domain: str, place: Place) -> tuple[set[int], set[int]]:
        """Who has the name of a place, and who stood there.

        Whoever is called otherwise on this very map is somebody else, whatever the name.
        """
        named = {number for name in called(place) for number in self._names.get(name, ())}
        there = set() if place.at is None else self._spots.get(place.at, set())
        named, there = ({n for n in some if (domain, n) not in self._on_map} for some in (named, there))
        return named, there

    def _find(self, domain: str, place: Place, sure: set[int]) -> int | None:
        if (domain, place.label) in self._labels:
            return self._labels[domain, place.label]
        named, there = self._fitting(domain, place)
        found = named & there or named | there - sure
        if not found:
            return None
        if len(found) > 1:
            raise _ambiguous(place, "its name or its coordinates fit several places of the ledger")
        number = next(iter(found))
        if not there and is_elsewhere(place.at, self._all_spots[number]):
            raise _ambiguous(place, "the place of that name was elsewhere: give it a name of its own")
        return number


def called(place: Place) -> set[str]:
    """What a place is called: its name, and a label that is text."""
    return {name for name in (place.name, place.label) if isinstance(name, str) and name}


def is_elsewhere(at: Spot | None, spots: Iterable[Spot | None], furthest_m: float = FURTHEST_M) -> bool:
    """Whether all that is known of where a place was is of the same kind, and not here."""
    others = [spot for spot in spots if at is not None and spot is not None and spot[: _kind(at)] == at[: _kind(at)]]
    if not others or at is None or at in others:
        return False
    if at[0] != "earth":
        return True
    return all(float(great_circle_m(spot[1:], at[1:])) > furthest_m for spot in others)


def _kind(at: Spot) -> int:
    """How many values say of which kind a place is: that of a grid has its size."""
    return 3 if at[0] == "cell" else 1


def _ambiguous(place: Place, why: str) -> InvalidInputError:
    return InvalidInputError("ledger", f"places that can be told from each other ({why})", place.text)


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
    roster: Roster = field(default_factory=Roster)
    ids: list[tuple[int, ...]] = field(default_factory=list)  #: per entry and place its number

    def __post_init__(self) -> None:
        for entry in self.entries:
            self.ids.append(self.roster.enter(entry.domain, entry.places))
        self._seen: dict[int, list[tuple[Sighting, ...]]] = {}
        self._chances: dict[int, dict[int, dict[int, float]]] = {}
        self._places = [{person: at for at, person in enumerate(ids)} for ids in self.ids]
        self._near = [{frozenset(pair) for pair in entry.near} for entry in self.entries]
        # Promises of the same words about the same people are kept or broken together: the first stands for all.
        alike: dict[object, int] = {}
        self._first = [
            alike.setdefault((ids, entry.privacy, entry.near, entry.prior), number)
            for number, (entry, ids) in enumerate(zip(self.entries, self.ids, strict=True))
        ]
        for number, entry in enumerate(self.entries):
            ids = self.ids[number]
            options: dict[int, list[Sighting]] = {}
            for group, members in [*enumerate(entry.classes), (-1, entry.refused)]:
                sighting = Sighting(number, group, frozenset(ids[i] for i in members))
                for person in sighting.members:
                    options.setdefault(person, []).append(sighting)
            for person, sightings in options.items():
                self._seen.setdefault(person, []).append(tuple(sightings))

    def sightings(self, person: int, since: str | None = None, until: int | None = None) -> list[tuple[Sighting, ...]]:
        """For each trip that can be linked what may have been seen of somebody: one class, or one of several drawn.

        ``since`` is a day and ``until`` the number of the last entry. Trips of a randomised playbook on one occasion
        show the same class, so they count once.
        """
        seen: list[tuple[Sighting, ...]] = []
        drawn: set[object] = set()
        for sightings in self._seen.get(person, []):
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

    def left(self, person: int, since: str | None = None) -> frozenset[int]:
        """Who is still possible to who has linked all trips; where classes were drawn, after the worst of the draws."""
        return min(
            (remaining(seen) for seen in self.combinations(person, since) if seen),
            key=lambda people: (len(people), sorted(people)),
            default=frozenset(range(len(self.roster.places))),
        )

    def lines(self, person: int, since: str | None = None, *, is_parted: bool) -> list[frozenset[int]]:
        """What may be left of everybody: after all trips or, where ``is_parted``, after any of them and not others."""
        found: set[frozenset[int]] = set()
        for sightings in self.sightings(person, since):
            now = {sighting.members for sighting in sightings}
            if is_parted:
                found |= now | {one & other for one in found for other in now}
            else:
                found = {one & other for one in found for other in now} if found else now
            if len(found) > MAX_COMBINATIONS:
                raise TooLargeError(
                    "ledger", f"at most {MAX_COMBINATIONS:,} histories (forget some: since)", len(found)
                )
        return sorted(found, key=lambda people: (len(people), sorted(people)))

    def keeps(self, number: int, seen: Sequence[Sighting], people: frozenset[int]) -> bool:
        """Whether the promise of an entry is kept where trips have shown this, and these people are still possible."""
        entry, place, near = self.entries[number], self._places[number], self._near[number]
        left = sorted(place[person] for person in people if person in place)

        def are_near(one: int, other: int) -> bool:
            return one == other or frozenset((one, other)) in near

        beta, watched = entry.privacy.beta, _watched(entry)
        if any(_watched(self.entries[each.entry]) < watched for each in seen if each.group >= 0):
            return False  # routes may have parted where that playbook promised nothing any more, but this one does
        if beta is None:
            if entry.privacy.spread == "all-pairs" or not near:
                return len(left) >= entry.privacy.k
            return _has_apart(left, are_near, entry.privacy.k)
        weights = {at: self.weight(number, at, seen) for at in left}
        total = math.fsum(weights.values())
        worst = max((math.fsum(w for u, w in weights.items() if are_near(at, u)) for at in left), default=math.inf)
        return total > 0 and worst <= beta * total * (1 + ROUNDING)

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
        return [sightings[0].entry for sightings in self._seen.get(person, []) if any(s.group >= 0 for s in sightings)]

    def is_refused(self, person: int) -> bool:
        """Whether the last entry that lists somebody gives it no route."""
        seen = self._seen.get(person, [])
        return bool(seen) and seen[-1][0].group < 0

    def broken(self, person: int, since: str | None = None, until: int | None = None) -> int | None:
        """The first promise about somebody that linked trips have broken; ``None`` where all are kept."""
        by_start: dict[str | None, dict[int, int]] = {}
        for number in self.promises(person):
            entry = self.entries[number]
            if (since is None or entry.date >= since) and (until is None or number <= until):
                own = by_start.setdefault(max(filter(None, (since, entry.since)), default=None), {})
                own.setdefault(self._first[number], number)
        found = []
        for start, numbers in by_start.items():
            for seen in self.combinations(person, start, until):
                people = remaining(seen)
                found += [number for number in numbers.values() if not self.keeps(number, seen, people)][:1]
        return min(found, default=None)

    def fell_short(self, person: int, since: str | None = None) -> tuple[int, int] | None:
        """The first promise about somebody that trips have broken, and the entry that broke it; ``None`` without any.

        A promise is about trips: what is seen after the last one that somebody is hidden on breaks none. Under a risk
        it may be broken for some time only.
        """
        hidden = self.promises(person)
        if hidden and self.broken(person, since, hidden[-1]) is None:
            hidden = [number for number in hidden if self.entries[number].privacy.beta is not None]
        for last in self._turns(person, since, hidden):
            if (promise := self.broken(person, since, last)) is not None:
                return promise, last
        return None

    def _turns(self, person: int, since: str | None, hidden: Sequence[int]) -> list[int]:
        """Those of some entries by which, since the one before, fewer are left of somebody or more is promised."""
        linked = self.sightings(person, since)
        own = [self.entries[sightings[0].entry] for sightings in linked]
        if len({entry.since for entry in own}) != 1 or any(entry.shares for entry in own):
            return list(hidden)
        wanted, found = set(hidden), []
        promised: set[int] = set()
        people, is_news = linked[0][0].members, False
        for (sighting,) in linked:
            is_news |= self._first[sighting.entry] not in promised or not people <= sighting.members
            promised.add(self._first[sighting.entry])
            people &= sighting.members
            if is_news and sighting.entry in wanted:
                found.append(sighting.entry)
                is_news = False
        return found


def _watched(entry: Entry) -> float:
    """For how many nodes of a route an entry promises anything."""
    return math.inf if entry.privacy.m is None else entry.privacy.m


def remaining(seen: Iterable[Sighting]) -> frozenset[int]:
    """Who was possible every time."""
    return frozenset.intersection(*(sighting.members for sighting in seen))


def _has_apart(left: Sequence[int], are_near: Callable[[int, int], bool], k: int) -> bool:
    """Whether some k of the places are pairwise apart."""
    if k <= 1:
        return len(left) >= k
    return any(
        _has_apart([other for other in left[at + 1 :] if not are_near(one, other)], are_near, k - 1)
        for at, one in enumerate(left)
    )
