"""Which places of a ledger are the same: by label on one map, by name and coordinates on others (:class:`Roster`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import great_circle_m
from veilroute.domain.graph import Label
from veilroute.model.entry import FURTHEST_M, SAME_M, Gap, Identity, Place, Spot
from veilroute.model.problem import Privacy


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
