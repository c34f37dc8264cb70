"""Twenty linked days, each planned by itself, beside the same days planned under a ledger.

    python benchmarks/linked.py --shared ../shared
    python benchmarks/linked.py --shared ../shared --maps dao/den101d.map --runs 12

An observer who links the trips of one secret intersects the classes of all days; a day without a trip says nothing
(benchmarks/linked_weeks.py has both assumptions). *Identified*: only one candidate is left. *Below k*: fewer than k are
left. Both in percent after 2, 5 and 20 days, averages over the runs; without a ledger of all who were hidden so far,
under a ledger of all whom the day's playbook hides. *Lost*: in percent of all who were hidden so far, those who are
listed on the last day and get no route any more. *Hidden*: how many of the day's candidates, on average over the days.
MAC: the mean over the days.

Each run draws a trip and 16 candidates on the map. The days:

``other trips``      every day from another start to another goal
``swapped``          every day one candidate leaves and another one joins
``swapped, kept``    the same days; under a ledger those who have left stay on the list, and are passed as before
``k raised``         k on the first day, k + 1 from the second day on. The ledger says beforehand whom k + 1 cannot hide
                     any more (the line below the table), so under a ledger the days go on with k
``k for newcomers``  8 more candidates join on the second day and want k + 1: without a ledger all are planned again
                     with k + 1, under a ledger the newcomers get a playbook of their own
``roads closed``     every day another 2 % of the map's free cells are closed

Exits with 1 when anybody hidden under a ledger is identified or below k. The table of docs/days.rst is what the first
command prints.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import veilroute as vr
from paper_instances import read_map
from veilroute.domain.connectivity import largest_component

MAPS = ("dao/den101d.map", "dao/lak102d.map", "street/Berlin_0_256.map")
DAYS = (2, 5, 20)
NUM_CANDIDATES, NUM_NEWCOMERS = 16, 8
CLOSED = 0.02

Cells = list[Any]


@dataclass(frozen=True)
class Day:
    """What is to be planned on a day."""

    problem: vr.Problem
    k: int
    joined: tuple[Any, ...] = ()  #: who is new, where they want more than the others
    kept: tuple[Any, ...] = ()  #: who has left, where the plan under the ledger lists them all the same


@dataclass
class Watcher:
    """An observer who links all trips, by sets alone: nothing of veilroute's ledger is used."""

    left: dict[Any, frozenset[Any]] = field(default_factory=dict)
    hidden: set[Any] = field(default_factory=set)  #: by the last playbook that lists them
    refused: set[Any] = field(default_factory=set)  #: by the last playbook

    def watch(self, book: vr.Playbook) -> None:
        ends = {end for trip in book.trips for end in (trip.start, trip.goal)}
        classes = [frozenset(group.members) for group in book.hidden_classes]
        refused = frozenset(book.candidates) - ends - frozenset().union(*classes)
        for members in classes:
            for each in members:
                self.left[each] = self.left.get(each, members) & members
        self.refused = set(refused)
        self.hidden = (self.hidden - refused).union(*classes)

    def share(self, fewest: int, people: Sequence[Any] | None = None) -> float:
        """Of whom fewer than this are left, in percent."""
        some = list(self.left) if people is None else people
        return 100 * sum(len(self.left[each]) < fewest for each in some) / max(1, len(some))


def draw_day(domain: vr.Domain, rng: random.Random) -> vr.Problem:
    """A trip and candidates."""
    start, goal = rng.choice(cells_of(domain)), rng.choice(cells_of(domain))
    places = vr.draw_candidates(domain, start, goal, NUM_CANDIDATES, seed=rng.randrange(1000))
    return vr.Problem(domain, [vr.Trip(start, goal)], places)


@cache
def cells_of(domain: vr.Domain) -> Cells:
    """Those of the largest part that hangs together."""
    tails, heads, _ = domain.edge_arrays()
    return list(domain.labels_of(np.flatnonzero(largest_component(domain.num_nodes, tails, heads))))


