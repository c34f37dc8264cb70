"""Column generation: optimal partitions of hundreds of members, or a proved bound (docs/theory).

1. A local search gives the first partition.
2. The linear programme over classes is solved with the classes found so far; its prices tell which others would lower
   it (:meth:`ClassSpace.search`), until none does. Its value is then a bound.
3. Subset-row cuts raise the bound, and the search for classes takes their prices into account.
4. A partition costs at least the bound plus the reduced costs of its classes. So a class whose reduced cost exceeds
   what lies between bound and best partition is in no better one, and the few others are all found at these prices.
5. An integer programme over them settles the matter.

Where the classes within reach are very many, most differ in members that cost nothing: those at the price 0. Leaving
these members' rows out of the integer programme makes such classes the same, and its value is still a bound.

That no more members can be grouped is proved by the same programme with walks for free and a price of 1 on whoever
stays out (:func:`prove_count`).
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.arrays import Int32s, as_members
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.domain.graph import Label
from veilroute.kernels.extension import pick_columns
from veilroute.model.certificate import Certificate, Cut, DualPrices
from veilroute.partition.class_space import ClassSpace, Columns, Prices
from veilroute.partition.crowd_strolls import MAX_STROLLERS, raise_by_crowd_strolls
from veilroute.partition.crowded_space import CrowdedSpace
from veilroute.partition.limits import limits
from veilroute.partition.local_search import improve
from veilroute.partition.master import (
    CLOSED,
    Bounding,
    Chosen,
    choose_classes,
    combine_few,
    scale_of,
)
from veilroute.partition.result import Grouping, Record
from veilroute.partition.strolls import raise_by_strolls
from veilroute.partition.weighed_space import WeighedSpace

MAX_COLUMNS = 60_000  #: the most classes that the integer programme is given; few members need none and no such limit
MAX_ENUMERATED = 1 << 20  #: the most classes that are looked at to find those within reach
_FIRST_COLUMNS = 20
_FIRST_NODES = 500
_FEW_PARTS = 40
_SLACK = 1 + 1e-9
_WIDE_GAP = 0.02
_TIMES_LONGER = 5
_MAX_EFFORT = 10_000_000
_FREE = 1e-9
_NOTHING = 1e-13  #: detours that are less of the base costs than this are not 0 by rounding only
_ROUNDING = 1e-6
_MAX_PRICED = 2_000_000


@dataclass(frozen=True, eq=False)
class Proof:
    """A bound on what partitions that leave so many members out cost, and what it rests on."""

    bound: float  # the MAC sum that none undercuts
    prices: Prices  # at which no class has a negative reduced cost
    price_bound: float  # what the prices alone prove
    # All classes whose reduced cost is at most the threshold were compared, and how many these are.
    threshold: float = 0.0
    num_enumerated: int = 0
    num_columns: int = 0  # classes in the linear programme
    num_nodes: int = 0  # nodes of the integer programme's search


def make_certificate(proof: Proof, count_prices: Prices | None, labels: Sequence[Label]) -> Certificate:
    """What others can check a proof by; ``count_prices`` are those behind the number of members left out."""
    if count_prices is not None:  # from what leaving a member out costs to what grouping it is worth
        count_prices = replace(count_prices, duals=1.0 - np.minimum(count_prices.duals, 1.0))
    return Certificate(
        members=tuple(labels),
        cost=_published(proof.prices, labels),
        count=None if count_prices is None else _published(count_prices, labels),
        bound=proof.price_bound,
        threshold=proof.threshold,
        num_enumerated=proof.num_enumerated,
        num_columns=proof.num_columns,
        num_nodes=proof.num_nodes,
    )


def _published(prices: Prices, labels: Sequence[Label]) -> DualPrices:
    cuts = tuple(Cut(tuple(labels[i] for i in cut), dual) for cut, dual in prices.paid_cuts)
    return DualPrices(tuple(prices.duals.tolist()), cuts)


def prove_cost(space: ClassSpace, record: Record, watch: Watch) -> Proof:
    """Look for the best partition that leaves as many members out as the best so far, and prove what can be proved."""
    num_left_out = len(record.best.left_out)
    total = record.best.total
    if total <= _NOTHING * float(space.fixed.sum()):
        return Proof(total, Prices(np.zeros(space.num)), total)
    bounding = Bounding(space, num_left_out, watch, scale_of(total, space.num - num_left_out))
    simple = space.simple_prices()
    bounding.offer(simple, 0.0)
    if isinstance(space, WeighedSpace | CrowdedSpace) and not num_left_out:
        bounding.soften(record.best)
    bounding.add(space.columns_of(record.best))
    is_large = _has_large_classes(space)
    if is_large and isinstance(space, CrowdedSpace):
        # Often classes can be priced one by one all the same.
        bounding.add_first(Prices(1.5 * simple.duals))
        bounding.find_classes(is_hasty=True)
        _choose(bounding, bounding.columns_within(math.inf), record, max_nodes=_FIRST_NODES)
        is_large = record.best.total - bounding.bound > limits().large_gap * record.best.total
    if is_large:
        with suppress(OutOfTimeError):
            if isinstance(space, CrowdedSpace) and space.num <= MAX_STROLLERS:
                raise_by_crowd_strolls(bounding, space, record.best)
            else:
                raise_by_strolls(bounding, record)
    bounding.add_first(Prices(1.5 * simple.duals))
    if isinstance(space, WeighedSpace | CrowdedSpace) and space.num > limits().combined:
        # A good partition comes first: the proof takes long.
        for max_parts in (0, _FEW_PARTS) if isinstance(space, WeighedSpace) else (0,):
            before = len(bounding.master.sets)
            bounding.find_classes(max_parts)
            if not watch.is_over() and (not max_parts or len(bounding.master.sets) > before):
                _choose(bounding, bounding.columns_within(math.inf), record, max_nodes=_FIRST_NODES)
    bounding.run(record.best.total)
    _round(bounding, record)
    is_many = space.num > limits().combined
    if is_many and space.k > 2 and record.best.total - bounding.bound > _WIDE_GAP * record.best.total:
        # What lies within reach grows fast with the gap, among large classes: worth a longer search.
        _search_longer(space, record, watch)
    return _settle(bounding, record)


def _has_large_classes(space: ClassSpace) -> bool:
    """Whether pricing classes one by one may never end."""
    now = limits()
    is_slow = space.num > now.few or (space.num > now.combined and space.largest > space.max_size)
    return space.k >= now.large_k and is_slow and space.prefixes is None


def _round(bounding: Bounding, record: Record) -> None:
    """Offer the linear programme's solution where it is a partition."""
    master = bounding.master
    if master.values.size and np.abs(master.values - np.round(master.values)).max() < 1e-6:
        chosen = np.flatnonzero(master.values > 0.5)
        record.offer(bounding.space.grouping_of(master.sets, master.shares, chosen))


