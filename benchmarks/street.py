"""What a simulated observer on the street achieves beside what is printed, over random scenarios of every feature.

    python benchmarks/street.py
    python benchmarks/street.py --scenarios 10 --feature "linked days, expected" --show 5

Each scenario plans something small, and the observer asks the program what it would do for every secret
(``veilroute.auditing.street``). Exits with 1 when a printed figure is exceeded. Everything is drawn with fixed seeds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import veilroute
from street_observer import FEATURES, run_scenario

SCENARIOS = 40


def main() -> int:
    """Run the scenarios and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=SCENARIOS, help="how many of each feature")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--feature", action="append", choices=sorted(FEATURES), help="only these")
    parser.add_argument("--show", type=int, default=0, help="so many of the figures that are exceeded, per feature")
    given = parser.parse_args()
    print(f"veilroute from {Path(veilroute.__file__).parent}")
    heads = ("feature", "scenarios", "compared", "exceeded", "in", "worst excess", "seconds")
    print(_row(*heads))
    totals: Counter[str] = Counter()
    for feature in given.feature or FEATURES:
        started, counts, exceeded, worst = time.perf_counter(), Counter[str](), list[tuple[int, Any]](), 0.0
        for seed in range(given.first, given.first + given.scenarios):
            rows = run_scenario(feature, seed)
            bad = [(seed, row) for row in rows if row.is_exceeded]
            # Without rows nothing could be planned: this is no scenario.
            counts.update({"scenarios": bool(rows), "compared": len(rows), "exceeded": len(bad), "in": bool(bad)})
            worst = max([worst, *(row.excess for _, row in bad)])
            exceeded += bad
        totals.update(counts)
        numbers = [counts[head] for head in heads[1:5]]
        seconds = time.perf_counter() - started
        print(_row(feature, *numbers, f"{worst:.3g}", f"{seconds:.1f}"), flush=True)
        kinds = Counter((row.about, row.figure) for _, row in exceeded)
        for (about, figure), count in kinds.items() if given.show else ():
            print(f"    {about}, {figure}: {count}")
        for seed, row in exceeded[: given.show]:
            said = f"{row.figure} printed {row.printed:.6g}, achieved {row.achieved:.6g}"
            print(f"      seed {seed}: {row.about} {row.where}: {said}")
    print(_row("all", *(totals[head] for head in heads[1:5]), "", ""))
    return 1 if totals["exceeded"] else 0


def _row(feature: object, *cells: object) -> str:
    return f"{feature!s:26} " + " ".join(f"{cell!s:>12}" for cell in cells)


if __name__ == "__main__":
    raise SystemExit(main())
