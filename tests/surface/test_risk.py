"""`veilroute risk`: what it prints, what it refuses, and the same bytes in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from veilroute.domain import label_text


def write_prior(path: Path, book: vr.Playbook) -> Path:
    lines = [f'"{label_text(label)}",{1 / rank}' for rank, label in enumerate(book.candidates, 1)]
    path.write_text("place,weight\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_text_and_json(command: Command, planned: Path, tmp_path: Path) -> None:
    book = vr.read_playbook(planned)
    done = command("risk", planned)
    assert done.code == 0, done.err
    prior = write_prior(tmp_path / "prior.csv", book)
    data = json.loads(command("risk", planned, "--prior", prior, "--json").out)
    report = vr.risk(book, [1 / rank for rank in range(1, 11)])
    assert data["worst"] == pytest.approx(report.worst, abs=1e-12)
    assert data["bayes_success"] == pytest.approx(report.bayes_success, abs=1e-12)
    assert [sum(route["posterior"]) for route in data["routes"]] == pytest.approx([1.0] * len(data["routes"]))
    assert [step["m"] for step in data["over_time"]] == list(range(1, len(data["over_time"]) + 1))
    assert "adversary" not in data


def test_observers(command: Command, planned: Path) -> None:
    for name in ("counting", "goal-recognition"):
        data = json.loads(command("risk", planned, "--adversary", name, "--json").out)
        assert data["adversary"]["name"] == name
        assert 0 < data["adversary"]["success"] <= data["bayes_success"] + 1e-12


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


def test_same_bytes_in_every_process(command: Command, planned: Path) -> None:
    words = ["risk", str(planned), "--adversary", "goal-recognition", "--json"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-m", "veilroute", *words], env=environment, capture_output=True, text=True)
    assert done.stdout == command(*words).out, done.stderr


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
