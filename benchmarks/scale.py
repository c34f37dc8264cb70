"""Whole countries: what a plan takes on generated networks of millions of junctions.

    python benchmarks/scale.py
    python benchmarks/scale.py --junctions 500000 --customers 100 -k 2 --workers 1
    python benchmarks/scale.py --constants

Without options: 2 million junctions, 300 customers, k = 3, radius 0. The network is a bent lattice of streets, some of
them missing and some one-way. It is made by arrays and handed over in a file, so that the process that plans is
measured by itself. Prints the seconds of the sweeps and of the whole plan, the most memory held, and both the seconds
of the clock and those of the processors as multiples of as many runs of scipy's Dijkstra as there are customers (by the
median of some runs in the same process). Where other work is on the machine, the processors' seconds tell more.

`--constants` measures what docs/scale.rst reckons with, in the processors' seconds, and prints it as the page has it.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

import veilroute as vr
from timing import scipy_matrix
from veilroute.base.run import peak_memory_mb
from veilroute.covering.states import search_graph
from veilroute.covering.walks import Sweeper
from veilroute.domain.turns import Turns, with_rules

ELL = 500.0
_NUM_RUNS = 7
_SPACING_M = 100.0
_SWEPT = (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
_FEW, _MANY, _MORE = 20, 1000, 2000


def generate_country(num_junctions: int, *, seed: int = 1) -> vr.Domain:
    """About so many junctions and 2.8 directed edges for each, costs in metres; the largest strong part is kept."""
    side = math.isqrt(num_junctions * 16 // 15)
    rng = np.random.default_rng(seed)
    ids = np.arange(side * side).reshape(side, side)
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2) * _SPACING_M
    places = np.round(places + rng.uniform(-30, 30, places.shape), 1)
    one = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    other = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    paved = rng.random(one.size) > 0.28
    one, other = one[paved], other[paved]
    way = rng.random(one.size)
    tails = np.concatenate([one[way > 0.05], other[way < 0.95]])
    heads = np.concatenate([other[way > 0.05], one[way < 0.95]])
    graph = csr_matrix((np.ones(tails.size, dtype=bool), (tails, heads)), shape=(ids.size, ids.size))
    _, part = connected_components(graph, connection="strong")
    is_kept = part == np.bincount(part).argmax()
    number = np.cumsum(is_kept) - 1
    both = is_kept[tails] & is_kept[heads]
    tails, heads = tails[both], heads[both]
    metres = np.hypot(*(places[tails] - places[heads]).T) * rng.choice([1.0, 1.3], tails.size)
    return vr.Domain.from_edges(int(is_kept.sum()), number[tails], number[heads], np.round(metres + 1, 1))


def draw_problem(domain: vr.Domain, num_customers: int) -> vr.Problem:
    """A trip and customers anywhere on it."""
    start, goal, *places = np.random.default_rng(2).choice(domain.num_nodes, num_customers + 2, replace=False).tolist()
    return vr.Problem(domain, [vr.Trip(start, goal)], places)


def work_seconds(work: Callable[[], object]) -> float:
    """The processor's seconds of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def dijkstra_seconds(domain: vr.Domain, nodes: Sequence[int]) -> float:
    """The processor's seconds of one run of scipy's Dijkstra: the median, because other work slows some down."""
    matrix = scipy_matrix(domain)
    return median(work_seconds(partial(dijkstra, matrix, indices=node)) for node in nodes)


def sweep_seconds(domain: vr.Domain) -> float:
    """The processor's seconds of one sweep of our own as plans make them, the median; the first is not counted."""
    sweeper = Sweeper(domain, backward=False, num_seeds=1)
    nodes = np.random.default_rng(3).choice(domain.num_nodes, 300, replace=False).astype(np.uint32)
    row = np.empty((1, nodes.size))
    sweeper.fill_rows(nodes[-1:], nodes, row)
    return median(work_seconds(partial(sweeper.fill_rows, nodes[i : i + 1], nodes, row)) for i in range(_NUM_RUNS))


def measure_plan(path: Path, customers: int, k: int, workers: int | None, limit_s: float | None) -> dict[str, Any]:
    """Plan on the network of a file, in this process."""
    small = generate_country(4000)
    vr.solve(draw_problem(small, 60), vr.Privacy(k=k, ell=ELL), workers=workers)  # which loads kernels
    before_mb = peak_memory_mb() or 0.0
    with np.load(path) as arrays:
        domain = vr.Domain(arrays["indptr"], arrays["indices"], arrays["costs"])
    problem = draw_problem(domain, customers)
    one_s = dijkstra_seconds(domain, problem.candidate_nodes[:_NUM_RUNS])
    stages: dict[str, float] = {}

    def note(progress: vr.Progress) -> None:
        stages[progress.stage] = time.perf_counter()

    began, cpu_began = time.perf_counter(), time.process_time()
    book = vr.solve(problem, vr.Privacy(k=k, ell=ELL), workers=workers, progress=note, time_limit_s=limit_s)
    seconds = time.perf_counter() - began
    return {
        "junctions": domain.num_nodes,
        "edges": domain.num_edges,
        "customers": customers,
        "hidden": book.claims.num_anonymized,
        "status": book.status,
        "sweeps_s": stages["distances"] - began,
        "seconds": seconds,
        "cpu_s": time.process_time() - cpu_began,
        "dijkstra_s": one_s,
        "before_mb": before_mb,
        "peak_mb": peak_memory_mb(),
    }


