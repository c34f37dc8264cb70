"""`veilroute route`: the one command that takes the secret; `veilroute key`: the key by which it draws.

Whatever goes wrong, what leaves `route` is one of the sentences below or of the three errors that hold none: no
value that was typed, no line of a file, no message of the system. Any of these may be, or quote, the secret or the key.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import GetPassWarning, getpass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.places import LONGEST, find_secret
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
from veilroute.base.keys import new_key, read_key
from veilroute.cli.console import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    VIOLATED,
    DepartOption,
    DwellOption,
    emit,
    remark,
)
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument, group
from veilroute.formats import read_domain
from veilroute.formats.route_text import route_text
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.playbook import Playbook, Route, read_playbook
from veilroute.streets.stops import DWELL_S, Schedule

FORMATS = ("text", "json", "gpx", "geojson", "kml", "directions")
SENTENCES = {
    "usage": "usage: veilroute route PLAYBOOK --transit NODE (or --transit - to read it from standard input)",
    "playbook": "PLAYBOOK: expected a file made by veilroute plan; check the path, and the file with veilroute audit",
    "domain": "--domain: expected the map or instance file that the playbook was made for; check the path and the file",
    "map": "--domain: expected the map or instance file: this playbook holds only its hash",
    "format": f"--format: expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
    "streets": "--format: expected text or json: only street networks and grids with an origin have "
    f"{', '.join(FORMATS[2:])}",
    "suffix": "--out: expected a file that ends in .txt (its nodes), .json, .gpx, .geojson or .kml; or a --format",
    "dwell": "--dwell: expected a number of seconds from 0 to 86400",
    "depart": "--depart: expected a time of day as HH:MM",
    "times": "--depart: expected a network whose costs are seconds: on others nobody knows when the van is where",
    "trip": "--trip: expected a trip of the playbook, counted from 0",
    "ledger": "--ledger: expected a file made by veilroute ledger new; check the path, and the file with ledger check",
    "unlisted": "the playbook, or its --occasion, is not in the ledger; enter it first: veilroute ledger add",
    "fresh": "--ledger: expected --key FILE beside it for a randomised playbook: each fresh draw would be a new entry",
    "linked": "linked trips leave somebody whom the playbook hides too few; see who: veilroute ledger check LEDGER",
    "key": "--key: expected a file made by veilroute key new that only its owner can read; check path and permissions",
    "occasion": "--occasion: expected --key FILE beside it: without a key each draw is a fresh one",
    "drawn": "note: one of several routes was drawn; a second draw for the same secret leaks, so draw with --key FILE",
    "out": "--out: expected a file that can be written; check the path and its permissions",
    "input": "the transit point could not be read; type it, or send it as one line of text in UTF-8",
    "memory": "out of memory; use a smaller map",
    "interrupted": "interrupted",
    "other": "the route could not be given; check the playbook: veilroute audit PLAYBOOK",
}
"""All that `route` says of itself, most of it when it fails. They are fixed: nothing is ever filled in."""

_OF_SUFFIX = {".txt": "text", ".json": "json", ".gpx": "gpx", ".geojson": "geojson", ".kml": "kml"}


class RouteError(VeilrouteError):
    """A failure of `route`, by the name of its sentence."""

    def __init__(self, which: str, code: int = BAD_INPUT) -> None:
        self.code = code
        super().__init__(SENTENCES[which])


def run_route(
    playbook: PlaybookArgument,
    /,
    *,
    transit: Annotated[
        str,
        Parameter(
            metavar="PLACE|-",
            allow_leading_hyphen=True,
            help="The secret: a node, its name, or LAT,LON; - reads it from standard input.",
        ),
    ],
    trip: Annotated[int, Parameter(help="Which trip, from 0.")] = 0,
    format: Annotated[
        str | None,
        Parameter(
            metavar="|".join(FORMATS), help="How to give the route; by the suffix of --out, else text, when left out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="FILE",
            help="Write the route to a file; the secret is not in it.",
        ),
    ] = None,
    dwell: DwellOption = DWELL_S,
    depart: DepartOption = None,
    key: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="Draw by this key (see key new): repeated, it gives the same route."),
    ] = None,
    occasion: Annotated[
        str, Parameter(metavar="TEXT", help="What the draw by key is for, such as a date; not secret.")
    ] = "",
    ledger: Annotated[
        Path | None,
        Parameter(
            metavar="FILE", help="Only if the playbook is in this ledger, and linked trips keep all its promises."
        ),
    ] = None,
    expose: Annotated[
        bool, Parameter(name="--expose", help="Give a route even if it gives the transit point away.")
    ] = False,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Look up the route for a secret transit point.

    Prefer `--transit -`: it keeps the secret out of the shell's history and the list of processes.
    """
    wanted = format or ("text" if out is None else _OF_SUFFIX.get(out.suffix.lower(), ""))
    if wanted not in FORMATS:
        raise RouteError("suffix" if format is None else "format")
    schedule = _read_schedule(dwell, depart)
    with _saying_only("playbook", VeilrouteError):
        book = read_playbook(playbook)
    if domain is not None:
        with _saying_only("domain", VeilrouteError):
            book = book.with_domain(read_domain(domain, movement=movement))
    if not 0 <= trip < len(book.trips):
        raise RouteError("trip")
    if ledger is not None:
        with _saying_only("ledger", InvalidInputError):
            if book.is_randomised and key is None:
                raise RouteError("fresh")
            _check_ledger(read_ledger(ledger), book, occasion)
    private = None
    if key is not None:
        with _saying_only("key", VeilrouteError):
            private = read_key(key)
        if book.is_randomised and book.spots is None:
            raise RouteError("map")
    elif occasion and book.is_randomised:
        raise RouteError("occasion")
    # Asked for last, when nothing else is wrong.
    secret = find_secret(book, _ask() if transit == "-" else transit)
    route = book.route_for(secret, trip, key=private, occasion=occasion, expose=expose)
    if not expose and book.domain is not None:  # without the map, nothing more is known of whether the secret is hidden
        groups = book.hidden_classes if book.is_randomised else book.classes_of(secret)[:1]
        if not is_hidden(book, groups):
            raise BrokenPromiseError
    text = _route_text(book, route, wanted, schedule)
    if book.is_randomised and private is None:
        remark(SENTENCES["drawn"])
    if out is None:
        # These say in themselves, or are read by programs that take it for granted, that they are UTF-8.
        emit(text, is_utf8=wanted in ("gpx", "geojson", "kml"))
    else:
        with _saying_only("out", OSError, ValueError):
            write_file(out, text)
        emit("Route written.\n")
    return DONE


