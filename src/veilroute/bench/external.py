"""Runs a program in another language on an instance, and makes an outcome of the classes that it prints.

What goes in is the authors' text format (``.in``). What comes out is read as their program prints it: for each class a
line that begins with ``Partition``, a line with its members, and its walk, a line for each node, which may be missing.
Other lines are passed over. No figure that a program claims is believed: members, walks and spread are checked, and
costs added up here; a class without a walk is priced by the cheapest one. Time, processor time and memory are those
of its process and what it has started (:mod:`veilroute.bench.launcher`).

One thing must be taken on its word: whether its search was complete. A program that does not say so has an outcome
whose ``is_finished`` is ``None``, and is never counted as complete.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from veilroute.base.arrays import Members, Walk, as_members
from veilroute.base.errors import InvalidInputError, VeilrouteError
from veilroute.bench.cells import Outcome
from veilroute.covering.prefixes import Completions
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.covering.walks import walk_cost
from veilroute.domain import WithinDistance
from veilroute.formats.instance import write_authors
from veilroute.model import metrics
from veilroute.model.problem import Privacy, Problem

GRACE_S = 1.0  #: after the limit, so that a program that stops by itself can still say what it has found
_LAUNCHER_S = 30.0  # how much longer than the program its launcher may take, on a machine that is very busy
_LONG_S = 1e6  # beyond which the system's calls take no limit
MOST_BYTES = 64 << 20  #: of what a program prints or writes; more is an error
_PLACES = ("instance", "output", "k", "ell", "m", "radius", "seed", "time_limit", "time_limit_ms")
STOPPED = 124  #: The exit code of a program that was stopped before its search was complete, as of ``timeout``.
_SAYS_STOPPED = re.compile(r"^Stopped\b", re.MULTILINE)
_SAYS_COMPLETED = re.compile(r"^Completed\.?\s*$", re.MULTILINE)
# The authors' program says how long it has searched, in milliseconds. It gives up at the first look at its clock that
# is not below the number after its option -t, and this look is the last one.
_SETTINGS = (re.compile(r"^: c=1$", re.MULTILINE), re.compile(r"^: p=(?:merge|df\+?)$", re.MULTILINE))
_SEARCHED = re.compile(r"^- Time: (\d{1,15}) \[ms\]$", re.MULTILINE)
_CLOCK = re.compile(r"(?<!\S)-t ?(\d{1,15})(?!\S)")
_NAME = re.compile(r"(\w[\w.+-]*)=(.*)", re.DOTALL)
_HEAD = re.compile(r"Partition\b")
_NODE = re.compile(r"\d{1,15}$", re.ASCII)
_LIKE_A_NUMBER = re.compile(r"[+-]?\.?\d", re.ASCII)
_COUNTS = {
    "num_expansions": re.compile(r"Number of Expanded Nodes in Total:\s*(\d{1,15})(?!\d)", re.ASCII),
    "num_partitions": re.compile(r"Number of Evaluated Partitions in Total:\s*(\d{1,15})(?!\d)", re.ASCII),
}
Printed = tuple[list[int], list[int]]  #: members and walk, in node numbers


def read_program(text: str) -> tuple[str, str]:
    """What ``NAME=COMMAND`` calls a program, and its command; without a name it is the file name of its first word.

    Commands are not run by a shell, so ``A=1 ./x`` is the program ``1`` by the name ``A``; to set a variable there is
    ``env A=1 ./x``.
    """
    named = _NAME.fullmatch(text.strip())
    name, command = named.groups() if named else ("", text)
    words = split_command(command)
    return name or words[0].replace("\\", "/").rpartition("/")[2], command


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


def run_external(
    command: str, problem: Problem, privacy: Privacy, *, seed: int, time_limit_s: float, grace_s: float = GRACE_S,
    most_bytes: int = MOST_BYTES,
) -> Outcome:  # fmt: skip
    """Run a program on a problem with one trip, whose places are seen from within a radius; its classes as an outcome.

    In the command ``{instance}`` stands for the file with the instance, which is standard input if it is not named;
    ``{output}`` for a file that is read besides what is printed; ``{k}``, ``{ell}``, ``{m}`` (a number of nodes, or
    ``inf`` for whole routes), ``{radius}``, ``{seed}``, ``{time_limit}`` (in seconds) and ``{time_limit_ms}`` for what
    is asked. A program that is not done ``grace_s`` after the limit is ended, and what it has printed counts; more than
    ``most_bytes`` are an error.
    """
    if problem.domain.turns is not None:
        raise VeilrouteError("this format has no rules for turns, so the program would plan on another map")
    with tempfile.TemporaryDirectory(prefix="veilroute-") as folder:
        instance, output = Path(folder, "instance.in"), Path(folder, "output.txt")
        write_authors(problem, instance)
        values = {
            "instance": str(instance), "output": str(output), "k": str(privacy.k), "ell": _number(privacy.ell),
            "m": "inf" if privacy.m is None else str(privacy.m),
            "radius": _number(problem.visibility.radius if isinstance(problem.visibility, WithinDistance) else 0),
            "seed": str(seed), "time_limit": _number(time_limit_s),
            "time_limit_ms": str(max(1, round(1000 * time_limit_s))),
        }  # fmt: skip
        words = [re.sub(r"\{(\w+)\}", lambda found: values[found[1]], word) for word in split_command(command)]
        given = None if "{instance}" in command else instance
        ended = _run(words, given, time_limit_s, grace_s, most_bytes, Path(folder))
        written = _read(output, most_bytes) if output.is_file() else ""
    if ended.code not in (0, STOPPED) and not ended.is_stopped:
        said = (ended.complaint.strip().splitlines() or [f"exit code {ended.code}"])[-1]
        raise VeilrouteError(f"the program failed: {said}")
    counts: dict[str, Any] = {
        name: int(found[1])
        for name, pattern in _COUNTS.items()
        if (found := pattern.search(ended.printed) or pattern.search(written))
    }
    ends = int(problem.start_nodes[0]), int(problem.goal_nodes[0])
    is_finished, is_torn = _how_it_ended(ended, f"{ended.printed}\n{written}", words)
    classes = read_printed(written, ends, is_torn=is_torn)
    if not any(members for members, _ in classes):
        classes = read_printed(ended.printed, ends, is_torn=is_torn)
    if is_finished is None and not classes:  # so that output in another form is not taken for a search without result
        raise VeilrouteError("the program printed no line that begins with 'Partition', nor 'Completed' or 'Stopped'")
    outcome = _price(problem, privacy, classes, is_torn=is_torn)
    return replace(
        outcome, is_finished=is_finished, runtime_s=ended.runtime_s, cpu_s=ended.cpu_s, memory_mb=ended.memory_mb,
        **counts,
    )  # fmt: skip


def _how_it_ended(ended: "_Ended", said: str, words: Sequence[str]) -> tuple[bool | None, bool]:
    """Whether a search was complete, ``None`` if the program does not say; and whether what it said may be torn."""
    says_stopped = _SAYS_STOPPED.search(said) is not None
    if ended.is_stopped or ended.code == STOPPED or says_stopped or not ended.is_in_time:
        return False, ended.is_stopped or (ended.code == STOPPED and not says_stopped)
    if _SAYS_COMPLETED.search(said):
        return True, False
    at = 0
    for pattern in _SETTINGS:  # one after the other, because one pattern for all takes for ever in long texts
        if (found := pattern.search(said, at)) is None:
            return None, False
        at = found.end()
    searched, clocks = _SEARCHED.findall(said, at), set(_CLOCK.findall(" ".join(words)))
    return (int(searched[-1]) < int(clocks.pop()) if searched and len(clocks) == 1 else None), False


def _number(value: float) -> str:
    """A number with all its digits, whole ones without a point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


