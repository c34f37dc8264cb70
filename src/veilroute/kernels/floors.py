"""Floors: what a class costs at least that holds two given members, because it needs a witness beside them.

A class needs k members that stand apart. So beside two members it holds others that stand apart, and a walk passes them
as well. Three members at a time are looked at exactly; k of them only as strolls, which forget whom they have met
(:mod:`veilroute.kernels.strolls`). In *clusters* all stand near each other, so that of each at most one is a witness
(docs/theory, :ref:`Crowds <theory-crowds>`).
"""

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.kernels.jit import inner, jit


@jit
def find_triples(ptr: Ints, from_start: Floats, to_goal: Floats, between: Floats, out: Floats) -> None:
    """What every three members cost, in the cheapest order; where two are the same, what they cost as a pair.

    Member i is met at the stops from ``ptr[i]`` up to ``ptr[i + 1]``.
    """
    num = ptr.size - 1
    for a in range(num):
        for b in range(a + 1):
            for c in range(b + 1):
                least = np.inf
                for p in range(ptr[a], ptr[a + 1]):
                    for q in range(ptr[b], ptr[b + 1]):
                        for r in range(ptr[c], ptr[c + 1]):
                            for turn in range(3):
                                x, y, z = (p, q, r) if turn == 0 else (q, r, p) if turn == 1 else (r, p, q)
                                there = from_start[y] + between[y, x] + between[x, z] + to_goal[z]
                                back = from_start[z] + between[z, x] + between[x, y] + to_goal[y]
                                least = min(least, there, back)
                out[a, b, c] = out[a, c, b] = out[b, a, c] = out[b, c, a] = out[c, a, b] = out[c, b, a] = least


@inner
def _triple(triples: Floats, pairs: Floats, a: int, b: int, c: int) -> float:
    """What three members cost at least."""
    cost: float = triples[a, b, c] if triples.shape[0] else max(pairs[a, b], pairs[a, c], pairs[b, c])
    return cost


@inner
def _floor_with(t: int, u: int, k: int, far: Flags, pairs: Floats, triples: Floats, limit: float) -> float:
    """What a class with two members costs at least, one of whom is a witness, or ``limit`` if that is less.

    ``u`` may be ``t``. Of a witness that t is not in, the limit must tell.
    """
    num = pairs.shape[0]
    least = limit
    for x in range(num):
        if k == 2 and far[t, u]:
            return min(least, float(pairs[t, u]))
        if x == u or not far[t, x]:
            continue
        one = _triple(triples, pairs, t, u, x)
        if one >= least:
            continue
        if k == 2 or (far[t, u] and far[u, x]):
            least = one
            continue
        for y in range(x):
            if y == u or not far[t, y] or not far[x, y]:
                continue
            both = max(_triple(triples, pairs, t, u, y), _triple(triples, pairs, t, x, y))
            least = min(least, max(one, both, _triple(triples, pairs, u, x, y)))
    return least


@inner
def _floor_without(t: int, k: int, far: Flags, pairs: Floats, triples: Floats) -> float:
    """What a class with a member who is no witness costs at least."""
    num = pairs.shape[0]
    least = np.inf
    for x in range(num):
        for y in range(x):
            if x == t or y == t or not far[x, y]:
                continue
            two = _triple(triples, pairs, t, x, y)
            if two >= least:
                continue
            if k == 2:
                least = two
                continue
            for z in range(y):
                if z == t or not far[x, z] or not far[y, z]:
                    continue
                three = max(_triple(triples, pairs, t, x, z), _triple(triples, pairs, t, y, z))
                least = min(least, max(two, three, _triple(triples, pairs, x, y, z)))
    return least


