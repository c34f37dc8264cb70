"""`veilroute replan`: the rest of a class's route where a road is closed. It takes no secret."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from veilroute.app.load import load_playbook
from veilroute.app.places import find_node, find_nodes, read_roads
from veilroute.auditing.detours import audit_replan
from veilroute.auditing.lookalikes import Replanner
from veilroute.auditing.replay import is_hidden
from veilroute.auditing.verdicts import ClaimVerdict, joint_verdict, judge
from veilroute.auditing.verdicts import number as count
from veilroute.base.errors import (
    BrokenPromiseError,
    FileFormatError,
    InvalidInputError,
    UnknownMethodError,
    UnsafeLedgerError,
    listing,
)
from veilroute.base.io import dump_canonical, parse_json, read_bytes, write_file
from veilroute.cli.console import (
    DONE,
    NOTHING_ANONYMIZED,
    VIOLATED,
    JsonOption,
    check_out,
    emit,
    emit_json,
    live_progress,
    plain_run,
    remark,
)
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.formats.geojson import route_geojson
from veilroute.formats.tables import read_edge_costs
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.closure import GIVE_UP, GO_ON, Replan, Way, replan_from_dict
from veilroute.model.playbook import Playbook
from veilroute.streets.sheets import closed_text, detour_parts, detour_text, members_text, sighting_text

FORMAT = "veilroute-replan/1"
FORMATS = (".json", ".gpx", ".geojson", ".txt")


def run_replan(
    playbook: PlaybookArgument,
    /,
    *,
    number: Annotated[
        int, Parameter(name="--class", metavar="N", help="Which class, as `plan` and pictures number them, from 1.")
    ],
    at: Annotated[str, Parameter(metavar="NODE", help="Where the vehicle stands: a node, its name, or LAT,LON.")],
    position: Annotated[
        int | None,
        Parameter(metavar="I", help="Where on the route that is, from 0, if it passes the node more than once."),
    ] = None,
    trip: Annotated[int, Parameter(help="Which trip, from 0.")] = 0,
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
    after: Annotated[
        Path | None,
        Parameter(
            metavar="FILE", help="The .json of the replan by which the vehicle goes already; its roads stay closed."
        ),
    ] = None,
    go_on: Annotated[bool, Parameter(name="--go-on", help="Go on even where too few members stay covered.")] = False,
    give_up: Annotated[bool, Parameter(name="--give-up", help="Go straight to the goal.")] = False,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="Write it to a .json file; on streets also .gpx, .geojson or .txt.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None, Parameter(metavar="FILE", help="Enter the trip as it goes on now in this ledger.")
    ] = None,
    date: Annotated[
        str | None, Parameter(name="--date", metavar="DATE", help="The day of the trip, for the ledger. [today]")
    ] = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Find the rest of a class's route where roads are closed or cost something else, and audit it.

    It depends on the class, the position and the closure alone: no secret is asked for, and what is printed and written
    is the same for all members of the class. Where too few of them stay covered nothing is chosen and no file is
    written: it is said who is exposed by going on and by giving up, and the exit code is 3.
    """
    if go_on and give_up:
        raise InvalidInputError("--go-on", "either --go-on or --give-up, not both")
    if date is not None and ledger is None:
        raise InvalidInputError("--date", "--ledger FILE as well")
    record = None if ledger is None else read_ledger(ledger)
    if out is not None:
        if out.suffix.lower() not in FORMATS:
            raise UnknownMethodError("replan format", out.suffix or str(out), FORMATS)
        check_out(out)
    book = load_playbook(playbook, domain, movement)
    if out is not None and out.suffix.lower() != ".json" and book.problem.domain.on_earth is None:
        only = "only street networks and grids with an origin have directions and places on earth"
        raise InvalidInputError("--out", f"a .json file: {only}")
    roads, one_way = read_roads(book, closed, "closed", plain_run())
    new_costs = [] if costs is None else read_edge_costs(costs, book.problem.domain, book.names)
    shut = find_nodes(book, closed_nodes, "closed_nodes", plain_run())
    if not (roads or one_way or shut or new_costs or after):
        raise InvalidInputError(
            "--closed", "roads by a street's name, A,B or A>B, or --closed-nodes, or --costs: what has changed"
        )
    from veilroute.planners.replan import replan  # here, because it loads kernels

    with live_progress("replanning"):
        earlier = None if after is None else read_replan(book, after)
        choice = GO_ON if go_on else GIVE_UP if give_up else None
        found = replan(
            book, number, find_node(book, at, "at", plain_run()), position=position, trip=trip, closed=roads,
            closed_one_way=one_way, closed_nodes=shut, costs=new_costs, choice=choice, after=earlier,
        )  # fmt: skip
        if not is_hidden(book, book.hidden_classes if book.is_randomised else [book.hidden_classes[number - 1]]):
            raise BrokenPromiseError
        verdicts = audit_replan(book, found, replanner=_replanner(book))
    if out is not None and out.suffix.lower() in (".gpx", ".geojson") and found.choice is not None and found.way.own:
        raise InvalidInputError("--out", "a .json or .txt file: the routes of the members part", str(out))
    is_sound = all(verdict.holds for verdict in verdicts)
    if json:
        claims = [vars(verdict) for verdict in verdicts]
        emit_json({**replan_file(book, found), "audit": {"holds": is_sound, "claims": claims}})
    else:
        emit(_in_words(book, found, verdicts))
    if not is_sound:
        remark("the replan does not pass its audit; nothing was written")
        return VIOLATED
    if found.choice is None:
        return NOTHING_ANONYMIZED
    if record is not None:
        anyway = go_on or give_up
        if not enter(ledger, lambda: record.add_replan(book, found, day=date, anyway=anyway), is_silent=json):
            return VIOLATED
    if out is not None:
        _write(book, found, out)
        if not json:
            emit(f"Written: {out}\n")
    return DONE


