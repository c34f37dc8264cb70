"""`veilroute audit` and `veilroute risk`: whether a playbook keeps its word, and what it tells an observer."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.audit import audit, risk
from veilroute.app.audit_day import audit_day_files
from veilroute.app.requests import AuditRequest, ProblemRequest, RiskRequest, values
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import write_file
from veilroute.base.run import Run
from veilroute.cli.console import (
    DONE,
    VIOLATED,
    JsonOption,
    check_out,
    emit,
    emit_json,
    live_progress,
    remark,
    tell_compiling,
)
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument, complete, out_option, takes_request
from veilroute.cli.replan import audit_replan_file
from veilroute.cli.simulate import simulate_files

_CHARTS = (".png", ".svg", ".pdf")


@takes_request(ProblemRequest, shown={})
def run_audit(
    *playbooks: Annotated[
        Path,
        Parameter(name="PLAYBOOK...", help="Playbooks made by `veilroute plan`; several are linked, in this order."),
    ],
    request: ProblemRequest,
    instance: Annotated[
        Path | None,
        Parameter(
            name=("--against", "--instance"),
            metavar="PROBLEM",
            help="What was meant, with the options that `plan` was given: map, trips, candidates, visibility, privacy "
            "and names are compared.",
        ),
    ] = None,
    domain: DomainOption = None,
    ledger: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            help="Link the trips of all playbooks of a ledger; those that are named must be what it says they are.",
        ),
    ] = None,
    day: Annotated[
        Path | None,
        Parameter(
            metavar="DIR|FILE",
            help="Check a day of a fleet instead: the folder that `fleet -o` wrote, or its day.json.",
        ),
    ] = None,
    before: Annotated[
        tuple[Path, ...],
        Parameter(metavar="DIR|FILE", help="With --day, of the rest of a day: each day that was planned before it."),
    ] = (),
    replan: Annotated[
        Path | None, Parameter(metavar="FILE", help="Check a replan instead: the .json file that `replan -o` wrote.")
    ] = None,
    terms: Annotated[
        Path | None,
        Parameter(
            metavar="FILE", help="With --day: the terms that were meant, or the day.json of another day under them."
        ),
    ] = None,
    reruns: Annotated[
        int | None,
        Parameter(
            metavar="N", help="With --day: for how many other orders the dispatcher is run again; 0 for none. [20]"
        ),
    ] = None,
    simulate: Annotated[
        bool,
        Parameter(
            name="--simulate",
            help="Simulate an observer on the street instead, and compare what it achieves with what is printed.",
        ),
    ] = False,
    checker: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            help="Write the sceptic's checker instead: one Python file that checks the privacy of a playbook and needs "
            "nothing installed. Takes no playbook.",
        ),
    ] = None,
    trips: Annotated[
        str | None,
        Parameter(
            metavar="KIND",
            help="Of several playbooks without a ledger: whether trips are occasional, so that a day without one says "
            "nothing, or expected every day. [occasional]",
        ),
    ] = None,
    strict: Annotated[bool, Parameter(name="--strict", help="Exit 1 also when a claim could not be proved.")] = False,
    out: Annotated[Path | None, out_option("Of linked trips: a chart over time (.png, .svg, .pdf).")] = None,
    json: JsonOption = False,
) -> int:
    """Check every claim of a playbook by replaying the adversary: exit 0 when all hold, 1 when one is violated.

    The auditor shares no code with the planners. It asks for the route of every candidate in turn and works coverage,
    costs, spread and anonymity out again from the map. A playbook may keep its word and yet be about something else
    than was meant: name the problem with --against, and the options that `plan` was given. Without it, --prior alone
    measures what an observer with that prior makes of the routes.

    Several playbooks, or a ledger: what an observer who links all trips of the same secret still has to choose from. A
    playbook that is named twice is used twice. With the ledger, playbooks that were planned under it are checked by
    themselves as well, and what rests on earlier trips is proved.

    With --simulate: an observer who reads no claim and no group asks the program what it would do for every place, and
    works out what that tells; exit 1 when it achieves more than a printed figure allows.

    With --day: whether a day of a fleet drives whole classes as its public terms say, and whether the dispatcher makes
    the same files of other orders that touch the same classes; of the rest of a day, whether it goes on from the day
    --before it as is stated. With --replan: whether a replan is what it says.

    With --checker: a second opinion. The file that it writes shares no line with this program. A partner can read it in
    half an hour, and run it as `python FILE PLAYBOOK` without installing anything.
    """
    movement = request.grid.movement or 4
    stated = [key for _, key, value in values(request) if key != "movement" and value is not None]
    if checker is not None:
        others = (instance, domain, ledger, day, before or None, replan, terms, reruns, trips, out)
        if playbooks or simulate or strict or request != ProblemRequest() or any(o is not None for o in others):
            raise InvalidInputError(
                "--checker", "no playbook and no other option but --json: it writes a file, and checks none"
            )
        return _write_checker(checker, json=json)
    if simulate:
        if stated or before or any(each is not None for each in (instance, terms, reruns, out)):
            raise InvalidInputError("--simulate", "playbooks, and of other options --ledger, --trips, --replan, --day")
        return simulate_files(playbooks, ledger, trips, replan, day, domain, movement, json=json)
    if day is None and (terms is not None or reruns is not None or before):
        option = "--terms" if terms is not None else "--reruns" if reruns is not None else "--before"
        raise InvalidInputError(option, "--day DIR as well, of which this is a part")
    if day is not None or replan is not None:
        is_other = any(each is not None for each in (ledger, instance, out, trips)) or stated
        if len(playbooks) != 1 or is_other or None not in (day, replan):
            option, own = ("--replan", "") if day is None else ("--day", "--terms, --reruns, --before, ")
            raise InvalidInputError(option, f"one playbook beside it, and of other options {own}--domain")
        if replan is not None:
            return audit_replan_file(playbooks[0], replan, domain, movement, strict=strict, json=json)
        assert day is not None, "one of the two is given"
        with live_progress("replaying the day") as report:
            checked = audit_day_files(playbooks[0], day, before, terms, reruns, domain, movement, Run(report))
        if json:
            emit_json(checked.to_dict())
        else:
            emit(checked.to_text())
        return DONE if checked.verdict in (("holds",) if strict else ("holds", "unproved")) else VIOLATED
    if instance is None and stated not in ([], ["prior"]):
        raise InvalidInputError(stated[0], "`against` PROBLEM as well, of which this is a part")
    if out is not None:
        if ledger is None and len(playbooks) < 2:
            raise InvalidInputError("--out", "several playbooks, or --ledger FILE: a chart is of several")
        check_out(out, endings=_CHARTS)
    against = None if instance is None else complete(request, [instance])[0]
    prior = request.privacy.prior if against is None else None
    wanted = AuditRequest(
        playbooks=playbooks, against=against, prior=prior, ledger=ledger, trips=trips, domain=domain, movement=movement
    )
    with live_progress("replaying the adversary") as report:
        found = audit(wanted, Run(report, tell=remark, tell_compiling=tell_compiling))
    if out is not None and found.linked is not None:
        from veilroute.plotting import draw_linked  # here, because it loads matplotlib

        draw_linked(found.linked, out)
    if json:
        emit_json(found.to_dict())
    else:
        emit(found.text() + ("" if out is None else f"Chart: {out}\n"))
    return DONE if found.verdict in (("holds",) if strict else ("holds", "unproved")) else VIOLATED


def _write_checker(target: Path, *, json: bool) -> int:
    """Write the sceptic's checker out, byte by byte as it is in the package."""
    check_out(target, "--checker")
    write_file(target, files("veilroute.auditing").joinpath("checker.py").read_bytes())
    if json:
        emit_json({"checker": str(target)})
    else:
        emit(f"Checker: {target}   (read it, then run it: python {target} PLAYBOOK)\n")
    return DONE


def run_risk(
    playbook: PlaybookArgument,
    /,
    *,
    prior: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            help="How probable each place is: a table of place and weight. [that of the playbook]",
        ),
    ] = None,
    adversary: Annotated[
        str | None,
        Parameter(metavar="NAME", help="Also let this observer guess: counting, bayesian or goal-recognition."),
    ] = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Say how much a playbook tells an observer who knows how probable each place is.

    By route, and all together: how many places stay possible, how sure an observer can be of one place and of an area
    less than ell across, and how often the best guess is right; also after every node of the way. It also says what an
    observer learns who expects a trip and sees none.
    """
    wanted = RiskRequest(playbook=playbook, prior=prior, observer=adversary, domain=domain, movement=movement)
    with live_progress("watching every trip") as report:
        found = risk(wanted, Run(report, tell=remark))
    if json:
        emit_json(found.to_dict())
    else:
        emit(found.text())
    return DONE
