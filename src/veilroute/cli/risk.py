"""`veilroute risk`: what an observer believes who has seen a route."""

from pathlib import Path

from typer import Option

from veilroute.adversary import watch_playbook
from veilroute.cli import instances
from veilroute.cli.console import DONE, JsonOption, emit, emit_json, live_progress
from veilroute.formats.tables import read_prior
from veilroute.posterior import measure_risk


def run_risk(
    playbook: instances.PlaybookArgument,
    prior: Path | None = Option(
        None,
        metavar="FILE",
        help="How probable each place is: CSV with place,weight, or a places file with weights. [that of the playbook]",
    ),
    adversary: str | None = Option(
        None, metavar="NAME", help="Also let this observer guess: counting, bayesian or goal-recognition."
    ),
    domain: instances.DomainOption = None,
    movement: instances.MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Say how much a playbook tells an observer who knows how probable each place is.

    By route, and all together: the largest posterior of a place, and of the places closer than ell to one, and how
    often the best guess is right; both also after every node of the way. Who gets no route is given away by that where
    a trip is expected: this is said too.
    """
    book = instances.load_playbook(playbook, domain, movement)
    weights = None
    if prior is not None:
        ends = {end for trip in book.trips for end in (trip.start, trip.goal)}
        weights = read_prior(prior, book.problem.domain, book.candidates, book.names, ends=ends)
    with live_progress("watching every trip"):
        report = measure_risk(book, weights)
        guesses = None if adversary is None else watch_playbook(book, adversary, weights)
    if json:
        emit_json(report.to_dict() | ({} if guesses is None else {"adversary": guesses.to_dict()}))
        return DONE
    emit(report.to_text() + ("" if guesses is None else guesses.to_text()))
    return DONE
