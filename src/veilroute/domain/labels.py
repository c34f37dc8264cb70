"""What users call nodes: labels as values, in JSON, and as text that can be typed."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np

from veilroute.errors import InvalidInputError

Label = Hashable
"""What users call a node: an integer, a string, or a tuple of these such as the ``(row, col)`` of a grid's cell."""


def plain_label(value: Any, *, field: str = "label") -> Label:
    """A label in plain Python values, whether it came from JSON (lists), numpy or the user."""
    if isinstance(value, list | tuple):
        return tuple(plain_label(part, field=field) for part in value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise InvalidInputError(field, "an integer, a string, or a tuple of these", type(value).__name__)


def label_text(label: Label) -> str:
    """A label as it can be typed: ``R,C`` for cells, ``(A,B),C`` for tuples in tuples."""
    if not isinstance(label, tuple):
        return str(label)
    return ",".join(f"({label_text(part)})" if isinstance(part, tuple) else str(part) for part in label)


def tidy_text(text: str) -> str:
    """Typed text with the ways to write a tuple made one: ``(3, 4)``, ``[3,4]`` and ``3 4`` become ``3,4``."""
    bare = re.sub(r"^[(\[]\s*|\s*[)\]]$", "", text.strip())
    return re.sub(r"\s*,\s*|\s+", ",", bare)
