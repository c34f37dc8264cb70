"""Doors: places that lie on a street between two junctions, and the network with nodes at them.

A place stands beside the street that is nearest to it; its door is the nearest point of that street. The network is
split there, so that routes, distances and sight begin and end at the door itself. Where one may drive in both
directions, both pass the door, or only the one on whose side of the road the place is (``kerb``). Places whose doors
are at one spot are one node with several labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Floats, Ints
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import EARTH_RADIUS_M, Streets, street_domain, streets_of
from veilroute.domain.graph import Domain, Label, label_text, spans
from veilroute.domain.turns import Stretch, Turns, edge_numbers

SIDES = ("any", "kerb")
"""Which traffic passes a place on a street for both directions: all of it, or that on the place's side of the road."""

TRAFFIC = ("right", "left")  #: on which side of the road one drives
SNAPS = ("door", "junction")  #: where a place is taken to be: at its door, or at the junction nearest to it

_DEGREE_M = EARTH_RADIUS_M * math.radians(1)
_FIRST_WINDOW_M = 250.0
_ONE_SPOT_M = 0.1  # doors that are closer than this along a street are one
_ON_THE_STREET_M = 1.0  # a place that is no farther off is on neither side


@dataclass(frozen=True)
class Door:
    """The nearest point of the nearest street."""

    lonlat: tuple[float, float]
    distance_m: float  #: from the place, as the crow flies
    edges: tuple[int, ...] = ()  #: numbers of the directed edges that pass it
    fractions: tuple[float, ...] = ()  #: how far along each of them it is, from 0 to 1 of its length on the map
    node: int | None = None  #: the junction that it is, if it is one


