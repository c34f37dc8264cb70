"""Scenes: a map, an instance or a playbook as the data that the page draws, in the studio, a notebook or one file.

A scene depends only on what it shows, holds nothing that is not in it, and is plain JSON. Coordinates are whole map
units (:mod:`veilroute.plotting.base_map`). Lines are flat lists in which x and y take turns, each the difference from
the point before.

``format``
    ``"veilroute-scene/1"``.
``map``
    ``kind`` ("streets", "grid" or "graph"), ``box`` [west, south, east, north], ``scale`` (units per metre or cell),
    ``earth`` (longitude is ``lon + x * perX``, latitude ``lat + y * perY``), ``attribution``, and what is drawn:
    ``streets`` (``points`` of all lines, ``sizes`` of each, its ``ranks``, ``oneWay``, ``nameIds`` into ``names``),
    ``grid`` (``rows``), ``nodes`` (``points`` and ``labels``, of graphs that are not too large).
``instance``
    ``start``, ``goal`` and ``candidates`` as the command line takes them, their ``marks``, ``privacy`` and
    ``visibility``.
``playbook``
    ``title``, ``hint``, ``observer`` (``seats`` with what is ``seen`` and ``rows`` of figures, ``warnings``,
    ``notes``), ``summary``, ``notHidden``; what was asked and how it was solved; ``candidates``; ``trips``
    with ``lead``, ``start``, ``goal``, ``focus``, ``classes`` and ``detours``; ``places``, the marks of each trip; and
    the observer's and the driver's seat, ``watch`` and ``drive`` (:mod:`veilroute.plotting.seats`).

A class has ``number``, ``members`` (positions among the candidates; ``shares`` beside them where classes are drawn),
colours, ``parts`` of its line (``points``; ``shifts`` to the left in half lanes, one per move; ``nodes``, which of the
points are nodes; ``round``, ``left`` and ``right``, which of them are turns), ``sights``, ``box``, ``costs``,
``directions`` and, where it stands for all that look the same, ``bar``: pairs of a candidate and how probable it is. A
detour has ``title``, ``about``, ``closed`` and ``parts`` (lines), ``box`` and ``directions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veilroute.analysis.posterior import find_doors
from veilroute.domain.geography import LATTICE
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.domain.visibility import visibility_to_dict
from veilroute.model.closure import Replan
from veilroute.model.playbook import Playbook, PlaybookClass, Route
from veilroute.model.problem import Privacy, Problem
from veilroute.plotting.base_map import Plane, box_of, differences, line_data, map_data, plane_of, whole
from veilroute.plotting.lanes import Walk
from veilroute.plotting.marks import Mark, letters, sight_lines
from veilroute.plotting.palette import class_style
from veilroute.plotting.playbook_plot import Belief, alike_text, beliefs, costs_text, drawn, labelled_marks, rings
from veilroute.plotting.routes import class_walks
from veilroute.plotting.seats import drive_data, watch_data
from veilroute.plotting.wording import (
    Told,
    lead_text,
    observer_report,
    promise_text,
    summary_rows,
    tell_class,
    tell_detour,
)
from veilroute.streets.directions import bearing, street_called, turn_angle
from veilroute.streets.sheets import UNDECIDED, ClassRoute, class_routes, closed_text, members_text, sighting_text

FORMAT = "veilroute-scene/1"

_ROLES = {
    "start": "Start",
    "goal": "Goal",
    "not-protected": "Not protected: its route would give it away",
    "uncoverable": "Cannot be covered",
    "not-counted": "Start or goal of another trip, not counted",
}
# A change of direction beyond this many degrees is marked as a turn, beyond the second as turning round.
_TURN, _ROUND = 40.0, 168.0


def domain_scene(domain: Domain) -> dict[str, Any]:
    """The map alone."""
    return {"format": FORMAT, "map": map_data(plane_of(domain))}


def instance_scene(problem: Problem, privacy: Privacy | None = None) -> dict[str, Any]:
    """The map with start, goal and candidates; with the guarantee that is asked, where it is known.

    Start and goal are those of the first trip, and the others' are among the marks.
    """
    plane, first = plane_of(problem.domain), problem.trips[0]
    places: list[tuple[Label, str]] = [(label, "candidate") for label in problem.candidates]
    for trip in problem.trips:
        places += [(trip.start, "start"), (trip.goal, "goal")]
    marks = []
    for label, role in dict.fromkeys(places):
        x, y = plane.spot(label)
        mark: dict[str, Any] = {"x": x, "y": y, "role": role, "label": label_text(label)}
        mark["name"] = problem.names.get(label, label_text(label))
        marks.append(mark | _place_field(plane, problem.places.get(label)))
    instance = {
        "start": label_text(first.start),
        "goal": label_text(first.goal),
        "candidates": [label_text(label) for label in problem.candidates],
        "marks": marks,
        "privacy": {} if privacy is None else privacy.to_dict(),
        "visibility": visibility_to_dict(problem.visibility),
    }
    return {"format": FORMAT, "map": map_data(plane), "instance": instance}


def playbook_scene(playbook: Playbook) -> dict[str, Any]:
    """The map with the routes of all classes on all trips, what was asked and reached, and both seats.

    The playbook has its domain attached. Routes that leave the streets are refused.
    """
    plane, privacy, claims = plane_of(playbook.problem.domain), playbook.privacy, playbook.claims
    # First, because it refuses routes that are no walks.
    laid = [_laid(playbook, trip) for trip in range(len(playbook.trips))]
    trips = [_trip(playbook, plane, trip, routes) for trip, routes in enumerate(laid)]
    left_out = [*playbook.exposed_candidates, *playbook.uncoverable]
    observer = observer_report(playbook).to_dict()
    book: dict[str, Any] = {
        "title": "Playbook",
        "lead": trips[0]["lead"],
        "hint": promise_text(playbook),
        "observer": observer | {"notes": [*observer["notes"], *find_doors(playbook)]},
        "summary": [list(row) for row in summary_rows(playbook)],
        "notHidden": [playbook.name(label) for label in left_out],
        "status": playbook.status,
        "planner": playbook.planner,
        "k": privacy.k,
        "risk": privacy.beta,
        "ell": privacy.ell,
        "m": privacy.m,
        "mechanism": privacy.mechanism,
        "spread": privacy.spread,
        "gap": claims.gap,
        "mac": claims.mac,
        "sha256": playbook.sha256,
        "candidates": _candidates(playbook, plane),
        "trips": trips,
        "places": [_places(playbook, plane, trip) for trip in range(len(playbook.trips))],
    }
    seats = {"watch": watch_data(playbook), "drive": drive_data(playbook)}
    return {"format": FORMAT, "map": map_data(plane), "playbook": book | seats}


def _candidates(playbook: Playbook, plane: Plane) -> list[dict[str, Any]]:
    """All candidates in the playbook's order: what they are called, where they are and what became of them."""
    hidden = {member for group in playbook.hidden_classes for member in group.members}
    roles = dict.fromkeys(playbook.uncoverable, "uncoverable") | dict.fromkeys(
        playbook.exposed_candidates, "not-protected"
    )
    called = {place: letters(i) for i, place in enumerate(rings(playbook))}
    found = []
    for i, label in enumerate(playbook.candidates):
        x, y = plane.spot(label)
        candidate: dict[str, Any] = {"name": playbook.name(label), "label": label_text(label), "x": x, "y": y}
        candidate["role"] = "candidate" if label in hidden else roles.get(label, "not-counted")
        if playbook.prior is not None:
            candidate["prior"] = playbook.prior[i]
        if label in called:
            candidate["letters"] = called[label]
        found.append(candidate | _place_field(plane, playbook.places.get(label)))
    return found


