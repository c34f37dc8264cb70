"""What a street network knows beyond its graph: where on earth it is, how long its streets are, how called and bent.

With it goes how far apart places are: by the graph's costs, or in metres by car, on foot or in a straight line. Costs
decide which route is best; privacy and sight are often wanted in metres although routes are planned in seconds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Domain, Label, checked_costs, keep_cheapest, spans
from veilroute.domain.turns import Turns, with_rules

UNITS = ("seconds", "metres")  #: what an edge's cost may be measured in on a street network
MEASURES = ("cost", "driving", "walking", "straight")
"""The edges' costs; metres along the edges; metres along the edges in either direction; metres as the crow flies."""

AIR, ON_FOOT = "air", "cell"  #: kinds of street that are no street: a move of free flight, one from cell to cell
LATTICE = (AIR, ON_FOOT)

EARTH_RADIUS_M = 6_371_008.8  #: mean radius of the earth (IUGG)


@dataclass(frozen=True, eq=False, repr=False)
class Streets:
    """The streets behind a graph; edges are in the order of :meth:`Domain.edge_arrays`.

    The bends of edge ``e``, its ends excluded, are ``shape[shape_ptr[e]:shape_ptr[e + 1]]`` (longitude, latitude).
    Distances in metres are measured by ``shortest``: the metres of the shortest street from an edge's tail to its head,
    which is another one where of several the fastest was kept; ``lengths`` when left out.
    """

    lonlat: Floats  #: longitude and latitude of every node, in degrees
    lengths: Floats  #: metres of every edge
    unit: str  #: what the domain's costs are measured in: ``"seconds"`` or ``"metres"``; ``"cells"`` on grids
    names: tuple[str, ...]  #: the street names that occur; an unnamed street has the name ""
    name_ids: Int32s  #: which of them each edge has
    kinds: tuple[str, ...]  #: the kinds of street that occur, as "residential"
    kind_ids: Int32s  #: which of them each edge is
    shape_ptr: Ints
    shape: Floats
    attribution: str = ""  #: whom to credit wherever the map is shown
    shortest: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if self.shortest.size != self.lengths.size:
            object.__setattr__(self, "shortest", self.lengths)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of the middle of the nodes' box."""
        return _middle(self.lonlat)

    def project(self, lonlat: Floats) -> Floats:
        """Metres east and north of the middle of the map: where points are drawn."""
        return project(lonlat, self.middle)

    def name(self, edge: int) -> str:
        """The name of an edge's street, empty where it has none."""
        return self.names[int(self.name_ids[edge])]

    def kind(self, edge: int) -> str:
        """What kind of street an edge is, empty where that is not known."""
        return self.kinds[int(self.kind_ids[edge])]

    def bends(self, edge: int) -> Floats:
        """Longitude and latitude of an edge's bends, its ends excluded."""
        return self.shape[self.shape_ptr[edge] : self.shape_ptr[edge + 1]]

    def line(self, tail: int, head: int, edge: int) -> Floats:
        """Longitude and latitude along an edge, its ends included."""
        return np.concatenate([self.lonlat[tail : tail + 1], self.bends(edge), self.lonlat[head : head + 1]])


def streets_of(domain: Domain) -> Streets:
    """The streets behind a domain or the moves of a grid that lies on earth, or one line that says why there are none.

    Every export asks here for what it shows.
    """
    if domain.on_earth is None:
        only = "only street networks and grids with an origin have places on earth and directions"
        raise InvalidInputError("domain", f"a street network, or a grid planned with --origin and --cell: {only}")
    return domain.on_earth


def places_on_earth(domain: Domain, nodes: npt.ArrayLike) -> Floats:
    """Longitude and latitude of nodes, of a street network or of a grid that lies on earth."""
    return np.asarray(streets_of(domain).lonlat[np.asarray(nodes, dtype=np.int64)])


def grid_streets(domain: Domain) -> Streets | None:
    """The moves of a grid as streets, from the middle of a cell to the middle of another; ``None`` without an anchor.

    Planning does not use them: costs stay numbers of cells, and so does what is measured by them.
    """
    grid, none = domain.grid, np.zeros(domain.num_edges, dtype=np.int32)
    if grid is None or grid.anchor is None:
        return None
    lengths = np.round(domain.costs * grid.anchor.cell_m, 3).astype(np.float64)
    bends = np.zeros(domain.num_edges + 1, dtype=np.int64), np.empty((0, 2))
    return Streets(grid.anchor.lonlat(grid.cells + 0.5), lengths, "cells", ("",), none, (ON_FOOT,), none, *bends)


