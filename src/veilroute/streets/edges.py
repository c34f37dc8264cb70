"""Edges between junctions: what is added up, and what is chosen, over the segments of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilroute.arrays import Floats, Ints
from veilroute.streets.segments import Segments
from veilroute.streets.simplify import Chains
from veilroute.streets.ways import Ways


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """Directed edges between junctions, in parallel arrays; loops and parallel edges included.

    Parameters
    ----------
    tails, heads
        Positions in the ``node_ids`` of the ways.
    metres, seconds
        How long an edge is, to the centimetre, and how long one takes, to the millisecond.
    name_ids
        Which of the ways' ``names`` an edge has.
    kinds, kind_ids
        The kinds of highway that occur, by name, and which of them an edge is.
    bend_ptr, bends
        Edge ``e`` passes the nodes ``bends[bend_ptr[e]:bend_ptr[e + 1]]`` between its ends; positions in ``node_ids``.
    """

    tails: Ints
    heads: Ints
    metres: Floats
    seconds: Floats
    name_ids: Ints
    kinds: tuple[str, ...]
    kind_ids: Ints
    bend_ptr: Ints
    bends: Ints


def join_edges(ways: Ways, segments: Segments, chains: Chains) -> Edges:
    """Add up lengths and times over the segments of each edge, and choose a name and a kind.

    An edge that is made of several ways has the name of which it has the most metres, and the kind likewise; of equals
    the first along the edge.
    """
    sizes = np.diff(chains.ptr)
    num_edges = sizes.size
    edge = np.repeat(np.arange(num_edges, dtype=np.int64), sizes)
    metres, owner = segments.metres[chains.segments], segments.ways[chains.segments]
    kinds = tuple(sorted({tags["highway"] for tags in ways.tag_sets}))
    kind_of_tags = np.array([kinds.index(tags["highway"]) for tags in ways.tag_sets], dtype=np.int64)
    is_first = np.zeros(edge.size, dtype=np.bool_)
    is_first[chains.ptr[:-1]] = True
    return Edges(
        tails=segments.tails[chains.segments[chains.ptr[:-1]]],
        heads=segments.heads[chains.segments[chains.ptr[1:] - 1]],
        metres=np.round(np.bincount(edge, metres, minlength=num_edges), 2),
        seconds=np.round(np.bincount(edge, segments.seconds[chains.segments], minlength=num_edges), 3),
        name_ids=_prevailing(edge, ways.name_ids[owner].astype(np.int64), metres),
        kinds=kinds,
        kind_ids=_prevailing(edge, kind_of_tags[ways.tag_ids[owner]], metres),
        bend_ptr=np.concatenate([[0], np.cumsum(sizes - 1)]).astype(np.int64),
        bends=segments.tails[chains.segments][~is_first],
    )


def _prevailing(edge: Ints, value: Ints, metres: Floats) -> Ints:
    """For each edge the value that most of its metres have; of equals the one that comes first."""
    width = int(value.max()) + 1
    pairs, first, which = np.unique(edge * width + value, return_index=True, return_inverse=True)
    # Metres to the millimetre, so that the order of adding up cannot decide.
    total = np.round(np.bincount(which.reshape(-1), metres, minlength=pairs.size), 3)
    order = np.lexsort((first, -total, pairs // width))
    edges = pairs[order] // width
    leads = np.concatenate([[True], edges[1:] != edges[:-1]])
    prevailing: Ints = pairs[order][leads] % width
    return prevailing
