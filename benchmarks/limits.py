"""A time limit is a limit: how long solves with a limit really take, old and new in one run.

    python benchmarks/limits.py --shared ../shared
    python benchmarks/limits.py --shared ../shared --old ../other-checkout/src --only 2000

Each case runs in a process of its own against this checkout and, with --old, against the source in that folder. It
solves a small problem first, so that imports and kernels are not in the figures. Prints the limit, the seconds of the
whole solve with the playbook written as JSON, by how much it ran over, the processor's seconds, how many are hidden,
gap and the most memory held. The last column says whether it kept to the limit + 10 % + 2 s; exits with 1 if this
checkout did not. Where other work is on the machine, the processor's seconds tell more than those of the clock.

`--only` picks the cases whose name holds a text. Without --shared, on a generated building.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MAP = "street/Berlin_0_256.map"


@dataclass(frozen=True)
class Case:
    """One solve with a limit."""

    name: str
    num: int
    limit_s: float
    movement: int = 4
    k: int = 2
    m: int | None = None
    radius: float = 0.0
    num_trips: int = 1
    is_street: bool = False
    partitioner: str | None = None


CASES = (
    Case("2000 candidates, 1 s", 2000, 1),
    Case("2000 candidates, 1 s, 8-way", 2000, 1, movement=8),
    Case("5000 candidates, 60 s", 5000, 60),
    Case("5000 candidates, 60 s, 8-way", 5000, 60, movement=8),
    Case("10000 candidates, 60 s", 10_000, 60),
    Case("10000 candidates, 60 s, 8-way", 10_000, 60, movement=8),
    Case("10000 candidates, 1 s", 10_000, 1),
    Case("2000 candidates, 0.01 s", 2000, 0.01),
    Case("2000 candidates, 5 s, 2 trips", 2000, 5, num_trips=2),
    Case("2000 candidates, 5 s, radius 5", 2000, 5, radius=5),
    Case("2000 candidates, 5 s, m = 20", 2000, 5, m=20),
    Case("2000 candidates, 2 s, local-search", 2000, 2, partitioner="local-search"),
    Case("2000 candidates, 2 s, one-way streets", 2000, 2, is_street=True),
    Case("5000 candidates, 300 s", 5000, 300),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, help="folder with maps/")
    parser.add_argument("--old", type=Path, help="the src folder of another checkout, to compare with")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(run_case(Case(**json.loads(given.case)), given.shared)))
        return 0
    sources = {"new": Path(__file__).resolve().parents[1] / "src"}
    if given.old is not None:
        sources = {"old": given.old.resolve(), **sources}
    print(f"{'':38} {'':4} {'limit':>7} {'took':>8} {'over':>8} {'cpu':>8} {'hidden':>7} {'gap':>9} {'MB':>6}")
    is_good = True
    for case in (case for case in CASES if given.only in case.name):
        for name, source in sources.items():
            found = call(case, source, given.shared)
            keeps = found["seconds"] <= 1.1 * case.limit_s + 2
            is_good &= keeps or name == "old"
            gap = "none" if found["gap"] is None else f"{found['gap']:.3%}"
            print(
                f"{case.name:38} {name:4} {case.limit_s:5g} s {found['seconds']:6.1f} s "
                f"{found['seconds'] - case.limit_s:6.1f} s {found['cpu_s']:6.1f} s {found['hidden']:7} "
                f"{gap:>9} {found['peak_mb']:6.0f} {'kept' if keeps else 'NOT KEPT'}",
                flush=True,
            )
    return 0 if is_good else 1


def call(case: Case, source: Path, shared: Path | None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", json.dumps(asdict(case))]
    command += [] if shared is None else ["--shared", str(shared)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(source)}
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_case(case: Case, shared: Path | None) -> dict[str, Any]:
    import veilroute as vr
    from timing import peak_memory_mb

    if case.is_street:
        domain = vr.generate_streets(70, 70, seed=4)
    elif shared is None:
        domain = vr.generate_rooms(260, 260, seed=1, movement=case.movement)
    else:
        domain = vr.read_movingai(shared / "maps" / MAP, movement=case.movement)
    options: dict[str, Any] = {}
    if case.partitioner is not None:
        options = {"planner": "pbp", "partitioner": case.partitioner}
    privacy = vr.Privacy(k=case.k, m=case.m)
    # First a few, which loads kernels; and once more with no time at all, which takes another way.
    for limit_s in (5, 1e-6):
        vr.solve(draw(domain, 60, case), privacy, time_limit_s=limit_s, **options)
    problem = draw(domain, case.num, case)
    began, cpu_began = time.perf_counter(), time.process_time()
    playbook = vr.solve(problem, privacy, time_limit_s=case.limit_s, **options)
    playbook.to_json()
    return {
        "seconds": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu_began,
        "hidden": playbook.claims.num_anonymized,
        "gap": playbook.gap,
        "peak_mb": peak_memory_mb() or 0.0,
    }


def draw(domain: Any, num: int, case: Case) -> Any:
    """Starts, goals and candidates, drawn from what the first start can reach."""
    import veilroute as vr

    start = domain.label(domain.num_nodes // 2)
    ends = vr.draw_candidates(domain, start, start, num + 2 * case.num_trips, seed=1)
    trips = [vr.Trip(ends[2 * i], ends[2 * i + 1]) for i in range(case.num_trips)]
    return vr.Problem(domain, trips, ends[2 * case.num_trips :], vr.WithinDistance(case.radius))


if __name__ == "__main__":
    sys.exit(main())
