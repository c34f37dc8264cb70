"""The optimal partition by dynamic programming over bit masks (docs/theory, :ref:`All sets <theory-bitmask>`).

The objective is lexicographic: group as many members as possible, then at the least mean anonymization cost. Since
that cost is a sum over classes, the optimum is a cheapest set partition. Only classes that cannot be split into two
qualifying ones are needed, because a part never costs more than the whole; under all-pairs spread these have k to
2k - 1 members (docs/theory, :ref:`Size lemma <theory-size>`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veilroute.base.arrays import Classes, Flags, Floats, Int8s, Ints, Masks
from veilroute.base.errors import TooLargeError
from veilroute.base.run import Watch
from veilroute.covering.fields import FieldsEngine
from veilroute.covering.set_costs import ClassCosts, compute_class_costs
from veilroute.covering.task import CoveringTask, bits, mask_of, members_of
from veilroute.covering.walks import WalkSource
from veilroute.domain.graph import Label
from veilroute.kernels.set_partition import partition_range
from veilroute.model.certificate import Certificate
from veilroute.model.problem import Problem
from veilroute.model.rules import KAndEll, Linked, Rule
from veilroute.partition.limits import Limits, limits
from veilroute.partition.result import Grouping, Partition, Record, subset_sums

MAX_MEMBERS = Limits().tables  #: the most coverable candidates that are taken: tables have two to that power entries
_SETS_PER_STEP = 1 << 13
_UNITS = 1 << 40


def partition_by_bitmask(problem: Problem, task: CoveringTask, rule: Rule, *, watch: Watch) -> Partition:
    """Find an optimal partition, or the best one over the class sizes that were worked out in time.

    Complexity: the covering costs (see :mod:`veilroute.covering.set_costs`), then at most 3^n steps, far fewer
    when classes are small. Ties: see :func:`veilroute.kernels.set_partition.partition_range`.
    """
    if not task.members:
        return Partition((), (), is_optimal=True, num_anonymizable=0)
    family = mark_classes(rule)
    class_costs = compute_class_costs(task, family.needed, watch)
    shares = np.where(np.isfinite(class_costs.costs).all(axis=0), mac_shares(task, class_costs), np.inf)
    source = FieldsEngine(task, table=class_costs.table)
    labels = [problem.candidates[i] for i in task.members]
    return partition_by_shares(family, shares, labels, source, watch, is_complete=class_costs.is_complete)


@dataclass(frozen=True, eq=False)
class Family:
    """The classes worth considering, as bit masks."""

    worth: Floats  # what each member is worth
    k: int  # how many members a class has at least
    needed: Flags  # marks them and all their subsets
    qualifies: Flags  # marks those of ``needed`` that are classes

    @property
    def num(self) -> int:
        """How many members there are."""
        return self.worth.size


def mark_classes(rule: Rule) -> Family:
    """The family of a rule's classes; for k-and-ell see :func:`mark_needed`."""
    num = rule.num
    if num > MAX_MEMBERS:
        expected = f"at most {MAX_MEMBERS} coverable candidates where all sets of them are tried"
        raise TooLargeError("candidates", expected, num)
    if isinstance(rule, KAndEll):
        spread = largest_spread(num, rule.far_masks)
        needed = mark_needed(num, rule.k, not rule.is_loose, spread)
        return Family(rule.worth, rule.k, needed, needed & (spread >= rule.k))
    masks = np.arange(1 << num, dtype=np.int64)
    if isinstance(rule, Linked) and isinstance(rule.own, KAndEll):
        qualifies = _mark_linked(rule, rule.own, masks)
        return Family(rule.worth, rule.least, with_subsets(num, qualifies), qualifies)
    qualifies = np.zeros(1 << num, dtype=np.bool_)
    for size in range(rule.least, min(rule.largest, num) + 1):
        mine = masks[np.bitwise_count(masks) == size]
        qualifies[mine] = rule.qualify(members_of(mine, size).astype(np.int32))
    return Family(rule.worth, rule.least, with_subsets(num, qualifies), qualifies)


def _mark_linked(rule: Linked, own: KAndEll, masks: Masks) -> Flags:
    """The sets of which every history leaves k members that stand apart, and that are not larger than needed."""
    spread, sizes = largest_spread(rule.num, own.far_masks), np.bitwise_count(masks)
    qualifies = (spread >= own.k) & (sizes <= rule.largest)
    bit = np.int64(1) << np.arange(rule.num, dtype=np.int64)
    for member, fits in enumerate(rule.together.astype(np.int64) @ bit):
        qualifies &= (masks >> member & 1 == 0) | (masks & ~(fits | bit[member]) == 0)
    for owner, left in zip(rule.owners.tolist(), rule.left.astype(np.int64) @ bit, strict=True):
        qualifies &= (masks >> owner & 1 == 0) | (spread[masks & left] >= own.k)
    return np.asarray(qualifies)


