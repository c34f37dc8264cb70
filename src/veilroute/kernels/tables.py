"""A heap and a hash table in arrays that the caller owns, for all kernels that need one.

The heap holds items in the order of (key, tie of the item, item), so that what is taken off it never depends on the
order in which it was put on. ``ties`` has a number for each item, or is ``None`` where keys and items will do.

The hash table finds rows of numbers. ``slots`` is a power of two long and at most half full; a slot holds the number of
a row, or -1 while it is free. A row that is looked for is written into the last row of ``rows``, which is never taken.
"""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import inner, jit

_FIRST_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_HALF_A_WORD = np.uint64(32)


@inner
def _is_first(item: int, other: int, ties: Floats | None) -> bool:
    """Of two items with equal keys, whether ``item`` comes first."""
    # Whether there are ties is known when this is compiled, but only where it is asked alone.
    if ties is not None:  # noqa: SIM102
        if ties[item] != ties[other]:
            return bool(ties[item] < ties[other])
    return item < other


@inner
def push(keys: Floats, items: Indices, size: int, key: float, item: int, ties: Floats | None) -> int:
    """Put an item on a heap of ``size`` items; returns how many it holds then."""
    at = size
    # From the end of the heap towards its top, as long as the item comes before the parent.
    while at > 0:
        parent = (at - 1) >> 1
        above = keys[parent]
        if above < key or (above == key and not _is_first(item, items[parent], ties)):
            break
        keys[at] = above
        items[at] = items[parent]
        at = parent
    keys[at] = key
    items[at] = item
    return size + 1


@inner
def drop_first(keys: Floats, items: Indices, size: int, ties: Floats | None) -> int:
    """Take the first item off a heap of ``size`` items; returns how many it holds then."""
    size -= 1
    key = keys[size]
    item = items[size]
    at = 0
    # The last item goes to the top and sinks, as long as the earlier one of its children comes before it.
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        below = keys[child]
        if right < size and (
            keys[right] < below or (keys[right] == below and _is_first(items[right], items[child], ties))
        ):
            child = right
            below = keys[child]
        if key < below or (key == below and _is_first(item, items[child], ties)):
            break
        keys[at] = below
        items[at] = items[child]
        at = child
    keys[at] = key
    items[at] = item
    return size


@jit
def find_slot(rows: Ints, row: int, slots: Int32s) -> int:
    """The slot of the row that equals ``rows[row]``, or the free slot where it belongs."""
    width = rows.shape[1]
    mixed = np.uint64(0)
    # Each number is scattered over all bits of the word.
    for i in range(width):
        mixed = (mixed ^ np.uint64(rows[row, i])) * _FIRST_FACTOR
        mixed = (mixed ^ (mixed >> _HALF_A_WORD)) * _SECOND_FACTOR
        mixed = mixed ^ (mixed >> _HALF_A_WORD)
    last = slots.size - 1
    slot: int = np.int64(mixed & np.uint64(last))  # type: ignore[assignment]
    # From slot to slot until one is free or holds an equal row.
    while slots[slot] >= 0:
        is_equal = True
        for i in range(width):
            if rows[slots[slot], i] != rows[row, i]:
                is_equal = False
        if is_equal:
            break
        slot = (slot + 1) & last
    return slot


@jit
def fill_slots(first: int, end: int, rows: Ints, slots: Int32s) -> None:
    """Enter the rows from ``first`` up to ``end``, which are all different, into the slots."""
    for row in range(first, end):
        slots[find_slot(rows, row, slots)] = row
