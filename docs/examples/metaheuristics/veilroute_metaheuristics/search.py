"""What the metaheuristics share: a partition that can be changed, the moves, and when to stop."""

import random
import time
from functools import lru_cache
from itertools import count

import numpy as np

from veilroute import OutOfTimeError
from veilroute.partition import BestPartition, Costs

NUM_NEAR = 10  # partners that a move looks at, for each candidate
LEFT_OUT = 1e6  # what a candidate costs that is in no class: more than any walk, so that hiding it comes first
LEAST_GAIN = 1e-9
MOVES_PER_LOOK = 64  # at the clock


class BudgetSpentError(Exception):
    """What the user allowed is spent."""


def run(algorithm, problem, task, rule, *, seed, watch, budget, cpu_s):
    """Run an algorithm until it ends, its budget is spent, or the time is over.

    The budget is a number of moves per candidate, and ``cpu_s`` seconds of the processor's time: these are fair to
    compare methods by when other programs keep the machine busy.
    """
    search = Search(problem, task, rule, seed=seed, watch=watch, budget=budget, cpu_s=cpu_s)
    is_stopped = False
    try:
        if search.num > 1:
            search.begin()
            algorithm(search)
    except BudgetSpentError:
        pass
    except OutOfTimeError:
        is_stopped = True
    search.best.offer(search.lowest_groups)
    return search.best.partition(is_stopped=is_stopped)


class Search:
    """A partition into groups by number, with the sum of their scores.

    A move is a list of new groups that hold the same candidates as the old ones in whose place they come.
    """

    def __init__(self, problem, task, rule, *, seed, watch, budget, cpu_s):
        self.rule, self.watch, self.rng = rule, watch, random.Random(f"veilroute-metaheuristics-{seed}")
        self.num = len(task.members)
        self.costs = Costs(problem, task, watch)
        self.best = BestPartition(rule, self.costs)
        self.worth = rule.worth.tolist()
        self.left_out = LEFT_OUT
        self.share = lru_cache(maxsize=1 << 18)(self._share)
        self.budget, self.num_tried, self.offered_at = budget * self.num, 0, 0
        self.began_s, self.cpu_s, self.limit_s = time.process_time(), cpu_s, watch.left_s()
        self.numbers = count()
        self.groups, self.home, self.near, self.total = {}, [], [], 0.0
        self.lowest, self.lowest_groups = float("inf"), []

    def _share(self, group):
        """What a class adds to the MAC sum; infinity for a group that is no class."""
        return self.costs.mac_share(group) if self.rule.qualifies(list(group)) else float("inf")

    def score(self, group):
        """What a group adds to the sum that is kept small: each candidate that is in no class has its price."""
        share = self.share(group) if group else 0.0
        return share if share < float("inf") else self.left_out * sum(self.worth[i] for i in group)

    def begin(self):
        """A first partition: each candidate in a random order, if it is free, with its best free partners."""
        if not self.near:
            shares = np.where(self.rule.together, self.costs.pair_shares, np.inf)
            self.ranked = np.argsort(shares, axis=1, kind="stable")
            self.near = self.ranked[:, : min(NUM_NEAR, self.num - 1)].tolist()
        free, groups = set(range(self.num)), []
        for first in self.rng.sample(range(self.num), self.num):
            group = [first] if first in free else []
            for other in self.ranked[first].tolist() if group else []:
                if self.rule.qualifies(group):
                    break
                if other in free and other != first:
                    group.append(other)
            free.difference_update(group)
            groups.append(frozenset(group))
        self.set_to(groups)

    def set_to(self, groups, total=None):
        """Take another partition, whose total may be known, in the place of this one."""
        self.groups = {next(self.numbers): group for group in groups if group}
        self.home = [-1] * self.num
        for number, group in self.groups.items():
            for i in group:
                self.home[i] = number
        self.total = sum(map(self.score, self.groups.values())) if total is None else total
        self.note()

    def of(self, member):
        """The group that a candidate is in."""
        return self.groups[self.home[member]]

    def gain(self, move):
        """How much better the partition gets by a move; it is negative if it gets worse."""
        self.num_tried += 1
        if self.num_tried % MOVES_PER_LOOK == 0 and self.used() >= 1:
            raise BudgetSpentError
        old = {self.home[i] for group in move for i in group}
        return sum(self.score(self.groups[number]) for number in old) - sum(map(self.score, move))

    def make(self, move, gain):
        """Make a move."""
        for number in {self.home[i] for group in move for i in group}:
            del self.groups[number]
        for group in filter(None, move):
            number = next(self.numbers)
            self.groups[number] = group
            for i in group:
                self.home[i] = number
        self.total -= gain
        self.note()

    def note(self):
        """Remember the partition if it is the best one so far, and offer it if the last offer is not too recent."""
        if self.left_out == LEFT_OUT and self.total < self.lowest - LEAST_GAIN:
            self.lowest, self.lowest_groups = self.total, list(self.groups.values())
            if self.num_tried - self.offered_at >= self.num // 10:  # an offer takes as long as some moves
                self.offered_at = self.num_tried
                self.best.offer(self.lowest_groups)

    def used(self):
        """Which part of the budget is spent: moves, or the processor's time, or that of the clock."""
        self.watch.check()
        by_cpu = (time.process_time() - self.began_s) / self.cpu_s
        by_clock = 1 - self.watch.left_s() / self.limit_s if self.limit_s < float("inf") else 0.0
        return max(self.num_tried / self.budget, by_cpu, by_clock)

    # Moves: each brings two candidates together that are in two groups.

    def join(self, a, b):
        """``a`` leaves its group for that of ``b``."""
        return [self.of(a) - {a}, self.of(b) | {a}]

    def swap(self, a, b):
        """``a`` leaves its group for that of ``b``, from which another one comes in its place."""
        other = self.rng.choice([i for i in self.of(b) if i != b] or [b])
        return [self.of(a) - {a} | {other}, self.of(b) - {other} | {a}]

    def found(self, a, b):
        """``a``, ``b`` and as many partners of ``a`` as it takes leave their groups and make one of their own."""
        new = {a, b, *[i for i in self.near[a] if i != b][: max(0, self.rule.least - 2)]}
        return [frozenset(new), *{self.of(i) - new for i in new}]

    def dissolve(self, a, b):
        """``a`` joins the group of ``b``, and each other one of its group that of its best partner elsewhere."""
        old = self.of(a)
        new = {self.home[b]: self.of(b) | {a}}
        for i in old - {a}:
            number = next((self.home[j] for j in self.near[i] if j not in old), self.home[b])
            new[number] = new.get(number, self.groups[number]) | {i}
        return list(new.values())

    MOVES = (join, swap, found, dissolve)

    def deal(self, numbers):
        """Deal the members of some groups out again, at random, and descend from there."""
        members = sorted(i for number in numbers for i in self.groups[number])
        self.rng.shuffle(members)
        move = [frozenset(members[i :: len(numbers)]) for i in range(len(numbers))]
        self.make(move, self.gain(move))
        self.descend(members)

    def descend(self, members):
        """Make every move that is a gain, beginning with these candidates, until there is none."""
        waiting = dict.fromkeys(members)
        while waiting:
            a = next(iter(waiting))
            del waiting[a]
            for b, kind in ((b, kind) for b in self.near[a] for kind in self.MOVES):
                if self.home[a] == self.home[b]:
                    continue
                move = kind(self, a, b)
                gain = self.gain(move)
                if gain > LEAST_GAIN:
                    self.make(move, gain)
                    waiting |= dict.fromkeys(i for group in move for i in sorted(group))
