"""The world as a frozen directed graph in compressed sparse rows (CSR), what users call its nodes, and its lengths.

Adding the same floating-point costs in another order can change the last bits, so a distance within a billionth
(relative) of a bound counts as equal to it, for planning and auditing alike. Integer costs are compared exactly.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Floats, Indices, Ints
from veilroute.base.checks import check_name, check_whole, count_text, is_whole, plain_number
from veilroute.base.errors import InvalidInputError, MissingExtraError
from veilroute.base.io import dump_canonical

if TYPE_CHECKING:
    from veilroute.domain.geography import Streets
    from veilroute.domain.grid import Grid
    from veilroute.domain.turns import Turns

Label = Hashable
"""What users call a node: an integer, a string, or a tuple of these such as the ``(row, col)`` of a grid's cell."""

CostArray = npt.NDArray[np.float64 | np.int64]

# A walk may cross the graph once for each place that it covers, and integers are exact in a float up to 2^53.
_MOST_TOTAL_COST = 2**46
_MOST_NODES = 2**31 - 1
_MOST_ALONE = 1_000_000  # so many nodes may be without an edge: a number in a small file must not ask for gigabytes
_LEAST_COST, _LARGEST_COST = 1e-100, 1e100
_DEEPEST = 4
_WIDEST_INTEGER = 2**63
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain_label(value: Any, *, field: str = "label", depth: int = 0) -> Label:
    """A label in plain Python values, whether it came from JSON (lists), numpy or the user.

    Refused is what a file or a report could not hold: other types, integers beyond 64 bits, text with control
    characters, tuples nested more than four deep. The value itself is never in the message: it may be a secret.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return tuple(plain_label(part, field=field, depth=depth + 1) for part in value)
    if is_whole(value, -_WIDEST_INTEGER, _WIDEST_INTEGER - 1):
        return value
    if isinstance(value, str) and not _UNPRINTABLE.search(value):
        return value
    raise InvalidInputError(field, "an integer, printable text, or a tuple of these", type(value).__name__)


def label_text(label: Label) -> str:
    """A label as it can be typed: ``R,C`` for cells, ``(A,B),C`` for tuples in tuples."""
    if not isinstance(label, tuple):
        return str(label)
    return ",".join(f"({label_text(part)})" if isinstance(part, tuple) else str(part) for part in label)


def folded(text: str) -> str:
    """What names are compared by where capitals do not matter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def tidy_text(text: str) -> str:
    """Typed text with the ways to write a tuple made one: ``(3, 4)``, ``[3,4]`` and ``3 4`` become ``3,4``."""
    bare = text.strip()
    bare = bare[1:] if bare[:1] in ("(", "[") else bare
    bare = bare[:-1] if bare[-1:] in (")", "]") else bare
    return re.sub(r"\s*,\s*|\s+", ",", bare.strip())


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A directed graph with non-negative edge costs, node labels and, where known, coordinates.

    Build one with :meth:`from_edges`, :meth:`from_networkx`, :func:`~veilroute.domain.grid.grid_domain` or a
    reader in :mod:`veilroute.formats`; the constructor takes arrays that are already in canonical form.
    """

    #: CSR rows: the edges out of node ``n`` are ``indices[indptr[n]:indptr[n + 1]]``, heads ascending, without
    #: self-loops or parallel edges.
    indptr: Indices
    indices: Indices
    costs: CostArray
    #: One label per node; ``None`` when the nodes are called 0, 1, 2, ... or when a grid names them.
    labels: tuple[Label, ...] | None = None
    coordinates: Floats | None = None  #: one ``(x, y)`` per node, or ``None``
    grid: Grid | None = None  #: the grid behind the graph, or ``None``
    streets: Streets | None = None  #: the street network behind the graph, or ``None``
    turns: Turns | None = None  #: which walks are not legal; ``None`` where all are
    #: Further labels of nodes, each with its node: several places may be at one spot.
    also: tuple[tuple[Label, int], ...] = ()

    @classmethod
    def from_edges(
        cls,
        num_nodes: int,
        tails: npt.ArrayLike,
        heads: npt.ArrayLike,
        costs: npt.ArrayLike,
        *,
        labels: Sequence[Label] | None = None,
        coordinates: npt.ArrayLike | None = None,
    ) -> Domain:
        """Build a domain from parallel arrays of directed edges.

        Self-loops are dropped and of parallel edges the cheapest is kept: neither can be on a cheapest walk.
        Costs stay integers when all of them are.
        """
        indptr, indices, values = _canonical_rows(num_nodes, *_checked_edges(num_nodes, tails, heads, costs))
        names, places = _checked_labels(labels, num_nodes), _checked_coordinates(coordinates, num_nodes)
        return cls(indptr, indices, values, names, places)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str = "weight", default_cost: float | None = None) -> Domain:
        """Build a domain from a networkx graph; undirected edges count in both directions.

        Node names become labels, the edge attribute ``weight`` the cost, and node attributes ``x`` and ``y`` (or
        ``pos``) the coordinates when every node has them. An edge without that attribute is an error, unless there is a
        ``default_cost`` for such edges. For a graph made by OSMnx there is
        :func:`~veilroute.formats.graphml.domain_from_osmnx`, which keeps its streets.
        """
        names = list(graph.nodes)
        index = {name: i for i, name in enumerate(names)}
        edges = [(index[a], index[b], cost) for a, b, cost in graph.edges(data=weight, default=default_cost)]
        if default_cost is None and any(cost is None for _, _, cost in edges):
            raise InvalidInputError("weight", _what_edges_have(graph), weight)
        if not graph.is_directed():
            edges += [(head, tail, cost) for tail, head, cost in edges]
        positions = [_networkx_position(data) for _, data in graph.nodes(data=True)]
        known = [position for position in positions if position is not None]
        coordinates = known if names and len(known) == len(names) else None
        labels = None if names == list(range(len(names))) else names
        tails, heads, costs = ([edge[i] for edge in edges] for i in range(3))
        return cls.from_edges(len(names), tails, heads, costs, labels=labels, coordinates=coordinates)

    def to_networkx(self) -> Any:
        """Return the domain as a ``networkx.DiGraph`` whose edges carry ``weight``."""
        try:
            import networkx as nx
        except ImportError:
            raise MissingExtraError("networkx", "graphs") from None
        graph = nx.DiGraph()
        names = [self.label(node) for node in range(self.num_nodes)]
        graph.add_nodes_from(names)
        edges = zip(*(array.tolist() for array in self.edge_arrays()), strict=True)
        graph.add_weighted_edges_from((names[tail], names[head], cost) for tail, head, cost in edges)
        return graph

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return int(self.indptr.size - 1)

    @property
    def num_edges(self) -> int:
        """How many directed edges there are."""
        return int(self.indices.size)

    @property
    def has_integer_costs(self) -> bool:
        """Whether every cost is an integer by type."""
        return self.costs.dtype.kind == "i"

    @cached_property
    def unit_cost(self) -> float | None:
        """The cost of every edge when all are the same positive whole number, else ``None``.

        Whole, because then counting edges and adding costs agree to the last bit.
        """
        if self.costs.size == 0:
            return 1.0
        first = float(self.costs[0])
        same = first > 0 and first.is_integer() and bool((self.costs == self.costs[0]).all())
        return first if same else None

    @cached_property
    def smallest_positive_cost(self) -> float:
        """The smallest edge cost above zero, or 1 when there is none."""
        positive = self.costs[self.costs > 0]
        return float(positive.min()) if positive.size else 1.0

    @cached_property
    def smallest_cost(self) -> float:
        """The smallest edge cost, or infinity without edges."""
        return float(self.costs.min()) if self.costs.size else math.inf

    @cached_property
    def reversed_rows(self) -> tuple[Indices, Indices, CostArray]:
        """CSR rows of the graph with every edge turned round."""
        # By head and then by tail: edges are in the order of their tails, and a stable sort leaves that as it is.
        order = np.argsort(self.indices, kind="stable")
        indptr = np.zeros(self.num_nodes + 1, dtype=np.uint32)
        np.cumsum(np.bincount(self.indices, minlength=self.num_nodes), out=indptr[1:])
        tails = np.repeat(np.arange(self.num_nodes, dtype=np.uint32), np.diff(self.indptr))
        return indptr, tails[order], self.costs[order]

    @cached_property
    def on_earth(self) -> Streets | None:
        """Where nodes are on earth and edges lead: by the streets, or by a grid's anchor; ``None`` where unknown."""
        from veilroute.domain.geography import grid_streets  # here, because that module is built on this one

        return grid_streets(self) if self.streets is None else self.streets

    def edge_arrays(self) -> tuple[Ints, Ints, CostArray]:
        """Tails, heads and costs of all edges, ordered by (tail, head)."""
        ends = self.indptr.astype(np.int64)
        tails = np.repeat(np.arange(self.num_nodes, dtype=np.int64), ends[1:] - ends[:-1])
        return tails, self.indices.astype(np.int64), self.costs

    def label(self, node: int) -> Label:
        """What users call node number ``node``."""
        if self.grid is not None:
            return self.grid.cell(node)
        return node if self.labels is None else self.labels[node]

    def labels_of(self, nodes: Ints) -> tuple[Label, ...]:
        """The labels of many nodes."""
        if self.grid is not None:
            return tuple(map(tuple, self.grid.cells[nodes].tolist()))
        return tuple(self.label(node) for node in nodes.tolist())

    def node(self, label: object, *, field: str = "node") -> int:
        """The number of the node called ``label``; ``field`` names the culprit when there is none."""
        if self.grid is not None:
            return self.grid.node(label, field=field)
        if self.labels is not None:
            try:
                return self._index_of_label[label]
            except (KeyError, TypeError):
                raise InvalidInputError(field, "the label of a node of this domain", label) from None
        last = self.num_nodes - 1
        return check_whole(field, plain_number(label), f"a node from 0 to {last}", least=0, most=last)

    def has_label(self, label: object) -> bool:
        """Whether a node is called ``label``."""
        try:
            self.node(label)
        except InvalidInputError:
            return False
        return True

    def parse_label(self, text: str, *, field: str = "node") -> Label:
        """Read a label as typed on a command line or used as a JSON key: ``R,C`` on grids, else its text."""
        if self.grid is not None:
            try:
                row, col = (int(part) for part in tidy_text(text).split(","))
            except ValueError:
                raise InvalidInputError(field, "a cell written as ROW,COL", text) from None
            return (row, col)
        if self.labels is None:
            try:
                return int(text)
            except ValueError:
                raise InvalidInputError(field, f"a node from 0 to {self.num_nodes - 1}", text) from None
        for wanted in (text, text.strip(), tidy_text(text)):
            if wanted in self._label_of_text:
                return self._label_of_text[wanted]
        raise InvalidInputError(field, "the label of a node of this domain", text)

    @cached_property
    def _label_of_text(self) -> dict[str, Label]:
        further = (label for label, _ in self.also)
        return {label_text(label): label for label in chain(self.labels or (), further)}

    def labels_like(self, text: str) -> list[Label]:
        """The labels that are this text but for capitals."""
        return self._labels_of_folded.get(folded(text), [])

    @cached_property
    def _labels_of_folded(self) -> dict[str, list[Label]]:
        alike: dict[str, list[Label]] = {}
        for label in chain(self.labels or (), (label for label, _ in self.also)):
            if isinstance(label, str):
                alike.setdefault(folded(label), []).append(label)
        return alike

    @cached_property
    def _index_of_label(self) -> dict[Label, int]:
        return dict(self.also) | {label: i for i, label in enumerate(self.labels or ())}

    @cached_property
    def sha256(self) -> str:
        """A hash of everything that planning depends on: edges, costs, labels, and lengths and places of streets."""
        digest = hashlib.sha256(b"veilroute-domain/1\n")
        digest.update(self.indptr.astype("<u8").tobytes())
        digest.update(self.indices.astype("<u8").tobytes())
        digest.update(b"int" if self.has_integer_costs else b"float")
        digest.update(self.costs.astype("<i8" if self.has_integer_costs else "<f8").tobytes())
        if self.grid is not None:
            digest.update(self.grid.cells.astype("<i8").tobytes())
        elif self.labels is not None:
            digest.update(dump_canonical(list(self.labels)))
        if self.streets is not None:
            # Distances in metres depend on these; names and bends are for people only, see drawing_sha256.
            digest.update(b"streets " + self.streets.unit.encode())
            digest.update(self.streets.lonlat.astype("<f8").tobytes())
            digest.update(self.streets.lengths.astype("<f8").tobytes())
            if not np.array_equal(self.streets.shortest, self.streets.lengths):
                digest.update(self.streets.shortest.astype("<f8").tobytes())
        if self.turns is not None:
            digest.update(b"turns " + dump_canonical(self.turns.to_dict()))
        if self.also:
            digest.update(b"also " + dump_canonical([list(pair) for pair in self.also]))
        return digest.hexdigest()

    @cached_property
    def drawing_sha256(self) -> str | None:
        """A hash of what people are shown and planning does not use, or ``None`` when there is nothing of the kind.

        On street networks names, kinds and bends of the edges and the credits, on other graphs the coordinates, on
        grids where they lie on earth, if they do. The cells of a grid are in :attr:`sha256`.
        """
        digest = hashlib.sha256(b"veilroute-drawing/1\n")
        if self.streets is not None:
            # By what each edge is called and not by the tables of texts, which may hold the same in another order.
            streets = self.streets
            for texts, ids in ((streets.names, streets.name_ids), (streets.kinds, streets.kind_ids)):
                digest.update(dump_canonical([texts[i] for i in ids.tolist()]))
            digest.update(dump_canonical(streets.attribution))
            digest.update(streets.shape_ptr.astype("<i8").tobytes())
            digest.update(streets.shape.astype("<f8").tobytes())
        elif self.coordinates is not None:
            digest.update(self.coordinates.astype("<f8").tobytes())
        elif self.grid is not None and self.grid.anchor is not None:
            anchor = self.grid.anchor
            digest.update(np.array([anchor.lat, anchor.lon, anchor.cell_m], dtype="<f8").tobytes())
        else:
            return None
        return digest.hexdigest()

    def distance(self, source: Label, target: Label, measure: str = "cost") -> float:
        """How far it is from one node to another, as ell and sight are measured; infinite where no way leads there.

        Rules for turns do not count here: what a route costs that keeps them is the cost of :meth:`shortest_path`.

        Parameters
        ----------
        source, target
            Labels of the nodes.
        measure
            ``cost``; on street networks also metres ``driving``, ``walking`` or ``straight`` ahead.
        """
        from veilroute.domain import connectivity, geography  # here, because these modules are built on this one

        check_name("measure", measure, geography.MEASURES)
        geography.check_measurable(self, measure, "measure")
        start, goal = self.node(source, field="source"), self.node(target, field="target")
        if measure == "straight":
            return float(geography.straight_distances(self, start, np.array([goal]))[0])
        return connectivity.shortest_walk(replace(geography.measured_domain(self, measure), turns=None), start, goal)[1]

    def shortest_path(self, source: Label, target: Label) -> list[Label]:
        """The labels of the nodes on a cheapest legal walk, both ends included; empty where there is none."""
        from veilroute.domain.connectivity import shortest_walk

        nodes, _ = shortest_walk(self, self.node(source, field="source"), self.node(target, field="target"))
        return [self.label(node) for node in nodes]

    def neighbours(self, label: Label) -> list[tuple[Label, float]]:
        """The nodes to which an edge leads from a node, by their labels, and what each of these edges costs."""
        node = self.node(label)
        row = slice(int(self.indptr[node]), int(self.indptr[node + 1]))
        heads = map(self.label, self.indices[row].tolist())
        return list(zip(heads, self.costs[row].tolist(), strict=True))

    def __repr__(self) -> str:
        kind = "graph" if self.streets is None else "street network"
        if self.grid is not None:
            kind = f"{self.grid.height}x{self.grid.width} grid"
        counts = count_text(self.num_nodes, "node"), count_text(self.num_edges, "edge")
        return f"<Domain: {kind}, {counts[0]}, {counts[1]}>"


