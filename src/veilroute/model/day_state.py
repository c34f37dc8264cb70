"""A day that goes on otherwise than planned: where every vehicle is, what has changed, and who is not visited any more.

All of it is public: what was driven so far was there to be seen, and a breakdown or a closed road has nothing to do
with orders (docs/theory, :ref:`Closed roads <theory-closures>`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veilroute.base.checks import check_finite, check_list, check_name, check_whole
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label, plain_label
from veilroute.model.closure import CHOICES, Closure, closure_from_dict

FIT, BROKEN, STUCK = "fit", "broken", "stuck"
STATES = (FIT, BROKEN, STUCK)
"""A vehicle goes on, has broken down, or has no open road to the end of its day."""


@dataclass(frozen=True)
class Stand:
    """Where a vehicle is, and what it has done since the morning."""

    walked: tuple[Label, ...]  #: from where its day began to where it is, or to the node that it comes to next
    done: tuple[Label, ...]  #: the stops that were begun, in order
    departed_s: float | None = None  #: when it left in the morning; ``None`` where it has not, or nobody knows
    ready_s: float | None = None  #: from when on it can leave the last node of ``walked``; ``None`` where nobody knows
    state: str = FIT  #: one of :data:`STATES`

    @property
    def at(self) -> Label:
        """The node from which it goes on."""
        return self.walked[-1]

    @property
    def is_away(self) -> bool:
        """Whether it has left where its day began."""
        return len(self.walked) > 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data: dict[str, Any] = {"walked": list(self.walked), "done": list(self.done), "state": self.state}
        times = {"departed_s": self.departed_s, "ready_s": self.ready_s}
        return data | {name: value for name, value in times.items() if value is not None}


@dataclass(frozen=True)
class Shortage:
    """A class that falls short of the playbook's promise, because some of its members cannot be visited any more."""

    number: int  #: of the class
    going_on: tuple[Label, ...]  #: with whom an observer is left where all others are visited
    giving_up: tuple[Label, ...]  #: with whom, where nobody else of the class is: those visited so far
    choice: str  #: one of :data:`~veilroute.model.closure.CHOICES`

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "class": self.number,
            "going_on": list(self.going_on),
            "giving_up": list(self.giving_up),
            "choice": self.choice,
        }


@dataclass(frozen=True)
class Underway:
    """What a day goes on from, when something happened on the way."""

    earlier: str  #: the hash of the file of the day as it was planned before
    closure: Closure  #: all that is not as on the playbook's map, what was closed before included
    stands: tuple[Stand, ...]  #: one for each vehicle
    dropped: tuple[Label, ...] = ()  #: members of touched classes that nobody visits any more
    short: tuple[Shortage, ...] = ()  #: classes that keep their promise no more, ascending
    late: bool = False  #: whether vehicles may come after a customer has closed, or after the end of their shift
    keep: bool = False  #: whether vehicles keep the customers that they had, because they have the goods on board

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "day_sha256": self.earlier,
            "changes": self.closure.to_dict(),
            "vehicles": [stand.to_dict() for stand in self.stands],
            "dropped": list(self.dropped),
            "short": [each.to_dict() for each in self.short],
            "late": self.late,
            "keep": self.keep,
        }


def underway_from_dict(data: Mapping[str, Any]) -> Underway:
    """What :meth:`Underway.to_dict` wrote; refused where it holds anything else."""
    _check_keys("after", data, {"day_sha256", "changes", "vehicles", "dropped", "short", "late", "keep"})
    if not isinstance(data["day_sha256"], str) or not all(isinstance(data[name], bool) for name in ("late", "keep")):
        raise InvalidInputError("after", "a hash, and late and keep as true or false")
    _check_keys("after.changes", data["changes"], {"closed"}, {"closed_one_way", "closed_nodes", "new_costs"})
    return Underway(
        data["day_sha256"],
        closure_from_dict(data["changes"], where="after.changes"),
        tuple(_stand_from_dict(entry) for entry in check_list("after.vehicles", data["vehicles"])),
        _labels("after.dropped", data["dropped"]),
        tuple(_shortage_from_dict(entry) for entry in check_list("after.short", data["short"])),
        data["late"],
        data["keep"],
    )


def _stand_from_dict(data: Any) -> Stand:
    _check_keys("after.vehicles", data, {"walked", "done", "state"}, {"departed_s", "ready_s"})
    walked, done = (_labels(f"after.{name}", data[name]) for name in ("walked", "done"))
    if not walked:
        raise InvalidInputError("after.walked", "at least where the day began")
    departed, ready = (
        check_finite(name, data[name], least=0) if name in data else None for name in ("departed_s", "ready_s")
    )
    return Stand(walked, done, departed, ready, check_name("after.state", data["state"], STATES))


def _shortage_from_dict(data: Any) -> Shortage:
    _check_keys("after.short", data, {"class", "going_on", "giving_up", "choice"})
    number = check_whole("after.class", data["class"], "a class number", least=1)
    on, up = (_labels(f"after.{name}", data[name]) for name in ("going_on", "giving_up"))
    return Shortage(number, on, up, check_name("after.choice", data["choice"], CHOICES))


def _check_keys(where: str, data: Any, needed: set[str], optional: frozenset[str] | set[str] = frozenset()) -> None:
    if not isinstance(data, dict) or not needed <= data.keys() <= needed | optional:
        raise InvalidInputError(where, f"an object with {', '.join(sorted(needed))} and nothing unknown")


def _labels(where: str, items: Any) -> tuple[Label, ...]:
    return tuple(plain_label(item) for item in check_list(where, items))
