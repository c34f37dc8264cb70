"""`veilroute maps`: benchmark maps in a per-user cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from veilroute.cli.console import DONE, emit, stderr, stdout
from veilroute.errors import InvalidInputError, one_line
from veilroute.jsontext import dump_canonical
from veilroute.maps import MapStore, StoredMap, fetch_sets

app = typer.Typer(name="maps", help="Benchmark maps in a per-user cache.", no_args_is_help=True)


@app.command("list")
def run_list(
    as_json: Annotated[bool, Option("--json", help="One JSON object in place of the table.")] = False,
) -> int:
    """Show the maps that are here, and whether they are what the paper used."""
    store = MapStore()
    maps = store.list_maps()
    scenarios = {stored.name: str(stored.path) for stored in store.list_scenarios() if not stored.problem}
    usable = {stored.name for stored in maps if stored.verified}
    absent = sorted(store.catalogue.pinned.keys() - usable)
    if as_json:
        rows = [_as_data(stored, scenarios) for stored in maps]
        emit(dump_canonical({"cache": str(store.root), "maps": rows, "absent": absent}).decode(), is_utf8=True)
        return DONE
    out = stdout()
    if maps:
        table = Table()
        for heading in ("map", "set", "bytes", "state", "scenarios", "source"):
            table.add_column(heading, justify="right" if heading == "bytes" else "left", overflow="fold")
        for stored in maps:
            table.add_row(
                Text(stored.name),
                stored.set_name,
                f"{stored.num_bytes:,}",
                _state(stored),
                "yes" if f"{stored.name}.scen" in scenarios else "no",
                stored.source,
            )
        out.print(table)
    _say(out, f"Cache: {store.root}")
    if absent:
        hint = "run 'veilroute maps get', or 'veilroute maps add DIR' for local copies"
        _say(out, f"Maps of the paper that are not here: {', '.join(absent)}; {hint}")
    return DONE


@app.command("get")
def run_get(
    sets: Annotated[list[str] | None, Argument(metavar="SETS", help="dao, street; both by default.")] = None,
    url: Annotated[
        str | None,
        Option("--url", help="Base address of the archives; else $VEILROUTE_MAPS_URL, else movingai.com."),
    ] = None,
    timeout: Annotated[float, Option("--timeout", help="Seconds of silence before trying again.")] = 20.0,
    force: Annotated[bool, Option("--force", help="Fetch even what is here already.")] = False,
    scenarios: Annotated[
        bool, Option("--scenarios/--no-scenarios", help="Whether to fetch the scenario files too.")
    ] = True,
) -> int:
    """Download benchmark maps. Interrupted downloads continue where they stopped."""
    store = MapStore()
    screen = stderr()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=screen,
        disable=not screen.is_terminal,
    )
    tasks = {}

    def report(archive: str, done: int, total: int | None) -> None:
        if archive not in tasks:
            tasks[archive] = bar.add_task(archive, total=total)
            if not screen.is_terminal:
                _say(screen, f"fetching {archive}")
        bar.update(tasks[archive], completed=done, total=total)

    try:
        with bar:
            fetched = fetch_sets(
                store, sets or (), base_url=url, scenarios=scenarios, force=force, timeout_s=timeout, report=report
            )
    except KeyboardInterrupt:
        _say(screen, "what has arrived is kept; the same command continues there")
        raise
    out = stdout()
    for one in fetched:
        _say(out, f"{one.archive}: {'here already' if one.was_present else f'{one.num_files} files installed'}")
    _say(out, f"Cache: {store.root}")
    return DONE


@app.command("add")
def run_add(
    directory: Annotated[Path, Argument(metavar="DIR", help="Searched for .map and .scen files, all levels.")],
) -> int:
    """Register local copies of maps; they stay where they are."""
    report = MapStore().add_directory(directory)
    for line in (*report.skipped, *report.refused):
        _say(stderr(), one_line(line))
    num_verified = len(report.verified)
    _say(stdout(), f"{report.num_registered} files registered, {num_verified} of them maps of the paper, verified")
    if report.refused:
        # The others are registered all the same; the exit code says that not everything was.
        raise InvalidInputError("DIR", f"files that can be used; {len(report.refused)} refused, see above")
    return DONE


def _say(screen: Console, line: str) -> None:
    """Print a line as it is: a path or a name is neither broken nor read as markup."""
    screen.print(Text(line), soft_wrap=True)


def _state(stored: StoredMap) -> str:
    return stored.problem or ("verified" if stored.verified else "unverified")


def _as_data(stored: StoredMap, scenarios: dict[str, str]) -> dict[str, object]:
    return {
        "name": stored.name,
        "set": stored.set_name,
        "path": str(stored.path),
        "num_bytes": stored.num_bytes,
        "state": _state(stored),
        "verified": stored.verified,
        "source": stored.source,
        "scenarios": scenarios.get(f"{stored.name}.scen"),
    }
