"""Covering costs at scale and covering walks of large sets, against scipy's Dijkstra on the same graph.

    python benchmarks/covering.py --shared ../shared

First Berlin_0_1024 with 50 candidates at radius 0 and 10: all base costs, pair costs and triple costs, as a multiple
of one `scipy.sparse.csgraph.dijkstra` run, and the peak memory of the process. Then lak510d at radius 10: the walk
that covers 9 targets (a class for k = 5), by fields and by A*. Without --shared on generated buildings of that size.
Both are warm: compilation happens before the clock starts.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import combinations
from math import comb
from pathlib import Path

import veilroute as vr
from timing import best_times, dijkstra_run, map_or_building, parse_shared, peak_memory_mb
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.task import prepare_task

NUM_CANDIDATES, NUM_TARGETS, NUM_SETS = 50, 9, 5
RATIO_LIMIT, MEMORY_LIMIT_MB = 150.0, 3000.0
SECONDS_LIMITS = {"fields": 1.0, "astar": 10.0}


def small_set_costs(problem: vr.Problem) -> dict[str, float]:
    """Seconds for base, pair and triple costs of all candidates."""
    seconds = {}
    began = time.perf_counter()
    task = prepare_task(problem)
    seconds["base"] = time.perf_counter() - began
    engine = FieldsEngine(task)
    for name, size in (("pairs", 2), ("triples", 3)):
        began = time.perf_counter()
        costs = engine.costs(list(combinations(range(len(task.members)), size)))
        seconds[name] = time.perf_counter() - began
        assert costs.size == comb(NUM_CANDIDATES, size)
    return seconds


def warm_up() -> None:
    domain = vr.generate_rooms(seed=1)
    ends = domain.label(0), domain.label(domain.num_nodes - 1)
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 4, seed=0), vr.WithinDistance(2))
    for engine in SECONDS_LIMITS:
        vr.cover(problem, problem.candidates, engine=engine)
    FieldsEngine(prepare_task(problem)).costs([(0, 1, 2)])


def measure_small_sets(shared: Path | None) -> bool:
    name, domain = map_or_building(shared, "street/Berlin_0_1024.map", 1024)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, NUM_CANDIDATES, seed=0)
    is_within = True
    print(f"{'map':22} {'nodes':>7} {'radius':>6}  {'base':>5} {'pairs':>6} {'triples':>7} {'all':>6}  Dijkstra runs")
    for radius in (0, 10):
        problem = vr.Problem(domain, [vr.Trip(start, goal)], candidates, vr.WithinDistance(radius))
        seconds = small_set_costs(problem)
        [one] = best_times(dijkstra_run(domain, problem.start_nodes[0]), repeats=3)
        ratios = [seconds[part] / one for part in ("base", "pairs", "triples")]
        is_within &= sum(ratios) <= RATIO_LIMIT and peak_memory_mb() <= MEMORY_LIMIT_MB
        base, pairs, triples = ratios
        print(
            f"{name:22} {domain.num_nodes:7} {radius:6}  {base:5.1f} {pairs:6.1f} {triples:7.1f} {sum(ratios):6.1f}  "
            f"(limit {RATIO_LIMIT:g}), peak {peak_memory_mb():.0f} MB (limit {MEMORY_LIMIT_MB:g})"
        )
    return is_within


def measure_one_set(shared: Path | None) -> bool:
    name, domain = map_or_building(shared, "dao/lak510d.map", 110)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    is_within = True
    print(
        f"\n{'map':22} {'seed':>4} {'engine':10} {'cost':>6} {'status':8} {'sweeps':>6} {'expanded':>8} {'s':>7} limit"
    )
    for seed in range(NUM_SETS):
        targets = vr.draw_candidates(domain, start, goal, NUM_TARGETS, seed=seed)
        problem = vr.Problem(domain, [vr.Trip(start, goal)], targets, vr.WithinDistance(10))
        costs = set()
        for engine, limit in SECONDS_LIMITS.items():
            cover = vr.cover(problem, targets, engine=engine)
            [seconds] = best_times(partial(vr.cover, problem, targets, engine=engine), repeats=3)
            costs.add(cover.cost)
            is_within &= seconds <= limit and cover.status == "optimal"
            print(
                f"{name:22} {seed:4} {engine:7} {cover.cost:6} {cover.status:8} {cover.num_sweeps:6} "
                f"{cover.num_expanded:8} {seconds:7.3f} {limit:5g}"
            )
        is_within &= len(costs) == 1
    return is_within


def main() -> int:
    shared = parse_shared(__doc__)
    warm_up()
    is_within = measure_small_sets(shared)
    is_within &= measure_one_set(shared)
    print(f"within all limits, equal costs: {is_within}")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
