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


def print_tables(gaps):
    """A row for each k and number of candidates: mean gap with how often the optimum was met, and CPU seconds."""
    shown = {"mean gap to the optimum [%] (optimum met)": show_gap, "mean processor time [s]": show_cpu}
    for title, show in shown.items():
        print(f"{title}\n\nk  candidates  instances  proved" + "".join(f"{name:>16}" for name in NAMES))
        for k, num in dict.fromkeys((k, num) for k, num, _ in gaps):
            first = gaps[k, num, "optimal"]
            proved = sum(is_proved for _, is_proved, _ in first)
            row = "".join(f"{show(gaps.get((k, num, name), [])):>16}" for name in NAMES)
            print(f"{k}  {num:10,}  {len(first):9}  {proved:6}{row}")
        print()


def show_gap(found):
    """The mean, with ≤ where some gaps are to a lower bound; in brackets on how many instances it is 0."""
    compared = [gap for gap, _, _ in found if gap is not None]
    if not compared or len(compared) < len(found):
        return "hides fewer"
    is_open = not all(is_proved for _, is_proved, _ in found)
    met = sum(is_proved and gap <= SAME for gap, is_proved, _ in found)
    return f"{'≤ ' * is_open}{100 * fmean(compared):.2f} ({met})"


def show_cpu(found):
    return f"{fmean(cpu_s for _, _, cpu_s in found):.3f}" if found else "-"


def draw(gaps, path):
    ks, sizes = (sorted({key[at] for key in gaps}) for at in (0, 1))
    figure, axes = plt.subplots(1, len(ks), figsize=(5 * len(ks), 3.6), sharex=True, sharey=True, squeeze=False)
    for k, ax in zip(ks, axes[0], strict=True):
        for name, marker in zip(NAMES[1:], "osv^D", strict=True):
            points = [
                (num, 100 * fmean(compared))
                for (at, num, method), found in gaps.items()
                if (at, method) == (k, name) and (compared := [gap for gap, _, _ in found if gap is not None])
            ]
            ax.plot(*zip(*points, strict=True), marker=marker, label=name)
        ax.set(xscale="log", xlabel="candidates", title=f"k = {k}", ylim=(-0.003, 300))
        ax.set_xticks(sizes, labels=[f"{num:,}" for num in sizes])
        ax.minorticks_off()
        ax.set_yscale("symlog", linthresh=0.01)
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("mean gap to the optimum [%]")
    axes[0][-1].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    found = read_gaps(sys.argv[1])
    print_tables(found)
    draw(found, Path(sys.argv[1]) / "gaps.png")
