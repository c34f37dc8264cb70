"""Fleet: a day of tours past every member of every class that holds an order.

Orders are no part of a request. They are read in one place (:func:`forget_orders`), where they become the set of
classes that they touch. All that is computed, written or raised after it is a function of that set and of what is
public. Before it, all that is wrong is collected, of orders by line numbers alone (:mod:`veilroute.formats.orders`),
and raised at once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from veilroute.app.day_files import check_folder, write_day
from veilroute.app.load import load_playbook
from veilroute.app.places import find_node, find_secret, read_public_terms
from veilroute.app.requests import FleetRequest, FleetTerms
from veilroute.auditing.day import is_hidden_by_stops
from veilroute.auditing.replay import is_hidden
from veilroute.base.checks import is_number
from veilroute.base.errors import (
    BrokenPromiseError,
    FileFormatError,
    InvalidInputError,
    Problems,
    UnknownCandidateError,
    VeilrouteError,
    listing,
)
from veilroute.base.keys import Key, read_key
from veilroute.base.run import Progress, Run
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.fleet import Exposure, dispatch
from veilroute.fleet.exposure import exposure
from veilroute.fleet.padding import pad
from veilroute.formats.orders import order_problem, read_orders
from veilroute.ledger.ledger import Ledger, read_ledger
from veilroute.model.day import Day, Terms, Van, read_terms, seconds_of_clock
from veilroute.model.playbook import Playbook

_MOST_VEHICLES = 10_000
_T = TypeVar("_T")


@dataclass(frozen=True)
class OpenDay:
    """All that is public about a day: what is wrong with it so far is in ``problems``, and is raised with the rest."""

    request: FleetRequest
    book: Playbook
    terms: Terms
    key: Key | None
    record: Ledger | None  #: the ledger to enter it in
    problems: Problems = field(default_factory=Problems)


@dataclass(frozen=True)
class FleetResult:
    """A day of tours, and what an observer finds out from it."""

    book: Playbook
    day: Day
    exposure: Exposure
    record: Ledger | None = None  #: the ledger, with the day as its last entry
    files: tuple[Path, ...] = ()  #: those of the day, as they were written
    is_drawn_afresh: bool = False  #: whether what is visited for show was drawn without a key

    def to_dict(self) -> dict[str, Any]:
        """The object that `fleet --json` prints."""
        return {**self.day.to_dict(), "exposure": self.exposure.to_dict()}


def fleet(request: FleetRequest, run: Run | None = None) -> FleetResult:
    """Plan tours past every member of the classes that are named by their numbers."""
    run = Run() if run is None else run
    opened = open_day(request, run)
    return plan_day(opened, read_touched(opened), run)


def open_day(request: FleetRequest, run: Run) -> OpenDay:
    """Read all that is public about a day."""
    from veilroute.fleet.tours import touched_groups  # here, because it loads kernels

    book = _load(request)
    touched_groups(book, ())
    if not (is_hidden(book, book.hidden_classes) and is_hidden_by_stops(book)):
        raise BrokenPromiseError
    problems, out = Problems(), request.out
    terms = _read_terms(book, request.public, problems, run)
    key = None if request.key is None else _attempt(problems, read_key, request.key)
    if out is not None:
        _attempt(problems, check_folder, out)
    if request.occasion and request.key is None:
        problems.add(InvalidInputError("occasion", "`key` FILE beside it: without a key each draw is a fresh one"))
    if request.key is not None and terms.pad_to is None:
        problems.add(InvalidInputError("key", "`pad_to` N beside it: nothing else is drawn"))
    if request.date is not None and request.ledger is None:
        problems.add(InvalidInputError("date", "`ledger` FILE as well"))
    record = None if request.ledger is None else _attempt(problems, read_ledger, request.ledger)
    return OpenDay(request, book, terms, key, record, problems)


def forget_orders(day: OpenDay, read: Callable[[], bytes]) -> frozenset[int]:
    """Read the orders of a day, and keep the numbers of the classes that they touch alone.

    Whatever fails in here or in ``read``, what comes of it is one of the fixed sentences about orders, and no error
    that was raised here is in the context of another.
    """

    def find(text: str) -> Label | None:
        with suppress(UnknownCandidateError):
            return find_secret(day.book, text)
        return None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it is about
            return read_orders(read(), day.book, day.terms, find, day.problems)
    except FileFormatError:
        which = "file"
    except Exception:
        which = "table"
    day.problems.add(order_problem(which))
    return frozenset()


def read_touched(day: OpenDay) -> frozenset[int]:
    """Numbers of classes as typed. What else may have been typed is not repeated: it may be an order."""
    if day.request.touched is None:
        day.problems.add(InvalidInputError("touched", "the numbers of the classes that hold an order"))
        return frozenset()
    num_classes = len(day.book.hidden_classes)
    parts = [part.strip() for part in day.request.touched.split(",") if part.strip()]
    numbers = frozenset(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 8)
    if len(numbers) != len(parts) or not all(1 <= number <= num_classes for number in numbers):
        day.problems.add(InvalidInputError("touched", f"different numbers of classes from 1 to {num_classes}"))
        return frozenset()
    return numbers


def plan_day(day: OpenDay, touched: frozenset[int], run: Run) -> FleetResult:
    """Plan the tours past the touched classes; enter and write them where that is asked for.

    It is never stopped early: tours would then depend on how long they took, and nobody could plan them again.
    """
    from veilroute.fleet.tours import check_day  # here, because it loads kernels

    request, book, terms, problems = day.request, day.book, day.terms, day.problems
    if not touched and not problems and terms.pad_to is None and not terms.always:
        problems.add(order_problem("none"))
    driven = _attempt(problems, lambda: pad(book, touched, terms, key=day.key, occasion=request.occasion))
    if problems:
        if driven is not None:  # messages about the touched classes alone would show which ones are decoys
            with problems.collecting():
                check_day(book, driven, terms)
        problems.raise_all()
    run.progress(Progress("planning tours"))
    made = dispatch(book, driven or (), terms, progress=run.progress)
    seen = exposure(book, made)
    record = None if day.record is None else day.record.add_day(book, made, day=request.date)
    files = () if request.out is None else tuple(write_day(book, made, request.out))
    return FleetResult(book, made, seen, record, files, terms.pad_to is not None and day.key is None)


def _load(request: FleetRequest) -> Playbook:
    """The playbook. Errors repeat nothing from the files: either may be the orders, in the wrong place."""
    with suppress(VeilrouteError):
        return load_playbook(request.playbook, request.domain, request.movement)
    expected = "a file made by veilroute plan, with the `domain` that it was made for unless it holds that; "
    raise InvalidInputError("playbook", f"{expected}check the paths, and the playbook with veilroute audit")


def _attempt(problems: Problems, make: Callable[..., _T], *given: Any) -> _T | None:
    try:
        return make(*given)
    except InvalidInputError as error:
        problems.add(error)
    return None


def _read_terms(book: Playbook, wanted: FleetTerms, problems: Problems, run: Run) -> Terms:
    """The terms as far as they can be had: what is refused is put down, and stays as it was."""
    table = wanted.customers
    values: dict[str, Any] = {
        "seconds_per_cost": _attempt(problems, _seconds_per_cost, book.problem.domain, wanted.speed),
        "capacity": wanted.capacity,
        "demand": wanted.demand,
        "service_s": None if wanted.service is None else 60 * wanted.service,
        "depart_s": None if wanted.depart is None else _attempt(problems, _clock, wanted.depart),
        "customers": None if table is None else _attempt(problems, read_public_terms, book, table),
        "shift_s": None if wanted.shift is None else _attempt(problems, _shift, wanted.shift),
        "iterations": wanted.iterations,
        "seed": wanted.seed,
        "pad_to": wanted.pad_to,
        "always": None if wanted.always is None else _always(book, wanted.always, problems),
        "rate": wanted.rate,
    }
    trip, earlier = book.trips[0], None if wanted.terms is None else _attempt(problems, _earlier, book, wanted.terms)
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
    return replace(terms, vans=_vans(book, terms, wanted, problems, run))


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
            raise InvalidInputError("speed", "none here: the costs of this network are seconds already")
        return 1.0
    if speed is None:
        return None
    if not is_number(speed, 0.01, 1000):
        raise InvalidInputError("speed", "kilometres per hour from 0.01 to 1000", speed)
    anchor = None if domain.grid is None else domain.grid.anchor
    return (1.0 if anchor is None else anchor.cell_m) * 3.6 / speed


def _clock(text: str) -> int:
    seconds = seconds_of_clock(text)
    if seconds is None:
        raise InvalidInputError("depart", "a time of day as HH:MM", text)
    return seconds


def _shift(text: str) -> float:
    with suppress(ValueError):
        return 60 * float(text)
    seconds = seconds_of_clock(text)
    if seconds is None:
        raise InvalidInputError("shift", "hours and minutes as HH:MM, or minutes", text)
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
            problems.add(InvalidInputError("always", expected, item))
        found.update(mine)
    return tuple(sorted(found))


def _vans(book: Playbook, terms: Terms, wanted: FleetTerms, problems: Problems, run: Run) -> tuple[Van, ...]:
    """The vehicles: as many at each depot as was asked for, or equally many, with one more at the first depots."""
    vehicles = wanted.vehicles
    if vehicles is not None and not 1 <= vehicles <= _MOST_VEHICLES:
        problems.add(InvalidInputError("vehicles", f"a number from 1 to {_MOST_VEHICLES}", vehicles))
        vehicles = 1
    vans: Sequence[Van] = terms.vans
    if wanted.depots is not None:
        vans, counted = _depots(book, wanted.depots, problems, run)
        if counted and vehicles not in (None, len(vans)):
            problems.add(InvalidInputError("vehicles", f"{len(vans)}, as `depots` says, or no number", vehicles))
        vehicles = len(vans) if counted else vehicles
    elif wanted.terms is not None and vehicles is None:
        vehicles = len(vans)
    if vehicles is None:
        problems.add(InvalidInputError("vehicles", "how many there are"))
    elif vehicles != len(vans):
        vans = list(dict.fromkeys(vans))
        if vehicles < len(vans):
            problems.add(InvalidInputError("vehicles", f"at least one for each of {len(vans)} depots", vehicles))
        share, more = divmod(vehicles, len(vans))
        vans = [van for at, van in enumerate(vans) for _ in range(share + (at < more))]
    return tuple(replace(van, goal=None) if wanted.is_open else van for van in vans)


def _depots(book: Playbook, text: str, problems: Problems, run: Run) -> tuple[list[Van], bool]:
    """The vehicles of depots as typed, and whether their numbers were."""
    vans: list[Van] = []
    items = [item.strip() for item in text.split(";") if item.strip()]
    counts = [re.fullmatch(r"(.*\S)\s*=\s*(\d{1,5})", item, re.ASCII | re.DOTALL) for item in items]
    is_counted = any(counts)
    if not items or (is_counted and not all(counts)):
        problems.add(InvalidInputError("depots", "places as 'A; B', or all with their vehicles as 'A=2; B=1'", text))
        items, counts, is_counted = [], [], False
    for item, count in zip(items, counts, strict=True):
        with problems.collecting():
            label = find_node(book, count[1] if count else item, "depots", run)
            vans += [Van(label, label)] * (min(int(count[2]), _MOST_VEHICLES) if count else 1)
    return vans or [Van(book.trips[0].start, book.trips[0].goal)], is_counted
