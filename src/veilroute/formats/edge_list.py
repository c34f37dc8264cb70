"""Edge lists (``.csv``): one row for each edge, and beside it, where places are known, one row for each node."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from veilroute.domain.graph import Domain
from veilroute.domain.streets import great_circle_m, street_domain
from veilroute.errors import FileFormatError, InvalidInputError
from veilroute.formats.words import WordList, labels_of_texts, number_of_text
from veilroute.jsontext import read_text

_TAILS, _HEADS = ("from", "source", "tail", "u"), ("to", "target", "head", "v")
_COSTS = ("cost", "weight")
_SECONDS = ("seconds", "travel_time")
_METRES = ("metres", "meters", "length")
_IDS = ("id", "node", "osmid")
_LAT, _LON = ("lat", "latitude"), ("lon", "lng", "longitude")
_ONE_WAY = {"": 1, "yes": 1, "true": 1, "1": 1, "no": 0, "false": 0, "0": 0, "-1": -1}


def read_edge_list(path: str | Path, nodes: str | Path | None = None) -> Domain:
    """Read a graph from a CSV file with a header; commas, semicolons or tabs stand between the columns.

    Every row is one directed edge; with a column ``oneway``, ``no`` (or ``false``, ``0``) makes it two, and ``-1``
    turns it round. Node ids are labels, as integers where all of them are. Nodes are in the order of the nodes file, or
    else ascending.

    Where a nodes file has latitudes and longitudes the result is a street network. Its costs are in seconds where the
    column is called ``seconds``, in metres where it is called ``metres``; a column ``cost`` is taken for seconds beside
    a column of lengths, and for metres without.

    Parameters
    ----------
    path
        The file of edges: ``from``, ``to``, ``cost``, and where known ``oneway``, ``length``, ``name``, ``highway``.
    nodes
        The file of nodes: ``id`` with ``lat`` and ``lon``, or with ``x`` and ``y``. By default ``STEM.nodes.csv``
        beside ``STEM.csv``, where there is one.
    """
    edges = _read_edges(path)
    beside = Path(path).with_name(Path(path).stem + ".nodes.csv")
    if nodes is None and beside.is_file():
        nodes = beside
    places = _Places(_ascending(edges)) if nodes is None else _read_places(nodes)
    number = {node: i for i, node in enumerate(places.nodes)}
    for tail, head, line in zip(edges.tails, edges.heads, edges.lines, strict=True):
        if tail not in number or head not in number:
            stranger = head if tail in number else tail
            raise FileFormatError(path, f"node {stranger[:40]} is not in {Path(nodes or path).name}", line)
    tails = np.array([number[node] for node in edges.tails], dtype=np.int64)
    heads = np.array([number[node] for node in edges.heads], dtype=np.int64)
    labels = labels_of_texts(places.nodes)
    try:
        if not places.is_lonlat:
            return Domain.from_edges(
                len(number), tails, heads, edges.costs, labels=labels, coordinates=places.points or None
            )
        lonlat = np.array(places.points)
        between = great_circle_m(lonlat[tails], lonlat[heads])
        given: Sequence[int | float | None] = edges.costs if edges.unit == "metres" else edges.lengths
        lengths = [far if own is None else own for own, far in zip(given, between.tolist(), strict=True)]
        return street_domain(
            lonlat=lonlat,
            tails=tails,
            heads=heads,
            costs=edges.costs,
            lengths=lengths,
            unit=edges.unit,
            labels=labels,
            names=edges.names.words,
            name_ids=np.array(edges.name_ids, dtype=np.int64),
            kinds=edges.kinds.words,
            kind_ids=np.array(edges.kind_ids, dtype=np.int64),
        )
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


class _Edges:
    """The columns of a file of edges, directed."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.tails: list[str] = []
        self.heads: list[str] = []
        self.costs: list[int | float] = []
        self.lengths: list[int | float | None] = []
        self.lines: list[int] = []
        self.names, self.kinds = WordList(), WordList()
        self.name_ids: list[int] = []
        self.kind_ids: list[int] = []


@dataclass(frozen=True)
class _Places:
    """Nodes in order and, where known, their points."""

    nodes: list[str]
    points: list[tuple[float, float]] = field(default_factory=list)
    is_lonlat: bool = False


