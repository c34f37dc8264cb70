"""`veilroute fleet`: a day of tours for secret orders.

Orders are read in one place (:func:`_forget_orders`), where they become the set of classes that they touch. All that is
printed, written or raised after it is a function of that set and of what is public. Before it, all that is wrong is
collected, of orders by line numbers alone (:mod:`veilroute.formats.orders`), and said at once.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from getpass import GetPassWarning, getpass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from veilroute.app.load import load_playbook
from veilroute.app.places import find_node, find_secret, read_public_terms
from veilroute.auditing.day import is_hidden_by_stops
from veilroute.auditing.replay import is_hidden
from veilroute.base.checks import is_number
from veilroute.base.errors import (
    FileFormatError,
    InvalidInputError,
    Problems,
    UnknownCandidateError,
    VeilrouteError,
    listing,
)
from veilroute.base.io import read_bytes
from veilroute.base.keys import read_key
from veilroute.cli.console import DONE, VIOLATED, JsonOption, emit, emit_json, live_progress, plain_run, remark
from veilroute.cli.day_files import check_folder, write_day
from veilroute.cli.options import DomainOption, MovementOption, PlaybookArgument
from veilroute.domain.geography import cost_text, distance_text, duration_text
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.fleet import dispatch
from veilroute.fleet.exposure import exposure
from veilroute.fleet.padding import pad
from veilroute.formats.orders import order_problem, read_orders
from veilroute.ledger.ledger import read_ledger
from veilroute.model.day import Day, Terms, Tour, Van, clock_text, read_terms, seconds_of_clock
from veilroute.model.playbook import Playbook
from veilroute.streets.directions import lay_route

BROKEN = "the playbook says that it hides customers whom it does not hide; check it: veilroute audit PLAYBOOK"
FRESH = (
    "note: what is driven for show was drawn afresh; two such days with the same orders leak, so draw with --key FILE"
)
_MOST_VEHICLES = 10_000
_MOST_TYPED = 2**26
_T = TypeVar("_T")


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
    touched_classes: Annotated[
        str | None,
        Parameter(
            name="--touched",
            metavar="'1,5'",
            help="In place of --orders: the numbers of the classes that hold one, which tours show anyway.",
        ),
    ] = None,
    vehicles: Annotated[int | None, Parameter(metavar="N", help="How many vehicles there are.")] = None,
    capacity: Annotated[int | None, Parameter(metavar="C", help="How much each of them takes. [anything]")] = None,
    customers: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            help="What is public about customers: a table of place, demand, service, opens, closes, rate.",
        ),
    ] = None,
    demand: Annotated[int | None, Parameter(metavar="D", help="How large an order may be. [1]")] = None,
    service: Annotated[float | None, Parameter(metavar="MINUTES", help="How long a stop takes. [1]")] = None,
    shift: Annotated[
        str | None,
        Parameter(metavar="HH:MM|MINUTES", help="How long a vehicle may be on its way, stops included. [any time]"),
    ] = None,
    depart: Annotated[
        str | None, Parameter(metavar="HH:MM", help="When vehicles leave at the earliest. [08:00]")
    ] = None,
    speed: Annotated[
        float | None,
        Parameter(metavar="KM/H", help="How fast they are, for times; costs that are no seconds are taken for metres."),
    ] = None,
    depots: Annotated[
        str | None,
        Parameter(metavar="'A; B'|'A=2; B=1'", help="Where vehicles begin and end. [start and goal of the first trip]"),
    ] = None,
    open: Annotated[bool, Parameter(name="--open", help="Days end at the last stop, wherever that is.")] = False,
    iterations: Annotated[int | None, Parameter(metavar="N", help="How long tours are improved. [3000]")] = None,
    seed: Annotated[int | None, Parameter(metavar="N", help="Another one gives other tours. [0]")] = None,
    pad_to: Annotated[
        int | None,
        Parameter(
            name=(
                "--pad-to",
                "--classes",
            ),
            metavar="N",
            help="Drive so many classes every day, some of them for show.",
        ),
    ] = None,
    always: Annotated[
        str | None,
        Parameter(metavar="'1,5'", help="Classes to drive every day: by number, or by the name of a member."),
    ] = None,
    key: Annotated[
        Path | None, Parameter(metavar="FILE", help="Draw those for show by this key (see key new).")
    ] = None,
    occasion: Annotated[str, Parameter(metavar="TEXT", help="What the draw by key is for; not secret.")] = "",
    rate: Annotated[
        float | None, Parameter(metavar="R", help="How probable it is that a customer orders on a day, 0 to 1.")
    ] = None,
    ledger: Annotated[Path | None, Parameter(metavar="FILE", help="Enter the day in this ledger.")] = None,
    date: Annotated[
        str | None, Parameter(name="--date", metavar="DATE", help="The day, for the ledger. [today]")
    ] = None,
    terms: Annotated[
        Path | None,
        Parameter(
            metavar="FILE", help="The day.json of an earlier day, or its terms: all that options here do not say."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="DIR",
            help="Write the files of the day into this folder.",
        ),
    ] = None,
    domain: DomainOption = None,
    movement: MovementOption = 4,
    json: JsonOption = False,
) -> int:
    """Plan tours past every member of every class that holds an order.

    Tours, files and what is printed are the same whichever members of the classes have ordered.
    """
    from veilroute.fleet.tours import check_day, touched_groups  # here, because they load kernels

    book = _load(playbook, domain, movement)
    touched_groups(book, ())
    if not (is_hidden(book, book.hidden_classes) and is_hidden_by_stops(book)):
        remark(BROKEN)
        return VIOLATED
    problems = Problems()
    values = {
        "seconds_per_cost": _attempt(problems, lambda: _seconds_per_cost(book.problem.domain, speed)),
        "capacity": capacity,
        "demand": demand,
        "service_s": None if service is None else 60 * service,
        "depart_s": None if depart is None else _attempt(problems, lambda: _clock("--depart", depart)),
        "customers": None if customers is None else _attempt(problems, lambda: read_public_terms(book, customers)),
        "shift_s": None if shift is None else _attempt(problems, lambda: _shift(shift)),
        "iterations": iterations,
        "seed": seed,
        "pad_to": pad_to,
        "always": None if always is None else _always(book, always, problems),
        "rate": rate,
    }
    earlier = None if terms is None else _attempt(problems, lambda: _earlier(book, terms))
    public = _terms(book, earlier, values, problems)
    public = replace(public, vans=_vans(book, public, vehicles, depots, problems, is_open=open, has_terms=bool(terms)))
    private = None if key is None else _attempt(problems, lambda: read_key(key))
    if out is not None:
        _attempt(problems, lambda: check_folder(out))
    if occasion and key is None:
        problems.add(InvalidInputError("--occasion", "--key FILE beside it: without a key each draw is a fresh one"))
    if key is not None and public.pad_to is None:
        problems.add(InvalidInputError("--key", "--pad-to N beside it: nothing else is drawn"))
    if date is not None and ledger is None:
        problems.add(InvalidInputError("--date", "--ledger FILE as well"))
    record = None if ledger is None else _attempt(problems, lambda: read_ledger(ledger))
    if orders == "-" and _is_typing():
        problems.raise_all()  # asked for last, when nothing else is wrong
    if (orders is None) == (touched_classes is None):
        problems.add(InvalidInputError("--orders", "FILE or - for today's orders, or --touched in its place"))
        problems.raise_all()
    if orders is not None:
        touched = _forget_orders(orders, book, public, problems)
    else:
        touched = _read_touched(touched_classes or "", len(book.hidden_classes), problems)
    if not touched and not problems and public.pad_to is None and not public.always:
        problems.add(order_problem("none"))
    driven = _attempt(problems, lambda: pad(book, touched, public, key=private, occasion=occasion))
    if problems:
        if driven is not None:  # of what is touched alone nothing is said: it would show what is driven for show
            with problems.collecting():
                check_day(book, driven, public)
        problems.raise_all()
    with live_progress("planning tours") as report:
        day = dispatch(book, driven or (), public, progress=report)
    seen = exposure(book, day)
    if record is not None:
        record = record.add_day(book, day, day=date)
    written = [] if out is None else write_day(book, day, out)
    if public.pad_to is not None and private is None:
        remark(FRESH)
    if json:
        emit_json({**day.to_dict(), "exposure": seen.to_dict()})
        return DONE
    emit("".join(f"{line}\n" for line in (*_in_words(book, day), seen.text())))
    if record is not None:
        emit(f"Entered: {ledger}, on {record.entries[-1].date}.\nHead: {record.head}\n")
    if out is not None:
        emit(f"Written: {out} ({len(written)} file{'' if len(written) == 1 else 's'})\n")
    return DONE


def _load(playbook: Path, domain: Path | None, movement: int) -> Playbook:
    """The playbook. Nothing is said of what is in the files: either may be the orders, in the wrong place."""
    try:
        return load_playbook(playbook, domain, movement)
    except VeilrouteError:
        pass
    expected = "a file made by veilroute plan, with the --domain that it was made for unless it holds that; "
    raise InvalidInputError("PLAYBOOK", f"{expected}check the paths, and the playbook with veilroute audit")


def _forget_orders(orders: str, book: Playbook, terms: Terms, problems: Problems) -> frozenset[int]:
    """Read the orders, and keep the classes that they touch alone.

    Whatever fails in here, what comes of it is one of the fixed sentences about orders, and no error that was raised
    here is in the context of another.
    """

    def find(text: str) -> Label | None:
        with suppress(UnknownCandidateError):
            return find_secret(book, text)
        return None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it is about
            return read_orders(_sent() if orders == "-" else read_bytes(orders), book, terms, find, problems)
    except FileFormatError:
        which = "file"
    except Exception:
        which = "table"
    problems.add(order_problem(which))
    return frozenset()


def _read_touched(text: str, num_classes: int, problems: Problems) -> frozenset[int]:
    """Numbers of classes as typed. What else may have been typed is not repeated: it may be an order."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    numbers = frozenset(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 8)
    if len(numbers) != len(parts) or not all(1 <= number <= num_classes for number in numbers):
        problems.add(InvalidInputError("--touched", f"different numbers of classes from 1 to {num_classes}"))
        return frozenset()
    return numbers


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


