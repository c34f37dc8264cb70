"""Linked trips in the plainest way: who is who, what each playbook shows of whom, and every set of trips looked at.

It is slow, and shares no code with the ledger or the auditor. Both are held against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, pairwise, product
from typing import NamedTuple

import veilroute as vr
from linked_entries import Entry, Identity, Place
from plain_cliques import heaviest_area
from reference import adjacency, distances, watchers

Story = dict[int, float]
"""Who is still possible, and with which chance each would have shown what was seen."""


class UnclearError(Exception):
    """Places that cannot be told from each other."""


class Listing(NamedTuple):
    """How somebody was listed once."""

    domain: str
    place: Place
    privacy: vr.Privacy


def are_of_one_kind(one: Place, other: Place) -> bool:
    if one.at is None or other.at is None or one.at[0] != other.at[0]:
        return False
    return one.at[0] != "cell" or one.at[1:3] == other.at[1:3]


def gap(one: Place, other: Place) -> float:
    """How far two spots are from each other."""
    first, second = ([float(value) for value in (each.at or ())[-2:]] for each in (one, other))
    if one.at is None or one.at[0] != "earth":
        apart = math.hypot(first[0] - second[0], first[1] - second[1])
        return apart if one.at is not None and one.at[0] == "cell" else float(f"{apart:.9g}")
    (east, north), (east_too, north_too) = ([math.radians(value) for value in each] for each in (first, second))
    half = math.sin((north - north_too) / 2) ** 2
    half += math.cos(north) * math.cos(north_too) * math.sin((east - east_too) / 2) ** 2
    return round(2 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(half))), 3)


def called(place: Place) -> set[str]:
    return {text for text in (place.name, place.label) if isinstance(text, str) and text}


class Links:
    """Some playbooks, and one who links their trips under an assumption about days without one."""

    def __init__(self, entries: Sequence[Entry], trips: str, identities: Sequence[Identity] = ()) -> None:
        self.entries, self.trips = list(entries), trips
        self.said = {frozenset(each.places): each.kind for each in identities}
        self.people: list[list[Listing]] = []
        self.numbers: list[tuple[int, ...]] = []
        for entry in self.entries:
            self.numbers.append(self._enter(entry))

    # Who is who.

    def _is_stated(self, kind: str, person: int, place: Place) -> bool:
        texts = {row.place.text for row in self.people[person]}
        return any(self.said.get(frozenset((text, place.text))) == kind for text in texts - {place.text})

    def _enter(self, entry: Entry) -> tuple[int, ...]:
        fitting = [self._fitting(entry, place) for place in entry.places]
        sure = set().union(*(named & there for named, there in fitting))
        found = [self._find(entry, place, *fits, sure) for place, fits in zip(entry.places, fitting, strict=True)]
        known = [person for person in found if person is not None]
        if len(set(known)) < len(known) or self._is_numbered_again(entry, found):
            raise UnclearError
        pairs = sorted(
            (near, person, at)
            for person in range(len(self.people))
            for at, place in enumerate(entry.places)
            if found[at] is None and person not in known
            if (near := self._nearness(entry, person, place)) is not None
        )
        on_map = sorted((gap, self.numbers[earlier][i], at) for at, earlier, i, gap in entry.close or ())
        pairs += [each for each in on_map if not self._is_stated("different", each[1], entry.places[each[2]])]
        for _, person, at in pairs:
            if found[at] is None and person not in found:
                found[at] = person
        for at, place in enumerate(entry.places):
            for person, rows in enumerate(self.people):
                is_known = found[at] is not None or person in found or any(row.domain == entry.domain for row in rows)
                has_name = bool(called(place)) and any(called(row.place) for row in rows)
                alike = [row for row in rows if are_of_one_kind(place, row.place)]
                is_far = bool(alike) and all(gap(place, row.place) > 0 for row in alike)
                if not (is_known or has_name or is_far or self._is_stated("different", person, place)):
                    raise UnclearError
        for at, place in enumerate(entry.places):
            if found[at] is None:
                found[at] = len(self.people)
                self.people.append([])
            self.people[found[at]].append(Listing(entry.domain, place, entry.privacy))  # type: ignore[index]
        return tuple(found)  # type: ignore[arg-type]

    def _fitting(self, entry: Entry, place: Place) -> tuple[set[int], set[int]]:
        """Who had the name of a place, and who was at its spot, on other maps."""
        others = {
            person
            for person, rows in enumerate(self.people)
            if all(row.domain != entry.domain for row in rows) and not self._is_stated("different", person, place)
        }
        named = {p for p in others if any(called(row.place) & called(place) for row in self.people[p])}
        there = {p for p in others if any(row.place.at == place.at is not None for row in self.people[p])}
        return named, there

    def _find(self, entry: Entry, place: Place, named: set[int], there: set[int], sure: set[int]) -> int | None:
        for person, rows in enumerate(self.people):
            if any((row.domain, row.place.label) == (entry.domain, place.label) for row in rows):
                return person
        stated = {person for person in range(len(self.people)) if self._is_stated("same", person, place)}
        found = stated | named if stated else (named & there) or (named | (there - sure))
        if len(found) > 1:
            raise UnclearError
        for person in found:
            alike = [row for row in self.people[person] if are_of_one_kind(place, row.place)]
            least = min((gap(place, row.place) for row in alike), default=0)
            if not stated and least > (250 if place.at is not None and place.at[0] == "earth" else 0):
                raise UnclearError
            return person
        return None

    def _is_numbered_again(self, entry: Entry, found: Sequence[int | None]) -> bool:
        """Whether a place is known by its name, and nearer to where somebody else was; below 50 m most of them are."""
        known = [
            at
            for at, place in enumerate(entry.places)
            if found[at] is not None
            and place.at is not None
            and place.at[0] == "earth"
            and not any(self._is_stated("same", person, place) for person in range(len(self.people)))
        ]
        far = [at for at in known if 50 <= self._away(found[at] or 0, entry.places[at]) < math.inf]
        near = [at for at in known if at not in far and self._is_where_another_was(entry, at, found)]
        return any(self._is_where_another_was(entry, at, found) for at in far) or 2 * len(near) > len(known)

    def _is_where_another_was(self, entry: Entry, at: int, found: Sequence[int | None]) -> bool:
        place, mine = entry.places[at], found[at]
        assert mine is not None
        own = self._away(mine, place)
        for person in range(len(self.people)):
            gap = self._away(person, place)
            if person == mine or not gap < own < math.inf or self._nearness(entry, person, place) is None:
                continue
            held = [self._away(person, row) for row, each in zip(entry.places, found, strict=True) if each == person]
            if own >= 50 or not any(other <= gap for other in held):
                return True
        return False

    def _away(self, person: int, place: Place) -> float:
        rows = [row.place for row in self.people[person] if are_of_one_kind(place, row.place)]
        return min((gap(place, row) for row in rows), default=math.inf)

    def _nearness(self, entry: Entry, person: int, place: Place) -> float | None:
        """How far a place is from somebody who is gone, if that is so close that it is taken for the same."""
        rows = [row for row in self.people[person] if are_of_one_kind(place, row.place)]
        if not rows or self._is_stated("different", person, place):
            return None
        near = min(gap(place, row.place) for row in rows)
        is_earth = place.at is not None and place.at[0] == "earth"
        limit = 50.0 if is_earth else 0.0
        for privacy in (entry.privacy, self.people[person][-1].privacy):
            if (privacy.measure != "cost") if is_earth else (privacy.measure in ("cost", "straight")):
                limit = max(limit, privacy.ell)
        return near if near < limit else None

    # What is seen.

    def sights(self, at: int, person: int) -> list[Story]:
        """What a playbook may show of somebody; nothing where it says nothing."""
        entry, numbers = self.entries[at], self.numbers[at]
        drawn: dict[int, float] = {}
        for group, members in enumerate(entry.classes):
            for i, member in enumerate(members):
                share = entry.shares[group][i] if entry.shares else 1.0
                drawn[numbers[member]] = drawn.get(numbers[member], 0.0) + share
        if person in drawn:
            shown = []
            for group, members in enumerate(entry.classes):
                shares = entry.shares[group] if entry.shares else [1.0] * len(members)
                story = {numbers[i]: share / drawn[numbers[i]] for i, share in zip(members, shares, strict=True)}
                shown += [story] if person in story else []
            return shown
        if self.trips == "occasional":
            return []
        if self.trips == "expected":
            unseen = {other: 1.0 for other in range(len(self.people)) if other not in drawn}
            return [unseen] if entry.kind == "playbook" else []
        refused = {numbers[i] for i in range(len(numbers))} - set(drawn)
        return [dict.fromkeys(refused, 1.0)] if person in refused else []

    def linked(self, person: int, since: str | None) -> list[int]:
        """The playbooks that tell something of somebody from a day on; of draws that are one draw the first."""
        found: list[int] = []
        for at, entry in enumerate(self.entries):
            is_one_draw = entry.occasion is not None and any(self._is_same(i, at) for i in found)
            if (since is None or entry.date >= since) and self.sights(at, person) and not is_one_draw:
                found.append(at)
        return found

    def stories(self, person: int, linked: Sequence[int]) -> Iterator[Story]:
        """All that trips of some playbooks may have left."""
        for shown in product(*(self.sights(at, person) for at in linked)):
            everybody = range(len(self.people))
            yield {p: math.prod(each[p] for each in shown) for p in everybody if all(p in each for each in shown)}

    def left(self, person: int) -> frozenset[int]:
        """Who is left after all trips, and the worst of the draws."""
        stories = map(frozenset, self.stories(person, self.linked(person, None)))
        return min(stories, key=lambda some: (len(some), sorted(some)))

    # What was promised.

    def is_broken(self, person: int, m: object = ...) -> bool:
        """Whether some of the trips, a trip of that playbook among them, leave less than a playbook has promised.

        With an ``m``, only promises about so many nodes are looked at, and so many nodes of all trips are known.
        Without one, what a trip shows beyond the nodes that its playbook makes a promise about is not known.
        """
        for at, entry in enumerate(self.entries):
            if m not in (..., entry.privacy.m) or not self._has_class(at, person):
                continue
            linked = self.linked(person, entry.since)
            known = [self.entries[i].privacy.m or math.inf for i in linked if self._has_class(i, person)]
            if m is ... and min(known) < (entry.privacy.m or math.inf):
                return True
            own = next(i for i in linked if i == at or (entry.occasion is not None and self._is_same(i, at)))
            others = [i for i in linked if i != own]
            for some in chain.from_iterable(combinations(others, num) for num in range(len(others) + 1)):
                if any(not self.keeps(at, story) for story in self.stories(person, [own, *some])):
                    return True
        return False

    def _has_class(self, at: int, person: int) -> bool:
        return person in {self.numbers[at][i] for members in self.entries[at].classes for i in members}

    def _is_same(self, one: int, other: int) -> bool:
        return replace(self.entries[one], date="", kind="") == replace(self.entries[other], date="", kind="")

    def keeps(self, at: int, story: Story) -> bool:
        """Whether the promise of a playbook holds for what is left."""
        entry, privacy = self.entries[at], self.entries[at].privacy
        place = {person: i for i, person in enumerate(self.numbers[at])}
        chances = {place[person]: chance for person, chance in story.items() if person in place}

        def is_close(one: int, other: int) -> bool:
            return (one, other) in entry.near or (other, one) in entry.near

        pairs = combinations(chances, 2)
        if privacy.spread == "all-pairs" and any(is_close(one, other) for one, other in pairs):
            return False
        if privacy.beta is None:
            groups = combinations(chances, privacy.k)
            return any(not any(is_close(*pair) for pair in combinations(group, 2)) for group in groups)
        masses = {i: chance * (1.0 if entry.prior is None else entry.prior[i]) for i, chance in chances.items()}
        total = math.fsum(masses.values())
        worst = heaviest_area(list(masses), is_close, masses.__getitem__)
        return total > 0 and worst <= privacy.beta * total * (1 + 1e-9)


def line_of(book: vr.Playbook, said: Entry) -> Entry:
    """What a ledger has to say of a playbook; of days and occasions it is the ledger that knows."""
    domain, ends = book.domain, {end for trip in book.trips for end in (trip.start, trip.goal)}
    assert domain is not None and domain.grid is not None
    counted = [label for label in book.candidates if label not in ends]
    size = domain.grid.free.shape
    places = [Place(label, book.names.get(label), ("cell", *size, *label)) for label in counted]  # type: ignore[misc]
    hidden = [[counted.index(member) for member in group.members] for group in book.classes if group.anonymized]
    nodes = [domain.node(label) for label in counted]
    walks = [distances(adjacency(domain), node) for node in nodes]
    near = [
        (a, b)
        for a, b in combinations(range(len(nodes)), 2)
        if nodes[a] == nodes[b] or min(walks[a][nodes[b]], walks[b][nodes[a]]) < book.privacy.ell * (1 - 1e-9)
    ]
    weights = dict(zip(book.candidates, book.prior or (), strict=False))
    return replace(
        said,
        domain=domain.sha256,
        trips=tuple((trip.start, trip.goal) for trip in book.trips),
        privacy=book.privacy,
        places=tuple(places),
        classes=tuple(map(tuple, hidden)),
        refused=tuple(sorted(set(range(len(counted))) - set(chain.from_iterable(hidden)))),
        near=tuple(near),
        prior=tuple(weights[label] for label in counted) if weights else None,
        shares=tuple(group.shares for group in book.classes if group.anonymized and group.shares),
        parent=None if book.past is None else book.past.ledger,
        since=None if book.past is None else book.past.since,
    )


def seen_of(book: vr.Playbook, line: Entry, m: int | None) -> Entry:
    """The line of a partition as an observer knows it: who show the same first m nodes on all trips.

    Who is said to be hidden by a route that does not lead past it, or is no walk of the trip, is alone.
    """
    domain = book.domain
    assert domain is not None
    edges = {(tail, head) for tail, heads in enumerate(adjacency(domain)) for head, _ in heads}
    groups: dict[object, list[int]] = {}
    for number, members in enumerate(line.classes):
        group = [each for each in book.classes if each.anonymized][number]
        for at in members:
            member = line.places[at].label
            routes = [group.route_of(member, trip).nodes for trip in range(len(book.trips))]
            walks = [[domain.node(label) for label in route] for route in routes]
            is_sound = all(
                (route[0], route[-1]) == (trip.start, trip.goal)
                and all(step in edges or step[0] == step[1] for step in pairwise(walk))
                and not watchers(book.problem, domain.node(member)).isdisjoint(walk)
                for route, walk, trip in zip(routes, walks, book.trips, strict=True)
            )
            key: object = (str([route[:m] for route in routes]), number if book.privacy.spread == "all-pairs" else 0)
            groups.setdefault(key if is_sound else at, []).append(at)
    return replace(line, classes=tuple(map(tuple, groups.values())))