def _settle(bounding: Bounding, record: Record) -> Proof:
    """Compare all partitions of the classes that are within reach of the bound.

    Those of the linear programme first: a better partition leaves fewer within reach.
    """
    space, watch, bound, prices = bounding.space, bounding.watch, bounding.bound, bounding.prices
    proof = Proof(bound, prices, bound, num_columns=len(bounding.master.sets))
    if not bounding.is_converged or _is_closed(record, bound):
        return proof
    num_nodes = 0
    if space.num > limits().combined:
        known = bounding.columns_within(record.best.total - bound if _has_large_classes(space) else math.inf)
        num_nodes += _choose(bounding, known, record, max_nodes=_FIRST_NODES).num_nodes
    most = MAX_ENUMERATED if space.num <= limits().combined else MAX_COLUMNS
    has_searched = False
    while True:
        if _is_closed(record, proof.bound):
            return proof
        before = record.best.total
        gap = (before - bound) * _SLACK
        columns, reach = _within_reach(space, prices, gap, most, watch)
        if watch.is_over():
            return proof
        is_last = reach >= gap or most >= MAX_ENUMERATED
        least, nodes = bound, 0
        if space.num > limits().combined and len(columns) > (limits().many_columns if is_last else MAX_COLUMNS):
            least, nodes = _choose_without_free(bounding, columns, record)
        if reach > 0 and len(columns) <= MAX_COLUMNS and not _is_closed(record, min(bound + reach, least)):
            chosen = _choose(bounding, columns, record, max_nodes=None if is_last else _FIRST_NODES)
            least = max(least, record.best.total if chosen.is_proved else chosen.bound)
            nodes += chosen.num_nodes
        num_nodes += nodes
        least = max(proof.bound, min(bound + reach, least, record.best.total))
        proof = replace(proof, bound=least, num_nodes=num_nodes)
        if reach > 0 and reach >= proof.threshold:
            # Where something unseen may lie above it, those listed beyond were a help for choosing, and no proof.
            num_within = int((columns.reduced <= reach).sum())
            proof = replace(proof, threshold=reach, num_enumerated=num_within)
        if _is_closed(record, proof.bound) or watch.is_over():
            return proof
        # A better partition may bring all that matter within reach.
        if is_last and record.best.total == before:
            if has_searched or not _search_longer(space, record, watch):
                return proof
            has_searched = True
        most = MAX_ENUMERATED


