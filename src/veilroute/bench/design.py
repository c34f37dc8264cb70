"""What a suite is: which cells it runs, which records it shows, and how it shows them.

A new suite is one :class:`Suite`, listed in :data:`veilroute.bench.suites.SUITES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from veilroute.bench.cells import Cell, Method, Record
from veilroute.bench.summaries import Selection
from veilroute.bench.table import Table
from veilroute.domain.graph import Domain


@dataclass(frozen=True)
class Variation:
    """What a suite varies: it runs every combination of these settings on its instances."""

    methods: tuple[Method, ...]
    sizes: tuple[int, ...] = (8,)  #: Numbers of candidates; none where these are the user's choice.
    ks: tuple[int, ...] = (2,)
    ells: tuple[float, ...] = (1,)
    radii: tuple[float, ...] = (0,)
    m_ratios: tuple[float | None, ...] = (None,)  #: ``None`` for m = infinity.
    keep_playbook: bool = False
    instances: Literal["all", "first of each map", "first"] = "all"

    def holds(self, cell: Cell) -> bool:
        """Whether a cell has these settings, whatever its map, time limit and seed; a plug-in may be the method."""
        return (
            (not self.sizes or cell.num_candidates in self.sizes)
            and cell.k in self.ks
            and cell.ell in self.ells
            and cell.radius in self.radii
            and cell.m_ratio in self.m_ratios
            and cell.keep_playbook == self.keep_playbook
            and (cell.method in self.methods or cell.method.is_plugin)
        )


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn, beside the file also as ``.svg``."""

    png: Path
    caption: str

    @property
    def svg(self) -> Path:
        """The same as vectors."""
        return self.png.with_suffix(".svg")


Drawer = Callable[[Selection, Path, Mapping[str, Domain]], list[Picture]]
"""Draws into a folder; maps by name or by hash, for pictures of playbooks."""


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
    """An experiment of the paper, and all that a report says about it."""

    name: str
    heading: str
    where: str  #: Where the paper has it.
    shows: str  #: What it shows there.
    found: str  #: What its authors found.
    variations: tuple[Variation, ...]
    tables: Callable[[Selection], list[Table]]
    findings: Callable[[Selection], Iterable[str]]  #: Sentences computed from the records.
    pictures: Drawer
    takes: Callable[[Cell], bool] | None = None  #: For a suite that shows records beyond its variations.

    @property
    def is_sized(self) -> bool:
        """Whether it varies the number of candidates."""
        return any(not variation.sizes for variation in self.variations)

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is one of the suite's, whatever its map, time limit and seed."""
        return self.takes(cell) if self.takes else any(variation.holds(cell) for variation in self.variations)

    def select(self, records: Iterable[Record]) -> Selection:
        """The records of the suite among any, each instance once for each method and setting, without errors.

        Of several records of the same the one with the longest time limit is taken, then the one with the smallest
        seed, then the one with the smallest key. The order of ``records`` plays no part.
        """
        own = [record for record in records if record.has_ended and self.holds(record.cell)]
        best: dict[tuple[object, ...], Record] = {}
        num_repeated = 0
        for record in sorted(own, key=lambda r: (-r.cell.time_limit_s, r.cell.seed, r.cell.key)):
            cell = record.cell
            place = (cell.instance_key, cell.method, cell.k, cell.ell, cell.radius, cell.m_ratio)
            num_repeated += best.setdefault(place, record).cell.key != cell.key
        return Selection(tuple(sorted(best.values(), key=order_of)), num_repeated)

    def build_tables(self, records: Iterable[Record]) -> list[Table]:
        """The tables from records of any suites, none without records of this one."""
        chosen = self.select(records)
        return self.tables(chosen) if chosen.records else []

    def describe(self, records: Iterable[Record]) -> list[str]:
        """A few sentences from records of any suites, none without records of this one."""
        chosen = self.select(records)
        return list(self.findings(chosen)) if chosen.records else []

    def draw(self, records: Iterable[Record], folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
        """The pictures from records of any suites, drawn into a folder that is there; the same records, same bytes."""
        chosen = self.select(records)
        return self.pictures(chosen, folder, domains) if chosen.records else []


def order_of(record: Record) -> tuple[Any, ...]:
    """Sorts records by map, pair, size, setting and method."""
    cell = record.cell
    at = cell.instance
    ratio = float("inf") if cell.m_ratio is None else cell.m_ratio
    place = (at.map_name, cell.map_sha256, at.seed, at.start, at.goal, cell.num_candidates)
    return (*place, cell.k, cell.ell, cell.radius, ratio, cell.method.name, cell.key)