def _attempt(problems: Problems, make: Callable[[], _T]) -> _T | None:
    try:
        return make()
    except InvalidInputError as error:
        problems.add(error)
    return None


def _terms(book: Playbook, earlier: Terms | None, values: dict[str, Any], problems: Problems) -> Terms:
    """The terms as far as they can be had: what is refused is put down, and stays as it was."""
    trip = book.trips[0]
    terms = Terms((Van(trip.start, trip.goal),)) if earlier is None else earlier
    told: set[str] = set()
    for name, value in values.items():
        if value is None:
            continue
        try:
            terms = replace(terms, **{name: value})
        except InvalidInputError as error:
            if str(error) not in told:
                problems.add(error)
            told.add(str(error))
    return terms


def _earlier(book: Playbook, path: Path) -> Terms:
    terms = read_terms(path)
    strangers = [label for label in terms.customers if label not in book.candidates]
    if strangers:
        names = listing([label_text(label) for label in strangers])
        raise FileFormatError(path, f"terms of customers who are none of the playbook's: {names}")
    for van in terms.vans:
        for end in (van.start, van.goal):
            if end is not None and not book.problem.domain.has_label(end):
                raise FileFormatError(path, f"a vehicle begins or ends at {label_text(end)}, which is not on the map")
    return terms