class _Table:
    """The rows of a CSV file, by the names of its columns."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        text = read_text(path).removeprefix("\ufeff")
        header = text.partition("\n")[0]
        delimiter = max(",;\t", key=header.count)
        self.reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
        self._lines = self._read()
        self.columns = [name.strip().lower() for name in next(self._lines, [])]

    def find(self, *names: str) -> int | None:
        """Where the column of one of these names is, if there is one."""
        found = [i for i, name in enumerate(self.columns) if name in names]
        if len(found) > 1:
            both = " and ".join(self.columns[i] for i in found)
            raise FileFormatError(self.path, f"columns {both} mean the same; keep one", 1)
        return found[0] if found else None

    def need(self, what: str, *names: str) -> int:
        """Where the column of one of these names is."""
        found = self.find(*names)
        if found is None:
            shown = ", ".join(self.columns)[:60]
            raise FileFormatError(self.path, f"no column for {what}; call it {' or '.join(names)} (found: {shown})", 1)
        return found

    def rows(self) -> Iterator[list[str]]:
        """All rows that are not empty, each as wide as the header."""
        for row in self._lines:
            if len(row) == len(self.columns):
                yield [cell.strip() for cell in row]
            elif row:
                raise self.error(f"expected {len(self.columns)} columns, as in the header, got {len(row)}")

    def _read(self) -> Iterator[list[str]]:
        try:
            yield from self.reader
        except csv.Error as error:
            raise self.error(f"not a table ({error}); check quotes and separators") from None

    def number(self, row: list[str], column: int, least: float = -math.inf) -> int | float:
        """The finite number in a cell."""
        try:
            value = number_of_text(row[column])
        except ValueError:
            value = math.nan
        if not least <= value < math.inf or value == -math.inf:
            wanted = "a number" if least < 0 else f"a finite number >= {least:g}"
            wanted += " with a decimal point" if "," in row[column] else ""
            raise self.error(f"expected {wanted} as {self.columns[column]}, got {row[column][:20]!r}")
        return value

    def error(self, problem: str) -> FileFormatError:
        return FileFormatError(self.path, problem, self.reader.line_num)


def _read_edges(path: str | Path) -> _Edges:
    table = _Table(path)
    tail_at, head_at = table.need("where an edge begins", *_TAILS), table.need("where an edge ends", *_HEADS)
    cost_at, metres_at = table.find(*_COSTS, *_SECONDS), table.find(*_METRES)
    if cost_at is None:
        cost_at, metres_at = table.need("the cost", *_COSTS, *_SECONDS, *_METRES), None
    is_seconds = table.columns[cost_at] in _SECONDS or metres_at is not None
    edges = _Edges("seconds" if is_seconds else "metres")
    way_at, name_at, kind_at = table.find("oneway"), table.find("name"), table.find("highway", "kind")
    for row in table.rows():
        way = 1 if way_at is None else _ONE_WAY.get(row[way_at].lower())
        if way is None:
            raise table.error(f"expected yes, no or -1 as oneway, got {row[way_at or 0][:20]!r}")
        if not row[tail_at] or not row[head_at]:
            raise table.error("expected the ids of two nodes, one is empty")
        ends = (row[tail_at], row[head_at])
        cost = table.number(row, cost_at, 0)
        length = table.number(row, metres_at, 0) if metres_at is not None and row[metres_at] else None
        for tail, head in {1: (ends,), -1: (ends[::-1],), 0: (ends, ends[::-1])}[way]:
            edges.tails.append(tail)
            edges.heads.append(head)
            edges.costs.append(cost)
            edges.lengths.append(length)
            edges.lines.append(table.reader.line_num)
            edges.name_ids.append(0 if name_at is None else edges.names.number(row[name_at]))
            edges.kind_ids.append(0 if kind_at is None else edges.kinds.number(row[kind_at]))
    if not edges.tails:
        raise FileFormatError(path, "no edges; expected rows below the header")
    return edges


def _read_places(path: str | Path) -> _Places:
    table = _Table(path)
    id_at = table.need("the node", *_IDS)
    lat_at, lon_at, x_at, y_at = (table.find(*names) for names in (_LAT, _LON, ("x",), ("y",)))
    is_lonlat = lat_at is not None and lon_at is not None
    columns = (lon_at, lat_at) if is_lonlat else (x_at, y_at)
    points: dict[str, tuple[float, float]] = {}
    for row in table.rows():
        if not row[id_at] or row[id_at] in points:
            raise table.error(f"expected a node that was not there before, got {row[id_at][:40]!r}")
        x, y = (0.0 if at is None else float(table.number(row, at)) for at in columns)
        if is_lonlat and not (abs(x) <= 180 and abs(y) <= 90):
            raise table.error(f"expected lat from -90 to 90 and lon from -180 to 180, got {y:g}, {x:g}")
        points[row[id_at]] = (x, y)
    return _Places(list(points), [] if None in columns else list(points.values()), is_lonlat)


def _ascending(edges: _Edges) -> list[str]:
    texts = sorted({*edges.tails, *edges.heads})
    labels = labels_of_texts(texts)
    return texts if labels is texts else sorted(texts, key=int)
