"""What risk means in figures. ``--linked``: what an observer learns who watches for twenty days.

Two threat models. In the first, all trips serve one secret: the observer adds up what each day tells about it. In the
second, each day has a secret of its own, drawn by the prior, and the observer wants to know today's; earlier days help
only where draws repeat. The observer knows the map, the prior, the playbook and how occasions are chosen, and not the
key. What it believes is worked out exactly, by Bayes' rule. Secrets, and classes by their shares, are drawn with a
fixed seed and not by ``route_for``, whose draws differ with every byte of a playbook.

The table of docs/risk.rst is what ``python benchmarks/risk.py --linked`` prints.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

import veilroute as vr

DAYS = (1, 2, 5, 10, 20)
NUM_RUNS = 2_000
NUM_CANDIDATES = 12
RISK = 0.5
_MOST_HABITS = 2**16
_LEFT = 1e-12  #: what is less probable than this is only not 0 by rounding

Beliefs = np.ndarray[Any, np.dtype[np.float64]]


def office() -> vr.Problem:
    """A building with twelve places, of which the i-th most likely has the weight 1/i (Zipf)."""
    domain = vr.generate_rooms(seed=7)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = vr.draw_candidates(domain, start, goal, NUM_CANDIDATES, seed=1)
    ranks = random.Random(1).sample(range(1, NUM_CANDIDATES + 1), NUM_CANDIDATES)
    return vr.Problem(domain, [vr.Trip(start, goal)], places, prior=[1 / rank for rank in ranks])


@dataclass(frozen=True)
class Channel:
    """From secrets to what is seen: for each hidden place how probable each observed route is."""

    playbook: vr.Playbook

    @cached_property
    def places(self) -> list[Any]:
        """The hidden candidates."""
        return list(dict.fromkeys(place for group in self.playbook.hidden_classes for place in group.members))

    @cached_property
    def prior(self) -> Beliefs:
        """How probable each of them is, among themselves."""
        weights = np.array([self.playbook.coverable_prior[place] for place in self.places])
        return np.asarray(weights / weights.sum())

    @cached_property
    def seen(self) -> dict[tuple[Any, ...], int]:
        """The observed routes, numbered."""
        numbers: dict[tuple[Any, ...], int] = {}
        for place in self.places:
            for group in self.playbook.classes_of(place):
                numbers.setdefault(self._look([group.route_of(place, trip) for trip in self._trips]), len(numbers))
        return numbers

    @cached_property
    def chances(self) -> Beliefs:
        """Per place and observed route how probable the route is when the place is the secret."""
        table = np.zeros((len(self.places), len(self.seen)))
        for row, place in enumerate(self.places):
            for group in self.playbook.classes_of(place):
                column = self.seen[self._look([group.route_of(place, trip) for trip in self._trips])]
                table[row, column] += group.share_of(place) if group.shares else 1.0
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def watch(self, secrets: Sequence[int], chance: random.Random, *, is_fresh: bool) -> list[int]:
        """Which routes are seen on days with these secrets; where draws are not fresh, each place keeps its first."""
        routes = range(len(self.seen))
        drawn = [chance.choices(routes, self.chances[place].tolist())[0] for place in secrets]
        habits: dict[int, int] = {}
        return drawn if is_fresh else [habits.setdefault(place, r) for place, r in zip(secrets, drawn, strict=True)]

    @property
    def _trips(self) -> range:
        return range(len(self.playbook.trips))

    def _look(self, routes: Iterable[vr.Route]) -> tuple[Any, ...]:
        return tuple(route.nodes[: self.playbook.privacy.m] for route in routes)

    def one_secret(self, seen: Sequence[int], *, is_fresh: bool) -> Beliefs:
        """What is believed after some days of one secret; where its draws repeat, only the first day tells anything."""
        beliefs = self.prior * np.prod(self.chances[:, list(seen) if is_fresh else list(seen[:1])], axis=1)
        return np.asarray(beliefs / beliefs.sum())

    def own_secrets(self, seen: Sequence[int], *, is_fresh: bool) -> Beliefs:
        """What is believed of the last day's secret after some days with secrets of their own.

        Where draws repeat, each place has a habit: one route that it always takes. All habits of all places are looked
        at; days tell which of them are likely, by how often routes are seen.
        """
        if is_fresh:
            return self.one_secret(seen[-1:], is_fresh=True)
        takes, chance = self._habits
        often = np.einsum("ht,t->h", takes == seen[-1], self.prior)
        with np.errstate(divide="ignore"):
            logs = np.log(chance)
            for column in seen:
                logs = logs + np.log(((takes == column) * self.prior).sum(axis=1))
        weights = np.exp(logs - logs.max())
        rates = np.divide(weights, often, out=np.zeros_like(weights), where=often > 0)
        beliefs = self.prior * (rates @ (takes == seen[-1]))
        return np.asarray(beliefs / beliefs.sum())

    @cached_property
    def _habits(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Beliefs]:
        """All ways to choose one route for each place, and how probable each is."""
        choices = [np.flatnonzero(row).tolist() for row in self.chances]
        if np.prod([len(routes) for routes in choices]) > _MOST_HABITS:
            raise SystemExit("too many ways to draw for all places; take fewer candidates")
        takes = np.array(list(product(*choices)))
        return takes, np.prod(self.chances[np.arange(len(choices)), takes], axis=1)


@dataclass(frozen=True)
class Days:
    """What the observer has after some days: averages over the runs, and the worst."""

    success: float
    left: float
    worst: float

    def __str__(self) -> str:
        return f"{100 * self.success:.0f} %, {self.left:.1f}, {self.worst:.2f}"


def simulate(channel: Channel, *, is_one_secret: bool, is_fresh: bool, num_runs: int = NUM_RUNS) -> list[Days]:
    """Watch many runs of twenty days; for each number of days, how often the best guess is right, and so on."""
    chance = random.Random(0)
    figures: list[list[tuple[float, int]]] = [[] for _ in DAYS]
    believe: Callable[..., Beliefs] = channel.one_secret if is_one_secret else channel.own_secrets
    for _ in range(num_runs):
        places, most = range(len(channel.places)), max(DAYS)
        secrets = chance.choices(places, channel.prior.tolist(), k=1 if is_one_secret else most)
        seen = channel.watch(secrets * (most // len(secrets)), chance, is_fresh=is_fresh)
        for number, days in enumerate(DAYS):
            beliefs = believe(seen[:days], is_fresh=is_fresh)
            figures[number].append((float(beliefs.max()), int((beliefs > _LEFT).sum())))
    return [
        Days(
            sum(best for best, _ in runs) / num_runs,
            sum(left for _, left in runs) / num_runs,
            max(best for best, _ in runs),
        )
        for runs in figures
    ]


def linked_tables(problem: vr.Problem | None = None, num_runs: int = NUM_RUNS) -> tuple[list[str], list[str]]:
    """The lines of two tables, one for each threat model: how to plan and draw, and the figures by number of days."""
    problem = problem or office()
    plans = {
        "partition, k = 2": vr.Privacy(k=2),
        "partition, risk 0.5": vr.Privacy(risk=RISK),
        "randomised, risk 0.5": vr.Privacy(risk=RISK, mechanism="randomised"),
    }
    channels = {name: Channel(vr.solve(problem, privacy)) for name, privacy in plans.items()}
    one, own = (_linked_table(channels, is_one_secret, num_runs) for is_one_secret in (True, False))
    return one, own


def _linked_table(channels: dict[str, Channel], is_one_secret: bool, num_runs: int) -> list[str]:
    rows = [["plan, draws", *(f"{days} day{'s' * (days > 1)}" for days in DAYS)]]
    for name, channel in channels.items():
        # A partition draws nothing; its routes repeat with their secrets and tell no more the second time.
        ways = {"": True}
        if channel.playbook.is_randomised:
            ways = {", the same occasion": False, ", fresh occasions": True}
        for words, is_fresh in ways.items():
            figures = simulate(channel, is_one_secret=is_one_secret, is_fresh=is_fresh, num_runs=num_runs)
            rows.append([name + words, *map(str, figures)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [rule, lines[0], rule, *lines[1:], rule]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linked", action="store_true", help="twenty days of linked and of independent trips")
    options = parser.parse_args()
    if not options.linked:
        parser.error("name a table: --linked")
    for heading, lines in zip(("One secret on all days", "Each day a secret of its own"), linked_tables(), strict=True):
        print("\n".join([heading, "", *lines, ""]))


if __name__ == "__main__":
    main()
