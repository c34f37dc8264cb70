"""Checks of values that come from users and files.

A check returns the value as it came, or raises an error that names the field, what was expected and what came. True
and false, which Python takes for integers, are no numbers here.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from veilroute.base.errors import InvalidInputError

# Integers beyond it are as infinite to whoever computes with them.
_LARGEST = sys.float_info.max


def is_whole(value: object, least: float = -math.inf, most: float = math.inf) -> TypeGuard[int]:
    """Whether a value is an integer from ``least`` to ``most``."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object, least: float = -math.inf, most: float = math.inf) -> TypeGuard[int | float]:
    """Whether a value is an integer or a float from ``least`` to ``most``, which NaN never is."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def plain_number(value: object) -> Any:
    """A number of numpy as a number of Python; anything else as it is."""
    return value.item() if isinstance(value, np.number) else value


def check_whole(field: str, value: Any, expected: str, *, least: float = -math.inf, most: float = math.inf) -> int:
    """An integer from ``least`` to ``most``."""
    if not is_whole(value, least, most):
        raise InvalidInputError(field, expected, value)
    return value


def check_count(field: str, value: Any) -> int:
    """A whole number of things."""
    return check_whole(field, value, "a whole number >= 0", least=0)


def check_finite(field: str, value: Any, *, least: float = -math.inf) -> float:
    """A finite number of at least ``least``; integers stay integers."""
    if not is_number(value, max(least, -_LARGEST), _LARGEST):
        raise InvalidInputError(field, "a finite number" if least < 0 else f"a finite number >= {least:g}", value)
    return value


def check_name(field: str, value: Any, names: Sequence[str]) -> str:
    """One of some names."""
    if not isinstance(value, str) or value not in names:
        raise InvalidInputError(field, f"{', '.join(names[:-1])} or {names[-1]}", value)
    return value


def check_list(field: str, value: Any) -> list[Any]:
    """A list; text, which would pass as a row of one-letter labels, is none."""
    if not isinstance(value, list):
        raise InvalidInputError(field, "a list", type(value).__name__)
    return value


def count_text(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 node``, ``2 nodes``; ``nouns`` is the plural where an s is not enough."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"
