"""A partition for days with many stops: the one whose classes cost a fleet least, as far as a search finds it.

On a day every class that holds an order is visited as a whole. What a class costs is how probable that is, times what
it adds to a tour past the other classes of the day. The latter is estimated by the least tree that joins the members to
the tour: each by what it costs to visit it alone, measured on the tours of many days that were drawn, or by way of
another member. Annealing makes the sum of these small, again and again, each time for tours past the classes that it
found before. Vans do not take everybody on one tour: each stop also has its part in a way from the depot and back.
Whether a partition is better than another is decided on days that neither has been made for.

Nobody who was in a class is left out on the way, and every class qualifies by the rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from random import Random

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints, Members, as_members
from veilroute.base.run import Watch
from veilroute.kernels.day_tours import insertion_costs, join_tours, spanning_cost
from veilroute.model.rules import Rule

Groups = list[Members]
_DRAWN_DAYS = 300
_JUDGED_DAYS = 2100
_STOPS_PER_VAN = 30
_SHARES = (0.5, 0.7, 1.0)  # of the way between two members: what it adds to visit both
_NUM_ROUNDS = 2
_STEPS_PER_MEMBER = 1000
_HOT, _COLD = 0.3, 0.003  # temperatures, in parts of what a class costs
_NUM_NEAR = 25
_NUM_BEGUN = 10
_MOST_TRIED = 400
_MOST_KEPT = 1 << 18
_STEPS_PER_LOOK = 256


class DayTours:
    """Days on which orders are drawn, and what tours past the touched classes cost on them, about.

    Parameters
    ----------
    between
        What it costs between members, the same in both directions; the depot comes last.
    rates
        How probable it is that each member orders on a day.
    """

    def __init__(self, between: Floats, rates: Floats, seed: int) -> None:
        self.between, self.rates, self.num = between, rates, len(rates)
        ranked: Floats = between.copy()
        np.fill_diagonal(ranked, np.inf)
        self.near: Ints = np.argsort(ranked, axis=1, kind="stable")[:, : self.num]
        self._rng = np.random.default_rng([seed & 0xFFFFFFFF, self.num])
        self._orders: Flags = self._rng.random((_JUDGED_DAYS, self.num)) < rates
        shape = (_DRAWN_DAYS, self.num + 1)
        self._tours = (np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_))
        self._keys = np.empty(self.num)
        self._outward = 2 * between[-1, :-1] / _STOPS_PER_VAN

    def is_touched(self, members: Members) -> float:
        """How probable it is that somebody of a class orders."""
        return float(1.0 - np.prod(1.0 - self.rates[list(members)]))

    def judge(self, groups: Sequence[Members]) -> float:
        """What a day costs on average, on days that are the same for all partitions; their tours are forgotten."""
        wanted = np.zeros_like(self._orders)
        for members in map(list, groups):
            wanted[:, members] = self._orders[:, members].any(axis=1, keepdims=True)
        parts = (wanted[at : at + _DRAWN_DAYS] for at in range(0, _JUDGED_DAYS, _DRAWN_DAYS))
        tours = math.fsum(join_tours(part, self.between, self.near, *self._tours) for part in parts)
        return (tours + float(wanted.sum(axis=0) @ self._outward)) / _JUDGED_DAYS

    def draw(self, groups: Sequence[Members]) -> None:
        """Draw days on which these classes are touched, each on as many as it should, and make their tours."""
        wanted = np.zeros((_DRAWN_DAYS, self.num), dtype=np.bool_)
        for members in groups:
            first = (self._rng.permutation(_DRAWN_DAYS) + self._rng.random()) / _DRAWN_DAYS
            wanted[:, members] = (first < self.is_touched(members))[:, None]
        join_tours(wanted, self.between, self.near, *self._tours)

    def estimate(self, share: float) -> Callable[[Members], float]:
        """What a class adds to a day, estimated by a tree."""
        entry = np.empty(self.num)
        insertion_costs(self.between, self.near, *self._tours, entry)
        # Between two who are farther apart than by the way through a third, there is something to be gained.
        np.maximum(entry, 0.0, out=entry)

        def cost(members: Members) -> float:
            places = np.array(members, dtype=np.int64)
            joined = spanning_cost(places, entry, self.between, share, self._keys)
            return self.is_touched(members) * (joined + float(self._outward[places].sum()))

        return cost


def regroup_for_tours(first: Groups, rule: Rule, days: DayTours, *, seed: int, watch: Watch) -> tuple[Groups, bool]:
    """The best partition found of those who are in the first one's classes, and whether the time was over before.

    Ties: the one found first.
    """
    rng = Random(f"veilroute-fleet-{seed}")
    search = _Search(first, rule, days, rng, watch)
    best, least = first, days.judge(first)
    # Small classes are touched less often. From where it begins the search takes little more than how many there are.
    start = max(first, _near_groups(first, rule, days), key=len)
    for number, share in enumerate(_SHARES):
        groups = start
        for part in range(_NUM_ROUNDS):
            watch.tell("tours of days", number * _NUM_ROUNDS + part, len(_SHARES) * _NUM_ROUNDS)
            if not watch.is_over():
                days.draw(groups)
                groups = search.run(groups, days.estimate(share))
        if (cost := days.judge(groups)) < least:
            best, least = groups, cost
    return sorted(best), watch.is_over()


def _near_groups(first: Groups, rule: Rule, days: DayTours) -> Groups:
    """Groups of neighbours, as small as classes may be; nothing where somebody finds none.

    Those far from the depot begin, each with those others with whom it is a class, the nearest first. Who is left joins
    the class of the nearest member whose class stays one.
    """
    inside = {i for members in first for i in members}
    order = [int(i) for i in days.near[-1][::-1] if i in inside]
    home: dict[int, int] = {}
    groups: list[list[int]] = []
    for i in order:
        if i in home:
            continue
        free = [int(j) for j in days.near[i] if j in inside and j not in home and rule.together[i, j]][:_NUM_BEGUN]
        for others in islice(combinations(free, max(0, rule.least - 1)), _MOST_TRIED):
            if rule.qualifies((i, *others)):
                home |= dict.fromkeys((i, *others), len(groups))
                groups.append([i, *others])
                break
    for i in order:
        if i not in home:
            near = dict.fromkeys(home[int(j)] for j in days.near[i] if int(j) in home)
            joined = next((number for number in near if rule.qualifies((*groups[number], i))), None)
            if joined is None:
                return []
            groups[joined].append(i)
            home[i] = joined
    return [as_members(members) for members in groups]


class _Search:
    """Annealing: members change places or classes, and new classes are made of those who can be spared elsewhere."""

    def __init__(self, first: Groups, rule: Rule, days: DayTours, rng: Random, watch: Watch) -> None:
        self.rule, self.rng, self.watch = rule, rng, watch
        self.everybody: list[int] = sorted(i for members in first for i in members)
        inside = set(self.everybody)
        self.near = {i: [int(j) for j in days.near[i] if int(j) in inside][:_NUM_NEAR] for i in self.everybody}
        # Where some order more often than others, it may pay to be in a class with who is far and orders alike.
        self.is_wide = bool(np.ptp(days.rates) > 0)
        self._is_class: dict[Members, bool] = {}

    def qualifies(self, members: Members) -> bool:
        """Whether a set is a class; asked once for each."""
        known = self._is_class.get(members)
        if known is None:
            if len(self._is_class) >= _MOST_KEPT:
                self._is_class.clear()
            known = self._is_class[members] = self.rule.qualifies(members)
        return known

    def run(self, groups: Groups, value: Callable[[Members], float]) -> Groups:
        """The best partition met on the way, by the sum of its classes' values."""
        costs: dict[Members, float] = {}

        def cost_of(members: Members) -> float:
            known = costs.get(members)
            if known is None:
                if len(costs) >= _MOST_KEPT:
                    costs.clear()
                known = costs[members] = value(members)
            return known

        now = list(groups)
        home: dict[int, int] = {i: number for number, members in enumerate(groups) for i in members}
        total = math.fsum(map(cost_of, now))
        best, least = list(now), total
        num_steps = _STEPS_PER_MEMBER * len(self.everybody)
        unit = total / len(now)
        for step in range(num_steps):
            if step % _STEPS_PER_LOOK == 0 and self.watch.is_over():
                break
            changed = self._propose(now, home)
            if changed is None:
                continue
            before = math.fsum(cost_of(now[number]) for number in changed if number < len(now))
            change = math.fsum(map(cost_of, changed.values())) - before
            heat = unit * _HOT * (_COLD / _HOT) ** (step / num_steps)
            if change <= -heat * math.log(1.0 - self.rng.random()):
                for number, members in changed.items():
                    if number == len(now):
                        now.append(members)
                    now[number] = members
                    for i in members:
                        home[i] = number
                total += change
                if total < least - 1e-9 * unit:
                    best, least = list(now), total
        return best

    def _propose(self, now: Groups, home: dict[int, int]) -> dict[int, Members] | None:
        """Some classes by number as they might be, all of them classes; nothing where that cannot be."""
        rng = self.rng
        i = self.everybody[int(rng.random() * len(self.everybody))]
        is_far = rng.random() < (0.5 if self.is_wide else 0.1)
        among = self.everybody if is_far else self.near[i]
        if not among:
            return None
        j = among[int(rng.random() * len(among))]
        a, b = home[i], home[j]
        if a == b:
            return None
        mine, others = now[a], now[b]
        least, draw = self.rule.least, rng.random()
        if draw < 0.3 and len(others) > least:
            changed = {a: as_members((*mine, j)), b: as_members(m for m in others if m != j)}
            if draw < 0.15 and len(mine) > least:
                changed = self._begin_class(i, now, home) or changed
        else:
            x = mine[int(rng.random() * len(mine))]
            if x == i:
                return None
            changed = {
                a: as_members((*(m for m in mine if m != x), j)),
                b: as_members((*(m for m in others if m != j), x)),
            }
        return changed if all(map(self.qualifies, changed.values())) else None

    def _begin_class(self, i: int, now: Groups, home: dict[int, int]) -> dict[int, Members] | None:
        """A new class of a member and others near it, each out of a class that has more than it must."""
        chosen = {home[i]: i}
        for j in self.near[i]:
            if len(chosen) == self.rule.least:
                break
            if home[j] not in chosen and len(now[home[j]]) > self.rule.least:
                chosen[home[j]] = j
        if len(chosen) < self.rule.least:
            return None
        smaller = {number: as_members(m for m in now[number] if m != j) for number, j in chosen.items()}
        return {**smaller, len(now): as_members(chosen.values())}
