"""Replanning: what a vehicle does where a road on its way is closed, or costs something else than it did.

What was walked so far is public, and the same for all members of the class. The rest is the cheapest way over the
changed map past everybody who was not seen yet. It is a function of class, position and closure; the secret is no
argument of anything here. So the members stay as alike as they were, whoever chose the closure and whatever they had
watched before (docs/theory, :ref:`Closed roads <theory-closures>`).

What is seen from where is as it was on the playbook's own map: a road that is closed hides nothing.

A *contingency* is a replan that was made beforehand: for a class whose route uses a road, from the node before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, combinations, pairwise, product, takewhile
from typing import Any

import numpy as np

from veilroute.base.arrays import Floats, Indices, Ints, Members, as_members
from veilroute.base.checks import check_name, check_whole, plain_number
from veilroute.base.errors import BrokenPromiseError, InvalidInputError, TooLargeError
from veilroute.base.run import Watch
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.prefixes import Completions
from veilroute.covering.states import nodes_along, states_beside
from veilroute.covering.task import find_watchers, prepare_task
from veilroute.covering.walks import Sweeper, Sweepers, walk_cost
from veilroute.domain.graph import CostArray, Domain, Label, checked_costs, label_text, plain_label, spans
from veilroute.domain.visibility import Explicit
from veilroute.model.closure import CHOICES, GO_ON, Closure, Pair, Replan, Way
from veilroute.model.playbook import Playbook, PlaybookClass
from veilroute.model.problem import Problem, Trip
from veilroute.planners.lookalikes import Course, Crowd, Walk, chances, judge, with_sightings
from veilroute.planners.plan import PlannedClass
from veilroute.planners.reuse import plan_class

MAX_CHOSEN_FROM = 12  #: out of how many members those are chosen who can still be covered, where not all can be


def replan(
    playbook: Playbook,
    number: int,
    at: Label,
    *,
    position: int | None = None,
    trip: int = 0,
    closed: Iterable[Sequence[Label]] = (),
    closed_one_way: Iterable[Sequence[Label]] = (),
    closed_nodes: Iterable[Label] = (),
    costs: Iterable[Sequence[Any]] = (),
    choice: str | None = None,
    after: Replan | None = None,
) -> Replan:
    """Find the rest of a class's route from a node on the way, on a map that has changed.

    It depends on class, position and closure alone: whichever member is the secret, it is the same. What is seen
    from where stays as it was: a road that is closed hides nothing.

    Parameters
    ----------
    playbook
        With its domain.
    number
        Of the class among :attr:`Playbook.hidden_classes`, from 1, as in tables, pictures and directions.
    at
        The node where the vehicle stands, on the way that all members share.
    position
        Where on the route that is, from 0; needed only where the route passes the node more than once.
    trip
        Which trip, from 0. Each trip is replanned by itself.
    closed
        Roads as pairs of nodes, closed in both directions.
    closed_one_way
        Pairs of nodes, closed from the first to the second only.
    closed_nodes
        Nodes, closed with all roads to them and away.
    costs
        Directed edges with new costs, as ``(from, to, cost)``.
    choice
        What to do where too few members stay covered: ``"go-on"`` past those who do, or ``"give-up"`` and go
        straight to the goal. Nothing is chosen for you: when left out, the result then has no route. Where enough
        stay covered the way goes on, unless ``"give-up"`` is said.
    after
        The replan by which the vehicle goes already; what was closed there stays closed.

    Returns
    -------
    Replan
        Both ways on, whom each leaves an observer with, and whether these keep the promise. They must stand apart
        on the playbook's own map, for which the promise was made, and on the changed one, which is what an observer
        of today knows.
    """
    if choice is not None:
        check_name("choice", choice, CHOICES)
    domain = playbook.problem.domain
    closure = by_first_labels(domain, Closure.of(closed, closed_one_way, closed_nodes, costs))
    group = find_class(playbook, number)
    last = len(playbook.trips) - 1
    trip = check_whole("trip", plain_number(trip), f"a trip from 0 to {last}", least=0, most=last)
    shared, first = group.shared(trip), 0
    if after is not None:
        if (after.number, after.trip) != (number, trip) or after.members != group.members or after.choice is None:
            raise InvalidInputError("after", "an earlier replan of the same class and trip, with a route")
        closure = closure.with_earlier(after.closure)
        shared, first = after.walked[:-1] + after.way.route, after.position
    here = first_label(domain, plain_label(at, field="at"))
    walked = shared[: find_position(shared, here, plain_number(position), first) + 1]
    made = _Replanner(playbook, number, trip).replan(walked, closure, choice, after)
    observer, maps = _Observer(playbook, trip), _maps(domain, closure)
    told = observer.told(made)
    courses = judge(playbook, observer.courses(made), maps, told)
    mine = next(course.entry for course in courses if course.number == number and course.entry is not None)
    return _decided(with_sightings(playbook, mine, courses, told, maps), choice)


def replan_alone(playbook: Playbook, number: int, trip: int, walked: tuple[Label, ...], closure: Closure) -> Replan:
    """How a class is replanned after what was walked, as if there were no other class; for the audit of replans."""
    return _Replanner(playbook, number, trip).replan(walked, closure)


def first_label(domain: Domain, label: Label) -> Label:
    """What routes call a node, which may have several labels; a label that is none stays, to be told of later."""
    return domain.label(domain.node(label)) if domain.has_label(label) else label


def by_first_labels(domain: Domain, closure: Closure) -> Closure:
    """The same closure with every node called as on routes."""

    def pairs(roads: Iterable[Pair]) -> list[Pair]:
        return [(first_label(domain, tail), first_label(domain, head)) for tail, head in roads]

    ends = pairs((tail, head) for tail, head, _ in closure.costs)
    costs = [(*pair, cost) for pair, (_, _, cost) in zip(ends, closure.costs, strict=True)]
    nodes = [first_label(domain, label) for label in closure.nodes]
    return Closure.of(pairs(closure.roads), pairs(closure.one_way), nodes, costs)


def keeps_promise(playbook: Playbook, number: int, left: Iterable[Label], changed: Domain | None = None) -> bool:
    """Whether some members of a class keep the playbook's promise, on its own map and on a changed one."""
    owner, kept = _Replanner(playbook, number, 0), set(left)
    members = as_members(i for i, label in enumerate(owner.labels) if label in kept)
    rules = [owner.own_rule] if changed is None else [owner.own_rule, owner.rule_on(changed)]
    return all(owner.keeps(rule, members) for rule in rules)


