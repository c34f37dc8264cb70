"""The graph on which legal walks are searched: its nodes are *states*, which say where one is and what may come next.

Where any walk is legal, a state is a node, and the graph is the domain itself. With rules for turns
(:class:`~veilroute.domain.turns.Turns`) a node has a state for each edge on which one arrives and may not go on as one
likes, and a free one for all others and for who starts there; a stretch that is banned over several edges has states
for how much of it was walked. So there are more states than nodes only where rules need them. Every walk over states is
a legal walk over nodes of the same cost, and every legal walk has exactly one walk over states from where it starts:
what holds of walks on a directed graph holds of legal walks as well (docs/theory).

A trip ends whatever edge it arrives on: its goal has a state of its own, which copies those in which one may arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np

from veilroute.base.arrays import Flags, Floats, Indices, Int32s, Ints, Walk
from veilroute.domain.graph import CostArray, Domain, Label, spans
from veilroute.domain.turns import Turns, edge_numbers
from veilroute.kernels.sweep import turn_rows

_Active = frozenset[tuple[int, int]]  # banned stretches by number, and how many of their nodes were walked: 3 or more
_NOTHING: _Active = frozenset()


@dataclass(frozen=True, eq=False, repr=False)
class Shortcuts:
    """What :func:`~veilroute.kernels.sweep.sweep_states` takes, by the names that it has there."""

    rows: tuple[Indices, Indices, Floats]
    state_of: Int32s
    nodes: Int32s
    back: Int32s
    is_plain: Flags
    steps: tuple[Indices, Indices, Floats, Int32s]
    num_numbers: int
    ends: Ints  # the states in which trips end, to which it finds no distances


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StateGraph(Domain):
    """States and the steps between them, as a directed graph."""

    world: Domain
    nodes: Ints  #: at which node each state is
    edges: Ints  #: which edge of the world each step follows; -1 for one that stays where it is
    state_of: Ints  #: per edge of the world the state to which it usually leads
    back: Ints  #: per state the edge that it may not turn back to, or -1
    num_usual: int  #: how many states remember an edge at most; the others come after them
    ends: frozenset[int]  #: the states in which trips end and nothing else

    @cached_property
    def reversed_rows(self) -> tuple[Indices, Indices, CostArray]:
        """See :attr:`Domain.reversed_rows`; by counting, because states are many."""
        indptr = np.zeros(self.num_nodes + 1, dtype=np.uint32)
        np.cumsum(np.bincount(self.indices, minlength=self.num_nodes), out=indptr[1:])
        indices, costs = np.empty_like(self.indices), np.empty_like(self.costs)
        turn_rows(self.indptr, self.indices, cast(Floats, self.costs), indptr.copy(), indices, cast(Floats, costs))
        return indptr, indices, costs

    @cached_property
    def shortcuts(self) -> Shortcuts | None:
        """What speeds up sweeps; ``None`` where turning round costs something, so that equal edges cost differently."""
        world, turns, num_edges = self.world, self.world.turns, self.world.num_edges
        if turns is None or turns.u_turn_cost or self.unit_cost is not None:
            return None
        # Steps to states that remember more than an edge, which come after the others, have numbers of their own.
        steps = self.edges.astype(np.int32)
        tails, heads, _ = self.edge_arrays()
        special = np.flatnonzero(heads >= self.num_usual)
        kinds, which = np.unique(np.stack([self.nodes[tails[special]], heads[special]]), axis=1, return_inverse=True)
        steps[special] = num_edges + which.reshape(-1)
        steps[np.isin(heads, list(self.ends))] = -1
        is_plain = np.ones(world.num_nodes, dtype=np.bool_)
        is_plain[[node for stretch in turns.banned for node in stretch[1:-1]]] = False
        remembering = [state for state in range(self.num_usual, self.num_nodes) if state not in self.ends]
        is_plain[self.nodes[remembering]] = False
        return Shortcuts(
            rows=(world.indptr, world.indices, world.costs.astype(np.float64)),
            state_of=self.state_of.astype(np.int32),
            nodes=self.nodes.astype(np.int32),
            back=self.back[self.state_of].astype(np.int32),
            is_plain=is_plain,
            steps=(self.indptr, self.indices, self.costs.astype(np.float64), steps),
            num_numbers=num_edges + kinds.shape[1],
            ends=np.array(sorted(self.ends), dtype=np.int64),
        )

    def states_at(self, nodes: Indices) -> Indices:
        """The states at some of the nodes, ascending."""
        order, first = self._by_node
        return np.sort(order[spans(first[nodes], first[nodes + 1] - first[nodes])]).astype(np.uint32)

    @cached_property
    def _by_node(self) -> tuple[Ints, Ints]:
        """The states in the order of their nodes, and where those of each node begin."""
        order = np.argsort(self.nodes, kind="stable")
        return order, np.searchsorted(self.nodes[order], np.arange(self.world.num_nodes + 1))

    def labels_of(self, nodes: Ints) -> tuple[Label, ...]:
        """The labels of the world's nodes along a walk; one that stays where it is, is there once."""
        return self.world.labels_of(self.nodes_along(nodes))

    def nodes_along(self, walk: Walk) -> Walk:
        """The nodes of the world along a walk."""
        nodes = self.nodes[walk]
        return nodes[np.concatenate(([True], nodes[1:] != nodes[:-1]))] if nodes.size else nodes


