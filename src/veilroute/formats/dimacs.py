"""Road networks of the 9th DIMACS challenge: ``.gr`` with arcs, ``.co`` with coordinates, either also as ``.gz``.

A ``.gr`` has comments ``c ...``, one line ``p sp NODES ARCS`` and a line ``a TAIL HEAD COST`` for each arc; a ``.co``
has ``p aux sp co NODES`` and a line ``v NODE X Y`` for each node. Nodes are numbered from 1, and X and Y are longitude
and latitude in millionths of a degree.
"""

import gzip
import io
import re
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Ints, Points
from veilroute.base.checks import check_name
from veilroute.base.errors import FileFormatError, InvalidInputError, blame_file
from veilroute.base.io import read_bytes
from veilroute.domain.geography import UNITS, great_circle_m, project, street_domain
from veilroute.domain.graph import Domain

Numbers = npt.NDArray[Any]  # int64, or float64 where a number is not whole

# Stands for the letter that a line begins with, so that numbers which slip into the next line are noticed.
_MARK = -(10**15)
# What a compressed file may unpack to: those of the challenge grow about fourfold.
_LEAST_UNPACKED, _MOST_GAIN = 2**23, 6
_BLOCK = 2**20


def read_dimacs(path: str | Path, coordinates: str | Path | None = None, *, unit: str | None = None) -> Domain:
    """Read a DIMACS road network; nodes are labelled 1 to N, as in the file, and whole costs stay integers.

    Without ``unit`` the result is a plain graph, with coordinates in metres where the ``.co`` file holds degrees.

    Parameters
    ----------
    path
        The ``.gr`` or ``.gr.gz`` file.
    coordinates
        The ``.co`` or ``.co.gz`` file; by default one of the same name beside it, where there is one.
    unit
        What the costs are: ``"metres"`` or ``"seconds"``. With it the result is a street network, which needs
        coordinates. The files do not say. The length of a street is its cost in metres, or else the distance between
        its ends.
    """
    if unit is not None:
        check_name("unit", unit, UNITS)
    (num_nodes, num_arcs), arcs = _read(path, rb"p\s+sp\s+(\d+)\s+(\d+)", "p sp NODES ARCS", "a TAIL HEAD COST")
    if len(arcs) != num_arcs:
        promise = f"{num_arcs} arcs promised, the file has {len(arcs)}"
        raise FileFormatError(path, f"truncated: {promise}" if len(arcs) < num_arcs else f"{promise}; correct one")
    ends = _nodes(path, arcs[:, :2], num_nodes)
    if coordinates is None:
        stem = re.sub(r"(\.gr)?(\.gz)?$", "", Path(path).name, flags=re.IGNORECASE)
        beside = (Path(path).with_name(stem + end) for end in (".co", ".co.gz", ".CO", ".CO.GZ"))
        coordinates = next((file for file in beside if file.is_file()), None)
    points = None if coordinates is None else _read_points(coordinates, num_nodes)
    is_lonlat = points is not None and bool((np.abs(points) <= (180e6, 90e6)).all())
    lonlat = points / 1e6 if points is not None and is_lonlat else None
    (tails, heads), costs, labels = ends.T, arcs[:, 2], range(1, num_nodes + 1)
    with blame_file(path):
        if unit is None:
            placed = points if lonlat is None else project(lonlat)
            return Domain.from_edges(num_nodes, tails, heads, costs, labels=labels, coordinates=placed)
        if lonlat is None:
            got = "no .co file" if points is None else "a .co file with others"
            raise InvalidInputError("unit", "none, or coordinates in millionths of a degree", got)
        lengths = costs if unit == "metres" else great_circle_m(lonlat[tails], lonlat[heads])
        return street_domain(
            lonlat=lonlat, tails=tails, heads=heads, costs=costs, lengths=lengths, unit=unit, labels=labels
        )


