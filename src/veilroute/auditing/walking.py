"""Walking distances by plain breadth-first search and Dijkstra, for the auditor alone, and a measure of such work.

Nothing here is shared with the planners' kernels: a mistake in theirs must not be repeated when it is looked for.
"""

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property

import numpy as np

from veilroute.base.arrays import Floats, Ints
from veilroute.domain.graph import Domain

Rows = tuple[list[int], list[int], list[float]]  #: compressed rows as plain lists: offsets, heads and costs

HEAP_VISIT = 4
TABLE_STEP = 0.125
"""What a visit by Dijkstra's algorithm and a look into a table take, measured in visits by breadth-first search."""


def make_rows(num_nodes: int, tails: Ints, heads: Ints, costs: Floats) -> Rows:
    """Compressed rows of edges; those out of a node keep their order."""
    order = np.argsort(tails, kind="stable")
    offsets = np.searchsorted(tails[order], np.arange(num_nodes + 1))
    return offsets.tolist(), heads[order].tolist(), costs[order].tolist()


class TooMuchError(Exception):
    """The problem is too large to try everything; never leaves the auditor."""


class Effort:
    """An allowance of steps, in visits of a node by breadth-first search.

    Counted, not timed, so that a verdict does not depend on the machine.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._left = limit

    def renew(self) -> None:
        """Begin a new piece of work with the whole allowance."""
        self._left = self.limit

    def spend(self, amount: float) -> None:
        """Note some work; raises `TooMuchError` when the allowance is used up."""
        self._left -= amount
        if self._left < 0:
            raise TooMuchError


class WalkingMap:
    """Edges as plain lists, those of a domain or any others, and the distances over them."""

    def __init__(self, edges: Domain | Rows) -> None:
        if isinstance(edges, Domain):
            edges = (edges.indptr.tolist(), edges.indices.tolist(), edges.costs.tolist())
        self.edges_out: Rows = edges
        self.num_nodes = len(edges[0]) - 1
        self._table: tuple[tuple[int, ...], list[list[float]]] | None = None
        kinds = set(edges[2]) or {1.0}
        least, most = min(kinds), max(kinds)
        # Counting edges and adding costs agree to the last bit only for whole numbers.
        self.unit = float(least) if least == most and least > 0 and float(least).is_integer() else None
        self.smallest_cost = least
        self.smallest_positive_cost = min((cost for cost in kinds if cost > 0), default=1.0)

    @property
    def visit(self) -> float:
        """What visiting a node takes, measured in visits by breadth-first search."""
        return 1 if self.unit is not None else HEAP_VISIT

    @cached_property
    def is_two_way(self) -> bool:
        """Whether every edge leads back as well."""
        edges = {(tail, head) for tail in range(self.num_nodes) for head, _ in self.edges_from(tail)}
        return all((head, tail) in edges for tail, head in edges)

    @cached_property
    def edges_into(self) -> Rows:
        """The rows with every edge turned round."""
        offsets, heads, costs = self.edges_out
        tails = np.repeat(np.arange(self.num_nodes), np.diff(offsets))
        return make_rows(self.num_nodes, np.array(heads, dtype=np.int64), tails, np.array(costs))

    def edge_cost(self, tail: int, head: int) -> float | None:
        """Cost of the edge from ``tail`` to ``head``, or ``None`` when the two are not joined."""
        edge = self.edge_number(tail, head)
        return None if edge is None else self.edges_out[2][edge]

    def edge_number(self, tail: int, head: int) -> int | None:
        """Which edge leads from ``tail`` to ``head``, or ``None`` when the two are not joined."""
        offsets, heads, _ = self.edges_out
        # Heads ascend, in the rows of a domain and of what is left of it.
        edge = bisect_left(heads, head, offsets[tail], offsets[tail + 1])
        return edge if edge < offsets[tail + 1] and heads[edge] == head else None

    def edges_from(self, node: int) -> Iterator[tuple[int, float]]:
        """Heads and costs of the edges out of a node."""
        offsets, heads, costs = self.edges_out
        for edge in range(offsets[node], offsets[node + 1]):
            yield heads[edge], costs[edge]

    def distances(self, seeds: Iterable[tuple[int, float]], *, backwards: bool = False) -> list[float]:
        """Distance of every node from the nearest seed, each seed (a node and a distance) starting at its own.

        ``backwards`` walks every edge against its direction, which gives the distances *to* the seeds.
        """
        starts = list(seeds)
        offsets, heads, costs = self.edges_into if backwards else self.edges_out
        found = [math.inf] * self.num_nodes
        if self.unit is not None and all(distance % self.unit == 0 for _, distance in starts):
            for ring, distance in self._rings(starts, self.unit, backwards=backwards):
                for node in ring:
                    found[node] = distance
            return found
        heap: list[tuple[float, int]] = []
        for node, distance in starts:
            if distance < found[node]:
                found[node] = distance
                heap.append((distance, node))
        heapq.heapify(heap)
        pop, push = heapq.heappop, heapq.heappush
        while heap:
            distance, node = pop(heap)
            if distance > found[node]:
                continue
            first, end = offsets[node], offsets[node + 1]
            for head, cost in zip(heads[first:end], costs[first:end], strict=True):
                there = distance + cost
                if there < found[head]:
                    found[head] = there
                    push(heap, (there, head))
        return found

    def _rings(
        self, starts: list[tuple[int, float]], unit: float, *, backwards: bool
    ) -> Iterator[tuple[list[int], float]]:
        """Breadth-first search where all edges cost a unit: the nodes at each distance from the nearest start.

        A start joins the ring of its own distance, unless it was reached before.
        """
        offsets, heads, _ = self.edges_into if backwards else self.edges_out
        seen = bytearray(self.num_nodes)
        waiting = sorted(starts, key=lambda start: start[1], reverse=True)
        ring: list[int] = []
        distance: float = 0
        while ring or waiting:
            if not ring:
                distance = waiting[-1][1]
            while waiting and waiting[-1][1] == distance:
                node = waiting.pop()[0]
                if not seen[node]:
                    seen[node] = 1
                    ring.append(node)
            yield ring, distance
            distance += unit
            ahead: list[int] = []
            for node in ring:
                for head in heads[offsets[node] : offsets[node + 1]]:
                    if not seen[head]:
                        seen[head] = 1
                        ahead.append(head)
            ring = ahead

    def table(self, nodes: Sequence[int]) -> list[list[float]]:
        """Distances from each of some nodes (a row) to all of them; kept, because several checks ask for the same."""
        wanted = tuple(nodes)
        if self._table is None or self._table[0] != wanted:
            rows = []
            for node in wanted:
                distances = self.distances([(node, 0)])
                rows.append([distances[other] for other in wanted])
            self._table = wanted, rows
        return self._table[1]

    def near(
        self, source: int, limit: float, *, backwards: bool = False, wanted: Set[int] | None = None
    ) -> dict[int, float]:
        """Distances of the nodes within ``limit`` of ``source``; may stop once all of ``wanted`` are among them."""
        missing = math.inf if wanted is None else len(wanted)
        found: dict[int, float] = {}
        if self.unit is not None:
            for ring, distance in self._rings([(source, 0)], self.unit, backwards=backwards):
                found.update(dict.fromkeys(ring, distance))
                missing -= 0 if wanted is None else sum(node in wanted for node in ring)
                if missing <= 0 or distance + self.unit > limit:
                    break
            return found
        offsets, heads, costs = self.edges_into if backwards else self.edges_out
        settled: dict[int, float] = {}
        found[source] = 0
        heap: list[tuple[float, int]] = [(0, source)]
        while heap and missing > 0:
            distance, node = heapq.heappop(heap)
            if node in settled:
                continue
            settled[node] = distance
            missing -= wanted is not None and node in wanted
            first, end = offsets[node], offsets[node + 1]
            for head, cost in zip(heads[first:end], costs[first:end], strict=True):
                there = distance + cost
                if there <= limit and there < found.get(head, math.inf):
                    found[head] = there
                    heapq.heappush(heap, (there, head))
        return settled
