"""Plant faults in the product, one at a time, and count how many the tests find: ``make mutants``.

A fault ("mutant") is one small change of one line: a comparison turned round, a boundary moved by one, a sign, ``any``
for ``all``, ``min`` for ``max``, ``and`` for ``or``, a condition that loses its ``not``, a statement left out, another
constant. They are drawn with a seed from every room, in proportion to its lines of code.

    python tests/mutants.py map                    run the tests once and note which lines each of them runs
    python tests/mutants.py run --number 620       draw faults, run the tests that touch them, print a table by room
    python tests/mutants.py run --again            only those that survived before, with the tests of today
    python tests/mutants.py show                   the table again, and the survivors with their lines

How it is fast: libraries are loaded once, and each fault is tried in a copy of that process (a fork) in which the
module with the fault is imported in place of the real one. No file of the product is touched, so both cores and the
user can go on working. Kernels run as plain Python (``NUMBA_DISABLE_JIT=1``) when the fault is in one of them; if no
test finds it so, the kernel is compiled with the fault, and the tests that come by where it is called are tried.

A fault counts as killed if a test fails, or if the tests run far longer than they should. A fault that
changes nothing that anybody could see is listed in ``mutants_equivalent.toml``, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("VEILROUTE_MUTANTS_ROOT", TESTS.parent))
SOURCES = ROOT / "src"
STORE = ROOT / ".mutants"
EQUIVALENT = TESTS / "mutants_equivalent.toml"
SUITES = ("differential", "property", "regression", "surface", "unit")
#: Tests that run kernels as plain Python: with them faults in kernels are looked for.
PLAIN_SUITES = (
    "tests/property tests/differential tests/unit/partition tests/unit/covering tests/unit/kernels tests/unit/planners"
)
#: Whole numbers that wrap around are meant to do so in hashes; as plain Python, numpy warns.
PLAIN_OPTIONS = ("-W", "ignore::RuntimeWarning")
#: A test that takes longer as plain Python says nothing there.
PLAIN_LIMIT_S = 6
#: As many tests, and as many seconds of them, are tried for a fault: of each test function the quickest case, then of
#: each the next one.
MOST_TESTS, MOST_S = 400, 30.0
FIRST_TESTS = 12
#: A kernel with a fault, and those that call it, may take so long to compile.
COMPILING_S = 240

#: Where modules stood when the faults were drawn, by the room they counted to: the draw, and the list of equivalent
#: faults, stay the same when code moves. Two modules that were one are drawn as that one.
MOVED = """
base: base.errors=errors base.arrays=arrays base.checks=checks base.io=jsontext base.keys=keys base.registry=registry
    base.run=progress base.cluster=cluster base.lazy=lazy
model: model.problem=problem model.rules=rules model.playbook=playbook model.certificate=certificate
    model.closure=closures model.metrics=metrics model.day=days model.day_state=underway model.areas=areas
    model.exposure=exposure
ledger: ledger.ledger=ledger model.entry=entries ledger.composition=accounting ledger.explain=shortfalls
    ledger.what_if=foresight base.journal=journal
linking: ledger.intersection=linking model.identities=linking
replanning: planners.replan=replanning planners.lookalikes=lookalikes
analysis: planners.solve=solver planners.sights=posterior analysis.frontier=frontier analysis.all_pairs=pairs
    analysis.posterior=posterior analysis.obstacles=diagnosis analysis.observers=adversary.observers
