"""`veilroute fleet-replan`: the rest of a fleet's day where a vehicle has broken down or a road is closed.

It asks for no orders.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.load import load_playbook
from veilroute.app.places import find_nodes, read_roads
from veilroute.auditing.day import is_hidden_by_stops
from veilroute.auditing.replay import is_hidden
from veilroute.auditing.underway import audit_underway
from veilroute.auditing.verdicts import ClaimVerdict, number
from veilroute.base.errors import BrokenPromiseError, FallsShortError, InvalidInputError
from veilroute.cli.console import (
    DONE,
    NOTHING_ANONYMIZED,
    VIOLATED,
    JsonOption,
    emit,
    emit_json,
    live_progress,
    plain_run,
    remark,
)
from veilroute.cli.day_files import DAY_FILE, check_folder, write_day
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument
from veilroute.cli.replan import enter
from veilroute.domain.geography import cost_text
from veilroute.fleet.dispatch import redispatch
from veilroute.formats.tables import read_edge_costs
from veilroute.ledger.ledger import read_ledger
from veilroute.model.closure import GIVE_UP, GO_ON
from veilroute.model.day import Day, read_day, seconds_of_clock
from veilroute.model.day_state import Shortage
from veilroute.model.playbook import Playbook
from veilroute.streets.day_sheets import missed_lines, stand_lines
from veilroute.streets.sheets import members_text


def run_fleet_replan(
    playbook: PlaybookArgument,
    /,
    *,
    day: Annotated[
        Path, Parameter(metavar="DIR|FILE", help="The day as it was planned last: its folder, or its day.json.")
    ],
    at: Annotated[
        str | None, Parameter(metavar="HH:MM", help="What time it is; where vehicles are follows from it.")
    ] = None,
    positions: Annotated[
        str,
        Parameter(
            metavar="'1=12 2=30+ ...'",
            help="Where vehicles are on their routes, from 0; with + if the stops there are made.",
        ),
    ] = "",
    broken: Annotated[str, Parameter(metavar="'2 ...'", help="Vehicles that have broken down, from 1.")] = "",
    closed: Annotated[
        str,
        Parameter(
            metavar="'STREET; A,B; ...'", help="Closed roads: a street's name, or two places; A>B from A to B only."
        ),
    ] = "",
    closed_nodes: Annotated[
        str, Parameter(metavar="'A; B; ...'", help="Closed nodes, with all roads to them and away.")
    ] = "",
    costs: Annotated[Path | None, Parameter(metavar="FILE", help="What edges cost now: CSV with from,to,cost.")] = None,
    go_on: Annotated[bool, Parameter(name="--go-on", help="Visit who is left of classes that fall short.")] = False,
    give_up: Annotated[bool, Parameter(name="--give-up", help="Visit nobody else of classes that fall short.")] = False,
    late: Annotated[
        bool, Parameter(name="--late", help="Drive on where windows or shifts cannot be kept, as little late as found.")
    ] = False,
    keep: Annotated[
        bool, Parameter(name="--keep", help="Vehicles keep their customers; only those of who stays change hands.")
    ] = False,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="DIR",
            help="Write the files of the day to this folder.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None, Parameter(metavar="FILE", help="Enter the day as it goes on now in this ledger.")
    ] = None,
    date: Annotated[
        str | None, Parameter(name="--date", metavar="DATE", help="The day, for the ledger. [today]")
    ] = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Plan the rest of a day of `fleet` anew where a vehicle breaks down or a road is closed, and audit it.

    It depends on the day, on where the vehicles are and on what has happened: no orders are asked for. Where classes
    fall short of their promise nothing is chosen and no file is written: it is said who is exposed by going on and by
    giving up, and the exit code is 3.
    """
    if go_on and give_up:
        raise InvalidInputError("--go-on", "either --go-on or --give-up, not both")
    if date is not None and ledger is None:
        raise InvalidInputError("--date", "--ledger FILE as well")
    record = None if ledger is None else read_ledger(ledger)
    source = day / DAY_FILE if day.is_dir() else day
    if out is not None and out.resolve() == source.parent.resolve():
        raise InvalidInputError("--out", "another folder than that of the day, which stays as it was", str(out))
    if out is not None:
        check_folder(out)
    book = load_playbook(playbook, domain, movement)
    earlier = read_day(source)
    if earlier.playbook != book.sha256:
        raise InvalidInputError("--day", "a day of this playbook", str(day))
    now = None if at is None else seconds_of_clock(at)
    if at is not None and now is None:
        raise InvalidInputError("--at", "a time of day, HH:MM", at)
    places = _read_positions(positions, earlier)
    if now is None and not places:
        raise InvalidInputError("--at", "HH:MM, or --positions: where the vehicles are")
    roads, one_way = read_roads(book, closed, "closed", plain_run())
    new_costs = [] if costs is None else read_edge_costs(costs, book.problem.domain, book.names)
    shut = find_nodes(book, closed_nodes, "closed_nodes", plain_run())
    try:
        with live_progress("replanning") as progress:
            found = redispatch(
                book, earlier, at=now, positions=places, broken=_read_numbers(broken), closed=roads,
                closed_one_way=one_way, closed_nodes=shut, costs=new_costs, late=late, keep=keep,
                choice=GO_ON if go_on else GIVE_UP if give_up else None, progress=progress,
            )  # fmt: skip
            driven = [book.hidden_classes[each - 1] for each in found.touched]
            if not (is_hidden(book, driven) and is_hidden_by_stops(book)):
                raise BrokenPromiseError
            verdicts = audit_underway(book, earlier, found)
    except FallsShortError as error:
        short = [each for each in error.shortages if isinstance(each, Shortage)]
        if json:
            emit_json({"chosen": None, "short": [each.to_dict() for each in short]})
        else:
            emit(_choice_in_words(book, short))
        return NOTHING_ANONYMIZED
    is_sound = all(verdict.holds for verdict in verdicts)
    if json:
        emit_json({**found.to_dict(), "audit": {"holds": is_sound, "claims": [vars(each) for each in verdicts]}})
    else:
        emit(_in_words(book, found, verdicts))
    if not is_sound:
        remark("the replanned day does not pass its audit; nothing was written")
        return VIOLATED
    if record is not None:
        anyway = go_on or give_up
        if not enter(ledger, lambda: record.add_day(book, found, day=date, anyway=anyway), is_silent=json):
            return VIOLATED
    if out is not None:
        write_day(book, found, out)
        if not json:
            emit(f"Written: {out}\n")
    return DONE


