"""A day of a fleet as plain data: its public terms, which classes are visited, and who drives where.

Everything here may be known to everybody. What customers ordered has no place in it, and nothing in it depends on that
beyond the set of classes that are touched (docs/theory, :ref:`Fleets <theory-fleets>`). The dispatcher makes it, files
hold it, the auditor checks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veilroute.base.checks import check_count, check_finite, check_list, check_name, check_whole, is_number
from veilroute.base.errors import FileFormatError, InvalidInputError
from veilroute.base.io import dump_canonical, parse_json, read_bytes
from veilroute.domain.graph import Label, plain_label
from veilroute.model.day_state import Underway, underway_from_dict

FORMAT = "veilroute-day/1"
DAY_S = 86_400
SERVICE_S = 60.0  #: how long a stop takes when nobody says
DEPART_S = 8 * 3600.0  #: when vehicles leave at the earliest, when nobody says
ITERATIONS = 3000
STATUSES = ("optimal", "feasible")
_MOST = 2**31 - 1
_WEEK_S = 7 * DAY_S


@dataclass(frozen=True)
class Van:
    """Where a vehicle begins its day, and where it ends it."""

    start: Label
    goal: Label | None  #: ``None`` where the day ends at the last stop, wherever that is


@dataclass(frozen=True)
class Customer:
    """What everybody knows about a customer, whether it has ordered or not."""

    demand: int | None = None  #: how large an order of it may be; as for all others when left out
    service_s: float | None = None  #: how long a stop there takes; as for all others when left out
    opens_s: float | None = None  #: from when on a stop may begin there, in seconds after midnight
    closes_s: float | None = None  #: until when
    rate: float | None = None  #: how probable it is that it orders on a day; as for all others when left out

    def __post_init__(self) -> None:
        if self.demand is not None:
            check_whole("demand", self.demand, "a whole number from 0 on", least=0, most=_MOST)
        for name in ("service_s", "opens_s", "closes_s"):
            if getattr(self, name) is not None:
                _check_time(name, getattr(self, name))
        if self.rate is not None:
            check_rate(self.rate)
        if self.opens_s is not None and self.closes_s is not None and self.opens_s > self.closes_s:
            got = f"{clock_text(self.opens_s)} to {clock_text(self.closes_s)}"
            raise InvalidInputError("window", "a window that opens before it closes", got)


@dataclass(frozen=True)
class Stay:
    """What a stop is like: the same at all members of a class, but for their windows."""

    demand: int
    service_s: float
    opens_s: float
    closes_s: float  #: infinite where there is no end


@dataclass(frozen=True)
class Terms:
    """What is public about a day before anybody orders. Tours depend on it and on the touched classes alone."""

    vans: tuple[Van, ...]
    capacity: int | None = None  #: of every vehicle, in the unit of demands
    demand: int = 1  #: how large an order may be, of who has no number of its own
    service_s: float = SERVICE_S  #: how long a stop takes, at who has no number of its own
    shift_s: float | None = None  #: how long a vehicle may be on its way, stops included
    depart_s: float = DEPART_S  #: when vehicles leave at the earliest, in seconds after midnight
    seconds_per_cost: float | None = None  #: how long a unit of cost takes; ``None`` where nobody knows
    customers: Mapping[Label, Customer] = field(default_factory=dict)  #: those who have terms of their own
    iterations: int = ITERATIONS  #: how long tours are improved, in each of two searches
    seed: int = 0
    pad_to: int | None = None  #: how many classes are driven every day, some for show; ``None`` for those touched
    always: tuple[int, ...] = ()  #: classes that are driven every day, by number from 1, ascending
    rate: float | None = None  #: how probable it is that somebody orders on a day, of who has no number of its own

    def __post_init__(self) -> None:
        if not self.vans:
            raise InvalidInputError("vehicles", "at least one vehicle", 0)
        if self.capacity is not None:
            check_whole("capacity", self.capacity, "a whole number from 1 on", least=1, most=_MOST)
        check_whole("demand", self.demand, "a whole number from 0 on", least=0, most=_MOST)
        _check_time("service", self.service_s)
        _check_time("depart", self.depart_s)
        if self.shift_s is not None and not is_number(self.shift_s, 1, _WEEK_S):
            raise InvalidInputError("shift", "a time from a second to a week", self.shift_s)
        if self.seconds_per_cost is not None:
            _check_time("seconds_per_cost", self.seconds_per_cost)
        elif self.needs_times:
            expected = "a network whose costs are seconds, or a speed: without one nobody knows when a vehicle is where"
            raise InvalidInputError("windows and shifts", expected)
        check_whole("iterations", self.iterations, "a whole number from 1 on", least=1, most=_MOST)
        check_whole("seed", self.seed, "a whole number from 0 on", least=0, most=_MOST)
        if self.pad_to is not None:
            check_whole("pad_to", self.pad_to, "a number of classes from 1 on", least=1, most=_MOST)
        for number in self.always:
            check_whole("always", number, "class numbers from 1 on", least=1, most=_MOST)
        if self.rate is not None:
            check_rate(self.rate)

    @property
    def needs_times(self) -> bool:
        """Whether it depends on the clock who can be visited."""
        windows = ((each.opens_s, each.closes_s) for each in self.customers.values())
        return self.shift_s is not None or any(one is not None or other is not None for one, other in windows)

    def stays(self, members: Sequence[Label]) -> dict[Label, Stay]:
        """What stops at the members of one class are like: as for whoever of them may order most or takes longest."""
        own = [self.customers.get(member, Customer()) for member in members]
        demand = max(self.demand if each.demand is None else each.demand for each in own)
        service = max(self.service_s if each.service_s is None else each.service_s for each in own)
        return {
            member: Stay(
                demand,
                service,
                0.0 if each.opens_s is None else each.opens_s,
                float("inf") if each.closes_s is None else each.closes_s,
            )
            for member, each in zip(members, own, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """The terms as JSON has them."""
        return {
            "vans": [{"start": each.start, "goal": each.goal} for each in self.vans],
            "capacity": self.capacity,
            "demand": self.demand,
            "service_s": self.service_s,
            "shift_s": self.shift_s,
            "depart_s": self.depart_s,
            "seconds_per_cost": self.seconds_per_cost,
            "customers": [{"customer": label, **vars(each)} for label, each in self.customers.items()],
            "iterations": self.iterations,
            "seed": self.seed,
            "pad_to": self.pad_to,
            "always": list(self.always),
            "rate": self.rate,
        }


@dataclass(frozen=True)
class Tour:
    """What one vehicle drives. An idle one has no stops and no route, one on its way home a route only."""

    stops: tuple[Label, ...]  #: the customers in the order of the visits; several may be at one node
    positions: tuple[int, ...]  #: per stop where on the route it is, from 0
    route: tuple[Label, ...]
    cost: float
    begins_s: tuple[float, ...] = ()  #: per stop when it begins, in seconds after midnight; empty where nobody knows
    departs_s: float | None = None
    seconds: float | None = None  #: from leaving to the end of the day, stops and waiting included

    def to_dict(self) -> dict[str, Any]:
        """The tour as JSON has it."""
        data: dict[str, Any] = {
            "stops": list(self.stops), "positions": list(self.positions), "route": list(self.route), "cost": self.cost
        }  # fmt: skip
        if self.seconds is not None:
            data |= {"begins_s": list(self.begins_s), "departs_s": self.departs_s, "seconds": self.seconds}
        return data


@dataclass(frozen=True)
class Day:
    """Tours past every member of every class that is touched."""

    playbook: str  #: its hash
    terms: Terms
    touched: tuple[int, ...]  #: the classes by number, from 1, ascending; those among them that are driven for show
    tours: tuple[Tour, ...]  #: one for each vehicle
    cost: float
    direct_cost: float  #: what tours cost on average that visit one customer of each touched class, whichever
    status: str = "feasible"  #: ``optimal`` where no tours are cheaper
    after: Underway | None = None  #: where the vehicles are on their way already, from where they go on, and why

    @property
    def num_used(self) -> int:
        """How many vehicles have something to do."""
        return sum(bool(tour.stops) for tour in self.tours)

    def to_dict(self) -> dict[str, Any]:
        """The day as JSON has it."""
        data = {
            "format": FORMAT,
            "playbook_sha256": self.playbook,
            "terms": self.terms.to_dict(),
            "touched": list(self.touched),
            "vehicles": [tour.to_dict() for tour in self.tours],
            "cost": self.cost,
            "direct_cost": self.direct_cost,
            "status": self.status,
        }
        return data if self.after is None else data | {"after": self.after.to_dict()}

    def to_json(self) -> bytes:
        """The day as a file has it."""
        return dump_canonical(self.to_dict())


def read_day(path: str | Path) -> Day:
    """Read a day from the file that `veilroute fleet` writes."""
    data = parse_json(read_bytes(path), path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(path, f"not a day of a fleet; expected a JSON object with format {FORMAT}")
    try:
        day = _day_from_dict(data)
        if dump_canonical(data) != day.to_json():
            # Whatever a reader does not look at could be a mark that somebody left.
            raise InvalidInputError("day", "nothing but what a day holds", " > ".join(_stray(data, day.to_dict())))
        return day
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileFormatError(path, f"damaged day ({error}); make it again") from None


def read_terms(path: str | Path) -> Terms:
    """Read the terms of a day, from its file or from one that has nothing but them."""
    data = parse_json(read_bytes(path), path)
    if isinstance(data, dict) and data.get("format") == FORMAT:
        return read_day(path).terms
    try:
        return terms_from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileFormatError(path, f"neither a day of a fleet nor its terms ({error})") from None


def _stray(data: Any, known: Any) -> list[str]:
    """The way to the first thing in data that was not read as it stands there."""
    if isinstance(data, dict) and isinstance(known, dict):
        if unknown := [key for key in data if key not in known]:
            return unknown[:1]
        pairs = [(key, value, known[key]) for key, value in data.items()]
    elif isinstance(data, list) and len(data) == len(known):
        pairs = [(str(at), *both) for at, both in enumerate(zip(data, known, strict=True))]
    else:
        return []
    return next(
        ([key, *_stray(one, other)] for key, one, other in pairs if dump_canonical(one) != dump_canonical(other)), []
    )


def _day_from_dict(data: Mapping[str, Any]) -> Day:
    terms = terms_from_dict(data["terms"])
    tours = tuple(_tour_from_dict(entry) for entry in check_list("vehicles", data["vehicles"]))
    touched = tuple(check_whole("touched", number, "class numbers", least=1) for number in data["touched"])
    if len(tours) != len(terms.vans):
        raise InvalidInputError("vehicles", f"{len(terms.vans)} tours", len(tours))
    if sorted(set(touched)) != list(touched):
        raise InvalidInputError("touched", "ascending class numbers")
    if not isinstance(data["playbook_sha256"], str):
        raise InvalidInputError("playbook_sha256", "a hash")
    after = underway_from_dict(data["after"]) if "after" in data else None
    if after is not None and len(after.stands) != len(terms.vans):
        raise InvalidInputError("after.vehicles", f"{len(terms.vans)} vehicles", len(after.stands))
    return Day(
        data["playbook_sha256"],
        terms,
        touched,
        tours,
        check_finite("cost", data["cost"], least=0),
        check_finite("direct_cost", data["direct_cost"], least=0),
        check_name("status", data["status"], STATUSES),
        after,
    )


def terms_from_dict(data: Mapping[str, Any]) -> Terms:
    """The terms of a day from JSON."""
    given = dict(data)
    vans = tuple(
        Van(plain_label(each["start"]), None if each["goal"] is None else plain_label(each["goal"]))
        for each in check_list("vans", given.pop("vans"))
    )
    customers: dict[Label, Customer] = {}
    for entry in check_list("customers", given.pop("customers")):
        own = dict(entry)
        label = plain_label(own.pop("customer"))
        customers[label] = Customer(**own)
    always = tuple(check_list("always", given.pop("always")))
    return Terms(vans, customers=customers, always=always, **given)


def _tour_from_dict(data: Mapping[str, Any]) -> Tour:
    stops, route = (tuple(plain_label(node) for node in check_list(key, data[key])) for key in ("stops", "route"))
    positions = tuple(check_count("positions", place) for place in check_list("positions", data["positions"]))
    begins = tuple(check_finite("begins_s", each, least=0) for each in check_list("begins_s", data.get("begins_s", [])))
    has_times = "seconds" in data
    if len(positions) != len(stops) or len(begins) != (len(stops) if has_times else 0):
        raise InvalidInputError("positions", "as many as stops")
    if list(positions) != sorted(positions) or (positions and positions[-1] >= len(route)):
        raise InvalidInputError("positions", "ascending places on the route")
    seconds, departs = (
        check_finite(key, data[key], least=0) if has_times else None for key in ("seconds", "departs_s")
    )
    return Tour(stops, positions, route, check_finite("cost", data["cost"], least=0), begins, departs, seconds)


def _check_time(name: str, seconds: float) -> None:
    # Solvers count time in whole numbers, which have an end.
    if not is_number(seconds, 0, _WEEK_S):
        raise InvalidInputError(name, "a number of seconds from 0 to a week", seconds)


def check_rate(rate: float) -> None:
    """How probable it is that somebody orders on a day."""
    if not is_number(rate, 0, 1):
        raise InvalidInputError("rate", "a number from 0 to 1, how probable an order is on a day", rate)


def seconds_of_clock(text: str) -> int | None:
    """Seconds after midnight of a time of day, ``HH:MM`` up to ``24:00``; ``None`` where it is none."""
    found = re.fullmatch(r"([01]?\d|2[0-4]):([0-5]\d)", text.strip(), re.ASCII)
    seconds = None if found is None else 3600 * int(found[1]) + 60 * int(found[2])
    return None if seconds is None or seconds > DAY_S else seconds


def clock_text(seconds: float) -> str:
    """The time of day so many seconds after midnight, ``HH:MM``, to the minute that has begun."""
    days, rest = divmod(int(seconds // 60), DAY_S // 60)
    text = f"{rest // 60:02}:{rest % 60:02}"
    return text if not days else f"{text} (+{days} day{'' if days == 1 else 's'})"
