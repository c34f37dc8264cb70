"""Whether the places of a trip fit together: at junctions of their own, and joined by streets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veilroute.arrays import Flags, Indices, Ints
from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label, label_text
from veilroute.errors import InvalidInputError
from veilroute.streets.places import Located

_REMEDY = "choose another place, or rebuild the network with `veilroute streets --connected`"


def check_distinct(start: Located, goal: Located, candidates: Sequence[Located]) -> None:
    """Raise when two places are at one junction.

    Start and goal may be: that is a round trip. A candidate at the start or goal is refused when one of the two was
    given by coordinates, because nobody may have noticed; where both were given by ids it does not count, as usual.
    """
    ends = {goal.label: goal, start.label: start}
    first: dict[Label, Located] = {}
    for place in candidates:
        other = first.setdefault(place.label, place)
        end = ends.get(place.label)
        if other is place and end is not None and (place.distance_m is not None or end.distance_m is not None):
            other = end
        if other is not place:
            raise InvalidInputError(
                place.origin,
                f"places at junctions of their own; {other.text} and {place.text} are both at junction "
                f"{label_text(place.label)}: leave one out, or move it along the street",
            )


def check_way(domain: Domain, start: Located, goal: Located) -> None:
    """Raise when no route leads from start to goal, and say whether one-way streets are why."""
    if reached_from(domain, domain.node(start.label))[domain.node(goal.label)]:
        return
    check_joined(domain, start, [goal])
    raise InvalidInputError(
        goal.origin,
        f"a place that can be reached from the start; one-way streets leave no way from {start.text} to {goal.text}, "
        f"though there is one against their direction: {_REMEDY}",
    )


def check_joined(domain: Domain, start: Located, others: Sequence[Located]) -> None:
    """Raise when a place is on a part of the network that no street joins to the start, in whatever direction.

    Of the two, the one on the smaller part is named. A candidate that only one-way streets make impossible is not this
    function's business.
    """
    here = reached_from(domain, domain.node(start.label), against=True)
    for other in others:
        node = domain.node(other.label)
        if here[node]:
            continue
        there = reached_from(domain, node, against=True)
        lost, found = (start, other) if here.sum() < there.sum() else (other, start)
        raise InvalidInputError(
            lost.origin,
            f"connected places; {lost.text} (junction {label_text(lost.label)}) is on a part of the network that is "
            f"not connected to {found.text}: {_REMEDY}",
        )


def reached_from(domain: Domain, node: int, *, against: bool = False) -> Flags:
    """Which nodes a walk from one can reach, or could if edges were also taken ``against`` their direction."""
    rows: list[tuple[Indices, Indices]] = [(domain.indptr, domain.indices)]
    if against:
        rows.append(domain.reversed_rows[:2])
    seen = np.zeros(domain.num_nodes, dtype=np.bool_)
    seen[node] = True
    edge = np.array([node], dtype=np.int64)
    while edge.size:
        ahead = np.concatenate([_neighbours(indptr, indices, edge) for indptr, indices in rows])
        edge = np.unique(ahead[~seen[ahead]])
        seen[edge] = True
    return seen


def _neighbours(indptr: Indices, indices: Indices, nodes: Ints) -> Ints:
    firsts = indptr[nodes].astype(np.int64)
    sizes = indptr[nodes + 1].astype(np.int64) - firsts
    before = np.cumsum(sizes) - sizes
    positions = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(firsts - before, sizes)
    heads: Ints = indices[positions].astype(np.int64)
    return heads