def largest_spread(num: int, far: Masks) -> Int8s:
    """For every set the size of its largest subset that is pairwise far apart; ``far[i]`` holds i's far partners."""
    size = np.zeros(1 << num, dtype=np.int8)
    # By lowest member, from the last one down: it is in the subset, or it is not.
    for lowest in range(num - 1, -1, -1):
        others = np.arange(1 << (num - 1 - lowest), dtype=np.int64) << (lowest + 1)
        size[others | (1 << lowest)] = np.maximum(size[others], 1 + size[others & far[lowest]])
    return size


def mark_needed(num: int, k: int, all_pairs: bool, spread: Int8s) -> Flags:
    """Mark the sets whose covering cost can matter: the classes worth considering, and all subsets of these.

    Under ``all_pairs``: pairwise far sets of k to 2k - 1 members. Otherwise: sets that hold k pairwise far members
    and cannot be split in two that both do; such a split exists iff it exists for some subset of 2k members.
    """
    masks = np.arange(1 << num, dtype=np.int64)
    sizes = np.bitwise_count(masks)
    if all_pairs:
        is_whole = (sizes < 2 * k) & (spread == sizes)
    else:
        is_whole = np.ones(1 << num, dtype=np.bool_)
        is_whole[_splitting(masks[sizes == 2 * k], k, spread)] = False
        # A larger set splits when a set with one member less does.
        for size in range(2 * k + 1, num + 1):
            mine = masks[sizes == size]
            for bit in range(num):
                is_whole[mine] &= is_whole[mine & ~(1 << bit)] | (mine >> bit & 1 == 0)
    return with_subsets(num, is_whole & (spread >= k))


def _splitting(sets: Masks, k: int, spread: Int8s) -> Masks:
    """Those of some sets of 2k members that are two classes of k."""
    if not sets.size:
        return sets
    bits = np.int64(1) << members_of(sets, 2 * k)
    splits = np.zeros(sets.size, dtype=np.bool_)
    # The first member stays in one half, the other half is any k of the others.
    for half in itertools.combinations(range(1, 2 * k), k):
        part = bits[:, half].sum(axis=1)
        splits |= (spread[part] == k) & (spread[sets ^ part] == k)
    return sets[splits]


def with_subsets(num: int, is_class: Flags) -> Flags:
    """Mark classes and all their subsets but the empty one."""
    needed = is_class.copy()
    for bit in range(num):  # what is part of a class with this member is part of it without
        halves = needed.reshape(-1, 2, 1 << bit)
        halves[:, 0] |= halves[:, 1]
    needed[0] = False
    return needed


def partition_by_shares(
    family: Family, shares: Floats, labels: Sequence[Label], source: WalkSource | None, watch: Watch, *,
    is_complete: bool,
) -> Partition:  # fmt: skip
    """The best partition into classes of a family, given what each adds to the objective.

    ``shares`` go by mask, infinite where a class is impossible; ``is_complete`` says whether those of all classes were
    worked out. ``labels`` are what members are called in a certificate.
    """
    qualifies = family.qualifies & np.isfinite(shares)
    shares = np.where(qualifies, shares, np.inf)
    classes, least_mean = best_partition(family.worth, family.needed, shares, watch)
    record = Record(Grouping.of(family.worth, {each: float(shares[mask_of(each)]) for each in classes}), watch)
    is_optimal = is_complete and least_mean is not None
    partition = Partition(
        classes=classes,
        left_out=record.best.left_out,
        is_optimal=is_optimal,
        is_stopped=not is_optimal,
        least_mean=least_mean if is_optimal else None,
        num_anonymizable=int(np.bitwise_or.reduce(np.flatnonzero(qualifies))).bit_count() if is_complete else None,
        improvements=tuple(record.improvements),
        source=source,
    )
    if not is_optimal or not classes or family.num <= limits().certified:
        return partition
    silent = Record(record.best, replace(watch, report=None))
    return replace(partition, certificate=_certify(family, shares, silent, labels))


