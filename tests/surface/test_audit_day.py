"""`veilroute audit --day`: a day from the command line, its files, and the dispatcher run again in other processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from order_sets import town_book

pytest.importorskip("pyvrp")


@pytest.fixture
def monday(command: Command) -> Path:
    """A playbook, and a day of two classes of which both are driven every day."""
    town_book().write("book.json")
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


def test_without_reruns_it_is_unproved(command: Command, monday: Path) -> None:
    alone = ("audit", "book.json", "--day", monday / "day.json", "--reruns", 0)
    assert [command(*alone, *more).code for more in ((), ("--strict",))] == [0, 1]
    terms = json.loads((monday / "day.json").read_bytes())["terms"] | {"seed": 5}
    (monday / "terms.json").write_text(json.dumps(terms))
    assert command(*alone, "--terms", monday / "terms.json").code == 1


def test_bad_input_is_one_line(command: Command, monday: Path) -> None:
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