def _place_field(plane: Plane, lonlat: tuple[float, float] | None) -> dict[str, Any]:
    """Where a place really is, where that is known: its node is its door, at the nearest street."""
    spot = None if lonlat is None else plane.spot_on_earth(lonlat)
    return {} if spot is None else {"place": spot}


def _trip(playbook: Playbook, plane: Plane, trip: int, laid: Sequence[ClassRoute] | None) -> dict[str, Any]:
    """The lines of a trip with their words."""
    domain, ends = playbook.problem.domain, playbook.trips[trip]
    walks = class_walks(playbook, trip)
    bent, positions = plane.lay(walks)
    sights: list[list[list[int]]] = [[] for _ in walks]
    for i, (place, watcher) in sight_lines(playbook, trip, positions):
        sights[i].append(whole(positions[[place, watcher]]).reshape(-1).tolist())
    classes, seen_as = line_data(bent, positions, domain.num_nodes, sights), beliefs(playbook)
    at = {label: i for i, label in enumerate(playbook.candidates)}
    for i, (shown, group) in enumerate(zip(classes, playbook.hidden_classes, strict=True)):
        told = tell_class(playbook, group, trip, None if laid is None else laid[i])
        shown |= _class_words(playbook, group, trip, seen_as.get(i + 1), at) | {"directions": _said(told)}
        for j, (part, walk) in enumerate(zip(shown["parts"], walks[i], strict=True)):
            part |= _turns(walk, part["nodes"], None if laid is None else laid[i], j)
    spots = np.array([plane.spot(label) for label, _ in labelled_marks(playbook, trip)], dtype=np.int64)
    seen = [whole(positions[np.asarray(walk, dtype=np.int64)]) for group in bent for walk in group]
    return {
        "lead": lead_text(playbook, trip),
        "start": _end(playbook, plane, ends.start),
        "goal": _end(playbook, plane, ends.goal),
        "weight": ends.weight,
        "focus": box_of(np.concatenate([spots, *seen])),
        "classes": classes,
        "detours": _detours(playbook, plane, trip),
    }


