"""How far it is between customers and depots, and the walks past customers in a given order.

A customer is visited at its own node. Where not every turn is legal, it is met in one of several states
(:mod:`veilroute.covering.states`), and how one may go on depends on which: each is a *post* of the customer. Depots are
where trips begin and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilroute.base.arrays import Floats, Ints
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Watch
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.states import nodes_along
from veilroute.covering.task import CoveringTask, PostTable, prepare_task
from veilroute.covering.walks import Sweepers, has_whole_costs, walk_cost, walk_through
from veilroute.domain.graph import Domain, Label
from veilroute.domain.visibility import AtNode
from veilroute.model.day import Van
from veilroute.model.problem import Problem, Trip


@dataclass(frozen=True)
class Leg:
    """A walk of a vehicle past its customers."""

    nodes: Ints  #: of the domain
    positions: tuple[int, ...]  #: where on it each customer is met
    reached: tuple[float, ...]  #: what it costs up to there
    cost: float


class Ways:
    """Distances between customers, from where vehicles begin, and to where they end.

    Parameters
    ----------
    domain
        The map.
    customers
        Labels of all who may have to be visited; several may be at one node.
    vehicles
        Where days begin and end; vehicles that do so alike are one *kind*.
    walked
        For vehicles that are on their way, the nodes that each has walked so far, the last of which is its start. Then
        it is enough that one of them can visit a customer.
    """

    def __init__(
        self,
        domain: Domain,
        customers: Sequence[Label],
        vehicles: Sequence[Van],
        *,
        walked: Sequence[Sequence[int]] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.domain, self.customers = domain, tuple(customers)
        begun = (
            [(domain.node(each.start),) for each in vehicles] if walked is None else [tuple(each) for each in walked]
        )
        kinds = list(dict.fromkeys(zip(begun, (each.goal for each in vehicles), strict=True)))
        self.kind_of = [kinds.index((nodes, each.goal)) for nodes, each in zip(begun, vehicles, strict=True)]
        self.is_open = [goal is None for _, goal in kinds]
        trips = [Trip(start := domain.label(nodes[-1]), start if goal is None else goal) for nodes, goal in kinds]
        problem = Problem(domain, trips, self.customers, AtNode())
        self.task: CoveringTask = prepare_task(
            problem,
            range(len(self.customers)),
            walked=[nodes for nodes, _ in kinds],
            any_trip=walked is not None,
            open_trips=[kind for kind, ends_anywhere in enumerate(self.is_open) if ends_anywhere],
        )
        self._before = [nodes[-2] if len(nodes) > 1 else -1 for nodes, _ in kinds]
        #: Customers that some kind of vehicle cannot visit and still come to the end of its day; on the way, that none
        #: can.
        self.unreachable = tuple(self.customers[i] for i in self.task.uncoverable)
        self._table = PostTable(self.task.domain, self.task.posts)
        self._table.complete(watch or Watch())
        self._sweepers = Sweepers(self.task.domain, 1)

    @cached_property
    def number_of(self) -> dict[Label, int]:
        """Customers who can be visited, by label, as the task numbers them."""
        return {self.customers[at]: i for i, at in enumerate(self.task.members)}

    def posts_of(self, customer: int) -> Ints:
        """The posts at which a customer is visited."""
        return self.task.posts.posts_of(customer)

    @property
    def num_kinds(self) -> int:
        """How many kinds of vehicles there are."""
        return len(self.is_open)

    def between(self, posts: Sequence[int]) -> Floats:
        """What it costs from each of some posts to each."""
        return np.asarray(self._table.distances[np.ix_(posts, posts)] * self.task.unit)

    def from_start(self, kind: int, posts: Sequence[int]) -> Floats:
        """What it costs from where a kind of vehicle begins to each of some posts."""
        return np.asarray(self.task.from_start[kind][list(posts)] * self.task.unit)

    def to_goal(self, kind: int, posts: Sequence[int]) -> Floats:
        """What it costs from each of some posts to where a kind of vehicle ends; nothing where it ends anywhere."""
        if self.is_open[kind]:
            return np.zeros(len(posts))
        return np.asarray(self.task.to_goal[kind][list(posts)] * self.task.unit)

    def can_end(self, kind: int) -> bool:
        """Whether a kind of vehicle can come to where it ends at all."""
        return bool(np.isfinite(self.task.direct[kind]))

    def home_cost(self, kind: int) -> float:
        """What it costs a kind of vehicle to end its day at once; nothing where it has not left or ends anywhere."""
        is_done = self.is_open[kind] or self._before[kind] < 0
        return 0.0 if is_done else float(self.task.direct[kind] * self.task.unit)

    def home(self, kind: int) -> Leg:
        """The cheapest walk to where a kind of vehicle ends."""
        states = self._sweepers.path_to_goal(self.task.starts[kind], self.task.goals[kind])
        return self._leg(kind, nodes_along(self.task.domain, states), ())

    def cost(self, kind: int, posts: Sequence[int]) -> float:
        """What the cheapest walk past some posts in turn costs, up to rounding."""
        if not posts:
            return 0.0
        steps = self._table.distances[posts[:-1], posts[1:]].sum() * self.task.unit
        return float(self.from_start(kind, posts[:1])[0] + steps + self.to_goal(kind, posts[-1:])[0])

    def walk(self, kind: int, posts: Sequence[int]) -> Leg:
        """The cheapest walk past some posts in turn."""
        task, back = self.task, self._sweepers.sweeper(backward=True)
        lengths = [task.from_start[kind][posts[0]], *self._table.distances[posts[:-1], posts[1:]]]
        from_start, to_goal = task.all_from_start[kind], task.all_to_goal[kind]
        states, positions = np.array([task.starts[kind]], dtype=np.int64), []
        for node, length in zip(task.posts.nodes[list(posts)].tolist(), lengths, strict=True):
            leg = walk_through(back, int(states[-1]), [node], [float(length)], from_start, to_goal)
            states = np.concatenate((states, leg[1:]))
            positions.append(nodes_along(task.domain, states).size - 1)
        if not self.is_open[kind]:
            states = np.concatenate((states, self._sweepers.path_to_goal(int(states[-1]), task.goals[kind])[1:]))
        return self._leg(kind, nodes_along(task.domain, states), positions)

    def optimum(self, kind: int, customers: Sequence[int], watch: Watch | None = None) -> tuple[list[int], Leg]:
        """A few customers in the order in which the cheapest walk of all first meets them, and that walk."""
        part = self.task.part(customers)
        found = FieldsEngine(part).find(range(len(customers)), kind, watch=watch)
        if not found.walk.size:
            raise InvalidInputError("vehicles", "more than one: no way leads past all customers")
        nodes = nodes_along(self.task.domain, found.walk)
        first = {node: place for place, node in reversed(list(enumerate(nodes.tolist())))}
        at = {each: first[self.domain.node(self.customers[self.task.members[each]])] for each in customers}
        order = sorted(customers, key=lambda each: (at[each], each))
        return order, self._leg(kind, nodes, [at[each] for each in order])

    def _leg(self, kind: int, nodes: Ints, positions: Sequence[int]) -> Leg:
        def cost(walk: Ints) -> float:
            # Who turns round at once has come from a node before these.
            turns = self.domain.turns
            turned = turns is not None and walk.size > 1 and walk[1] == self._before[kind]
            extra = turns.u_turn_cost if turns is not None and turned else 0.0
            total = walk_cost(self.domain, walk) + extra
            return int(total) if has_whole_costs(self.domain) else total

        return Leg(nodes, tuple(positions), tuple(cost(nodes[: place + 1]) for place in positions), cost(nodes))