def _seconds_per_cost(domain: Domain, speed: float | None) -> float | None:
    if domain.streets is not None and domain.streets.unit == "seconds":
        if speed is not None:
            raise InvalidInputError("--speed", "none here: the costs of this network are seconds already")
        return 1.0
    if speed is None:
        return None
    if not is_number(speed, 0.01, 1000):
        raise InvalidInputError("--speed", "kilometres per hour from 0.01 to 1000", speed)
    anchor = None if domain.grid is None else domain.grid.anchor
    return (1.0 if anchor is None else anchor.cell_m) * 3.6 / speed


def _clock(field: str, text: str) -> int:
    seconds = seconds_of_clock(text)
    if seconds is None:
        raise InvalidInputError(field, "a time of day as HH:MM", text)
    return seconds


def _shift(text: str) -> float:
    with suppress(ValueError):
        return 60 * float(text)
    seconds = seconds_of_clock(text)
    if seconds is None:
        raise InvalidInputError("--shift", "hours and minutes as HH:MM, or minutes", text)
    return seconds


def _always(book: Playbook, text: str, problems: Problems) -> tuple[int, ...]:
    """Classes by their numbers, or by the names of members."""
    groups = book.hidden_classes
    found = set()
    for item in filter(None, map(str.strip, text.split(";" if ";" in text else ","))):
        if item.isascii() and item.isdigit() and 1 <= int(item) <= len(groups):
            found.add(int(item))
            continue
        label: Label | None = None
        with suppress(UnknownCandidateError):
            label = find_secret(book, item)
        mine = [number for number, group in enumerate(groups, start=1) if label in group.members]
        if not mine:
            expected = f"numbers of classes from 1 to {len(groups)}, or names of customers who are hidden"
            problems.add(InvalidInputError("--always", expected, item))
        found.update(mine)
    return tuple(sorted(found))


