"""The one builder of tables from records: means by setting and method, in the rows and columns that a layout asks for.

With them come paired tests, how many times as long one method takes as another, and sentences on which method is
cheapest.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from statistics import fmean, median
from typing import Any, NamedTuple

from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.bench import statistics
from veilroute.bench.cells import EXTERNAL, Cell, InstanceKey, Method, Outcome, Record, method_from_name
from veilroute.bench.design import Averages, Selection, mean
from veilroute.bench.paper import OPTIMAL, method_label
from veilroute.bench.statistics import SAME_MAC, bootstrap_interval, half_width
from veilroute.bench.table import Mean, Row, Table, Value, counted, format_apr, format_number, listed


class Setting(NamedTuple):
    """What an experiment may vary: how tables call it, in a word where it heads a column, and what of a cell it is."""

    heading: str
    word: str
    read: Callable[[Cell], Any]


def _setting(heading: str, name: str, word: str | None = None) -> Setting:
    return Setting(heading, heading if word is None else word, lambda cell: getattr(cell, name))


#: By the name that a study's file has for it.
SETTINGS: Mapping[str, Setting] = {
    "kind": Setting("map kind", "on", lambda cell: cell.instance.map_kind),
    "map": Setting("map", "on", lambda cell: cell.instance.map_name),
    "pair": Setting("pair", "pair", lambda cell: cell.instance.seed),
    "candidates": _setting("candidates", "num_candidates"),
    "k": Setting("k", "k", lambda cell: cell.k if cell.risk is None else None),
    "ell": _setting("ell", "ell"),
    "radius": _setting("radius", "radius"),
    "m_ratio": _setting("m / shortest path", "m_ratio", "m"),
    "m": _setting("m", "m"),
    "risk": _setting("risk", "risk"),
    "mechanism": _setting("mechanism", "mechanism", ""),
    "spread": _setting("spread", "spread"),
    "reading": _setting("reading", "reading"),
    "time_limit_s": _setting("time limit [s]", "time_limit_s", "limit"),
    "time": Setting("after [s]", "after", lambda cell: None),  # of no cell: what all have found by then
}
_USUAL_WORDS = ("-", "grid", "partition", "text")  # what goes without saying
_ASKED = ("map", "pair", "time")  # in no table unless it asks for it
ACROSS = ("method", "measure", *SETTINGS)


@dataclass(frozen=True, eq=False)
class Part:
    """The outcomes at one setting: by method, and for each by instance."""

    values: tuple[Any, ...]
    outcomes: Mapping[Method, Mapping[InstanceKey, Outcome]]

    @cached_property
    def cheapest(self) -> tuple[Method, ...]:
        """The methods with the lowest mean MAC, of those that hide the most; none if there is nothing to compare.

        Only instances that all methods have count: a method that failed on the expensive ones would look cheap. And on
        each of them these have to hide as many: else their means are over different instances.
        """
        if len({frozenset((key, self.outcomes[own][key].apr) for key in self.shared) for own in self.rivals}) > 1:
            return ()
        macs = {method: own.mac for method, own in self.rivals.items() if own.mac is not None}
        least = min(macs.values(), default=0.0) + SAME_MAC
        return tuple(method for method, mac in macs.items() if mac <= least) if len(self.outcomes) > 1 else ()

    @cached_property
    def shared(self) -> set[InstanceKey]:
        """The instances that all methods have."""
        return set.intersection(*map(set, self.outcomes.values()))

    @cached_property
    def rivals(self) -> dict[Method, Averages]:
        """The methods that hide the most on the shared instances, and their means there."""
        means = {
            method: Averages([each for key, each in own.items() if key in self.shared])
            for method, own in self.outcomes.items()
        }
        most = max(own.apr or 0.0 for own in means.values())
        return {method: own for method, own in means.items() if own.apr == most}

    def after(self, time_s: float, at: int) -> "Part":
        """What had been found by a time, which becomes the value of that number."""
        found = {method: {k: _reached(o, time_s) for k, o in own.items()} for method, own in self.outcomes.items()}
        return Part((*self.values[:at], time_s, *self.values[at + 1 :]), found)


def _reached(outcome: Outcome, time_s: float) -> Outcome:
    """The outcome at a time; a method that reports no improvements has its result when it ends."""
    steps = outcome.improvements or ((outcome.runtime_s, outcome.num_anonymized, outcome.mac),)
    _, count, mac = max((step for step in steps if step[0] <= time_s), default=(0.0, 0, None), key=lambda step: step[0])
    apr = count / outcome.num_coverable if outcome.num_coverable else 0.0
    return replace(outcome, apr=apr, mac=mac if count else None, num_anonymized=count)


def time_stamps(time_limit_s: float) -> tuple[float, ...]:
    """From a hundredth of a second up to the limit, two for each power of ten."""
    stamps = [float(f"{digit}e{power}") for power in range(-2, 7) for digit in (1, 3)]
    return (*(stamp for stamp in stamps if stamp < 0.8 * time_limit_s), time_limit_s)


def varied_settings(chosen: Selection, also: Iterable[str] = ()) -> list[str]:
    """The settings that have several values among the records, and others that are asked for."""
    return [
        name
        for name, setting in SETTINGS.items()
        if name in also or (name not in _ASKED and len({setting.read(record.cell) for record in chosen.records}) > 1)
    ]


def parts_of(chosen: Selection, names: Sequence[str], order: Sequence[Method] = ()) -> list[Part]:
    """Each combination of the values of some settings that occurs, sorted; methods in an order, then by name."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in chosen.records:
        groups.setdefault(tuple(SETTINGS[name].read(record.cell) for name in names), []).append(record)
    parts = []
    for values in sorted(groups, key=_place):
        outcomes: dict[Method, dict[InstanceKey, Outcome]] = {}
        for method in methods_of(groups[values], order):
            own = (record for record in groups[values] if record.cell.method == method)
            outcomes[method] = {record.cell.instance_key: record.outcome for record in own}
        parts.append(Part(values, outcomes))
    if "time" in names and chosen.records:
        stamps = time_stamps(chosen.time_limits_s[-1])
        parts = [part.after(stamp, names.index("time")) for part in parts for stamp in stamps]
    return parts


