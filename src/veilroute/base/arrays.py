"""Types of arrays by what they hold, one name each in the whole house.

Sets of at most 62 candidates are bit masks: ``Masks``. A walk is the node numbers that it passes, in order: ``Walk``.
Each numbering has a type, where its numbers are kept: ``Node``, ``Candidate``, ``Member``, ``Post``. Who only looks
members up takes any ``Sequence[int]``; :func:`as_members` makes a set of them what is kept.
"""

from collections.abc import Iterable
from typing import NewType, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Int8s = npt.NDArray[np.int8]
Indices = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]
Masks = npt.NDArray[np.int64]
Walk = npt.NDArray[np.int64]
Points = npt.NDArray[np.float64]

Node = NewType("Node", int)  #: a node of a domain
Candidate = NewType("Candidate", int)  #: a position among the candidates of a problem, those that do not count included
Post = NewType("Post", int)  #: a position among the posts of a covering task: nodes from which some member is seen
Member = NewType("Member", int)  #: a position among the members of a covering task: candidates that trips can cover
Members = tuple[Member, ...]  #: some members of a task, ascending
Classes = tuple[Members, ...]


def as_members(positions: Iterable[int]) -> Members:
    """These positions as members, ascending."""
    return cast(Members, tuple(sorted(positions)))
