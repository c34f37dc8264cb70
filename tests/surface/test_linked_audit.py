"""`veilroute audit` of several playbooks and of a ledger: words, JSON, chart, exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from commands import Command
from ledger_weeks import plan_week, random_days
from veilroute.plotting import draw_linked


def save(books: list[vr.Playbook], folder: Path) -> list[str]:
    names = [f"day{number}.json" for number in range(1, len(books) + 1)]
    for name, book in zip(names, books, strict=True):
        (folder / name).write_bytes(book.to_json())
    return names


@pytest.fixture
def safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with a ledger and the playbooks planned under it."""
    monkeypatch.chdir(tmp_path)
    days = random_days(Random(3), vr.Privacy(k=2), 7, 3)
    return save(plan_week(tmp_path / "ledger.jsonl", days, vr.Privacy(k=2)), tmp_path)


@pytest.fixture
def unsafe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The same with days planned by themselves."""
    monkeypatch.chdir(tmp_path)
    days = random_days(Random(5), vr.Privacy(k=2), 7, 3)
    return save(plan_week(tmp_path / "ledger.jsonl", days, vr.Privacy(k=2), is_linked=False), tmp_path)


def test_playbooks_planned_under_a_ledger_pass(command: Command, safe: list[str]) -> None:
    done = command("audit", "--ledger", "ledger.jsonl", *safe, "--strict")
    assert done.code == 0
    alone = command("audit", "--ledger", "ledger.jsonl")
    assert alone.code == 0 and "UNPROVED" in alone.out
    assert command("audit", "--ledger", "ledger.jsonl", "--strict").code == 1
    (found,) = json.loads(command("audit", "--ledger", "ledger.jsonl", *safe, "--json").out)["observers"]
    assert (found["m"], found["num_possible"] >= 2, found["worst_place"] <= 0.5) == (None, True, True)
    assert command("audit", safe[0], "--strict").code == 0
    for name in safe[1:]:
        # What it says of the past may be invented as long as nobody holds it against the ledger.
        assert command("audit", name, "--strict").code == 1
        under = json.loads(command("audit", name, "--ledger", "ledger.jsonl", "--json").out)
        assert [each["verdict"] for each in under["audits"]] == ["holds"]


def test_playbooks_planned_by_themselves_are_found(command: Command, unsafe: list[str]) -> None:
    done = command("audit", *unsafe, "-o", "chart.svg")
    assert done.code == 1
    assert "identified" in Path("chart.svg").read_text()
    assert command("audit", "--ledger", "ledger.jsonl").code == 1


def test_a_playbook_that_is_not_in_the_ledger_is_violated(command: Command, safe: list[str]) -> None:
    book = vr.read_playbook(safe[0])
    Path("other.json").write_bytes(vr.solve(book.problem, vr.Privacy(k=3)).to_json())
    done = command("audit", "--ledger", "ledger.jsonl", "other.json")
    assert done.code == 1 and "is not in the ledger" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "PLAYBOOK: expected one to check, several to link, or --ledger FILE"),
        (("day1.json", "-o", "chart.png"), "a chart is of several"),
        (("day1.json", "day2.json", "-k", 2), "--against: expected one playbook alone"),
        (("day1.json", "day2.json", "-o", "chart.txt"), "--out format"),
        (("--ledger", "nowhere.jsonl"), "no such file"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(
    command: Command, safe: list[str], arguments: tuple[object, ...], said: str
) -> None:
    done = command("audit", *arguments)
    assert done.code == 2
    assert said in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_equal_reports_give_equal_charts(safe: list[str], tmp_path: Path, suffix: str) -> None:
    books = [vr.read_playbook(name) for name in safe]
    one, other = (tmp_path / f"{number}.{suffix}" for number in (1, 2))
    for path in (one, other):
        draw_linked(vr.audit_linked(books), path)
    assert one.read_bytes() == other.read_bytes()


def test_a_promise_about_whole_routes_is_held_against_whole_routes(tmp_path: Path) -> None:
    """A playbook that hides everybody behind its first node must not pass for one that shows nothing."""
    problem = random_days(Random(5), vr.Privacy(k=2), 7, 1)[0]
    first = vr.solve(problem, vr.Privacy(k=2))
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl").add(first, day="2026-11-01")
    under = replace(problem, past=ledger.past(problem, vr.Privacy(k=2)))
    books = [first, vr.solve(under, vr.Privacy(k=2, m=1))]
    with pytest.raises(vr.UnsafeLedgerError):
        ledger.add(books[1], day="2026-11-02")
    ledger = ledger.add(books[1], day="2026-11-02", anyway=True)
    assert not ledger.check().safe
    for order in (books, books[::-1]):
        assert vr.audit_linked(order).verdict == "violated"
    assert vr.audit_linked(books, ledger=tmp_path / "ledger.jsonl").verdict == "violated"
    alone = vr.audit_linked([], ledger=tmp_path / "ledger.jsonl").claims[0]
    assert alone.verdict == "unproved" and "is not known" in alone.evidence
