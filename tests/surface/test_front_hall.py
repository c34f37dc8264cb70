"""One request, several doors: options, problem files and Python ask for the same, and get the same bytes."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import CycloptsError, MissingArgumentError

import veilroute as vr
from commands import Command, assert_refused
from studio_client import Server
from veilroute.app import (
    AuditRequest,
    CompareRequest,
    PlanRequest,
    ProblemRequest,
    RiskRequest,
    SceneRequest,
    make_request,
    override,
    problem_text,
    read_problem,
)
from veilroute.app.audit import audit, risk
from veilroute.app.compare import compare
from veilroute.app.export import scene
from veilroute.app.plan import plan
from veilroute.base.io import dump_canonical
from veilroute.cli import COMMANDS, find_app, option_of

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "tests" / "golden" / "inputs"
OLD = "1c8f6de"  #: the commit whose pages show the command lines that must stay understood

HALL = {"map": "hall.map", "start": "0,0", "goal": "11,25", "candidates": "2,2 3,10 2,16 4,22 8,4 9,9 9,15 8,20"}
ROOMS = {"map": "hall.map", "start": "0,0", "goal": "11,25", "random_candidates": 9}
TOWN = {"map": "town.osm", "places": "customers.csv", "goal": "Depot"}
#: Ten requests that use every key at least once; paths are names of files in tests/golden/inputs, or made here.
REQUESTS: dict[str, dict[str, Any]] = {
    "counted": {**HALL, "k": 3, "apart": "5", "until": "end", "spread": "all-pairs", "workers": "1"},
    "paper": {
        **HALL, "planner": "pbp", "partitioner": "merge-bb", "merge_order": "random", "heuristic": "tree",
        "engine": "astar", "seed": 5, "time_limit": "none",
    },
    "parameters": {**HALL, "planner": "pbp", "partitioner": "df-bb", "options": {"branch_order": "join-first"}},
    "risk": {**HALL, "risk": 0.5, "apart": "4", "mechanism": "randomised", "objective": "mac"},
    "prior": {**HALL, "risk": 0.6, "prior": "weights.csv"},
    "sight": {**ROOMS, "k": 2, "line_of_sight": 4.0, "movement": 8, "seed": 1, "until": "20", "planner": "m-pbp"},
    "scenario": {
        "map": "hall.scen", "scenario": 1, "random_candidates": 5, "seen_within": 2.0, "contingencies": "worst 2",
    },
    "earth": {**ROOMS, "origin": "60.17,24.94", "cell": 10.0, "apart": "120 m", "k": 2},
    "doors": {
        **TOWN, "at": "door", "side": "kerb", "traffic": "left", "warn_beyond": 50.0, "k": 2, "apart": "100",
        "apart_measure": "driving",
    },
    "seen": {**TOWN, "seen_within": 60.0, "seen_measure": "driving", "at": "junction"},
    "fleet": {**TOWN, "purpose": "fleet", "orders_per_day": 2.0, "customers": "terms.csv"},
    "ledger": {**HALL, "k": 2, "file": "week.jsonl", "since": "2026-01-01", "enter": True},
    "reuse": {**HALL, "reuse": "earlier.json"},
}  # fmt: skip
FILES = ("map", "prior", "customers", "reuse", "file", "places")


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Path:
    """A folder with the maps and tables that the requests name."""
    for path in INPUTS.iterdir():
        (tmp_path / path.name).symlink_to(path)
    rows = [f'"{cell}",{at}' for at, cell in enumerate(HALL["candidates"].split(), 1)]
    (tmp_path / "weights.csv").write_text("\n".join(["place,weight", *rows]) + "\n", encoding="ascii")
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))
    assert command("plan", "hall.map", *options({key: HALL[key] for key in HALL if key != "map"}), "-o", "earlier.json")
    assert command("ledger", "new", "week.jsonl").code == 0
    return tmp_path


def options(asked: dict[str, Any]) -> list[str]:
    """The request as it is typed."""
    words: list[str] = []
    for key, value in asked.items():
        if key == "options":
            words += [word for name, one in value.items() for word in ("--option", f"{name}={one}")]
        else:
            words += [option_of(key)] if value is True else [option_of(key), str(value)]
    return words


def test_the_requests_use_every_key() -> None:
    known = {
        key
        for part in ("problem", "privacy", "stops", "grid", "method", "ledger")
        for key in vars(getattr(PlanRequest(), part))
    }
    assert {key for asked in REQUESTS.values() for key in asked} == known
    assert len(REQUESTS) >= 10


@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_request_gives_the_same_bytes(name: str, inputs: Path, command: Command) -> None:
    asked = REQUESTS[name]
    request = override(PlanRequest(), asked)
    # A problem file, which says it all again.
    (inputs / "trip.toml").write_text(problem_text(request), encoding="utf-8")
    said = read_problem(inputs / "trip.toml", PlanRequest)
    unsaid = {key: value for key, value in asked.items() if key != "enter"}
    made = {
        "file": plan(override(said, {"enter": False})).playbook.to_json(),
        "python": plan(override(PlanRequest(), unsaid)).playbook.to_json(),
    }
    typed = command("plan", *options(unsaid), "-o", "typed.json")
    assert typed.code == 0, typed.err
    made["options"] = Path("typed.json").read_bytes()
    assert made["file"] == made["python"] == made["options"]
    if "enter" in asked:  # from the file itself, which enters it in the ledger as well
        assert command("plan", "trip.toml", "-o", "entered.json").code == 0
        assert Path("entered.json").read_bytes() == made["file"]
        assert len(vr.read_ledger("week.jsonl").entries) == 1
    assert said.privacy.k == request.privacy.k and said.stops == request.stops


def test_audits_risks_comparisons_and_scenes_in_python_are_what_the_commands_print(
    inputs: Path, command: Command
) -> None:
    """And a problem file says what was meant also with keys that only planning needs."""
    (inputs / "trip.toml").write_text(problem_text(override(PlanRequest(), {**HALL, "k": 2, "time_limit": 60})))
    asked, book = read_problem(inputs / "trip.toml", ProblemRequest), Path("earlier.json")
    against = AuditRequest(playbooks=(book,), against=asked)
    linked = AuditRequest(playbooks=(book, book), trips="expected")
    compared = CompareRequest(asked=asked, ks=(2, 3), budget=0.5)
    made: list[tuple[dict[str, Any], tuple[object, ...]]] = [
        (audit(against).to_dict(), ("audit", book, "--against", "trip.toml")),
        (audit(linked).to_dict(), ("audit", book, book, "--trips", "expected")),
        (risk(RiskRequest(playbook=book, observer="counting")).to_dict(), ("risk", book, "--adversary", "counting")),
        (compare(compared).to_dict(), ("compare", "trip.toml", "-k", "2,3", "--budget", "50")),
    ]
    for found, words in made:
        assert dump_canonical(found).decode() == command(*words, "--json").out, words
    for file in (book, Path("hall.map"), Path("trip.toml")):
        assert command("scene", file, "-o", "scene.json").code == 0
        kind = asked if file.suffix == ".toml" else ProblemRequest()
        assert dump_canonical(scene(SceneRequest(file=file, asked=kind))) == Path("scene.json").read_bytes()
    with pytest.raises(vr.InvalidInputError, match="one playbook alone"):
        audit(AuditRequest(playbooks=(book, book), against=asked))


#: What clients of the studio may not say: it reaches out of the studio, or writes into a file of the server's owner.
NOT_OVER_HTTP = ("workers", "options", "enter", "time_limit")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("studio") / "data", "--workers", "1", "--memory", "1500") as running:
        yield running


# A scenario over HTTP is one file, and the map that it names is another.
@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "scenario"])
def test_the_studio_gives_the_same_bytes(name: str, inputs: Path, command: Command, server: Server) -> None:
    asked = {key: value for key, value in REQUESTS[name].items() if key not in NOT_OVER_HTTP}
    assert command("plan", *options(asked), "-o", "typed.json").code == 0
    homes = {key: part for part, spec in vars(PlanRequest()).items() for key in vars(spec)}
    params: dict[str, Any] = {}
    for key, value in asked.items():
        sent = server.file(Path(value).name, (inputs / value).read_bytes()) if key in FILES else value
        part = params if homes[key] == "problem" else params.setdefault(homes[key], {})
        part[key] = sent
    job = server.run("plan", **params, time_limit_s=20)
    assert job["state"] == "done", job
    made = server.ask("GET", f"/api/jobs/{job['id']}/results/playbook.json").body
    assert made == Path("typed.json").read_bytes()


def test_a_request_as_json_is_that_of_the_file() -> None:
    asked = {"map": "a.map", "privacy": {"k": 3, "apart": 8}, "stops": {"side": "kerb"}, "method": {"time_limit": 60}}
    request = make_request(asked, PlanRequest)
    assert (request.privacy.k, request.privacy.apart, request.method.time_limit) == (3, "8", "60")
    with pytest.raises(vr.InvalidInputError, match=r"privacy\.kk: expected a key that is known; did you mean k\?"):
        make_request({"privacy": {"kk": 3}}, PlanRequest)
    with pytest.raises(vr.InvalidInputError, match=r"privacy\.k: expected another value"):
        make_request({"privacy": {"k": "three"}}, PlanRequest)


def test_options_win_over_the_file_and_each_value_says_where_it_came_from(inputs: Path, command: Command) -> None:
    (inputs / "trip.toml").write_text('map = "hall.map"\nstart = "0,0"\n[privacy]\nk = 3\napart = 5\n')
    told = command("plan", "trip.toml", "-k", 2, "--explain").out
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines()}
    assert rows["privacy.k"] == ["2", "command", "line"]
    assert rows["privacy.apart"] == ["5", "problem", "file"]
    assert rows["privacy.spread"] == []
    assert command("plan", "trip.toml", "--set", "stops.at=junction", "--write-problem", "again.toml").code == 0
    assert 'at = "junction"' in Path("again.toml").read_text()
    (inputs / "trip.toml").write_text('mapp = "hall.map"\n')
    assert_refused(command("plan", "trip.toml"), "trip.toml", "did you mean map?")
    assert_refused(command("plan", "hall.map", "--set", "planer=cbp"), "did you mean planner?")


def old_pages() -> Iterator[str]:
    """The pages of the commit whose command lines stay understood."""
    shown = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", OLD, "README.md", "docs"], cwd=ROOT, capture_output=True, text=True
    )
    if shown.returncode:
        pytest.skip("the history is not here: this is no clone")
    for name in shown.stdout.split():
        if name.endswith((".md", ".rst")):
            done = subprocess.run(
                ["git", "show", f"{OLD}:{name}"], cwd=ROOT, capture_output=True, text=True, check=True
            )
            yield done.stdout


def old_command_lines() -> list[list[str]]:
    """Every command line that these pages show, in examples and in running text."""
    found = []
    for text in old_pages():
        lines = re.findall(r"^\s*\$ (veilroute (?:.*\\\n)*.*)$", text, re.MULTILINE)
        lines += [line.replace("\n", " ") for line in re.findall(r"``?(veilroute [a-z][^`]*)``?", text)]
        for line in lines:
            words = shlex.split(re.sub(r"\\\n", " ", line).partition(" | ")[0].partition(" > ")[0], comments=True)
            if not any(re.search(r"^[A-Z]{2,}|\.\.\.|[\[\]]", word) for word in words):
                found.append(words[1:])
    return found


def test_every_command_line_of_the_old_pages_is_understood() -> None:
    lines = [words for words in old_command_lines() if words]
    assert len(lines) > 100
    refused = []
    for words in lines:
        name = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), None)
        if name is None:
            refused.append((words, "no such command"))
            continue
        rest = words[len(name.split()) :]
        if "--help" in rest or not rest or "--reading" in rest:  # which the changelog took leave of
            continue
        try:
            find_app(name).parse_args(rest, exit_on_error=False, print_error=False)
        except MissingArgumentError:
            continue  # running text names a command and one option
        except CycloptsError as error:
            refused.append((words, str(error)))
    assert not refused, refused
