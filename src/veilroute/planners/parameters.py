"""Planners and partitioners with their options as objects, which an editor completes and a type checker checks.

``vr.solve(problem, planner=MergeBB(merge_order="random"))`` is ``vr.solve(problem, planner="pbp",
partitioner="merge-bb", merge_order="random")``. What is ``None`` is left to the method. Plug-ins go by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from veilroute.base.errors import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A planner and its options."""

    planner: ClassVar[str]

    def options(self) -> dict[str, Any]:
        """The options that were given, by their names."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Partitioner(Parameters):
    """How candidates are grouped. As a planner, whole routes over its classes (Pbp)."""

    planner = "pbp"
    partitioner: ClassVar[str]

    def options(self) -> dict[str, Any]:
        """The options that were given, the name of the partitioner among them."""
        return {"partitioner": self.partitioner, **super().options()}


@dataclass(frozen=True, kw_only=True)
class Exact(Partitioner):
    """The best partition, by column generation or over all sets."""

    partitioner = "exact"


@dataclass(frozen=True, kw_only=True)
class LocalSearch(Partitioner):
    """A good partition soon, without a proof."""

    partitioner = "local-search"


@dataclass(frozen=True, kw_only=True)
class SearchingPartitioner(Partitioner):
    """A partitioner of the paper, which searches for the covering walks of the sets that it looks at."""

    engine: Literal["astar", "fields"] | None = None
    heuristic: Literal["tunnel", "blind", "singleton", "tree", "tour"] | str | None = None
    tie_break: Literal["first-made", "last-made"] | None = None
    sighting: Literal["arriving", "leaving"] | None = None


@dataclass(frozen=True, kw_only=True)
class MergeBB(SearchingPartitioner):
    """The paper's Merge-BB."""

    partitioner = "merge-bb"
    merge_order: Literal["cost-asc", "random"] | str | None = None


@dataclass(frozen=True, kw_only=True)
class DfBB(SearchingPartitioner):
    """The paper's DF-BB."""

    partitioner = "df-bb"
    branch_order: Literal["new-first", "join-first"] | None = None


@dataclass(frozen=True, kw_only=True)
class Naive(SearchingPartitioner):
    """The paper's baseline: a partition drawn at random."""

    partitioner = "naive"
    shuffle: Literal["python", "libstdc++"] | None = None


@dataclass(frozen=True, kw_only=True)
class Optimal(Parameters):
    """The best plan, with a proof where time allows."""

    planner = "optimal"


@dataclass(frozen=True, kw_only=True)
class Pbp(Parameters):
    """The paper's Pbp: a partition, and one whole route for each class."""

    planner = "pbp"
    partitioner: Partitioner | str | None = None

    def options(self) -> dict[str, Any]:
        """The options of the partitioner, and its name."""
        given = super().options()
        return self.partitioner.options() if isinstance(self.partitioner, Partitioner) else given


@dataclass(frozen=True, kw_only=True)
class MPbp(Pbp):
    """The paper's m-Pbp: a partition, and routes that are the same for the first m nodes."""

    planner = "m-pbp"


@dataclass(frozen=True, kw_only=True)
class Cbp(Parameters):
    """The paper's Cbp: clusters whose routes begin towards their centroid. It needs a finite m."""

    planner = "cbp"
    centre: Literal["furthest", "sum"] | None = None
    cluster_order: Literal["shuffled", "listed"] | None = None
    centre_heuristic: Literal["to-centre", "to-goal"] | None = None


@dataclass(frozen=True, kw_only=True)
class Rbp(Parameters):
    """The paper's Rbp: one random beginning for everybody. It needs a finite m."""

    planner = "rbp"


@dataclass(frozen=True, kw_only=True)
class Constructive(Parameters):
    """One route past everybody, put together place by place."""

    planner = "constructive"


@dataclass(frozen=True, kw_only=True)
class Reuse(Parameters):
    """The classes of an earlier playbook, or classes as lists of labels, for a new trip."""

    planner = "reuse"
    partition: Any


@dataclass(frozen=True, kw_only=True)
class Fleet(Parameters):
    """Groups for the tours of a fleet."""

    planner = "fleet"
    orders_per_day: float | None = None
    customers: Mapping[Any, Any] | None = None
    partition: Any = None


def name_and_options(planner: str | Parameters, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A planner's name and all options, whichever way they were given."""
    if not isinstance(planner, Parameters):
        return planner, dict(options)
    own = planner.options()
    for name in options:
        if name in own:
            raise InvalidInputError(name, f"within {type(planner).__name__}(...) or beside it, not both")
    return planner.planner, {**own, **options}
