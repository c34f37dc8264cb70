"""What risk means in figures: three tables, and how long the plans take.

    python benchmarks/risk.py --linked
    python benchmarks/risk.py --tables --shared ../shared
    python benchmarks/risk.py --speed --shared ../shared
    python benchmarks/risk.py --areas OTHER/.venv/bin/python --shared ../shared

``--tables``: what hiding costs on the paper's instances, by partitions and by randomised playbooks, by counting and
under a Zipf prior, beside the figures of an exact program that shares no code with veilroute. Exits with 1 when a
printed digit differs.

``--speed``: randomised playbooks against the optimal partition for the same k, in turns and in seconds of the processor
(others may use the machine); and how far partitions under a Zipf prior are proved. Exits with 1 if a limit is not kept.

``--areas``: plans under a risk by this version, which bounds areas (sets of places that are pairwise closer than ell),
beside those of another version, which is run by its own interpreter: commit 1c8f6de bounded balls around members. What
they hide, the expected MAC, how many are proved, and the time of the processor. Exits with 1 if a plan of this version
hides less, or as much at a higher cost.

``--linked``: what an observer learns who watches for twenty days. Two threat models. In the first, all trips serve one
secret: the observer adds up what each day tells about it. In the second, each day has a secret of its own, drawn by the
prior, and the observer wants to know today's; earlier days help only where draws repeat. The observer knows the map,
the prior, the playbook and how occasions are chosen, and not the key. What it believes is worked out exactly, by Bayes'
rule. Secrets, and classes by their shares, are drawn with a fixed seed and not by ``route_for``, whose draws differ
with every byte of a playbook.

The tables of docs/risk.rst are what ``--linked`` and ``--areas`` print.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import veilroute as vr
from paper_instances import build_problem, read_map, read_rows

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
    return simple_table(rows)


def simple_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table of reStructuredText, the first row its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [rule, lines[0], rule, *lines[1:], rule]


BY_COUNTING = {  # candidates, k: mean MAC of the best partition and of the best randomised playbook
    (8, 2): (".2288", ".2142"),
    (8, 3): (".6642", ".4758"),
    (8, 4): (".7908", ".7908"),
    (8, 5): ("2.174", "1.323"),
    (8, 6): ("2.174", "1.704"),
    (12, 2): (".1860", ".1744"),
    (12, 3): (".3754", ".3617"),
    (12, 4): (".6175", ".6002"),
    (12, 5): (".9929", ".8459"),
}
CORRECTED = (
    "(8 candidates, k=6, randomised: 1.705 was printed; scipy's linear programmes have the mean 1.70446 as well)"
)
UNDER_ZIPF = {0.5: ("1.360", "0.549"), 0.4: ("2.671", "0.961")}  # risk: mean expected MAC, eight candidates
OF_COUNTING = ("0.82", "0.89", "0.73")  # worst posterior on average and at most, and Bayes success, of k=2 under Zipf


def zipf(num: int, seed: int) -> list[float]:
    """The weights 1, 1/2, 1/3 and so on in a shuffled order."""
    return [1 / float(rank) for rank in np.random.default_rng(seed).permutation(num) + 1]


def paper_problems(shared: Path, num: int, *, has_prior: bool) -> list[vr.Problem]:
    """The paper's instances with so many candidates."""
    rows = [row for row in read_rows(shared) if row["num_candidates"] == num]
    problems = [build_problem(shared, row, 0) for row in rows]
    priors = [zipf(num, row["seed"]) if has_prior else None for row in rows]
    return [replace(problem, prior=prior) for problem, prior in zip(problems, priors, strict=True)]


def show_figures(name: str, figures: Sequence[tuple[float, str]]) -> bool:
    """A line of the table: what came out, with as many digits as the figure in brackets has; whether all are equal."""
    shown = [f"{value:.{len(wanted.partition('.')[2])}f}"[-len(wanted) :] for value, wanted in figures]
    wanted = [figure for _, figure in figures]
    print(
        f"  {name:28}",
        *(f"{a:>6} ({b})" for a, b in zip(shown, wanted, strict=True)),
        "" if shown == wanted else "DIFFERS",
    )
    return shown == wanted