def checked_costs(costs: npt.ArrayLike, *, field: str = "edges") -> CostArray:
    """Return edge costs as int64 or float64, or name the first that is no finite number >= 0."""
    try:
        values = np.asarray(costs)
        values = values.astype(np.int64 if values.dtype.kind in "iu" and values.size else np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{field}.cost", "numbers >= 0") from None
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((values == 0) | ((values >= _LEAST_COST) & (values <= _LARGEST_COST))))
    if bad.size:
        first = int(bad[0])
        expected = f"a finite number >= 0 (0, or {_LEAST_COST:g} to {_LARGEST_COST:g})"
        raise InvalidInputError(f"{field}[{first}].cost", expected, values.flat[first].item())
    if values.dtype.kind == "i" and values.size and float(values.sum(dtype=np.float64)) >= _MOST_TOTAL_COST:
        expected = "integers whose sum stays below 2^46; use a larger unit"
        raise InvalidInputError(f"{field}.cost", expected, int(values.max()))
    return values


def keep_cheapest(num_nodes: int, tails: npt.ArrayLike, heads: npt.ArrayLike, costs: npt.ArrayLike) -> Ints:
    """Positions of the edges that :meth:`Domain.from_edges` keeps of those given, in the order of its rows."""
    return _cheapest(*_checked_edges(num_nodes, tails, heads, costs))


