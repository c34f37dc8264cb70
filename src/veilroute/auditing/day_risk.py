"""What a day of a fleet tells of orders, worked out with the auditor's own code: three figures, as of every plan.

An observer watches all vehicles, and knows the playbook, the terms and how probable each order is. Customers order
independently of each other. An order in a class has all of it visited; the terms say which classes are driven always,
and how many are driven at least, some of them for show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from veilroute.auditing.apartness import Spread, members_of
from veilroute.auditing.survey import bare_survey
from veilroute.model.day import Day
from veilroute.model.exposure import across_text, figure_rows
from veilroute.model.playbook import Playbook

_MOST_AREAS = 20_000  #: the most steps of the search for maximal areas
_NUM_STEPS = 200


class DayFigures(NamedTuple):
    """What can be found out of a day; ``None`` for what is not worked out, or where nothing is driven."""

    num_possible: int | None  #: places that may be behind an order, at least
    worst_place: float | None  #: how sure an observer can be that somebody at one place has ordered
    worst_area: float | None  #: how sure of an order in an area
    across: str

    def rows(self) -> list[tuple[str, str]]:
        """The figures as name and value, in the order of all reports."""
        return figure_rows(*self, is_of_orders=True)


def observe_day(playbook: Playbook, day: Day) -> DayFigures:
    """What a day tells, taken by itself.

    For the rest of a day on which places dropped out it is worked out only how many places may be behind an order.
    """
    groups = {at: group.members for at, group in enumerate(playbook.hidden_classes, start=1)}
    across = across_text(playbook.privacy)
    driven = [at for at in day.touched if at in groups]
    gone = set(() if day.after is None else day.after.dropped)
    domain = playbook.problem.domain
    rates = _rates(groups, day, driven)
    possible = []
    for at in driven:
        is_asked = any(rates[member] > 0 for member in groups[at])
        ways = (member for member in groups[at] if member not in gone and (rates[member] > 0 or not is_asked))
        possible.append(len({domain.node(member) for member in ways}))
    fewest = min((num for num in possible if num), default=None)
    is_short = day.after is not None and bool(day.after.dropped or day.after.short)
    if is_short or not driven:
        return DayFigures(fewest, None, None, across)
    shares = _Shares(groups, rates, driven, day)
    known = set(playbook.candidates)
    members = [member for at in driven for member in groups[at] if member in known]
    place = max((shares.any_of(some) for some in _at_nodes(playbook, members)), default=0.0)
    area = max((shares.any_of(some) for some in _areas(playbook, members)), default=place)
    return DayFigures(fewest, place, max(place, area), across)


def _rates(groups: Mapping[int, Sequence[object]], day: Day, driven: Sequence[int]) -> dict[object, float]:
    """How probable an order of each member is; where nobody says, the equal rate that fits what is driven."""
    own = {label: each.rate for label, each in day.terms.customers.items()}
    usual = day.terms.rate
    if usual is None:
        free = [len(members) for at, members in groups.items() if at not in day.terms.always]
        usual = _fitting_rate(free, sum(at not in day.terms.always for at in driven))
    given = {member: own.get(member) for members in groups.values() for member in members}
    return {member: usual if rate is None else rate for member, rate in given.items()}


def _fitting_rate(sizes: Sequence[int], num_driven: int) -> float:
    """Laplace's rule: after d of n classes were driven, (d + 1) of (n + 2) are expected."""
    if not sizes:
        return 0.5
    wanted = len(sizes) * (num_driven + 1) / (len(sizes) + 2)
    below, above = 0.0, 1.0
    for _ in range(_NUM_STEPS):
        rate = (below + above) / 2
        expected = math.fsum(1 - (1 - rate) ** size for size in sizes)
        below, above = (rate, above) if expected < wanted else (below, rate)
    return (below + above) / 2


