"""`veilroute ledger`: the record of the playbooks in use, and what linked trips leave of everybody."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from veilroute.analysis.obstacles import find_obstacles
from veilroute.app.beside import playbooks_beside
from veilroute.app.load import load_playbook
from veilroute.app.places import find_nodes, read_roads
from veilroute.auditing import audit_playbook
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, TooLargeError, UnsafeLedgerError, listing
from veilroute.cli import console
from veilroute.cli.console import (
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    VIOLATED,
    JsonOption,
    emit,
    emit_json,
    plain_run,
    remark,
)
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument, group
from veilroute.domain.graph import Label, label_text
from veilroute.ledger.composition import Account, Knowledge
from veilroute.ledger.explain import Shortfall
from veilroute.ledger.ledger import Ledger, LedgerReport, Standing, new_ledger, read_ledger
from veilroute.ledger.what_if import WhatIf, what_if
from veilroute.model.closure import Closure
from veilroute.model.entry import TRIPS
from veilroute.model.identities import Moved, Turnover
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy

_MOST_ROWS = 200
_MOST_NAMES = 12

LedgerArgument = Annotated[Path, Parameter(name="FILE", help="A ledger made by `veilroute ledger new`.")]
SinceOption = Annotated[
    str | None,
    Parameter(metavar="DATE", help="Assume that trips before this day cannot be linked with later ones."),
]

app = group("ledger", "The playbooks in use, and what linked trips show.")


@app.command(name="new")
def run_new(
    file: Annotated[Path, Parameter(name="FILE", help="The file to make; one that is there is not overwritten.")],
    /,
    *,
    trips: Annotated[
        str,
        Parameter(
            metavar="|".join(TRIPS),
            help="What a day without a trip says. occasional: nothing. expected: every place that is served has a trip "
            "every day, so a missing trip shows.",
        ),
    ] = "occasional",
) -> int:
    """Make a ledger without playbooks. It is public: the secret never is in it.

    Choose --trips with care: it is written into the first line, and cannot be changed later.
    """
    check_name("--trips", trips, TRIPS)
    ledger = new_ledger(file, trips)
    emit(f"Ledger: {file}\n{assumption(ledger.trips)}\n")
    _emit_head(ledger)
    return DONE


@app.command(name="add")
def run_add(
    file: LedgerArgument,
    playbook: PlaybookArgument,
    /,
    *,
    date: Annotated[
        str | None,
        Parameter(name="--date", metavar="DATE", help="The first day on which it is used, as 2026-11-16. [today]"),
    ] = None,
    occasion: Annotated[
        str, Parameter(metavar="TEXT", help="For a randomised playbook: that of `route --occasion`.")
    ] = "",
    anyway: Annotated[
        bool, Parameter(name="--anyway", help="Enter it also where linked trips then leave somebody too few.")
    ] = False,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Enter a playbook that is going to be used: it is audited, and refused if linked trips would break a promise.

    Every promise counts, also one to a place that this playbook gives no route or does not list. Exit 1 if it is
    refused for either reason; nothing is written then. When the command ends with 0, the line is on the disk.
    """
    ledger = read_ledger(file)
    book = load_playbook(playbook, domain, movement)
    return enter_playbook(ledger, book, date=date, occasion=occasion, anyway=anyway)


def enter_playbook(
    ledger: Ledger,
    book: Playbook,
    *,
    date: str | None = None,
    occasion: str = "",
    anyway: bool = False,
    is_quiet: bool = False,
) -> int:
    """Audit a playbook, enter it and say so, unless ``is_quiet``; the exit code."""
    with console.live_progress("replaying the adversary"):
        verdict = audit_playbook(book, ledger=ledger.journal.path)
    if not verdict.holds:
        broken = next(claim for claim in verdict.claims if not claim.holds)
        remark(f"not entered: the playbook does not keep its word ({broken.claim}: {broken.evidence})")
        return VIOLATED
    with console.compile_notice():
        turnover = turnover_text(ledger.turnover(book), ledger)
        try:
            ledger = ledger.add(book, day=date, occasion=occasion, anyway=anyway)
        except UnsafeLedgerError:
            if turnover:
                remark(turnover)
            raise
    if not is_quiet:
        unproved = [claim.claim for claim in verdict.claims if claim.verdict == "unproved"]
        rest = f"; too large to prove: {', '.join(unproved)}" if unproved else ""
        emit(f"Audited: {len(verdict.claims) - len(unproved)} of {len(verdict.claims)} claims hold{rest}.\n")
        number = sum(entry.kind == "playbook" for entry in ledger.entries)
        emit(f"Entered: playbook {number} of {ledger.journal.path}, in use from {ledger.entries[-1].date}.\n")
        emit(f"{turnover}\n" if turnover else "")
        emit(f"{assumption(ledger.trips)}\n")
        _emit_head(ledger)
    since = None if book.past is None else book.past.since
    if since is not None and (all_trips := ledger.check()).short:
        remark(
            f"this playbook assumes that trips before {since} cannot be linked. If an observer links them all the "
            f"same, earlier promises to {_names(all_trips.short)} are broken"
        )
    report = ledger.check(since)
    if not report.safe:
        remark(f"linked trips leave too few for {_names(report.short)}; see why: veilroute ledger check")
    return DONE


