"""What whoever watches a whole day learns: which classes are driven, and how probable that makes each order.

Everything here is worked out from public facts: the playbook, the terms and the classes that were driven. Customers
order independently of each other, each with its rate (docs/theory, :ref:`theory-fleets`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilroute.base.arrays import Flags, Floats
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label
from veilroute.model.areas import area_rows
from veilroute.model.day import Day, Terms
from veilroute.model.exposure import across_text, figure_rows, guess_text, percent, row_lines
from veilroute.model.playbook import Playbook

_SURE = 1 - 1e-9
_NUM_HALVINGS = 60
_NUM_DIGITS = 12  # the last ones of a float depend on the machine


@dataclass(frozen=True)
class ExposedClass:
    """A class that was driven."""

    number: int
    real: float  #: how probable it is that it holds an order
    posterior: Mapping[Label, float]  #: how probable it is that each member has ordered
    #: Of each node where members are: which of them are there, and how probable it is that somebody at the node has
    #: ordered, also somebody of another class.
    doors: tuple[tuple[tuple[Label, ...], float], ...]


@dataclass(frozen=True)
class Exposure:
    """What a day shows to an observer who watches all of it and knows the playbook, the terms and the rates.

    Customers at one node are one door: its figures are about an order of any of them.
    """

    classes: tuple[ExposedClass, ...]  #: those driven; nobody in another one has ordered, and that is seen
    num_classes: int  #: of the playbook
    rates: Mapping[Label, float]  #: how probable an order of each customer is beforehand
    rate: float | None  #: what was taken for who has no rate of its own; ``None`` where all have one
    is_given: bool  #: whether the terms say that rate; else it was reckoned from how many classes were driven
    bound: float  #: what no day gives a door more than at these rates, padded or not
    across: str  #: ``an area less than 300 m across``
    worst_area: float | None  #: how sure an observer can be of an order in an area; ``None`` without a map
    bound_area: float | None  #: and what no day exceeds
    pad_to: int | None
    exceeds: float | None  #: how probable it is that a day has to drive more classes than ``pad_to``

    @property
    def worst(self) -> float:
        """The largest posterior of a door: how often the best single guess is right."""
        return max((value for each in self.classes for _, value in each.doors), default=0.0)

    @property
    def bayes_success(self) -> float:
        """How often an observer is right who names one door of each driven class."""
        best = [max(value for _, value in each.doors) for each in self.classes]
        return math.fsum(best) / len(best) if best else 0.0

    @property
    def smallest_left(self) -> int | None:
        """The fewest doors of a driven class at which somebody may have ordered; ``None`` where nobody may have."""
        possible = (
            sum(any(each.posterior[label] > 0 for label in labels) for labels, _ in each.doors) for each in self.classes
        )
        return min((num for num in possible if num), default=None)

    @property
    def identified(self) -> tuple[Label, ...]:
        """Those of whom it is certain that they, or others at their door, have ordered, and was not before the day."""
        return tuple(
            label
            for each in self.classes
            for labels, value in each.doors
            if value >= _SURE > 1 - math.prod(1 - self.rates[label] for label in labels)
            for label in labels
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        customers = [
            {"customer": label, "rate": _rounded(self.rates[label]), "posterior": _rounded(value)}
            for each in self.classes
            for label, value in each.posterior.items()
        ]
        return {
            "driven": len(self.classes),
            "classes": self.num_classes,
            "pad_to": self.pad_to,
            "rate": None if self.rate is None else _rounded(self.rate),
            "worst": _rounded(self.worst),
            "bound": _rounded(self.bound),
            "worst_area": None if self.worst_area is None else _rounded(self.worst_area),
            "bound_area": None if self.bound_area is None else _rounded(self.bound_area),
            "bayes_success": _rounded(self.bayes_success),
            "smallest_left": self.smallest_left,
            "identified": len(self.identified),
            "exceeds": None if self.exceeds is None else _rounded(self.exceeds),
            "customers": customers,
        }

    def rows(self) -> list[tuple[str, str]]:
        """What an observer can find out, as name and value, in the order of all reports."""
        # A rate that was reckoned from this day is another one on the next.
        when = "on any day" if self.rate is None or self.is_given else "at the rate below, on any day"
        figures = figure_rows(self.smallest_left, self.worst, self.worst_area, self.across, is_of_orders=True)
        bounds = (None, self.bound, self.bound_area)
        rows = [
            (name, value if bound is None else f"{value} ({when} at most {percent(bound)})")
            for (name, value), bound in zip(figures, bounds, strict=True)
        ]
        guess = guess_text(self.bayes_success, "the classes that are driven")
        return [
            *rows,
            ("Best guess of a place in each driven class", guess),
            ("Customers who are identified", str(len(self.identified))),
        ]

    def text(self) -> str:
        """The same in a few lines."""
        num, rest = len(self.classes), self.num_classes - len(self.classes)
        shown = f"What remains visible: {num} of {self.num_classes} classes are driven"
        shown += ", as on every day, some perhaps for show" if self.pad_to is not None else ""
        shown += f", and nobody in the other{'' if rest == 1 else f' {rest}'} has ordered." if rest else "."
        lines = [shown]
        if self.classes:
            lines += ["An observer who watches the whole day:", *row_lines(self.rows())]
        if self.exceeds is not None:
            lines.append(
                f"More than {self.pad_to} classes have to be driven with a probability of {self.exceeds:.2g} a day."
            )
        if self.rate is not None:
            why = "" if self.is_given else ", reckoned from how many classes are driven (say it: rate)"
            lines.append(f"Assumed: a customer orders on a day with a probability of {self.rate:.2g}{why}.")
        return "\n".join(lines)


def exposure(playbook: Playbook, day: Day) -> Exposure:
    """What a day shows, taken by itself; docs/theory has what linked days show.

    A day on which customers dropped out on the way is refused: whoever watched is left with fewer, and ``Day.after``
    says with whom.
    """
    if day.playbook != playbook.sha256:
        raise InvalidInputError("day", "a day of this playbook")
    if day.after is not None and (day.after.dropped or day.after.short):
        raise InvalidInputError("day", "one on which nobody dropped out on the way; see Day.after for who is left")
    return expose(playbook, day.touched, day.terms)


def expose(playbook: Playbook, driven: Iterable[int], terms: Terms) -> Exposure:
    """What it shows that some classes are driven.

    A customer's rate is its own, else that of the terms. Where neither is said, it is the equal rate of all customers
    at which a class is touched as often as Laplace's rule has it: ``d + 1`` times in ``n + 2`` when d of n are driven.

    Parameters
    ----------
    playbook
        A playbook that is not randomised.
    driven
        Numbers of classes as :func:`veilroute.fleet.pad` gives them.
    terms
        Rates, and how the classes came to be driven: ``always`` and ``pad_to``.
    """
    groups = [group.members for group in playbook.hidden_classes]
    shown = sorted(set(driven))
    if shown and shown[-1] > len(groups):
        raise InvalidInputError("touched", f"class numbers from 1 to {len(groups)}", shown[-1])
    always = set(terms.always)
    if not always <= set(shown):
        raise InvalidInputError("touched", f"with {len(always)} classes that the terms say are always driven")
    if terms.pad_to is not None and len(shown) != terms.pad_to:
        raise InvalidInputError("touched", f"{terms.pad_to} classes, as many as the terms say", len(shown))
    free = [number for number in range(1, len(groups) + 1) if number not in always]
    drawn = [number for number in shown if number not in always]
    usual = terms.rate
    if usual is None:
        usual = _equal_rate([len(groups[number - 1]) for number in free], len(drawn))
    own = {label: each.rate for label, each in terms.customers.items()}
    rates = {label: usual if (rate := own.get(label)) is None else rate for members in groups for label in members}
    all_given = all(own.get(label) is not None for label in rates)
    silent = [_log_silent([rates[label] for label in members]) for members in groups]
    if terms.pad_to is None:
        real = dict.fromkeys(drawn, 1.0)
    else:
        chances = _chances_real([silent[number - 1] for number in drawn], len(free))
        real = dict(zip(drawn, chances, strict=True))
    odds = _Odds(groups, rates, always, dict.fromkeys(always, 1.0) | real, silent, len(free), terms.pad_to)
    customers = [label for members in groups for label in members]
    doors, areas = _doors(playbook, customers), _areas(playbook, customers)
    of_door = {label: labels for labels in doors for label in labels}
    at_door = {labels: odds.of(labels) for labels in doors}
    classes = []
    for number in shown:
        touched = -math.expm1(silent[number - 1]) if number in always else real[number]
        posterior = {label: odds.of((label,)) for label in groups[number - 1]}
        parts: dict[tuple[Label, ...], list[Label]] = {}
        for label in groups[number - 1]:
            parts.setdefault(of_door[label], []).append(label)
        by_door = tuple((tuple(here), at_door[labels]) for labels, here in parts.items())
        classes.append(ExposedClass(number, touched, posterior, by_door))
    bound = max(map(odds.bound, doors), default=0.0)
    # A door is an area as well. One whose bound is no higher than what was found cannot be the worst.
    worst_area = max(at_door.values(), default=0.0)
    for area in areas or ():
        if odds.bound(area) > worst_area:
            worst_area = max(worst_area, odds.of(area))
    exceeds = None
    if terms.pad_to is not None:
        exceeds = _exceeds([silent[number - 1] for number in free], len(drawn))
    return Exposure(
        classes=tuple(classes),
        num_classes=len(groups),
        rates=rates,
        rate=None if all_given else usual,
        is_given=terms.rate is not None,
        bound=bound,
        across=across_text(playbook.privacy),
        worst_area=None if areas is None else worst_area,
        bound_area=None if areas is None else max([bound, *map(odds.bound, areas)]),
        pad_to=terms.pad_to,
        exceeds=exceeds,
    )


class _Odds:
    """How probable it is, after what is seen, that at least one of some customers has ordered.

    ``real`` has per driven class how probable it is that it holds an order; of the others nobody has ordered.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Label, ...]],
        rates: Mapping[Label, float],
        always: Collection[int],
        real: Mapping[int, float],
        silent: Sequence[float],
        num_free: int,
        pad_to: int | None,
    ) -> None:
        self._groups, self._rates, self._always, self._real = groups, rates, always, real
        self._number_of = {label: at for at, members in enumerate(groups, start=1) for label in members}
        self._drawn = [number for number in real if number not in always]
        self._silent, self._num_free, self._is_padded = silent, num_free, pad_to is not None

    def bound(self, labels: Iterable[Label]) -> float:
        """What no day exceeds: the probability if all their classes are driven, and none of them for show."""
        return 1 - math.prod(1 - self._part(number, own) for number, own in self._by_class(labels).items())

    def of(self, labels: Iterable[Label]) -> float:
        """The same on this day."""
        parts = {number: self._part(number, own) for number, own in self._by_class(labels).items()}
        always = [part for number, part in parts.items() if number in self._always]
        drawn = {number: part for number, part in parts.items() if number in self._drawn}
        if len(always) + len(drawn) == 1:
            return max(0.0, *always, *(self._real[number] * part for number, part in drawn.items()))
        nobody = math.prod(1 - part for part in always)
        if drawn and self._is_padded:
            nobody *= self._nobody_of(drawn)
        else:
            nobody *= math.prod(1 - part for part in drawn.values())
        return min(1.0, 1 - nobody)

    def _nobody_of(self, parts: Mapping[int, float]) -> float:
        """How probable it is that none of some customers has ordered; parts are as in ``_part``."""
        silent = [self._silent[number - 1] for number in self._drawn]
        touched = [-math.expm1(each) for each in silent]
        without = [one * (1 - parts.get(number, 0.0)) for one, number in zip(touched, self._drawn, strict=True)]
        seen = _log_seen(touched, silent, self._num_free)
        return math.exp(_log_seen(without, silent, self._num_free) - seen) if seen > -math.inf else 1.0

    def _by_class(self, labels: Iterable[Label]) -> dict[int, list[Label]]:
        found: dict[int, list[Label]] = {}
        for label in labels:
            found.setdefault(self._number_of[label], []).append(label)
        return found

    def _part(self, number: int, labels: Sequence[Label]) -> float:
        """How probable it is that one of some members has ordered, in a class that is always driven or holds an order.

        Where nobody of it was expected to order, all members are as likely, as they are where all rates are equal and
        go to 0.
        """
        if number in self._always:
            return _any_of(labels, self._rates)
        touched = -math.expm1(self._silent[number - 1])
        if not touched:
            return len(labels) / len(self._groups[number - 1])
        return min(1.0, _any_of(labels, self._rates) / touched)