def states_beside(graph: Domain, state: int) -> Indices:
    """All states at the same node as one of them; where states are nodes, this one."""
    if not isinstance(graph, StateGraph):
        return np.array([state], dtype=np.uint32)
    return np.flatnonzero(graph.nodes == graph.nodes[state]).astype(np.uint32)


def nodes_along(graph: Domain, walk: Walk) -> Walk:
    """The nodes of the world along a walk on a graph that was made for searching."""
    return graph.nodes_along(walk) if isinstance(graph, StateGraph) else walk


@dataclass(frozen=True)
class Search:
    """Where the legal walks of some trips are searched."""

    graph: Domain  #: the world itself, or a :class:`StateGraph`
    starts: tuple[int, ...]  #: where each trip starts there
    goals: tuple[int, ...]

    def states_at(self, nodes: Indices) -> Indices:
        """The nodes of the graph which are at some nodes of the world, ascending."""
        return self.graph.states_at(nodes) if isinstance(self.graph, StateGraph) else nodes


def search_graph(domain: Domain, walked: Sequence[Sequence[int]], goals: Sequence[int]) -> Search:
    """Where to search legal walks that go on from what was ``walked`` so far, each to its goal.

    A trip that has not begun has walked its start. Nodes are those of the domain; what was walked, and what is banned,
    may lead over edges that the domain lacks by now.
    """
    if domain.turns is None:
        return Search(domain, tuple(nodes[-1] for nodes in walked), tuple(goals))
    return _Builder(domain, domain.turns).build([tuple(nodes) for nodes in walked], goals)