def methods_of(records: Iterable[Record], order: Sequence[Method] = ()) -> list[Method]:
    """The methods that have records: in an order, then by name."""
    places = {method: place for place, method in enumerate(order)}
    found = {record.cell.method for record in records}
    return sorted(found, key=lambda method: (places.get(method, len(places)), method.name))


def _place(values: Iterable[Any]) -> list[tuple[bool, Any]]:
    return [(value is None, value) for value in values]


def _shown(name: str, value: Any) -> Value:
    if name == "method":
        return method_label(value)
    if name == "time":
        return f"{value:g} s"
    if value is None:
        return "infinity" if name in ("m", "m_ratio") else "-"
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, bool) else value


class Measure(NamedTuple):
    """What tables and charts show of the outcomes of a method at one setting: a mean of numbers, or a text."""

    heading: str
    numbers: Callable[[Part, Method], list[float]] = lambda part, method: []
    form: Callable[[float], str] | None = None  #: How a mean is written; a :class:`Mean` without it.
    has_interval: bool = False
    is_time: bool = False
    is_mac: bool = False
    is_marked: bool = False  #: Whether the method with the lowest mean MAC is in bold.
    text: Callable[[Part, Method], Value] = lambda part, method: None  #: If there are no numbers.

    def show(self, part: Part, method: Method) -> Value:
        """The cell of a table."""
        values, own = self.numbers(part, method), part.outcomes[method].values()
        if not values:
            return self.text(part, method)
        average = fmean(values)
        if self.form is not None:
            return self.form(average)
        is_bound = self.is_time and any(outcome.is_finished is False for outcome in own)
        if self.is_time and average < 0.001 and not is_bound:
            return "<0.001"
        return Mean(
            average, half_width(values) if self.has_interval else None, len(values) if len(values) < len(own) else None,
            is_bound, self.is_marked and method in part.cheapest,
        )  # fmt: skip


def _numbers(read: Callable[[Outcome], float | None]) -> Callable[[Part, Method], list[float]]:
    return lambda part, method: [
        value for outcome in part.outcomes[method].values() if (value := read(outcome)) is not None
    ]


def _finished(part: Part, method: Method) -> list[float]:
    """100 for what came to its own end; nothing for methods that never prove anything, and programs that do not say."""
    ended = [outcome.is_finished for outcome in part.outcomes[method].values()]
    has_no_end = None in ended or method.partitioner in ("naive", "local-search")
    return [] if has_no_end else [100.0 * bool(is_finished) for is_finished in ended]


