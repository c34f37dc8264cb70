"""What records of any experiment show: means with confidence intervals, rows for each map, paired tests, and how many
times as long one method takes as another.

Intervals are percentiles of the bootstrap over instances. Tests are of paired differences, by flipping signs: were the
two methods alike, the sign of each difference would be a coin's. All flips are tried for up to :data:`MAX_EXACT`
instances, else :data:`NUM_RESAMPLES` are drawn. Holm's correction counts all tests of a table. Whatever is drawn has
the seed :data:`SEED`, which the tables print.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from veilroute.bench.cells import EXTERNAL, Cell, Method, Outcome, Record
from veilroute.bench.design import Averages, Picture, Selection, mean
from veilroute.bench.paper import method_label
from veilroute.bench.table import Row, Table, Value, counted, format_apr, format_number, listed
from veilroute.domain.graph import Domain

SEED = 1
NUM_RESAMPLES = 2000
MAX_EXACT = 12
LEVEL = 0.95
_SAME_MAC = 1e-9  # how far MACs of the same routes may be off, by the order of adding up

_M_TEXT = "infinity"
#: The settings that an experiment may vary: how a table calls each, and what of a cell it is.
SETTINGS: Mapping[str, Callable[[Cell], Any]] = {
    "candidates": lambda cell: cell.num_candidates,
    "k": lambda cell: cell.k if cell.risk is None else None,
    "ell": lambda cell: cell.ell,
    "radius": lambda cell: cell.radius,
    "m / shortest path": lambda cell: cell.m_ratio,
    "m": lambda cell: cell.m,
    "risk": lambda cell: cell.risk,
    "mechanism": lambda cell: cell.mechanism,
    "spread": lambda cell: cell.spread,
    "reading": lambda cell: cell.reading,
    "time limit [s]": lambda cell: cell.time_limit_s,
}


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Where the mean of the values lies with 95 % confidence; ``None`` for fewer than two of them."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(SEED).integers(len(values), size=(NUM_RESAMPLES, len(values)))
    means = np.array(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high


def paired_p_value(differences: Sequence[float]) -> float:
    """How probable a mean as far from 0 is when each difference has either sign; 1 without any difference."""
    values = np.array(differences, dtype=np.float64)
    values[np.abs(values) < _SAME_MAC] = 0.0
    if not values.any():
        return 1.0
    far = abs(values.sum()) - 1e-12 * np.abs(values).sum()  # sums in another order differ by rounding
    if values.size <= MAX_EXACT:
        bits = np.arange(1 << values.size)[:, None] >> np.arange(values.size) & 1
        sums = np.where(bits, -1.0, 1.0) @ values
        return float(np.mean(np.abs(sums) >= far))
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(NUM_RESAMPLES, values.size))
    # The signs as they were count as one of the draws, so that no p value is 0.
    num_extreme = int(np.sum(np.abs(signs @ values) >= far))
    return (1 + num_extreme) / (1 + NUM_RESAMPLES)


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for so many tests."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = largest
    return corrected


def varied_settings(chosen: Selection) -> list[str]:
    """The settings that have more than one value among the records."""
    return [name for name, read in SETTINGS.items() if len({read(record.cell) for record in chosen.records}) > 1]


def by_setting(chosen: Selection, names: Sequence[str]) -> Iterator[tuple[tuple[Value, ...], Selection]]:
    """Each combination of the values of some settings that occurs, with its records, in order."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in chosen.records:
        groups.setdefault(tuple(SETTINGS[name](record.cell) for name in names), []).append(record)
    for values in sorted(groups, key=lambda values: [(value is None, value) for value in values]):
        shown = tuple(_shown(name, value) for name, value in zip(names, values, strict=True))
        yield shown, Selection(tuple(groups[values]), chosen.num_repeated, chosen.num_draws)


def _shown(name: str, value: Any) -> Value:
    if value is None:
        return _M_TEXT if name.startswith("m") else "-"
    return f"{value:g}" if isinstance(value, float) else value


def methods_of(chosen: Selection) -> tuple[Method, ...]:
    """The methods that have records, by name."""
    return tuple(sorted({record.cell.method for record in chosen.records}, key=lambda method: method.name))


