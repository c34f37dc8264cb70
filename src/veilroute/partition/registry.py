"""The partitioners by name."""

from __future__ import annotations

from collections.abc import Callable

from veilroute.covering.task import CoveringTask
from veilroute.errors import UnknownMethodError
from veilroute.partition.exact import partition_exact
from veilroute.partition.result import Partition
from veilroute.problem import Privacy, Problem
from veilroute.progress import Watch

Partitioner = Callable[[Problem, CoveringTask, Privacy, Watch], Partition]

PARTITIONERS: dict[str, Partitioner] = {"exact": partition_exact}


def find_partitioner(name: str) -> Partitioner:
    """The partitioner called ``name``."""
    try:
        return PARTITIONERS[name]
    except KeyError:
        raise UnknownMethodError("partitioner", name, tuple(PARTITIONERS)) from None
