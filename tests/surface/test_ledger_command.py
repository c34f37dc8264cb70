"""`veilroute ledger` and what other commands do with a ledger: the week of an office, day by day."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command, assert_refused
from ledger_weeks import write_chain

ROWS = [
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
    "@.......@........@......@........@",
    "@.......@........@......@........@",
    "@................@...............@",
    "@@@@.@@@@@@@.@@@@@@@.@@@@@@@@.@@@@",
    "@................................@",
    "@@@@@@.@@@@@@@.@@@@@@@.@@@@@@@.@@@",
    "@.........@........@.......@.....@",
    "@.........@........@.......@.....@",
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
]
CUSTOMERS = "1,2 1,15 2,22 1,31 8,3 8,17 8,25 8,31"
THERE = ("--start", "5,1", "--goal", "5,32", "-k", 2, "--ell", 6)
UNDER = (*THERE, "--ledger", "week.jsonl")
ELSEWHERE = ("--start", "8,3", "--goal", "1,2", "-k", 2, "--ell", 6, "--candidates", "1,15 2,22 1,31 8,17 8,25 8,31")


@pytest.fixture
def office(command: Command) -> Command:
    """The commands, in a folder with a map and a ledger that has Monday's playbook."""
    vr.write_movingai(vr.grid_domain(ROWS), "office.map")
    assert command("ledger", "new", "week.jsonl").code == 0
    monday = command("plan", "office.map", *UNDER, "--candidates", CUSTOMERS, "-o", "monday.json")
    entered = command("ledger", "add", "week.jsonl", "monday.json", "--date", "2026-11-16")
    assert (monday.code, monday.err, entered.code, entered.err) == (0, "", 0, "")
    return command


def told(office: Command, *words: object, code: int = 0) -> dict[str, Any]:
    """What a command prints as JSON."""
    done = office(*words, "--json")
    assert (done.code, done.err) == (code, "")
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def plan(office: Command, name: str, *options: object, code: int = 0) -> dict[str, Any]:
    return told(office, "plan", "office.map", *UNDER, "-o", name, *options, code=code)


def reckless(office: Command) -> None:
    """A playbook that was planned by itself is in use already."""
    assert office("plan", "office.map", *ELSEWHERE, "-o", "reckless.json").code == 0
    add = ("ledger", "add", "week.jsonl", "reckless.json", "--date", "2026-11-18")
    before = Path("week.jsonl").read_bytes()
    refused = office(*add)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "1,15 2,22" in refused.err and Path("week.jsonl").read_bytes() == before
    done = office(*add, "--anyway")
    assert done.code == 0 and "1,15 2,22 1,31 8,17 8,25 8,31" in done.err


def test_who_is_who_can_be_corrected(office: Command) -> None:
    """1,15 disappears, and 1,12 appears three cells from it, with ell 6."""
    plan(office, "t.json", "--candidates", CUSTOMERS.replace("1,15", "1,12"))
    assert office("ledger", "add", "week.jsonl", "t.json", "--date", "2026-11-17").code == 0
    taken = [{"was": "1,15", "now": "1,12", "distance": 3.0}]
    assert told(office, "ledger", "check", "week.jsonl")["taken_for_the_same"] == taken
    assert office("ledger", "different", "week.jsonl", "1,12", "1,15", "--date", "2026-11-18").code == 0
    data = told(office, "ledger", "check", "week.jsonl", code=1)  # 1,15 has left, and its company with it
    said = {"kind": "different", "places": ["1,12", "1,15"], "date": "2026-11-18"}
    assert (data["taken_for_the_same"], data["identities"]) == ([], [said])
    for wrong in (("same", "1,12", "1,12"), ("different", "7,7", "6,6"), ("same", "1,31", "8,3")):
        assert office("ledger", *wrong[:1], "week.jsonl", *wrong[1:]).code == 2


