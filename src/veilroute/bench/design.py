"""What a suite is: which cells it runs, which records it shows, means over them, and how it shows these.

A new suite is one :class:`Suite`, listed in :data:`veilroute.bench.suites.SUITES`. Means are those of
:mod:`statistics`, whose sums are exact: the order of the records plays no part.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from veilroute.bench.cells import (
    CARRIED,
    READINGS,
    SPREAD,
    TEXT,
    Cell,
    InstanceKey,
    Method,
    Outcome,
    Record,
    method_from_name,
)
from veilroute.bench.paper import NUM_INSTANCES, OPTIMAL, method_label
from veilroute.bench.table import Row, Table, Value, counted, format_apr, format_seconds, listed
from veilroute.checks import check_whole, is_number
from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.problem import MECHANISMS, SPREADS

MOST_CANDIDATES = 100_000  #: of an experiment
MOST_DRAWS = 1000  #: of a method that draws at random
TIME_LIMITS_S = (1e-9, 1e9)  #: the least and the most


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, ``None`` of nothing."""
    return fmean(values) if values else None


class Averages:
    """Means over the outcomes of cells: runtime and APR over all, the MAC over those that have one."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        macs = [outcome.mac for outcome in outcomes if outcome.mac is not None]
        self.num_cells, self.num_macs = len(outcomes), len(macs)
        ends = [outcome.is_finished for outcome in outcomes]
        #: The rest are cells of external programs that do not say whether their search was complete.
        self.num_finished, self.num_stopped, self.num_unknown = map(ends.count, (True, False, None))
        #: How many cells leave coverable candidates without anonymity.
        self.num_partial = sum(outcome.num_anonymized < outcome.num_coverable for outcome in outcomes)
        self.apr, self.mac = mean([outcome.apr for outcome in outcomes]), mean(macs)
        self.apr_text = None if self.apr is None else format_apr(self.apr)
        self.runtime_s = mean([outcome.runtime_s for outcome in outcomes])
        #: Whether the runtime is only a lower bound, because the clock stopped some cells: a text of it has a ≥ then.
        self.is_time_bound = self.num_stopped > 0
        at_least = "≥ " if self.is_time_bound else ""
        #: By observer, over the cells in which somebody is hidden: how often it guesses right, also when all was seen.
        names = dict.fromkeys(name for outcome in outcomes for name, _, _ in outcome.guesses)
        told = {
            name: [(within, end) for o in outcomes for own, within, end in o.guesses if own == name] for name in names
        }
        self.guesses = {name: tuple(map(fmean, zip(*chances, strict=True))) for name, chances in told.items()}
        self.time_text = None if self.runtime_s is None else f"{at_least}{format_seconds(self.runtime_s)}"
        cpu_s = mean([outcome.cpu_s for outcome in outcomes if outcome.cpu_s is not None])
        self.cpu_text = None if cpu_s is None else f"{at_least}{format_seconds(cpu_s)}"

    def of_finished(self, value: Value) -> Value:
        """A figure that counts finished cells: at least that, or n/a, if an external program does not say."""
        if not self.num_unknown:
            return value
        return f"≥ {value}" if self.num_finished else "n/a"


@dataclass(frozen=True)
class Selection:
    """The records of one suite: one for each instance, method and setting, sorted."""

    records: tuple[Record, ...]
    #: Further records of the same, under a shorter time limit or another seed.
    num_repeated: int = 0
    num_draws: int = 1  #: How many draws a record of a method that draws is the mean of.

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of candidates that occur."""
        return tuple(sorted({record.cell.num_candidates for record in self.records}))

    @property
    def time_limits_s(self) -> tuple[float, ...]:
        """The time limits that occur."""
        return tuple(sorted({record.cell.time_limit_s for record in self.records}))

    @property
    def num_instances(self) -> int:
        """How many different instances occur."""
        return len({record.cell.instance_key for record in self.records})

    @property
    def bounded(self) -> Selection:
        """Only the records with a finite m."""
        return Selection(tuple(record for record in self.records if record.cell.m_ratio is not None))

    @cached_property
    def averages(self) -> Averages:
        """Means over all records."""
        return Averages([record.outcome for record in self.records])

    def where(self, **setting: object) -> Selection:
        """Only the records whose cells have these values, such as ``method=BEST, k=2``."""
        wanted = setting.items()
        chosen = (r for r in self.records if all(getattr(r.cell, name) == value for name, value in wanted))
        return Selection(tuple(chosen), self.num_repeated, self.num_draws)

    def by_size(self) -> Iterator[tuple[int, Selection]]:
        """Each number of candidates that occurs, with its records."""
        return ((size, self.where(num_candidates=size)) for size in self.sizes)

    def by_instance(self, method: Method) -> dict[InstanceKey, Outcome]:
        """The outcomes of one method by instance."""
        return {record.cell.instance_key: record.outcome for record in self.where(method=method).records}

    def with_plugins(self, methods: tuple[Method, ...]) -> tuple[Method, ...]:
        """The methods of a table that have records, then those of the records that name a plug-in, by name."""
        every = {record.cell.method for record in self.records}
        plugins = sorted((each for each in every.difference(methods) if each.is_plugin), key=lambda each: each.name)
        return (*(method for method in methods if method in every), *plugins)

    @property
    def has_programs(self) -> bool:
        """Whether an external program has records: then tables of times also have processor times."""
        return any(record.cell.method.command for record in self.records)

    @property
    def is_finite_optimum_open(self) -> bool:
        """Whether the planner ``optimal`` left a finite m without a proof of optimality."""
        own = self.bounded.where(method=OPTIMAL).records
        return any(record.outcome.status not in ("optimal", "infeasible") for record in own)

    def bounded_label(self, method: Method) -> str:
        """How a table of finite m calls a method: ``optimal`` without a proof for that m gets another name."""
        is_open = method == OPTIMAL and self.is_finite_optimum_open
        return "optimal (not all proved)" if is_open else method_label(method)

    def build_table(
        self, name: str, title: str, columns: Sequence[str], rows: Iterable[Row], *, fixed: str, bases: Iterable[int],
        notes: Iterable[str] = (), noun: str = "instances",
    ) -> Table:  # fmt: skip
        """A table of figures from these records.

        Its first note says what is ``fixed``, the time limit and how many instances there are; its last ones what keeps
        the table from being complete and even. The ``bases`` are the numbers of cells that its figures rest on.
        """
        num_sizes, limits = len(self.sizes), f"{listed(self.time_limits_s)} s"
        at_sizes = f" at {num_sizes} sizes" if num_sizes > 1 else ""
        first = (
            f"{fixed}, {listed(self.sizes)} candidates, time limit {limits}. Records of "
            f"{counted(self.num_instances, 'instance')}{at_sizes}; the paper has {NUM_INSTANCES * num_sizes}, and "
            "a limit of 300 s."
        )
        last, counts = [], sorted(set(bases))
        if len(counts) > 1:
            last.append(
                f"Not complete: some figures rest on {counts[0]} and others on {counts[-1]} of the {noun}, so they are "
                "not all comparable."
            )
        if len(self.time_limits_s) > 1:
            last.append(f"The records have different time limits: {limits}.")
        if self.num_draws > 1:
            last.append(f"Methods that draw at random: on each instance the mean of {self.num_draws} draws.")
        if self.num_repeated:
            last.append(
                f"{counted(self.num_repeated, 'record')} of the same instances and methods with a shorter limit or "
                "another seed left out."
            )
        return Table(name, title, tuple(columns), tuple(rows), (first, *notes, *last))

    def stopped_note(self) -> list[str]:
        """How many cells the clock stopped, if any."""
        num_cells, num_stopped = self.averages.num_cells, self.averages.num_stopped
        note = f"{num_stopped} of {counted(num_cells, 'cell')} stopped by the clock; their best so far counts."
        return [note] if num_stopped else []


