"""`veilroute bench`: the paper's tables and figures."""

import math
import shlex
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from typer import Argument, Option

from veilroute import __version__
from veilroute.bench import suites
from veilroute.bench.executors import DaskWorkforce, LocalWorkforce, Workforce
from veilroute.bench.report import write_report
from veilroute.bench.results import RecordStore
from veilroute.bench.runner import RunProgress, RunReport, run_cells
from veilroute.bench.table import counted
from veilroute.cli.console import DONE, INTERRUPTED, emit, emit_json, live_progress, polite_interrupt, remark, stderr
from veilroute.cluster import hush_dask
from veilroute.covering.crew import num_threads
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.progress import Progress

_LINE_EVERY_S = 30.0
_FINISHING = "finishing the cells that are running; once more to drop them"
_READY = "getting ready (a first run compiles for a minute)"


def run_bench(
    suite: str = Argument(metavar="SUITE", help=f"{', '.join(suites.SUITES)}, or all."),
    preset: str = Option("quick", metavar="quick|paper", help="How many pairs, and how long for each cell."),
    candidates: list[str] | None = Option(
        None, metavar="N", help=f"How many candidates, 8 or 8,12; for {', '.join(suites.SIZED_SUITES)}. [8,12,16]"
    ),
    map_names: list[str] | None = Option(
        None, "--map", metavar="NAME", help="Only this map; may be repeated. [all six]"
    ),
    pairs: int | None = Option(None, metavar="N", help="Pairs of start and goal on each map. [quick 2, paper 5]"),
    method: list[str] | None = Option(
        None, metavar="NAME", help="Only this method, as pbp/merge-bb/cost-asc/tunnel; may be repeated. [all]"
    ),
    reading: str = Option(
        "text", metavar="text|authors", help="Also table4 with m as the paper's authors had it, which is unsafe."
    ),
    time_limit: float | None = Option(None, metavar="SECONDS", help="For each cell. [quick 4, paper 300]"),
    workers: int | None = Option(None, metavar="N", help="Processes on this machine. [one for each core]"),
    dask: str | None = Option(None, metavar="ADDRESS", help="Run on the Dask cluster with this scheduler instead."),
    maps: Path | None = Option(None, metavar="DIR", help="Where the paper's maps are. [the cache of 'veilroute maps']"),
    out: Path = Option(Path("veilroute-bench"), metavar="DIR", help="Records and report; an earlier run goes on here."),
    retry_errors: bool = Option(False, "--retry-errors", help="Run cells again whose record tells of an error."),
    json: bool = Option(False, "--json", help="Print one JSON object in place of the tables."),
) -> int:
    """Run the paper's experiments and write their tables, figures and a report.

    Each finished cell is recorded at once. Started again, the same command runs only what is missing.
    """
    if preset not in suites.PRESETS:
        raise UnknownMethodError("--preset", preset, tuple(suites.PRESETS))
    if workers is not None and dask is not None:
        raise InvalidInputError("--workers", "--workers or --dask, not both")
    names, (num_pairs, limit_s) = suites.suite_names(suite, reading), suites.PRESETS[preset]
    num_pairs = num_pairs if pairs is None else pairs
    limit_s = limit_s if time_limit is None else time_limit
    choice = suites.Choice(limit_s, sizes=_read_sizes(candidates or ()), methods=tuple(method or ()))
    terrain = suites.find_terrain(num_pairs=num_pairs, map_names=tuple(map_names or ()), directory=maps)
    cells = suites.build_cells(names, terrain, choice)
    workforce: Workforce
    if dask is not None:
        hush_dask()
        workforce = DaskWorkforce(dask)
    else:
        workforce = LocalWorkforce(num_threads() if workers is None else workers)
    with RecordStore(out) as store, polite_interrupt(_FINISHING) as stop:
        num_known = sum(cell.key in store for cell in cells)
        known = f", {num_known} of them recorded already" if num_known else ""
        try:
            with _reporting(f"{terrain.remark}; {counted(len(cells), 'cell')}{known}") as report:
                run = run_cells(
                    cells,
                    terrain.domains,
                    store,
                    workforce,
                    run_id=uuid.uuid4().hex[:12],
                    retry_errors=retry_errors,
                    report=report,
                    should_stop=stop,
                )
        except KeyboardInterrupt:
            return _stop(sum(cell.key in store for cell in cells), len(cells))
    if run.is_complete or run.records:
        # What makes the same report, without what only says where and how fast.
        words = ["veilroute", "bench", suite, "--preset", preset]
        for option, values in (("--candidates", candidates), ("--map", map_names), ("--method", method)):
            words += [word for value in values or () for word in (option, value)]
        words += ["--reading", reading] if reading != "text" else []
        words += ["--pairs", str(pairs)] if pairs is not None else []
        words += ["--time-limit", f"{time_limit:g}"] if time_limit is not None else []
        words += ["--maps", "DIR"] if maps is not None else []
        _finish(names, run, terrain, out, shlex.join(words), as_json=json)
    return DONE if run.is_complete else _stop(len(run.records), len(cells))


def _read_sizes(texts: Sequence[str]) -> tuple[int, ...]:
    words = [word.strip() for text in texts for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise InvalidInputError("--candidates", "whole numbers, as 8 or 8,12", word)
    return tuple(int(word) for word in words)


def _stop(num_done: int, num_cells: int) -> int:
    remark(f"interrupted; {num_done} of {num_cells} cells are recorded, and the same command goes on there")
    return INTERRUPTED


def _finish(
    names: Sequence[str], run: RunReport, terrain: suites.Terrain, out: Path, command: str, *, as_json: bool
) -> None:
    """Write the report, print the tables."""
    notes = list(_notes(run, terrain))
    files = write_report(out, names, run.records, domains=terrain.domains, notes=notes, command=command)
    tables = [table for name in names for table in suites.SUITES[name].build_tables(run.records)]
    if as_json:
        summary = {
            "suites": names,
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
def _reporting(opening: str) -> Iterator[Callable[[RunProgress], None]]:
    """Yield a callback that shows on standard error how far the run is; a line now and then where nobody watches.

    The opening is printed with the first report, when it is clear that there is somebody to run the cells.
    """
    is_watched, told_at_s = stderr().is_terminal, 0.0
    with live_progress(_READY) as show:

        def report(progress: RunProgress) -> None:
            nonlocal told_at_s
            if not told_at_s:
                remark(opening)
                told_at_s = time.monotonic()
            left = ""
            if not progress.num_workers and progress.done < progress.total:
                left = ", waiting for workers"
            elif math.isfinite(progress.seconds_left):
                left = f", about {_duration(progress.seconds_left)} left"
            doing = _READY if math.isnan(progress.seconds_left) else "cells"
            show(Progress(f"{doing}{left}", progress.done, progress.total))
            if not is_watched and time.monotonic() - told_at_s >= _LINE_EVERY_S:
                remark(f"{progress.done} of {progress.total} cells{left}")
                told_at_s = time.monotonic()

        yield report


def _duration(seconds: float) -> str:
    """For example ``40 s``, ``7 min``, ``2 h 05 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
