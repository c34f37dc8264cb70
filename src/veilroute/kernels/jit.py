"""The one decorator that compiles kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile with a cache on disk, or without one where no cache directory is writable.

    Other threads run while a kernel does.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        return cast(Function, numba.njit(nogil=True)(function))


def postpone_blas() -> None:
    """Keep numba from importing all of scipy.linalg, a quarter of a second, before the first kernel runs.

    Where scipy is installed, numba imports it only to learn whether BLAS is there; our kernels use none. That
    question is answered by looking for scipy instead. Code that does use BLAS still loads it when it is compiled.
    For our own command line only: it reaches into numba, which is not a library's business in somebody's program.
    """
    # Another numba may have other insides; then it just starts more slowly.
    with suppress(ImportError, AttributeError):
        _answer_without_asking()


def _answer_without_asking() -> None:
    from numba.np import linalg

    ask = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ask
    setattr(arraymath, "ensure_blas", ask)  # noqa: B010
    arraymath._HAVE_BLAS = find_spec("scipy") is not None
