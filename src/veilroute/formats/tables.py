"""Tables: edge lists (``.csv``) with the places of nodes beside them, and points with names (CSV or GeoJSON).

An edge list has one row for each edge, and its nodes file, where there is one, a row for each node.

A table of points has a header with the columns ``name``, ``lat``, ``lon`` and, where wanted, ``role`` and ``id``; other
columns are ignored. GeoJSON is a FeatureCollection of Points (RFC 7946) with these as properties. Each point has
coordinates, or where these are left out the id of a node. Either all points have a name or none has.

A prior is a table of ``place`` and ``weight``, or points with a ``weight``.
"""

import csv
import io
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veilroute.checks import is_number
from veilroute.domain.geography import great_circle_m, street_domain
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError, blame_file, printable, shorten
from veilroute.jsontext import parse_json, read_bytes, read_text
from veilroute.problem import checked_prior
from veilroute.streets.places import ROLES, Place, locate

SUFFIXES = (".csv", ".tsv", ".txt", ".geojson", ".json")

_ALIASES = {
    "name": ("name",),
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "lng", "long", "longitude", "x"),
    "node": ("node", "osmid", "id"),
    "role": ("role",),
}
_POINT_COLUMNS = {alias for what in ("lat", "lon", "node") for alias in _ALIASES[what]}
_DEGREES = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


