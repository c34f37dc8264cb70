"""`veilroute route`: the one command that takes the secret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.console import label_text
from veilroute.domain.graph import Label
from veilroute.errors import InvalidInputError, UnknownCandidateError
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
    if format not in ("text", "json"):
        raise InvalidInputError("--format", "text or json", format)
    book = read_playbook(playbook)
    secret = _find_secret(book, sys.stdin.readline() if transit == "-" else transit)
    route = book.route_for(secret, trip, expose=expose)
    if format == "json":
        sys.stdout.write(dump_canonical({"route": route.nodes, "cost": route.cost, "trip": route.trip}).decode())
    else:
        sys.stdout.write("".join(f"{label_text(node)}\n" for node in route))
    return 0


def _find_secret(book: Playbook, text: str) -> Label:
    """The candidate that was typed, written as ``R,C``, ``R C``, ``(R, C)`` or the label itself."""
    wanted = _key(text)
    for label in book.candidates:
        if _key(label_text(label)) == wanted:
            return label
    raise UnknownCandidateError


def _key(text: str) -> tuple[str, ...]:
    return tuple(text.strip().strip("()[]").replace(",", " ").split())