@dataclass(frozen=True)
class Variation:
    """What a suite varies: it runs every combination of these settings on its instances."""

    methods: tuple[Method, ...]
    sizes: tuple[int, ...] = (8,)  #: Numbers of candidates; where there are several, the user may choose others.
    ks: tuple[int, ...] = (2,)
    ells: tuple[float, ...] = (1,)
    radii: tuple[float, ...] = (0,)
    m_ratios: tuple[float | None, ...] = (None,)  #: ``None`` for m = infinity.
    keep_playbook: bool = False
    is_watched: bool = False
    risks: tuple[float | None, ...] = (None,)  #: ``None`` for counting to k.
    mechanisms: tuple[str, ...] = ("partition",)
    readings: tuple[str, ...] = (TEXT,)
    spreads: tuple[str, ...] = (SPREAD,)
    ms: tuple[int | None, ...] = (None,)  #: In nodes, where they are not stated as ratios.
    limits_s: tuple[float, ...] = ()  #: Time limits, where they are varied and not the user's choice.
    draws: int = 1  #: How often methods draw that draw at random; the others run once.
    instances: Literal["all", "first of each map", "first"] = "all"

    @property
    def is_sized(self) -> bool:
        """Whether the number of candidates is varied, and so the user's choice."""
        return len(self.sizes) > 1

    @property
    def is_for_all(self) -> bool:
        """Whether plug-ins take part: not where playbooks are drawn, a risk is bounded, or m is read as by others."""
        return not self.keep_playbook and self.risks == (None,) and self.readings == (TEXT,)

    def holds(self, cell: Cell) -> bool:
        """Whether a cell has these settings, whatever its map, time limit and seed; a plug-in may be the method."""
        return (
            (self.is_sized or cell.num_candidates in self.sizes)
            and cell.k in self.ks
            and cell.ell in self.ells
            and cell.radius in self.radii
            and cell.m_ratio in self.m_ratios
            and cell.keep_playbook == self.keep_playbook
            and cell.is_watched == self.is_watched
            and cell.risk in self.risks
            and cell.mechanism in self.mechanisms
            and cell.reading in self.readings
            and cell.spread in self.spreads
            and cell.m in self.ms
            and (cell.method in self.methods or cell.method.is_plugin)
        )

    def beyond(self, other: Variation) -> Iterator[tuple[str, str, str]]:
        """What of these settings another variation lacks: how a study's file calls each, what it is there, and here.

        Numbers of candidates are free where the other varies them, one time limit is, and plug-ins where they take
        part there.
        """
        free = {"sizes": other.is_sized, "limits_s": len(self.limits_s) < 2}
        for name, own in _VARIED.items():
            ours, theirs = getattr(self, own), getattr(other, own)
            if not free.get(own) and not set(ours) <= set(theirs):
                yield name, _written(own, theirs) or "one", _written(own, ours)
        for method in self.methods:
            if method not in other.methods and not (method.is_plugin and other.is_for_all):
                yield "methods", ", ".join(each.name for each in other.methods), method.name
        for name, ours, theirs in (
            ("keep_playbook", self.keep_playbook, other.keep_playbook), ("watched", self.is_watched, other.is_watched)
        ):  # fmt: skip
            if ours != theirs:
                yield name, str(theirs).lower(), str(ours).lower()


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn, beside the file also as vectors."""

    png: Path
    caption: str

    @property
    def svg(self) -> Path:
        """The same as vectors."""
        return self.png.with_suffix(".svg")

    @property
    def pdf(self) -> Path:
        """The same for LaTeX."""
        return self.png.with_suffix(".pdf")


Drawer = Callable[[Selection, Path, Mapping[str, Domain]], list[Picture]]
"""Draws into a folder that is there, the same bytes for the same records; maps by name or by hash, for playbooks."""


def chart(name: str, caption: str) -> Drawer:
    """The drawer of a suite with one figure: the function ``draw_NAME`` of :mod:`veilroute.bench.charts`."""

    def draw(chosen: Selection, folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
        # Here, because it imports matplotlib, which takes its time and is not needed for tables.
        from veilroute.bench import charts

        path = folder / f"{name}.png"
        charts.save_chart(getattr(charts, f"draw_{name}"), chosen, path)
        return [Picture(path, caption)]

    return draw


@dataclass(frozen=True)
class Suite:
    """An experiment of the paper or beyond it, and all that a report says about it."""

    name: str
    heading: str
    where: str  #: Where the paper has it; empty for what is beyond it.
    shows: str  #: What it shows there.
    found: str  #: What its authors found; empty too.
    variations: tuple[Variation, ...]
    tables: Callable[[Selection], list[Table]]
    findings: Callable[[Selection], Iterable[str]]  #: Sentences computed from the records.
    pictures: Drawer
    takes: Callable[[Cell], bool] | None = None  #: For a suite that shows more or fewer records than its variations.

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is one of the suite's, whatever its map, time limit and seed."""
        return self.takes(cell) if self.takes else any(variation.holds(cell) for variation in self.variations)

    def select(self, records: Iterable[Record]) -> Selection:
        """The records of the suite among any, each instance once for each method and setting, without errors.

        Of several records of the same the one with the longest time limit is taken, then the one with the smallest
        seed, then the one with the smallest key. The order of ``records`` plays no part.
        """
        own = [record for record in records if record.has_ended and self.holds(record.cell)]
        has_limits = any(variation.limits_s for variation in self.variations)
        best: dict[tuple[object, ...], dict[int, Record]] = {}
        num_repeated = 0
        for record in sorted(own, key=lambda r: (-r.cell.time_limit_s, r.cell.seed, r.cell.key)):
            cell = record.cell
            limit = cell.time_limit_s if has_limits else None
            # By the method's name: options of 1 and true are equal to Python, and two to the method.
            draws = best.setdefault((cell.instance_key, cell.method.name, *cell.setting, limit), {})
            is_other = any(first.cell.time_limit_s != cell.time_limit_s for first in draws.values())
            num_repeated += is_other or draws.setdefault(cell.draw, record).cell.key != cell.key
        merged = (_mean_of_draws([draws[i] for i in sorted(draws)]) for draws in best.values())
        num_draws = max(map(len, best.values()), default=1)
        return Selection(tuple(sorted(merged, key=order_of)), num_repeated, num_draws)

    def build_tables(self, records: Iterable[Record]) -> list[Table]:
        """The tables from records of any suites, none without records of this one."""
        chosen = self.select(records)
        return [table for table in self.tables(chosen) if table.rows] if chosen.records else []


