"""The paper's experiments: suites of cells, a runner that survives being killed, tables, figures and a report.

A suite (``design``, ``suites``) says which cells to run. Cells (``cells``) become records (``runner``, ``executors``,
``results``). From its records a suite makes tables, sentences and pictures (``tables``, ``charts``) for a ``report``;
``printed`` has what the paper printed (``paper``) beside ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.registry import lazy_names

if TYPE_CHECKING:
    from veilroute.bench.cells import Cell, Method, Outcome, Record
    from veilroute.bench.design import Selection, Suite, Variation
    from veilroute.bench.executors import DaskWorkforce, LocalWorkforce
    from veilroute.bench.paper import BEST, OPTIMAL
    from veilroute.bench.report import ReportFiles, write_report
    from veilroute.bench.results import RecordStore, read_records
    from veilroute.bench.runner import Job, RunProgress, RunReport, map_text, run_cell, run_cells
    from veilroute.bench.suites import SUITES, Choice, Terrain, build_cells, find_terrain, suite_names
    from veilroute.bench.table import Mean, Table
    from veilroute.bench.tables import Layout, build_means

__all__ = [
    "BEST", "OPTIMAL", "SUITES", "Cell", "Choice", "DaskWorkforce", "Job", "Layout", "LocalWorkforce", "Mean", "Method",
    "Outcome", "Record", "RecordStore", "ReportFiles", "RunProgress", "RunReport", "Selection", "Suite", "Table",
    "Terrain", "Variation", "build_cells", "build_means", "find_terrain", "map_text", "read_records", "run_cell",
    "run_cells", "suite_names", "write_report",
]  # fmt: skip

# Each when it is wanted: commands that only measure memory need none of them.
__getattr__ = lazy_names(
    __name__,
    cells="Cell Method Outcome Record", design="Selection Suite Variation", executors="DaskWorkforce LocalWorkforce",
    paper="BEST OPTIMAL", report="ReportFiles write_report",
    results="RecordStore read_records", runner="Job RunProgress RunReport map_text run_cell run_cells",
    suites="Choice SUITES Terrain build_cells find_terrain suite_names", table="Mean Table",
    tables="Layout build_means",
)  # fmt: skip
