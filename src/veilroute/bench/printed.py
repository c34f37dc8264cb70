"""Every figure that the paper prints, beside ours as its authors' program has it, and a verdict on each.

A figure *agrees* when ours, rounded or cut off to the digits that are printed, is the same. If a search came to its end
on the authors' machine, ours counts only if it did so, too. A figure is a *misprint* when it does not agree and a
computation contradicts it: each claim of a misprint is such a check, and if the check fails, the figure *differs*.
Coverage, times, and what a search reached before 300 s had passed *depend on the clock* of the authors' machine. Even
so, a stopped search cannot have printed less than the proved optimum: that *differs* too.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import fmean, stdev

from veilroute.bench import paper
from veilroute.bench.cells import AUTHORS, CARRIED, TEXT, Instance, Method, Outcome
from veilroute.bench.design import Averages, Selection, Suite, mean, paper_variations
from veilroute.bench.paper import NUM_INSTANCES, SIZES, Printed, method_label
from veilroute.bench.table import Row, Table, counted, format_seconds

AGREES, MISPRINT, CLOCK, DIFFERS, NOT_COMPARED = VERDICTS = (
    "agrees", "misprint", "depends on their clock", "differs", "not compared"
)  # fmt: skip

_SLACK = 1e-9  # relative, for figures that lie on the edge between two printed ones
# The supplement's table prints three digits and drops zeros at the end: 0.1 is 0.100.
_SUPPLEMENT_DIGITS = 3
# The program prints the MAC of m-Pbp at all ratios in one line without names. Two figures slipped by one ratio.
_SLIPPED = {5.0: 3.0, 10.0: 5.0}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of the paper, and what it is to be compared with."""

    table: str
    measure: str
    method: str
    setting: str
    printed: str
    ours: float | None  #: As the authors' program has it; ``None`` if cells are missing.
    unit: float  #: The worth of the last digit that is printed.
    has_clock: bool = False  #: Whether it depends on how fast the authors' machine was.
    least: float | None = None  #: What no search can go below, stopped or not.
    contradicted: str = ""  #: What shows that it is a misprint, if the check has shown it.
    by_text: float | None = None  #: What the paper's text gives in its place.

    @property
    def verdict(self) -> str:
        """One of :data:`VERDICTS`."""
        value = paper.number(self.printed)
        if self.ours is None:
            return NOT_COMPARED
        if self.has_clock:
            is_too_low = value is not None and self.least is not None and value + self.unit < self.least
            return DIFFERS if is_too_low else CLOCK
        if value is not None and is_printed_as(self.ours, value, self.unit):
            return AGREES
        return MISPRINT if self.contradicted else DIFFERS

    @property
    def row(self) -> Row:
        """The figure as a row of the table."""
        ours, by_text = (None if value is None else f"{value:.4g}" for value in (self.ours, self.by_text))
        return (self.table, self.measure, self.method, self.setting, self.printed, ours, self.verdict, by_text)


def is_printed_as(ours: float, value: float, unit: float) -> bool:
    """Whether a figure, rounded or cut off to a unit, is the printed value."""
    beyond = (ours - value) / unit
    return -0.5 - _SLACK <= beyond < 1 + _SLACK


def _unit(printed: str, digits: int | None = None) -> float:
    """The worth of the last printed digit, or of the last of this many significant ones."""
    if digits is None:
        return float(10 ** -len(printed.partition(".")[2]))
    first = f"{float(printed):e}".partition("e")[2]
    return float(10.0 ** (int(first) - digits + 1))