def check_tables(shared: Path) -> bool:
    """Both tables, all plans proved; whether every digit is as it was."""

    def solve(problems: Iterable[vr.Problem], **wanted: Any) -> list[vr.Claims]:
        books = [vr.solve(problem, vr.Privacy(ell=1, **wanted)) for problem in problems]
        if any(book.status != "optimal" for book in books):
            raise SystemExit(f"not proved: {wanted}")
        return [book.claims for book in books]

    def mean_macs(problems: Sequence[vr.Problem], **wanted: Any) -> list[float]:
        plans = [solve(problems, mechanism=way, **wanted) for way in ("partition", "randomised")]
        return [statistics.fmean(each.expected_mac or 0.0 for each in claims) for claims in plans]

    print("\nMean MAC by counting: partition, randomised")
    is_same = []
    for (num, k), wanted in BY_COUNTING.items():
        problems = paper_problems(shared, num, has_prior=False)
        figures = list(zip(mean_macs(problems, k=k), wanted, strict=True))
        is_same.append(show_figures(f"{num} candidates, k={k}", figures))
    print(f"  {CORRECTED}")
    print("\nMean expected MAC under a Zipf prior, 8 candidates: partition, randomised")
    problems = paper_problems(shared, 8, has_prior=True)
    for beta, wanted in UNDER_ZIPF.items():
        figures = list(zip(mean_macs(problems, risk=beta), wanted, strict=True))
        is_same.append(show_figures(f"risk {beta}", figures))
    print("\nThe plan by counting under this prior: worst posterior on average, at most, Bayes success")
    claims = solve(problems, k=2)
    worst = [each.worst_posterior or 0.0 for each in claims]
    guessed = statistics.fmean(each.bayes_success or 0.0 for each in claims)
    is_same.append(
        show_figures("k=2", list(zip((statistics.fmean(worst), max(worst), guessed), OF_COUNTING, strict=True)))
    )
    print(f"{sum(is_same)} of {len(is_same)} lines are the same to the printed digit")
    return all(is_same)


START, GOAL = (71, 100), (74, 91)
SIZES = ((2, 100), (2, 300), (2, 1000), (3, 200), (5, 50))
PARTITION_LIMIT_S = 120.0
TURNS_S = 10.0  # who took less together takes another turn
MOST_TURNS = 5
FEW = 20


def large_problem(shared: Path, num: int, *, has_prior: bool = False) -> vr.Problem:
    """Many candidates on the largest map of the paper."""
    domain = read_map(shared / "maps" / "dao" / "lak510d.map")
    candidates = vr.draw_candidates(domain, START, GOAL, num, seed=1)
    return vr.Problem(domain, [vr.Trip(START, GOAL)], candidates, prior=zipf(num, 1) if has_prior else None)


def solve_timed(problem: vr.Problem, privacy: vr.Privacy, limit_s: float | None = None) -> tuple[vr.Playbook, float]:
    """A playbook, and the seconds that the processor worked for it."""
    began = time.process_time()
    book = vr.solve(problem, privacy, time_limit_s=limit_s)
    return book, time.process_time() - began


def describe(book: vr.Playbook, seconds: float) -> str:
    gap = "" if book.gap is None else f" gap {book.gap:.2%}"
    return f"{book.status} {seconds:.2f} s{gap} expected MAC {book.claims.expected_mac or 0:.4f}"


