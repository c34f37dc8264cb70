"""What a partitioner plug-in works with: the costs of groups, the distances between candidates, the best partition."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from itertools import chain

import numpy as np

from veilroute.base.arrays import Floats, Members, as_members
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.crew import Sweeps, crew_at_work
from veilroute.covering.set_costs import MAX_TOUR, ClassWalks, TourCosts, set_costs
from veilroute.covering.task import CoveringTask
from veilroute.kernels.subsets import tour_costs
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.first import first_partition, stopped_at_first
from veilroute.partition.result import Grouping, Partition, Record

_CALLS_PER_LOOK = 128
_MOST_KEPT = 1 << 18  #: groups whose costs are kept, in about a hundred megabytes; then all are forgotten


class Costs:
    """What groups of candidates cost to cover, and how far candidates are from each other.

    A candidate is given by its position in ``task.members``, and a group by any iterable of positions in any order. An
    answer is kept, so it costs next to nothing to ask again. Before the first answer, one shortest path search is made
    for each candidate; the tables take O(candidates^2) memory, or O(candidates x nodes that see one) where a candidate
    is seen from several nodes.

    All methods raise :class:`~veilroute.base.OutOfTimeError` when the time is over, and `InvalidInputError` for a
    position that does not exist.

    Parameters
    ----------
    problem, task, watch
        What the partitioner was called with.

    Attributes
    ----------
    walks
        Finds the walks of groups; pass it on as ``Partition.source``, which saves time.
    """

    def __init__(self, problem: Problem, task: CoveringTask, watch: Watch) -> None:
        self._problem, self._task, self._watch = problem, task, watch
        self._num = len(task.members)
        self._prices = set_costs(task, np.arange(self._num))
        self.walks = ClassWalks(task, self._prices)
        self._weights: list[float] = list(task.weights)
        # Per trip and member: what a unit of cost adds to the sum, and what of it the member would cost by itself.
        self._rates: list[list[float]] = task.rates.tolist()
        self._alone: list[list[float]] = (task.rates * task.base_costs).tolist()
        self._kept: dict[frozenset[int], tuple[float, float]] = {}
        self._calls = 0
        self._sets = [np.empty((1, size), dtype=np.int32) for size in range(MAX_TOUR + 1)]
        self._out = np.empty((1, task.num_trips))

    def cost(self, group: Iterable[int]) -> float:
        """What the cheapest walk past all of a group costs, the trips by weight; infinity if there is no such walk.

        The cost of an empty group is that of going straight to the goal. Of a group of more than 12 it may be the cost
        of a short walk that is not the cheapest; that walk is then the one that is planned.
        """
        return self._find(group)[0]

    def mac_share(self, group: Iterable[int]) -> float:
        """What a group adds to the sum that a partition should keep small; infinity if no walk covers the group.

        The MAC of a partition is the sum of these, over its groups, divided by the number of candidates in groups:
        with one trip, ``cost(group) * sum(1 / base cost) - len(group)``. If the problem has another objective, or the
        privacy bounds a risk, it is what these count.
        """
        return self._find(group)[1]

    def distance(self, a: int, b: int) -> float:
        """How far two candidates are from each other: the cheaper of the walks from ``a`` to ``b`` and back.

        Infinity from a candidate to itself or to another one at the same node, as in the paper's condition on spread.
        What makes a class is still for ``rule.qualifies`` to say, because ell may be measured in another way.
        """
        self._look_up((a, b))
        return float(self.distances[a, b])

    def walking_cost(self, a: int, b: int) -> float:
        """What it costs to walk on from a node that sees ``a`` to one that sees ``b``; 0 from a candidate to itself."""
        self._look_up((a, b))
        return float(self._steps[a, b])

    @cached_property
    def distances(self) -> Floats:
        """All distances (see :meth:`distance`) as an array, to use with numpy."""
        domain = self._problem.domain
        nodes = np.array([self._problem.candidate_nodes[i] for i in self._task.members], dtype=np.int64)
        posts = self._task.posts
        if domain is self._task.domain and np.array_equal(posts.nodes[posts.watch_posts], nodes):
            there = self._steps
        else:
            sweeps = Sweeps(domain, nodes)
            rows = chain.from_iterable(crew_at_work().own.read(sweeps, nodes.astype(np.uint32), self._watch))
            there = np.array(list(rows)).reshape(nodes.size, nodes.size) * (domain.unit_cost or 1.0)
        return np.where(nodes[:, None] == nodes, np.inf, np.minimum(there, there.T))

    @cached_property
    def pair_shares(self) -> Floats:
        """What every two candidates would add as a group (see :meth:`mac_share`), as an array; infinity with itself."""
        weights, rates = np.array(self._weights), self._task.rates
        fixed = np.array(self._weights) @ (rates * self._task.base_costs)
        shares = -fixed[:, None] - fixed
        for weight, rate, costs in zip(weights, rates, self._prices.pairs(self._watch), strict=True):
            shares += weight * costs * (rate[:, None] + rate)
        np.fill_diagonal(shares, np.inf)
        return np.asarray(shares)

    @cached_property
    def _steps(self) -> Floats:
        return self._prices.steps(self._watch)[2]

    def _look_up(self, members: Iterable[int]) -> None:
        if not all(0 <= i < self._num for i in members):
            raise InvalidInputError("group", f"positions from 0 to {self._num - 1} in task.members", list(members))

    def _find(self, group: Iterable[int]) -> tuple[float, float]:
        """Cost and share of a group."""
        self._calls += 1
        if not self._calls % _CALLS_PER_LOOK:
            self._watch.check()
        key = group if isinstance(group, frozenset) else frozenset(group)
        return self._kept.get(key) or self._work_out(key, self._watch)

    def _work_out(self, key: frozenset[int], watch: Watch) -> tuple[float, float]:
        members = as_members(key)
        self._look_up(members)
        size = len(members)
        if not size:
            return float(np.dot(self._weights, self._task.direct)) * self._task.unit, 0.0
        prices = self._prices
        if isinstance(prices, TourCosts) and size <= MAX_TOUR and prices.is_prepared:
            watch.count("searches", len(self._weights))
            row, out = self._sets[size], self._out
            row[0] = members
            tour_costs(row, prices.from_start, prices.to_goal, prices.between, out)
        else:
            out = prices.costs(np.array([members], dtype=np.int32), watch)
        cost = share = 0.0
        for weight, own, rates, alone in zip(self._weights, out[0].tolist(), self._rates, self._alone, strict=True):
            cost += weight * own
            share += weight * (own * sum([rates[i] for i in members]) - sum([alone[i] for i in members]))
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = cost, share
        return cost, share


class BestPartition:
    """The best partition that a search has found so far, and when it found each one that was better than all before.

    Better means that more candidates are in groups or, if as many are, that their MAC is lower.

    Parameters
    ----------
    rule
        What the partitioner was called with: it says which groups are classes.
    costs
        What the groups cost.
    """

    def __init__(self, rule: Rule, costs: Costs) -> None:
        self._rule, self._costs = rule, costs
        self._record = Record(Grouping.of(rule.worth, {}), costs._watch, "search")

    def offer(self, groups: Iterable[Iterable[int]]) -> bool:
        """Keep a partition if it is better; whether it was. Groups that are no classes, or have no walk, do not count.

        A report with the improvement goes to the caller, so that progress and ``bench`` show it. The call takes time in
        proportion to the number of groups. No candidate may be in two groups.
        """
        costs, by_size = self._costs, dict[int, list[Members]]()
        for group in groups:
            by_size.setdefault(len(members := as_members(group)), []).append(members)
        try:
            if isinstance(costs._prices, TourCosts):
                costs._prices.prepare(costs._watch)
        except OutOfTimeError:  # before there was any cost; :meth:`partition` knows what to do then
            return False
        shares = dict[Members, float]()
        for size in sorted(by_size.keys() - {0}):
            is_class = self._rule.qualify(np.array(by_size[size], dtype=np.int32))
            for members in (own for own, may in zip(by_size[size], is_class.tolist(), strict=True) if may):
                key = frozenset(members)
                # The time may be over: what was found in time still counts.
                share = (costs._kept.get(key) or costs._work_out(key, Watch()))[1]
                if math.isfinite(share):
                    shares[members] = share
        is_first = not self._record.best.classes
        is_better = self._record.offer(Grouping.of(self._rule.worth, shares))
        if is_first and is_better:
            costs.walks.keep_time(self._record.best.classes, costs._watch)
        return is_better

    def partition(self, *, is_stopped: bool = False) -> Partition:
        """The best one as a partitioner returns it; ``is_stopped`` says that the time was over before the end.

        If nothing was found in time, candidates that are neighbours in the tree of shortest paths are grouped.
        """
        best, costs = self._record.best, self._costs
        if is_stopped and not best.classes:
            return stopped_at_first(costs._task, first_partition(costs._task, self._rule).classes, costs.walks)
        return Partition(
            best.classes, best.left_out, is_optimal=False, is_stopped=is_stopped,
            improvements=tuple(self._record.improvements), source=costs.walks,
        )  # fmt: skip
