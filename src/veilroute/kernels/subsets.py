"""Covering costs of many subsets of candidates at once (docs/theory, :ref:`Covering costs <theory-covering>`).

Fields are kept only at *posts*: the nodes from which some candidate is watched. ``watch_ptr`` and ``watch_posts``
list the posts of each candidate in CSR form; a field is a row of one value per post.

Where members are watched from one post each, the covering cost of a small set is that of the cheapest order to visit
them. Of prefixes that the routes of a class share, kernels here find what they cost the class, and the walks of a given
number of nodes, layer by layer.
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Indices, Int32s, Ints, Masks
from veilroute.kernels.jit import jit


@jit
def count_bits(mask: int) -> int:
    """Number of members of a set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@jit
def gather_seeds(
    members: Ints, smaller: Ints, previous: Floats, watch_ptr: Ints, watch_posts: Ints, best: Floats,
) -> int:  # fmt: skip
    """Write ``min over t in S of f_{S - t}`` on the posts of t into ``best``; return how many are finite.

    ``previous[smaller[i]]`` is the field of S without ``members[i]``.
    """
    for p in range(best.size):
        best[p] = np.inf
    count = 0
    # Each member in turn is the last one covered, at one of its posts.
    for i in range(members.size):
        row = previous[smaller[i]]
        for w in range(watch_ptr[members[i]], watch_ptr[members[i] + 1]):
            p = watch_posts[w]
            if row[p] < best[p]:
                if best[p] == np.inf:
                    count += 1
                best[p] = row[p]
    return count


