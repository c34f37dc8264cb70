"""`veilroute fleet`: a day is a function of the classes that its orders touch, and orders leave no trace."""

from __future__ import annotations

import io
import json
import logging
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from order_sets import Job, draw_orders, orders_text, outcomes, town_book
from veilroute import read_day
from veilroute.formats import SENTENCES

pytest.importorskip("pyvrp")
QUICK = ("--iterations", "20")
TABLE = "place,demand,service,opens,closes,rate\nadams,2,3,08:05,12:00,0.5\nBaker,,,,,\nDepot,,,,,\n"


@pytest.fixture(scope="module")
def book() -> vr.Playbook:
    return town_book()


@pytest.fixture
def town(command: Command, book: vr.Playbook) -> Path:
    """The town's playbook, two orders in one class, and what is public about two customers."""
    book.write("book.json")
    Path("orders.txt").write_text("Adams\nbaker\n")
    Path("customers.csv").write_text(TABLE)
    return Path("book.json")


@pytest.mark.parametrize("num", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_orders_within_the_touched_classes_change_no_byte(town: Path, book: vr.Playbook, num: int) -> None:
    """Pairs of order sets that touch the same classes: one process has the first of each, another the second."""
    rng = random.Random(18)
    vr.new_key("private.key")
    both: tuple[list[Job], list[Job]] = ([], [])
    last = len(book.hidden_classes)
    for number in range(num):
        touched = rng.sample(range(1, last + 1), rng.randint(1, last - 1))
        typed = ["fleet", str(town.resolve()), "--orders", "FILE", "--vehicles", "3", "--capacity", "24", "-o", "DIR"]
        typed += ["--demand", "2", *QUICK]
        if number % 2:
            typed += ["--customers", str(Path("customers.csv").resolve()), "--speed", "30", "--shift", "300"]
        if number % 3 == 0:
            typed += ["--pad-to", str(last - 1), "--key", str(Path("private.key").resolve()), "--occasion", str(number)]
        if number % 5 == 0:
            typed += ["--json"]
        for jobs in both:
            mine = [word.replace("FILE", rng.choice(("FILE", "-"))) for word in typed]
            jobs.append((mine, orders_text(draw_orders(book, touched, rng), rng)))
    first, second = (outcomes(jobs, seed) for seed, jobs in enumerate(both))
    assert [each["code"] for each in first] == [0] * num, first
    assert all("day/day.json" in each["files"] for each in first)
    assert first == second
    assert len({json.dumps(each["files"]) for each in first}) > 4, "days differ where classes do"


def test_touched_classes_in_place_of_orders_give_the_same_day(command: Command, town: Path) -> None:
    ask = ("fleet", town, "--vehicles", 2, *QUICK)
    assert command(*ask, "--orders", "orders.txt", "-o", "orders").code == 0
    assert command(*ask, "--touched", "1", "-o", "touched").code == 0
    assert Path("orders/day.json").read_bytes() == Path("touched/day.json").read_bytes()
    for typed in ("Adams", "1,Adams", "0", "99", "1,1", "-1"):
        refused = command(*ask, "--touched", typed)
        assert_refused(refused, "--touched: expected different numbers of classes from 1 to 3")
        assert "Adams" not in refused.err
    for both in ((), ("--orders", "orders.txt", "--touched", "1")):
        assert_refused(command(*ask, *both), "--orders")


def test_terms_of_an_earlier_day_give_the_same_day(command: Command, town: Path) -> None:
    ask = ("fleet", town, "--orders", "orders.txt", *QUICK)
    terms = ("--customers", "customers.csv", "--speed", 30, "--shift", "2:00", "--demand", 3, "--service", 0.5)
    more = ("--depots", "Depot=2; 30=1", "--capacity", 9, "--depart", "08:00", "--always", "3", "--rate", 0.1)
    assert command(*ask, *terms, *more, "-o", "one").code == 0
    done = command(*ask, "--terms", "one/day.json", "-o", "two")
    assert done.code == 0, done.err
    assert Path("one/day.json").read_bytes() == Path("two/day.json").read_bytes()
    day = read_day("one/day.json")
    assert [van.start for van in day.terms.vans] == [0, 0, 30]
    assert day.touched == (1, 3)
    assert (day.terms.service_s, day.terms.shift_s, day.terms.seconds_per_cost) == (30, 7200, 3.6 / 30)
    Path("terms.json").write_text(json.dumps(day.terms.to_dict()))
    assert command(*ask, "--terms", "terms.json", "--vehicles", 5, "--open", "-o", "open").code == 0
    vans = read_day("open/day.json").terms.vans
    assert [(van.start, van.goal) for van in vans] == [(0, None)] * 3 + [(30, None)] * 2
    lost = town_book()
    vr.solve(vr.Problem(lost.problem.domain, lost.trips, lost.candidates[1:])).write("less.json")
    refused = command("fleet", "less.json", "--orders", "orders.txt", "--terms", "one/day.json")
    assert refused.code == 2 and "one/day.json: terms of customers" in refused.err


def test_a_day_without_orders_is_driven_where_all_days_look_alike(
    command: Command, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("fleet", town, "--orders", "-", "--vehicles", 1, *QUICK)
    for sent in ("", "\n \n", "place,quantity\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(sent))
        assert_refused(command(*ask), f"--orders: {SENTENCES['none']}")
        monkeypatch.setattr(sys, "stdin", io.StringIO(sent))
        done = command(*ask, "--pad-to", 2)
        assert done.code == 0, done.err


def test_a_day_is_entered_in_the_ledger(command: Command, town: Path) -> None:
    ask = ("fleet", town, "--orders", "orders.txt", "--vehicles", 1, *QUICK, "--ledger", "week.jsonl")
    command("ledger", "new", "week.jsonl")
    refused = command(*ask, "-o", "day")
    assert refused.code == 1
    assert not Path("day").exists(), "nothing is written that is not in the ledger"
    assert command("ledger", "add", "week.jsonl", town, "--date", "2026-11-16").code == 0
    done = command(*ask, "--date", "2026-11-17")
    assert done.code == 0, done.err
    assert command("ledger", "check", "week.jsonl").code == 0


BAD_ORDERS = {
    "unknown": ("Adams\nSECRET\n", "--orders, line 2: " + SENTENCES["unknown"]),
    "twice": ("place,qty\nAdams,1\nBaker,1\nadams,1\n", "--orders, line 4: the same customer as in line 2; keep one"),
    "no name": ("Customer,Qty\n,1\n", "--orders, line 2: " + SENTENCES["unknown"]),
    "too much": ("Customer,Qty\nAdams,2\n", "--orders, line 2: " + SENTENCES["bound"]),
    "no number": ("Customer,Qty\nAdams,SECRET\n", "--orders, line 2: " + SENTENCES["quantity"]),
    "nothing": ("Customer,Qty\nAdams,0\n", "--orders, line 2: " + SENTENCES["quantity"]),
    "more cells": ("Customer,Qty\nAdams,1,SECRET\n", "--orders, line 2: " + SENTENCES["table"]),
    "quotes": ('Customer,Qty\n"SECRET,1\n', "--orders, line 2: " + SENTENCES["table"]),
    "no text": ("\0\1SECRET\0\0\0\0", "--orders: " + SENTENCES["table"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ORDERS)
def test_what_is_wrong_with_orders_is_told_by_lines_alone(command: Command, town: Path, case: str) -> None:
    text, line = BAD_ORDERS[case]
    Path("SECRET.csv").write_text(text)
    done = command("fleet", town, "--orders", "SECRET.csv", "--vehicles", 1, "-o", "day")
    assert (done.code, done.out, done.err) == (2, "", f"veilroute: {line}\n")
    assert not Path("day").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--vehicles", 0), "--vehicles: expected a number from 1 to 10000, got 0"),
        ((), "--vehicles: expected how many there are"),
        (("--vehicles", 1, "--depart", "8 o'clock"), "--depart: expected a time of day as HH:MM"),
        (("--vehicles", 1, "--shift", "long"), "--shift: expected hours and minutes as HH:MM, or minutes, got 'long'"),
        (("--vehicles", 1, "--always", "7"), "--always: expected numbers of classes from 1 to 3, or names"),
        (("--vehicles", 1, "--depots", "Nowhere"), "--depots: expected a node"),
        (("--vehicles", 4, "--depots", "Depot=2; 30=1"), "--vehicles: expected 3, as --depots says"),
        (("--vehicles", 1, "--occasion", "monday"), "--occasion: expected --key FILE beside it"),
        (("--vehicles", 1, "--date", "2026-11-16"), "--date: expected --ledger FILE as well"),
        (("--vehicles", 1, "-o", "orders.txt"), "--out: expected a folder"),
        (("--vehicles", 1, "--terms", "customers.csv"), "customers.csv, line 1: not valid JSON"),
        (("--vehicles", 1, "--customers", "orders.txt"), "orders.txt: expected a header with the column place"),
    ],
)  # fmt: skip
def test_bad_terms(command: Command, town: Path, typed: tuple[object, ...], said: str) -> None:
    assert_refused(command("fleet", town, "--orders", "orders.txt", *typed), said)


def test_all_that_is_wrong_is_said_at_once(command: Command, town: Path) -> None:
    """What no vehicle can keep is told together with what is wrong with orders."""
    Path("orders.csv").write_text("place,quantity\nAdams,9\nSECRET,1\nAdams,1\n")
    ask = ("fleet", town, "--orders", "orders.csv", "--customers", "public.csv", "--speed", 9, "--vehicles")
    orders = ("--orders, line 2: ", "--orders, line 3: ", "--orders, line 4: ")
    public = ("--vehicles: ", *(f"public.csv, line {number}: " for number in (3, 4, 5, 6)))
    wrong = "place,opens,closes\nAdams,7:00,8:00\nNobody,,\nClark,late,\nBaker,9:00,8:30\nBaker,,\n"
    windows = "place,opens,closes\nadams,7:00,8:00\n"
    for text, num, said in ((wrong, 0, (*public, *orders)), (windows, 1, ("windows: ", *orders))):
        Path("public.csv").write_text(text)
        done = command(*ask, num)
        assert (done.code, done.out) == (2, "") and "SECRET" not in done.err
        lines = [line.removeprefix("veilroute: ") for line in done.err.splitlines()]
        assert len(lines) == len(said) and all(any(line.startswith(each) for line in lines) for each in said)


def test_a_day_that_cannot_be_padded_does_not_tell_which_classes_are_touched(command: Command, town: Path) -> None:
    Path("orders.txt").write_text("Adams\nKlein\n")
    Path("public.csv").write_text("place,closes\nAdams,7:00\nClark,7:00\nKlein,7:00\n")
    ask = ("--vehicles", 1, "--pad-to", 1, "--customers", "public.csv", "--speed", 30)
    assert_refused(command("fleet", town, "--orders", "orders.txt", *ask), "today more classes have to be driven")


def test_customers_whom_the_playbook_does_not_hide_are_refused(command: Command, town: Path) -> None:
    """Classes too small to hide anybody: their members are listed, and every order of theirs would be seen."""
    homes = vr.read_playbook(town).candidates
    domain = vr.read_playbook(town).problem.domain
    some = vr.solve(vr.Problem(domain, [vr.Trip(0, 0)], [0, *homes[:3]]), vr.Privacy(k=3))
    some.write("some.json")
    Path("orders.txt").write_text(f"{homes[0]}\n0\n")
    done = command("fleet", "some.json", "--orders", "orders.txt", "--vehicles", 1)
    assert_refused(done, "--orders, line 2: " + SENTENCES["refused"])
    none = vr.solve(vr.Problem(domain, [vr.Trip(0, 0)], homes[:2]), vr.Privacy(ell=1e6))
    none.write("none.json")
    assert_refused(command("fleet", "none.json", "--orders", "orders.txt", "--vehicles", 1), "anonymizes somebody")


def test_classes_that_hide_by_the_route_of_others_are_refused(command: Command, town: Path) -> None:
    """A trip with the route of another class hides its customer; a van that stops at nobody else does not."""
    book = vr.read_playbook(town)
    whole = book.classes[0]
    for parts in ([whole.members[:1], whole.members[1:]], [whole.members] * 2):
        pieces = [replace(whole, members=members) for members in parts]
        replace(book, classes=(*pieces, *book.classes[1:]), certificate=None).write("forged.json")
        done = command("fleet", "forged.json", "--orders", "orders.txt", "--vehicles", 1, *QUICK)
        assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize(
    "typed",
    [
        "book.json SECRET --orders orders.txt --vehicles 1",
        "book.json --orders SECRET --vehicles 1",
        "book.json --orders SECRET\0 --vehicles 1",
        "book.json --orders . --vehicles 1",
        "book.json --orders orders.txt --vehicles SECRET",
        "book.json --orders orders.txt --SECRET",
        "book.json --vehicles 1",
        "SECRET.txt --orders book.json --vehicles 1",
        "book.json --orders book.json --vehicles 1",
        "book.json --orders orders.txt --vehicles 1 --domain SECRET.txt",
        "book.json --orders orders.txt --vehicles 1 --key SECRET.txt --pad-to 1",
    ],
)
def test_slips_of_the_fingers_show_no_order(command: Command, town: Path, typed: str) -> None:
    Path("SECRET.txt").write_text("SECRET\nAdams\n")
    done = command("fleet", *typed.split(" "))
    assert_refused(done)
    assert "SECRET" not in done.err.replace("SECRET.txt: ", "").replace("SECRET.txt\n", "")


@pytest.mark.parametrize("error", [OSError, RuntimeError, MemoryError, UserWarning])
@pytest.mark.parametrize("place", ["find_secret", "read_orders", "read_bytes"])
def test_whatever_fails_while_orders_are_read_says_a_fixed_sentence(
    command: Command, town: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: type[Exception]
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise error("SECRET")

    monkeypatch.setattr(f"veilroute.cli.fleet.{place}", fail)
    assert_refused(command("fleet", town, "--orders", "orders.txt", "--vehicles", 1), f"--orders: {SENTENCES['table']}")


@pytest.mark.parametrize("num", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_odd_orders_leave_no_trace(
    command: Command, town: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, num: int
) -> None:
    """Whatever is sent: a day of some of the classes, or lines of which only the numbers are of this input."""
    rng = random.Random(7)
    pieces = ["Adams", "klein", "SECRET", "place,qty", "Customer;Quantity", "Baker,1", "Hayes;x", '"', "\0", "\ufeff"]
    pieces += ["1e400", "60.1,24.9", "PK\x03\x04", "=SECRET()", "\ud800", "\u0663", "--help", "9" * 500, "\x1b[31m"]
    pieces += ["\x85", "Adams,2,3"]
    fixed = "|".join(map(re.escape, [*SENTENCES.values(), "the same customer as in line "]))
    line = re.compile(rf"veilroute: --orders(, line \d+)?: ({fixed})(\d+; keep one)?\n|veilroute: and \d+ more\n")
    days, codes = set(), set()
    for _ in range(num):
        sent = rng.choice(("\n", "\r\n", ";")).join(
            rng.choices(pieces, weights=[6] * 2 + [1] * 19, k=rng.randint(1, 4))
        )
        monkeypatch.setattr(sys, "stdin", io.StringIO(sent))
        with caplog.at_level(logging.DEBUG):
            done = command("fleet", town, "--orders", "-", "--vehicles", 1, "--demand", 1, *QUICK)
        codes.add(done.code)
        days.add(done.out)
        assert not [each for each in done.err.splitlines(keepends=True) if not line.fullmatch(each)], sent
        assert "SECRET" not in caplog.text
    assert codes == {0, 2}
    assert len(days) <= 8, "one for each set of classes, and none"


# `veilroute plan --for fleet`.


@pytest.fixture
def instance(command: Command, book: vr.Playbook) -> Path:
    vr.write_instance(vr.Instance(book.problem, book.privacy), "town.json")
    return Path("town.json")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--for", "vans"), "--for: expected trips or fleet, got 'vans'"),
        (("--orders-per-day", "3"), "--orders-per-day: expected --for fleet as well"),
        (("--for", "fleet", "--planner", "cbp"), "--planner: expected none with --for fleet"),
        (("--for", "fleet", "--mechanism", "randomised"), "--mechanism: expected partition with --for fleet"),
        (("--for", "fleet", "--orders-per-day", "0"), "--orders-per-day: expected a number above 0"),
    ],
)
def test_what_does_not_go_with_a_plan_for_a_fleet_is_refused(
    command: Command, instance: Path, options: tuple[str, ...], said: str
) -> None:
    assert_refused(command("plan", instance, *options), said)


# `veilroute audit --day`: its files, and the dispatcher run again in other processes.


@pytest.fixture
def monday(command: Command, book: vr.Playbook) -> Path:
    """A playbook, and a day of two classes of which both are driven every day."""
    book.write("book.json")
    Path("orders.txt").write_text("Adams\nJones\n")
    typed = ("--vehicles", 2, "--capacity", 6, "--speed", 30, "--pad-to", 2, "--iterations", 20, "-o", "monday")
    assert command("fleet", "book.json", "--orders", "orders.txt", *typed).code == 0
    return Path("monday")


def test_a_day_holds_and_a_mark_in_a_file_is_found(command: Command, monday: Path) -> None:
    done = command("audit", "book.json", "--day", monday, "--reruns", 1, "--strict", "--terms", monday / "day.json")
    assert done.code == 0, done.out
    seen = vr.exposure(vr.read_playbook("book.json"), vr.read_day(monday / "day.json"))
    observer = json.loads(command("audit", "book.json", "--day", monday, "--reruns", 0, "--json").out)["observer"]
    assert observer["num_possible"] == seen.smallest_left
    assert observer["worst_place"] == pytest.approx(seen.worst)
    assert observer["worst_area"] == pytest.approx(seen.worst_area)
    with (monday / "report.pdf").open("ab") as file:
        file.write(b" ")
    (monday / ".jones").touch()
    marked = command("audit", "book.json", "--day", monday, "--reruns", 1, "--json")
    assert marked.code == 1
    report = json.loads(marked.out)
    assert (report["holds"], report["verdict"]) == (False, "violated")
    (claim,) = [claim for claim in report["claims"] if not claim["holds"]]
    assert claim["claim"] == "same-files"
    assert "report.pdf" in claim["evidence"] and ".jones" in claim["evidence"]


def test_what_cannot_be_audited_as_a_day_is_refused(command: Command, monday: Path) -> None:
    for words, said in (
        (("book.json", "--day", monday), "--day: expected one playbook"),
        (("--day", monday, "-k", 3), "--day: expected one playbook"),
        (("--reruns", 3), "--reruns: expected --day DIR"),
        (("--terms", "x"), "--terms: expected --day DIR"),
        (("--day", monday, "--reruns", -1), "--reruns: expected"),
        (("--day", "nowhere", "--reruns", 0), "nowhere: no such file"),
        (("--day", ".", "--reruns", 0), "no day.json in it"),
        (("--day", "book.json", "--reruns", 0), "not a day of a fleet"),
    ):
        assert_refused(command("audit", "book.json", *words), said)