def _read_numbers(text: str) -> list[int]:
    words = re.split(r"[\s,;]+", text.strip()) if text.strip() else []
    if not all(re.fullmatch(r"\d{1,6}", word, re.ASCII) for word in words):
        raise InvalidInputError("--broken", "numbers of vehicles, from 1", text)
    return [int(word) for word in words]


def _read_positions(text: str, day: Day) -> dict[int, int | tuple[int, int]]:
    """Places as they are typed; with a + the stops at the place count as done."""
    found: dict[int, int | tuple[int, int]] = {}
    for word in re.sub(r"\s*=\s*", "=", text).replace(";", " ").replace(",", " ").split():
        match = re.fullmatch(r"(\d{1,6})=(\d{1,9})(\+?)", word, re.ASCII)
        if match is None or not 1 <= (van := int(match[1])) <= len(day.tours) or van in found:
            expected = f"vehicles from 1 to {len(day.tours)}, each once, with places on their routes: 1=12 2=30+"
            raise InvalidInputError("--positions", expected, word)
        place, positions = int(match[2]), day.tours[van - 1].positions
        found[van] = (place, sum(own <= place for own in positions)) if match[3] else place
    return found


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


def _in_words(book: Playbook, found: Day, verdicts: Sequence[ClaimVerdict]) -> str:
    domain = book.problem.domain
    total = f"{'' if domain.streets else 'cost '}{cost_text(domain, found.cost)}"
    num = sum(len(tour.stops) for tour in found.tours)
    lines = stand_lines(book, found)
    lines.append(f"{number(num, 'customer')} left to visit by {number(found.num_used, 'vehicle')}, {total} in all.")
    lines += missed_lines(book, found)
    broken = [verdict for verdict in verdicts if not verdict.holds]
    lines += [f"VIOLATED {verdict.claim}: {verdict.evidence}" for verdict in broken]
    if not broken:
        unchecked = [verdict.claim for verdict in verdicts if not verdict.checked]
        lines.append(
            "Audited: it keeps its word" + (f", but for {', '.join(unchecked)}: too large." if unchecked else ".")
        )
    return "".join(f"{line}\n" for line in lines)