_PLACE = "A place, as the playbooks call it: its name, or its label if it has none."


@app.command(name="same")
def run_same(
    file: LedgerArgument,
    place: Annotated[str, Parameter(name="A", help=_PLACE)],
    other: Annotated[str, Parameter(name="B", help="The same for the other place.")],
    /,
    *,
    date: Annotated[
        str | None, Parameter(name="--date", metavar="DATE", help="The day on which this is said. [today]")
    ] = None,
) -> int:
    """Record that two places are the same, under another name or elsewhere; this holds for the whole ledger."""
    return _identify(read_ledger(file).same(place, other, day=date), place, other)


@app.command(name="different")
def run_different(
    file: LedgerArgument,
    place: Annotated[str, Parameter(name="A", help=_PLACE)],
    other: Annotated[str, Parameter(name="B", help="The same for the other place.")],
    /,
    *,
    date: Annotated[
        str | None, Parameter(name="--date", metavar="DATE", help="The day on which this is said. [today]")
    ] = None,
) -> int:
    """Record that two places are not the same, however near they are; this holds for the whole ledger.

    A place that appears near one that has disappeared is taken for the same until you say otherwise. Say it only when
    it is true: if the two are one, an observer who knows that is left with fewer places than the ledger believes.
    """
    return _identify(read_ledger(file).different(place, other, day=date), place, other)


def _identify(ledger: Ledger, place: str, other: str) -> int:
    kind = ledger.identities[-1].kind
    emit(f"Recorded: {place} and {other} are {'the same place' if kind == 'same' else 'two different places'}.\n")
    for text in (place, other):
        if not ledger.knows(text):
            remark(f"no place called {text} is in the ledger yet; this will count once one is entered")
    _emit_head(ledger)
    if not ledger.is_clear():
        remark("other places of the ledger cannot be told from each other yet; see which: veilroute ledger check")
        return DONE
    report = ledger.check()
    if not report.safe:
        remark(f"linked trips leave too few for {_names(report.short)}; see why: veilroute ledger check")
    return DONE


