"""One sweep of the graph against one run of scipy's Dijkstra on the same graph, in the same process.

    python benchmarks/sweeps.py --shared ../shared

On Berlin_0_256 and Berlin_0_1024, or, without --shared, on generated buildings of their size: a unit-cost sweep
(4-way grid), and float-cost sweeps on the same streets with costs drawn from 1 to 2 and on the 8-way grid.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import veilroute as vr
from timing import best_times, dijkstra_run, map_or_building, parse_shared
from veilroute.covering.walks import Sweeper

REPEATS = 7
LIMITS = {"unit": 0.5, "float": 1.5}


def with_float_costs(domain: vr.Domain) -> vr.Domain:
    tails, heads, costs = domain.edge_arrays()
    drawn = np.random.default_rng(0).uniform(1, 2, costs.size)
    return vr.Domain.from_edges(domain.num_nodes, tails, heads, drawn)


def with_diagonals(domain: vr.Domain) -> vr.Domain:
    assert domain.grid is not None
    rows = ["".join("." if cell else "@" for cell in row) for row in domain.grid.free.tolist()]
    return vr.grid_domain(rows, movement=8)


def main() -> int:
    shared = parse_shared(__doc__)
    is_within = True
    print(f"{'map':22} {'costs':16} {'nodes':>8} {'edges':>9} {'sweep ms':>9} {'Dijkstra ms':>12} {'ratio':>6} limit")
    for path, side in (("street/Berlin_0_256.map", 256), ("street/Berlin_0_1024.map", 1024)):
        name, grid = map_or_building(shared, path, side)
        for costs, domain in (
            ("unit", grid),
            ("float, drawn", with_float_costs(grid)),
            ("float, 8-way", with_diagonals(grid)),
        ):
            source = domain.num_nodes // 2
            sweeper = Sweeper(domain, backward=False, num_seeds=1)
            sweeper.run(source)
            sweep_s, scipy_s = best_times(partial(sweeper.run, source), dijkstra_run(domain, source), repeats=REPEATS)
            ratio, limit = sweep_s / scipy_s, LIMITS[costs.split(",")[0]]
            is_within &= ratio <= limit
            print(
                f"{name:22} {costs:16} {domain.num_nodes:8} {domain.num_edges:9} {1e3 * sweep_s:9.2f} "
                f"{1e3 * scipy_s:12.2f} {ratio:6.2f} {limit:5.1f}"
            )
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
