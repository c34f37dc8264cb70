"""Replan: the rest of a class's route, or of a fleet's day, where something has changed. It takes no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from veilroute.app.day_files import DAY_FILE, check_folder, write_day
from veilroute.app.load import load_playbook
from veilroute.app.places import find_node, find_nodes, read_roads
from veilroute.app.requests import ChangedMapRequest, ReplanDayRequest, ReplanRequest
from veilroute.auditing.day import is_hidden_by_stops
from veilroute.auditing.detours import audit_replan
from veilroute.auditing.lookalikes import Replanner
from veilroute.auditing.replay import is_hidden
from veilroute.auditing.underway import audit_underway
from veilroute.auditing.verdicts import ClaimVerdict, joint_verdict, judge
from veilroute.base.checks import check_name
from veilroute.base.errors import (
    BrokenPromiseError,
    FallsShortError,
    FileFormatError,
    InvalidInputError,
    UnknownMethodError,
    UnsafeLedgerError,
)
from veilroute.base.io import check_out, dump_canonical, parse_json, read_bytes, write_file
from veilroute.base.run import Progress, Run
from veilroute.fleet.dispatch import redispatch
from veilroute.formats.geojson import route_geojson
from veilroute.formats.tables import read_edge_costs
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.closure import CHOICES, Replan, replan_from_dict
from veilroute.model.day import Day, read_day, seconds_of_clock
from veilroute.model.day_state import Shortage
from veilroute.model.playbook import Playbook
from veilroute.streets.sheets import detour_parts, detour_text

FORMAT = "veilroute-replan/1"
FORMATS = (".json", ".gpx", ".geojson", ".txt")
_Result = TypeVar("_Result", bound="_Replanned")


@dataclass(frozen=True, kw_only=True)
class _Replanned:
    """What replans of one route and of a whole day have in common."""

    book: Playbook
    verdicts: tuple[ClaimVerdict, ...]  #: of the auditor
    record: Ledger | None = None  #: the ledger, with this as its last entry
    refusal: UnsafeLedgerError | None = None  #: why the ledger does not take it; nothing is written then
    is_written: bool = False

    @property
    def is_sound(self) -> bool:
        """Whether the auditor agrees; nothing is entered or written otherwise."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def _audit(self) -> dict[str, Any]:
        return {"audit": {"holds": self.is_sound, "claims": [vars(verdict) for verdict in self.verdicts]}}


@dataclass(frozen=True, kw_only=True)
class ReplanResult(_Replanned):
    """The rest of a class's route, audited."""

    found: Replan

    def to_dict(self) -> dict[str, Any]:
        """The object that `replan --json` prints."""
        return replan_file(self.book, self.found) | self._audit


