"""What a suite is: which cells it runs, which records it shows, means over them, and how it shows these.

A new suite is one :class:`Suite`, listed in :data:`veilroute.bench.suites.SUITES`. Means are those of
:mod:`statistics`, whose sums are exact: the order of the records plays no part.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from veilroute.base.checks import check_whole, is_number
from veilroute.base.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.bench.cells import CARRIED, READINGS, SPREAD, TEXT, Cell, Method, Outcome, Record, method_from_name
from veilroute.bench.table import Table, listed
from veilroute.domain.graph import Domain
from veilroute.model.problem import MECHANISMS, SPREADS

MOST_CANDIDATES = 100_000  #: of an experiment
MOST_DRAWS = 1000  #: of a method that draws at random
TIME_LIMITS_S = (1e-9, 1e9)  #: the least and the most


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, ``None`` of nothing."""
    return fmean(values) if values else None


class Averages:
    """Means over the outcomes of cells: runtime and APR over all, the MAC over those that have one."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.num_finished = sum(bool(outcome.is_finished) for outcome in outcomes)
        self.apr = mean([outcome.apr for outcome in outcomes])
        self.mac = mean([outcome.mac for outcome in outcomes if outcome.mac is not None])
        self.runtime_s = mean([outcome.runtime_s for outcome in outcomes])


@dataclass(frozen=True)
class Selection:
    """The records of one suite: one for each instance, method and setting, sorted."""

    records: tuple[Record, ...]
    #: Further records of the same, under a shorter time limit or another seed.
    num_repeated: int = 0
    num_draws: int = 1  #: How many draws a record of a method that draws is the mean of.

    @property
    def time_limits_s(self) -> tuple[float, ...]:
        """The time limits that occur."""
        return tuple(sorted({record.cell.time_limit_s for record in self.records}))

    def where(self, **setting: object) -> Selection:
        """Only the records whose cells have these values, such as ``method=BEST, k=2``."""
        wanted = setting.items()
        chosen = (r for r in self.records if all(getattr(r.cell, name) == value for name, value in wanted))
        return Selection(tuple(chosen), self.num_repeated, self.num_draws)


@dataclass(frozen=True)
class Variation:
    """What a suite varies: it runs every combination of these settings on its instances."""

    methods: tuple[Method, ...]
    sizes: tuple[int, ...] = (8,)  #: Numbers of candidates; where there are several, the user may choose others.
    ks: tuple[int, ...] = (2,)
    ells: tuple[float, ...] = (1.0,)
    radii: tuple[float, ...] = (0.0,)
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
            and all(getattr(cell, name) in getattr(self, own) for name, own in SETTING_FIELDS.items())
            and cell.keep_playbook == self.keep_playbook
            and cell.is_watched == self.is_watched
            and (cell.method in self.methods or cell.method.is_plugin)
        )


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn; beside the file are others, as vectors for the web and for LaTeX."""

    png: Path
    caption: str

    @property
    def paths(self) -> tuple[Path, ...]:
        """The three files."""
        return tuple(self.png.with_suffix(f".{form}") for form in ("png", "svg", "pdf"))


Drawer = Callable[[Selection, Path, Mapping[str, Domain]], list[Picture]]
"""Draws into a folder that is there, the same bytes for the same records; maps by name or by hash, for playbooks."""


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
    details: Callable[[Selection], list[Table]] = lambda chosen: []  #: Further tables, which are only written to files.
    takes: Callable[[Cell], bool] | None = None  #: For a suite of a study of one's own: the cells that it runs itself.

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

    It hides as many as the worst of the draws, and ended and was audited like the worst, so that it is not taken for
    one that always does well.
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
    for name in ("is_finished", "audit_holds"):
        answers = {getattr(outcome, name) for outcome in outcomes}
        means[name] = next(each for each in (False, None, True) if each in answers)
    guesses: dict[str, list[list[float]]] = {}
    for outcome in outcomes:
        for observer, *chances in outcome.guesses:
            guesses.setdefault(observer, []).append(chances)
    means["guesses"] = tuple((who, *map(fmean, zip(*found, strict=True))) for who, found in guesses.items())
    return replace(first, outcome=replace(first.outcome, **means))


class _Range(NamedTuple):
    """What a setting may be: which field of a variation it is, numbers between bounds or words, and what is none."""

    field: str
    kind: type = float  #: ``float`` means any number.
    least: float = 0
    most: float = 1e15
    words: Sequence[str] = ()
    none: str = ""  #: How a file writes that there is none.


# What an experiment of a study may vary, by the name that a cell has for it.
_VARIED = {
    "candidates": _Range("sizes", int, 2, MOST_CANDIDATES),
    "k": _Range("ks", int, 1, MOST_CANDIDATES),
    "ell": _Range("ells"),
    "radius": _Range("radii"),
    "m": _Range("ms", int, 1, none="inf"),
    "m_ratio": _Range("m_ratios", none="inf"),
    "risk": _Range("risks", least=1e-9, most=1 - 1e-9, none="none"),
    "mechanism": _Range("mechanisms", words=MECHANISMS),
    "reading": _Range("readings", words=READINGS),
    "spread": _Range("spreads", words=SPREADS),
    "time_limit_s": _Range("limits_s", float, *TIME_LIMITS_S),
}
#: What of it a cell has under that name, and which field of a variation it is.
SETTING_FIELDS = {name: own.field for name, own in _VARIED.items() if name not in ("candidates", "time_limit_s")}
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
            values = value if isinstance(value, list) else [value]
            own = given[_VARIED[name].field] = tuple(_checked(each, _VARIED[name], field) for each in values)
            if not own or len(set(own)) < len(own):
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


def _checked(value: Any, own: _Range, field: str) -> Any:
    """One value of a setting."""
    if own.none and value == own.none:
        return None
    if own.words:
        if value not in own.words:
            raise UnknownMethodError(field, value, tuple(own.words))
        return value
    if not isinstance(value, int | own.kind) or not is_number(value, own.least, own.most):
        kind = "integers" if own.kind is int else "numbers"
        none = f", or {own.none!r}" if own.none else ""
        raise InvalidInputError(field, f"{kind} from {own.least:.10g} to {own.most:.10g}{none}", value)
    return own.kind(value)


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
        read_variation({key: value for key, value in each.items() if key in EXPERIMENT_KEYS}, f"paper.{name}")
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
