"""A little town by the sea, small enough to be checked by hand, with everything that street networks have.

::

    101 --- 102 --- 103 --- 104    Pohjoiskatu (residential)
     |       v       :       |
    105 === 106 === 107 === 108    Keskuskatu (primary)
     |       v       :       |
    109 --- 110 -~- 111 --- 112    Rantatie (secondary; bends to the south between 110 and 111)

From west to east: Länsitie, Koulukuja (one-way to the south), a service road without a name, and Itätie, which bends to
the east between 108 and 112. Blocks measure about 111 m by 111 m. Labels look like OpenStreetMap's node numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np

import veilroute as vr
from veilroute.domain import great_circle_m, street_domain

ATTRIBUTION = "© OpenStreetMap contributors, ODbL"
NAMES: dict[Hashable, str] = {
    105: "Depot",
    102: "Branch North",
    104: "Branch East",
    109: "Branch West",
    111: "Branch Harbour",
    103: "Branch Yard",
    112: "Branch Point",
}
"""What people call the depot and the six branches."""

_KMH = {"primary": 50.0, "secondary": 40.0, "residential": 30.0, "service": 15.0}
_WEST, _NORTH, _STEP_LON, _STEP_LAT = 24.94, 60.172, 0.002, 0.001


def place(label: object) -> tuple[float, float]:
    """Longitude and latitude of a junction."""
    row, col = divmod(int(str(label)) - 101, 4)
    return round(_WEST + col * _STEP_LON, 7), round(_NORTH - row * _STEP_LAT, 7)


def little_town(*, unit: str = "seconds", evil_name: str = "") -> vr.Domain:
    """The town; costs are seconds rounded to tenths, or whole metres. ``evil_name`` renames Koulukuja."""
    school = evil_name or "Koulukuja"
    streets: list[tuple[int, int, str, str, bool, list[tuple[float, float]]]] = []
    for first, name, kind in ((101, "Pohjoiskatu", "residential"), (105, "Keskuskatu", "primary")):
        streets += [(first + col, first + col + 1, name, kind, True, []) for col in range(3)]
    beach = [(24.9425, 60.1699), (24.943, 60.1698), (24.9435, 60.1699)]
    streets += [(109 + col, 110 + col, "Rantatie", "secondary", True, beach if col == 1 else []) for col in range(3)]
    for row in range(2):
        top = 101 + 4 * row
        streets.append((top, top + 4, "Länsitie", "residential", True, []))
        streets.append((top + 1, top + 5, school, "residential", False, []))
        streets.append((top + 2, top + 6, "", "service", True, []))
        streets.append((top + 3, top + 7, "Itätie", "residential", True, [(24.9463, 60.1705)] if row else []))
    edges = []
    for tail, head, name, kind, is_two_way, bends in streets:
        edges.append((tail, head, name, kind, bends))
        if is_two_way:
            edges.append((head, tail, name, kind, bends[::-1]))
    names = sorted({edge[2] for edge in edges})
    kinds = sorted({edge[3] for edge in edges})
    lines = [np.array([place(tail), *bends, place(head)]) for tail, head, _, _, bends in edges]
    lengths = [round(float(great_circle_m(line[:-1], line[1:]).sum()), 1) for line in lines]
    seconds = [round(metres / _KMH[edge[3]] * 3.6, 1) for metres, edge in zip(lengths, edges, strict=True)]
    return street_domain(
        lonlat=[place(label) for label in range(101, 113)],
        tails=[edge[0] - 101 for edge in edges],
        heads=[edge[1] - 101 for edge in edges],
        costs=seconds if unit == "seconds" else [round(metres) for metres in lengths],
        lengths=lengths,
        unit=unit,
        labels=list(range(101, 113)),
        names=names,
        name_ids=[names.index(edge[2]) for edge in edges],
        kinds=kinds,
        kind_ids=[kinds.index(edge[3]) for edge in edges],
        shape_ptr=np.concatenate([[0], np.cumsum([len(edge[4]) for edge in edges])]),
        shape=np.array([bend for edge in edges for bend in edge[4]]).reshape(-1, 2),
        attribution=ATTRIBUTION,
    )


def little_problem(domain: vr.Domain | None = None, *, names: Mapping[Hashable, str] | None = None) -> vr.Problem:
    """A van that leaves the depot, visits one of six branches, and ends at the junction of Keskuskatu and Itätie."""
    known = NAMES if names is None else names
    return vr.Problem(
        little_town() if domain is None else domain,
        [vr.Trip(105, 108)],
        [label for label in NAMES if label != 105],
        names=known,
    )


def little_book(
    domain: vr.Domain | None = None, *, names: Mapping[Hashable, str] | None = None, m: int | None = None
) -> vr.Playbook:
    """The best plan for the van with k = 2 and branches at least 100 m apart."""
    problem = little_problem(domain, names=names)
    return vr.solve(problem, vr.Privacy(k=2, ell=100, m=m, measure="straight"))


def two_trip_book() -> vr.Playbook:
    """The best plan for two vans with different ends: along Keskuskatu, and from the northwest to the southeast."""
    trips = [vr.Trip(105, 108), vr.Trip(101, 112)]
    return vr.solve(vr.Problem(little_town(), trips, [102, 103, 110, 111], names=NAMES), vr.Privacy(k=2, ell=0))


def exposed_book(*, names: Mapping[Hashable, str] | None = None) -> vr.Playbook:
    """The best plan when all of a class stand 200 m apart: it hides 102 and 112, and leaves out 103, next to 102."""
    problem = vr.Problem(little_town(), [vr.Trip(105, 108)], [102, 103, 112], names=names or {})
    return vr.solve(problem, vr.Privacy(k=2, ell=200, spread="all-pairs", measure="straight"))


def as_written_before(book: vr.Playbook) -> vr.Playbook:
    """The same playbook as files had it once: the first member's route where the shared one stands."""
    classes = []
    for group in book.classes:
        first = tuple(group.route_of(group.members[0], trip) for trip in range(len(book.trips)))
        own = {place: route for place, route in group.member_routes.items() if place[1] != group.members[0]}
        classes.append(replace(group, routes=first, member_routes=own))
    return replace(book, classes=tuple(classes))


def ring_town(*, west: float = 24.94, south: float = 60.17) -> vr.Domain:
    """The smallest town in which places can go wrong; its junction 1 is at the given place.

    ::

              4 === 3           7       0.002 degrees to the east,
              ‖     ‖           ‖       0.001 degrees to the north
        5 ->- 1 === 2           6

    1 to 4 are a ring of two-way streets, 5 can be left and not entered, and 6 and 7 are a pier on its own.
    """
    spots = [(0, 0), (1, 0), (1, 1), (0, 1), (-1, 0), (3, 0), (3, 1)]
    ring = [(1, 2), (2, 3), (3, 4), (4, 1)]
    pairs = [*ring, *((b, a) for a, b in ring), (5, 1), (6, 7), (7, 6)]
    return street_domain(
        lonlat=[(west + 0.002 * x, south + 0.001 * y) for x, y in spots],
        tails=[a - 1 for a, _ in pairs],
        heads=[b - 1 for _, b in pairs],
        costs=[10] * len(pairs),
        lengths=[111] * len(pairs),
        unit="seconds",
        labels=range(1, 8),
    )
