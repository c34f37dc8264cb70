"""What the costs of pairs tell about classes: good partners for each member, and a first partition.

In numpy and not in kernels: this runs once for a plan, over all pairs, and takes less time than kernels take to load.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Flags, Floats, Ints
from veilroute.partition.class_space import ClassSpace
from veilroute.partition.result import Grouping
from veilroute.progress import Watch

_ROWS_AT_ONCE = 256


def find_partners(space: ClassSpace, num_partners: int, num_apart: int) -> tuple[Ints, Floats]:
    """Each member's best partners, the cheapest pair first, and what it adds to any class at least.

    The first ``num_apart`` of the partners, if there are as many, are far. Where there are fewer than ``num_partners``,
    -1 stands behind them; ties: the lower member. A class holds k - 1 others, so members that have fewer partners add
    nothing at least.
    """
    k, weights, fixed, pair_costs = space.k, space.weights, space.fixed, space.pair_costs
    num_trips, num = weights.shape
    partners, least = np.full((num, num_partners), -1, dtype=np.int64), np.empty(num)
    for begin in range(0, num, _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        is_pair = space.compatible[rows]
        least[rows] = -fixed[rows]
        values = -fixed[rows, None] - fixed
        for trip in range(num_trips):
            costs = np.where(is_pair, pair_costs[trip, rows], np.inf)
            least[rows] += np.partition(costs, k - 2, axis=1)[:, k - 2] * weights[trip, rows]
            values += pair_costs[trip, rows] * (weights[trip, rows, None] + weights[trip])
        values[~is_pair] = np.inf
        for member, row in enumerate(values, begin):
            first = _lowest(np.where(space.far[member], row, np.inf), num_apart)
            row[first] = np.inf
            chosen = np.concatenate([first, _lowest(row, num_partners - first.size)])
            partners[member, : chosen.size] = chosen
    least[np.isinf(least)] = 0.0
    return partners, least


def _lowest(values: Floats, most: int) -> Ints:
    """Where the lowest finite values stand, in ascending order, of equal ones the first."""
    if most == 0:
        return np.empty(0, dtype=np.int64)
    highest = np.partition(values, most - 1)[most - 1] if most < values.size else np.inf
    places = np.flatnonzero((values <= highest) & (values < np.inf))
    return places[np.argsort(values[places], kind="stable")][:most]


def greedy_partition(space: ClassSpace, watch: Watch) -> Grouping:
    """A first partition: members begin classes in turn, those with the fewest possible partners first.

    A member in no class yet begins one with the k - 1 that seem to fit best. Those who find too few then join the class
    where that seems to cost least. What a class costs is taken to be the most that two of its members cost. Members of
    a class are compatible, and its first k are far from each other as well. Ties: the lowest member or class.
    Complexity: a look at every pair, k times.

    The space must be prepared. Classes that no walk covers are dissolved; only one-way streets with several posts for a
    member bring such about.
    """
    if space.k == 1:
        return Grouping.of(space.num, {(i,): 0.0 for i in range(space.num)})
    watch.tell("first partition")
    may_begin = space.compatible & space.far if space.is_loose else space.compatible
    order = np.argsort(may_begin.sum(axis=1), kind="stable")
    class_of = np.full(space.num, -1, dtype=np.int64)
    num_classes = 0
    for member in order.tolist():
        if class_of[member] < 0:
            chosen = _begin_class(space, member, may_begin, class_of < 0)
            if len(chosen) == space.k:
                class_of[chosen] = num_classes
                num_classes += 1
    if num_classes:
        _join_classes(space, order, num_classes, class_of)
    found = [tuple(np.flatnonzero(class_of == number).tolist()) for number in range(num_classes)]
    return space.price(found if space.is_known else filter(space.rule.qualifies, found))


def _begin_class(space: ClassSpace, member: int, may_begin: Flags, is_open: Flags) -> list[int]:
    """A member with up to k - 1 others that seem to fit best, one after the other."""
    weights, pair_costs = space.weights, space.pair_costs
    chosen = [member]
    # By trip and member: what a class would cost with the member in it.
    costs = np.repeat(pair_costs[:, member, member, None], space.num, axis=1)
    weight = np.zeros(len(weights))
    while len(chosen) < space.k:
        newest = chosen[-1]
        is_open[newest] = False
        is_open &= may_begin[newest]
        weight += weights[:, newest]
        # The class has cost as much as its newest member with those before it.
        costs = np.maximum(costs, np.maximum(costs[:, newest, None], pair_costs[:, newest]))
        values = -space.fixed
        for trip in range(len(weights)):
            values = values + costs[trip] * (weight[trip] + weights[trip])
        values[~is_open | np.isnan(values)] = np.inf
        following = int(np.argmin(values))
        if values[following] == np.inf:
            break
        chosen.append(following)
    return chosen


def _join_classes(space: ClassSpace, order: Ints, num_classes: int, class_of: Ints) -> None:
    """Let members in no class join one, in the given order."""
    weights, pair_costs, num_trips = space.weights, space.pair_costs, len(space.weights)
    inside = np.flatnonzero(class_of >= 0)
    sizes = np.bincount(class_of[inside], minlength=num_classes)
    class_costs, class_weights = np.zeros((2, num_trips, num_classes))
    for trip in range(num_trips):
        # One after the other: the order of additions is part of the result.
        np.add.at(class_weights[trip], class_of[inside], weights[trip, inside])
    for number in range(num_classes):
        members = np.flatnonzero(class_of == number)
        class_costs[:, number] = pair_costs[:, members[:, None], members].max(axis=(1, 2), initial=0.0)
    for member in order[class_of[order] < 0].tolist():
        inside = np.flatnonzero(class_of >= 0)
        may_join = sizes < space.max_size
        may_join[class_of[inside[~space.compatible[member, inside]]]] = False
        wider_costs = class_costs.copy()
        values = np.zeros(num_classes)
        for trip in range(num_trips):
            np.maximum.at(wider_costs[trip], class_of[inside], pair_costs[trip, member, inside])
            values += wider_costs[trip] * (class_weights[trip] + weights[trip, member])
            values -= class_costs[trip] * class_weights[trip]
        values[~may_join | np.isnan(values)] = np.inf  # where no walk covers the class, nothing can be said
        joined = int(np.argmin(values))
        if values[joined] < np.inf:
            class_of[member] = joined
            sizes[joined] += 1
            class_costs[:, joined] = wider_costs[:, joined]
            class_weights[:, joined] += weights[:, member]