@app.command(name="check")
def run_check(
    file: LedgerArgument,
    /,
    *,
    since: SinceOption = None,
    head: Annotated[
        str | None, Parameter(metavar="HASH", help="A head written down earlier, which must still be there.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Say what linked trips leave of every place: exit 1 if any promise is broken, also one to a place that has left.

    The ledger alone is looked at, and taken at its word; `veilroute audit` compares it with the playbooks.
    """
    ledger = read_ledger(file)
    report = ledger.check(since)
    if ledger.journal.torn:
        remark(f"{file}: an unfinished line at the end was passed over; the next add takes it away")
    accounts = _accounts(ledger, since)
    if json:
        emit_json(report.to_dict() | ({"accounts": [each.to_dict() for each in accounts]} if accounts else {}))
    else:
        _print_report(ledger, report, since, accounts)
    if head is not None and not ledger.journal.holds(head):
        remark("--head: the ledger does not hold this line: it is another one, or lines are missing or were changed")
        return VIOLATED
    return DONE if report.safe else VIOLATED


@app.command(name="what-if")
def run_what_if(
    file: LedgerArgument,
    /,
    *,
    remove: Annotated[str, Parameter(metavar="'PLACE; PLACE; ...'", help="Candidates who leave.")] = "",
    add: Annotated[str, Parameter(metavar="'PLACE; PLACE; ...'", help="Places that join the candidates.")] = "",
    close: Annotated[
        str,
        Parameter(
            metavar="'STREET; A,B; ...'", help="Closed roads: a street's name, or two places; A>B from A to B only."
        ),
    ] = "",
    k: Annotated[int | None, Parameter(name="-k", help="Another k.")] = None,
    risk: Annotated[float | None, Parameter(metavar="BETA", help="Another risk.")] = None,
    since: SinceOption = None,
    playbook: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="A playbook of the ledger. [the last one, if its file is beside the ledger]"),
    ] = None,
    time_limit: console.TimeLimitOption = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="Write the plan that would follow here.",
        ),
    ] = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Say before it happens what a change would do: who would no longer be hidden, since when and why.

    The changes are made to the last playbook of the ledger, and the cheapest plan is found that keeps the ledger safe.
    Nothing is written to the ledger. Exit 3 when nobody could be hidden any more.
    """
    if out is not None:
        console.check_out(out)
    limit = console.read_time_limit(time_limit)
    if not (remove.strip() or add.strip() or close.strip() or k is not None or risk is not None):
        raise InvalidInputError("what-if", "a change: --remove, --add, --close, -k or --risk")
    if k is not None and risk is not None:
        raise InvalidInputError("--risk", "either -k or --risk, not both")
    ledger = read_ledger(file)
    today = _playbook_of(ledger, playbook, domain, movement)
    places: dict[str, Any] = {
        "remove": find_nodes(today, remove, "remove", plain_run()),
        "add": find_nodes(today, add, "add", plain_run()),
    }
    if close.strip():
        roads, one_way = read_roads(today, close, "close", plain_run())
        places["closure"] = Closure.of(roads, one_way)
    began = time.monotonic()
    with console.live_progress(limit=limit) as report, console.polite_interrupt() as stop, console.compile_notice():
        options: dict[str, Any] = {"time_limit_s": limit.seconds, "progress": report, "should_stop": stop}
        answer = what_if(ledger, today, **places, privacy=_privacy(today.privacy, k, risk), since=since, **options)
    if out is not None:
        answer.plan.write(out)
    if json:
        emit_json(answer.to_dict())
    else:
        _print_answer(answer, out)
    if stop():
        remark("interrupted; there may be a better plan")
        return INTERRUPTED
    if answer.plan.status == "feasible":
        limit.tell_if_reached(time.monotonic() - began)
    return DONE if answer.plan.claims.num_anonymized else NOTHING_ANONYMIZED


def _privacy(today: Privacy, k: int | None, risk: float | None) -> Privacy:
    if k is not None:
        return replace(today, k=k, risk=None)
    changes: dict[str, Any] = {} if risk is None else {"k": None, "risk": risk}
    return replace(today, **changes)


def _playbook_of(ledger: Ledger, given: Path | None, domain: Path | None, movement: int) -> Playbook:
    """The playbook that was named, or the last one of the ledger, which is looked for beside it by its hash."""
    entries = [entry for entry in ledger.entries if entry.kind == "playbook"]
    if not entries:
        raise InvalidInputError("FILE", "a ledger with a playbook: nothing was entered yet")
    if given is not None:
        book = load_playbook(given, domain, movement)
        if not ledger.holds(book):
            raise InvalidInputError("--playbook", "a playbook of the ledger", str(given))
        return book
    last = entries[-1]
    for path, book in playbooks_beside(ledger.journal.path.parent, last.domain):
        if book.sha256 == last.playbook:
            return load_playbook(path, domain, movement)
    expected = f"the file of the playbook of {last.date}, which is not beside the ledger"
    raise InvalidInputError("--playbook", expected)


def _counted(num: int, what: str) -> str:
    return f"{num} {what}{'' if num == 1 else 's'}"


def _emit_head(ledger: Ledger) -> None:
    emit(f"Head: {ledger.head}\n")


def _accounts(ledger: Ledger, since: str | None) -> tuple[Account, ...]:
    """What linked draws tell; nothing, and a remark, where that is too much to work out."""
    try:
        return ledger.account(since=since)
    except TooLargeError as error:
        remark(f"what linked draws tell was not worked out: {error}")
        return ()


def _print_report(ledger: Ledger, report: LedgerReport, since: str | None, accounts: Sequence[Account]) -> None:
    screen = console.stdout()
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
    for each in accounts:
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
