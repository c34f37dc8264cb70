"""What can be seen from where: the visibility relation as data.

Node ``n`` *watches* candidate ``t`` when ``t`` is seen from ``n``; a walk covers ``t`` when one of its nodes, start
and goal included, watches it. The watchers themselves are computed twice, on purpose: by
:mod:`veilroute.covering.task` for planning and by :mod:`veilroute.auditing` with code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from veilroute.base.checks import check_finite, check_name
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import MEASURES, check_measurable
from veilroute.domain.graph import Domain, Label, label_text, plain_label


@dataclass(frozen=True)
class AtNode:
    """A node sees itself and nothing else."""


@dataclass(frozen=True)
class WithinDistance:
    """A node sees everything within distance ``radius`` of it, itself included.

    The distance is that of walking over the edges, as in the paper, or another ``measure`` (see
    :data:`~veilroute.domain.geography.MEASURES`): metres by car, on foot or in a straight line on street networks.
    """

    radius: float
    measure: str = "cost"

    def __post_init__(self) -> None:
        check_finite("WithinDistance.radius", self.radius, least=0)
        check_name("WithinDistance.measure", self.measure, MEASURES)


@dataclass(frozen=True)
class LineOfSight:
    """On grids: a cell sees the free cells within ``range`` (straight line, centre to centre) that no wall hides.

    A wall hides when the line between the centres passes through the inside of a blocked cell, or squeezes
    between two blocked cells that touch at a corner. Brushing the corner of a single blocked cell does not hide.
    The relation is symmetric.
    """

    range: float

    def __post_init__(self) -> None:
        check_finite("LineOfSight.range", self.range, least=0)


@dataclass(frozen=True)
class Explicit:
    """Each node sees exactly what ``sees`` lists for it; a node that is not listed sees nothing."""

    sees: Mapping[Any, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, domain: Domain, seen_from: Callable[[Any], Iterable[Any]]) -> Explicit:
        """What a function says: called with the label of each node, it gives the labels of the nodes seen from there.

        It is called here, once for each node, so that files hold its answers and need no code.
        """
        labels = map(domain.label, range(domain.num_nodes))
        seen = {each: {domain.node(other, field="visibility.sees") for other in seen_from(each)} for each in labels}
        return cls({each: tuple(map(domain.label, sorted(nodes))) for each, nodes in seen.items() if nodes})


Visibility = AtNode | WithinDistance | LineOfSight | Explicit


def check_visibility(domain: Domain, visibility: object) -> Visibility:
    """Return the visibility if it fits the domain, else raise naming the field."""
    match visibility:
        case AtNode():
            pass
        case WithinDistance(_, measure):
            check_measurable(domain, measure, "visibility.measure")
        case LineOfSight():
            if domain.grid is None:
                raise InvalidInputError("visibility", "a grid domain for line of sight; use within-distance on graphs")
        case Explicit(sees):
            for seer, seen in sees.items():
                domain.node(seer, field="visibility.sees")
                # A set has no order of its own, and the playbook would depend on the process.
                if not isinstance(seen, list | tuple):
                    raise InvalidInputError("visibility.sees", "a list of nodes for each node", type(seen).__name__)
                for label in seen:
                    domain.node(label, field="visibility.sees")
        case _:
            raise InvalidInputError("visibility", "AtNode, WithinDistance, LineOfSight or Explicit", visibility)
    return visibility


def visibility_to_dict(visibility: Visibility) -> dict[str, Any]:
    """Plain data for a JSON file."""
    match visibility:
        case AtNode():
            return {"kind": "at-node"}
        case WithinDistance(radius, measure):
            data: dict[str, Any] = {"kind": "within-distance", "radius": radius}
            return data if measure == "cost" else data | {"measure": measure}
        case LineOfSight(reach):
            return {"kind": "line-of-sight", "range": reach}
        case Explicit(sees):
            return {"kind": "explicit", "sees": {label_text(seer): list(seen) for seer, seen in sees.items()}}


def _said(data: dict[str, Any], name: str) -> Any:
    return "nothing" if data.get(name) is None else data[name]


def visibility_from_dict(data: object, domain: Domain | None) -> Visibility:
    """Read what :func:`visibility_to_dict` wrote; without the domain, keys of ``sees`` stay text."""
    if not isinstance(data, dict):
        raise InvalidInputError("visibility", 'an object such as {"kind": "at-node"}', data)
    match data.get("kind"):
        case "at-node":
            return AtNode()
        case "within-distance":
            radius = check_finite("visibility.radius", _said(data, "radius"), least=0)
            return WithinDistance(radius, data.get("measure", "cost"))
        case "line-of-sight":
            return LineOfSight(check_finite("visibility.range", _said(data, "range"), least=0))
        case "explicit":
            return _explicit_from_dict(data.get("sees"), domain)
        case kind:
            expected = "at-node, within-distance, line-of-sight or explicit"
            raise InvalidInputError("visibility.kind", expected, kind if kind else "nothing")


def _explicit_from_dict(sees: object, domain: Domain | None) -> Explicit:
    if not isinstance(sees, dict):
        raise InvalidInputError("visibility.sees", "an object from each node to the list of nodes it sees", sees)
    table: dict[Label, tuple[Label, ...]] = {}
    for key, seen in sees.items():
        if not isinstance(seen, list):
            raise InvalidInputError(f"visibility.sees[{key}]", "a list of nodes", seen)
        seer = key if domain is None else domain.parse_label(key, field="visibility.sees")
        if seer in table:
            raise InvalidInputError("visibility.sees", "each node once", key)
        table[seer] = tuple(plain_label(label, field="visibility.sees") for label in seen)
    return Explicit(table)