def spans(firsts: Ints, sizes: Ints) -> Ints:
    """The numbers ``firsts[i], firsts[i] + 1, ...``, ``sizes[i]`` of them, for all ``i`` one after another."""
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(firsts - before, sizes))


def _cheapest(tails: Ints, heads: Ints, costs: CostArray) -> Ints:
    """Positions of the proper edges by (tail, head); of parallel ones the cheapest, of equally cheap ones the first."""
    follows = (tails[1:] > tails[:-1]) | ((tails[1:] == tails[:-1]) & (heads[1:] > heads[:-1]))
    if bool(follows.all()) and not bool((tails == heads).any()):
        return np.arange(tails.size, dtype=np.int64)  # as edges stand in files of our own, and sorting is slow
    proper = np.flatnonzero(tails != heads)
    order = proper[np.lexsort((costs[proper], heads[proper], tails[proper]))]
    if order.size:
        tails, heads = tails[order], heads[order]
        order = order[np.concatenate(([True], (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])))]
    return order


def _canonical_rows(num_nodes: int, tails: Ints, heads: Ints, costs: CostArray) -> tuple[Indices, Indices, CostArray]:
    kept = _cheapest(tails, heads, costs)
    tails, heads, costs = tails[kept], heads[kept], costs[kept]
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=num_nodes), out=indptr[1:])
    return indptr.astype(np.uint32), heads.astype(np.uint32), np.ascontiguousarray(costs)


