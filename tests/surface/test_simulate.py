"""`veilroute audit --simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import veilroute as vr
from commands import Command, assert_refused
from drawn_books import triangle_book
from ledger_weeks import canonical
from veilroute.domain import label_text


def test_linked_playbooks_under_both_assumptions(command: Command, planned: Path) -> None:
    for trips in ("occasional", "expected"):
        code, out, err = command("audit", planned, planned, "--simulate", "--trips", trips, "--json")
        assert code == 0, (out, err)
        data = json.loads(out)
        assert data["exceeded"] == 0 and data["compared"] == len(data["figures"]) > 0
    assert command("ledger", "new", "ledger.jsonl", "--trips", "expected").code == 0
    assert command("ledger", "add", "ledger.jsonl", planned).code == 0
    told = json.loads(command("audit", planned, "--ledger", "ledger.jsonl", "--simulate", "--json").out)
    assert told["compared"] > 0 and "a day without a trip tells it who has none" in told["notes"][0]
    triangle_book().write("book.json")
    code, out, err = command("audit", "book.json", "--simulate", "--json")
    assert code == 0 and json.loads(out)["exceeded"] == 0, err


def test_a_replan(command: Command, planned: Path, tmp_path: Path) -> None:
    path, (one, other) = tmp_path / "replan.json", vr.read_playbook(planned).hidden_classes[0].routes[0].nodes[2:4]
    road = f"{label_text(one)},{label_text(other)}"
    at = ("--at", label_text(one), "--position", 2, "--closed", road)
    made = command("replan", planned, "--class", 1, *at, "--go-on", "-o", path)
    assert made.code == 0, made.err
    code, out, err = command("audit", planned, "--replan", path, "--simulate")
    assert code == 0, (out, err)
    told = json.loads(path.read_bytes())
    told["going_on"]["seen"]["worst_place"] = told["going_on"]["seen"]["worst_area"] = 0.01
    path.write_bytes(canonical(told))
    code, out, _ = command("audit", planned, "--replan", path, "--simulate")
    assert (code, "EXCEEDED" in out) == (1, True)


def test_options_that_it_does_not_take(command: Command, planned: Path) -> None:
    assert_refused(command("audit", "--simulate"), "PLAYBOOK")
    assert_refused(command("audit", planned, "--simulate", "--trips", "expected"), "--trips")
    assert_refused(command("audit", planned, "--simulate", "--reruns", 1), "--simulate")
    assert_refused(command("audit", planned, "--simulate", "--replan", planned, "--day", planned), "--simulate")