"""
DRAWN_AS = {
    f"veilroute.{new}": (room, f"veilroute.{old}")
    for room, names in re.findall(r"^(\w+): ((?:.|\n    )+)", MOVED, re.MULTILINE)
    for new, old in (name.split("=") for name in names.split())
}
GROUPS = {
    "engine": ("partition", "covering", "kernels", "planners"),
    "auditor": ("auditing",),
    "ledger, linking, replanning, fleet": ("ledger", "linking", "replanning", "fleet"),
}
REST = "the other rooms"
#: How many in a hundred the tests must find in each group; equivalent ones do not count.
GOALS = {"engine": 90.0, "auditor": 92.0, "ledger, linking, replanning, fleet": 90.0, REST: 55.0}


@dataclass(frozen=True, order=True)
class Mutant:
    """One planted fault: where it is, and the text before and after."""

    room: str
    module: str
    line: int
    start: int  # characters from the start of the file
    end: int
    operator: str
    old: str
    new: str
    text: str  # the whole line, as it is now and stripped

    @property
    def key(self) -> str:
        """What tells it from all others, even after lines have moved."""
        return f"{drawn_as(self.module)} | {self.text} | {self.old} -> {self.new}"


def is_kernel(mutant: Mutant) -> bool:
    """Whether numba compiles what has the fault: the kernels, but not what compiles and keeps them."""
    return mutant.room == "kernels" and not mutant.module.endswith((".jit", ".__init__"))


def room_of(path: Path) -> str:
    """The room of a source file."""
    module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
    inside = path.relative_to(SOURCES).parts
    return DRAWN_AS[module][0] if module in DRAWN_AS else inside[1] if len(inside) > 2 else "base"


def drawn_as(module: str) -> str:
    """What a module was called when the faults were drawn."""
    return DRAWN_AS[module][1] if module in DRAWN_AS else module


# ---------------------------------------------------------------------------------------------------------- planting

COMPARISONS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.Gt: (">", "<="),
    ast.LtE: ("<=", ">"),
    ast.GtE: (">=", "<"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.Div: ("/", "*")}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Finder(ast.NodeVisitor):
    """All faults that one file could have."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        self.room = room_of(path)
        self.found: list[Mutant] = []
        self.visit(ast.parse(self.text))

    def place(self, line: int, column: int) -> int:
        """Where a node starts; ``ast`` counts bytes in a line, we count characters."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: Any) -> tuple[int, int]:
        """First and last character of a node."""
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def add(self, operator: str, line: int, start: int, end: int, new: str) -> None:
        """Note a fault."""
        whole = self.lines[line - 1].strip()
        self.found.append(Mutant(self.room, self.module, line, start, end, operator, self.text[start:end], new, whole))

    def between(self, left: Any, right: Any, old: str) -> tuple[int, int] | None:
        """Where the operator ``old`` stands between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.text[start:end]
        at = gap.find(old)
        if at < 0 or "#" in gap[:at]:
            return None
        return start + at, start + at + len(old)

    def visit_Compare(self, node: ast.Compare) -> None:
        left: ast.expr = node.left
        for each, right in zip(node.ops, node.comparators, strict=True):
            old, new = COMPARISONS[type(each)]
            place = self.between(left, right, old)
            if place:
                self.add("comparison", node.lineno, *place, new)
                if old in BOUNDARIES:
                    self.add("boundary", node.lineno, *place, BOUNDARIES[old])
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        # `a | None` is a type, and "text" * 3 a picture: only arithmetic is changed.
        if type(node.op) in SIGNS and not isinstance(node.left, (ast.JoinedStr, ast.List)):
            old, new = SIGNS[type(node.op)]
            is_text = any(
                isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
            )
            place = None if is_text else self.between(node.left, node.right, old)
            if place:
                self.add("sign", node.lineno, *place, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            place = self.between(left, right, f" {old} ") or self.between(left, right, f"\n{old} ")
            if place:
                self.add("and/or", left.end_lineno or node.lineno, place[0] + 1, place[1] - 1, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            start, is_not = self.span(node)[0], isinstance(node.op, ast.Not)
            self.add("comparison" if is_not else "sign", node.lineno, start, start + (4 if is_not else 1), "")
        if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func
        if isinstance(name, ast.Name) and name.id in CALLS:
            operator = "any/all" if name.id in ("any", "all") else "min/max"
            self.add(operator, node.lineno, *self.span(name), CALLS[name.id])
        if isinstance(name, ast.Attribute) and name.attr in CALLS:
            end = self.span(name)[1]
            operator = "any/all" if name.attr in ("any", "all") else "min/max"
            self.add(operator, name.end_lineno or node.lineno, end - len(name.attr), end, CALLS[name.attr])
        # `zip(..., strict=True)` is itself a check: without it nothing changes as long as the code is right.
        node.keywords = [each for each in node.keywords if each.arg != "strict"]
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add("constant", node.lineno, *self.span(node), str(not value))
        elif isinstance(value, int):
            self.add("constant", node.lineno, *self.span(node), str(value + 1))
        elif isinstance(value, float):
            self.add("constant", node.lineno, *self.span(node), repr(value * 2 if value else 1.0))

    def generic_statement(self, node: ast.stmt) -> None:
        """A statement that can be left out without a name missing later."""
        self.add("dropped", node.lineno, *self.span(node), "pass")
        self.generic_visit(node)

    visit_Raise = visit_AugAssign = visit_Continue = visit_Break = generic_statement  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add("dropped", node.lineno, *self.span(node), "pass")
        if not isinstance(node.value, ast.Constant):  # else it is a docstring
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, (ast.Subscript, ast.Attribute)) for target in node.targets):
            self.add("dropped", node.lineno, *self.span(node), "pass")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for value in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(value)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text for people, most of it; and Python before 3.12 does not say where its parts are."""


@cache
def find_mutants(path: Path) -> tuple[Mutant, ...]:
    """All faults that one file could have, in the order of its text."""
    return tuple(sorted(Finder(path).found, key=lambda each: (each.start, each.operator, each.new)))


def source_files() -> list[Path]:
    """What is tested: all Python of the product."""
    return sorted(path for path in SOURCES.rglob("*.py") if not path.name.startswith("_version"))


def count_code(path: Path) -> int:
    """Lines with code: no blanks, comments or docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = {i for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def draw(number: int, seed: int, rooms: tuple[str, ...] = ()) -> list[Mutant]:
    """``number`` faults over all rooms by their lines of code: first a line, then a kind of fault, then one of it.

    Drawn by the text of each line, so that a change elsewhere leaves the draw as it is.
    """
    sizes: Counter[str] = Counter()
    by_line: dict[str, dict[tuple[str, str], dict[str, list[Mutant]]]] = defaultdict(dict)
    for path in source_files():
        room = room_of(path)
        sizes[room] += count_code(path)
        for each in find_mutants(path):
            kinds = by_line[room].setdefault((drawn_as(each.module), each.text), defaultdict(list))
            kinds[each.operator].append(each)
    drawn: list[Mutant] = []
    total = sum(sizes.values())
    for room in sorted(sizes):
        wanted = max(1, round(number * sizes[room] / total))
        chances = {line: random.Random(f"{seed} {line}") for line in by_line[room]}
        for line in sorted(chances, key=lambda line: chances[line].random())[:wanted]:
            kinds = by_line[room][line]
            drawn.append(chances[line].choice(kinds[chances[line].choice(sorted(kinds))]))
    return sorted(each for each in drawn if not rooms or each.room in rooms)


# --------------------------------------------------------------------------------------- which tests run which lines


class Timing:
    """A plugin of pytest that notes how long each test took, and stops those that take too long as plain Python.

    What counts is processor time, with that of the processes that a test has waited for: other work on the same machine
    must not decide which tests are tried.
    """

    def __init__(self, path: Path, limit_s: float) -> None:
        self.path, self.limit_s = path, limit_s

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Measure a test, under an alarm."""
        if self.limit_s:
            signal.signal(signal.SIGALRM, _too_long)
            signal.setitimer(signal.ITIMER_REAL, self.limit_s)
        began = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            item.user_properties.append(("seconds", round(sum(os.times()[:4]) - began, 3)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that passed, in the process that hears of all."""
        if report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" not in os.environ:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([report.nodeid, dict(report.user_properties)["seconds"]]) + "\n")


def _too_long(_signal: int, frame: FrameType | None) -> None:
    if frame is not None and "coverage" in frame.f_code.co_filename:
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # it may hold a lock, which nobody would give back
        return
    pytest.skip("longer than a test may run as plain Python")  # what hypothesis passes on, and does not try to shrink


def pytest_configure(config: Any) -> None:
    """This file is itself a plugin of pytest while the map is made (``-p mutants``)."""
    if "VEILROUTE_MAP" in os.environ:
        limit_s = float(os.environ.get("VEILROUTE_MAP_LIMIT", "0"))
        config.pluginmanager.register(Timing(Path(os.environ["VEILROUTE_MAP"]), limit_s))


def environment(is_plain: bool) -> dict[str, str]:
    """What the tests run in: these sources, and a way for the processes that they start to have the fault, too."""
    paths = [str(TESTS / "mutants_site"), str(SOURCES), str(ROOT / "tests"), str(ROOT / "benchmarks"), str(TESTS)]
    plain = {"NUMBA_DISABLE_JIT": "1"} if is_plain else {}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **plain}


