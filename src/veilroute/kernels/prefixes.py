"""Shared beginnings of routes: what they cost a class, and walks of a given number of nodes, layer by layer."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Flags, Floats, Indices, Int32s, Ints, Masks
from veilroute.kernels.jit import jit


@jit
def lower_prices(
    covered: int,
    nodes: Masks,
    paid: Floats,
    to_goal: Floats,
    ahead: Floats,
    ratios: Floats,
    classes: Masks,
    rounding: float,
    prices: Floats,
    best_sets: Masks,
    best_nodes: Masks,
) -> None:
    """Try the beginnings that cover a set for every class that holds it.

    Parameters
    ----------
    covered
        The set.
    nodes, paid
        Where such beginnings end, and what the cheapest one there costs.
    to_goal
        By node, what is left for a member that was covered.
    ahead
        By member and node, what is left for one that was not.
    ratios
        By member, what its cost is multiplied with.
    classes
        The classes to try.
    rounding
        A price is lower only if it is lower by this share.
    prices, best_sets, best_nodes
        By class, lowered where possible: the price, and which beginning it comes from.
    """
    for chosen in classes:
        if chosen & covered != covered:
            continue
        all_ratios = 0.0
        covered_ratios = 0.0
        others = np.empty(64, dtype=np.int64)
        num_others = 0
        rest = chosen
        member = 0
        while rest:
            if rest & 1:
                all_ratios += ratios[member]
                if covered >> member & 1:
                    covered_ratios += ratios[member]
                else:
                    others[num_others] = member
                    num_others += 1
            rest >>= 1
            member += 1
        least = prices[chosen]
        least_node = np.int64(-1)
        for i in range(nodes.size):
            node = nodes[i]
            price = paid[i] * all_ratios
            if covered_ratios > 0.0:
                price += to_goal[node] * covered_ratios
            for j in range(num_others):
                price += ahead[others[j], node] * ratios[others[j]]
            if price < least - rounding * (1.0 + abs(price)):
                least = price
                least_node = node
        if least_node >= 0:
            prices[chosen] = least
            best_sets[chosen] = covered
            best_nodes[chosen] = least_node


@jit
def advance_layer(
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    seen: Masks,
    family: Masks,
    row_of: Ints,
    before: Floats,
    after: Floats,
) -> None:
    """From the cheapest walks of i nodes to those of i + 1, by (set covered at least, last node).

    Parameters
    ----------
    indptr, indices, costs
        For each node the edges that lead to it.
    seen
        By node the members that it sees.
    family, row_of
        The sets, and where each stands; with a set the family holds all its subsets.
    before, after
        Costs by set and node; infinite where there is no such walk.
    """
    for node in range(seen.size):
        for row in range(family.size):
            source = row_of[family[row] & ~seen[node]]
            least = np.inf
            for e in range(indptr[node], indptr[node + 1]):
                cost = before[source, indices[e]] + costs[e]
                if cost < least:
                    least = cost
            after[row, node] = least


@jit
def price_beginnings(
    sets: Int32s,
    rows: Masks,
    is_there: Flags,
    to_goal: Floats,
    ahead: Floats,
    ratios: Floats,
    out: Floats,
) -> None:
    """What the best end of a shared beginning of fixed length leaves to be paid, for each set.

    Of a set with members t, ``rows[i, b]`` is the row of ``is_there`` with the nodes where a beginning can end that has
    covered the members in the bits of b, or -1. At a node, covered members pay ``to_goal``, others ``ahead[t]``, times
    their ratios.
    """
    size = sets.shape[1]
    for s in range(sets.shape[0]):
        members = sets[s]
        least = np.inf
        for covered in range(1 << size):
            row = rows[s, covered]
            if row < 0:
                continue
            weight = 0.0
            for i in range(size):
                if (covered >> i) & 1:
                    weight += ratios[members[i]]
            for node in range(to_goal.size):
                if not is_there[row, node]:
                    continue
                price = weight * to_goal[node]
                if price >= least:
                    continue
                for i in range(size):
                    if not (covered >> i) & 1:
                        price += ratios[members[i]] * ahead[members[i], node]
                least = min(least, price)
        out[s] = least