class _Ours:
    """Our outcomes on the paper's 30 instances, by method and setting."""

    def __init__(self, chosen: Selection) -> None:
        shas = paper.map_fingerprints()
        instances = paper.read_paper_instances()
        known = {_key(each, shas[each.map_name]): i for i, each in enumerate(instances)}
        self._found: dict[tuple[object, ...], dict[int, Outcome]] = {}
        #: Whether any record is of an instance of the paper.
        self.is_paper = False
        # Those with the longest time limit come last and stay.
        for record in sorted(chosen.records, key=lambda each: each.cell.time_limit_s):
            cell = record.cell
            number = known.get(_key(cell.instance, cell.map_sha256))
            if number is None or cell.instance.candidates != instances[number].candidates[: cell.num_candidates]:
                continue
            self.is_paper = True
            at = (cell.method, cell.num_candidates, cell.reading, cell.k, cell.m_ratio)
            self._found.setdefault(at, {})[number] = record.outcome

    def find(
        self, method: Method, size: int, reading: str = TEXT, *, k: int = 2, ratio: float | None = None
    ) -> list[Outcome]:
        """The outcomes in the order of the instances, or none if one of the 30 is missing."""
        own = self._found.get((method, size, reading, k, ratio), {})
        return [own[number] for number in sorted(own)] if len(own) == NUM_INSTANCES else []

    def macs(self, method: Method, size: int, reading: str = TEXT, *, may_be_stopped: bool = False) -> list[float]:
        """The MACs, or none if one is missing or, unless it may be, that of a stopped search."""
        found = self.find(method, size, reading)
        macs = [each.mac for each in (found if may_be_stopped else _ended(found)) if each.mac is not None]
        return macs if len(macs) == NUM_INSTANCES else []

    def optima(self, size: int) -> list[float]:
        """The proved optima, or none if one is not proved."""
        is_proved = all(each.status == "optimal" for each in self.find(paper.OPTIMAL, size))
        return self.macs(paper.OPTIMAL, size) if is_proved else []

    def mac(self, method: Method, reading: str, k: int, ratio: float) -> float | None:
        """The mean MAC at a finite m."""
        return Averages(_ended(self.find(method, SIZES[0], reading, k=k, ratio=ratio))).mac


def _ended(outcomes: list[Outcome]) -> list[Outcome]:
    """All outcomes, or none if the clock stopped one."""
    return outcomes if all(each.is_finished for each in outcomes) else []


def _key(at: Instance, map_sha256: str) -> tuple[object, ...]:
    """Names a trip of the paper: every instance has the candidates of the largest one, or the first of them."""
    return map_sha256, at.seed, at.start, at.goal, at.candidates[: SIZES[0]]


def find_figures(chosen: Selection) -> Iterator[Figure]:
    """All figures that the paper prints as numbers, in its order."""
    ours = _Ours(chosen)
    for (method, size), printed in paper.TABLE1.items():
        yield from _figures_1(ours, method, size, printed)
    for (method, size), ratio in paper.TABLE2.items():
        yield from _figures_2(ours, method, size, ratio)
    for method, by_ratio in paper.TABLE3.items():
        for ratio_of_m, text in by_ratio.items():
            by_k = [ours.find(method, 8, TEXT, k=k, ratio=ratio_of_m) for k in paper.BOUNDED_KS]
            found = [each for own in by_k for each in own] if all(by_k) else []
            yield Figure(
                table="Table 3", measure="time (s)", method=method_label(method), setting=f"m {ratio_of_m:g}",
                printed=str(text), unit=_unit(str(text)), ours=Averages(found).runtime_s, has_clock=True,
            )  # fmt: skip
    for (method, k), by_ratio in paper.TABLE4.items():
        for ratio_of_m, text in by_ratio.items():
            yield _figure_4(ours, method, k, ratio_of_m, str(text))


def _has_number(printed: Printed) -> bool:
    return printed not in (None, "n/a", "-")


