"""The bounds of column generation against scipy's integer programmes; its optima are in test_optima.py.

The last steps of a proof (docs/theory.rst, Reduced-cost fixing) are for problems with more classes than a test can look
at. Here they run on small ones: limits are lowered, lists are cut short, prices are let down, so that a gap is left;
and what is then claimed is compared with the optimum over all classes there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, repeat
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import veilroute as vr
from reference import is_spread
from veilroute import Watch
from veilroute.covering import Members, as_members, k_and_ell, prepare_task
from veilroute.partition import (
    Bounding,
    ClassSpace,
    Columns,
    Grouping,
    Prices,
    Proof,
    Record,
    columns,
    master,
    other_limits,
    prove_cost,
    scale_of,
)


@dataclass
class Small:
    """A problem all of whose classes are known, and the least that a partition of as many as possible adds."""

    space: ClassSpace
    sets: list[Members]
    shares: np.ndarray[Any, np.dtype[np.float64]]
    num_left_out: int = 0
    optimum: float = math.nan

    def __post_init__(self) -> None:
        best = self._partition(self.shares)
        while best is None:
            self.num_left_out += 1
            best = self._partition(self.shares)
        self.optimum = best.total

    def poor_partition(self, rng: Random) -> Grouping:
        """One that groups as many, at random."""
        found = self._partition(np.array([rng.random() for _ in self.sets]))
        assert found is not None
        return self.space.price(found.classes)

    def _partition(self, prices: np.ndarray[Any, np.dtype[np.float64]]) -> Grouping | None:
        """The cheapest at given prices, by scipy: each member is in one class or left out."""
        num, num_sets = self.space.num, len(self.sets)
        rows = np.zeros((num + 1, num_sets + num))
        for column, members in enumerate(self.sets):
            rows[list(members), column] = 1
        rows[range(num), range(num_sets, num_sets + num)] = 1
        rows[num, num_sets:] = 1
        right = np.append(np.ones(num), self.num_left_out)
        found = milp(
            np.append(prices, np.zeros(num)),
            constraints=LinearConstraint(rows, right, right),
            integrality=np.ones(num_sets + num),
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        if found.status == 2:
            return None
        assert found.status == 0
        chosen = sorted(np.flatnonzero(found.x[:num_sets] > 0.5).tolist(), key=lambda at: self.sets[at])
        return Grouping.of(np.ones(num), {self.sets[i]: float(self.shares[i]) for i in chosen})


def small_problem(rng: Random, *, num: int, privacy: vr.Privacy, m: int | None = None, num_trips: int = 1) -> Small:
    """In a generated building, sometimes seen from afar, which makes members that cost nothing beside others."""
    domain = vr.generate_rooms(21, 21, seed=rng.randrange(5))
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(cells), rng.choice(cells), weight) for weight in (1.0, 2.0)[:num_trips]]
    candidates = vr.draw_candidates(domain, trips[0].start, trips[0].goal, num, seed=rng.randrange(1000))
    problem = vr.Problem(domain, trips, candidates, vr.WithinDistance(rng.choice([0, 0, 2, 5])))
    space = ClassSpace(task := prepare_task(problem), k_and_ell(problem, task, privacy), m=m)
    space.prepare(Watch())
    sets: list[Members] = []
    shares: list[float] = []
    for size in range(privacy.k, (space.num if space.is_loose else min(space.num, 2 * privacy.k - 1)) + 1):
        rows = [members for members in combinations(range(space.num), size) if is_spread(members, space.far, privacy)]
        if rows:
            measured = space.measure(np.array(rows, dtype=np.int32), Watch())
            assert measured is not None
            there = np.isfinite(measured[1])
            sets += [as_members(members) for members, is_there in zip(rows, there, strict=True) if is_there]
            shares += measured[1][there].tolist()
    return Small(space, sets, np.array(shares))


@dataclass
class Seen:
    """How often the last steps were taken, and to which end."""

    without_free: int = 0
    raised: int = 0
    with_cuts: int = 0
    longer: int = 0
    better: int = 0


@contextmanager
def last_steps(seen: Seen, **limits: float) -> Iterator[None]:
    """No problem is too small for the last steps; they are watched."""
    choose, search = columns._choose_without_free, columns._search_longer

    def choose_watched(bounds: Bounding, found: Columns, record: Record) -> tuple[float, int]:
        least, num_nodes = choose(bounds, found, record)
        seen.without_free += 1
        seen.raised += bounds.bound + 1e-9 < least
        seen.with_cuts += bounds.bound + 1e-9 < least and bool(bounds.prices.useful_cuts)
        return least, num_nodes

    def search_watched(space: ClassSpace, record: Record, watch: Watch) -> bool:
        before = record.best
        is_better = search(space, record, watch)
        seen.longer += 1
        seen.better += is_better
        assert is_better == (record.best is not before)
        assert not (is_better and space.prefixes is not None)
        return is_better

    lowered = {"_EFFORT_PER_MEMBER": 200, **limits}
    with ExitStack() as stack:
        stack.enter_context(other_limits(combined=0, many_columns=0))
        stack.enter_context(patch.object(columns, "_choose_without_free", choose_watched))
        stack.enter_context(patch.object(columns, "_search_longer", search_watched))
        for name, value in lowered.items():
            stack.enter_context(patch.object(columns, name, value))
        yield


def let_down(small: Small, start: Grouping, rng: Random) -> Iterator[tuple[Record, Proof]]:
    """The last step at prices that are too low by chance, some next to nothing: the bound is poor, the classes many."""
    space = small.space
    begun = Bounding(space, small.num_left_out, Watch(), scale_of(start.total, space.num - small.num_left_out))
    begun.offer(space.simple_prices(), 0.0)
    begun.add(space.columns_of(start))
    begun.run(start.total)
    best = begun.prices
    everything = space.columns_of(
        Grouping.of(np.ones(space.num), dict(zip(small.sets, small.shares.tolist(), strict=True)))
    )
    for choices in ((0, 0, 1e-12, -1e-12, 0.5, 0.9, 1, 1), (0, 1, 1), (0, 0.99)):
        parts = np.array([rng.choice(choices) for _ in best.duals])
        begun.prices = Prices(np.minimum(best.duals, parts * best.duals), best.cuts, best.cut_duals)
        # The best prices may be some at which classes had a negative reduced cost: the bound is less by that.
        least = float(begun.prices.reduce(everything.sets, everything.shares).min())
        begun.bound = begun.value_of(begun.prices, min(least, 0.0) - 1e-9)
        record = Record(start, Watch())
        yield record, columns._settle(begun, record)


def check_claims(small: Small, record: Record, proof: Proof) -> None:
    """The plan costs at least the optimum, the bound is at most that, and both are about as many members."""
    slack = 1e-9 * max(1.0, small.optimum)
    assert len(record.best.left_out) == small.num_left_out
    assert record.best.total >= small.optimum - slack
    assert proof.bound <= small.optimum + slack
    assert proof.num_nodes >= 0
    known = dict(zip(small.sets, small.shares.tolist(), strict=True))
    for members, share in zip(record.best.classes, record.best.shares, strict=True):
        assert share == pytest.approx(known[members], abs=1e-9)


READINGS = (("witness", 1), ("witness", 5), ("all-pairs", 5), ("all-pairs", 15))
"""Everybody far from everybody; classes of any size; members who must stand apart; so many that some are left out."""


def check_last_steps(seeds: range) -> Seen:
    """Many small problems, each proved in several ways from a poor partition."""
    seen = Seen()
    num_left_out = num_proved = 0
    for seed in seeds:
        rng = Random(seed)
        spread, ell = READINGS[seed % len(READINGS)]
        small = small_problem(
            rng,
            num=rng.randint(7, 10),
            privacy=vr.Privacy(k=rng.choice([2, 2, 3]), ell=ell, spread=spread),
            m=rng.choice([None, None, None, 12, 30]),
            num_trips=rng.choice([1, 2]),
        )
        if small.num_left_out == small.space.num or not small.optimum > 0:
            continue
        num_left_out += small.num_left_out > 0
        start = small.poor_partition(rng)
        # To the end, with the help of nothing but the last steps.
        record = Record(start, Watch())
        with last_steps(seen, _FIRST_NODES=0, _WIDE_GAP=0.0), patch.object(columns, "_round"):
            proof = prove_cost(small.space, record, Watch())
        check_claims(small, record, proof)
        assert proof.bound == pytest.approx(small.optimum, rel=1e-8)
        num_proved += 1
        # Without cuts and with lists that are cut short, so that a gap may be left.
        record = Record(start, Watch())
        limits = {"MAX_COLUMNS": rng.choice([3, 10, 40]), "MAX_ENUMERATED": rng.choice([20, 60, 200])}
        with (
            last_steps(seen, _FIRST_NODES=0, _WIDE_GAP=math.inf, **limits),
            patch.object(columns, "_round"),
            patch.object(master, "separate", return_value=[]),
        ):
            proof = prove_cost(small.space, record, Watch())
        check_claims(small, record, proof)
        # At prices that are too low.
        with last_steps(seen, _FIRST_NODES=0):
            for record, proof in let_down(small, start, rng):
                check_claims(small, record, proof)
        # Stopped at any time.
        watch = Watch(should_stop=partial(next, chain(repeat(False, rng.randint(5, 120)), repeat(True))))
        record = Record(start, watch)
        with last_steps(seen, _FIRST_NODES=0), patch.object(columns, "_round"):
            proof = prove_cost(small.space, record, watch)
        check_claims(small, record, proof)
    assert num_proved > len(seeds) // 2
    assert num_left_out > len(seeds) // 20
    return seen


def test_bounds_hold_against_integer_programmes_over_all_classes() -> None:
    seen = check_last_steps(range(40))
    assert seen.without_free > 100
    assert seen.raised > 20
    assert seen.with_cuts > 0
    assert seen.longer > seen.better > 5


@pytest.mark.slow
def test_bounds_hold_against_integer_programmes_over_all_classes_of_many_problems() -> None:
    check_last_steps(range(40, 600))


def test_without_prices_nothing_is_bounded() -> None:
    """Everybody is at the price 0: no row is left of the integer programme."""
    small = small_problem(Random(1), num=8, privacy=vr.Privacy(k=2))
    record = Record(small.poor_partition(Random(1)), Watch())
    nothing = Bounding(small.space, 0, Watch(), scale_of(record.best.total, 8))
    everything = small.space.search(nothing.prices, math.inf, Watch()).columns
    assert len(everything) == len(small.sets)
    assert columns._choose_without_free(nothing, everything, record) == (0, 0)


def test_a_longer_search_leaves_the_best_alone_or_betters_it() -> None:
    privacy = vr.Privacy(k=3)
    small = small_problem(Random(2), num=10, privacy=privacy)
    record = Record(small.poor_partition(Random(2)), Watch())
    before = record.best.total
    assert columns._search_longer(small.space, record, Watch())
    assert small.optimum - 1e-9 <= record.best.total < before
    # It has found the optimum, and so has nothing to add; and it knows nothing of classes that share prefixes.
    assert record.best.total == pytest.approx(small.optimum)
    assert not columns._search_longer(small.space, record, Watch())
    parting = small_problem(Random(2), num=10, privacy=privacy, m=12)
    poor = Record(parting.poor_partition(Random(2)), Watch())
    assert not columns._search_longer(parting.space, poor, Watch())