def find_class(playbook: Playbook, number: object) -> PlaybookClass:
    """The anonymized class of that number, from 1."""
    classes = playbook.hidden_classes
    if not classes:
        raise InvalidInputError("class", "a playbook that anonymizes somebody")
    expected = f"a class from 1 to {len(classes)}, as tables and pictures number them"
    return classes[check_whole("class", plain_number(number), expected, least=1, most=len(classes)) - 1]


def find_position(shared: Sequence[Label], at: Label, position: object = None, first: int = 0) -> int:
    """Where on the way that all members share a vehicle stands, from the ``first`` position that is in question."""
    places = [place for place, node in enumerate(shared) if node == at and place >= first]
    if not places:
        raise InvalidInputError("at", "a node that all members of the class pass on this trip", label_text(at))
    listed = ", ".join(map(str, places))
    if position is None:
        if len(places) > 1:
            expected = f"the position as well: the route passes {label_text(at)} more than once, at {listed}"
            raise InvalidInputError("position", expected)
        return places[0]
    if position not in places:
        raise InvalidInputError("position", f"where the route passes {label_text(at)}: {listed}", position)
    return check_whole("position", position, listed)


def change_domain(domain: Domain, closure: Closure) -> Domain:
    """The domain with roads closed and costs changed; labels, cells and streets are what they were."""

    def find(tail: Label, head: Label, name: str) -> list[int]:
        there = domain.node(head, field=name)
        first, last = domain.indptr[[(node := domain.node(tail, field=name)), node + 1]].tolist()
        edge = first + int(np.searchsorted(domain.indices[first:last], there))
        return [edge] if edge < last and domain.indices[edge] == there else []

    shut: set[int] = set()
    for pairs, name, both in ((closure.roads, "closed", True), (closure.one_way, "closed_one_way", False)):
        for tail, head in pairs:
            edges = find(tail, head, name) + (find(head, tail, name) if both else [])
            if not edges:
                raise InvalidInputError(name, "roads of the map", f"{label_text(tail)} to {label_text(head)}")
            shut.update(edges)
    for label in closure.nodes:
        node = domain.node(label, field="closed_nodes")
        shut.update(range(*domain.indptr[[node, node + 1]].tolist()), np.flatnonzero(domain.indices == node).tolist())
    costs = domain.costs
    if closure.costs:
        # An integer that no integer cost may be is as good as a float.
        is_whole = all(isinstance(cost, int) and cost < 2**46 for *_, cost in closure.costs)
        costs = costs.copy() if is_whole else costs.astype(np.float64)
    for tail, head, cost in closure.costs:
        edges = find(tail, head, "costs")
        if not edges or edges[0] in shut:
            there = f"{label_text(tail)} to {label_text(head)}"
            raise InvalidInputError("costs", "edges of the map that are open", there)
        costs[edges] = cost
    gone, streets = np.array(sorted(shut), dtype=np.int64), domain.streets
    if streets is not None:
        kept = np.delete(np.arange(domain.num_edges), gone)
        sizes = np.diff(streets.shape_ptr)[kept]
        streets = replace(
            streets,
            lengths=streets.lengths[kept],
            shortest=streets.shortest[kept],
            name_ids=streets.name_ids[kept],
            kind_ids=streets.kind_ids[kept],
            shape_ptr=np.concatenate([[0], np.cumsum(sizes)]),
            shape=streets.shape[spans(streets.shape_ptr[:-1][kept], sizes)],
        )
    indptr, indices, prices = _without(domain.indptr, domain.indices, costs, gone)
    prices = checked_costs(prices, field="costs") if closure.costs else prices
    changed = replace(domain, indptr=indptr, indices=indices, costs=prices, streets=streets)
    if not closure.costs:
        # Turned round as well here, where it is a matter of leaving edges out: sorting them all anew takes far longer.
        tails = np.searchsorted(domain.indptr, gone, side="right") - 1
        into, sources, _ = domain.reversed_rows
        ends = zip(tails.tolist(), domain.indices[gone].tolist(), strict=True)
        turned = [int(into[b]) + int(np.searchsorted(sources[into[b] : into[b + 1]], a)) for a, b in ends]
        vars(changed)["reversed_rows"] = _without(*domain.reversed_rows, np.array(sorted(turned), dtype=np.int64))
    return changed