def test_the_assumption_is_chosen_once(office: Command) -> None:
    """Also for a ledger of the first format, which says nothing of it."""
    assert office("ledger", "new", "daily.jsonl", "--trips", "expected").code == 0
    assert_refused(office("ledger", "new", "other.jsonl", "--trips", "listed"), "occasional or expected")
    assert office("ledger", "add", "daily.jsonl", "monday.json", "--date", "2026-11-16", "--anyway").code == 1
    there = ("plan", "office.map", *THERE, "--ledger", "daily.jsonl", "--candidates")
    assert office(*there, f"{CUSTOMERS} 2,12", "-o", "first.json").code == 0
    assert office("ledger", "add", "daily.jsonl", "first.json", "--date", "2026-11-16").code == 0
    data = told(office, "ledger", "what-if", "daily.jsonl", "--remove", "2,12")
    assert (data["keeps_all"], data["lost"]) == (False, [])
    for each in (data, told(office, *there, CUSTOMERS, "-o", "less.json")):
        assert each["trips"] == "expected" and [2, 12] in [other["candidate"] for other in each["broken"]]
    write_chain(Path("old.jsonl"), [], {"format": "veilroute-ledger/1"})
    assert office("ledger", "check", "old.jsonl").code == 0


def test_a_week(office: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A customer joins, one is asked about who may leave, one plan is made without the ledger, and used anyway."""
    tuesday = plan(office, "tuesday.json", "--candidates", f"{CUSTOMERS} 2,12")
    assert (tuesday["num_anonymized"], tuesday["shortfalls"]) == (9, [])
    assert tuesday["ledger"] == vr.read_ledger("week.jsonl").head
    assert office("ledger", "add", "week.jsonl", "tuesday.json", "--date", "2026-11-17").code == 0
    safe = office("ledger", "check", "week.jsonl", "--head", vr.read_ledger("week.jsonl").head)
    assert (safe.code, safe.err) == (0, "")
    before = Path("week.jsonl").read_bytes()
    asked = told(office, "ledger", "what-if", "week.jsonl", "--remove", "1,2", "-o", "without.json")
    assert asked["lost"] == [[1, 15], [2, 12]] and Path("week.jsonl").read_bytes() == before
    assert office("audit", "without.json").code == 0
    assert office("route", "tuesday.json", "--transit", "8,25", "--ledger", "week.jsonl").code == 0
    reckless(office)
    data = told(office, "ledger", "check", "week.jsonl", code=1)
    assert (data["safe"], data["playbooks"]) == (False, 3)
    said = set()
    for secret in ("8,25", "2,12", "no such place"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(secret + "\n"))
        said.add(office("route", "tuesday.json", "--transit", "-", "--ledger", "week.jsonl"))
    (refusal,) = said
    assert (refusal.code, refusal.out, refusal.err.count("\n")) == (1, "", 1)
    assert office("ledger", "check", "week.jsonl", "--since", "2026-11-18").code == 0


def test_nobody_left_to_hide_is_exit_3(office: Command) -> None:
    reckless(office)
    done = office("plan", "office.map", *UNDER, "--candidates", CUSTOMERS, "-o", "b.json")
    assert done.code == 3
    # The playbook of before is no way out: it would show the broken ones again.
    again = vr.read_playbook("monday.json")
    vr.solve(again.problem, again.privacy, planner="pbp").write("again.json")
    refused = office("ledger", "add", "week.jsonl", "again.json", "--date", "2026-11-19")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    forgetting = plan(office, "c.json", "--candidates", CUSTOMERS, "--since", "2026-11-18")
    assert (forgetting["num_anonymized"], forgetting["since"]) == (8, "2026-11-18")
    assert office("ledger", "add", "week.jsonl", "c.json", "--date", "2026-11-19").code == 0
    assert office("route", "c.json", "--transit", "8,25", "--ledger", "week.jsonl").code == 0
    assert office("ledger", "check", "week.jsonl").code == 1


def test_plan_enters_its_playbook_and_two_of_one_line_cannot_both_be_entered(office: Command) -> None:
    """Both keep the ledger safe as it was when they were made, and not after the other."""
    newcomers = f"{CUSTOMERS} 2,12 3,20 7,8 7,22"
    back = ("--start", "8,31", "--goal", "1,2", "-k", 2, "--ell", 6, "--ledger", "week.jsonl")
    assert office("plan", "office.map", *back, "--candidates", newcomers, "-o", "b.json").code == 0
    data = plan(office, "a.json", "--candidates", newcomers, "--enter")
    assert data["num_anonymized"] == 12
    assert vr.read_ledger("week.jsonl").holds(vr.read_playbook("a.json"))
    refused = office("ledger", "add", "week.jsonl", "b.json", "--date", "2099-01-01")
    assert (refused.code, refused.out) == (1, "") and "plan under the ledger" in refused.err
    assert office("ledger", "check", "week.jsonl").code == 0


def test_a_playbook_that_does_not_keep_its_word_is_not_entered(office: Command) -> None:
    text = Path("monday.json").read_text(encoding="utf-8").replace('"mac":0.2', '"mac":0.1')
    Path("forged.json").write_text(text, encoding="utf-8")
    before = Path("week.jsonl").read_bytes()
    for options in ((), ("--anyway",)):
        done = office("ledger", "add", "week.jsonl", "forged.json", "--date", "2026-11-17", *options)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "(mac:" in done.err
    assert Path("week.jsonl").read_bytes() == before


def test_a_replan_is_entered_and_refused_where_it_breaks_a_promise(office: Command) -> None:
    ask = ("replan", "monday.json", "--class", 1, "--at", "5,1", "--ledger", "week.jsonl", "--date", "2026-11-16")
    done = office(*ask, "--closed", "5,10,5,11", "-o", "detour.json")
    assert (done.code, done.err) == (0, "")
    entry = vr.read_ledger("week.jsonl").entries[-1]
    assert (entry.kind, entry.classes, entry.refused) == ("replan", ((0, 1),), ())
    # The room of 1,2 cannot be entered any more: 1,15 would be alone.
    shut = ("--closed-nodes", "1,2")
    before = Path("week.jsonl").read_bytes()
    assert office(*ask, *shut).code == 3
    assert Path("week.jsonl").read_bytes() == before
    assert office(*ask, *shut, "--go-on").code == 0
    assert office("ledger", "check", "week.jsonl").code == 1
    assert_refused(office("replan", "monday.json", "--class", 1, "--at", "5,1", "--date", "2026-11-16"), "--date")
    assert office("plan", "office.map", *ELSEWHERE, "-o", "other.json").code == 0
    left_out = ("replan", "other.json", "--class", 1, "--at", "8,3", "--closed", "5,10,5,11", "--ledger", "week.jsonl")
    assert office(*left_out).code == 1


def test_draws_must_be_those_of_an_occasion_in_the_ledger(office: Command) -> None:
    office("ledger", "new", "drawn.jsonl")
    drawn = ("--risk", 0.4, "--mechanism", "randomised")
    ends = ("--start", "5,1", "--goal", "5,32", "--candidates", CUSTOMERS)
    assert office("plan", "office.map", *ends, *drawn, "-o", "drawn.json").code == 0
    office("key", "new", "van.key")
    ask = ("route", "drawn.json", "--transit", "8,25", "--ledger", "drawn.jsonl")
    assert_refused(office(*ask), "--ledger: expected --key FILE beside it")
    assert office(*ask, "--key", "van.key").code == 1
    add = ("ledger", "add", "drawn.jsonl", "drawn.json", "--date", "2026-11-16")
    assert office(*add, "--occasion", "monday").code == 0
    unlisted = office(*ask, "--key", "van.key", "--occasion", "tuesday")
    assert (unlisted.code, unlisted.out) == (1, "")
    assert office(*ask, "--key", "van.key", "--occasion", "monday").code == 0
    (account,) = told(office, "ledger", "check", "drawn.jsonl")["accounts"]
    assert account["draws"] == 1 and account["after_another"]["worst"] > 0.4 >= account["worst"] - 1e-9
    refused = office(*add, "--occasion", "tuesday")
    assert (refused.code, refused.out) == (1, ""), "a second draw for the same secret leaks"


CHECK, ADD, ASK = (("ledger", word) for word in ("check", "add", "what-if"))
PLAN = ("plan", "office.map", *THERE)
ROUTE = ("route", "monday.json", "--transit", "8,25", "--ledger")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ledger", "new", "week.jsonl"), "is there already"),
        ((*CHECK, "nowhere.jsonl"), "nowhere.jsonl: no such file"),
        ((*CHECK, "office.map"), "office.map, line 1"),
        ((*CHECK, "week.jsonl", "--since", "monday"), "since: expected a day"),
        ((*ADD, "week.jsonl", "monday.json", "--date", "2026-11-17"), "not in the ledger yet"),
        ((*ASK, "week.jsonl"), "--remove, --add, --close, -k or --risk"),
        ((*ASK, "week.jsonl", "--remove", "2,12"), "remove: expected a candidate"),
        ((*ASK, "week.jsonl", "--close", "1,1,8,8"), "1,1 to 8,8"),
        ((*ASK, "week.jsonl", "--close", "1"), "--close: '1' was not found"),
        ((*ASK, "week.jsonl", "-k", "3", "--risk", "0.5"), "either -k or --risk"),
        ((*ASK, "week.jsonl", "-k", "2", "-o", "no/such/x.json"), "--out"),
        ((*PLAN, "--enter"), "--ledger FILE as well"),
        ((*PLAN, "--ledger", "week.jsonl", "--enter"), "-o FILE as well"),
        ((*PLAN, "--ledger", "week.jsonl", "--reuse", "monday.json"), "not both"),
        ((*PLAN, "--candidates", CUSTOMERS, "--ledger", "week.jsonl", "--m", "9"), "Privacy.m: expected inf"),
        ((*ROUTE, "office.map"), "--ledger: expected a file made"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(office: Command, arguments: tuple[object, ...], words: str) -> None:
    before = Path("week.jsonl").read_bytes()
    assert_refused(office(*arguments), words)
    assert Path("week.jsonl").read_bytes() == before


def test_a_line_that_is_cut_off_is_seen_by_the_head(office: Command) -> None:
    head = vr.read_ledger("week.jsonl").head
    lines = Path("week.jsonl").read_bytes().splitlines(keepends=True)
    Path("week.jsonl").write_bytes(lines[0] + lines[1][:40])
    done = office("ledger", "check", "week.jsonl")
    assert done.code == 0 and "unfinished line" in done.err
    cut = office("ledger", "check", "week.jsonl", "--head", head)
    assert cut.code == 1 and "missing" in cut.err
    assert_refused(office("ledger", "what-if", "week.jsonl", "-k", 2), "nothing was entered yet")


def test_a_playbook_without_its_map_needs_one(office: Command) -> None:
    plan(office, "bare.json", "--candidates", f"{CUSTOMERS} 2,12", "--no-embed")
    for words in (("add", "week.jsonl", "bare.json", "--date", "2026-11-17"), ("what-if", "week.jsonl", "-k", 2)):
        assert_refused(office("ledger", *words), "--domain", "holds only its hash")
        assert office("ledger", *words, "--domain", "office.map").code == 0


def test_plans_that_could_be_linked_are_warned_of_without_a_ledger(command: Command) -> None:
    vr.write_movingai(vr.grid_domain(ROWS), "office.map")
    for _ in range(2):
        first = command(*PLAN, "--candidates", CUSTOMERS, "-o", "first.json")
        assert (first.code, first.err) == (0, ""), "the same playbook tells nothing new"
    Path("broken.json").write_bytes(b'{"format": "veilroute-playbook/1", ' + Path("first.json").read_bytes()[9:80])
    second = command("plan", "office.map", *ELSEWHERE, "-o", "second.json")
    assert (second.code, second.err.count("\n")) == (0, 1)
    assert "first.json hides 6 of these candidates as well" in second.err
    back = ("--start", "5,32", "--goal", "5,1", "-k", 2, "--ell", 6)
    Path("second.json").unlink()
    kept = command("plan", "office.map", *back, "--reuse", "first.json", "-o", "back.json")
    assert (kept.code, kept.err) == (0, ""), "its classes are those of the first"
    assert command("plan", "office.map", *ELSEWHERE).err == "", "what is not kept is not used"
