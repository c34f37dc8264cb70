"""The partitioners by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.partition.exact import partition_exact
from veilroute.partition.result import Partition


@dataclass(frozen=True)
class Partitioner:
    """A partitioner and the names of its own options."""

    # Called as ``partition(problem, task, privacy, seed=..., watch=..., **options)``.
    partition: Callable[..., Partition]
    options: tuple[str, ...] = ()  # what it takes beyond these


# The paper's methods load the A* engine, a tenth of a second that who plans with `exact` need not wait for.


def _partition_local_search(*given: Any, **options: Any) -> Partition:
    from veilroute.partition.local_search import partition_local_search

    return partition_local_search(*given, **options)


def _partition_merge_bb(*given: Any, **options: Any) -> Partition:
    from veilroute.partition.merge_bb import partition_merge_bb

    return partition_merge_bb(*given, **options)


def _partition_df_bb(*given: Any, **options: Any) -> Partition:
    from veilroute.partition.df_bb import partition_df_bb

    return partition_df_bb(*given, **options)


def _partition_naive(*given: Any, **options: Any) -> Partition:
    from veilroute.partition.naive import partition_naive

    return partition_naive(*given, **options)


PARTITIONERS: dict[str, Partitioner] = {
    "exact": Partitioner(partition_exact),
    "local-search": Partitioner(_partition_local_search),
    "merge-bb": Partitioner(_partition_merge_bb, ("merge_order", "engine", "heuristic")),
    "df-bb": Partitioner(_partition_df_bb, ("engine", "heuristic")),
    "naive": Partitioner(_partition_naive, ("engine", "heuristic")),
}

OPTIONS = ("merge_order", "engine", "heuristic")
"""All options that some partitioner has."""


def find_partitioner(name: str, options: dict[str, Any]) -> Callable[..., Partition]:
    """The partitioner called ``name``, after checking that it takes ``options``."""
    if name not in PARTITIONERS:
        raise UnknownMethodError("partitioner", name, tuple(PARTITIONERS))
    check_options("partitioner", name, options, PARTITIONERS[name].options)
    return PARTITIONERS[name].partition


def check_options(kind: str, name: str, given: Iterable[str], taken: Sequence[str]) -> None:
    """Refuse options that a method does not take."""
    for option in given:
        if option not in taken:
            takes = ", ".join(taken) or "no options"
            raise InvalidInputError(option, f"a {kind} that has this option; {name} takes {takes}")