def _figures_1(ours: _Ours, method: Method, size: int, row: paper.Partitioning) -> Iterator[Figure]:
    is_naive = method.partitioner == "naive"
    reading = AUTHORS if is_naive else TEXT
    has_clock = not is_naive and row.coverage != "100"
    found = ours.find(method, size, reading)
    averages, optima = Averages(found), ours.optima(size)
    means = averages if has_clock else Averages(_ended(found))
    by_text = mean(ours.macs(method, size)) if is_naive else mean(optima)
    measures: tuple[tuple[str, Printed, float | None, bool], ...] = (
        ("coverage (%)", row.coverage, 100 * averages.num_finished / NUM_INSTANCES if found else None, True),
        ("time (s)", row.total_time_s, averages.runtime_s, True),
        ("APR", row.apr, means.apr, has_clock),
        ("MAC", row.mac, means.mac, has_clock),
    )
    for measure, printed, value, on_clock in measures:
        if not _has_number(printed):
            continue
        is_mac = measure == "MAC"
        yield Figure(
            table="Table 1", measure=measure, method=method_label(method), setting=f"{size} candidates",
            printed=str(printed), unit=_unit(str(printed)), ours=value, has_clock=on_clock,
            least=mean(optima) if is_mac and not is_naive else None,
            contradicted=_table_2_says(ours, size, str(printed)) if is_mac and is_naive else "",
            by_text=by_text if is_mac else None,
        )  # fmt: skip


def _table_2_says(ours: _Ours, size: int, naive: str) -> str:
    """What Table 2 says against a printed mean MAC of Naive, if it does.

    Table 2 prints the mean of a search's MAC over Naive's. No search is below the optimum, so the mean of optimum over
    Naive's MAC is at most that. By the inequality of Cauchy and Schwarz it is at least the square of the mean root of
    the optima over Naive's mean, in whatever way Naive's MACs are spread over the instances.
    """
    optima, printed = ours.optima(size), paper.TABLE2[paper.BEST, size].mean
    if not optima or printed is None:
        return ""
    least = (fsum(map(sqrt, optima)) / len(optima)) ** 2 / (float(naive) + _unit(naive))
    if least <= float(printed) + _unit(printed):
        return ""
    return (
        f"Table 1, MAC of Naive with {size} candidates: if its mean were {naive}, no mean ratio of a search that hides "
        f"everybody could be below {least:.3f} in Table 2, because of the proved optima. It prints {printed}."
    )


def _figures_2(ours: _Ours, method: Method, size: int, row: paper.Ratio) -> Iterator[Figure]:
    has_clock = paper.TABLE1[method, size].coverage != "100"
    naive = ours.macs(paper.BASE, size, AUTHORS)
    ratios, best, by_text = (
        [mac / base for mac, base in zip(macs, bases, strict=True)] if macs and bases else []
        for macs, bases in (
            (ours.macs(method, size, may_be_stopped=has_clock), naive), (ours.optima(size), naive),
            (ours.optima(size), ours.macs(paper.BASE, size)),
        )
    )  # fmt: skip
    measures: tuple[tuple[str, Printed, Callable[[list[float]], float]], ...] = (
        ("MAC over Naive's, mean", row.mean, fmean), ("MAC over Naive's, deviation", row.deviation, stdev)
    )  # fmt: skip
    for measure, printed, fold in measures:
        yield Figure(
            table="Table 2", measure=measure, method=method_label(method), setting=f"{size} candidates",
            printed=str(printed), unit=_unit(str(printed)), ours=fold(ratios) if ratios else None, has_clock=has_clock,
            least=fold(best) if best and fold is fmean else None, by_text=fold(by_text) if by_text else None,
        )  # fmt: skip


def _figure_4(ours: _Ours, method: Method, k: int, ratio: float, printed: str) -> Figure:
    reading, unit = CARRIED if method == paper.RBP else AUTHORS, _unit(printed, _SUPPLEMENT_DIGITS)
    contradicted = ""
    if method == paper.M_PBP and ratio in _SLIPPED:
        slipped = ours.mac(method, reading, k, _SLIPPED[ratio])
        if slipped is not None and is_printed_as(slipped, float(printed), unit):
            contradicted = (
                f"Supplement, m-Pbp, k = {k}: under {ratio:g} the paper prints {printed}, which the program gives for "
                f"{_SLIPPED[ratio]:g} ({slipped:.4g})."
            )
    return Figure(
        table="Supplement", measure="MAC", method=method_label(method), setting=f"k {k}, m {ratio:g}", printed=printed,
        unit=unit, ours=ours.mac(method, reading, k, ratio), contradicted=contradicted,
        by_text=ours.mac(method, TEXT, k, ratio),
    )  # fmt: skip


