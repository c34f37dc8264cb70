"""`veilroute bench`: the paper's tables and figures, and studies of one's own."""

import math
import shlex
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute import __version__
from veilroute.base.cluster import hush_dask
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Progress
from veilroute.bench import suites
from veilroute.bench.design import Selection
from veilroute.bench.executors import DaskWorkforce, LocalWorkforce, Workforce
from veilroute.bench.external import read_program
from veilroute.bench.report import write_report
from veilroute.bench.results import RecordStore
from veilroute.bench.runner import RunProgress, RunReport, run_cells
from veilroute.bench.study import Study, read_study, shipped_studies
from veilroute.bench.table import counted
from veilroute.cli.console import DONE, INTERRUPTED, emit, emit_json, live_progress, polite_interrupt, remark
from veilroute.covering.crew import num_threads

_FINISHING = "finishing the cells that are running; once more to drop them"
_READY = "getting ready (a first run compiles for a minute)"


def run_bench(
    suite: Annotated[str, Parameter(name="SUITE", help=f"{', '.join(suites.SUITES)}, paper for all, or run.")],
    study: Annotated[
        str | None, Parameter(name="STUDY", help=f"After run: a study's .toml file, or {', '.join(shipped_studies())}.")
    ] = None,
    /,
    *,
    preset: Annotated[
        str | None,
        Parameter(metavar="NAME", help="How much is run: quick or paper, or one of the study's. [quick, or the first]"),
    ] = None,
    candidates: Annotated[
        list[str] | None,
        Parameter(metavar="N", help=f"How many candidates, 8 or 8,12; for {', '.join(suites.SIZED_SUITES)}. [8,12,16]"),
    ] = None,
    map_names: Annotated[
        list[str] | None, Parameter(name="--map", metavar="NAME", help="Only this map; may be repeated. [all six]")
    ] = None,
    pairs: Annotated[
        int | None, Parameter(metavar="N", help="Pairs of start and goal on each map. [quick 2, paper 5]")
    ] = None,
    method: Annotated[
        list[str] | None,
        Parameter(metavar="NAME", help="Only this method, as pbp/merge-bb/cost-asc/tunnel; may be repeated. [all]"),
    ] = None,
    as_printed: Annotated[
        bool,
        Parameter(
            name="--as-printed", help="With the suite paper: every printed figure beside ours, and whether they agree."
        ),
    ] = False,
    external: Annotated[
        list[str] | None,
        Parameter(
            metavar="NAME=COMMAND",
            help="Also run this program, as 'mine=./planner -k {k} {instance}'; may be repeated.",
        ),
    ] = None,
    draws: Annotated[
        int, Parameter(metavar="N", help="How often methods draw that draw at random; their means count.")
    ] = 1,
    time_limit: Annotated[
        float | None, Parameter(metavar="SECONDS", help="For each cell. [quick 4, paper 300]")
    ] = None,
    workers: Annotated[
        int | None, Parameter(metavar="N", help="Processes on this machine. [one for each core]")
    ] = None,
    dask: Annotated[
        str | None, Parameter(metavar="ADDRESS", help="Run on the Dask cluster with this scheduler instead.")
    ] = None,
    maps: Annotated[
        Path | None, Parameter(metavar="DIR", help="Where the paper's maps are. [the cache of 'veilroute maps']")
    ] = None,
    out: Annotated[
        Path,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="DIR",
            help="Records and report; an earlier run goes on here.",
        ),
    ] = Path("veilroute-bench"),
    retry_errors: Annotated[
        bool, Parameter(name="--retry-errors", help="Run cells again whose record tells of an error.")
    ] = False,
    json: Annotated[bool, Parameter(name="--json", help="Print one JSON object in place of the tables.")] = False,
) -> int:
    """Run the paper's experiments, or a study of one's own, and write tables, figures and a report.

    Each finished cell is recorded at once. Started again, the same command runs only what is missing.
    """
    if workers is not None and dask is not None:
        raise InvalidInputError("--workers", "--workers or --dask, not both")
    if suite == "run" and study is None:
        raise InvalidInputError("STUDY", "a study after run, as 'veilroute bench run FILE.toml'")
    if suite.endswith(".toml"):
        raise InvalidInputError("SUITE", "run before the file of a study, as 'veilroute bench run FILE.toml'", suite)
    if suite != "run" and study is not None:
        raise InvalidInputError("STUDY", "none after a suite", study)
    if as_printed and suite != "paper":
        raise InvalidInputError("--as-printed", "the whole paper, as 'veilroute bench paper --as-printed'", suite)
    is_printed = as_printed or "as-printed" in (suite, study)
    chosen = read_study(study or ("as-printed" if is_printed else "paper"))
    if chosen.is_paper and study is None:
        names = suites.suite_names(suite)
        chosen = replace(chosen, suites=tuple(each for each in chosen.suites if each.name in names))
    preset, amount = chosen.preset(preset)
    amount = amount if pairs is None else replace(amount, pairs=pairs)
    amount = amount if time_limit is None else replace(amount, time_limit_s=time_limit)
    choice = suites.Choice(
        amount.time_limit_s, sizes=read_sizes(candidates or ()), methods=tuple(method or ()), draws=draws,
        externals=tuple(map(read_program, external or ())),
    )  # fmt: skip
    terrain = chosen.find_terrain(amount, map_names=tuple(map_names or ()), directory=maps)
    if is_printed and terrain.is_generated:  # nothing could be compared, so nothing is run
        (table,) = chosen.suites[0].tables(Selection(()))
        if json:
            emit_json({"maps": list(terrain.domains), "is_generated": True, "num_cells": 0, "tables": [asdict(table)]})
        else:
            emit(table.to_text())
        return DONE
    shown = chosen.within(amount)
    cells = suites.build_cells(shown, terrain, choice)
    omitted = list(suites.left_out(shown, terrain, choice))
    if not chosen.is_paper:  # whose suites show what else is recorded, on purpose
        shown = suites.showing_own(shown, terrain, choice)
    workforce: Workforce
    if dask is not None:
        hush_dask()
        workforce = DaskWorkforce(dask)
    else:
        workforce = LocalWorkforce(num_threads() if workers is None else workers)
    with RecordStore(out) as store, polite_interrupt(_FINISHING) as stop:

        def opening() -> str:
            num_known = sum(cell.key in store for cell in cells)
            known = f", {num_known} of them recorded already" if num_known else ""
            return f"{terrain.remark}; {counted(len(cells), 'cell')}{known}"

        try:
            with _reporting(opening) as report:
                run = run_cells(
                    cells,
                    terrain.domains,
                    store,
                    workforce,
                    run_id=uuid.uuid4().hex[:12],
                    retry_errors=retry_errors,
                    report=report,
                    should_stop=stop,
                    warn=remark,
                )
        except KeyboardInterrupt:
            return _stop(sum(cell.key in store for cell in cells), len(cells))
    if run.is_complete or run.records:
        # What makes the same report, without what only says where and how fast.
        words = ["veilroute", "bench", suite, *([] if study is None else [study]), "--preset", preset]
        repeated = {"--candidates": candidates, "--map": map_names, "--method": method, "--external": external}
        for option, values in repeated.items():
            words += [word for value in values or () for word in (option, value)]
        words += ["--as-printed"] if as_printed else []
        words += ["--draws", str(draws)] if draws != 1 else []
        words += ["--pairs", str(pairs)] if pairs is not None else []
        words += ["--time-limit", f"{time_limit:g}"] if time_limit is not None else []
        words += ["--maps", "DIR"] if maps is not None else []
        _finish(replace(chosen, suites=shown), run, terrain, omitted, out, shlex.join(words), as_json=json)
    return DONE if run.is_complete else _stop(len(run.records), len(cells))