key_app = group("key", "Private keys for drawing from randomised playbooks.")


@key_app.command(name="new")
def run_new_key(
    file: Annotated[Path, Parameter(name="FILE", help="The file to make; one that is there is not overwritten.")],
    /,
) -> int:
    """Make a private key that only you can read, for `route --key`."""
    new_key(file)
    emit("Key written. Keep it private, and keep a copy: another key draws other routes.\n")
    return DONE


def _check_ledger(ledger: Ledger, book: Playbook, occasion: str) -> None:
    """Refuse the playbook for every secret, or for none: the secret is not known yet."""
    mine = [entry for entry in ledger.entries if entry.playbook == book.sha256 and entry.kind == "playbook"]
    if not any(not entry.shares or entry.occasion == occasion for entry in mine):
        raise RouteError("unlisted", VIOLATED)
    try:
        ledger.check_use(book, None if book.past is None else book.past.since)
    except UnsafeLedgerError:
        raise RouteError("linked", VIOLATED) from None


def _read_schedule(dwell: float, depart: str | None) -> Schedule:
    with _saying_only("dwell", InvalidInputError):
        Schedule(dwell)
    with _saying_only("depart", InvalidInputError):
        return Schedule(dwell, depart)


def _route_text(book: Playbook, route: Route, format: str, schedule: Schedule) -> str:
    """The route as text; made from the route, the map and the names of its ends and stops, whoever asked for it."""
    if format in ("text", "json"):
        return route_text(book, route, format)
    if book.domain is None:
        raise RouteError("map")
    if book.domain.on_earth is None:
        raise RouteError("streets")
    if format != "geojson" and schedule.depart is not None and book.domain.on_earth.unit != "seconds":
        raise RouteError("times")
    return route_text(book, route, format, schedule=schedule)


def _ask() -> str:
    """The line that was typed or sent, without an echo on a terminal."""
    if sys.stdin is None:
        return ""
    if not sys.stdin.isatty():
        return sys.stdin.readline(LONGEST + 1)
    with warnings.catch_warnings():
        # It only warns, and reads on, where it cannot turn the echo off.
        warnings.simplefilter("error", GetPassWarning)
        return getpass("Transit point (it is not shown): ", stream=sys.stderr)


@contextmanager
def _saying_only(which: str, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds:
        raise RouteError(which) from None


def failure(error: BaseException) -> tuple[str, int]:
    """What to say about whatever ended the command, and the exit code; an empty text where nobody is to be told."""
    match error:
        case BrokenPromiseError():
            return str(BrokenPromiseError()), VIOLATED
        case RouteError():
            return str(error), error.code
        case NotAnonymizedError() | UnknownCandidateError():
            # These were made by this program without any value in them.
            return str(error), NOTHING_ANONYMIZED if isinstance(error, NotAnonymizedError) else BAD_INPUT
        case KeyboardInterrupt():
            return SENTENCES["interrupted"], INTERRUPTED
        case UnicodeDecodeError() | Warning():
            return SENTENCES["input"], BAD_INPUT
        case MemoryError():
            return SENTENCES["memory"], BAD_INPUT
        case BrokenPipeError() | SystemExit():  # nobody reads the help any more; and a print ends so
            return "", DONE
    return SENTENCES["other"], BAD_INPUT
