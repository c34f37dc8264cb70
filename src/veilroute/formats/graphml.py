"""GraphML (``.graphml``), as saved by OSMnx, networkx and others, and the graph objects that OSMnx returns.

OSMnx itself is not needed here: a graph is nodes with ``x`` and ``y``, and edges with ``length`` and more.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from veilroute.base.checks import check_name
from veilroute.base.errors import FileFormatError, InvalidInputError, blame_file
from veilroute.base.io import read_bytes
from veilroute.domain.geography import street_domain
from veilroute.domain.graph import Domain, Label
from veilroute.formats.sheets import number_of_text
from veilroute.formats.tables import labels_of_texts, text_columns
from veilroute.streets.network import ATTRIBUTION

Place = tuple[float, float]
AttributedEdge = tuple[Label, Label, Mapping[str, Any]]

_UNITS = {"length": "metres", "travel_time": "seconds"}
_REMEDIES = {
    "length": "run ox.distance.add_edge_lengths(G)",
    "travel_time": "run ox.add_edge_speeds(G) and then ox.add_edge_travel_times(G)",
}
_USUAL_COSTS = ("weight", "cost", "length")
_DEEPEST = 100
_MOST_NAMED = 20
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

    Bends may be given from either end of an edge. ``crs`` is the coordinate reference system, ``None`` when it is not
    known, and ``cost`` as in :func:`domain_from_osmnx`.
    """
    if cost is not None:
        check_name("cost", cost, tuple(_UNITS))
    places = _places(nodes, crs)
    if cost is None:
        cost = "travel_time" if edges and all("travel_time" in data for _, _, data in edges) else "length"
    number = {label: i for i, label in enumerate(nodes)}
    called = (" / ".join(_texts(data.get("name")) or _texts(data.get("ref"))) for _, _, data in edges)
    kinds = (next(iter(_texts(data.get("highway"))), "") for _, _, data in edges)
    bends: list[Place] = []
    ends = [0]
    for tail, head, data in edges:
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
        **text_columns(name=called, kind=kinds),
        shape_ptr=ends,
        shape=np.array(bends, dtype=np.float64).reshape(-1, 2),
        attribution=ATTRIBUTION if any("osmid" in data for _, _, data in edges) else "",
    )


def _places(nodes: Mapping[Label, Mapping[str, Any]], crs: object) -> list[Place]:
    back = "take the graph before it was projected, or ox.project_graph(G, to_latlong=True)"
    system = str(crs).strip().lower()  # a name, or an object of pyproj
    is_degrees = system.endswith(("4326", "crs84")) or system.startswith(("geog", "+proj=longlat", "wgs84", "wgs 84"))
    if crs is not None and not is_degrees:
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
    first, last = points[0], points[-1]
    if math.dist(first, tail) + math.dist(last, head) > math.dist(first, head) + math.dist(last, tail):
        points.reverse()
    begin = 1 if math.dist(points[0], tail) <= _SAME_PLACE else 0
    end = len(points) - (1 if math.dist(points[-1], head) <= _SAME_PLACE else 0)
    return points[begin:end]


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


def read_graphml(path: str | Path, *, cost: str | None = None) -> Domain:
    """Read a graph from GraphML; undirected edges count in both directions.

    A file saved by OSMnx (one with a ``crs``) becomes a street network as with
    :func:`~veilroute.formats.graphml.domain_from_osmnx`. Any other becomes a plain graph: the ids of its nodes are the
    labels, as integers where all of them are, and ``x`` and ``y`` the coordinates where every node has them.

    Parameters
    ----------
    path
        The file.
    cost
        Which attribute of the edges is the cost. In a file saved by OSMnx ``length`` or ``travel_time``, by default
        the latter where every edge has it; in others the first of ``weight``, ``cost`` and ``length`` that occurs.
    """
    file = _Graph(path)
    with blame_file(path):
        if "crs" not in file.attributes:
            return _plain_domain(file, cost)
        labels = labels_of_texts(list(file.nodes)) or range(len(file.nodes))
        name = dict(zip(file.nodes, labels, strict=True))
        nodes = {name[node]: file.with_defaults("node", data) for node, data in file.nodes.items()}
        edges = [(name[tail], name[head], file.with_defaults("edge", data)) for tail, head, data in file.edges]
        return domain_from_attributes(nodes, edges, crs=file.attributes["crs"], cost=cost)