def read_sizes(texts: Sequence[str]) -> tuple[int, ...]:
    """Numbers of candidates as typed: each text one, or several with commas."""
    words = [word.strip() for text in texts for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise InvalidInputError("--candidates", "whole numbers, as 8 or 8,12", word)
    return tuple(int(word) for word in words)


def _stop(num_done: int, num_cells: int) -> int:
    remark(f"interrupted; {num_done} of {num_cells} cells are recorded, and the same command goes on there")
    return INTERRUPTED


def _finish(
    study: Study, run: RunReport, terrain: suites.Terrain, omitted: Sequence[str], out: Path, command: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Write the report, print the tables."""
    notes = [*_notes(run, terrain), *omitted]
    files = write_report(
        out, study.suites, run.records, domains=terrain.domains, notes=notes, command=command,
        title=study.title, about=study.about,
    )  # fmt: skip
    tables = [table for suite in study.suites for table in suite.build_tables(run.records)]
    if as_json:
        summary = {
            "suites": [suite.name for suite in study.suites],
            "maps": list(terrain.domains),
            "is_generated": terrain.is_generated,
            "num_cells": run.num_cells,
            "num_run": run.num_run,
            "num_errors": len(run.errors),
            "records": str(RecordStore(out).path),
            "report": str(files.html),
            "notes": notes,
            "tables": list(map(asdict, tables)),
        }
        emit_json(summary)
        return
    emit("".join(f"{table.to_text()}\n" for table in tables))
    emit("".join(f"Note: {note}.\n" for note in notes))
    emit(f"{counted(run.num_run, 'cell')} run, {len(run.records) - run.num_run} taken from {RecordStore(out).path}.\n")
    emit(f"Report: {files.html}\n")


def _notes(run: RunReport, terrain: suites.Terrain) -> Iterator[str]:
    """What a reader of the report has to know about how it came about."""
    yield terrain.remark
    if not run.is_complete:
        yield f"interrupted: {len(run.records)} of {run.num_cells} cells are here"
    if run.errors:
        first = run.errors[0]
        yield (
            f"{len(run.errors)} of {run.num_cells} cells ended with an error (--retry-errors runs them again); "
            f"the first is {first.cell.method.name} on {first.cell.instance.map_name}: {first.outcome.error}"
        )
    versions = Counter(str(record.provenance["versions"].get("veilroute", "unknown")) for record in run.records)
    for version, count in sorted(versions.items()):
        if version != __version__:
            yield f"{count} records were made by veilroute {version}"


@contextmanager
def _reporting(opening: Callable[[], str]) -> Iterator[Callable[[RunProgress], None]]:
    """Yield a callback that shows on standard error how far the run is.

    The opening is printed with the first report, when it is clear that there is somebody to run the cells.
    """
    is_open = False
    with live_progress(_READY) as show:

        def report(progress: RunProgress) -> None:
            nonlocal is_open
            if not is_open:
                remark(opening())
                is_open = True
            left = ""
            if not progress.num_workers and progress.done < progress.total:
                left = "waiting for workers; "
            elif math.isfinite(progress.seconds_left):
                left = f"about {_duration(progress.seconds_left)} left; "
            doing = f"{_READY}; cells" if math.isnan(progress.seconds_left) else "cells"
            show(Progress(f"{left}{doing}", progress.done, progress.total))

        yield report


def _duration(seconds: float) -> str:
    """For example ``40 s``, ``7 min``, ``2 h 05 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