def compare_mechanisms(shared: Path) -> Iterator[bool]:
    """Randomised against partition; whether the first is proved, and takes no longer."""
    print("\nRandomised against the optimal partition, seconds of the processor")
    for k, num in SIZES:
        problem = large_problem(shared, num)
        plans = {vr.Privacy(k, mechanism="randomised"): None, vr.Privacy(k): PARTITION_LIMIT_S}
        runs: dict[vr.Privacy, list[tuple[vr.Playbook, float]]] = {privacy: [] for privacy in plans}
        for privacy in plans:
            vr.solve(large_problem(shared, FEW), privacy)  # loads and compiles
        for _ in range(MOST_TURNS):
            for privacy, limit_s in plans.items():
                runs[privacy].append(solve_timed(problem, privacy, limit_s))
            if sum(seconds for done in runs.values() for _, seconds in done) > TURNS_S:
                break
        (book, seconds), (other, other_s) = ((done[0][0], min(each_s for _, each_s in done)) for done in runs.values())
        keeps = book.status == "optimal" and seconds <= other_s
        routes = f"{len(book.hidden_classes)} routes"
        verdict = f"ratio {seconds / other_s:.2f}: {'kept' if keeps else 'NOT KEPT'}"
        print(f"  k={k}, {num} candidates: randomised {describe(book, seconds)}, {routes};", end=" ")
        print(f"partition {describe(other, other_s)}; {verdict}", flush=True)
        yield keeps


def check_partitions(shared: Path) -> Iterator[bool]:
    """Partitions under a Zipf prior: whether they are proved, or within a gap in time."""
    print("\nPartitions under a Zipf prior, risk 0.5")
    privacy = vr.Privacy(risk=0.5)
    done = [solve_timed(problem, privacy) for problem in paper_problems(shared, 16, has_prior=True)]
    num_proved = sum(book.status == "optimal" for book, _ in done)
    slowest = max(seconds for _, seconds in done)
    print(
        f"  16 candidates: {num_proved} of {len(done)} of the paper's instances proved, slowest {slowest:.2f} s",
        flush=True,
    )
    yield num_proved == len(done)
    for num, most in ((50, 0.01), (200, 0.05)):
        book, seconds = solve_timed(large_problem(shared, num, has_prior=True), privacy, 60.0)
        keeps = book.gap is not None and book.gap <= most
        verdict = "kept" if keeps else "NOT KEPT"
        print(f"  {num} candidates, at most 60 s: {describe(book, seconds)}, limit {most:.0%}: {verdict}", flush=True)
        yield keeps


AREA_LIMIT_S = 60.0
AREA_TURNS = 5
AREA_ROUNDS = 3


def area_families(shared: Path) -> Iterator[tuple[str, list[vr.Problem], dict[str, Any]]]:
    """Problems with places that are close to each other, under a name, and the privacy wanted."""
    rooms = []
    for seed in range(10):
        domain = vr.generate_rooms(36, 64, seed=seed)
        start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
        places = vr.draw_candidates(domain, start, goal, NUM_CANDIDATES, seed=seed)
        rooms.append(vr.Problem(domain, [vr.Trip(start, goal)], places))
    for risk, ell in ((0.5, 8), (0.5, 16), (1 / 3, 16)):
        for mechanism in ("partition", "randomised"):
            wanted = {"risk": risk, "ell": ell, "mechanism": mechanism}
            yield f"10 buildings, 12 places, risk {risk:.2g}, ell {ell}, {mechanism}", rooms, wanted
    for num, ell in ((8, 10), (16, 10)):
        problems = paper_problems(shared, num, has_prior=True)[:10]
        yield f"10 of the paper's, {num} places, Zipf, risk 0.5, ell {ell}", problems, {"risk": 0.5, "ell": ell}
    for num, ell in ((50, 1), (30, 10), (30, 20)):
        large = [large_problem(shared, num, has_prior=True)]
        yield f"lak510d, {num} places, Zipf, risk 0.5, ell {ell}", large, {"risk": 0.5, "ell": ell}
    cities = []
    for seed in range(3):
        city = vr.generate_streets(20, 20, seed=seed)
        cities.append(vr.Problem(city, [vr.Trip(0, 0)], vr.draw_candidates(city, 0, 0, 20, seed=seed)))
    for mechanism in ("partition", "randomised"):
        wanted = {"risk": 0.5, "ell": 500, "mechanism": mechanism}
        yield f"3 cities, 20 places, risk 0.5, ell 500 m, {mechanism}", cities, wanted


