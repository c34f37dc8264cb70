"""Tests stand on what rooms show, so that modules can move without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import veilroute as vr

PACKAGE = Path(vr.__file__).resolve().parent
TESTS = Path(__file__).resolve().parents[1]
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
#: At most so many imports of modules in all tests, each in the test of that module's own algorithm.
MOST_PRIVATE = 60

#: The most lines of each room. What needs more makes room for it first; a room that has shrunk gets a smaller budget.
BUDGETS = {
    "analysis": 1450, "app": 4350, "auditing": 10850, "base": 2100, "bench": 5800, "cli": 4150, "covering": 3700,
    "domain": 2350, "fleet": 2000, "formats": 3850, "kernels": 5350, "ledger": 1450, "maps": 800, "model": 3850,
    "partition": 5550, "planners": 3200, "plotting": 4400, "streets": 4300, "studio": 3000,
}  # fmt: skip


def private_imports(path: Path) -> Iterator[str]:
    """Modules of the house that a file imports, and that are no rooms."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "veilroute":
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            module = PACKAGE.parent.joinpath(*name.split("."))
            if name.startswith("veilroute.") and module.with_suffix(".py").exists():
                yield name
                break


def test_tests_import_rooms() -> None:
    found = [(path.name, name) for path in sorted(TESTS.rglob("*.py")) for name in private_imports(path)]
    assert len(found) <= MOST_PRIVATE, found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_each_name_that_it_shows_once(room: str) -> None:
    """A name that is also that of a module would be the name or the module, as other imports have it."""
    shown: dict[str, str] = {}
    for block in ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")).body:
        for node in block.body if isinstance(block, ast.If) else ():
            if isinstance(node, ast.ImportFrom):
                shown |= {alias.name: str(node.module) for alias in node.names}
    modules = {path.stem for path in (PACKAGE / room).glob("*.py")}
    assert not modules & set(shown)
    here = import_module(f"veilroute.{room}")
    for name, module in shown.items():
        assert getattr(here, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_its_budget_of_lines(room: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / room).rglob("*.py")]
    assert sum(len(text.splitlines()) for text in texts) <= BUDGETS[room]
