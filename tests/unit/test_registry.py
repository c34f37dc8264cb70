"""Plug-ins: which ones are found, what is refused, and in which words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from plugin_packages import install
from veilroute import InvalidInputError, PluginError, UnknownMethodError
from veilroute.base.registry import read_option
from veilroute.covering import HEURISTICS
from veilroute.partition import MERGE_ORDERS, PARTITIONERS
from veilroute.planners import PLANNERS

TWOS = """
from veilroute.partition import Partition
from veilroute.planners.pbp import plan_pbp

def plan(problem, privacy, *, seed, watch, partitioner="naive", note=None):
    return plan_pbp(problem, privacy, seed=seed, watch=watch, partitioner=partitioner)

def partition(problem, task, rule, *, seed, watch, size=2):
    num = len(task.members)
    classes = tuple(tuple(range(i, i + size)) for i in range(0, num - size + 1, size))
    return Partition(classes, tuple(range(size * len(classes), num)), is_optimal=False)

def needs(problem, privacy, *, seed, watch, size):
    pass

def takes_all(problem, privacy, *, seed, watch, **options):
    pass

def gives_nothing(problem, privacy, *, seed, watch):
    pass

def forgets(problem, privacy, *, seed, watch):
    from dataclasses import replace
    made = plan(problem, privacy, seed=seed, watch=watch)
    return replace(made, classes=made.classes[1:])

def leaves(problem, privacy, *, seed, watch):
    raise SystemExit(0)

def steals(problem, privacy, *, seed, watch, planner="optimal"):
    pass

def fails(problem, privacy, *, seed, watch):
    raise KeyError("wall")

def untyped(*given):
    return given.nothing

