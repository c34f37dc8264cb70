"""Domains as plain data, for instance files and playbooks."""

from __future__ import annotations

from typing import Any

from veilroute.domain.graph import Domain
from veilroute.domain.grid import grid_domain
from veilroute.domain.streets import street_domain_from_dict, streets_to_dict
from veilroute.errors import InvalidInputError


def domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Plain data from which :func:`domain_from_dict` rebuilds the domain."""
    if domain.grid is not None:
        return {"grid": {"map": domain.grid.rows(), "movement": domain.grid.movement}}
    tails, heads, costs = domain.edge_arrays()
    graph: dict[str, Any] = {
        "num_nodes": domain.num_nodes,
        "edges": [list(edge) for edge in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)],
    }
    if domain.streets is not None:
        graph["streets"] = streets_to_dict(domain.streets)
    elif domain.coordinates is not None:
        graph["coordinates"] = domain.coordinates.tolist()
    if domain.labels is not None:
        graph["labels"] = list(domain.labels)
    return {"graph": graph}


def domain_from_dict(data: Any) -> Domain:
    """Build a domain from ``{"grid": ...}`` or ``{"graph": ...}``."""
    match data:
        case {"grid": {"map": list(rows)} as grid}:
            if not all(isinstance(row, str) for row in rows):
                raise InvalidInputError("domain.grid.map", "rows of text")
            return grid_domain(rows, movement=grid.get("movement", 4))
        case {"graph": {"num_nodes": num_nodes, "edges": list(edges)} as graph}:
            return _graph_from_edges(num_nodes, edges, graph)
    raise InvalidInputError(
        "domain",
        '{"grid": {"map", "movement"}} or {"graph": {"num_nodes", "edges"}}',
        data if data else "nothing",
    )


def _graph_from_edges(num_nodes: Any, edges: list[Any], options: dict[str, Any]) -> Domain:
    for number, edge in enumerate(edges):
        if not (isinstance(edge, list) and len(edge) == 3 and all(_is_number(part) for part in edge)):
            raise InvalidInputError(f"domain.graph.edges[{number}]", "[tail, head, cost] with a numeric cost", edge)
    labels = options.get("labels")
    if labels is not None and not isinstance(labels, list):
        raise InvalidInputError("domain.graph.labels", "a list with one label per node", labels)
    tails, heads, costs = [edge[0] for edge in edges], [edge[1] for edge in edges], [edge[2] for edge in edges]
    if not all(isinstance(node, int) for ends in (tails, heads) for node in ends):
        # Cut off, 3.9 would be read as 3 here and as another node elsewhere.
        raise InvalidInputError("domain.graph.edges", "tails and heads that are whole numbers")
    if "streets" in options:
        domain = street_domain_from_dict(options["streets"], tails, heads, costs, labels)
        if domain.num_nodes != num_nodes:
            raise InvalidInputError("streets.lonlat", f"one place for each of {num_nodes} nodes", domain.num_nodes)
        return domain
    return Domain.from_edges(
        num_nodes,
        tails,
        heads,
        costs,
        labels=labels,
        coordinates=options.get("coordinates"),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
