"""Printed figures against the area rule written out plainly (tests/plain_areas.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import veilroute as vr
from plain_areas import PlainProblem, hiding_cases, told_by_file

CUSTOMERS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "helsinki-customers.csv"
SETTINGS = (
    "--risk 0.34 --ell 300",
    "--risk 0.5 --ell 400",
    "-k 3 --ell 300 --spread all-pairs",
    "--risk 0.5 --ell 300",
    "--risk 0.5 --ell 300 --mechanism randomised",
    "--risk 0.34 --ell 300 --mechanism randomised",
)


@pytest.mark.parametrize("num", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_figures_are_those_of_the_file(num: int) -> None:
    for plain, book in hiding_cases(num):
        told, risk = told_by_file(book.to_json(), plain, plain.privacy.m), vr.risk(book)
        assert told is not None
        shown = (risk.worst, risk.worst_place, risk.bayes_success)
        assert shown == pytest.approx((told.area, told.place, told.bayes_success), rel=1e-9), plain.privacy
        assert risk.num_possible == told.num_possible
        assert vr.audit(book).holds


@pytest.mark.slow
def test_the_customers_of_helsinki(helsinki: Path, tmp_path: Path) -> None:
    """Finding F9: three of these six plans gave a neighbourhood 100 %, and printed 33 or 50 %."""
    network, path = tmp_path / "network.json", tmp_path / "plan.json"

    def run(*words: object) -> bytes:
        command = [sys.executable, "-m", "veilroute", *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    run("streets", helsinki, "-o", network, "--network", "drive", "--cost", "seconds", "--connected")
    places = ("--places", CUSTOMERS, "--goal", "Depot", "--ell-measure", "driving", "--time-limit", "none", "-o", path)
    for setting in SETTINGS:
        run("plan", network, *places, *setting.split())
        printed, book = json.loads(run("risk", path, "--json"))["worst"], vr.read_playbook(path)
        told = told_by_file(path.read_bytes(), PlainProblem(book.problem, book.privacy))
        assert told is not None
        assert printed == pytest.approx(told.area, rel=1e-12), setting
        assert book.claims.worst_posterior == pytest.approx(told.area, rel=1e-12), setting
        assert told.area <= (book.privacy.beta or 1 / book.privacy.k) * (1 + 1e-9), setting
        assert vr.audit(book).holds
        path.unlink()