def _checked_edges(
    num_nodes: int, tails: npt.ArrayLike, heads: npt.ArrayLike, costs: npt.ArrayLike
) -> tuple[Ints, Ints, CostArray]:
    tail_ids, head_ids = _node_ids("tail", tails, num_nodes), _node_ids("head", heads, num_nodes)
    values = checked_costs(costs)
    if not tail_ids.size == head_ids.size == values.size:
        raise InvalidInputError("edges", "tails, heads and costs of equal length")
    return tail_ids, head_ids, values


def _node_ids(end: str, ids: npt.ArrayLike, num_nodes: int) -> Ints:
    check_whole("num_nodes", num_nodes, f"an integer from 1 to {_MOST_NODES}", least=1, most=_MOST_NODES)
    values = np.asarray(ids)
    if num_nodes > _MOST_ALONE + 2 * values.size:
        raise InvalidInputError("num_nodes", f"at most {_MOST_ALONE:,} nodes more than the edges have ends", num_nodes)
    if values.size and values.dtype.kind not in "iu":
        raise InvalidInputError(f"edges.{end}", "integer node numbers")
    bad = np.flatnonzero((values < 0) | (values >= num_nodes)) if values.size else np.empty(0, dtype=np.int64)
    if bad.size:
        first = int(bad[0])
        raise InvalidInputError(f"edges[{first}].{end}", f"a node from 0 to {num_nodes - 1}", values[first].item())
    return values.astype(np.int64).reshape(-1)