class _Table:
    """A CSV file with a header, separated by what this has most of; of equally many the first of ``,;`` and tab."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        text = read_text(path).removeprefix("\ufeff")
        header = next((line for line in text.split("\n") if line.strip()), "")
        delimiter = max(",;\t", key=header.count)
        self._rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
        self.columns = [name.lower() for name in next((row for row in self if any(row)), [])]

    @property
    def line(self) -> int:
        """The line of the file that was read last."""
        return self._rows.line_num

    def __iter__(self) -> Iterator[list[str]]:
        try:
            for row in self._rows:
                yield [cell.strip() for cell in row]
        except csv.Error as error:
            raise self.error(f"not a table ({error}); check quotes and separators") from None

    def error(self, problem: str) -> FileFormatError:
        """An error about that line."""
        return FileFormatError(self.path, problem, self.line)

    def find(self, *names: str) -> int | None:
        """Where the column of one of these names is, if there is one."""
        columns = [i for i, name in enumerate(self.columns) if name in names]
        if len(columns) > 1:
            raise self.error(f"columns {' and '.join(self.columns[i] for i in columns)} mean the same; keep one")
        return columns[0] if columns else None

    def need(self, what: str, *names: str) -> int:
        """Where the column of one of these names is."""
        column = self.find(*names)
        if column is None:
            shown = ", ".join(self.columns)[:60]
            raise self.error(f"no column for {what}; call it {' or '.join(names)} (found: {shown})")
        return column

    def rows(self) -> Iterator[list[str]]:
        """All rows that are not empty, each as wide as the header."""
        for row in self:
            if len(row) == len(self.columns):
                yield row
            elif row:
                raise self.error(f"expected {len(self.columns)} columns, as in the header, got {len(row)}")

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


def read_places(path: str | Path) -> list[Place]:
    """Read the points of a table (``.csv``, ``.tsv``, ``.txt``) or of a ``.geojson`` or ``.json`` file, in order."""
    places = [place for place, _, _ in _read_points(path)]
    if not places:
        raise FileFormatError(path, "no places in the file")
    _check_together(path, places)
    return places


_Weighted = tuple[Place, object, "_Spot"]  # a place, its weight as the file has it, and where in the file that is


def _read_points(path: str | Path, *, is_prior: bool = False) -> Iterator[_Weighted]:
    match Path(path).suffix.lower():
        case ".csv" | ".tsv" | ".txt":
            return _read_table(path, is_prior=is_prior)
        case ".geojson" | ".json":
            return _read_geojson(path)
        case suffix:
            raise UnknownMethodError("prior format" if is_prior else "places format", suffix or str(path), SUFFIXES)


def _read_table(path: str | Path, *, is_prior: bool) -> Iterator[_Weighted]:
    table = _Table(path)
    has_texts = is_prior and ("place" in table.columns or not set(table.columns) & _POINT_COLUMNS)
    if has_texts:
        columns = {"place": table.need("the place", "place", "name")}
    else:
        columns = _columns(table) if table.columns else {}
    if is_prior:
        columns["weight"] = table.need("the weight", "weight")
    width = len(table.columns)
    for row in table:
        spot = _Spot(path, table.line)
        if not any(row):
            continue
        if any(row[width:]):
            raise spot.error(
                f"{len(row)} values for {width} columns; write decimals with a point, and quotes round "
                "text that holds a separator"
            )
        cells = {what: row[i] for what, i in columns.items() if i < len(row)}
        weight = cells.get("weight")
        if has_texts:
            yield Place(node=cells.get("place", ""), origin=f"{path}, {spot.text}"), weight, spot
        else:
            lat, lon = (_degrees(cells.get(what, ""), what, spot) for what in ("lat", "lon"))
            yield _place(cells, lat, lon, spot), weight, spot


class _Spot:
    """Where in a file something is: a line of a table or a feature of a collection."""

    def __init__(self, path: str | Path, line: int | None = None, feature: int | None = None) -> None:
        self.path, self.line = path, line
        self.text = f"line {line}" if feature is None else f"features[{feature}]"

    def error(self, problem: str) -> FileFormatError:
        return FileFormatError(self.path, problem if self.line else f"{self.text}: {problem}", self.line)


def _columns(table: _Table) -> dict[str, int]:
    """Which column holds what; of several that could, the one whose alias is listed first."""
    names = table.columns
    column_of = {
        what: names.index(next(alias for alias in aliases if alias in names))
        for what, aliases in _ALIASES.items()
        if set(aliases) & set(names)
    }
    if not {"lat", "lon"} <= set(column_of) and "node" not in column_of:
        shown = ", ".join(repr(name[:20]) for name in names[:6])
        raise table.error(f"expected a header with the columns name, lat, lon (or name, id); got {shown}")
    return column_of


def _read_geojson(path: str | Path) -> Iterator[_Weighted]:
    data = parse_json(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), path)
    is_collection = isinstance(data, dict) and data.get("type") == "FeatureCollection"
    if not is_collection or not isinstance(data.get("features"), list):
        raise FileFormatError(path, "expected a GeoJSON FeatureCollection of Points")
    for number, feature in enumerate(data["features"]):
        spot = _Spot(path, feature=number)
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise spot.error("expected a Feature")
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise spot.error("expected an object as properties")
        ids = [*(properties.get(alias) for alias in _ALIASES["node"]), feature.get("id")]
        given = {"name": properties.get("name"), "role": properties.get("role")}
        given["node"] = next((one for one in ids if one is not None), None)
        lat, lon = _point(feature.get("geometry"), spot)
        place = _place({what: _text(value, what, spot) for what, value in given.items()}, lat, lon, spot)
        yield place, properties.get("weight"), spot


def _point(geometry: Any, spot: _Spot) -> tuple[float | None, float | None]:
    """Latitude and longitude of a Point; neither where there is no geometry."""
    match geometry:
        case None:
            return None, None
        case {"type": "Point", "coordinates": [lon, lat, *_]} if is_number(lon) and is_number(lat):
            return float(lat), float(lon)
        case {"type": str(kind)} if kind != "Point":
            raise spot.error(f"expected a Point, got {kind[:20]!r}")
    raise spot.error("expected a Point with coordinates [longitude, latitude]")


def _place(cells: dict[str, str], lat: float | None, lon: float | None, spot: _Spot) -> Place:
    """A place from its parts; what is empty or missing was not given. Coordinates go before the id."""
    # A no-break space is a space to whoever types the name.
    name = cells.get("name", "").replace("\u00a0", " ").replace("\u202f", " ")
    role = cells.get("role", "").lower() or "candidate"
    if not name.isprintable():
        raise spot.error("expected a printable name")
    if role not in ROLES:
        raise spot.error(f"expected a role of start, goal or candidate, got {role[:20]!r}")
    node = cells.get("node") or None
    if (lat is None) != (lon is None) or (lat is None and node is None):
        raise spot.error("expected both lat and lon, or the id of a junction")
    try:
        return Place(name or None, lat, lon, node if lat is None else None, role, f"{spot.path}, {spot.text}")
    except InvalidInputError:
        raise spot.error("expected finite degrees") from None


def _degrees(text: str, what: str, spot: _Spot) -> float | None:
    if not text:
        return None
    if _DECIMAL_COMMA.fullmatch(text):
        raise spot.error(f"{what}: write decimals with a point: {text.replace(',', '.')[:20]}, not {text[:20]}")
    if not _DEGREES.fullmatch(text):
        raise spot.error(f"{what}: expected decimal degrees such as 60.17, got {text[:20]!r}")
    return float(text)


def _check_together(path: str | Path, places: list[Place]) -> None:
    """Names for all or for none, no name twice, at most one start and one goal."""
    seen: dict[tuple[str, str | None], str] = {}  # where each name and role was first
    is_named = any(place.name is not None for place in places)
    for place in places:
        where = place.origin.removeprefix(f"{path}, ")
        if is_named and place.name is None:
            raise FileFormatError(path, f"{where}: this place has no name and others have one; name all or none")
        for what, text in (("name", place.name), ("role", None if place.role == "candidate" else place.role)):
            first = seen.setdefault((what, text), where)
            if text is not None and first != where:
                raise FileFormatError(
                    path, f"{where}: the {what} {text!r} is there twice, first in {first}; change one"
                )


def _text(value: object, what: str, spot: _Spot) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise spot.error(f"{what}: expected text")
    return str(value).strip()


def read_prior(
    path: str | Path,
    domain: Domain,
    candidates: Sequence[Label],
    names: Mapping[Label, str],
    *,
    ends: Collection[Label] = (),
) -> tuple[float, ...]:
    """Read how probable each candidate is beforehand: weights in the order of the candidates, summing to 1.

    The file is a table of ``place`` and ``weight``, or one of points or a GeoJSON file with a ``weight`` for each. In
    a table, a place is one of the ``names``, or else what :func:`~veilroute.streets.places.locate` makes of the text.
    Starts and goals (``ends``) may be in the file and need not be: they are never the secret.
    """
    known = [Place(name, node=label_text(label)) for label, name in names.items()]
    weights: dict[Label, float] = {}
    first: dict[Label, str] = {}  # where each place was first
    wanted = set(candidates)
    for place, given, spot in _read_points(path, is_prior=True):
        # A place of a table is only its text until it is looked up.
        meant = place.node if place.name is None and place.lat is None and place.node is not None else place
        label = locate(domain, meant, field=place.origin, places=known).label
        if label in ends or place.role in ("start", "goal"):
            continue
        if label not in wanted:
            raise spot.error(f"{str(place)[:60]} is not among the candidates; leave it out, or plan for it as well")
        if first.setdefault(label, spot.text) != spot.text:
            raise spot.error(f"{str(place)[:60]} has a weight already, in {first[label]}; keep one")
        weights[label] = _weight(given, spot)
    for label in candidates:
        if label not in weights and label not in ends:
            missing = names.get(label) or label_text(label)
            raise FileFormatError(path, f"no weight for {missing[:60]}; write 0 for a place that is never the secret")
    with blame_file(path):
        return checked_prior([weights.get(label, 0.0) for label in candidates], len(candidates))


def _weight(given: object, spot: _Spot) -> float:
    value: object = given
    if isinstance(given, str):
        try:
            value = number_of_text(given)
        except ValueError:
            value = None
    if not is_number(value, 0, sys.float_info.max):
        hint = " with a decimal point" if isinstance(given, str) and "," in given else ""
        got = "nothing" if given is None or given == "" else shorten(given)
        raise spot.error(f"expected a finite number >= 0{hint} as weight, got {got}")
    return float(value)


def text_columns(**columns: Iterable[str]) -> dict[str, Any]:
    """The ``name`` and the ``kind`` of each edge as :func:`~veilroute.domain.geography.street_domain` takes them.

    Different texts are numbered in the order in which they come, the empty one 0; what cannot be printed is a space.
    """
    given: dict[str, Any] = {}
    for column, texts in columns.items():
        numbers = {"": 0}
        ids = [numbers.setdefault(" ".join(printable(text).split()), len(numbers)) for text in texts]
        given |= {f"{column}s": tuple(numbers), f"{column}_ids": ids}
    return given


def labels_of_texts(texts: list[str]) -> list[int] | list[str] | None:
    """Node labels for the ids of a text file: integers where all are, and none where these are 0, 1, 2, ... in order.

    An id such as ``007`` is no integer: it would come back as ``7``.
    """
    if not all(_is_whole(text) for text in texts):
        return texts
    numbers = [int(text) for text in texts]
    return None if numbers == list(range(len(numbers))) else numbers


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(text)) == text


def number_of_text(text: str) -> int | float:
    """A number as written: an integer where it is one; raises ``ValueError`` where it is none."""
    return int(text) if _is_whole(text.strip()) else float(text)


_COSTS, _SECONDS, _METRES = ("cost", "weight"), ("seconds", "travel_time"), ("metres", "meters", "length")
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
    unit, edges = _read_edges(path)
    beside = Path(path).with_name(Path(path).stem + ".nodes.csv")
    if nodes is None and beside.is_file():
        nodes = beside
    points, is_lonlat = _read_nodes(nodes) if nodes is not None else ({}, False)
    if nodes is None:
        ids = sorted({node for edge in edges for node in (edge.tail, edge.head)})
        points = dict.fromkeys(ids if labels_of_texts(ids) is ids else sorted(ids, key=int))
    number = {node: i for i, node in enumerate(points)}
    for edge in edges:
        for node in (edge.tail, edge.head):
            if node not in number:
                raise FileFormatError(path, f"node {node[:40]} is not in {Path(nodes or path).name}", edge.line)
    tails = np.array([number[edge.tail] for edge in edges], dtype=np.int64)
    heads = np.array([number[edge.head] for edge in edges], dtype=np.int64)
    labels, costs = labels_of_texts(list(points)), [edge.cost for edge in edges]
    placed = [point for point in points.values() if point is not None]
    with blame_file(path):
        if not is_lonlat:
            return Domain.from_edges(len(number), tails, heads, costs, labels=labels, coordinates=placed or None)
        lonlat = np.array(placed)
        between = great_circle_m(lonlat[tails], lonlat[heads]).tolist()
        lengths = costs if unit == "metres" else [edge.length for edge in edges]
        return street_domain(
            lonlat=lonlat,
            tails=tails,
            heads=heads,
            costs=costs,
            lengths=[far if own is None else own for own, far in zip(lengths, between, strict=True)],
            unit=unit,
            labels=labels,
            **text_columns(name=(edge.name for edge in edges), kind=(edge.kind for edge in edges)),
        )


def read_edge_costs(
    path: str | Path, domain: Domain, names: Mapping[Label, str]
) -> list[tuple[Label, Label, int | float]]:
    """Read what edges cost now, from a table as :func:`read_edge_list` reads it: directed, unless ``oneway`` says no.

    A node is one of the ``names``, or else what :func:`~veilroute.streets.places.locate` makes of the text.
    """
    known = [Place(name, node=label_text(label)) for label, name in names.items()]
    costs = []
    for edge in _read_edges(path)[1]:
        where = f"{path}, line {edge.line}"
        tail, head = (locate(domain, end, field=where, places=known).label for end in (edge.tail, edge.head))
        costs.append((tail, head, edge.cost))
    return costs


class _Edge(NamedTuple):
    """A directed edge, and the line of the file that it stands in."""

    tail: str
    head: str
    cost: int | float
    length: int | float | None
    name: str
    kind: str
    line: int


def _read_edges(path: str | Path) -> tuple[str, list[_Edge]]:
    """The unit of the costs, and the edges."""
    table = _Table(path)
    tail_at = table.need("where an edge begins", "from", "source", "tail", "u")
    head_at = table.need("where an edge ends", "to", "target", "head", "v")
    cost_at, metres_at = table.find(*_COSTS, *_SECONDS), table.find(*_METRES)
    if cost_at is None:
        cost_at, metres_at = table.need("the cost", *_COSTS, *_SECONDS, *_METRES), None
    is_seconds = table.columns[cost_at] in _SECONDS or metres_at is not None
    edges: list[_Edge] = []
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
        name, kind = ("" if at is None else row[at] for at in (name_at, kind_at))
        for tail, head in {1: (ends,), -1: (ends[::-1],), 0: (ends, ends[::-1])}[way]:
            edges.append(_Edge(tail, head, cost, length, name, kind, table.line))
    if not edges:
        raise FileFormatError(path, "no edges; expected rows below the header")
    return "seconds" if is_seconds else "metres", edges


def _read_nodes(path: str | Path) -> tuple[dict[str, tuple[float, float] | None], bool]:
    """The nodes in order with their points, where they have some, and whether these are longitude and latitude."""
    table = _Table(path)
    id_at = table.need("the node", "id", "node", "osmid")
    lonlat = table.find("lon", "lng", "longitude"), table.find("lat", "latitude")
    plane = table.find("x"), table.find("y")
    is_lonlat = None not in lonlat
    columns = lonlat if is_lonlat else plane
    points: dict[str, tuple[float, float] | None] = {}
    for row in table.rows():
        if not row[id_at] or row[id_at] in points:
            raise table.error(f"expected a node that was not there before, got {row[id_at][:40]!r}")
        x, y = (0.0 if at is None else float(table.number(row, at)) for at in columns)
        if is_lonlat and not (abs(x) <= 180 and abs(y) <= 90):
            raise table.error(f"expected lat from -90 to 90 and lon from -180 to 180, got {y:g}, {x:g}")
        points[row[id_at]] = None if None in columns else (x, y)
    return points, is_lonlat
