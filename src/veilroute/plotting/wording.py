"""What the page says of a playbook: what was asked and reached, and each class's way in words.

On streets these are the driver's directions. Elsewhere there are no streets to name: on grids it is so many cells in
which direction, on graphs one node after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from veilroute.analysis.posterior import find_exposures
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Domain, Label
from veilroute.model.closure import Replan
from veilroute.model.exposure import ExposureReport, area_text, percent
from veilroute.model.playbook import Playbook, PlaybookClass, Route
from veilroute.streets.directions import total_text
from veilroute.streets.sheets import ClassRoute, RoutePart, detour_parts, members_text

Told = tuple[str, list[str]]  # a heading, and what to do step by step

_COMPASS = {
    (-1, 0): "north", (-1, 1): "northeast", (0, 1): "east", (1, 1): "southeast",
    (1, 0): "south", (1, -1): "southwest", (0, -1): "west", (-1, -1): "northwest",
}  # fmt: skip


def lead_text(playbook: Playbook, trip: int) -> str:
    """One sentence on where a trip leads, and one on how many are hidden."""
    claims, ends, num = playbook.claims, playbook.trips[trip], len(playbook.hidden_classes)
    start, goal = playbook.name(ends.start), playbook.name(ends.goal)
    way = f"From {start} and back." if ends.start == ends.goal else f"From {start} to {goal}."
    behind = f"{num} route{'' if num == 1 else 's'}"
    return f"{way} {claims.num_anonymized} of {claims.num_candidates} places hidden behind {behind}."


def promise_text(playbook: Playbook) -> str:
    """What a playbook promises, in one sentence."""
    m = playbook.privacy.m
    seen = "a route" if m is None else f"the first {m} nodes of a route"
    return f"An observer who sees {seen} learns which group it belongs to and no more, if the playbook keeps its word."


def summary_rows(playbook: Playbook) -> list[tuple[str, str]]:
    """What was asked and what was reached, as name and value."""
    privacy, claims = playbook.privacy, playbook.claims
    promise = ("k", f"{privacy.k} places stay possible")
    if privacy.beta is not None:
        promise = ("Risk", f"no {area_text(privacy)} is likelier than {percent(privacy.beta)}")
    rows = [
        promise,
        ("ell", f"{privacy.distance_text} apart ({privacy.spread})"),
        ("m", "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"),
        ("Hidden", f"{claims.num_anonymized} of {claims.num_candidates} candidates"),
        ("APR", f"{claims.apr:.3g}"),
    ]
    if claims.delta is not None:
        rows.append(("delta", f"{claims.delta:.3g}"))
    if privacy.beta is not None and claims.expected_mac is not None:
        mac = claims.expected_mac
        rows.append(("Expected MAC", f"{mac:.3f}: routes {mac:.1%} longer on average, by how likely each is"))
    elif claims.mac is not None:
        rows.append(("MAC", f"{claims.mac:.3f}: routes {claims.mac:.1%} longer on average"))
    return [*rows, ("Status", playbook.status), ("Planner", playbook.planner)]


def observer_report(playbook: Playbook) -> ExposureReport:
    """What an observer can find out; nothing where the playbook is in no state to say."""
    try:
        return find_exposures(playbook)
    except InvalidInputError:
        return ExposureReport()


def tell_class(playbook: Playbook, group: PlaybookClass, trip: int, route: ClassRoute | None) -> list[Told]:
    """The way of a class: as a whole, or what all share and then the rest of each; ``route`` is that over streets."""
    if route is not None:
        return [_tell_part(playbook, part) for part in route.parts]
    return _tell_walks(playbook, group.shared(trip), group.rests(trip))


def tell_detour(playbook: Playbook, entry: Replan) -> list[Told]:
    """The way that a contingency chose; nothing where nothing is chosen."""
    if entry.choice is None:
        return []
    if playbook.problem.domain.on_earth is not None:
        return [_tell_part(playbook, part) for part in detour_parts(playbook, entry)]
    own = {(0, member): Route(nodes, cost) for member, (nodes, cost) in entry.way.own.items()}
    group = PlaybookClass(entry.members, True, (Route(entry.way.route, 0.0),), own)
    return _tell_walks(playbook, group.shared(0), group.rests(0))


def _tell_part(playbook: Playbook, part: RoutePart) -> Told:
    heading = _heading(playbook, part.role, part.members)
    return f"{heading} ({total_text(part.itinerary)})", [step.to_text() for step in part.steps(playbook.names)]


def _heading(playbook: Playbook, role: str, members: Sequence[Label]) -> str:
    rest = f"Rest for {members_text(playbook, members)}"
    return {"route": "Directions", "shared": "Shared beginning", "parting": rest}[role]


def _tell_walks(
    playbook: Playbook,
    shared: Sequence[Label],
    rests: Sequence[tuple[Sequence[Label], Sequence[Label]]],
) -> list[Told]:
    """A way off the streets: the shared part, and each of the rests with whom it is for."""
    domain, told = playbook.problem.domain, []
    parts = [("shared" if rests else "route", (), shared), *(("parting", members, nodes) for members, nodes in rests)]
    for role, members, nodes in parts:
        moves = f"{len(nodes) - 1} move{'' if len(nodes) == 2 else 's'}"
        steps = _moves(playbook, nodes) if domain.grid is not None else [playbook.name(label) for label in nodes]
        told.append((f"{_heading(playbook, role, members)} ({moves})", steps))
    return told


def _moves(playbook: Playbook, nodes: Sequence[Label]) -> list[str]:
    """Moves on a grid, those in one direction together."""
    cells = [_cell(playbook.problem.domain, label) for label in nodes]
    steps, at = [f"From {playbook.name(nodes[0])}"] if nodes else [], 0
    ways = [_COMPASS.get((b[0] - a[0], b[1] - a[1]), "away") for a, b in pairwise(cells)]
    for way, run in groupby(ways):
        num = len(list(run))
        at += num
        steps.append(f"{num} {way} to {playbook.name(nodes[at])}")
    return steps


def _cell(domain: Domain, label: Label) -> tuple[int, int]:
    assert domain.grid is not None, "asked on grids only"
    return domain.grid.cell(domain.node(label))
