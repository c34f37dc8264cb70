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

from veilroute.arrays import Flags, Floats, Indices, Int32s, Ints
from veilroute.covering.found import Counts, Found
from veilroute.covering.greedy import stop_with_walk
from veilroute.covering.heuristics import HEURISTICS, TargetFields
from veilroute.covering.rows import FIELD_BYTES
from veilroute.covering.sweeps import Sweeper
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, walk_cost
from veilroute.domain.tolerance import at_most, choice_margin
from veilroute.errors import UnknownMethodError
from veilroute.kernels import astar as kernel
from veilroute.kernels.estimates import Estimator, estimate_state
from veilroute.progress import Watch

STATE_BYTES = 2 * 2**30
"""A search whose states would take more memory than this stops with the best it has."""

_EXPANSIONS_PER_SLICE = 1 << 14
_FIRST_ROOM = 1 << 12
_MOST_STATES = 2**30
# A state takes 33 bytes and two to four slots of 4; while arrays grow, old and new are there together.
_BYTES_PER_STATE = 33 + 16
_BYTES_PER_HEAP_ENTRY = 20


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
        if heuristic not in tuple(HEURISTICS):
            raise UnknownMethodError("heuristic", heuristic, tuple(HEURISTICS))
        self.task = task
        self._fields = TargetFields(task, HEURISTICS[heuristic], field_bytes)
        self._state_bytes = state_bytes
        self._costs = task.domain.costs.astype(np.float64)
        self._margin = choice_margin(exact=task.domain.has_integer_costs)
        self._max_degree = int(np.diff(task.domain.indptr).max(initial=0))

    def prepare(self, members: Sequence[int], trip: int = 0) -> Estimator:
        """The heuristic of the search that :meth:`find` runs for these members, in ascending order, to study it."""
        group = sorted(members)
        self._fields.sweep(group, trip, Watch())
        return self._fields.prepare(group, trip)

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> Found:
        """The cheapest walk of a trip that covers ``members`` (positions in the task).

        States whose f exceeds ``cost_bound`` are cut; when nothing else is left the search stops.

        Complexity: the sweeps of the heuristic, then O(z + log states) for each state generated, of which there are
        at most nodes times 2^z.
        """
        watch = watch or Watch()
        domain = self.task.domain
        group = sorted(members)
        highest = float(at_most(cost_bound, exact=domain.has_integer_costs))
        swept = self._fields.backward.num_sweeps
        states = _States()
        outcome = kernel.PAUSED
        is_stopped = not self._fields.sweep(group, trip, watch)
        if not is_stopped:
            estimator = self._fields.prepare(group, trip)
            seen = self._mark_seen(group)
            start = self.task.starts[trip]
            left = ((1 << len(group)) - 1) & ~int(seen[start])
            states.begin(start, left, estimate_state(estimator, start, left), highest)
        while outcome in (kernel.PAUSED, kernel.NO_ROOM) and not is_stopped:
            outcome = kernel.expand_states(
                _EXPANSIONS_PER_SLICE, self.task.goals[trip], highest, self._margin,
                domain.indptr, domain.indices, self._costs, seen,
                estimator, *states.arrays(),
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
            proved = lower if states.counts[kernel.NUM_STATES] else 0.0
            return stop_with_walk(self.task, group, trip, forward, proved, highest, counts)
        return Found(NO_WALK, math.inf, "infeasible" if lower == math.inf else "over-bound", lower, counts)

    def _mark_seen(self, group: list[int]) -> Ints:
        lists = [self.task.posts.nodes[self.task.posts.posts_of(member)] for member in group]
        ptr = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([nodes.size for nodes in lists], out=ptr[1:])
        watchers = np.concatenate([np.empty(0, dtype=np.uint32), *lists])
        return kernel.mark_seen(self.task.domain.num_nodes, ptr, watchers)


class _States:
    """The flat arrays of one search."""

    def __init__(self) -> None:
        self.counts = np.zeros(5, dtype=np.int64)
        self.least_cut = np.full(1, np.inf)
        self.nodes: Indices = np.empty(0, dtype=np.uint32)
        self.lefts: Ints = np.empty(0, dtype=np.int64)
        self.paid: Floats = np.empty(0)
        self.ahead: Floats = np.empty(0)
        self.parents: Int32s = np.empty(0, dtype=np.int32)
        self.is_open: Flags = np.empty(0, dtype=np.bool_)
        self.heap_keys: Floats = np.empty(0)
        self.heap_ahead: Floats = np.empty(0)
        self.heap_states: Int32s = np.empty(0, dtype=np.int32)
        self._resize_states(_FIRST_ROOM)
        self._resize_heap(_FIRST_ROOM)

    def begin(self, node: int, left: int, ahead: float, highest: float) -> None:
        """Put the first state on the open list, unless it is cut."""
        if ahead > highest or ahead == math.inf:
            self.least_cut[0] = ahead
            return
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
        if self.counts[kernel.NUM_STATES] + max_degree > self.nodes.size:
            room = 2 * self.nodes.size + max_degree
            if in_use + room * _BYTES_PER_STATE > num_bytes or room > _MOST_STATES:
                return False
            self._resize_states(room)
        if self.counts[kernel.HEAP_SIZE] + max_degree > self.heap_keys.size:
            room = 2 * self.heap_keys.size + max_degree
            if in_use + room * _BYTES_PER_HEAP_ENTRY > num_bytes:
                return False
            self._resize_heap(room)
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
