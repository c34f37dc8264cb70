"""`veilroute audit`: replay the adversary against a playbook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilroute.audit import audit_playbook
from veilroute.cli.console import emit, live_progress
from veilroute.cli.exit_codes import DONE, VIOLATED
from veilroute.errors import InvalidInputError
from veilroute.formats import read_domain
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, read_playbook
from veilroute.progress import Progress

DomainOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The map or instance file, when the playbook holds only its hash."),
]
MovementOption = Annotated[int, typer.Option(metavar="4|8", help="Moves on the --domain map.")]


def run_audit(
    playbook: Annotated[Path, typer.Argument(metavar="PLAYBOOK", help="A playbook made by `veilroute plan`.")],
    domain: DomainOption = None,
    movement: MovementOption = 4,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 also when a claim could not be proved.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Check every claim of a playbook by replaying the adversary: exit 0 when all hold, 1 when one is violated.

    The auditor shares no code with the planners. It asks for the route of every candidate in turn and works coverage,
    costs, spread and anonymity out again from the map.
    """
    book = load_playbook(playbook, domain, movement)
    with live_progress() as report:
        report(Progress("replaying the adversary"))
        verdict = audit_playbook(book)
    if json:
        emit(dump_canonical(verdict.to_dict()).decode())
    else:
        emit(verdict.to_text().rstrip("\n") + "\n")
    return DONE if verdict.verdict in (("holds",) if strict else ("holds", "unproved")) else VIOLATED


def load_playbook(path: Path, domain: Path | None, movement: int) -> Playbook:
    """Read a playbook, with its domain from another file where one is named."""
    book = read_playbook(path, domain=None if domain is None else read_domain(domain, movement=movement))
    if book.domain is None:
        raise InvalidInputError("--domain", "the map or instance file: this playbook holds only its hash")
    return book
