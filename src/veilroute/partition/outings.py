"""A bound on all classes of one heaviest member, however large they are: walks past it as a linear programme.

For costs between two levels, what a class adds is at least something linear (docs/theory,
:ref:`Outings <theory-outings>`). Then the best class is an outing: a walk from the start to the goal that collects
prizes, and as much mass as the heaviest member needs. The programme says which edges it takes and whom it collects, and
learns by and by which sets of members it has to enter. Levels are split, and members are in or out, until the bound is
good enough or the effort is over. Whom it collects leads to good classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import highspy
import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints, Members, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.kernels.flows import keep_edges, narrow_cuts
from veilroute.kernels.touring import gather_class, order_members
from veilroute.model.problem import ROUNDING
from veilroute.partition.class_space import Prices

_LEVEL_STEP = 1.06
_NUM_LEVELS = 20
_SCALE = 1e5  #: what all shares are multiplied by: HiGHS works with absolute tolerances
_TOLERANCE = 1e-9  #: how far the reduced costs of its solutions may be below 0, then
_LEAST_LACKING = 0.05
_ENTRIES_PER_ROUND = 30
_MAX_ROUNDS = 200
_ROUNDS_BACK = 6
_LEAST_GAIN = 0.1
_MAX_ENTRIES = 500
_LIKELY = 0.5
_LEAST_SPLIT = 1e-9
_LEAST_ROUNDING = 1e-12


class Network:
    """The edges that walks between members need, whoever is the heaviest."""

    def __init__(self, from_start: Floats, to_goal: Floats, between: Floats, *, is_exact: bool) -> None:
        self.num = num = from_start.size
        # Whether walks go just as far as the edges say: members have one post each, and ways back are as long.
        self.is_exact = is_exact and np.array_equal(between, between.T)
        self.from_start, self.to_goal, self.between = from_start, to_goal, between
        self.start, self.goal = num, num + 1
        lengths = np.full((num + 2, num + 2), math.inf)
        # A way back may be shorter; no walk is shorter than the shorter of both ways.
        lengths[:num, :num] = np.minimum(between, between.T)
        lengths[num, :num] = lengths[:num, num] = from_start
        lengths[num + 1, :num] = lengths[:num, num + 1] = to_goal
        kept = np.zeros(lengths.shape, dtype=np.bool_)
        keep_edges(lengths, num, kept)
        self.tails, self.heads = (ends.astype(np.int64) for ends in np.nonzero(np.triu(kept)))
        # Ways by others that count as no longer may be a little longer.
        self.lengths: Floats = lengths[self.tails, self.heads] * (1 - _LEAST_ROUNDING)
        # Both directions, sorted by where they begin; the last edge closes the walk.
        tails = np.concatenate((self.tails, [self.start], self.heads, [self.goal]))
        heads = np.concatenate((self.heads, [self.goal], self.tails, [self.start]))
        order = np.argsort(tails, kind="stable")
        at = np.argsort(order, kind="stable")
        half = at.size // 2
        self._ptr: Ints = np.searchsorted(tails[order], np.arange(num + 3)).astype(np.int64)
        self._heads: Ints = heads[order]
        self._twins: Ints = np.concatenate((at[half:], at[:half]))[order]
        self._edges: Ints = np.concatenate((np.arange(half), np.arange(half)))[order]

    def __len__(self) -> int:
        return self.lengths.size

    def lacking(self, flow: Floats, collected: Floats) -> Iterator[Flags]:
        """Sets of members that the ``flow`` enters less than twice for one that it collects; or that hold the goal."""
        targets = np.flatnonzero(collected > _LEAST_LACKING)
        targets = targets[np.argsort(-collected[targets], kind="stable")]
        tasks = (
            (np.array([self.goal]), np.ones(1), 0.0),
            (targets, 2 * collected[targets], math.inf),
        )
        for ends, wanted, closing in tasks:
            sides = np.zeros((2 * ends.size, self.num + 2), dtype=np.bool_)
            capacities = np.append(flow, closing)[self._edges]
            found = narrow_cuts(
                self._ptr, self._heads, self._twins, capacities, self.start, ends, wanted, _LEAST_LACKING, sides
            )
            yield from sides[:found]

    def entering(self, side: Flags) -> Ints:
        """The edges between a set of nodes and the others."""
        return np.flatnonzero(side[self.tails] != side[self.heads])


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the outings: those whose length is between two levels, and who may and must be collected."""

    low: float
    high: float
    edges: Flags  # which may be taken
    may: Flags  # who may be collected, and who must be
    must: Flags


