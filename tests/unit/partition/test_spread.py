from __future__ import annotations

import numpy as np

import veilroute as vr
from reference import is_spread
from veilroute.covering import KAndEll
from veilroute.partition import split_into_classes

# 0, 1 and 2 stand in one heap, 3 and 4 in another; 5 is far from all.
HEAP = np.array([0, 0, 0, 1, 1, 2])
FAR = HEAP[:, None] != HEAP[None, :]


def test_members_of_one_prefix_are_one_class_under_witness() -> None:
    everybody = range(6)
    assert split_into_classes(everybody, KAndEll.of(FAR, 3, "witness")) == [(0, 1, 2, 3, 4, 5)]
    assert split_into_classes(everybody, KAndEll.of(FAR, 4, "witness")) == []


def test_members_of_one_prefix_are_split_under_all_pairs() -> None:
    pairs = KAndEll.of(FAR, 2, "all-pairs")
    assert split_into_classes(range(6), pairs) == [(0, 3), (1, 4), (2, 5)]
    assert split_into_classes([3, 4], pairs) == []
    # Taking each in turn would put 0, 3 and 5 together and leave 2 out.
    assert split_into_classes([0, 3, 2, 5], pairs) == [(0, 3), (2, 5)]


def test_many_members_of_one_prefix_are_split_in_turn() -> None:
    heap = np.array([i % 3 for i in range(30)] + [3, 3])
    far = heap[:, None] != heap[None, :]
    classes = split_into_classes(range(32), KAndEll.of(far, 3, "all-pairs"))
    assert [len(members) for members in classes] == [4, 4, *[3] * 8]
    assert all(is_spread(members, far, vr.Privacy(3, spread="all-pairs")) for members in classes)
    assert sorted(i for members in classes for i in members) == list(range(32))
