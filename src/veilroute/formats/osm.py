"""OpenStreetMap files (``.osm.pbf``, ``.osm``, ``.osm.gz``, ``.osm.bz2``), read with osmium.

What osmium would notice too late, or not at all, is looked at first: whether a ``.pbf`` file is complete, which is a
row of blocks that say how long they are, and whether a file unpacks to far more than a map does. A file that was cut
exactly between two blocks cannot be told from a complete one.
"""

import bz2
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from veilroute.base.arrays import Floats, Ints
from veilroute.base.errors import FileFormatError, InvalidInputError, MissingExtraError, UnknownMethodError, blame_file
from veilroute.base.io import open_regular
from veilroute.base.run import ProgressCallback, Watch
from veilroute.domain.geography import UNITS
from veilroute.streets import rules
from veilroute.streets.network import StreetNetwork, build_network, refs_of, select_ways, turning_rules
from veilroute.streets.vehicles import Vehicle
from veilroute.streets.ways import Ways, WaysCollector

_LARGEST_HEADER, _LARGEST_BODY = 64 * 1024, 32 * 1024 * 1024
_MOST_FIELDS = 8  # a block has two or three
_KIND, _BODY_SIZE, _UNPACKED_SIZE = 1 << 3 | 2, 3 << 3, 2 << 3  # tags: of a header the first two, of a body the last
_MOST_GAIN, _FREE_BYTES = 50, 2**26  # maps as text grow about twelvefold, others about threefold
_FETCH = "download it again"
_NOT_PBF = "not an OpenStreetMap file in PBF format; check that it is the right one"
_BOMB = f"unpacks to more than {_MOST_GAIN} times its size, as no map does; {_FETCH}"

SUFFIXES = (".osm", ".osm.gz", ".osm.bz2", ".pbf")  #: what the names of OpenStreetMap files end with
_TELL_EVERY = 20_000
# A street takes more than 16 bytes of a file, and a node of it more than one, however well they are compressed.
_FREE_STREETS = 100_000


def read_osm(
    path: str | Path,
    *,
    network: str = "drive",
    cost: str = "seconds",
    service: bool = False,
    connected: bool = False,
    u_turns: str | None = None,
    u_turn_cost: float = 0.0,
    height: float | None = None,
    weight: float | None = None,
    length: float | None = None,
    progress: ProgressCallback | None = None,
) -> StreetNetwork:
    """Read the street network of an OpenStreetMap file; nodes keep the numbers that they have there.

    The file is read twice, ways before nodes, so that only the places of nodes that are needed are held.

    Parameters
    ----------
    path
        An ``.osm.pbf``, ``.osm``, ``.osm.gz`` or ``.osm.bz2`` file.
    network
        One of ``drive``, ``truck``, ``cycle`` and ``walk``.
    cost
        What edges cost: ``seconds`` or ``metres``.
    service
        Whether the networks drive and truck are to have service roads; the others always do.
    connected
        Whether to keep only the largest strongly connected component; of equally large ones that of the lowest
        number. What legal turns do not connect is left out as well.
    u_turns
        Where one may turn round: ``never``, at ``dead-ends``, or everywhere (``allow``). By default cars and trucks at
        dead ends, others everywhere.
    u_turn_cost
        How many seconds turning round takes.
    height, weight, length
        How large the vehicle of the network ``truck`` is, in metres, tonnes (loaded) and metres.
    progress
        Called with a :class:`~veilroute.base.run.Progress` now and then.
    """
    vehicle = Vehicle(height, weight, length)
    moving = rules.network_called(network, vehicle)
    if cost not in UNITS:
        raise UnknownMethodError("cost", cost, UNITS)
    turning_rules(moving, u_turns, u_turn_cost, unit=cost)
    watch = Watch(report=progress)
    check_osm_file(path)
    ways = _read_ways(path, watch)
    if not ways.num_read:
        raise FileFormatError(path, "the file has no ways, so no streets; check that it is a map, and complete")
    is_in = select_ways(ways, moving, service=service).is_in
    if not is_in.any():
        raise FileFormatError(path, f"the file has no ways for the network {network}; {_described(ways)}")
    needed = refs_of(ways, is_in)
    if not needed.size:
        raise FileFormatError(path, f"none of its {int(is_in.sum())} ways for the network {network} has nodes")
    numbers, places, barriers = read_node_places(path, needed, watch)
    if not numbers.size:
        missing = f"the nodes of all {int(is_in.sum())} ways are missing"
        raise FileFormatError(path, f"{missing}; extract the map again with complete ways")
    watch.tell("joining streets")
    ways = replace(ways, node_ids=numbers, lonlat=places, barriers=barriers)
    with blame_file(path):
        return build_network(
            ways,
            network=network,
            cost=cost,
            service=service,
            connected=connected,
            u_turns=u_turns,
            u_turn_cost=u_turn_cost,
            vehicle=vehicle,
        )