def _search_longer(space: ClassSpace, record: Record, watch: Watch) -> bool:
    """Local search for some seconds; whether it found a better partition."""
    if not space.can_improve:
        return False
    effort = min(_MAX_EFFORT, _TIMES_LONGER * limits().effort * space.num)
    return record.offer(improve(space, record.best, seed=0, effort=effort, watch=watch))


def _is_closed(record: Record, bound: float) -> bool:
    return record.best.total - bound <= CLOSED * record.best.total


def _within_reach(space: ClassSpace, prices: Prices, gap: float, most: int, watch: Watch) -> tuple[Columns, float]:
    """The classes whose reduced cost is at most ``gap``, or less where these are too many, and how far they go."""
    reach = gap
    while True:
        watch.tell("classes within reach")
        found = space.search(prices, reach, watch, most=most)
        if found.is_complete or reach == 0 or watch.is_over():
            break
        reach = reach / 4 if reach > 1e-4 * gap else 0.0
    if not found.is_complete:
        return found.columns, 0.0
    # Of a class that is too large to be looked at nothing is known but this.
    return found.columns, min(reach, max(0.0, found.least_beyond))


def _choose(bounding: Bounding, columns: Columns, record: Record, *, max_nodes: int | None) -> Chosen:
    """The integer programme over some classes, which starts from the best partition."""
    space, watch = bounding.space, bounding.watch
    mine = space.columns_of(record.best)
    known = {row.tobytes(): at for at, row in enumerate(columns.sets)}
    is_missing = np.array([row.tobytes() not in known for row in mine.sets], dtype=np.bool_)
    for at, row in enumerate(mine.sets[is_missing], len(columns)):
        known[row.tobytes()] = at
    columns = Columns.join((columns, mine.take(is_missing)), space.width)
    start = np.array([known[row.tobytes()] for row in mine.sets], dtype=np.int64)
    watch.tell(f"choice among {len(columns)} classes")
    num_left_out = len(record.best.left_out)
    if space.num <= limits().combined:
        chosen = combine_few(space.num, num_left_out, columns.sets, columns.shares)
    else:
        chosen = choose_classes(
            space.num, num_left_out, columns.sets, columns.shares, bounding.prices.useful_cuts, bounding.scale, watch,
            start=start, max_nodes=max_nodes,
        )  # fmt: skip
    record.offer(space.grouping_of(columns.sets, columns.shares, chosen.columns))
    return chosen


