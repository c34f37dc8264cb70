"""The classes of k and ell where members may stand near each other, or classes are large: searched leader by leader.

Under witness spread a class needs k members that stand apart, and whoever else shares its walk is welcome: crowds of
members who stand near each other then make large classes. Here these are found as well as bounded, whatever their size
(:mod:`veilroute.kernels.crowds`). For whole walks of one trip, past members that are met at a few stops each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from veilroute.base.arrays import Floats, Int32s, Ints
from veilroute.base.run import Watch
from veilroute.covering.crew import num_threads
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.set_costs import MAX_TOUR, TourCosts
from veilroute.covering.task import CoveringTask
from veilroute.kernels.crowds import COMPLETE, MAX_DEPTH, Crowd, Ways, make_room, search_leader
from veilroute.kernels.floors import find_floors, find_triples, floors_by_strolls
from veilroute.model.rules import KAndEll, Rule
from veilroute.partition.class_space import ClassSpace, Columns, Prices, SearchResult, cut_arrays, find_groups
from veilroute.partition.limits import limits

LARGE_K = 4  #: from this k on classes are many also where nobody stands near anybody
_FEW_MEMBERS = 60
_MAX_MEMBERS = 400
_MAX_TRIPLES = 160
_MAX_STOPS = 8
_WIDEST_BY_FIELDS = 14
_NUM_KEPT = 12
_NUM_REMEMBERED = 6
_MOST_STROLLED = 2e9  #: members cubed, times k, times two for each cluster that is remembered: some seconds
_STEPS_PER_QUOTA = 0.05
_LADDER = (1 / 256, 1 / 64, 1 / 16, 1 / 4)
_HASTY = 4e4
_FEW = 0.2
_ROUNDING = 1e-9
_LEADERS_PER_LOOK = 16
_SECONDS_PER_LOOK = 0.05


def is_crowded(task: CoveringTask, rule: Rule) -> bool:
    """Whether this is the space for a rule: it is for one trip, and for posts of which there is a table."""
    if not isinstance(rule, KAndEll) or rule.k < 2 or task.num_trips > 1 or rule.num > _MAX_MEMBERS:
        return False
    posts = np.diff(task.posts.watch_ptr)
    has_table = int(posts.max(initial=0)) == 1 or FieldsEngine(task).will_have_table
    return (
        has_table
        and int(posts.max()) <= _MAX_STOPS
        and (rule.is_loose or (rule.k >= LARGE_K and rule.num <= _FEW_MEMBERS))
    )


Result = TypeVar("Result")


def on_all_cores(work: Callable[[int], Result], items: Sequence[int], watch: Watch, halt: Ints) -> list[Result]:
    """The results of some work, in order, by a thread for each core.

    When the time is over, ``halt`` is set for the kernels to see, and what they return is not complete.
    """
    with ThreadPoolExecutor(num_threads()) as pool:
        futures = [pool.submit(work, item) for item in items]
        while wait(futures, _SECONDS_PER_LOOK).not_done:
            if watch.is_over():
                halt[0] = 1
    return [future.result() for future in futures]


class CrowdedSpace(ClassSpace):
    """The classes of k and ell, of any size."""

    rule: KAndEll

    def __init__(self, task: CoveringTask, rule: KAndEll, *, most_strolled: float = _MOST_STROLLED) -> None:
        super().__init__(task, rule)
        self._most_strolled = most_strolled
        self.width = min(self.largest, MAX_DEPTH if isinstance(self.prices_of, TourCosts) else _WIDEST_BY_FIELDS)
        self.exact = limits().exact  # once: a thread of its own knows no other limits
        self.clusters, self.num_clusters = find_groups(~self.far)
        self.floors: Floats = np.empty((0, 0))
        self.lowest: Floats = np.empty(0)

    def prepare(self, watch: Watch) -> None:
        """Work the costs of all pairs out, and what classes with every two members cost at least."""
        if self.lowest.size == self.num:
            return
        super().prepare(watch)
        stops = self.prices_of.stops(watch)
        self.most_stops = int(np.diff(stops.ptr).max(initial=1))
        self.ways = Ways(stops.ptr, stops.from_start[0], stops.to_goal[0], stops.between)
        is_there = self.compatible | np.eye(self.num, dtype=np.bool_)
        pairs = np.where(is_there, self.pair_costs[0], np.inf)
        triples = np.empty((self.num,) * 3 if self.num <= _MAX_TRIPLES else (0, 0, 0))
        if triples.size:
            find_triples(*self.ways, triples)
        self.floors = np.empty((self.num, self.num))
        find_floors(self.k, self.far, self.clusters, self.num_clusters, pairs, triples, self.floors)
        self._raise_floors(watch)
        others = np.where(np.eye(self.num, dtype=np.bool_), np.inf, self.floors).min(axis=1)
        self.lowest = np.maximum(others, self.floors.diagonal())
        self.leaders: Ints = np.argsort(-self.lowest, kind="stable")

    def _raise_floors(self, watch: Watch) -> None:
        """What classes cost at least because they have members of k clusters."""
        from_start, to_goal, between = self.prices_of.steps(watch)
        between = np.ascontiguousarray(between)
        num = self.num
        affordable = max(1, int(math.log2(max(1.0, self._most_strolled / (self.k * num**3)))))
        num_near = min(_NUM_REMEMBERED, self.num_clusters, affordable)
        is_own = self.clusters[:, None] == np.arange(self.num_clusters)
        there_and_back = np.full((num, self.num_clusters), np.inf)
        for cluster in range(self.num_clusters):
            mine = self.clusters == cluster
            there_and_back[:, cluster] = (between + between.T)[:, mine].min(axis=1)
        near = np.argsort(np.where(is_own, -1.0, there_and_back), axis=1, kind="stable")[:, :num_near]
        places = np.full((num, self.num_clusters), -1, dtype=np.int32)
        np.put_along_axis(places, near, np.arange(num_near, dtype=np.int32)[None], axis=1)
        shape = self.k + 1, num, 1 << num_near
        found, ahead, behind = np.empty((num, num)), np.empty((2, *shape)), np.empty(shape)
        near = np.ascontiguousarray(near)
        for member in range(num):
            watch.check()
            floors_by_strolls(
                member, self.k, self.clusters, from_start[0], to_goal[0], between, self.compatible, near, places, ahead,
                behind, found[member],
            )  # fmt: skip
        alone = found.diagonal()
        least = np.maximum(
            np.maximum(alone[:, None], alone),
            np.where(self.clusters[:, None] == self.clusters, 0.0, np.minimum(found, found.T)),
        )
        self.floors = np.maximum(self.floors, least)

    def simple_prices(self) -> Prices:
        """Prices that need no programme: each member pays what a class with it costs at least."""
        duals = self.weights[0] * self.lowest - self.fixed
        is_possible = np.isfinite(duals)
        return Prices(np.where(is_possible, duals, float(duals[is_possible].max(initial=0.0))))

    def search(
        self, prices: Prices, threshold: float, watch: Watch, *, most: int | None = None, max_priced: int | None = None,
        is_free: bool = False, quota: float | None = None, is_hasty: bool = False,
    ) -> SearchResult:  # fmt: skip
        """As for all spaces. With a ``quota`` of work for each leader, only some of the classes are looked for.

        What their reduced costs are at least is then told by leader: how far it may lie below 0.
        """
        if is_free:
            return super().search(prices, threshold, watch, most=most, max_priced=max_priced, is_free=True)
        if quota is not None:
            hasty = self._run(_Look(self, prices, threshold, None, _HASTY), watch)
            if is_hasty or len(hasty.columns) > _FEW * self.num:
                return SearchResult(hasty.columns, hasty.num_priced)
        return self._run(_Look(self, prices, threshold, most, quota), watch)

    def _run(self, look: _Look, watch: Watch) -> SearchResult:
        """Search leader by leader, until there is no room for more."""
        leaders = np.flatnonzero(np.isfinite(self.lowest[self.leaders])).tolist()
        found, is_over = self._run_through(look, look.run, leaders, watch)
        columns, least_beyond = self._columns_of(found, look.prices, look.threshold)
        is_complete = not is_over and all(each.is_complete for each in found)
        if look.is_listing or is_over or (len(columns) and not is_complete):
            return SearchResult(columns, sum(each.num_steps for each in found), least_beyond, is_complete)
        # What is too much work at the threshold may be known not to lie below a lower one.
        unclear = [leader for leader, each in zip(leaders, found, strict=True) if not each.is_complete]
        further, is_over = self._run_through(look, look.run_lower, unclear, watch)
        num_steps = sum(each.num_steps for each in (*found, *further))
        if further:
            columns = self._columns_of(further, look.prices, look.threshold)[0]
        if is_over:
            return SearchResult(columns, num_steps)
        shortfalls = np.zeros(self.num)
        for each in (*found, *further):
            shortfalls[each.leader] = min(0.0, each.least)
        return SearchResult(columns, num_steps, math.inf, is_complete, shortfalls)

    def _run_through(
        self, look: _Look, run: Callable[[int], _Found], leaders: list[int], watch: Watch
    ) -> tuple[list[_Found], bool]:
        """What was found with each leader, and whether that is not all for lack of time or room."""
        found: list[_Found] = []
        for at in range(0, len(leaders), _LEADERS_PER_LOOK):
            found += on_all_cores(run, leaders[at : at + _LEADERS_PER_LOOK], watch, look.halt)
            is_full = look.is_listing and sum(each.costs.size for each in found) >= look.room
            if is_full or look.halt[0] or watch.is_over():
                return found, True
        return found, False

    def _columns_of(self, found: list[_Found], prices: Prices, threshold: float) -> tuple[Columns, float]:
        """What was found, at its real price, and the least reduced cost of those of whom only a bound is known."""
        parts: list[Columns] = []
        least_beyond = math.inf
        sets = np.concatenate([np.empty((0, MAX_DEPTH), dtype=np.int32), *(each.sets for each in found)])
        costs = np.concatenate([np.empty(0), *(each.costs for each in found)])
        sizes = (sets >= 0).sum(axis=1)
        for size in np.unique(sizes).tolist():
            mine = np.flatnonzero(sizes == size)
            rows = np.sort(sets[mine, :size], axis=1)
            known = self.shares(rows, costs[mine, None])
            least = prices.reduce(rows, known)
            if size > self.width:
                least_beyond = min(least_beyond, float(least.min()))
                continue
            shares = known if size <= min(MAX_TOUR, self.exact) else self.measure(rows, Watch())[1]
            reduced = prices.reduce(rows, shares)
            is_unsure = reduced > least + _ROUNDING * np.abs(known)
            least_beyond = min(least_beyond, float(least[is_unsure].min(initial=math.inf)))
            parts.append(Columns(rows, shares, reduced).take(np.isfinite(shares) & (reduced <= threshold)))
        return Columns.join(parts, self.width), least_beyond


@dataclass(frozen=True, eq=False)
class _Found:
    """What was found with one leader."""

    leader: int
    sets: Int32s
    costs: Floats  # what they cost, at least
    least: float  # what reduced costs are at least
    num_steps: int
    is_complete: bool


class _Look:
    """A search at some prices, a leader at a time."""

    def __init__(
        self, space: CrowdedSpace, prices: Prices, threshold: float, most: int | None, quota: float | None
    ) -> None:
        self.space, self.prices, self.threshold = space, prices, threshold
        self.is_listing = quota is None
        self.room = _NUM_KEPT if quota is not None else (1 << 20) + 1 if most is None else most + 1
        self.max_steps = limits().steps if quota is None else int(quota * _STEPS_PER_QUOTA)
        rule = space.rule
        self.prizes: Floats = prices.duals + space.fixed
        self.crowd = Crowd(
            np.ascontiguousarray(space.weights[0]), self.prizes, space.floors, space.far, space.clusters,
            space.num_clusters, space.k, rule.largest, rule.is_loose,
        )  # fmt: skip
        self.cuts = cut_arrays(space.num, prices)
        self.halt: Ints = np.zeros(1, dtype=np.int64)

    def run(self, leader: int) -> _Found:
        """All classes of a leader within the threshold, or a few good ones."""
        return self._search(leader, (self.threshold,))

    def run_lower(self, leader: int) -> _Found:
        """A bound on all classes of a leader, as far as it can be had, and some of those below."""
        root = self._root_bound(leader)
        return self._search(leader, tuple(part * root for part in _LADDER if part * root < self.threshold))

    def _search(self, leader: int, thresholds: Sequence[float]) -> _Found:
        """Search with one threshold after the other, until one is low enough."""
        space = self.space
        sets, costs = np.empty((self.room, MAX_DEPTH), dtype=np.int32), np.empty(self.room)
        memory = make_room(space.num, space.num_clusters, self.cuts[2].size, space.most_stops, space.exact)
        kept = [(sets[:0], costs[:0])]
        least, num_steps, is_complete = self._root_bound(leader), 0, False
        if least > self.threshold:
            least, is_complete, thresholds = 0.0, True, ()
        for threshold in thresholds:
            status, num, lowest, steps = search_leader(
                self.crowd, space.ways, space.leaders, space.lowest, leader, *self.cuts, threshold,
                self.is_listing, self.max_steps, self.halt, *memory, sets, costs,
            )  # fmt: skip
            num_steps += steps
            held = min(num, self.room)
            kept.append((sets[:held].copy(), costs[:held].copy()))
            if status == COMPLETE:
                least, is_complete = lowest, True
                break
        all_sets, all_costs = (np.concatenate(part) for part in zip(*kept, strict=True))
        return _Found(int(space.leaders[leader]), all_sets, all_costs, least, num_steps, is_complete)

    def _root_bound(self, leader: int) -> float:
        """What the reduced cost of any class of a leader is at least."""
        space = self.space
        member, after = int(space.leaders[leader]), space.leaders[leader + 1 :]
        weights = space.weights[0]
        low = np.maximum(space.lowest[member], space.floors[member, after])
        low, after = low[np.isfinite(low)], after[np.isfinite(low)]
        gains = np.minimum(0.0, low * weights[after] - self.prizes[after])
        return float(space.lowest[member] * weights[member] - self.prizes[member] + gains.sum())