def _plain_domain(file: _Graph, cost: str | None) -> Domain:
    named = (name for _, _, data in file.edges for name in data)
    occurring = dict.fromkeys(file.defaults["edge"]) | dict.fromkeys(named)
    if cost is None:
        cost = next((name for name in _USUAL_COSTS if name in occurring), None)
    if file.edges and (cost is None or cost not in occurring):
        known = ", ".join(name for name in islice(occurring, _MOST_NAMED) if _is_numeric(name, file)) or "none"
        wanted = "edges with " + " or ".join(_USUAL_COSTS) if cost is None else f"edges with {cost}"
        raise InvalidInputError("cost", f"{wanted}, or the name of another number that they have ({known})")
    number = {node: i for i, node in enumerate(file.nodes)}
    costs = []
    for tail, head, data in file.edges:
        try:
            costs.append(number_of_text(file.with_defaults("edge", data)[cost or ""]))
        except (KeyError, ValueError):
            got = data.get(cost or "", "none")
            raise InvalidInputError(f"edge {tail} -> {head}", f"a number as its {cost}", got) from None
    tails, heads = [number[tail] for tail, _, _ in file.edges], [number[head] for _, head, _ in file.edges]
    labels = labels_of_texts(list(file.nodes))
    coordinates = _coordinates([file.with_defaults("node", data) for data in file.nodes.values()])
    return Domain.from_edges(len(number), tails, heads, costs, labels=labels, coordinates=coordinates)


def _is_numeric(name: str, file: _Graph) -> bool:
    try:
        attributes = (file.defaults["edge"], *(data for _, _, data in file.edges))
        return bool([float(data[name]) for data in attributes if name in data])
    except ValueError:
        return False


def _coordinates(nodes: Sequence[Mapping[str, str]]) -> list[tuple[float, float]] | None:
    if not all("x" in data and "y" in data for data in nodes):
        return None
    try:
        return [(float(data["x"]), float(data["y"])) for data in nodes]
    except ValueError:
        raise InvalidInputError("nodes", "numbers as x and y") from None


@dataclass
class _Element:
    """An element that is still open."""

    kind: str
    attributes: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)  # what its parts said, by the names of the keys
    text: str | None = None  # what stands in it, before its first part
    has_parts: bool = False


class _Graph:
    """What a file holds: texts only, directed edges only. It is taken element by element: no tree stands in memory."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.attributes: dict[str, str] = {}
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[str, str, dict[str, str]]] = []
        # Not copied to every node and edge, for these may be many.
        self.defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}, "graph": {}}
        self._open = [_Element("", {})]
        self._names: dict[str, str] = {}
        self._is_directed = ""  # what the graph says of its edges: true or false
        self._read()
        if not self.nodes:
            raise FileFormatError(path, "no nodes; expected a GraphML file with a graph in it")
        for tail, head, _ in self.edges:
            for end in (tail, head):
                if end not in self.nodes:
                    raise FileFormatError(path, f"edge {tail[:40]} -> {head[:40]}: there is no node {end[:40]}")

    def with_defaults(self, kind: str, data: dict[str, str]) -> ChainMap[str, str]:
        """What is said of a node or an edge, and what is said of all where it is silent."""
        return ChainMap(data, self.defaults[kind])

    def _read(self) -> None:
        """Read it all; entities, with which a few bytes can stand for gigabytes or for other files, are refused."""
        raw = read_bytes(self.path)
        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._take
        parser.EntityDeclHandler = self._refuse_entity
        try:
            parser.Parse(raw, True)
        except InvalidInputError:
            raise
        except expat.ExpatError as error:
            raise FileFormatError(self.path, "not valid XML; check that it is complete", error.lineno) from None
        except (LookupError, ValueError):
            raise FileFormatError(self.path, "not GraphML; check that it is the right file") from None

    def _refuse_entity(self, *_: Any) -> None:
        raise FileFormatError(self.path, "declares entities, which are not read; save it again without")

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition("}")[2]
        self._open[-1].has_parts = True
        self._open.append(_Element(kind, attributes))
        if len(self._open) > _DEEPEST:
            raise FileFormatError(self.path, f"nested more than {_DEEPEST} deep; expected GraphML")
        if kind == "hyperedge":
            raise FileFormatError(self.path, "hyperedges cannot be read; expected edges between two nodes")
        if kind == "graph":
            if self._is_directed:
                raise FileFormatError(self.path, "several graphs, or one within another; expected one")
            self._is_directed = "true" if attributes.get("edgedefault") == "directed" else "false"

    def _take(self, text: str) -> None:
        top = self._open[-1]
        if top.kind in ("data", "default") and not top.has_parts:
            top.text = (top.text or "") + text

    def _end(self, _: str) -> None:
        done = self._open.pop()
        about, data = done.attributes, done.data
        match done.kind:
            case "data" if done.text is not None:
                key = about.get("key", "")
                self._open[-1].data[self._names.get(key, key)] = done.text.strip()
            case "default" if done.text is not None:
                self._open[-1].data.setdefault("default", done.text.strip())
            case "key":
                name = self._names[about.get("id", "")] = about.get("attr.name", about.get("id", ""))
                for owner, known in self.defaults.items():
                    if "default" in data and about.get("for", "all") in (owner, "all"):
                        known[name] = data["default"]
            case "node":
                self.nodes[about.get("id", "")] = data
            case "edge" if self._open[-1].kind == "graph":
                tail, head = about.get("source", ""), about.get("target", "")
                self.edges.append((tail, head, data))
                if (about.get("directed") or self._is_directed) != "true":
                    self.edges.append((head, tail, data))
            case "graph":
                self.attributes = self.defaults["graph"] | data
