"""How a room shows the names of its modules without importing them all, and what rooms above do for it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

#: What rooms above do for objects of rooms below: how notebooks show one, by the name of its class; how one is drawn;
#: and what it costs not to hide. The package itself says it here, and classes look it up.
SHOWN_BY: dict[str, Callable[..., Any]] = {}


def lazy_names(room: str, file: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room: what its file imports under ``if TYPE_CHECKING``, each when it is wanted.

    The imports are read from the text, so that each name stands there once, for type checkers and for this.
    """

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        blocks = [node for node in ast.parse(Path(file).read_text("utf-8")).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {each.asname or each.name: (str(node.module), each.name) for node in imports for each in node.names}

    def find(name: str) -> Any:
        if name.startswith("_") or name not in homes():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module, own = homes()[name]
        return import_module(f"{module}.{own}") if module == room else getattr(import_module(module), own)

    return find