def build_tables(chosen: Selection, *, name: str) -> list[Table]:
    """Means, rows for each map where there are several, tests, and times beside each other."""
    builders = {"means": build_means, "by-map": build_by_map, "paired": build_paired, "times": build_times}
    tables = [build(chosen, f"{name}-{kind}") for kind, build in builders.items()]
    return [table for table in tables if table is not None and table.rows]


def build_means(chosen: Selection, name: str) -> Table:
    """A row for each setting and method."""
    varied = varied_settings(chosen)
    rows: list[Row] = []
    bases = []
    for values, part in by_setting(chosen, varied):
        for method in methods_of(part):
            own = part.where(method=method)
            bases.append(own.averages.num_cells)
            rows.append((*values, method_label(method), *_figures(own.averages, [r.outcome for r in own.records])))
    columns = (*varied, "method", *_FIGURES)
    notes = [
        f"Interval: of the mean MAC, {LEVEL:.0%}, by the bootstrap over instances ({NUM_RESAMPLES} resamples, seed "
        f"{SEED}). Finished: came to its own end; ≥ where some were stopped by the clock. Expansions of A*, partitions "
        "looked at and covering searches where the method counts them. Memory of the work: the most that planning held "
        "beyond what its process held before; of a program of others, the most that its whole process held.",
    ]
    return _table(chosen, name, "Means over the instances", columns, rows, bases, notes)


_FIGURES = (
    "instances", "finished", "time [s]", "CPU [s]", "APR", "MAC", "interval", "expansions", "partitions", "searches",
    "memory of the work [MB]",
)  # fmt: skip


def _figures(averages: Averages, outcomes: Sequence[Outcome]) -> tuple[Value, ...]:
    def mean_of(name: str) -> float | None:
        return mean([value for outcome in outcomes if (value := getattr(outcome, name, None)) is not None])

    interval = bootstrap_interval([outcome.mac for outcome in outcomes if outcome.mac is not None])
    counts = [mean_of(name) for name in ("num_expansions", "num_partitions", "num_searches")]
    return (
        averages.num_cells, averages.of_finished(averages.num_finished), averages.time_text, averages.cpu_text,
        averages.apr_text, averages.mac, _interval_text(interval),
        *(None if count is None else f"{count:.0f}" for count in counts), mean_of("memory_mb"),
    )  # fmt: skip


def _interval_text(interval: tuple[float, float] | None) -> str | None:
    return None if interval is None else f"{format_number(interval[0])} to {format_number(interval[1])}"


def build_by_map(chosen: Selection, name: str) -> Table | None:
    """A row for each map, setting and method; ``None`` on one map."""
    maps = sorted({record.cell.instance.map_name for record in chosen.records})
    if len(maps) < 2:
        return None
    varied = varied_settings(chosen)
    rows: list[Row] = []
    bases = []
    for map_name in maps:
        on_map = tuple(record for record in chosen.records if record.cell.instance.map_name == map_name)
        for values, part in by_setting(Selection(on_map), varied):
            for method in methods_of(part):
                own = part.where(method=method).averages
                bases.append(own.num_cells)
                cpu = (own.cpu_text,) if chosen.has_programs else ()
                figures = (own.num_cells, own.of_finished(own.num_finished), own.time_text, *cpu, own.apr_text, own.mac)
                rows.append((map_name, *values, method_label(method), *figures))
    cpu_column = ("CPU [s]",) if chosen.has_programs else ()
    columns = ("map", *varied, "method", "instances", "finished", "time [s]", *cpu_column, "APR", "MAC")
    return _table(chosen, name, "Means on each map", columns, rows, bases, [])