_COUNTED = ("num_expansions", "num_searches", "num_partitions")


def _mean_of_draws(records: Sequence[Record]) -> Record:
    """One record for several draws of the same: means where there are numbers, else what the first has.

    It hides as many as the worst of the draws, so that it is not taken for one that always hides them all.
    """
    first = records[0]
    if len(records) == 1:
        return first
    outcomes = [record.outcome for record in records]
    means: dict[str, Any] = {"num_anonymized": min(outcome.num_anonymized for outcome in outcomes)}
    for name in ("apr", "mac", "runtime_s", "memory_mb", "cpu_s", *_COUNTED):
        values = [value for outcome in outcomes if (value := getattr(outcome, name)) is not None]
        if values:
            means[name] = round(fmean(values)) if name in _COUNTED else fmean(values)
    ends = {outcome.is_finished for outcome in outcomes}
    is_finished = next(end for end in (False, None, True) if end in ends)
    return replace(first, outcome=replace(first.outcome, is_finished=is_finished, **means))


# What an experiment of a study may vary, and which field of a variation it is.
_VARIED = {
    "candidates": "sizes", "k": "ks", "ell": "ells", "radius": "radii", "m": "ms", "m_ratio": "m_ratios",
    "risk": "risks", "mechanism": "mechanisms", "reading": "readings", "spread": "spreads", "time_limit_s": "limits_s",
}  # fmt: skip
_KINDS: dict[str, tuple[type, ...]] = {
    "sizes": (int,), "ks": (int,), "ells": (int, float), "radii": (int, float), "ms": (int,),
    "m_ratios": (int, float), "risks": (float,), "mechanisms": (str,), "readings": (str,), "spreads": (str,),
    "limits_s": (int, float),
}  # fmt: skip
_BOUNDS: dict[str, tuple[float, float]] = {
    "sizes": (2, MOST_CANDIDATES), "ks": (1, MOST_CANDIDATES), "ms": (1, 1e15), "risks": (1e-9, 1 - 1e-9),
    "limits_s": TIME_LIMITS_S,
}  # fmt: skip
_WORDS = {"mechanisms": MECHANISMS, "readings": READINGS, "spreads": SPREADS}
_NONE = {"ms": "inf", "m_ratios": "inf", "risks": "none"}  # how a file writes that there is none
EXPERIMENT_KEYS = (*_VARIED, "methods", "draws", "keep_playbook", "watched", "instances")
_INSTANCES = ("all", "first of each map", "first")