def _choose_without_free(bounding: Bounding, columns: Columns, record: Record) -> tuple[float, int]:
    """A bound on partitions of very many classes, and how many nodes it took; looks for a better partition on the way.

    Members at the price 0, whom no cut holds, need not be in exactly one class here. Classes that differ in
    them only are then one column, at the least of their shares. What it chooses may leave some of them out or hold
    them twice; a partition is looked for among the classes that look like a chosen one, and some others.
    """
    prices, num = bounding.prices, bounding.space.num
    is_free = np.abs(prices.duals) <= _FREE * float(np.abs(prices.duals).max(initial=0.0))
    for cut in prices.useful_cuts:
        is_free[list(cut)] = False
    if record.best.left_out or not is_free.any():
        return bounding.bound, 0
    rank = np.concatenate((np.where(is_free, -1, np.cumsum(~is_free) - 1), [-1])).astype(np.int32)
    columns = columns.take(np.argsort(columns.shares, kind="stable"))
    shown = _sorted_members(rank[columns.sets])
    is_whole = shown[:, 0] >= 0
    kinds, firsts, kind_of = np.unique(shown, axis=0, return_index=True, return_inverse=True)
    kept = np.flatnonzero(kinds[:, 0] >= 0)
    if 2 * kept.size > len(columns) or kept.size > MAX_COLUMNS:
        return bounding.bound, 0
    cuts = [as_members(rank[list(cut)].tolist()) for cut in prices.useful_cuts]
    bounding.watch.tell(f"choice among {kept.size} kinds of classes")
    chosen = choose_classes(
        int((~is_free).sum()), 0, kinds[kept], columns.shares[firsts[kept]], cuts, bounding.scale, bounding.watch
    )
    like_chosen = np.flatnonzero(np.isin(kind_of.reshape(-1), kept[chosen.columns]) & is_whole)[:MAX_COLUMNS]
    by_reduced = np.argsort(columns.reduced, kind="stable")
    halves = by_reduced[is_whole[by_reduced]], by_reduced[~is_whole[by_reduced]]
    picked = [at[pick_columns(np.arange(at.size), columns.sets[at], num, _FIRST_COLUMNS)] for at in halves]
    some = np.unique(np.concatenate((like_chosen, *picked)))
    repaired = _choose(bounding, columns.take(some), record, max_nodes=_FIRST_NODES)
    return chosen.bound, chosen.num_nodes + repaired.num_nodes


def _sorted_members(sets: Int32s) -> Int32s:
    """Each row ascending, with -1 behind the members."""
    last = np.iinfo(np.int32).max
    ordered = np.sort(np.where(sets < 0, last, sets), axis=1)
    return np.where(ordered == last, -1, ordered).astype(np.int32)


def prove_count(space: ClassSpace, record: Record, watch: Watch, *, is_best: bool = False) -> Prices | None:
    """Look for a partition that leaves fewer members out; prices that prove that there is none, or ``None``.

    Where it is known that there is none (``is_best``), only prices are looked for.
    """
    bounding = Bounding(space, None, watch)
    bounding.add(space.columns_of(record.best))
    bounding.run(float(len(record.best.left_out)))
    if not bounding.is_converged:
        return None
    least = math.ceil(bounding.bound - _ROUNDING)
    if least < len(record.best.left_out) and not is_best:
        _group_more(bounding, record)
    return bounding.prices if least >= len(record.best.left_out) else None


def _group_more(bounding: Bounding, record: Record) -> None:
    """The integer programme over the classes of the linear one, and over all within reach where these are few."""
    space, watch = bounding.space, bounding.watch
    reach = len(record.best.left_out) - bounding.bound
    found = space.search(bounding.prices, reach, watch, most=MAX_COLUMNS, is_free=True)
    sets = found.columns.sets if found.is_complete else bounding.master.sets
    shares = np.zeros(len(sets))
    chosen = choose_classes(space.num, None, sets, shares, bounding.master.cuts, 1.0, watch)
    record.offer(space.price(space.grouping_of(sets, shares, chosen.columns).classes))


def hide_more(space: ClassSpace, record: Record, watch: Watch) -> None:
    """Look for a partition that hides more probability, where members are not alike; nothing is proved about it."""
    bounding = Bounding(space, None, watch)
    bounding.add(space.columns_of(record.best))
    bounding.run(0.0)
    known = bounding.columns_within(math.inf)
    if not len(known):
        return
    watch.tell(f"choice among {len(known)} classes")
    nothing = np.zeros(len(known))
    chosen = choose_classes(
        space.num, None, known.sets, nothing, (), 1.0, watch, max_nodes=_FIRST_NODES, worth=bounding.worth
    )
    record.offer(space.price(space.grouping_of(known.sets, nothing, chosen.columns).classes))


def count_anonymizable(space: ClassSpace, grouping: Grouping, watch: Watch) -> int | None:
    """How many members belong to some class; ``None`` when that takes too long."""
    num = grouping.num_grouped
    for member in grouping.left_out:
        duals = np.zeros(space.num)
        duals[member] = 1.0
        found = space.search(Prices(duals), -0.5, watch, most=1, is_free=True, max_priced=_MAX_PRICED)
        if not found.is_complete and not len(found.columns):
            return None
        num += len(found.columns) > 0
    return num
