"""`veilroute survey`: all pairs of a map on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import Command, assert_refused

RING = "type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n"
PLACES = ("--candidates", "0,2 2,1 1,3")


@pytest.fixture(autouse=True)
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.map").write_text(RING, encoding="ascii")


def test_all_pairs_are_surveyed_and_drawn(command: Command) -> None:
    done = command("survey", "ring.map", *PLACES, "--points", "all", "-o", "heat.png")
    assert done.code == 0, done.err
    # Ten cells: a candidate is an end of 19 of the 100 pairs, and can be covered on the other 81.
    assert "100 pairs of start and goal, 243 tuples" in done.out
    assert Path("heat.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_hidden_is_exit_code_3_and_an_early_stop_is_said(command: Command) -> None:
    done = command("survey", "ring.map", *PLACES, "--ell", "50", "--points", "2")
    assert done.code == 3, done.out
    done = command("survey", "ring.map", *PLACES, "--points", "all", "--time-limit", "0.000001")
    assert "out of time; these are 0 of 100 pairs" in done.err


def test_compare_with_pairs_is_a_survey(command: Command) -> None:
    ask = ("ring.map", *PLACES, "--json", "-k", 3, "--ell", 1, "--m", 9)
    survey, compare = command("survey", *ask, "--points", 3), command("compare", *ask, "--pairs", 3)
    assert compare.out == survey.out and survey.code == compare.code
    for more, word in (("-k", "2,3"), "-k"), (("--budget", "9"), "--budget"), (("--pairs", "0"), "--pairs"):
        assert_refused(command("compare", "ring.map", *PLACES, "--pairs", 3, *more), word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(("--points", "0"), "--points"), (("--points", "many"), "--points"), (("-o", "heat.gif"), "--out")],
)
def test_what_cannot_be_done_is_refused(arguments: tuple[str, ...], word: str, command: Command) -> None:
    assert_refused(command("survey", "ring.map", *PLACES, *arguments), word)
