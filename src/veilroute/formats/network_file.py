"""Network files: a domain by itself, without trips and candidates, in any of the formats.

Our own are ``.json`` and ``.npz``, which loads many times faster. The latter is an uncompressed zip archive:
``about.json`` says what it is, and each array is a ``.npy`` of its own, so that numpy reads it as well. Equal domains
give equal bytes.
"""

import io
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.base.checks import check_list
from veilroute.base.errors import FileFormatError, InvalidInputError, UnknownMethodError, blame_file
from veilroute.base.io import dump_canonical, parse_json, read_bytes, write_file
from veilroute.domain.codec import domain_from_dict, domain_to_dict
from veilroute.domain.geography import street_domain
from veilroute.domain.graph import Domain
from veilroute.domain.turns import also_from_list, turns_from_dict, with_rules
from veilroute.formats.dimacs import read_dimacs
from veilroute.formats.graphml import read_graphml
from veilroute.formats.osm import is_osm_name
from veilroute.formats.tables import read_edge_list
from veilroute.streets.addresses import AddressBook
from veilroute.streets.network import StreetNetwork

FORMAT = "veilroute-network/1"

READABLE = (".json", ".npz", ".graphml", ".gr", ".csv", ".xlsx")
"""What the names of network files end with; a ``.gr`` may also be a ``.gr.gz``."""

WRITABLE = (".json", ".npz")  #: what networks can be written as
Array = npt.NDArray[Any]

_KINDS = {
    "indptr": "<u4", "indices": "<u4", "costs": "<f8", "labels": "<i8", "coordinates": "<f8", "lonlat": "<f8",
    "lengths": "<f8", "name_ids": "<i4", "kind_ids": "<i4", "shape_ptr": "<i8", "shape": "<f8", "shortest": "<f8",
}  # fmt: skip
_ADDRESSES = "addresses.json"  # a part of an .npz that not every one has
# What numpy writes above an array; its own reader takes headers for Python code.
_HEADER = re.compile(r"{'descr': '([<|]\w\d)', 'fortran_order': False, 'shape': \(([\d, ]{1,40})\), } *\n", re.ASCII)
_STREET_TEXTS = ("unit", "names", "kinds", "attribution")
_STREET_ARRAYS = ("lonlat", "lengths", "name_ids", "kind_ids", "shape_ptr", "shape", "shortest")


def read_network(
    path: str | Path,
    *,
    cost: str | None = None,
    oneway: bool | None = None,
    tell: Callable[[str], None] | None = None,
) -> Domain:
    """Read a network: one written by :func:`write_network`, or a graph from elsewhere.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` of :func:`write_network`, a ``.graphml``, a ``.gr`` of the DIMACS challenge (also as
        ``.gr.gz``), or a ``.csv`` or ``.xlsx`` of edges.
    cost
        What edges cost, ``seconds`` or ``metres``, where the file leaves it open: for ``.gr`` and for a ``.graphml``,
        for which it may also be the name of an attribute.
    oneway, tell
        For a table of edges, as :func:`~veilroute.formats.read_edge_list` takes them.
    """
    suffix = network_suffix(path)
    if cost is not None and suffix not in (".graphml", ".gr"):
        raise InvalidInputError("cost", f"nothing: a {suffix} file says what its costs are", cost)
    if oneway is not None and suffix not in (".csv", ".xlsx"):
        raise InvalidInputError("oneway", f"nothing: a {suffix} file says which streets are one-way")
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
            return read_edge_list(path, oneway=oneway, tell=tell)


def write_network(network: StreetNetwork | Domain, path: str | Path, *, addresses: AddressBook | None = None) -> None:
    """Write a network as ``.json``, with its report where it has one, or as ``.npz``, which loads much faster.

    The ``addresses`` of its map go along where they are given; :func:`read_addresses` reads them.
    """
    domain = network.domain if isinstance(network, StreetNetwork) else network
    match Path(path).suffix.lower():
        case ".json":
            data: dict[str, Any] = {"format": FORMAT, "domain": domain_to_dict(domain)}
            if isinstance(network, StreetNetwork):
                data["report"] = network.report.to_dict()
            if addresses is not None and addresses.entries:
                data["addresses"] = addresses.to_dict()
            write_file(path, dump_canonical(data))
        case ".npz":
            write_network_cache(domain, path, addresses=addresses)
        case suffix:
            raise UnknownMethodError("network format", suffix or str(path), WRITABLE)


