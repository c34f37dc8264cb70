"""Route: the lookup for the one secret. Whatever goes wrong, only fixed sentences leave it.

No error that is raised here holds a value that was typed, a line of a file or a message of the system: any of these may
be, or quote, the secret or the key.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from veilroute.app.places import find_secret
from veilroute.app.requests import RouteRequest
from veilroute.auditing.replay import is_hidden
from veilroute.base.errors import (
    BrokenPromiseError,
    InvalidInputError,
    NotAnonymizedError,
    UnknownCandidateError,
    UnsafeLedgerError,
    VeilrouteError,
)
from veilroute.base.io import write_file
from veilroute.base.keys import read_key
from veilroute.formats import read_domain
from veilroute.formats.route_text import route_text
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.playbook import Playbook, Route, read_playbook
from veilroute.streets.stops import DWELL_S, Schedule

FORMATS = ("text", "json", "gpx", "geojson", "kml", "directions")
SENTENCES = {
    "playbook": "playbook: expected a file made by veilroute plan; check the path, and the file with veilroute audit",
    "domain": "domain: expected the map or instance file that the playbook was made for; check the path and the file",
    "map": "domain: expected the map or instance file: this playbook holds only its hash",
    "format": f"format: expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
    "streets": "format: expected text or json: only street networks and grids with an origin have "
    f"{', '.join(FORMATS[2:])}",
    "suffix": "out: expected a file that ends in .txt (its nodes), .json, .gpx, .geojson or .kml; or a `format`",
    "dwell": "dwell: expected a number of seconds from 0 to 86400",
    "depart": "depart: expected a time of day as HH:MM",
    "times": "depart: expected a network whose costs are seconds: on others nobody knows when the van is where",
    "trip": "trip: expected a trip of the playbook, counted from 0",
    "ledger": "ledger: expected a file made by veilroute ledger new; check the path, and the file with ledger check",
    "unlisted": "the playbook, or its `occasion`, is not in the ledger; enter it first: veilroute ledger add",
    "fresh": "ledger: expected `key` FILE beside it for a randomised playbook: each fresh draw would be a new entry",
    "linked": "linked trips leave somebody whom the playbook hides too few; see who: veilroute ledger check LEDGER",
    "key": "key: expected a file made by veilroute key new that only its owner can read; check path and permissions",
    "occasion": "occasion: expected `key` FILE beside it: without a key each draw is a fresh one",
    "out": "out: expected a file that can be written; check the path and its permissions",
    "input": "the stop could not be read; type it, or send it as one line of text in UTF-8",
    "memory": "out of memory; use a smaller map",
    "other": "the route could not be given; check the playbook: veilroute audit PLAYBOOK",
}
"""All messages about a missing route, beside the three errors without values. Nothing is ever filled in."""

VIOLATIONS = ("unlisted", "linked")  #: a promise would be broken
_OF_SUFFIX = {".txt": "text", ".json": "json", ".gpx": "gpx", ".geojson": "geojson", ".kml": "kml"}


class RouteError(VeilrouteError):
    """A failure to give a route, by the name of its sentence."""

    def __init__(self, which: str) -> None:
        self.which = which
        super().__init__(SENTENCES[which])


@dataclass(frozen=True)
class RouteResult:
    """A route, which is the same for all who share it, and its text."""

    route: Route
    format: str
    text: str  #: as it is printed or written
    is_drawn_afresh: bool  #: whether it was drawn without a key: a second draw for the same secret leaks


def route(request: RouteRequest, ask: Callable[[], str]) -> RouteResult:
    """Look up the route for a secret stop, and write it if that is asked for.

    Parameters
    ----------
    request
        What is public.
    ask
        Gives the secret as a person typed it. It is called last, when nothing else is wrong.

    Raises
    ------
    RouteError, NotAnonymizedError, BrokenPromiseError, UnknownCandidateError
        Never another error, but for the end of the input: their messages are fixed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning may quote what it is about
        try:
            return _look_up(request, ask)
        except Exception as error:
            told = EOFError() if isinstance(error, EOFError) else harmless(error)
    # Raised out here, and without its traceback, because what it came from may hold the secret.
    told.__context__ = told.__cause__ = None
    raise told.with_traceback(None)