def read_variation(
    data: Mapping[str, Any], where: str, read_method: Callable[[str], Method] = method_from_name
) -> Variation:
    """A variation as a study's file states it; ``where`` begins the messages about what is wrong with it."""
    given: dict[str, Any] = {}
    for name, value in data.items():
        field = f"{where}.{name}"
        if name in _VARIED:
            own = _VARIED[name]
            listed_values = value if isinstance(value, list) else [value]
            given[own] = tuple(_checked(each, own, field) for each in listed_values)
            if not given[own] or len(set(given[own])) < len(given[own]):
                raise InvalidInputError(field, "values that differ, at least one", value)
        elif name == "methods":
            if not (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
                raise InvalidInputError(field, "names of methods, as pbp/merge-bb/cost-asc/tunnel", value)
            given["methods"] = tuple(map(read_method, value))
            if len(set(given["methods"])) < len(value):
                raise InvalidInputError(field, "methods that differ", value)
        elif name == "draws":
            given["draws"] = check_draws(field, value)
        elif name in ("keep_playbook", "watched"):
            if not isinstance(value, bool):
                raise InvalidInputError(field, "true or false", value)
            given["is_watched" if name == "watched" else name] = value
        elif name == "instances" and value in _INSTANCES:
            given["instances"] = value
        else:
            expected = f"one of {', '.join(_INSTANCES)}" if name == "instances" else f"one of {listed(EXPERIMENT_KEYS)}"
            raise InvalidInputError(field, expected, value if name == "instances" else name)
    if "methods" not in given:
        raise InvalidInputError(f"{where}.methods", "the names of the methods to run")
    if given.get("ms", (None,)) != (None,) and given.get("m_ratios", (None,)) != (None,):
        raise InvalidInputError(f"{where}.m", "m or m_ratio, not both")
    made = Variation(**given)
    if made.risks != (None,) and "ks" in given and (len(made.ks) > 1 or None not in made.risks):
        raise InvalidInputError(f"{where}.k", "k or risk; or one k, where one of the risks is 'none'", data["k"])
    if made.readings != (TEXT,):
        planners = ("rbp",) if CARRIED in made.readings else ("rbp", "cbp", "m-pbp", "pbp/naive")
        for method in made.methods:
            is_whole = method.partitioner == "naive"
            if method.planner not in planners and not (is_whole and "pbp/naive" in planners):
                known = ", ".join(planners)
                raise InvalidInputError(f"{where}.methods", f"{known} alone for that reading", method.name)
            if is_whole != (None in made.m_ratios) or (is_whole and len(made.m_ratios) > 1):
                expected = f"finite numbers for readings other than {TEXT}, and 'inf' for naive"
                raise InvalidInputError(f"{where}.m_ratio", expected)
    return made


def check_draws(field: str, value: Any) -> int:
    """How often methods draw."""
    return check_whole(field, value, f"an integer from 1 to {MOST_DRAWS}", least=1, most=MOST_DRAWS)


def _written(own: str, values: Iterable[Any]) -> str:
    """Values of a setting as a file has them."""
    plain = (_NONE[own] if value is None else value for value in values)
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in plain)


