"""`veilroute route`: the one command that takes the secret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.console import emit
from veilroute.cli.exit_codes import DONE
from veilroute.domain.labels import Label, label_text, tidy_text
from veilroute.errors import FileFormatError, InvalidInputError, UnknownCandidateError
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, read_playbook


def run_route(
    playbook: Annotated[Path, typer.Argument(metavar="PLAYBOOK", help="A playbook made by `veilroute plan`.")],
    transit: Annotated[str, typer.Option(metavar="NODE|-", help="The secret; - reads it from standard input.")],
    trip: Annotated[int, typer.Option(help="Which trip, from 0.")] = 0,
    format: Annotated[str, typer.Option(metavar="text|json", help="How to print the route.")] = "text",
    expose: Annotated[
        bool, typer.Option("--expose", help="Give a route even if it gives the transit point away.")
    ] = False,
) -> int:
    """Look up the route for a secret transit point.

    Prefer `--transit -`: it keeps the secret out of the shell's history and the list of processes.
    """
    # Whatever is typed in the wrong place may be the secret, so no message here repeats what was typed.
    if format not in ("text", "json"):
        raise InvalidInputError("--format", "text or json")
    book = _read_quietly(playbook)
    secret = _find_secret(book, _ask() if transit == "-" else transit)
    route = book.route_for(secret, trip, expose=expose)
    if format == "json":
        emit(dump_canonical({"route": route.nodes, "cost": route.cost, "trip": route.trip}).decode())
    else:
        emit("".join(f"{label_text(node)}\n" for node in route))
    return DONE


def _ask() -> str:
    return sys.stdin.readline() if sys.stdin is not None else ""


def _read_quietly(path: Path) -> Playbook:
    try:
        return read_playbook(path)
    except FileFormatError as error:
        raise FileFormatError("PLAYBOOK", error.problem, error.line) from None


def _find_secret(book: Playbook, text: str) -> Label:
    """The candidate that was typed: its text, or for tuples such as cells also ``R C`` and ``(R, C)``."""
    exact = {label_text(label): label for label in book.candidates}
    for wanted in (text.rstrip("\r\n"), text.strip()):
        if wanted in exact:
            return exact[wanted]
    tuples = {name: label for name, label in exact.items() if isinstance(label, tuple)}
    wanted = tidy_text(text)
    # Asked first and not caught, because a KeyError would carry the secret along as the context of ours.
    if wanted not in tuples:
        raise UnknownCandidateError
    return tuples[wanted]
