"""The front door: from a problem and the privacy wanted to a playbook."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from veilroute.base.arrays import Candidate
from veilroute.base.checks import check_finite, check_list, check_whole
from veilroute.base.errors import InvalidInputError, shorten
from veilroute.base.run import COUNTED, ProgressCallback, Stopwatch, Watch, check_time_limit, peak_memory_mb
from veilroute.domain.graph import Label, label_text, plain_label
from veilroute.model import metrics
from veilroute.model.figures import PlanStats
from veilroute.model.playbook import Claims, Playbook, PlaybookClass, Route, find_spots
from veilroute.model.problem import Privacy, Problem, check_fit, names_sha256, places_sha256
from veilroute.planners.parameters import Parameters, name_and_options
from veilroute.planners.sights import Sights

if TYPE_CHECKING:
    from veilroute.covering.crew import Crew
    from veilroute.planners.plan import Plan


def solve(
    problem: Problem,
    privacy: Privacy | None = None,
    *,
    planner: str | Parameters = "optimal",
    time_limit_s: float | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    workers: int | str | Crew | None = None,
    **options: Any,
) -> Playbook:
    """Plan routes that hide the transit point.

    Parameters
    ----------
    problem
        Domain, trips, candidates and visibility.
    privacy
        What to reach; ``Privacy()`` when left out.
    planner
        Name of a planner: ``optimal``, ``pbp``, ``m-pbp``, ``cbp``, ``rbp``, ``constructive``, ``reuse`` or ``fleet``,
        or that of a plug-in. ``cbp`` and ``rbp`` need a finite m. Or an object with its options, such as
        ``vr.planners.MergeBB(merge_order="random")``.
    time_limit_s
        Return the best plan found after about this many seconds, not counting those in which a first run compiles.
    seed
        For planners that draw at random. Part of the input: equal seeds give equal playbooks.
    progress
        Called with :class:`~veilroute.base.run.Progress` reports.
    should_stop
        Asked now and then; true ends the work with the best plan so far.
    workers
        Who does the work: a number of threads, one for each core when left out; or the address of a Dask scheduler,
        whose cluster then makes the sweeps of the map. The playbook is the same byte for byte.
    **options
        Options of the planner. For ``pbp`` and ``m-pbp``: ``partitioner`` (``exact``, ``local-search``, ``merge-bb``,
        ``df-bb`` or ``naive``); for the last three of these: ``engine`` (``astar`` or ``fields``) and, for ``astar``,
        ``heuristic`` (``tunnel``, ``blind`` and others); for ``merge-bb``: ``merge_order`` (``cost-asc``, ``random``);
        for ``df-bb``: ``branch_order`` (``new-first``, ``join-first``). For ``cbp``: ``centre`` (``furthest``,
        ``sum``).
        For ``reuse``: ``partition``, the playbook of an earlier trip, or its classes as lists of labels. For ``fleet``:
        ``orders_per_day``, how many order on a day; ``customers``, what is public about some (:class:`Customer`, of
        which rates and windows count), by label; ``partition``, a playbook of the same problem to begin with.

    Returns
    -------
    Playbook
        Its ``status`` is ``optimal`` (proved), ``feasible`` (stopped early, or a method without proof) or
        ``infeasible`` (proved that nothing can be anonymized).
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.covering.crew import at_work
    from veilroute.kernels.jit import ready_seconds
    from veilroute.planners.choose import PLANNERS, find_planner, takes_any_order
    from veilroute.planners.plan import plan_nobody

    planner, options = name_and_options(planner, options)
    stopwatch = Stopwatch(ready_seconds)
    privacy = Privacy() if privacy is None else privacy
    check_whole("seed", seed, "an integer between -2^53 and 2^53", least=1 - 2**53, most=2**53 - 1)
    check_fit(problem, privacy)
    try:
        run = find_planner(planner, options)
    except InvalidInputError as error:
        if error.field not in Privacy.__dataclass_fields__:
            raise
        asked = ", ".join(
            f"{name}={shorten(options[name])}" for name in Privacy.__dataclass_fields__ if name in options
        )
        raise InvalidInputError(error.field, f"within the privacy; did you mean Privacy({asked})?") from None
    if privacy.mechanism == "randomised" and planner != "optimal":
        raise InvalidInputError("planner", "optimal for a randomised playbook", planner)
    if privacy.risk is None and privacy.k > problem.num_places:
        return _with_stats(_assemble(problem, privacy, planner, plan_nobody(problem, seed)), stopwatch)
    if problem.past is not None:
        if privacy.mechanism == "randomised":
            expected = "partition under a ledger: every draw that can be linked with an earlier one tells more"
            raise InvalidInputError("Privacy.mechanism", expected, privacy.mechanism)
        if planner in PLANNERS and planner not in ("optimal", "pbp", "m-pbp", "fleet"):
            raise InvalidInputError("planner", "optimal, pbp, m-pbp or fleet to plan under a ledger", planner)
    watch = Watch(progress, check_time_limit(time_limit_s), should_stop, ready_seconds)
    with at_work(workers):
        if not takes_any_order(planner, options):
            plan = run(problem, privacy, seed=seed, watch=watch, **options)
            return _with_stats(_assemble(problem, privacy, planner, plan), stopwatch, watch.counts)
        # So that nothing depends on the order in which somebody has listed the candidates, not even between equals.
        order = sorted(range(len(problem.candidates)), key=partial(_place_of, problem))
        plan = run(problem.reordered(order), privacy, seed=seed, watch=watch, **options)
        return _with_stats(_assemble(problem, privacy, planner, _as_listed(plan, order)), stopwatch, watch.counts)


