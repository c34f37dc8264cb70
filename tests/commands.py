"""How command-line tests call the program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """Exit code and what was printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def assert_refused(outcome: Outcome, *words: str) -> None:
    """Whether a command said in one line what is wrong, with these words in it, and ended with exit code 2."""
    code, out, err = outcome
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("veilroute: ")
    assert err.count("\n") == 1, "one line"
    assert "Traceback" not in err
    for word in words:
        assert word in err


def said_of_failures(err: str) -> str:
    """Standard error without what a busy machine adds: lines of progress, and that kernels must be compiled."""
    lines = err.splitlines(keepends=True)
    return "".join(each for each in lines if not re.match(r"veilroute: (\d+ s: |compiling for this machine)", each))
