"""What whoever links the trips of one secret has seen, worked out with the auditor's own code.

A :class:`Sight` is one playbook as it looks from outside: who look the same, and who get no route, which is seen as
well where a trip is expected. :class:`Observer` links several. :class:`People` tells who is who on different maps.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from veilroute.auditing.apartness import ClassRule, Spread, mask_of, members_of
from veilroute.auditing.replay import replay_playbook
from veilroute.auditing.survey import metres_apart, on_sphere, survey_problem
from veilroute.base.errors import InvalidInputError, TooLargeError
from veilroute.domain.graph import Domain
from veilroute.model.entry import FURTHEST_M, SAME_M, Entry, Gap, Identity, Place, Spot
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy

MAX_STORIES = 20_000  #: in how many ways draws may have gone together, for one candidate
_ON_PLANES = ("cost", "straight")  #: measures of an ell that is compared with distances on planes and grids
_LEAST_DEGREE_M = 110_000.0  #: a degree of latitude has more metres than this
_MAX_BRANCHES = 2_000  #: effort after which the search for k places apart is given up: well below a second

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
    hidden: frozenset[int]  #: whom it promises to hide; to the others it gives no route
    near: frozenset[frozenset[int]]  #: who stand closer than ell
    weights: tuple[float, ...]  #: how probable each place is beforehand, in any unit
    doors: tuple[
        tuple[str, Hashable], ...
    ]  #: where each place is: those with equal ones are at one door under several names
    date: str | None = None
    since: str | None = None  #: the day before which, as it assumes, nothing can be linked
    occasion: str | None = None
    is_promised: bool = True  #: whether its promise is about what is seen here
    #: Places that are less than ell, on its map, from one of an earlier playbook, as :attr:`Entry.close` has them.
    close: tuple[Gap, ...] = ()
    is_partial: bool = False  #: whether it shows some vehicles of a day only, so that others may have had a trip

    @property
    def start(self) -> str | None:
        """The day from which on trips are held against its promise; its own are in any case."""
        return self.since if self.date is None or self.since is None else min(self.since, self.date)

    def keeps(self, chances: Mapping[int, float]) -> bool | None:
        """Whether its promise holds while some of its places are possible, with these chances of what was seen.

        ``None`` when the search for places apart, or for the heaviest area, was given up before this was decided.
        """
        privacy, rule, group = self.privacy, self._rule, mask_of(chances)
        if privacy.spread == "all-pairs" and not rule.is_far(group):
            return False
        if privacy.beta is None:
            apart = rule.largest_far_set(group, enough=privacy.k, limit=_MAX_BRANCHES)
            return True if apart.size >= privacy.k else False if apart.is_largest else None
        masses = {at: self.weights[at] * chance for at, chance in chances.items()}
        return rule.find_within(masses)

    @cached_property
    def _rule(self) -> ClassRule:
        """What its promise asks of places, by their positions."""
        close = dict.fromkeys(range(len(self.places)), 0)
        for one, other in (sorted(pair) for pair in self.near if len(pair) == 2):
            close[one] |= 1 << other
            close[other] |= 1 << one
        privacy = self.privacy
        return ClassRule(privacy.k, close, is_all_pairs=privacy.spread == "all-pairs", beta=privacy.beta)


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
    return Sight(
        playbook=playbook.sha256,
        domain=problem.domain.sha256,
        places=tuple(
            Place(survey.label(c), problem.names.get(survey.label(c)), spot_of(problem.domain, survey.nodes[c]))
            for c in survey.counted
        ),
        privacy=playbook.privacy,
        shown=tuple(seen.values()),
        hidden=frozenset(at[c] for c in replayed.claimed),
        near=frozenset(frozenset((at[a], at[b])) for a in survey.counted for b in members_of(apart.close[a])),
        weights=tuple(1.0 if problem.prior is None else problem.prior[c] for c in survey.counted),
        doors=tuple((problem.domain.sha256, survey.nodes[c]) for c in survey.counted),
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
    return Sight(
        playbook=entry.playbook,
        domain=entry.domain,
        places=entry.places,
        privacy=entry.privacy,
        shown=tuple(shown),
        hidden=frozenset(at for members in entry.classes for at in members),
        near=frozenset(map(frozenset, entry.near)),
        weights=entry.prior or (1.0,) * len(entry.places),
        doors=tuple((entry.domain, place.at or place.label) for place in entry.places),
        date=entry.date,
        since=entry.since,
        occasion=entry.occasion,
        close=entry.close or (),
        is_partial=entry.kind != "playbook",
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
    """Who is who. On one map a label tells; on others what a place is called, and where it is.

    What the user said of two places (``identities``) comes before names and coordinates. Where some are no longer
    listed and others are new, those close to each other are taken for the same: a list that was exported again, under
    other names and a few metres off, is no list of newcomers. Neither is one with other numbers in place of names: a
    name that has moved to where somebody else was tells nothing.
    """

    def __init__(self, identities: Iterable[Identity] = ()) -> None:
        self.last: list[Place] = []  # how each was listed last
        self.matched: list[tuple[str, str]] = []  # those taken for the same: what they were called, and are called now
        self._said: dict[str, dict[str, str]] = {}  # by text which others it was compared with, and what was said
        for each in identities:
            for one, other in (each.places, each.places[::-1]):
                self._said.setdefault(one, {})[other] = each.kind
        self.moved: list[tuple[str, float]] = []  # those known by name who are at least 50 m from where they were
        self._rows: list[tuple[int, ...]] = []  # who was listed, per playbook
        self._latitudes: list[tuple[float, int]] = []  # of all spots on the earth, ascending, and who was there
        self._marks: list[set[Any]] = []
        self._with_mark: dict[Any, set[int]] = {}
        self._promised: list[Privacy] = []  # to each by the playbook that listed it last

    def enter(self, sight: Sight) -> tuple[int, ...]:
        """The numbers of the places of a playbook; those who were never listed get new ones."""
        domain, rows = sight.domain, sight.places
        # Several may be at one spot: who is known by name and spot is not another one who is listed here.
        present = set().union(*(set.intersection(*self._alike(domain, place)) for place in rows)) if rows else set()
        listed = [self._find(domain, place, present) for place in rows]
        moved = self._moved(sight, listed)
        close_by = self._close_by(sight, listed)
        for at, number in close_by.items():
            listed[at] = number
        for at, place in enumerate(rows):
            if listed[at] is None:
                self._check_new(domain, place, set(listed))
        numbers: list[int] = []
        for at, (place, found) in enumerate(zip(rows, listed, strict=True)):
            if found is not None and found in numbers:
                known = self.last[found].text
                remedy = f'if they are two, say so: veilroute ledger different FILE "{known}" "{place.text}"'
                raise _unclear(place, f"it and {known} would be one place; {remedy}")
            if found is None:
                found = len(self.last)
                self.last.append(place)
                self._marks.append(set())
                self._promised.append(sight.privacy)
            elif at in close_by:
                self.matched.append((self.last[found].text, place.text))
            numbers.append(found)
            self.last[found], self._promised[found] = place, sight.privacy
            marks = {("map", domain), ("on", domain, place.label), ("text", place.text), *_names(place)}
            marks |= set() if place.at is None else {("at", place.at)}
            if place.at is not None and place.at[0] == "earth" and ("at", place.at) not in self._marks[found]:
                insort(self._latitudes, (float(place.at[2]), found))
            self._marks[found] |= marks
            for mark in marks:
                self._with_mark.setdefault(mark, set()).add(found)
        self.moved += moved
        self._rows.append(tuple(numbers))
        return tuple(numbers)

    def _stated(self, kind: str, place: Place) -> set[int]:
        """Of whom the user said that they are the same as a place, or different from it."""
        texts = (text for text, said in self._said.get(place.text, {}).items() if said == kind)
        return {number for text in texts for number in self._with_mark.get(("text", text), ())}

    def _alike(self, domain: str, place: Place) -> tuple[set[int], set[int]]:
        """Who was at the spot of a place, and who had its name, on other maps."""
        # Whoever is somebody else on this very map is not meant, whatever it was called on others.
        others = self._with_mark.get(("map", domain), set()) | self._stated("different", place)
        here = self._with_mark.get(("at", place.at), set()) - others if place.at is not None else set()
        return here, set().union(*(self._with_mark.get(name, ()) for name in _names(place))) - others

    def _find(self, domain: str, place: Place, present: set[int]) -> int | None:
        for known in self._with_mark.get(("on", domain, place.label), ()):
            return known
        here, named = self._alike(domain, place)
        stated = self._stated("same", place)
        fitting = stated | named if stated else here & named or (here - present) | named
        if len(fitting) > 1:
            raise _unclear(place, "it fits several places, by its name, its coordinates or what was said of it")
        if not fitting:
            return None
        number = min(fitting)
        spots = [mark[1] for mark in self._marks[number] if mark[0] == "at"]
        if not stated and _is_elsewhere(place.at, spots, FURTHEST_M):
            raise _unclear(place, "a place of that name was elsewhere")
        return number

    def _away(self, number: int, at: Spot) -> float:
        """How far a spot is from the nearest where somebody was; infinite if none can be compared with it."""
        return min((_gap(mark[1], at) for mark in self._marks[number] if mark[0] == "at"), default=math.inf)

    def _moved(self, sight: Sight, listed: Sequence[int | None]) -> list[tuple[str, float]]:
        """Who is known by name and has moved, and how far; it is an error if the place is that of somebody else.

        Up to 50 m it is one only if more than half of the list is at places of others who are not listed as near.
        """
        moved, doubts, num_known = [], list[InvalidInputError](), 0
        for place, number in zip(sight.places, listed, strict=True):
            if number is None or place.at is None or place.at[0] != "earth" or self._stated("same", place):
                continue
            num_known += 1
            own = self._away(number, place.at)
            if math.isinf(own) or own == 0:
                continue
            if own >= SAME_M:
                moved.append((place.text, own))
            for other in sorted(self._may_be_near(place.at, own) - {number} - self._stated("different", place)):
                gap = self._away(other, place.at)
                if gap >= own or gap >= _reach(place.at, (sight.privacy, self._promised[other])):
                    continue
                rows = (row for row, each in zip(sight.places, listed, strict=True) if each == other)
                if own < SAME_M and any(row.at is not None and self._away(other, row.at) <= gap for row in rows):
                    continue
                known = self.last[other].text
                why = f"by its name it is {place.text}, which was {own:.0f} m away, and by where it is {known}, "
                remedy = f'if it has moved there: veilroute ledger different FILE "{known}" "{place.text}"'
                doubt = _unclear(place, f"{why}which was {gap:.0f} m away; {remedy}")
                if own >= SAME_M:
                    raise doubt
                doubts.append(doubt)
                break
        if 2 * len(doubts) > num_known:
            raise doubts[0]
        return moved

    def _may_be_near(self, at: Spot, metres: float) -> set[int]:
        """Everybody who was at nearly this latitude. Nobody else was that near on the earth."""
        reach = metres / _LEAST_DEGREE_M
        first = bisect_left(self._latitudes, (float(at[2]) - reach, -1))
        last = bisect_left(self._latitudes, (float(at[2]) + reach, math.inf))
        return {number for _, number in self._latitudes[first:last]}

    def _close_by(self, sight: Sight, listed: Sequence[int | None]) -> dict[int, int]:
        """For places that seem new somebody who is gone from where they are; the closest two find each other first."""
        gone = [number for number in range(len(self.last)) if number not in listed]
        pairs = []  # whether it is the map that says so, how far, who is gone, and the place
        for at, row, i, gap in sight.close:
            number = self._rows[row][i]
            if listed[at] is None and number in gone and number not in self._stated("different", sight.places[at]):
                pairs.append((True, gap, number, at))
        for at, place in enumerate(sight.places):
            if listed[at] is not None or place.at is None:
                continue
            different = self._stated("different", place)
            for number in (number for number in gone if number not in different):
                privacies = (sight.privacy, self._promised[number])
                gap = self._away(number, place.at)
                if gap < _reach(place.at, privacies):
                    pairs.append((False, gap, number, at))
        found: dict[int, int] = {}
        for _, _, number, at in sorted(pairs):
            if at not in found and number not in found.values():
                found[at] = number
        return found

    def _check_new(self, domain: str, place: Place, known: set[int | None]) -> None:
        """Raise where neither names nor coordinates say whether somebody is one of another map or has no history."""
        different = self._stated("different", place)
        for number, marks in enumerate(self._marks):
            if number in known or number in different or ("map", domain) in marks:
                continue
            are_named = _names(place) and any(mark[0] == "name" for mark in marks)
            spots = [mark[1] for mark in marks if mark[0] == "at"]
            if not are_named and not _is_elsewhere(place.at, spots, SAME_M):
                raise _unclear(place, f"it may be {self.last[number].text}, as far as names and coordinates say")


def _names(place: Place) -> list[tuple[str, str]]:
    return [("name", name) for name in (place.name, place.label) if isinstance(name, str) and name]


def _kind(at: Spot) -> Spot:
    """What a place can be compared with: cells of grids of different sizes cannot be."""
    return at[: 3 if at[0] == "cell" else 1]


def _gap(one: Spot, other: Spot) -> float:
    """How far two spots are from each other: in metres on the earth, else in the units of their map."""
    if _kind(one) != _kind(other):
        return math.inf
    if one[0] == "earth":
        points = on_sphere(np.array([one[1:], other[1:]], dtype=np.float64))
        return round(float(metres_apart(points[0], points[1])), 3)
    gap = math.dist(*(tuple(map(float, spot[-2:])) for spot in (one, other)))
    return gap if one[0] == "cell" else float(f"{gap:.9g}")


def _reach(at: Spot, privacies: Iterable[Privacy]) -> float:
    """What is closer than this to a spot is taken for it, where promises are about such distances."""
    is_earth = at[0] == "earth"
    ells = [each.ell for each in privacies if (each.measure != "cost" if is_earth else each.measure in _ON_PLANES)]
    return max(ells, default=0.0) if not is_earth else max(SAME_M, *ells, 0.0)


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
    """Links playbooks, one after the other. People are numbers of ``people``.

    What a playbook says of somebody to whom it gives no route is an assumption, ``trips``: nothing where they are
    ``"occasional"``; where they are ``"expected"``, that it is one of those without a route, listed or not. By files of
    an earlier version (``"listed"``) it is one of those who were listed and got none, and of others nothing is said.
    """

    trips: str = "occasional"
    people: People = field(default_factory=People)
    sights: list[Sight] = field(default_factory=list)
    numbers: list[tuple[int, ...]] = field(default_factory=list)  #: per sight and place who it is
    hidden: dict[int, bool] = field(default_factory=dict)  #: whether the last playbook that lists somebody hides it
    broken: dict[int, int] = field(default_factory=dict)  #: the first promise to somebody that does not hold
    doors: dict[int, tuple[str, Hashable]] = field(
        default_factory=dict
    )  #: where each of them was when it was listed last
    undecided: set[int] = field(default_factory=set)  #: of whom it could not be decided whether a promise holds

    def __post_init__(self) -> None:
        # From which day on trips are linked, and who: all stories that may have been seen.
        self._stories: dict[tuple[str | None, int], list[Story]] = {}
        self._options: list[dict[int, list[Story]]] = []  # per sight and person what its routes may show
        self._places: list[dict[int, int]] = []  # per sight where each person stands among its places
        self._kept: dict[tuple[int, int], list[Story]] = {}  # per sight and person for which stories it keeps its word
        self._absent: dict[int, Story] = {}  # per sight who has no route
        self._idle: dict[str | None, list[Story]] = {}  # what is left of those who never had a route from a day on
        # Per sight and person what its trips leave together with any of so many others.
        self._parted: dict[tuple[int, int], tuple[int, list[Story]]] = {}
        # Promises of the same words to the same people are kept or broken together: the first stands for all.
        self._first: list[int] = []
        self._promises: dict[object, int] = {}

    def link(self, sight: Sight) -> None:
        """See the trips of one more playbook."""
        numbers = self.people.enter(sight)
        options: dict[int, list[Story]] = {}
        for shown in sight.shown:
            story = {numbers[place]: chance for place, chance in shown.items()}
            for person in story:
                options.setdefault(person, []).append(story)
        self.sights.append(sight)
        self.numbers.append(numbers)
        for person, door in zip(numbers, sight.doors, strict=True):
            # A line of a ledger knows less of where somebody is than the map of a playbook at hand did.
            if self.doors.get(person, ("",))[0] != sight.domain:
                self.doors[person] = door
        self._places.append({person: place for place, person in enumerate(numbers)})
        self._options.append(options)
        words = (numbers, sight.privacy, sight.near, sight.weights, sight.start, sight.is_promised)
        self._first.append(self._promises.setdefault(words, len(self._first)))
        # Those who are listed for the first time had no route before either.
        self._absent.clear()
        self._idle.clear()
        now = len(self.sights) - 1
        for since, person in list(self._stories):
            seen = self._seen_of(now, person)
            if seen is not None and self._is_news(now, since):
                before = self._stories[since, person]
                self._stories[since, person] = _continued(before, seen) if before else seen
        for person in numbers:
            self.hidden[person] = self._places[-1][person] in sight.hidden
        for person in self.hidden:
            if self._seen_of(now, person) is not None:
                self._look_after(person)

    def expecting(self, sight: Sight) -> tuple[Observer, tuple[int, ...]]:
        """The same observer when it knows who is listed next, before anything is seen of them; and their numbers."""
        other = copy(self)
        other.people, other._absent = deepcopy(self.people), {}
        return other, other.people.enter(sight)

    def _seen_of(self, at: int, person: int) -> list[Story] | None:
        """What may be seen of somebody in a playbook; ``None`` where it says nothing."""
        if (shown := self._options[at].get(person)) is not None:
            return shown
        if self.trips == "listed":
            is_said = person in self._places[at]
        else:
            is_said = self.trips == "expected" and not self.sights[at].is_partial
        if not is_said:
            return None
        if at not in self._absent:
            some = self._places[at] if self.trips == "listed" else range(len(self.people.last))
            self._absent[at] = {person: 1.0 for person in some if person not in self._options[at]}
        return [self._absent[at]]

    def _is_news(self, at: int, since: str | None) -> bool:
        """Whether a sight shows something to who links trips from a day on: a draw that was seen before does not."""
        sight, earlier = self.sights[at], (other for other in self.sights[:at] if not _is_before(other, since))
        return not _is_before(sight, since) and not any(_is_same_draw(sight, other) for other in earlier)

    def stories(self, person: int, since: str | None = None) -> list[Story]:
        """All that may have been seen of somebody from a day on; without dates from the beginning.

        None where nothing was said of it.
        """
        if (since, person) in self._stories:
            return self._stories[since, person]
        linked = [at for at in range(len(self.sights)) if self._is_news(at, since)]
        is_idle = not any(person in self._options[at] for at in linked)
        if is_idle and self.trips == "expected" and since in self._idle:
            return self._idle[since]
        found: list[Story] = []
        for at in linked:
            if (seen := self._seen_of(at, person)) is not None:
                found = _continued(found, seen) if found else seen
        if is_idle and self.trips == "expected":  # the same for all of them, until more people become known
            self._idle[since] = found
        else:
            self._stories[since, person] = found
        return found

    def left(self, person: int) -> frozenset[int]:
        """Who is still possible, after the worst of the draws."""
        return min(
            (frozenset(story) for story in self.stories(person)),
            key=lambda some: (self.num_doors(some), len(some), sorted(some)),
            default=frozenset(range(len(self.people.last))),
        )

    def num_doors(self, people: Iterable[int]) -> int:
        """At how many places some people are: several names at one door are one place to an observer on the street."""
        return len({self.doors[each] for each in people})

    def _look_after(self, person: int) -> None:
        """Note the first promise to somebody that what was seen has broken; it stays broken."""
        if person in self.broken:
            return
        for at, sight in enumerate(self.sights):
            place, first = self._places[at], self._first[at]
            if not sight.is_promised or place.get(person, -1) not in sight.hidden:
                continue
            if first != at and self._options[first].get(person) == self._options[at][person]:
                continue  # its trips show the same as those of the first
            by_counting = sight.privacy.beta is None
            stories = self.stories(person, sight.start) if by_counting else self._partly_linked(person, at)
            if self._kept.get((at, person)) is stories:
                continue
            verdicts = {
                sight.keeps({place[other]: chance for other, chance in story.items() if other in place})
                for story in stories
            }
            if False in verdicts:
                self.broken[person] = at
                return
            if None in verdicts:
                self.undecided.add(person)
            self._kept[at, person] = stories

    def _partly_linked(self, person: int, at: int) -> list[Story]:
        """What trips of a playbook leave of somebody together with any of the others, as far as this matters.

        By counting, all trips together leave the fewest. Under a risk, fewer trips may tell more of an area: a place
        that is possible after them, and of which another playbook says nothing, may be what keeps its neighbours
        improbable after all trips. A playbook that says something of everybody who is left parts them into some that
        are looked at as well, and whose average they are; so it need not be left out.
        """
        since = self.sights[at].start
        num, stories = self._parted.get((at, person), (0, self._options[at][person]))
        for other in range(num, len(self.sights)):
            seen = self._seen_of(other, person)
            is_same = other == at or _is_same_draw(self.sights[other], self.sights[at])
            if seen is None or is_same or not self._is_news(other, since):
                continue
            found: dict[frozenset[tuple[int, float]], Story] = {}
            for story in stories:
                if any(self._seen_of(other, each) is None for each in story):
                    found[frozenset(story.items())] = story
                found |= {frozenset(both.items()): both for both in _continued([story], seen)}
                _check_number(len(found))
            stories = stories if list(found.values()) == stories else list(found.values())
        self._parted[at, person] = len(self.sights), stories
        return stories

    def parts(self, person: int, since: str | None, *, is_parted: bool) -> set[frozenset[int]]:
        """What is left after all trips of somebody or, where ``is_parted``, after any of them and not others."""
        found: set[frozenset[int]] = set()
        for at in range(len(self.sights)):
            now = {frozenset(story) for story in self._seen_of(at, person) or ()}
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
        {person: chance * option[person] for person, chance in story.items() if person in option}
        for story in stories
        for option in options
    ]
    return stories if found == stories else found


def _check_number(num: int) -> None:
    if num > MAX_STORIES:
        raise TooLargeError("playbooks", f"draws that may have gone together in at most {MAX_STORIES:,} ways", num)
