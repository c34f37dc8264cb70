"""Goal obfuscation: how long the goal of a trip stays hidden from observers, and what that costs.

    python docs/examples/goal_obfuscation/goal_obfuscation.py --maps DIR --pairs 5

``DIR`` holds the paper's maps; without ``--maps`` they are taken from the cache of ``veilroute maps``, and generated
maps are used if none are there. The candidates of each instance are the goals, all equally probable. Compared are

- the cheapest path to each goal, which hides nothing;
- two strategies of Masters and Sardina ("Deceptive path-planning", IJCAI 2017). *Simulation* goes to a bogus goal, and
  from there to the real one. *Dissimulation* goes by the last deceptive point: from there on, goal recognition prefers
  the real goal. It is on a cheapest path from the bogus goal to the real one, at a distance of (d(bogus, real) +
  d(start, real) - d(start, bogus)) / 2 from the real goal; the bogus goal is the one for which that is least;
- our optimal plans: at least k goals share the first m nodes.

Two observers watch each trip. One does goal recognition by cost difference and knows only the map. The other knows
the strategy too, that is the route to each goal, and applies Bayes' rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np

import veilroute as vr
from veilroute.analysis import WatchReport, watch_by_fraction, watch_playbook
from veilroute.bench import Table, find_terrain
from veilroute.bench.table import counted
from veilroute.domain import Label

END = "end"
OBSERVERS = ("goal-recognition", "bayesian")
FRACTIONS = (0.25, 0.5, 0.75)
RATIOS = (0.25, 0.5, 0.75)  # m over the mean number of nodes of a cheapest path
SIZES = (2, 4)


def with_stops(domain: vr.Domain, start: Label, goals: Sequence[Label]) -> vr.Problem:
    """The problem of hiding which of the goals a trip has.

    Every goal gets an edge of cost 0 to a node ``("stop", goal)`` for stopping there, and that one to the end of the
    trip. These stops are the candidates. No way leads back from them: a trip that passes a goal has not stopped there.
    """
    tails, heads, costs = domain.edge_arrays()
    at = [domain.node(goal) for goal in goals]
    stops = list(range(domain.num_nodes, domain.num_nodes + len(goals)))
    end = domain.num_nodes + len(goals)
    labels = [*(domain.label(node) for node in range(domain.num_nodes)), *(("stop", goal) for goal in goals), END]
    joined = vr.Domain.from_edges(
        end + 1,
        np.concatenate((tails, at, stops)),
        np.concatenate((heads, stops, [end] * len(stops))),
        np.concatenate((costs, np.zeros(2 * len(stops), dtype=costs.dtype))),
        labels=labels,
    )
    return vr.Problem(joined, [vr.Trip(start, END)], [("stop", goal) for goal in goals])


class Paths:
    """Cheapest paths on the map, kept from one question to the next."""

    def __init__(self, domain: vr.Domain) -> None:
        self.domain = domain
        self._found: dict[tuple[Label, Label], vr.Cover] = {}

    def between(self, start: Label, goal: Label) -> vr.Cover:
        """A cheapest path, the same one each time."""
        if (start, goal) not in self._found:
            self._found[start, goal] = vr.cover(vr.Problem(self.domain, [vr.Trip(start, goal)], [goal]), [])
        return self._found[start, goal]

    def step(self, here: Label, there: Label) -> float:
        """What the edge between two neighbours costs."""
        row = slice(*self.domain.indptr[self.domain.node(here) :][:2])
        return float(self.domain.costs[row][self.domain.indices[row] == self.domain.node(there)][0])


def cheapest(paths: Paths, start: Label, goal: Label, goals: Sequence[Label]) -> list[Label]:
    """No obfuscation."""
    return list(paths.between(start, goal).walk)


def simulation(paths: Paths, start: Label, goal: Label, goals: Sequence[Label]) -> list[Label]:
    """Show the false: to the bogus goal, and from there to the real one."""
    bogus, _ = choose_bogus(paths, start, goal, goals)
    return [*paths.between(start, bogus).walk, *paths.between(bogus, goal).walk[1:]]


def dissimulation(paths: Paths, start: Label, goal: Label, goals: Sequence[Label]) -> list[Label]:
    """Hide the real: straight to the last deceptive point, and from there to the real goal."""
    bogus, radius = choose_bogus(paths, start, goal, goals)
    onwards = paths.between(bogus, goal)
    left, last = onwards.cost, 0
    for number, (here, there) in enumerate(pairwise(onwards.walk), start=1):
        left -= paths.step(here, there)
        if left < radius:
            break
        last = number
    return [*paths.between(start, onwards.walk[last]).walk, *onwards.walk[last + 1 :]]


def choose_bogus(paths: Paths, start: Label, goal: Label, goals: Sequence[Label]) -> tuple[Label, float]:
    """The bogus goal whose last deceptive point is nearest to the real goal, and how near; of several the first."""

    def radius(bogus: Label) -> float:
        return (
            paths.between(bogus, goal).cost + paths.between(start, goal).cost - paths.between(start, bogus).cost
        ) / 2

    bogus = min((other for other in goals if other != goal), key=radius)
    return bogus, radius(bogus)


Strategy = Callable[[Paths, Label, Label, Sequence[Label]], list[Label]]
STRATEGIES: dict[str, Strategy] = {
    "cheapest paths": cheapest, "simulation": simulation, "dissimulation": dissimulation
}  # fmt: skip


def follow(strategy: Strategy, problem: vr.Problem, paths: Paths, goals: Sequence[Label]) -> vr.Playbook:
    """A strategy as a playbook: the route that it takes to each goal. It hides nothing by itself (k = 1)."""
    start = problem.trips[0].start
    classes = [
        {"members": [("stop", goal)], "route": [*strategy(paths, start, goal, goals), ("stop", goal), END]}
        for goal in goals
    ]
    return vr.playbook_from_classes(problem, vr.Privacy(k=1), classes)


def compare(
    domain: vr.Domain, start: Label, goals: Sequence[Label]
) -> Iterator[tuple[float, int, dict[str, vr.Playbook]]]:
    """What is compared on one instance, for each m: m as a ratio and in nodes, and playbooks by name."""
    problem, paths = with_stops(domain, start, goals), Paths(domain)
    followed = {name: follow(strategy, problem, paths, goals) for name, strategy in STRATEGIES.items()}
    plain = followed["cheapest paths"]
    num_nodes = fmean(len(group.routes[0]) - 2 for group in plain.classes)  # without the stop and the end
    for ratio in RATIOS:
        m = max(1, round(ratio * num_nodes))
        ours = {f"ours, k = {k}": vr.solve(problem, vr.Privacy(k=k, m=m)) for k in SIZES}
        yield ratio, m, followed | ours


AFTER = ("m", "strategy", "extra cost", "recognition", "Bayes", "worst posterior")
AFTER_NOTE = (
    "Means over the instances, all goals equally probable. m: in mean cheapest paths to a goal. Extra cost: the MAC, "
    "how much longer routes are than the cheapest path to the goal. Then how often an observer names the goal after m "
    "nodes, by goal recognition from the map and by Bayes' rule from the strategy, and how sure of a goal Bayes' rule "
    "then is at worst."
)
PARTS = ("m", "strategy", *(f"{who} {part:.0%}" for who in ("recog.", "Bayes") for part in FRACTIONS))
PARTS_NOTE = (
    "How often an observer who has seen this part of each route names the goal. At the end all goals are known."
)


def success_after(watched: WatchReport, m: int) -> float:
    """How often the guess is right after m nodes, or when all trips have ended before."""
    return watched.over_time[min(m, len(watched.over_time)) - 1].success


def main() -> None:
    """Run the comparison, and print its two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=Path, help="folder with the paper's maps")
    parser.add_argument("--map", action="append", default=[], help="one of these maps, or a generated one: rooms-2")
    parser.add_argument("--pairs", type=int, default=1, help="how many starts with goals on each map")
    parser.add_argument("--goals", type=int, default=8)
    asked = parser.parse_args()
    terrain = find_terrain(num_pairs=asked.pairs, map_names=asked.map, directory=asked.maps)
    print(f"{counted(len(terrain.instances), 'instance')} with {asked.goals} goals; {terrain.remark}\n")
    after: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    parts: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    num_left_out = 0
    for at in terrain.instances:
        domain, goals = terrain.domains[at.map_name], at.candidates[: asked.goals]
        for ratio, m, playbooks in compare(domain, at.start, goals):
            if any(playbook.claims.num_anonymized < len(goals) for playbook in playbooks.values()):
                num_left_out += 1  # the planner keeps tables of m layers, which have a limit
                continue
            for name, playbook in playbooks.items():
                guesses = (success_after(watch_playbook(playbook, who), m) for who in OBSERVERS)
                steps = vr.risk(playbook).over_time
                worst = steps[min(m, len(steps)) - 1].worst
                after.setdefault((f"{ratio:g}", name), []).append((playbook.mac or 0.0, *guesses, worst or 0.0))
                row = (f"{ratio:g}" if playbook.privacy.m else "any", name)
                by_part = [chance for who in OBSERVERS for chance in watch_by_fraction(playbook, FRACTIONS, who)]
                parts.setdefault(row, []).append(tuple(by_part))
    for title, columns, found, note in (
        ("Goal obfuscation: how often an observer names the goal after m nodes", AFTER, after, AFTER_NOTE),
        ("Goal obfuscation: how often an observer names the goal after a part of the route", PARTS, parts, PARTS_NOTE),
    ):
        rows: list[tuple[str | float, ...]] = [
            (*names, *map(fmean, zip(*figures, strict=True))) for names, figures in found.items()
        ]
        print(Table("goals", title, columns, tuple(rows), (note,)).to_text())
    if num_left_out:
        print(f"Left out: {num_left_out} times an instance and an m for which our planner has no room.")


if __name__ == "__main__":
    main()
