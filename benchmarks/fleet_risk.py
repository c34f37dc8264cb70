"""What whoever watches a fleet learns, over simulated days: how often guesses are right, against what is reckoned.

    python benchmarks/fleet_risk.py
    python benchmarks/fleet_risk.py --frontier --linked

200 customers of a generated city of 21,276 junctions order independently of each other, 30 of them on an average day;
k=3. The observer knows the playbook, the rates and which classes are driven, and names the most probable customer of
each. Without options, 50 days are drawn for equal and for unequal rates, padded and not. Exits with 1 when somebody is
identified, a posterior exceeds the bound, or guesses are right more or less often than reckoned by more than four
standard deviations.

``--frontier``: privacy against kilometres for several ``pad_to``, the tours made by the dispatcher (needs PyVRP).

``--linked``: what an observer makes of several days, where dummies are drawn anew each day and where they are not.

The tables of docs/fleet.rst are what this prints.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import veilroute as vr
from veilroute.fleet import expose, pad
from veilroute.fleet.tours import plan_day
from veilroute.fleet.ways import Ways

NUM_CUSTOMERS = 200
NUM_ORDERS = 30
NUM_DAYS = 50
K = 3
ELL_M = 300
PAD_TO = 36
NUM_VANS = 4
NUM_STANDING = 6
NUM_ALWAYS = 12
KEY = vr.Key(bytes(range(32)))


@dataclass(frozen=True)
class Firm:
    """A playbook, and how probable it is that each customer orders on a day."""

    playbook: vr.Playbook
    rates: dict[Any, float]

    @cached_property
    def number_of(self) -> dict[Any, int]:
        """The class of each customer."""
        classes = enumerate(self.playbook.hidden_classes, start=1)
        return {member: number for number, group in classes for member in group.members}

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.playbook.hidden_classes)

    def boldest(self, num: int) -> tuple[int, ...]:
        """The classes in which an order would tell most about somebody."""
        free = self.terms(None)
        worst = {n: expose(self.playbook, [n], free).worst for n in range(1, self.num_classes + 1)}
        return tuple(sorted(sorted(worst, key=lambda n: -worst[n])[:num]))

    def terms(self, pad_to: int | None, **given: Any) -> vr.Terms:
        """What is public."""
        depot = self.playbook.trips[0].start
        customers = {label: vr.Customer(rate=rate) for label, rate in self.rates.items()}
        return vr.Terms((vr.Van(depot, depot),) * NUM_VANS, pad_to=pad_to, customers=customers, **given)

    def orders(self, rng: Random) -> set[Any]:
        """Those of a day."""
        return {label for label, rate in self.rates.items() if rng.random() < rate}

    def touched(self, orders: Iterable[Any]) -> set[int]:
        """The classes that hold some orders."""
        return {self.number_of[label] for label in orders}


def plan_city() -> vr.Playbook:
    """The playbook, by a method that ends by itself: the same on every machine."""
    domain = vr.generate_streets(146, 146, seed=5)
    depot, *customers = (domain.label(at) for at in Random(3).sample(range(domain.num_nodes), NUM_CUSTOMERS + 1))
    problem = vr.Problem(domain, [vr.Trip(depot, depot)], customers)
    return vr.solve(problem, vr.Privacy(k=K, ell=ELL_M), planner="pbp", partitioner="local-search")


def equal_rates(playbook: vr.Playbook) -> Firm:
    """Everybody orders as often."""
    return Firm(playbook, dict.fromkeys(playbook.candidates, NUM_ORDERS / NUM_CUSTOMERS))


def unequal_rates(playbook: vr.Playbook) -> Firm:
    """The i-th best customer orders in proportion to ``1 / (i + 30)``, and everybody one day in 50 beside that."""
    ranks = Random(1).sample(range(NUM_CUSTOMERS), NUM_CUSTOMERS)
    weights = [1 / (rank + 30) for rank in ranks]
    spare = NUM_ORDERS - 0.02 * NUM_CUSTOMERS
    rates = [0.02 + spare * weight / sum(weights) for weight in weights]
    return Firm(playbook, dict(zip(playbook.candidates, rates, strict=True)))


@dataclass
class Tally:
    """What an observer has guessed, and how probable each guess was to it."""

    reckoned: list[float]
    right: list[bool]

    @property
    def rate(self) -> float:
        """How often it was right."""
        return statistics.fmean(self.right)

    @property
    def expected(self) -> float:
        """How often it thought it would be."""
        return statistics.fmean(self.reckoned)

    @property
    def deviations(self) -> float:
        """How far the two are apart, in standard deviations."""
        spread = math.sqrt(math.fsum(chance * (1 - chance) for chance in self.reckoned)) / len(self.reckoned)
        return abs(self.rate - self.expected) / spread


def simulate(title: str, firm: Firm, pad_to: int | None, num_always: int, num_days: int) -> bool:
    """Print a row of the table; whether all is as was promised."""
    rng, terms = Random(f"{title} {pad_to}"), firm.terms(pad_to, always=firm.boldest(num_always))
    guesses, best, identified, worst, bound, too_many, num_driven = Tally([], []), Tally([], []), 0, 0.0, 0.0, 0, 0
    for day in range(num_days):
        orders = firm.orders(rng)
        touched = firm.touched(orders)
        if pad_to is not None and len(touched | set(terms.always)) > pad_to:
            too_many += 1
            continue
        driven = pad(firm.playbook, touched, terms, key=KEY, occasion=str(day))
        shown = expose(firm.playbook, driven, terms)
        identified += len(shown.identified)
        worst, bound, num_driven = max(worst, shown.worst), shown.bound, num_driven + len(driven)
        named = [max(each.posterior.items(), key=lambda item: item[1]) for each in shown.classes]
        guesses.reckoned += [chance for _, chance in named]
        guesses.right += [label in orders for label, _ in named]
        label, chance = max(named, key=lambda item: item[1])
        best.reckoned.append(chance)
        best.right.append(label in orders)
    done = num_days - too_many
    row = [title, "-" if pad_to is None else str(pad_to), str(num_always), f"{num_driven / done:.1f}"]
    row += [f"{each:.1%}" for each in (guesses.rate, guesses.expected, best.rate, best.expected, worst, bound)]
    furthest = max(guesses.deviations, best.deviations)
    print_row([*row, f"{furthest:.1f}", str(identified), str(too_many)])
    return not identified and worst <= bound * (1 + 1e-9) and furthest < 4


def print_row(cells: Sequence[str]) -> None:
    """Print a row of a table."""
    print("  ".join([f"{cells[0]:10}", *(f"{cell:>9}" for cell in cells[1:])]), flush=True)


def run_days(firms: dict[str, Firm], num_days: int) -> bool:
    """How often guesses are right."""
    print(f"{num_days} days; right and reckoned: one guess for each driven class; best: one guess a day;")
    print("sd: how far right and reckoned are apart, in standard deviations, the further of the two")
    guessed = ["right", "reckoned", "best", "reckoned"]
    print_row(["rates", "pad to", "always", "driven", *guessed, "worst", "bound", "sd", "identified", "too many"])
    cases = [(name, pad_to, 0) for name in firms for pad_to in (None, PAD_TO)] + [("unequal", PAD_TO, NUM_ALWAYS)]
    are_kept = [simulate(name, firms[name], pad_to, num, num_days) for name, pad_to, num in cases]
    return all(are_kept)


def run_frontier(firm: Firm, num_days: int) -> None:
    """Privacy against kilometres."""
    book, free = firm.playbook, firm.terms(None, iterations=400)
    members = [member for group in book.hidden_classes for member in group.members]
    ways = Ways(book.problem.domain, members, free.vans)
    print(f"\nkm, and what one day shows, on average over {num_days} days; too many: how probable it is on a day")
    print_row(["pad to", "driven", "km", "right", "worst", "real", "too many"])
    steps = [None, *(n for n in range(28, firm.num_classes, 8)), firm.num_classes]
    for pad_to in steps:
        rng, terms, day, exceeds = Random("frontier"), replace(free, pad_to=pad_to), 0, 0.0
        rows: list[tuple[float, ...]] = []
        while len(rows) < num_days:
            day += 1
            touched = firm.touched(firm.orders(rng))
            if pad_to is not None and len(touched) > pad_to:
                continue
            driven = pad(book, touched, terms, key=KEY, occasion=str(day))
            shown = expose(book, driven, terms)
            exceeds = shown.exceeds or 0.0
            real = statistics.fmean(each.real for each in shown.classes)
            cost = plan_day(book, driven, terms, ways=ways).cost
            rows.append((len(driven), cost / 1000, shown.bayes_success, shown.worst, real))
        num, km, success, worst, real = (statistics.fmean(column) for column in zip(*rows, strict=True))
        cells = [f"{num:.1f}", f"{km:.1f}", f"{success:.1%}", f"{worst:.1%}", f"{real:.1%}", f"{exceeds:.1%}"]
        print_row(["-" if pad_to is None else str(pad_to), *cells])


def run_linked(firm: Firm, num_runs: int = 40) -> None:
    """What several days show together, when some customers order every day and the others by their rates."""
    print(f"\nLinked days, pad to {PAD_TO}, {NUM_STANDING} standing orders; {num_runs} runs")
    print("standing: of the classes driven every day, those with a standing order")
    print(
        "today: of the third of today's classes that were driven least before, those that hold an order; of all: of all"
    )
    print(f"always: classes with standing orders and as many others, {2 * NUM_STANDING} at most, are driven every day")
    print_row(["dummies", "days", "standing", "today", "of all"])
    for name in ("fresh", "kept", "always"):
        for num_days in (1, 5, 20, 60):
            runs = [link_days(firm, Random(run), name, num_days) for run in range(num_runs)]
            figures = [f"{statistics.fmean(column):.1%}" for column in zip(*runs, strict=True)]
            print_row([name, str(num_days), *figures])


def link_days(firm: Firm, rng: Random, dummies: str, num_days: int) -> tuple[float, float, float]:
    """What an observer of some days gets right: standing orders, today's, and today's by chance."""
    regular, run = set(rng.sample(list(firm.rates), NUM_STANDING)), rng.random()
    classes, others = firm.touched(regular), rng.sample(range(1, firm.num_classes + 1), NUM_STANDING)
    terms = firm.terms(PAD_TO, always=tuple(sorted({*classes, *others})) if dummies == "always" else ())
    days: list[tuple[int, ...]] = []
    touched: set[int] = set()
    while len(days) < num_days:
        found = firm.touched(firm.orders(rng) | regular)
        if len(found | set(terms.always)) <= PAD_TO:
            touched, occasion = found, str(run) if dummies == "kept" else f"{run} {len(days)}"
            days.append(pad(firm.playbook, touched, terms, key=KEY, occasion=occasion))
    every = set.intersection(*map(set, days))
    before = {each: sum(each in day for day in days[:-1]) for each in days[-1]}
    rarest = sorted(days[-1], key=lambda each: (before[each], rng.random()))[: PAD_TO // 3]
    today = statistics.fmean(each in touched for each in rarest)
    return len(classes) / len(every), today, len(touched) / PAD_TO


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=NUM_DAYS)
    parser.add_argument("--frontier", action="store_true")
    parser.add_argument("--frontier-days", type=int, default=5)
    parser.add_argument("--linked", action="store_true")
    given = parser.parse_args()
    playbook = plan_city()
    firms = {"equal": equal_rates(playbook), "unequal": unequal_rates(playbook)}
    hidden = sum(len(group.members) for group in playbook.hidden_classes)
    print(f"{hidden} of {NUM_CUSTOMERS} customers hidden in {len(playbook.hidden_classes)} classes")
    is_kept = run_days(firms, given.days)
    if given.frontier:
        run_frontier(firms["equal"], given.frontier_days)
    if given.linked:
        run_linked(firms["equal"])
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
