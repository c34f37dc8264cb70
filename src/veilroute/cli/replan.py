"""`veilroute replan`: the rest of a class's route, or of a fleet's day, where a road is closed. It takes no secret."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.replan import ReplanDayResult, ReplanResult, check_replan_file, replan, replan_day
from veilroute.app.requests import ReplanDayRequest, ReplanRequest, texts_of
from veilroute.auditing.verdicts import ClaimVerdict
from veilroute.auditing.verdicts import number as count
from veilroute.base.errors import InvalidInputError, listing
from veilroute.cli.console import DONE, NOTHING_ANONYMIZED, VIOLATED, JsonOption, emit, emit_json, remark, running
from veilroute.cli.options import PlaybookArgument, takes_request
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.model.closure import GIVE_UP, GO_ON, Replan, Way
from veilroute.model.day import Day
from veilroute.model.day_state import Shortage
from veilroute.model.playbook import Playbook
from veilroute.streets.day_sheets import missed_lines, stand_lines
from veilroute.streets.sheets import closed_text, members_text, sighting_text

_OF_DAY = texts_of(ReplanDayRequest)
_OF_ROUTE = ("number", "position", "trip", "after")  # what a day has no use for

GoOnOption = Annotated[bool, Parameter(name="--go-on", help="Go on even if too few places stay covered.")]
GiveUpOption = Annotated[
    bool, Parameter(name="--give-up", help="Go straight to the goal; of a day, visit nobody else.")
]


@takes_request(ReplanRequest, without=("choice",))
def run_replan(
    playbook: PlaybookArgument,
    /,
    *,
    request: ReplanRequest,
    go_on: GoOnOption = False,
    give_up: GiveUpOption = False,
    day: Annotated[Path | None, Parameter(metavar="DIR|FILE", help=f"Of a fleet. {_OF_DAY['day']}")] = None,
    positions: Annotated[str, Parameter(help=f"With --day. {_OF_DAY['positions']}")] = "",
    broken: Annotated[str, Parameter(help=f"With --day. {_OF_DAY['broken']}")] = "",
    late: Annotated[bool, Parameter(help=f"With --day. {_OF_DAY['late']}")] = False,
    keep: Annotated[bool, Parameter(help=f"With --day. {_OF_DAY['keep']}")] = False,
    json: JsonOption = False,
) -> int:
    """Find the rest of a group's route where roads are closed or cost something else, and audit it.

    It depends on the group, the position and the closure alone: no secret is asked for, and what is printed and written
    is the same for all members of the group. If too few of them stay covered, the command chooses nothing and writes no
    file: it says whom going on and giving up would expose, and the exit code is 3.

    With --day DIR: the same for the rest of a fleet's day where a vehicle breaks down or a road is closed. It depends
    on the day, on where the vehicles are and on what has happened; no orders are asked for.
    """
    choice = _choice(go_on=go_on, give_up=give_up)
    if day is None:
        for name, value in (("positions", positions), ("broken", broken), ("late", late), ("keep", keep)):
            if value:
                raise InvalidInputError(name, "`day` DIR as well: it is about a fleet")
        with running("replanning") as run:
            result = replan(replace(request, choice=choice), run)
        return _tell(result, request.out, request.ledger, json=json)
    usual = ReplanRequest(playbook=playbook)
    given = vars(request) | {"day": day, "choice": choice}
    for name in _OF_ROUTE:
        if given.pop(name) != getattr(usual, name):
            raise InvalidInputError(name, "none with `day`: it is about the route of one group")
    given |= {"positions": positions, "broken": broken, "late": late, "keep": keep}
    return _replan_day(ReplanDayRequest(**given), json=json)


@takes_request(ReplanDayRequest, without=("choice",))
def run_fleet_replan(
    playbook: PlaybookArgument,
    /,
    *,
    request: ReplanDayRequest,
    go_on: GoOnOption = False,
    give_up: GiveUpOption = False,
    json: JsonOption = False,
) -> int:
    """Plan the rest of a fleet's day: what `replan --day` does, under its former name."""
    return _replan_day(replace(request, choice=_choice(go_on=go_on, give_up=give_up)), json=json)


def _choice(*, go_on: bool, give_up: bool) -> str | None:
    if go_on and give_up:
        raise InvalidInputError("--go-on", "either --go-on or --give-up, not both")
    return GO_ON if go_on else GIVE_UP if give_up else None


def _replan_day(request: ReplanDayRequest, *, json: bool) -> int:
    with running("replanning") as run:
        result = replan_day(request, run)
    return _tell(result, request.out, request.ledger, json=json)


