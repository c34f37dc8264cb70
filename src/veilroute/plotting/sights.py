"""From where on its route a candidate is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veilroute.arrays import Points
from veilroute.domain.visibility import AtNode
from veilroute.playbook import Playbook, PlaybookClass


def sight_lines(
    playbook: Playbook, groups: Sequence[PlaybookClass], trip: int, positions: Points
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the class, and the nodes of candidate and watcher, for each candidate that its route only passes by.

    Of the route's nodes that see the candidate it is the nearest on paper, the first of equals.
    """
    if isinstance(playbook.visibility, AtNode):
        return
    # Imported here because it brings the compiled kernels, which other pictures do without.
    from veilroute.covering.watchers import find_watchers

    domain = playbook.problem.domain
    for i, group in enumerate(groups):
        nodes = [domain.node(member) for member in group.members]
        for member, node, watchers in zip(
            group.members, nodes, find_watchers(domain, playbook.visibility, nodes), strict=True
        ):
            route = np.array([domain.node(label) for label in group.route_of(member, trip)])
            seeing = route[np.isin(route, watchers)]
            if seeing.size and node not in route:
                away = np.hypot(*(positions[seeing] - positions[node]).T)
                yield i, (node, int(seeing[away.argmin()]))
