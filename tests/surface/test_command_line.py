"""The commands of the contract, as somebody at a terminal or a script would use them."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from veilroute.domain import label_text
from veilroute.formats import Instance

PLAN_KEYS = {
    "status", "planner", "k", "ell", "m", "spread", "num_candidates", "num_coverable", "num_anonymized", "apr", "mac",
    "mac_lower_bound", "gap", "classes", "runtime_s", "peak_memory_mb",
}  # fmt: skip


def test_plan_prints_a_summary_that_says_what_was_reached(command: Command, building: Path) -> None:
    done = command("plan", building, "--start", "1,18", "--goal", "32,60", "--random-candidates", 8)
    assert done.code == 0
    assert "8 of 8 candidates hidden in" in done.out
    assert "proved optimal" in done.out
    assert "Add -o FILE" in done.out
    assert done.err == ""


def test_plan_json_has_the_keys_of_the_contract(command: Command, building: Path) -> None:
    done = command("plan", building, "--start", "1,18", "--goal", "32,60", "--random-candidates", 8, "-k", 3, "--json")
    result = json.loads(done.out)
    assert set(result) >= PLAN_KEYS
    assert result["status"] == "optimal"
    assert (result["k"], result["ell"], result["m"], result["spread"]) == (3, 0, None, "witness")
    assert result["gap"] == 0
    for group in result["classes"]:
        assert set(group) >= {"members", "cost", "anonymized", "route"}
        assert group["route"][0] == [1, 18]
        assert len(group["route"]) == group["cost"] + 1


def test_finite_m_gives_prefixes(command: Command, building: Path) -> None:
    ends = ("--start", "1,18", "--goal", "32,60")
    done = command("plan", building, *ends, "--random-candidates", 6, "--m", 5, "--json")
    result = json.loads(done.out)
    assert result["m"] == 5
    assert result["status"] == "optimal"
    assert all(len(group["prefix"]) == 5 and "route" not in group for group in result["classes"])


def test_explicit_candidates_and_options(command: Command, building: Path) -> None:
    cells = "2,2 30,10 15,25 20,40"
    done = command(
        "plan", building, "--start", "1,18", "--goal", "32,60", "--candidates", cells, "--movement", 8, "--sight", 6,
        "--spread", "all-pairs", "--ell", 3, "--planner", "pbp", "--partitioner", "exact", "--time-limit", 60,
        "--seed", 4, "--json",
    )  # fmt: skip
    result = json.loads(done.out)
    assert done.code == 0
    assert result["planner"] == "pbp"
    members = sorted(member for group in result["classes"] for member in group["members"])
    assert members == [[2, 2], [15, 25], [20, 40], [30, 10]]


def test_nothing_anonymized_is_exit_code_3(command: Command, building: Path) -> None:
    done = command(
        "plan", building, "--start", "1,18", "--goal", "32,60", "--candidates", "2,2 2,3", "--ell", 50
    )  # fmt: skip
    assert done.code == 3
    assert "Nothing can be hidden" in done.out
    assert done.err == ""


def test_route_prints_the_walk(command: Command, planned: Path) -> None:
    playbook = vr.read_playbook(planned)
    secret = playbook.candidates[3]
    assert isinstance(secret, tuple)
    typed = f"{secret[0]},{secret[1]}"
    done = command("route", planned, "--transit", typed, "--format", "json")
    result = json.loads(done.out)
    assert set(result) == {"route", "cost", "trip"}
    assert [tuple(cell) for cell in result["route"]] == list(playbook.route_for(secret))
    text = command("route", planned, "--transit", f"({secret[0]}, {secret[1]})")
    assert text.out.splitlines()[0] == "1,18"
    assert len(text.out.splitlines()) == len(result["route"])


def test_route_reads_the_secret_from_standard_input(
    command: Command, planned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    playbook = vr.read_playbook(planned)
    secret = playbook.candidates[0]
    assert isinstance(secret, tuple)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{secret[0]},{secret[1]}\n"))
    done = command("route", planned, "--transit", "-")
    assert done.code == 0
    assert len(done.out.splitlines()) == len(playbook.route_for(secret))


def test_audit_reports_in_words_and_in_json(command: Command, planned: Path) -> None:
    words = command("audit", planned)
    assert words.code == 0
    assert "Anonymity over time" in words.out
    result = json.loads(command("audit", planned, "--json").out)
    assert result["holds"] is True
    assert {"claim", "holds", "evidence"} <= set(result["claims"][0])
    assert {"m", "smallest_class", "revealed"} <= set(result["anonymity"][0])


def test_audit_finds_a_violation_and_exits_with_1(command: Command, planned: Path, tmp_path: Path) -> None:
    data = json.loads(planned.read_bytes())
    data["claims"]["mac"] /= 2
    lying = tmp_path / "lying.json"
    lying.write_text(json.dumps(data))
    done = command("audit", lying)
    assert done.code == 1
    assert "VIOLATED" in done.out


def test_a_playbook_without_its_map_is_audited_with_it(command: Command, building: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    ends = ("--start", "1,18", "--goal", "32,60")
    command("plan", building, *ends, "--random-candidates", 6, "--no-embed", "-o", path)
    assert command("audit", path).code == 2
    assert command("audit", path, "--domain", building).code == 0
    other = command("audit", path, "--domain", building, "--movement", 8)
    assert other.code == 2
    assert "SHA-256" in other.err


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_draw_writes_pictures(command: Command, planned: Path, tmp_path: Path, suffix: str) -> None:
    done = command("draw", planned, "-o", tmp_path / f"picture{suffix}")
    assert done.code == 0
    assert (tmp_path / f"picture{suffix}").stat().st_size > 5000


def test_convert_between_formats(command: Command, building: Path, tmp_path: Path) -> None:
    done = command(
        "convert", building, "a.json", "--start", "1,18", "--goal", "32,60", "--random-candidates", 6, "-k", 3
    )  # fmt: skip
    assert done.code == 0
    lossy = command("convert", "a.json", "b.in")
    assert lossy.code == 0
    assert "privacy, labels" in lossy.err
    command("convert", "a.json", "c.map")
    assert vr.read_movingai(tmp_path / "c.map").sha256 == vr.read_movingai(building).sha256
    first = json.loads(command("plan", "a.json", "--json").out)
    second = json.loads(command("plan", "b.in", "-k", 3, "--json").out)
    assert first["k"] == 3
    assert first["mac"] == pytest.approx(second["mac"])


def test_scenarios_give_start_and_goal(command: Command, building: Path, tmp_path: Path) -> None:
    lines = "version 1\n0\tbuilding.map\t64\t36\t18\t1\t60\t32\t50\n0\tbuilding.map\t64\t36\t2\t2\t60\t32\t50\n"
    (tmp_path / "building.map.scen").write_text(lines)
    first = json.loads(command("plan", "building.map.scen", "--random-candidates", 4, "--json").out)
    assert first["classes"][0]["route"][0] == [1, 18]
    second = command("plan", "building.map.scen", "--scenario", 1, "--random-candidates", 4, "--json")
    assert json.loads(second.out)["classes"][0]["route"][0] == [2, 2]
    assert command("plan", "building.map.scen", "--scenario", 2, "--random-candidates", 4).code == 2


def test_several_trips_in_a_file_keep_one_partition(command: Command, tmp_path: Path) -> None:
    rows = vr.generate_rooms(20, 30, seed=4).grid
    assert rows is not None
    cells = [list(map(int, cell)) for cell in rows.cells[::23].tolist()][:8]
    data = {
        "format": "veilroute-instance/1",
        "domain": {"grid": {"map": rows.rows()}},
        "trips": [{"start": cells[0], "goal": cells[1]}, {"start": cells[1], "goal": cells[2], "weight": 2}],
        "candidates": cells[3:],
    }
    (tmp_path / "trips.json").write_text(json.dumps(data))
    result = json.loads(command("plan", "trips.json", "-o", "book.json", "--json").out)
    assert len(result["classes"][0]["routes"]) == 2
    assert len(result["mac_by_trip"]) == 2
    assert command("audit", "book.json").code == 0
    assert command("plan", "trips.json", "--start", "1,1").code == 2


def test_route_tells_labels_apart(command: Command, tmp_path: Path) -> None:
    names = ["s", "(a)", "b", "a", "c", "g", "[/x]"]
    edges = [[0, 1, 1], [1, 2, 1], [2, 5, 1], [0, 3, 1], [3, 4, 1], [4, 5, 1], [0, 6, 1], [6, 5, 1]]
    data = {
        "format": "veilroute-instance/1",
        "domain": {"graph": {"num_nodes": 7, "edges": edges, "labels": names}},
        "trips": [{"start": "s", "goal": "g"}],
        "candidates": ["(a)", "b", "a", "c", "[/x]"],
    }
    (tmp_path / "names.json").write_text(json.dumps(data))
    assert command("plan", "names.json", "-o", "book[red].json").code == 0
    assert command("route", "book[red].json", "--transit", "a").out.split() == ["s", "a", "c", "g"]
    assert command("route", "book[red].json", "--transit", "(a)").out.split() == ["s", "(a)", "b", "g"]


def test_help_and_version(command: Command) -> None:
    assert "Commands:" in command().out
    assert "get" in command("maps").out
    assert "plan" in command("--help").out
    assert command("--version").out.strip() == f"veilroute {vr.__version__}"
    assert command("plan", "--help").code == 0


def test_demo_leaves_playbooks_audits_and_pictures(command: Command, tmp_path: Path) -> None:
    done = command("demo", "--out", tmp_path / "tour")
    assert done.code == 0
    names = {path.name for path in (tmp_path / "tour").iterdir()}
    for stop in ("building", "streets"):
        assert {f"{stop}.json", f"{stop}-audit.txt", f"{stop}-audit.json", f"{stop}.png"} <= names
        assert command("audit", tmp_path / "tour" / f"{stop}.json").code == 0


def test_ctrl_c_writes_the_best_so_far(tmp_path: Path) -> None:
    """A real process, a real SIGINT: exit code 130 and a playbook that passes the audit."""
    domain = vr.generate_streets(70, 70, seed=3)
    start = domain.label(0)
    # Two dozen candidates in four clusters, under witness spread: tens of thousands of sets to price.
    clusters = [node for corner in (300, 1500, 2700, 3900) for node in range(corner, corner + 6)]
    problem = vr.Problem(domain, [vr.Trip(start, start)], clusters, vr.WithinDistance(150))
    privacy = vr.Privacy(k=3, ell=800)
    vr.write_instance(Instance(problem, privacy), tmp_path / "long.json")
    # Compiles and caches the kernels, so that the process spends its time on the problem.
    vr.solve(vr.Problem(domain, [vr.Trip(start, start)], clusters[::4], vr.WithinDistance(150)), privacy)
    process = subprocess.Popen(
        [sys.executable, "-m", "veilroute", "plan", "long.json", "-o", "best.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    time.sleep(5)
    assert process.poll() is None, "the instance was meant to take longer"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert b"best playbook so far" in err
    best = vr.read_playbook(tmp_path / "best.json")
    assert best.status == "feasible"
    assert best.apr > 0.5
    assert vr.audit(best).holds


def said_of_failures(err: str) -> str:
    """Standard error without the lines of progress that a busy machine writes."""
    return "".join(line for line in err.splitlines(keepends=True) if not re.match(r"veilroute: \d+ s: ", line))


@pytest.mark.parametrize(
    "arguments", [("--version",), ("audit", "playbook.json"), ("audit", "playbook.json", "--json")]
)
def test_a_closed_pipe_does_not_look_like_a_violation(planned: Path, arguments: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "veilroute", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=planned.parent,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, err
    assert said_of_failures(err.decode()) == ""


def test_plan_goes_on_when_nobody_reads(building: Path, tmp_path: Path) -> None:
    command = (
        f"{sys.executable} -m veilroute plan {building.name} --start 1,18 --goal 32,60 --random-candidates 5 -o b.json"
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | true"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, said_of_failures(done.stderr)) == (0, "")
    assert vr.read_playbook(tmp_path / "b.json").apr == 1


def test_closed_streams_are_no_reason_to_crash(planned: Path) -> None:
    for line, code in (
        ("audit playbook.json >&-", 0),
        ("audit nothing.json 2>&-", 2),
        ("route playbook.json --transit - <&-", 2),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m veilroute {line}"],
            cwd=planned.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (line, done.stderr)
        assert "Traceback" not in done.stderr + done.stdout


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
    member = book.classes[0].members[0]
    typed = label_text(member)
    broken = broken_on_the_map(book)[how]
    broken.write("broken.json")
    assert command("route", planned, "--transit", typed).code == 0
    done = command("route", "broken.json", "--transit", typed)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"veilroute: {vr.BrokenPromiseError()}\n"
    assert command("audit", "broken.json").code == 1
    exposed = command("route", "broken.json", "--transit", typed, "--expose")
    assert exposed.out == "".join(f"{label_text(node)}\n" for node in broken.classes[0].routes[0])
    # Without the map only the playbook itself can be looked at.
    broken.write("bare.json", embed_domain=False)
    assert command("route", "bare.json", "--transit", typed).code == 0


def test_a_class_that_is_too_small_gives_no_route(command: Command, planned: Path) -> None:
    book = vr.read_playbook(planned)
    first, *rest = book.classes
    replace(book, classes=(replace(first, members=first.members[:1]), *rest)).write("broken.json", embed_domain=False)
    done = command("route", "broken.json", "--transit", label_text(first.members[0]))
    assert (done.code, done.out) == (1, "")


def test_the_objective_is_chosen_on_the_command_line(command: Command, tmp_path: Path, building: Path) -> None:
    words = ("--start", "1,18", "--goal", "32,60", "--random-candidates", 14, "--seed", 2, "-k", 3)
    found = {}
    for objective in ("mac", "total"):
        out = tmp_path / f"{objective}.json"
        code, text, _ = command("plan", building, *words, "--objective", objective, "-o", out, "--json")
        found[objective] = json.loads(text)
        assert (code, found[objective]["objective"]) == (0, objective)
        assert command("audit", out, "--strict").code == 0
    assert found["mac"]["mac"] <= found["total"]["mac"]
    assert found["total"]["total_extra"] <= found["mac"]["total_extra"]
    assert found["total"]["total_extra_lower_bound"] == found["total"]["total_extra"]
    summary = command("plan", building, *words, "--objective", "total").out
    assert re.search(
        r"All routes together cost \d+ \(\d+\.\d%\) more, proved optimal; the worst single detour is \d+\.", summary
    )
    code, _, said = command("plan", building, *words, "--objective", "least")
    assert (code, said) == (2, "veilroute: --objective: expected mac or total, got 'least'\n")