def street_domain(
    *,
    lonlat: npt.ArrayLike,
    tails: npt.ArrayLike,
    heads: npt.ArrayLike,
    costs: npt.ArrayLike,
    lengths: npt.ArrayLike,
    unit: str,
    labels: Sequence[Label] | None = None,
    names: Sequence[str] = ("",),
    name_ids: npt.ArrayLike | None = None,
    kinds: Sequence[str] = ("",),
    kind_ids: npt.ArrayLike | None = None,
    shape_ptr: npt.ArrayLike | None = None,
    shape: npt.ArrayLike | None = None,
    attribution: str = "",
    shortest: npt.ArrayLike | None = None,
    turns: Turns | None = None,
    also: Sequence[tuple[Label, int]] = (),
) -> Domain:
    """Build the domain of a street network from parallel arrays of directed edges, in any order.

    Self-loops are dropped and of parallel edges the cheapest is kept (of equally cheap ones the first). The nodes'
    ``coordinates`` become metres east and north of the middle of the map. Parameters are those of :class:`Streets`,
    with the edges' arrays in the order of ``tails``; what is left out is empty. ``turns`` and ``also`` are those of
    :class:`Domain`.
    """
    check_name("streets.unit", unit, UNITS)
    places = _checked_places(lonlat)
    tail_ids, head_ids = np.asarray(tails), np.asarray(heads)
    num_edges = tail_ids.size
    metres = _checked_metres("streets.lengths", lengths, num_edges)
    least = metres if shortest is None else _checked_metres("streets.shortest", shortest, num_edges)
    ptr = np.zeros(num_edges + 1, dtype=np.int64) if shape_ptr is None else np.asarray(shape_ptr).astype(np.int64)
    if ptr.size != num_edges + 1 or ptr[0] != 0 or bool((np.diff(ptr) < 0).any()):
        raise InvalidInputError("streets.shape_ptr", f"{num_edges + 1} offsets that start at 0 and never fall")
    bends = _checked_places(np.empty((0, 2)) if shape is None else shape, field="streets.shape")
    if int(ptr[-1]) != len(bends):
        raise InvalidInputError("streets.shape", f"{int(ptr[-1])} points, as shape_ptr says", len(bends))
    kept = keep_cheapest(len(places), tail_ids, head_ids, costs)
    plain = Domain.from_edges(
        len(places), tail_ids[kept], head_ids[kept], np.asarray(costs)[kept], labels=labels, coordinates=project(places)
    )
    sizes = np.diff(ptr)[kept]
    shape_kept = bends[spans(ptr[:-1][kept], sizes)]
    _check_bends(places, shape_kept, metres[kept], tail_ids[kept], sizes)
    streets = Streets(
        places,
        metres[kept],
        unit,
        *_checked_texts("names", names, name_ids, kept, num_edges),
        *_checked_texts("kinds", kinds, kind_ids, kept, num_edges),
        np.concatenate([[0], np.cumsum(sizes)]),
        shape_kept,
        _checked_text("streets.attribution", attribution),
        _least_between(len(places), tail_ids, head_ids, least, kept),
    )
    domain = Domain(plain.indptr, plain.indices, plain.costs, plain.labels, plain.coordinates, streets=streets)
    return with_rules(domain, turns, also)


