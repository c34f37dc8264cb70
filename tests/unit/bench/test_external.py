"""External programs: what is given to them, what is made of what they print, and what is not believed."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from dask_cluster import wait_until
from veilroute import VeilrouteError, bench


def corridor() -> vr.Problem:
    """From the left end to the right, past places that stand on the way."""
    domain = vr.grid_domain(["." * 10])
    return vr.Problem(domain, [vr.Trip((0, 0), (0, 9))], [(0, 2), (0, 4), (0, 7), (0, 5)])


def run(
    command: str, problem: vr.Problem | None = None, *, limit_s: float = 60, m: int | None = None, **more: Any
) -> bench.Outcome:
    asked = vr.Privacy(2, 1, m, spread="all-pairs")
    return bench.run_external(
        command, problem or corridor(), asked, seed=3, time_limit_s=limit_s, **{"grace_s": 0.1, **more}
    )


def echo(tmp_path: Path, text: str, more: str = "") -> str:
    path = tmp_path / "echo.py"
    path.write_text(f"import os, sys, time\nprint({text!r}, flush=True)\n{more}\n")
    return shlex.join([sys.executable, str(path)])


WALK = "".join(f"{node}\n" for node in range(10))
PAIR = "Partition 0\n2 4\n"
OTHERS = "Partition 1\n7 5\n"


@pytest.mark.parametrize("given", ["", " {instance}"])
def test_walks_are_priced_here(tmp_path: Path, given: str) -> None:
    """The second class goes to 7, back to 5 and on: 4 steps more than the 9 that each place takes alone."""
    reading = "words = (open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin).read().split()\n"
    reading += "assert words[:2] + words[-7:] == '10 18 0 9 4 2 4 7 5'.split(), words"  # nodes, edges; ends, candidates
    back = "".join(f"{node}\n" for node in (*range(8), 6, *range(5, 10)))
    printed = f"- Number of Expanded Nodes in Total: 77\n{PAIR}{WALK}{OTHERS}{back}"
    outcome = run(echo(tmp_path, printed, reading) + given)
    assert outcome.mac == pytest.approx((0 + 0 + 4 / 9 + 4 / 9) / 4)
    assert (outcome.status, outcome.is_finished, outcome.num_anonymized, outcome.apr) == ("feasible", None, 4, 1.0)
    assert outcome.num_expansions == 77 and outcome.num_partitions is None
    assert outcome.runtime_s > 0 and (outcome.cpu_s or 0) > 0 and (outcome.memory_mb or 0) > 1


def test_classes_without_walks_get_the_cheapest(tmp_path: Path) -> None:
    assert run(echo(tmp_path, PAIR + OTHERS)).mac == 0.0
    # Of a class that is too small nobody is hidden.
    assert run(echo(tmp_path, PAIR + "Partition 1\n7\n")).num_anonymized == 2
    # Of a line of a walk only the first number counts; this one goes up and down three times.
    walk = "\n".join(f"{node} {3.5 * node} -1" for node in [*range(10), *range(8, -1, -1), *range(1, 10)])
    assert run(echo(tmp_path, f"{PAIR}{walk}\n")).mac == pytest.approx(2.0)
    writes = f"open(sys.argv[1], 'w').write({PAIR + OTHERS!r})"
    assert run(echo(tmp_path, PAIR, writes) + " {output}").num_anonymized == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PAIR + "0\n1\n9\n", "does not lead along edges"),
        (PAIR + "0\n1\n10\n", "does not lead along edges"),
        (PAIR + "Partition 1\n4 5\n", "each candidate at most once"),
        ("Partition 0\n2 3\n", "each candidate at most once"),
        # An expensive walk must not be passed over, because the class would then get the cheapest one.
        *((f"{PAIR}0\n1\n{line}\n9\n", "the number of a node") for line in ("-5", "0.0", "9" * 40, "7x")),
        *((f"{PAIR}{line}\n{line}\n", "and not with the start") for line in ("-5", "7x")),
        *((text, "no line that begins with 'Partition'") for text in ("", PAIR.lower())),
    ],
)  # fmt: skip
def test_what_is_wrong_is_not_believed(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(VeilrouteError, match=words):
        run(echo(tmp_path, text))


def test_a_program_that_does_not_end_is_ended_and_what_it_printed_counts(tmp_path: Path) -> None:
    outcome = run(echo(tmp_path, PAIR + "done\n", "time.sleep(60)"), limit_s=1)
    assert (outcome.is_finished, outcome.num_anonymized) == (False, 2) and 1 <= outcome.runtime_s < 30
    outcome = run(echo(tmp_path, "Completed", "time.sleep(0.4)"), limit_s=0.1, grace_s=60)
    assert outcome.is_finished is False, "one that ends after the limit has not finished in time, whatever it says"


@pytest.mark.parametrize(
    ("printed", "num_whole"),
    [
        (f"Partition 0\n2 4\n{WALK}Partition 1\n7 5\n0\n1\n", 1),  # on the way
        (f"Partition 0\n2 4\n{WALK}Partition 1\n7 5\n", 1),  # its walk is to come
        ("Partition 0\n2 4\nPartition 1\n7 5", 1),  # half a line
        ("Partition 0\n2 4\nPartition 1\n7 5\n", 1),  # a walk may be to come
        (f"Partition 0\n2 4\nPartition 1\n7 5\n{WALK}", 2),
    ],
)
def test_of_a_text_that_is_torn_only_whole_classes_count(printed: str, num_whole: int) -> None:
    assert len(bench.read_printed(printed, (0, 9), is_torn=True)) == num_whole
    assert len(bench.read_printed(printed, (0, 9))) == 2


SUMMARY = ": c=1\n: u=1\n: p=merge\n: r=1\n- Number of Total Paths: 4\n- Time: {} [ms]\n- MSG: \n"


@pytest.mark.parametrize(
    ("printed", "options", "is_finished"),
    [
        (PAIR, "", None),
        (PAIR + "Completed\n", "", True),
        (PAIR + "Stopped by its clock\n", "", False),
        ("Completed\nStopped\n" + PAIR, "", False),
        # The authors' program tells how long it has searched, and stops at its first look at a clock that has run out.
        (SUMMARY.format(34999) + PAIR, "-t 35000", True),
        (SUMMARY.format(35000) + PAIR, "-t 35000", False),
        (SUMMARY.format(60000) + PAIR, "-t {time_limit_ms}", False),
        (SUMMARY.format(9) + PAIR, "-t 35000 -t 5", None),
        (SUMMARY.format(9).replace("p=merge", "p=naive") + PAIR, "-t 35000", None),
        (": c=1\n: p=merge\n" * 3000 + PAIR, "-t 35000", None),  # which took hours to look through
    ],
)
def test_a_program_says_itself_whether_its_search_was_complete(
    tmp_path: Path, printed: str, options: str, is_finished: bool | None
) -> None:
    outcome = run(f"{echo(tmp_path, printed)} {options}")
    assert (outcome.is_finished, outcome.num_anonymized) == (is_finished, 2)


def test_members_share_m_nodes_and_go_on_by_themselves(tmp_path: Path) -> None:
    """A walk up the long way, of which the first m nodes are shared: what comes behind them is not the program's."""
    domain = vr.grid_domain([".....", ".@@@.", "....."])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 4))], [(0, 2), (2, 2)])
    around = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (1, 4), (0, 4)]
    both = [*around, (0, 3), (0, 2), (0, 3), (0, 4)]
    head = f"Partition 0\n{domain.node((0, 2))} {domain.node((2, 2))}\n"

    def mac(walk: list[tuple[int, int]], m: int | None) -> float | None:
        return run(echo(tmp_path, head + "".join(f"{domain.node(cell)}\n" for cell in walk)), problem, m=m).mac

    # (0, 2) takes 4 alone and (2, 2) takes 8. Together 12, past (2, 2) to the goal, back to (0, 2) and to the goal.
    assert mac(both, None) == pytest.approx((8 / 4 + 4 / 8) / 2)
    # Of 3 nodes, 2 steps: (0, 2) goes back, 2 + 2 + 4; (2, 2) goes on. Of 1 node nothing is lost.
    for walk in (both, around, around[:3]):
        assert mac(walk, 3) == pytest.approx((4 / 4 + 0) / 2)
    # A walk of no more than m nodes is whole, and has to pass both. Without a walk: the cheapest, cut off at m.
    assert mac(both, 13) == mac([], None) == mac(both, None) and mac(both, 1) == mac([], 1) == 0.0
    for walk, m, words in ((around, 10, "not pass all members"), (around[:3], 4, "from the start to the goal")):
        with pytest.raises(VeilrouteError, match=words):
            mac(walk, m)


