"""Closed roads and what is driven instead, as plain data: planners make it, playbooks hold it, the auditor checks it.

A :class:`Replan` says some things twice, for whoever reads one of its keys alone; files that disagree are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from veilroute.base.checks import check_count, check_finite, check_list, check_name, check_whole
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label, plain_label

GO_ON, GIVE_UP = "go-on", "give-up"
CHOICES = (GO_ON, GIVE_UP)
"""What can be done where not enough members stay covered: go on past those who do, or straight to the goal."""

Pair = tuple[Label, Label]


@dataclass(frozen=True)
class Closure:
    """What is not as it was on the map of a playbook."""

    roads: tuple[Pair, ...] = ()  #: closed between two nodes in whichever directions they lead
    one_way: tuple[Pair, ...] = ()  #: closed from the first node to the second only
    nodes: tuple[Label, ...] = ()  #: closed with every road that leads to them or away
    costs: tuple[tuple[Label, Label, float], ...] = ()  #: directed edges with what each costs now

    @classmethod
    def of(
        cls,
        roads: Iterable[Sequence[Any]] = (),
        one_way: Iterable[Sequence[Any]] = (),
        nodes: Iterable[Any] = (),
        costs: Iterable[Sequence[Any]] = (),
    ) -> Closure:
        """A closure in plain values, none of them twice."""
        new_costs: dict[Pair, float] = {}
        for entry in costs:
            *ends, cost = _parts("costs", entry, 3, "edges as (from, to, cost)")
            pair = (plain_label(ends[0], field="costs"), plain_label(ends[1], field="costs"))
            if pair in new_costs:
                raise InvalidInputError("costs", "one new cost for each edge", f"{pair[0]} to {pair[1]} twice")
            new_costs[pair] = check_finite("costs", cost, least=0)
        return cls(
            _pairs("closed", roads),
            _pairs("closed_one_way", one_way),
            tuple(dict.fromkeys(plain_label(node, field="closed_nodes") for node in nodes)),
            tuple((tail, head, cost) for (tail, head), cost in new_costs.items()),
        )

    def shuts(self, tail: Label, head: Label) -> bool:
        """Whether one cannot go from a node to another any more."""
        is_road = (tail, head) in self.roads or (head, tail) in self.roads
        return is_road or (tail, head) in self.one_way or tail in self.nodes or head in self.nodes

    def with_earlier(self, earlier: Closure) -> Closure:
        """This closure on top of an earlier one: what was closed stays closed, and new costs replace old ones."""
        costs = {(tail, head): cost for tail, head, cost in earlier.costs if not self.shuts(tail, head)}
        costs |= {(tail, head): cost for tail, head, cost in self.costs}
        return Closure(
            tuple(dict.fromkeys((*earlier.roads, *self.roads))),
            tuple(dict.fromkeys((*earlier.one_way, *self.one_way))),
            tuple(dict.fromkeys((*earlier.nodes, *self.nodes))),
            tuple((tail, head, cost) for (tail, head), cost in costs.items()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file; what there is none of is left out, but for the roads."""
        data: dict[str, Any] = {"closed": [list(pair) for pair in self.roads]}
        optional = {
            "closed_one_way": [list(pair) for pair in self.one_way],
            "closed_nodes": list(self.nodes),
            "new_costs": [list(edge) for edge in self.costs],
        }
        return data | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True)
