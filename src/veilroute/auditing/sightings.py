"""What whoever links the trips of one secret has seen, worked out with the auditor's own code.

A :class:`Sight` is one playbook as it looks from outside: who look the same, and who get no route, which is seen as
well where a trip is expected. :class:`Observer` links several. :class:`People` tells who is who on different maps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from veilroute.auditing.apartness import Spread, members_of
from veilroute.auditing.replay import replay_playbook
from veilroute.auditing.survey import metres_apart, on_sphere, survey_problem
from veilroute.domain.graph import Domain
from veilroute.entries import CLOSEST_M, FURTHEST_M, Entry, Place, Spot
from veilroute.errors import InvalidInputError, TooLargeError
from veilroute.playbook import Playbook
from veilroute.problem import ROUNDING, Privacy

MAX_STORIES = 20_000  #: in how many ways draws may have gone together, for one candidate

Story = Mapping[int, float]
"""Who is still possible after some trips, and how probable it is that each would have shown what was seen."""


@dataclass(frozen=True, eq=False)
class Sight:
    """A playbook as seen from outside. Numbers are positions among its places, or of what can be seen."""

    playbook: str  #: its hash
    domain: str  #: the hash of its map
    places: tuple[Place, ...]
    privacy: Privacy
    shown: tuple[Mapping[int, float], ...]  #: who may show each thing that can be seen, and with which chance
    hidden: frozenset[int]  #: whom it promises to hide
    near: frozenset[frozenset[int]]  #: who stand closer than ell
    weights: tuple[float, ...]  #: how probable each place is beforehand, in any unit
    date: str | None = None
    since: str | None = None  #: the day before which, as it assumes, nothing can be linked
    occasion: str | None = None
    is_promised: bool = True  #: whether its promise is about what is seen here

    @property
    def start(self) -> str | None:
        """The day from which on trips are held against its promise; its own are in any case."""
        return self.since if self.date is None or self.since is None else min(self.since, self.date)

    def keeps(self, chances: Mapping[int, float]) -> bool:
        """Whether its promise holds while some of its places are possible, with these chances of what was seen."""
        privacy, left = self.privacy, sorted(chances)
        if privacy.beta is not None:
            masses = {at: self.weights[at] * chances[at] for at in left}
            total = math.fsum(masses.values())
            worst = max((math.fsum(masses[b] for b in left if self._are_near(a, b)) for a in left), default=math.inf)
            return total > 0 and worst <= privacy.beta * total * (1 + ROUNDING)
        if privacy.spread == "all-pairs":
            return len(left) >= privacy.k and not any(self._are_near(a, b) for a, b in combinations(left, 2))
        return self._has_apart(left, privacy.k)

    def _are_near(self, one: int, other: int) -> bool:
        return one == other or frozenset((one, other)) in self.near

    def _has_apart(self, left: Sequence[int], num: int) -> bool:
        """Whether so many of some places stand apart from each other."""
        if num <= 0 or not self.near:
            return len(left) >= num
        for at in range(len(left) - num + 1):
            if self._has_apart([b for b in left[at + 1 :] if not self._are_near(left[at], b)], num - 1):
                return True
        return False


_OWN: Final = -1  #: stands for the m of the playbook itself


def see_playbook(playbook: Playbook, m: int | None = _OWN) -> Sight:
    """A playbook by its routes, walked on the map: who show the same first m nodes on every trip; its own m if unsaid.

    Under the ``all-pairs`` reading what is promised is about classes, so only those of the same class count as looking
    the same. Who is said to be hidden and has no sound route shows something of its own.
    """
    problem = replace(playbook.problem, past=None)
    survey = survey_problem(problem)
    seen_nodes = replace(playbook.privacy, m=playbook.privacy.m if m == _OWN else m)
    replayed = replay_playbook(replace(playbook, privacy=seen_nodes), None, survey)
    apart = Spread(survey, playbook.privacy)
    at = {c: place for place, c in enumerate(survey.counted)}
    seen: dict[object, dict[int, float]] = {}
    for draw, chance in replayed.chances.items():
        group = replayed.groups.get(draw)
        key: object = draw if group is None else id(group)
        if group is not None and apart.is_all_pairs and not replayed.is_randomised:
            key = (key, draw[1])
        mine = seen.setdefault(key, {})
        mine[at[draw[0]]] = mine.get(at[draw[0]], 0.0) + chance
    refused = {at[c]: 1.0 for c in survey.counted if c not in replayed.claimed}
    return Sight(
        playbook=playbook.sha256,
        domain=problem.domain.sha256,
        places=tuple(
            Place(survey.label(c), problem.names.get(survey.label(c)), spot_of(problem.domain, survey.nodes[c]))
            for c in survey.counted
        ),
        privacy=playbook.privacy,
        shown=(*seen.values(), *([refused] if refused else [])),
        hidden=frozenset(at[c] for c in replayed.claimed),
        near=frozenset(frozenset((at[a], at[b])) for a in survey.counted for b in members_of(apart.close[a])),
        weights=tuple(1.0 if problem.prior is None else problem.prior[c] for c in survey.counted),
        since=None if playbook.past is None else playbook.past.since,
    )


def see_entry(entry: Entry) -> Sight:
    """A playbook as a ledger says it is."""
    shown = []
    for number, members in enumerate(entry.classes):
        shares = entry.shares[number] if entry.shares else (1.0,) * len(members)
        shown.append(dict(zip(members, shares, strict=True)))
    if entry.shares:
        totals: dict[int, float] = {}
        for at, share in ((at, share) for each in shown for at, share in each.items()):
            totals[at] = totals.get(at, 0.0) + share
        shown = [{at: share / totals[at] if totals[at] else 0.0 for at, share in each.items()} for each in shown]
    if entry.refused:
        shown.append(dict.fromkeys(entry.refused, 1.0))
    return Sight(
        playbook=entry.playbook,
        domain=entry.domain,
        places=entry.places,
        privacy=entry.privacy,
        shown=tuple(shown),
        hidden=frozenset(at for members in entry.classes for at in members),
        near=frozenset(map(frozenset, entry.near)),
        weights=entry.prior or (1.0,) * len(entry.places),
        date=entry.date,
        since=entry.since,
        occasion=entry.occasion,
    )


def spot_of(domain: Domain, node: int) -> Spot | None:
    """Where a node is, in the words of a ledger; ``None`` where the map does not say."""
    if domain.grid is not None:
        height, width = domain.grid.free.shape
        row, col = domain.grid.cell(node)
        return ("cell", int(height), int(width), int(row), int(col))
    if domain.streets is not None:
        # As numpy rounds, which is not as Python does where a seventh digit is a 5.
        return ("earth", *np.round(domain.streets.lonlat[node], 6).tolist())
    return None if domain.coordinates is None else ("plane", *domain.coordinates[node].tolist())


class People:
    """Who is who. On one map a label tells; on others what a place is called, and where it is."""

    def __init__(self) -> None:
        self.last: list[Place] = []  # how each was listed last
        self._marks: list[set[Any]] = []
        self._with_mark: dict[Any, set[int]] = {}

    def enter(self, domain: str, places: Iterable[Place]) -> tuple[int, ...]:
        """The numbers of some places of a map; those who were never listed get new ones."""
        rows = list(places)
        # Several may be at one spot: who is known by name and spot is not another one who is listed here.
        present = set().union(*(set.intersection(*self._alike(domain, place)) for place in rows)) if rows else set()
        listed = [(place, self._find(domain, place, present)) for place in rows]
        known = {found for _, found in listed}
        for place in (place for place, found in listed if found is None):
            self._check_new(domain, place, known)
        numbers: list[int] = []
        for place, found in listed:
            if found is not None and found in numbers:
                raise _unclear(place, "two places of one map cannot be told from each other on another")
            if found is None:
                found = len(self.last)
                self.last.append(place)
                self._marks.append(set())
            numbers.append(found)
            self.last[found] = place
            marks = {("map", domain), ("on", domain, place.label), *_names(place)}
            marks |= set() if place.at is None else {("at", place.at)}
            self._marks[found] |= marks
            for mark in marks:
                self._with_mark.setdefault(mark, set()).add(found)
        return tuple(numbers)

    def _alike(self, domain: str, place: Place) -> tuple[set[int], set[int]]:
        """Who was at the spot of a place, and who had its name, on other maps."""
        # Whoever is somebody else on this very map is not meant, whatever it was called on others.
        others = self._with_mark.get(("map", domain), set())
        here = self._with_mark.get(("at", place.at), set()) - others if place.at is not None else set()
        return here, set().union(*(self._with_mark.get(name, ()) for name in _names(place))) - others

    def _find(self, domain: str, place: Place, present: set[int]) -> int | None:
        for known in self._with_mark.get(("on", domain, place.label), ()):
            return known
        here, named = self._alike(domain, place)
        fitting = here & named or (here - present) | named
        if len(fitting) > 1:
            raise _unclear(place, "its name and coordinates fit several places")
        if not fitting:
            return None
        number = min(fitting)
        spots = [mark[1] for mark in self._marks[number] if mark[0] == "at"]
        if not here and _is_elsewhere(place.at, spots, FURTHEST_M):
            raise _unclear(place, "a place of that name was elsewhere")
        return number

    def _check_new(self, domain: str, place: Place, known: set[int | None]) -> None:
        """Raise where somebody who seems to be new may be one of another map: who is new has no history."""
        for number, marks in enumerate(self._marks):
            if number in known or ("map", domain) in marks:
                continue
            are_named = _names(place) and any(mark[0] == "name" for mark in marks)
            spots = [mark[1] for mark in marks if mark[0] == "at"]
            are_alike = place.at is not None and any(_kind(spot) == _kind(place.at) for spot in spots)
            if (are_alike or not are_named) and not _is_elsewhere(place.at, spots, CLOSEST_M):
                raise _unclear(place, f"it may be {self.last[number].text}, as far as names and coordinates say")


def _names(place: Place) -> list[tuple[str, str]]:
    return [("name", name) for name in (place.name, place.label) if isinstance(name, str) and name]


def _kind(at: Spot) -> Spot:
    """What a place can be compared with: cells of grids of different sizes cannot be."""
    return at[: 3 if at[0] == "cell" else 1]


def _is_elsewhere(at: Spot | None, spots: Iterable[Spot], furthest_m: float) -> bool:
    """Whether a place is certainly not where another was; that cannot be said where the two cannot be compared."""
    if at is None:
        return False
    others = [spot for spot in spots if _kind(spot) == _kind(at)]
    if at[0] != "earth":
        return bool(others) and at not in others
    points = on_sphere(np.array([spot[1:] for spot in (at, *others)], dtype=np.float64))
    return bool(others) and bool((metres_apart(points[0], points[1:]) > furthest_m).all())


def _unclear(place: Place, why: str) -> InvalidInputError:
    return InvalidInputError("playbooks", f"places that can be told from each other ({why})", place.text)


@dataclass(eq=False)
class Observer:
    """Links playbooks, one after the other. People are numbers of ``people``."""

    people: People = field(default_factory=People)
    sights: list[Sight] = field(default_factory=list)
    numbers: list[tuple[int, ...]] = field(default_factory=list)  #: per sight and place who it is
    hidden: dict[int, bool] = field(default_factory=dict)  #: whether the last playbook that lists somebody hides it
    broken: dict[int, int] = field(default_factory=dict)  #: the first promise to somebody that does not hold

    def __post_init__(self) -> None:
        # From which day on trips are linked, and who: all stories that may have been seen.
        self._stories: dict[tuple[str | None, int], list[Story]] = {}
        self._options: list[dict[int, list[Story]]] = []  # per sight and person what may be seen of it
        self._places: list[dict[int, int]] = []  # per sight where each person stands among its places
        self._kept: dict[tuple[int, int], list[Story]] = {}  # per sight and person for which stories it keeps its word

    def link(self, sight: Sight) -> None:
        """See the trips of one more playbook."""
        numbers = self.people.enter(sight.domain, sight.places)
        options: dict[int, list[Story]] = {}
        for shown in sight.shown:
            story = {numbers[place]: chance for place, chance in shown.items()}
            for person in story:
                options.setdefault(person, []).append(story)
        self.sights.append(sight)
        self.numbers.append(numbers)
        self._places.append({person: place for place, person in enumerate(numbers)})
        self._options.append(options)
        for since, person in list(self._stories):
            if person in options and self._is_news(len(self.sights) - 1, since):
                before = self._stories[since, person]
                self._stories[since, person] = _continued(before, options[person]) if before else options[person]
        for person in options:
            self.hidden[person] = self._places[-1][person] in sight.hidden
            self._look_after(person)

    def _is_news(self, at: int, since: str | None) -> bool:
        """Whether a sight shows something to who links trips from a day on: a draw that was seen before does not."""
        sight, earlier = self.sights[at], (other for other in self.sights[:at] if not _is_before(other, since))
        return not _is_before(sight, since) and not any(_is_same_draw(sight, other) for other in earlier)

    def stories(self, person: int, since: str | None = None) -> list[Story]:
        """All that may have been seen of somebody from a day on; without dates from the beginning."""
        if (since, person) not in self._stories:
            found: list[Story] = []
            for at, options in enumerate(self._options):
                if person in options and self._is_news(at, since):
                    found = _continued(found, options[person]) if found else options[person]
            self._stories[since, person] = found
        return self._stories[since, person]

    def left(self, person: int) -> frozenset[int]:
        """Who is still possible, after the worst of the draws."""
        return min((frozenset(story) for story in self.stories(person)), key=lambda some: (len(some), sorted(some)))

    def _look_after(self, person: int) -> None:
        """Note the first promise to somebody that what was seen has broken; it stays broken."""
        if person in self.broken:
            return
        for at, sight in enumerate(self.sights):
            place, stories = self._places[at], self.stories(person, sight.start)
            is_promised = sight.is_promised and place.get(person, -1) in sight.hidden
            if not is_promised or self._kept.get((at, person)) is stories:
                continue
            self._kept[at, person] = stories
            for story in stories:
                if not sight.keeps({place[other]: chance for other, chance in story.items() if other in place}):
                    self.broken[person] = at
                    return

    def parts(self, person: int, since: str | None, *, is_parted: bool) -> set[frozenset[int]]:
        """What is left after all trips of somebody or, where ``is_parted``, after any of them and not others."""
        found: set[frozenset[int]] = set()
        for at, options in enumerate(self._options):
            now = {frozenset(story) for story in options.get(person, ())}
            if not now or not self._is_news(at, since):
                continue
            both = {one & other for one in found for other in now}
            found = (found | now | both) if is_parted else (both or now)
            _check_number(len(found))
        return found


def _is_before(sight: Sight, since: str | None) -> bool:
    """Whether a playbook was in use before a day only."""
    return since is not None and sight.date is not None and sight.date < since


def _is_same_draw(one: Sight, other: Sight) -> bool:
    """Whether two are one playbook of which one class was drawn for both: the second shows nothing new."""
    if one.occasion is None or one.privacy.mechanism != "randomised":
        return False
    return all(
        getattr(one, name) == getattr(other, name) for name in ("playbook", "occasion", "domain", "places", "shown")
    )


def _continued(stories: list[Story], options: list[Story]) -> list[Story]:
    """All stories with one more thing seen; the same list where that tells nothing."""
    _check_number(len(stories) * len(options))
    found: list[Story] = [
        {person: story[person] * chance for person, chance in option.items() if person in story}
        for story in stories
        for option in options
    ]
    return stories if found == stories else found


def _check_number(num: int) -> None:
    if num > MAX_STORIES:
        raise TooLargeError("playbooks", f"draws that may have gone together in at most {MAX_STORIES:,} ways", num)
