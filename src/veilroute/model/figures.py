"""A playbook as figures: what it took to plan, and a flat row for each class, ready for a data frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veilroute.base.lazy import SHOWN_BY
from veilroute.domain.graph import label_text

if TYPE_CHECKING:
    from veilroute.model.playbook import Playbook, PlaybookClass


@dataclass(frozen=True, kw_only=True)
class PlanStats:
    """What it took to plan. Measured, and so no part of a playbook's file, of its hash or of what makes two equal.

    ``None`` is what nobody has measured: a playbook that was read from a file has none of it.
    """

    runtime_s: float | None = None  #: without the time in which kernels are compiled, once on a machine
    cpu_s: float | None = None
    peak_memory_mb: float | None = None  #: the most that this process has held so far
    num_expansions: int | None = None  #: states that A* has taken off its open list
    num_searches: int | None = None  #: covering walks, or their costs, that were looked for
    num_partitions: int | None = None  #: partitions that were looked at


def class_rows(playbook: Playbook) -> list[dict[str, Any]]:
    """A flat row for each class, in the order of the playbook.

    ``class`` numbers the anonymized ones from 1, as pictures and directions do. ``cost`` and ``extra`` (what hiding
    costs) are means over the members, by their shares where there are some, and over the trips by their weights.
    ``extra`` needs the map.
    """
    base = {} if playbook.domain is None else SHOWN_BY["base_costs"](playbook.problem)
    total_weight = math.fsum(trip.weight for trip in playbook.trips)
    numbers = {id(group): number for number, group in enumerate(playbook.hidden_classes, start=1)}

    def mean(group: PlaybookClass, *, is_extra: bool) -> float | None:
        shares = group.shares if math.fsum(group.shares) > 0 else (1.0,) * len(group.members)
        terms = []
        for number, trip in enumerate(playbook.trips):
            for member, share in zip(group.members, shares, strict=True):
                without = base.get((number, member)) if is_extra else 0.0
                if without is None:
                    return None
                terms.append(trip.weight * share * max(0.0, group.route_of(member, number).cost - without))
        return math.fsum(terms) / total_weight / math.fsum(shares)

    return [
        {
            "class": numbers.get(id(group)),
            "anonymized": group.anonymized,
            "size": len(group.members),
            "members": "; ".join(map(label_text, group.members)),
            "num_nodes": sum(len(group.shared(trip)) for trip in range(len(playbook.trips))),
            "cost": mean(group, is_extra=False),
            "extra": mean(group, is_extra=True),
            "share": math.fsum(group.shares) if group.shares else None,
        }
        for group in playbook.classes
    ]
