"""Solve time of `veilroute plan` against scipy's Dijkstra on the same graph, and the peak memory of the command.

    python benchmarks/plan_speed.py --shared ../shared

On the 16-candidate instances of lak510d (k = 2) or, without --shared, on a generated building of about the same
size: the time of `solve` (warm: imports and compilation excluded) as a multiple of 17 runs of
`scipy.sparse.csgraph.dijkstra`, both the best of several in one process; then the peak memory of a
`veilroute plan` process on the same instance.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from scipy.sparse.csgraph import dijkstra

import veilroute as vr
from paper_instances import build_problem, read_rows
from timing import best_times, parse_shared, scipy_matrix
from veilroute.formats import Instance

NUM_CANDIDATES = 16
REPEATS = 7
LIMIT, LIMIT_MB = 5.0, 400.0


def instances(shared: Path | None) -> Iterator[tuple[str, vr.Problem]]:
    if shared is not None:
        for row in read_rows(shared):
            if row["map"] == "dao/lak510d.map" and row["num_candidates"] == NUM_CANDIDATES:
                yield f"lak510d seed {row['seed']}", build_problem(shared, row, 0)
        return
    domain = vr.generate_rooms(110, 120, seed=1)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    for seed in range(5):
        candidates = vr.draw_candidates(domain, start, goal, NUM_CANDIDATES, seed=seed)
        yield f"generated seed {seed}", vr.Problem(domain, [vr.Trip(start, goal)], candidates)


def run_dijkstras(problem: vr.Problem) -> None:
    matrix = scipy_matrix(problem.domain)
    for node in (problem.start_nodes[0], *problem.candidate_nodes):
        dijkstra(matrix, indices=node)


def command_peak_mb(problem: vr.Problem) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.json"
        vr.write_instance(Instance(problem), path)
        command = [sys.executable, "-m", "veilroute", "plan", str(path), "-k", "2", "--json"]
        done = subprocess.run(command, check=True, capture_output=True)
    return float(json.loads(done.stdout)["peak_memory_mb"])


def main() -> int:
    shared = parse_shared(__doc__)
    ratios, peaks = [], []
    print(f"{'instance':22} {'nodes':>7} {'solve ms':>9} {'17 Dijkstras ms':>16} {'ratio':>6} {'peak MB':>8}")
    for name, problem in instances(shared):
        privacy = vr.Privacy(k=2)
        vr.solve(problem, privacy)
        solve_s, scipy_s = best_times(
            partial(vr.solve, problem, privacy), partial(run_dijkstras, problem), repeats=REPEATS
        )
        ratios.append(solve_s / scipy_s)
        peaks.append(command_peak_mb(problem))
        print(
            f"{name:22} {problem.domain.num_nodes:7} {1e3 * solve_s:9.1f} {1e3 * scipy_s:16.1f} "
            f"{ratios[-1]:6.2f} {peaks[-1]:8.0f}"
        )
    print(f"worst ratio {max(ratios):.2f} (median {statistics.median(ratios):.2f}, limit {LIMIT:g}), ", end="")
    print(f"worst peak {max(peaks):.0f} MB (limit {LIMIT_MB:g})")
    return 0 if max(ratios) <= LIMIT and max(peaks) <= LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
