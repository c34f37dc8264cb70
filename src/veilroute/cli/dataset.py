"""`veilroute bench export` and `veilroute bench verify`: a data set, and how near submissions come to its optima."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.base.errors import InvalidInputError, one_line
from veilroute.base.io import write_file
from veilroute.bench import suites
from veilroute.bench.dataset import SIZES, SUBMISSIONS, export_dataset
from veilroute.bench.leaderboard import verify_dataset
from veilroute.bench.table import counted, listed
from veilroute.cli import console
from veilroute.cli.bench import read_sizes
from veilroute.cli.console import DONE, INTERRUPTED, VIOLATED, JsonOption, TimeLimitOption, read_time_limit

_SIZES_TEXT = ",".join(map(str, SIZES))
_MOST_REASONS = 5  # of each submission


def run_export(
    directory: Annotated[
        Path, Parameter(name="DIR", help="The folder to write; an export that was stopped continues there.")
    ],
    /,
    *,
    candidates: Annotated[
        list[str] | None,
        Parameter(metavar="N", help=f"How many candidates, 8 or 8,50; may be repeated. [{_SIZES_TEXT}]"),
    ] = None,
    map_names: Annotated[
        list[str] | None, Parameter(name="--map", metavar="NAME", help="Only this map; may be repeated. [all six]")
    ] = None,
    pairs: Annotated[int, Parameter(metavar="N", help="Pairs of start and goal on each map.")] = 5,
    maps: Annotated[
        Path | None, Parameter(metavar="DIR", help="Where the paper's maps are. [the cache of 'veilroute maps']")
    ] = None,
    time_limit: TimeLimitOption = None,
    json: JsonOption = False,
) -> int:
    """Write the paper's instances and larger ones as files, with proved optima, certificates and checksums.

    Beside the folder, an archive of all files is written that a repository for data can take. Without the paper's maps
    the instances are on generated ones, and the files say so.
    """
    limit = read_time_limit(time_limit, "an instance")
    sizes = read_sizes(candidates or ()) or SIZES
    terrain = suites.find_terrain(num_pairs=pairs, map_names=tuple(map_names or ()), directory=maps)
    with (
        console.live_progress(limit=limit) as report,
        console.polite_interrupt("stopping after this instance") as stop,
        console.compile_notice(),
    ):
        made = export_dataset(
            directory, terrain, sizes=sizes, time_limit_s=limit.seconds, progress=report, should_stop=stop
        )
    if json:
        summary = {"directory": str(directory), "num_instances": len(made.entries), "num_wanted": made.num_wanted}
        summary |= {"archive": None if made.archive is None else str(made.archive), "sha256": made.sha256}
        console.emit_json(
            {**summary, "num_proved": made.num_proved, "is_generated": terrain.is_generated, "notes": made.notes}
        )
    else:
        proved = f"{made.num_proved} with a proved optimum"
        console.emit(f"{counted(len(made.entries), 'instance')} in {directory}, {proved}.\n")
        if made.archive is not None:
            console.emit(f"Archive: {made.archive.name} beside it, SHA-256 {made.sha256}.\n")
        console.emit("".join(f"Note: {note}.\n" for note in made.notes))
    if len(made.entries) < made.num_wanted:
        done = f"{len(made.entries)} of {made.num_wanted} instances"
        console.remark(f"interrupted; {done} are there, and the same command goes on")
        return INTERRUPTED
    return DONE


def run_verify(
    directory: Annotated[
        Path, Parameter(name="DIR", help="A data set from `veilroute bench export`: its folder or archive.")
    ],
    /,
    *folders: Annotated[
        Path, Parameter(name="FOLDER...", help=f"Submissions, each a folder of NAME.json. [those in DIR/{SUBMISSIONS}]")
    ],
    optima: Annotated[
        bool, Parameter(name="--optima", help="Audit the optima of the data set as well, as one more submission.")
    ] = False,
    page: Annotated[
        Path | None, Parameter(metavar="FILE.html", help="Also write the leaderboard as a web page.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Check a data set, let the auditor judge playbooks that were handed in, and rank these.

    Without any playbooks, the optima of the data set are judged. The exit code is 1 when a playbook is refused.
    """
    if page is not None:
        console.check_out(page, "--page")
    given = list(folders or ())
    if stranger := next((folder for folder in given if not folder.is_dir()), None):
        raise InvalidInputError("FOLDER", "a folder with playbooks", str(stranger))
    if not given and (directory / SUBMISSIONS).is_dir():
        given = sorted(folder for folder in (directory / SUBMISSIONS).iterdir() if folder.is_dir())
    with (
        console.live_progress("getting ready") as report,
        console.polite_interrupt("stopping after this playbook") as stop,
        console.compile_notice(),
    ):
        ranking = verify_dataset(directory, given, with_optima=optima or not given, progress=report, should_stop=stop)
    refused, better = ranking.refused, ranking.contradictions
    if page is not None:
        write_file(page, ranking.to_html())
    if json:
        console.emit_json(ranking.to_dict())
    else:
        instances = counted(len(ranking.entries), "instance")
        version = f"version {ranking.dataset.version}"
        console.emit(f"The data set is what veilroute exports as {version}: {instances}, all checksums hold.\n\n")
        console.emit(ranking.to_table().to_text())
        for one in ranking.standings:
            own = [each for each in refused if each.submission == one.submission]
            for each in own[:_MOST_REASONS]:
                console.emit(f"Refused: {one_line(f'{each.submission}/{each.entry.name}: {each.reason}')}\n")
            if len(own) > _MOST_REASONS:
                more = len(own) - _MOST_REASONS
                console.emit(f"Refused: {more} more of {one_line(one.submission)}; --json has them all.\n")
    if better:
        names = one_line(listed(f"{each.submission}/{each.entry.name}" for each in better[:3]))
        console.remark(f"better than a proved optimum, so that one of the two is wrong: {names}")
    if not ranking.is_complete:
        return INTERRUPTED
    return VIOLATED if refused or better else DONE
