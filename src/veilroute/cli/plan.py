"""`veilroute plan`: compute a playbook."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.beside import link_warning
from veilroute.app.plan import PlanResult, plan, read_time_limit
from veilroute.app.problem_file import explain, problem_text
from veilroute.app.requests import PlanRequest
from veilroute.app.summary import least_possible_risk, plan_summary
from veilroute.base.errors import InvalidInputError, VeilrouteError
from veilroute.base.io import write_file
from veilroute.base.run import Run
from veilroute.cli import console
from veilroute.cli.console import BAD_INPUT, DONE, INTERRUPTED, NOTHING_ANONYMIZED, JsonOption, OutOption, TimeLimit
from veilroute.cli.options import SHOWN, SetOption, complete, takes_request
from veilroute.cli.summaries import print_plan


@takes_request(PlanRequest, shown=SHOWN)
def run_plan(
    *problem: Annotated[
        Path,
        Parameter(
            name="PROBLEM",
            help="A problem file (.toml), a map (.osm.pbf, .map), a network or an instance; several with --out-dir.",
        ),
    ],
    request: PlanRequest,
    settings: SetOption = None,
    out: OutOption = None,
    json: JsonOption = False,
    out_dir: Annotated[
        Path | None,
        Parameter(help="Plan all files, one after the other, and write DIR/NAME.json for each NAME.*.", show=False),
    ] = None,
    embed: Annotated[
        bool, Parameter(negative="--no-embed", help="Keep the whole map in the playbook, or only its hash.", show=False)
    ] = True,
    explained: Annotated[
        bool,
        Parameter(name="--explain", help="Show every key, its value and where it came from; plan nothing.", show=False),
    ] = False,
    write_problem: Annotated[
        Path | None, Parameter(help="Write what was asked as a problem file (.toml); plan nothing.", show=False)
    ] = None,
) -> int:
    """Group the places and plan the routes.

    Options override what the file says; it can hold every key as well. The secret stop is not needed here: see
    `veilroute route`. More options, for research and special maps: `veilroute plan --help-all`.
    """
    if out_dir is not None or len(problem) > 1:
        return _plan_all(problem, request, settings, out, out_dir, embed=embed, as_json=json)
    if out is not None:
        console.check_out(out)
    asked, said = complete(request, problem, settings)
    if explained:
        return _explain(asked, said)
    if write_problem is not None:
        return _write_problem(asked, write_problem)
    if asked.ledger.enter and asked.ledger.file is not None and out is None:
        raise InvalidInputError("enter", "-o FILE as well: what is entered must be kept")
    limit = _limit(asked)
    made = _plan(asked, limit)
    playbook = made.playbook
    if out is not None:
        if made.record is None and (line := link_warning(playbook, out.parent)):
            console.remark(line)
        playbook.write(out, embed_domain=embed)
    if json:
        console.emit_json(made.to_dict())
    else:
        print_plan(playbook, made.runtime_s, out, made.shortfalls)
        if made.tours is not None and (told := made.tours.text()):
            console.emit(told + "\n")
        if made.record is not None:
            from veilroute.cli.ledger import history_lines  # here, because the ledger brings the auditor

            for line in history_lines(made.record, playbook, made.broken):
                console.emit(line + "\n")
    if made.is_stopped:
        console.remark("interrupted; this is the best playbook so far")
        return INTERRUPTED
    if playbook.status == "feasible":
        limit.tell_if_reached(made.runtime_s)
    if playbook.claims.num_anonymized:
        if made.record is not None and asked.ledger.enter:
            from veilroute.app.ledger import enter_playbook
            from veilroute.cli.ledger import tell_entered

            with console.running("replaying the adversary") as run, console.compile_notice():
                entered = enter_playbook(made.record, playbook, run)
            return tell_entered(entered, is_quiet=json)
        if made.record is not None and not json:
            told = f"Before it is used, enter it: veilroute ledger add {asked.ledger.file} {out or 'PLAYBOOK'}"
            console.emit(f"{told}\n")
        return DONE
    if (least := least_possible_risk(playbook)) is not None:
        console.remark(f"--risk: no plan reaches {playbook.privacy.beta:g}; the least that is possible here is {least}")
    return NOTHING_ANONYMIZED


def _limit(asked: PlanRequest) -> TimeLimit:
    return TimeLimit(read_time_limit(asked.method.time_limit), is_default=asked.method.time_limit is None)


def _plan(asked: PlanRequest, limit: TimeLimit) -> PlanResult:
    """Plan with progress, and with a Ctrl-C that keeps the best plan so far."""
    figure = "mean extra cost" if asked.method.objective == "total" else "MAC"
    with (
        console.live_progress(figure=figure, limit=limit) as report,
        console.polite_interrupt() as stop,
    ):
        return plan(asked, Run(report, stop, console.remark, console.tell_compiling))


def _plan_all(
    files: Sequence[Path],
    request: PlanRequest,
    settings: Sequence[str] | None,
    out: Path | None,
    out_dir: Path | None,
    *,
    embed: bool,
    as_json: bool,
) -> int:
    """Plan several files in one process, which loads and compiles once; a line for each, or an object.

    A file that cannot be planned is told of, and the others go on. The exit code is that of the first that has one.
    """
    if out is not None or out_dir is None:
        raise InvalidInputError("--out-dir", "a folder for the playbooks of several files, in place of -o")
    if request.ledger.file is not None:
        raise InvalidInputError("--ledger", "one file at a time: each playbook is entered before the next is planned")
    targets = [out_dir / f"{path.stem}.json" for path in files]
    if twice := next((path for path, times in Counter(targets).items() if times > 1), None):
        raise InvalidInputError("--out-dir", "files with different names: playbooks are named after them", twice.name)
    if same := next((target for target in targets if target.resolve() in {path.resolve() for path in files}), None):
        raise InvalidInputError(
            "--out-dir", "another folder: a playbook would take the place of its instance", str(same)
        )
    out_dir.mkdir(parents=True, exist_ok=True)
    codes = []
    for path, target in zip(files, targets, strict=True):
        try:
            asked, _ = complete(request, [path], settings)
            made = _plan(asked, _limit(asked))
        except VeilrouteError as error:
            if len(files) == 1:
                raise
            console.remark(f"{path}: {error}")
            codes.append(BAD_INPUT)
            continue
        made.playbook.write(target, embed_domain=embed)
        codes.append(DONE if made.playbook.claims.num_anonymized else NOTHING_ANONYMIZED)
        if as_json:
            names = {"instance": str(path), "playbook": str(target)}
            console.emit_json({**names, **plan_summary(made.playbook, made.runtime_s), **made.effort})
        else:
            claims, mac = made.playbook.claims, made.playbook.mac
            cost = "" if mac is None else f", MAC {mac:.6g}"
            told = f"{claims.num_anonymized} of {claims.num_coverable} hidden{cost} ({made.playbook.status})"
            console.emit(f"{target}: {told}, {made.runtime_s:.3g} s\n")
        if made.is_stopped:
            console.remark(f"interrupted; {len(codes)} of {len(files)} files are planned")
            return INTERRUPTED
    return next((code for code in codes if code != DONE), DONE)


def _explain(asked: PlanRequest, said: PlanRequest | None) -> int:
    """Every key, its value, and where it came from."""
    found = explain(asked, said)
    width = max(len(each.key) for each in found)
    origins = {"usual": "", "file": "problem file", "caller": "command line"}
    for each in found:
        shown = "" if each.value is None else str(each.value)
        console.emit(f"{each.key:{width}}  {shown:30} {origins[each.origin]}".rstrip() + "\n")
    return DONE


def _write_problem(asked: PlanRequest, target: Path) -> int:
    """What was asked, as a problem file. Its paths are relative to its own folder where they can be."""
    folder = target.resolve().parent
    parts = {}
    for name in ("problem", "privacy", "method", "ledger"):
        spec = getattr(asked, name)
        paths = {key: _near(value, folder) for key, value in vars(spec).items() if isinstance(value, Path)}
        parts[name] = replace(spec, **paths)
    write_file(target, problem_text(replace(asked, **parts)))
    console.emit(f"Problem: {target}\n")
    return DONE


def _near(path: Path, folder: Path) -> Path:
    whole = path.resolve()
    return whole.relative_to(folder) if whole.is_relative_to(folder) else whole