def _with_stats(playbook: Playbook, stopwatch: Stopwatch, counts: Mapping[str, int] | None = None) -> Playbook:
    """The playbook with what it took to plan."""
    runtime_s, cpu_s = stopwatch.read()
    known = {f"num_{what}": counts[what] for what in COUNTED if counts and what in counts}
    stats = PlanStats(runtime_s=runtime_s, cpu_s=cpu_s, peak_memory_mb=peak_memory_mb(), **known)
    return replace(playbook, stats=stats)


def extend_playbook(
    playbook: Playbook, *, before: Sequence[Label] = (), after: Sequence[Label] = (), trip: int = 0
) -> Playbook:
    """Extend every route of a trip at both ends: the paper's Lemma Path-Extension as code.

    The lemma: a (k, ell, m)-anonymized path stays one when a path that does not depend on the transit point leads to
    its start, and any path leads on from its goal. Here all routes of the trip get the same two, so a candidate that
    was hidden is still hidden, at the same k, ell, m and risk. The cost is measured again, against the cheapest routes
    of the longer trip; nothing is said about whether it is the least. The ends of a trip are part of what a keyed draw
    is about: from an extended randomised playbook another class may be drawn for the same secret and occasion.

    Parameters
    ----------
    playbook
        What to extend; it must have its domain, and the domain no rules for turns.
    before
        Nodes of a walk that ends at the trip's start; empty to leave that end as it is. No candidate may be its first.
    after
        Nodes of a walk that begins at the trip's goal; empty as well. No candidate may be its last.
    trip
        Which trip to extend.
    """
    from veilroute.planners.constructive import extend_plan

    problem = playbook.problem
    check_whole("trip", trip, f"a trip from 0 to {len(problem.trips) - 1}", least=0, most=len(problem.trips) - 1)
    if problem.domain.turns is not None:
        raise InvalidInputError(
            "playbook", "one on a domain without rules for turns: walks that are joined may break them"
        )
    old, privacy = problem.trips[trip], playbook.privacy
    walks = [_checked_walk(problem, name, walk) for name, walk in (("before", before), ("after", after))]
    ahead, behind = walks[0] or [problem.start_nodes[trip]], walks[1] or [problem.goal_nodes[trip]]
    if ahead[-1] != problem.start_nodes[trip]:
        raise InvalidInputError("before", f"a walk that ends at the start {old.start}", before[-1])
    if behind[0] != problem.goal_nodes[trip]:
        raise InvalidInputError("after", f"a walk that begins at the goal {old.goal}", after[0])
    start, goal = problem.domain.label(ahead[0]), problem.domain.label(behind[-1])
    for name, end, was in (("before", start, old.start), ("after", goal, old.goal)):
        if end != was and problem.domain.node(end) in problem.candidate_nodes:
            raise InvalidInputError(name, "an end that is no candidate: who is the start or goal is hidden by nothing")
        if end != was and was in problem.candidates and privacy.mechanism == "randomised":
            raise InvalidInputError(name, "an end that was no candidate: it would have no share in the classes", was)
    trips = list(problem.trips)
    trips[trip] = replace(old, start=start, goal=goal)
    longer = replace(problem, trips=trips)
    plan = extend_plan(playbook, longer, trip, np.array(ahead, dtype=np.int64), np.array(behind, dtype=np.int64))
    return _assemble(longer, privacy, playbook.planner, plan)


