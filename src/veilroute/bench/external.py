"""Runs the program of others on an instance, and makes an outcome of the classes that it prints.

What goes in is the authors' text format (``.in``). What comes out is read as their program prints it: for each class a
line that begins with ``Partition``, a line with its members, and its walk, a line for each node, which may be missing.
Other lines are passed over. No figure that a program claims is believed: members, walks and spread are looked at, and
costs added up here; a class without a walk is priced by the cheapest one. Time, processor's time and memory are those
of its process.
"""

import math
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from veilroute import metrics
from veilroute.arrays import Members, as_members
from veilroute.bench.cells import Outcome
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.covering.walks import walk_cost
from veilroute.errors import InvalidInputError, VeilrouteError
from veilroute.formats.instance import write_authors
from veilroute.problem import Privacy, Problem

_GRACE_S = 1.0  # after the limit, so that a program that stops by itself can still say what it has found
_PLACES = ("instance", "output", "k", "ell", "seed", "time_limit")
_HEAD = re.compile(r"Partition\b")
_COUNTS = {
    "num_expansions": re.compile(r"Number of Expanded Nodes in Total:\s*(\d+)"),
    "num_partitions": re.compile(r"Number of Evaluated Partitions in Total:\s*(\d+)"),
}
Printed = tuple[list[int], list[int]]  #: members and walk, in node numbers


def split_command(command: str) -> list[str]:
    """The words of a command, or what is wrong with it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInputError("--external", f"a command ({error})", command) from None
    known = {name for word in words for name in re.findall(r"\{(\w*)\}", word)}
    if not words or known - set(_PLACES):
        raise InvalidInputError("--external", f"a command with no places but {{{'}, {'.join(_PLACES)}}}", command)
    return words


def run_external(command: str, problem: Problem, privacy: Privacy, *, seed: int, time_limit_s: float) -> Outcome:
    """Run a program on a problem with one trip, seen from nearby places only; its classes as an outcome.

    In the command ``{instance}`` stands for the file with the instance, which is standard input where it is not named;
    ``{output}`` for a file that is read besides what is printed; ``{k}``, ``{ell}``, ``{seed}`` and ``{time_limit}``
    (in seconds) for what is asked. A program that is not done by the limit is ended, and what it has printed counts.
    """
    if problem.domain.turns is not None:
        raise VeilrouteError("this format has no rules for turns, so the program would plan on another map")
    with tempfile.TemporaryDirectory(prefix="veilroute-") as folder:
        instance, output = Path(folder, "instance.in"), Path(folder, "output.txt")
        write_authors(problem, instance)
        values = {
            "instance": str(instance), "output": str(output), "k": str(privacy.k), "ell": f"{privacy.ell:g}",
            "seed": str(seed), "time_limit": f"{time_limit_s:g}",
        }  # fmt: skip
        words = [re.sub(r"\{(\w+)\}", lambda found: values[found[1]], word) for word in split_command(command)]
        ended = _Run(words, None if "{instance}" in command else instance, time_limit_s + _GRACE_S)
        printed = ended.printed + (output.read_text("utf-8", "replace") if output.is_file() else "")
    if ended.code and not ended.is_stopped:
        said = (ended.complaint.strip().splitlines() or [f"exit code {ended.code}"])[-1]
        raise VeilrouteError(f"the program failed: {said}")
    counts: dict[str, Any] = {
        name: int(found[1]) for name, pattern in _COUNTS.items() if (found := pattern.search(printed))
    }
    return _price(problem, privacy, read_printed(printed), ended, counts)


class _Run:
    """A program that was run to its end or to the limit."""

    def __init__(self, words: Sequence[str], stdin: Path | None, limit_s: float) -> None:
        began = time.perf_counter()
        self.is_stopped = False
        with (stdin or Path(os.devnull)).open("rb") as given:
            try:
                process = subprocess.Popen(
                    words, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
                )
            except OSError as error:
                raise VeilrouteError(f"the program cannot be run: {error.strerror or error}") from None
        timer = threading.Timer(limit_s, self._stop, [process])
        timer.start()
        try:
            complaint: list[bytes] = []
            reader = threading.Thread(target=lambda: complaint.append(process.stderr.read()))  # type: ignore[union-attr]
            reader.start()
            printed = process.stdout.read()  # type: ignore[union-attr]
            reader.join()
            self.cpu_s, self.memory_mb = _wait(process)
        finally:
            timer.cancel()
            if process.poll() is None:
                self._stop(process)
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        self.runtime_s = time.perf_counter() - began
        self.code = process.returncode
        self.printed, self.complaint = (text.decode("utf-8", "replace") for text in (printed, complaint[0]))

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """End the program and what it has started."""
        self.is_stopped = True
        if hasattr(os, "killpg"):
            # Only while it has not been waited for is the number surely its own.
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _wait(process: subprocess.Popen[bytes]) -> tuple[float | None, float | None]:
    """Wait for a program; its processor's time and the most memory that it held, where the system tells."""
    if not hasattr(os, "wait4"):  # Windows
        process.wait()
        return None, None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    per_mb = 1024 * 1024 if os.uname().sysname == "Darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / per_mb


