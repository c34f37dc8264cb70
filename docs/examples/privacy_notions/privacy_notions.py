"""What each notion of privacy costs on the same instances, and how often observers guess right all the same.

    python docs/examples/privacy_notions/privacy_notions.py --maps DIR --pairs 5 --out notions

``DIR`` holds the paper's maps; without ``--maps`` they are taken from the cache of ``veilroute maps``, and generated
maps are used if none are there. The notions: k-anonymity, a bound on the risk (by a partition and by drawing) and
geo-indistinguishability (Andres, Bordenabe, Chatzikokolakis and Palamidessi, CCS 2013), the latter in three forms:

- *one tour*: the strict form, by which a route may be at most exp(eps d(t, u)) times as probable for the secret t as
  for any other place u. As every route passes its secret, all routes that are possible pass every place.
- *reported dummy*: what is done in practice. A place is drawn for the secret by a mechanism that is
  geo-indistinguishable, and the route passes the secret and that place. The drawn place keeps the promise; the route
  does not.
- *within classes*: a class of at least k places is drawn. Each member's chance to draw it is at most exp(eps d(t, u))
  times that of any other member.

Distances are measured in units of the mean distance between two places of the instance, so that eps means the same on
all maps. The success of the observers is worked out exactly from the routes and their probabilities.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean, stdev

import highspy

import veilroute as vr
from veilroute.analysis import watch_by_fraction
from veilroute.base.io import write_file
from veilroute.bench import Table, find_terrain
from veilroute.bench.table import counted
from veilroute.domain import Label

OBSERVERS = ("bayesian", "goal-recognition")
NO_BOUND = vr.Privacy(risk=1 - 1e-6, mechanism="randomised")  # for draws that promise nothing about the whole route
SIZES = (2, 3, 4)
RISKS = (0.5, 0.4, 1 / 3)
REPORT_EPS = (0.0, 1.0, 2.0, 4.0, 8.0)
CLASS_EPS = (0.0, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Geography:
    """The places of a problem with one trip: how far apart they are, and what walks past some of them cost."""

    problem: vr.Problem

    @cached_property
    def walks(self) -> dict[frozenset[Label], vr.Cover]:
        """The walks that were asked for so far."""
        return {}

    def walk(self, places: Sequence[Label]) -> vr.Cover:
        """The cheapest walk past some places."""
        key = frozenset(places)
        if key not in self.walks:
            self.walks[key] = vr.cover(self.problem, places)
        return self.walks[key]

    @cached_property
    def distances(self) -> dict[tuple[Label, Label], float]:
        """From place to place, the mean of both directions, in units of the mean over all pairs.

        The mean of both directions is a metric, which geo-indistinguishability asks for, even on one-way streets.
        """
        places, domain = self.problem.candidates, self.problem.domain
        ways = {
            (a, b): vr.cover(vr.Problem(domain, [vr.Trip(a, b)], places), []).cost for a, b in permutations(places, 2)
        }
        mean = fmean(ways.values()) or 1.0
        return {(a, b): (ways[a, b] + ways[b, a]) / (2 * mean) for a, b in ways} | {(a, a): 0.0 for a in places}


def one_tour(geography: Geography) -> vr.Playbook:
    """Strict geo-indistinguishability, whatever eps is: the cheapest walk past all places, for every secret."""
    places = geography.problem.candidates
    route = geography.walk(places).walk
    return vr.playbook_from_classes(
        geography.problem, vr.Privacy(k=len(places)), [{"members": list(places), "route": list(route)}]
    )


def reported_dummy(geography: Geography, eps: float) -> vr.Playbook:
    """Pass the secret and a place that is drawn for it by the exponential mechanism, which may be the secret itself.

    The mechanism draws a place in proportion to exp(-eps / 2 * distance). Between two secrets each of these weights and
    their sum differ by a factor of at most exp(eps / 2 * distance), so what is drawn is geo-indistinguishable at eps.
    """
    problem, far = geography.problem, geography.distances
    places, prior = problem.candidates, _prior(problem)
    chance: dict[tuple[Label, Label], float] = {}
    for t in places:
        weights = {u: math.exp(-eps / 2 * far[t, u]) for u in places}
        chance |= {(t, u): prior[t] * weight / math.fsum(weights.values()) for u, weight in weights.items()}
    classes = [_drawn(geography, {t: chance[t, t]}) for t in places]
    classes += [_drawn(geography, {t: chance[t, u], u: chance[u, t]}) for t, u in combinations(places, 2)]
    return vr.playbook_from_classes(problem, NO_BOUND, classes)


def within_classes(geography: Geography, eps: float, k: int = 2) -> vr.Playbook:
    """The cheapest draws of classes of at least k places that are geo-indistinguishable at eps within each class.

    A linear programme: ``share[c, t]`` is how probable it is that t is the secret and class c is drawn. Classes of k to
    2k - 1 places are enough, because both halves of a larger one keep its shares and cost no more.
    """
    problem, far = geography.problem, geography.distances
    places, prior = problem.candidates, _prior(problem)
    classes = [group for size in range(k, 2 * k) for group in combinations(places, size)]
    alone = {t: geography.walk([t]).cost for t in places}
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    share = {
        (c, t): solver.addVariable(lb=0, obj=prior[t] * (geography.walk(group).cost / alone[t] - 1))
        for c, group in enumerate(classes)
        for t in group
    }
    # The variables are chances given the secret, so that rare places are no smaller numbers than others.
    for t in places:
        solver.addConstr(sum(share[c, t] for c, group in enumerate(classes) if t in group) == 1)
    for c, group in enumerate(classes):
        for t, u in permutations(group, 2):
            solver.addConstr(share[c, t] <= math.exp(eps * far[t, u]) * share[c, u])
    solver.minimize()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise vr.VeilrouteError("the linear programme of the classes was not solved")
    found = {key: max(0.0, solver.val(variable)) * prior[key[1]] for key, variable in share.items()}
    drawn = [{t: found[c, t] for t in group} for c, group in enumerate(classes)]
    return vr.playbook_from_classes(
        problem, NO_BOUND, [_drawn(geography, each) for each in drawn if any(each.values())]
    )


def _prior(problem: vr.Problem) -> dict[Label, float]:
    """How probable each place is, summing to 1."""
    weights = problem.prior or [1.0] * len(problem.candidates)
    return {place: weight / math.fsum(weights) for place, weight in zip(problem.candidates, weights, strict=True)}


def _drawn(geography: Geography, shares: dict[Label, float]) -> dict[str, object]:
    """A class with its cheapest walk, for :func:`veilroute.playbook_from_classes`."""
    route = geography.walk(list(shares)).walk
    return {"members": list(shares), "route": list(route), "shares": list(shares.values())}


@dataclass(frozen=True)
class Notion:
    """A playbook that keeps a notion of privacy, and the worst posterior that the notion promises, if it does."""

    name: str
    parameter: str
    playbook: vr.Playbook
    promised: float | None = None

    @cached_property
    def figures(self) -> tuple[float | None, ...]:
        """What a row of the table shows, for one instance."""
        claims = self.playbook.claims
        if not claims.num_anonymized:
            return (None, 0.0, self.promised, *[None] * (1 + 2 * len(OBSERVERS)))
        worst = vr.risk(self.playbook).over_time[-1].worst
        guesses = (chance for who in OBSERVERS for chance in watch_by_fraction(self.playbook, (0.5, 1.0), who))
        return (claims.expected_mac, claims.hidden_mass, self.promised, worst, *guesses)


def notions(problem: vr.Problem) -> Iterator[Notion]:
    """Every notion on one problem, whose prior counts."""
    geography, prior = Geography(problem), _prior(problem)
    is_uniform = max(prior.values()) == min(prior.values())
    yield Notion("none: the cheapest route", "-", vr.solve(problem, vr.Privacy(k=1)))
    half = max(1, round(len(vr.cover(problem, []).walk) / 2))
    yield Notion("k, for half a shortest path", "k = 2", vr.solve(problem, vr.Privacy(k=2, m=half)))
    for k in SIZES:
        # k promises a posterior only if all members are equally probable.
        yield Notion("k", f"k = {k}", vr.solve(problem, vr.Privacy(k=k)), 1 / k if is_uniform else None)
    for name, mechanism in (("risk, partition", "partition"), ("risk, randomised", "randomised")):
        for risk in RISKS:
            privacy = vr.Privacy(risk=risk, mechanism=mechanism)
            yield Notion(name, f"at most {risk:.3g}", vr.solve(problem, privacy), risk)
    yield Notion("geo, one tour", "any eps", one_tour(geography), max(prior.values()))
    for eps in REPORT_EPS:
        yield Notion("geo, reported dummy", f"eps = {eps:g}", reported_dummy(geography, eps))
    for eps in CLASS_EPS:
        yield Notion("geo, within classes of 2", f"eps = {eps:g}", within_classes(geography, eps))


COLUMNS = (
    "notion", "parameter", "expected MAC", "±", "hidden", "promised", "worst posterior", "Bayes halfway",
    "Bayes at end", "goal recog. halfway", "goal recog. at end",
)  # fmt: skip
NOTE = (
    "Means over the instances; ± is half of a 95 % interval of the mean (1.96 standard errors). Hidden: how probable "
    "it is that the secret gets a route. Promised, worst posterior: how sure an observer of a whole route can be of a "
    "place, as the notion bounds it, and by the routes of the worst instance. Then how often the best guess is right "
    "on the trips that have a route, when half of its nodes have been seen and when it has ended: of an observer who "
    "knows the playbook and the prior (Bayes), and of one who knows the map and the prior (goal recognition). The unit "
    "of 1 / eps is the mean distance between two places. Instances on which no place can be hidden count for no mean "
    "but that of hidden."
)


def tabulate(rows: Sequence[Notion], name: str, title: str) -> Table:
    """A row for each notion and parameter, in the order in which they first come."""
    groups: dict[tuple[str, str], list[tuple[float | None, ...]]] = {}
    for notion in rows:
        groups.setdefault((notion.name, notion.parameter), []).append(notion.figures)
    lines = []
    for names, figures in groups.items():
        macs, hidden, promised, worst, *guesses = (
            [value for value in values if value is not None] for values in zip(*figures, strict=True)
        )
        error = 1.96 * stdev(macs) / math.sqrt(len(macs)) if len(macs) > 1 else None
        means = [fmean(values) if values else None for values in (macs, *guesses)]
        bounds = (max(values, default=None) for values in (promised, worst))
        lines.append((*names, means[0], error, fmean(hidden), *bounds, *means[1:]))
    return Table(name, title, COLUMNS, tuple(lines), (NOTE,))


def main() -> None:
    """Run the study and print its tables, one for each prior."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=Path, help="folder with the paper's maps")
    parser.add_argument("--map", action="append", default=[], help="one of these maps, or a generated one: rooms-2")
    parser.add_argument("--pairs", type=int, default=1, help="how many starts and goals on each map")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--out", type=Path, help="folder for the tables, as CSV and LaTeX, and the figures by instance")
    asked = parser.parse_args()
    terrain = find_terrain(num_pairs=asked.pairs, map_names=asked.map, directory=asked.maps)
    print(f"{counted(len(terrain.instances), 'instance')} with {asked.candidates} places; {terrain.remark}\n")
    by_instance: list[tuple[str | int | float | None, ...]] = []
    for prior, power in (("uniform", 0.0), ("zipf", 1.0)):
        rows = []
        for at in terrain.instances:
            places = at.candidates[: asked.candidates]
            likely = [rank**-power for rank in range(1, len(places) + 1)]
            domain = terrain.domains[at.map_name]
            found = list(notions(vr.Problem(domain, [vr.Trip(at.start, at.goal)], places, prior=likely)))
            by_instance += [(prior, at.map_name, at.seed, each.name, each.parameter, *each.figures) for each in found]
            rows += found
        shape = "every place as probable" if prior == "uniform" else "a prior of 1, 1/2, 1/3, ... (Zipf)"
        table = tabulate(rows, f"notions-{prior}", f"What each notion of privacy costs: {shape}")
        print(table.to_text())
        if asked.out is not None:
            asked.out.mkdir(parents=True, exist_ok=True)
            write_file(asked.out / f"{table.name}.csv", table.to_csv())
            write_file(asked.out / f"{table.name}.tex", table.to_latex())
    if asked.out is not None:
        columns = ("prior", "map", "pair", *(each for each in COLUMNS if each != "±"))
        write_file(asked.out / "by-instance.csv", Table("by-instance", "", columns, tuple(by_instance)).to_csv())


if __name__ == "__main__":
    main()
