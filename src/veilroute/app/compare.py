"""Compare: what several privacies cost on one problem, and what one privacy costs for all starts and goals of a map."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from veilroute.analysis.all_pairs import MAX_POINTS, PairSurvey, survey_pairs
from veilroute.analysis.frontier import Frontier, frontier, privacies_of
from veilroute.app.load import load_instance, load_open_instance
from veilroute.app.requests import CompareRequest, PairsRequest
from veilroute.base.checks import check_finite, check_name
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Run
from veilroute.model.playbook import Playbook
from veilroute.model.problem import MECHANISMS

_USUAL_KS = (2, 3, 4, 5)
_USUAL_CANDIDATES = 8


@dataclass(frozen=True)
class CompareResult:
    """What each privacy costs."""

    frontier: Frontier
    num_wanted: int  #: how many points were asked for; fewer are there if it was stopped
    runtime_s: float
    is_stopped: bool
    budget: float | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The object that `compare --json` prints."""
        if self.budget is None:
            return self.frontier.to_dict()
        best = self.frontier.best_within(self.budget)
        answer = {"budget": self.budget, "answer": self.frontier.answer(self.budget)}
        return {**self.frontier.to_dict(), **answer, "best": None if best is None else best.to_dict()}


def compare(request: CompareRequest, run: Run | None = None) -> CompareResult:
    """Plan for every combination of the values named; the points share their work, and each is a plan by itself."""
    run = Run() if run is None else run
    if request.budget is not None:
        check_finite("budget", request.budget, least=0)
    check_name("mechanism", request.mechanism, (*MECHANISMS, "both"))
    loaded = load_instance(request.asked, run)
    ks = request.ks
    if not ks and not request.risks:
        ks = tuple(k for k in _USUAL_KS if k <= len(loaded.problem.counted)) or (2,)
    mechanisms = MECHANISMS if request.mechanism == "both" else (request.mechanism,)
    wanted = list(
        privacies_of(
            loaded.privacy, ks=ks, risks=request.risks, ells=request.aparts, ms=request.untils, mechanisms=mechanisms
        )
    )
    if request.playbooks is not None:
        _make_folder(request.playbooks)
    began = time.monotonic()
    with _telling(run):
        found = frontier(
            loaded.problem, wanted, time_limit_s=request.time_limit_s, seed=request.asked.problem.seed or 0,
            progress=run.progress, should_stop=run.should_stop,
            keep=None if request.playbooks is None else partial(_keep, request.playbooks),
        )  # fmt: skip
    runtime_s, is_stopped = time.monotonic() - began, run.should_stop()
    return CompareResult(found, len(wanted), runtime_s, is_stopped, request.budget, tuple(run.warnings))


def pairs(request: PairsRequest, run: Run | None = None) -> PairSurvey:
    """Plan for all pairs of start and goal among some points of a map."""
    run = Run() if run is None else run
    loaded = load_open_instance(request.asked, run, num_usual=_USUAL_CANDIDATES)
    num_nodes = loaded.problem.domain.num_nodes
    if request.points is None and num_nodes > MAX_POINTS:
        raise InvalidInputError("points", f"a number up to {MAX_POINTS}: there are too many nodes for all", num_nodes)
    extra: dict[str, Any] = {} if request.partitioner is None else {"partitioner": request.partitioner}
    with _telling(run):
        return survey_pairs(
            loaded.problem, loaded.privacy, points=None if request.points is None else min(request.points, num_nodes),
            planner=request.planner, seed=request.asked.problem.seed or 0, time_limit_s=request.time_limit_s,
            progress=run.progress, should_stop=run.should_stop, **extra,
        )  # fmt: skip


@contextmanager
def _telling(run: Run) -> Iterator[None]:
    """Within it, the run hears once if kernels must be compiled."""
    from veilroute.kernels.jit import remember_types, telling  # here, because it loads numba

    remember_types()
    with telling(cache(run.tell_compiling)):
        yield


def _make_folder(folder: Path) -> None:
    """Make the folder for playbooks; those of other points must not stay beside the new ones."""
    if folder.exists() and (not folder.is_dir() or any(folder.glob("playbook-*.json"))):
        raise InvalidInputError("playbooks", "a folder without playbooks of an earlier frontier", str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def _keep(folder: Path, number: int, playbook: Playbook) -> None:
    if playbook.claims.num_anonymized:
        playbook.write(folder / f"playbook-{number}.json")