def other_trips(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    yield Day(first, k)
    cells = [cell for cell in cells_of(first.domain) if cell not in set(first.candidates)]
    while True:
        yield Day(replace(first, trips=[vr.Trip(rng.choice(cells), rng.choice(cells))]), k)


def swapped(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    places, cells = list(first.candidates), cells_of(first.domain)
    gone = {first.trips[0].start, first.trips[0].goal, *places}
    while True:
        yield Day(replace(first, candidates=places), k)
        newcomer = rng.choice([cell for cell in cells if cell not in gone])
        gone.add(newcomer)
        places = [*places]
        places[rng.randrange(NUM_CANDIDATES)] = newcomer


def swapped_kept(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    known: dict[Any, None] = {}
    for day in swapped(first, k, rng):
        known |= dict.fromkeys(day.problem.candidates)
        gone = known.keys() - set(day.problem.candidates)
        yield replace(day, kept=tuple(each for each in known if each in gone))


def k_raised(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    yield Day(first, k)
    later = Day(first, k + 1)
    while True:
        yield later


def k_for_newcomers(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    yield Day(first, k)
    taken = {first.trips[0].start, first.trips[0].goal, *first.candidates}
    more = rng.sample([cell for cell in cells_of(first.domain) if cell not in taken], NUM_NEWCOMERS)
    later = Day(replace(first, candidates=[*first.candidates, *more]), k + 1, tuple(more))
    while True:
        yield later


def roads_closed(first: vr.Problem, k: int, rng: random.Random) -> Iterator[Day]:
    yield Day(first, k)
    grid = first.domain.grid
    assert grid is not None
    needed = {first.trips[0].start, first.trips[0].goal, *first.candidates}
    cells = [cell for cell in cells_of(first.domain) if cell not in needed]
    while True:
        rows = [list(row) for row in grid.rows()]
        for row, col in rng.sample(cells, round(CLOSED * len(cells))):
            rows[row][col] = "@"
        yield Day(replace(first, domain=vr.grid_domain(["".join(row) for row in rows])), k)


SCENARIOS: dict[str, Callable[[vr.Problem, int, random.Random], Iterator[Day]]] = {
    "other trips": other_trips,
    "swapped": swapped,
    "swapped, kept": swapped_kept,
    "k raised": k_raised,
    "k for newcomers": k_for_newcomers,
    "roads closed": roads_closed,
}


def plan_apart(days: Sequence[Day]) -> Iterator[list[vr.Playbook]]:
    """Each day's playbook, planned by itself; the same day again has the same one."""
    books: list[vr.Playbook] = []
    for before, day in pairwise([None, *days]):
        if day is not None and day is not before:
            books = [vr.solve(day.problem, vr.Privacy(k=day.k))]
        yield books


def plan_linked(days: Sequence[Day], path: Path, wishes: list[vr.Playbook]) -> Iterator[list[vr.Playbook]]:
    """Each day's playbooks under a ledger, entered before they are used; ``wishes`` gets plans that are not."""
    ledger = vr.new_ledger(path)
    books: list[vr.Playbook] = []
    for number, day in enumerate(days):
        if number == 0 or day is not days[number - 1]:
            problem = replace(day.problem, candidates=day.joined or [*day.problem.candidates, *day.kept])
            privacy = vr.Privacy(k=day.k)
            book = vr.solve(replace(problem, past=ledger.past(problem, privacy)), privacy)
            if day.k > days[0].k and not day.joined:
                wishes.append(book)
            else:
                ledger = ledger.add(book, day=f"2026-11-{number + 1:02}")
                books = [*books, book] if day.joined else [book]
        yield books
    if not ledger.check().safe:
        raise SystemExit("the ledger says that it is not safe")


@dataclass
class Figures:
    """What is printed of a scenario, with or without a ledger: one list for each run."""

    identified: list[list[float]] = field(default_factory=list)  #: after 2, 5 and 20 days
    below: list[list[float]] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)
    macs: list[float] = field(default_factory=list)

    def add(self, k: int, days: Iterable[list[vr.Playbook]], *, is_linked: bool) -> None:
        """Watch the days of one run."""
        watcher = Watcher()
        found: list[tuple[float, float]] = []
        for number, books in enumerate(days, 1):
            for book in books:
                watcher.watch(book)
            hidden = [each for book in books for group in book.hidden_classes for each in group.members]
            self.hidden.append(100 * len(hidden) / sum(book.claims.num_candidates for book in books))
            spent = [(book.mac or 0.0) * book.claims.num_anonymized for book in books]
            self.macs += [sum(spent) / len(hidden)] if hidden else []
            if number in DAYS:
                people = hidden if is_linked else list(watcher.left)
                found.append((watcher.share(2, people), watcher.share(k, people)))
        self.identified.append([share for share, _ in found])
        self.below.append([share for _, share in found])
        self.lost.append(100 * len(watcher.refused & watcher.left.keys()) / max(1, len(watcher.left)))

    @property
    def is_safe(self) -> bool:
        """Whether nobody was found at any time."""
        return not any(share for run in self.identified + self.below for share in run)


def by_day(runs: Sequence[Sequence[float]]) -> str:
    """Averages over runs: ``30/63/89``."""
    return "/".join(f"{statistics.fmean(shares):.0f}" for shares in zip(*runs, strict=True))


def rows_of(domain: vr.Domain, name: str, k: int, num_runs: int) -> Iterator[tuple[list[str], bool, str]]:
    """Per scenario the cells of a line, whether the ledger kept everybody, and what else is to be said."""
    for words, scenario in SCENARIOS.items():
        apart, linked, wishes = Figures(), Figures(), list[vr.Playbook]()
        for seed in range(num_runs):
            rng = random.Random(seed)
            days = list(islice(scenario(draw_day(domain, rng), k, rng), max(DAYS)))
            apart.add(k, plan_apart(days), is_linked=False)
            with tempfile.TemporaryDirectory() as folder:
                linked.add(k, plan_linked(days, Path(folder) / "ledger.jsonl", wishes), is_linked=True)
        cells = [name, str(k), words]
        for figures in (apart, linked):
            mean_mac, hidden = statistics.fmean(figures.macs), f"{statistics.fmean(figures.hidden):.0f}"
            cells += [by_day(figures.identified), by_day(figures.below), hidden, f"{mean_mac:.3f}"]
        cells.append(f"{statistics.fmean(linked.lost):.0f}")
        note = ""
        if wishes:
            could = statistics.fmean(book.claims.num_anonymized for book in wishes)
            note = f"{name}, k={k}: with k={k + 1} from the second day on, the ledger could hide {could:.1f} of"
            note += f" {NUM_CANDIDATES} on average"
        yield cells, linked.is_safe, note


HEADINGS = [
    "map", "k", "days", "identified", "below k", "hidden", "MAC", "identified, ledger", "below k, ledger",
    "hidden, ledger", "MAC, ledger", "lost",
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="folder with maps/")
    parser.add_argument("--maps", nargs="+", default=MAPS, help="files below maps/")
    parser.add_argument("--k", nargs="+", type=int, default=(2, 3))
    parser.add_argument("--runs", type=int, default=6, help="how often each scenario is drawn")
    options = parser.parse_args()
    rows, notes, is_safe = [HEADINGS], [], True
    for file in options.maps:
        domain = read_map(options.shared / "maps" / file)
        for k in options.k:
            for cells, is_kept, note in rows_of(domain, Path(file).stem, k, options.runs):
                print("  ".join(cells), file=sys.stderr, flush=True)
                rows.append(cells)
                notes += [note] if note else []
                is_safe &= is_kept
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    print("\n".join([rule, lines[0], rule, *lines[1:], rule, *notes]))
    print(f"identified and below k under a ledger: {'0 everywhere: kept' if is_safe else 'NOT KEPT'}")
    return 0 if is_safe else 1


if __name__ == "__main__":
    sys.exit(main())
