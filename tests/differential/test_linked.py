"""Planning under a ledger against brute force: true ledgers of a few days, and histories worked out by sets alone.

The days before have other trips, other candidates, maps with a cell or a street closed, and classes that were planned
or thrown together, so that histories overlap in all ways. The oracle (tests/scipy_optima.py) asks of a class what
docs/theory.rst says: whichever of the days are linked, what they leave of it hides each member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from ledger_weeks import write_chain
from linked_entries import TRIPS, Entry, Gap, Identity, Place, entry_of, places_of
from plain_links import Links, UnclearError
from reference import adjacency, distances
from scipy_optima import Oracle, draw_case
from veilroute.partition import other_limits

NUM_QUICK, NUM_PROBLEMS = 20, 300


@dataclass(frozen=True)
class Day:
    """An earlier playbook as an observer knows it."""

    playbook: vr.Playbook

    @cached_property
    def classes(self) -> list[frozenset[Any]]:
        return [frozenset(group.members) for group in self.playbook.classes if group.anonymized]

    def are_near(self, one: Any, other: Any, ell: float) -> bool:
        """Whether two shared a class on that day's map, closer than ell."""
        if not any({one, other} <= members for members in self.classes):
            return False
        domain = self.playbook.domain
        assert domain is not None
        graph, (a, b) = adjacency(domain), (domain.node(label) for label in (one, other))
        return min(distances(graph, a)[b], distances(graph, b)[a]) < ell * (1 - 1e-9)


@dataclass(frozen=True)
class LinkedOracle(Oracle):
    """The best partition for today."""

    days: tuple[Day, ...]
    trips: str
    identities: tuple[Identity, ...] = ()

    @cached_property
    def links(self) -> Links:
        """The days and, as one more of which nothing was seen, today's places: who is who among them."""
        lines: list[Entry] = []
        for at, day in enumerate(self.days):
            made = entry_of(day.playbook, [], f"2026-11-{at + 1:02}")
            lines.append(replace(made, close=self._close(day.playbook.problem.domain, made.places, lines)))
        problem = self.world.problem
        labels = [problem.candidates[i] for i in problem.counted]
        places = places_of(problem.domain, labels, problem.names)
        today = replace(lines[0], domain=problem.domain.sha256, places=places, classes=(), refused=(), kind="day")
        today = replace(today, close=self._close(problem.domain, places, lines))
        return Links([*lines, replace(today, privacy=self.privacy, prior=None, shares=())], self.trips, self.identities)

    def _close(self, domain: vr.Domain, places: Sequence[Place], lines: Sequence[Entry]) -> tuple[Gap, ...]:
        """Of each place how far it is from earlier ones on the same map, if that is less than ell."""
        graph, found = adjacency(domain), []
        for at, place in enumerate(places):
            ahead = distances(graph, domain.node(place.label))
            for number, line in enumerate(lines):
                for i, other in enumerate(line.places if line.domain == domain.sha256 else ()):
                    node = domain.node(other.label)
                    gap = min(ahead[node], distances(graph, node)[domain.node(place.label)])
                    if gap < self.privacy.ell * (1 - 1e-9):
                        found.append((at, number, i, float(f"{gap:.9g}")))
        return tuple(found)

    @cached_property
    def sights(self) -> dict[Any, list[frozenset[Any]]]:
        """For each of today's places whom it looked like on each day that says something of it."""
        label = {n: p.label for n, p in zip(self.links.numbers[-1], self.links.entries[-1].places, strict=True)}
        return {
            own: [
                frozenset(label[other] for other in story if other in label)
                for at in self.links.linked(number, None)
                for story in self.links.sights(at, number)
            ]
            for number, own in label.items()
        }

    @cached_property
    def were_near(self) -> set[frozenset[Any]]:
        """Which of today's places were near each other when they shared a class."""
        label = {n: p.label for n, p in zip(self.links.numbers[-1], self.links.entries[-1].places, strict=True)}
        found = set()
        for day, entry, numbers in zip(self.days, self.links.entries, self.links.numbers, strict=False):
            for a, b in combinations(range(len(numbers)), 2):
                if {numbers[a], numbers[b]} <= label.keys():
                    one, other = entry.places[a].label, entry.places[b].label
                    if day.are_near(one, other, self.privacy.ell):
                        found.add(frozenset((label[numbers[a]], label[numbers[b]])))
        return found

    @cached_property
    def labels(self) -> list[Any]:
        problem = self.world.problem
        return [problem.candidates[problem.counted[i]] for i in self.world.coverable]

    @cached_property
    def near(self) -> set[tuple[int, int]]:
        """Who stand near each other now, or did when they shared a class."""
        labels = self.labels
        pairs = list(combinations(range(len(labels)), 2))
        now = {(a, b) for a, b in pairs if Oracle.is_near(self, a, b)}
        return now | {(a, b) for a, b in pairs if frozenset((labels[a], labels[b])) in self.were_near}

    def is_near(self, one: int, other: int) -> bool:
        return one == other or (min(one, other), max(one, other)) in self.near

    def hides(self, group: Sequence[int]) -> bool:
        """Whether a set is a class as far as one trip is concerned."""
        if self.privacy.risk is not None:
            return len(group) > 0 and Oracle.is_class(self, group)
        if self.privacy.spread == "all-pairs" and not self.is_apart(group):
            return False
        return any(self.is_apart(chosen) for chosen in combinations(group, self.privacy.k))

    def is_class(self, group: Sequence[int]) -> bool:
        """Whether the group hides, for every member and whichever of the trips are linked, what is left of it."""
        if not self.hides(group):
            return False
        for member in group:
            own = self.labels[member]
            seen = self.sights[own]
            for linked in chain.from_iterable(combinations(seen, num) for num in range(1, len(seen) + 1)):
                left = frozenset.intersection(*linked)
                if not self.hides([other for other in group if self.labels[other] in left]):
                    return False
        return True


