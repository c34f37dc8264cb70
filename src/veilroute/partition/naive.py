"""Naive: random groups of k (paper, section 6, baseline 1).

The paper splits its candidates into pairs. For any k: members are shuffled and cut into groups of k, and those left
over join the last group. Nothing is optimised, and a group that no walk covers, or whose members stand too close, is
not repaired: its members are left out.

The shuffle is Python's, or the one that a C++ program draws which calls ``std::shuffle`` with
``std::default_random_engine(seed)`` and is built with GNU's library, as that of the paper's authors. The C++ standard
leaves both to the library; GNU's takes the generator ``minstd_rand0`` (Park and Miller 1988), whose numbers the
standard defines, and draws two places from one number of it.
"""

import random
from collections.abc import Iterator

import numpy as np

from veilroute.base.arrays import as_members
from veilroute.base.errors import UnknownMethodError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.engines import CoverMemo
from veilroute.covering.task import CoveringTask
from veilroute.model.problem import Problem
from veilroute.model.rules import Rule
from veilroute.partition.result import Partition, k_and_ell_only, outside

SHUFFLES = ("python", "libstdc++")  #: whose shuffle deals the members out
_MODULUS, _MULTIPLIER = 2**31 - 1, 16807  # of minstd_rand0


def partition_naive(
    problem: Problem,
    task: CoveringTask,
    rule: Rule,
    *,
    seed: int,
    watch: Watch,
    shuffle: str = "python",
    engine: str | None = None,
    heuristic: str | None = None,
    tie_break: str | None = None,
    sighting: str | None = None,
) -> Partition:
    """Draw a partition, with the seed and nothing else.

    ``shuffle`` is one of :data:`SHUFFLES`. ``engine``, ``heuristic``, ``tie_break`` and ``sighting`` choose what finds
    covering walks, see :class:`~veilroute.covering.engines.CoverMemo`.
    """
    if shuffle not in SHUFFLES:
        raise UnknownMethodError("shuffle", shuffle, SHUFFLES)
    rule = k_and_ell_only(rule)
    num, k = len(task.members), rule.least
    memo = CoverMemo(task, engine=engine, heuristic=heuristic, tie_break=tie_break, sighting=sighting)
    order = list(range(num))
    if shuffle == "libstdc++":
        shuffle_as_gnu(order, seed)
    else:
        random.Random(f"veilroute-naive-{seed}").shuffle(order)
    ends = [*range(k, num - k + 1, k), num] if num >= k else []
    groups = [as_members(order[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    classes = []
    cost = 0.0
    is_over = False
    for group in groups:
        try:
            costs = memo.costs(group, watch)
        except OutOfTimeError:  # and so would each of the others, after a greedy walk
            is_over = True
            break
        is_over = is_over or costs is None
        if costs is None or np.isinf(costs).any() or not rule.qualifies(group):
            continue
        classes.append(group)
        members = list(group)
        extra = (costs[:, None] - task.base_costs[:, members]) * task.rates[:, members]
        cost += float(np.array(task.weights) @ extra.sum(axis=1))
    watch.count("partitions", 1)
    num_grouped = sum(map(len, classes))
    improvements = [watch.tell_improvement("partition", num_grouped, cost / num_grouped)] if classes else []
    return Partition(
        classes=tuple(sorted(classes)),
        left_out=outside(num, classes),
        is_optimal=False,
        is_stopped=is_over,
        improvements=tuple(improvements),
        source=memo,
    )


def shuffle_as_gnu(items: list[int], seed: int) -> None:
    """Shuffle as GNU's ``std::shuffle`` does with ``std::default_random_engine(seed)``; below 46,000 items only."""
    numbers = _minstd_rand0(seed)
    at = 1
    if len(items) % 2 == 0 and items:  # then one place is drawn alone, and the others two at a time
        _swap(items, 1, _draw_below(2, numbers))
        at = 2
    while at < len(items):
        # One number below (at + 1) * (at + 2) gives the place to swap with for each of the next two.
        first, second = divmod(_draw_below((at + 1) * (at + 2), numbers), at + 2)
        _swap(items, at, first)
        _swap(items, at + 1, second)
        at += 2


def _swap(items: list[int], a: int, b: int) -> None:
    items[a], items[b] = items[b], items[a]


def _minstd_rand0(seed: int) -> Iterator[int]:
    """The numbers of the generator, from 1 to 2**31 - 2."""
    state = seed % _MODULUS or 1
    while True:
        state = state * _MULTIPLIER % _MODULUS
        yield state


def _draw_below(end: int, numbers: Iterator[int]) -> int:
    """A number below ``end``: its range is divided into ``end`` equal parts, and what is beyond them drawn again."""
    width = (_MODULUS - 2) // end
    while True:
        part = (next(numbers) - 1) // width
        if part < end:
            return part