@pytest.mark.parametrize("is_file", [False, True])
def test_what_a_program_prints_is_bounded(tmp_path: Path, is_file: bool) -> None:
    """One byte more than may be is too much, on standard output and in the file."""
    write = "open(sys.argv[1], 'w').write" if is_file else "sys.stdout.write"
    text = f"{write}({PAIR!r} + 'x' * {(1 << 20) - len(PAIR) - (not is_file)})"  # the print of nothing is one byte
    command = echo(tmp_path, "", text) + " {output}" * is_file
    assert run(command, most_bytes=1 << 20).num_anonymized == 2
    with pytest.raises(VeilrouteError, match="has (printed|written) more than"):
        run(command, most_bytes=(1 << 20) - 1)
    with pytest.raises(VeilrouteError, match="printed more than 1 MB"):
        run(echo(tmp_path, "", "while True: print('x' * 1000)"), most_bytes=1 << 20)


DETACHED = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(99)
open(sys.argv[1], "w").write("x")
"""


def is_running(word: str) -> bool:
    """Whether a process has a word in its command."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in path.read_bytes():
                return True
    return False


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")


@needs_linux
def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    """A child in a session of its own, which holds what the program prints to."""
    path = tmp_path / "detached.py"
    path.write_text(DETACHED)
    outcome = run(shlex.join([sys.executable, str(path), str(tmp_path / "done")]), limit_s=1)
    assert (tmp_path / "done").exists() and not outcome.is_finished
    assert not is_running(str(path))


@needs_linux
def test_a_program_ends_with_the_process_that_runs_it(tmp_path: Path) -> None:
    path = tmp_path / "sleeper.py"
    path.write_text("import time\ntime.sleep(99)\n")
    code = (
        "import veilroute as vr\nfrom veilroute.bench import run_external\n"
        "problem = vr.Problem(vr.grid_domain(['....']), [vr.Trip((0, 0), (0, 3))], [(0, 1), (0, 2)])\n"
        f"run_external({shlex.join([sys.executable, str(path)])!r}, problem, vr.Privacy(2), seed=1, time_limit_s=90)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: is_running(str(path)))
    worker.kill()
    worker.wait()
    wait_until(lambda: not is_running(str(path)))
