"""`veilroute fleet`: a day of tours for secret orders, which are forgotten where they are read."""

import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from getpass import GetPassWarning, getpass
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.fleet import forget_orders, open_day, plan_day, read_touched
from veilroute.app.requests import FleetRequest
from veilroute.base.errors import BrokenPromiseError, InvalidInputError
from veilroute.base.io import read_bytes
from veilroute.cli.console import DONE, VIOLATED, JsonOption, emit, emit_json, plain_run, remark, running
from veilroute.cli.options import PlaybookArgument, takes_request
from veilroute.domain.geography import cost_text, distance_text, duration_text
from veilroute.domain.graph import Domain
from veilroute.model.day import Day, Tour, clock_text
from veilroute.model.playbook import Playbook
from veilroute.streets.directions import lay_route

BROKEN = "the playbook says that it hides customers whom it does not hide; check it: veilroute audit PLAYBOOK"
FRESH = (
    "note: what is driven for show was drawn afresh; two such days with the same orders leak, so draw with --key FILE"
)
_MOST_TYPED = 2**26


@takes_request(FleetRequest)
def run_fleet(
    playbook: PlaybookArgument,
    /,
    *,
    orders: Annotated[
        str | None,
        Parameter(
            metavar="FILE|-",
            allow_leading_hyphen=True,
            help="Today's orders, which are secret: a table, or a name in each line; - for standard input.",
        ),
    ] = None,
    request: FleetRequest,
    json: JsonOption = False,
) -> int:
    """Plan tours past every member of every group that holds an order.

    Tours, files and what is printed are the same whichever members of the groups have ordered.
    """
    try:
        day = open_day(request, plain_run())
    except BrokenPromiseError:
        remark(BROKEN)
        return VIOLATED
    if orders == "-" and _is_typing():
        day.problems.raise_all()  # asked for last, when nothing else is wrong
    if (orders is None) == (request.touched is None):
        day.problems.add(InvalidInputError("--orders", "FILE or - for today's orders, or --touched in its place"))
        day.problems.raise_all()
    if orders is None:
        touched = read_touched(day)
    else:
        touched = forget_orders(day, _sent if orders == "-" else lambda: read_bytes(orders))
    with running("planning tours") as run:
        result = plan_day(day, touched, run)
    if result.is_drawn_afresh:
        remark(FRESH)
    if json:
        emit_json(result.to_dict())
        return DONE
    emit("".join(f"{line}\n" for line in (*_in_words(result.book, result.day), result.exposure.text())))
    if result.record is not None:
        emit(f"Entered: {request.ledger}, on {result.record.entries[-1].date}.\nHead: {result.record.head}\n")
    if request.out is not None:
        emit(f"Written: {request.out} ({len(result.files)} file{'' if len(result.files) == 1 else 's'})\n")
    return DONE


def _is_typing() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _sent() -> bytes:
    """What was sent or typed, without an echo on a terminal."""
    if sys.stdin is None:
        return b""
    if not _is_typing():
        sent: bytes | str = getattr(sys.stdin, "buffer", sys.stdin).read(_MOST_TYPED)
        return sent.encode() if isinstance(sent, str) else sent
    lines: list[str] = []
    with warnings.catch_warnings(), suppress(EOFError):
        # It only warns, and reads on, where it cannot turn the echo off.
        warnings.simplefilter("error", GetPassWarning)
        while line := getpass(
            "Customer (it is not shown; nothing to end): " if not lines else "Next: ", stream=sys.stderr
        ):
            lines.append(line)
    return "\n".join(lines).encode()


def _in_words(book: Playbook, day: Day) -> Iterable[str]:
    """What is told of a day: nothing that would be another if other members of its classes had ordered."""
    domain, num_stops = book.problem.domain, sum(len(tour.stops) for tour in day.tours)
    classes = f"{len(day.touched)} class{'' if len(day.touched) == 1 else 'es'}"
    yield f"{classes} with {num_stops} customers, by {day.num_used} of {len(day.tours)} vehicles."
    for number, tour in enumerate(day.tours, start=1):
        yield f"  Vehicle {number}: {_tour_text(domain, tour) if tour.stops else 'stays where it is'}"
    best = " (no tours are cheaper)" if day.status == "optimal" else ""
    yield f"All together {_cost_text(domain, day.cost)}{best}."
    if day.direct_cost > 0:
        more = 100 * (day.cost / day.direct_cost - 1)
        one = f"visiting one customer of each class, {_cost_text(domain, day.direct_cost)} on average"
        yield f"That is {max(0.0, more):.0f}% more than {one}."


def _cost_text(domain: Domain, cost: float) -> str:
    if domain.streets is None:
        return f"cost {cost_text(domain, cost)}"
    return f"{cost_text(domain, cost)}{' of driving' if domain.streets.unit == 'seconds' else ''}"


def _tour_text(domain: Domain, tour: Tour) -> str:
    parts = [f"{len(tour.stops)} stop{'' if len(tour.stops) == 1 else 's'}"]
    if domain.on_earth is None:
        parts.append(_cost_text(domain, tour.cost))
    else:
        parts.append(distance_text(lay_route(domain, tour.route).metres))
    if tour.seconds is not None and tour.departs_s is not None:
        hours = f"{clock_text(tour.departs_s)} to {clock_text(tour.departs_s + tour.seconds)}"
        parts.append(f"{duration_text(tour.seconds)}, {hours}")
    return ", ".join(parts)