def close_something(rng: Random, domain: vr.Domain, needed: set[Any]) -> vr.Domain:
    """The same map without a cell that is not needed, or without an edge."""
    if domain.grid is not None:
        rows = [list(row) for row in domain.grid.rows()]
        for row, col in rng.sample([domain.grid.cell(node) for node in range(domain.num_nodes)], domain.num_nodes):
            if (row, col) not in needed:
                rows[row][col] = "@"
                break
        return vr.grid_domain(["".join(row) for row in rows])
    edges = list(zip(*(array.tolist() for array in domain.edge_arrays()), strict=True))
    edges.pop(rng.randrange(len(edges)))
    return vr.Domain.from_edges(domain.num_nodes, *zip(*edges, strict=True))


def throw_together(rng: Random, playbook: vr.Playbook, before: Sequence[vr.PlaybookClass]) -> vr.Playbook:
    """The playbook with classes like those of the day before, or any others; a ledger takes no notice of routes."""
    members = [member for group in playbook.classes for member in group.members]
    rng.shuffle(members)
    sizes = rng.choice([[2, 3, 3, 4], [4, 5, 8], [8]])
    parts = (
        [[member for member in members if member in group.members] for group in before] if rng.random() < 0.6 else []
    )
    rest = [member for member in members if not any(member in part for part in parts)]
    while rest:
        size = rng.choice(sizes)
        parts, rest = [*parts, rest[:size]], rest[size:]
    while len(parts) > 1 and rng.random() < 0.5:
        parts = [parts[0] + parts[1], *parts[2:]]
    return replace(
        playbook,
        classes=tuple(
            replace(playbook.classes[0], members=tuple(part), anonymized=rng.random() < 0.93, member_routes={})
            for part in parts
            if part
        ),
    )


def draw_days(rng: Random, today: vr.Problem, privacy: vr.Privacy) -> list[vr.Playbook]:
    """One to three days before today; a day that cannot be planned is left out."""
    nodes = [today.domain.label(node) for node in range(today.domain.num_nodes)]
    gone = [label for label in rng.sample(nodes, 3) if label not in today.candidates]
    pool = [*today.candidates, *gone]
    weights = dict(zip(pool, [*(today.prior or ()), *(rng.random() for _ in gone)], strict=False))
    joins = {label: rng.choice([0, 0, 0, 1, 2, 9]) for label in pool}
    books: list[vr.Playbook] = []
    for number in range(rng.choice([1, 2, 2, 3])):
        listed = [label for label in pool if joins[label] <= number and rng.random() < 0.93]
        trips = [vr.Trip(rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.choice([1, 1, 2]))]
        needed = {*pool, *(end for trip in trips for end in (trip.start, trip.goal))}
        domain = close_something(rng, today.domain, needed) if rng.random() < 0.4 else today.domain
        prior = [weights[label] for label in listed] if today.prior is not None else None
        try:
            problem = replace(today, domain=domain, trips=trips, candidates=listed, prior=prior)
            book = vr.solve(problem, privacy)
        except vr.InvalidInputError:
            continue
        if book.classes and rng.random() < 0.7:
            book = throw_together(rng, book, books[-1].classes if books else ())
        books.append(book)
    return books