def _certify(family: Family, shares: Floats, record: Record, labels: Sequence[Label]) -> Certificate:
    """Prices by which those can check the proof who have no such tables; these have compared all classes."""
    # Here and not at the top: who plans for a dozen candidates need not wait until HiGHS is loaded.
    from veilroute.partition.class_space import ListedClasses
    from veilroute.partition.columns import make_certificate, prove_cost, prove_count
    from veilroute.partition.master import CLOSED

    watch = record.watch
    masks = np.flatnonzero(np.isfinite(shares))
    space = ListedClasses(family.worth, family.k, masks, shares[masks])
    count_prices = prove_count(space, record, watch, is_best=True) if record.best.left_out else None
    proof = prove_cost(space, record, watch)
    reach = (record.best.total - proof.price_bound) * (1 + 1e-9)
    if record.best.total - proof.bound > CLOSED * record.best.total:
        num_within = len(space.search(proof.prices, reach, watch).columns)
        proof = replace(proof, bound=record.best.total, threshold=reach, num_enumerated=num_within)
    return make_certificate(proof, count_prices, labels)


def mac_shares(task: CoveringTask, class_costs: ClassCosts) -> Floats:
    """Every set's share of the MAC sum: over trips and members, ``(c(C) - b_t) * w_t``, trips weighted."""
    total = np.zeros(class_costs.costs.shape[1])
    for trip, weight in enumerate(task.weights):
        ratio = task.rates[trip]
        with np.errstate(invalid="ignore"):  # infinity times the empty set's zero
            spent = class_costs.costs[trip] * subset_sums(ratio)
        total += weight * (spent - subset_sums(ratio * task.base_costs[trip]))
    return total


def best_partition(worth: Floats, needed: Flags, shares: Floats, watch: Watch) -> tuple[Classes, float | None]:
    """The best classes, and their MAC when no partition of these classes can be better."""
    num = worth.size
    columns = np.flatnonzero(np.isfinite(shares))
    if columns.size == 0:
        return (), 0.0
    max_size = int(np.bitwise_count(columns).max())
    end = 1 << num
    # Per set of members: how many are grouped at best, at what cost, and one of the classes.
    worths, slack = _worth_of_sets(worth)
    grouped, cost, choice = np.zeros(end, dtype=worths.dtype), np.zeros(end), np.zeros(end, dtype=np.int64)
    scratch = np.empty((2, 64), dtype=np.int64)
    finished = 1
    for first in range(1, end, _SETS_PER_STEP):
        if watch.is_over():
            break
        finished = min(end, first + _SETS_PER_STEP)
        partition_range(first, finished, max_size, needed, shares, worths, grouped, slack, cost, choice, *scratch)
        watch.tell("partition", finished, end)
    if finished == end:
        classes = _read_classes(choice, end - 1)
        return classes, float(cost[-1]) / _hidden(worth, classes)
    # Stopped early: the sets below `finished` are solved, so all subsets of the lowest members are.
    solved = (1 << (finished.bit_length() - 1)) - 1
    classes = _read_classes(choice, solved)
    return _fill_greedily(num, shares, columns, classes), None


def _worth_of_sets(worth: Floats) -> tuple[Int8s | Ints, int]:
    """What every set of members is worth, in whole numbers: how many, or how probable; and up to what these are equal.

    Probabilities are rounded member by member, so that equal sums of other members may differ by one for each.
    """
    if (worth == worth[0]).all():
        return np.bitwise_count(np.arange(1 << worth.size, dtype=np.int64)).astype(np.int8), 0
    units = np.round(worth / worth.sum() * _UNITS).astype(np.int64)
    return np.array(subset_sums(units.astype(np.float64)), dtype=np.int64), worth.size


def _hidden(worth: Floats, classes: Classes) -> float:
    return math.fsum(float(worth[i]) for members in classes for i in members)


def _read_classes(choice: Ints, mask: int) -> Classes:
    """The classes that :func:`veilroute.kernels.set_partition.partition_range` chose for a set of members."""
    classes = []
    while mask:
        group = int(choice[mask])
        if group:
            classes.append(bits(group))
            mask ^= group
        else:
            mask &= mask - 1
    return tuple(classes)


def _fill_greedily(num: int, shares: Floats, columns: Ints, classes: Classes) -> Classes:
    """Group what is left: the class that is cheapest per member first, then each straggler where it costs least."""
    groups = [mask_of(members) for members in classes]
    left = (1 << num) - 1 - sum(groups)
    order = columns[np.argsort(shares[columns] / np.bitwise_count(columns), kind="stable")]
    while (fitting := np.flatnonzero((order & ~left) == 0)).size:
        groups.append(int(order[fitting[0]]))
        left ^= groups[-1]
    for i in range(num):
        wider = [(float(shares[group | 1 << i] - shares[group]), at) for at, group in enumerate(groups)]
        if left >> i & 1 and wider and np.isfinite(min(wider)[0]):
            groups[min(wider)[1]] |= 1 << i
    return tuple(sorted(map(bits, groups)))
