"""GraphML (``.graphml``), as saved by OSMnx, networkx and others."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections import ChainMap
from collections.abc import Mapping
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
_MOST_KEYS = 250  # files of OSMnx have some thirty
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
        nodes = {name[node]: data for node, data in file.nodes.items()}
        edges = [(name[tail], name[head], data) for tail, head, data in file.edges]
        return domain_from_attributes(nodes, edges, crs=file.attributes["crs"], cost=cost)
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


@dataclass
class _Graph:
    """What a file holds: texts only, directed edges only."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    nodes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)


def _plain_domain(file: _Graph, cost: str | None) -> Domain:
    occurring = dict.fromkeys(name for _, _, data in file.edges for name in data)
    if cost is None:
        cost = next((name for name in _USUAL_COSTS if name in occurring), None)
    if file.edges and (cost is None or cost not in occurring):
        known = ", ".join(name for name in islice(occurring, _MOST_NAMED) if _is_numeric(name, file.edges)) or "none"
        wanted = "edges with " + " or ".join(_USUAL_COSTS) if cost is None else f"edges with {cost}"
        raise InvalidInputError("cost", f"{wanted}, or the name of another number that they have ({known})")
    number = {node: i for i, node in enumerate(file.nodes)}
    costs = []
    for tail, head, data in file.edges:
        try:
            costs.append(number_of_text(data[cost or ""]))
        except (KeyError, ValueError):
            got = data.get(cost or "", "none")
            raise InvalidInputError(f"edge {tail} -> {head}", f"a number as its {cost}", got) from None
    return Domain.from_edges(
        len(number),
        [number[tail] for tail, _, _ in file.edges],
        [number[head] for _, head, _ in file.edges],
        costs,
        labels=labels_of_texts(list(file.nodes)),
        coordinates=_coordinates(file.nodes),
    )


def _is_numeric(name: str, edges: list[tuple[str, str, Mapping[str, str]]]) -> bool:
    try:
        return bool([float(data[name]) for _, _, data in edges if name in data])
    except ValueError:
        return False


def _coordinates(nodes: Mapping[str, Mapping[str, str]]) -> list[tuple[float, float]] | None:
    if not all("x" in data and "y" in data for data in nodes.values()):
        return None
    try:
        return [(float(data["x"]), float(data["y"])) for data in nodes.values()]
    except ValueError:
        raise InvalidInputError("nodes", "numbers as x and y") from None


def _parse(path: str | Path) -> _Graph:
    file = _Graph()
    try:
        _fill(file, path)
    except ET.ParseError as error:
        raise FileFormatError(path, "not valid XML; check that it is complete", error.position[0]) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise FileFormatError(path, "not GraphML; check that it is the right file") from None
    if not file.nodes:
        raise FileFormatError(path, "no nodes; expected a GraphML file with a graph in it")
    for tail, head, _ in file.edges:
        for end in (tail, head):
            if end not in file.nodes:
                raise FileFormatError(path, f"edge {tail} -> {head}: there is no node {end}")
    return file


def _fill(file: _Graph, path: str | Path) -> None:
    """Read element by element, so that a large file need not stand in memory as a tree."""
    names: dict[str, str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}, "graph": {}}
    edges: list[tuple[str, str, str | None, Mapping[str, str]]] = []
    has_graph = False
    raw = read_bytes(path)
    _refuse_entities(raw, path)
    for _, element in ET.iterparse(io.BytesIO(raw)):
        match _kind(element):
            case "data":
                continue
            case "key":
                _add_key(element, names, defaults)
                if len(names) > _MOST_KEYS:
                    raise FileFormatError(path, f"more than {_MOST_KEYS} keys; leave out those that are not needed")
            case "node":
                file.nodes[element.get("id", "")] = _data(element, names, defaults["node"])
                element.clear()
            case "edge":
                ends = element.get("source", ""), element.get("target", "")
                edges.append((*ends, element.get("directed"), _data(element, names, defaults["edge"])))
                element.clear()
            case "graph":
                if has_graph:
                    raise FileFormatError(path, "several graphs, or one within another; expected one")
                has_graph = True
                file.attributes = _data(element, names, defaults["graph"])
                usual = "true" if element.get("edgedefault") == "directed" else "false"
                for tail, head, directed, data in edges:
                    file.edges.append((tail, head, data))
                    if (directed or usual) != "true":
                        file.edges.append((head, tail, data))
            case "hyperedge":
                raise FileFormatError(path, "hyperedges cannot be read; expected edges between two nodes")


def _kind(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _refuse_entities(raw: bytes, path: str | Path) -> None:
    """Raise where a file declares entities, with which a few bytes can stand for gigabytes, or for other files."""

    def refuse(*_: Any) -> None:
        raise FileFormatError(path, "declares entities, which are not read; save it again without")

    if b"!" in raw:
        reader = expat.ParserCreate()
        reader.EntityDeclHandler = refuse
        try:
            reader.Parse(raw, True)
        except expat.ExpatError as error:
            raise FileFormatError(path, "not valid XML; check that it is complete", error.lineno) from None


def _data(element: ET.Element, names: dict[str, str], defaults: dict[str, str]) -> Mapping[str, str]:
    """What an element says of itself, by the names of its keys; the defaults are shared, for they may be many."""
    found = {}
    for part in element:
        if part.text is not None and _kind(part) == "data":
            key = part.get("key", "")
            found[names.get(key, key)] = part.text.strip()
    return ChainMap(found, defaults) if defaults else found


def _add_key(element: ET.Element, names: dict[str, str], defaults: dict[str, dict[str, str]]) -> None:
    name = names[element.get("id", "")] = element.get("attr.name", element.get("id", ""))
    default = next((part.text for part in element if _kind(part) == "default"), None)
    for owner in defaults:
        if default is not None and element.get("for", "all") in (owner, "all"):
            defaults[owner][name] = default.strip()