def harmless(error: Exception) -> VeilrouteError:
    """An error of which each word may be said, in place of any error."""
    match error:
        case BrokenPromiseError():
            return BrokenPromiseError()
        case RouteError() | NotAnonymizedError() | UnknownCandidateError():
            return error  # these were made by this program without any value in them
        case UnicodeDecodeError() | Warning():
            return RouteError("input")
        case MemoryError():
            return RouteError("memory")
    return RouteError("other")


def _look_up(request: RouteRequest, ask: Callable[[], str]) -> RouteResult:
    wanted = request.format or ("text" if request.out is None else _OF_SUFFIX.get(request.out.suffix.lower(), ""))
    if wanted not in FORMATS:
        raise RouteError("suffix" if request.format is None else "format")
    schedule = _read_schedule(DWELL_S if request.dwell is None else request.dwell, request.depart)
    book, occasion = _read_playbook(request), request.occasion
    if not 0 <= request.trip < len(book.trips):
        raise RouteError("trip")
    if request.ledger is not None:
        with _saying_only("ledger", InvalidInputError):
            if book.is_randomised and request.key is None:
                raise RouteError("fresh")
            _check_ledger(read_ledger(request.ledger), book, occasion)
    private = None
    if request.key is not None:
        with _saying_only("key", VeilrouteError):
            private = read_key(request.key)
        if book.is_randomised and book.spots is None:
            raise RouteError("map")
    elif occasion and book.is_randomised:
        raise RouteError("occasion")
    secret = find_secret(book, ask())
    found = book.route_for(secret, request.trip, key=private, occasion=occasion, expose=request.expose)
    # Without the map, nothing more is known of whether the secret is hidden.
    if not request.expose and book.domain is not None:
        groups = book.hidden_classes if book.is_randomised else book.classes_of(secret)[:1]
        if not is_hidden(book, groups):
            raise BrokenPromiseError
    text = _route_text(book, found, wanted, schedule)
    if request.out is not None:
        _write(request.out, text)
    return RouteResult(found, wanted, text, book.is_randomised and private is None)


def _read_playbook(request: RouteRequest) -> Playbook:
    with _saying_only("playbook", VeilrouteError):
        book = read_playbook(request.playbook)
    if request.domain is None:
        return book
    with _saying_only("domain", VeilrouteError):
        return book.with_domain(read_domain(request.domain, movement=request.movement))


def _check_ledger(ledger: Ledger, book: Playbook, occasion: str) -> None:
    """Refuse the playbook for every secret, or for none: the secret is not known yet."""
    mine = [entry for entry in ledger.entries if entry.playbook == book.sha256 and entry.kind == "playbook"]
    if not any(not entry.shares or entry.occasion == occasion for entry in mine):
        raise RouteError("unlisted")
    try:
        ledger.check_use(book, None if book.past is None else book.past.since)
    except UnsafeLedgerError:
        raise RouteError("linked") from None


def _read_schedule(dwell: float, depart: str | None) -> Schedule:
    with _saying_only("dwell", InvalidInputError):
        Schedule(dwell)
    with _saying_only("depart", InvalidInputError):
        return Schedule(dwell, depart)


def _route_text(book: Playbook, found: Route, format: str, schedule: Schedule) -> str:
    """The route as text, from the route, the map and the names of its ends and stops; never from the secret."""
    if format in ("text", "json"):
        return route_text(book, found, format)
    if book.domain is None:
        raise RouteError("map")
    if book.domain.on_earth is None:
        raise RouteError("streets")
    if format != "geojson" and schedule.depart is not None and book.domain.on_earth.unit != "seconds":
        raise RouteError("times")
    return route_text(book, found, format, schedule=schedule)


def _write(out: Path, text: str) -> None:
    with _saying_only("out", OSError, ValueError):
        write_file(out, text)


@contextmanager
def _saying_only(which: str, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds:
        raise RouteError(which) from None