def make_map(is_plain: bool, workers: int, selected: list[str]) -> None:
    """Run the tests under coverage and keep: of each test how long it took, of each line the tests that run it."""
    import coverage

    name = "plain" if is_plain else "all"
    STORE.mkdir(exist_ok=True)
    times, data = STORE / f"{name}.times", STORE / f"{name}.coverage"
    for path in STORE.glob(f"{name}.*"):
        path.unlink()
    settings = STORE / f"{name}.toml"
    settings.write_text('[tool.coverage.run]\nsource = ["veilroute"]\npatch = ["_exit"]\n', encoding="utf-8")
    folders = selected or (PLAIN_SUITES.split() if is_plain else [f"tests/{suite}" for suite in SUITES])
    limit_s = f"{PLAIN_LIMIT_S if is_plain else 0}"
    changed = {"VEILROUTE_MAP": str(times), "VEILROUTE_MAP_LIMIT": limit_s, "COVERAGE_FILE": str(data)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "-p", "no:cacheprovider", "-m", "not slow"]
    command += ["--tb=no", "-n", str(workers), "--dist", "worksteal", "--cov=veilroute", "--cov-context=test"]
    command += ["--cov-report=", f"--cov-config={settings}", *folders]
    command += PLAIN_OPTIONS if is_plain else ()
    subprocess.run(command, cwd=ROOT, env={**environment(is_plain), **changed}, check=False)
    if not (data.exists() and times.exists()):
        raise SystemExit("no test ran: is this the environment of `make test`?")
    durations = dict(json.loads(line) for line in times.read_text(encoding="utf-8").splitlines())
    tests = sorted(durations)
    number = {test: i for i, test in enumerate(tests)}
    kept = coverage.CoverageData(basename=str(data))
    kept.read()
    lines: dict[str, dict[int, list[int]]] = {}
    for file in kept.measured_files():
        by_line = {}
        for line, contexts in kept.contexts_by_lineno(file).items():
            touching = {
                number[context.partition("|")[0]] for context in contexts if context.partition("|")[0] in number
            }
            by_line[line] = sorted(touching)
        module = ".".join(Path(file).resolve().relative_to(SOURCES).with_suffix("").parts)
        lines[module] = by_line
    content = {"tests": tests, "seconds": [round(durations[test], 4) for test in tests], "lines": lines}
    (STORE / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    data.unlink()
    print(f"{len(tests)} tests, {len(lines)} modules: {STORE / name}.json")


@cache
def read_map(name: str) -> Any:
    """What :func:`make_map` has kept."""
    path = STORE / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"{path} is missing: run `{Path(sys.argv[0]).name} map` first")
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def lines_to_look_at(mutant: Mutant) -> list[tuple[str, int]]:
    """The lines that feel a fault: its own in a function, else those that use what the statement defines.

    A constant, a default value or a field runs when its module is imported, which says nothing about the tests.
    """
    path = SOURCES.joinpath(*mutant.module.split(".")).with_suffix(".py")
    inside: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(inside) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for node in reversed(functions):
        if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
            # A statement of several lines counts under its first line: the next one above.
            return [(mutant.module, line) for line in range(mutant.line, node.body[0].lineno - 1, -1)][:12]
        if node.lineno <= mutant.line < node.body[0].lineno:
            return [(mutant.module, line) for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)]
    name = re.match(r"(\w+)\s*[:=]", mutant.text)
    word = re.compile(rf"\b{name[1]}\b") if name else re.compile(".")
    files = [path] if not name or name[1].startswith("_") else source_files()
    found = []
    for file in files:
        module = ".".join(file.relative_to(SOURCES).with_suffix("").parts)
        numbered = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        found += [(module, line) for line, text in numbered if word.search(text)]
    return found


