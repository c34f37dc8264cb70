"""Proof that no more members can be grouped, and who could be grouped at all.

The same linear programme with walks for free and a price of 1 on whoever stays out.
"""

from __future__ import annotations

import math

import numpy as np

from veilroute.arrays import Members
from veilroute.partition.bounding import Bounding, Record, columns_of, grouping_of
from veilroute.partition.class_space import ClassSpace, Prices
from veilroute.partition.columns import MAX_COLUMNS
from veilroute.partition.local_search import Grouping
from veilroute.partition.master import choose_classes
from veilroute.progress import Watch

_ROUNDING = 1e-6
_MAX_PRICED = 2_000_000


def prove_count(space: ClassSpace, record: Record, watch: Watch) -> Prices | None:
    """Look for a partition that leaves fewer members out; prices that prove that there is none, or ``None``."""
    bounding = Bounding(space, None, watch)
    bounding.add(columns_of(space, record.best))
    bounding.run(float(len(record.best.left_out)))
    if not bounding.is_converged:
        return None
    if _least_left_out(bounding) < len(record.best.left_out):
        _group_more(space, bounding, record, watch)
    return bounding.prices if _least_left_out(bounding) >= len(record.best.left_out) else None


def _least_left_out(bounding: Bounding) -> int:
    return math.ceil(bounding.bound - _ROUNDING)


def _group_more(space: ClassSpace, bounding: Bounding, record: Record, watch: Watch) -> None:
    """The integer programme over the classes of the linear one, and over all within reach where these are few."""
    reach = len(record.best.left_out) - bounding.bound
    found = space.search(bounding.prices, reach, watch, most=MAX_COLUMNS, is_free=True)
    sets, shares = bounding.master.sets, np.zeros(len(bounding.master.sets))
    if found.is_complete:
        sets, shares = found.columns.sets, np.zeros(len(found.columns))
    chosen = choose_classes(space.num, None, sets, shares, bounding.master.cuts, 1.0, watch)
    grouping = grouping_of(space, sets, shares, chosen.columns)
    record.offer(price_again(space, grouping))


def price_again(space: ClassSpace, grouping: Grouping) -> Grouping:
    """The same classes with what they really add; those that are too large to be priced are dissolved."""
    classes: list[Members] = []
    shares: list[float] = []
    for members in grouping.classes:
        if len(members) > space.max_size:
            continue
        measured = space.measure(np.array([members], dtype=np.int32), Watch())
        assert measured is not None  # without a limit there is time
        classes.append(members)
        shares.append(float(measured[1][0]))
    inside = {i for members in classes for i in members}
    return Grouping(tuple(classes), tuple(shares), tuple(i for i in range(space.num) if i not in inside))


def count_anonymizable(space: ClassSpace, grouping: Grouping, watch: Watch) -> int | None:
    """How many members belong to some class; ``None`` when that takes too long."""
    num = grouping.num_grouped
    for member in grouping.left_out:
        duals = np.zeros(space.num)
        duals[member] = 1.0
        found = space.search(Prices(duals), -0.5, watch, most=1, is_free=True, max_priced=_MAX_PRICED)
        if not found.is_complete and not len(found.columns):
            return None
        num += len(found.columns) > 0
    return num