def _without(indptr: Indices, indices: Indices, costs: CostArray, gone: Ints) -> tuple[Indices, Indices, CostArray]:
    """Rows of a graph without some of the edges, which are given in ascending order."""
    left = indptr - np.searchsorted(gone, indptr).astype(indptr.dtype)
    return left, np.delete(indices, gone), np.delete(costs, gone)


def _maps(domain: Domain, closure: Closure) -> list[Domain]:
    """The maps on which members must be apart: closing roads makes no way shorter, so only new costs make two."""
    return [domain, change_domain(domain, closure)] if closure.costs else [domain]


def _decided(entry: Replan, choice: str | None) -> Replan:
    """A replan with what was chosen or, if nobody chose, the way on where that keeps the promise."""
    if choice is None and entry.going_on.qualifies:
        choice = GO_ON
    # There is nothing to choose where no road leads to the goal.
    return replace(entry, choice=choice if entry.giving_up.route else None)


class _Observer:
    """What every class does on a trip when roads are closed, as everybody can work it out."""

    def __init__(self, playbook: Playbook, trip: int) -> None:
        self.playbook, self.trip = playbook, trip
        self.planned: dict[int, Walk] = {}
        for number, group in enumerate(playbook.hidden_classes, start=1):
            whole = dict.fromkeys(group.route_of(member, trip).nodes for member in group.members)
            self.planned[number] = Walk(group.shared(trip), group.members, tuple(whole))
        self._known: dict[tuple[int, tuple[Label, ...], Closure], Replan | None] = {}

    def courses(self, asked: Replan, *, is_forced: bool = True) -> list[Course]:
        """What all do where a replan was made, if all make the choices that were made before it.

        A class that was seen to come the same way is replanned there too, if something on its way has changed. One that
        would have parted before by a road that has changed was replanned there, and may have come this way since. The
        class of the replan is in any case, where that is ``is_forced``.
        """
        m, walked, found, paths = self.playbook.privacy.m, asked.walked, list[Course](), self.planned
        if (after := asked.after) is not None:
            made = [(each, each.by_choice(after.choice or GO_ON)) for each in self.courses(after, is_forced=is_forced)]
            paths = {each.number: walk for each, walk in made if walk is not None}
        for number in self.planned:
            path = paths.get(number)
            if is_forced and number == asked.number:
                found.append(Course(number, None, asked))
            elif path is None:
                continue
            elif path.shared[: len(walked)] != walked:
                # It is elsewhere: it can look the same only if all that is promised was over before.
                if m is not None and m < len(walked) and path.shared[:m] == walked[:m]:
                    found.append(Course(number, path, None))
                    continue
                # Or the road by which it would have parted had changed. From a closed node it had gone on before.
                same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(path.shared, walked, strict=False)))
                is_hit = any(_is_hit(nodes[same - 1 : same + 1], asked.closure) for nodes in path.whole)
                if is_hit and walked[same - 1] not in asked.closure.nodes:
                    entry = self._replan(number, walked[:same], asked.closure)
                    found += [] if entry is None else [Course(number, None, entry)]
            elif not any(_is_hit(nodes[len(walked) - 1 :], asked.closure) for nodes in path.whole):
                found.append(Course(number, path, None))
            elif (entry := self._replan(number, walked, asked.closure)) is not None:
                found.append(Course(number, None, entry))
        return found

    def told(self, asked: Replan) -> dict[int, Walk]:
        """The walk of each class that has one by the rule: by which all went on before, as well."""
        before = self.planned if asked.after is None else self.told(asked.after)
        domain = self.playbook.problem.domain
        courses = judge(self.playbook, self.courses(_gone_on(asked), is_forced=False), _maps(domain, asked.closure))
        walks = {course.number: course.by_rule() for course in courses if course.number in before}
        return {number: walk for number, walk in walks.items() if walk is not None}

    def _replan(self, number: int, walked: tuple[Label, ...], closure: Closure) -> Replan | None:
        """The replan of a class by itself; ``None`` where it cannot be made, and there is no route at all."""
        key = number, walked, closure
        if key not in self._known:
            self._known[key] = None
            with suppress(TooLargeError, BrokenPromiseError):
                self._known[key] = _Replanner(self.playbook, number, self.trip).replan(walked, closure)
        return self._known[key]