@cache
def lines_that_call(mutant: Mutant) -> list[tuple[str, int]]:
    """Where the kernel with a fault, or a kernel that calls it, is named outside the kernels."""
    inside = [path for path in source_files() if room_of(path) == "kernels"]
    functions = {
        node.name: (path, node)
        for path in inside
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    home = SOURCES.joinpath(*mutant.module.split(".")).with_suffix(".py")
    names = {
        name
        for name, (path, node) in functions.items()
        if path == home and node.lineno <= mutant.line <= (node.end_lineno or 0)
    }
    while True:
        called = re.compile(rf"\b({'|'.join(sorted(names)) or '$^'})\b")
        more = {name for name, (_, node) in functions.items() if called.search(ast.unparse(node))} - names
        if not more:
            break
        names |= more
    found = []
    for path in source_files():
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        found += [(module, i) for i, text in numbered if path not in inside and called.search(text)]
    return found


def tests_for(mutant: Mutant, *, is_plain: bool) -> list[tuple[str, float]]:
    """The tests that run the line of a fault, quickest first, and how long each takes; of a compiled kernel, a call."""
    known = read_map("plain" if is_plain else "all")
    touching: set[int] = set()
    is_compiled = is_kernel(mutant) and not is_plain
    places = lines_that_call(mutant) if is_compiled else lines_to_look_at(mutant)
    for module, line in places:
        tests = known["lines"].get(module, {}).get(str(line))
        touching |= set(tests or ())
        if tests and places[0] == (mutant.module, mutant.line):
            break
    if not touching:  # what runs on import, or in processes of their own, is looked for by the tests of its name
        name = f"/test_{mutant.module.rpartition('.')[2]}.py::"
        touching = {number for number, test in enumerate(known["tests"]) if name in test}
    order = sorted(touching, key=lambda each: (known["seconds"][each], each))
    cases: Counter[str] = Counter()
    rounds: dict[int, int] = {}
    for each in order:
        function = known["tests"][each].partition("[")[0]
        rounds[each] = cases[function]
        cases[function] += 1
    order.sort(key=lambda each: rounds[each])
    chosen: list[tuple[str, float]] = []
    spent = 0.0
    for each in order[:MOST_TESTS]:
        spent += known["seconds"][each]
        if chosen and spent > MOST_S:
            break
        chosen.append((known["tests"][each], known["seconds"][each]))
    return chosen


# ----------------------------------------------------------------------------------------------------- trying a fault


class Planted(SourceFileLoader):
    """Imports a module with a fault in it, as if its file had it."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> Any:
        """The code of the changed text; nothing is kept on disk."""
        return compile(self._text, self.path, "exec", dont_inherit=True)


class PlantedFinder:
    """Finds the module with the fault before Python finds the real one."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module.removesuffix(".__init__"), text
        self.path = str(SOURCES.joinpath(*module.split(".")).with_suffix(".py"))

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        """As Python asks."""
        if name != self.module:
            return None
        folders = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        loader = Planted(name, self.path, self.text)
        return importlib.util.spec_from_file_location(
            name, self.path, loader=loader, submodule_search_locations=folders
        )


def plant(module: str, start: int, end: int, new: str) -> None:
    """From now on, importing ``module`` gives it with the fault; also in processes that are started from here."""
    path = SOURCES.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    sys.meta_path.insert(0, cast(Any, PlantedFinder(module, text[:start] + new + text[end:])))
    os.environ["VEILROUTE_MUTANT"] = json.dumps([module, start, end, new])


class FirstFailure:
    """A plugin of pytest that notes the test that failed."""

    test = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember it."""
        if report.failed and not self.test:
            self.test = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        """A test file that cannot be imported any more has found the fault, too."""
        self.pytest_runtest_logreport(report)


LIBRARIES = (
    "numpy numba orjson typer rich.console matplotlib.pyplot highspy scipy.sparse.csgraph scipy.optimize hypothesis "
    "networkx osmium openpyxl pyvrp starlette.applications uvicorn _pytest.assertion.rewrite xdist pytest_cov"
)


def serve() -> None:
    """Load all libraries, then try each fault that comes in, in a process of its own that starts with them loaded."""
    for name in LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    os.chdir(ROOT)
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        began = time.monotonic()
        answer, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _try_one(request, writer)
        os.close(writer)
        ended = _wait(child, request["limit_s"])
        with os.fdopen(answer, encoding="utf-8") as file:
            killer = file.read() if ended is not None else ""
        verdict = "timeout" if ended is None else {0: "survived", 5: "survived"}.get(ended, "killed")
        seconds = round(time.monotonic() - began, 2)
        print(json.dumps({"verdict": verdict, "killer": killer, "seconds": seconds}), flush=True)


def _try_one(request: dict[str, Any], writer: int) -> None:
    """In the child: plant the fault, run the tests, and end with pytest's exit code."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    code = 1
    seen = FirstFailure()
    try:
        if request["mutant"]:
            plant(*request["mutant"])
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries are loaded before pytest starts
        options += PLAIN_OPTIONS if "NUMBA_DISABLE_JIT" in os.environ else ()
        code = int(pytest.main([*options, *request["tests"]], plugins=[seen]))
    except BaseException as error:  # a fault may do anything
        seen.test = seen.test or repr(error)[:80]
    finally:
        with contextlib.suppress(OSError):
            os.write(writer, seen.test.encode()[:4000])
        os._exit(code)


def _wait(child: int, limit_s: float) -> int | None:
    """The exit code of a child, or ``None`` if it took too long; whatever it has started ends with it."""
    deadline = time.monotonic() + limit_s
    ended: int | None = None
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            ended = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if ended is None:
        os.waitpid(child, 0)
    return ended


class Server:
    """One process that tries faults, kept at work from here."""

    def __init__(self, is_plain: bool) -> None:
        command = [sys.executable, str(TESTS / "mutants.py"), "serve"]
        changed = {**environment(is_plain), "VEILROUTE_MUTANTS_ROOT": str(ROOT)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=changed, text=True, cwd=ROOT
        )
        self.is_plain = is_plain
        self.job: Job | None = None
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def start(self, job: Job) -> None:
        """Try the tests of the job's next stage."""
        self.job = job
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job.request()) + "\n")
        self.process.stdin.flush()

    def ask(self, job: Job) -> dict[str, Any]:
        """Try one stage, and wait for the outcome."""
        self.start(job)
        assert self.process.stdout is not None
        return cast(dict[str, Any], json.loads(self.process.stdout.readline()))

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Job:
    """A fault and the tests to try: first the quickest few, then the rest. A kernel is compiled for all at once."""

    def __init__(self, mutant: Mutant | None, tests: list[tuple[str, float]], *, is_plain: bool = False) -> None:
        self.mutant, self.is_plain = mutant, is_plain
        self.is_compiled = mutant is not None and is_kernel(mutant) and not is_plain
        first = len(tests) if self.is_compiled else FIRST_TESTS
        self.stages = [stage for stage in (tests[:first], tests[first:]) if stage]
        self.num_tests = len(tests)
        self.seconds = 0.0

    def request(self) -> dict[str, Any]:
        """What the server is told."""
        stage = self.stages[0]
        one = self.mutant
        return {
            "mutant": one and [one.module, one.start, one.end, one.new],
            "tests": [test for test, _ in stage],
            "limit_s": 30 + 5 * sum(seconds for _, seconds in stage) + (COMPILING_S if self.is_compiled else 0),
        }


