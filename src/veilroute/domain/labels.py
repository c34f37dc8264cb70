"""What users call nodes: labels as values, in JSON, and as text that can be typed."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np

from veilroute.errors import InvalidInputError

Label = Hashable
"""What users call a node: an integer, a string, or a tuple of these such as the ``(row, col)`` of a grid's cell."""


_DEEPEST = 4
_WIDEST_INTEGER = 2**63
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain_label(value: Any, *, field: str = "label", depth: int = 0) -> Label:
    """A label in plain Python values, whether it came from JSON (lists), numpy or the user.

    Refused is what a file or a report could not hold: other types, integers beyond 64 bits, text with control
    characters, tuples nested more than four deep. The value itself is never in the message: it may be a secret.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return tuple(plain_label(part, field=field, depth=depth + 1) for part in value)
    if isinstance(value, int) and not isinstance(value, bool) and -_WIDEST_INTEGER <= value < _WIDEST_INTEGER:
        return value
    if isinstance(value, str) and not _UNPRINTABLE.search(value):
        return value
    raise InvalidInputError(field, "an integer, printable text, or a tuple of these", type(value).__name__)


def label_text(label: Label) -> str:
    """A label as it can be typed: ``R,C`` for cells, ``(A,B),C`` for tuples in tuples."""
    if not isinstance(label, tuple):
        return str(label)
    return ",".join(f"({label_text(part)})" if isinstance(part, tuple) else str(part) for part in label)


def tidy_text(text: str) -> str:
    """Typed text with the ways to write a tuple made one: ``(3, 4)``, ``[3,4]`` and ``3 4`` become ``3,4``."""
    bare = text.strip()
    bare = bare[1:] if bare[:1] in ("(", "[") else bare
    bare = bare[:-1] if bare[-1:] in (")", "]") else bare
    return re.sub(r"\s*,\s*|\s+", ",", bare.strip())