def check(playbook: vr.Playbook, oracle: LinkedOracle) -> None:
    """Whether a playbook hides as many at the same cost, behind classes that are allowed."""
    best, claims = oracle.partition(), playbook.claims
    assert playbook.status == ("optimal" if best.hidden else "infeasible")
    assert claims.hidden_mass == pytest.approx(best.hidden, rel=1e-9, abs=1e-12)
    if oracle.privacy.risk is None:
        assert claims.num_anonymized == round(best.hidden * len(oracle.labels))
    bound = claims.mac_lower_bound if oracle.privacy.risk is None else claims.expected_mac_lower_bound
    mac = claims.mac if oracle.privacy.risk is None else claims.expected_mac
    assert mac == (None if best.expected is None else pytest.approx(best.expected, rel=1e-9, abs=1e-9))
    if best.hidden:
        assert bound == pytest.approx(best.expected, rel=1e-6, abs=1e-9)
    place = {label: at for at, label in enumerate(oracle.labels)}
    for group in playbook.hidden_classes:
        assert oracle.is_class([place[label] for label in group.members])
    report = vr.audit(playbook)
    assert report.holds, report.to_text()


def draw_linked(seed: int) -> LinkedOracle:
    """A problem after some days, of which most leave somebody who can be hidden."""
    rng = Random(seed)
    while True:
        world, privacy = draw_case(rng.randrange(1_000_000))
        if rng.random() < 0.6:
            privacy = vr.Privacy(k=rng.choice([2, 2, 3]), ell=privacy.ell, m=privacy.m, spread=privacy.spread)
            world.problem = replace(world.problem, prior=None)
        if privacy.risk is None and privacy.k > len(world.problem.counted):
            continue
        if world.problem.domain.grid is None:  # numbers alone say nothing where the map has changed
            names: dict[Any, str] = {node: f"place {node}" for node in range(world.problem.domain.num_nodes)}
            world.problem = replace(world.problem, names=names)
        for _ in range(4):
            books = draw_days(rng, world.problem, privacy)
            if not books:
                continue
            oracle = LinkedOracle(world, privacy, tuple(map(Day, books)), rng.choice(TRIPS))
            try:
                # Whoever is taken for a neighbour who left has that one's weight, or the user says that they are two.
                if world.problem.prior is not None or rng.random() < 0.5:
                    texts = {place.text for entry in oracle.links.entries for place in entry.places}
                    oracle = replace(oracle, identities=tuple(map(two_places, combinations(sorted(texts), 2))))
                is_possible = any(map(oracle.is_class, oracle.groups))
            except UnclearError:
                continue
            if is_possible or rng.random() < 0.05:
                return oracle


def two_places(texts: tuple[str, str]) -> Identity:
    return Identity("different", texts, "2026-11-01")


def compare(seed: int, path: Path) -> None:
    """Tables and column generation; the plan may then be entered, and keeps what was promised to those it hides."""
    oracle = draw_linked(seed)
    privacy, problem = oracle.privacy, oracle.world.problem
    write_chain(
        path, [each.to_dict() for each in oracle.identities], {"format": "veilroute-ledger/2", "trips": oracle.trips}
    )
    ledger = vr.read_ledger(path)
    for number, day in enumerate(oracle.days):
        ledger = ledger.add(day.playbook, day=f"2026-11-{number + 1:02}", anyway=True)
    problem = replace(problem, past=ledger.past(problem, privacy))
    playbook = vr.solve(problem, privacy)
    check(playbook, oracle)
    with other_limits(tried=0):
        check(vr.solve(problem, privacy), oracle)
    # Who has no trip today may lose what was promised, where trips are expected.
    report = ledger.add(playbook, day="2026-11-16", anyway=oracle.trips == "expected").check()
    hidden = {member for group in playbook.hidden_classes for member in group.members}
    # Under a risk, days that were planned freely may have broken a promise before, for some time.
    assert not [each for each in report.short if each.candidate in hidden and each.since == "2026-11-16"]


@pytest.mark.parametrize("seed", range(NUM_QUICK))
def test_plans_under_a_ledger_are_the_best(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path / "ledger.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(NUM_QUICK, NUM_PROBLEMS))
def test_more_plans_under_a_ledger_are_the_best(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path / "ledger.jsonl")
