"""The example of goal obfuscation: strategies do what their authors say, and our plans keep their promise."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute.analysis import watch_playbook

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "goal_obfuscation" / "goal_obfuscation.py"
START, GOALS = (0, 3), [(6, 0), (6, 6), (3, 6)]


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def square() -> vr.Domain:
    return vr.grid_domain(["......."] * 7)


def test_every_route_stops_at_its_goal_and_ours_share_m_nodes(example: dict[str, Any], square: vr.Domain) -> None:
    goals = [*GOALS, (3, 0)]
    compared = [(m, *each) for _, m, books in example["compare"](square, START, goals) for each in books.items()]
    for m, name, book in compared:
        for goal in goals:
            route = book.route_for(("stop", goal)).nodes
            assert route[-3:] == (goal, ("stop", goal), "end"), name
            assert sum(isinstance(node, tuple) and node[0] == "stop" for node in route) == 1
        if name == "cheapest paths":
            assert [group.routes[0].cost for group in book.classes] == [9, 9, 6, 6] and book.mac == 0
        assert watch_playbook(book).success_at_end == pytest.approx(1.0)
        assert vr.audit(book).holds
        if book.privacy.k > 1:
            assert book.privacy.m == m and book.status == "optimal"
            assert vr.risk(book).worst <= 1 / book.privacy.k
            assert watch_playbook(book).success <= 1 / book.privacy.k + 1e-12


def test_the_example_runs_on_a_generated_map(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--map", "rooms-2", "--goals", "4"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "generated maps" in printed and "Left out" not in printed
    lines = [line.split() for line in printed.partition("part of the route")[0].splitlines()]
    ours = [line for line in lines if "ours," in line and line[4] == "4"]
    assert [line[-1] for line in ours] == ["0.250"] * 3, "four goals that look alike"