def _gone_on(entry: Replan) -> Replan:
    """The same replan, if the choice was to go on each time before it."""
    return entry if entry.after is None else replace(entry, after=replace(_gone_on(entry.after), choice=GO_ON))


def _is_hit(nodes: Sequence[Label], closure: Closure) -> bool:
    """Whether a road of a way is closed or costs something else."""
    costs = {(tail, head) for tail, head, _ in closure.costs}
    return any(pair in costs or closure.shuts(*pair) for pair in pairwise(nodes))


class _Replanner(Crowd):
    """Replans one class on one trip; what it knows of the playbook's own map serves all closures.

    Members are numbered as the class lists them.
    """

    def __init__(self, playbook: Playbook, number: int, trip: int) -> None:
        self.number, self.trip = number, trip
        self.group = find_class(playbook, number)
        members, privacy = self.group.members, playbook.privacy
        # Beside one another they count the same, unless a risk is bounded.
        masses = dict.fromkeys(members, 1.0) if privacy.beta is None else chances(playbook, number, members)
        super().__init__(playbook, masses)
        self.shared = self.group.shared(trip)
        problem = playbook.problem
        self.domain, self.goal = problem.domain, playbook.trips[trip].goal
        self.watchers = find_watchers(self.domain, problem.visibility, self.nodes)
        task = prepare_task(problem, self.candidates)
        if task.uncoverable:
            raise BrokenPromiseError
        # What a unit of each member's route adds to what the playbook keeps small, on its own map.
        self.rates: Floats = task.rates[trip] * self.masses
        self.own_rule = self.rule_on(self.domain)

    def replan(
        self, walked: tuple[Label, ...], closure: Closure, choice: str | None = None, after: Replan | None = None
    ) -> Replan:
        """The ways on under a closure, after what was walked so far, as if there were no other class."""
        here = walked[-1]
        if here in closure.nodes:
            expected = "other nodes than the one where the vehicle stands"
            raise InvalidInputError("closed_nodes", expected, label_text(here))
        rest = _Rest(self, change_domain(self.domain, closure), walked, has_new_costs=bool(closure.costs))
        going_on, giving_up = rest.go_on(), rest.give_up()
        made = Replan(self.number, self.labels, self.trip, walked, closure, going_on, giving_up, None, after)
        return _decided(made, choice)