def build_paired(chosen: Selection, name: str) -> Table | None:
    """A row for each setting and two methods; ``None`` where there is nothing to compare."""
    varied = varied_settings(chosen)
    found: list[tuple[tuple[Value, ...], list[float]]] = []
    num_unlike = 0
    for values, part in by_setting(chosen, varied):
        outcomes = {method: part.by_instance(method) for method in methods_of(part)}
        for one, other in combinations(outcomes, 2):
            both = [(outcomes[one][key], outcomes[other][key]) for key in outcomes[one] if key in outcomes[other]]
            alike = [(a, b) for a, b in both if a.num_anonymized == b.num_anonymized]
            num_unlike += len(both) - len(alike)
            differences = [a.mac - b.mac for a, b in alike if a.mac is not None and b.mac is not None]
            if len(differences) > 1:
                found.append(((*values, method_label(one), method_label(other)), differences))
    if not found:
        return None
    p_values = [paired_p_value(differences) for _, differences in found]
    rows: list[Row] = [
        (
            *who, len(differences), mean(differences), _interval_text(bootstrap_interval(differences)),
            _p_text(p), _p_text(corrected),
        )
        for (who, differences), p, corrected in zip(found, p_values, correct_by_holm(p_values), strict=True)
    ]  # fmt: skip
    columns = (*varied, "method", "against", "instances", "mean difference", "interval", "p", "p (Holm)")
    notes = [
        "The MAC of the first method less that of the second on the same instance: below 0 the first is cheaper. "
        f"Interval as above (seed {SEED}). p: two-sided, by flipping the signs of the differences, all of them up to "
        f"{MAX_EXACT} instances, else {NUM_RESAMPLES} drawn with seed {SEED}; Holm's correction is for the "
        f"{len(found)} tests of this table.",
    ]
    if num_unlike:
        notes.append(f"{num_unlike} pairs left out, because the two hid different numbers of candidates.")
    return Table(name, "Paired differences of the MAC", columns, tuple(rows), tuple(notes))


class _Ratios(NamedTuple):
    """How many times as long the slower of two methods takes, on the instances on which the quicker came to its end."""

    slower: Method
    quicker: Method
    times: list[float]  #: By the clock, one for each instance; never empty.
    cpu_times: list[float]  #: Of the processor, where it is known of both.
    num_stopped: int  #: Instances of these on which the clock stopped the slower: its ratio is at least so large.

    def text(self, value: float) -> str:
        """A figure of these ratios. Each ratio is exact or a lower bound, and so are least, median and most."""
        return f"{'≥ ' if self.num_stopped else ''}{format_number(value)}"


def _ratios(part: Selection) -> Iterator[_Ratios]:
    """Each two methods of one setting, the one that takes longer in all first."""
    outcomes = {method: part.by_instance(method) for method in methods_of(part)}
    for pair in combinations(outcomes, 2):
        shared = [key for key in outcomes[pair[0]] if key in outcomes[pair[1]]]
        quicker, slower = sorted(pair, key=lambda method: sum(outcomes[method][key].runtime_s for key in shared))
        both = [(outcomes[slower][key], outcomes[quicker][key]) for key in shared]
        both = [(a, b) for a, b in both if b.is_finished is not False and b.runtime_s > 0]
        if both:
            yield _Ratios(
                slower, quicker, [a.runtime_s / b.runtime_s for a, b in both],
                [a.cpu_s / b.cpu_s for a, b in both if a.cpu_s is not None and b.cpu_s],
                sum(a.is_finished is False for a, _ in both),
            )  # fmt: skip


def build_times(chosen: Selection, name: str) -> Table | None:
    """A row for each setting and two methods: how many times as long the slower takes; ``None`` for one method."""
    varied = varied_settings(chosen)
    rows: list[Row] = [
        (
            *values, method_label(each.slower), method_label(each.quicker), len(each.times),
            *(each.text(choose(each.times)) for choose in (median, min, max)),
            each.text(median(each.cpu_times)) if each.cpu_times else None,
        )
        for values, part in by_setting(chosen, varied)
        for each in _ratios(part)
    ]  # fmt: skip
    if not rows:
        return None
    columns = (*varied, "slower", "quicker", "instances", "median", "least", "most", "median of CPU")
    notes = (
        "The time of the slower method divided by that of the quicker on the same instance, where the quicker came to "
        "its own end; ≥ if the clock stopped the slower on some. Times of ours are planning alone; those of an "
        "external program are its whole process, with what it takes to start and to read the instance.",
    )
    return Table(name, "How many times as long", columns, tuple(rows), notes)