class DoorFinder:
    """Finds the doors of places on a network; holds the lines of its streets in arrays."""

    def __init__(self, domain: Domain, *, side: str = "any", traffic: str = "right") -> None:
        check_name("side", side, SIDES)
        check_name("traffic", traffic, TRAFFIC)
        self.domain, self.streets = domain, streets_of(domain)
        if not domain.num_edges:
            raise InvalidInputError("domain", "a street network with streets")
        self.is_kerb, self.is_left = side == "kerb", traffic == "left"
        self.tails, self.heads, _ = domain.edge_arrays()
        self.back = edge_numbers(domain, self.heads, self.tails)

    @cached_property
    def _lines(self) -> tuple[Ints, Floats, Floats]:
        """The pieces of all lines: which edge each belongs to, where it begins, where it ends."""
        sizes = np.diff(self.streets.shape_ptr)
        first = self.streets.shape_ptr[:-1] + 2 * np.arange(sizes.size)
        points = np.empty((int(sizes.sum()) + 2 * sizes.size, 2))
        points[first] = self.streets.lonlat[self.tails]
        points[first + sizes + 1] = self.streets.lonlat[self.heads]
        inner = np.ones(len(points), dtype=np.bool_)
        inner[first] = inner[first + sizes + 1] = False
        points[inner] = self.streets.shape
        begins = np.delete(np.arange(len(points)), first + sizes + 1)
        one, other = points[begins], points[begins + 1]
        other[:, 0] -= _whole_circles(other[:, 0] - one[:, 0])
        return np.repeat(np.arange(sizes.size), sizes + 1), one, other

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        _, begins, ends = self._lines
        return np.minimum(begins, ends), np.maximum(begins, ends)

    def find(self, lonlat: tuple[float, float]) -> Door:
        """The door of a place given as longitude and latitude.

        Of streets equally near, to the millimetre, it is on the edge with the lowest number.
        """
        owners, begins, ends = self._lines
        lowest, highest = self._boxes
        if lowest[:, 0].min() < lonlat[0] - 180 or highest[:, 0].max() > lonlat[0] + 180:
            # Streets on the other side of the antimeridian may be near.
            around = np.column_stack([_whole_circles(begins[:, 0] - lonlat[0]), np.zeros(owners.size)])
            begins, ends, lowest, highest = (points - around for points in (begins, ends, lowest, highest))
        at = np.array(lonlat)
        scale = np.array([_DEGREE_M * math.cos(math.radians(lonlat[1])), _DEGREE_M])
        window = _FIRST_WINDOW_M
        while True:
            reach = window / np.maximum(scale, 1e-9)
            near = np.flatnonzero(((lowest <= at + reach) & (highest >= at - reach)).all(axis=1))
            if near.size:
                a, b = (begins[near] - at) * scale, (ends[near] - at) * scale
                away, along = _nearest_point(a, b)
                if float(away.min()) <= window or near.size == owners.size:
                    break
            window *= 4
        best = int(np.lexsort((near, np.round(away, 3)))[0])
        piece, edge = int(near[best]), int(owners[near[best]])
        # At a sharp bend the pieces before and after may disagree: the one whose line is farther off is right.
        alike = np.flatnonzero((owners[near] == edge) & (away <= away[best] + 1e-3))
        one, other = a[alike], b[alike]
        to_left = (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / np.maximum(np.hypot(*(other - one).T), 1e-9)
        to_right = float(to_left[np.argmax(np.abs(to_left))]) < 0
        first, sizes = self._pieces(edge)
        walked = float(sizes[: piece - first].sum()) + float(along[best]) * float(sizes[piece - first])
        total = float(sizes.sum())
        fraction = min(1.0, walked / total) if total > 0 else 0.0
        return self._door(edge, fraction, float(away[best]), to_right=to_right)

    def _door(self, edge: int, fraction: float, away: float, *, to_right: bool) -> Door:
        metres = max(float(self.streets.lengths[edge]), 1e-9)
        for is_end, node in (
            (fraction * metres < _ONE_SPOT_M, self.tails),
            ((1 - fraction) * metres < _ONE_SPOT_M, self.heads),
        ):
            if is_end:
                lon, lat = self.streets.lonlat[node[edge]].tolist()
                return Door((lon, lat), away, (edge,), (fraction,), int(node[edge]))
        twin = self._twin(edge)
        if twin is not None and twin < edge:
            edge, twin, fraction, to_right = twin, edge, 1 - fraction, not to_right
        # In steps of a decimetre, so that neighbours at one spot are told to be.
        fraction = round(fraction * metres / _ONE_SPOT_M) * _ONE_SPOT_M / metres
        lonlat = self._point(edge, fraction)
        if twin is None:
            return Door(lonlat, away, (edge,), (fraction,))
        if not self.is_kerb or away <= _ON_THE_STREET_M:
            return Door(lonlat, away, (edge, twin), (fraction, 1 - fraction))
        if to_right == self.is_left:
            return Door(lonlat, away, (twin,), (1 - fraction,))
        return Door(lonlat, away, (edge,), (fraction,))

    def _point(self, edge: int, fraction: float) -> tuple[float, float]:
        """Longitude and latitude of a point of an edge, to a centimetre."""
        _, begins, ends = self._lines
        first, sizes = self._pieces(edge)
        before = np.cumsum(sizes) - sizes
        left = fraction * float(sizes.sum())
        piece = int(np.flatnonzero(before <= left)[-1])
        share = (left - before[piece]) / sizes[piece] if sizes[piece] > 0 else 0.0
        one, other = begins[first + piece], ends[first + piece]
        lon, lat = np.round(one + min(1.0, share) * (other - one), 7).tolist()
        return round(lon - float(_whole_circles(lon)), 7), lat

    def _pieces(self, edge: int) -> tuple[int, Floats]:
        """The first piece of an edge, and how long each of its pieces is on the map."""
        owners, begins, ends = self._lines
        first, last = np.searchsorted(owners, [edge, edge + 1]).tolist()
        return first, _metres(begins[first:last], ends[first:last])

    def _twin(self, edge: int) -> int | None:
        """The same street in the other direction, if one may use it so."""
        back = int(self.back[edge])
        if back < 0:
            return None
        own, other = self.streets.bends(edge), self.streets.bends(back)[::-1]
        return back if own.shape == other.shape and np.allclose(own, other, rtol=0, atol=1e-9) else None


def _metres(one: Floats, other: Floats) -> Floats:
    """Metres between points, on the plane of the first."""
    scale = np.cos(np.radians(one[..., 1]))
    east = other[..., 0] - one[..., 0]
    return np.asarray(_DEGREE_M * np.hypot((east - _whole_circles(east)) * scale, other[..., 1] - one[..., 1]))


def _whole_circles(degrees: npt.ArrayLike) -> Floats:
    """What of a difference of longitudes is only the way round the earth."""
    return np.asarray(360 * np.round(np.asarray(degrees) / 360))


def _nearest_point(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """How far each piece from ``a`` to ``b`` is from the origin, and at which fraction of it that is."""
    d = b - a
    squares = (d * d).sum(axis=1)
    along = np.clip(-(a * d).sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0, 1.0)
    nearest = a + along[:, None] * d
    return np.hypot(nearest[:, 0], nearest[:, 1]), along


@dataclass(frozen=True)
class _Cuts:
    """Where edges are cut, by (edge, fraction)."""

    edges: Ints
    fractions: Floats
    nodes: Ints  # what stands at each cut


def open_doors(domain: Domain, doors: Sequence[tuple[str, Door]]) -> tuple[Domain, tuple[Label, ...]]:
    """The network with nodes at some doors, and the label of each door there.

    Each door comes with what its place is called, which becomes its label; where the network calls something else so
    already, with "(place)" after it. Of places at one spot the first gives the node its label, or takes that of the
    junction, and the others are further labels of it. Doors at the kerb on either side of a street are not joined
    across it: do not measure distances on foot then.
    """
    streets = streets_of(domain)
    old = list(domain.labels) if domain.labels is not None else list(range(domain.num_nodes))
    taken = {label_text(label) for label in old} | {label_text(label) for label, _ in domain.also}
    labels: list[Label] = []
    also = list(domain.also)
    nodes: dict[object, int] = {}  # by spot
    added: list[tuple[str, Door]] = []
    for text, door in doors:
        spot = (door.edges, door.fractions) if door.node is None else door.node
        if door.node is not None and spot not in nodes:
            nodes[spot] = door.node
            labels.append(old[door.node])
            continue
        label = text
        while label in taken:
            label += " (place)"
        taken.add(label)
        labels.append(label)
        if spot in nodes:
            also.append((label, nodes[spot]))
        else:
            nodes[spot] = len(old) + len(added)
            added.append((label, door))
    if not added:
        return replace(domain, labels=tuple(old), also=tuple(also)), tuple(labels)
    numbered = [
        (edge, part, len(old) + i)
        for i, (_, door) in enumerate(added)
        for edge, part in zip(door.edges, door.fractions, strict=True)
    ]
    cuts = _Cuts(*(np.array(column) for column in zip(*sorted(numbered), strict=True)))
    split = street_domain(
        lonlat=np.concatenate([streets.lonlat, np.array([door.lonlat for _, door in added])]),
        unit=streets.unit,
        labels=[*old, *(label for label, _ in added)],
        names=streets.names,
        kinds=streets.kinds,
        attribution=streets.attribution,
        turns=None if domain.turns is None else _cut_turns(domain, domain.turns, cuts),
        also=also,
        **_cut_edges(domain, streets, cuts),
    )
    return split, tuple(labels)


def _cut_edges(domain: Domain, streets: Streets, cuts: _Cuts) -> dict[str, Any]:
    """The arrays of :func:`street_domain` for the edges after cutting: those that stay, then the parts of others."""
    tails, heads, costs = domain.edge_arrays()
    is_cut = np.zeros(domain.num_edges, dtype=np.bool_)
    is_cut[cuts.edges] = True
    kept = np.flatnonzero(~is_cut)
    sizes = np.diff(streets.shape_ptr)
    new: dict[str, list[Any]] = {"tails": [], "heads": [], "from": [], "share": [], "edge": []}
    bends: list[Floats] = [streets.shape[spans(streets.shape_ptr[:-1][kept], sizes[kept])]]
    num_bends = [sizes[kept]]
    for edge in np.unique(cuts.edges).tolist():
        first, last = np.searchsorted(cuts.edges, [edge, edge + 1]).tolist()
        stops = [int(tails[edge]), *cuts.nodes[first:last].tolist(), int(heads[edge])]
        ends = np.concatenate([[0.0], cuts.fractions[first:last], [1.0]])
        line = streets.line(int(tails[edge]), int(heads[edge]), edge)
        pieces = _metres(line[:-1], line[1:])
        passed = np.cumsum(pieces)[:-1] / max(float(pieces.sum()), 1e-9)
        for i, (one, other) in enumerate(pairwise(stops)):
            new["tails"].append(one)
            new["heads"].append(other)
            new["share"].append(ends[i + 1] - ends[i])
            new["edge"].append(edge)
            inside = streets.bends(edge)[(passed > ends[i]) & (passed < ends[i + 1])]
            bends.append(inside)
            num_bends.append(np.array([len(inside)]))
    edge_of, share = np.array(new["edge"], dtype=np.int64), np.array(new["share"])

    def both(values: npt.NDArray[Any], parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([values[kept], parts])

    return {
        "tails": both(tails, np.array(new["tails"], dtype=np.int64)),
        "heads": both(heads, np.array(new["heads"], dtype=np.int64)),
        "costs": both(costs.astype(np.float64), costs[edge_of] * share),
        "lengths": both(streets.lengths, streets.lengths[edge_of] * share),
        "shortest": both(streets.shortest, streets.shortest[edge_of] * share),
        "name_ids": both(streets.name_ids, streets.name_ids[edge_of]),
        "kind_ids": both(streets.kind_ids, streets.kind_ids[edge_of]),
        "shape_ptr": np.concatenate([[0], np.cumsum(np.concatenate(num_bends))]),
        "shape": np.concatenate(bends),
    }


def _cut_turns(domain: Domain, turns: Turns, cuts: _Cuts) -> Turns:
    """The same rules along the parts of edges.

    A banned stretch leads from the last part of its first edge to the first part of its last. Turning round on a street
    whose directions are cut at different doors does not lead back to the very node one comes from, so it is banned
    by name.
    """
    tails, heads, _ = domain.edge_arrays()
    between: dict[tuple[int, int], list[int]] = {}
    for edge, node in zip(cuts.edges.tolist(), cuts.nodes.tolist(), strict=True):
        between.setdefault((int(tails[edge]), int(heads[edge])), []).append(node)
    cut_streets = np.array(list(between), dtype=np.int64).reshape(-1, 2)
    leads_back = edge_numbers(domain, cut_streets[:, 1], cut_streets[:, 0]) >= 0
    if turns.u_turn_cost and any(
        between.get((head, tail), [])[::-1] != cut
        for ((tail, head), cut), is_both in zip(between.items(), leads_back, strict=True)
        if is_both
    ):
        raise InvalidInputError("--u-turn-cost", "0 with --side kerb, where each direction has places of its own")

    def expanded(stretch: Stretch) -> Stretch:
        steps = [[*between.get(step, ()), step[1]] for step in pairwise(stretch)]
        first = [stretch[0], *steps[0]][-2:]
        return (*first, *(node for step in steps[1:-1] for node in step), steps[-1][0])

    banned = [expanded(stretch) for stretch in turns.banned]
    if turns.u_turns != "allow":
        streets = {(min(pair), max(pair)) for pair in between}
        out = np.diff(domain.indptr.astype(np.int64))
        for tail, head in sorted(streets):
            there, back = ([one, *between.get((one, other), ()), other] for one, other in ((tail, head), (head, tail)))
            if back != there[::-1] and (edge_numbers(domain, [tail, head], [head, tail]) >= 0).all():
                dead_ends = [n for n in (tail, head) if out[n] == 1] if turns.u_turns == "dead-ends" else []
                banned += _turns_round(there, back, dead_ends)
                banned += _turns_round(back, there, dead_ends)
    return Turns.of(turns.u_turns, banned, turns.u_turn_cost)


def _turns_round(there: list[int], back: list[int], dead_ends: Sequence[int]) -> list[Stretch]:
    """The stretches that arrive on one direction of a street and leave on the other, where that is not allowed."""
    return [
        (there[i - 1], node, back[back.index(node) + 1])
        for i, node in enumerate(there)
        if i and node in back[:-1] and node not in dead_ends and there[i - 1] != back[back.index(node) + 1]
    ]