@dataclass(frozen=True)
class _Ended:
    """A program that was run to its end or to the limit."""

    code: int
    is_stopped: bool  #: by us
    is_in_time: bool  #: it came to its own end within the limit, without the grace
    runtime_s: float
    cpu_s: float | None
    memory_mb: float | None
    printed: str
    complaint: str


def _run(
    words: Sequence[str], stdin: Path | None, limit_s: float, grace_s: float, most_bytes: int, folder: Path
) -> _Ended:
    """Run a program; what it prints goes to files in the folder."""
    printed, complaint = folder / "printed.txt", folder / "complaint.txt"
    asked = {
        "words": list(words), "stdin": str(stdin or os.devnull), "stdout": str(printed), "stderr": str(complaint),
        "limit_s": limit_s + grace_s, "most_bytes": most_bytes,
    }  # fmt: skip
    # What the launcher listens to ends with this process, however that ends.
    listening, held = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    with held:
        with listening:
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")), json.dumps(asked)],
                stdin=listening, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        most_s = limit_s + grace_s + _LAUNCHER_S
        try:
            told, _ = launcher.communicate(timeout=most_s if most_s < _LONG_S else None)
        except subprocess.TimeoutExpired:
            raise VeilrouteError("the program could not be watched: its launcher does not answer") from None
        finally:
            held.close()  # now it ends the program, and itself
            try:
                launcher.wait(_LAUNCHER_S)
            except subprocess.TimeoutExpired:
                launcher.kill()
                launcher.wait()
    if launcher.returncode:
        raise VeilrouteError("the program could not be watched: its launcher was ended")
    known: dict[str, Any] = json.loads(told)
    if "failure" in known:
        raise VeilrouteError(f"the program {words[0][:80]!r} cannot be run: {known['failure']}")
    stopped = known["stopped"]
    if stopped == "output":
        raise VeilrouteError(f"the program has printed more than {most_bytes >> 20} MB")
    return _Ended(
        known["code"], bool(stopped), not stopped and known["runtime_s"] <= limit_s, known["runtime_s"],
        known["cpu_s"], known["memory_mb"], _read(printed, most_bytes), _read(complaint, most_bytes),
    )  # fmt: skip