def read_addresses(path: str | Path) -> AddressBook:
    """The addresses in a network file of :func:`write_network`; none where it has none, or is of another format."""
    match network_suffix(path):
        case ".json":
            data = parse_json(read_bytes(path), path)
            given = data.get("addresses") if isinstance(data, dict) else None
        case ".npz":
            try:
                with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
                    is_there = _ADDRESSES in archive.namelist()
                    given = parse_json(_stored(archive, _ADDRESSES), path) if is_there else None
            except zipfile.BadZipFile:
                raise FileFormatError(path, "damaged, or no .npz file; make it again") from None
        case _:
            given = None
    with blame_file(path):
        return AddressBook() if given is None else AddressBook.from_dict(given)


def network_from_data(data: Any, path: str | Path) -> Domain:
    """The domain in the parsed JSON of a network file."""
    if not is_network_data(data):
        raise FileFormatError(path, f"not a veilroute network; expected a JSON object with format {FORMAT}")
    with blame_file(path):
        return domain_from_dict(data.get("domain"))


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


def write_network_cache(domain: Domain, path: str | Path, *, addresses: AddressBook | None = None) -> None:
    """Write a graph or street network as ``.npz``; a grid is refused, for its ``.map`` is small already."""
    if domain.grid is not None:
        raise InvalidInputError("domain", "a graph or street network; write a grid as .map")
    arrays: dict[str, Array] = {"indptr": domain.indptr, "indices": domain.indices, "costs": domain.costs}
    about: dict[str, Any] = {"format": FORMAT, "sha256": domain.sha256}
    if domain.labels is not None:
        if all(isinstance(label, int) for label in domain.labels):
            arrays["labels"] = np.array(domain.labels, dtype=np.int64)
        else:
            about["labels"] = list(domain.labels)
    if domain.coordinates is not None:
        arrays["coordinates"] = domain.coordinates
    if domain.streets is not None:
        arrays |= {name: getattr(domain.streets, name) for name in _STREET_ARRAYS}
        about["streets"] = {name: getattr(domain.streets, name) for name in _STREET_TEXTS}
    if domain.turns is not None:
        about["turns"] = domain.turns.to_dict()
    if domain.also:
        about["also"] = [list(pair) for pair in domain.also]
    about["arrays"] = list(arrays)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        _add(archive, "about.json", dump_canonical(about))
        for name, values in arrays.items():
            kind = "<i8" if values.dtype.kind == "i" and name == "costs" else _KINDS[name]
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(values, dtype=kind), version=(1, 0))
            _add(archive, f"{name}.npy", data.getvalue())
        if addresses is not None and addresses.entries:
            _add(archive, _ADDRESSES, dump_canonical(addresses.to_dict()))
    write_file(path, packed.getvalue())


