"""What a first `veilroute plan` costs, when no kernel has been compiled yet, and what the second one costs.

    python benchmarks/cold_start.py
    python benchmarks/cold_start.py --old ../other-checkout/src
    python benchmarks/cold_start.py --only "100 candidates" --kernels

Plans in a generated building, each with the command line, in a process of its own and with an empty folder for compiled
kernels. Figures are seconds of the processor (user and system, of the whole process), because the clock also counts
what others do on the machine: the first run, the compilation in it, how many kernels were compiled, for how many
types of arguments in all, and the second run, which finds them compiled. With --kernels, a line for each kernel.

With --old, each plan is made in turn by the source in that folder and by this one. Exits with 1 when a first run of
this source takes longer than its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import veilroute as vr
from veilroute.cli.main import run as run_command
from veilroute.formats import Instance

HERE = Path(__file__).resolve().parents[1] / "src"
PLANS = {
    "8 candidates": (8, [], 4.0),
    "16 candidates": (16, [], 10.0),
    "30 candidates": (30, [], 10.0),
    "100 candidates": (100, [], 10.0),
    "16 candidates, m=30": (16, ["--m", "30"], 10.0),
}
"""By name: how many candidates, options of the command, and the most seconds of a first run."""


@dataclass(frozen=True)
class Run:
    """How one process went: its seconds, and those of each kernel that it compiled, without those it calls."""

    seconds: float
    compiled: list[tuple[str, float]]

    @property
    def compile_s(self) -> float:
        return sum(seconds for _, seconds in self.compiled)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="the src folder of another checkout, to compare with")
    parser.add_argument("--only", default="", help="plans whose name holds this text")
    parser.add_argument("--kernels", action="store_true", help="also show the seconds of each kernel")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.command is not None:
        return listen_and_run(given.command)
    sources = {"new": HERE} if given.old is None else {"old": given.old.resolve(), "new": HERE}
    is_within = True
    columns = f"{'first s':>8} {'compiling s':>12} {'kernels':>8} {'types':>6} {'second s':>9} limit"
    print(f"{'plan':22} {'source':6} {columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (num, options, limit) in PLANS.items():
            if given.only not in name:
                continue
            instance = write_building(num, Path(folder) / "instance.json")
            for label, source in sources.items():
                with tempfile.TemporaryDirectory() as cache:
                    first, second = (measure(source, Path(cache), instance, options) for _ in range(2))
                kernels = Counter(kernel for kernel, _ in first.compiled)
                is_within &= label == "old" or first.seconds <= limit
                print(
                    f"{name:22} {label:6} {first.seconds:8.2f} {first.compile_s:12.2f} {len(kernels):8} "
                    f"{kernels.total():6} {second.seconds:9.2f}"
                    + ("" if label == "old" or first.seconds <= limit else f"   more than {limit:g} s"),
                    flush=True,
                )
                if given.kernels:
                    show_kernels(first)
    return 0 if is_within else 1


def write_building(num: int, path: Path) -> Path:
    """An instance with so many candidates."""
    domain = vr.generate_rooms(110, 120, seed=1)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, num, seed=0)
    vr.write_instance(Instance(vr.Problem(domain, [vr.Trip(start, goal)], candidates)), path)
    return path


def measure(source: Path, cache: Path, instance: Path, options: list[str]) -> Run:
    """One `veilroute plan` with the source in a folder, which keeps compiled kernels in another."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, __file__, "--command", "plan", str(instance), "--json", *options],
        env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    compiled = [tuple(entry) for entry in json.loads(done.stderr.splitlines()[-1])]
    return Run(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, compiled)


def listen_and_run(command: list[str]) -> int:
    """Run a command in this process, then print what was compiled in it as the last line of standard error."""
    compiled = listen()
    code = run_command(command)
    print(f"\n{json.dumps(compiled)}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)  # as the command line does, to save the time to tidy memory up


def listen() -> list[tuple[str, float]]:
    """A list that grows by each kernel that is compiled, with its own seconds."""
    from numba.core import event

    compiled: list[tuple[str, float]] = []
    # Of the kernels that are being compiled, each called by the one before it: seconds that are not its own.
    foreign_s: list[float] = []
    began_s: list[float] = []

    class Listener(event.Listener):
        def on_start(self, _event: Any) -> None:
            foreign_s.append(0.0)
            began_s.append(time.process_time())

        def on_end(self, ended: Any) -> None:
            whole = time.process_time() - began_s.pop()
            compiled.append((ended.data["dispatcher"].py_func.__name__, whole - foreign_s.pop()))
            if foreign_s:
                foreign_s[-1] += whole

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
    return compiled


def show_kernels(run: Run) -> None:
    """By seconds, the most first."""
    names = {name for name, _ in run.compiled}
    rows = [(sum(s for each, s in run.compiled if each == name), name) for name in names]
    for seconds, name in sorted(rows, reverse=True):
        times = sum(each == name for each, _ in run.compiled)
        print(f"    {name:28} {seconds:6.2f}" + (f"   for {times} types" if times > 1 else ""))


if __name__ == "__main__":
    sys.exit(main())
