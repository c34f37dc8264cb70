"""`veilroute replan --day`, formerly `fleet-replan`: breakdowns and closed roads, without orders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from veilroute.app import write_day
from veilroute.auditing import audit_underway


@pytest.fixture
def monday(command: Command, tmp_path: Path) -> Path:
    """A day of two vehicles, and one that has nothing to do, in the folder `monday` beside its playbook `town.json`."""
    town = vr.generate_streets(9, 9, seed=4)
    homes = vr.draw_candidates(town, 0, 0, 12, seed=1)
    book = vr.solve(vr.Problem(town, [vr.Trip(0, 0)], homes), vr.Privacy(k=3, ell=200))
    book.write(tmp_path / "town.json")
    terms = vr.Terms((vr.Van(0, 0),) * 3, capacity=7, seconds_per_cost=0.3, iterations=200)
    write_day(book, vr.dispatch(book, [1, 2, 3], terms), tmp_path / "monday")
    return tmp_path / "monday"


def test_a_breakdown_is_written_and_goes_on(command: Command, monday: Path) -> None:
    """F12: a third party audits the rest of a day."""
    asked = ("replan", "town.json", "--day", monday, "--at", "08:05", "--broken", 2)
    assert command(*asked, "-o", "rest").code == 0
    told = json.loads(command(*asked, "--json").out)
    assert told.pop("audit")["holds"] is True and told == json.loads(Path("rest/day.json").read_bytes())
    route = vr.read_day("rest/day.json").tours[0].route
    again = ("--day", "rest/day.json", "--positions", "1=3+ 3=0", "--closed", f"{route[6]},{route[7]}", "-o", "later")
    assert command("fleet-replan", "town.json", *again).code == 0
    before = ("--before", "rest", "--before", monday)
    assert command("audit", "town.json", "--day", "later", *before, "--strict").code == 0
    for name, others in (("later", ()), ("later", (monday,)), ("rest", (monday, "later")), (monday, (monday,))):
        words = [word for other in others for word in ("--before", other)]
        assert_refused(command("audit", "town.json", "--day", name, *words), "before: expected")
    data = json.loads(Path("later/day.json").read_bytes()) | {"direct_cost": 1}
    Path("later/day.json").write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="ascii")
    assert command("audit", "town.json", "--day", "later", *before).code == 1


def test_where_classes_fall_short_nothing_is_chosen(command: Command, monday: Path) -> None:
    asked = ("fleet-replan", "town.json", "--day", monday, "--at", "08:05", "--broken", "1 2,3", "-o", "rest")
    done = command(*asked)
    assert done.code == 3
    assert not Path("rest").exists()
    told = json.loads(command(*asked, "--json").out)
    assert told["chosen"] is None
    assert {each["class"] for each in told["short"]} <= {1, 2, 3}
    # Who has dropped out has left its class, and the ledger says so.
    assert command("ledger", "new", "week.jsonl").code == 0
    assert command("ledger", "add", "week.jsonl", "town.json", "--date", "2026-11-16").code == 0
    entered = command(*asked[:-2], "--go-on", "--ledger", "week.jsonl", "--date", "2026-11-16")
    assert entered.code == 0
    assert command("ledger", "check", "week.jsonl").code == 1
    assert command(*asked, "--go-on").code == 0
    assert vr.read_day("rest/day.json").after.dropped  # type: ignore[union-attr]


def test_what_fails_its_audit_is_not_written(command: Command, monday: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def audit(book: vr.Playbook, _: vr.Day, day: vr.Day) -> object:
        return audit_underway(book, vr.read_day("else.json"), day)

    monkeypatch.setattr("veilroute.app.replan.audit_underway", audit)
    other = json.loads((monday / "day.json").read_bytes()) | {"direct_cost": 1}
    Path("else.json").write_text(json.dumps(other), encoding="ascii")
    done = command("fleet-replan", "town.json", "--day", monday, "--at", "08:05", "-o", "rest")
    assert done.code == 1
    assert "VIOLATED binding" in done.out
    assert not Path("rest").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "--at: expected HH:MM, or --positions"),
        (("--at", "8"), "--at: expected a time of day, HH:MM, got '8'"),
        (("--positions", "1=2 1=3"), "--positions: expected vehicles from 1 to 3, each once"),
        (("--at", "08:05", "--broken", "two"), "--broken: expected numbers of vehicles"),
        (("--at", "08:05", "--closed", "0,40"), "--closed: expected roads of the map, got '0 to 40'"),
        (("--at", "08:05", "--go-on", "--give-up"), "--go-on: expected either --go-on or --give-up"),
        (("--at", "08:05", "-o", "monday"), "--out: expected another folder than that of the day"),
    ],
)
def test_bad_input_is_one_line(command: Command, monday: Path, words: tuple[str, ...], problem: str) -> None:
    assert_refused(command("fleet-replan", "town.json", "--day", monday, *words), f"veilroute: {problem}")


def test_a_day_of_another_playbook_is_refused(command: Command, monday: Path) -> None:
    book = vr.read_playbook("town.json")
    other = vr.solve(book.problem, vr.Privacy(k=2, ell=200))
    other.write("other.json")
    done = command("fleet-replan", "other.json", "--day", monday, "--at", "08:05")
    assert_refused(done, "--day: expected a day of this playbook")
    assert_refused(command("fleet-replan", "town.json", "--day", "town.json", "--at", "08:05"), "not a day of a fleet")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--late",), "--late: expected --day DIR as well"),
        (("--day", "monday", "--class", 1), "--class: expected none with --day"),
        (("--at", 3, "--closed", "0,1"), "--class: expected the number of a class, from 1; or --day"),
    ],
)
def test_a_route_or_a_day(command: Command, monday: Path, words: tuple[str, ...], problem: str) -> None:
    assert_refused(command("replan", "town.json", *words), f"veilroute: {problem}")
