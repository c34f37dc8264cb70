"""Street networks made by OSMnx, as the graph object that it returns.

OSMnx itself is not needed here: a graph is nodes with ``x`` and ``y``, and edges with ``length`` and more.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label
from veilroute.domain.streets import street_domain
from veilroute.errors import InvalidInputError
from veilroute.formats.words import WordList
from veilroute.streets.network import ATTRIBUTION

Place = tuple[float, float]
AttributedEdge = tuple[Label, Label, Mapping[str, Any]]

_UNITS = {"length": "metres", "travel_time": "seconds"}
_REMEDIES = {
    "length": "run ox.distance.add_edge_lengths(G)",
    "travel_time": "run ox.add_edge_speeds(G) and then ox.add_edge_travel_times(G)",
}
_LONGEST_LIST = 10_000  # characters; Python needs a hundred times the memory to read such a text
_SAME_PLACE = 1e-7  # degrees, about a centimetre: files round coordinates


def domain_from_osmnx(graph: Any, *, cost: str | None = None) -> Domain:
    """Build the domain of a street network from a graph made by OSMnx.

    Nodes keep their ids as labels, and edges their lengths, names, kinds and bends. Of parallel edges the cheapest is
    kept. An undirected graph counts in both directions. Several names of one edge are joined by ``/``, and of several
    kinds the first by the alphabet is kept: OSMnx collects them in no certain order.

    Parameters
    ----------
    graph
        The graph, in longitude and latitude (not projected).
    cost
        ``"length"`` (metres) or ``"travel_time"`` (seconds); by default the time where every edge has one, else the
        length.
    """
    if not all(hasattr(graph, part) for part in ("nodes", "edges", "graph", "is_directed")):
        raise InvalidInputError("graph", "a graph made by OSMnx", type(graph).__name__)
    edges: list[AttributedEdge] = list(graph.edges(data=True))
    if not graph.is_directed():
        edges += [(head, tail, data) for tail, head, data in edges]
    return domain_from_attributes(dict(graph.nodes(data=True)), edges, crs=graph.graph.get("crs"), cost=cost)


def domain_from_attributes(
    nodes: Mapping[Label, Mapping[str, Any]], edges: Sequence[AttributedEdge], *, crs: object, cost: str | None
) -> Domain:
    """Build a street network from the attributes that OSMnx gives, as values or as the text that it saves.

    Parameters
    ----------
    nodes
        The attributes of each node.
    edges
        Tail, head and attributes of every directed edge. Bends may be given from either end.
    crs
        The coordinate reference system; ``None`` when it is not known.
    cost
        As in :func:`domain_from_osmnx`.
    """
    if cost is not None and cost not in _UNITS:
        raise InvalidInputError("cost", " or ".join(_UNITS), cost)
    places = _places(nodes, crs)
    if cost is None:
        cost = "travel_time" if edges and all("travel_time" in data for _, _, data in edges) else "length"
    number = {label: i for i, label in enumerate(nodes)}
    names, kinds = WordList(), WordList()
    name_ids, kind_ids, bends, ends = [], [], [], [0]
    for tail, head, data in edges:
        own_names = _texts(data.get("name")) or _texts(data.get("ref"))
        name_ids.append(names.number(" / ".join(own_names)))
        kind_ids.append(kinds.number(next(iter(_texts(data.get("highway"))), "")))
        bends += _bends(data.get("geometry"), places[number[tail]], places[number[head]], f"edge {tail} -> {head}")
        ends.append(len(bends))
    labels = list(nodes)
    return street_domain(
        lonlat=np.array(places, dtype=np.float64).reshape(-1, 2),
        tails=np.array([number[tail] for tail, _, _ in edges], dtype=np.int64),
        heads=np.array([number[head] for _, head, _ in edges], dtype=np.int64),
        costs=list(_values(edges, cost)),
        lengths=list(_values(edges, "length")),
        unit=_UNITS[cost],
        labels=None if labels == list(range(len(labels))) else labels,
        names=names.words,
        name_ids=np.array(name_ids, dtype=np.int64),
        kinds=kinds.words,
        kind_ids=np.array(kind_ids, dtype=np.int64),
        shape_ptr=np.array(ends, dtype=np.int64),
        shape=np.array(bends, dtype=np.float64).reshape(-1, 2),
        attribution=ATTRIBUTION if any("osmid" in data for _, _, data in edges) else "",
    )


def _places(nodes: Mapping[Label, Mapping[str, Any]], crs: object) -> list[Place]:
    back = "take the graph before it was projected, or ox.project_graph(G, to_latlong=True)"
    if crs is not None and not _is_geographic(crs):
        raise InvalidInputError("graph crs", f"longitude and latitude (epsg:4326); {back}", str(crs))
    places = []
    for label, data in nodes.items():
        try:
            lon, lat = float(data["x"]), float(data["y"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInputError(f"node {label}", "x and y, its longitude and latitude in degrees") from None
        if not (abs(lon) <= 180 and abs(lat) <= 90):
            raise InvalidInputError(f"node {label}", f"x and y in degrees; {back}", (lon, lat))
        places.append((lon, lat))
    return places


def _is_geographic(crs: object) -> bool:
    """Whether a reference system, a name or an object of pyproj, is in degrees."""
    text = str(crs).strip().lower()
    return text.endswith(("4326", "crs84")) or text.startswith(("geog", "+proj=longlat", "wgs84", "wgs 84"))


def _values(edges: Sequence[AttributedEdge], name: str) -> Iterator[float]:
    for tail, head, data in edges:
        edge = f"edge {tail} -> {head}"
        if name not in data:
            raise InvalidInputError(edge, f"{name} on every edge; {_REMEDIES[name]}", "none")
        try:
            value = float(data[name])
        except (TypeError, ValueError):
            raise InvalidInputError(edge, f"a number as its {name}", data[name]) from None
        if not 0 <= value < math.inf:
            raise InvalidInputError(edge, f"a finite {name} >= 0", value)
        yield value


def _texts(value: object) -> list[str]:
    """The texts of an attribute that holds one, several, or the text of a list as saved in a file; ascending."""
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]" and len(value) <= _LONGEST_LIST:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes that Python does not know
                value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [str(value)]
    if isinstance(value, list | tuple):
        return sorted({part for part in value if isinstance(part, str) and part.strip()})
    return [value] if isinstance(value, str) and value.strip() else []


def _bends(geometry: object, tail: Place, head: Place, edge: str) -> list[Place]:
    """The points of a line between two nodes, in the direction of travel and without the nodes themselves."""
    points = _line(geometry, edge)
    if len(points) < 2:
        return []
    # OSMnx draws an undirected edge from either end.
    if math.dist(points[0], tail) + math.dist(points[-1], head) > math.dist(points[0], head) + math.dist(
        points[-1], tail
    ):
        points.reverse()
    first = 1 if math.dist(points[0], tail) <= _SAME_PLACE else 0
    last = len(points) - (1 if math.dist(points[-1], head) <= _SAME_PLACE else 0)
    return points[first:last]


def _line(geometry: object, edge: str) -> list[Place]:
    """Longitude and latitude along a shapely ``LineString``, or along the text of one (WKT)."""
    if geometry is None or isinstance(geometry, float):  # a table of edges has NaN where a street is straight
        return []
    try:
        if not isinstance(geometry, str):
            return [(float(point[0]), float(point[1])) for point in geometry.coords]  # type: ignore[attr-defined]
        kind, _, inside = geometry.strip().partition("(")
        if kind.split()[:1] != ["LINESTRING"] or not inside.endswith(")"):
            raise ValueError(kind)
        return [(float(lon), float(lat)) for lon, lat, *_ in (part.split() for part in inside[:-1].split(","))]
    except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
        raise InvalidInputError(edge, "a LineString as its geometry", type(geometry).__name__) from None
