"""The front door to covering walks: one set, one trip, one walk (the paper's watchman route with targets)."""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from veilroute.base.checks import check_finite, check_whole, count_text, is_number, plain_number
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import ProgressCallback, Watch, check_time_limit
from veilroute.model.problem import Problem


@dataclass(frozen=True, repr=False)
class Cover:
    """A covering walk and what is proved about it."""

    walk: tuple[Any, ...]  #: labels of the nodes from start to goal; empty when there is none to show
    cost: float  #: cost of the walk, infinite without one
    #: ``optimal``; ``feasible`` when stopped early, by the clock, the caller or for lack of memory, with a walk at
    #: hand, ``unknown`` without one; ``infeasible`` when no walk covers the set; ``over-bound`` when it is proved that
    #: none does within the bound that was given
    status: str
    #: no walk that covers the set costs less; where costs are not integers, up to rounding, a billionth of it
    lower_bound: float
    num_expanded: int  #: states that A* took off its open list; 0 for the fields engine
    num_generated: int  #: states that it put there
    num_sweeps: int  #: sweeps of the graph, those for the heuristic included, those for watchers and base costs not

    def __repr__(self) -> str:
        return f"<Cover: {self.status}, {count_text(len(self.walk), 'node')}, cost {self.cost:g}>"


def cover(
    problem: Problem,
    members: Iterable[Any],
    *,
    trip: int = 0,
    engine: str = "auto",
    heuristic: str | None = None,
    cost_bound: float | None = None,
    time_limit_s: float | None = None,
    memory_bytes: int | None = None,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Cover:
    """Find the cheapest walk of a trip that covers some of a problem's candidates, exactly.

    Parameters
    ----------
    problem
        Domain, trips, candidates and visibility.
    members
        Labels of the candidates to cover, at most 20 (31 for A* with ``blind``, ``tunnel`` or ``singleton``). Start
        and goal may be among them; none at all asks for a shortest path.
    trip
        Index of the trip.
    engine
        ``astar`` (the paper's search), ``fields`` (subset recursion) or ``auto``: A* with ``tour``, then fields if
        that takes more memory than it may.
    heuristic
        For ``astar``: ``blind``, ``tunnel``, ``singleton``, ``tree`` or ``tour`` (when left out).
    cost_bound
        Stop as soon as it is clear that every walk costs more than this.
    time_limit_s
        Stop after about this many seconds, with a quick walk and the bound proved so far.
    memory_bytes
        What the fields of ``fields`` may take before they move to a temporary file (512 MB when left out), or what
        the states of ``astar`` may take before it stops (2 GB).
    progress, should_stop
        As in :func:`veilroute.solve`.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.covering.engines import build_engine
    from veilroute.covering.task import prepare_task
    from veilroute.kernels.jit import ready_seconds

    if not isinstance(problem, Problem):
        raise InvalidInputError("problem", "a Problem", type(problem).__name__)
    last = len(problem.trips) - 1
    trip = check_whole("trip", plain_number(trip), f"an index from 0 to {last}", least=0, most=last)
    watch = Watch(progress, check_time_limit(time_limit_s), should_stop, ready_seconds)
    alone = Problem(problem.domain, [problem.trips[trip]], problem.candidates, problem.visibility)
    task = prepare_task(alone, _find_members(problem, members))
    if memory_bytes is not None:
        memory_bytes = check_whole("memory_bytes", plain_number(memory_bytes), "a whole number of bytes > 0", least=1)
    chosen = build_engine(engine, task, heuristic=heuristic, memory_bytes=memory_bytes)
    highest = _check_bound(cost_bound)
    if task.uncoverable:
        return Cover((), math.inf, "infeasible", math.inf, 0, 0, 0)
    covering = chosen.find(range(len(task.members)), cost_bound=highest, watch=watch)
    walk = task.domain.labels_of(covering.walk)
    return Cover(walk, covering.cost, covering.status, covering.lower_bound, **asdict(covering.counts))


def m_of_ratio(problem: Problem, ratio: float, *, trip: int = 0) -> int:
    """The m of the paper's experiments: ``max(1, round(ratio * nodes on a shortest path from start to goal))``."""
    check_finite("ratio", ratio, least=0)
    num_nodes = len(cover(problem, [], trip=trip).walk)
    if not num_nodes:
        raise InvalidInputError("trip", "a goal that the start can reach")
    return max(1, round(ratio * num_nodes))


def _check_bound(value: object) -> float:
    if value is None:
        return math.inf
    bound = plain_number(value)
    if not is_number(bound, 0):
        raise InvalidInputError("cost_bound", "a number >= 0", value)
    try:
        return float(bound)
    except OverflowError:
        return math.inf


def _find_members(problem: Problem, members: Iterable[Any]) -> list[int]:
    """Positions of the candidates that are meant, ascending."""
    if isinstance(members, str | bytes) or not isinstance(members, Iterable):
        raise InvalidInputError("members", "several candidates of the problem", type(members).__name__)
    at = {label: i for i, label in enumerate(problem.candidates)}
    first = {node: i for i, node in reversed(list(enumerate(problem.candidate_nodes)))}
    positions = set()
    for number, label in enumerate(members):
        try:
            positions.add(at[label] if label in at else first[problem.domain.node(label)])
        except (InvalidInputError, KeyError, TypeError):
            # Without the label: somebody may have asked for the one place that matters.
            raise InvalidInputError(f"members[{number}]", "a candidate of the problem") from None
    return sorted(positions)