def _read_points(path: str | Path, num_nodes: int) -> Points:
    (promised,), rows = _read(path, rb"p\s+aux\s+sp\s+co\s+(\d+)", "p aux sp co NODES", "v NODE X Y")
    if promised != num_nodes or len(rows) != num_nodes:
        raise FileFormatError(path, f"expected {num_nodes} nodes, as many as the arcs have, got {len(rows)}")
    nodes = _nodes(path, rows[:, :1], num_nodes)[:, 0]
    if np.unique(nodes).size != num_nodes:
        raise FileFormatError(path, "a node occurs twice; expected every node once")
    points = np.empty((num_nodes, 2))
    points[nodes] = rows[:, 1:]
    return points


def _read(path: str | Path, head: bytes, head_form: str, form: str) -> tuple[list[int], Numbers]:
    """The counts in the line ``p``, and the numbers of all lines of ``form``, one row for each."""
    raw = _unpacked(path)
    promises = re.findall(rb"(?m)^" + head + rb"\s*$", raw)
    if len(promises) != 1:
        raise FileFormatError(path, f"not a DIMACS file of this kind; expected one line '{head_form}'")
    numbers = promises[0] if isinstance(promises[0], tuple) else promises
    counts = [int(number[:12]) for number in numbers]  # longer ones promise more than any file has
    if max(counts) > len(raw):
        raise FileFormatError(path, f"truncated: {max(counts)} lines promised, the file is too short for them")
    letter, width = form[:1].encode(), len(form.split())
    # Some lines at a time: the text with marks is several times as long.
    parts, file = [], io.BytesIO(raw)
    while block := b"".join(file.readlines(_BLOCK)):
        body = re.sub(rb"(?m)^[cp]\b.*$", b"", block).replace(letter, str(_MARK).encode()).strip()
        rows = _numbers(body, np.int64, width)
        if rows is None:
            rows = _numbers(body, np.float64, width)
        if rows is None:
            raise _first_bad_line(path, raw, form)
        parts.append(rows[:, 1:].copy())
    return counts, np.concatenate(parts)


def _unpacked(path: str | Path) -> bytes:
    raw = read_bytes(path)
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    most = _LEAST_UNPACKED + _MOST_GAIN * len(raw)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error):
        raise FileFormatError(path, "damaged or incomplete gzip file; fetch it again") from None
    if len(unpacked) > most:
        raise FileFormatError(path, f"unpacks to more than {_MOST_GAIN} times its size, as no road network does")
    return unpacked


def _numbers(body: bytes, kind: type[np.int64] | type[np.float64], width: int) -> Numbers | None:
    """All numbers in rows that begin with the mark, and have no mark elsewhere; ``None`` where that fails."""
    if not body:
        return np.empty((0, width), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy 2.0 warns of text that is no number, later ones raise
        try:
            flat: Numbers = np.fromstring(body, dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if flat.size % width:
        return None
    rows = flat.reshape(-1, width)
    # NaN fails the comparison, too.
    is_whole = bool((rows[:, 0] == _MARK).all()) and bool((rows[:, 1:] > _MARK).all())
    return rows if is_whole else None


def _nodes(path: str | Path, numbers: Numbers, num_nodes: int) -> Ints:
    """Node numbers from 0, of numbers from 1."""
    bad = numbers[(numbers < 1) | (numbers > num_nodes) | (numbers != np.floor(numbers))]
    if bad.size:
        raise FileFormatError(path, f"expected nodes from 1 to {num_nodes}, got {bad[0]:g}")
    return numbers.astype(np.int64) - 1


def _first_bad_line(path: str | Path, raw: bytes, form: str) -> FileFormatError:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        words = line.decode("utf-8", "replace").split()
        if not words or line[:1] in b"cp":
            continue
        try:
            numbers = [float(word) for word in words[1:]]
            is_good = words[0] == form[:1] and len(words) == len(form.split()) and all(n > _MARK for n in numbers)
        except ValueError:
            is_good = False
        if not is_good:
            return FileFormatError(path, f"expected '{form}', got {' '.join(words)[:40]!r}", number)
    return FileFormatError(path, f"expected lines '{form}' alone, apart from comments")