@jit
def find_floors(
    k: int, far: Flags, clusters: Ints, num_clusters: int, pairs: Floats, triples: Floats, out: Floats
) -> None:
    """Per two members what a class with both costs at least, for k of 2 or more.

    Two, or from k = 3 on three, of its members stand apart; and it has members of k clusters. ``pairs`` are infinite
    where two members are in no class; ``triples`` may be empty.
    """
    num = pairs.shape[0]
    without = np.empty(num)
    cheapest = np.empty(num_clusters)
    for t in range(num):
        without[t] = _floor_without(t, k, far, pairs, triples)
    for t in range(num):
        for u in range(t + 1):
            if u < t and pairs[t, u] == np.inf:
                out[t, u] = out[u, t] = np.inf
                continue
            floor = max(without[t], without[u])
            floor = _floor_with(t, u, k, far, pairs, triples, floor)
            floor = max(pairs[t, u], _floor_with(u, t, k, far, pairs, triples, floor))
            for c in range(num_clusters):
                cheapest[c] = np.inf
            for x in range(num):
                cheapest[clusters[x]] = min(cheapest[clusters[x]], _triple(triples, pairs, t, u, x))
            cheapest[clusters[t]] = cheapest[clusters[u]] = -np.inf
            # The k-th of the clusters that are cheapest to reach.
            for _ in range(k - 1):
                lowest = 0
                for c in range(num_clusters):
                    if cheapest[c] < cheapest[lowest]:
                        lowest = c
                cheapest[lowest] = np.inf
            kth = np.inf
            for c in range(num_clusters):
                kth = min(kth, cheapest[c])
            out[t, u] = out[u, t] = max(floor, kth)


@inner
def _stroll(
    t: int, k: int, clusters: Ints, between: Floats, is_pair: Flags, near: Ints, places: Int32s, ahead: Floats,
    behind: Floats,
) -> None:  # fmt: skip
    """Let strolls past t meet one cluster after the other, from those on that they begin with."""
    num, num_masks, own = clusters.size, behind.shape[2], clusters[t]
    for met in range(1, k):
        for i in range(num):
            for mask in range(1, num_masks, 2):
                without, first, last = ahead[0, met, i, mask], ahead[1, met, i, mask], behind[met, i, mask]
                if without == np.inf and first == np.inf and last == np.inf:
                    continue
                for j in range(num):
                    place = places[i, clusters[j]]
                    if not is_pair[i, j] or (place >= 0 and (mask >> place) & 1):
                        continue
                    # Of what was remembered, those near the next one as well.
                    kept = 1
                    for e in range(1, near.shape[1]):
                        at = places[i, near[j, e]]
                        if at >= 0 and (mask >> at) & 1:
                            kept |= 1 << e
                    if j == t:
                        ahead[1, met + 1, j, kept] = min(ahead[1, met + 1, j, kept], without + between[i, j])
                    elif clusters[j] != own and is_pair[j, t]:
                        ahead[0, met + 1, j, kept] = min(ahead[0, met + 1, j, kept], without + between[i, j])
                        ahead[1, met + 1, j, kept] = min(ahead[1, met + 1, j, kept], first + between[i, j])
                        behind[met + 1, j, kept] = min(behind[met + 1, j, kept], between[j, i] + last)


@jit
def floors_by_strolls(
    t: int, k: int, clusters: Ints, from_start: Floats, to_goal: Floats, between: Floats, is_pair: Flags, near: Ints,
    places: Int32s, ahead: Floats, behind: Floats, out: Floats,
) -> None:  # fmt: skip
    """What strolls past members of k clusters cost at least that meet t before u, into ``out[u]``.

    For two of one cluster it is infinite; for t itself: that meet t at all. ``near`` has for each member the clusters
    that a stroll remembers there, its own first, and ``places`` where each cluster stands among them, or -1. A stroll
    meets no cluster that it remembers. ``ahead`` and ``behind`` have room for what strolls cost by number of clusters,
    last member and what is remembered: from the start, before and after t was met; and from there on to the goal.
    """
    num, num_masks = clusters.size, behind.shape[2]
    for met in range(k + 1):
        for i in range(num):
            for mask in range(num_masks):
                ahead[0, met, i, mask] = ahead[1, met, i, mask] = behind[met, i, mask] = np.inf
    for i in range(num):
        if i == t:
            ahead[1, 1, i, 1] = from_start[i]
        elif clusters[i] != clusters[t] and is_pair[i, t]:
            ahead[0, 1, i, 1] = from_start[i]
            behind[1, i, 1] = to_goal[i]
    _stroll(t, k, clusters, between, is_pair, near, places, ahead, behind)
    alone = np.inf
    for mask in range(1, num_masks, 2):
        alone = min(alone, ahead[1, k, t, mask] + to_goal[t])
    # Both ends are put together at u, which is all that both remember.
    for u in range(num):
        least = np.inf
        if u != t:
            for met in range(2, k + 1):
                for mask in range(1, num_masks, 2):
                    if ahead[1, met, u, mask] < np.inf:
                        for other in range(1, num_masks, 2):
                            if mask & other == 1:
                                least = min(least, ahead[1, met, u, mask] + behind[k + 1 - met, u, other])
        out[u] = least
        alone = min(alone, least)
    out[t] = alone
