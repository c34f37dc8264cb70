"""The words of the HTML map: what was asked and reached, the classes and their directions, as safe HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from veilroute.playbook import Claims, Playbook
from veilroute.plotting.palette import class_style
from veilroute.plotting.playbook_plot import costs_text, exposed_candidates
from veilroute.streets.class_routes import ClassRoute, class_routes, class_steps, members_text, street_network_of
from veilroute.streets.directions import Step, directions, total_text
from veilroute.streets.itinerary import Itinerary, streets_of

_ROLES = {
    "start": "Start",
    "goal": "Goal",
    "not-protected": "Not protected: its route would give it away",
    "uncoverable": "Cannot be covered",
    "not-counted": "Start or goal of another trip, not counted",
}


def role_text(role: str, number: int) -> str:
    """What a place on the map is."""
    return f"Class {number}" if role == "candidate" else _ROLES[role]


def page_texts(playbook: Playbook, trip: int) -> dict[str, str]:
    """The texts of the page by their names in the template, escaped."""
    title = "Playbook" if len(playbook.trips) == 1 else f"Playbook, trip {trip}"
    claims = playbook.claims
    attribution = streets_of(street_network_of(playbook)).attribution
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in summary_rows(playbook))
    routes = class_routes(playbook, trip=trip)
    left_out = [*exposed_candidates(playbook), *playbook.uncoverable]
    others = f'<p class="others">Not hidden: {escape(members_text(playbook, left_out))}</p>\n' if left_out else ""
    return {
        "title": escape(title),
        "map_label": escape(f"Streets with {len(routes)} routes; the list beside it names the places of each"),
        "lead": escape(f"{_trip_text(playbook, trip)} {_reached(claims, len(routes))}"),
        "summary": rows,
        "classes": "".join(_class_item(playbook, route) for route in routes),
        "others": others,
        "attribution": escape(f"Map: {attribution}" if attribution else ""),
        "hint": f"{_promise(playbook)} Check it: <code>veilroute audit PLAYBOOK</code>",
    }


def summary_rows(playbook: Playbook) -> list[tuple[str, str]]:
    """What was asked and what was reached, as name and value."""
    privacy, claims = playbook.privacy, playbook.claims
    rows = [
        ("k", f"{privacy.k} places stay possible"),
        ("ell", f"{privacy.distance_text} apart ({privacy.spread})"),
        ("m", "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"),
        ("Hidden", f"{claims.num_anonymized} of {claims.num_candidates} candidates"),
        ("APR", f"{claims.apr:.3g}"),
    ]
    if claims.delta is not None:
        rows.append(("delta", f"{claims.delta:.3g}"))
    if claims.mac is not None:
        rows.append(("MAC", f"{claims.mac:.3f}: routes {claims.mac:.1%} longer on average"))
    return [*rows, ("Status", playbook.status), ("Planner", playbook.planner)]


def _promise(playbook: Playbook) -> str:
    m = playbook.privacy.m
    seen = "a route" if m is None else f"the first {m} nodes of a route"
    return f"Whoever sees {seen} knows its class and no more, if the playbook keeps its word."


def _trip_text(playbook: Playbook, trip: int) -> str:
    ends = playbook.trips[trip]
    start, goal = playbook.name(ends.start), playbook.name(ends.goal)
    return f"From {start} and back." if ends.start == ends.goal else f"From {start} to {goal}."


def _reached(claims: Claims, num_classes: int) -> str:
    routes = f"{num_classes} route{'' if num_classes == 1 else 's'}"
    return f"{claims.num_anonymized} of {claims.num_candidates} places hidden behind {routes}."


def _class_item(playbook: Playbook, route: ClassRoute) -> str:
    style = class_style(route.number - 1)
    members = escape(members_text(playbook, route.group.members))
    what = "Shared beginning" if route.partings else "Directions"
    parts = _directions(what, route.itinerary, class_steps(playbook, route))
    for parting in route.partings:
        who = members_text(playbook, parting.members)
        parts += _directions(f"Rest for {who}", parting.itinerary, directions(parting.itinerary, names=playbook.names))
    costs = escape(costs_text(playbook, route.group, route.trip))
    return (
        f'<li class="class" data-number="{route.number}" style="--class: {style.colour}; --on-class: {style.text}">'
        f'<div class="row"><input type="checkbox" checked aria-label="Show class {route.number}">'
        f'<button type="button" title="Zoom to class {route.number}"><span class="number">{route.number}</span>'
        f'<span class="members">{members}</span> <span class="cost">{costs}</span></button></div>'
        f"{parts}</li>\n"
    )


def _directions(what: str, itinerary: Itinerary, steps: Sequence[Step]) -> str:
    lines = "".join(f"<li>{escape(step.to_text())}</li>" for step in steps)
    summary = escape(f"{what} ({total_text(itinerary)})")
    return f"<details><summary>{summary}</summary><ol>{lines}</ol></details>"
