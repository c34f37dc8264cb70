"""Edge lists: tables (``.csv``, ``.xlsx``) with a row for each edge, and the places of nodes beside them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veilroute.base.errors import FileFormatError, blame_file, printable
from veilroute.domain.geography import great_circle_m, street_domain
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.formats.sheets import Sheet
from veilroute.streets.coordinates import read_degrees
from veilroute.streets.places import Place, locate


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


_TAILS = ("from", "source", "tail", "u", "from_node", "start_node", "node_from", "origin")
_HEADS = ("to", "target", "head", "v", "to_node", "end_node", "node_to", "destination")
_COSTS = ("cost", "weight")
_SECONDS = ("seconds", "travel_time", "time", "duration")
_METRES = ("metres", "meters", "length", "distance", "length_m", "distance_m")
_WAYS, _NAMES, _KINDS = ("oneway", "one_way"), ("name", "street"), ("highway", "kind")
_EDGE_KEYS = frozenset((*_TAILS, *_HEADS, *_COSTS, *_SECONDS, *_METRES, *_WAYS, *_NAMES, *_KINDS))
_IDS, _LONS, _LATS = ("id", "node", "osmid"), ("lon", "lng", "long", "longitude"), ("lat", "latitude")
_NODE_KEYS = frozenset((*_IDS, *_LONS, *_LATS, "x", "y"))
_ONE_WAY = {"": 1, "yes": 1, "true": 1, "1": 1, "no": 0, "false": 0, "0": 0, "-1": -1}
_LISTED_BOTH_WAYS = 0.1  # of the rows: where so many are there in both directions, each row is one direction


def read_edge_list(
    path: str | Path,
    nodes: str | Path | None = None,
    *,
    oneway: bool | None = None,
    tell: Callable[[str], None] | None = None,
) -> Domain:
    """Read a graph from a table with a header: text separated by commas, semicolons or tabs, or a ``.xlsx``.

    A column ``oneway`` says of every row whether it is one directed edge: ``no`` (or ``false``, ``0``) makes it two,
    and ``-1`` turns it round. Without that column every row is an edge in both directions, unless ``oneway`` is given
    or a tenth of the rows are there in both directions. Node ids are labels, as integers where all of them are. Nodes
    are in the order of the nodes file, or else ascending.

    Where a nodes file has latitudes and longitudes the result is a street network. Its costs are in seconds where the
    column is called ``seconds`` or ``time``, in metres where it is called ``metres`` or ``distance``; a column ``cost``
    is taken for seconds beside a column of lengths, and for metres without.

    Parameters
    ----------
    path
        The file of edges: ``from``, ``to``, ``cost``, and where known ``oneway``, ``length``, ``name``, ``highway``.
    nodes
        The file of nodes: ``id`` with ``lat`` and ``lon``, or with ``x`` and ``y``. By default ``STEM.nodes.csv`` or
        ``STEM.nodes.xlsx`` beside the edges, where there is one.
    oneway
        Whether every row is one direction only, where the file has no column that says it.
    tell
        Called with a line about what the file leaves open and how that is taken.
    """
    unit, edges = _read_edges(path, oneway=oneway, tell=tell)
    beside = (Path(path).with_name(Path(path).stem + end) for end in (".nodes.csv", ".nodes.xlsx"))
    if nodes is None:
        nodes = next((file for file in beside if file.is_file()), None)
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
    for edge in _read_edges(path, oneway=True)[1]:
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

    def turned(self) -> "_Edge":
        """The edge in the other direction."""
        return self._replace(tail=self.head, head=self.tail)


def _read_edges(
    path: str | Path, *, oneway: bool | None, tell: Callable[[str], None] | None = None
) -> tuple[str, list[_Edge]]:
    """The unit of the costs, and the edges."""
    table = Sheet(path, _EDGE_KEYS)
    tail_at = table.need("where an edge begins", *_TAILS)
    head_at = table.need("where an edge ends", *_HEADS)
    cost_at, metres_at = table.find(*_COSTS, *_SECONDS), table.find(*_METRES)
    if cost_at is None:
        cost_at, metres_at = table.need("the cost", *_COSTS, *_SECONDS, *_METRES), None
    is_seconds = table.columns[cost_at] in _SECONDS or metres_at is not None
    way_at, name_at, kind_at = table.find(*_WAYS), table.find(*_NAMES), table.find(*_KINDS)
    listed: list[tuple[_Edge, int]] = []
    for row in table.full_rows():
        way = 1 if way_at is None else _ONE_WAY.get(row[way_at].lower())
        if way is None:
            raise table.error(f"expected yes, no or -1 as oneway, got {row[way_at or 0][:20]!r}")
        if not row[tail_at] or not row[head_at]:
            raise table.error("expected the ids of two nodes, one is empty")
        cost = table.number(row, cost_at, 0)
        length = table.number(row, metres_at, 0) if metres_at is not None and row[metres_at] else None
        name, kind = ("" if at is None else row[at] for at in (name_at, kind_at))
        listed.append((_Edge(row[tail_at], row[head_at], cost, length, name, kind, table.line), way))
    if not listed:
        raise FileFormatError(path, "no edges; expected rows below the header")
    if way_at is None:
        is_directed = _is_directed(path, [edge for edge, _ in listed], tell) if oneway is None else oneway
        listed = [(edge, int(is_directed)) for edge, _ in listed]
    edges = [one for edge, way in listed for one in ((edge, edge.turned()), (edge,), (edge.turned(),))[way]]
    return "seconds" if is_seconds else "metres", edges


def _is_directed(path: str | Path, edges: list[_Edge], tell: Callable[[str], None] | None) -> bool:
    """Whether each row is one direction, where the file does not say; a tenth of them is too many to be by chance."""
    pairs = {(edge.tail, edge.head) for edge in edges}
    num_both = sum((head, tail) in pairs for tail, head in pairs if tail != head)
    is_directed = num_both >= _LISTED_BOTH_WAYS * len(pairs)
    if tell is not None:
        taken = (
            f"one-way in the direction of their row, as {num_both:,} of {len(pairs):,} are there in both"
            if is_directed
            else "two-way"
        )
        say = "say it with a column oneway, or with --oneway yes|no of `veilroute streets`"
        tell(f"WARNING: {Path(path).name} does not say which streets are one-way; all are taken as {taken}: {say}")
    return is_directed


def _read_nodes(path: str | Path) -> tuple[dict[str, tuple[float, float] | None], bool]:
    """The nodes in order with their points, where they have some, and whether these are longitude and latitude."""
    table = Sheet(path, _NODE_KEYS)
    id_at = table.need("the node", *_IDS)
    lonlat = table.find(*_LONS), table.find(*_LATS)
    plane = table.find("x"), table.find("y")
    is_lonlat = None not in lonlat
    columns = lonlat if is_lonlat else plane
    points: dict[str, tuple[float, float] | None] = {}
    for row in table.full_rows():
        if not row[id_at] or row[id_at] in points:
            raise table.error(f"expected a node that was not there before, got {row[id_at][:40]!r}")
        if is_lonlat:
            x, y = (_degrees(table, row, at, axis) for at, axis in zip(columns, ("lon", "lat"), strict=True))
        else:
            x, y = (0.0 if at is None else float(table.number(row, at)) for at in columns)
        if is_lonlat and not (abs(x) <= 180 and abs(y) <= 90):
            raise table.error(f"expected lat from -90 to 90 and lon from -180 to 180, got {y:g}, {x:g}")
        points[row[id_at]] = None if None in columns else (x, y)
    return points, is_lonlat


def _degrees(table: Sheet, row: list[str], column: int | None, axis: str) -> float:
    text = row[column or 0]
    try:
        return read_degrees(text, axis)
    except ValueError:
        raise table.error(f"expected a number as {axis}, got {text[:20]!r}") from None