def _laid(playbook: Playbook, trip: int) -> list[ClassRoute] | None:
    """The routes of a trip over the streets; ``None`` where there are none."""
    return None if playbook.problem.domain.on_earth is None else class_routes(playbook, trip=trip)


def _end(playbook: Playbook, plane: Plane, label: Label) -> dict[str, Any]:
    x, y = plane.spot(label)
    return {"label": label_text(label), "name": playbook.name(label), "x": x, "y": y}


def _class_words(
    playbook: Playbook, group: PlaybookClass, trip: int, belief: Belief | None, at: dict[Label, int]
) -> dict[str, Any]:
    """Who is in a class, what it costs and what whoever sees its route believes."""
    number = playbook.hidden_classes.index(group) + 1
    costs, words = costs_text(playbook, group, trip), dict[str, Any]()
    if playbook.is_randomised:
        costs += f", drawn {drawn(playbook, group):.0%}"
        words["shares"] = [share for label, share in zip(group.members, group.shares, strict=False) if label in at]
    if belief is not None and belief.is_first(number):
        words["bar"] = [[at[member], chance] for member, chance in belief.bar]
    members = [at[member] for member in group.members if member in at]
    return words | {"members": members, "costs": costs + alike_text(number, belief)}


def _said(told: Sequence[Told]) -> list[dict[str, Any]]:
    return [{"title": title, "steps": list(steps)} for title, steps in told]


def _turns(walk: Walk, at_node: Sequence[int], route: ClassRoute | None, number: int) -> dict[str, list[int]]:
    """Which points of a part are turns, by where these lead; off the streets only where one turns round."""
    turns: dict[str, list[int]] = {"round": [], "left": [], "right": []}
    legs = () if route is None or number >= len(route.parts) else route.parts[number].itinerary.legs
    is_street = bool(legs) and all(leg.kind not in LATTICE for leg in legs)
    for i in range(1, len(walk) - 1):
        angle = 0.0
        # As in directions: a street that only bends, where no other meets it, is no turn.
        if is_street and (legs[i].is_choice or street_called(legs[i]) != street_called(legs[i - 1])):
            angle = turn_angle(bearing(legs[i - 1].line, at_end=True), bearing(legs[i].line))
        if walk[i - 1] == walk[i + 1] or abs(angle) > _ROUND:
            turns["round"].append(at_node[i])
        elif abs(angle) > _TURN:
            turns["right" if angle > 0 else "left"].append(at_node[i])
    return {kind: points for kind, points in turns.items() if points}