def read_network_cache(path: str | Path) -> Domain:
    """Read what :func:`write_network_cache` wrote.

    The checksum of every part and the hash of the domain are compared, and every array is checked: a file that is
    damaged, or that another program made, is a graph or an error, never a wrong graph.
    """
    raw = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            about = _about(archive, path)
            domain = _domain(about, {name: _array(archive, name) for name in about["arrays"]})
    except FileFormatError:
        raise
    except InvalidInputError as error:
        raise FileFormatError(path, f"damaged: {error}; make it again") from None
    except (zipfile.BadZipFile, EOFError, KeyError, OSError, RuntimeError, TypeError, ValueError, struct.error):
        # What the standard library and numpy raise for archives and headers that are cut off or scrambled.
        raise FileFormatError(path, "damaged, or no .npz file; make it again") from None
    if domain.sha256 != about.get("sha256"):
        raise FileFormatError(path, "damaged: the graph in it has another hash than it should; make it again")
    return domain


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # ZipInfo has a fixed date of its own, but takes the rest from the system.
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _about(archive: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    about = parse_json(_stored(archive, "about.json"), path) if "about.json" in archive.namelist() else None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FileFormatError(path, f"not a network written by veilroute; expected about.json with format {FORMAT}")
    listed = about.get("arrays")
    _check("arrays", isinstance(listed, list) and all(isinstance(name, str) and name in _KINDS for name in listed))
    _check("arrays", len(set(about["arrays"])) == len(about["arrays"]))
    return about


def _stored(archive: zipfile.ZipFile, name: str) -> bytes:
    # Without compression no part can be larger than the file, whatever its header says.
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise InvalidInputError(name, "a part stored without compression")
    return archive.read(name)


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    data = _stored(archive, f"{name}.npy")
    if data[:8] != b"\x93NUMPY\x01\x00":
        raise InvalidInputError(f"{name}.npy", "an array in version 1.0 of the format")
    body = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:body].decode("latin-1"))
    wanted = ("<f8", "<i8") if name == "costs" else (_KINDS[name],)
    if header is None or header[1] not in wanted:
        raise InvalidInputError(f"{name}.npy", f"numbers of type {wanted[0]} in rows")
    kind = np.dtype(header[1])
    shape = tuple(int(part) for part in header[2].split(",") if part.strip())
    values = np.frombuffer(data, dtype=kind, offset=body).reshape(shape)
    return values.astype(kind.newbyteorder("="))  # a copy: kernels are compiled for arrays that may be written


def _domain(about: dict[str, Any], arrays: dict[str, Array]) -> Domain:
    """The domain, built and checked as any other; here only what is not looked at there, or repaired."""
    indptr, indices, costs = (_named(arrays, name, 1) for name in ("indptr", "indices", "costs"))
    num_nodes, num_edges = indptr.size - 1, indices.size
    _check("indptr", num_nodes >= 1 and int(indptr[0]) == 0 and int(indptr[-1]) == num_edges)
    _check("indptr", bool((indptr[1:] >= indptr[:-1]).all()))
    tails = np.repeat(np.arange(num_nodes), (indptr[1:] - indptr[:-1]).astype(np.int64))
    _check("indices", num_edges == 0 or int(indices.max()) < num_nodes)
    _check("indices", not bool((indices == tails).any()))
    _check("indices", bool(((indices[1:] > indices[:-1]) | (tails[1:] != tails[:-1])).all()))
    labels = _named(arrays, "labels", 1).tolist() if "labels" in arrays else about.get("labels")
    if labels is not None:
        check_list("labels", labels)
    coordinates = arrays.get("coordinates")
    turns = turns_from_dict(about["turns"]) if "turns" in about else None
    also = also_from_list(about.get("also", []))
    if "streets" not in about:
        plain = Domain.from_edges(num_nodes, tails, indices, costs, labels=labels, coordinates=coordinates)
        return with_rules(plain, turns, also)
    streets = about["streets"]
    _check("streets", isinstance(streets, dict) and set(streets) == set(_STREET_TEXTS))
    _check("streets", isinstance(streets["names"], list) and isinstance(streets["kinds"], list))
    given: dict[str, Any] = {
        name: _named(arrays, name, 2 if name in ("lonlat", "shape") else 1) for name in _STREET_ARRAYS
    }
    domain = street_domain(
        tails=tails, heads=indices, costs=costs, labels=labels, turns=turns, also=also, **given, **streets
    )
    _check("lonlat", domain.num_nodes == num_nodes)
    assert domain.coordinates is not None
    _check("coordinates", coordinates is not None and np.array_equal(coordinates, domain.coordinates))
    return domain


def _named(arrays: dict[str, Array], name: str, num_axes: int) -> Array:
    _check(name, name in arrays and arrays[name].ndim == num_axes)
    return arrays[name]


def _check(part: str, is_good: bool) -> None:
    if not is_good:
        raise InvalidInputError(part, "what write_network_cache writes")
