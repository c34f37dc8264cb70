"""`veilroute audit --simulate`: what an observer on the street achieves, beside what is printed."""

from collections.abc import Sequence
from pathlib import Path

from veilroute.app.load import load_playbook
from veilroute.app.replan import read_replan
from veilroute.app.simulate import simulate_day, simulate_linked, simulate_playbook, simulate_replan
from veilroute.auditing.day import DAY_FILE
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.cli.console import DONE, VIOLATED, emit, emit_json, live_progress
from veilroute.model.day import read_day
from veilroute.model.entry import TRIPS


def simulate_files(
    paths: Sequence[Path],
    ledger: Path | None,
    trips: str | None,
    replan: Path | None,
    day: Path | None,
    domain: Path | None,
    movement: int,
    *,
    json: bool,
) -> int:
    """Simulate an observer of what is named; exit 1 if it exceeds a figure."""
    if not paths:
        raise InvalidInputError("PLAYBOOK", "with --simulate the playbooks: a ledger has no routes to look at")
    if None not in (replan, day) or ((replan or day) is not None and (len(paths) > 1 or ledger is not None)):
        raise InvalidInputError("--simulate", "with --replan or --day one playbook, and nothing else")
    if trips is not None:
        check_name("--trips", trips, TRIPS)
        if ledger is not None or len(paths) == 1:
            raise InvalidInputError("--trips", "several playbooks and no ledger, whose first line says it", trips)
    books = [load_playbook(path, domain, movement) for path in paths]
    with live_progress("watching the street"):
        if replan is not None:
            found = simulate_replan(books[0], read_replan(books[0], replan))
        elif day is not None:
            found = simulate_day(books[0], read_day(day / DAY_FILE if day.is_dir() else day))
        elif len(books) == 1 and ledger is None:
            found = simulate_playbook(books[0])
        else:
            found = simulate_linked(books, ledger, trips)
    if json:
        emit_json(found.to_dict())
    else:
        emit(found.to_text())
    return VIOLATED if found.exceeded else DONE