def is_osm_name(path: str | Path) -> bool:
    """Whether a file's name says that it is from OpenStreetMap."""
    return Path(path).name.lower().endswith(SUFFIXES)


def check_osm_file(path: str | Path) -> None:
    """Say in one line what osmium would say in many words, or not at all."""
    if not is_osm_name(path):
        raise UnknownMethodError("OpenStreetMap file", Path(path).name, tuple(f"*{suffix}" for suffix in SUFFIXES))
    with open_regular(path) as file:
        if not file.read(1):
            raise FileFormatError(path, "the file is empty; expected a map from OpenStreetMap")
    match Path(path).suffix.lower():
        case ".pbf":
            _check_blocks(path)
        case ".gz":
            _check_unpacked(path, gzip.GzipFile)
        case ".bz2":
            _check_unpacked(path, bz2.BZ2File)


def _check_unpacked(path: str | Path, unpack: type[gzip.GzipFile] | type[bz2.BZ2File]) -> None:
    """Raise where a compressed file unpacks to far more than a map does: some would keep osmium busy for hours."""
    most = _FREE_BYTES + _MOST_GAIN * Path(path).stat().st_size
    try:
        with unpack(Path(path)) as file:
            num_bytes = 0
            while block := file.read(2**20):
                num_bytes += len(block)
                if num_bytes > most:
                    raise FileFormatError(path, _BOMB)
    except (OSError, EOFError, zlib.error):
        raise FileFormatError(path, f"damaged or incomplete; {_FETCH}") from None


def _read_ways(path: str | Path, watch: Watch) -> Ways:
    osmium = _osmium()
    collector = WaysCollector(rules.KEYS)
    num_bytes = Path(path).stat().st_size
    num_streets = num_refs = 0
    with _reading(path):  # tags may turn out to be no text
        for thing in _things(path, osmium.osm.WAY | osmium.osm.RELATION):
            if thing.is_way():
                collector.num_read += 1
                if "highway" in thing.tags:
                    num_streets += 1
                    num_refs += len(thing.nodes)
                    if num_streets > _FREE_STREETS + num_bytes / 16 or num_refs > 10 * _FREE_STREETS + num_bytes:
                        too_many = f"more streets than a map of {num_bytes:,} bytes can hold"
                        raise FileFormatError(path, f"{too_many}; {_FETCH}")
                    collector.add_way(thing.id, [node.ref for node in thing.nodes], dict(thing.tags))
                if collector.num_read % _TELL_EVERY == 0:
                    watch.tell("reading ways", collector.num_read)
            elif thing.tags.get("type") == "restriction":
                members = [(member.role, member.type, member.ref) for member in thing.members]
                collector.add_restriction(thing.id, dict(thing.tags), members)
    return collector.pack()


class _Barriers(dict[int, dict[str, str]]):
    """The tags of the nodes that osmium hands over."""

    def node(self, node: Any) -> None:
        self[node.id] = dict(node.tags)


def read_node_places(path: str | Path, needed: Ints, watch: Watch) -> tuple[Ints, Floats, dict[int, dict[str, str]]]:
    """Of the needed nodes that the file has: the numbers, ascending, the places, and the tags of barriers."""
    watch.tell("reading places", 0, int(needed.size))
    osmium = _osmium()
    # Sixteen bytes for each node that is needed, sorted; other indexes of osmium need memory by the largest number.
    index = osmium.index.create_map("sparse_mem_array")
    barriers = _Barriers()
    with _reading(path):
        osmium.apply(
            osmium.io.Reader(_file(path), osmium.osm.NODE),
            osmium.filter.IdFilter(needed[needed >= 0].tolist()),
            osmium.NodeLocationsForWays(index),
            osmium.filter.KeyFilter("barrier"),
            barriers,
        )
    places: dict[int, tuple[float, float]] = {}
    for number in needed.tolist():
        with suppress(KeyError, TypeError):  # the latter where a number is below zero
            place = index.get(number)
            if place.valid():
                places[number] = (place.lon, place.lat)
    if needed[0] < 0:
        # Editors give such numbers to what is not uploaded yet, and the index does not hold them.
        for node in _things(path, osmium.osm.NODE):
            if node.id < 0 and node.location.valid():
                places[node.id] = (node.location.lon, node.location.lat)
    numbers = [number for number in needed.tolist() if number in places]
    lonlat = np.array([places[number] for number in numbers], dtype=np.float64).reshape(-1, 2)
    return np.array(numbers, dtype=np.int64), lonlat, barriers