def _doors(playbook: Playbook, customers: Iterable[Label]) -> list[tuple[Label, ...]]:
    """The customers at each node; each by itself where the map is not there to tell."""
    at: dict[object, list[Label]] = {}
    for label in customers:
        at.setdefault(label if playbook.domain is None else playbook.domain.node(label), []).append(label)
    return [tuple(labels) for labels in at.values()]


def _areas(playbook: Playbook, customers: Sequence[Label]) -> list[tuple[Label, ...]] | None:
    """Customers who are pairwise closer than ell, as many as can be; ``None`` where the map is not there to tell.

    Where there are too many such areas, each customer with all that are close to it: what contains an area is no less
    probable to hold an order.
    """
    domain, privacy = playbook.domain, playbook.privacy
    if domain is None:
        return None
    if privacy.ell <= 0 or not customers:
        return []
    from veilroute.covering.task import far_matrix  # here, because it loads kernels

    near: Flags = ~far_matrix(domain, [domain.node(label) for label in customers], privacy)
    rows = area_rows(near)
    return [tuple(customers[at] for at in np.flatnonzero(row).tolist()) for row in (near if rows is None else rows)]


def _any_of(labels: Sequence[Label], rates: Mapping[Label, float]) -> float:
    """How probable it is that at least one of some customers orders."""
    return rates[labels[0]] if len(labels) == 1 else -math.expm1(_log_silent([rates[label] for label in labels]))