class Sighting:
    """What an observer who sees a way can find out.

    Another class goes the same way only if its driver knows of the closure too, and lets it. So the figures are the
    worst over all that the others may do; only ``num_together`` counts on them.
    """

    looks_like: tuple[int, ...]  #: the classes that go this way by the rule, this one included, by number
    may_look_like: tuple[int, ...]  #: those that go this way as well if somebody chooses so
    num_together: int  #: at how many nodes there are members whom the walk covers, if all in ``looks_like`` go this way
    num_possible: int  #: the same in any case: of this class alone
    worst_place: float | None  #: the largest posterior of a node; ``None`` when none of them is probable at all
    worst_area: float | None  #: the largest posterior of an area, likewise

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Way:
    """How all members of a class go on from where they stand, and with whom that leaves an observer.

    Without a route where no road leads to the goal. Where only the first m nodes are shared and the members part,
    ``route`` is what all share, and ``own`` has each member's whole rest.
    """

    route: tuple[Label, ...]
    cost: float | None  #: of ``route``; ``None`` without one
    left: tuple[Label, ...]  #: the members whom the whole walk covers, from the trip's start on
    #: Whether these keep the playbook's promise, by themselves and together with all who look the same.
    qualifies: bool
    own: Mapping[Label, tuple[tuple[Label, ...], float]] = field(default_factory=dict)
    seen: Sighting | None = None  #: ``None`` without a route, and in files of earlier versions

    def rest_of(self, member: Label) -> tuple[Label, ...]:
        """The nodes from where the vehicle stands to the goal, for one member."""
        return self.own[member][0] if member in self.own else self.route

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        routes = [{"member": label, "route": list(nodes), "cost": cost} for label, (nodes, cost) in self.own.items()]
        data: dict[str, Any] = {"route": list(self.route), "cost": self.cost, "left": list(self.left)}
        data |= {"qualifies": self.qualifies} | ({} if self.seen is None else {"seen": self.seen.to_dict()})
        return data | ({"member_routes": routes} if routes else {})


@dataclass(frozen=True)
class Replan:
    """What the vehicle of a class does where a road on its way is closed.

    A function of class, position and closure: it is the same whichever member is the secret, and may be known to all.
    """

    number: int  #: of the class among those that are anonymized, from 1, as in tables, pictures and directions
    members: tuple[Label, ...]  #: of the class
    trip: int
    walked: tuple[Label, ...]  #: what was walked so far, from the start to where the vehicle stands
    closure: Closure
    going_on: Way  #: the cheapest rest past everybody not yet covered who still can be
    giving_up: Way  #: the cheapest rest, past nobody in particular
    choice: str | None  #: one of :data:`CHOICES`; ``None`` where nobody chose and the promise is not kept
    after: Replan | None = None  #: the one before, where the vehicle was on a detour already

    @property
    def position(self) -> int:
        """Where on the class's route the vehicle stands, counted from 0."""
        return len(self.walked) - 1

    @property
    def at(self) -> Label:
        """The node where the vehicle stands."""
        return self.walked[-1]

    @property
    def way(self) -> Way:
        """The way that was chosen; without a choice the one on, as what could be."""
        return self.giving_up if self.choice == GIVE_UP else self.going_on

    @property
    def route(self) -> tuple[Label, ...]:
        """The rest of the route, from where the vehicle stands; empty where nothing is chosen."""
        return self.way.route if self.choice is not None else ()

    @property
    def cost(self) -> float | None:
        """What that rest costs on the changed map; ``None`` where nothing is chosen."""
        return self.way.cost if self.choice is not None else None

    @property
    def still_hidden(self) -> tuple[Label, ...]:
        """The members whom the walk covers: those with whom it leaves an observer."""
        return self.way.left

    @property
    def dropped(self) -> tuple[Label, ...]:
        """The members who are not covered any more, for everybody."""
        return tuple(member for member in self.members if member not in self.way.left)

    @property
    def has_own_ways(self) -> bool:
        """Whether members have ways of their own, here or in a replan before; none have where m is infinite."""
        before = self.after is not None and self.after.has_own_ways
        return before or bool(self.going_on.own or self.giving_up.own)

    @property
    def qualifies(self) -> bool:
        """Whether those still hidden keep the playbook's promise, by themselves and with all who look the same."""
        return self.way.qualifies

    def walk_of(self, member: Label) -> tuple[Label, ...]:
        """The whole walk of a member, from the trip's start to its goal; nothing where nothing is chosen."""
        return self.walked[:-1] + self.way.rest_of(member) if self.choice is not None else ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        chosen = self.way.to_dict() if self.choice is not None else {}
        data: dict[str, Any] = {
            "class": self.number,
            "members": list(self.members),
            "trip": self.trip,
            "position": self.position,
            "at": self.at,
            **self.closure.to_dict(),
            "walked": list(self.walked),
            "choice": self.choice,
            "route": chosen.get("route"),
            "cost": self.cost,
            "still_hidden": list(self.still_hidden),
            "dropped": list(self.dropped),
            "qualifies": self.qualifies,
            "going_on": self.going_on.to_dict(),
            "giving_up": self.giving_up.to_dict(),
        }
        data |= {"member_routes": chosen["member_routes"]} if "member_routes" in chosen else {}
        return data | ({} if self.after is None else {"after": self.after.to_dict()})