def plan_areas(shared: Path) -> list[dict[str, Any]]:
    """Every plan of :func:`area_families`: what it hides and costs, and the seconds of the processor, the least of
    some turns if these take less than a second."""
    rows = []
    for name, problems, wanted in area_families(shared):
        vr.solve(problems[0], vr.Privacy(**wanted), time_limit_s=AREA_LIMIT_S)  # loads and compiles
        for problem in problems:
            runs: list[tuple[Any, float]] = []
            while len(runs) < AREA_TURNS and sum(seconds for _, seconds in runs) < 1:
                runs.append(solve_timed(problem, vr.Privacy(**wanted), AREA_LIMIT_S))
            book, seconds = runs[0][0], min(each for _, each in runs)
            claims = book.claims
            figures = {"hidden": claims.hidden_mass, "mac": claims.expected_mac, "status": book.status}
            rows.append({"family": name, "seconds": seconds, **figures})
    return rows


def compare_areas(shared: Path, python: str) -> bool:
    """Print the table; whether no plan of this version is worse."""
    runs: dict[str, list[list[dict[str, Any]]]] = {python: [], sys.executable: []}
    for _ in range(AREA_ROUNDS):
        for interpreter, done in runs.items():
            command = [interpreter, __file__, "--shared", str(shared), "--write-areas"]
            done.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    other, own = (
        [min(turns, key=lambda turn: turn["seconds"]) for turns in zip(*done, strict=True)] for done in runs.values()
    )
    rows = [["plans", "hidden", "expected MAC", "proved", "time"]]
    num_worse = 0
    families: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for old, new in zip(other, own, strict=True):
        families.setdefault(new["family"], []).append((old, new))
        ranks = [(round(each["hidden"], 9), -round(each["mac"] or 0.0, 9)) for each in (old, new)]
        num_worse += ranks[1] < ranks[0]
    for name, pairs in families.items():
        hidden, macs, proved, seconds = (
            [[each[key] for each in side] for side in zip(*pairs, strict=True)]
            for key in ("hidden", "mac", "status", "seconds")
        )
        rows.append(
            [
                name,
                " -> ".join(f"{statistics.fmean(side):.1%}" for side in hidden),
                " -> ".join(f"{statistics.fmean(mac or 0.0 for mac in side):.4f}" for side in macs),
                " -> ".join(str(sum(status != "feasible" for status in side)) for side in proved),
                f"x {sum(seconds[1]) / sum(seconds[0]):.2f} ({sum(seconds[0]):.2f} s)",
            ]
        )
    print("\n".join(simple_table(rows)))
    pairs = [pair for family in families.values() for pair in family]
    total = [sum(pair[side]["seconds"] for pair in pairs) for side in range(2)]
    print(
        f"plans of this version that are worse: {num_worse}; time of the processor in all: x {total[1] / total[0]:.2f}"
    )
    return num_worse == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linked", action="store_true", help="twenty days of linked and of independent trips")
    parser.add_argument("--tables", action="store_true", help="what hiding costs on the paper's instances")
    parser.add_argument("--speed", action="store_true", help="how long plans take, and how far they are proved")
    parser.add_argument("--areas", metavar="PYTHON", help="plans beside those of the version that this interpreter has")
    parser.add_argument("--shared", type=Path, help="folder with instances/paper.jsonl and maps/")
    parser.add_argument("--write-areas", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write_areas:
        print(json.dumps(plan_areas(options.shared)))
        return 0
    if not (options.linked or options.tables or options.speed or options.areas):
        parser.error("name a table: --linked, --tables, --speed or --areas")
    if (options.tables or options.speed or options.areas) and options.shared is None:
        parser.error("--tables, --speed and --areas need --shared")
    is_good = True
    if options.linked:
        headings = ("One secret on all days", "Each day a secret of its own")
        for heading, lines in zip(headings, linked_tables(), strict=True):
            print("\n".join([heading, "", *lines, ""]))
    if options.tables:
        is_good &= check_tables(options.shared)
    if options.areas:
        is_good &= compare_areas(options.shared, options.areas)
    if options.speed:
        is_good &= all([*compare_mechanisms(options.shared), *check_partitions(options.shared)])
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