def _read(path: Path, most_bytes: int) -> str:
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise VeilrouteError(f"the program has written more than {most_bytes >> 20} MB")
    return data.decode("utf-8", "replace")


def read_printed(text: str, ends: tuple[int, int], *, is_torn: bool = False) -> list[Printed]:
    """The classes that a program has printed, for a trip between two ``ends``.

    A walk begins with the line of the start; of each line the first number is the node. Lines that begin with other
    numbers are passed over before a walk and behind one that has come to the goal. Within a walk they are an error, and
    so are two of them where a walk should begin: a walk that is written in another way must not be taken for none.

    Of a text that ``is_torn``, because the program was ended while it printed, the last line counts only with its end,
    and the last class only when something stands behind it or its walk has come to the goal.
    """
    found: list[Printed] = []
    is_open = needs_members = is_strange = False
    for line in (text[: text.rfind("\n") + 1] if is_torn else text).splitlines():
        words = line.split()
        if _HEAD.match(line.strip()):
            found.append(([], []))
            is_open, needs_members, is_strange = True, True, False
        elif not found or not words:
            continue
        elif not _LIKE_A_NUMBER.match(words[0]):
            is_open = is_strange = False
        elif is_strange:
            raise VeilrouteError(f"the program's walk begins with {words[0][:20]!r} and not with the start")
        elif not is_open:
            continue
        elif needs_members:
            found[-1][0].extend(map(_node, words))
            needs_members = False
        elif not found[-1][1] and words[0] != str(ends[0]):
            is_open, is_strange = False, True
        elif found[-1][1][-1:] == [ends[1]] and not (_NODE.match(words[0]) and all(map(_is_number, words))):
            is_open = False
        else:
            found[-1][1].append(_node(words[0]))
    if is_torn and is_open and found[-1][1][-1:] != [ends[1]]:
        del found[-1]
    return found


def _node(word: str) -> int:
    if not _NODE.match(word):
        raise VeilrouteError(f"the program has printed {word[:20]!r} where the number of a node should be")
    return int(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _price(problem: Problem, privacy: Privacy, printed: Sequence[Printed], *, is_torn: bool) -> Outcome:
    task = prepare_task(problem)
    rule, walks = k_and_ell(problem, task, privacy), ClassWalks(task)
    place = {int(problem.candidate_nodes[candidate]): i for i, candidate in enumerate(task.members)}
    completions = Completions(task)
    costs: list[float] = []
    base: list[float] = []
    seen: set[int] = set()
    for number, (members, walk) in enumerate(printed, start=1):
        if not set(members) <= set(place) or seen & set(members) or len(set(members)) < len(members):
            raise VeilrouteError("the program's classes do not hold each candidate at most once")
        seen |= set(members)
        group = as_members(place[node] for node in members)
        if len(group) < privacy.k or not rule.qualifies(group):
            continue  # left alone, and so not hidden
        try:
            whole = _checked(problem, task, group, walk, privacy.m) if walk else walks.find(group).walk
        except VeilrouteError:
            if is_torn and number == len(printed):
                break  # it was ended on the way, when its walk had come past the goal
            raise
        if whole.size:
            costs += _member_costs(completions, group, whole, privacy.m)
            base += [float(task.base_costs[0, i]) for i in group]
    smallest = problem.domain.smallest_positive_cost
    mac = metrics.mean_anonymization_cost(costs, base, smallest_positive_cost=smallest)
    num = len(task.members)
    return Outcome(
        "feasible", m=privacy.m, num_coverable=num, num_anonymized=len(costs),
        apr=metrics.anonymized_path_ratio(len(costs), num), mac=None if mac is None else float(mac),
    )  # fmt: skip


def _member_costs(completions: Completions, group: Members, walk: Walk, m: int | None) -> list[float]:
    """What each member of a class costs: the walk, or its first m nodes and the cheapest way on past the member."""
    if m is None or walk.size < m:
        return [walk_cost(completions.task.domain, walk)] * len(group)
    costs = [completions.complete(walk[:m], i, 0)[1] for i in group]
    if not all(map(math.isfinite, costs)):
        raise VeilrouteError(f"after {m} nodes of the program's walk there is no way past each member to the goal")
    return costs


def _checked(problem: Problem, task: CoveringTask, group: Members, walk: Sequence[int], m: int | None) -> Walk:
    """A printed walk, after a check that it is one and covers the class; of one of m nodes or more, that it is one."""
    domain = problem.domain
    is_part = m is not None and len(walk) >= m
    is_inside = walk[0] == problem.start_nodes[0] and max(walk) < domain.num_nodes
    if not (is_inside and (is_part or walk[-1] == problem.goal_nodes[0])) or not all(
        b in domain.indices[domain.indptr[a] : domain.indptr[a + 1]] for a, b in pairwise(walk)
    ):
        raise VeilrouteError("the program's walk does not lead along edges from the start to the goal")
    nodes = np.array(walk, dtype=np.int64)
    if not is_part and not all(np.isin(task.posts.nodes_of(i), nodes).any() for i in group):
        raise VeilrouteError("the program's walk does not pass all members of its class")
    return nodes
