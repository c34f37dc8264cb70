"""How command-line tests call the program."""

from __future__ import annotations

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
