"""What the tests of the bench's running half share: few and quick cells, and a workforce without processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from veilroute.bench import Cell, Choice, Loss, Record, Terrain, build_cells, find_terrain, run_cell

MEASURED = {"runtime_s", "cpu_s", "memory_mb", "improvements"}
"""What of an outcome differs between two runs of the same cell."""


def small_terrain(num_pairs: int = 1) -> Terrain:
    """The smallest generated map."""
    return find_terrain(num_pairs=num_pairs, map_names=["rooms-2"])


def quick_cells(terrain: Terrain, suite: str = "klr") -> list[Cell]:
    """Cells of the optimal planner: 12 for each pair, some milliseconds each."""
    return build_cells([suite], terrain, Choice(time_limit_s=20, methods=("optimal",)))


def without_times(record: Record) -> dict[str, Any]:
    """Cell and outcome without what was measured."""
    data = record.to_dict()
    outcome = {name: value for name, value in data["outcome"].items() if name not in MEASURED}
    return {"cell": data["cell"], "outcome": outcome}


class InlineExecutor(Executor):
    """Runs each job at once, in this process."""

    def __init__(self, run: Callable[..., Any] = run_cell) -> None:
        self.run = run
        self.num_jobs = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.num_jobs += 1
        future: Future[Any] = Future()
        try:
            future.set_result(self.run(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class InlineWorkforce:
    """A workforce without processes."""

    def __init__(self, run: Callable[..., Any] = run_cell) -> None:
        self.executor = InlineExecutor(run)
        self.closings: list[bool] = []
        self.num_slots = 2

    def open(self) -> Executor:
        return self.executor

    def diagnose(self, error: BaseException) -> Loss:
        return ""

    def close(self, *, at_once: bool = False) -> None:
        self.closings.append(at_once)
