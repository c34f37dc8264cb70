"""The A* engine: search over (node, targets left), as the paper does it (section 4.3, after Skyler et al.).

The first state is the start with what it does not see; a step to a neighbour takes what that sees off; the search
ends when the goal with nothing left is due for expansion. Ties: states are expanded in the order of smallest f, then
smallest h, then the one that was generated first; neighbours are generated in ascending order.

Kept for fidelity to the paper and as a second opinion on the fields engine: equal costs, other code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.covering.heuristics import HEURISTICS, Estimator, TargetFields
from veilroute.covering.rows import FIELD_BYTES
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, Counts, Found, stop_with_walk, walk_cost
from veilroute.domain.tolerance import at_most
from veilroute.errors import UnknownMethodError
from veilroute.kernels import astar as kernel
from veilroute.kernels.estimates import estimate_state, mark_seen
from veilroute.progress import Watch

STATE_BYTES = 2 * 2**30
"""A search whose states would take more memory than this stops with the best it has."""

_EXPANSIONS_PER_SLICE = 1 << 14
_FIRST_ROOM = 1 << 12


class AStarEngine:
    """Covering walks by A*.

    Parameters
    ----------
    task
        Members, posts and trips.
    heuristic
        One of :data:`~veilroute.covering.heuristics.HEURISTICS`.
    field_bytes
        Memory for the fields of the heuristic that are kept between searches.
    state_bytes
        Memory for the states of one search, its heuristic not counted; beyond it the search gives up with the bound
        that it has proved.
    """

    def __init__(
        self,
        task: CoveringTask,
        heuristic: str = "tour",
        *,
        field_bytes: int = FIELD_BYTES,
        state_bytes: int = STATE_BYTES,
    ) -> None:
        if heuristic not in HEURISTICS:
            raise UnknownMethodError("heuristic", heuristic, tuple(HEURISTICS))
        self.task = task
        self._fields = TargetFields(task, HEURISTICS[heuristic], field_bytes)
        self._state_bytes = state_bytes
        self._costs = task.domain.costs.astype(np.float64)
        self._max_degree = int(np.diff(task.domain.indptr).max(initial=0))

    def prepare(self, members: Sequence[int], trip: int = 0) -> Estimator:
        """The heuristic of the search that :meth:`find` runs for these members, in ascending order."""
        return self._fields.prepare(sorted(members), trip)

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task).

        States whose f exceeds ``cost_bound`` are cut; when nothing else is left the search stops.
        """
        watch = watch or Watch()
        group = sorted(members)
        swept = self._fields.backward.num_sweeps
        estimator = self._fields.prepare(group, trip)
        domain = self.task.domain
        posts = self.task.posts.subset(group)[0] if group else None
        watch_ptr = np.zeros(1, dtype=np.int64) if posts is None else posts.watch_ptr
        watch_nodes = np.empty(0, dtype=np.uint32) if posts is None else posts.nodes[posts.watch_posts]
        seen = mark_seen(domain.num_nodes, watch_ptr, watch_nodes)
        states = _States()
        start, goal = self.task.starts[trip], self.task.goals[trip]
        left = ((1 << len(group)) - 1) & ~int(seen[start])
        first = estimate_state(estimator.kind, start, left, *estimator.arguments()[1:])
        highest = at_most(cost_bound, exact=domain.has_integer_costs)
        if first <= highest and first < math.inf:
            states.begin(start, left, first)
        else:
            states.least_cut[0] = first
        outcome = kernel.PAUSED
        is_stopped = False
        while outcome in (kernel.PAUSED, kernel.NO_ROOM) and not is_stopped:
            outcome = kernel.expand_states(
                _EXPANSIONS_PER_SLICE, goal, highest,
                domain.indptr, domain.indices, self._costs, seen,
                *estimator.arguments(), *states.arrays(),
            )  # fmt: skip
            watch.tell("states expanded", int(states.counts[kernel.NUM_EXPANDED]))
            if outcome in (kernel.PAUSED, kernel.NO_ROOM):
                is_stopped = watch.is_over()
            if outcome == kernel.NO_ROOM and not is_stopped:
                is_stopped = not states.grow(self._max_degree, self._state_bytes)
        num_expanded, num_generated = states.counts[[kernel.NUM_EXPANDED, kernel.NUM_GENERATED]].tolist()
        counts = Counts(num_expanded, num_generated, self._fields.backward.num_sweeps - swept)
        if outcome == kernel.FOUND:
            walk = kernel.trace_walk(states.counts[kernel.GOAL_STATE], states.nodes, states.parents)
            cost = walk_cost(domain, walk)
            return Found(walk, cost, "optimal", cost, counts)
        lower = states.least_key()
        if is_stopped:
            forward = Sweeper(domain, backward=False, num_seeds=1)
            return stop_with_walk(self.task, group, trip, forward, lower, highest, counts)
        return Found(NO_WALK, math.inf, "infeasible" if lower == math.inf else "over-bound", lower, counts)


