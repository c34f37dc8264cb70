"""What an observer is left with who links the trips of one secret (docs/theory, :ref:`Linked trips <theory-linking>`).

:class:`Linking` puts the entries of a ledger together. Places are told by their names and where they are, because on
another map a number may be another node (:class:`Roster`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations_with_replacement, islice, product

import numpy as np

from veilroute.areas import close_masks, has_apart, heaviest_area
from veilroute.domain.geography import great_circle_m
from veilroute.domain.graph import Label
from veilroute.entries import FURTHEST_M, SAME_M, Entry, Gap, Identity, Place, Spot
from veilroute.errors import InvalidInputError, TooLargeError
from veilroute.problem import ROUNDING, Privacy

#: The most ways in which the draws of randomised playbooks may have gone together, for one candidate.
MAX_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Renamed:
    """A place that disappeared, and one that appeared so near to it that the two are taken for the same."""

    was: str
    now: str
    distance: float  #: in metres, or in the units of the map
    is_metres: bool

    @property
    def apart(self) -> str:
        """The distance in words."""
        return _distance_text(self.distance, is_metres=self.is_metres)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"was": self.was, "now": self.now, "distance": self.distance}


@dataclass(frozen=True)
class Moved:
    """A place that only its name identifies: it is on another map, and not where it was."""

    name: str
    distance_m: float  #: from the nearest spot where it was

    @property
    def text(self) -> str:
        """Its name, and how far it has moved."""
        return f"{self.name} ({self.distance_m:.0f} m)"

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"name": self.name, "distance_m": self.distance_m}


@dataclass(frozen=True)
class Turnover:
    """How the places of one entry differ from those known before it."""

    gone: int  #: how many known places it does not list under the same name, label or spot
    new: int  #: how many of its places were not known under theirs
    nearest: str  #: how far the nearest two of both stand apart, in words; empty where that is not known
    renamed: tuple[Renamed, ...]  #: those that are taken for the same
    moved: tuple[Moved, ...] = ()  #: those that moved by at least 50 m under the same name
    #: Whether it is not known of some, gone and new, that they are the same: ``"names"``, there are no coordinates to
    #: compare; ``"cost"``, they are on different street maps, and ell is no distance in metres.
    not_judged: tuple[str, ...] = ()


class Roster:
    """Everybody who was ever listed, told by labels on one map, and by names and places on others.

    A place that is new under its name, and less than ell (on the earth at least 50 m) from one that has disappeared, is
    taken for that one. Where its name is that of one place, and it is where another one was, it is refused: a list that
    was numbered again would give every place the history of its neighbour. What the user said comes first.
    """

    def __init__(self, identities: Iterable[Identity] = ()) -> None:
        self.places: list[Place] = []  # as they were listed last
        self.turnovers: list[Turnover] = []  # per entry
        self._labels: dict[tuple[str, Label], int] = {}
        self._names: dict[str, set[int]] = {}
        self._spots: dict[Spot, set[int]] = {}
        self._texts: dict[str, set[int]] = {}
        self._all_names: list[set[str]] = []
        self._all_spots: list[set[Spot]] = []
        self._all_texts: list[set[str]] = []
        self._last: list[Privacy] = []  # what the entry promised that listed each last
        self._lists: list[tuple[int, ...]] = []  # per entry
        self._on_map: set[tuple[str, int]] = set()
        self._said: dict[str, dict[str, str]] = {}
        for identity in identities:
            for one, other in (identity.places, identity.places[::-1]):
                self._said.setdefault(one, {})[other] = identity.kind

    def enter(
        self, domain: str, places: Sequence[Place], privacy: Privacy, close: Iterable[Gap] | None = None
    ) -> tuple[int, ...]:
        """The numbers of some places, new ones for those never listed; an ambiguous match is an error.

        ``close`` are distances on the map, as :attr:`Entry.close` has them.
        """
        # Who is found by name and place is nobody else who is listed beside it: several may be at one spot.
        sure = {n for named, there in (self._fitting(domain, place) for place in places) for n in named & there}
        found = [self._find(domain, place, sure) for place in places]
        moved = self._check_moved(places, found, privacy)
        known = {number for number in found if number is not None}
        new = [at for at, number in enumerate(found) if number is None]
        gone = [number for number in range(len(self.places)) if number not in known]
        turnover, again = self._find_near(places, new, gone, privacy, close or ()) if new and gone else (None, {})
        found = [again.get(at, number) for at, number in enumerate(found)]
        taken: dict[int, Place] = {}
        for place, number in zip(places, found, strict=True):
            if number is None:
                self._check_new(domain, place, {*known, *again.values()})
            elif number in taken:
                raise _one_place(taken[number], place)
            else:
                taken[number] = place
        alone = [number for number in gone if number not in again.values()]
        is_measured = close is not None
        not_judged = {
            what
            for at in new
            if at not in again
            for number in alone
            if (what := self._not_judged(domain, places[at], number, privacy, is_measured=is_measured))
        }
        numbers = []
        for place, known_as in zip(places, found, strict=True):
            number = len(self.places) if known_as is None else known_as
            if known_as is None:
                self.places.append(place)
                self._last.append(privacy)
                for marks in (self._all_names, self._all_texts):
                    marks.append(set())
                self._all_spots.append(set())
            self.places[number], self._last[number] = place, privacy
            self._labels[domain, place.label] = number
            self._on_map.add((domain, number))
            self._texts.setdefault(place.text, set()).add(number)
            self._all_texts[number].add(place.text)
            for name in called(place):
                self._names.setdefault(name, set()).add(number)
                self._all_names[number].add(name)
            if place.at is not None:
                self._spots.setdefault(place.at, set()).add(number)
                self._all_spots[number].add(place.at)
            numbers.append(number)
        turnover = turnover or Turnover(len(gone), len(new), "", ())
        self.turnovers.append(replace(turnover, moved=moved, not_judged=tuple(sorted(not_judged))))
        self._lists.append(tuple(numbers))
        return tuple(numbers)

    def called(self, text: str) -> set[int]:
        """Who was ever listed under a name, or a label without one."""
        return self._texts.get(text, set())

    def _is_said(self, kind: str, number: int, place: Place) -> bool:
        """Whether the user said that a place is the same as somebody, or different."""
        said = self._said.get(place.text, {})
        return any(said.get(text) == kind for text in self._all_texts[number]) if said else False

    def _find_near(
        self,
        places: Sequence[Place],
        new: Sequence[int],
        gone: Sequence[int],
        privacy: Privacy,
        close: Iterable[Gap],
    ) -> tuple[Turnover, dict[int, int]]:
        """Which new places are taken for one that has disappeared: the nearest pairs first, one to one.

        Where some are by their coordinates comes before how far they are from each other on the map.
        """
        spots = [(number, spot) for number in gone for spot in self._all_spots[number]]
        nearest, is_metres = math.inf, False
        pairs: list[tuple[bool, float, int, int]] = []  # whether by the map, how far, who is gone, and who is new
        for at in new:
            spot = places[at].at
            if spot is None:
                continue
            for number, distance in _nearest(spot, spots).items():
                if distance < nearest:
                    nearest, is_metres = distance, spot[0] == "earth"
                limit = max(_reach(spot, privacy), _reach(spot, self._last[number]))
                if distance < limit and not self._is_said("different", number, places[at]):
                    pairs.append((False, distance, number, at))
        on_map = [(distance, self._lists[entry][i], at) for at, entry, i, distance in close]
        on_map = [each for each in on_map if each[1] in gone and each[2] in new]
        if math.isinf(nearest) and on_map:
            nearest = min(on_map)[0]
        pairs += [(True, *each) for each in on_map if not self._is_said("different", each[1], places[each[2]])]
        again: dict[int, int] = {}
        renamed = []
        for by_map, distance, number, at in sorted(pairs):
            if at not in again and number not in again.values():
                again[at] = number
                in_metres = not by_map and (places[at].at or ("",))[0] == "earth"
                renamed.append(Renamed(self.places[number].text, places[at].text, distance, in_metres))
        text = "" if math.isinf(nearest) else _distance_text(nearest, is_metres=is_metres)
        return Turnover(len(gone), len(new), text, tuple(renamed)), again

    def _not_judged(self, domain: str, place: Place, number: int, privacy: Privacy, *, is_measured: bool) -> str | None:
        """Why it is not known whether a new place is somebody who is gone; ``None`` where it is."""
        privacies = (privacy, self._last[number])
        is_here = (domain, number) in self._on_map  # then its label is another one
        if is_here and (is_measured or not any(each.ell for each in privacies)):
            return None
        if self._is_said("different", number, place):
            return None
        at = place.at
        if at is None or not any(spot[: _kind(at)] == at[: _kind(at)] for spot in self._all_spots[number]):
            return "names"
        is_cost = any(each.measure == "cost" and each.ell > 0 for each in privacies)
        return "cost" if is_cost and at[0] == "earth" else None

    def _check_moved(self, places: Sequence[Place], found: Sequence[int | None], privacy: Privacy) -> tuple[Moved, ...]:
        """Those who moved under their names, or raise: somebody is known by its name, and is where another one was.

        That is so if somebody else was nearer, and no further than a new place may be that is taken for one that is
        gone. A list that is geocoded again moves by some metres, so below 50 m it is so only if more than half of the
        list is where others were who are not listed as near to their own spots.
        """
        moved, unclear, doubtful, num_known = [], [], [], 0
        spots: _EarthSpots | None = None
        for at, (place, number) in enumerate(zip(places, found, strict=True)):
            spot = place.at
            if number is None or spot is None or spot[0] != "earth" or self._stated(place):
                continue
            num_known += 1
            own = _nearest(spot, [(number, each) for each in self._all_spots[number]]).get(number, 0.0)
            if own == 0:
                continue
            if own >= SAME_M:
                moved.append(Moved(place.text, own))
            spots = _EarthSpots(self._all_spots) if spots is None else spots
            is_doubtful = False
            for other, gap in spots.within(spot, own):
                limit = max(_reach(spot, each) for each in (privacy, self._last[other]))
                if gap >= limit or self._is_said("different", other, place):
                    continue
                if own >= SAME_M:
                    unclear.append((gap, other, at, own))
                elif not is_doubtful and not self._is_held(other, gap, places, found):
                    is_doubtful = True
                    doubtful.append((gap, other, at, own))
        if 2 * len(doubtful) > num_known:
            unclear += doubtful
        if unclear:
            raise self._elsewhere(sorted(unclear), places, found)
        return tuple(moved)

    def _is_held(self, number: int, gap: float, places: Sequence[Place], found: Sequence[int | None]) -> bool:
        """Whether somebody is listed now, and no further away from where it was than that."""
        spots = [(number, spot) for spot in self._all_spots[number]]
        here = (place.at for place, each in zip(places, found, strict=True) if each == number and place.at is not None)
        return any(_nearest(at, spots).get(number, math.inf) <= gap for at in here)

    def _elsewhere(
        self, unclear: Sequence[tuple[float, int, int, float]], places: Sequence[Place], found: Sequence[int | None]
    ) -> InvalidInputError:
        """Somebody is called like one known place, and is where another one was: what to do about it."""
        gap, other, at, own = unclear[0]
        one, text = self.places[other].text, places[at].text
        num = len({each[2] for each in unclear}) - 1
        why = f"{text} moved {own:.0f} m, to {gap:.0f} m from {one}"
        why += f", and {num} more like it" if num else ""
        # Who was listed with another one is not the same.
        is_one = not any({other, found[at]} <= set(numbers) for numbers in self._lists)
        why += "; if they are one place: ledger same" if is_one else "; if the list was numbered again: use new names"
        why += f'; if it moved: veilroute ledger different FILE "{one}" "{text}"'
        return InvalidInputError("ledger", f"places that can be told from each other ({why})")

    def _stated(self, place: Place) -> set[int]:
        """Of whom the user said that they are the same as a place."""
        same = [text for text, kind in self._said.get(place.text, {}).items() if kind == "same"]
        return {number for text in same for number in self._texts.get(text, ())}

    def _check_new(self, domain: str, place: Place, taken: set[int]) -> None:
        """Raise when nothing tells whether somebody who seems to be new is somebody of another map."""
        for number, spots in enumerate(self._all_spots):
            if number in taken or (domain, number) in self._on_map or (called(place) and self._all_names[number]):
                continue
            at = place.at
            if at is not None and any(spot[: _kind(at)] == at[: _kind(at)] for spot in spots):
                continue  # it is too far from where that one was
            if not self._is_said("different", number, place):
                other = self.places[number].text
                raise _ambiguous(place, f"neither names nor coordinates say whether it is {other}: give names")

    def _fitting(self, domain: str, place: Place) -> tuple[set[int], set[int]]:
        """Who has the name of a place, and who stood there.

        Whoever is called otherwise on this very map is somebody else, whatever the name.
        """
        named = {number for name in called(place) for number in self._names.get(name, ())}
        there = set() if place.at is None else self._spots.get(place.at, set())

        def fits(number: int) -> bool:
            return (domain, number) not in self._on_map and not self._is_said("different", number, place)

        return {n for n in named if fits(n)}, {n for n in there if fits(n)}

    def _find(self, domain: str, place: Place, sure: set[int]) -> int | None:
        if (domain, place.label) in self._labels:
            return self._labels[domain, place.label]
        stated = self._stated(place)
        named, there = self._fitting(domain, place)
        found = stated | named if stated else named & there or named | there - sure
        if not found:
            return None
        if len(found) > 1:
            raise _ambiguous(place, "its name or its coordinates fit several places of the ledger")
        number = next(iter(found))
        if not stated and is_elsewhere(place.at, self._all_spots[number]):
            raise _ambiguous(place, "the place of that name was elsewhere: give it a name of its own")
        return number


def called(place: Place) -> set[str]:
    """What a place is called: its name, and a label that is text."""
    return {name for name in (place.name, place.label) if isinstance(name, str) and name}


def is_elsewhere(at: Spot | None, spots: Iterable[Spot | None]) -> bool:
    """Whether all that is known of where a place was is of the same kind, and not here."""
    others = [spot for spot in spots if at is not None and spot is not None and spot[: _kind(at)] == at[: _kind(at)]]
    if not others or at is None or at in others:
        return False
    if at[0] != "earth":
        return True
    return all(float(great_circle_m(spot[1:], at[1:])) > FURTHEST_M for spot in others)


def _kind(at: Spot) -> int:
    """How many values say of which kind a place is: that of a grid has its size."""
    return 3 if at[0] == "cell" else 1


def _reach(at: Spot, privacy: Privacy) -> float:
    """How far away a new place is still taken for one that has disappeared, as far as one promise goes."""
    if at[0] == "earth":
        return max(SAME_M, 0.0 if privacy.measure == "cost" else privacy.ell)
    return privacy.ell if privacy.measure in ("cost", "straight") else 0.0


class _EarthSpots:
    """Where on the earth everybody was: who was within some metres of a spot."""

    def __init__(self, spots: Sequence[Iterable[Spot]]) -> None:
        rows = [(number, *spot[1:]) for number, each in enumerate(spots) for spot in each if spot[0] == "earth"]
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        self.numbers, self.lonlat = table[:, 0].astype(np.int64), table[:, 1:]

    def within(self, at: Spot, metres: float) -> list[tuple[int, float]]:
        """Everybody who was nearer than that, and how near, by number."""
        # A degree of latitude has more than 110 km: distances are worked out for those who may be near enough only.
        may_be = np.flatnonzero(np.abs(self.lonlat[:, 1] - float(at[2])) < metres / 110_000)
        gaps = np.round(great_circle_m(self.lonlat[may_be], np.array(at[1:], dtype=np.float64)), 3)
        least: dict[int, float] = {}
        for number, gap in zip(self.numbers[may_be].tolist(), gaps.tolist(), strict=True):
            if gap < min(metres, least.get(number, math.inf)):
                least[number] = gap
        return sorted(least.items())


def _nearest(at: Spot, spots: Iterable[tuple[int, Spot]]) -> dict[int, float]:
    """How far away everybody was at the nearest, of those of whom some spots of the same kind are given."""
    alike = [(number, other) for number, other in spots if other[: _kind(at)] == at[: _kind(at)]]
    least: dict[int, float] = {}
    for (number, _), distance in zip(alike, _distances(at, [other for _, other in alike]), strict=True):
        least[number] = min(distance, least.get(number, math.inf))
    return least


def _distances(at: Spot, others: Sequence[Spot]) -> list[float]:
    """How far away other spots of the same kind are, rounded so that equal distances are equal."""
    if not others:
        return []
    if at[0] == "earth":
        metres = great_circle_m(np.array([spot[1:] for spot in others], dtype=np.float64), at[1:])
        return [round(distance, 3) for distance in metres.tolist()]
    points = np.array([spot[_kind(at) :] for spot in others], dtype=np.float64) - np.array(at[_kind(at) :])
    return [float(f"{math.hypot(*point):.9g}") for point in points.tolist()]


def _distance_text(distance: float, *, is_metres: bool) -> str:
    return f"{distance:.0f} m" if is_metres else f"{distance:.3g}"


def _ambiguous(place: Place, why: str) -> InvalidInputError:
    return InvalidInputError("ledger", f"places that can be told from each other ({why})", place.text)


def _one_place(one: Place, other: Place) -> InvalidInputError:
    """Two places that are listed together are one place of the ledger, as far as it knows."""
    remedy = f'say that they are two: veilroute ledger different FILE "{one.text}" "{other.text}"'
    why = f"the ledger takes it and {one.text} for the same place; {remedy}"
    return _ambiguous(other, why if one.text != other.text else "the ledger takes two places of this name for one")


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
