"""`veilroute maps`: benchmark maps in a per-user cache."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from veilroute.base.errors import InvalidInputError, one_line
from veilroute.base.io import dump_canonical
from veilroute.cli.console import DONE, emit, stderr, stdout
from veilroute.cli.options import group
from veilroute.maps import MapStore, fetch_sets

app = group("maps", "Benchmark maps in a per-user cache.")


@app.command(name="list")
def run_list(
    *,
    as_json: Annotated[bool, Parameter(name="--json", help="One JSON object in place of the table.")] = False,
) -> int:
    """Show the maps that are here, and whether they are what the paper used."""
    store = MapStore()
    maps = store.list_maps()
    scenarios = {stored.name: str(stored.path) for stored in store.list_scenarios() if not stored.problem}
    absent = sorted(store.catalogue.pinned.keys() - {stored.name for stored in maps if stored.verified})
    rows: list[dict[str, Any]] = [
        {
            "name": stored.name,
            "set": stored.set_name,
            "path": str(stored.path),
            "num_bytes": stored.num_bytes,
            "state": stored.problem or ("verified" if stored.verified else "unverified"),
            "verified": stored.verified,
            "source": stored.source,
            "scenarios": scenarios.get(f"{stored.name}.scen"),
        }
        for stored in maps
    ]
    if as_json:
        emit(dump_canonical({"cache": str(store.root), "maps": rows, "absent": absent}).decode(), is_utf8=True)
        return DONE
    if rows:
        table = Table()
        for heading in ("map", "set", "bytes", "state", "scenarios", "source"):
            table.add_column(heading, justify="right" if heading == "bytes" else "left", overflow="fold")
        for row in rows:
            size, has_scenarios = f"{row['num_bytes']:,}", "yes" if row["scenarios"] else "no"
            table.add_row(row["name"], row["set"], size, row["state"], has_scenarios, row["source"])
        stdout().print(table)
    emit(f"Cache: {store.root}\n")
    if absent:
        hint = "run 'veilroute maps get', or 'veilroute maps add DIR' for local copies"
        emit(f"Maps of the paper that are not here: {', '.join(absent)}; {hint}\n")
    return DONE


@app.command(name="get")
def run_get(
    *sets: Annotated[str, Parameter(name="SETS", help="dao, street; both by default.")],
    url: Annotated[
        str | None,
        Parameter(name="--url", help="Base address of the archives; else $VEILROUTE_MAPS_URL, else movingai.com."),
    ] = None,
    timeout: Annotated[float, Parameter(name="--timeout", help="Seconds of silence before trying again.")] = 20.0,
    force: Annotated[bool, Parameter(name="--force", help="Fetch even what is here already.")] = False,
    scenarios: Annotated[
        bool, Parameter(negative="--no-scenarios", help="Whether to fetch the scenario files too.")
    ] = True,
) -> int:
    """Download benchmark maps. Interrupted downloads continue where they stopped."""
    store = MapStore()
    screen = stderr()
    name = TextColumn("{task.description}")
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=screen, disable=not screen.is_terminal)
    tasks = {}

    def report(archive: str, done: int, total: int | None) -> None:
        if archive not in tasks:
            tasks[archive] = bar.add_task(archive, total=total)
            if not screen.is_terminal:
                screen.print(f"fetching {archive}", soft_wrap=True)
        bar.update(tasks[archive], completed=done, total=total)

    try:
        with bar:
            fetched = fetch_sets(
                store, sets or (), base_url=url, scenarios=scenarios, force=force, timeout_s=timeout, report=report
            )
    except KeyboardInterrupt:
        screen.print("what has arrived is kept; the same command continues there", soft_wrap=True)
        raise
    for one in fetched:
        emit(f"{one.archive}: {'here already' if one.was_present else f'{one.num_files} files installed'}\n")
    emit(f"Cache: {store.root}\n")
    return DONE


@app.command(name="add")
def run_add(
    directory: Annotated[Path, Parameter(name="DIR", help="Searched for .map and .scen files, all levels.")],
    /,
) -> int:
    """Register local copies of maps; they stay where they are."""
    report = MapStore().add_directory(directory)
    for line in (*report.skipped, *report.refused):
        stderr().print(one_line(line), soft_wrap=True)
    num_verified = len(report.verified)
    emit(f"{report.num_registered} files registered, {num_verified} of them maps of the paper, verified\n")
    if report.refused:
        # The others are registered all the same; the exit code says that not everything was.
        raise InvalidInputError("DIR", f"files that can be used; {len(report.refused)} refused, see above")
    return DONE


map_app = group("map", "Make maps, and fetch benchmark maps into a per-user cache.")


def make_command(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Which command makes a map of the file that `map make` is given, and what it is called with.

    An area (.geojson) becomes a lattice to fly in, a grid or an instance is converted, and everything else is a street
    network: an extract of OpenStreetMap, or a graph from elsewhere.
    """
    source = next((word for word in arguments if not word.startswith("-")), "")
    suffix = Path(source).suffix.lower()
    if suffix == ".geojson":
        return "area", list(arguments)
    if suffix not in (".map", ".scen", ".in"):
        return "streets", list(arguments)
    at = next((i for i, word in enumerate(arguments) if word in ("-o", "--out")), None)
    if at is None:
        return "convert", list(arguments)
    rest = [*arguments[:at], *arguments[at + 2 :]]
    place = rest.index(source) + 1
    return "convert", [*rest[:place], *arguments[at + 1 : at + 2], *rest[place:]]


@map_app.command(name="make")
def run_make(
    source: Annotated[
        Path, Parameter(name="IN", help="An OpenStreetMap extract, a graph, an area (.geojson), a grid.")
    ],
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"), metavar="OUT", help="A .json or .npz file.")],
) -> int:
    """Make a network of an OpenStreetMap extract or a graph, or a lattice of an area to fly in; or convert a grid.

    More options depend on the file: see `veilroute streets --help` for extracts and graphs, `veilroute area --help` for
    areas, and `veilroute convert --help` for grids and instances.
    """
    raise InvalidInputError("IN", "a file", str(source))  # with a file, `make_command` has chosen another command


for name, command in (("list", run_list), ("get", run_get), ("add", run_add)):
    map_app.command(command, name=name)