def enter(path: Path | None, add: Callable[[], Ledger], *, is_silent: bool) -> bool:
    """Enter a trip that goes on otherwise in a ledger; where that leaves somebody too few, say so and do not."""
    try:
        record = add()
    except UnsafeLedgerError as error:
        if not error.names:
            raise
        remark(
            f"nothing was written: with earlier trips this one leaves too few for {listing(error.names)}; "
            "--go-on or --give-up does it all the same"
        )
        return False
    if not is_silent:
        emit(f"Entered: {path}, on {record.entries[-1].date}.\nHead: {record.head}\n")
    return True


def replan_file(book: Playbook, found: Replan) -> dict[str, Any]:
    """A replan as it stands in a file."""
    return {"format": FORMAT, "playbook_sha256": book.sha256, **found.to_dict()}


def _replanner(book: Playbook) -> Replanner:
    """How other classes are replanned, for the auditor to ask."""
    from veilroute.planners.replan import replan_alone  # here, because it loads kernels

    return partial(replan_alone, book)


def audit_replan_file(
    playbook: Path, source: Path, domain: Path | None, movement: int, *, strict: bool, json: bool
) -> int:
    """`veilroute audit --replan`: check every claim of a replan's file against its playbook."""
    book = load_playbook(playbook, domain, movement)
    with live_progress("checking the replan"):
        found = read_replan(book, source)
        broken = [] if is_hidden(book, book.hidden_classes) else ["a class of the playbook falls short of its promise"]
        promise = judge("promise", broken, "every class of the playbook keeps it before anything is closed")
        data = dump_canonical(replan_file(book, found))
        marks = [] if data == read_bytes(source) else ["spaces, signs or the order of keys could be a mark"]
        form = judge("file", marks, "written in the one form that there is")
        verdicts = (form, promise, *audit_replan(book, found, replanner=_replanner(book)))
    verdict = joint_verdict(verdicts)
    if json:
        claims = [vars(each) | {"verdict": each.verdict} for each in verdicts]
        emit_json({"holds": verdict != "violated", "verdict": verdict, "claims": claims})
    else:
        odd = [each.claim for each in verdicts if each.verdict == verdict]
        first = {
            "holds": f"The replan keeps its word: all {len(verdicts)} claims hold.",
            "unproved": f"The replan keeps its word as far as could be checked; not proved: {', '.join(odd)}.",
            "violated": f"Do not rely on this replan: {count(len(odd), 'claim')} violated ({', '.join(odd)}).",
        }
        width = max(len(each.claim) for each in verdicts)
        lines = [first[verdict], "", *_what_in_words(book, found), "", "Claims"]
        lines += [f"  {each.word:8}  {each.claim:{width}}  {each.evidence}" for each in verdicts]
        lines.append("  (What the playbook claims by itself is not among these: see `veilroute audit PLAYBOOK`.)")
        emit("".join(f"{line}\n" for line in lines))
    return DONE if verdict in (("holds",) if strict else ("holds", "unproved")) else VIOLATED


def read_replan(book: Playbook, path: Path) -> Replan:
    """A replan of a playbook from its file."""
    data = parse_json(read_bytes(path), path)
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise FileFormatError(path, f"not a replan; expected a JSON object with format {FORMAT}")
    if data.pop("playbook_sha256", None) != book.sha256:
        raise FileFormatError(path, "a replan of another playbook")
    try:
        found = replan_from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileFormatError(path, f"damaged replan ({error}); make it again") from None
    if book.privacy.m is None and found.has_own_ways:
        raise FileFormatError(path, "has ways of single members, but members share the whole route; make it again")
    return found


def _in_words(book: Playbook, found: Replan, verdicts: tuple[ClaimVerdict, ...]) -> str:
    lines = _what_in_words(book, found)
    broken = [verdict for verdict in verdicts if not verdict.holds]
    lines += [f"VIOLATED {verdict.claim}: {verdict.evidence}" for verdict in broken]
    unchecked = [verdict.claim for verdict in verdicts if not verdict.checked]
    if not broken:
        lines.append(
            "Audited: it keeps its word" + (f", but for {', '.join(unchecked)}: too large." if unchecked else ".")
        )
    return "".join(f"{line}\n" for line in lines)


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


def _write(book: Playbook, found: Replan, out: Path) -> None:
    """The replan in the format of the file's ending; routes on the changed map, from where the vehicle stands."""
    suffix = out.suffix.lower()
    if suffix == ".json":
        write_file(out, dump_canonical(replan_file(book, found)))
        return
    from veilroute.planners.replan import change_domain

    changed = change_domain(book.problem.domain, found.closure)
    if suffix == ".txt":
        write_file(out, detour_text(book, found, changed))
        return
    (part,) = detour_parts(book, found, changed)
    if suffix == ".geojson":
        write_file(out, route_geojson(part.itinerary, cost=found.cost or 0.0, trip=found.trip))
        return
    from veilroute.formats.gpx import route_gpx  # here, because it loads a library for XML

    text = route_gpx(part.itinerary, name=f"Class {found.number}, detour", steps=part.steps(book.names))
    write_file(out, text)
