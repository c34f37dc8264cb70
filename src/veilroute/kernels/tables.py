"""A heap and a hash table in arrays that the caller owns, for all kernels that need one.

The heap holds items in the order of (key, tie of the item, item), so that what is taken off it never depends on the
order in which it was put on. ``ties`` has a number for each item, or is ``None`` where keys and items will do. With
``is_last_first`` the larger of two items with equal keys and ties comes first, else the smaller.

The hash table finds keys, which are numbers or whole rows of them. ``slots`` is a power of two long and at most half
full; a slot holds the place of a key, or -1 while it is free.
"""

import numpy as np

from veilroute.base.arrays import Floats, Indices, Int32s, Ints
from veilroute.kernels.jit import inner, jit

_FIRST_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_HALF_A_WORD = np.uint64(32)


@inner
def _is_first(item: int | np.uint32, other: int | np.uint32, ties: Floats | None, is_last_first: bool) -> bool:
    """Of two items with equal keys, whether ``item`` comes first."""
    # Whether there are ties is known when this is compiled, but only where it is asked alone.
    if ties is not None:  # noqa: SIM102
        if ties[item] != ties[other]:
            return bool(ties[item] < ties[other])
    return bool(item > other) if is_last_first else bool(item < other)


@inner
def push(
    keys: Floats, items: Indices, size: int, key: float, item: int | np.uint32, ties: Floats | None, is_last_first: bool
) -> int:
    """Put an item on a heap of ``size`` items; returns how many it holds then."""
    at = size
    # From the end of the heap towards its top, as long as the item comes before the parent.
    while at > 0:
        parent = (at - 1) >> 1
        above = keys[parent]
        if above < key or (above == key and not _is_first(item, items[parent], ties, is_last_first)):
            break
        keys[at] = above
        items[at] = items[parent]
        at = parent
    keys[at] = key
    items[at] = item
    return size + 1


@inner
def drop_first(keys: Floats, items: Indices, size: int, ties: Floats | None, is_last_first: bool) -> int:
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
            keys[right] < below or (keys[right] == below and _is_first(items[right], items[child], ties, is_last_first))
        ):
            child = right
            below = keys[child]
        if key < below or (key == below and _is_first(item, items[child], ties, is_last_first)):
            break
        keys[at] = below
        items[at] = items[child]
        at = child
    keys[at] = key
    items[at] = item
    return size


@inner
def mix(word: int) -> np.uint64:
    """Scatter a number over all bits."""
    mixed = np.uint64(word) * _FIRST_FACTOR
    mixed = (mixed ^ (mixed >> _HALF_A_WORD)) * _SECOND_FACTOR
    return mixed ^ (mixed >> _HALF_A_WORD)


@inner
def find_key(key: int, keys: Ints, slots: Int32s) -> int:
    """The slot that holds the place of ``key`` among ``keys``, or the free slot where it belongs."""
    last = slots.size - 1
    slot: int = np.int64(mix(key) & np.uint64(last))  # type: ignore[assignment]
    # From slot to slot until one is free or holds the key.
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & last
    return slot


@jit
def fill_slots(first: int, end: int, keys: Ints, slots: Int32s) -> None:
    """Enter the keys from ``first`` up to ``end``, which are all different, into the slots."""
    for place in range(first, end):
        slots[find_key(keys[place], keys, slots)] = place


@inner
def find_row(row: int, rows: Ints, slots: Int32s) -> int:
    """The slot that holds a row equal to ``rows[row]``, or the free slot where that belongs."""
    width = rows.shape[1]
    mixed = np.uint64(0)
    # Where it would stand, by all of its numbers.
    for i in range(width):
        mixed = mix(np.int64(mixed) ^ rows[row, i])
    last = slots.size - 1
    slot: int = np.int64(mixed & np.uint64(last))  # type: ignore[assignment]
    # From slot to slot until one is free or holds an equal row.
    while slots[slot] >= 0:
        is_equal = True
        for i in range(width):
            is_equal = is_equal and rows[slots[slot], i] == rows[row, i]
        if is_equal:
            break
        slot = (slot + 1) & last
    return slot


@jit
def fill_row_slots(num: int, rows: Ints, slots: Int32s) -> None:
    """Enter the first ``num`` rows, which are all different, into the slots."""
    for row in range(num):
        slots[find_row(row, rows, slots)] = row