class _Shares:
    """Probabilities after a day is seen."""

    def __init__(
        self, groups: Mapping[int, Sequence[object]], rates: Mapping[object, float], driven: Sequence[int], day: Day
    ) -> None:
        self._rates, self._always, self._pad_to = rates, set(day.terms.always), day.terms.pad_to
        self._groups = {at: groups[at] for at in driven}
        self._class_of = {member: at for at, members in self._groups.items() for member in members}
        self._num_free = len(groups.keys() - self._always)
        num = len(self._groups.keys() - self._always)
        shown = range(num + 1) if self._pad_to is not None else ()
        #: For each number of driven classes that hold an order: the logarithm of how many sets of dummies there are.
        self._log_sets = [math.log(math.comb(self._num_free - j, num - j)) for j in shown]
        self._seen = self._log_weight({})

    def any_of(self, labels: Iterable[object]) -> float:
        """How probable it is that at least one of some members of driven classes has ordered."""
        without: dict[int, list[object]] = {}
        for label in labels:
            without.setdefault(self._class_of[label], []).append(label)
        if self._seen == -math.inf:
            return 0.0
        return min(1.0, max(0.0, -math.expm1(self._log_weight(without) - self._seen)))

    def _log_weight(self, without: Mapping[int, Sequence[object]]) -> float:
        """How probable the day is together with no order of some members, up to a factor that is always the same.

        A logarithm, because there may be more sets of classes for show than a float can count.

        Of the classes that are neither driven always nor known to hold an order, j hold one: as coefficients of a
        polynomial. The others are driven for show, and are one of all sets of that size.
        """
        weight, ways = 1.0, np.ones(1)
        for at, members in self._groups.items():
            gone = without.get(at, ())
            rates = {member: self._rates[member] for member in members}
            if at in self._always:
                weight *= math.prod(1 - rates[member] for member in gone)
                continue
            if not any(rates.values()) and self._pad_to is None:
                weight *= 1 - len(gone) / len(members)  # nobody was expected to: all are as likely
                continue
            nobody = math.prod(1 - rate for rate in rates.values())
            others = math.prod(1 - rates[member] for member in gone)
            # Somebody has ordered, and none of those who are left out. Small rates must not be lost in a difference.
            rest = _logs(rate for member, rate in rates.items() if member not in gone)
            some = others * -math.expm1(math.fsum(rest))
            largest = max(nobody, -math.expm1(math.fsum(_logs(rates.values()))))
            if self._pad_to is None:
                weight *= some / largest
                continue
            ways = np.convolve(ways, (nobody / largest, some / largest))
        if self._pad_to is None:
            return math.log(weight) if weight > 0 else -math.inf
        logs = [
            math.log(weight) + math.log(way) - log_sets
            for way, log_sets in zip(ways.tolist(), self._log_sets, strict=True)
            if way > 0 and weight > 0
        ]
        most = max(logs, default=-math.inf)
        return most + math.log(math.fsum(math.exp(log - most) for log in logs)) if logs else -math.inf


def _logs(rates: Iterable[float]) -> Iterator[float]:
    return (math.log1p(-rate) if rate < 1 else -math.inf for rate in rates)


def _at_nodes(playbook: Playbook, members: Iterable[object]) -> list[list[object]]:
    at: dict[int, list[object]] = {}
    for member in members:
        at.setdefault(playbook.problem.domain.node(member), []).append(member)
    return list(at.values())


def _areas(playbook: Playbook, members: Sequence[object]) -> Iterator[list[object]]:
    """Areas that no further member can join; where there are too many, every member with all that are close to it."""
    problem = playbook.problem
    label = problem.candidates.__getitem__
    position = {each: at for at, each in enumerate(problem.candidates)}
    survey = bare_survey(problem, [position[member] for member in members])
    close, everybody = Spread(survey, playbook.privacy).here.close, 0
    for candidate in survey.nodes:
        everybody |= 1 << candidate
    found, todo = list[int](), [(0, everybody, 0)]
    for _ in range(_MOST_AREAS):
        if not todo:
            break
        area, rest, done = todo.pop()
        if not rest:
            found += [] if done else [area]
            continue
        # Every area that nobody can join holds the pivot, or somebody who is not close to it: these join, one by one.
        pivot = max(members_of(rest | done), key=lambda each: ((close[each] & rest).bit_count(), -each))
        for candidate in members_of(rest & ~close[pivot]):
            one, near = 1 << candidate, close[candidate]
            todo.append((area | one, rest & near, done & near))
            rest, done = rest & ~one, done | one
    if todo:
        found = [close[candidate] & everybody | 1 << candidate for candidate in survey.nodes]
    for area in found:
        yield [label(candidate) for candidate in members_of(area)]
