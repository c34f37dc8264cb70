"""From ways to directed segments: one for each stretch between two nodes of a way and each direction allowed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veilroute.arrays import Flags, Floats, Ints
from veilroute.domain.streets import great_circle_m
from veilroute.streets.rules import Network, Ruling, rule_way
from veilroute.streets.speeds import way_speeds
from veilroute.streets.ways import Ways


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """Directed segments between raw nodes, in parallel arrays.

    Parameters
    ----------
    tails, heads
        Positions in the ``node_ids`` of the ways.
    ways
        The way of each segment, as its position.
    metres, seconds
        How long a segment is, and how long one takes.
    """

    tails: Ints
    heads: Ints
    ways: Ints
    metres: Floats
    seconds: Floats


@dataclass(frozen=True)
class Selection:
    """Which ways belong to a network.

    Parameters
    ----------
    is_in
        For each way.
    rulings
        What the rules say of each of the ways' sets of tags.
    dropped
        Each reason to leave ways out, as ``access=private``, and for how many; the most frequent first.
    """

    is_in: Flags
    rulings: tuple[Ruling, ...]
    dropped: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SegmentCounts:
    """What was seen while ways were cut into segments.

    Parameters
    ----------
    is_left
        For each way, whether it has segments.
    num_cut, num_lost
        Ways of which some nodes are missing in the file, and ways of which nothing is left for that reason.
    street_m
        Metres of street, each counted once whatever its directions.
    one_way_m, stated_m
        Metres of it that go one way only, and that have a stated speed limit.
    """

    is_left: Flags
    num_cut: int
    num_lost: int
    street_m: float
    one_way_m: float
    stated_m: float


def select_ways(ways: Ways, network: Network, *, service: bool = False) -> Selection:
    """Apply the rules of a network to all ways, once for each different set of tags."""
    rulings = tuple(rule_way(network, tags, service=service) for tags in ways.tag_sets)
    reasons: Counter[str] = Counter()
    for ruling, count in zip(rulings, np.bincount(ways.tag_ids, minlength=len(rulings)).tolist(), strict=True):
        if not ruling.is_in:
            reasons[ruling.reason] += count
    is_in = np.array([ruling.is_in for ruling in rulings], dtype=np.bool_)[ways.tag_ids]
    return Selection(is_in, rulings, tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))))


def refs_of(ways: Ways, is_in: Flags) -> Ints:
    """The nodes of the chosen ways, ascending and each once: those whose places are needed."""
    return np.unique(ways.refs[np.repeat(is_in, np.diff(ways.ptr))])


def cut_ways(ways: Ways, selection: Selection, network: Network) -> tuple[Segments, SegmentCounts]:
    """Cut the chosen ways into directed segments.

    Where the place of a node is missing, as at the border of an extract, the way has a gap. A node that follows itself
    is one node.
    """
    is_in, rulings = selection.is_in, selection.rulings
    owners = np.repeat(np.arange(ways.num_ways, dtype=np.int64), np.diff(ways.ptr))
    chosen = is_in[owners]
    owners, spots = owners[chosen], _positions(ways.node_ids, ways.refs[chosen])
    whole = (owners[1:] == owners[:-1]) & (spots[1:] >= 0) & (spots[:-1] >= 0) & (spots[1:] != spots[:-1])
    firsts, seconds, owner = spots[:-1][whole], spots[1:][whole], owners[:-1][whole]
    metres = great_circle_m(ways.lonlat[firsts], ways.lonlat[seconds])

    tag_ids = ways.tag_ids[owner]
    pairs = zip(ways.tag_sets, rulings, strict=True)
    speeds = [way_speeds(network, tags) if ruling.is_in else None for tags, ruling in pairs]
    is_forward = np.array([ruling.forward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_backward = np.array([ruling.backward for ruling in rulings], dtype=np.bool_)[tag_ids]
    is_stated = np.array([speed is not None and speed.is_stated for speed in speeds], dtype=np.bool_)[tag_ids]
    forward_ms = np.array([1.0 if speed is None else speed.forward_kmh / 3.6 for speed in speeds])[tag_ids]
    backward_ms = np.array([1.0 if speed is None else speed.backward_kmh / 3.6 for speed in speeds])[tag_ids]

    def both(forward: npt.NDArray[np.generic], backward: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return np.concatenate([forward[is_forward], backward[is_backward]])

    segments = Segments(
        tails=both(firsts, seconds).astype(np.int64),
        heads=both(seconds, firsts).astype(np.int64),
        ways=both(owner, owner).astype(np.int64),
        metres=both(metres, metres).astype(np.float64),
        seconds=both(metres / forward_ms, metres / backward_ms).astype(np.float64),
    )
    has_gap, is_left = np.zeros_like(is_in), np.zeros_like(is_in)
    has_gap[owners[spots < 0]] = True
    is_left[owner] = True
    counts = SegmentCounts(
        is_left=is_left,
        num_cut=int((has_gap & is_left).sum()),
        num_lost=int((has_gap & ~is_left).sum()),
        street_m=float(metres.sum()),
        one_way_m=float(metres[is_forward != is_backward].sum()),
        stated_m=float(metres[is_stated].sum()),
    )
    return segments, counts


def _positions(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands in the ascending known ones, -1 where it does not."""
    if not known.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    spots = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[spots] == wanted, spots, -1)
