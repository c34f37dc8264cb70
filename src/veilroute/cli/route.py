"""`veilroute route`: the one command that takes the secret; `veilroute key`: the key by which it draws.

Whatever goes wrong, what leaves `route` is one of the sentences below or of the three errors that hold none: no
value that was typed, no line of a file, no message of the system. Any of these may be, or quote, the secret or the key.
"""

import sys
import warnings
from getpass import GetPassWarning, getpass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.places import LONGEST
from veilroute.app.requests import RouteRequest
from veilroute.app.route import SENTENCES as FAILURES
from veilroute.app.route import VIOLATIONS, RouteError, harmless, route
from veilroute.base.errors import BrokenPromiseError, NotAnonymizedError
from veilroute.base.keys import new_key
from veilroute.cli.console import BAD_INPUT, DONE, INTERRUPTED, NOTHING_ANONYMIZED, VIOLATED, emit, remark
from veilroute.cli.keys import as_typed
from veilroute.cli.options import PlaybookArgument, group, takes_request

SENTENCES = {name: as_typed(sentence) for name, sentence in FAILURES.items()} | {
    "usage": "usage: veilroute route PLAYBOOK --stop PLACE (or --stop - to read it from standard input)",
    "drawn": "note: one of several routes was drawn; a second draw for the same secret leaks, so draw with --key FILE",
    "interrupted": "interrupted",
}
"""All that `route` says of itself, most of it when it fails. They are fixed: nothing is ever filled in."""


@takes_request(RouteRequest)
def run_route(
    playbook: PlaybookArgument,
    /,
    *,
    stop: Annotated[
        str,
        Parameter(
            name=("--stop", "--transit"),
            metavar="PLACE|-",
            allow_leading_hyphen=True,
            help="The secret: a node, its name, or LAT,LON; - reads it from standard input.",
        ),
    ],
    request: RouteRequest,
) -> int:
    """Look up the route for a secret stop.

    Prefer `--stop -`: it keeps the secret out of the shell's history and the list of processes.
    """
    result = route(request, _ask if stop == "-" else lambda: stop)
    if result.is_drawn_afresh:
        remark(SENTENCES["drawn"])
    if request.out is None:
        # These say in themselves, or are read by programs that take it for granted, that they are UTF-8.
        emit(result.text, is_utf8=result.format in ("gpx", "geojson", "kml"))
    else:
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


def _ask() -> str:
    """The line that was typed or sent, without an echo on a terminal."""
    if sys.stdin is None:
        return ""
    if not sys.stdin.isatty():
        return sys.stdin.readline(LONGEST + 1)
    with warnings.catch_warnings():
        # It only warns, and reads on, where it cannot turn the echo off.
        warnings.simplefilter("error", GetPassWarning)
        return getpass("Secret stop (it is not shown): ", stream=sys.stderr)


def failure(error: BaseException) -> tuple[str, int]:
    """What to say about whatever ended the command, and the exit code; an empty text where nobody is to be told."""
    match error:
        case KeyboardInterrupt():
            return SENTENCES["interrupted"], INTERRUPTED
        case BrokenPipeError() | SystemExit():  # nobody reads the help any more; and a print ends so
            return "", DONE
    match told := harmless(error) if isinstance(error, Exception) else RouteError("other"):
        case RouteError():
            return SENTENCES[told.which], VIOLATED if told.which in VIOLATIONS else BAD_INPUT
        case BrokenPromiseError():
            return str(told), VIOLATED
    return str(told), NOTHING_ANONYMIZED if isinstance(told, NotAnonymizedError) else BAD_INPUT