def _tables(chosen: Selection) -> list[Table]:
    figures = list(find_figures(chosen))
    if not _Ours(chosen).is_paper:
        title = "The figures that the paper prints: compared nothing"
        note = (
            "Compared nothing: none of these maps is one of the paper's. 'veilroute maps get dao' fetches them, and "
            "--maps DIR says where they are."
        )
        return [
            Table("as-printed", title, ("figures that the paper prints", NOT_COMPARED), ((len(figures),) * 2,), (note,))
        ]
    summary: list[Row] = []
    by_table = {
        name: [each for each in figures if each.table == name] for name in dict.fromkeys(f.table for f in figures)
    }
    for name, own in {**by_table, "all": figures}.items():
        counts = Counter(each.verdict for each in own)
        summary.append((name, len(own), *(counts[verdict] for verdict in VERDICTS)))
    limits = ", ".join(format_seconds(limit) for limit in chosen.time_limits_s)
    notes = [
        "Ours: computed as the authors' program does; the documentation names each option. By the paper's text: in the "
        "supplement's table m is one number for all secrets; a search has its proved optimum; Naive has another draw.",
        "Depends on their clock: coverage, times, and what searches had found when 300 s stopped them. Ours have time "
        f"limits of {limits} s on another machine; our times in Table 1 are over all 30 instances, the paper's over "
        "those on which Merge-BB with Blind ended. A printed MAC below the proved optimum would differ.",
        "UNSAFE: in the supplement's table m is a multiple of the secret's own base cost, so an observer who counts "
        "the shared nodes learns about the secret. There is no playbook of it.",
        "Figures 3 to 6 and the maps print no numbers. Figure 6 draws the supplement's table, with its misprints.",
    ]  # fmt: skip
    if missing := sum(each.verdict == NOT_COMPARED for each in figures):
        lack = "for which some of the 30 instances are missing, or were stopped where the authors' were not"
        notes.append(f"Not compared: {counted(missing, 'figure')}, {lack}.")
    columns = ("table", "measure", "method", "setting", "paper prints", "ours", "verdict", "by the paper's text")
    return [
        Table(
            "as-printed", "The figures that the paper prints, and ours", columns,
            tuple(each.row for each in figures), tuple(notes),
        ),
        Table(
            "as-printed-summary", "How many agree", ("table", "printed", *VERDICTS), tuple(summary),
            tuple(_misprints(figures)),
        ),
    ]  # fmt: skip


def _misprints(figures: Iterable[Figure]) -> Sequence[str]:
    # What Table 1 prints for Naive it prints twice, for two heuristics that change nothing.
    return [*dict.fromkeys(f"Misprint: {each.contradicted}" for each in figures if each.verdict == MISPRINT)]


def _findings(chosen: Selection) -> Iterator[str]:
    figures = list(find_figures(chosen))
    counts = Counter(each.verdict for each in figures)
    verbs = ("agree", "are misprints", "depend on their clock", "differ", "are not compared")
    told = ", ".join(f"{counts[verdict]} {verb}" for verdict, verb in zip(VERDICTS, verbs, strict=True))
    yield f"{len(figures)} printed figures: {told}."
    yield from _misprints(figures)
    for each in figures:
        if each.verdict == DIFFERS:
            yield f"Differs: {each.table}, {each.measure} of {each.method}, {each.setting}: {each.printed}."


PRINTED_SUITE = Suite(
    name="as-printed",
    heading="Every printed figure beside ours",
    where="Tables 1 to 3 and the table of the supplement",
    shows="173 figures.",
    found="",
    variations=paper_variations("as-printed", "as-printed"),
    tables=_tables,
    findings=_findings,
    pictures=lambda *_: [],
)
