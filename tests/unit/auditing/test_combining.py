"""Combining classes, against all ways to choose them."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random

import pytest

from veilroute.auditing import Combiner, Effort, Option


def least_sum(options: list[Option], num: int, num_left_out: int) -> float:
    best = math.inf
    for count in range(len(options) + 1):
        for chosen in combinations(options, count):
            groups = [option.group for option in chosen]
            together = 0
            for group in groups:
                together |= group
            if together.bit_count() == sum(group.bit_count() for group in groups) == num - num_left_out:
                best = min(best, sum(option.share for option in chosen))
    return best


@pytest.mark.parametrize("seed", range(60))
def test_the_target_is_undercut_only_where_it_can_be(seed: int) -> None:
    rng = Random(seed)
    num, num_left_out = rng.choice([(5, 0), (6, 0), (6, 1), (7, 2), (4, 4)])
    groups = {sum(1 << i for i in rng.sample(range(num), rng.choice([2, 2, 3]))) for _ in range(rng.randint(2, 10))}
    options = [Option(group, rng.random(), rng.random() * group.bit_count()) for group in sorted(groups)]
    least = least_sum(options, num, num_left_out)
    if least == math.inf:
        combiner = Combiner(options, [0.0] * num, num_left_out, [], math.inf, 99.0, Effort(math.inf)).run()
        assert combiner.cheaper == ()
        return
    for target in (least - 1e-9, least + 1e-9):
        combiner = Combiner(options, [0.0] * num, num_left_out, [], math.inf, target, Effort(math.inf)).run()
        assert combiner.is_complete
        found = sum(option.share for option in combiner.cheaper)
        if target > least:
            assert found == pytest.approx(least)
        else:
            assert combiner.cheaper == ()


def test_classes_cuts_and_those_left_out_take_of_the_slack() -> None:
    # Three pairs, each with one member of the cut {0, 1, 2}, who could be two in one class.
    pairs = [Option(0b001001, 0.1, 1.0), Option(0b010010, 0.1, 1.0), Option(0b100100, 0.1, 1.0)]
    cut = (0b000111, 1.0)
    for slack, is_found in ((1.31, True), (1.29, False)):
        combiner = Combiner(pairs, [0.0] * 6, 0, [cut], slack, 9.0, Effort(math.inf)).run()
        assert bool(combiner.cheaper) == is_found
    # One pair, and the others left out: nobody fills the cut.
    for slack, is_found in ((1.91, True), (1.0, False)):
        combiner = Combiner(pairs[:1], [0.2] * 6, 4, [cut], slack, 9.0, Effort(math.inf)).run()
        assert bool(combiner.cheaper) == is_found


def test_too_much_work_proves_nothing() -> None:
    options = [Option(1 << i | 1 << j, 0.0, 1.0) for i, j in combinations(range(12), 2)]
    combiner = Combiner(options, [0.0] * 12, 0, [], 1.0, 5.9, Effort(1_000)).run()
    assert not combiner.is_complete
    assert combiner.cheaper == ()


def test_pairs_within_many_cuts_are_part_of_the_effort() -> None:
    """Of 10,000 cuts each step looks at the pairs of all classes that it has chosen: the fifth is one too many."""
    options = [Option(1 << i | 1 << j, 0.0, 1.0) for i, j in combinations(range(12), 2)]
    cuts = [(0b111, 0.0)] * 10_000
    combiner = Combiner(options, [0.0] * 12, 0, cuts, 1.0, 9.0, Effort(60_000)).run()
    assert (combiner.num_tried, combiner.is_complete) == (5, False)
