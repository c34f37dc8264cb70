"""What the scripts in this folder measure with: best times, scipy's Dijkstra, generated stand-ins for maps."""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import veilroute as vr
from paper_instances import read_map


def best_times(*works: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of the fastest of several runs of each; they take turns, so that a slow spell of the machine hits all."""
    best = [math.inf] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            began = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - began)
    return best


def scipy_matrix(domain: vr.Domain) -> csr_matrix:
    """The domain as scipy takes it."""
    return csr_matrix(
        (domain.costs.astype(float), domain.indices.astype("int32"), domain.indptr.astype("int32")),
        shape=(domain.num_nodes, domain.num_nodes),
    )


def dijkstra_run(domain: vr.Domain, node: int) -> Callable[[], object]:
    """One `scipy.sparse.csgraph.dijkstra` run, ready to be timed."""
    return partial(dijkstra, scipy_matrix(domain), indices=node)


def peak_memory_mb() -> float:
    """The most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def judge(name: str, ratios: list[float], limit: float, *, by_median: bool = False) -> bool:
    """Print how some ratios keep to a limit: the worst of them or, on a busy machine, their median."""
    median, worst = statistics.median(ratios), max(ratios)
    kept = (median if by_median else worst) <= limit
    print(
        f"    {name}: {len(ratios)} problems, median {median:.2f} x, worst {worst:.2f} x "
        f"(limit{' of the median' if by_median else ''} {limit}): {'kept' if kept else 'NOT KEPT'}",
        flush=True,
    )
    return kept


def parse_shared(description: str | None) -> Path | None:
    """The folder with the paper's maps and instances, from the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, help="folder with instances/paper.jsonl and maps/")
    shared: Path | None = parser.parse_args().shared
    return shared


def map_or_building(shared: Path | None, name: str, side: int) -> tuple[str, vr.Domain]:
    """A benchmark map, or without the maps a generated building of about its size."""
    if shared is not None:
        return Path(name).stem, read_map(shared / "maps" / name)
    return f"building {side} x {side}", vr.generate_rooms(side, side, seed=1)