def _checked_labels(labels: Sequence[Label] | None, num_nodes: int) -> tuple[Label, ...] | None:
    if labels is None:
        return None
    # Large networks have whole numbers for labels, which need neither a closer look one by one nor their text.
    whole = [label for label in labels if type(label) is int]
    names: tuple[Label, ...]
    if whole and len(whole) == len(labels) and min(whole) >= -_WIDEST_INTEGER and max(whole) < _WIDEST_INTEGER:
        names, distinct = tuple(whole), len(set(whole))
    else:
        names = tuple(plain_label(label, field="labels") for label in labels)
        # Distinct as text, so that what is typed or used as a JSON key names one node.
        distinct = len({label_text(name) for name in names})
    if len(names) != num_nodes:
        raise InvalidInputError("labels", f"one label for each of {num_nodes} nodes", len(names))
    if distinct != num_nodes:
        raise InvalidInputError("labels", "labels that differ as text", f"{num_nodes - distinct} repeated")
    return names


def _checked_coordinates(coordinates: npt.ArrayLike | None, num_nodes: int) -> Floats | None:
    if coordinates is None:
        return None
    try:
        values = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("coordinates", "one [x, y] pair of numbers per node") from None
    if values.shape != (num_nodes, 2) or not bool(np.isfinite(values).all()):
        raise InvalidInputError("coordinates", f"{num_nodes} finite [x, y] pairs", f"shape {values.shape}")
    return values


