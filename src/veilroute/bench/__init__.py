"""The paper's experiments: suites of cells, a runner that survives being killed, tables, figures and a report.

A suite (``design``, ``suites``) says which cells to run. Cells (``cells``) become records (``runner``, ``executors``,
``results``). From its records a suite makes tables, sentences and pictures (``tables``, ``charts``) for a ``report``;
``printed`` has what the paper printed (``paper``) beside ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.bench.authors import read_as_authors
    from veilroute.bench.cells import (
        AUTHORS,
        CARRIED,
        EXTERNAL,
        TEXT,
        Cell,
        Instance,
        Method,
        Outcome,
        Record,
        record_from_dict,
    )
    from veilroute.bench.charts import draw_chart
    from veilroute.bench.dataset import (
        INDEX,
        SUMS,
        VERSION,
        DataSet,
        Entry,
        export_dataset,
        name_of,
        pack_archive,
        read_dataset,
    )
    from veilroute.bench.design import Picture, Selection, Suite, Variation
    from veilroute.bench.executors import (
        DaskWorkforce,
        LocalWorkforce,
        Loss,
        MemoryGauge,
        provenance,
    )
    from veilroute.bench.external import read_printed, read_program, run_external, split_command
    from veilroute.bench.leaderboard import Judgement, Ranking, Standing, verify_dataset
    from veilroute.bench.paper import (
        BEST,
        BOUNDED,
        BOUNDED_KS,
        CBP,
        M_PBP,
        MAPS,
        NAIVE,
        OPTIMAL,
        PARTITIONING,
        RBP,
        SIZES,
        TABLE4,
        map_fingerprints,
        method_label,
        number,
        read_paper_instances,
    )
    from veilroute.bench.printed import (
        AGREES,
        CLOCK,
        DIFFERS,
        MISPRINT,
        NOT_COMPARED,
        Figure,
        find_figures,
        is_printed_as,
    )
    from veilroute.bench.report import Page, ReportFiles, write_report
    from veilroute.bench.results import FILE_NAME, RecordStore, read_records
    from veilroute.bench.runner import (
        Job,
        RunProgress,
        RunReport,
        bounded_m,
        failed_outcome,
        map_text,
        run_cell,
        run_cells,
    )
    from veilroute.bench.statistics import bootstrap_interval, correct_by_holm, half_width, paired_p_value
    from veilroute.bench.study import Study, read_study, shipped_studies
    from veilroute.bench.suites import (
        GENERATED,
        MAX_CANDIDATES,
        SUITES,
        Choice,
        Terrain,
        build_cells,
        find_suite,
        find_terrain,
        known_instances,
        left_out,
        showing_own,
        suite_names,
    )
    from veilroute.bench.table import Mean, Table
    from veilroute.bench.tables import (
        Layout,
        build_findings,
        build_means,
        build_paired,
    )

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "BEST", "OPTIMAL", "SUITES", "Cell", "Choice", "DaskWorkforce", "Job", "Layout", "LocalWorkforce", "Mean", "Method",
    "Outcome", "Record", "RecordStore", "ReportFiles", "RunProgress", "RunReport", "Selection", "Suite", "Table",
    "Terrain", "Variation", "build_cells", "build_means", "find_terrain", "map_text", "read_records", "run_cell",
    "run_cells", "suite_names", "write_report",
]  # fmt: skip