def playbook_from_classes(
    problem: Problem, privacy: Privacy, classes: Sequence[Mapping[str, Any]], *, planner: str = "elsewhere"
) -> Playbook:
    """Make a playbook of classes and routes that were planned elsewhere, so that it can be audited, drawn and compared.

    Costs, APR and MAC are worked out here; nothing is said about who could be hidden, or how good it is. Whether the
    classes hide anybody is for :func:`~veilroute.audit` to say.

    Parameters
    ----------
    problem
        With one trip.
    privacy
        What is promised, for whole routes (m is infinite).
    classes
        As ``plan --json`` prints them: each has ``members`` and ``route``, both lists of labels, and in a randomised
        playbook ``shares``. One whose ``anonymized`` is false, and whoever is in none, is left out.
    planner
        What to call it.

    Raises
    ------
    InvalidInputError
        When a member cannot be covered or is in two classes of a partition, or a route is no walk from start to goal.
    """
    from veilroute.planners.constructive import plan_routes

    check_fit(problem, privacy)
    if len(problem.trips) != 1 or privacy.m is not None or problem.domain.turns is not None:
        raise InvalidInputError("problem", "one trip, whole routes, and a domain without rules for turns")
    groups = []
    for number, group in enumerate(classes):
        where = f"classes[{number}]"
        if not isinstance(group, Mapping) or not {"members", "route"} <= set(group):
            raise InvalidInputError(where, "an object with members and route")
        if group.get("anonymized", True) is not True:
            continue
        members, labels = (
            [plain_label(label) for label in check_list(f"{where}.{name}", _as_list(group[name]))]
            for name in ("members", "route")
        )
        walk = _checked_walk(problem, f"{where}.route", labels)
        if not walk or (walk[0], walk[-1]) != (problem.start_nodes[0], problem.goal_nodes[0]):
            raise InvalidInputError(f"{where}.route", "a walk from the start to the goal of the trip")
        shares = [
            check_finite(f"{where}.shares", x, least=0) for x in check_list("shares", _as_list(group.get("shares", [])))
        ]
        if len(shares) != (len(members) if privacy.mechanism == "randomised" else 0):
            expected = "one for each member in a randomised playbook, none in a partition"
            raise InvalidInputError(f"{where}.shares", expected, len(shares))
        groups.append((members, np.array(walk, dtype=np.int64), shares))
    return _assemble(
        problem, privacy, planner, plan_routes(problem, groups, is_partition=privacy.mechanism == "partition")
    )


def _as_list(value: object) -> object:
    """A tuple as the list that a file would have; routes of covers are tuples."""
    return list(value) if isinstance(value, tuple) else value


def _checked_walk(problem: Problem, name: str, labels: Sequence[Label]) -> list[int]:
    """The nodes of a walk that was given by its labels."""
    nodes = [problem.domain.node(label, field=name) for label in labels]
    for here, there in pairwise(nodes):
        ahead = problem.domain.indices[problem.domain.indptr[here] : problem.domain.indptr[here + 1]]
        if there not in ahead:
            step = f"{problem.domain.label(here)} to {problem.domain.label(there)}"
            raise InvalidInputError(name, "a walk along edges of the domain", step)
    return nodes


def _place_of(problem: Problem, candidate: int) -> tuple[int, str]:
    """What candidates are sorted by before planning: their nodes, and the labels of those at one node."""
    return problem.candidate_nodes[candidate], label_text(problem.candidates[candidate])


def _as_listed(plan: Plan, order: Sequence[int]) -> Plan:
    """A plan of a problem's candidates in another order as one of the problem: ``order[i]`` was planned as i.

    Classes and their members are in the order of the problem's list.
    """
    members = [order[i] for i in plan.task.members]
    classes = []
    for each in plan.classes:
        listed = tuple(sorted(each.members, key=members.__getitem__))
        own = {key: each.own[key] for key in sorted(each.own, key=lambda key: (key[0], members[key[1]]))}
        classes.append(replace(each, members=listed, own=own))
    classes.sort(key=lambda each: (not each.is_anonymized, [members[i] for i in each.members]))
    uncoverable = sorted(order[i] for i in plan.task.uncoverable)
    task = replace(plan.task, members=tuple(map(Candidate, members)), uncoverable=tuple(map(Candidate, uncoverable)))
    return replace(plan, task=task, classes=tuple(classes))


