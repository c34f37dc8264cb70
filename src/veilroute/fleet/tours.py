"""Tours past every member of every class that is touched, with their walks and times.

Orders are no argument of anything here. What is, are the playbook, the public terms, and the set of touched classes; so
two days whose orders touch the same classes are the same day, byte for byte (docs/theory, :ref:`theory-fleets`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random

from veilroute.base.checks import check_whole, plain_number
from veilroute.base.errors import InvalidInputError, Problems, listing
from veilroute.base.run import Watch
from veilroute.domain.geography import duration_text
from veilroute.domain.graph import Label
from veilroute.fleet.routing import Readiness, Routing, route_customers
from veilroute.fleet.ways import Leg, Ways
from veilroute.model.day import Day, Stay, Terms, Tour, clock_text
from veilroute.model.playbook import Playbook

SEARCHES = 2  #: how many searches of PyVRP a day has, of which the better one counts
MAX_EXACT = 15  #: so many customers have the cheapest walk of all, where one vehicle may visit them in any order
_NUM_DRAWS = 8
_DIRECT_PART = 4
_ROUNDING_S = 1e-6


def plan_day(
    playbook: Playbook, touched: Iterable[int], terms: Terms, *, ways: Ways | None = None, watch: Watch | None = None
) -> Day:
    """What :func:`veilroute.fleet.dispatch` does; several days may share ``ways`` between at least these members."""
    watch = watch or Watch()
    groups = touched_groups(playbook, touched)
    stays = stays_of(playbook, groups, terms)
    ways = ways or Ways(playbook.problem.domain, list(stays), terms.vans, watch=watch)
    check_terms(playbook, terms, stays, ways)
    watch.tell("tours")
    tours, status = _tours(ways, list(stays), stays, terms, watch)
    cost = sum(tour.cost for tour in tours)
    classes = [playbook.hidden_classes[number - 1].members for number in groups]
    return Day(playbook.sha256, terms, groups, tours, cost, average_direct_cost(ways, classes, terms, stays), status)


def touched_groups(playbook: Playbook, touched: Iterable[int]) -> tuple[int, ...]:
    """The numbers of the touched classes, ascending."""
    if playbook.is_randomised:
        raise InvalidInputError("playbook", "one with a fixed partition: in a randomised one classes are drawn")
    last = len(playbook.hidden_classes)
    if not last:
        raise InvalidInputError("playbook", "one that anonymizes somebody")
    expected = f"class numbers from 1 to {last}"
    return tuple(sorted({check_whole("touched", plain_number(n), expected, least=1, most=last) for n in touched}))


def stays_of(playbook: Playbook, groups: Iterable[int], terms: Terms) -> dict[Label, Stay]:
    """What the stops at all members of some classes are like."""
    stays: dict[Label, Stay] = {}
    for number in groups:
        stays |= terms.stays(playbook.hidden_classes[number - 1].members)
    return stays


def check_day(playbook: Playbook, touched: Iterable[int], terms: Terms) -> None:
    """Whether nothing is asked for that no tours past these classes can keep, without looking for tours."""
    stays = stays_of(playbook, touched_groups(playbook, touched), terms)
    if stays:
        check_terms(playbook, terms, stays, Ways(playbook.problem.domain, list(stays), terms.vans))


def check_terms(playbook: Playbook, terms: Terms, stays: dict[Label, Stay], ways: Ways) -> None:
    """Whether nothing is asked for that no tours can keep; all that is wrong is said at once."""
    problems = Problems()
    for label in ways.unreachable:
        if label in stays:
            expected = "a depot from which every customer can be reached, and back"
            problems.add(InvalidInputError("vehicles", expected, f"no way past {playbook.name(label)}"))
    if terms.capacity is not None:
        too_large = [label for label, stay in stays.items() if stay.demand > terms.capacity]
        if too_large:
            most = max(stays[label].demand for label in too_large)
            names = listing([playbook.name(label) for label in too_large])
            expected = f"at least {most}, the largest order of {names} and those in a class with them"
            problems.add(InvalidInputError("capacity", expected, terms.capacity))
        else:
            total, room = sum(stay.demand for stay in stays.values()), terms.capacity * len(terms.vans)
            if total > room:
                least = math.ceil(total / len(terms.vans))
                expected = (
                    f"room for all: {total} for {len(stays)} customers; {least} for each vehicle, or more of these"
                )
                problems.add(InvalidInputError("capacity", expected, f"{room} in {len(terms.vans)} vehicles"))
    if terms.seconds_per_cost is not None:
        for label, stay in stays.items():
            if label in ways.number_of:
                _check_times(playbook, terms, label, stay, ways, problems)
    problems.raise_all()


def _check_times(playbook: Playbook, terms: Terms, label: Label, stay: Stay, ways: Ways, problems: Problems) -> None:
    """Whether a vehicle that visits a customer alone is there in time, and back in time."""
    per_cost = terms.seconds_per_cost or 0.0
    posts = ways.posts_of(ways.number_of[label]).tolist()
    there = min(float(ways.from_start(kind, posts).min()) for kind in range(ways.num_kinds)) * per_cost
    both = min(
        float((ways.from_start(kind, posts) + ways.to_goal(kind, posts)).min()) for kind in range(ways.num_kinds)
    )
    late = terms.depart_s + there - stay.closes_s
    if late > 1e-6:
        closes = f"{playbook.name(label)} closes at {clock_text(stay.closes_s)}"
        expected = f"windows that a vehicle can meet: {closes}, and none can be there until {duration_text(late)} later"
        problems.add(InvalidInputError("windows", expected))
    if terms.shift_s is not None:
        longer = both * per_cost + stay.service_s - terms.shift_s
        if longer > 1e-6:
            expected = f"time to visit {playbook.name(label)} alone: {duration_text(longer)} more"
            problems.add(InvalidInputError("shift", expected, duration_text(terms.shift_s)))


def _tours(
    ways: Ways, members: Sequence[Label], stays: dict[Label, Stay], terms: Terms, watch: Watch
) -> tuple[tuple[Tour, ...], str]:
    """Tours past all members, and whether they are the cheapest there are."""
    customers = [ways.number_of[label] for label in members]
    by_number = {ways.number_of[label]: stay for label, stay in stays.items()}
    if _is_free(ways, terms, stays) and 0 < len(customers) <= MAX_EXACT:
        order, leg = ways.optimum(0, customers, watch)
        tour = make_tour(ways, order, leg, by_number, terms)
        if tour is not None:
            idle = Tour((), (), (), 0)
            return (tour, *[idle] * (len(terms.vans) - 1)), "optimal"
    found = route_customers(ways, customers, by_number, terms, searches=SEARCHES)
    return tours_of(ways, found, by_number, terms), "feasible"


def _is_free(ways: Ways, terms: Terms, stays: dict[Label, Stay]) -> bool:
    """Whether one vehicle may visit everybody in any order, and no other does it for less.

    All begin and end at one place: whoever drives several tours one after the other could do so without coming back.
    Unless not every turn is legal: who comes back may not leave as who begins there.
    """
    is_one_place = ways.num_kinds == 1 and not ways.is_open[0]
    is_alone = len(terms.vans) == 1
    if not is_one_place or not (is_alone or (terms.vans[0].start == terms.vans[0].goal and not ways.domain.turns)):
        return False
    has_room = terms.capacity is None or sum(stay.demand for stay in stays.values()) <= terms.capacity
    return has_room and all(not stay.opens_s and math.isinf(stay.closes_s) for stay in stays.values())


def tours_of(
    ways: Ways, found: Routing, stays: dict[int, Stay], terms: Terms, ready_s: Sequence[float] | None = None
) -> tuple[Tour, ...]:
    """The tours of a routing, with their walks and times."""
    tours = []
    for vehicle, (posts, customers) in enumerate(zip(found.posts, found.customers, strict=True)):
        if not posts:
            tours.append(Tour((), (), (), 0))
            continue
        if not math.isfinite(ways.cost(ways.kind_of[vehicle], posts)):
            expected = "enough of them, or more iterations to share customers out: no way leads past all those of one"
            raise InvalidInputError("vehicles", expected, len(terms.vans))
        leg = ways.walk(ways.kind_of[vehicle], posts)
        tour = make_tour(ways, customers, leg, stays, terms, None if ready_s is None else ready_s[vehicle])
        if tour is None or not found.is_feasible:
            late = f"{duration_text(found.late_s)} late" if found.late_s else "some vehicle late"
            over = f", {found.overload} over capacity" if found.overload else ""
            expected = "terms that a day can keep: more vehicles, room or time, or more iterations to look for one"
            raise InvalidInputError("terms", expected, f"the best day found is {late}{over} in all")
        tours.append(tour)
    return tuple(tours)


def make_tour(
    ways: Ways, customers: Sequence[int], leg: Leg, stays: dict[int, Stay], terms: Terms, ready_s: float | None = None
) -> Tour | None:
    """A walk past customers as a tour with times; ``None`` where it keeps no windows or takes too long.

    A vehicle leaves as late as it can without coming home later: whoever waits, waits at the depot. One that is on its
    way, ready from ``ready_s`` on, leaves at once.
    """
    labels = tuple(ways.customers[ways.task.members[each]] for each in customers)
    route = ways.domain.labels_of(leg.nodes)
    if terms.seconds_per_cost is None:
        return Tour(labels, leg.positions, route, leg.cost)
    reached = [cost * terms.seconds_per_cost for cost in leg.reached]
    ends = leg.cost * terms.seconds_per_cost
    mine = [stays[each] for each in customers]
    departs = terms.depart_s if ready_s is None else ready_s
    begins: list[float] = []
    for at, stay in enumerate(mine):
        arrives = (
            departs + reached[0] if not at else begins[-1] + mine[at - 1].service_s + reached[at] - reached[at - 1]
        )
        begins.append(max(arrives, stay.opens_s))
    if any(begin > stay.closes_s + _ROUNDING_S for begin, stay in zip(begins, mine, strict=True)):
        return None
    if ready_s is None and terms.needs_times:
        # From the last stop back: as late as each may begin without making anything after it later.
        for at in range(len(mine) - 2, -1, -1):
            latest = begins[at + 1] - (reached[at + 1] - reached[at]) - mine[at].service_s
            begins[at] = max(begins[at], min(mine[at].closes_s, latest))
        departs = max(departs, begins[0] - reached[0])
    home = begins[-1] + mine[-1].service_s + ends - reached[-1]
    seconds = home - departs
    if terms.shift_s is not None and ready_s is None and seconds > terms.shift_s + _ROUNDING_S:
        return None
    return Tour(labels, leg.positions, route, leg.cost, tuple(begins), departs, seconds)


def average_direct_cost(
    ways: Ways,
    groups: Sequence[Sequence[Label]],
    terms: Terms,
    stays: dict[Label, Stay],
    readiness: Sequence[Readiness] | None = None,
    barred: Sequence[frozenset[int]] | None = None,
) -> float:
    """What a day costs on average that visits one member of each touched class, drawn evenly.

    It is a function of the touched classes as well: what today's own orders would cost alone stays unsaid. Of vehicles
    on their way it is what they cost beyond ending the day at once.
    """
    rng, total = Random(f"direct-{terms.seed}"), 0.0
    by_number = {ways.number_of[label]: stay for label, stay in stays.items() if label in ways.number_of}
    iterations = max(1, terms.iterations // _DIRECT_PART)
    for _ in range(_NUM_DRAWS):
        numbers = [ways.number_of[rng.choice(group)] for group in groups]
        found = route_customers(
            ways, numbers, by_number, terms, iterations=iterations, readiness=readiness, barred=barred
        )
        for vehicle, posts in enumerate(found.posts):
            kind = ways.kind_of[vehicle]
            total += ways.cost(kind, posts) - (ways.home_cost(kind) if posts else 0.0)
    return total / _NUM_DRAWS
