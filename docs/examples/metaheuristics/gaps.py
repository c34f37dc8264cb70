"""How far each method of the study is from the optimum: a table on the screen, and a figure beside the records.

python gaps.py FOLDER, the folder that `veilroute bench run study.toml --out FOLDER` has written.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import matplotlib.pyplot as plt

from veilroute.bench import read_records

SAME = 1e-9  # MACs of equal routes may differ by the order of adding up
NAMES = ("optimal", "local-search", "memetic", "vns", "annealing", "greedy")


def name_of(method):
    return next(name for name in NAMES if name in (method.planner, method.partitioner))


def read_gaps(folder):
    """By k, number of candidates and method: for each instance the gap, whether it is to an optimum, and CPU seconds.

    Where the optimum is not proved, the gap is to the proved lower bound, so it is at most that large.
    """
    records = [record for record in read_records(Path(folder) / "records.jsonl").values() if record.has_ended]
    optima = {
        (record.cell.instance_key, record.cell.setting): record.outcome
        for record in records
        if record.cell.method.planner == "optimal"
    }
    gaps = defaultdict(list)
    for record in records:
        best, own = optima.get((record.cell.instance_key, record.cell.setting)), record.outcome
        # MACs can be compared only if as many are hidden.
        if best is None or own.num_anonymized != best.num_anonymized or not best.mac_lower_bound:
            gap = None
        else:
            gap = max(0.0, own.mac / (best.mac if best.status == "optimal" else best.mac_lower_bound) - 1)
        is_proved = best is not None and best.status == "optimal"
        key = record.cell.k, record.cell.num_candidates, name_of(record.cell.method)
        gaps[key].append((gap, is_proved, own.cpu_s))
    return dict(sorted(gaps.items(), key=lambda item: (*item[0][:2], NAMES.index(item[0][2]))))


def print_table(gaps):
    print(" k  candidates  method        instances  proved  met  CPU [s]   mean gap  worst gap")
    for (k, num, name), found in gaps.items():
        compared = [gap for gap, _, _ in found if gap is not None]
        num_proved = sum(is_proved for _, is_proved, _ in found)
        met = sum(is_proved and gap is not None and gap <= SAME for gap, is_proved, _ in found)
        mark = " " if num_proved == len(found) else "≤"
        shown = f"{mark}{fmean(compared):8.2%}  {mark}{max(compared):8.2%}" if compared else f"{'-':>9}  {'-':>9}"
        if len(compared) < len(found):
            shown += f"  (on {len(compared)}: elsewhere it hides fewer)"
        cpu_s = fmean(seconds for _, _, seconds in found)
        print(f"{k:2}  {num:10,}  {name:12}  {len(found):9}  {num_proved:6}  {met:3}  {cpu_s:7.3f}  {shown}")


def draw(gaps, path):
    ks = sorted({k for k, _, _ in gaps})
    figure, axes = plt.subplots(1, len(ks), figsize=(5 * len(ks), 3.6), sharey=True, squeeze=False)
    for k, ax in zip(ks, axes[0], strict=True):
        for name, marker in zip(NAMES[1:], "osv^D", strict=True):
            points = [
                (num, 100 * fmean(compared))
                for (at, num, method), found in gaps.items()
                if (at, method) == (k, name) and (compared := [gap for gap, _, _ in found if gap is not None])
            ]
            ax.plot(*zip(*points, strict=True), marker=marker, label=name)
        ax.set(xscale="log", xlabel="candidates", title=f"k = {k}", ylim=(0.001, 200))
        ax.set_yscale("symlog", linthresh=0.01)
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("mean gap to the optimum [%]")
    axes[0][-1].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    found = read_gaps(sys.argv[1])
    print_table(found)
    draw(found, Path(sys.argv[1]) / "gaps.png")
