"""What all covering computations of a problem share: who can be covered, from where, and at what base cost.

The watchers of a candidate are the nodes from which it is seen; a *post* is a node from which some candidate is seen.
:class:`Posts` numbers the watchers of several candidates, a :class:`PostTable` has the distances between posts, and a
:class:`CoveringTask` takes all this together with the trips. Four numberings meet here, and
:mod:`veilroute.base.arrays` has a type for each: nodes of the domain, candidates of the problem, members of the task
(the candidates that every trip can cover) and posts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from veilroute.base.arrays import Candidate, Flags, Floats, Indices, Ints, Masks, Members, Node, as_members
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Watch
from veilroute.covering.crew import Sweeps, crew_at_work
from veilroute.covering.states import search_graph
from veilroute.covering.walks import Sweeper
from veilroute.domain.geography import measured_domain, straight_distances, straight_within
from veilroute.domain.graph import Domain, Label, at_least, at_most
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, Visibility, WithinDistance
from veilroute.kernels.sight import visible_cells
from veilroute.model.problem import ROUNDING, Privacy, Problem, objective_rates
from veilroute.model.rules import KAndEll, Linked, RiskBound, Rule, hideable


@dataclass(frozen=True, eq=False)
class CoveringTask:
    """The candidates that can be covered, and each trip's costs and distances, as arrays.

    A partitioner groups the *members*: positions 0, 1, 2, ... in ``members``. To name one, take
    ``problem.candidates[task.members[i]]``.

    Attributes
    ----------
    domain
        The graph on which walks are searched: the problem's, or its turn-expanded graph if some turns are not allowed.
    members
        The candidates that count and that every trip can cover, as positions in ``problem.candidates``.
    uncoverable
        The candidates that count but that some trip cannot cover, as positions in ``problem.candidates``.
    posts
        The nodes from which each member is seen; candidate i of the posts is ``members[i]``.
    starts, goals
        Nodes of ``domain``, one for each trip.
    weights
        The weights of the trips; they sum to 1.
    from_start, to_goal
        By trip and post, the distance from the start and the distance to the goal, in units of ``unit``.
    all_from_start, all_to_goal
        The same distances by trip and node.
    direct
        By trip, the distance from its start to its goal, in units of ``unit``.
    base_costs
        By trip and member, the cost of the cheapest walk that covers this member alone.
    rates
        By trip and member, what one unit of extra cost adds to the sum that the plan keeps small; for the MAC this is 1
        divided by the base cost.
    unit
        The cost of one unit of distance.
    kept
        What several plans of one problem share (`Problem.sharing_work`), or ``None``.
    """

    domain: Domain
    members: tuple[Candidate, ...]
    uncoverable: tuple[Candidate, ...]
    posts: Posts
    starts: tuple[Node, ...]
    goals: tuple[Node, ...]
    weights: tuple[float, ...]
    from_start: Floats
    to_goal: Floats
    all_from_start: Floats
    all_to_goal: Floats
    direct: Floats
    base_costs: Floats
    rates: Floats
    unit: float
    kept: dict[Any, Any] | None = None

    @property
    def num_trips(self) -> int:
        """How many trips there are."""
        return len(self.starts)

    def least_costs(self, members: Sequence[int], trip: int) -> Floats:
        """What covering the members one by one costs, after what covering nothing does."""
        return np.concatenate(([self.direct[trip] * self.unit], self.base_costs[trip][list(members)]))

    def part(self, members: Sequence[int]) -> CoveringTask:
        """The task of some of the members only, in the order given."""
        posts, at = self.posts.subset(members)
        chosen = list(members)
        # Picking columns turns the memory round; kernels are compiled once for each layout that they are given.
        return replace(
            self,
            kept=None if self.kept is None else self.kept.setdefault(tuple(chosen), {}),
            members=tuple(self.members[i] for i in members),
            posts=posts,
            from_start=np.ascontiguousarray(self.from_start[:, at]),
            to_goal=np.ascontiguousarray(self.to_goal[:, at]),
            base_costs=np.ascontiguousarray(self.base_costs[:, chosen]),
            rates=np.ascontiguousarray(self.rates[:, chosen]),
        )


def prepare_task(
    problem: Problem,
    positions: Sequence[int] | None = None,
    *,
    walked: Sequence[Sequence[int]] | None = None,
    any_trip: bool = False,
    open_trips: Collection[int] = (),
) -> CoveringTask:
    """The task of the candidates at ``positions``, or of all that count; two sweeps per trip.

    Trips that have begun have ``walked`` some nodes each, the last of which is their start; which turns are legal next
    depends on that. With ``any_trip`` a candidate is coverable where one of the trips can cover it.
    ``open_trips`` end wherever they are.
    """
    began = [(start,) for start in problem.start_nodes] if walked is None else walked
    if problem.kept is None or positions is not None:
        return _prepare(problem, positions, began, any_trip=any_trip, open_trips=open_trips)
    if "task" not in problem.kept:
        problem.kept["task"] = replace(_prepare(problem, None, began), kept={})
    shared: CoveringTask = problem.kept["task"]
    return shared


def _prepare(
    problem: Problem,
    positions: Sequence[int] | None,
    walked: Sequence[Sequence[int]],
    *,
    any_trip: bool = False,
    open_trips: Collection[int] = (),
) -> CoveringTask:
    search = search_graph(problem.domain, walked, problem.goal_nodes)
    domain = search.graph
    counted = [Candidate(i) for i in (problem.counted if positions is None else positions)]
    seers = find_watchers(problem.domain, problem.visibility, [problem.candidate_nodes[i] for i in counted])
    everyone = Posts.of([search.states_at(nodes) for nodes in seers])
    out = Sweeper(domain, backward=False, num_seeds=1)
    back = Sweeper(domain, backward=True, num_seeds=1)
    # A candidate that nobody watches cannot be covered, whatever the trip.
    coverable = np.diff(everyone.watch_ptr) > 0
    all_from_start, all_to_goal = np.empty((2, len(problem.trips), domain.num_nodes))
    base = np.full((len(problem.trips), len(counted)), np.inf)
    owner = np.repeat(np.arange(len(counted)), np.diff(everyone.watch_ptr))
    for j, (start, goal) in enumerate(zip(search.starts, search.goals, strict=True)):
        all_from_start[j] = out.run(start)
        all_to_goal[j] = 0.0 if j in open_trips else back.run(goal)
        through = (all_from_start[j] + all_to_goal[j])[everyone.nodes]
        np.minimum.at(base[j], owner, through[everyone.watch_posts])
    coverable &= np.isfinite(base).any(axis=0) if any_trip else np.isfinite(base).all(axis=0)
    kept = np.flatnonzero(coverable).tolist()
    posts = everyone if coverable.all() else everyone.subset(kept)[0]
    total = sum(trip.weight for trip in problem.trips)
    base_costs = np.ascontiguousarray(base[:, kept]) * out.unit
    return CoveringTask(
        domain=domain,
        members=tuple(counted[i] for i in kept),
        uncoverable=tuple(counted[i] for i in np.flatnonzero(~coverable).tolist()),
        posts=posts,
        starts=tuple(Node(node) for node in search.starts),
        goals=tuple(Node(node) for node in search.goals),
        weights=tuple(trip.weight / total for trip in problem.trips),
        # In one layout, see CoveringTask.part.
        from_start=np.ascontiguousarray(all_from_start[:, posts.nodes]),
        to_goal=np.ascontiguousarray(all_to_goal[:, posts.nodes]),
        all_from_start=all_from_start,
        all_to_goal=all_to_goal,
        direct=all_to_goal[range(len(problem.trips)), search.starts],
        base_costs=base_costs,
        rates=objective_rates(problem.objective, base_costs, problem.domain.smallest_positive_cost),
        unit=out.unit,
    )


def find_watchers(domain: Domain, visibility: Visibility, candidates: Sequence[int]) -> list[Indices]:
    """The watchers of each candidate node, in ascending order (the paper's inverse of v)."""
    match visibility:
        case AtNode():
            return [np.array([node], dtype=np.uint32) for node in candidates]
        case WithinDistance(radius, "straight"):
            reach = at_most(radius, exact=False)
            return [straight_within(domain, node, reach).astype(np.uint32) for node in candidates]
        case WithinDistance(radius, measure):
            measured = measured_domain(domain, measure)
            furthest = at_most(radius, exact=measured.has_integer_costs)
            if furthest < measured.smallest_cost:
                return [np.array([node], dtype=np.uint32) for node in candidates]
            sweeper = Sweeper(measured, backward=True, num_seeds=1)
            limit = furthest / sweeper.unit
            return [sweeper.within(node, limit) for node in candidates]
        case LineOfSight(reach):
            grid = domain.grid
            assert grid is not None, "checked when the problem was built"
            watchers = []
            for node in candidates:
                cells = visible_cells(grid.free, *grid.cell(node), at_most(float(reach), exact=False))
                watchers.append(grid.index[cells[:, 0], cells[:, 1]].astype(np.uint32))
            return watchers
        case Explicit(sees):
            seers: dict[int, set[int]] = {node: set() for node in candidates}
            for seer, seen in sees.items():
                for label in seen:
                    node = domain.node(label)
                    if node in seers:
                        seers[node].add(domain.node(seer))
            return [np.array(sorted(seers[node]), dtype=np.uint32) for node in candidates]


def bits(mask: int) -> Members:
    """The members of a set that is given by its bit mask."""
    return as_members(i for i in range(mask.bit_length()) if mask >> i & 1)


def mask_of(members: Iterable[int]) -> int:
    """The bit mask of a set."""
    return sum(1 << i for i in members)


def members_of(masks: Masks, size: int) -> Masks:
    """The members of sets of one size, a row each, ascending."""
    positions = np.arange(int(masks.max(initial=0)).bit_length())
    return np.nonzero(masks[:, None] >> positions & 1)[1].reshape(masks.size, size)


@dataclass(frozen=True, eq=False)
class Posts:
    """The watchers of several candidates in one numbering, as posts."""

    nodes: Indices  # where each post stands, ascending
    # Candidate i is watched from the posts ``watch_posts[watch_ptr[i]:watch_ptr[i + 1]]``.
    watch_ptr: Ints
    watch_posts: Ints

    @classmethod
    def of(cls, watchers: Sequence[Indices]) -> Posts:
        """Number the watchers of each candidate."""
        nodes, positions = np.unique(np.concatenate([np.empty(0, dtype=np.uint32), *watchers]), return_inverse=True)
        ptr = np.zeros(len(watchers) + 1, dtype=np.int64)
        np.cumsum([w.size for w in watchers], out=ptr[1:])
        return cls(nodes, ptr, positions.reshape(-1).astype(np.int64))

    def posts_of(self, candidate: int) -> Ints:
        """The posts of one candidate, ascending."""
        return self.watch_posts[self.watch_ptr[candidate] : self.watch_ptr[candidate + 1]]

    def nodes_of(self, candidate: int) -> Indices:
        """Where the posts of one candidate stand, ascending."""
        return self.nodes[self.posts_of(candidate)]

    def subset(self, candidates: Sequence[int]) -> tuple[Posts, Ints]:
        """The posts of some of the candidates, and their positions among all posts."""
        part = Posts.of([self.nodes_of(i) for i in candidates])
        return part, np.searchsorted(self.nodes, part.nodes)


class PostTable:
    """Distances between posts, by one sweep each: ``distances`` from each (row) to each, in a sweeper's units.

    Rows and columns stand for the posts in ``order``, or for all, ascending. Rows are valid once they are done. A
    ``local`` sweeper, for posts that are few and stand together, goes no farther than to these.
    """

    def __init__(
        self, domain: Domain, posts: Posts, *, order: Ints | None = None, local: Sweeper | None = None
    ) -> None:
        self._domain = domain
        self._nodes = posts.nodes if order is None else posts.nodes[order]
        self._local = local
        self.distances: Floats = np.empty((self._nodes.size, self._nodes.size))
        self.num_done = 0

    def complete(self, watch: Watch) -> None:
        """Make the sweeps that are missing."""
        if self._local is not None:
            for row in range(self.num_done, self._nodes.size):
                self.distances[row] = self._local.near(int(self._nodes[row]), self._nodes)
            self.num_done = self._nodes.size
        if self.is_complete:
            return
        watch.tell("distances", self.num_done, self._nodes.size)
        sweeps = Sweeps(self._domain, self._nodes)
        for rows in crew_at_work().read(sweeps, self._nodes[self.num_done :], watch):
            self.distances[self.num_done : self.num_done + len(rows)] = rows
            self.num_done += len(rows)
            watch.tell("distances", self.num_done, self._nodes.size)

    def part(self, posts: Posts, rows: Ints) -> PostTable:
        """The distances between some of the posts, which stand in ``rows``, once complete."""
        table = PostTable(self._domain, posts)
        table.distances = self.distances[np.ix_(rows, rows)]
        table.num_done = posts.nodes.size
        return table

    @property
    def is_complete(self) -> bool:
        """Whether all distances are there."""
        return self.num_done == self._nodes.size

    @cached_property
    def transposed(self) -> Floats:
        """The distances to each post (row) from each, once complete."""
        return np.ascontiguousarray(self.distances.T)


def leads_both_ways(domain: Domain) -> bool:
    """Whether every edge has one back at the same cost."""
    own = (domain.indptr, domain.indices, domain.costs)
    return all(np.array_equal(one, other) for one, other in zip(domain.reversed_rows, own, strict=True))


def base_costs(problem: Problem) -> dict[tuple[int, Label], float]:
    """What it costs to cover each candidate alone, by trip and label: what routes would cost without hiding."""
    task = prepare_task(problem)
    labels = [problem.candidates[i] for i in task.members]
    trips = enumerate(task.base_costs.tolist())
    return {(trip, label): cost for trip, row in trips for label, cost in zip(labels, row, strict=True)}


def far_matrix(domain: Domain, nodes: Sequence[int], privacy: Privacy, kept: dict[Any, Any] | None = None) -> Flags:
    """For every two candidates, given by their nodes, whether they are at least ell apart, in both directions.

    False for a candidate and itself, and for two candidates at one node, whatever ell is. One sweep per node, cut off
    at ell; none when even neighbours are that far apart. Where work is ``kept`` for plans with another ell, sweeps are
    not cut off and are made once.
    """
    at = np.array(nodes, dtype=np.int64)
    is_far: Flags = np.asarray(at[:, None] != at)
    if privacy.measure == "straight":
        least = at_least(privacy.ell, exact=False)
        for i, node in enumerate(nodes):
            is_far[i] &= straight_distances(domain, node, at) >= least
        return is_far
    measured = measured_domain(domain, privacy.measure)
    least = at_least(privacy.ell, exact=measured.has_integer_costs)
    if least <= measured.smallest_cost:
        return is_far
    limit = least / (measured.unit_cost or 1.0)
    sweeps = Sweeps(measured, at, limit=limit if kept is None else math.inf)
    rows: Iterable[Floats] = chain.from_iterable(crew_at_work().own.read(sweeps, at.astype(np.uint32)))
    if kept is not None:
        key = ("between", privacy.measure)
        if key not in kept:
            kept[key] = np.array(list(rows))
        rows = kept[key]
    for i, row in enumerate(rows):
        is_close = row < limit
        is_far[i, is_close] = is_far[is_close, i] = False
    return is_far


def gaps_below_ell(domain: Domain, nodes: Sequence[int], privacy: Privacy) -> Floats:
    """How far every two nodes are from each other, in the nearer direction; infinitely far from ell on."""
    at = np.array(nodes, dtype=np.int64)
    if privacy.measure == "straight":
        gaps = np.array([straight_distances(domain, node, at) for node in nodes])
        least = at_least(privacy.ell, exact=False)
    else:
        measured = measured_domain(domain, privacy.measure)
        least = at_least(privacy.ell, exact=measured.has_integer_costs)
        unit = measured.unit_cost or 1.0
        sweeps = Sweeps(measured, at, limit=least / unit)
        rows: Iterable[Floats] = chain.from_iterable(crew_at_work().own.read(sweeps, at.astype(np.uint32)))
        gaps = np.array(list(rows)) * unit
    gaps = np.minimum(gaps, gaps.T)
    return np.where(at[:, None] == at, 0.0, np.where(gaps < least, gaps, np.inf))


def k_and_ell(problem: Problem, task: CoveringTask, privacy: Privacy) -> KAndEll:
    """The rule that a privacy by counting makes for the members of a task."""
    is_weighed = privacy.risk is not None or not problem.prior_of(task.members).all()
    if is_weighed or problem.past is not None:
        what = "under a ledger" if problem.past is not None else "by risk, or with a weight of 0"
        raise InvalidInputError("planner", f"optimal, or pbp or m-pbp with exact or local-search, to plan {what}")
    rule = _rule_of(problem, task, privacy)
    assert isinstance(rule, KAndEll), "nobody is more probable than others"
    return rule


def who_can_hide(problem: Problem, task: CoveringTask, privacy: Privacy) -> tuple[CoveringTask, Rule]:
    """The task of those whom some planner could hide, and the rule that a privacy makes for them.

    Where a risk is bounded, these are the members who are not too probable by themselves, and each counts as much as it
    is probable.
    """
    is_possible = problem.prior_of(task.members) > 0
    if privacy.risk is None and problem.past is None and is_possible.all():
        return task, k_and_ell(problem, task, privacy)
    prior, owners, left = problem.prior_of(task.members), *_histories(problem, task)
    kept = np.flatnonzero(_can_hide(prior, owners, left, privacy))
    part = task if kept.size == prior.size else task.part(kept.tolist())
    if privacy.risk is not None:
        part = replace(part, rates=part.rates * prior[kept])
    rule = _rule_of(problem, part, privacy, prior[kept])
    if problem.past is None:
        return part, rule
    lines = np.flatnonzero(np.isin(owners, kept))
    return part, Linked.of(rule, np.searchsorted(kept, owners[lines]), left[np.ix_(lines, kept)])


def _rule_of(
    problem: Problem, task: CoveringTask, privacy: Privacy, prior: Floats | None = None
) -> KAndEll | RiskBound:
    """The rule of a privacy by itself, given how probable the members are where that counts."""
    is_far = far_matrix(problem.domain, [problem.candidate_nodes[i] for i in task.members], privacy, task.kept)
    if problem.past is not None:
        # A promise holds on the map that it was made for, also where places are farther apart by now.
        place = {problem.candidates[i]: at for at, i in enumerate(task.members)}
        pairs = [(place[one], place[other]) for one, other in problem.past.near if {one, other} <= place.keys()]
        for one, other in pairs:
            is_far[one, other] = is_far[other, one] = False
    if privacy.risk is None or prior is None:
        return KAndEll.of(is_far, privacy.k, privacy.spread)
    rule = RiskBound.of(is_far, prior, privacy.risk, privacy.spread)
    if prior.size and rule.is_plain and (rule.masses == rule.masses[0]).all():
        # Where all are equally probable, probabilities are numbers.
        return KAndEll.of(is_far, privacy.k, "all-pairs", float(rule.masses[0]))
    return rule


def _histories(problem: Problem, task: CoveringTask) -> tuple[Ints, Flags]:
    """Whose history each line of the past is, and per line and member whether it is still possible."""
    place = {problem.candidates[i]: at for at, i in enumerate(task.members)}
    lines = [] if problem.past is None else [line for line in problem.past.left if line[0] in place]
    left = np.zeros((len(lines), len(place)), dtype=np.bool_)
    for row, (_, others) in zip(left, lines, strict=True):
        row[[place[other] for other in others if other in place]] = True
    return np.array([place[owner] for owner, _ in lines], dtype=np.int64), left


def _can_hide(prior: Floats, owners: Ints, left: Flags, privacy: Privacy) -> Flags:
    """Who is not out of the question: there are enough others in each of its histories, or enough probability."""
    can = prior > 0
    while True:
        before = can.copy()
        if privacy.risk is None:
            is_short = (left & can).sum(axis=1) < privacy.k
        else:
            can[can] = hideable(prior[can], privacy.risk)
            is_short = prior[owners] > privacy.risk * (left * np.where(can, prior, 0.0)).sum(axis=1) * (1 + ROUNDING)
        can[owners[is_short]] = False
        if (can == before).all():
            return can
