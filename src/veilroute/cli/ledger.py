"""`veilroute ledger`: the record of the playbooks in use, and what linked trips leave of everybody."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from veilroute.analysis.obstacles import find_obstacles
from veilroute.app.ledger import (
    LedgerAddResult,
    LedgerCheckResult,
    LedgerPlacesResult,
    add_to_ledger,
    check_ledger,
    different,
    new,
    same,
    what_if,
)
from veilroute.app.requests import (
    LedgerAddRequest,
    LedgerCheckRequest,
    LedgerNewRequest,
    LedgerPlacesRequest,
    LedgerWhatIfRequest,
)
from veilroute.base.errors import listing
from veilroute.cli import console
from veilroute.cli.console import DONE, INTERRUPTED, NOTHING_ANONYMIZED, VIOLATED, JsonOption, emit, emit_json, remark
from veilroute.cli.options import PlaybookArgument, group, takes_request
from veilroute.domain.graph import Label, label_text
from veilroute.ledger.composition import Knowledge
from veilroute.ledger.explain import Shortfall
from veilroute.ledger.ledger import Ledger, LedgerReport, Standing
from veilroute.ledger.what_if import WhatIf
from veilroute.model.identities import Moved, Turnover
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy

_MOST_ROWS = 200
_MOST_NAMES = 12

LedgerArgument = Annotated[Path, Parameter(name="FILE", help="A ledger made by `veilroute ledger new`.")]
_PLACE = "A place, as the playbooks call it: its name, or its label if it has none."
PlaceArgument = Annotated[str, Parameter(name="A", help=_PLACE)]
OtherArgument = Annotated[str, Parameter(name="B", help="The same for the other place.")]

app = group("ledger", "The playbooks in use, and what linked trips show.")


@app.command(name="new")
@takes_request(LedgerNewRequest)
def run_new(
    ledger: Annotated[Path, Parameter(name="FILE", help="The file to make; one that is there is not overwritten.")],
    /,
    *,
    request: LedgerNewRequest,
) -> int:
    """Make a ledger without playbooks. It is public: the secret never is in it.

    Choose --trips with care: it is written into the first line, and cannot be changed later.
    """
    made = new(request)
    emit(f"Ledger: {ledger}\n{assumption(made.trips)}\n")
    _emit_head(made)
    return DONE


@app.command(name="add")
@takes_request(LedgerAddRequest)
def run_add(ledger: LedgerArgument, playbook: PlaybookArgument, /, *, request: LedgerAddRequest) -> int:
    """Enter a playbook that is going to be used: it is audited, and refused if linked trips would break a promise.

    Every promise counts, also one to a place that this playbook gives no route or does not list. Exit 1 if it is
    refused for either reason; nothing is written then. When the command ends with 0, the line is on the disk.
    """
    with console.running("replaying the adversary") as run, console.compile_notice():
        result = add_to_ledger(request, run)
    return tell_entered(result)


def tell_entered(result: LedgerAddResult, *, is_quiet: bool = False) -> int:
    """Say what came of entering a playbook, or only what is wrong with it; the exit code."""
    ledger, verdict = result.ledger, result.audit
    if not verdict.holds:
        broken = next(claim for claim in verdict.claims if not claim.holds)
        remark(f"not entered: the playbook does not keep its word ({broken.claim}: {broken.evidence})")
        return VIOLATED
    turnover = "" if result.turnover is None else turnover_text(result.turnover, ledger)
    if result.refusal is not None:
        if turnover:
            remark(turnover)
        raise result.refusal
    if not is_quiet:
        unproved = [claim.claim for claim in verdict.claims if claim.verdict == "unproved"]
        rest = f"; too large to prove: {', '.join(unproved)}" if unproved else ""
        emit(f"Audited: {len(verdict.claims) - len(unproved)} of {len(verdict.claims)} claims hold{rest}.\n")
        number = sum(entry.kind == "playbook" for entry in ledger.entries)
        emit(f"Entered: playbook {number} of {ledger.journal.path}, in use from {ledger.entries[-1].date}.\n")
        emit(f"{turnover}\n" if turnover else "")
        emit(f"{assumption(ledger.trips)}\n")
        _emit_head(ledger)
    if result.short_of_all:
        remark(
            f"this playbook assumes that trips before {result.since} cannot be linked. If an observer links them all "
            f"the same, earlier promises to {_names(result.short_of_all)} are broken"
        )
    _remark_short(result.short)
    return DONE


def _remark_short(short: Sequence[Standing]) -> None:
    if short:
        remark(f"linked trips leave too few for {_names(short)}; see why: veilroute ledger check")


@app.command(name="same")
@takes_request(LedgerPlacesRequest)
def run_same(
    ledger: LedgerArgument, place: PlaceArgument, other: OtherArgument, /, *, request: LedgerPlacesRequest
) -> int:
    """Record that two places are the same, under another name or elsewhere; this holds for the whole ledger."""
    return _tell_places(same(request), f"{place} and {other} are the same place")


@app.command(name="different")
@takes_request(LedgerPlacesRequest)
def run_different(
    ledger: LedgerArgument, place: PlaceArgument, other: OtherArgument, /, *, request: LedgerPlacesRequest
) -> int:
    """Record that two places are not the same, however near they are; this holds for the whole ledger.

    A place that appears near one that has disappeared is taken for the same until you say otherwise. Say it only when
    it is true: if the two are one, an observer who knows that is left with fewer places than the ledger believes.
    """
    return _tell_places(different(request), f"{place} and {other} are two different places")


def _tell_places(result: LedgerPlacesResult, what: str) -> int:
    emit(f"Recorded: {what}.\n")
    for text in result.unknown:
        remark(f"no place called {text} is in the ledger yet; this will count once one is entered")
    _emit_head(result.ledger)
    if not result.is_clear:
        remark("other places of the ledger cannot be told from each other yet; see which: veilroute ledger check")
    _remark_short(result.short)
    return DONE


@app.command(name="check")
@takes_request(LedgerCheckRequest)
def run_check(ledger: LedgerArgument, /, *, request: LedgerCheckRequest, json: JsonOption = False) -> int:
    """Say what linked trips leave of every place: exit 1 if any promise is broken, also one to a place that has left.

    The ledger alone is looked at, and taken at its word; `veilroute audit` compares it with the playbooks.
    """
    result = check_ledger(request, console.plain_run())
    if json:
        emit_json(result.to_dict())
    else:
        _print_report(result, request.since)
    if not result.holds_head:
        remark("--head: the ledger does not hold this line: it is another one, or lines are missing or were changed")
    return DONE if result.safe else VIOLATED


@app.command(name="what-if")
@takes_request(LedgerWhatIfRequest)
def run_what_if(ledger: LedgerArgument, /, *, request: LedgerWhatIfRequest, json: JsonOption = False) -> int:
    """Say before it happens what a change would do: who would no longer be hidden, since when and why.

    The changes are made to the last playbook of the ledger, and the cheapest plan is found that keeps the ledger safe.
    Nothing is written to the ledger. Exit 3 when nobody could be hidden any more.
    """
    limit, began = console.read_time_limit(request.time_limit), time.monotonic()
    with console.running(limit=limit) as run, console.polite_interrupt() as run.should_stop, console.compile_notice():
        answer = what_if(request, run)
    if json:
        emit_json(answer.to_dict())
    else:
        _print_answer(answer, request.out)
    if run.should_stop():
        remark("interrupted; there may be a better plan")
        return INTERRUPTED
    if answer.plan.status == "feasible":
        limit.tell_if_reached(time.monotonic() - began)
    return DONE if answer.plan.claims.num_anonymized else NOTHING_ANONYMIZED


def _counted(num: int, what: str) -> str:
    return f"{num} {what}{'' if num == 1 else 's'}"


def _emit_head(ledger: Ledger) -> None:
    emit(f"Head: {ledger.head}\n")


def _print_report(result: LedgerCheckResult, since: str | None) -> None:
    screen, ledger, report = console.stdout(), result.ledger, result.report
    count = _counted(report.playbooks, "playbook")
    count += f" and {_counted(report.days, 'day')} of fleets" if report.days else ""
    linked = f"an observer who links {'all trips' if since is None else f'the trips from {since} on'} of the {count}"
    if not report.playbooks and not report.days:
        screen.print(f"No playbook was entered yet{'' if since is None else f' from {since} on'}.")
    elif report.safe:
        screen.print(f"Safe: {linked} learns no more than was promised.")
    else:
        screen.print(f"NOT SAFE: {linked} has too few places to choose from for {_names(report.short)}.")
        if undecided := [each for each in report.short if not each.is_decided]:
            screen.print(f"For {_names(undecided)} this could not be decided; it counts as broken.")
    screen.print(assumption(report.trips))
    for line in _identity_lines(report):
        screen.print(line)
    for text in dict.fromkeys(_promise(entry.privacy) for entry in ledger.entries):
        screen.print(f"Promised: {text}.")
    for entry in ledger.entries:
        if entry.since is not None:
            screen.print(f"Assumed for the playbook of {entry.date}: trips before {entry.since} cannot be linked.")
    if report.candidates:
        screen.print(_table(report))
    if len(report.candidates) > _MOST_ROWS:
        screen.print(f"... and {len(report.candidates) - _MOST_ROWS} candidates more: --json")
    for each in result.accounts:
        drawn = "once" if each.draws == 1 else f"on {each.draws} occasions"
        screen.print(f"Drawn {drawn} from the playbook of {each.date}: {_odds(each.now)} ({each.bound:.3g} promised).")
        screen.print(f"  After one more draw, for the same secret on another occasion: {_odds(each.after_another)}.")
    screen.print(f"Head: {report.head}")
    screen.print("Keep a copy of the head elsewhere: a ledger whose last lines were cut off looks sound (--head HASH).")


def assumption(trips: str) -> str:
    """What a ledger assumes of a day without a trip, in a sentence."""
    return {
        "occasional": "Assumed: places have trips now and then, so a day without a trip says nothing "
        "(trips: occasional).",
        "expected": "Assumed: every place that is served has a trip every day, so a missing trip shows "
        "(trips: expected).",
        "listed": "Assumed, because this file has the old format: a missing trip shows for places that are listed and "
        "refused, and says nothing for places that are not listed (trips: listed). On the street the two look the "
        "same; make a new ledger: veilroute ledger new FILE --trips occasional (or expected).",
    }[trips]


def turnover_text(turnover: Turnover, ledger: Ledger) -> str:
    """How many places came and went, which are taken for the same, and which have moved; empty if there is nothing."""
    lines = []
    if turnover.gone and turnover.new:
        text = f"{_counted(turnover.gone, 'place')} gone, {turnover.new} new"
        text += f", the nearest {turnover.nearest} apart" if turnover.nearest else ""
        if turnover.renamed:
            pairs = listing([f"{each.was} = {each.now}" for each in turnover.renamed], 3)
            text += f"; {len(turnover.renamed)} taken for the same under another name: {pairs} "
            text += f"(say otherwise with: veilroute ledger different {ledger.journal.path} A B)."
        else:
            text += "; none taken for the same."
        lines.append(text)
    if turnover.moved:
        lines.append(_moved_text(turnover.moved))
    return "\n".join([*lines, *map(_NOT_JUDGED.__getitem__, turnover.not_judged)])


_NOT_JUDGED = {
    "cost": "Not judged for all places: whether a new one is closer than ell to one that is gone, because ell is a "
    "cost and the map of both is not known. They are taken for the same if they are less than 50 m apart.",
    "names": "Places without coordinates are compared by name only: whether a new place is an old one under another "
    "name was not judged.",
}


def _moved_text(moved: Sequence[Moved]) -> str:
    names = listing([each.text for each in moved], 3)
    return f"{_counted(len(moved), 'place')} moved by 50 m or more under the same name: {names}."


def _identity_lines(report: LedgerReport) -> list[str]:
    """Which places are taken for the same, and what the user said."""
    lines = []
    if report.renamed:
        pairs = listing([f"{each.was} = {each.now} ({each.apart})" for each in report.renamed], _MOST_NAMES)
        lines.append(f"Taken for the same under another name: {pairs}. Say otherwise with: ledger different.")
    if report.moved:
        lines.append(_moved_text(report.moved))
    lines += map(_NOT_JUDGED.__getitem__, report.not_judged)
    for each in report.identities:
        what = "the same place" if each.kind == "same" else "different places"
        lines.append(f"You said on {each.date}: {each.places[0]} and {each.places[1]} are {what}.")
    return lines


def history_lines(ledger: Ledger, playbook: Playbook, broken: Sequence[Standing]) -> list[str]:
    """What is to be known of a plan under a ledger: the assumption, who is who, and which promises it would break."""
    lines = [assumption(ledger.trips)]
    if text := turnover_text(ledger.turnover(playbook), ledger):
        lines.append(text)
    return lines + broken_lines(broken)


def broken_lines(broken: Sequence[Standing]) -> list[str]:
    """To whom earlier promises would be broken, and what to do."""
    if not broken:
        return []
    lines = [f"Entering it would break earlier promises to {_names(broken)}:"]
    for each in broken[:_MOST_NAMES]:
        left = f"{each.num_left} {'place' if each.num_left == 1 else 'places'}"
        lines.append(f"  {each.name}: hidden since {each.broken}; an observer who links all trips has {left} left.")
    lines.append("So `ledger add` refuses it. Leave these places in the plan, with those they were hidden with.")
    return lines


def _odds(knowledge: Knowledge) -> str:
    right = f"{knowledge.bayes_success:.1%}"
    over = "averaged over everything that may be seen"
    return f"a place has at most {knowledge.worst:.3g}, and the best guess is right {right} of the time, {over}"


def _table(report: LedgerReport) -> Table:
    """What is left of everybody, those first who fall short."""
    name = _namer(report)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("candidate", "left", "promise", "who is still possible"):
        table.add_column(column, justify="right" if column == "left" else "left", overflow="fold")
    ordered = sorted(report.candidates, key=lambda each: (each.qualifies, not each.is_hidden))
    for each in ordered[:_MOST_ROWS]:
        if each.qualifies:
            state = "kept" if each.is_hidden else "no route now"
        else:
            state = f"that of {each.broken} broken on {each.since}" + ("" if each.is_hidden else ", no route now")
        people = listing([name(label) for label in each.left], _MOST_NAMES)
        table.add_row(each.name, str(each.num_left), state, people)
    return table


def _namer(report: LedgerReport) -> Callable[[Label], str]:
    """What people call a label, where only one candidate of the ledger ever had it."""
    called: dict[Label, set[str]] = {}
    for each in report.candidates:
        called.setdefault(each.candidate, set()).add(each.name)
    return lambda label: next(iter(called[label])) if len(called.get(label, ())) == 1 else label_text(label)


def _names(people: Sequence[Standing]) -> str:
    return listing([each.name for each in people], _MOST_NAMES)


def _promise(privacy: Privacy) -> str:
    wanted = f"k={privacy.k}" if privacy.risk is None else f"a risk of at most {100 * privacy.risk:.3g}%"
    span = "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"
    return f"{wanted}, ell={privacy.distance_text}, {span}, spread by {privacy.spread}"


def _print_answer(answer: WhatIf, out: Path | None) -> None:
    screen = console.stdout()
    plan, today, lost = answer.plan, answer.today, answer.lost
    if not lost:
        screen.print("No place that is hidden now and stays would lose that.")
    else:
        screen.print(f"No longer hidden: {listing([plan.name(label) for label in lost], _MOST_NAMES)}.")
    for line in shortfall_lines(plan, answer.shortfalls):
        screen.print(line)
    explained = {each.candidate for each in answer.shortfalls}
    for obstacle in find_obstacles(plan):
        if obstacle.candidate in lost and obstacle.candidate not in explained:
            screen.print(f"  {plan.name(obstacle.candidate)}: {obstacle.reason}.")
    if plan.claims.num_anonymized:
        proof = "the cheapest that is safe" if plan.status == "optimal" else "safe, not proved the cheapest"
        proof += " for those whom it hides" if answer.broken else ""
        screen.print(f"The plan that would follow ({proof}): {_figures(plan)}. Today: {_figures(today)}.")
    else:
        screen.print(f"No plan hides anybody then. Today: {_figures(today)}.")
    for line in broken_lines(answer.broken):
        screen.print(line)
    screen.print(assumption(answer.trips))
    if out is not None:
        screen.print(f"Playbook: {out}   (nothing was written to the ledger)")


def _figures(playbook: Playbook) -> str:
    claims = playbook.claims
    cost = "" if claims.mac is None else f", MAC {claims.mac:.6g}"
    return f"{claims.num_anonymized} of {claims.num_candidates} hidden{cost}"


def shortfall_lines(playbook: Playbook, shortfalls: Sequence[Shortfall]) -> list[str]:
    """Whom a plan does not hide because of their history, why, and what would have avoided it."""
    lines = [
        f"  {playbook.name(each.candidate)}: {each.reason}. This would have avoided it: {each.advice}."
        for each in shortfalls[:_MOST_NAMES]
    ]
    if len(shortfalls) > _MOST_NAMES:
        lines.append(f"  {len(shortfalls) - _MOST_NAMES} more: --json")
    return lines