def _detours(playbook: Playbook, plane: Plane, trip: int) -> list[dict[str, Any]]:
    """The contingencies of a trip, class by class: their closed roads, and their ways on."""
    node, detours = playbook.problem.domain.node, []
    entries = sorted(
        (entry for entry in playbook.contingencies if entry.trip == trip),
        key=lambda entry: (entry.number, entry.position),
    )
    for entry in entries:
        lines = [plane.line([node(label) for label in walk]) for walk in _ways(entry)]
        ahead = playbook.hidden_classes[entry.number - 1].shared(trip)[entry.position : entry.position + 2]
        closed = [plane.line([node(label) for label in ahead])]
        about = UNDECIDED
        if entry.choice is not None:
            left = members_text(playbook, entry.still_hidden)
            seen = "" if entry.way.seen is None else f". {sighting_text(playbook, entry.way, entry.number)}"
            about = f"From {playbook.name(entry.at)}, past {left}{seen}"
        detours.append(
            {
                "number": entry.number,
                "title": f"If {closed_text(playbook, entry.closure)}",
                "about": about,
                "closed": [differences(line) for line in closed],
                "parts": [differences(line) for line in lines],
                "box": box_of(np.concatenate([*closed, *lines])),
                "directions": _said(tell_detour(playbook, entry)),
            }
        )
    return detours


def _ways(entry: Replan) -> list[tuple[Label, ...]]:
    """What is walked on a detour: what all members share, then the rest of each where they part."""
    if entry.choice is None:
        return []
    own = {(0, member): Route(nodes, cost) for member, (nodes, cost) in entry.way.own.items()}
    group = PlaybookClass(entry.members, True, (Route(entry.way.route, 0.0),), own)
    return [group.shared(0), *(nodes for _, nodes in group.rests(0))]


def _places(playbook: Playbook, plane: Plane, trip: int) -> list[dict[str, Any]]:
    """The marks of a trip; what comes last is drawn on top."""
    at = {label: i for i, label in enumerate(playbook.candidates)}
    start, goal, *others = (_place(playbook, plane, label, mark) for label, mark in labelled_marks(playbook, trip))
    for (label, mark), place in zip(labelled_marks(playbook, trip)[2:], others, strict=True):
        if label in at and mark.gid not in ("start", "goal"):
            place["candidate"] = at[label]
    places = [*others, start, goal]
    spread_aside(places)
    return places


def spread_aside(places: Sequence[dict[str, Any]]) -> None:
    """Have marks on one spot stand side by side: ``aside`` is in half widths of a mark."""
    here: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for place in places:
        here.setdefault((place["x"], place["y"]), []).append(place)
    for group in here.values():
        for i, place in enumerate(group):
            place["aside"] = 2 * i - len(group) + 1


def _place(playbook: Playbook, plane: Plane, label: Label, mark: Mark) -> dict[str, Any]:
    x, y = plane.spot(label)
    role, numbers, meaning = mark.gid, list[int](), _ROLES.get(mark.gid)
    if mark.ring:
        chances = ", ".join(f"{number + 1} ({chance:.0%})" for number, chance in mark.ring)
        role, numbers, meaning = "candidate", [number + 1 for number, _ in mark.ring], f"Class {chances}"
    elif meaning is None:
        role, numbers, meaning = "candidate", [int(mark.text)], f"Class {mark.text}"
    name = playbook.name(label)
    return {
        "x": x,
        "y": y,
        "aside": 0,
        "role": role,
        "numbers": numbers,
        "ring": [{"colour": class_style(number).colour, "part": chance} for number, chance in mark.ring],
        "name": name,
        "text": f"{name}\n{meaning}",
    } | mark_data(mark) | _place_field(plane, playbook.places.get(label))  # fmt: skip


def mark_data(mark: Mark) -> dict[str, str]:
    """How a mark looks."""
    return {
        "mark": mark.text or "×",
        "shape": mark.shape if mark.shape in "osD^vp" else "o",
        "face": mark.face if mark.shape != "x" else "#FFFFFF",
        "edge": mark.edge,
        "ink": mark.ink,
    }
