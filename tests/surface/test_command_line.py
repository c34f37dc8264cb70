"""The program as somebody at a terminal or a script uses it: signals, pipes, and routes that are refused.

What commands write for programs is held by tests/golden.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, said_of_failures
from veilroute.domain import label_text

PROGRAM = [sys.executable, "-m", "veilroute"]


def test_a_playbook_without_its_map_is_audited_with_it(command: Command, planned: Path, building: Path) -> None:
    vr.read_playbook(planned).write("bare.json", embed_domain=False)
    assert command("audit", "bare.json").code == 2
    assert command("audit", "bare.json", "--domain", building).code == 0
    other = command("audit", "bare.json", "--domain", building, "--movement", 8)
    assert other.code == 2 and "SHA-256" in other.err


def test_route_tells_labels_apart(command: Command) -> None:
    names = ["s", "(a)", "b", "a", "c", "g", "[/x]"]
    edges = [[0, 1, 1], [1, 2, 1], [2, 5, 1], [0, 3, 1], [3, 4, 1], [4, 5, 1], [0, 6, 1], [6, 5, 1]]
    data = {
        "format": "veilroute-instance/1",
        "domain": {"graph": {"num_nodes": 7, "edges": edges, "labels": names}},
        "trips": [{"start": "s", "goal": "g"}],
        "candidates": ["(a)", "b", "a", "c", "[/x]"],
    }
    Path("names.json").write_text(json.dumps(data))
    assert command("plan", "names.json", "-o", "book[red].json").code == 0
    assert command("route", "book[red].json", "--transit", "a").out.split() == ["s", "a", "c", "g"]
    assert command("route", "book[red].json", "--transit", "(a)").out.split() == ["s", "(a)", "b", "g"]


def test_help_version_and_demo(command: Command) -> None:
    for arguments in ((), ("maps",), ("--help",), ("plan", "--help"), ("--version",)):
        done = command(*arguments)
        assert done.code == 0 and done.out and not done.err
    assert command("--version").out.strip() == f"veilroute {vr.__version__}"
    assert command("demo", "--out", "tour").code == 0
    for stop in ("building", "streets"):
        assert {f"{stop}.json", f"{stop}-audit.txt", f"{stop}.png"} <= {path.name for path in Path("tour").iterdir()}
        assert command("audit", f"tour/{stop}.json").code == 0


def test_ctrl_c_writes_the_best_so_far(tmp_path: Path) -> None:
    """A real process, a real SIGINT: exit code 130 and a playbook that passes the audit."""
    domain = vr.generate_streets(70, 70, seed=3)
    start = domain.label(0)
    # Two dozen candidates in four clusters, under witness spread: tens of thousands of sets to price.
    clusters = [node for corner in (300, 1500, 2700, 3900) for node in range(corner, corner + 6)]
    problem = vr.Problem(domain, [vr.Trip(start, start)], clusters, vr.WithinDistance(150))
    privacy = vr.Privacy(k=3, ell=800)
    vr.write_instance(vr.Instance(problem, privacy), tmp_path / "long.json")
    # Compiles and caches the kernels, so that the process spends its time on the problem.
    vr.solve(vr.Problem(domain, [vr.Trip(start, start)], clusters[::4], vr.WithinDistance(150)), privacy)
    words = [*PROGRAM, "plan", "long.json", "-o", "best.json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    time.sleep(5)
    assert process.poll() is None, "the instance was meant to take longer"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert b"best playbook so far" in err
    best = vr.read_playbook(tmp_path / "best.json")
    assert (best.status, best.apr > 0.5, vr.audit(best).holds) == ("feasible", True, True)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("audit playbook.json >&-", 0),
        ("audit nothing.json 2>&-", 2),
        ("route playbook.json --transit - <&-", 2),
        ("plan building.map --start 1,18 --goal 32,60 --random-candidates 5 -o out/b.json | true", 0),
        ("audit playbook.json --json | true", 0),  # a violation would be 1
        ("--version | true", 0),
    ],
)
def test_pipes_that_nobody_reads_and_closed_streams_are_no_reason_to_crash(planned: Path, line: str, code: int) -> None:
    (planned.parent / "out").mkdir()
    shell = ["bash", "-c", f"set -o pipefail; {' '.join(PROGRAM)} {line}"]
    done = subprocess.run(shell, cwd=planned.parent, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    if line.endswith("true"):
        assert said_of_failures(done.stderr) == ""


def broken_on_the_map(book: vr.Playbook) -> dict[str, vr.Playbook]:
    """Playbooks whose first class does not hide its members, as only the map shows."""
    first, *rest = book.classes
    route = first.routes[0]

    def with_nodes(*nodes: object) -> vr.Playbook:
        changed = replace(first, routes=(replace(route, nodes=nodes),))
        return replace(book, classes=(changed, *rest))

    return {
        "no walk": with_nodes(route[0], route[-1]),
        "passes a member by": with_nodes(*rest[0].routes[0]),
        "too close": replace(book, privacy=replace(book.privacy, ell=1e6)),
        "too close for all": replace(book, privacy=replace(book.privacy, ell=1e6, spread="all-pairs")),
        "cannot be seen": replace(book, visibility=vr.Explicit({})),
    }


@pytest.mark.parametrize("how", ["no walk", "passes a member by", "too close", "too close for all", "cannot be seen"])
def test_no_route_for_a_class_that_does_not_hide(command: Command, planned: Path, how: str) -> None:
    book = vr.read_playbook(planned)
    typed = label_text(book.classes[0].members[0])
    broken = broken_on_the_map(book)[how]
    broken.write("broken.json")
    assert command("route", planned, "--transit", typed).code == 0
    assert command("route", "broken.json", "--transit", typed) == (1, "", f"veilroute: {vr.BrokenPromiseError()}\n")
    assert command("audit", "broken.json").code == 1
    exposed = command("route", "broken.json", "--transit", typed, "--expose")
    assert exposed.out == "".join(f"{label_text(node)}\n" for node in broken.classes[0].routes[0])
    # Without the map only the playbook itself can be looked at: there a class that is too small is seen.
    broken.write("bare.json", embed_domain=False)
    assert command("route", "bare.json", "--transit", typed).code == 0
    small = replace(book.classes[0], members=book.classes[0].members[:1])
    replace(book, classes=(small, *book.classes[1:])).write("small.json", embed_domain=False)
    assert command("route", "small.json", "--transit", typed)[:2] == (1, "")