class _Rest:
    """The rest of a trip on the changed map, as a covering task: whoever was covered is seen from where it begins."""

    def __init__(self, replanner: _Replanner, changed: Domain, walked: Sequence[Label], *, has_new_costs: bool) -> None:
        self.owner, self.changed, self.position = replanner, changed, len(walked) - 1
        # Closing roads makes no way shorter: only new costs can bring members closer together.
        self.rule = replanner.rule_on(changed) if has_new_costs else replanner.own_rule
        labels, here = replanner.labels, walked[-1]
        passed = np.array([changed.node(label) for label in walked])
        self.covered = self._seen_from(passed)
        sees: dict[Label, list[Label]] = {here: [labels[i] for i in self.covered]}
        for i in (i for i in range(len(labels)) if i not in self.covered):
            for seer in changed.labels_of(replanner.watchers[i].astype(np.int64)):
                sees.setdefault(seer, []).append(labels[i])
        problem = Problem(changed, [Trip(here, replanner.goal)], labels, Explicit(sees))
        task = prepare_task(problem, range(len(labels)), walked=[passed.tolist()])
        self.task = replace(task, rates=np.ascontiguousarray(replanner.rates[None, list(task.members)]))
        self.has_goal = bool(np.isfinite(task.direct[0]))

    def _seen_from(self, nodes: Ints) -> Members:
        """The members who are seen from some nodes."""
        return as_members(i for i, own in enumerate(self.owner.watchers) if np.isin(own, nodes).any())

    def give_up(self) -> Way:
        """The cheapest way to the goal."""
        if not self.has_goal:
            return self._nowhere()
        walk = Sweepers(self.task.domain, 1).path_to_goal(self.task.starts[0], self.task.goals[0])
        left = as_members(sorted({*self.covered, *self._seen_from(nodes_along(self.task.domain, walk))}))
        return self._way(walk, walk_cost(self.task.domain, walk), left)

    def go_on(self) -> Way:
        """The cheapest way past all who can still be covered.

        Where they cannot all be, as many nodes as possible are, because names at one node are one place; of as many
        those who keep the promise, then the most probable, then the cheapest, then the first by their numbers.
        """
        if not self.has_goal:
            return self._nowhere()
        engine, completions = FieldsEngine(self.task), Completions(self.task)
        best: tuple[tuple[bool, float, float], PlannedClass, Members] | None = None
        for number, left in enumerate(self._choices()):
            if best is not None and self._num_doors(left) < self._num_doors(best[2]):
                break
            planned = self._plan(left, engine, completions)
            if planned is not None:
                mass = math.fsum(self.owner.masses[list(left)].tolist())
                value = (self._qualifies(left), mass, -self._price(planned))
                best = (value, planned, left) if best is None or value > best[0] else best
                if not number:
                    break  # nobody drops out, so it does not matter if there are too many to choose from
        assert best is not None, "those covered so far only have to reach the goal"
        _, planned, left = best
        own = {int(self.task.members[i]): planned.own[0, i] for i in planned.members if planned.own}
        if own:
            prefix, sweepers = planned.walks[0], Sweepers(self.task.domain, 1)
            is_there = np.isin(prefix[-1], states_beside(self.task.domain, self.task.goals[0]))
            for i in (i for i in range(len(self.owner.labels)) if i not in left):
                rest = () if is_there else sweepers.path_to_goal(int(prefix[-1]), self.task.goals[0])[1:]
                walk = np.concatenate((prefix, np.array(rest, dtype=np.int64)))
                own[i] = walk, walk_cost(self.task.domain, walk)
        return self._way(planned.walks[0], planned.costs[0], left, own)

    def _choices(self) -> Iterator[Members]:
        """Who might be left, the most first; whoever was covered always is."""
        open_ = [i for i in map(int, self.task.members) if i not in set(map(int, self.covered))]
        yield as_members(sorted((*self.covered, *open_)))
        doors: dict[int, list[int]] = {}
        for i in open_:  # a walk that covers a node covers all who are there
            doors.setdefault(self.owner.nodes[i], []).append(i)
        if len(doors) > MAX_CHOSEN_FROM:
            expected = f"at most {MAX_CHOSEN_FROM} members still to be covered, where no walk covers them all"
            raise TooLargeError("class", expected, len(doors))
        for size in range(len(doors) - 1, -1, -1):
            for chosen in combinations(doors.values(), size):
                yield as_members(sorted((*self.covered, *chain.from_iterable(chosen))))

    def _num_doors(self, members: Members) -> int:
        """At how many nodes some members are."""
        return len({self.owner.nodes[i] for i in members})

    def _plan(self, left: Members, engine: FieldsEngine, completions: Completions) -> PlannedClass | None:
        """One walk for those left, or one prefix of as many nodes as are still to be shared; nothing without any."""
        m = self.owner.playbook.privacy.m
        wanted = [i for i in left if m is not None or i not in self.covered]
        at = {int(candidate): i for i, candidate in enumerate(self.task.members)}
        shared = None if m is None or not wanted else max(1, m - self.position)
        return plan_class(as_members(at[i] for i in wanted), shared, engine, completions, Watch())[0]

    def _price(self, planned: PlannedClass) -> float:
        """What a walk costs or, where members part, what their walks add to what the playbook keeps small."""
        if not planned.own:
            return planned.costs[0]
        return math.fsum(float(self.task.rates[0, i]) * planned.cost_of(i, 0) for i in planned.members)

    def _qualifies(self, members: Members) -> bool:
        return self.owner.keeps(self.owner.own_rule, members) and self.owner.keeps(self.rule, members)

    def _nowhere(self) -> Way:
        return Way((), None, tuple(self.owner.labels[i] for i in self.covered), False)

    def _way(self, walk: Ints, cost: float, left: Members, own: dict[int, tuple[Ints, float]] | None = None) -> Way:
        labels, labels_of = self.owner.labels, self.task.domain.labels_of
        named = {labels[i]: (labels_of(nodes), paid) for i, (nodes, paid) in sorted((own or {}).items())}
        still = tuple(labels[i] for i in left)
        return Way(labels_of(walk), cost, still, self._qualifies(left), named)