def _num_finished(part: Part, method: Method) -> Value:
    ended = [outcome.is_finished for outcome in part.outcomes[method].values()]
    return "n/a" if None in ended else sum(map(bool, ended))


def _percent(value: float) -> str:
    """Only all are 100, and only none are 0."""
    return f"{value if value in (0, 100) else min(99, max(1, value)):.0f}"


def _equal(part: Part, method: Method) -> str | None:
    """On how many instances as many candidates are hidden at the MAC of a proved optimum, but for rounding."""
    optima, own = part.outcomes.get(OPTIMAL, {}), part.outcomes[method]
    proved = [(own[key], best) for key, best in optima.items() if key in own and best.status == "optimal"]
    equal = [
        one.num_anonymized == best.num_anonymized
        and one.mac is not None
        and best.mac is not None
        and math.isclose(one.mac, best.mac, rel_tol=1e-9, abs_tol=1e-12)
        for one, best in proved
    ]
    return f"{sum(equal)} of {len(equal)}" if equal else None


def _over(name: str, base: Method, part: Part, method: Method) -> list[float]:
    """MACs or times divided by those of another method on the same instance: MACs if both hide as many, and times if
    the other came to its own end.
    """
    bases, own = part.outcomes.get(base, {}), part.outcomes[method]
    pairs = [(own[key], bases[key]) for key in own if key in bases]
    if name == "mac":
        alike = [(a.mac, b.mac) for a, b in pairs if a.num_anonymized == b.num_anonymized]
        return [one / other for one, other in alike if one is not None and other]
    return [
        one.runtime_s / other.runtime_s for one, other in pairs if other.runtime_s and other.is_finished is not False
    ]


def _classes(outcome: Outcome) -> float | None:
    book = outcome.playbook
    return None if book is None else float(sum(bool(group["anonymized"]) for group in book["classes"]))


def _audit(part: Part, method: Method) -> str | None:
    verdicts = {outcome.audit_holds for outcome in part.outcomes[method].values()}
    return "VIOLATED" if False in verdicts else None if None in verdicts else "holds"


def _guess(observer: str, at: int) -> Callable[[Outcome], float | None]:
    return lambda outcome: next((chances[at] for name, *chances in outcome.guesses if name == observer), None)


def _rounded(value: float) -> str:
    return f"{value:.0f}"


#: By the name that a study's file has for it.
MEASURES: Mapping[str, Measure] = {
    "instances": Measure("instances", text=lambda part, method: len(part.outcomes[method])),
    "finished": Measure("finished", text=_num_finished),
    "coverage": Measure("coverage [%]", _finished, _percent, text=lambda part, method: "n/a"),
    "time": Measure("time [s]", _numbers(lambda outcome: outcome.runtime_s), has_interval=True, is_time=True),
    "cpu": Measure("CPU [s]", _numbers(lambda outcome: outcome.cpu_s), has_interval=True, is_time=True),
    "apr": Measure("APR", _numbers(lambda outcome: outcome.apr), format_apr),
    "mac": Measure("MAC", _numbers(lambda outcome: outcome.mac), has_interval=True, is_mac=True, is_marked=True),
    "equal": Measure("equal to the optimum", text=_equal),
    "expansions": Measure("expansions", _numbers(lambda outcome: outcome.num_expansions), _rounded),
    "partitions": Measure("partitions", _numbers(lambda outcome: outcome.num_partitions), _rounded),
    "searches": Measure("searches", _numbers(lambda outcome: outcome.num_searches), _rounded),
    "memory": Measure("memory of the work [MB]", _numbers(lambda outcome: outcome.memory_mb), _rounded),
    "classes": Measure("classes", _numbers(_classes), lambda value: f"{value:g}"),
    "status": Measure(
        "status", text=lambda part, method: listed(sorted({each.status for each in part.outcomes[method].values()}))
    ),
    "audit": Measure("audit", text=_audit),
} | {
    f"{observer}{end}": Measure(f"{observer}{end}", _numbers(_guess(observer, at)))
    for observer in ("counting", "goal-recognition", "bayesian")
    for at, end in enumerate(("", " at the end"))
}  # fmt: skip


