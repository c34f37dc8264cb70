"""Days as they may come: orders are drawn by rates, and tours are made with and without hiding.

These orders are nobody's: they are drawn from public rates with a seed, to tell partitions apart before one is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from veilroute.base.checks import check_whole
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import ProgressCallback, Watch
from veilroute.domain.graph import Label
from veilroute.model.day import Customer, Stay, Terms
from veilroute.model.playbook import Playbook


@dataclass(frozen=True)
class SimulatedDay:
    """What a day costs on which some orders were drawn."""

    num_orders: int
    num_touched: int  #: classes
    num_stops: int  #: members of these
    cost: float  #: of the tours past all of them
    direct_cost: float  #: of tours past those who ordered alone

    @property
    def extra(self) -> float:
        """What hiding adds."""
        return self.cost - self.direct_cost


@dataclass(frozen=True)
class Simulation:
    """Several days, and their means."""

    days: tuple[SimulatedDay, ...]

    def mean(self, figure: Callable[[SimulatedDay], float]) -> float:
        """The mean of a figure over the days."""
        return math.fsum(map(figure, self.days)) / len(self.days)

    @property
    def cost(self) -> float:
        """What a day costs."""
        return self.mean(lambda day: day.cost)

    @property
    def direct_cost(self) -> float:
        """What it would cost without hiding."""
        return self.mean(lambda day: day.direct_cost)

    @property
    def extra(self) -> float:
        """What hiding adds to a day."""
        return self.mean(lambda day: day.extra)


def simulate_days(
    playbook: Playbook,
    terms: Terms,
    num_days: int,
    *,
    orders_per_day: float | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Simulation:
    """What days cost under a playbook, and without hiding: same orders, same terms, same solver, same iterations.

    Parameters
    ----------
    playbook
        A playbook that is not randomised.
    terms
        What is public about every day. Customers may have a rate.
    num_days
        How many days are drawn. With the same seed they are the same for all playbooks that hide the same customers.
    orders_per_day
        How many order on a day, every day as many: shared out among those without a rate of their own, evenly or in
        proportion to the prior of the playbook. When left out, as ``terms.rate`` says, or 15 % of these.
    progress, should_stop
        As in :func:`veilroute.solve`; of the days that were asked for, those that are done by then count.

    Raises
    ------
    InvalidInputError
        Terms that tours of some day do not keep.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.fleet.routing import route_customers
    from veilroute.fleet.tours import check_terms, touched_groups
    from veilroute.fleet.ways import Ways
    from veilroute.planners.fleet import order_rates

    check_whole("num_days", num_days, "a number of days from 1 on", least=1)
    problem = playbook.problem
    groups = playbook.hidden_classes
    touched_groups(playbook, ())
    if orders_per_day is None and terms.rate is not None:
        own = [terms.customers.get(label, Customer()).rate for label in problem.candidates]
        orders_per_day = math.fsum(terms.rate if rate is None else rate for rate in own) or None
    rates = dict(zip(problem.candidates, order_rates(problem, orders_per_day, terms.customers).tolist(), strict=True))
    number_of = {label: number for number, group in enumerate(groups) for label in group.members}
    hidden = [label for label in problem.candidates if label in number_of]
    stays = {label: stay for group in groups for label, stay in terms.stays(group.members).items()}
    alone = {label: terms.stays([label])[label] for label in hidden}
    watch = Watch(progress, should_stop=should_stop)
    ways = Ways(problem.domain, hidden, terms.vans, watch=watch)
    check_terms(playbook, replace(terms, capacity=None), stays, ways)

    def cost(labels: Sequence[Label], stays: Mapping[Label, Stay]) -> float:
        numbers = {ways.number_of[label]: stays[label] for label in labels}
        found = route_customers(ways, list(numbers), numbers, terms)
        if not found.is_feasible:
            expected = "terms that every day that is drawn can keep: more vehicles, room or time, or more iterations"
            raise InvalidInputError("terms", expected)
        return sum(ways.cost(ways.kind_of[vehicle], posts) for vehicle, posts in enumerate(found.posts))

    days: list[SimulatedDay] = []
    for number in range(num_days):
        if days and watch.is_over():
            break
        watch.tell("days", number, num_days)
        ordered = draw_orders({label: rates[label] for label in hidden}, Random(f"day-{seed}-{number}"))
        touched = sorted({number_of[label] for label in ordered})
        stops = [label for each in touched for label in groups[each].members]
        days.append(SimulatedDay(len(ordered), len(touched), len(stops), cost(stops, stays), cost(ordered, alone)))
    return Simulation(tuple(days))


def draw_orders(rates: Mapping[Label, float], rng: Random) -> list[Label]:
    """As many customers as order on an average day, drawn without repetition, each about as often as its rate says."""
    num = round(math.fsum(rates.values()))
    waits = {
        label: (0.0 if rate >= 1 else -math.log(1 - rng.random()) / -math.log1p(-rate))
        for label, rate in rates.items()
        if rate > 0
    }
    drawn = set(sorted(waits, key=lambda label: waits[label])[: max(1, num)])
    return [label for label in rates if label in drawn]
