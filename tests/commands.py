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