def find_measure(name: str, field: str = "columns") -> Measure:
    """A measure by name; ``mac / METHOD`` and ``time / METHOD`` are ratios on the same instance."""
    if name in MEASURES:
        return MEASURES[name]
    own, slash, base = name.partition(" / ")
    if not slash or own not in ("mac", "time"):
        raise UnknownMethodError(field, name, (*MEASURES, "mac / METHOD", "time / METHOD"))
    method = method_from_name(base)
    return Measure(
        f"{MEASURES[own].heading.partition(' ')[0]} / {method_label(method)}", partial(_over, own, method),
        has_interval=True, is_mac=own == "mac", is_time=own == "time",
    )  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Which tables an experiment has: its measures, what has the columns, and rows beside what is varied."""

    name: str
    title: str
    columns: tuple[str, ...] = ()  #: Names of measures; the usual tables without any.
    across: str = "method"  #: One of :data:`ACROSS`.
    rows: tuple[str, ...] = ()
    methods: tuple[Method, ...] = ()  #: In their order.

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by name."""
        return {name: find_measure(name) for name in self.columns or USUAL}


LAYOUT_KEYS = ("columns", "across", "rows")
USUAL = ("mac", "time")


def read_layout(data: Mapping[str, Any], name: str, title: str, methods: tuple[Method, ...]) -> Layout:
    """A layout as a study's file states it."""
    given: dict[str, tuple[str, ...]] = {}
    for key in ("columns", "rows"):
        value = data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidInputError(f"{name}.{key}", "a list of names", value)
        given[key] = tuple(dict.fromkeys(value))
    for each in given["columns"]:
        find_measure(each, f"{name}.columns")
    across = data.get("across", "method")
    for key, own, known in (
        *(("rows", each, tuple(SETTINGS)[:-1]) for each in given["rows"]), ("across", across, ACROSS)
    ):  # fmt: skip
        if own not in known:
            raise UnknownMethodError(f"{name}.{key}", own, known)
    return Layout(name, title, across=across, methods=methods, **given)


def build_tables(layout: Layout, chosen: Selection) -> list[Table]:
    """The tables of an experiment: those of its layout, or means, tests and times without one."""
    if layout.columns:
        return build_means(layout, chosen)
    return [*build_means(layout, chosen), *build_paired(layout, chosen), *build_times(layout, chosen)]


def build_details(layout: Layout, chosen: Selection) -> list[Table]:
    """Further tables, for files: all measures, the same for each map, tests, and times beside each other."""
    name, title = layout.name, layout.title
    every = replace(layout, name=f"{name}-means", title=f"{title}: all measures", columns=tuple(MEASURES))
    few = ("instances", "finished", "time", "apr", "mac")
    maps = replace(layout, name=f"{name}-by-map", title=f"{title}: on each map", columns=few, rows=("map",))
    has_maps = len({record.cell.instance.map_name for record in chosen.records}) > 1
    long = [replace(each, across="measure") for each in (every, maps)[: 1 + has_maps]]
    means = (table for each in long for table in build_means(each, chosen))
    return [*means, *build_paired(layout, chosen), *build_times(layout, chosen)]


def build_means(layout: Layout, chosen: Selection) -> list[Table]:
    """One table with a column for each measure, or one for each measure with what ``across`` names in its columns."""
    if any(record.cell.method.command for record in chosen.records):
        # Programs are compared by processor time as well, because the clock also counts what else the machine does.
        both = ((each, "cpu") if each == "time" else (each,) for each in layout.columns or USUAL)
        layout = replace(layout, columns=tuple(dict.fromkeys(each for one in both for each in one)))
    names = varied_settings(chosen, (*layout.rows, layout.across))
    parts = parts_of(chosen, names, layout.methods)
    cells = [((*part.values, method), part, method) for part in parts for method in part.outcomes]
    measures = layout.measures
    axes = [*names, "method"]
    headings = [*(SETTINGS[name].heading for name in names), "method"]
    if layout.across == "measure":
        shown = {name: [measure.show(part, method) for _, part, method in cells] for name, measure in measures.items()}
        shown = {name: values for name, values in shown.items() if any(value is not None for value in values)}
        keys = [tuple(map(_shown, axes, key)) for key, _, _ in cells]
        rows = [(*key, *values) for key, *values in zip(keys, *shown.values(), strict=True)]
        columns = (*headings, *(measures[name].heading for name in shown))
        return _tables(layout, chosen, [(layout.name, layout.title, columns, rows)], parts)
    at = axes.index(layout.across)
    methods = methods_of(chosen.records, layout.methods)
    order: list[Any] = methods
    if layout.across != "method":
        order = [value for (value,) in sorted({(part.values[at],) for part in parts}, key=_place)]
    kept = axes[:at] + axes[at + 1 :]
    word = "" if layout.across == "method" else SETTINGS[layout.across].word
    heads = [f"{word} {_shown(layout.across, value)}".strip() for value in order]
    columns = (*headings[:at], *headings[at + 1 :], *heads, "instances")
    pages = []
    for name, measure in measures.items():
        found: dict[tuple[Any, ...], dict[Any, tuple[Value, int]]] = {}
        for key, part, method in cells:
            cell = measure.show(part, method), len(part.outcomes[method])
            found.setdefault(key[:at] + key[at + 1 :], {})[key[at]] = cell
        rows = [
            (
                *map(_shown, kept, key), *(own[value][0] if value in own else None for value in order),
                _span([num for _, num in own.values()]),
            )
            for key, own in sorted(found.items(), key=lambda item: _place([
                methods.index(value) if isinstance(value, Method) else value for value in item[0]
            ]))
        ]  # fmt: skip
        if any(cell is not None for own in found.values() for cell, _ in own.values()):
            is_one = len(measures) == 1
            suffix = re.sub("[^a-z0-9]+", "-", name.lower())
            title = layout.title if is_one else f"{layout.title}: {measure.heading}"
            pages.append((layout.name if is_one else f"{layout.name}-{suffix}", title, columns, rows))
    return _tables(layout, chosen, pages, parts)


