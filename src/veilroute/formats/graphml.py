"""GraphML (``.graphml``), as saved by OSMnx, networkx and others."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError
from veilroute.formats.osmnx import domain_from_attributes
from veilroute.formats.words import labels_of_texts, number_of_text
from veilroute.jsontext import read_bytes

_USUAL_COSTS = ("weight", "cost", "length")
_DEEPEST = 100
_MOST_NAMED = 20


def read_graphml(path: str | Path, *, cost: str | None = None) -> Domain:
    """Read a graph from GraphML; undirected edges count in both directions.

    A file saved by OSMnx (one with a ``crs``) becomes a street network as with
    :func:`~veilroute.formats.osmnx.domain_from_osmnx`. Any other becomes a plain graph: the ids of its nodes are the
    labels, as integers where all of them are, and ``x`` and ``y`` the coordinates where every node has them.

    Parameters
    ----------
    path
        The file.
    cost
        Which attribute of the edges is the cost. In a file saved by OSMnx ``length`` or ``travel_time``, by default
        the latter where every edge has it; in others the first of ``weight``, ``cost`` and ``length`` that occurs.
    """
    file = _parse(path)
    try:
        if "crs" not in file.attributes:
            return _plain_domain(file, cost)
        labels = labels_of_texts(list(file.nodes))
        name = dict(zip(file.nodes, range(len(file.nodes)) if labels is None else labels, strict=True))
        nodes = {name[node]: ChainMap(data, file.node_defaults) for node, data in file.nodes.items()}
        edges = [(name[tail], name[head], ChainMap(data, file.edge_defaults)) for tail, head, data in file.edges]
        return domain_from_attributes(nodes, edges, crs=file.attributes["crs"], cost=cost)
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


@dataclass
class _Graph:
    """What a file holds: texts only, directed edges only."""

    attributes: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    node_defaults: dict[str, str] = field(default_factory=dict)
    edge_defaults: dict[str, str] = field(default_factory=dict)
    """Not copied to every edge, for they may be many."""


def _plain_domain(file: _Graph, cost: str | None) -> Domain:
    occurring = dict.fromkeys(file.edge_defaults) | dict.fromkeys(name for _, _, data in file.edges for name in data)
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
            costs.append(number_of_text(ChainMap(data, file.edge_defaults)[cost or ""]))
        except (KeyError, ValueError):
            got = data.get(cost or "", "none")
            raise InvalidInputError(f"edge {tail} -> {head}", f"a number as its {cost}", got) from None
    return Domain.from_edges(
        len(number),
        [number[tail] for tail, _, _ in file.edges],
        [number[head] for _, head, _ in file.edges],
        costs,
        labels=labels_of_texts(list(file.nodes)),
        coordinates=_coordinates([ChainMap(data, file.node_defaults) for data in file.nodes.values()]),
    )


def _is_numeric(name: str, file: _Graph) -> bool:
    try:
        return bool([float(data[name]) for data in (file.edge_defaults, *(e[2] for e in file.edges)) if name in data])
    except ValueError:
        return False


def _coordinates(nodes: Sequence[Mapping[str, str]]) -> list[tuple[float, float]] | None:
    if not all("x" in data and "y" in data for data in nodes):
        return None
    try:
        return [(float(data["x"]), float(data["y"])) for data in nodes]
    except ValueError:
        raise InvalidInputError("nodes", "numbers as x and y") from None


def _parse(path: str | Path) -> _Graph:
    file = _Graph()
    reader = _Reader(file, path)
    try:
        reader.read(read_bytes(path))
    except expat.ExpatError as error:
        raise FileFormatError(path, "not valid XML; check that it is complete", error.lineno) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise FileFormatError(path, "not GraphML; check that it is the right file") from None
    if not file.nodes:
        raise FileFormatError(path, "no nodes; expected a GraphML file with a graph in it")
    for tail, head, _ in file.edges:
        for end in (tail, head):
            if end not in file.nodes:
                raise FileFormatError(path, f"edge {tail[:40]} -> {head[:40]}: there is no node {end[:40]}")
    return file


@dataclass
class _Element:
    """An element that is still open."""

    kind: str
    attributes: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)
    """What its parts said, by the names of the keys."""
    text: str | None = None
    """What stands in it before its first part."""
    has_parts: bool = False


class _Reader:
    """Takes a file element by element, so that no tree of it need stand in memory."""

    def __init__(self, file: _Graph, path: str | Path) -> None:
        self.file, self.path = file, path
        self.open = [_Element("", {})]
        self.names: dict[str, str] = {}
        self.defaults: dict[str, dict[str, str]] = {"node": file.node_defaults, "edge": file.edge_defaults, "graph": {}}
        self.waiting: list[tuple[str, str, str | None, dict[str, str]]] = []
        self.has_graph = False

    def read(self, raw: bytes) -> None:
        """Read it all; entities, with which a few bytes can stand for gigabytes or for other files, are refused."""
        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self.begin
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.take
        parser.EntityDeclHandler = self.refuse_entity
        parser.Parse(raw, True)

    def refuse_entity(self, *_: Any) -> None:
        raise FileFormatError(self.path, "declares entities, which are not read; save it again without")

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self.open[-1].has_parts = True
        self.open.append(_Element(tag.rpartition("}")[2], attributes))
        if len(self.open) > _DEEPEST:
            raise FileFormatError(self.path, f"nested more than {_DEEPEST} deep; expected GraphML")
        if self.open[-1].kind == "hyperedge":
            raise FileFormatError(self.path, "hyperedges cannot be read; expected edges between two nodes")

    def take(self, text: str) -> None:
        top = self.open[-1]
        if top.kind in ("data", "default") and not top.has_parts:
            top.text = (top.text or "") + text

    def end(self, _: str) -> None:
        done = self.open.pop()
        about, data = done.attributes, done.data
        match done.kind:
            case "data" if done.text is not None:
                key = about.get("key", "")
                self.open[-1].data[self.names.get(key, key)] = done.text.strip()
            case "default" if done.text is not None:
                self.open[-1].data.setdefault("default", done.text.strip())
            case "key":
                name = self.names[about.get("id", "")] = about.get("attr.name", about.get("id", ""))
                for owner, known in self.defaults.items():
                    if "default" in data and about.get("for", "all") in (owner, "all"):
                        known[name] = data["default"]
            case "node":
                self.file.nodes[about.get("id", "")] = data
            case "edge":
                self.waiting.append((about.get("source", ""), about.get("target", ""), about.get("directed"), data))
            case "graph":
                self._end_graph(about, data)

    def _end_graph(self, about: dict[str, str], data: dict[str, str]) -> None:
        if self.has_graph:
            raise FileFormatError(self.path, "several graphs, or one within another; expected one")
        self.has_graph = True
        self.file.attributes = self.defaults["graph"] | data
        usual = "true" if about.get("edgedefault") == "directed" else "false"
        for tail, head, directed, own in self.waiting:
            self.file.edges.append((tail, head, own))
            if (directed or usual) != "true":
                self.file.edges.append((head, tail, own))
