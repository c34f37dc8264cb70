"""The paper's two searches as its pseudo-code reads, over tuples and recursion, to compare the kernels with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations, product

from reference import World

Group = tuple[int, ...]
Partition = tuple[Group, ...]


@dataclass
class Best:
    """The best partition so far, and how often there was a better one."""

    ap: int = 0
    cost: float = math.inf
    partition: Partition = ()
    num_improvements: int = 0
    num_visited: int = 0
    num_duplicates: int = 0
    visited: set[Partition] = field(default_factory=set)


@dataclass
class PlainSearch:
    """Merge-BB (Algorithms 2 and 3) and DF-BB (supplement)."""

    world: World
    k: int
    ell: float
    best: Best = field(default_factory=Best)
    compares_sums: bool = False  # in the third termination, as the authors' program does; the text compares means

    @property
    def everybody(self) -> int:
        return len(self.world.coverable)

    @property
    def rounding(self) -> float:
        return 1e-12 * self.everybody

    def measure(self, partition: Partition) -> tuple[int, float]:
        good = [group for group in partition if len(group) >= self.k]
        return sum(map(len, good)), sum(self.world.ac[group] for group in good)

    def keep(self, partition: Partition) -> None:
        ap, cost = self.measure(partition)
        self.best.num_visited += 1
        if ap > self.best.ap or (ap and ap == self.best.ap and cost < self.best.cost - self.rounding):
            self.best.ap, self.best.cost, self.best.partition = ap, cost, partition
            self.best.num_improvements += 1

    def is_prunable(self, one: Group, other: Group, cost: float) -> bool:
        if len(one) >= self.k and len(other) >= self.k:
            return True
        apart = self.world.apart
        if any(min(apart[x][y], apart[y][x]) < self.ell * (1 - 1e-9) for x, y in product(one, other)):
            return True
        if self.best.ap == self.everybody:
            allowed = self.best.cost - cost + self.world.ac[one] + self.world.ac[other]
            higher = [max(pair) for pair in zip(self.world.costs[one], self.world.costs[other], strict=True)]
            return self.world.price((*one, *other), higher) >= allowed - self.rounding
        return False

    def merge_key(self, one: Group, other: Group) -> float:
        higher = (max(pair) for pair in zip(self.world.costs[one], self.world.costs[other], strict=True))
        mean = sum(w * cost for w, cost in zip(self.world.weights, higher, strict=True))
        return mean * (len(one) + len(other))

    def merge_bb(self, partition: Partition) -> None:
        self.keep(partition)
        ap, cost = self.measure(partition)
        if len(partition) == 1 or ap == self.everybody:
            return
        if self.best.ap == self.everybody and ap and self.is_no_better(ap, cost):
            return
        pairs = [pair for pair in combinations(partition, 2) if not self.is_prunable(*pair, cost)]
        for one, other in sorted(pairs, key=lambda pair: self.merge_key(*pair)):
            union = tuple(sorted((*one, *other)))
            if self.is_prunable(one, other, cost) or math.isinf(self.world.ac[union]):
                continue
            child = tuple(sorted({*partition, union} - {one, other}))
            if child in self.best.visited:
                self.best.num_duplicates += 1
            else:
                self.best.visited.add(child)
                self.merge_bb(child)

    def is_no_better(self, ap: int, cost: float) -> bool:
        least = self.best.cost - self.rounding
        return cost >= least if self.compares_sums else cost / ap >= least / self.best.ap

    def df_bb(self, partition: Partition, unassigned: Group, *, new_first: bool) -> None:
        if not unassigned:
            self.keep(partition)
            return
        alone, rest = unassigned[:1], unassigned[1:]
        _, cost = self.measure(partition)
        if new_first:
            self.df_bb((*partition, alone), rest, new_first=True)
        for at, group in enumerate(partition):
            if not self.is_prunable(group, alone, cost) and math.isfinite(self.world.ac[group + alone]):
                self.df_bb((*partition[:at], group + alone, *partition[at + 1 :]), rest, new_first=new_first)
        if not new_first:
            self.df_bb((*partition, alone), rest, new_first=False)

    def run_merge_bb(self) -> Best:
        if self.everybody:
            self.merge_bb(tuple((i,) for i in self.world.coverable))
        return self.best

    def run_df_bb(self, *, new_first: bool) -> Best:
        self.df_bb((), tuple(self.world.coverable), new_first=new_first)
        return self.best
