"""The bounds of column generation against scipy's integer programmes; its optima are in tests/harness.py.

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
    ClassSpace,
    Grouping,
    Proof,
    Record,
    columns,
    other_limits,
    prove_cost,
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


@contextmanager
def last_steps(**limits: float) -> Iterator[None]:
    """No problem is too small for the last steps, and no integer programme ends the work before them."""
    with ExitStack() as stack:
        stack.enter_context(other_limits(combined=0, many_columns=0, effort=200))
        stack.enter_context(patch.object(columns, "_round"))
        for name, value in {"_FIRST_NODES": 0, **limits}.items():
            stack.enter_context(patch.object(columns, name, value))
        yield


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 600), marks=pytest.mark.slow)], ids=str)
def test_bounds_hold_against_integer_programmes_over_all_classes(seeds: range) -> None:
    """Many small problems, each proved from a poor partition to the end, with lists cut short, and stopped early."""
    num_left_out = num_proved = num_open = 0
    for seed in seeds:
        rng = Random(seed)
        spread, ell = READINGS[seed % len(READINGS)]
        privacy = vr.Privacy(k=rng.choice([2, 2, 3]), ell=ell, spread=spread)
        m, num_trips = rng.choice([None, None, None, 12, 30]), rng.choice([1, 2])
        small = small_problem(rng, num=rng.randint(7, 10), privacy=privacy, m=m, num_trips=num_trips)
        if small.num_left_out == small.space.num or not small.optimum > 0:
            continue
        num_left_out += small.num_left_out > 0
        start = small.poor_partition(rng)
        looks = chain(repeat(False, rng.randint(5, 120)), repeat(True))
        short = {"MAX_COLUMNS": rng.choice([3, 10, 40]), "MAX_ENUMERATED": rng.choice([20, 60, 200])}
        ways: list[tuple[Watch, dict[str, float]]] = [
            (Watch(), {"_WIDE_GAP": 0.0}),
            (Watch(), {"_WIDE_GAP": math.inf, **short}),
            (Watch(should_stop=partial(next, looks)), {}),
        ]
        for at, (watch, limits) in enumerate(ways):
            record = Record(start, watch)
            with last_steps(**limits):
                proof = prove_cost(small.space, record, watch)
            check_claims(small, record, proof)
            is_proved = proof.bound == pytest.approx(small.optimum, rel=1e-8)
            assert is_proved or at > 0
            num_open += not is_proved
        num_proved += 1
    assert num_proved > len(seeds) // 2 and num_open > 0
    assert num_left_out > len(seeds) // 20
