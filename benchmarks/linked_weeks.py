"""Twenty linked weeks with newcomers and leavers, planned under both assumptions about a missing trip.

    python benchmarks/linked_weeks.py
    python benchmarks/linked_weeks.py --runs 3 --weeks 52

Each week somebody may leave, one to three places join, and the trip is another one. The week is planned under a ledger
and entered. A place that wants to leave stays on the list (and is passed as before) if the ledger refuses the plan
without it, or if somebody else would no longer be hidden. Newcomers next door to somebody who has left are said to be
different, because here they are.

The observers use nothing of veilroute's ledger, groups or claims. They ask for each place what is driven for it in each
week (a route, or nothing), and compare:

*occasional*   knows on which days a place had a trip, and compares these days only. For a place that had trips on some
               of its days only, it compares these (all subsets of up to three days, and a hundred drawn ones).
*expected*     expects a trip of every place every week, so a week without one counts as well.

*Identified*: only one place had the same trips. *Below*: what is left is less than was promised: k places that are
pairwise at least ell apart, or no area (pairwise closer than ell) with more than the risk. Exits with 1 if the observer
of an assumption finds anything of the kind in weeks that were planned under this assumption.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import veilroute as vr

Place = Any
Drive = tuple[Any, ...] | None  #: what is driven for a place in a week

#: What is promised, how many places are listed in the first week, and at most in any.
PROMISES = {
    "k=3, ell=2": (vr.Privacy(k=3, ell=2), 12, 20),
    "risk 0.5, ell=4": (vr.Privacy(risk=0.5, ell=4), 10, 13),
}
ASSUMPTIONS = ("occasional", "expected")
HEADINGS = (
    "planned under", "promise", "weeks", "places", "hidden", "kept", "MAC", "observer", "identified", "below", "fewest",
)  # fmt: skip


@dataclass(frozen=True)
class Weeks:
    """What was driven, and what the plans cost."""

    domain: vr.Domain
    seen: list[dict[Place, Drive]]  #: per week and place that ever was listed
    weights: Mapping[Place, float]
    mac: float
    num_kept: int  #: how often somebody wanted to leave and had to stay on the list

    @property
    def people(self) -> list[Place]:
        return list(self.seen[-1])


def drives(book: vr.Playbook) -> dict[Place, Drive]:
    """What is driven for each place of a playbook: a route, or nothing."""
    found: dict[Place, Drive] = {}
    for place in book.candidates:
        try:
            found[place] = tuple(book.route_for(place).nodes)
        except vr.NotAnonymizedError:
            found[place] = None
    return found


def drive_weeks(promise: str, trips: str, num_weeks: int, seed: int, path: Path) -> Weeks:
    """Plan week after week under a ledger, and keep nothing but what can be seen."""
    privacy, num_first, most = PROMISES[promise]
    rng = random.Random(seed)
    domain = vr.generate_rooms(20, 24, seed=seed)
    nodes = rng.sample(range(domain.num_nodes), 6 + num_first + 3 * num_weeks)
    labels: list[Place] = [domain.label(node) for node in nodes]
    ends, pool = labels[:6], labels[6:]
    weights = {place: rng.choice([1.0, 1.0, 2.0, 3.0]) for place in pool}
    listed, pool = pool[:num_first], pool[num_first:]
    gone: list[Place] = []
    ledger = vr.new_ledger(path, trips=trips)
    driven: list[dict[Place, Drive]] = []
    macs: list[float] = []
    num_kept = 0
    for week in range(num_weeks):
        start, goal = rng.sample(ends, 2)
        trip = vr.Trip(start, goal)
        leaving = rng.sample(listed, 1) if week and rng.random() < 0.6 else []
        joining = pool[: rng.randint(1, 3)] if week and len(listed) < most else []
        pool = pool[len(joining) :]
        listed = [*listed, *joining]
        for new in joining:
            for other in (*gone, *leaving):
                if math.dist(new, other) < privacy.ell:
                    ledger = ledger.different("{},{}".format(*new), "{},{}".format(*other), day="2026-01-01")

        def plan(places: Sequence[Place], trip: vr.Trip = trip, ledger: vr.Ledger = ledger) -> vr.Playbook:
            prior = None if privacy.risk is None else [weights[place] for place in places]
            problem = vr.Problem(domain, [trip], places, prior=prior)
            return vr.solve(replace(problem, past=ledger.past(problem, privacy)), privacy)

        day = f"{2026 + week // 28}-{1 + week // 28 % 12:02}-{1 + week % 28:02}"
        without = [place for place in listed if place not in leaving]
        book = plan(without)
        before = {place for place, drive in (driven[-1] if driven else {}).items() if drive is not None}
        is_hurt = any(drive is None and place in before for place, drive in drives(book).items())
        try:
            if leaving and is_hurt:
                raise vr.UnsafeLedgerError(day, ())
            ledger = ledger.add(book, day=day)
            listed, gone = without, [*gone, *leaving]
        except vr.UnsafeLedgerError:
            num_kept += len(leaving)
            book = plan(listed)
            ledger = ledger.add(book, day=day)
        driven.append(drives(book))
        macs.append(book.mac or 0.0)
    everybody = list(dict.fromkeys(place for week in driven for place in week))
    seen = [{place: week.get(place) for place in everybody} for week in driven]
    return Weeks(domain, seen, weights, sum(macs) / len(macs), num_kept)


def days_to_compare(seen: Sequence[Mapping[Place, Drive]], place: Place, observer: str) -> Iterator[list[int]]:
    """Which weeks an observer compares: those in which it knows whether the place had a trip."""
    if observer == "expected":
        yield list(range(len(seen)))
        return
    days = [week for week, drives in enumerate(seen) if drives[place] is not None]
    yield days
    for num in (1, 2, 3):
        yield from (list(some) for some in combinations(days, num))
    rng = random.Random(len(days))
    yield from ([day for day in days if rng.random() < 0.5] or days for _ in range(100))


def left(seen: Sequence[Mapping[Place, Drive]], place: Place, days: Iterable[int]) -> frozenset[Place]:
    """Who had the same trips on some days."""
    days = list(days)
    return frozenset(each for each in seen[0] if all(seen[day][each] == seen[day][place] for day in days))


def distances(domain: vr.Domain, places: Sequence[Place]) -> dict[Place, dict[Place, float]]:
    """How far it is to walk between places, by plain Dijkstra."""
    node = {place: domain.node(place) for place in places}
    found = {}
    for place in places:
        far, waiting = {}, [(0.0, node[place])]
        while waiting:
            cost, here = heapq.heappop(waiting)
            if here in far:
                continue
            far[here] = cost
            for at in range(int(domain.indptr[here]), int(domain.indptr[here + 1])):
                heapq.heappush(waiting, (cost + float(domain.costs[at]), int(domain.indices[at])))
        found[place] = {other: far.get(node[other], float("inf")) for other in places}
    return found


class Judge:
    """Whether what is left keeps a promise, by trying all sets of places."""

    def __init__(self, weeks: Weeks, privacy: vr.Privacy) -> None:
        far = distances(weeks.domain, weeks.people)
        self.privacy, self.weights = privacy, weeks.weights
        self.is_close = {
            (one, other): min(far[one][other], far[other][one]) < privacy.ell for one in far for other in far
        }
        self._known: dict[frozenset[Place], bool] = {}

    def keeps(self, people: frozenset[Place]) -> bool:
        if people not in self._known:
            ordered = sorted(people)
            if self.privacy.risk is None:
                self._known[people] = self._has_apart([], ordered)
            else:
                total = sum(self.weights[each] for each in ordered)
                self._known[people] = self._heaviest([], ordered) <= self.privacy.risk * total * (1 + 1e-9)
        return self._known[people]

    def _has_apart(self, chosen: list[Place], others: list[Place]) -> bool:
        if len(chosen) == self.privacy.k:
            return True
        fitting = [each for each in others if not any(self.is_close[each, one] for one in chosen)]
        return any(self._has_apart([*chosen, each], fitting[at + 1 :]) for at, each in enumerate(fitting))

    def _heaviest(self, chosen: list[Place], others: list[Place]) -> float:
        fitting = [each for each in others if all(self.is_close[each, one] for one in chosen)]
        own = sum(self.weights[each] for each in chosen)
        return max([own, *(self._heaviest([*chosen, each], fitting[at + 1 :]) for at, each in enumerate(fitting))])


@dataclass(frozen=True)
class Finding:
    """What an observer found out."""

    identified: int  #: places of whom nobody else had the same trips
    below: int  #: places of whom less is left than was promised
    fewest: int


def observe(weeks: Weeks, observer: str, judge: Judge) -> Finding:
    """All places that ever had a trip, as one observer sees them."""
    hidden = [place for place in weeks.people if any(week[place] is not None for week in weeks.seen)]
    identified, below, fewest = 0, 0, len(weeks.people)
    for place in hidden:
        groups = {left(weeks.seen, place, days) for days in days_to_compare(weeks.seen, place, observer)}
        identified += any(len(group) == 1 for group in groups)
        below += not all(judge.keeps(group) for group in groups)
        fewest = min(fewest, *map(len, groups))
    return Finding(identified, below, fewest)


def rows_of(num_weeks: int, seed: int) -> Iterator[tuple[list[str], bool]]:
    """The rows of one run, each with whether it is as it should be."""
    for name, (privacy, *_) in PROMISES.items():
        for trips in ASSUMPTIONS:
            with tempfile.TemporaryDirectory() as folder:
                weeks = drive_weeks(name, trips, num_weeks, seed, Path(folder) / "ledger.jsonl")
            judge = Judge(weeks, privacy)
            hidden = sum(drive is not None for drive in weeks.seen[-1].values())
            for observer in (trips, *(each for each in ASSUMPTIONS if each != trips)):
                found = observe(weeks, observer, judge)
                own = observer == trips
                cells: list[Any] = [
                    trips, name, num_weeks, len(weeks.people), hidden, weeks.num_kept, f"{weeks.mac:.3f}",
                    observer if own else f"({observer})", found.identified, found.below, found.fewest,
                ]  # fmt: skip
                yield [*map(str, cells)], not own or found.identified == found.below == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=int, default=20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    widths = [max(len(heading), {1: 15, 7: 12}.get(at, 5)) for at, heading in enumerate(HEADINGS)]
    print("  ".join(f"{heading:{width}}" for heading, width in zip(HEADINGS, widths, strict=True)))
    is_good = True
    for run in range(given.runs):
        for cells, is_kept in rows_of(given.weeks, given.seed + run):
            is_good &= is_kept
            print("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)), flush=True)
    print(
        "Each assumption's own observer found nothing."
        if is_good
        else "An assumption's own observer found more than was promised."
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
