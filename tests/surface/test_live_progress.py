"""What the command line says while it works, on a terminal and elsewhere, and of its time limit at the end."""

from __future__ import annotations

import io
import re
import signal
import sys
import time
from collections.abc import Callable

import pytest

import veilroute as vr
from veilroute import Incumbent, Progress, Watch
from veilroute.cli import (
    TimeLimit,
    describe_best,
    gap_text,
    live_progress,
    polite_interrupt,
    read_time_limit,
)

BEST = Incumbent(3.0, 98, 0.0441)


class Terminal(io.StringIO):
    """A terminal as standard error, and what was drawn on it."""

    num_read = 0

    def isatty(self) -> bool:
        return True

    def wait_for(self, *words: str) -> str:
        """What has been drawn since the last call, without colours and cursor movements, once the words are there."""
        end = time.monotonic() + 20
        drawn = seen = ""
        while not all(word in seen for word in words):
            assert time.monotonic() < end, f"{words} not in {seen[-500:]!r}"
            time.sleep(0.02)
            drawn = self.getvalue()
            seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn[self.num_read :])
        self.num_read = len(drawn)
        return seen


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def build() -> Terminal:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        return terminal

    return build


@pytest.mark.parametrize(("bound", "gap"), [(None, ""), (0.04371, "0.9%"), (0.0441, "0.0%"), (0.0, "")])
def test_the_best_so_far_in_one_line_with_gaps_rounded_up(bound: float | None, gap: str) -> None:
    assert describe_best(Progress("search", bound=bound)) == ""
    said = describe_best(Progress("search", incumbent=BEST, bound=bound))
    assert "98" in said and "0.0441" in said and "\n" not in said
    assert ("gap" in said, said.endswith(gap)) == (bool(gap), True)
    found = [gap_text(value) for value in (0.0, 1e-6, 0.009, 0.0091, 0.25, 3.5, 1e9)]
    assert found == ["0.0%", "0.1%", "0.9%", "1.0%", "25.0%", "350.0%", ""]


def test_a_terminal_of_80_columns_shows_all_of_it(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    with live_progress(patience_s=0, limit=read_time_limit(None)) as report:
        terminal.wait_for("getting ready", "0:00:00", "5 min", "--time-limit none")
        watch = Watch(report)
        watch.tell("covering fields", 30, 120)
        terminal.wait_for("covering fields", "30/120", "━", "0:00:0")
        watch.tell_improvement("column generation", 98, 0.0441)
        watch.tell_bound("column generation", 0.04371)
        seen = terminal.wait_for(describe_best(Progress("", incumbent=BEST, bound=0.04371)))
        # Nobody knows how much there is to do: no bar, and no number of the stage before.
        assert not set("━/") & set(seen.rpartition("column generation")[2])
        watch.tell("branching", 120, 120)
        terminal.wait_for("branching", "120/120", "98", "0:00:02")  # the clock goes on when a stage is complete
        watch.tell("walks", 1, 49)
        terminal.wait_for("walks", "1/49", "gap 0.9%")
    terminal = open_terminal()
    with live_progress(patience_s=0, limit=read_time_limit("20")):
        assert "limit" not in terminal.wait_for("getting ready")


def wait_for_lines(capsys: pytest.CaptureFixture[str], num: int) -> list[str]:
    end, lines = time.monotonic() + 20, ""
    while lines.count("\n") < num:
        assert time.monotonic() < end, lines
        time.sleep(0.01)
        out, err = capsys.readouterr()
        assert out == ""
        lines += err
    return lines.splitlines()


def test_elsewhere_there_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with live_progress("getting ready", limit=read_time_limit(None), line_every_s=0.05) as report:
        first, second, *_ = wait_for_lines(capsys, 2)
        assert first == f"{second}; {read_time_limit(None).text}", "the limit is said once"
        watch = Watch(report)
        watch.tell_improvement("column generation", 98, 0.0441)
        assert wait_for_lines(capsys, 2)[-1].endswith(
            f"column generation; {describe_best(Progress('', incumbent=BEST))}"
        )
        watch.tell("walks", 3, 49)
        assert "walks 3/49" in wait_for_lines(capsys, 2)[-1]
    capsys.readouterr()
    with pytest.raises(KeyboardInterrupt), live_progress(line_every_s=0.05):
        raise KeyboardInterrupt
    capsys.readouterr()
    time.sleep(0.15)
    assert capsys.readouterr() == ("", ""), "nothing after the work, also when it fails"
    with live_progress(patience_s=0) as report:
        Watch(report).tell_improvement("search", 98, 0.0441)
        time.sleep(0.3)
    assert capsys.readouterr() == ("", ""), "nothing is drawn where nobody watches"


def test_time_limits_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    typed = {None: 300.0, "none": None, " None ": None, "20": 20.0, "0.5": 0.5}
    assert {text: read_time_limit(text).seconds for text in typed} == typed
    assert read_time_limit(None) == TimeLimit(300.0, is_default=True)
    for text in ("0", "-1", "inf", "nan", "soon", "", "5 min"):
        with pytest.raises(vr.InvalidInputError, match="^--time-limit"):
            read_time_limit(text)
    # A limit is blamed if nobody chose it and it was reached.
    cases = ((None, 299.0, True), (None, 20.0, False), ("20", 21.0, False), ("none", 9e9, False))
    for given, seconds, is_blamed in cases:
        read_time_limit(given, "a point").tell_if_reached(seconds)
        assert ("5 min a point; --time-limit none" in capsys.readouterr().err) == is_blamed


def test_the_first_interrupt_asks_and_the_second_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    with polite_interrupt("finishing") as is_wanted:
        assert not is_wanted()
        signal.raise_signal(signal.SIGINT)
        assert is_wanted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert "finishing" in capsys.readouterr().err
