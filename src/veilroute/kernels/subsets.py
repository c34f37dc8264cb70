"""Covering costs of many subsets of candidates at once (theory: ``f_S(n)``, the cheapest walk covering S).

Fields are kept only at *posts*: the nodes from which some candidate is watched. ``watch_ptr`` and ``watch_posts``
list the posts of each candidate in CSR form; a field is a row of one value per post.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Indices, Int32s, Ints, Masks
from veilroute.kernels.jit import jit
from veilroute.kernels.sweep import FAR, sweep


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
    members: Ints,
    smaller: Ints,
    previous: Floats,
    watch_ptr: Ints,
    watch_posts: Ints,
    best: Floats,
) -> int:
    """Write ``min over t in S of f_{S - t}`` on the posts of t into ``best``; return how many are finite.

    ``previous[smaller[i]]`` is the field of S without ``members[i]``.
    """
    for p in range(best.size):
        best[p] = np.inf
    count = 0
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
def advance_by_sweeps(
    members: Ints,
    smaller: Ints,
    previous: Floats,
    watch_ptr: Ints,
    watch_posts: Ints,
    post_nodes: Indices,
    by_hops: bool,
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    distances: Floats,
    towards: Ints,
    heap_keys: Floats,
    heap_nodes: Indices,
    hops: Int32s,
    out: Floats,
) -> None:
    """Fields of sets from the fields of sets one smaller, one sweep of the graph per set.

    Row i of ``members`` lists a set, row i of ``smaller`` where the field of the set without each member stands.
    """
    best = np.empty(post_nodes.size)
    seed_nodes = np.empty(post_nodes.size, dtype=np.uint32)
    seed_values = np.empty(post_nodes.size)
    for i in range(members.shape[0]):
        count = gather_seeds(members[i], smaller[i], previous, watch_ptr, watch_posts, best)
        if count == 0:
            out[i] = np.inf
            continue
        j = 0
        for p in range(best.size):
            if best[p] < np.inf:
                seed_nodes[j] = post_nodes[p]
                seed_values[j] = best[p]
                j += 1
        sweep(
            by_hops, indptr, indices, costs, seed_nodes[:count], seed_values[:count], np.inf,
            distances, towards, heap_keys, heap_nodes, hops,
        )  # fmt: skip
        if by_hops:
            for p in range(post_nodes.size):
                hop = hops[post_nodes[p]]
                out[i, p] = np.inf if hop == FAR else hop
        else:
            for p in range(post_nodes.size):
                out[i, p] = distances[post_nodes[p]]


@jit
def advance_by_table(
    members: Ints,
    smaller: Ints,
    previous: Floats,
    watch_ptr: Ints,
    watch_posts: Ints,
    table: Floats,
    out: Floats,
) -> None:
    """Fields of sets from the fields of sets one smaller, through a table of post distances."""
    best = np.empty(table.shape[0])
    for i in range(members.shape[0]):
        gather_seeds(members[i], smaller[i], previous, watch_ptr, watch_posts, best)
        row = out[i]
        row[:] = np.inf
        for q in range(best.size):
            value = best[q]
            if value < np.inf:
                reach = table[q]
                for p in range(row.size):
                    row[p] = min(row[p], value + reach[p])


@jit
def join_rows(
    sets: Ints,
    splits: Ints,
    middles: Ints,
    forward_rows: Ints,
    backward_rows: Ints,
    forward: Floats,
    backward: Floats,
    watch_ptr: Ints,
    watch_posts: Ints,
    margin: float,
    best: Floats,
    choice: Ints,
    choice_post: Ints,
) -> None:
    """Lower ``best[sets[i]]`` by walks that cover ``middles[i]`` from a post between two given fields.

    ``choice`` and ``choice_post`` keep ``splits[i]`` and the post. A later one must be better than ``margin`` times
    the best so far, so that rounding does not choose.
    """
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
    masks: Masks,
    back_size: int,
    rows: Ints,
    forward: Floats,
    back_rows: Ints,
    backward: Floats,
    watch_ptr: Ints,
    watch_posts: Ints,
    out: Floats,
) -> None:
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