def _assemble(problem: Problem, privacy: Privacy, planner: str, plan: Plan) -> Playbook:
    task = plan.task
    label_of_member = [problem.candidates[i] for i in task.members]
    classes = []
    for group in plan.classes:
        routes = tuple(
            Route(task.domain.labels_of(walk), cost, trip)
            for trip, (walk, cost) in enumerate(zip(group.walks, group.costs, strict=True))
        )
        members = tuple(label_of_member[i] for i in group.members)
        member_routes = {
            (trip, label_of_member[member]): Route(task.domain.labels_of(walk), cost, trip)
            for (trip, member), (walk, cost) in group.own.items()
            if not np.array_equal(walk, group.walks[trip])  # a copy of what all share would be one too many
        }
        shares = tuple(group.shares[i] for i in group.members) if group.shares else ()
        classes.append(PlaybookClass(members, group.is_anonymized, routes, member_routes, shares))
    claims = _claims(problem, privacy, plan, classes)
    # To meet the bound is not enough: it may be the least for so many candidates while more can be anonymized.
    is_proved = plan.is_optimal and (claims.gap == 0 or not claims.num_anonymized)
    proved = "optimal" if claims.num_anonymized else "infeasible"
    return Playbook(
        domain=problem.domain,
        domain_sha256=problem.domain.sha256,
        trips=tuple(problem.trips),
        candidates=tuple(problem.candidates),
        visibility=problem.visibility,
        privacy=privacy,
        planner=planner,
        options=dict(plan.options),
        status=proved if is_proved else "feasible",
        classes=tuple(classes),
        uncoverable=tuple(problem.candidates[i] for i in task.uncoverable),
        claims=claims,
        certificate=plan.certificate,
        names=problem.names,
        names_sha256=names_sha256(problem.names),
        drawing_sha256=problem.domain.drawing_sha256,
        places=problem.places,
        places_sha256=places_sha256(problem.places),
        objective=problem.objective,
        prior=None if problem.prior is None else tuple(problem.prior),
        past=problem.past,
        spots=find_spots(problem.domain, problem.trips, problem.candidates),
    )


def _claims(problem: Problem, privacy: Privacy, plan: Plan, classes: Sequence[PlaybookClass]) -> Claims:
    task = plan.task
    anonymized = [(group, member) for group in plan.classes if group.is_anonymized for member in group.members]
    num_anonymized = len({member for _, member in anonymized})
    sights = Sights(problem, privacy, classes)
    figures = sights.figures(sights.alike(privacy.m).values())
    # How probable each (class, member) is, and how probable the class is for the member.
    joint, chances = sights.joint.tolist(), sights.draws.tolist()
    mac_by_trip, expected_by_trip, total_by_trip, worst_extra = [], [], [], 0.0
    smallest = problem.domain.smallest_positive_cost
    for trip in range(task.num_trips):
        costs = [group.cost_of(member, trip) for group, member in anonymized]
        base = [float(task.base_costs[trip, member]) for _, member in anonymized]
        mac_by_trip.append(metrics.mean_anonymization_cost(costs, base, chances, smallest_positive_cost=smallest))
        expected_by_trip.append(metrics.mean_anonymization_cost(costs, base, joint, smallest_positive_cost=smallest))
        extra = metrics.extra_costs(costs, base)
        total_by_trip.append(math.fsum(map(operator.mul, extra, chances)) if extra else None)
        worst_extra = max(worst_extra, *extra, 0.0)
    weights = [trip.weight for trip in problem.trips]
    mac, expected, total = (
        metrics.weighted_mean(by_trip, weights) for by_trip in (mac_by_trip, expected_by_trip, total_by_trip)
    )
    is_total, is_risk = problem.objective == "total", privacy.beta is not None
    reached, bound = (total if is_total else expected if is_risk else mac), None
    if reached is not None and plan.least_mean is not None:
        bound = plan.least_mean * num_anonymized if is_total else plan.least_mean
        # The walks are priced edge by edge, the bound comes from the fields: where they agree but for rounding, the
        # plan meets its bound.
        if math.isclose(reached, bound, rel_tol=1e-9, abs_tol=1e-12):
            bound = reached
    return Claims(
        num_candidates=len(problem.counted),
        num_coverable=len(task.members),
        num_anonymized=num_anonymized,
        num_anonymizable=plan.num_anonymizable,
        apr=metrics.anonymized_path_ratio(num_anonymized, len(task.members)),
        mac=mac,
        mac_by_trip=tuple(mac_by_trip),
        mac_lower_bound=None if is_total or is_risk else bound,
        delta=metrics.local_anonymity(num_anonymized, plan.num_anonymizable),
        total_extra=total,
        worst_extra=worst_extra if anonymized else None,
        total_extra_lower_bound=bound if is_total else None,
        expected_mac=expected if sights.hidden_mass else None,
        expected_mac_lower_bound=bound if is_risk else None,
        hidden_mass=sights.hidden_mass,
        worst_posterior=figures.worst,
        bayes_success=figures.bayes_success,
    )