def part_of(domain: Domain, is_in: Flags) -> Domain:
    """A graph with only some of its nodes, and what leads from one of these to another.

    Labels stay. So do rules for turns and further labels, where they can.
    """
    if domain.grid is not None:
        raise InvalidInputError("domain", "a graph or street network", domain)
    tails, heads, costs = domain.edge_arrays()
    nodes, edges = np.flatnonzero(is_in), np.flatnonzero(is_in[tails] & is_in[heads])
    number = np.cumsum(is_in) - 1
    tails, heads, costs = number[tails[edges]], number[heads[edges]], costs[edges]
    labels, streets, turns = domain.labels_of(nodes), domain.streets, domain.turns
    also = [(label, int(number[node])) for label, node in domain.also if is_in[node]]
    if turns is not None:
        kept = [stretch for stretch in turns.banned if all(is_in[node] for node in stretch)]
        turns = replace(turns, banned=tuple(tuple(int(number[node]) for node in stretch) for stretch in kept))
    if streets is None:
        coordinates = None if domain.coordinates is None else domain.coordinates[nodes]
        plain = Domain.from_edges(nodes.size, tails, heads, costs, labels=labels, coordinates=coordinates)
        return with_rules(plain, turns, also)
    sizes = np.diff(streets.shape_ptr)[edges]
    names, kinds = np.unique(streets.name_ids[edges]), np.unique(streets.kind_ids[edges])
    return street_domain(
        lonlat=streets.lonlat[nodes],
        tails=tails,
        heads=heads,
        costs=costs,
        lengths=streets.lengths[edges],
        unit=streets.unit,
        labels=labels,
        names=[streets.names[number] for number in names.tolist()],
        name_ids=np.searchsorted(names, streets.name_ids[edges]),
        kinds=[streets.kinds[number] for number in kinds.tolist()],
        kind_ids=np.searchsorted(kinds, streets.kind_ids[edges]),
        shape_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        shape=streets.shape[spans(streets.shape_ptr[:-1][edges], sizes)],
        attribution=streets.attribution,
        shortest=streets.shortest[edges],
        turns=turns,
        also=also,
    )


def great_circle_m(lonlat1: npt.ArrayLike, lonlat2: npt.ArrayLike) -> Floats:
    """Metres between points given as longitude and latitude, on a sphere; arrays of points are paired."""
    lon1, lat1 = np.moveaxis(np.radians(np.asarray(lonlat1, dtype=np.float64)), -1, 0)
    lon2, lat2 = np.moveaxis(np.radians(np.asarray(lonlat2, dtype=np.float64)), -1, 0)
    rise = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(rise, 1.0))))


def project(lonlat: Floats, middle: tuple[float, float] | None = None) -> Floats:
    """Metres east and north of the ``middle``, by default that of the points' box, for drawing.

    Good to a few parts in a thousand on a city, and rounded to centimetres, so that the last bit of a platform's cosine
    cannot change a picture.
    """
    lon, lat = _middle(lonlat) if middle is None else middle
    scale = EARTH_RADIUS_M * math.radians(1)
    east = (lonlat[:, 0] - lon) * scale * math.cos(math.radians(lat))
    north = (lonlat[:, 1] - lat) * scale
    return np.asarray(np.round(np.column_stack([east, north]), 2), dtype=np.float64)


def _middle(places: Floats) -> tuple[float, float]:
    lon, lat = ((places.min(axis=0) + places.max(axis=0)) / 2).tolist()
    return lon, lat


def _least_between(num_nodes: int, tails: Ints, heads: Ints, metres: Floats, kept: Ints) -> Floats:
    """For each edge that is kept the least metres of all that join the same nodes."""
    pairs, group = np.unique(tails.astype(np.int64) * num_nodes + heads, return_inverse=True)
    least = np.full(pairs.size, np.inf)
    np.minimum.at(least, group.reshape(-1), metres)
    return np.asarray(least[group.reshape(-1)[kept]])


def _check_bends(places: Floats, bends: Floats, metres: Floats, tails: Ints, sizes: Ints) -> None:
    """Raise when a bend is so far from its street that a coordinate must be wrong; lengths may be anybody's guess."""
    edges = np.repeat(np.arange(sizes.size), sizes)
    away = great_circle_m(places[tails[edges]], bends)
    wrong = np.flatnonzero(away > 10 * metres[edges] + 5000.0)
    if wrong.size:
        edge = int(edges[wrong[0]])
        expected = f"bends beside their street, which is {metres[edge]:.0f} m long"
        raise InvalidInputError("streets.bends", expected, f"one {away[wrong[0]] / 1000:.0f} km away")


