"""A playbook as one HTML file that shows it on its streets, with what was asked and reached, and directions.

The file loads nothing: no library, no font, no tile, no picture. A map that asks a server for tiles tells that server
where its reader's trips are. Here the streets themselves are in the file, and a content security policy makes the
browser refuse whatever would be fetched. Style and script are in the folder ``web`` beside this module.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from veilroute.arrays import Ints, Points
from veilroute.closures import Replan
from veilroute.domain.geography import streets_of
from veilroute.domain.graph import Domain
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook
from veilroute.plotting.domain_plot import bend_walks, street_lines
from veilroute.plotting.lanes import Walk, assign_lanes
from veilroute.plotting.marks import Mark, letters, sight_lines
from veilroute.plotting.palette import class_style
from veilroute.plotting.playbook_plot import Belief, alike_text, all_marks, beliefs, costs_text, drawn, rings
from veilroute.plotting.routes import class_walks
from veilroute.streets.directions import lay_route, total_text
from veilroute.streets.sheets import (
    UNDECIDED,
    ClassRoute,
    RoutePart,
    check_trip,
    class_routes,
    contingencies_of,
    detour_parts,
    detour_title,
    members_text,
)

# Coordinates are whole decimetres: finer than a pixel at the closest zoom, and short as text.
_PER_METRE = 10

_ROLES = {
    "start": "Start",
    "goal": "Goal",
    "not-protected": "Not protected: its route would give it away",
    "uncoverable": "Cannot be covered",
    "not-counted": "Start or goal of another trip, not counted",
}


def html_map(playbook: Playbook, *, trip: int = 0) -> str:
    """The text of an HTML file with the playbook on its streets.

    It shows the streets, start, goal and candidates, and a route for each anonymized class, with turn-by-turn
    directions; and of the playbook's contingencies the one that is opened in the list. It can be moved and zoomed,
    works offline and from a file, and holds nothing that is not in the playbook. The text depends only on the playbook
    and the trip.

    Parameters
    ----------
    playbook
        On a street network, with its domain attached.
    trip
        Which trip's routes to show.
    """
    check_trip(playbook, trip)
    domain = playbook.problem.domain
    streets_of(domain)  # or it says that there are none
    texts = _page_texts(playbook, trip)  # first, because it refuses routes that are no walks
    return web_page(_data(playbook, domain, trip), {"list": "Classes", "clock": "", **texts}, ("geometry.js", "map.js"))


def web_page(data: object, texts: Mapping[str, str], scripts: Sequence[str]) -> str:
    """The page with its texts, which are escaped already, and the data that its scripts show."""
    script = "".join(map(_web, scripts))
    # A browser runs this script and no other, whatever the names in the playbook hold.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": escape(policy), "css": _web("map.css"), "js": script, "data": _embedded(data), **texts}
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], _web("map.html"))


def write_html_map(playbook: Playbook, path: str | Path, *, trip: int = 0) -> None:
    """Write what :func:`html_map` makes to a file."""
    Path(path).write_text(html_map(playbook, trip=trip), encoding="utf-8", newline="\n")


def _web(name: str) -> str:
    return files("veilroute.plotting").joinpath("web", name).read_text(encoding="utf-8")


def _embedded(data: object) -> str:
    """JSON that may stand inside a ``<script>``: no name can end it."""
    return dump_canonical(data).decode().translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def _data(playbook: Playbook, domain: Domain, trip: int) -> dict[str, Any]:
    walks, positions = bend_walks(domain, class_walks(playbook, trip))
    start, goal, *others = (_place(playbook, domain, node, mark) for node, mark in all_marks(playbook, trip))
    if (start["x"], start["y"]) == (goal["x"], goal["y"]):
        start["aside"], goal["aside"] = -1, 1
    places = [*others, start, goal]  # what comes last is drawn on top
    sights: list[list[list[int]]] = [[] for _ in walks]
    for i, ends in sight_lines(playbook, trip, positions):
        sights[i].append(whole(positions[list(ends)]).reshape(-1).tolist())
    marked = np.array([[place["x"], place["y"]] for place in places], dtype=np.int64)
    seen = [whole(positions[walk]) for group in walks for walk in group]
    detours = _detours(playbook, domain, trip)
    return ({"detours": detours} if detours else {}) | {
        "streets": street_data(domain),
        "classes": line_data(walks, positions, sights),
        "places": places,
        "box": box_of(whole(positions)),
        "focus": box_of(np.concatenate([marked, *seen])),
    }


def street_data(domain: Domain) -> dict[str, Any]:
    """The streets as the script draws them."""
    streets, shown = streets_of(domain), street_lines(domain)
    return {
        "points": differences(whole(np.concatenate([np.empty((0, 2)), *shown.points]))),
        "sizes": [len(line) for line in shown.points],
        "ranks": shown.ranks.tolist(),
        "oneWay": shown.is_one_way.astype(np.int64).tolist(),
        "names": list(streets.names),
        "nameIds": streets.name_ids[shown.edges].tolist(),
    }


def line_data(
    walks: Sequence[Sequence[Walk]], positions: Points, sights: Sequence[Sequence[Sequence[int]]]
) -> list[dict[str, Any]]:
    """The lines of classes, or of vehicles, as the script draws them; who has no walk is left out."""
    lanes = assign_lanes(walks, positions)
    classes = []
    for i, group in enumerate(walks):
        if not group:
            continue
        style, lines = class_style(i), [whole(positions[walk]) for walk in group]
        # In halves of a lane, to the left of who walks.
        shifts = [(2 * lanes.left_shifts(i, walk)).astype(np.int64).tolist() for walk in group]
        classes.append(
            {
                "number": i + 1,
                "route": style.route,
                "edge": style.edge,
                "dashes": list(style.dashes),
                "parts": [{"points": differences(line), "shifts": s} for line, s in zip(lines, shifts, strict=True)],
                # From a candidate that the route only passes by to where it is seen from.
                "sights": sights[i],
                "box": box_of(np.concatenate(lines)),
            }
        )
    return classes


def _detours(playbook: Playbook, domain: Domain, trip: int) -> list[dict[str, Any]]:
    """The contingencies of a trip as the list names them, class by class: their closed roads, and their ways on."""
    streets, detours = streets_of(domain), []
    for entry in (entry for route in class_routes(playbook, trip=trip) for entry in contingencies_of(playbook, route)):
        parts = [] if entry.choice is None else [part.itinerary for part in detour_parts(playbook, entry)]
        lines = [whole(streets.project(itinerary.polyline())) for itinerary in parts]
        ahead = playbook.hidden_classes[entry.number - 1].shared(trip)[entry.position : entry.position + 2]
        closed = [whole(streets.project(lay_route(domain, ahead).polyline()))]
        detours.append(
            {
                "number": entry.number,
                "closed": [differences(line) for line in closed],
                "parts": [differences(line) for line in lines],
                "box": box_of(np.concatenate([*closed, *lines])),
            }
        )
    return detours


def _place(playbook: Playbook, domain: Domain, node: int, mark: Mark) -> dict[str, Any]:
    streets = streets_of(domain)
    x, y = whole(streets.project(streets.lonlat[node : node + 1])[0]).tolist()
    role, numbers, meaning = mark.gid, [], _ROLES.get(mark.gid)
    if mark.ring:
        chances = ", ".join(f"{number + 1} ({chance:.0%})" for number, chance in mark.ring)
        role, numbers, meaning = "candidate", [number + 1 for number, _ in mark.ring], f"Class {chances}"
    elif meaning is None:
        role, numbers, meaning = "candidate", [int(mark.text)], f"Class {mark.text}"
    return {
        "x": x,
        "y": y,
        "aside": 0,
        "role": role,
        "numbers": numbers,
        "ring": [{"colour": class_style(number).colour, "part": chance} for number, chance in mark.ring],
        "mark": mark.text or "×",
        "shape": mark.shape if mark.shape in "osD^vp" else "o",
        "face": mark.face if mark.shape != "x" else "#FFFFFF",
        "edge": mark.edge,
        "ink": mark.ink,
        "text": f"{playbook.name(domain.label(node))}\n{meaning}",
    }


def whole(points: Points) -> Ints:
    """Metres as whole decimetres."""
    return np.rint(points * _PER_METRE).astype(np.int64)


def differences(points: Ints) -> list[int]:
    """Each point as the way from the one before, the first from (0, 0); x and y in turn."""
    return list(np.diff(points, axis=0, prepend=np.zeros((1, 2), dtype=np.int64)).reshape(-1).tolist())


def box_of(points: Ints) -> list[int]:
    """West, south, east, north."""
    return [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()]


def _page_texts(playbook: Playbook, trip: int) -> dict[str, str]:
    """The texts of the page by their names in the template, escaped."""
    claims, ends, m = playbook.claims, playbook.trips[trip], playbook.privacy.m
    routes = class_routes(playbook, trip=trip)
    start, goal = playbook.name(ends.start), playbook.name(ends.goal)
    way = f"From {start} and back." if ends.start == ends.goal else f"From {start} to {goal}."
    behind = f"{len(routes)} route{'' if len(routes) == 1 else 's'}"
    left_out = [*playbook.exposed_candidates, *playbook.uncoverable]
    others = f'<p class="others">Not hidden: {escape(members_text(playbook, left_out))}</p>\n' if left_out else ""
    attribution = streets_of(playbook.problem.domain).attribution
    seen_as = beliefs(playbook)
    seen = "a route" if m is None else f"the first {m} nodes of a route"
    promise = f"Whoever sees {seen} knows its class and no more, if the playbook keeps its word."
    return {
        "title": escape("Playbook" if len(playbook.trips) == 1 else f"Playbook, trip {trip}"),
        "map_label": escape(f"Streets with {len(routes)} routes; the list beside it names the places of each"),
        "lead": escape(f"{way} {claims.num_anonymized} of {claims.num_candidates} places hidden behind {behind}."),
        "summary": "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _summary(playbook)),
        "classes": "".join(_class_item(playbook, route, seen_as.get(route.number)) for route in routes),
        "others": others,
        "attribution": escape(f"Map: {attribution}" if attribution else ""),
        "hint": f"{promise} Check it: <code>veilroute audit PLAYBOOK</code>",
    }


def _summary(playbook: Playbook) -> list[tuple[str, str]]:
    """What was asked and what was reached, as name and value."""
    privacy, claims = playbook.privacy, playbook.claims
    promise = ("k", f"{privacy.k} places stay possible")
    if privacy.beta is not None:
        promise = ("Risk", f"no place is likelier than {privacy.beta:.1%}")
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
    if claims.worst_posterior is not None and claims.bayes_success is not None:
        rows.append(
            ("Observer", f"at worst {claims.worst_posterior:.1%} sure, right {claims.bayes_success:.1%} of the time")
        )
    return [*rows, ("Status", playbook.status), ("Planner", playbook.planner)]


def _class_item(playbook: Playbook, route: ClassRoute, belief: Belief | None) -> str:
    style = class_style(route.number - 1)
    called = {place: letters(i) for i, place in enumerate(rings(playbook))}
    names = {member: f"{called[member]} {playbook.name(member)}" for member in route.group.members if called}
    members = escape(", ".join(names.values()) or members_text(playbook, route.group.members))
    parts = "".join(_directions(playbook, part) for part in route.parts)
    costs = escape(costs_text(playbook, route.group, route.trip))
    if called:
        costs += f", drawn {drawn(playbook, route.group):.0%}"
    costs += alike_text(route.number, belief)
    bar = _bar(playbook, belief) if belief is not None and belief.is_first(route.number) else ""
    parts += "".join(_detour_item(playbook, entry) for entry in contingencies_of(playbook, route))
    return (
        f'<li class="class" data-number="{route.number}" style="--class: {style.colour}; --on-class: {style.text}">'
        f'<div class="row"><input type="checkbox" checked aria-label="Show class {route.number}">'
        f'<button type="button" title="Zoom to class {route.number}"><span class="number">{route.number}</span>'
        f'<span class="members">{members}</span> <span class="cost">{costs}</span></button></div>'
        f"{bar}{parts}</li>\n"
    )


def _detour_item(playbook: Playbook, entry: Replan) -> str:
    """A contingency in the list of its class; opened, it is shown on the map."""
    title = escape(detour_title(playbook, entry).partition(", if ")[2])
    about = f"<p>{escape(UNDECIDED)}</p>"
    if entry.choice is not None:
        left = members_text(playbook, entry.still_hidden)
        parts = "".join(_directions(playbook, part) for part in detour_parts(playbook, entry))
        about = f"<p>{escape(f'From {playbook.name(entry.at)}; still possible: {left}')}</p>{parts}"
    return f'<details class="detour"><summary>If {title}</summary>{about}</details>'


def _bar(playbook: Playbook, belief: Belief) -> str:
    """How probable each place is to whoever saw the route, as parts of a bar, the most probable first."""
    said = escape("; ".join(f"{playbook.name(member)} {chance:.0%}" for member, chance in belief.bar))
    pieces = "".join(f'<i style="width: {100 * chance:.2f}%">{chance:.0%}</i>' for _, chance in belief.bar)
    return f'<div class="bar" role="img" title="{said}" aria-label="{said}">{pieces}</div>'


def _directions(playbook: Playbook, part: RoutePart) -> str:
    rest = f"Rest for {members_text(playbook, part.members)}"
    what = {"route": "Directions", "shared": "Shared beginning", "parting": rest}[part.role]
    lines = "".join(f"<li>{escape(step.to_text())}</li>" for step in part.steps(playbook.names))
    summary = escape(f"{what} ({total_text(part.itinerary)})")
    return f"<details><summary>{summary}</summary><ol>{lines}</ol></details>"