def _checked(value: Any, own: str, field: str) -> Any:
    """One value of a setting."""
    if value == _NONE.get(own):
        return None
    if own in _WORDS:
        if value not in _WORDS[own]:
            raise UnknownMethodError(field, value, tuple(_WORDS[own]))
        return value
    least, most = _BOUNDS.get(own, (0, 1e15))
    if not isinstance(value, _KINDS[own]) or not is_number(value, least, most):
        kind = "integers" if _KINDS[own] == (int,) else "numbers"
        none = f", or {_NONE[own]!r}" if own in _NONE else ""
        raise InvalidInputError(field, f"{kind} from {least:.10g} to {most:.10g}{none}", value)
    return value if _KINDS[own] == (int,) else float(value)


@cache
def paper_file(name: str = "paper") -> Mapping[str, Any]:
    """A study of the package, as its file states it."""
    file = f"{name}.toml"
    return read_toml(resources.files("veilroute.bench").joinpath("studies", file).read_bytes(), file)


def read_toml(data: bytes, source: str | Path) -> Mapping[str, Any]:
    """The data of a TOML file, or one line on what is wrong with it."""
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(source, f"not TOML: {error}") from None
    except (ValueError, RecursionError):
        trouble = "an integer has thousands of digits, or lists are nested too deep"
        raise FileFormatError(source, f"not TOML that can be read: {trouble}") from None


def paper_variations(name: str, study: str = "paper") -> tuple[Variation, ...]:
    """What the file of a study says about one of the paper's suites."""
    own = [each for each in paper_file(study)["experiment"] if each["name"] == name]
    return tuple(
        read_variation({key: value for key, value in each.items() if key not in ("name", "shown_as")}, f"paper.{name}")
        for each in own
    )


def order_of(record: Record) -> tuple[Any, ...]:
    """Sorts records by map, pair, size, setting and method."""
    cell = record.cell
    at = cell.instance
    ratio = float("inf") if cell.m_ratio is None else cell.m_ratio
    place = (at.map_name, cell.map_sha256, at.seed, at.start, at.goal, cell.num_candidates)
    setting = (cell.k, cell.ell, cell.radius, ratio, cell.risk or 0.0, cell.mechanism, cell.reading, cell.spread)
    return (*map(str, place[:2]), *place[2:3], *map(str, place[3:5]), place[5], *setting, cell.method.name, cell.key)
