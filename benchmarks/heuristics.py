"""States that A* expands with each heuristic, on random sets of targets.

    python benchmarks/heuristics.py --shared ../shared

For each of the paper's maps (or, without --shared, generated buildings) and each radius: 20 random sets of 3 to 6
targets, each between the ends of one of the map's instances. Shown are medians of the states expanded, and the
median over the sets of each heuristic's share of what `tunnel` expands. The limits: `tunnel` at most `blind` on every
set, and `tour`, the default, at most half of `tunnel` in the median.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import veilroute as vr
from paper_instances import read_map, read_rows
from timing import parse_shared
from veilroute.covering.astar import HEURISTICS

NUM_SETS = 20
RADII = (0, 2, 10)
LIMIT = 0.5

Trips = list[tuple[Any, Any]]


def maps(shared: Path | None) -> Iterator[tuple[str, vr.Domain, Trips]]:
    """Name, domain and pairs of start and goal."""
    if shared is None:
        for seed in range(3):
            domain = vr.generate_rooms(60, 80, seed=seed)
            yield f"building {seed}", domain, [(domain.label(0), domain.label(domain.num_nodes - 1))]
        return
    rows = read_rows(shared)
    for path in sorted({row["map"] for row in rows}):
        ends = sorted({(tuple(row["start"]), tuple(row["goal"])) for row in rows if row["map"] == path})
        yield Path(path).stem, read_map(shared / "maps" / path), ends


def expansions(domain: vr.Domain, trips: Trips, radius: int, seed: int) -> dict[str, int]:
    """States expanded with each heuristic on one random set."""
    rng = Random(f"{radius} {seed}")
    start, goal = rng.choice(trips)
    targets = vr.draw_candidates(domain, start, goal, rng.randint(3, 6), seed=rng.randrange(2**31))
    problem = vr.Problem(domain, [vr.Trip(start, goal)], targets, vr.WithinDistance(radius))
    covers = {name: vr.cover(problem, targets, engine="astar", heuristic=name) for name in HEURISTICS}
    costs = {cover.cost for cover in covers.values()} | {vr.cover(problem, targets, engine="fields").cost}
    assert len(costs) == 1, f"the engines disagree: {costs}"
    return {name: cover.num_expanded for name, cover in covers.items()}


def main() -> int:
    shared = parse_shared(__doc__)
    names = list(HEURISTICS)
    print(f"{'':19} median states expanded{'':{11 * len(names) - 22}} median share of tunnel")
    header = "".join(f"{name:>11}" for name in names)
    print(f"{'map':12} {'radius':>6}{header}{header}")
    is_within = True
    for name, domain, trips in maps(shared):
        for radius in RADII:
            rows = [expansions(domain, trips, radius, seed) for seed in range(NUM_SETS)]
            medians = {each: statistics.median(row[each] for row in rows) for each in names}
            shares = {each: statistics.median(row[each] / max(1, row["tunnel"]) for row in rows) for each in names}
            is_within &= all(row["tunnel"] <= row["blind"] for row in rows) and shares["tour"] <= LIMIT
            counts = "".join(f"{medians[each]:11.0f}" for each in names)
            print(f"{name:12} {radius:6}{counts}{''.join(f'{shares[each]:11.3f}' for each in names)}", flush=True)
    print(f"tunnel <= blind on every set and tour <= {LIMIT} of tunnel in every median: {is_within}")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
