"""`veilroute check`: is every address found, and what else is wrong?"""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.check import TABLES, CheckResult, check
from veilroute.app.requests import PlanRequest
from veilroute.base.errors import Issue, UnknownMethodError
from veilroute.cli import console
from veilroute.cli.console import BAD_INPUT, DONE, JsonOption, emit, emit_json
from veilroute.cli.keys import as_typed, heading, option_of
from veilroute.cli.options import SHOWN, FileArgument, SetOption, complete, takes_request

_SHOWN = {"Problem": SHOWN["Problem"]}


@takes_request(PlanRequest, shown=_SHOWN)
def run_check(
    problem: FileArgument,
    /,
    *,
    request: PlanRequest,
    settings: SetOption = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=("--out", "-o"),
            metavar="FILE",
            help="Write the places that were found, with their coordinates (.xlsx, .csv).",
            group=heading("Output"),
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Find every place and address, and list all problems at once, with suggestions. Plans nothing.

    The exit code is 0 if the problem can be planned, and 2 if something must be changed first.
    """
    if out is not None:
        console.check_out(out)
        if out.suffix.lower() not in TABLES:
            raise UnknownMethodError("out", out.suffix or str(out), TABLES)
    asked, _ = complete(request, [problem], settings)
    with console.live_progress("looking for places"):
        found = check(asked, console.plain_run())
    if out is not None:
        found.write_places(out)
    if json:
        emit_json(found.to_dict())
    else:
        _tell(found, out)
    return DONE if found.is_ready else BAD_INPUT


def _tell(found: CheckResult, out: Path | None) -> None:
    for issue in found.issues:
        emit(f"{issue_text(issue)}\n")
    if found.issues:
        what = "1 problem" if len(found.issues) == 1 else f"{len(found.issues)} problems"
        emit(f"{what}; {len(found.places)} places were found.\n")
    else:
        num = sum(place.role == "candidate" for place in found.places)
        emit(f"Ready to plan: {num} possible stops, and all places were found.\n")
    if out is not None:
        emit(f"Places: {out}\n")


def issue_text(issue: Issue) -> str:
    """A problem as people read it: where, what, and what was probably meant."""
    field = None if issue.field is None else option_of(issue.field)
    row = None if issue.row is None else f"line {issue.row}"
    column = None if issue.column is None else f"column {issue.column}"
    parts = (issue.file, row, column, field if issue.file is None else None, issue.name)
    where = ", ".join(part for part in parts if part)
    hint = f" Did you mean {' or '.join(map(repr, issue.did_you_mean[:3]))}?" if issue.did_you_mean else ""
    return as_typed(f"{where}: {issue.what}{hint}" if where else f"{issue.what}{hint}")