def _span(numbers: Sequence[int]) -> Value:
    """For example ``30``, or ``12 to 30`` if they differ."""
    return numbers[0] if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"


_FEW = 10  # instances, of which 90 % of the intervals hold the mean of normal values; of 5 84 %, and of 2 49 %


def _tables(
    layout: Layout, chosen: Selection, pages: Iterable[tuple[str, str, Sequence[str], list[Row]]], parts: Sequence[Part]
) -> list[Table]:
    """The tables with notes on what does not vary, what their signs mean, and what keeps them from being even."""
    made = []
    fewest = min((num for part in parts for own in part.outcomes.values() if (num := len(own)) > 1), default=_FEW)
    for name, title, columns, rows in pages:
        means = [value for row in rows for value in row if isinstance(value, Mean)]
        notes = [_unvaried(chosen)]
        if any(each.half_width is not None for each in means):
            few = "" if fewest >= _FEW else f" For {fewest} instances it is too narrow, and holds the mean less often."
            notes.append(f"±: half the width of the {statistics.INTERVAL}.{few}")
        if any(each.is_best for each in means):
            notes.append("Bold: the lowest mean MAC of the methods that hide the most, on the instances that all have.")
        if any(each.is_bound for each in means):
            notes.append("≥: the clock stopped some.")
        if any(each.num is not None for each in means):
            notes.append("In brackets: how many instances have such a figure, if not all have one.")
        made.append(Table(name, title, tuple(columns), tuple(rows), (*notes, *_uneven(chosen, parts))))
    return made


def _unvaried(chosen: Selection) -> str:
    cell, varied = chosen.records[0].cell, varied_settings(chosen, _ASKED)
    in_nodes = any(record.cell.m is not None for record in chosen.records)
    told = {
        name: setting for name, setting in SETTINGS.items() if name not in (*varied, "m_ratio" if in_nodes else "m")
    }
    shown = ((setting.heading, _shown(name, setting.read(cell))) for name, setting in told.items())
    return f"Not varied: {', '.join(f'{name} {text}' for name, text in shown if text not in _USUAL_WORDS)}."


def _uneven(chosen: Selection, parts: Sequence[Part]) -> Iterator[str]:
    bases = [sorted(map(len, part.outcomes.values())) for part in parts]
    if any(own[0] < own[-1] for own in bases):
        least, most = min(own[0] for own in bases), max(own[-1] for own in bases)
        yield f"Not complete: some methods lack instances ({least} to {most}), so figures are not all comparable."
    if len(chosen.time_limits_s) > 1 and "time_limit_s" not in varied_settings(chosen):
        yield f"The records have different time limits: {listed(chosen.time_limits_s)} s."
    if chosen.num_draws > 1:
        yield f"Methods that draw at random: on each instance the mean of {chosen.num_draws} draws."
    if chosen.num_repeated:
        yield (
            f"{counted(chosen.num_repeated, 'record')} of the same instances and methods with a shorter limit or "
            "another seed left out."
        )
    exact = [record.outcome.status for record in chosen.where(method=OPTIMAL).records]
    if num_open := sum(status not in ("optimal", "infeasible") for status in exact):
        yield (
            f"optimal (exact) has no proof for {num_open} of {counted(len(exact), 'cell')}: there it may cost more "
            "than it must."
        )


