"""Branch and bound over partitions into classes, as trees walked depth first (paper, Algorithm 2 and supplement).

A partition is a list of sets in the order of their lowest members; a set is an entry of a pool that holds its bit mask
and covering costs. The caller owns the arrays. A search stops whenever it meets a set that is not in the pool yet and
goes on there once the caller has put it in, so covering costs may come from anywhere and each is asked for once.

Two searches walk such trees: Merge_BB_Search merges sets two at a time (paper, Algorithm 2), Depth_BB_Search assigns
one member after the other (paper's supplement).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Floats, Int32s, Ints, Masks
from veilroute.kernels.jit import compile_plain, inner, jit, specialise
from veilroute.kernels.tables import find_key, find_row

EXHAUSTED, PAUSED, IMPROVED, NEEDS_SET, NO_ROOM = range(5)
"""How a search returns: at its end, after its share of steps, with a better partition, or for want of something."""

DEPTH, IS_FRESH, NUM_VISITED, NUM_DUPLICATES, BEST_GROUPED, BEST_COUNT, WANTED, NUM_CLOSED, MAY_GROW, DRAW = range(10)
"""What stands where in ``numbers``."""


class Pool(NamedTuple):
    """The sets that are known."""

    # Members of each set, and how many.
    masks: Masks
    sizes: Masks
    near: Masks  # members that stand too close to a member of the set
    costs: Floats  # covering cost by set and trip; infinite where no walk covers it
    ratios: Floats  # by set and trip the sum of ``w_t`` over its members, times the weight of the trip
    fixed: Floats  # by set the sum of ``w_t * b_t``, trips weighted, so that a set costs ``costs . ratios - fixed``
    shares: Floats  # that cost, the paper's ``ac``
    slots: Int32s  # the hash table from masks to sets


class Tree(NamedTuple):
    """Where a search stands."""

    # The partition at each depth: its sets, and how many.
    parts: Int32s
    counts: Masks
    # What is to be tried at each depth, in order.
    pairs: Int32s
    num_pairs: Masks
    positions: Masks  # how far it has been tried
    sums: Floats  # what the qualifying sets cost at each depth
    best: Int32s  # the sets of the best partition so far; its cost is ``best_cost[0]``
    best_cost: Floats
    numbers: Masks  # see :data:`DEPTH` and the names after it


@inner
def find_union(one: int, other: int, pool: Pool, tree: Tree) -> int:
    """Where the union of two sets stands in the pool; -1 when it does not, after noting that it is wanted."""
    union = pool.masks[one] | pool.masks[other]
    found = pool.slots[find_key(union, pool.masks, pool.slots)]
    if found < 0:
        tree.numbers[WANTED] = union
    return int(found)


@inner
def measure(k: int, depth: int, pool: Pool, tree: Tree) -> tuple[int, float]:
    """How many members the qualifying sets hold (the paper's \\|ap\\|), and what they cost (\\|ap\\| times mac)."""
    grouped = 0
    cost = 0.0
    for p in range(tree.counts[depth]):
        one = tree.parts[depth, p]
        if pool.sizes[one] >= k:
            grouped += pool.sizes[one]
            cost += pool.shares[one]
    return grouped, cost


@inner
def is_prunable(k: int, num: int, margin: float, one: int, other: int, cost: float, pool: Pool, tree: Tree) -> bool:
    """The paper's Prunable (Algorithm 3) for the sets ``one`` and ``other`` of a partition that costs ``cost``.

    Merging two qualifying sets never pays; sets that hold members too close never qualify; and once a partition holds
    everybody, a merge is not worth trying whose cheapest possible cost leaves no room for improvement.
    """
    if pool.sizes[one] >= k and pool.sizes[other] >= k:
        return True
    if pool.masks[one] & pool.near[other]:
        return True
    if tree.numbers[BEST_GROUPED] == num:
        allowed = tree.best_cost[0] - cost + pool.shares[one] + pool.shares[other]
        least = -pool.fixed[one] - pool.fixed[other]
        for trip in range(pool.costs.shape[1]):
            dearer = max(pool.costs[one, trip], pool.costs[other, trip])
            least += dearer * (pool.ratios[one, trip] + pool.ratios[other, trip])
        return bool(least >= allowed - margin)
    return False


@inner
def keep_if_better(grouped: int, cost: float, margin: float, depth: int, tree: Tree) -> bool:
    """Make the partition at ``depth`` the best one if it groups more members, or as many for less."""
    best = tree.numbers[BEST_GROUPED]
    if grouped < best or (grouped == best and (grouped == 0 or cost >= tree.best_cost[0] - margin)):
        return False
    tree.numbers[BEST_GROUPED] = grouped
    tree.best_cost[0] = cost
    tree.numbers[BEST_COUNT] = tree.counts[depth]
    for p in range(tree.counts[depth]):
        tree.best[p] = tree.parts[depth, p]
    return True


RANDOM, COST_ASC = range(2)  #: merge orders
JOIN_FIRST, NEW_FIRST = range(2)  #: branch orders
BITS_PER_MEMBER = 6
MEMBERS_PER_WORD = 10  #: a partition is written down as the number of each member's set

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_PARTITION = np.uint64(0xBF58476D1CE4E5B9)
_MIX_PARTITION_AGAIN = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_PAIR_BASE = 64


@jit
def search_merges(
    num_steps: int, k: int, num: int, margin: float, order: int, weights: Floats, pool: Pool, tree: Tree,
    closed: Ints, closed_slots: Int32s, keys: Floats,
) -> int:  # fmt: skip
    """Merge_BB_Search (Algorithm 2) from where it stands, for at most ``num_steps`` partitions.

    ``num_steps``: pause after this many. ``k``, ``num``: the least members of a class, and how many members there are.
    ``margin``: what a partition must be cheaper by to be better: rounding is no improvement. ``order``, ``weights``:
    the merge order, :data:`RANDOM` or another, with the weights of the trips. ``pool``, ``tree``: known sets, and where
    the search stands. ``closed``, ``closed_slots``: partitions met before, and open hashing into them; duplicates are
    skipped while there is room to remember. ``keys``: scratch for sorting pairs.

    Returns ``EXHAUSTED``, ``PAUSED``, ``IMPROVED``, ``NEEDS_SET`` for the set ``numbers[WANTED]``, or ``NO_ROOM`` when
    ``closed`` is full and ``numbers[MAY_GROW]`` says that it can be larger.
    """
    numbers = tree.numbers
    while numbers[DEPTH] >= 0:
        depth = numbers[DEPTH]
        if numbers[IS_FRESH]:
            if num_steps == 0:
                return PAUSED
            if numbers[MAY_GROW] and numbers[NUM_CLOSED] == closed.shape[0] - 1:
                return NO_ROOM
            num_steps -= 1
            grouped, cost = measure(k, depth, pool, tree)
            tree.sums[depth] = cost
            numbers[IS_FRESH] = 0
            numbers[NUM_VISITED] += 1
            is_better = keep_if_better(grouped, cost, margin, depth, tree)
            # mac >= mac*, by cross multiplication.
            is_dear = grouped > 0 and cost * num >= (tree.best_cost[0] - margin) * grouped
            if tree.counts[depth] == 1 or grouped == num or (numbers[BEST_GROUPED] == num and is_dear):
                numbers[DEPTH] -= 1
            else:
                _order_pairs(k, num, margin, order, cost, weights, pool, tree, keys)
            if is_better:
                return IMPROVED
            continue
        if tree.positions[depth] == tree.num_pairs[depth]:
            numbers[DEPTH] -= 1
            continue
        cost = tree.sums[depth]
        code = tree.pairs[depth, tree.positions[depth]]
        i = code // _PAIR_BASE
        j = code % _PAIR_BASE
        one = tree.parts[depth, i]
        other = tree.parts[depth, j]
        # Again, because the best partition may be a better one since the pairs were put in order.
        if is_prunable(k, num, margin, one, other, cost, pool, tree):
            tree.positions[depth] += 1
            continue
        merged = find_union(one, other, pool, tree)
        if merged < 0:
            return NEEDS_SET
        tree.positions[depth] += 1
        if pool.shares[merged] == np.inf:
            continue
        count = 0
        for p in range(tree.counts[depth]):
            if p != j:
                tree.parts[depth + 1, count] = merged if p == i else tree.parts[depth, p]
                count += 1
        tree.counts[depth + 1] = count
        if _is_new(depth + 1, pool, tree, closed, closed_slots):
            numbers[DEPTH] += 1
            numbers[IS_FRESH] = 1
        else:
            numbers[NUM_DUPLICATES] += 1
    return EXHAUSTED


@inner
def _order_pairs(
    k: int, num: int, margin: float, order: int, cost: float, weights: Floats, pool: Pool, tree: Tree, keys: Floats
) -> None:
    """The paper's MergeOrder: all pairs of sets that may be merged, at random or by ascending key.

    Ties keep the order of the sets.
    """
    depth = tree.numbers[DEPTH]
    num_pairs = 0
    # All pairs, each put in its place: by insertion, or at random.
    for i in range(tree.counts[depth]):
        one = tree.parts[depth, i]
        for j in range(i + 1, tree.counts[depth]):
            other = tree.parts[depth, j]
            if is_prunable(k, num, margin, one, other, cost, pool, tree):
                continue
            code = i * _PAIR_BASE + j
            if order != RANDOM:
                key = _pair_key(order, one, other, weights, pool)
                at = num_pairs
                while at > 0 and keys[at - 1] > key:
                    keys[at] = keys[at - 1]
                    tree.pairs[depth, at] = tree.pairs[depth, at - 1]
                    at -= 1
                keys[at] = key
                tree.pairs[depth, at] = code
            else:
                drawn = _draw(num_pairs + 1, tree.numbers)
                tree.pairs[depth, num_pairs] = tree.pairs[depth, drawn]
                tree.pairs[depth, drawn] = code
            num_pairs += 1
    tree.num_pairs[depth] = num_pairs
    tree.positions[depth] = 0


@inner
def _pair_key(order: int, one: int, other: int, weights: Floats, pool: Pool) -> float:
    """The key of an order; there is one, CostAsc: the dearer of a pair's walks times the number of its members."""
    dearer = 0.0
    for trip in range(weights.size):
        dearer += weights[trip] * max(pool.costs[one, trip], pool.costs[other, trip])
    key: float = dearer * (pool.sizes[one] + pool.sizes[other])
    return key


def search_merges_by(key: Callable[..., float]) -> Callable[..., int]:
    """:func:`search_merges` for another merge order: ``key(costs, other_costs, size, other_size, weights)`` of two sets
    stands for CostAsc's, with costs and weights by trip. It is compiled, and tried once."""
    compiled = compile_plain(key)
    one_trip = np.ones(1)
    float(compiled(one_trip, one_trip, 1, 1, one_trip))

    def pair_key(_order: int, one: int, other: int, weights: Floats, pool: Pool) -> float:
        return float(compiled(pool.costs[one], pool.costs[other], pool.sizes[one], pool.sizes[other], weights))

    order_pairs = specialise(_order_pairs, _pair_key=compile_plain(pair_key))
    return specialise(search_merges, _order_pairs=order_pairs)


@inner
def _draw(num: int, numbers: Masks) -> np.int64:
    """A number below ``num``, by splitmix64 from the state in ``numbers``."""
    state = np.uint64(numbers[DRAW]) + _STEP
    numbers[DRAW] = np.int64(state)
    state = (state ^ (state >> _SHIFTS[0])) * _MIX_PARTITION
    state = (state ^ (state >> _SHIFTS[1])) * _MIX_PARTITION_AGAIN
    return np.int64((state ^ (state >> _SHIFTS[2])) % np.uint64(num))


@inner
def _is_new(depth: int, pool: Pool, tree: Tree, closed: Ints, closed_slots: Int32s) -> bool:
    """Whether a partition was not met before; it is remembered as far as there is room."""
    num = tree.numbers[NUM_CLOSED]
    key = closed[num]  # the last row is never taken, so there always is one to write to
    # Write the partition down: for each member the number of its part.
    for w in range(key.size):
        key[w] = 0
    for p in range(tree.counts[depth]):
        mask = pool.masks[tree.parts[depth, p]]
        member = 0
        while mask:
            if mask & 1:
                key[member // MEMBERS_PER_WORD] |= np.int64(p) << (BITS_PER_MEMBER * (member % MEMBERS_PER_WORD))
            mask >>= 1
            member += 1
    slot = find_row(num, closed, closed_slots)
    if closed_slots[slot] >= 0:
        return False
    if num < closed.shape[0] - 1:
        closed_slots[slot] = num
        tree.numbers[NUM_CLOSED] += 1
    return True


@jit
def search_assignments(num_steps: int, k: int, num: int, margin: float, order: int, pool: Pool, tree: Tree) -> int:
    """Depth_BB_Search (supplement) from where it stands, for at most ``num_steps`` partitions; see
    :func:`veilroute.kernels.branching.search_merges`.

    At each depth the next member joins each of the sets in turn, and opens one of its own: after that, or before it
    where ``order`` is :data:`NEW_FIRST`. Sets 0 to ``num - 1`` of the pool are the single members.
    """
    numbers = tree.numbers
    while numbers[DEPTH] >= 0:
        depth = numbers[DEPTH]
        if numbers[IS_FRESH]:
            if num_steps == 0:
                return PAUSED
            num_steps -= 1
            numbers[IS_FRESH] = 0
            numbers[NUM_VISITED] += 1
            tree.positions[depth] = 0
            grouped, cost = measure(k, depth, pool, tree)
            tree.sums[depth] = cost
            if depth == num:
                numbers[DEPTH] -= 1
                if keep_if_better(grouped, cost, margin, depth, tree):
                    return IMPROVED
                continue
        cost = tree.sums[depth]
        at = tree.positions[depth]
        if at > tree.counts[depth]:
            numbers[DEPTH] -= 1
            continue
        if order == NEW_FIRST:  # the set after the last one is the new one
            at = at - 1 if at > 0 else tree.counts[depth]
        joined = depth
        if at < tree.counts[depth]:
            one = tree.parts[depth, at]
            if is_prunable(k, num, margin, one, depth, cost, pool, tree):
                tree.positions[depth] += 1
                continue
            joined = find_union(one, depth, pool, tree)
            if joined < 0:
                return NEEDS_SET
        tree.positions[depth] += 1
        if pool.shares[joined] == np.inf:
            continue
        for p in range(tree.counts[depth]):
            tree.parts[depth + 1, p] = tree.parts[depth, p]
        tree.parts[depth + 1, at] = joined
        tree.counts[depth + 1] = max(tree.counts[depth], at + 1)
        numbers[DEPTH] += 1
        numbers[IS_FRESH] = 1
    return EXHAUSTED