def closure_from_dict(data: Any, *, where: str) -> Closure:
    """What :meth:`Closure.to_dict` wrote."""
    costs = [tuple(check_list(f"{where}.new_costs", edge)) for edge in data.get("new_costs", [])]
    closed, one_way = (check_list(f"{where}.{name}", data.get(name, [])) for name in ("closed", "closed_one_way"))
    return Closure.of(closed, one_way, check_list(f"{where}.closed_nodes", data.get("closed_nodes", [])), costs)


def replan_from_dict(data: Any, *, where: str = "replan") -> Replan:
    """What :meth:`Replan.to_dict` wrote; refused where what it says twice is not the same both times."""
    closure = closure_from_dict(data, where=where)
    choice = data["choice"]
    read = Replan(
        number=check_count(f"{where}.class", data["class"]),
        members=_labels(f"{where}.members", data["members"]),
        trip=check_count(f"{where}.trip", data["trip"]),
        walked=_labels(f"{where}.walked", data["walked"]),
        closure=closure,
        going_on=_way_from_dict(f"{where}.going_on", data["going_on"]),
        giving_up=_way_from_dict(f"{where}.giving_up", data["giving_up"]),
        choice=None if choice is None else check_name(f"{where}.choice", choice, CHOICES),
        after=replan_from_dict(data["after"], where=f"{where}.after") if "after" in data else None,
    )
    if not read.walked:
        raise InvalidInputError(f"{where}.walked", "at least the start")
    known, said = read.to_dict(), _plain(data)
    for name in {**known, **said}:
        if name not in known or name not in said or _plain(known[name]) != said[name]:
            raise InvalidInputError(f"{where}.{name}", "what the rest of the entry says as well")
    return read


def _way_from_dict(where: str, data: Any) -> Way:
    own = {
        plain_label(entry["member"]): (_labels(where, entry["route"]), check_finite(f"{where}.cost", entry["cost"]))
        for entry in check_list(f"{where}.member_routes", data.get("member_routes", []))
    }
    cost = None if data["cost"] is None else check_finite(f"{where}.cost", data["cost"])
    if not isinstance(data["qualifies"], bool):
        raise InvalidInputError(f"{where}.qualifies", "true or false", data["qualifies"])
    seen = _sighting_from_dict(f"{where}.seen", data["seen"]) if "seen" in data else None
    return Way(_labels(where, data["route"]), cost, _labels(where, data["left"]), data["qualifies"], own, seen)


def _sighting_from_dict(where: str, data: Any) -> Sighting:
    def numbers(name: str) -> tuple[int, ...]:
        listed = check_list(f"{where}.{name}", data[name])
        return tuple(check_whole(f"{where}.{name}", each, "a class number", least=1) for each in listed)

    def share(name: str) -> float | None:
        return None if data[name] is None else check_finite(f"{where}.{name}", data[name], least=0)

    return Sighting(
        numbers("looks_like"),
        numbers("may_look_like"),
        check_count(f"{where}.num_together", data["num_together"]),
        check_count(f"{where}.num_possible", data["num_possible"]),
        share("worst_place"),
        share("worst_area"),
    )


def _labels(where: str, items: Any) -> tuple[Label, ...]:
    return tuple(plain_label(item) for item in check_list(where, items))


def _plain(value: Any) -> Any:
    """The same with tuples in place of lists, as labels have them."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _pairs(name: str, pairs: Iterable[Sequence[Any]]) -> tuple[Pair, ...]:
    found: dict[Pair, None] = {}
    for entry in pairs:
        tail, head = (plain_label(end, field=name) for end in _parts(name, entry, 2, "pairs of nodes"))
        found[tail, head] = None
    return tuple(found)


def _parts(name: str, entry: Any, num: int, expected: str) -> Sequence[Any]:
    if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != num:
        raise InvalidInputError(name, expected, entry)
    return entry
