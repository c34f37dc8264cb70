"""How near the places of a playbook are, on its map, to places that earlier playbooks listed; the auditor's own code.

A ledger records it (:attr:`veilroute.model.entry.Entry.close`), because later the map is not at hand any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from veilroute.auditing.survey import measured_map
from veilroute.auditing.walking import WalkingMap
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Domain, Label, at_least
from veilroute.model.entry import Gap, Place
from veilroute.model.problem import Privacy

if TYPE_CHECKING:
    from veilroute.auditing.sightings import Sight


def measure_gaps(domain: Domain, sight: Sight, earlier: Sequence[Sight]) -> tuple[Gap, ...]:
    """For each new place of a playbook who is gone, was less than ell away on this map, and how far exactly.

    Either ell counts: the playbook's own, and that of the last playbook that listed the other place.
    """
    known: dict[Label | Place, list[tuple[int, int]]] = {}  # where each was listed: the playbook, and the place there
    for number, other in enumerate(earlier):
        for at, place in enumerate(other.places):
            known.setdefault(place.label if other.domain == sight.domain else place, []).append((number, at))
    now: set[Label | Place] = {place.label for place in sight.places} | set(sight.places)
    new = [at for at, place in enumerate(sight.places) if known.keys().isdisjoint((place, place.label))]
    gone = {each: listings for each, listings in known.items() if each not in now}
    if not new or not gone:
        return ()
    node_at: dict[int, list[tuple[int, int, Privacy]]] = {}
    for each, listings in gone.items():
        node = _spot_on(domain, each) if isinstance(each, Place) else _node_of(domain, each)
        if node is not None:
            node_at.setdefault(node, []).append((*listings[0], earlier[listings[-1][0]].privacy))
    found = []
    grounds: dict[str, Mapping[int, dict[int, float]]] = {}
    reach = {sight.privacy} | {last for each in node_at.values() for _, _, last in each}
    for measure in {each.measure for each in reach if each.measure == "cost" or domain.streets is not None}:
        limit = max(each.ell for each in reach if each.measure == measure)
        ground = WalkingMap(domain) if measure == "cost" else measured_map(domain, measure)
        nodes = {domain.node(sight.places[at].label) for at in new} | node_at.keys()
        grounds[measure] = {node: ground.near(node, limit, wanted=nodes) for node in nodes}
    for at in new:
        mine = domain.node(sight.places[at].label)
        for node, listings_there in node_at.items():
            for number, other_at, last in listings_there:
                gaps = [0.0] if node == mine else []
                for privacy in {sight.privacy, last}:
                    around = grounds.get(privacy.measure)
                    if around is not None:
                        gap = min(around[mine].get(node, math.inf), around[node].get(mine, math.inf))
                        exact = privacy.measure == "cost" and domain.has_integer_costs
                        gaps += [gap] if gap < at_least(privacy.ell, exact=exact) else []
                if gaps:
                    found.append((at, number, other_at, float(f"{min(gaps):.9g}")))
    return tuple(sorted(found))


def _node_of(domain: Domain, label: Label) -> int | None:
    """The node with a label; none where a line of a ledger names one that is not on the map."""
    try:
        return domain.node(label)
    except InvalidInputError:
        return None


def _spot_on(domain: Domain, place: Place) -> int | None:
    """The node at which a place of another map is on this one, if one has its very coordinates."""
    if place.at is None or domain.grid is not None:
        return None
    kind, table = ("earth", np.round(domain.streets.lonlat, 6)) if domain.streets else ("plane", domain.coordinates)
    if table is None or place.at[0] != kind:
        return None
    there = np.flatnonzero((table == np.array(place.at[1:], dtype=np.float64)).all(axis=1))
    return int(there[0]) if there.size else None
