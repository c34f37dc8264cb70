"""The one decorator that compiles kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile with a cache on disk, or without one where no cache directory is writable."""
    try:
        return cast(Function, numba.njit(cache=True)(function))
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        return cast(Function, numba.njit(function))
