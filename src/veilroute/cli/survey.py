"""`veilroute survey`: every start and goal of a map."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from veilroute.analysis.all_pairs import MAX_POINTS, survey_pairs
from veilroute.app.load import load_open_instance
from veilroute.app.requests import ProblemRequest
from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.base.io import dump_canonical, write_file
from veilroute.cli import console
from veilroute.cli.console import DONE, INTERRUPTED, NOTHING_ANONYMIZED, JsonOption, TimeLimitOption, read_time_limit
from veilroute.cli.options import FileArgument, complete, takes_request

_OUTPUTS = (".png", ".svg", ".pdf", ".json")
_USUAL_POINTS = 24
_USUAL_CANDIDATES = 8


@takes_request(ProblemRequest)
def run_survey(
    instance: FileArgument,
    /,
    *,
    request: ProblemRequest,
    points: Annotated[
        str, Parameter(metavar="N|all", help="How many points of the map to draw, for all pairs of them; or all.")
    ] = str(_USUAL_POINTS),
    planner: Annotated[str, Parameter(help="Any planner of `plan` that needs nothing else.")] = "optimal",
    partitioner: Annotated[str | None, Parameter(help="For pbp and m-pbp.")] = None,
    time_limit: TimeLimitOption = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="Heat maps (.png, .svg, .pdf), or all figures (.json).",
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Plan for all pairs of start and goal of a map: who can be hidden where, and at what cost.

    Trips in the file play no part. Where neither the file nor an option has candidates, eight are drawn.
    """
    if out is not None:
        console.check_out(out)
        if out.suffix.lower() not in _OUTPUTS:
            raise UnknownMethodError("--out format", out.suffix or str(out), _OUTPUTS)
    limit = read_time_limit(time_limit)
    num = _read_points(points)
    loaded = load_open_instance(complete(request, [instance])[0], console.plain_run(), num_usual=_USUAL_CANDIDATES)
    num_nodes = loaded.problem.domain.num_nodes
    if num is None and num_nodes > MAX_POINTS:
        raise InvalidInputError("--points", f"a number up to {MAX_POINTS}: there are too many nodes for all", num_nodes)
    extra: dict[str, Any] = {} if partitioner is None else {"partitioner": partitioner}
    with (
        console.live_progress(limit=limit) as report,
        console.polite_interrupt("stopping with the pairs so far") as stop,
        console.compile_notice(),
    ):
        survey = survey_pairs(
            loaded.problem,
            loaded.privacy,
            points=None if num is None else min(num, num_nodes),
            planner=planner,
            seed=request.problem.seed or 0,
            time_limit_s=limit.seconds,
            progress=report,
            should_stop=stop,
            **extra,
        )
    if out is not None:
        if out.suffix.lower() == ".json":
            write_file(out, dump_canonical(survey.to_dict()))
        else:
            from veilroute.plotting import draw_survey

            draw_survey(survey, out)
    if json:
        console.emit_json(survey.to_dict())
    else:
        console.emit(survey.text())
        if out is not None:
            console.emit(f"{'Figures' if out.suffix.lower() == '.json' else 'Picture'}: {out}\n")
    if len(survey.pairs) < survey.num_wanted:
        why = "interrupted" if stop() else "out of time"
        console.remark(f"{why}; these are {len(survey.pairs)} of {survey.num_wanted} pairs")
        if stop():
            return INTERRUPTED
    return DONE if survey.num_anonymized else NOTHING_ANONYMIZED


def _read_points(text: str) -> int | None:
    if text.strip().lower() == "all":
        return None
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= MAX_POINTS:
        raise InvalidInputError("--points", f"a number from 1 to {MAX_POINTS}, or all", text)
    return int(text)
