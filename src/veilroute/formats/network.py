"""Network files: a domain by itself, without trips and candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veilroute.domain.codec import domain_from_dict, domain_to_dict
from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.formats.dimacs import read_dimacs
from veilroute.formats.edge_list import read_edge_list
from veilroute.formats.graphml import read_graphml
from veilroute.formats.network_cache import FORMAT, read_network_cache, write_network_cache
from veilroute.formats.osm import is_osm_name
from veilroute.jsontext import dump_canonical, parse_json, read_bytes
from veilroute.streets.network import StreetNetwork

READABLE = (".json", ".npz", ".graphml", ".gr", ".csv")
"""What the names of network files end with; a ``.gr`` may also be a ``.gr.gz``."""

WRITABLE = (".json", ".npz")
"""What networks can be written as."""


def read_network(path: str | Path, *, cost: str | None = None) -> Domain:
    """Read a network: one written by :func:`write_network`, or a graph from elsewhere.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` of :func:`write_network`, a ``.graphml``, a ``.gr`` of the DIMACS challenge (also as
        ``.gr.gz``), or a ``.csv`` of edges.
    cost
        What edges cost, ``seconds`` or ``metres``, where the file leaves it open: for ``.gr`` and for a ``.graphml``,
        for which it may also be the name of an attribute.
    """
    suffix = network_suffix(path)
    if cost is not None and suffix not in (".graphml", ".gr"):
        raise InvalidInputError("cost", f"nothing: a {suffix} file says what its costs are", cost)
    match suffix:
        case ".json":
            return network_from_data(parse_json(read_bytes(path), path), path)
        case ".npz":
            return read_network_cache(path)
        case ".graphml":
            # OSMnx's names of the two.
            attribute = {"seconds": "travel_time", "metres": "length"}
            return read_graphml(path, cost=None if cost is None else attribute.get(cost, cost))
        case ".gr":
            return read_dimacs(path, unit=cost)
        case _:
            return read_edge_list(path)


def write_network(network: StreetNetwork | Domain, path: str | Path) -> None:
    """Write a network as ``.json``, with its report where it has one, or as ``.npz``, which loads much faster."""
    domain = network.domain if isinstance(network, StreetNetwork) else network
    match Path(path).suffix:
        case ".json":
            data: dict[str, Any] = {"format": FORMAT, "domain": domain_to_dict(domain)}
            if isinstance(network, StreetNetwork):
                data["report"] = network.report.to_dict()
            Path(path).write_bytes(dump_canonical(data))
        case ".npz":
            write_network_cache(domain, path)
        case suffix:
            raise UnknownMethodError("network format", suffix or str(path), WRITABLE)


def network_from_data(data: Any, path: str | Path) -> Domain:
    """The domain in the parsed JSON of a network file."""
    if not is_network_data(data):
        raise FileFormatError(path, f"not a veilroute network; expected a JSON object with format {FORMAT}")
    try:
        return domain_from_dict(data.get("domain"))
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


def is_network_data(data: Any) -> bool:
    """Whether parsed JSON says that it is a network."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def network_suffix(path: str | Path) -> str:
    """Which of the readable formats a file's name stands for."""
    name = Path(path).name.lower()
    if is_osm_name(path):
        raise FileFormatError(path, "a map, not yet a network; make one of it with `veilroute streets`")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in READABLE or (name.endswith(".gz") and suffix != ".gr"):
        raise UnknownMethodError("network format", Path(path).suffix or str(path), READABLE)
    return suffix
