"""The best randomised playbook: classes overlap, and for each secret one of its classes is drawn.

The classes and their shares come from a linear programme (:mod:`veilroute.partition.shares`), at every m for which the
optimal planner proves its partitions. See docs/risk for when to use such a playbook: trips of one secret that an
observer links must share one draw.
"""

from dataclasses import replace

import numpy as np

from veilroute.base.arrays import Flags, Floats, Member, Members, as_members
from veilroute.base.errors import TooLargeError
from veilroute.base.run import OutOfTimeError, Watch
from veilroute.covering.prefixes import Completions, find_prefixes, fits_memory, has_two_colours
from veilroute.covering.set_costs import MAX_TOUR, ClassWalks
from veilroute.covering.task import CoveringTask, far_matrix, prepare_task
from veilroute.domain.graph import Label
from veilroute.model.problem import Privacy, Problem
from veilroute.model.rules import hideable
from veilroute.partition.bitmask import MAX_MEMBERS, mark_classes, with_subsets
from veilroute.partition.class_space import ClassSpace, ListedClasses
from veilroute.partition.shares import Drawing, Items, share_out
from veilroute.planners.pbp import part_after
from veilroute.planners.plan import Plan, PlannedClass, among_all, find_class_prefix, plan_prefix, plan_shared


def plan_randomised(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Hide as much probability as possible behind posteriors of at most beta, at the least expected MAC.

    No class holds two members that are close to each other, so no area holds more than one of its members. For a finite
    m where prefixes cannot be priced, the plan for whole routes is cut after m nodes, without proof.
    """
    beta = privacy.beta
    assert beta is not None, "a randomised playbook bounds posteriors"
    watch.tell("covering fields")
    everyone = prepare_task(problem)
    prior = problem.prior_of(everyone.members)
    far = far_matrix(problem.domain, [problem.candidate_nodes[i] for i in everyone.members], privacy, everyone.kept)
    kept = np.flatnonzero(hideable(prior, beta))
    options: dict[str, object] = {"mechanism": "randomised", "seed": seed}
    is_best = True
    while True:
        work = _Work(everyone.part(kept.tolist()), far[np.ix_(kept, kept)], beta, privacy.m, watch)
        labels = [problem.candidates[everyone.members[i]] for i in kept]
        drawing = work.share_out(prior[kept], labels)
        is_best &= drawing.is_optimal
        if drawing.classes or not 0 < len(drawing.kept) < kept.size:
            break
        # Not everybody can be hidden: once more, for those who can.
        kept = kept[list(drawing.kept)]
    plan = Plan(
        task=work.items.task,
        classes=work.walk(drawing),
        is_optimal=is_best and work.is_exact,
        least_mean=drawing.least_mean if is_best and work.is_exact else None,
        options={**options, "stopped_early": drawing.is_stopped},
        certificate=drawing.certificate if is_best and work.is_exact else None,
    )
    return among_all(plan, everyone)


class _Work:
    """The items of some members, the classes that may be drawn and what they cost."""

    def __init__(self, task: CoveringTask, far: Flags, beta: float, m: int | None, watch: Watch) -> None:
        self.items = Items.of(task, far, beta)
        self.m, self.watch = m, watch
        self.is_exact = True  # whether classes are priced by what they really share
        self.space: ClassSpace | None = None
        if len(task.members) < self.items.rule.k:
            return
        if self.items.rule.k > MAX_TOUR:
            raise TooLargeError("Privacy.risk", f"at least {1 / MAX_TOUR:.4g} for a randomised playbook", beta)
        items, rule = self.items.task, self.items.rule
        if m is None:
            self.space = ClassSpace(items, rule)
        elif has_two_colours(items.domain) and fits_memory(items):
            self.space = ClassSpace(items, rule, m=m)
        else:
            self.space = self._list_classes(m) or ClassSpace(items, rule)
            self.is_exact = isinstance(self.space, ListedClasses)

    def _list_classes(self, m: int) -> ListedClasses | None:
        """All classes of a few items with what sharing their first m nodes adds; ``None`` when that is too much."""
        items, rule = self.items.task, self.items.rule
        if rule.num > MAX_MEMBERS:
            return None
        is_class = mark_classes(rule).qualifies & (np.bitwise_count(np.arange(1 << rule.num)) == rule.k)
        try:
            shared = find_prefixes(items, with_subsets(rule.num, is_class), is_class, m, self.watch)
        except OutOfTimeError:
            return None
        if shared is None:
            return None
        masks = np.flatnonzero(np.isfinite(shared.shares))
        return ListedClasses(np.ones(rule.num), rule.k, masks, shared.shares[masks])

    def share_out(self, amounts: Floats, labels: list[Label]) -> Drawing:
        """The best classes and shares, or whom to keep."""
        if self.space is None:
            return Drawing((), is_optimal=True, kept=())
        try:
            self.space.prepare(self.watch)
            return share_out(self.items, self.space, amounts, labels, self.watch)
        except OutOfTimeError:
            return Drawing((), is_optimal=False, kept=(), is_stopped=True)

    def walk(self, drawing: Drawing) -> tuple[PlannedClass, ...]:
        """The classes with their walks and shares; those of the same members with the same walks are one."""
        num, parts = self.items.num_members, self.items.parts
        source = ClassWalks(self.items.task, getattr(self.space, "prices_of", None))
        completions = Completions(self.items.task)
        walked: dict[Members, PlannedClass] = {}
        planned: dict[tuple[object, ...], PlannedClass] = {}
        for number, (chosen, amount) in enumerate(drawing.classes):
            self.watch.tell("walks", number, len(drawing.classes))
            members = as_members(i % num for i in chosen)
            if self.m is not None and self.is_exact:
                each = _renamed(self._plan_prefix(chosen, self.m, completions), num)
            else:
                each = walked.get(members) or plan_shared(self.items.task, members, source, is_anonymized=True)
                walked[members] = each
            key = (members, *(walk.tobytes() for walk in each.walks))
            shares = dict(planned[key].shares) if key in planned else dict.fromkeys(members, 0.0)
            for i in chosen:
                shares[Member(i % num)] += amount * float(parts[i])
            planned[key] = replace(each, shares=shares)
        if self.m is not None and not self.is_exact:
            parted = (replace(part_after(each, self.m, completions), shares=each.shares) for each in planned.values())
            return tuple(parted)
        return tuple(planned.values())

    def _plan_prefix(self, chosen: Members, m: int, completions: Completions) -> PlannedClass:
        shared = find_class_prefix(self.items.task, chosen, m, Watch())
        assert shared is not None, "a class that was priced is not too much work"
        return plan_prefix(chosen, shared, (1 << len(chosen)) - 1, completions)


def _renamed(each: PlannedClass, num: int) -> PlannedClass:
    """A class of items as one of their members."""
    own = {(trip, Member(i % num)): route for (trip, i), route in each.own.items()}
    return replace(each, members=as_members(i % num for i in each.members), own=own)
