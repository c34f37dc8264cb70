"""Rbp, the random-walk-based planner (paper, section 5): m random nodes, then the cheapest way past each place.

Its two halves serve Cbp as well: :func:`draw_walk` draws walks that depend on the seed, the trip and a name alone, as
the privacy rules ask, and :func:`plan_prefixes` makes a plan from the prefix of each class.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from veilroute.base.arrays import Member, Walk, as_members
from veilroute.base.errors import InvalidInputError, TooLargeError
from veilroute.base.run import Watch
from veilroute.covering.prefixes import Completions
from veilroute.covering.set_costs import ClassWalks
from veilroute.covering.states import StateGraph
from veilroute.covering.task import CoveringTask, k_and_ell, prepare_task
from veilroute.covering.walks import NO_WALK
from veilroute.domain.graph import Domain
from veilroute.model.problem import Privacy, Problem
from veilroute.partition.first import split_into_classes
from veilroute.planners.plan import Plan, PlannedClass, plan_parting, plan_unproved

MAX_DRAWN = 10**6  #: the most nodes of a prefix: every member's route holds them all
_NODES_PER_LOOK = 1 << 12


def plan_rbp(problem: Problem, privacy: Privacy, *, seed: int, watch: Watch) -> Plan:
    """Draw the first m nodes of each trip, the same for everybody, and complete each member's route.

    The walk depends on the seed and the trip alone: a larger m continues it, and k plays no part. Where it runs into a
    dead end, or to where nobody comes back from, the members that cannot be covered any more get no route.
    """
    m = require_finite_m(privacy, "rbp")
    task = prepare_task(problem)
    prefixes = [
        draw_walk(task.domain, start, seeded("rbp", seed, trip), lambda num_nodes, _last: num_nodes >= m, watch)
        for trip, start in enumerate(task.starts)
    ]
    return plan_prefixes(
        problem, privacy, task, [(as_members(range(len(task.members))), prefixes)], seed=seed, watch=watch
    )


def require_finite_m(privacy: Privacy, planner: str) -> int:
    """The m of a planner whose prefixes are drawn: it has none for m = infinity."""
    if privacy.m is None:
        raise InvalidInputError(
            "Privacy.m", f"a whole number for the planner {planner}; optimal and pbp hide whole routes"
        )
    if privacy.m > MAX_DRAWN:
        raise TooLargeError(
            "Privacy.m", f"at most {MAX_DRAWN} nodes for the planner {planner}, which draws them", privacy.m
        )
    return privacy.m


def plan_prefixes(
    problem: Problem, privacy: Privacy, task: CoveringTask, prefixed: Iterable[tuple[Sequence[Member], Sequence[Walk]]],
    *, seed: int, watch: Watch,
) -> Plan:  # fmt: skip
    """Complete every member's route after the prefix that its class shares.

    ``prefixed`` has the members of each class with their prefix on each trip: m nodes or more, or fewer where no edge
    leads on; none where they could not be drawn. Classes are taken one at a time, as long as there is time. A member
    without a way on gets the paper's Failure: it is left out, as are classes that are too small or too close together
    without it.
    """
    completions = Completions(task)
    rule = k_and_ell(problem, task, privacy)
    anonymized: list[PlannedClass] = []
    is_over = False
    for number, (members, prefixes) in enumerate(prefixed):
        watch.tell("walks", number)
        is_over = is_over or watch.is_over()
        if is_over or not all(prefix.size for prefix in prefixes):
            continue
        routes = {
            (trip, member): completions.complete(prefix, member, trip)
            for trip, prefix in enumerate(prefixes)
            for member in members
        }
        covered = [i for i in members if all(math.isfinite(routes[trip, i][1]) for trip in range(task.num_trips))]
        anonymized += [plan_parting(task.domain, inside, routes) for inside in split_into_classes(covered, rule)]
    anonymized.sort(key=lambda each: each.members)
    return plan_unproved(task, anonymized, ClassWalks(task), {"seed": seed, "stopped_early": is_over})


def draw_walk(
    domain: Domain, start: int, rng: random.Random, is_long_enough: Callable[[int, int], bool], watch: Watch
) -> Walk:
    """A walk to neighbours drawn uniformly, until it is long enough or stuck; empty when the time is over."""
    walk = [start]
    ends = domain.ends if isinstance(domain, StateGraph) else ()  # nobody goes on from there
    while not is_long_enough(len(walk), walk[-1]):
        first, end = int(domain.indptr[walk[-1]]), int(domain.indptr[walk[-1] + 1])
        if first == end:
            break
        if len(walk) % _NODES_PER_LOOK == 0 and watch.is_over():
            return NO_WALK
        choices = [int(node) for node in domain.indices[first:end] if int(node) not in ends]
        if not choices:
            break
        walk.append(rng.choice(choices))
    return np.array(walk, dtype=np.int64)


def seeded(planner: str, seed: int, trip: int, name: object = "") -> random.Random:
    """The generator for one walk."""
    return random.Random(f"veilroute-{planner}-{seed}-{trip}-{name}")
