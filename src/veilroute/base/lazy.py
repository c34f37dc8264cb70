"""How a room shows the names of its modules without importing them all."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(room: str, file: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room: what its file imports under ``if TYPE_CHECKING``, each when it is wanted.

    The imports are read from the text, so that each name stands there once, for type checkers and for this.
    """

    @cache
    def homes() -> dict[str, str]:
        blocks = [node for node in ast.parse(Path(file).read_text("utf-8")).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def find(name: str) -> Any:
        if name.startswith("_") or name not in homes():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(homes()[name]), name)

    return find
