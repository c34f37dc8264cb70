"""`veilroute ledger` and what other commands do with a ledger: the week of an office, day by day."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command, assert_refused
from veilroute.jsontext import dump_canonical

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
ELSEWHERE = ("--start", "8,3", "--goal", "1,2", "-k", 2, "--ell", 6, "--candidates", "1,15 2,22 1,31 8,17 8,25 8,31")


@pytest.fixture
def office(command: Command) -> Command:
    """The commands, in a folder with a map and a ledger that has Monday's playbook."""
    vr.write_movingai(vr.grid_domain(ROWS), "office.map")
    assert command("ledger", "new", "week.jsonl").code == 0
    monday = command(
        "plan", "office.map", *THERE, "--candidates", CUSTOMERS, "-o", "monday.json", "--ledger", "week.jsonl"
    )
    assert (monday.code, monday.err) == (0, "")
    assert "Before it is used, enter it: veilroute ledger add week.jsonl monday.json" in monday.out
    entered = command("ledger", "add", "week.jsonl", "monday.json", "--date", "2026-11-16")
    assert (entered.code, entered.err) == (0, "")
    assert (
        "claims hold.\nEntered: playbook 1 of week.jsonl, in use from 2026-11-16.\nAssumed: places have trips"
        in entered.out
    )
    return command


def plan(office: Command, name: str, *options: object) -> dict[str, Any]:
    done = office("plan", "office.map", *THERE, "-o", name, "--ledger", "week.jsonl", "--json", *options)
    assert done.err == ""
    return {"code": done.code, **json.loads(done.out)}


def reckless(office: Command) -> None:
    """A playbook that was planned by itself is in use already."""
    assert office("plan", "office.map", *ELSEWHERE, "-o", "reckless.json").code == 0
    done = office("ledger", "add", "week.jsonl", "reckless.json", "--date", "2026-11-18", "--anyway")
    assert done.code == 0
    assert "linked trips leave too few for 1,15 2,22 1,31 8,17 8,25 8,31" in done.err


def test_who_is_who_is_said_and_can_be_corrected(office: Command) -> None:
    """1,15 disappears, and 1,12 appears three cells from it, with ell 6."""
    instead = CUSTOMERS.replace("1,15", "1,12")
    taken = "1 place gone, 1 new, the nearest 3 apart; 1 taken for the same under another name: 1,15 = 1,12 (say "
    taken += "otherwise with: veilroute ledger different week.jsonl A B)."
    planned = office("plan", "office.map", *THERE, "-o", "t.json", "--ledger", "week.jsonl", "--candidates", instead)
    assert (planned.code, planned.err) == (0, "")
    assert taken in planned.out
    assert office("ledger", "add", "week.jsonl", "t.json", "--date", "2026-11-17").out.count(taken) == 1
    checked = office("ledger", "check", "week.jsonl")
    assert "Taken for the same under another name: 1,15 = 1,12 (3)." in checked.out
    assert json.loads(office("ledger", "check", "week.jsonl", "--json").out)["taken_for_the_same"] == [
        {"was": "1,15", "now": "1,12", "distance": 3.0}
    ]

    said = office("ledger", "different", "week.jsonl", "1,12", "1,15", "--date", "2026-11-18")
    assert said.code == 0
    assert said.out.startswith("Recorded: 1,12 and 1,15 are two different places.\nHead: ")
    checked = office("ledger", "check", "week.jsonl")
    assert "You said on 2026-11-18: 1,12 and 1,15 are different places." in checked.out
    assert "Taken for the same" not in checked.out
    assert office("ledger", "same", "week.jsonl", "1,12", "9,9").err.startswith("veilroute: no place called 9,9 is in")
    for wrong in (("same", "1,12", "1,12"), ("different", "7,7", "6,6"), ("same", "1,31", "8,3")):
        assert office("ledger", *wrong[:1], "week.jsonl", *wrong[1:]).code == 2