@dataclass(frozen=True, kw_only=True)
class ReplanDayResult(_Replanned):
    """The rest of a day, audited; or the classes that fall short, and then somebody has to choose."""

    found: Day | None = None
    short: tuple[Shortage, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The object that `replan --day DIR --json` prints."""
        if self.found is None:
            return {"chosen": None, "short": [each.to_dict() for each in self.short]}
        return self.found.to_dict() | self._audit


@dataclass(frozen=True)
class ReplanAudit:
    """What the auditor says of the file of a replan."""

    book: Playbook
    found: Replan
    verdicts: tuple[ClaimVerdict, ...]

    @property
    def verdict(self) -> str:
        """Of all claims together: holds, unproved or violated."""
        return joint_verdict(self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """The object that `audit --replan --json` prints."""
        claims = [vars(each) | {"verdict": each.verdict} for each in self.verdicts]
        return {"holds": self.verdict != "violated", "verdict": self.verdict, "claims": claims}


def replan(request: ReplanRequest, run: Run | None = None) -> ReplanResult:
    """Find the rest of a class's route where roads are closed or cost something else, and audit it.

    It depends on the class, the position and the closure alone, so it is the same for all members of the class. If too
    few of them stay covered and nobody has chosen, nothing is entered or written.
    """
    run = Run() if run is None else run
    record, out = _open_ledger(request), request.out
    if out is not None:
        if out.suffix.lower() not in FORMATS:
            raise UnknownMethodError("replan format", out.suffix or str(out), FORMATS)
        check_out(out)
    book = load_playbook(request.playbook, request.domain, request.movement)
    if out is not None and out.suffix.lower() != ".json" and book.problem.domain.on_earth is None:
        only = "only street networks and grids with an origin have directions and places on earth"
        raise InvalidInputError("out", f"a .json file: {only}")
    if request.number is None or request.at is None:
        key, what = ("number", "the number of a class, from 1") if request.number is None else ("at", "a node")
        raise InvalidInputError(key, f"{what}; or `day`, the folder of a fleet's day")
    changes = _changes(book, request, run)
    if not (any(changes.values()) or request.after):
        raise InvalidInputError(
            "closed", "roads by a street's name, A,B or A>B, or `closed_nodes`, or `costs`: what has changed"
        )
    from veilroute.planners.replan import replan as replan_class  # here, because it loads kernels

    run.progress(Progress("replanning"))
    earlier = None if request.after is None else read_replan(book, request.after)
    found = replan_class(
        book, request.number, find_node(book, request.at, "at", run), position=request.position, trip=request.trip,
        choice=request.choice, after=earlier, **changes,
    )  # fmt: skip
    if not is_hidden(book, book.hidden_classes if book.is_randomised else [book.hidden_classes[request.number - 1]]):
        raise BrokenPromiseError
    verdicts = audit_replan(book, found, replanner=_replanner(book))
    if out is not None and out.suffix.lower() in (".gpx", ".geojson") and found.choice is not None and found.way.own:
        raise InvalidInputError("out", "a .json or .txt file: the routes of the members part", str(out))
    result = ReplanResult(book=book, found=found, verdicts=tuple(verdicts))
    if not result.is_sound or found.choice is None:
        return result
    enter = None if record is None else partial(record.add_replan, book, found, day=request.date)
    write = None if out is None else partial(_write, book, found, out)
    return _keep(result, enter and partial(enter, anyway=request.choice is not None), write)


def replan_day(request: ReplanDayRequest, run: Run | None = None) -> ReplanDayResult:
    """Plan the rest of a fleet's day where a vehicle breaks down or a road is closed, and audit it.

    It depends on the day, on where the vehicles are and on what has happened. If classes fall short of their promise
    and nobody has chosen what to do, the result says who is exposed by either choice, and nothing is written.
    """
    run = Run() if run is None else run
    record, out = _open_ledger(request), request.out
    source = request.day / DAY_FILE if request.day.is_dir() else request.day
    if out is not None and out.resolve() == source.parent.resolve():
        raise InvalidInputError("out", "another folder than that of the day, which stays as it was", str(out))
    if out is not None:
        check_folder(out)
    book = load_playbook(request.playbook, request.domain, request.movement)
    earlier = read_day(source)
    if earlier.playbook != book.sha256:
        raise InvalidInputError("day", "a day of this playbook", str(request.day))
    now = None if request.at is None else seconds_of_clock(request.at)
    if request.at is not None and now is None:
        raise InvalidInputError("at", "a time of day, HH:MM", request.at)
    places = _read_positions(request.positions, earlier)
    if now is None and not places:
        raise InvalidInputError("at", "HH:MM, or `positions`: where the vehicles are")
    changes = _changes(book, request, run)
    run.progress(Progress("replanning"))
    try:
        found = redispatch(
            book, earlier, at=now, positions=places, broken=_read_numbers(request.broken), late=request.late,
            keep=request.keep, choice=request.choice, progress=run.progress, **changes,
        )  # fmt: skip
    except FallsShortError as error:
        short = tuple(each for each in error.shortages if isinstance(each, Shortage))
        return ReplanDayResult(book=book, verdicts=(), short=short)
    if not (is_hidden(book, [book.hidden_classes[each - 1] for each in found.touched]) and is_hidden_by_stops(book)):
        raise BrokenPromiseError
    result = ReplanDayResult(book=book, found=found, verdicts=tuple(audit_underway(book, earlier, found)))
    if not result.is_sound:
        return result
    enter = None if record is None else partial(record.add_day, book, found, day=request.date)
    write = None if out is None else partial(write_day, book, found, out)
    return _keep(result, enter and partial(enter, anyway=request.choice is not None), write)


def _open_ledger(request: ChangedMapRequest) -> Ledger | None:
    if request.choice is not None:
        check_name("choice", request.choice, CHOICES)
    if request.date is not None and request.ledger is None:
        raise InvalidInputError("date", "`ledger` FILE as well")
    return None if request.ledger is None else read_ledger(request.ledger)


def _changes(book: Playbook, request: ChangedMapRequest, run: Run) -> dict[str, Any]:
    """What has changed on the map, as planners take it."""
    roads, one_way = read_roads(book, request.closed, "closed", run)
    return {
        "closed": roads,
        "closed_one_way": one_way,
        "costs": [] if request.costs is None else read_edge_costs(request.costs, book.problem.domain, book.names),
        "closed_nodes": find_nodes(book, request.closed_nodes, "closed_nodes", run),
    }


def _keep(result: _Result, enter: Callable[[], Ledger] | None, write: Callable[[], object] | None) -> _Result:
    """Enter it in the ledger, and write it unless the ledger refuses."""
    try:
        record = None if enter is None else enter()
    except UnsafeLedgerError as refusal:
        return replace(result, refusal=refusal)
    if write is not None:
        write()
    return replace(result, record=record, is_written=write is not None)


def _read_numbers(text: str) -> list[int]:
    words = re.split(r"[\s,;]+", text.strip()) if text.strip() else []
    if not all(re.fullmatch(r"\d{1,6}", word, re.ASCII) for word in words):
        raise InvalidInputError("broken", "numbers of vehicles, from 1", text)
    return [int(word) for word in words]


def _read_positions(text: str, day: Day) -> dict[int, int | tuple[int, int]]:
    """Places as they are typed; with a + the stops at the place count as done."""
    found: dict[int, int | tuple[int, int]] = {}
    for word in re.sub(r"\s*=\s*", "=", text).replace(";", " ").replace(",", " ").split():
        match = re.fullmatch(r"(\d{1,6})=(\d{1,9})(\+?)", word, re.ASCII)
        if match is None or not 1 <= (van := int(match[1])) <= len(day.tours) or van in found:
            expected = f"vehicles from 1 to {len(day.tours)}, each once, with places on their routes: 1=12 2=30+"
            raise InvalidInputError("positions", expected, word)
        place, positions = int(match[2]), day.tours[van - 1].positions
        found[van] = (place, sum(own <= place for own in positions)) if match[3] else place
    return found


def _replanner(book: Playbook) -> Replanner:
    """How other classes are replanned, for the auditor to ask."""
    from veilroute.planners.replan import replan_alone  # here, because it loads kernels

    return partial(replan_alone, book)


# Files of replans.


def check_replan_file(playbook: Path, source: Path, domain: Path | None = None, movement: int = 4) -> ReplanAudit:
    """Check every claim of a replan's file against its playbook."""
    book = load_playbook(playbook, domain, movement)
    found = read_replan(book, source)
    broken = [] if is_hidden(book, book.hidden_classes) else ["a class of the playbook falls short of its promise"]
    promise = judge("promise", broken, "every class of the playbook keeps it before anything is closed")
    data = dump_canonical(replan_file(book, found))
    marks = [] if data == read_bytes(source) else ["spaces, signs or the order of keys could be a mark"]
    form = judge("file", marks, "written in the one form that there is")
    return ReplanAudit(book, found, (form, promise, *audit_replan(book, found, replanner=_replanner(book))))


def replan_file(book: Playbook, found: Replan) -> dict[str, Any]:
    """A replan as its file says it."""
    return {"format": FORMAT, "playbook_sha256": book.sha256, **found.to_dict()}


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


def _write(book: Playbook, found: Replan, out: Path) -> None:
    """The replan in the format of the file's ending; routes on the changed map, from where the vehicle is."""
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