def _tell(result: ReplanResult | ReplanDayResult, out: Path | None, ledger: Path | None, *, json: bool) -> int:
    """Say what came of it; the exit code."""
    if json:
        emit_json(result.to_dict())
    elif isinstance(result, ReplanResult):
        lines = [*_what_in_words(result.book, result.found), *_audit_in_words(result.verdicts)]
        emit("".join(f"{line}\n" for line in lines))
    elif result.found is None:
        emit(_choice_in_words(result.book, result.short))
    else:
        emit("".join(f"{line}\n" for line in _day_in_words(result.book, result.found, result.verdicts)))
    if not result.is_sound:
        what = "replan" if isinstance(result, ReplanResult) else "replanned day"
        remark(f"the {what} does not pass its audit; nothing was written")
        return VIOLATED
    if result.found is None or (isinstance(result.found, Replan) and result.found.choice is None):
        return NOTHING_ANONYMIZED
    if result.refusal is not None:
        if not result.refusal.names:
            raise result.refusal
        remark(
            f"nothing was written: with earlier trips this one leaves too few for {listing(result.refusal.names)}; "
            "--go-on or --give-up does it all the same"
        )
        return VIOLATED
    if result.record is not None and not json:
        emit(f"Entered: {ledger}, on {result.record.entries[-1].date}.\nHead: {result.record.head}\n")
    if result.is_written and not json:
        emit(f"Written: {out}\n")
    return DONE


def audit_replan_file(
    playbook: Path, source: Path, domain: Path | None, movement: int, *, strict: bool, json: bool
) -> int:
    """`veilroute audit --replan`: check every claim of a replan's file against its playbook."""
    with running("checking the replan"):
        result = check_replan_file(playbook, source, domain, movement)
    verdict, verdicts = result.verdict, result.verdicts
    if json:
        emit_json(result.to_dict())
    else:
        odd = [each.claim for each in verdicts if each.verdict == verdict]
        first = {
            "holds": f"The replan keeps its word: all {len(verdicts)} claims hold.",
            "unproved": f"The replan keeps its word as far as could be checked; not proved: {', '.join(odd)}.",
            "violated": f"Do not rely on this replan: {count(len(odd), 'claim')} violated ({', '.join(odd)}).",
        }
        width = max(len(each.claim) for each in verdicts)
        lines = [first[verdict], "", *_what_in_words(result.book, result.found), "", "Claims"]
        lines += [f"  {each.word:8}  {each.claim:{width}}  {each.evidence}" for each in verdicts]
        lines.append("  (What the playbook claims by itself is not among these: see `veilroute audit PLAYBOOK`.)")
        emit("".join(f"{line}\n" for line in lines))
    return DONE if verdict in (("holds",) if strict else ("holds", "unproved")) else VIOLATED


def _audit_in_words(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    if broken := [f"VIOLATED {verdict.claim}: {verdict.evidence}" for verdict in verdicts if not verdict.holds]:
        return broken
    unchecked = [verdict.claim for verdict in verdicts if not verdict.checked]
    return ["Audited: it keeps its word" + (f", but for {', '.join(unchecked)}: too large." if unchecked else ".")]


def _what_in_words(book: Playbook, found: Replan) -> list[str]:
    stands = f"Class {found.number} at {book.name(found.at)}, node {found.position + 1} of its route"
    lines = [f"{stands}: {closed_text(book, found.closure)}."]
    if not found.giving_up.route:
        lines.append("No road leads to the goal any more; there is nothing to choose.")
        lines.append(f"Of the class it has passed {_listing(book, found.giving_up.left)}.")
    elif found.choice is None:
        lines.append("Too few members can still be covered, or too close together. Nothing is chosen:")
        for option, way in (("--go-on", found.going_on), ("--give-up", found.giving_up)):
            lines += [f"  {option}: {_way_text(book, way)}", f"    {sighting_text(book, way, found.number)}"]
    else:
        lines.append(f"The rest of its route: {_way_text(book, found.way)}")
        lines.append(sighting_text(book, found.way, found.number))
        if found.dropped:
            lines.append(f"Dropped, for everybody: {members_text(book, found.dropped)}")
    return lines


def _way_text(book: Playbook, way: Way) -> str:
    kept = "the promise is kept" if way.qualifies else "these are exposed: the promise is broken"
    nodes = f"{len(way.route)} nodes that all share" if way.own else f"{len(way.route)} nodes"
    domain = book.problem.domain
    cost = f"{'' if domain.streets else 'cost '}{cost_text(domain, way.cost or 0.0)}"
    return f"{nodes}, {cost}; the whole walk passes {_listing(book, way.left)} ({kept})."


def _listing(book: Playbook, members: tuple[Label, ...]) -> str:
    return members_text(book, members) or "nobody"


def _choice_in_words(book: Playbook, short: Sequence[Shortage]) -> str:
    lines = [
        "Members are out of reach, or too close together now: classes keep their promise no more. Nothing is chosen:"
    ]
    for each in short:
        members = book.hidden_classes[each.number - 1].members
        gone = [label for label in members if label not in each.going_on]
        lines.append(f"  Class {each.number}: out of reach {members_text(book, gone) or 'nobody'}.")
        lines.append(f"    --go-on: an observer is left with {members_text(book, each.going_on) or 'nobody'}.")
        lines.append(f"    --give-up: an observer is left with {members_text(book, each.giving_up) or 'nobody'}.")
    lines.append("Do not let the choice depend on who has ordered.")
    return "".join(f"{line}\n" for line in lines)


def _day_in_words(book: Playbook, found: Day, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    domain = book.problem.domain
    total = f"{'' if domain.streets else 'cost '}{cost_text(domain, found.cost)}"
    num = sum(len(tour.stops) for tour in found.tours)
    left = f"{count(num, 'customer')} left to visit by {count(found.num_used, 'vehicle')}, {total} in all."
    return [*stand_lines(book, found), left, *missed_lines(book, found), *_audit_in_words(verdicts)]
