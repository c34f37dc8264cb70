"""Whether classes that are given can be combined into a partition that costs less than a given sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veilroute.audit.class_space import FEW_CUTS
from veilroute.audit.pricing import TooMuchError
from veilroute.audit.set_prices import Effort
from veilroute.audit.spread import members_of

_CLASS_STEP = 4
_PAIRS_STEP = 0.25
"""What looking at a class, and at its pairs within a cut, take, measured in visits by breadth-first search."""


@dataclass(frozen=True)
class Option:
    """A class that may be part of a partition.

    Parameters
    ----------
    group
        Its members, as a bit mask.
    excess
        What it takes of the slack between the bound and the sum to stay below; at least 0 but for rounding.
    share
        What it adds to the sum.
    """

    group: int
    excess: float
    share: float


class Combiner:
    """Looks for a partition whose shares sum to less than ``target``.

    By exact cover: of the members not yet settled, the one with the fewest options left gets each of them in turn, or
    is left out while somebody still may be. A branch ends when what was taken and what the rest takes at least exceed
    the slack: each member not settled takes at least the least excess per member of its options, and a cut that can no
    longer be met with equality takes its price for each pair that is missing. Where the same members were settled at a
    lower sum before, a branch ends as well.

    Parameters
    ----------
    options
        The classes. All that a cheaper partition could consist of must be among them.
    leaving
        What leaving each member out takes of the slack.
    num_left_out
        How many are left out, exactly.
    cuts
        Bit masks and prices.
    slack
        The target less the bound.
    target
        Sum of shares to stay below.
    effort
        What may be spent.
    """

    def __init__(
        self,
        options: Sequence[Option],
        leaving: Sequence[float],
        num_left_out: int,
        cuts: Sequence[tuple[int, float]],
        slack: float,
        target: float,
        effort: Effort,
    ) -> None:
        self.num_tried = 0
        self.is_complete = False
        self.cheaper: tuple[Option, ...] = ()
        self._options = sorted(options, key=lambda option: (option.excess, option.group))
        self._leaving = leaving
        self._num_left_out = num_left_out
        self._cuts = cuts
        self._slack = slack
        self._target = target
        self._effort = effort
        self._least: dict[tuple[int, int], float] = {}

    def run(self) -> Combiner:
        """Search: ``cheaper`` has the first partition found; when there is none, ``is_complete`` says for certain."""
        everybody = (1 << len(self._leaving)) - 1
        try:
            self._settle(everybody, self._num_left_out, 0.0, 0.0, (), self._options)
        except TooMuchError:
            return self
        self.is_complete = True
        return self

    def _settle(
        self, open_: int, num_out: int, taken: float, share: float, chosen: tuple[Option, ...], options: list[Option]
    ) -> None:
        self.num_tried += 1
        if open_.bit_count() <= num_out:
            if open_.bit_count() == num_out and share < self._target:
                self.cheaper = chosen
            return
        state = (open_, num_out)
        if share >= self._least.get(state, math.inf):
            return
        self._least[state] = share
        self._effort.spend(_CLASS_STEP * (1 + len(options)) + len(self._cuts))
        self._effort.spend(_PAIRS_STEP * max(0, len(self._cuts) - FEW_CUTS) * len(chosen))
        taken_by_cuts = self._cut_excess(open_, chosen)
        fitting: dict[int, list[Option]] = {member: [] for member in members_of(open_)}
        usable = []
        for option in options:
            if not option.group & ~open_ and taken + taken_by_cuts + option.excess < self._slack:
                usable.append(option)
                for member in members_of(option.group):
                    fitting[member].append(option)
        least = taken + taken_by_cuts
        for member, own in fitting.items():
            per_member = min((option.excess / option.group.bit_count() for option in own), default=math.inf)
            least += min(per_member, self._leaving[member] if num_out else math.inf)
        if least >= self._slack:
            return
        member = min(fitting, key=lambda m: (len(fitting[m]), m))
        for option in fitting[member]:
            rest = open_ & ~option.group
            self._settle(rest, num_out, taken + option.excess, share + option.share, (*chosen, option), usable)
            if self.cheaper:
                return
        if num_out:
            self._settle(open_ ^ 1 << member, num_out - 1, taken + self._leaving[member], share, chosen, usable)

    def _cut_excess(self, open_: int, chosen: tuple[Option, ...]) -> float:
        excess = 0.0
        for inside, price in self._cuts:
            pairs = sum((option.group & inside).bit_count() >> 1 for option in chosen)
            excess += price * ((inside.bit_count() >> 1) - pairs - ((open_ & inside).bit_count() >> 1))
        return excess