class _Builder:
    """Builds the states of a domain."""

    def __init__(self, domain: Domain, turns: Turns) -> None:
        self.domain, self.turns = domain, turns
        is_whole = domain.has_integer_costs and turns.u_turn_cost.is_integer()
        self.u_turn_cost = int(turns.u_turn_cost) if is_whole else turns.u_turn_cost
        self.tails, self.heads, self.costs = domain.edge_arrays()
        self.back = edge_numbers(domain, self.heads, self.tails)
        out = np.diff(domain.indptr.astype(np.int64))
        self.may_turn = self.back >= 0
        if turns.u_turns == "dead-ends":
            self.may_turn &= out[self.heads] == 1
        elif turns.u_turns == "never":
            self.may_turn[:] = False
        self._first_at = domain.indptr.astype(np.int64)
        # Banned stretches by their first two nodes; those of three nodes need no memory beyond the edge.
        self.banned: dict[tuple[int, int], list[int]] = {}
        for number, stretch in enumerate(turns.banned):
            self.banned.setdefault((stretch[0], stretch[1]), []).append(number)
        self.tails_of: list[int] = []  # the steps of states that remember more than an edge
        self.heads_of: list[int] = []
        self.edges_of: list[int] = []
        self.prices: list[float] = []
        self.more_nodes: list[int] = []
        self.known: dict[tuple[int, _Active], int] = {}

    def build(self, walked: Sequence[tuple[int, ...]], goals: Sequence[int]) -> Search:
        """The states, and where the trips start and end."""
        num_nodes = self.domain.num_nodes
        is_own = (self.back >= 0) & (~self.may_turn | bool(self.u_turn_cost))
        begun = edge_numbers(self.domain, *np.array(list(self.banned), dtype=np.int64).reshape(-1, 2).T)
        is_own[begun[begun >= 0]] = True
        is_free = np.zeros(num_nodes, dtype=np.bool_)
        is_free[self.heads[~is_own]] = True
        is_free[[nodes[0] for nodes in walked if len(nodes) == 1]] = True
        own = np.flatnonzero(is_own)
        # By node, the free state first, then by edge.
        nodes = np.concatenate([np.flatnonzero(is_free), self.heads[own]])
        arrived = np.concatenate([np.full(int(is_free.sum()), -1, dtype=np.int64), own])
        order = np.lexsort((arrived, nodes))
        nodes, arrived = nodes[order], arrived[order]
        self.free_state = np.full(num_nodes, -1, dtype=np.int64)
        self.free_state[nodes[arrived < 0]] = np.flatnonzero(arrived < 0)
        self.state_of = self.free_state[self.heads]
        self.state_of[arrived[arrived >= 0]] = np.flatnonzero(arrived >= 0)
        self.num = nodes.size
        self.barred = np.full(nodes.size, -1, dtype=np.int64)
        may_not = np.flatnonzero(arrived >= 0)
        may_not = may_not[~self.may_turn[arrived[may_not]]]
        self.barred[may_not] = self.back[arrived[may_not]]
        tails, edges, prices = self._plain_steps(nodes, arrived)
        heads = self.state_of[edges]
        self._remember(tails, edges, heads)
        starts = [int(self.free_state[each[0]]) if len(each) == 1 else self._state_after(each) for each in walked]
        tails = np.concatenate([tails, np.array(self.tails_of, dtype=np.int64)])
        heads = np.concatenate([heads, np.array(self.heads_of, dtype=np.int64)])
        edges = np.concatenate([edges, np.array(self.edges_of, dtype=np.int64)])
        costs: CostArray = np.concatenate([prices, np.array(self.prices, dtype=prices.dtype)])
        nodes = np.concatenate([nodes, np.array(self.more_nodes, dtype=np.int64)])
        ends: dict[int, int] = {}
        for goal in dict.fromkeys(goals):
            there = np.flatnonzero(nodes == goal)
            if there.size == 1 and self.free_state[goal] == there[0]:
                ends[goal] = int(there[0])
                continue
            ends[goal] = nodes.size
            arriving = np.flatnonzero((nodes == goal)[heads] & (edges >= 0))
            here = np.array([start for start in dict.fromkeys(starts) if nodes[start] == goal], dtype=np.int64)
            nodes = np.append(nodes, goal)
            tails = np.concatenate([tails, tails[arriving], here])
            edges = np.concatenate([edges, edges[arriving], np.full(here.size, -1, dtype=np.int64)])
            costs = np.concatenate([costs, costs[arriving], np.zeros(here.size, dtype=costs.dtype)])
            heads = np.concatenate([heads, np.full(arriving.size + here.size, ends[goal], dtype=np.int64)])
        # Steps are in the order of their tails but for those that were added.
        order = np.argsort(tails, kind="stable") if not self.more_nodes else np.lexsort((heads, tails))
        indptr = np.zeros(nodes.size + 1, dtype=np.int64)
        np.cumsum(np.bincount(tails, minlength=nodes.size), out=indptr[1:])
        graph = StateGraph(
            indptr.astype(np.uint32),
            heads[order].astype(np.uint32),
            costs[order],
            world=self.domain,
            nodes=nodes,
            edges=edges[order],
            state_of=self.state_of,
            back=np.concatenate([self.barred, np.full(nodes.size - self.num, -1)]),
            num_usual=self.num,
            ends=frozenset(ends.values()) - set(self.free_state[list(ends)].tolist()),
        )
        return Search(graph, tuple(starts), tuple(ends[goal] for goal in goals))

    def _plain_steps(self, nodes: Ints, arrived: Ints) -> tuple[Ints, Ints, CostArray]:
        """The steps of the states that remember an edge at most: tails, edges and costs, in order."""
        sizes = np.diff(self._first_at)[nodes]
        tails = np.repeat(np.arange(nodes.size, dtype=np.int64), sizes)
        edges = spans(self._first_at[nodes], sizes)
        came = arrived[tails]
        turns_round = (came >= 0) & (self.back[came] == edges)
        kept = ~turns_round | self.may_turn[came]
        if self.banned:
            firsts, seconds = [], []
            for stretch in self.turns.banned:
                if len(stretch) == 3:
                    firsts.append(stretch[:2])
                    seconds.append(stretch[1:])
            if firsts:
                one = edge_numbers(self.domain, *np.array(firsts).T)
                other = edge_numbers(self.domain, *np.array(seconds).T)
                num = np.int64(self.heads.size)
                one, other = one[(one >= 0) & (other >= 0)], other[(one >= 0) & (other >= 0)]
                kept &= (came < 0) | ~np.isin(came * num + edges, one * num + other)
        prices = self.costs[edges]
        if self.u_turn_cost:
            prices = np.where(turns_round, prices + self.u_turn_cost, prices)
        return tails[kept], edges[kept], prices[kept]

    def _remember(self, tails: Ints, edges: Ints, heads: Ints) -> None:
        """Let the first steps of long banned stretches lead to states that remember them, instead of ``heads``."""
        for stretch in self.turns.banned:
            if len(stretch) == 3:
                continue
            one, other = self._edge(stretch[0], stretch[1]), self._edge(stretch[1], stretch[2])
            if one < 0 or other < 0:
                continue
            at = int(self.state_of[one])
            first, last = np.searchsorted(tails, [at, at + 1])
            for step in range(int(first), int(last)):
                if edges[step] == other:
                    walked = self._follow((stretch[0], stretch[1]), _NOTHING, stretch[2])
                    heads[step] = self._state(stretch[1], stretch[2], walked)

    def _edge(self, tail: int, head: int) -> int:
        """The number of an edge, -1 where there is none: a banned stretch may lead along a road that is closed now."""
        first, last = self._first_at[tail], self._first_at[tail + 1]
        edge = int(first + np.searchsorted(self.heads[first:last], head))
        return edge if edge < last and self.heads[edge] == head else -1

    def _follow(self, last: tuple[int, int], active: _Active, node: int) -> _Active | None:
        """What is walked of banned stretches after a step to ``node``; ``None`` where that completes one."""
        walked = []
        for number, num in [*((number, 2) for number in self.banned.get(last, ())), *active]:
            stretch = self.turns.banned[number]
            if stretch[num] != node:
                continue
            if num + 1 == len(stretch):
                return None
            walked.append((number, num + 1))
        return frozenset(walked)

    def _state(self, tail: int, head: int, active: _Active | None) -> int:
        """The state after an edge with what is walked of banned stretches; made with its steps when it is new."""
        assert active is not None, "a banned stretch is not walked"
        edge = self._edge(tail, head)
        if not active:
            return int(self.state_of[edge])
        if (edge, active) in self.known:
            return self.known[edge, active]
        state = self.known[edge, active] = self._new_state(head)
        self._add_steps(state, tail, head, active)
        return state

    def _new_state(self, node: int) -> int:
        self.more_nodes.append(node)
        return self.num + len(self.more_nodes) - 1

    def _add_steps(self, state: int, tail: int, head: int, active: _Active) -> None:
        edges = range(int(self._first_at[head]), int(self._first_at[head + 1]))
        for edge in edges:
            node, price = int(self.heads[edge]), self.costs[edge].item()
            if node == tail:
                is_end = len(edges) == 1
                if self.turns.u_turns == "never" or (self.turns.u_turns == "dead-ends" and not is_end):
                    continue
                price += self.u_turn_cost
            walked = self._follow((tail, head), active, node)
            if walked is not None:
                target = self._state(head, node, walked)
                self.tails_of.append(state)
                self.heads_of.append(target)
                self.edges_of.append(edge)
                self.prices.append(price)

    def _state_after(self, walked: tuple[int, ...]) -> int:
        """The state of who has walked some nodes, the last edge of which may be closed by now."""
        active: _Active = _NOTHING
        for (tail, head), node in zip(pairwise(walked), walked[2:], strict=False):
            active = self._follow((tail, head), active, node) or _NOTHING
        state = self._new_state(walked[-1])
        self._add_steps(state, walked[-2], walked[-1], active)
        return state