number = 3
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, to install packages into."""
    monkeypatch.syspath_prepend(tmp_path)
    for table in (PLANNERS, PARTITIONERS, MERGE_ORDERS, HEURISTICS):
        monkeypatch.setattr(table, "_loaded", {})
    monkeypatch.delitem(sys.modules, "twos", raising=False)
    return tmp_path


@pytest.fixture
def problem() -> vr.Problem:
    return vr.Problem(vr.grid_domain(["......"] * 4), [vr.Trip((0, 0), (3, 5))], [(1, 1), (1, 3), (2, 1), (2, 4)])


def test_a_planner_and_its_options(packages: Path, problem: vr.Problem) -> None:
    install(packages, "twos", TWOS, {"veilroute.planners": {"twos": "twos:plan"}})
    playbook = vr.solve(problem, planner="twos", note="wide", seed=4)
    assert playbook.planner == "twos"
    assert playbook.options == {"partitioner": "naive", "note": "wide", "seed": 4, "stopped_early": False}
    assert vr.solve(problem, planner="twos").options["note"] is None
    assert vr.audit(playbook).holds
    with pytest.raises(InvalidInputError, match=r"^size: expected a planner .*; twos takes partitioner, note$"):
        vr.solve(problem, planner="twos", size=2)


def test_a_partitioner_and_its_options(packages: Path, problem: vr.Problem) -> None:
    install(packages, "twos", TWOS, {"veilroute.partitioners": {"in-order": "twos:partition"}})
    playbook = vr.solve(problem, planner="m-pbp", partitioner="in-order", size=4)
    assert [group.members for group in playbook.classes] == [tuple(problem.candidates)]
    assert (playbook.options["partitioner"], playbook.options["size"]) == ("in-order", 4)
    assert vr.solve(problem, planner="pbp", partitioner="in-order").options["size"] == 2
    with pytest.raises(PluginError, match=r"^partitioner in-order of the package twos: failed with TypeError"):
        vr.solve(problem, planner="pbp", partitioner="in-order", size="two")
    with pytest.raises(InvalidInputError, match=r"^engine: expected a partitioner .*; in-order takes size$"):
        vr.solve(problem, planner="pbp", partitioner="in-order", engine="astar")
    with pytest.raises(InvalidInputError, match=r"^width: expected a planner .*; pbp takes .*, sighting, size$"):
        vr.solve(problem, planner="pbp", partitioner="in-order", width=1)
    with pytest.raises(InvalidInputError, match=r"^size: .*; pbp takes partitioner, .*, sighting$"):
        vr.solve(problem, planner="pbp", size=1)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("twos:nothing", "cannot be imported, AttributeError"),
        ("nowhere:plan", "cannot be imported, ModuleNotFoundError"),
        ("twos:number", "expected a function"),
        ("twos:needs", r"a default, and no \*\*options"),
        ("twos:takes_all", r"a default, and no \*\*options"),
        ("twos:gives_nothing", "expected to be given a Plan, got NoneType"),
        ("twos:forgets", "expected each member in one class, or left out"),
        ("twos:leaves", "failed with SystemExit"),
        ("twos:steals", "expected options with other names than problem"),
        ("twos:fails", "failed with KeyError: 'wall'"),
    ],
)
def test_a_broken_planner_is_told_of_in_one_line(packages: Path, problem: vr.Problem, at: str, words: str) -> None:
    install(packages, "twos", TWOS, {"veilroute.planners": {"odd": at}})
    with pytest.raises(PluginError, match=f"^planner odd of the package twos: .*{words}") as caught:
        vr.solve(problem, planner="odd")
    assert "\n" not in str(caught.value)
    assert vr.solve(problem).status == "optimal", "who does not use it is not concerned"


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "def plan(:", "1 / 0"])
def test_a_module_that_cannot_be_imported(packages: Path, problem: vr.Problem, text: str) -> None:
    install(packages, "twos", text, {"veilroute.planners": {"odd": "twos:plan", "other": "twos:plan"}})
    with pytest.raises(PluginError, match="^planner odd of the package twos: cannot be imported"):
        vr.solve(problem, planner="odd")
    with pytest.raises(UnknownMethodError, match="reuse, fleet, odd, other, got 'optimum'$"):
        vr.solve(problem, planner="optimum")


@pytest.mark.parametrize("options", [{"merge_order": "odd"}, {"heuristic": "odd"}])
def test_what_numba_cannot_compile(packages: Path, problem: vr.Problem, options: dict[str, Any]) -> None:
    offers = {group: {"odd": "twos:untyped"} for group in ("veilroute.merge_orders", "veilroute.heuristics")}
    install(packages, "twos", TWOS, offers)
    with pytest.raises(PluginError, match=r"^(merge order|heuristic) odd of the package twos: failed with TypingError"):
        vr.solve(problem, planner="pbp", partitioner="merge-bb", **options)


def test_built_in_names_stay_built_in(packages: Path, problem: vr.Problem) -> None:
    install(packages, "twos", TWOS, {"veilroute.planners": {"optimal": "twos:fails", "twos": "twos:plan"}})
    assert vr.solve(problem).status == "optimal"
    with pytest.raises(PluginError, match=r"^the package twos offers a planner called optimal, which is built in"):
        vr.solve(problem, planner="twos")
    install(packages, "honest", TWOS, {"veilroute.planners": {"honest": "honest:plan"}})
    assert vr.solve(problem, planner="honest").planner == "honest", "only the package that did it is refused"


def test_two_packages_with_one_name(packages: Path, problem: vr.Problem) -> None:
    for package in ("twos", "threes"):
        install(packages, package, TWOS, {"veilroute.planners": {"ours": f"{package}:plan"}})
    with pytest.raises(PluginError, match=r"^planner ours: the packages \w+ and \w+ offer it; remove all but one$"):
        vr.solve(problem, planner="ours")


def test_a_damaged_package_hides_no_other(packages: Path, problem: vr.Problem) -> None:
    install(packages, "aaa", TWOS, {})
    (packages / "aaa-1.0.dist-info" / "entry_points.txt").write_text("[veilroute.planners]\nno equals sign\n")
    install(packages, "twos", TWOS, {"veilroute.planners": {"twos": "twos:plan"}})
    assert vr.solve(problem, planner="twos").planner == "twos"


def test_built_in_methods_do_not_wait_for_packages_and_the_auditor_never_asks(packages: Path) -> None:
    install(packages, "twos", "raise SystemExit(3)", {"veilroute.planners": {"twos": "twos:plan"}})
    script = (
        f"import sys; sys.path.append({str(packages)!r})\n"
        "def refuse(*given, **options): raise SystemExit('packages were looked through')\n"
        "import veilroute as vr, veilroute.base.registry\n"
        "veilroute.base.registry.Registry._offers = refuse\n"
        "problem = vr.Problem(vr.grid_domain(['....'] * 3), [vr.Trip((0, 0), (2, 3))], [(1, 1), (1, 2)])\n"
        "playbook = vr.solve(problem, planner='pbp', partitioner='merge-bb', heuristic='tour')\n"
        "from dataclasses import replace\n"
        "print(vr.audit(replace(playbook, planner='twos')).holds, 'twos' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"]


def test_options_as_they_are_written() -> None:
    texts = ["size=3", "share=0.5", "is_wide=true", "name=a b", 'name="3"', "none=null", "name=", "name=[1]"]
    values = [3, 0.5, True, "a b", "3", None, "", "[1]"]
    assert [read_option(text)[1] for text in texts] == values
    for text in ("size", "=3", "a b=3", "seed=3", "planner=optimal"):
        with pytest.raises(InvalidInputError, match="^option: expected NAME=VALUE"):
            read_option(text)