@jit
def advance_by_table(
    members: Ints, smaller: Ints, previous: Floats, watch_ptr: Ints, watch_posts: Ints, table: Floats, best: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Fields of sets from the fields of sets one smaller, through a table of post distances.

    ``best`` is scratch for a field.
    """
    for i in range(members.shape[0]):
        gather_seeds(members[i], smaller[i], previous, watch_ptr, watch_posts, best)
        for p in range(best.size):
            out[i, p] = np.inf
        # From every post where a walk may be, on to every post.
        for q in range(best.size):
            value = best[q]
            if value < np.inf:
                for p in range(best.size):
                    out[i, p] = min(out[i, p], value + table[q, p])


@jit
def join_rows(
    sets: Ints, splits: Ints, middles: Ints, forward_rows: Ints, backward_rows: Ints, forward: Floats, backward: Floats,
    watch_ptr: Ints, watch_posts: Ints, margin: float, best: Floats, choice: Ints, choice_post: Ints,
) -> None:  # fmt: skip
    """Lower ``best[sets[i]]`` by walks that cover ``middles[i]`` from a post between two given fields.

    ``choice`` and ``choice_post`` keep ``splits[i]`` and the post. A later one must be better than ``margin`` times
    the best so far, so that rounding does not choose.
    """
    # For each set the best post of its middle member.
    for i in range(sets.size):
        f = forward[forward_rows[i]]
        h = backward[backward_rows[i]]
        lowest = np.inf
        lowest_post = np.int64(-1)
        for w in range(watch_ptr[middles[i]], watch_ptr[middles[i] + 1]):
            q = watch_posts[w]
            value = f[q] + h[q]
            if value < lowest * margin:
                lowest = value
                lowest_post = q
        if lowest < best[sets[i]] * margin:
            best[sets[i]] = lowest
            choice[sets[i]] = splits[i]
            choice_post[sets[i]] = lowest_post


@jit
def join_fields(
    masks: Masks, back_size: int, rows: Ints, forward: Floats, back_rows: Ints, backward: Floats, watch_ptr: Ints,
    watch_posts: Ints, out: Floats,
) -> None:  # fmt: skip
    """Covering costs of sets: ``min over j, T of min over posts q of j: f_{C - j - T}(q) + h_T(q)``.

    ``T`` runs over the subsets of ``C - j`` with ``back_size`` members, ``out[i]`` belongs to ``masks[i]``.
    """
    for i in range(masks.size):
        mask = masks[i]
        best = np.inf
        rest = mask
        candidate = 0
        while rest:
            if rest & 1:
                others = mask ^ (1 << candidate)
                behind = others if back_size else others & 0
                while True:
                    if count_bits(behind) == back_size:
                        f = forward[rows[others ^ behind]]
                        h = backward[back_rows[behind]]
                        for w in range(watch_ptr[candidate], watch_ptr[candidate + 1]):
                            q = watch_posts[w]
                            if f[q] + h[q] < best:
                                best = f[q] + h[q]
                    if behind == 0:
                        break
                    behind = (behind - 1) & others
            rest >>= 1
            candidate += 1
        out[i] = best


_BLOCK = 64


@jit
def tour_costs(sets: Int32s, from_start: Floats, to_goal: Floats, between: Floats, out: Floats) -> None:
    """Cheapest way from the start through all members of each set to the goal, per trip.

    By dynamic programming over (visited members, last one), which takes ``2^z z^2 / 2`` steps for z members; pairs and
    triples directly. ``from_start`` and ``to_goal`` are per trip and member, ``out`` per set and trip.
    """
    size = sets.shape[1]
    everyone = (1 << size) - 1
    best = np.empty((1 << size if size > 3 else 1, size))
    step = np.empty((size, size))
    for s in range(sets.shape[0]):
        members = sets[s]
        for i in range(size):
            for j in range(size):
                step[i, j] = between[members[i], members[j]]
        for trip in range(from_start.shape[0]):
            first = from_start[trip]
            last = to_goal[trip]
            least = np.inf
            if size == 1:
                least = first[members[0]] + last[members[0]]
            elif size == 2:
                there = first[members[0]] + step[0, 1] + last[members[1]]
                least = min(there, first[members[1]] + step[1, 0] + last[members[0]])
            elif size == 3:
                for middle in range(3):
                    i = (middle + 1) % 3
                    j = (middle + 2) % 3
                    there = first[members[i]] + step[i, middle] + step[middle, j] + last[members[j]]
                    back = first[members[j]] + step[j, middle] + step[middle, i] + last[members[i]]
                    least = min(least, there, back)
            else:
                for visited in range(1 << size):
                    for i in range(size):
                        best[visited, i] = np.inf
                for i in range(size):
                    best[1 << i, i] = first[members[i]]
                # From each state (visited members, last one) on to every member that is left.
                for visited in range(1, everyone):
                    for i in range(size):
                        so_far = best[visited, i]
                        if so_far == np.inf:
                            continue
                        for j in range(size):
                            if not (visited >> j) & 1:
                                ahead = visited | (1 << j)
                                best[ahead, j] = min(best[ahead, j], so_far + step[i, j])
                for i in range(size):
                    least = min(least, best[everyone, i] + last[members[i]])
            out[s, trip] = least


@jit
def pair_costs(from_start: Floats, to_goal: Floats, between: Floats, out: Floats) -> None:
    """Costs of the walks past every two members, in the cheaper order, per trip into ``out``."""
    num = between.shape[0]
    for first in range(0, num, _BLOCK):
        for second in range(0, num, _BLOCK):
            # By blocks, because going down columns of a large table is slow.
            for i in range(first, min(first + _BLOCK, num)):
                for j in range(second, min(second + _BLOCK, num)):
                    for trip in range(from_start.shape[0]):
                        there = from_start[trip, i] + between[i, j] + to_goal[trip, j]
                        back = from_start[trip, j] + between[j, i] + to_goal[trip, i]
                        out[trip, i, j] = min(there, back)


@jit
def lower_prices(
    covered: int, nodes: Masks, paid: Floats, to_goal: Floats, ahead: Floats, ratios: Floats, classes: Masks,
    rounding: float, prices: Floats, best_sets: Masks, best_nodes: Masks,
) -> None:  # fmt: skip
    """Try the prefixes that cover a set for every class that holds it.

    ``covered``: the set. ``nodes``, ``paid``: where such prefixes end, and what the cheapest one there costs.
    ``to_goal``: by node, what is left for a member that was covered. ``ahead``: by member and node, what is left for
    one that was not. ``ratios``: by member, what its cost is multiplied with. ``classes``: the classes to try.
    ``rounding``: a price is lower only if it is lower by this share. ``prices``, ``best_sets``, ``best_nodes``: by
    class, lowered where possible: the price, and which prefix it comes from.
    """
    # Each class that holds the set, at each node where a prefix may end.
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
    indptr: Indices, indices: Indices, costs: Floats, seen: Masks, family: Masks, row_of: Ints, before: Floats,
    after: Floats,
) -> None:  # fmt: skip
    """From the cheapest walks of i nodes to those of i + 1, by (set covered at least, last node).

    ``indptr``, ``indices``, ``costs``: for each node the edges that lead to it. ``seen``: by node the members that it
    sees. ``family``, ``row_of``: the sets, and where each stands; with a set the family holds all its subsets.
    ``before``, ``after``: costs by set and node; infinite where there is no such walk.
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
def price_prefixes(
    sets: Int32s, rows: Masks, is_there: Flags, to_goal: Floats, ahead: Floats, ratios: Floats, out: Floats,
) -> None:  # fmt: skip
    """What the best end of a shared prefix of fixed length leaves to be paid, for each set.

    Of a set with members t, ``rows[i, b]`` is the row of ``is_there`` with the nodes where a prefix can end that has
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