def _things(path: str | Path, kinds: Any) -> Iterator[Any]:
    """What a file holds, one by one; each is gone when the next one comes."""
    with _reading(path):
        for thing in _osmium().FileProcessor(_file(path), kinds):
            if not thing.deleted:
                yield thing


def filtered_things(path: str | Path, *keys: str) -> Iterator[Any]:
    """The nodes and ways of a file that have one of these tags, one by one; each is gone when the next one comes."""
    with _reading(path):
        osmium = _osmium()
        wanted = osmium.filter.KeyFilter(*keys)
        for thing in osmium.FileProcessor(_file(path), osmium.osm.NODE | osmium.osm.WAY).with_filter(wanted):
            if not thing.deleted:
                yield thing


def _file(path: str | Path) -> Any:
    """What osmium is to open, with its format, which it would not know by a name in capitals."""
    name = Path(path).name.lower()
    return _osmium().io.File(str(path), next(suffix[1:] for suffix in SUFFIXES if name.endswith(suffix)))


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Turn what osmium says of a damaged file into one line."""
    try:
        yield
    except InvalidInputError:
        raise
    except (RuntimeError, ValueError, OverflowError, _osmium().InvalidLocationError) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(path, f"damaged, cut off or not a map from OpenStreetMap ({reason}); {_FETCH}") from None


def _described(ways: Ways) -> str:
    """What kinds of highway there are, in a few words."""
    kinds = [f"{kind} {count}" for kind, count in ways.count_kinds(np.ones(ways.num_ways, dtype=np.bool_))]
    if not kinds:
        return f"none of its {ways.num_read} ways has a highway tag"
    return f"it has {', '.join(kinds[:5])}" + (" and others" if len(kinds) > 5 else "")


def _osmium() -> Any:
    try:
        import osmium
    except ImportError:
        raise MissingExtraError("osmium", "streets") from None
    return osmium


def _check_blocks(path: str | Path) -> None:
    """Raise unless the blocks of a PBF file fill it exactly; reads only what says how long they are."""
    num_blocks = unpacked = 0
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        while (left := size - file.tell()) > 0:
            num_blocks += 1
            damaged = f"damaged: block {num_blocks} is none of OpenStreetMap's; {_FETCH}"
            not_ours = _NOT_PBF if num_blocks == 1 else damaged
            cut_off = f"truncated: it ends in the middle of block {num_blocks}, after {size:,} bytes; {_FETCH}"
            length = int.from_bytes(file.read(4), "big")
            if left >= 4 and not 0 < length <= _LARGEST_HEADER:
                raise FileFormatError(path, not_ours)
            if left < 4 + length:
                raise FileFormatError(path, cut_off)
            header = _fields(file, length) or {}
            body = header.get(_BODY_SIZE, -1)
            if header.get(_KIND) not in (b"OSMHeader", b"OSMData") or not 0 <= body <= _LARGEST_BODY:
                raise FileFormatError(path, not_ours)
            if left < 4 + length + body:
                raise FileFormatError(path, cut_off)
            fields = _fields(file, body)
            if fields is None:
                raise FileFormatError(path, damaged)
            unpacked += fields.get(_UNPACKED_SIZE, 0)  # osmium holds the block to it
            if unpacked > _FREE_BYTES + _MOST_GAIN * size:
                raise FileFormatError(path, _BOMB)


def _fields(file: BinaryIO, size: int) -> dict[int, Any] | None:
    """The numbers in a protobuf message of ``size`` bytes, and how its texts begin, by their tags.

    ``None`` where there is no such message, or one with more fields than a block has. Leaves the file behind it.
    """
    begin, spot = file.tell(), 0
    fields: dict[int, Any] = {}
    for _ in range(_MOST_FIELDS):
        if spot >= size:
            break
        file.seek(begin + spot)
        head = file.read(min(30, size - spot))
        tag, used = _varint(head, 0)
        value, used = _varint(head, used)
        spot += used
        if tag & 7 == 2:
            fields[tag] = head[used : used + min(value, 10)]
            spot += value
        elif tag == _BODY_SIZE:
            fields[tag] = value  # of several, osmium takes the last
        elif tag == _UNPACKED_SIZE:
            fields[tag] = max(value, fields.get(tag, 0))
        else:  # a block has no other numbers, and osmium may take another tag for one of these
            return None
    file.seek(begin + size)
    return fields if spot == size else None


def _varint(raw: bytes, spot: int) -> tuple[int, int]:
    value = shift = 0
    while spot < len(raw):
        value |= (raw[spot] & 127) << shift
        spot += 1
        if raw[spot - 1] < 128:
            break
        shift += 7
    return value, spot
