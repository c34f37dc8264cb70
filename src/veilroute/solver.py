"""The front door: from a problem and the privacy wanted to a playbook."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from veilroute import metrics
from veilroute.checks import check_whole
from veilroute.errors import InvalidInputError
from veilroute.playbook import Claims, Playbook, PlaybookClass, Route
from veilroute.posterior import Sights
from veilroute.problem import ROUNDING, Privacy, Problem, check_fit, names_sha256, places_sha256
from veilroute.progress import ProgressCallback, Watch, check_time_limit

if TYPE_CHECKING:
    from veilroute.covering.crew import Crew
    from veilroute.planners.plan import Plan


def solve(
    problem: Problem,
    privacy: Privacy | None = None,
    *,
    planner: str = "optimal",
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
        Name of a planner: ``optimal``, ``pbp``, ``m-pbp``, ``cbp``, ``rbp``, ``reuse`` or ``fleet``, or that of a
        plug-in. ``cbp`` and ``rbp`` need a finite m.
    time_limit_s
        Return the best plan found after about this many seconds, not counting those in which a first run compiles.
    seed
        For planners that draw at random. Part of the input: equal seeds give equal playbooks.
    progress
        Called with :class:`~veilroute.progress.Progress` reports.
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
    from veilroute.kernels.jit import compile_seconds
    from veilroute.planners import PLANNERS, find_planner

    privacy = Privacy() if privacy is None else privacy
    check_whole("seed", seed, "an integer between -2^53 and 2^53", least=1 - 2**53, most=2**53 - 1)
    check_fit(problem, privacy)
    run = find_planner(planner, options)
    if privacy.mechanism == "randomised" and planner != "optimal":
        raise InvalidInputError("planner", "optimal for a randomised playbook", planner)
    if problem.past is not None:
        if privacy.mechanism == "randomised":
            expected = "partition under a ledger: every draw that can be linked with an earlier one tells more"
            raise InvalidInputError("Privacy.mechanism", expected, privacy.mechanism)
        if planner in PLANNERS and planner not in ("optimal", "pbp", "m-pbp", "fleet"):
            raise InvalidInputError("planner", "optimal, pbp, m-pbp or fleet to plan under a ledger", planner)
    watch = Watch(progress, check_time_limit(time_limit_s), should_stop, compile_seconds)
    with at_work(workers):
        return _plan(problem, privacy, planner, partial(run, problem, privacy, seed=seed, watch=watch, **options))


def _plan(problem: Problem, privacy: Privacy, planner: str, run: Callable[..., Plan]) -> Playbook:
    """Plan, and once more where what is to be hidden shows all the same."""
    from veilroute.planners import PLANNERS

    plan = run()
    playbook = _assemble(problem, privacy, planner, plan)
    if planner not in PLANNERS or _keeps_risk(playbook):
        return playbook
    # Classes whose routes are the same look like one, and there members stand near each other whom no class holds
    # together. What is proved about plans stays true of those that avoid this, if they hide as much.
    strict = run(is_strict=True)
    strict = replace(strict, num_anonymizable=plan.num_anonymizable)
    again = _assemble(problem, privacy, planner, replace(strict, is_optimal=False, least_mean=None, certificate=None))
    if again.claims.hidden_mass != playbook.claims.hidden_mass:
        return again
    proved = replace(strict, is_optimal=plan.is_optimal, least_mean=plan.least_mean, certificate=plan.certificate)
    return _assemble(problem, privacy, planner, proved)


def _keeps_risk(playbook: Playbook) -> bool:
    """Whether what an observer believes stays within what is promised."""
    beta, worst = playbook.privacy.beta, playbook.claims.worst_posterior
    return beta is None or worst is None or worst <= beta * (1 + ROUNDING)


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
        expected_mac=expected,
        expected_mac_lower_bound=bound if is_risk else None,
        hidden_mass=sights.hidden_mass,
        worst_posterior=figures.worst,
        bayes_success=figures.bayes_success,
    )