def _checked_places(lonlat: npt.ArrayLike, *, field: str = "streets.lonlat") -> Floats:
    values = np.asarray(lonlat, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 2:
        raise InvalidInputError(field, "[longitude, latitude] pairs", f"shape {values.shape}")
    if not bool((np.abs(values) <= (180.0, 90.0)).all()):
        raise InvalidInputError(field, "longitudes from -180 to 180 and latitudes from -90 to 90, in this order")
    return values


def _checked_metres(field: str, lengths: npt.ArrayLike, num_edges: int) -> Floats:
    metres = checked_costs(np.asarray(lengths, dtype=np.float64), field=field).astype(np.float64)
    if metres.size != num_edges:
        raise InvalidInputError(field, f"one length for each of {num_edges} edges", metres.size)
    return metres


def _checked_texts(
    field: str, texts: Sequence[str], ids: npt.ArrayLike | None, kept: Ints, num_edges: int
) -> tuple[tuple[str, ...], Int32s]:
    known = tuple(_checked_text(f"streets.{field}", text) for text in texts)
    numbers = np.zeros(num_edges, dtype=np.int64) if ids is None else np.asarray(ids)
    if numbers.shape != (num_edges,) or (num_edges and numbers.dtype.kind not in "iu"):
        raise InvalidInputError(f"streets.{field}", f"one number for each of {num_edges} edges")
    if num_edges and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(known):
        raise InvalidInputError(f"streets.{field}", f"numbers from 0 to {len(known) - 1}, of the {field} listed")
    return known, numbers[kept].astype(np.int32)


def _checked_text(field: str, text: object) -> str:
    if not isinstance(text, str) or not (text.isprintable() or not text):
        raise InvalidInputError(field, "printable text", text)
    return text


def check_measurable(domain: Domain, measure: str, field: str) -> None:
    """Raise when the domain does not know the lengths or places that a measure needs."""
    if measure != "cost" and domain.streets is None:
        raise InvalidInputError(field, "cost: only street networks know distances in metres", measure)


def measured_domain(domain: Domain, measure: str) -> Domain:
    """The graph whose walks are as long as ``cost``, ``driving`` or ``walking`` says; node numbers stay."""
    if measure == "cost":
        return domain
    assert domain.streets is not None, "checked with the problem"
    tails, heads, _ = domain.edge_arrays()
    metres = domain.streets.shortest
    if measure == "walking":
        tails, heads, metres = np.concatenate([tails, heads]), np.concatenate([heads, tails]), np.tile(metres, 2)
    return Domain.from_edges(domain.num_nodes, tails, heads, metres)


def straight_distances(domain: Domain, node: int, others: Ints) -> Floats:
    """Metres from a node of a street network to others, along the great circle."""
    assert domain.streets is not None, "checked with the problem"
    lonlat = domain.streets.lonlat
    return great_circle_m(lonlat[others], lonlat[node])


def straight_within(domain: Domain, node: int, metres: float) -> Ints:
    """The nodes of a street network no farther than some metres from a node along the great circle, ascending."""
    assert domain.streets is not None, "checked with the problem"
    latitudes = domain.streets.lonlat[:, 1]
    # Who is farther north or south than that need not be looked at: sines of millions of nodes take long.
    band = math.degrees(metres / EARTH_RADIUS_M) * (1 + 1e-6) + 1e-9
    others = np.flatnonzero(np.abs(latitudes - latitudes[node]) <= band)
    return np.asarray(others[straight_distances(domain, node, others) <= metres])


def distance_text(metres: float) -> str:
    """Metres as people say them: to 5 m below 50 m, to 10 m below a kilometre, to 100 m beyond."""
    if metres < 47.5:
        return f"{_fives(metres)} m"
    if metres < 995:
        return f"{10 * round(metres / 10)} m"
    return f"{metres / 1000:.1f} km"


def duration_text(seconds: float) -> str:
    """Seconds as people say them: to 5 s below a minute and a half, to a minute beyond."""
    if seconds < 87.5:
        return f"{_fives(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def cost_text(domain: Domain | None, cost: float) -> str:
    """A cost as people say it: a duration or a distance on a street network, else the number itself."""
    streets = None if domain is None else domain.streets
    if streets is None:
        return f"{cost:.6g}"
    return duration_text(cost) if streets.unit == "seconds" else distance_text(cost)


def _fives(value: float) -> int:
    """Rounded to fives; only nothing is 0."""
    return max(5, 5 * round(value / 5)) if value > 0 else 0