def compare_programs(chosen: Selection) -> Iterator[str]:
    """Sentences on how long external programs take beside our methods; none if no such program was run."""
    for values, part in by_setting(chosen, varied_settings(chosen)):
        for each in _ratios(part):
            if EXTERNAL in (each.slower.planner, each.quicker.planner):
                cpu = f"; in processor time {_spread(each, each.cpu_times)}" if each.cpu_times else ""
                theirs = each.slower if each.slower.planner == EXTERNAL else each.quicker
                if part.where(method=theirs).averages.num_unknown:
                    cpu += f"; {method_label(theirs)} does not say whether its search was complete"
                yield (
                    f"{_at(chosen, values)}{method_label(each.slower)} takes {_spread(each, each.times)} as long as "
                    f"{method_label(each.quicker)} on {counted(len(each.times), 'instance')}{cpu}."
                )


def _spread(ratios: _Ratios, values: Sequence[float]) -> str:
    """For example ``19 to 363 times (median 142)``, or ``19 times`` of one instance."""
    least, most, middle = (choose(values) for choose in (min, max, median))
    if len(values) == 1:
        return f"{ratios.text(most)} times"
    return f"{ratios.text(least)} to {format_number(most)} times (median {ratios.text(middle)})"


def _at(chosen: Selection, values: Sequence[Value]) -> str:
    """How a sentence about one setting begins: ``At k 2: ``, or nothing where nothing is varied."""
    told = ", ".join(f"{name} {value}" for name, value in zip(varied_settings(chosen), values, strict=True))
    return f"At {told}: " if told else ""


def _p_text(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _table(
    chosen: Selection, name: str, title: str, columns: Sequence[str], rows: Sequence[Row], bases: Sequence[int],
    notes: Sequence[str],
) -> Table:  # fmt: skip
    """A table whose notes say what does not vary, and what keeps it from being even."""
    if not chosen.records:
        return Table(name, title, tuple(columns), ())
    varied, cell = varied_settings(chosen), chosen.records[0].cell
    in_nodes = any(record.cell.m is not None for record in chosen.records)
    told = {name: read(cell) for name, read in SETTINGS.items() if name not in varied}
    told.pop("m / shortest path" if in_nodes else "m", None)
    shown = (f"{setting} {_shown(setting, value)}" for setting, value in told.items())
    first = f"Not varied: {', '.join(text for text in shown if not text.endswith(' -'))}."
    more = []
    if len(set(bases)) > 1:
        more.append(f"Rows rest on {min(bases)} to {max(bases)} instances, so they are not all comparable.")
    if chosen.num_draws > 1:
        more.append(f"Methods that draw at random: on each instance the mean of {chosen.num_draws} draws.")
    return Table(name, title, tuple(columns), tuple(rows), (first, *notes, *more))


def build_findings(chosen: Selection) -> Iterator[str]:
    """Which method is cheapest in the mean, of those that hide the most, and whether all cells came to their end.

    Compared is on the instances that all methods have: whoever failed on the dear ones would look cheap.
    """
    for values, part in by_setting(chosen, varied_settings(chosen)):
        outcomes = {method: part.by_instance(method) for method in methods_of(part)}
        shared = set.intersection(*(set(own) for own in outcomes.values()))
        means = {method: Averages([own[key] for key in own if key in shared]) for method, own in outcomes.items()}
        most = max(own.apr or 0.0 for own in means.values())
        macs = {method: own.mac for method, own in means.items() if own.mac is not None and own.apr == most}
        if macs and len(means) > 1:
            least = min(macs.values())
            best = [method_label(method) for method, mac in macs.items() if mac <= least + _SAME_MAC]
            of_whom = "" if len(macs) == len(means) else f" of those that hide the most (APR {format_apr(most)})"
            is_all = len(shared) == part.num_instances
            where = "" if is_all else f" on the {counted(len(shared), 'instance')} that all have"
            yield (
                f"{_at(chosen, values)}{listed(best)} {'has' if len(best) == 1 else 'have'} the lowest mean "
                f"MAC{of_whom}{where}, {format_number(least)}."
            )
    yield from chosen.stopped_note()


def draw_pictures(chosen: Selection, folder: Path, domains: Mapping[str, Domain], *, name: str) -> list[Picture]:
    """MAC and time by what is varied."""
    # Here, because it imports matplotlib, which takes its time and is not needed for tables.
    from veilroute.bench import charts

    path = folder / f"{name}.png"
    charts.save_chart(charts.draw_study, chosen, path)
    caption = "Mean MAC, with its interval, and mean time; the lines are methods, and times are logarithmic."
    return [Picture(path, caption)]