def test_the_assumption_is_chosen_once_and_printed_by_every_command(office: Command) -> None:
    """Also for a ledger of the first format, which says nothing of it."""
    made = office("ledger", "new", "daily.jsonl", "--trips", "expected")
    assert (made.code, made.err) == (0, "")
    assert "Assumed: every place that is served has a trip every day, so a missing trip shows (trips: exp" in made.out
    assert office("ledger", "new", "other.jsonl", "--trips", "listed").code == 2
    assert office("ledger", "new", "other.jsonl", "--trips", "listed").err.count("occasional or expected") == 1
    assert office("ledger", "add", "daily.jsonl", "monday.json", "--date", "2026-11-16", "--anyway").code == 1
    there = ("plan", "office.map", *THERE, "--candidates", f"{CUSTOMERS} 2,12")
    monday = office(*there, "-o", "first.json", "--ledger", "daily.jsonl")
    assert "(trips: expected)" in monday.out
    assert office("ledger", "add", "daily.jsonl", "first.json", "--date", "2026-11-16").code == 0
    asked = office("ledger", "what-if", "daily.jsonl", "--remove", "2,12", "--json")
    data = json.loads(asked.out)
    assert (data["trips"], data["keeps_all"], data["lost"]) == ("expected", False, [])
    assert [2, 12] in [each["candidate"] for each in data["broken"]]
    told = office("ledger", "what-if", "daily.jsonl", "--remove", "2,12").out
    assert "Entering it would break earlier promises to" in told
    assert "(trips: expected)" in told
    less = plan_json(office, "daily.jsonl", CUSTOMERS)
    assert (less["trips"], [2, 12] in [each["candidate"] for each in less["broken"]]) == ("expected", True)

    append_first = {"entry": {"format": "veilroute-ledger/1"}, "previous": ""}
    sha256 = hashlib.sha256(dump_canonical(append_first)).hexdigest()
    Path("old.jsonl").write_bytes(dump_canonical(append_first | {"sha256": sha256}))
    old = office("ledger", "check", "old.jsonl")
    assert old.code == 0
    assert "because this file has the old format" in old.out
    assert "make a new ledger: veilroute ledger new FILE" in old.out


def plan_json(office: Command, ledger: str, candidates: str) -> dict[str, Any]:
    done = office(
        "plan", "office.map", *THERE, "-o", "less.json", "--ledger", ledger, "--json", "--candidates", candidates
    )
    assert done.err == ""
    data: dict[str, Any] = json.loads(done.out)
    return data


