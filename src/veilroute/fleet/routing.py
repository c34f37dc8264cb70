"""Tours past customers by several vehicles, by PyVRP: the same input gives the same tours on any machine.

PyVRP counts in whole numbers. Costs are rounded up to a small part of the largest, and so are times, so that what it
takes for punctual is. It stops after a number of iterations, never by the clock.

A customer that can be met at several posts is a group of clients, of which one is visited.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from veilroute.base.arrays import Floats
from veilroute.base.errors import MissingExtraError
from veilroute.fleet.ways import Ways
from veilroute.model.day import Stay, Terms

_NO_WAY = 1 << 40
_NO_TIME = 1 << 28  # times a penalty, and some of them on a tour, it must not exceed what PyVRP counts with
_NEVER = int(np.iinfo(np.int64).max)
_LARGEST = 1 << 22
_TICKS = 10  # per second
_MOST_PENALTY = 1e8  # what PyVRP takes is less than what a detour may cost here
_NUM_NEIGHBOURS, _MOST_NEIGHBOURS = 50, 100


@dataclass(frozen=True)
class Routing:
    """Who visits whom, in which order and at which posts; and what is not kept, where PyVRP found nothing better."""

    posts: tuple[tuple[int, ...], ...]  #: per vehicle
    customers: tuple[tuple[int, ...], ...]  #: per vehicle, in the same order
    late_s: float = 0.0  #: how late vehicles are, all together; more than 0 only where no day was found
    overload: int = 0

    @property
    def is_feasible(self) -> bool:
        """Whether all terms are kept."""
        return not self.late_s and not self.overload


@dataclass(frozen=True)
class Readiness:
    """What a vehicle can do from where it begins."""

    ready_s: float  #: when it can leave there at the earliest
    room: int | None  #: how much it can take; ``None`` for anything
    shift_s: float | None  #: for how long it may be on its way; ``None`` for ever
    home_s: float | None = None  #: when its day must have ended, where that is known


def route_customers(
    ways: Ways,
    customers: Sequence[int],
    stays: Mapping[int, Stay],
    terms: Terms,
    *,
    iterations: int | None = None,
    readiness: Sequence[Readiness] | None = None,
    barred: Sequence[frozenset[int]] | None = None,
    searches: int = 1,
) -> Routing:
    """Tours past all the customers, as cheap as PyVRP finds them; what vehicles can do is as in the terms or given.

    Of several ``searches``, each with a seed of its own, the best counts: one alone may be a percent or two worse.

    Vehicles may be ``barred`` from some of the customers. One is sent there all the same where nothing else was found.
    """
    try:
        import pyvrp
        from pyvrp.exceptions import PenaltyBoundWarning
        from pyvrp.search import NeighbourhoodParams
        from pyvrp.stop import MaxIterations
    except ImportError:
        raise MissingExtraError("pyvrp", "fleet") from None
    if not customers:
        return Routing(((),) * len(ways.kind_of), ((),) * len(ways.kind_of))
    own = [(number, int(post)) for number, each in enumerate(customers) for post in ways.posts_of(each)]
    posts = [post for _, post in own]
    costs = _costs(ways, posts)
    first = 2 * ways.num_kinds
    not_for = [frozenset[int]()] * len(ways.kind_of) if barred is None else barred
    is_one = not any(not_for) and not any(ways.home_cost(kind) for kind in range(ways.num_kinds))
    profiles = list(dict.fromkeys(zip(ways.kind_of, not_for, strict=True)))
    matrices = [costs]
    if not is_one:
        matrices = [_beyond_home(costs, ways, kind) for kind, _ in profiles]
        for matrix, (_, others) in zip(matrices, profiles, strict=True):
            closed = [first + at for at, (number, _) in enumerate(own) if customers[number] in others]
            matrix[closed, :] = matrix[:, closed] = np.inf
            np.fill_diagonal(matrix, 0.0)
    scale = _scale(np.concatenate(matrices))
    distances = [_whole(each, scale, _NO_WAY) for each in matrices]
    # Where nobody knows the time, nothing takes any.
    ticks = 0.0 if terms.seconds_per_cost is None else _TICKS * terms.seconds_per_cost
    durations: Any = _whole(costs, ticks, _NO_TIME) if ticks else np.where(np.isfinite(costs), 0, _NO_TIME)
    places: list[list[int]] = [[] for _ in customers]
    for at, (number, _) in enumerate(own):
        places[number].append(at)
    group_of = {number: group for group, number in enumerate(n for n, mine in enumerate(places) if len(mine) > 1)}
    clients = []
    for at, (number, _) in enumerate(own):
        stay = stays[customers[number]]
        clients.append(
            pyvrp.Client(
                first + at,
                delivery=[stay.demand],
                service_duration=math.ceil(_TICKS * stay.service_s),
                tw_early=math.ceil(_TICKS * stay.opens_s),
                tw_late=_NEVER if math.isinf(stay.closes_s) else math.floor(_TICKS * stay.closes_s),
                required=number not in group_of,
                group=group_of.get(number),
            )
        )
    usual = Readiness(terms.depart_s, terms.capacity, terms.shift_s)
    everything = sum(stays[each].demand for each in customers)
    # Vehicles that are alike are one type, in the order of their numbers.
    alike: dict[tuple[int, frozenset[int], Readiness], list[int]] = {}
    for vehicle, kind in enumerate(ways.kind_of):
        ready = usual if readiness is None else readiness[vehicle]
        alike.setdefault((kind, not_for[vehicle], ready), []).append(vehicle)
    types = [
        pyvrp.VehicleType(
            len(vehicles),
            capacity=[everything if ready.room is None else ready.room],
            start_depot=kind,
            end_depot=ways.num_kinds + kind,
            tw_early=math.ceil(_TICKS * ready.ready_s),
            tw_late=_NEVER if ready.home_s is None else math.floor(_TICKS * ready.home_s),
            profile=0 if is_one else profiles.index((kind, others)),
            shift_duration=_NEVER if ready.shift_s is None else math.floor(_TICKS * ready.shift_s),
        )
        for (kind, others, ready), vehicles in alike.items()
    ]
    data = pyvrp.ProblemData(
        [pyvrp.Location(0, 0)] * len(costs),
        clients,
        [pyvrp.Depot(place) for place in range(first)],
        types,
        distances,
        [durations] * len(distances),
        [pyvrp.ClientGroup(places[number]) for number in group_of],
    )
    neighbours = min(_MOST_NEIGHBOURS, _NUM_NEIGHBOURS * math.ceil(len(own) / len(customers)))
    params = pyvrp.SolveParams(
        penalty=pyvrp.PenaltyParams(max_penalty=_MOST_PENALTY),
        neighbourhood=NeighbourhoodParams(num_neighbours=neighbours),
    )
    stop = partial(MaxIterations, terms.iterations if iterations is None else iterations)
    with warnings.catch_warnings():
        # Whether a day keeps its terms is said by whoever asks for it.
        warnings.simplefilter("ignore", PenaltyBoundWarning)
        found = [
            pyvrp.solve(data, stop(), seed=terms.seed + number, collect_stats=False, display=False, params=params)
            for number in range(searches)
        ]
    best = min(found, key=lambda result: float(result.cost())).best
    chosen: list[tuple[int, ...]] = [()] * len(ways.kind_of)
    free = [list(vehicles) for vehicles in alike.values()]
    for route in best.routes():
        visited = tuple(activity.idx for activity in route.schedule() if activity.is_client())
        if visited:
            chosen[free[route.vehicle_type()].pop(0)] = visited
    return Routing(
        tuple(tuple(posts[at] for at in each) for each in chosen),
        tuple(tuple(customers[own[at][0]] for at in each) for each in chosen),
        best.time_warp() / _TICKS,
        sum(best.excess_load()),
    )


def _costs(ways: Ways, posts: Sequence[int]) -> Floats:
    """What it costs between all places: where each kind of vehicle begins, then where it ends, then the posts."""
    kinds = ways.num_kinds
    first, num = 2 * kinds, len(posts)
    costs: Floats = np.full((first + num, first + num), np.inf)
    costs[first:, first:] = ways.between(posts)
    for kind in range(kinds):
        costs[kind, first:] = ways.from_start(kind, posts)
        costs[first:, kinds + kind] = ways.to_goal(kind, posts)
        costs[kind, kinds + kind] = 0.0  # an idle vehicle stays where it is
    np.fill_diagonal(costs, 0.0)
    return costs


def _beyond_home(costs: Floats, ways: Ways, kind: int) -> Floats:
    """Costs of which those of a tour sum up to what it costs beyond ending the day at once, as who is away must do.

    Each step is charged by how much it leads away from the end. No way is shorter than over a place, so none is less
    than nothing.
    """
    kinds, first = ways.num_kinds, 2 * ways.num_kinds
    ahead = costs[first:, kinds + kind]
    with np.errstate(invalid="ignore"):
        beyond = costs.copy()
        beyond[first:, first:] += ahead[None, :] - ahead[:, None]
        beyond[kind, first:] += ahead - ways.home_cost(kind)
        beyond[first:, kinds + kind] -= ahead
    beyond = np.where(np.isfinite(beyond), np.maximum(beyond, 0.0), np.inf)
    np.fill_diagonal(beyond, 0.0)
    return beyond


def _scale(costs: Floats) -> float:
    """How finely costs are counted: as they are where they are whole numbers, else by a small part of the largest."""
    finite = costs[np.isfinite(costs)]
    largest = float(finite.max(initial=0.0))
    if largest <= _LARGEST and (finite == np.round(finite)).all():
        return 1.0
    return _LARGEST / largest


def _whole(costs: Floats, scale: float, most: int) -> Any:
    """Costs as whole numbers, rounded up; ``most`` where there is no way."""
    is_there = np.isfinite(costs)
    # Not by what rounding alone adds to a number that is whole.
    whole = np.ceil(np.where(is_there, costs, 0.0) * scale * (1 - 1e-12))
    return np.where(is_there, np.minimum(whole, most), most).astype(np.int64)
