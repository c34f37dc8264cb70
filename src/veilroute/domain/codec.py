"""Domains as plain data, for instance files and playbooks."""

from itertools import pairwise
from typing import Any

import numpy as np

from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import Streets, street_domain
from veilroute.domain.graph import Domain
from veilroute.domain.grid import Anchor, grid_domain
from veilroute.domain.turns import also_from_list, turns_from_dict, with_rules

_STREET_FIELDS = ("unit", "lonlat", "lengths", "names", "name_ids", "kinds", "kind_ids", "attribution", "shortest")


def domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Plain data from which :func:`domain_from_dict` rebuilds the domain."""
    if domain.grid is not None:
        grid: dict[str, Any] = {"map": domain.grid.rows(), "movement": domain.grid.movement}
        if (anchor := domain.grid.anchor) is not None:
            grid |= {"origin": [anchor.lat, anchor.lon], "cell": anchor.cell_m}
        return {"grid": grid}
    tails, heads, costs = domain.edge_arrays()
    graph: dict[str, Any] = {
        "num_nodes": domain.num_nodes,
        "edges": [list(edge) for edge in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)],
    }
    if domain.streets is not None:
        graph["streets"] = _streets_to_dict(domain.streets)
    elif domain.coordinates is not None:
        graph["coordinates"] = domain.coordinates.tolist()
    if domain.labels is not None:
        graph["labels"] = list(domain.labels)
    if domain.turns is not None:
        graph["turns"] = domain.turns.to_dict()
    if domain.also:
        graph["also"] = [list(pair) for pair in domain.also]
    return {"graph": graph}


def domain_from_dict(data: Any) -> Domain:
    """Build a domain from ``{"grid": ...}`` or ``{"graph": ...}``."""
    match data:
        case {"grid": {"map": list(rows)} as grid}:
            if not all(isinstance(row, str) for row in rows):
                raise InvalidInputError("domain.grid.map", "rows of text")
            return grid_domain(rows, movement=grid.get("movement", 4), anchor=anchor_from_dict(grid))
        case {"graph": {"num_nodes": num_nodes, "edges": list(edges)} as graph}:
            return _graph_from_edges(num_nodes, edges, graph)
    expected = '{"grid": {"map", "movement"}} or {"graph": {"num_nodes", "edges"}}'
    raise InvalidInputError("domain", expected, data if data else "nothing")


def anchor_from_dict(grid: dict[str, Any]) -> Anchor | None:
    """Where a grid lies on earth, by its ``origin`` and ``cell``; ``None`` where it has neither."""
    match grid.get("origin"), grid.get("cell"):
        case None, None:
            return None
        case [lat, lon], cell if cell is not None:
            return Anchor(lat, lon, cell)
    raise InvalidInputError(
        "grid.origin", "[latitude, longitude] of the north-west corner, with cell in metres beside it"
    )


def _graph_from_edges(num_nodes: Any, edges: list[Any], options: dict[str, Any]) -> Domain:
    for number, edge in enumerate(edges):
        if not (isinstance(edge, list) and len(edge) == 3 and all(is_number(part) for part in edge)):
            raise InvalidInputError(f"domain.graph.edges[{number}]", "[tail, head, cost] with a numeric cost", edge)
    labels = options.get("labels")
    if labels is not None and not isinstance(labels, list):
        raise InvalidInputError("domain.graph.labels", "a list with one label per node", labels)
    tails, heads, costs = ([edge[i] for edge in edges] for i in range(3))
    if not all(isinstance(node, int) for ends in (tails, heads) for node in ends):
        # Cut off, 3.9 would be read as 3 here and as another node elsewhere.
        raise InvalidInputError("domain.graph.edges", "tails and heads that are whole numbers")
    if "streets" in options:
        domain = _streets_from_dict(options["streets"], tails, heads, costs, labels)
        if domain.num_nodes != num_nodes:
            raise InvalidInputError("streets.lonlat", f"one place for each of {num_nodes} nodes", domain.num_nodes)
    else:
        coordinates = options.get("coordinates")
        domain = Domain.from_edges(num_nodes, tails, heads, costs, labels=labels, coordinates=coordinates)
    turns = turns_from_dict(options["turns"]) if "turns" in options else None
    return with_rules(domain, turns, also_from_list(options.get("also", [])))


def _streets_to_dict(streets: Streets) -> dict[str, Any]:
    """Plain data; bends are a flat list of longitude, latitude, longitude ... per edge."""
    data = {name: getattr(streets, name) for name in _STREET_FIELDS}
    if np.array_equal(streets.shortest, streets.lengths):
        del data["shortest"]
    flat = streets.shape.reshape(-1).tolist()
    data["bends"] = [flat[first:last] for first, last in pairwise((2 * streets.shape_ptr).tolist())]
    lists = {name: value.tolist() for name, value in data.items() if isinstance(value, np.ndarray)}
    return data | lists | {"names": list(streets.names), "kinds": list(streets.kinds)}


def _streets_from_dict(data: Any, tails: list[Any], heads: list[Any], costs: list[Any], labels: Any) -> Domain:
    """Build a street network's domain from what :func:`_streets_to_dict` wrote, and the edges."""
    known = {*_STREET_FIELDS, "bends"}
    if not isinstance(data, dict) or not {"unit", "lonlat", "lengths"} <= set(data) <= known:
        raise InvalidInputError("domain.graph.streets", "an object with unit, lonlat and lengths", data)
    given = {name: data[name] for name in _STREET_FIELDS if name in data}
    bends = data.get("bends") or [[] for _ in tails]
    if not isinstance(bends, list) or not all(isinstance(line, list) and len(line) % 2 == 0 for line in bends):
        raise InvalidInputError("streets.bends", "one list of longitude, latitude, ... for each edge")
    flat = [part for line in bends for part in line]
    if not all(is_number(part) for part in flat):
        raise InvalidInputError("streets.bends", "longitudes and latitudes as numbers")
    try:
        return street_domain(
            tails=np.array(tails, dtype=np.int64),
            heads=np.array(heads, dtype=np.int64),
            costs=costs,
            labels=labels,
            shape_ptr=np.concatenate([[0], np.cumsum([len(line) // 2 for line in bends], dtype=np.int64)]),
            shape=np.array(flat, dtype=np.float64).reshape(-1, 2),
            **given,
        )
    except InvalidInputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("domain.graph.streets", "lists of numbers of equal length") from None
