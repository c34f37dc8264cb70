"""Solve the paper's instances and compare with optima from an independent oracle.

    python benchmarks/check_paper_optima.py --shared ../shared

Solves every row of instances/paper.jsonl for every `optimum` entry, finite m included, and prints `N of N agree`:
equal numbers of anonymized candidates, MAC within 1e-6, status optimal. Exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import veilroute as vr
from paper_instances import optimum_cases

TOLERANCE = 1e-6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="folder with instances/paper.jsonl and maps/")
    shared = parser.parse_args().shared
    agree: Counter[str] = Counter()
    total: Counter[str] = Counter()
    slowest = 0.0
    for row, entry, problem, privacy in optimum_cases(shared):
        began = time.perf_counter()
        playbook = vr.solve(problem, privacy)
        slowest = max(slowest, time.perf_counter() - began) if total else 0.0
        kind = f"k={entry['k']} ell={entry['ell']} radius={entry['radius']} {entry['spread']}"
        kind += "" if entry["m"] is None else " finite m"
        total[kind] += 1
        found = (playbook.claims.num_coverable, playbook.claims.num_anonymized)
        same_count = found == (entry["coverable"], entry["anonymized"])
        mac = playbook.mac if playbook.mac is not None else float("nan")
        if same_count and abs(mac - entry["mac"]) <= TOLERANCE and playbook.status == "optimal":
            agree[kind] += 1
        else:
            expected = (entry["coverable"], entry["anonymized"], entry["mac"])
            print(f"DIFFERS {row['map']} seed {row['seed']}, {row['num_candidates']} candidates, {kind}:")
            print(f"  expected {expected}, got {(*found, mac)}, {playbook.status}")
    for kind in sorted(total):
        print(f"{kind:48} {agree[kind]:4} of {total[kind]}")
    print(f"slowest solve after the first: {slowest:.3f} s")
    print(f"{agree.total()} of {total.total()} agree")
    return 0 if agree == total and total else 1


if __name__ == "__main__":
    sys.exit(main())