def _vans(
    book: Playbook,
    terms: Terms,
    vehicles: int | None,
    depots: str | None,
    problems: Problems,
    *,
    is_open: bool,
    has_terms: bool,
) -> tuple[Van, ...]:
    """The vehicles: as many at each depot as is said, or the same number at each, the first of them with one more."""
    if vehicles is not None and not 1 <= vehicles <= _MOST_VEHICLES:
        problems.add(InvalidInputError("--vehicles", f"a number from 1 to {_MOST_VEHICLES}", vehicles))
        vehicles = 1
    vans: Sequence[Van] = terms.vans
    if depots is not None:
        vans, counted = _depots(book, depots, problems)
        if counted and vehicles not in (None, len(vans)):
            problems.add(InvalidInputError("--vehicles", f"{len(vans)}, as --depots says, or no number", vehicles))
        vehicles = len(vans) if counted else vehicles
    elif has_terms and vehicles is None:
        vehicles = len(vans)
    if vehicles is None:
        problems.add(InvalidInputError("--vehicles", "how many there are"))
    elif vehicles != len(vans):
        vans = list(dict.fromkeys(vans))
        if vehicles < len(vans):
            problems.add(InvalidInputError("--vehicles", f"at least one for each of {len(vans)} depots", vehicles))
        share, more = divmod(vehicles, len(vans))
        vans = [van for at, van in enumerate(vans) for _ in range(share + (at < more))]
    return tuple(replace(van, goal=None) if is_open else van for van in vans)


def _depots(book: Playbook, text: str, problems: Problems) -> tuple[list[Van], bool]:
    """The vehicles of depots as typed, and whether their numbers were."""
    vans: list[Van] = []
    items = [item.strip() for item in text.split(";") if item.strip()]
    counts = [re.fullmatch(r"(.*\S)\s*=\s*(\d{1,5})", item, re.ASCII | re.DOTALL) for item in items]
    is_counted = any(counts)
    if not items or (is_counted and not all(counts)):
        problems.add(InvalidInputError("--depots", "places as 'A; B', or all with their vehicles as 'A=2; B=1'", text))
        items, counts, is_counted = [], [], False
    for item, count in zip(items, counts, strict=True):
        with problems.collecting():
            label = find_node(book, count[1] if count else item, "depots", plain_run())
            vans += [Van(label, label)] * (min(int(count[2]), _MOST_VEHICLES) if count else 1)
    return vans or [Van(book.trips[0].start, book.trips[0].goal)], is_counted


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
