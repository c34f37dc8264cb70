"""Running one cell, in any process on any machine that has veilroute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from veilroute.audit import audit_playbook
from veilroute.bench.cells import Cell, Method
from veilroute.bench.machine import provenance
from veilroute.bench.memory import peak_memory_mb
from veilroute.bench.records import Outcome, Record
from veilroute.bench.suites import SPREAD
from veilroute.covering.cover import cover
from veilroute.domain.generate import draw_candidates, generate_rooms
from veilroute.domain.graph import Domain
from veilroute.domain.grid import grid_domain
from veilroute.domain.visibility import WithinDistance
from veilroute.errors import InvalidInputError, VeilrouteError
from veilroute.playbook import Playbook
from veilroute.problem import Privacy, Problem, Trip
from veilroute.progress import Incumbent, Progress
from veilroute.solver import solve

_SHOWN = 300

# A Dask worker may have several threads. Cells take turns, because two at once would spoil each other's times.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Job:
    """A cell with all that a worker needs to run it.

    Parameters
    ----------
    cell
        What to run.
    map_text
        The rows of its map, joined by newlines: a worker elsewhere has no files.
    run_id
        Names the run in the record.
    """

    cell: Cell
    map_text: str
    run_id: str


def map_text(domain: Domain) -> str:
    """The map of a grid as a :class:`Job` carries it."""
    if domain.grid is None:
        raise InvalidInputError("domain", "a grid")
    return "\n".join(domain.grid.rows())


def run_cell(job: Job) -> dict[str, Any]:
    """Run a cell and return its record as plain data.

    What goes wrong with the cell is told in the record; the run goes on with the others.
    """
    with _one_at_a_time:
        try:
            outcome = _run(job)
        except VeilrouteError as error:
            outcome = failed_outcome(str(error))
        except Exception as error:
            # A fault of ours in one method must not cost somebody the other cells of a night.
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
        return Record(job.cell, outcome, provenance(job.run_id)).to_dict()


def failed_outcome(reason: str) -> Outcome:
    """The outcome of a cell that could not be run to an end."""
    line = " ".join(reason.split("\n", 1)[0].split())
    return Outcome(
        status="error",
        is_finished=False,
        m=None,
        num_coverable=0,
        num_anonymized=0,
        apr=0.0,
        mac=None,
        mac_lower_bound=None,
        runtime_s=0.0,
        error=line[:_SHOWN] or "unknown",
    )


def bounded_m(problem: Problem, ratio: float | None) -> int | None:
    """``m = max(1, round(ratio * nodes on a shortest start-goal path))``; ``None`` for infinity stays so."""
    if ratio is None:
        return None
    num_nodes = len(cover(problem, []).walk)
    if not num_nodes:
        raise InvalidInputError("trip", "a goal that the start can reach")
    return max(1, round(ratio * num_nodes))


def _run(job: Job) -> Outcome:
    cell = job.cell
    domain = _parse_map(job.map_text)
    if domain.sha256 != cell.map_sha256:
        raise InvalidInputError("map", f"the one with SHA-256 {cell.map_sha256[:12]}...", domain.sha256[:12])
    _warm_up(cell.method, cell.radius, cell.m_ratio is not None)
    instance = cell.instance
    problem = Problem(domain, [Trip(instance.start, instance.goal)], instance.candidates, WithinDistance(cell.radius))
    privacy = Privacy(cell.k, cell.ell, bounded_m(problem, cell.m_ratio), SPREAD)
    steps: list[tuple[float, int, float]] = []
    began = time.perf_counter()
    playbook = _solve(cell.method, problem, privacy, cell.seed, cell.time_limit_s, _collect_into(steps))
    runtime_s = time.perf_counter() - began
    claims = playbook.claims
    return Outcome(
        status=playbook.status,
        is_finished=not playbook.options.get("stopped_early", False),
        m=privacy.m,
        num_coverable=claims.num_coverable,
        num_anonymized=claims.num_anonymized,
        apr=float(claims.apr),
        mac=None if claims.mac is None else float(claims.mac),
        mac_lower_bound=None if claims.mac_lower_bound is None else float(claims.mac_lower_bound),
        runtime_s=runtime_s,
        improvements=tuple(steps),
        peak_memory_mb=peak_memory_mb(),
        audit_holds=audit_playbook(playbook).holds if cell.keep_playbook else None,
        playbook=playbook.to_dict(embed_domain=False) if cell.keep_playbook else None,
    )


def _solve(
    method: Method,
    problem: Problem,
    privacy: Privacy,
    seed: int,
    time_limit_s: float | None,
    progress: Callable[[Progress], None] | None,
) -> Playbook:
    options: dict[str, Any] = {**method.options}
    return solve(
        problem,
        privacy,
        planner=method.planner,
        time_limit_s=time_limit_s,
        seed=seed,
        progress=progress,
        **options,
    )


def _collect_into(steps: list[tuple[float, int, float]]) -> Callable[[Progress], None]:
    last: Incumbent | None = None

    def report(progress: Progress) -> None:
        nonlocal last
        found = progress.incumbent
        # Every report holds the best so far: the same object until a better one is found.
        if found is not None and found is not last:
            last = found
            steps.append((float(found.elapsed_s), int(found.num_anonymized), float(found.mac)))

    return report


@lru_cache(maxsize=8)
def _parse_map(text: str) -> Domain:
    return grid_domain(text.split("\n"))


@cache
def _warm_up(method: Method, radius: float, is_bounded: bool) -> None:
    """Compile, or load, what the method runs, so that no cell is charged for it: a tiny problem of the same kind."""
    domain = generate_rooms(12, 16, seed=1)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = draw_candidates(domain, start, goal, 6, seed=1)
    problem = Problem(domain, [Trip(start, goal)], places, WithinDistance(radius))
    cover(problem, [])
    for k in (2, 3):
        privacy = Privacy(k, 1.0, bounded_m(problem, 0.5 if is_bounded else None), SPREAD)
        with suppress(VeilrouteError):  # the cell itself will tell
            _solve(method, problem, privacy, 0, None, None)
