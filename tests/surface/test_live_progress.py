"""What the command line draws while it works, on a terminal that is none, and in the summary at the end."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import veilroute as vr
from veilroute import Incumbent, Progress, Watch
from veilroute.cli import TimeLimit, console, describe_best, gap_text, headline, live_progress, read_time_limit

BEST = Incumbent(3.0, 98, 0.0441)


class Terminal:
    """A pseudo terminal as standard error, and what was drawn on it."""

    def __init__(self, width: int) -> None:
        self.ours, self.theirs = pty.openpty()
        termios.tcsetwinsize(self.theirs, (30, width))
        os.set_blocking(self.ours, False)
        self.stream = os.fdopen(self.theirs, "w", buffering=1, encoding="utf-8")
        self.drawn = ""

    def wait_for(self, *words: str) -> str:
        """What has been drawn since the last call, without colours and cursor movements, once the words are there."""
        end = time.monotonic() + 20
        seen = ""
        while not all(word in seen for word in words):
            assert time.monotonic() < end, f"{words} not in {seen[-500:]!r}"
            try:
                self.drawn += os.read(self.ours, 1 << 16).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.02)
            seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.drawn)
        self.drawn = ""
        return seen

    def close(self) -> None:
        self.stream.close()
        os.close(self.ours)


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Terminal]]:
    opened: list[Terminal] = []

    def build(width: int) -> Terminal:
        terminal = Terminal(width)
        opened.append(terminal)
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        monkeypatch.setattr(console, "_PATIENCE_S", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        return terminal

    yield build
    monkeypatch.undo()
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress("search"), ""),
        (Progress("search", bound=0.1), ""),
        (Progress("search", incumbent=BEST), "best so far: 98 hidden, MAC 0.0441"),
        (Progress("s", incumbent=BEST, bound=0.04371), "best so far: 98 hidden, MAC 0.0441, bound 0.04371, gap 0.9%"),
        (
            Progress("search", incumbent=BEST, bound=0.0441),
            "best so far: 98 hidden, MAC 0.0441, bound 0.0441, gap 0.0%",
        ),
        (Progress("search", incumbent=BEST, bound=0.0), "best so far: 98 hidden, MAC 0.0441, bound 0"),
    ],
)
def test_the_best_so_far_in_one_line(progress: Progress, text: str) -> None:
    assert describe_best(progress) == text


@pytest.mark.parametrize(
    ("gap", "text"),
    [(0.0, "0.0%"), (1e-6, "0.1%"), (0.009, "0.9%"), (0.0091, "1.0%"), (0.25, "25.0%"), (3.5, "350.0%"), (1e9, "")],
)
def test_gaps_are_rounded_up(gap: float, text: str) -> None:
    assert gap_text(gap) == text


def test_a_terminal_of_80_columns_shows_all_of_it(open_terminal: Callable[[int], Terminal]) -> None:
    terminal = open_terminal(80)
    with live_progress() as report:
        terminal.wait_for("getting ready", "0:00:00")
        watch = Watch(report)
        watch.tell("covering fields", 30, 120)
        seen = terminal.wait_for("covering fields", "30/120", "━", "0:00:0")
        assert "best so far" not in seen
        watch.tell_improvement("column generation", 98, 0.0441)
        watch.tell_bound("column generation", 0.04371)
        seen = terminal.wait_for("bound 0.04371, gap 0.9%")
        assert "best so far: 98 hidden, MAC 0.0441, bound 0.04371, gap 0.9%" in seen
        # Nobody knows how much there is to do: no bar, and no number of the stage before.
        last = seen.rpartition("column generation")[2]
        assert "━" not in last
        assert "/" not in last
        watch.tell("pricing", 4711)
        assert "/" not in terminal.wait_for("pricing  4711 0:00:0").rpartition("pricing")[2]
        watch.tell("branching", 120, 120)
        terminal.wait_for("branching", "120/120", "best so far: 98 hidden")
        watch.tell("walks", 1, 49)
        terminal.wait_for("walks", "1/49", "gap 0.9%")


def test_the_clock_goes_on_when_a_stage_is_complete(open_terminal: Callable[[int], Terminal]) -> None:
    terminal = open_terminal(100)
    with live_progress() as report:
        report(Progress("partition", 10, 10))
        terminal.wait_for("10/10")
        terminal.wait_for("0:00:02")


def test_a_report_is_cheap(open_terminal: Callable[[int], Terminal]) -> None:
    terminal = open_terminal(80)
    with live_progress() as report:
        watch = Watch(report)
        watch.tell_improvement("search", 98, 0.0441)
        watch.tell_bound("search", 0.0437)
        began = time.perf_counter()
        for number in range(20_000):
            watch.tell("search", number)
        assert time.perf_counter() - began < 2, "20000 reports"
        terminal.wait_for("best so far")


def test_nothing_is_drawn_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_PATIENCE_S", 0.0)
    with live_progress() as report:
        Watch(report).tell_improvement("search", 98, 0.0441)
        time.sleep(0.3)
    assert capsys.readouterr() == ("", "")


def wait_for_lines(capsys: pytest.CaptureFixture[str], num: int) -> list[str]:
    end, lines = time.monotonic() + 20, ""
    while lines.count("\n") < num:
        assert time.monotonic() < end, lines
        time.sleep(0.01)
        out, err = capsys.readouterr()
        assert out == ""
        lines += err
    return lines.splitlines()


def test_elsewhere_there_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_LINE_EVERY_S", 0.05)
    with live_progress("getting ready", limit=read_time_limit(None)) as report:
        first, second, *_ = wait_for_lines(capsys, 2)
        assert first == "veilroute: 0 s: getting ready; time limit 5 min; --time-limit none lifts it"
        assert second == "veilroute: 0 s: getting ready", "said once"
        watch = Watch(report)
        watch.tell_improvement("column generation", 98, 0.0441)
        watch.tell_bound("column generation", 0.04371)
        best = "best so far: 98 hidden, MAC 0.0441, bound 0.04371, gap 0.9%"
        assert wait_for_lines(capsys, 2)[-1].partition("s: ")[2] == f"column generation; {best}"
        watch.tell("walks", 3, 49)
        assert wait_for_lines(capsys, 2)[-1].partition("s: ")[2] == f"walks 3/49; {best}"
    capsys.readouterr()
    time.sleep(0.15)
    assert capsys.readouterr() == ("", ""), "nothing after the work"


def test_lines_end_with_the_work_that_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_LINE_EVERY_S", 0.05)
    with pytest.raises(KeyboardInterrupt), live_progress():
        raise KeyboardInterrupt
    capsys.readouterr()
    time.sleep(0.15)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_names_the_limit_that_nobody_chose(open_terminal: Callable[[int], Terminal]) -> None:
    terminal = open_terminal(80)
    with live_progress(limit=read_time_limit(None)):
        terminal.wait_for("time limit 5 min; --time-limit none lifts it")
    terminal = open_terminal(80)
    with live_progress(limit=read_time_limit("20")):
        assert "limit" not in terminal.wait_for("getting ready")


@pytest.mark.parametrize(
    ("typed", "limit"),
    [
        (None, TimeLimit(300.0, is_default=True)),
        ("none", TimeLimit(None)),
        (" None ", TimeLimit(None)),
        ("20", TimeLimit(20.0)),
        ("0.5", TimeLimit(0.5)),
    ],
)
def test_time_limits_as_typed(typed: str | None, limit: TimeLimit) -> None:
    assert read_time_limit(typed) == limit


@pytest.mark.parametrize("typed", ["0", "-1", "inf", "nan", "soon", "", "5 min"])
def test_time_limits_that_are_none(typed: str) -> None:
    with pytest.raises(vr.InvalidInputError, match="--time-limit: expected a number of seconds > 0, or none"):
        read_time_limit(typed)


def test_a_limit_is_blamed_where_nobody_chose_it_and_it_was_reached(capsys: pytest.CaptureFixture[str]) -> None:
    read_time_limit(None).tell_if_reached(299.0)
    assert capsys.readouterr().err == (
        "veilroute: not proved within the time limit 5 min; --time-limit none lifts it\n"
    )
    read_time_limit(None, "a point").tell_if_reached(400.0)
    assert "within the time limit 5 min a point; --time-limit none lifts it" in capsys.readouterr().err
    for limit, seconds in (
        (read_time_limit(None), 20.0),
        (read_time_limit("20"), 21.0),
        (read_time_limit("none"), 9e9),
    ):
        limit.tell_if_reached(seconds)
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def found() -> vr.Playbook:
    """Without a proof."""
    domain = vr.generate_rooms(20, 26, seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = vr.draw_candidates(domain, start, goal, 8, seed=1)
    return vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], places), planner="pbp", partitioner="naive")


def test_the_summary_says_how_far_from_the_optimum_the_plan_may_be(found: vr.Playbook) -> None:
    assert "not proved optimal)." in headline(found)[1]
    close = replace(found, claims=replace(found.claims, mac=0.0441, mac_lower_bound=0.04371))
    assert headline(close)[1] == (
        "Routes are 4.4% longer on average than without hiding "
        "(MAC 0.0441, at most 0.9% above the optimum: bound 0.04371)."
    )
    partly = replace(close, claims=replace(close.claims, num_anonymized=6))
    assert "at most 0.9% above the best that hides as many: bound 0.04371)." in headline(partly)[1]
    useless = replace(found, claims=replace(found.claims, mac=0.0441, mac_lower_bound=0.0))
    assert headline(useless)[1].endswith("(MAC 0.0441, not proved optimal).")
    assert "bound of 0 says little about how good the plan is" in headline(useless)[-1]
    weak = replace(found, claims=replace(found.claims, mac=0.2, mac_lower_bound=0.004))
    assert "bound of 0.004 says little about how good the plan is" in headline(weak)[-1]
    assert len(headline(close)) == len(headline(found))
    assert re.fullmatch(
        r"All routes together cost \d+ \(\d+\.\d%\) more; the worst single detour is \d+\.", headline(found)[-1]
    )
    old = replace(found, claims=replace(found.claims, total_extra=None, worst_extra=None))
    assert len(headline(old)) == len(headline(found)) - 1
    proved = replace(found, status="optimal", claims=replace(found.claims, mac=0.0441, mac_lower_bound=0.0441))
    assert headline(proved)[1].endswith("(MAC 0.0441, proved optimal).")


def test_the_first_interrupt_asks_and_the_second_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    with console.polite_interrupt("finishing") as is_wanted:
        assert not is_wanted()
        signal.raise_signal(signal.SIGINT)
        assert is_wanted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert "finishing" in capsys.readouterr().err