def try_all(jobs: list[Job], workers: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Each job with its outcome, as they end. Jobs of plain kernels and others have servers of their own."""
    for is_plain in (False, True):
        waiting = [job for job in jobs if job.is_plain == is_plain]
        servers = [Server(is_plain) for _ in range(min(workers, len(waiting)))]
        try:
            waiting.reverse()
            for server in servers:
                server.start(waiting.pop())
            while any(server.job for server in servers):
                pipes = {cast(Any, server.process.stdout): server for server in servers if server.job}
                for pipe in select.select(list(pipes), [], [])[0]:
                    server = pipes[pipe]
                    job, answer = cast(Job, server.job), json.loads(pipe.readline())
                    job.seconds += answer["seconds"]
                    job.stages.pop(0)
                    if answer["verdict"] == "survived" and job.stages:
                        server.start(job)
                        continue
                    yield job, {**answer, "seconds": round(job.seconds, 2)}
                    server.job = None
                    if waiting:
                        server.start(waiting.pop())
        finally:
            for server in servers:
                server.stop()


# ------------------------------------------------------------------------------------------------------------ results


@cache
def equivalents() -> dict[str, str]:
    """Faults that change nothing that could be seen, each with the reason."""
    if not EQUIVALENT.exists():
        return {}
    return {
        each["fault"]: each["reason"] for each in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    }


def run(mutants: list[Mutant], workers: int, out: Path, kept: dict[str, dict[str, Any]]) -> None:
    """Try those that are not in ``kept``, write each outcome at once, and print the table."""
    results = dict(kept)
    left = [each for each in mutants if each.key not in results and each.key not in equivalents()]
    jobs = [Job(each, tests_for(each, is_plain=is_kernel(each)), is_plain=is_kernel(each)) for each in left]
    jobs = [
        job if job.stages or job.mutant is None else Job(job.mutant, tests_for(job.mutant, is_plain=False))
        for job in jobs
    ]
    untested = [job for job in jobs if not job.stages]
    began = time.monotonic()
    with out.open("a", encoding="utf-8") as file:

        def note(job: Job, outcome: dict[str, Any]) -> None:
            assert job.mutant is not None
            record = {**asdict(job.mutant), "key": job.mutant.key, "tests": job.num_tests, **outcome}
            record["is_plain"] = job.is_plain
            results[record["key"]] = record
            file.write(json.dumps(record) + "\n")
            file.flush()

        for job in untested:
            note(job, {"verdict": "untested", "killer": "", "seconds": 0.0})
        ready = [job for job in jobs if job.stages]
        check_servers(ready)
        compiled = []
        for done, (job, outcome) in enumerate(try_all(ready, workers), 1):
            note(job, outcome)
            if sys.stderr.isatty() or done % 20 == 0:
                print(f"{done} of {len(ready)} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            if job.is_plain and outcome["verdict"] == "survived" and job.mutant is not None:
                compiled.append(Job(job.mutant, tests_for(job.mutant, is_plain=False)))
        # Many tests take too long with kernels as plain Python: what those that do not have not found is compiled.
        for job, outcome in try_all([job for job in compiled if job.stages], workers):
            note(job, outcome)
        check_killers(results, workers, note)
    show(mutants, results)


def check_servers(jobs: list[Job]) -> None:
    """Tests must pass where nothing is planted; otherwise every fault would count as killed."""
    for is_plain in {job.is_plain for job in jobs}:
        name = read_map("plain" if is_plain else "all")["tests"][0]
        server = Server(is_plain)
        try:
            answer = server.ask(Job(None, [(name, 5.0)]))
        finally:
            server.stop()
        if answer["verdict"] != "survived":
            raise SystemExit(f"{name} fails although nothing is planted: {answer['killer']}")


def check_killers(results: dict[str, dict[str, Any]], workers: int, note: Any) -> None:
    """Every test that killed must pass without a fault; otherwise its kills do not count."""
    for is_plain in (False, True):
        of = [each for each in results.values() if each["verdict"] == "killed" and "::" in each["killer"]]
        of = [each for each in of if each["is_plain"] == is_plain]
        names = sorted({each["killer"] for each in of})
        if not names:
            continue
        server = Server(is_plain)
        bad: set[str] = set()
        try:
            while True:
                job = Job(None, [])
                job.stages = [[(name, 5.0) for name in names if name not in bad]]
                answer = server.ask(job)
                if answer["verdict"] == "survived" or not answer["killer"]:
                    break
                bad.add(answer["killer"])
        finally:
            server.stop()
        for each in of:
            if each["killer"] in bad:
                one = Mutant(**{name: each[name] for name in Mutant.__dataclass_fields__})
                note(Job(one, []), {"verdict": "survived", "killer": f"red anyway: {each['killer']}", "seconds": 0.0})


def show(mutants: list[Mutant], results: dict[str, dict[str, Any]]) -> None:
    """A table by room and by group, and the survivors."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    groups = {room: group for group, rooms in GROUPS.items() for room in rooms}
    for each in mutants:
        tried = results.get(each.key, {"verdict": "not tried"})["verdict"]
        verdict = "equivalent" if each.key in equivalents() else tried
        for name in (each.room, f"= {groups.get(each.room, REST)}", "= all"):
            counts[name]["drawn"] += 1
            counts[name][verdict] += 1
    print(f"{'room':36} drawn killed  of these  survived  no test  equivalent  killed of")
    print(f"{'':36}              too slow            runs it              the rest")
    for name in sorted(counts, key=lambda name: (name.startswith("="), name)):
        of = counts[name]
        killed, rest = of["killed"] + of["timeout"], of["drawn"] - of["equivalent"] - of["not tried"]
        share = f"{100 * killed / rest:.1f} %" if rest else "n/a"
        print(
            f"{name:36} {of['drawn']:5} {killed:6} {of['timeout']:9} {of['survived']:9} {of['untested']:8} "
            f"{of['equivalent']:11} {share:>10}"
        )
    operators: dict[str, Counter[str]] = defaultdict(Counter)
    for each in mutants:
        operators[each.operator][results.get(each.key, {"verdict": "equivalent"})["verdict"]] += 1
    print("; ".join(f"{name} {of['killed'] + of['timeout']}/{of.total()}" for name, of in sorted(operators.items())))
    for each in mutants:
        verdict = results.get(each.key, {"verdict": ""})["verdict"]
        if verdict in ("survived", "untested") and each.key not in equivalents():
            print(f"{verdict:9} {each.module}:{each.line} {each.operator}: {each.old} -> {each.new}")
            print(f"{'':9} {each.text}")


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Outcomes that were written before, the last of each fault."""
    if not path.exists():
        return {}
    return {(each := json.loads(line))["key"]: each for line in path.read_text(encoding="utf-8").splitlines()}


def main() -> int:
    """Read what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("action", choices=("map", "run", "show", "serve"))
    parser.add_argument("--number", type=int, default=620, help="how many faults are drawn (default 620)")
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--room", action="append", default=[], help="only the faults of this room; may be repeated")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--again", action="store_true", help="try those again that survived or that no test ran")
    parser.add_argument("--plain", action="store_true", help="map: only tests with kernels as plain Python")
    parser.add_argument("--tests", nargs="*", default=[], help="map: only these folders or files")
    given = parser.parse_args()
    if given.action == "serve":
        serve()
        return 0
    if given.action == "map":
        for is_plain in (True,) if given.plain else (False,) if given.tests else (False, True):
            make_map(is_plain, given.workers, given.tests)
        return 0
    STORE.mkdir(exist_ok=True)
    out = STORE / f"results-{given.number}-{given.seed}.jsonl"
    mutants = draw(given.number, given.seed, tuple(given.room))
    results = read_results(out)
    if given.action == "run":
        if given.again:
            results = {key: each for key, each in results.items() if each["verdict"] in ("killed", "timeout")}
        run(mutants, given.workers, out, results)
        results = read_results(out)
    else:
        show(mutants, results)
    return 0 if given.action == "show" else int(not meets_goals(mutants, results))


def meets_goals(mutants: list[Mutant], results: dict[str, dict[str, Any]]) -> bool:
    """Whether every group reaches its goal; says which does not."""
    groups = {room: group for group, rooms in GROUPS.items() for room in rooms}
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for each in mutants:
        if each.key not in equivalents():
            is_killed = results.get(each.key, {"verdict": ""})["verdict"] in ("killed", "timeout")
            counts[groups.get(each.room, REST)][is_killed] += 1
    short = [group for group, of in counts.items() if 100 * of[True] < GOALS[group] * of.total()]
    for group in short:
        of = counts[group]
        print(f"{group}: {100 * of[True] / of.total():.1f} % killed, and the goal is {GOALS[group]:g} %")
    return not short


if __name__ == "__main__":
    sys.exit(main())