def with_contingencies(
    playbook: Playbook, closed: Iterable[Sequence[Label]] = (), *, worst: int = 0, watch: Watch | None = None
) -> Playbook:
    """The same playbook with replans for roads that may be closed, so that the driver needs no computer.

    There is one for each road of ``closed``, or of the ``worst`` ones that there are, and each class and trip whose
    shared route uses it: from the node before the road, where the vehicle first meets it.

    A road is the worse the more members lose their hiding when it alone is closed, and of as many the more the routes
    of all members cost then. Those who lose it are those dropped, and all of a class that keeps its promise no more. Of
    equally bad roads the one is worse around which the way is longer for all who use it, or which comes first on the
    routes, class by class. Where the ``watch`` says stop, it is as far as roads were looked at.
    """
    check_whole("worst", worst, "a number of roads >= 0", least=0)
    watch, domain = watch or Watch(), playbook.problem.domain
    uses: dict[frozenset[Label], list[tuple[_Replanner, int]]] = {}
    steps: dict[frozenset[Label], Counter[Pair]] = {}
    for number, trip in product(range(1, len(playbook.hidden_classes) + 1), range(len(playbook.trips))):
        replanner = _Replanner(playbook, number, trip)
        for position, (tail, head) in enumerate(pairwise(replanner.shared)):
            road = frozenset((tail, head))
            if not any(one is replanner for one, _ in uses.setdefault(road, [])):
                uses[road].append((replanner, position))
            steps.setdefault(road, Counter())[tail, head] += len(replanner.labels)

    def courses(closure: Closure) -> list[list[Course]]:
        """What every class does on each trip."""
        met: dict[tuple[int, int], Replan] = {}
        for one, position in uses.get(frozenset(closure.roads[0]), ()):
            met[one.trip, one.number] = one.replan(one.shared[: position + 1], closure)
        found = []
        for trip in sorted({trip for trip, _ in met}):
            planned = _Observer(playbook, trip).planned.items()
            mine = [Course(number, walk, met.get((trip, number))) for number, walk in planned]
            found.append(judge(playbook, mine, [domain]))
        return found

    def replans(found: Sequence[Sequence[Course]]) -> tuple[Replan, ...]:
        """The contingencies for one road, with what an observer sees; class by class, trip by trip."""
        made = []
        for mine in found:
            told = {course.number: walk for course in mine if (walk := course.by_rule()) is not None}
            entries = [course.entry for course in mine if course.entry is not None]
            made += [_decided(with_sightings(playbook, each, mine, told, [domain]), None) for each in entries]
        return tuple(sorted(made, key=lambda entry: (entry.number, entry.trip)))

    if not worst:
        named: dict[frozenset[Label], Pair] = {}
        for pair in by_first_labels(domain, Closure.of(closed)).roads:
            named.setdefault(frozenset(pair), pair)  # a road may be named from both ends
        roads = [Closure((pair,)) for pair in named.values()]
        change_domain(domain, Closure(tuple(closure.roads[0] for closure in roads)))  # or it names what is no road
        in_time = takewhile(lambda _: not watch.is_over(), roads)
        return replace(
            playbook, contingencies=tuple(entry for closure in in_time for entry in replans(courses(closure)))
        )
    bounds = {Closure((next(iter(used)),)): _most_harm(playbook, used) for used in steps.values()}
    found: list[tuple[tuple[float, float], list[list[Course]]]] = []
    for done, (closure, bound) in enumerate(sorted(bounds.items(), key=lambda item: item[1], reverse=True)):
        watch.tell("contingencies", done, len(bounds))
        if watch.is_over() or (len(found) == worst and found[-1][0] >= bound):
            break  # nor is any road after this one worse
        made = courses(closure)
        entries = [course.entry for mine in made for course in mine if course.entry is not None]
        found = sorted([*found, (_harm(playbook, entries), made)], key=lambda one: one[0], reverse=True)[:worst]
    return replace(playbook, contingencies=tuple(entry for _, made in found for entry in replans(made)))