def read_printed(text: str) -> list[Printed]:
    """The classes that a program has printed; of a line of a walk the first number is the node."""
    found: list[Printed] = []
    is_open = needs_members = False
    for line in text.splitlines():
        numbers = line.split()
        if _HEAD.match(line.strip()):
            found.append(([], []))
            is_open = needs_members = True
        elif not is_open or not numbers:
            continue
        elif not all(word.isascii() and word.isdigit() for word in numbers):
            is_open = False
        elif needs_members:
            found[-1][0].extend(map(int, numbers))
            needs_members = False
        else:
            found[-1][1].append(int(numbers[0]))
    return found


def _price(
    problem: Problem, privacy: Privacy, printed: Sequence[Printed], ended: _Run, counts: dict[str, Any]
) -> Outcome:
    task = prepare_task(problem)
    rule, walks = k_and_ell(problem, task, privacy), ClassWalks(task)
    place = {int(problem.candidate_nodes[candidate]): i for i, candidate in enumerate(task.members)}
    costs: list[float] = []
    base: list[float] = []
    seen: set[int] = set()
    for members, walk in printed:
        if not set(members) <= set(place) or seen & set(members) or len(set(members)) < len(members):
            raise VeilrouteError("the program's classes do not hold each candidate at most once")
        seen |= set(members)
        group = as_members(place[node] for node in members)
        if len(group) < privacy.k or not rule.qualifies(group):
            continue  # left alone, and so not hidden
        cost = _walk_cost(problem, task, group, walk) if walk else walks.find(group).cost
        if math.isfinite(cost):
            costs += [cost] * len(group)
            base += [float(task.base_costs[0, i]) for i in group]
    smallest = problem.domain.smallest_positive_cost
    mac = metrics.mean_anonymization_cost(costs, base, smallest_positive_cost=smallest)
    num = len(task.members)
    return Outcome(
        "feasible", not ended.is_stopped, num_coverable=num, num_anonymized=len(costs),
        apr=metrics.anonymized_path_ratio(len(costs), num), mac=None if mac is None else float(mac),
        runtime_s=ended.runtime_s, cpu_s=ended.cpu_s, peak_memory_mb=ended.memory_mb, **counts,
    )  # fmt: skip


def _walk_cost(problem: Problem, task: CoveringTask, group: Members, walk: Sequence[int]) -> float:
    """What a printed walk costs, after a look at whether it is one and covers the class."""
    domain, nodes = problem.domain, np.array(walk, dtype=np.int64)
    is_inside = (walk[0], walk[-1]) == (problem.start_nodes[0], problem.goal_nodes[0]) and max(walk) < domain.num_nodes
    if not is_inside or not all(
        b in domain.indices[domain.indptr[a] : domain.indptr[a + 1]] for a, b in pairwise(walk)
    ):
        raise VeilrouteError("the program's walk does not lead along edges from the start to the goal")
    if not all(np.isin(task.posts.nodes_of(i), nodes).any() for i in group):
        raise VeilrouteError("the program's walk does not pass all members of its class")
    return walk_cost(domain, nodes)
