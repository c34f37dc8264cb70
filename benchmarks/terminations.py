"""Merge-BB's third termination by mean costs, as the paper's text has it, and by sums, as its authors' program does.

python benchmarks/terminations.py --shared ../shared

Runs the plain search of the tests (tests/paper_searches.py) both ways on the paper's instances with 8 candidates on its
three small maps, and prints how many partitions each visits and whether both find the same. Its measure is an amount of
work and no time, so it is the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

from paper_instances import build_problem, read_rows

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from paper_searches import Best, PlainSearch
from reference import World

MAPS = ("den101d", "den201d", "orz201d")


def visit(world: World, *, compares_sums: bool) -> Best:
    return PlainSearch(world, k=2, ell=1.0, compares_sums=compares_sums).run_merge_bb()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="folder with instances/paper.jsonl and maps/")
    shared = parser.parse_args().shared
    means, sums, num_same = [], [], 0
    for row in read_rows(shared):
        if len(row["candidates"]) != 8 or Path(row["map"]).stem not in MAPS:
            continue
        world = World(build_problem(shared, row, 0))
        by_means, by_sums = (visit(world, compares_sums=compares_sums) for compares_sums in (False, True))
        means.append(by_means.num_visited)
        sums.append(by_sums.num_visited)
        num_same += abs(by_means.cost - by_sums.cost) < 1e-9 and by_means.ap == by_sums.ap
        print(f"{Path(row['map']).stem:8}  by means {means[-1]:5d}  by sums {sums[-1]:5d}")
    print(
        f"{len(means)} instances: {fmean(means):.0f} by means, {fmean(sums):.0f} by sums; {num_same} with the same cost"
    )


if __name__ == "__main__":
    main()