def _most_harm(playbook: Playbook, steps: Mapping[Pair, int]) -> tuple[float, float]:
    """What closing a road can cost at most: everybody may go around it, each time that they would go along it.

    That covers whom the route covered. Without a way around, or where routes part after m nodes and are not the
    cheapest each, or where the way around may not be legal, nothing is known.
    """
    domain, extra = playbook.problem.domain, 0.0
    if playbook.privacy.m is not None or domain.turns is not None:
        return math.inf, math.inf
    sweeper = Sweeper(change_domain(domain, Closure((next(iter(steps)),))), backward=False, num_seeds=1)
    for pair, num in steps.items():
        tail, head = map(domain.node, pair)
        around = float(sweeper.near(tail, np.array([head]))[0]) * sweeper.unit
        extra += num * (around - walk_cost(domain, np.array([tail, head])))
    # Costs that are added up in another order differ by rounding.
    return (math.inf if math.isinf(extra) else 0), extra * (1.0 if domain.has_integer_costs else 1 + 1e-9)


def _harm(playbook: Playbook, entries: Sequence[Replan]) -> tuple[float, float]:
    """How many members lose their hiding by a closure, and what it adds to the cost of all their routes."""
    lost, extra = 0, 0.0
    for entry in entries:
        group, way = playbook.hidden_classes[entry.number - 1], entry.going_on
        lost += len(entry.dropped) if way.qualifies else len(entry.members)
        domain = playbook.problem.domain
        before = walk_cost(domain, np.array([domain.node(label) for label in entry.walked]))
        for member in entry.members if way.cost is not None else ():
            rest = way.own[member][1] if member in way.own else way.cost or 0.0
            extra += before + rest - group.route_of(member, entry.trip).cost
    return lost, extra
