"""The A* engine: search over (node, targets left), as the paper does it (section 4.3, after Skyler et al.).

The first state is the start with what it does not see; a step to a neighbour takes what that sees off; the search
ends when the goal with nothing left is due for expansion. Ties: states are expanded in the order of smallest f, then
smallest h, then by ``tie_break``: the one that was made first (neighbours in ascending order), or the one that was made
last (neighbours in the order of :func:`edge_order`). With ``sighting`` ``leaving`` a step takes off what the node sees
that it leaves. Walks cost the same then, and of those of equal cost another one may be found. The program of the
paper's authors has ``last-made`` and ``leaving``. The engine is kept for fidelity to the paper and as a second opinion
on the fields engine: equal costs, other code.

Its heuristics are lower bounds from sweeps out of the targets' posts:

============== =========================================================================================
``blind``      0 everywhere: breadth-first search where all edges cost the same, else Dijkstra's (paper)
``tunnel``     the furthest target, then from the target nearest to the goal (paper, section 4.3)
``singleton``  the target that is dearest to cover alone on the way to the goal
``tree``       the nearest target, then a minimum spanning tree over the targets left and the goal
``tour``       the larger of ``singleton`` and the cheapest order of the targets left, from set to set
============== =========================================================================================

The distance between two targets is the least between a post of one and a post of the other. All five are consistent:
docs/covering has the proofs, and says what each loses. ``benchmarks/heuristics.py`` has the measurements behind the
choice.

Memory: a field of one number per node for each target, two for ``tour``; and a table of ``2^targets`` numbers for
``tree``, ``targets`` times that for ``tour``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilroute.base.arrays import Flags, Floats, Indices, Int32s, Ints, Node, Walk
from veilroute.base.errors import TooLargeError, UnknownMethodError
from veilroute.base.registry import Plugin, Registry
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.fields import FIELD_BYTES
from veilroute.covering.task import CoveringTask
from veilroute.covering.walks import NO_WALK, Counts, CoveringWalk, Sweeper, stop_with_walk, walk_cost
from veilroute.domain.graph import Domain, at_most, choice_margin
from veilroute.kernels import astar as kernel
from veilroute.kernels.astar import Estimator
from veilroute.kernels.tables import fill_slots

TIE_BREAKS = ("first-made", "last-made")  #: which of the states with equal f and h is expanded first
SIGHTINGS = ("arriving", "leaving")  #: when a walk takes off what a node sees: as it arrives there, or as it leaves
STATE_BYTES = 2 * 2**30  #: a search whose states would take more memory than this stops with the best it has
_EXPANSIONS_PER_SLICE = 1 << 14
_FIRST_ROOM = 1 << 12
_MOST_STATES = 2**30
# A state takes 29 bytes and two to four slots of 4; while arrays grow, old and new are there together.
_BYTES_PER_STATE = 29 + 16
_BYTES_PER_HEAP_ENTRY = 12


@dataclass(frozen=True)
class Heuristic:
    """A heuristic: its number in the kernel, what it needs, and the search that has it compiled in."""

    kind: int
    has_reach: bool  # the distance from each node to the posts of each target
    has_through: bool  # that of each node to the goal past the posts of each target
    max_targets: int
    expand: Callable[..., int] = kernel.expand_states
    estimate: Callable[..., float] = kernel.estimate_state


def _adapt(plugin: Plugin) -> Heuristic:
    expand, estimate = map(plugin.guard, plugin.guard(kernel.expand_states_by)(plugin.value))
    return Heuristic(kernel.PLUGIN, True, True, 31, expand, estimate)


_BUILT_IN = {
    "blind": Heuristic(kernel.BLIND, has_reach=False, has_through=False, max_targets=31),
    "tunnel": Heuristic(kernel.TUNNEL, has_reach=True, has_through=False, max_targets=31),
    "singleton": Heuristic(kernel.SINGLETON, has_reach=False, has_through=True, max_targets=31),
    "tree": Heuristic(kernel.TREE, has_reach=True, has_through=False, max_targets=20),
    "tour": Heuristic(kernel.TOUR, has_reach=True, has_through=True, max_targets=20),
}
HEURISTICS: Registry[Heuristic] = Registry("heuristic", "veilroute.heuristics", _adapt, _BUILT_IN)  #: by name


class AStarEngine:
    """Covering walks by A*, with one of the :data:`HEURISTICS`.

    ``field_bytes`` is memory for the fields of the heuristic that are kept between searches. A search whose states take
    more than ``state_bytes`` gives up with the bound that it has proved.
    """

    def __init__(
        self, task: CoveringTask, heuristic: str, *, tie_break: str = "first-made", sighting: str = "arriving",
        field_bytes: int = FIELD_BYTES,
        state_bytes: int = STATE_BYTES,
    ) -> None:  # fmt: skip
        if tie_break not in TIE_BREAKS:
            raise UnknownMethodError("tie_break", tie_break, TIE_BREAKS)
        if sighting not in SIGHTINGS:
            raise UnknownMethodError("sighting", sighting, SIGHTINGS)
        self.task = task
        self._heuristic = HEURISTICS.find(heuristic)
        self._fields = TargetFields(task, self._heuristic, field_bytes)
        self._state_bytes = state_bytes
        self._is_last_first, self._is_late = tie_break == "last-made", sighting == "leaving"
        self._heads: Indices = task.domain.indices
        self._costs = task.domain.costs.astype(np.float64)
        if self._is_last_first:
            order = edge_order(task.domain)
            self._heads, self._costs = self._heads[order], self._costs[order]
        self._margin = choice_margin(exact=task.domain.has_integer_costs)
        self._max_degree = int(np.diff(task.domain.indptr).max(initial=0))

    def prepare(self, members: Sequence[int], trip: int = 0) -> Estimator:
        """The heuristic of the search that :meth:`find` runs for these members, in ascending order, to study it."""
        return self._fields.estimator(sorted(members), trip, Watch())

    def find(
        self, members: Sequence[int], trip: int = 0, *, cost_bound: float = math.inf, watch: Watch | None = None
    ) -> CoveringWalk:
        """The cheapest walk of a trip that covers ``members`` (positions in the task).

        States whose f exceeds ``cost_bound`` are cut; when nothing else is left the search stops.

        Complexity: the sweeps of the heuristic, then O(z + log states) for each state generated, of which there are
        at most nodes times 2^z.
        """
        watch = watch or Watch()
        domain = self.task.domain
        ordered = sorted(members)
        highest = float(at_most(cost_bound, exact=domain.has_integer_costs))
        swept = self._fields.backward.num_sweeps
        states = _States()
        is_found = None
        with suppress(OutOfTimeError):
            is_found = self._search(states, ordered, trip, highest, watch, self.task.goals[trip])
        num_expanded, num_generated = states.counts[[kernel.NUM_EXPANDED, kernel.NUM_GENERATED]].tolist()
        counts = Counts(num_expanded, num_generated, self._fields.backward.num_sweeps - swept)
        watch.count("searches", 1)
        watch.count("expansions", num_expanded)
        if is_found:
            walk = kernel.trace_walk(states.counts[kernel.GOAL_STATE], states.keys, states.parents)
            cost = walk_cost(domain, walk)
            return CoveringWalk(walk, cost, "optimal", cost, counts)
        lower = states.least_key()
        if is_found is None:
            forward = Sweeper(domain, backward=False, num_seeds=1)
            proved = lower if states.counts[kernel.NUM_STATES] else 0.0
            return stop_with_walk(self.task, ordered, trip, forward, proved, highest, counts)
        return CoveringWalk.none("infeasible" if lower == math.inf else "over-bound", lower, counts)

    def way_to(self, end: Node, trip: int, watch: Watch) -> Walk:
        """A cheapest walk from a trip's start to any node, found with the heuristic of the trip's *goal*.

        That heuristic is consistent for every end, so the walk is a cheapest one; of all these, it is one that stays
        near the ways to the goal. Empty when no walk leads there; `OutOfTimeError` when the time is over.
        """
        states = _States()
        if not self._search(states, [], trip, math.inf, watch, end):
            return NO_WALK
        return kernel.trace_walk(states.counts[kernel.GOAL_STATE], states.keys, states.parents)

    def _search(self, states: _States, ordered: list[int], trip: int, highest: float, watch: Watch, end: Node) -> bool:
        """Expand states until the end is reached or none is left; no time or room for more is an `OutOfTimeError`."""
        domain, start = self.task.domain, self.task.starts[trip]
        estimator = self._fields.estimator(ordered, trip, watch)
        posts, _ = self.task.posts.subset(ordered)
        seen = kernel.mark_seen(domain.num_nodes, posts.watch_ptr, posts.nodes[posts.watch_posts])
        left = ((1 << len(ordered)) - 1) & ~int(seen[start])
        states.begin(start, left, self._heuristic.estimate(estimator, start, left), highest)
        while True:
            outcome = self._heuristic.expand(
                _EXPANSIONS_PER_SLICE, end, highest, self._margin,
                domain.indptr, self._heads, self._costs, seen,
                estimator, *states.arrays(), self._is_last_first, self._is_late,
            )  # fmt: skip
            watch.tell("states expanded", int(states.counts[kernel.NUM_EXPANDED]))
            if outcome not in (kernel.PAUSED, kernel.NO_ROOM):
                return bool(outcome == kernel.FOUND)
            watch.check()
            if outcome == kernel.NO_ROOM and not states.grow(self._max_degree, self._state_bytes):
                raise OutOfTimeError


def edge_order(domain: Domain) -> Ints:
    """Puts each node's neighbours in order: lower numbers first, ascending, then the higher ones, descending.

    Where the nodes of a grid are numbered row by row, this is up, left, down, right: the order in which a program meets
    them that reads edges in both directions from a list sorted by the row and column of their earlier cell, down before
    right.
    """
    tails, heads, _ = domain.edge_arrays()
    is_higher = heads > tails
    return np.lexsort((np.where(is_higher, -heads, heads), is_higher, tails))


class TargetFields:
    """Sweeps out of the posts of targets: of all members where ``field_bytes`` are enough, else made anew each time."""

    def __init__(self, task: CoveringTask, heuristic: Heuristic, field_bytes: int = FIELD_BYTES) -> None:
        self.task = task
        self.heuristic = heuristic
        self.backward = Sweeper(task.domain, backward=True, num_seeds=max(1, task.posts.nodes.size))
        num_kinds = heuristic.has_reach + heuristic.has_through * task.num_trips
        self._is_kept = num_kinds * len(task.members) * task.domain.num_nodes * 8 <= field_bytes
        # By trip, and under -1 what no trip matters for. Pages take memory only once they are written.
        self._fields: dict[int, Floats] = {}
        self._row_of: dict[int, dict[int, int]] = {}
        self._to_goal: dict[int, Floats] = {}

    def estimator(self, members: Sequence[int], trip: int, watch: Watch) -> Estimator:
        """The heuristic of a search, after its sweeps; bit i of its masks stands for ``members[i]``."""
        kind, num, most = self.heuristic.kind, len(members), self.heuristic.max_targets
        if num > most:
            more = ", ".join(name for name, each in HEURISTICS.items() if each.max_targets >= num)
            other = f"; the engine astar takes more with {more}" if more else ""
            raise TooLargeError("members", f"at most {most} for this heuristic{other}", num)
        if trip not in self._to_goal:
            is_blind = kind == kernel.BLIND  # then none of the costs matters
            to_goal = np.zeros(self.task.domain.num_nodes) if is_blind else self.backward.run(self.task.goals[trip])
            self._to_goal[trip] = to_goal * self.task.unit
        nothing = np.full(num, -1, dtype=np.int64), np.empty((0, 0))
        reach_rows, reach = self._sweep_from(members, -1, watch) if self.heuristic.has_reach else nothing
        through_rows, through = self._sweep_from(members, trip, watch) if self.heuristic.has_through else nothing
        nodes_of = [self.task.posts.nodes_of(member) for member in members]
        ends = np.array([self._to_goal[trip][nodes].min() for nodes in nodes_of])
        rest = nothing[1]
        if kind in (kernel.TREE, kernel.TOUR):
            between = np.array([[reach[row][nodes].min() for row in reach_rows.tolist()] for nodes in nodes_of])
            table = kernel.tree_table if kind == kernel.TREE else kernel.tour_table
            rest = table(between.reshape(num, num), ends)
        return Estimator(kind, reach_rows, reach, through_rows, through, self._to_goal[trip], ends, rest)

    def _sweep_from(self, members: Sequence[int], key: int, watch: Watch) -> tuple[Ints, Floats]:
        """The fields of members, and where each has its row."""
        if not self._is_kept or key not in self._fields:
            num_rows = len(self.task.members) if self._is_kept else len(members)
            self._fields[key] = np.empty((num_rows, self.task.domain.num_nodes))
            self._row_of[key] = {}
        rows = self._row_of[key]
        for member in members:
            if member not in rows:
                watch.check()
                nodes = self.task.posts.nodes_of(member)
                seeds = np.zeros(nodes.size) if key < 0 else self._to_goal[key][nodes] / self.task.unit
                self._fields[key][len(rows)] = self.backward.run_from(nodes, seeds) * self.task.unit
                rows[member] = len(rows)
        return np.array([rows[member] for member in members], dtype=np.int64), self._fields[key]


class _States:
    """The flat arrays of one search."""

    def __init__(self) -> None:
        self.counts = np.zeros(5, dtype=np.int64)
        self.least_cut = np.full(1, np.inf)
        self.keys: Ints = np.empty(0, dtype=np.int64)
        self.paid, self.ahead, self.heap_keys = (np.empty(0) for _ in range(3))
        self.parents: Int32s = np.empty(0, dtype=np.int32)
        self.is_open: Flags = np.empty(0, dtype=np.bool_)
        self.heap_states: Indices = np.empty(0, dtype=np.uint32)
        self._resize_states(_FIRST_ROOM)
        self._resize_heap(_FIRST_ROOM)

    def begin(self, node: int, left: int, ahead: float, highest: float) -> None:
        """Put the first state on the open list, unless it is cut."""
        if ahead > highest or ahead == math.inf:
            self.least_cut[0] = ahead
            return
        self.keys[0], self.paid[0], self.ahead[0] = left << 32 | node, 0.0, ahead
        self.parents[0], self.is_open[0] = -1, True
        self.heap_keys[0], self.heap_states[0] = ahead, 0
        fill_slots(0, 1, self.keys, self.slots)
        self.counts[[kernel.NUM_STATES, kernel.HEAP_SIZE, kernel.NUM_GENERATED]] = 1

    def arrays(self) -> tuple[Any, ...]:
        """Everything, in the order that the kernel takes it."""
        return (
            self.keys, self.paid, self.ahead, self.parents, self.is_open, self.slots,
            self.heap_keys, self.heap_states, self.counts, self.least_cut,
        )  # fmt: skip

    def least_key(self) -> float:
        """The smallest f on the open list or cut from it, infinite when there is none."""
        waiting = float(self.heap_keys[0]) if self.counts[kernel.HEAP_SIZE] else math.inf
        return min(waiting, float(self.least_cut[0]))

    def grow(self, max_degree: int, num_bytes: int) -> bool:
        """Double what is nearly full; false when that would take more than ``num_bytes``."""
        in_use = sum(array.nbytes for array in self.arrays())
        if self.counts[kernel.NUM_STATES] + max_degree > self.keys.size:
            room = 2 * self.keys.size + max_degree
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
        for array in (self.keys, self.paid, self.ahead, self.parents, self.is_open):
            array.resize(room, refcheck=False)
        self.slots = np.full(1 << (2 * room - 1).bit_length(), -1, dtype=np.int32)
        fill_slots(0, int(self.counts[kernel.NUM_STATES]), self.keys, self.slots)

    def _resize_heap(self, room: int) -> None:
        for array in (self.heap_keys, self.heap_states):
            array.resize(room, refcheck=False)