class Outings:
    """The programme for the classes of one heaviest member, at any prices.

    ``missing`` is the mass that the others must bring; a class has ``room`` for so many.
    """

    def __init__(
        self, network: Network, heaviest: int, may_join: Flags, missing: float, masses: Floats, weights: Floats,
        fixed: Floats, pair_costs: Floats, compatible: Flags, room: int,
    ) -> None:  # fmt: skip
        self._network, self._heaviest, self._missing = network, heaviest, missing
        self._masses, self._weights, self._pair_costs, self._compatible = masses, weights, pair_costs, compatible
        self._may = may_join.copy()
        self._may[heaviest] = True
        self._others = np.flatnonzero(may_join & (np.arange(network.num) != heaviest))
        self._fixed, self._scale, self._room = fixed, _SCALE / float(fixed.sum()), room
        self._prizes: Floats = fixed
        self._num_edges = len(network)
        self._flow = self._collected = self._reduced = self._values = np.empty(0)
        self._paid: list[tuple[Members, float]] = []
        self._length = self._value = 0.0
        self._cut_columns: dict[Members, int] = {}
        self._entries: list[tuple[bytes, int] | None] = []  # which rows the last ones are; None for those of cuts
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0), ("presolve", "off")):
            self._solver.setOptionValue(option, value)
        self._solver.setOptionValue("dual_feasibility_tolerance", _TOLERANCE)
        self._build()

    def _build(self) -> None:
        """Columns: edges, members, the length. Rows: the ends, enough edges at members, the length, the mass."""
        num, num_edges, network = self._network.num, self._num_edges, self._network
        self._add_columns(num_edges, 2.0)
        self._add_columns(num + 1, 1.0)
        for end in (network.start, network.goal):
            edges = np.flatnonzero((network.tails == end) | (network.heads == end))
            self._add_row(1.0, 1.0, edges, np.ones(edges.size))
        for member in range(num):
            edges = np.flatnonzero((network.tails == member) | (network.heads == member))
            self._add_row(0.0, math.inf, np.append(edges, num_edges + member), [*np.ones(edges.size), -2.0])
        self._length_column = num_edges + num
        self._add_row(0.0, math.inf, np.append(np.arange(num_edges), self._length_column), [*-network.lengths, 1.0])
        self._add_row(self._missing, math.inf, num_edges + self._others, self._masses[self._others])
        self._num_first = int(self._solver.getNumRow())

    def _add_columns(self, num: int, most: float) -> None:
        self._solver.addVars(num, np.zeros(num), np.full(num, most))

    def _add_row(self, least: float, most: float, columns: Ints, values: Any) -> None:
        self._solver.addRow(least, most, columns.size, columns.astype(np.int32), np.asarray(values, dtype=np.float64))

    def look(
        self, prices: Prices, threshold: float, slack: float, max_parts: int, watch: Watch
    ) -> tuple[float, dict[Members, float]]:
        """What the reduced cost of all classes is at least, or the threshold; and some classes that may be below it.

        Beside each class is its reduced cost. The bound is good enough when it is below the best class by no more than
        the ``slack``. No more than ``max_parts`` parts of the outings are looked at.
        """
        self._prizes = prices.duals + self._fixed
        self._pay(prices)
        low = float(self._pair_costs[self._others].min(initial=math.inf))
        if low == math.inf:
            return threshold, {}
        levels = [*(low * _LEVEL_STEP ** np.arange(_NUM_LEVELS)), math.inf]
        must = np.arange(self._network.num) == self._heaviest
        edges = np.ones(self._num_edges, dtype=np.bool_)
        parts = [_Part(*ends, edges, self._may, must) for ends in pairwise(levels)]
        waiting = [(self._weigh(part)[0], number, part) for number, part in enumerate(parts)]
        heapify(waiting)
        num_parts, num_looked = len(parts), 0
        # Whatever is above the best is not looked for, nor what is below it by no more than the slack.
        best, least, found = threshold, threshold, dict[Members, float]()
        while waiting and waiting[0][0] < best - slack and num_looked < max_parts and not watch.is_over():
            before, _, part = heappop(waiting)
            num_looked += 1
            try:
                value = max(before, self._bound(part, best - slack, watch))
            except OutOfTimeError:
                heappush(waiting, (before, -1, part))
                break
            if value < best - slack:
                members, reduced = self._round()
                if members:
                    found[members] = reduced
                    best = min(best, reduced)
            split: tuple[_Part, ...] = ()
            if value < best - slack:
                part = self._narrow(part, best)
                if self._weigh(part)[1] == math.inf:  # nothing in it is better than the best
                    continue
                split = self._split(part, best - value)
            if not split:
                least = min(least, value)
            for each in split:
                num_parts += 1
                heappush(waiting, (max(value, self._weigh(each)[0]), num_parts, each))
        return min([least, best, *(value for value, _, _ in waiting)]), found

    def _weigh(self, part: _Part) -> tuple[float, float]:
        """The bound of a part where all walks are as short as its lowest level; the least weight of its classes."""
        may = part.may & (self._pair_costs <= part.high)
        if (part.must & ~may).any():
            return math.inf, math.inf
        free = np.flatnonzero(may & ~part.must)
        missing = self._missing + self._masses[self._heaviest] - self._masses[part.must].sum()
        if self._masses[free].sum() < missing * (1 - ROUNDING):
            return math.inf, math.inf

        def fill(costs: Floats) -> float:
            ratios = costs[free] / self._masses[free]
            order = np.argsort(ratios, kind="stable")
            before = np.cumsum(self._masses[free][order]) - self._masses[free][order]
            is_taken = np.clip((missing - before) / self._masses[free][order], 0.0, 1.0)
            is_taken[ratios[order] < 0] = 1.0
            return float(costs[part.must].sum() + (costs[free][order] * is_taken).sum())

        return fill(part.low * self._weights - self._prizes), fill(self._weights)

    def _bound(self, part: _Part, enough: float, watch: Watch) -> float:
        """What the reduced cost of the classes of a part is at least; no more work is done than for ``enough``."""
        least_weight = self._weigh(part)[1]
        if least_weight == math.inf:
            return math.inf
        num, num_edges = self._network.num, self._num_edges
        may = part.may & (self._pair_costs <= part.high)
        edges = part.edges
        if self._network.is_exact:
            # Whom a walk of this length cannot pass at all is not on it.
            is_near = np.append(self._pair_costs <= part.high, [True, True])
            edges = edges & is_near[self._network.tails] & is_near[self._network.heads]
        columns = np.arange(num_edges + num + 1, dtype=np.int32)
        costs = np.concatenate((np.zeros(num_edges), part.low * self._weights - self._prizes, [least_weight]))
        self._solver.changeColsCost(columns.size, columns, costs * self._scale)
        self._solver.changeColsBounds(
            columns.size,
            columns,
            np.concatenate((np.zeros(num_edges), part.must.astype(np.float64), [part.low])),
            np.concatenate((2.0 * edges, may.astype(np.float64), [part.high])),
        )
        values: list[float] = []
        while len(values) < _MAX_ROUNDS:
            self._value = value = self._solve(watch) - least_weight * part.low
            values.append(max([value, *values[-1:]]))
            if values[-1] >= enough:
                break
            # Where there is nobody to decide about, only more of this helps.
            is_idle = (
                len(values) > _ROUNDS_BACK
                and value - values[-1 - _ROUNDS_BACK] < _LEAST_GAIN * (enough - value)
                and self._doubt(part).max() > _LEAST_SPLIT * self._missing
            )
            if is_idle or not self._enter_more() + self._pay_more():
                break
        return values[-1]

    def _solve(self, watch: Watch) -> float:
        """The value of the programme, less what HiGHS may be wrong by; infinite where there is nothing."""
        watch.check()
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return math.inf
        if status != highspy.HighsModelStatus.kOptimal:
            self._solver.clearSolver()
            self._solver.run()
            if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                self._collected, self._length = np.zeros(self._network.num), 0.0
                return -math.inf
        solution = self._solver.getSolution()
        self._values = values = np.array(solution.col_value)
        self._reduced = np.array(solution.col_dual)
        self._flow = np.maximum(0.0, values[: self._num_edges])
        self._collected = values[self._num_edges : self._length_column]
        self._length = float(values[self._length_column])
        # Every column may be cheaper than it seems by the tolerance. Few are above 1, and none but the length above 4.
        allowance = _TOLERANCE * (4 * values.size + self._length)
        return float(self._solver.getInfo().objective_function_value - allowance) / self._scale

    def _enter_more(self) -> int:
        """Demand that sets of members are entered as often as one of them is collected; returns how many sets."""
        self._forget()
        known, new = set(self._entries), dict[tuple[bytes, int], tuple[float, Flags]]()
        network, num = self._network, self._network.num
        for side in network.lacking(self._flow, self._collected):
            inside = np.where(side[:num], self._collected, -1.0)
            # One with the goal in it is entered once, whoever is collected.
            member = -1 if side[network.goal] else int(np.argmax(inside))
            wanted = 1.0 if member < 0 else 2 * inside[member]
            lacking = wanted - float(self._flow[network.entering(side)].sum())
            key = (side.tobytes(), member)
            if lacking > _LEAST_LACKING and key not in known:
                new[key] = (lacking, side.copy())
        chosen = sorted(new, key=lambda key: (-round(new[key][0], 9), key))[:_ENTRIES_PER_ROUND]
        for key in chosen:
            edges, member = network.entering(new[key][1]), key[1]
            if member < 0:
                self._add_row(1.0, math.inf, edges, np.ones(edges.size))
            else:
                self._add_row(0.0, math.inf, np.append(edges, self._num_edges + member), [*np.ones(edges.size), -2.0])
            self._entries.append(key)
        return len(chosen)

    def _forget(self) -> None:
        """Drop the demands that are met anyway, where there are too many."""
        if len(self._entries) <= _MAX_ENTRIES:
            return
        basis = self._solver.getBasis()
        rows, first = list(basis.row_status), self._num_first
        is_met = [
            key is not None and rows[first + at] == highspy.HighsBasisStatus.kBasic
            for at, key in enumerate(self._entries)
        ]
        met = np.flatnonzero(is_met)
        if met.size:
            kept = highspy.HighsBasis()
            kept.col_status = basis.col_status
            kept.row_status = rows[:first] + [row for row, out in zip(rows[first:], is_met, strict=True) if not out]
            kept.valid = True
            self._solver.deleteRows(met.size, (met + first).astype(np.int32))
            self._solver.setBasis(kept)
            self._entries = [key for key, out in zip(self._entries, is_met, strict=True) if not out]

    def _pay(self, prices: Prices) -> None:
        """Charge for the subset-row cuts that have a price; how much of it is learned as sets to enter are."""
        self._paid = [(cut, dual) for cut, dual in prices.paid_cuts if self._may[list(cut)].sum() > 1]
        for cut in sorted({cut for cut, _ in self._paid} - self._cut_columns.keys()):
            self._cut_columns[cut] = int(self._solver.getNumCol())
            self._add_columns(1, math.inf)
            # At least half of its members that are collected, less one half.
            columns = np.append(self._num_edges + np.array(cut), self._cut_columns[cut])
            self._add_row(-1.0, math.inf, columns, [*-np.ones(len(cut)), 2.0])
            self._entries.append(None)
        costs = dict(self._paid)
        for cut, column in self._cut_columns.items():
            self._solver.changeColCost(column, costs.get(cut, 0.0) * self._scale)

    def _pay_more(self) -> int:
        """Demand of cuts the number of members in an even set of them less half of that set; returns how many sets."""
        num = 0
        for cut, _ in self._paid:
            column, members = self._cut_columns[cut], np.array(cut)
            members = members[np.argsort(-self._collected[members], kind="stable")]
            wanted = np.cumsum(self._collected[members])[1::2] - np.arange(1, members.size // 2 + 1)
            half = int(np.argmax(wanted)) + 1
            if wanted[half - 1] > self._values[column] + _LEAST_LACKING:
                some = np.append(self._num_edges + members[: 2 * half], column)
                self._add_row(-float(half), math.inf, some, [*-np.ones(2 * half), 1.0])
                self._entries.append((b"", num))
                num += 1
        return num

    def _round(self) -> tuple[Members, float]:
        """A class of those who are collected for the most part, and its reduced cost; or none."""
        network, chosen = self._network, [self._heaviest]
        likely = self._others[np.argsort(-self._collected[self._others], kind="stable")]
        for member in likely[self._collected[likely] > _LIKELY].tolist():
            if len(chosen) < self._room and self._compatible[member, chosen].all():
                chosen.append(member)
        order, way = np.empty(self._room, dtype=np.int64), np.array(chosen)
        if way.size > 1:
            order_members(np.array(chosen), network.from_start, network.to_goal, network.between, way)
        order[: way.size] = way
        size, reduced = gather_class(
            self._heaviest, self._others, self._missing, self._length, float(self._weights @ self._collected),
            self._weights, self._prizes, self._masses, self._compatible, network.from_start, network.to_goal,
            network.between, order, way.size,
        )  # fmt: skip
        members = as_members(order[:size].tolist())
        return members, reduced + sum(dual * (len({*cut} & {*members}) // 2) for cut, dual in self._paid)

    def _narrow(self, part: _Part, enough: float) -> _Part:
        """The part without what, by the prices of the programme, is in no class that is better than ``enough``."""
        gap = (enough - self._value) * self._scale
        edges, members = self._reduced[: self._num_edges], self._reduced[self._num_edges : self._length_column]
        is_open = part.may & ~part.must & (self._pair_costs <= part.high)
        return replace(
            part,
            edges=part.edges & (edges <= gap),
            may=part.may & ~(is_open & (members > gap)),
            must=part.must | (is_open & (members < -gap)),
        )

    def _doubt(self, part: _Part) -> Floats:
        """How much mass of each member is neither in nor out."""
        return self._masses * np.minimum(self._collected, 1 - self._collected) * (part.may & ~part.must)

    def _split(self, part: _Part, gap: float) -> tuple[_Part, ...]:
        """Two parts of a part: at a level where that matters, else by somebody who is in or out; or none."""
        weight = float(self._weights @ self._collected)
        error = (self._length - part.low) * (weight - self._weigh(part)[1])
        doubt = self._doubt(part)
        who = int(np.argmax(doubt))
        if doubt[who] <= _LEAST_SPLIT * self._missing or error > 0.3 * gap:
            middle = (part.low + part.high) / 2 if part.high < math.inf else part.low * _LEVEL_STEP
            if not part.low * (1 + _LEAST_SPLIT) < middle or error <= _LEAST_SPLIT * gap:
                return ()
            return replace(part, high=middle), replace(part, low=middle)
        is_who = np.arange(self._network.num) == who
        return (
            replace(part, may=part.may & ~is_who),
            replace(part, must=part.must | is_who),
        )