def _what_edges_have(graph: Any) -> str:
    """What may be named as the cost of a networkx graph's edges, where what was named is not on all of them."""
    found = [data for _, _, data in graph.edges(data=True)]
    names = sorted({str(name) for data in found for name in data})
    counts = {name: sum(name in data for data in found) for name in names}
    have = ", ".join(f"{name} is on {count}" for name, count in counts.items()) or "they have none"
    return f"an attribute that all {len(found)} edges have ({have}), or default_cost=1 for edges without it"


def _networkx_position(data: dict[str, Any]) -> tuple[float, float] | None:
    position: Iterable[float] | None = (data["x"], data["y"]) if "x" in data and "y" in data else data.get("pos")
    if position is None:
        return None
    try:
        x, y = position
        return float(x), float(y)
    except (TypeError, ValueError):
        raise InvalidInputError("coordinates", "numbers as x and y, or a pair of numbers as pos") from None


RELATIVE = 1e-9
_ROUNDING = 1e-12


def at_most(bound: float, *, exact: bool) -> float:
    """The largest length that counts as ``<= bound``; ``exact`` where lengths are sums of integers."""
    return bound if exact else bound * (1 + RELATIVE)


def at_least(bound: float, *, exact: bool) -> float:
    """The smallest length that counts as ``>= bound``; ``exact`` where lengths are sums of integers."""
    return bound if exact else bound * (1 - RELATIVE)


def choice_margin(*, exact: bool) -> float:
    """Factor of the best so far that a later choice must stay below to be preferred, so that rounding never chooses."""
    return 1.0 if exact else 1 - _ROUNDING