def _log_silent(rates: Iterable[float]) -> float:
    """The logarithm of how probable it is that nobody orders."""
    return math.fsum(math.log1p(-rate) if rate < 1 else -math.inf for rate in rates)


def _equal_rate(sizes: Sequence[int], num_driven: int) -> float:
    """The rate at which as many classes are touched on average as Laplace's rule expects after a day."""
    if not sizes:
        return 0.5
    wanted = len(sizes) * (num_driven + 1) / (len(sizes) + 2)
    low, high = 0.0, 1.0
    for _ in range(_NUM_HALVINGS):
        middle = (low + high) / 2
        if math.fsum(1 - (1 - middle) ** size for size in sizes) < wanted:
            low = middle
        else:
            high = middle
    return low


def _chances_real(silent: Sequence[float], num_free: int) -> list[float]:
    """How probable it is that each of the driven classes holds an order, where the others are dummies.

    Of ``num_free`` classes these n were driven. If j of them hold orders, the dummies are one of ``C(num_free - j,
    n - j)`` equally likely sets. A forward pass has the chances that so many of the first i hold orders, a backward
    pass those of what is seen, given that so many did: all sums over sets in O(n^2). Logarithms, as the chances may be
    too small for floats.
    """
    num = len(silent)
    touched = [_log(-math.expm1(each)) for each in silent]
    forward = [np.full(num + 2, -np.inf)]
    forward[0][0] = 0.0
    for yes, no in zip(touched, silent, strict=True):
        forward.append(np.logaddexp(forward[-1] + no, _shifted(forward[-1]) + yes))
    seen = np.full(num + 2, -np.inf)
    seen[: num + 1] = [-math.log(math.comb(num_free - j, num - j)) for j in range(num + 1)]
    chances = []
    for at in range(num - 1, -1, -1):
        yes, no = touched[at], silent[at]
        both = float(np.logaddexp.reduce(forward[at][:-1] + yes + seen[1:]))
        neither = float(np.logaddexp.reduce(forward[at] + no + seen))
        chances.append(math.exp(both - float(np.logaddexp(both, neither))))
        seen[:-1] = np.logaddexp(seen[:-1] + no, seen[1:] + yes)
        seen[-1] = -np.inf
    return chances[::-1]


def _log_seen(touched: Sequence[float], silent: Sequence[float], num_free: int) -> float:
    """How probable it is, as a logarithm, that these classes are driven: those that hold orders, and dummies."""
    num = len(touched)
    held = np.full(num + 1, -np.inf)  # by how many of them hold orders
    held[0] = 0.0
    for yes, no in zip(touched, silent, strict=True):
        held = np.logaddexp(held + no, _shifted(held) + _log(yes))
    shares = [-math.log(math.comb(num_free - j, num - j)) for j in range(num + 1)]
    return float(np.logaddexp.reduce(held + shares))


def _shifted(row: Floats) -> Floats:
    return np.concatenate(([-np.inf], row[:-1]))


def _exceeds(silent: Sequence[float], most: int) -> float:
    """How probable it is that more than so many classes hold an order."""
    numbers = np.ones(1)
    for each in silent:
        numbers = np.convolve(numbers, [math.exp(each), -math.expm1(each)])
    return min(1.0, math.fsum(numbers[most + 1 :].tolist()))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _rounded(value: float) -> float:
    return float(f"{value:.{_NUM_DIGITS}g}")
