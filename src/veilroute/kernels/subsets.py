"""Covering costs of many subsets of candidates at once (theory: ``f_S(n)``, the cheapest walk covering S).

Fields are kept only at *posts*: the nodes from which some candidate is watched. ``watch_ptr`` and ``watch_posts``
list the posts of each candidate in CSR form; a field is a row of one value per post.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veilroute.kernels.jit import jit
from veilroute.kernels.sweep import Floats, Hops, Indices, sweep

Masks = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]


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
    mask: int, rows: Positions, previous: Floats, watch_ptr: Positions, watch_posts: Positions, best: Floats
) -> int:
    """Write ``min over t in S of f_{S - t}`` on the posts of t into ``best``; return how many are finite."""
    for p in range(best.size):
        best[p] = np.inf
    rest = mask
    candidate = 0
    count = 0
    while rest:
        if rest & 1:
            row = previous[rows[mask ^ (1 << candidate)]]
            for i in range(watch_ptr[candidate], watch_ptr[candidate + 1]):
                p = watch_posts[i]
                if row[p] < best[p]:
                    if best[p] == np.inf:
                        count += 1
                    best[p] = row[p]
        rest >>= 1
        candidate += 1
    return count


@jit
def advance_by_sweeps(
    masks: Masks,
    rows: Positions,
    previous: Floats,
    watch_ptr: Positions,
    watch_posts: Positions,
    post_nodes: Indices,
    by_hops: bool,
    indptr: Indices,
    indices: Indices,
    costs: Floats,
    distances: Floats,
    towards: npt.NDArray[np.int64],
    heap_keys: Floats,
    heap_nodes: Indices,
    hops: Hops,
    out: Floats,
) -> None:
    """Fields of the sets in ``masks`` from the fields of sets one smaller, one sweep of the graph per set."""
    best = np.empty(post_nodes.size)
    for i in range(masks.size):
        count = gather_seeds(masks[i], rows, previous, watch_ptr, watch_posts, best)
        seed_nodes = np.empty(count, dtype=np.uint32)
        seed_values = np.empty(count)
        j = 0
        for p in range(best.size):
            if best[p] < np.inf:
                seed_nodes[j] = post_nodes[p]
                seed_values[j] = best[p]
                j += 1
        if count == 0:
            out[i] = np.inf
            continue
        sweep(
            by_hops, indptr, indices, costs, seed_nodes, seed_values, np.inf,
            distances, towards, heap_keys, heap_nodes, hops,
        )  # fmt: skip
        for p in range(post_nodes.size):
            out[i, p] = distances[post_nodes[p]]


@jit
def advance_by_table(
    masks: Masks,
    rows: Positions,
    previous: Floats,
    watch_ptr: Positions,
    watch_posts: Positions,
    table: Floats,
    out: Floats,
) -> None:
    """Fields of the sets in ``masks`` from the fields of sets one smaller, through a table of post distances."""
    best = np.empty(table.shape[0])
    for i in range(masks.size):
        gather_seeds(masks[i], rows, previous, watch_ptr, watch_posts, best)
        row = out[i]
        row[:] = np.inf
        for q in range(best.size):
            value = best[q]
            if value < np.inf:
                reach = table[q]
                for p in range(row.size):
                    row[p] = min(row[p], value + reach[p])


@jit
def join_fields(
    masks: Masks,
    back_size: int,
    rows: Positions,
    forward: Floats,
    back_rows: Positions,
    backward: Floats,
    watch_ptr: Positions,
    watch_posts: Positions,
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