def measure(
    num_junctions: int, customers: int, k: int, *, workers: int | None = None, limit_s: float | None = None
) -> dict[str, Any]:
    """Plan on a generated network, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="veilroute-") as folder:
        path = Path(folder, "network.npz")
        domain = generate_country(num_junctions)
        np.savez(path, indptr=domain.indptr, indices=domain.indices, costs=domain.costs)
        del domain
        case = json.dumps([str(path), customers, k, workers, limit_s])
        done = subprocess.run([sys.executable, __file__, "--case", case], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--junctions", type=int, default=2_000_000)
    parser.add_argument("--customers", type=int, default=300)
    parser.add_argument("-k", type=int, default=3)
    parser.add_argument("--workers", type=int, help="threads; one for each core by default")
    parser.add_argument("--constants", action="store_true", help="measure and print what docs/scale.rst reckons with")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        path, *case = json.loads(given.case)
        print(json.dumps(measure_plan(Path(path), *case)))
        return 0
    if given.constants:
        print_constants()
        return 0
    found = measure(given.junctions, given.customers, given.k, workers=given.workers)
    print(f"{found['junctions']:,} junctions, {found['edges']:,} edges, {given.customers} customers, k={given.k}:")
    print(f"  {found['status']}, {found['hidden']} hidden")
    print(f"  sweeps {found['sweeps_s']:.1f} s, plan {found['seconds']:.1f} s, {found['cpu_s']:.1f} s of work")
    runs_s = given.customers * found["dijkstra_s"]
    print(f"  {given.customers} runs of scipy's Dijkstra: {runs_s:.1f} s, {found['dijkstra_s']:.3f} s each")
    print(f"  the plan takes {found['seconds'] / runs_s:.2f} times that by the clock,")
    print(f"  and {found['cpu_s'] / runs_s:.2f} times that in work")
    print(f"  peak memory {found['peak_mb']:.0f} MB, of which {found['before_mb']:.0f} MB before the network was read")
    return 0


def print_constants() -> None:
    """Measure, and print a line for each constant of docs/scale.rst."""
    networks = [generate_country(num) for num in _SWEPT]
    nanoseconds = [1e9 * sweep_seconds(network) / network.num_nodes for network in networks]
    doublings = np.log2([network.num_nodes / 1e6 for network in networks])
    slope, at_a_million = np.polyfit(doublings, nanoseconds, 1)
    middle = networks[1]
    run_ns = 1e9 * dijkstra_seconds(middle, range(_NUM_RUNS)) / middle.num_nodes
    ruled = with_rules(middle, Turns.of("dead-ends"))
    states = search_graph(ruled, [(0,)], [middle.num_nodes - 1]).graph
    one, eight = (measure(_SWEPT[-2], _FEW, 2, workers=num) for num in (1, 8))
    num, many, more = one["junctions"], measure(20_000, _MANY, 2, limit_s=60), measure(20_000, _MORE, 2, limit_s=120)
    used = {case["customers"]: 1e6 * (case["peak_mb"] - case["before_mb"]) for case in (many, more)}
    print(f"edges a junction            {middle.num_edges / middle.num_nodes:.2f}")
    for network, each in zip(networks, nanoseconds, strict=True):
        print(f"  a sweep of {network.num_nodes:>9,} junctions: {each:.0f} ns a junction")
    print(f"SWEEP_NS = {at_a_million:.0f}         # a junction, at a million junctions")
    print(f"DOUBLING_NS = {slope:.1f}      # more for each time that the network is twice as large")
    print(f"  scipy's Dijkstra: {run_ns:.0f} ns a junction at {middle.num_nodes:,}")
    print(
        f"TURNS = {sweep_seconds(states) / sweep_seconds(middle):.1f}  # times as long is a sweep under rules for turns"
    )
    print(f"STATES = {states.num_nodes / middle.num_nodes:.1f}  # states a junction there")
    print(f"FIXED_MB = {one['before_mb']:.0f}  # Python and its libraries")
    threads = 1e6 * (eight["peak_mb"] - one["peak_mb"])
    print(f"THREAD_BYTES = {threads / num / 7:.0f}  # a junction, for each thread beyond the first")
    print(
        f"JUNCTION_BYTES = {1e6 * (one['peak_mb'] - one['before_mb']) / num:.0f}  # a junction, with the first thread"
    )
    print(f"PAIR_BYTES = {(used[_MORE] - used[_MANY]) / (_MORE**2 - _MANY**2):.0f}  # for each two customers")


if __name__ == "__main__":
    sys.exit(main())