def test_a_week(office: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A customer joins, one is asked about who may leave, one plan is made without the ledger, and used anyway."""
    tuesday = plan(office, "tuesday.json", "--candidates", f"{CUSTOMERS} 2,12")
    assert (tuesday["code"], tuesday["num_anonymized"], tuesday["shortfalls"]) == (0, 9, [])
    assert tuesday["ledger"] == vr.read_ledger("week.jsonl").head
    assert office("ledger", "add", "week.jsonl", "tuesday.json", "--date", "2026-11-17").code == 0
    safe = office("ledger", "check", "week.jsonl")
    assert (safe.code, safe.err) == (0, "")
    assert safe.out.startswith(
        "Safe: an observer who links all trips of the 2 playbooks learns no more than was promised."
    )
    assert "Keep a copy of the head elsewhere" in safe.out
    assert office("ledger", "check", "week.jsonl", "--head", vr.read_ledger("week.jsonl").head).code == 0

    before = Path("week.jsonl").read_bytes()
    asked = office("ledger", "what-if", "week.jsonl", "--remove", "1,2", "-o", "without.json")
    assert (asked.code, asked.err) == (0, "")
    lines = asked.out.splitlines()
    assert lines[0] == "No longer hidden: 1,15 2,12."
    assert lines[4].startswith("Assumed: places have trips now and then")
    assert lines[1].startswith("  1,15: on 2026-11-16 it was hidden with 1,2, and 1,2 is no longer listed.")
    assert "keeping 1,2, last listed on 2026-11-17, as a candidate" in lines[1]
    assert lines[2].startswith("  2,12: of those with whom it could be hidden, 1,15 cannot be hidden any more.")
    assert lines[3].startswith("The plan that would follow (the cheapest that is safe): 6 of 8 hidden, MAC 0.2")
    assert Path("week.jsonl").read_bytes() == before
    assert office("audit", "without.json").code == 0

    done = office("plan", "office.map", *ELSEWHERE, "-o", "reckless.json")
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert "week.jsonl records playbooks on this map" in done.err
    assert "--ledger week.jsonl" in done.err
    refused = office("ledger", "add", "week.jsonl", "reckless.json", "--date", "2026-11-18")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "with this playbook linked trips leave too few for 1,15 2,22" in refused.err
    assert Path("week.jsonl").read_bytes() == before

    assert office("route", "tuesday.json", "--transit", "8,25", "--ledger", "week.jsonl").code == 0
    reckless(office)
    broken = office("ledger", "check", "week.jsonl")
    assert broken.code == 1
    assert broken.out.startswith(
        "NOT SAFE: an observer who links all trips of the 3 playbooks has too few places to choose from for 1,15"
    )
    assert "that of 2026-11-16 broken on 2026-11-18" in broken.out
    data = json.loads(office("ledger", "check", "week.jsonl", "--json").out)
    assert (data["safe"], data["playbooks"]) == (False, 3)
    worst = next(each for each in data["candidates"] if each["candidate"] == [1, 15])
    assert (worst["left"], worst["qualifies"], worst["since"]) == ([[1, 15]], False, "2026-11-18")

    said = set()
    for secret in ("8,25", "2,12", "no such place"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(secret + "\n"))
        said.add(office("route", "tuesday.json", "--transit", "-", "--ledger", "week.jsonl"))
    (refusal,) = said
    assert (refusal.code, refusal.out) == (1, "")
    assert refusal.err == (
        "veilroute: linked trips leave somebody whom the playbook hides too few; "
        "see who: veilroute ledger check LEDGER\n"
    )
    assert office("ledger", "check", "week.jsonl", "--since", "2026-11-18").code == 0


def test_whoever_loses_their_hiding_is_named_and_the_rest_is_planned(office: Command) -> None:
    left = " ".join(place for place in CUSTOMERS.split() if place != "8,17")
    done = office("plan", "office.map", *THERE, "--candidates", left, "-o", "b.json", "--ledger", "week.jsonl")
    assert done.code == 0, "who gets no route is not given away by one"
    assert "6 of 7 candidates hidden" in done.out
    assert "Because of earlier trips, which an observer may link with this one:" in done.out
    reason = "8,3: on 2026-11-16 it was hidden with 8,17, and 8,17 is no longer listed."
    assert done.out.count(reason) == 1
    found = plan(office, "b.json", "--candidates", left)
    (shortfall,) = found["shortfalls"]
    assert (shortfall["candidate"], shortfall["left"], shortfall["since"]) == ([8, 3], [[8, 3]], "2026-11-16")
    assert found["obstacles"] == [], "one reason is enough"
    assert office("ledger", "add", "week.jsonl", "b.json", "--date", "2026-11-17").code == 0
    assert office("ledger", "check", "week.jsonl").code == 0


def test_nobody_left_to_hide_is_exit_3(office: Command) -> None:
    reckless(office)
    done = office("plan", "office.map", *THERE, "--candidates", CUSTOMERS, "-o", "b.json", "--ledger", "week.jsonl")
    assert done.code == 3
    assert "after what earlier trips have shown." in done.out
    assert "Lower k" not in done.out
    assert "planning the playbook of 2026-11-18 under the ledger" in done.out
    assert "enter it" not in done.out
    # The playbook of before is no way out: it would show the broken ones again.
    again = vr.read_playbook("monday.json")
    other = vr.solve(again.problem, again.privacy, planner="pbp")
    other.write("again.json")
    refused = office("ledger", "add", "week.jsonl", "again.json", "--date", "2026-11-19")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    forgetting = plan(office, "c.json", "--candidates", CUSTOMERS, "--since", "2026-11-18")
    assert (forgetting["code"], forgetting["num_anonymized"], forgetting["since"]) == (0, 8, "2026-11-18")
    assert office("ledger", "add", "week.jsonl", "c.json", "--date", "2026-11-19").code == 0
    assert office("route", "c.json", "--transit", "8,25", "--ledger", "week.jsonl").code == 0
    strict = office("ledger", "check", "week.jsonl")
    assert strict.code == 1
    assert "Assumed for the playbook of 2026-11-19: trips before 2026-11-18 cannot be linked." in strict.out


def test_two_plans_under_one_line_cannot_both_be_entered(office: Command) -> None:
    """Both keep the ledger safe as it was when they were made, and not after the other."""
    newcomers = f"{CUSTOMERS} 2,12 3,20 7,8 7,22"
    for name, trip in (("a.json", ("5,1", "5,32")), ("b.json", ("8,31", "1,2"))):
        ends = ("--start", trip[0], "--goal", trip[1], "-k", 2, "--ell", 6)
        asked = ("--candidates", newcomers, "-o", name, "--ledger", "week.jsonl")
        assert office("plan", "office.map", *ends, *asked).code == 0
    assert office("ledger", "add", "week.jsonl", "a.json", "--date", "2026-11-17").code == 0
    refused = office("ledger", "add", "week.jsonl", "b.json", "--date", "2026-11-17")
    assert (refused.code, refused.out) == (1, "")
    assert "plan under the ledger" in refused.err
    assert office("ledger", "check", "week.jsonl").code == 0


def test_plan_enters_its_playbook(office: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("week.jsonl").unlink()
    office("ledger", "new", "week.jsonl")
    done = office(
        "plan", "office.map", *THERE, "--candidates", CUSTOMERS, "-o", "b.json", "--ledger", "week.jsonl", "--enter"
    )
    assert done.code == 0, done.err
    assert "Entered: playbook 1 of week.jsonl" in done.out
    assert vr.read_ledger("week.jsonl").holds(vr.read_playbook("b.json"))
    again = office(
        "plan", "office.map", *THERE, "--candidates", f"{CUSTOMERS} 2,12", "-o", "c.json", "--ledger", "week.jsonl",
        "--enter", "--json",
    )  # fmt: skip
    assert json.loads(again.out)["num_anonymized"] == 9
    assert len(vr.read_ledger("week.jsonl").entries) == 2


def test_a_playbook_that_does_not_keep_its_word_is_not_entered(office: Command) -> None:
    text = Path("monday.json").read_text(encoding="utf-8").replace('"mac":0.2', '"mac":0.1')
    Path("forged.json").write_text(text, encoding="utf-8")
    before = Path("week.jsonl").read_bytes()
    for options in ((), ("--anyway",)):
        done = office("ledger", "add", "week.jsonl", "forged.json", "--date", "2026-11-17", *options)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "not entered: the playbook does not keep its word (mac:" in done.err
    assert Path("week.jsonl").read_bytes() == before


def test_a_replan_is_entered_and_refused_where_it_breaks_a_promise(office: Command) -> None:
    ask = ("replan", "monday.json", "--class", 1, "--at", "5,1", "--ledger", "week.jsonl", "--date", "2026-11-16")
    done = office(*ask, "--closed", "5,10,5,11", "-o", "detour.json")
    assert (done.code, done.err) == (0, "")
    assert "Entered: week.jsonl, on 2026-11-16." in done.out
    entry = vr.read_ledger("week.jsonl").entries[-1]
    assert (entry.kind, entry.classes, entry.refused) == ("replan", ((0, 1),), ())
    assert [place.label for place in entry.places] == list(vr.read_playbook("monday.json").hidden_classes[0].members)
    assert json.loads(office("ledger", "check", "week.jsonl", "--json").out)["playbooks"] == 1
    # The room of 1,2 cannot be entered any more: 1,15 would be alone.
    shut = ("--closed-nodes", "1,2")
    before = Path("week.jsonl").read_bytes()
    assert office(*ask, *shut).code == 3
    assert Path("week.jsonl").read_bytes() == before
    chosen = office(*ask, *shut, "--go-on")
    assert chosen.code == 0
    entry = vr.read_ledger("week.jsonl").entries[-1]
    assert (len(entry.classes[0]), len(entry.refused)) == (1, 0)
    assert office("ledger", "check", "week.jsonl").code == 1
    assert_refused(office("replan", "monday.json", "--class", 1, "--at", "5,1", "--date", "2026-11-16"), "--date")
    unknown = office("plan", "office.map", *ELSEWHERE, "-o", "other.json")
    assert unknown.code == 0
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
    assert "is not in the ledger" in unlisted.err
    assert office(*ask, "--key", "van.key", "--occasion", "monday").code == 0
    checked = office("ledger", "check", "drawn.jsonl")
    assert "Drawn once from the playbook of 2026-11-16: a place has at most 0.4" in checked.out
    assert "of the time, averaged over everything that may be seen" in " ".join(checked.out.split())
    accounts = json.loads(office("ledger", "check", "drawn.jsonl", "--json").out)["accounts"]
    assert accounts[0]["after_another"]["worst"] > 0.4
    refused = office(*add, "--occasion", "tuesday")
    assert (refused.code, refused.out) == (1, ""), "a second draw for the same secret leaks"


def test_what_if_takes_every_change(office: Command) -> None:
    def ask(*options: object) -> dict[str, Any]:
        done = office("ledger", "what-if", "week.jsonl", *options, "--json")
        assert done.err == ""
        answer: dict[str, Any] = json.loads(done.out)
        return answer

    joined = ask("--add", "2,12 3,20")
    assert (joined["keeps_all"], joined["plan"]["num_anonymized"]) == (True, 10)
    closed = ask("--close", "5,5,5,6")
    assert closed["keeps_all"]
    assert closed["plan"]["mac"] > closed["today"]["mac"]
    cut = ask("--close", "4,4,5,4 3,8,3,9")
    assert cut["lost"], "two rooms are cut off"
    more = office("ledger", "what-if", "week.jsonl", "-k", 3)
    assert more.code == 3
    assert "k=3 already on 2026-11-16" in more.out
    assert "No plan hides anybody then. Today: 8 of 8 hidden" in more.out
    named = ask("--add", "2,12", "--playbook", "monday.json")
    assert named["keeps_all"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ledger", "new", "week.jsonl"), ("week.jsonl", "is there already")),
        (("ledger", "check", "nowhere.jsonl"), ("nowhere.jsonl", "no such file")),
        (("ledger", "check", "office.map"), ("office.map", "line 1")),
        (("ledger", "check", "week.jsonl", "--since", "monday"), ("since", "a day such as 2026-11-16")),
        (("ledger", "add", "week.jsonl", "monday.json", "--date", "2026-11-17"), ("not in the ledger yet",)),
        (("ledger", "add", "week.jsonl", "monday.json", "--date", "2026-13-01"), ("date", "a day such as")),
        (("ledger", "add", "week.jsonl", "week.jsonl"), ("week.jsonl",)),
        (("ledger", "what-if", "week.jsonl"), ("a change: --remove, --add, --close, -k or --risk",)),
        (("ledger", "what-if", "week.jsonl", "--remove", "2,12"), ("remove", "a candidate of the playbook", "2,12")),
        (("ledger", "what-if", "week.jsonl", "--remove", "nowhere"), ("--remove", "nowhere")),
        (("ledger", "what-if", "week.jsonl", "--remove", "0,0"), ("--remove", "wall")),
        (("ledger", "what-if", "week.jsonl", "--add", "1,2"), ("add", "no candidate yet")),
        (("ledger", "what-if", "week.jsonl", "--close", "1,1,8,8"), ("roads of the map", "1,1 to 8,8")),
        (("ledger", "what-if", "week.jsonl", "--close", "1"), ("--close", "roads as two nodes")),
        (("ledger", "what-if", "week.jsonl", "-k", "1"), ("Privacy.k", "at least 2")),
        (("ledger", "what-if", "week.jsonl", "-k", "3", "--risk", "0.5"), ("either -k or --risk",)),
        (("ledger", "what-if", "week.jsonl", "--risk", "0.5"), ("Privacy.k", "as the ledger has promised")),
        (("ledger", "what-if", "week.jsonl", "-k", "2", "-o", "no/such/x.json"), ("--out",)),
        (("ledger", "what-if", "week.jsonl", "-k", "2", "--playbook", "office.map"), ("office.map",)),
        (("plan", "office.map", *THERE, "--enter"), ("--enter", "--ledger FILE as well")),
        (("plan", "office.map", *THERE, "--since", "2026-11-16"), ("--since", "--ledger FILE as well")),
        (("plan", "office.map", *THERE, "--ledger", "week.jsonl", "--enter"), ("--enter", "-o FILE as well")),
        (("plan", "office.map", *THERE, "--ledger", "week.jsonl", "--reuse", "monday.json"), ("--ledger", "not both")),
        (("plan", "office.map", *THERE, "--ledger", "office.map"), ("office.map",)),
        (
            ("plan", "office.map", *THERE, "--candidates", CUSTOMERS, "--ledger", "week.jsonl", "--m", "9"),
            ("Privacy.m", "inf"),
        ),
        (
            ("plan", "office.map", *THERE, "--candidates", CUSTOMERS, "--ledger", "week.jsonl", "--planner", "naive"),
            ("planner",),
        ),
        (("route", "monday.json", "--transit", "8,25", "--ledger", "office.map"), ("--ledger: expected a file made",)),
        (("route", "monday.json", "--transit", "8,25", "--ledger", "gone.jsonl"), ("--ledger: expected a file made",)),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    office: Command, arguments: tuple[object, ...], words: tuple[str, ...]
) -> None:
    before = Path("week.jsonl").read_bytes()
    assert_refused(office(*arguments), *words)
    assert Path("week.jsonl").read_bytes() == before


def test_a_line_that_is_cut_off_is_seen_by_the_head(office: Command) -> None:
    head = vr.read_ledger("week.jsonl").head
    lines = Path("week.jsonl").read_bytes().splitlines(keepends=True)
    Path("week.jsonl").write_bytes(lines[0] + lines[1][:40])
    done = office("ledger", "check", "week.jsonl")
    assert done.code == 0
    assert "an unfinished line at the end was passed over" in done.err
    cut = office("ledger", "check", "week.jsonl", "--head", head)
    assert cut.code == 1
    assert "lines are missing or were changed" in cut.err
    gone = office("ledger", "what-if", "week.jsonl", "-k", 2)
    assert_refused(gone, "nothing was entered yet")


def test_plans_that_could_be_linked_are_warned_of_without_a_ledger(command: Command) -> None:
    vr.write_movingai(vr.grid_domain(ROWS), "office.map")
    first = command("plan", "office.map", *THERE, "--candidates", CUSTOMERS, "-o", "first.json")
    assert (first.code, first.err) == (0, "")
    again = command("plan", "office.map", *THERE, "--candidates", CUSTOMERS, "-o", "first.json")
    assert again.err == "", "the same playbook tells nothing new"
    Path("broken.json").write_bytes(b'{"format": "veilroute-playbook/1", ' + Path("first.json").read_bytes()[9:80])
    Path("folder.json").mkdir()
    second = command("plan", "office.map", *ELSEWHERE, "-o", "second.json")
    assert second.code == 0
    assert second.err == (
        "veilroute: first.json hides 6 of these candidates as well, and linked trips leave too few for 6 of them; "
        "keep a ledger (veilroute ledger new), and plan under it: --ledger FILE\n"
    )
    back = ("--start", "5,32", "--goal", "5,1", "-k", 2, "--ell", 6)
    Path("second.json").unlink()
    kept = command("plan", "office.map", *back, "--reuse", "first.json", "-o", "back.json")
    assert (kept.code, kept.err) == (0, ""), "its classes are those of the first"
    shown = command("plan", "office.map", *ELSEWHERE)
    assert shown.err == "", "what is not kept is not used"


def test_what_is_interrupted_enters_nothing(office: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = Path("week.jsonl").read_bytes()
    asked = ("--candidates", f"{CUSTOMERS} 2,12", "--ledger", "week.jsonl")
    assert office("plan", "office.map", *THERE, *asked, "-o", "tuesday.json").code == 0
    for name in ("audit_playbook", "what_if"):
        monkeypatch.setattr(f"veilroute.cli.ledger.{name}", interrupt)
    for words in (("add", "week.jsonl", "tuesday.json"), ("what-if", "week.jsonl", "-k", 3)):
        assert office("ledger", *words) == (130, "", "veilroute: interrupted\n")
    assert Path("week.jsonl").read_bytes() == before


def test_names_on_streets_outlive_a_changed_map(command: Command) -> None:
    rows = [f"N{r}{c},N{r}{c + 1},{200 + 7 * r + c},no" for r in range(4) for c in range(4)]
    rows += [f"N{r}{c},N{r + 1}{c},{230 + r + 5 * c},no" for r in range(3) for c in range(5)]
    nodes = [f"N{r}{c},{60.17 + 0.002 * r:.3f},{24.94 + 0.004 * c:.3f}" for r in range(4) for c in range(5)]
    for name, roads in (("town", rows), ("closed", [row for row in rows if not row.startswith("N11,N12,")])):
        Path(f"{name}.csv").write_text("\n".join(["from,to,metres,oneway", *roads, ""]), encoding="utf-8")
        Path(f"{name}.nodes.csv").write_text("\n".join(["id,lat,lon", *nodes, ""]), encoding="utf-8")
    shops = ["North Bank,N04", "South Shop,N31", "Corner Cafe,N22", "Old Mill,N11"]
    Path("places.csv").write_text("\n".join(["name,id", *shops, ""]), encoding="utf-8")
    asked = ("--start", "N00", "--goal", "N34", "--places", "places.csv", "--ledger", "week.jsonl")
    command("ledger", "new", "week.jsonl")
    assert command("plan", "town.csv", *asked, "--no-embed", "-o", "monday.json").code == 0
    add = ("ledger", "add", "week.jsonl", "monday.json", "--date", "2026-11-16")
    assert_refused(command(*add), "--domain", "holds only its hash")
    assert command(*add, "--domain", "town.csv").code == 0
    leaves = ("ledger", "what-if", "week.jsonl", "--remove", "Old Mill;")
    assert_refused(command(*leaves), "--domain", "holds only its hash")
    done = command(*leaves, "--domain", "town.csv")
    assert done.code == 0
    assert "it was hidden with Old Mill, and Old Mill is no longer listed" in done.out
    assert command("plan", "closed.csv", *asked, "-o", "tuesday.json").code == 0
    assert command("ledger", "add", "week.jsonl", "tuesday.json", "--date", "2026-11-17").code == 0
    data = json.loads(command("ledger", "check", "week.jsonl", "--json").out)
    assert (data["safe"], len(data["candidates"])) == (True, 4), "they are the same four on both maps"