class _Pair(NamedTuple):
    """Two methods at one setting, and their outcomes on the instances that both have."""

    setting: tuple[Value, ...]
    words: str  #: The setting in a sentence.
    one: Method
    other: Method
    both: list[tuple[Outcome, Outcome]]

    def slower_first(self) -> "_Pair":
        """The one first that takes longer in all, on the instances on which the quicker came to its end."""
        pair = self
        if sum(a.runtime_s for a, _ in self.both) < sum(b.runtime_s for _, b in self.both):
            pair = self._replace(one=self.other, other=self.one, both=[(b, a) for a, b in self.both])
        return pair._replace(both=[(a, b) for a, b in pair.both if b.is_finished is not False and b.runtime_s > 0])

    def times(self, *choices: Callable[[Sequence[float]], float], name: str = "runtime_s") -> list[str | None]:
        """Figures of how many times as long the first takes; lower bounds where the clock stopped it on some."""
        sign = "≥ " if any(a.is_finished is False for a, _ in self.both) else ""
        times = [(getattr(a, name), getattr(b, name)) for a, b in self.both]
        ratios = [one / other for one, other in times if one is not None and other]
        return [f"{sign}{format_number(choose(ratios))}" if ratios else None for choose in choices]

    def range_of(self, name: str) -> str:
        """For example ``19 to 363 times (median 142)``, or ``19 times`` of one instance; empty without figures."""
        least, most, middle = self.times(min, max, median, name=name)
        if least is None or len(self.both) == 1:
            return f"{least} times" if least else ""
        return f"{least} to {str(most).removeprefix('≥ ')} times (median {middle})"


def _pairs(chosen: Selection, names: Sequence[str], order: Sequence[Method] = ()) -> Iterator[_Pair]:
    for part in parts_of(chosen, names, order):
        for one, other in combinations(part.outcomes, 2):
            own, bases = part.outcomes[one], part.outcomes[other]
            both = [(own[key], bases[key]) for key in own if key in bases]
            yield _Pair(tuple(map(_shown, names, part.values)), describe(names, part.values), one, other, both)


def build_paired(layout: Layout, chosen: Selection) -> list[Table]:
    """A row for each setting and two methods; no table if there is nothing to compare."""
    names = varied_settings(chosen)
    found: list[tuple[_Pair, list[float]]] = []
    num_unlike = 0
    for pair in _pairs(chosen, names, layout.methods):
        alike = [(a.mac, b.mac) for a, b in pair.both if a.num_anonymized == b.num_anonymized]
        num_unlike += len(pair.both) - len(alike)
        differences = [a - b for a, b in alike if a is not None and b is not None]
        if len(differences) > 1:
            found.append((pair, differences))
    p_values = [statistics.paired_p_value(differences) for _, differences in found]
    rows = tuple(
        (
            *pair.setting, method_label(pair.one), method_label(pair.other), len(values), mean(values),
            " to ".join(map(format_number, bootstrap_interval(values) or ())),
            *("<0.001" if p < 0.001 else f"{p:.3f}" for p in both_p),
        )
        for (pair, values), *both_p in zip(found, p_values, statistics.correct_by_holm(p_values), strict=True)
    )  # fmt: skip
    headings = [SETTINGS[name].heading for name in names]
    columns = (*headings, "method", "against", "instances", "mean difference", "interval", "p", "p (Holm)")
    notes = [
        "The MAC of the first method less that of the second on the same instance: below 0 the first is cheaper. "
        f"Interval: {statistics.INTERVAL}. p: {statistics.TEST}; Holm's correction is for the "
        f"{counted(len(found), 'test')} of this table.",
    ]
    if num_unlike:
        notes.append(f"{counted(num_unlike, 'pair')} left out, because the two hid different numbers of candidates.")
    return (
        [Table(f"{layout.name}-paired", "Paired differences of the MAC", columns, rows, tuple(notes))] if rows else []
    )