class _States:
    """The flat arrays of one search."""

    def __init__(self) -> None:
        self.counts = np.zeros(5, dtype=np.int64)
        self.least_cut = np.full(1, np.inf)
        self.nodes: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self.lefts: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.paid: npt.NDArray[np.float64] = np.empty(0)
        self.ahead: npt.NDArray[np.float64] = np.empty(0)
        self.parents: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.is_open: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self.heap_keys: npt.NDArray[np.float64] = np.empty(0)
        self.heap_ahead: npt.NDArray[np.float64] = np.empty(0)
        self.heap_states: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._resize_states(_FIRST_ROOM)
        self._resize_heap(_FIRST_ROOM)

    def begin(self, node: int, left: int, ahead: float) -> None:
        """Put the first state on the open list."""
        self.nodes[0], self.lefts[0], self.paid[0], self.ahead[0] = node, left, 0.0, ahead
        self.parents[0], self.is_open[0] = -1, True
        self.heap_keys[0], self.heap_ahead[0], self.heap_states[0] = ahead, ahead, 0
        kernel.fill_slots(1, self.nodes, self.lefts, self.slots)
        self.counts[[kernel.NUM_STATES, kernel.HEAP_SIZE, kernel.NUM_GENERATED]] = 1

    def arrays(self) -> tuple[Any, ...]:
        """Everything, in the order that the kernel takes it."""
        return (
            self.nodes, self.lefts, self.paid, self.ahead, self.parents, self.is_open, self.slots,
            self.heap_keys, self.heap_ahead, self.heap_states, self.counts, self.least_cut,
        )  # fmt: skip

    def least_key(self) -> float:
        """The smallest f on the open list or cut from it, infinite when there is none."""
        waiting = float(self.heap_keys[0]) if self.counts[kernel.HEAP_SIZE] else math.inf
        return min(waiting, float(self.least_cut[0]))

    def grow(self, max_degree: int, num_bytes: int) -> bool:
        """Double what is nearly full; false when that would take more than ``num_bytes``."""
        in_use = sum(array.nbytes for array in self.arrays())
        if 2 * in_use > num_bytes:
            return False
        if self.counts[kernel.NUM_STATES] + max_degree > self.nodes.size:
            self._resize_states(2 * self.nodes.size + max_degree)
        if self.counts[kernel.HEAP_SIZE] + max_degree > self.heap_keys.size:
            self._resize_heap(2 * self.heap_keys.size + max_degree)
        return True

    def _resize_states(self, room: int) -> None:
        num = int(self.counts[kernel.NUM_STATES])
        for name in ("nodes", "lefts", "paid", "ahead", "parents", "is_open"):
            setattr(self, name, _longer(getattr(self, name), num, room))
        self.slots = np.full(1 << (2 * room - 1).bit_length(), -1, dtype=np.int32)
        kernel.fill_slots(num, self.nodes, self.lefts, self.slots)

    def _resize_heap(self, room: int) -> None:
        num = int(self.counts[kernel.HEAP_SIZE])
        for name in ("heap_keys", "heap_ahead", "heap_states"):
            setattr(self, name, _longer(getattr(self, name), num, room))


def _longer(array: npt.NDArray[np.generic], num: int, room: int) -> npt.NDArray[np.generic]:
    longer = np.empty(room, dtype=array.dtype)
    longer[:num] = array[:num]
    return longer
