"""`veilroute risk`: what it needs and refuses, and the audit under another prior. (What it prints: tests/golden.)"""

from __future__ import annotations

import json
from pathlib import Path

import veilroute as vr
from commands import Command, assert_refused
from veilroute.domain import label_text


def test_a_playbook_without_its_map_needs_it(command: Command, planned: Path, building: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.json"
    vr.read_playbook(planned).write(bare, embed_domain=False)
    assert_refused(command("risk", bare), "--domain")
    assert command("risk", bare, "--domain", building).out == command("risk", planned).out


def test_refusals(command: Command, planned: Path, tmp_path: Path) -> None:
    assert_refused(command("risk", planned, "--adversary", "nobody"), "adversary", "goal-recognition")
    assert_refused(command("risk", tmp_path / "none.json"), "none.json")
    bad = tmp_path / "bad.csv"
    bad.write_text('place,weight\n"1,1",-1\n', encoding="utf-8")
    assert_refused(command("risk", planned, "--prior", bad))


def test_an_audit_under_another_prior(command: Command, planned: Path, tmp_path: Path) -> None:
    """The same plan under priors that it keeps its risk with, and under one in which a place is nearly certain."""
    book = vr.read_playbook(planned)
    table = tmp_path / "prior.csv"
    vr.solve(book.problem, vr.Privacy(risk=0.5)).write(tmp_path / "risk.json")
    for weights, code in (([7] * 10, 0), ([1000, *[1] * 9], 1)):
        rows = [f'"{label_text(label)}",{weight}' for label, weight in zip(book.candidates, weights, strict=True)]
        table.write_text("\n".join(["place,weight", *rows]) + "\n")
        done = command("audit", tmp_path / "risk.json", "--prior", table, "--json")
        (claim,) = (each for each in json.loads(done.out)["claims"] if each["claim"] == "prior")
        assert (done.code, claim["holds"]) == (code, code == 0)
