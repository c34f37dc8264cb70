"""`veilroute replan` and `plan --contingencies`."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from ledger_weeks import canonical
from street_samples import little_book, little_problem
from veilroute.auditing import ClaimVerdict
from veilroute.domain import label_text
from veilroute.formats import Instance


@pytest.fixture
def town(tmp_path: Path) -> Path:
    path = tmp_path / "town.json"
    little_book().write(path)
    return path


def test_the_rest_is_printed_and_written(command: Command, town: Path) -> None:
    asked = ["replan", town, "--class", 1, "--at", 101, "--closed", "101,Branch North;105,106"]
    assert command(*asked, "-o", "rest.json").code == 0
    written = json.loads(Path("rest.json").read_bytes())
    printed = json.loads(command(*asked, "--json").out)
    assert printed.pop("audit")["holds"] is True and printed == written
    assert written["playbook_sha256"] == vr.read_playbook(town).sha256
    Path("traffic.csv").write_text("from;to;cost;oneway\n101;Branch North;900;no\n", encoding="ascii")
    done = json.loads(command("replan", town, "--class", 1, "--at", 105, "--costs", "traffic.csv", "--json").out)
    assert done["new_costs"] == [[101, 102, 900], [102, 101, 900]]


def test_a_street_is_closed_by_its_name(command: Command, town: Path) -> None:
    """And places are typed as people call them, with their spaces and without semicolons."""
    asked = ("replan", town, "--class", 1, "--at", 105, "--json", "--closed")
    by_name = json.loads(command(*asked, "koulukuja").out)
    assert by_name["closed"] == [[102, 106], [106, 110]]
    assert by_name == json.loads(command(*asked, "Branch North,106; 106,110").out)
    assert json.loads(command(*asked, "101,Branch North").out)["closed"] == [[101, 102]]
    command("ledger", "new", "week.jsonl")
    assert command("ledger", "add", "week.jsonl", town, "--date", "2026-11-16").code == 0
    what_if = ("ledger", "what-if", "week.jsonl", "--playbook", town, "--json", "--remove")
    assert command(*what_if, "Branch Harbour") == command(*what_if, "111")
    assert command(*what_if, "Branch Harbour Branch Yard") == command(*what_if, "111 103")
    refused = command(*what_if, "Branch Harbor; Branch Yart")
    assert refused.err.count("\n") == 2 and "'Branch Harbour'" in refused.err and "'Branch Yard'" in refused.err


def test_a_replan_is_audited_from_its_file(command: Command, town: Path) -> None:
    """F12: a third party audits a replan."""
    asked = ["replan", town, "--class", 1, "--at", 101, "--closed", "101,102"]
    assert command(*asked, "-o", "rest.json").code == 0
    audit = ("audit", town, "--replan")
    done = command(*audit, "rest.json", "--strict")
    assert (done.code, done.err) == (0, ""), done
    told = json.loads(command(*audit, "rest.json", "--json").out)
    assert (told["holds"], told["verdict"]) == (True, "holds")
    honest = json.loads(Path("rest.json").read_bytes())
    for name in ("going_on", "giving_up"):
        forged = honest | {name: honest[name] | {"seen": honest[name]["seen"] | {"num_possible": 7}}}
        for code, said in ((1, "1 claim violated (observer)"), (0, "UNPROVED  observer")):
            Path("forged.json").write_bytes(canonical(forged))
            done = command(*audit, "forged.json")
            assert (done.code, said in done.out) == (code, True), done
            forged[name].pop("seen", None)
        assert command(*audit, "forged.json", "--strict").code == 1
    Path("forged.json").write_text(json.dumps(honest, indent=2))
    assert "VIOLATED  file" in command(*audit, "forged.json").out
    little_book(m=3).write("other.json")
    for words, said in (
        ((town, "--replan", "rest.json", "--day", "rest.json"), "--day: expected one playbook"),
        (("--replan", "rest.json"), "--replan: expected one playbook"),
        ((town, "--replan", town), "not a replan"),
        (("other.json", "--replan", "rest.json"), "a replan of another playbook"),
    ):
        assert_refused(command("audit", *words), said)


def test_what_cannot_be_written_is_not_entered_either(command: Command) -> None:
    """Routes that part are no single track: said before the trip stands in the ledger."""
    little_book(m=3).write("parting.json")
    command("ledger", "new", "week.jsonl")
    assert command("ledger", "add", "week.jsonl", "parting.json").code == 0
    before = Path("week.jsonl").read_bytes()
    ask = ("replan", "parting.json", "--class", 1, "--at", 105, "--closed", "105,101", "--ledger", "week.jsonl")
    assert_refused(command(*ask, "-o", "rest.gpx"), "--out: expected a .json or .txt file")
    assert Path("week.jsonl").read_bytes() == before
    assert command(*ask, "-o", "rest.txt").code == 0


def test_nothing_is_chosen_or_written_where_too_few_stay(command: Command, town: Path) -> None:
    closed = "101,102 103,107 104,108 106,102"
    asked = ["replan", town, "--class", 1, "--at", 105, "--closed", closed, "-o", "rest.json"]
    done = command(*asked)
    assert done.code == 3 and "--go-on: " in done.out and "--give-up: " in done.out
    assert not Path("rest.json").exists()
    assert json.loads(command(*asked, "--json").out)["route"] is None
    assert command(*asked, "--give-up").code == 0
    assert json.loads(Path("rest.json").read_bytes())["choice"] == "give-up"
    stuck = command("replan", town, "--class", 1, "--at", 105, "--closed-nodes", "101 106 109", "--go-on")
    assert (stuck.code, "No road leads to the goal any more" in stuck.out) == (3, True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--closed", "101"], "--closed: '101' was not found. Name a road by a street's name, or two places"),
        (["--closed", "nowhere,101"], "--closed: 'nowhere' was not found. Write LAT,LON such as"),
        ([], "--closed: expected roads by a street's name, A,B or A>B, or --closed-nodes, or --costs"),
        (["--closed", "101,102", "--go-on", "--give-up"], "--go-on: expected either --go-on or --give-up"),
        (["--closed", "101,102", "-o", "rest.pdf"], "replan format: expected one of"),
        (["--closed", "101,102", "--after", "town.json"], "town.json: not a replan"),
        (["--costs", "costs.csv"], "costs: expected edges of the map that are open, got '101 to 112'"),
    ],
)
def test_bad_input_is_one_line(command: Command, town: Path, words: list[str], problem: str) -> None:
    Path("costs.csv").write_text("from,to,cost\n101,112,3\n", encoding="ascii")
    assert_refused(command("replan", town, "--class", 1, "--at", 105, *words), f"veilroute: {problem}")


def test_cells_are_typed_with_commas_and_a_detour_is_replanned(command: Command, planned: Path) -> None:
    way = vr.read_playbook(planned).hidden_classes[0].shared(0)
    position = next(i for i, node in enumerate(way) if way.count(node) == 1 and i > 2)
    here, there = (label_text(cell) for cell in way[position : position + 2])
    ask = ("replan", planned, "--class", 1, "--json")
    made = json.loads(command(*ask, "--at", here, "--closed", f"{here},{there}", "-o", "rest.json").out)
    assert made["position"] == position
    at, then = (label_text(tuple(cell)) for cell in made["route"][1:3])
    again = command(*ask, "--at", at, "--position", position + 1, "--after", "rest.json", "--closed", f"{at}>{then}")
    assert json.loads(again.out)["after"]["route"] == made["route"]


def test_a_replan_that_fails_its_audit_is_not_written(
    command: Command, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = ClaimVerdict("walk", False, "through a wall")
    monkeypatch.setattr("veilroute.cli.replan.audit_replan", lambda *_, **__: (verdict,))
    done = command("replan", town, "--class", 1, "--at", 101, "--closed", "101,102", "-o", "rest.json")
    assert (done.code, "VIOLATED walk: through a wall" in done.out) == (1, True)
    assert not Path("rest.json").exists()


def test_a_playbook_that_breaks_its_promise_is_not_replanned(command: Command, town: Path) -> None:
    data = json.loads(town.read_bytes())
    data["privacy"]["ell"] = 5000
    town.write_text(json.dumps(data), encoding="utf-8")
    done = command("replan", town, "--class", 1, "--at", 101, "--closed", "101,102", "-o", "rest.json")
    assert (done.code, done.out, Path("rest.json").exists()) == (3, "", False)


def test_contingencies_are_planned_and_audited(command: Command) -> None:
    vr.write_instance(Instance(little_problem(), vr.Privacy(k=2, ell=100, measure="straight")), "town.json")
    for wanted in ("101,102 110,111", "worst 2"):
        done = command("plan", "town.json", "--contingencies", wanted, "-o", "book.json", "--json")
        assert len(json.loads(done.out)["contingencies"]) == 2
        assert command("audit", "book.json").code == 0
    assert command("export", "book.json", "-o", "map.html").code == 0
    page = Path("map.html").read_text(encoding="utf-8")
    packed = page[page.index('id="scene">') + 11 : page.index("</script>")]
    (trip,) = json.loads(gzip.decompress(base64.b64decode(packed)))["playbook"]["trips"]
    assert [len(detour["closed"]) for detour in trip["detours"]] == [1, 1]
    for wanted in ("worst", "worst 0", "101>102", "", "101,112"):
        assert_refused(command("plan", "town.json", "--contingencies", wanted))