def build_times(layout: Layout, chosen: Selection) -> list[Table]:
    """A row for each setting and two methods: how many times as long the slower takes; no table for one method."""
    names = varied_settings(chosen)
    rows = tuple(
        (
            *pair.setting, method_label(pair.one), method_label(pair.other), len(pair.both),
            *pair.times(median, min, max), *pair.times(median, name="cpu_s"),
        )
        for pair in (each.slower_first() for each in _pairs(chosen, names, layout.methods))
        if pair.both
    )  # fmt: skip
    headings = [SETTINGS[name].heading for name in names]
    columns = (*headings, "slower", "quicker", "instances", "median", "least", "most", "median of CPU")
    notes = (
        "The time of the slower method divided by that of the quicker on the same instance, if the quicker came to its "
        "own end; ≥ if the clock stopped the slower on some. Times of ours are planning alone; those of a program of "
        "others are its whole process, with what it takes to start and to read the instance.",
    )
    return [Table(f"{layout.name}-times", "How many times as long", columns, rows, notes)] if rows else []


def compare_programs(chosen: Selection) -> Iterator[str]:
    """Sentences on how long external programs take beside ours, by both clocks; none if no such program was run."""
    for pair in (each.slower_first() for each in _pairs(chosen, varied_settings(chosen))):
        is_theirs = pair.one.planner == EXTERNAL
        if pair.both and (is_theirs or pair.other.planner == EXTERNAL):
            where = f"At {pair.words}: " if pair.words else ""
            cpu = pair.range_of("cpu_s")
            silent = ""
            if any(outcomes[not is_theirs].is_finished is None for outcomes in pair.both):
                theirs = pair.one if is_theirs else pair.other
                silent = f"; {method_label(theirs)} does not say whether its search was complete"
            yield (
                f"{where}{method_label(pair.one)} takes {pair.range_of('runtime_s')} as long as "
                f"{method_label(pair.other)} on {counted(len(pair.both), 'instance')}"
                f"{f'; in processor time {cpu}' if cpu else ''}{silent}."
            )


def describe(names: Sequence[str], values: Sequence[Any]) -> str:
    """A setting in words, as ``k 2, m 0.5``."""
    shown = ((SETTINGS[name].word, _shown(name, value)) for name, value in zip(names, values, strict=True))
    return ", ".join(f"{word} {text}".strip() for word, text in shown if text != "-")


_MOST_NAMED = 4


def build_findings(layout: Layout, chosen: Selection) -> Iterator[str]:
    """Which methods are cheapest in the mean at which settings, what the auditor says, how many cells were stopped."""
    names = varied_settings(chosen)
    has_mac = any(measure.is_mac for measure in layout.measures.values())
    parts = [part for part in parts_of(chosen, names, layout.methods) if part.cheapest and has_mac]
    found: dict[str, list[Part]] = {}
    for part in parts:
        verb = "has" if len(part.cheapest) == 1 else "have"
        of_whom = "" if len(part.rivals) == len(part.outcomes) else " of those that hide the most"
        num_all = len(set().union(*part.outcomes.values()))
        where = "" if len(part.shared) == num_all else f" on the {counted(len(part.shared), 'instance')} that all have"
        which = "; ".join(map(method_label, part.cheapest))
        if len(part.cheapest) >= _MOST_NAMED:
            which = f"{len(part.cheapest)} of {len(part.outcomes)} methods"
        text = f"{which} {verb} the lowest mean MAC{of_whom}{where}"
        found.setdefault(text, []).append(part)
    for text, own in found.items():
        where = f"at {len(own)} of {len(parts)} settings"
        if len(own) <= _MOST_NAMED:
            macs = ((part, format_number(part.rivals[part.cheapest[0]].mac or 0.0)) for part in own)
            where = "; ".join(f"at {describe(names, part.values)}, {mac}" if names else mac for part, mac in macs)
        yield f"{text}, {where}."
    verdicts = [each.outcome.audit_holds for each in chosen.records if each.outcome.audit_holds is not None]
    if verdicts:
        yield f"The auditor confirms {verdicts.count(True)} of {counted(len(verdicts), 'playbook')}."
    if num_refused := verdicts.count(False):
        yield f"It does NOT confirm {num_refused}; this is a fault of the planner or of the auditor."
    stopped = [record.outcome.is_finished is False for record in chosen.records]
    if any(stopped):
        yield f"{sum(stopped)} of {counted(len(stopped), 'cell')} stopped by the clock; their best so far counts."
