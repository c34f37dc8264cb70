"""Days planned under a ledger, replayed: whichever of them are linked, what was promised is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from linked_entries import ROWS, plan, town


@pytest.fixture
def ledger(tmp_path: Path) -> vr.Ledger:
    return vr.new_ledger(tmp_path / "ledger.jsonl")


def shuffled_cells(rng: Random) -> list[Any]:
    cells = [(row, col) for row, line in enumerate(ROWS) for col, sign in enumerate(line) if sign == "."]
    rng.shuffle(cells)
    return cells


def subsets(items: Sequence[Any]) -> list[tuple[Any, ...]]:
    return list(chain.from_iterable(combinations(items, num) for num in range(1, len(items) + 1)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 3])
def test_whichever_days_are_linked_k_are_left(seed: int, k: int, ledger: vr.Ledger) -> None:
    """Six days of customers who come and go, other trips and closed cells, all planned under the ledger."""
    rng = Random(seed)
    cells = shuffled_cells(rng)
    customers, others = cells[:10], cells[10:]
    sights: dict[Any, list[frozenset[Any]]] = {}
    num_hidden = 0
    for day in range(6):
        start, goal = rng.sample(others, 2)
        free = [cell for cell in others if cell not in (start, goal)]
        domain = town(rng.choice(free)) if rng.random() < 0.5 else town()
        book = plan(ledger, customers, vr.Privacy(k=k), domain=domain, trips=[vr.Trip(start, goal)])
        ledger = ledger.add(book, day=f"2026-11-{day + 1:02}")
        assert ledger.check().safe
        hidden = [frozenset(group.members) for group in book.hidden_classes]
        for group in [*hidden, frozenset(customers) - frozenset().union(*hidden)]:
            for member in group:
                sights.setdefault(member, []).append(group)
        for member in chain.from_iterable(hidden):
            assert all(len(frozenset.intersection(*linked)) >= k for linked in subsets(sights[member]))
            num_hidden += 1
        if rng.random() < 0.7:
            customers, others = customers[1:], [*others, customers[0]]
        customers, others = [*customers, others[0]], others[1:]
    assert num_hidden > 20


@pytest.mark.parametrize("seed", range(4))
def test_the_classes_of_reuse_are_always_safe(seed: int, ledger: vr.Ledger) -> None:
    rng = Random(seed)
    cells = shuffled_cells(rng)
    customers, others = cells[:8], cells[8:]
    book = vr.solve(vr.Problem(town(), [vr.Trip(others[0], others[1])], customers), vr.Privacy(k=2))
    ledger = ledger.add(book, day="2026-11-01")
    for day in range(2, 6):
        customers = [cell for cell in customers if rng.random() < 0.95]
        closed = rng.sample(others[6:], 2)
        start, goal = rng.sample(others[:6], 2)
        problem = vr.Problem(town(*closed), [vr.Trip(start, goal)], customers)
        later = vr.solve(problem, vr.Privacy(k=2), planner="reuse", partition=book)
        if not later.hidden_classes:
            break
        book = later
        ledger = ledger.add(book, day=f"2026-11-{day:02}")
        assert ledger.check().safe
    # What reuse keeps, a plan under the ledger may keep as well, and costs no more.
    best = plan(ledger, book.candidates, domain=book.domain, trips=book.trips)
    again = vr.solve(replace(best.problem, past=None), vr.Privacy(k=2), planner="reuse", partition=book)
    assert best.claims.num_anonymized >= again.claims.num_anonymized
    if best.claims.num_anonymized == again.claims.num_anonymized:
        assert (best.mac or 0) <= (again.mac or 0) + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_a_newcomer_takes_nothing_from_the_others(seed: int, ledger: vr.Ledger) -> None:
    """Whoever was hidden can be hidden again, beside a customer who joins."""
    rng = Random(seed)
    cells = shuffled_cells(rng)
    customers, trip = cells[:7], vr.Trip(cells[7], cells[8])
    first = plan(ledger, customers, trips=[trip])
    ledger = ledger.add(first, day="2026-11-01")
    second = plan(ledger, [*customers, cells[9]], trips=[trip])
    assert second.claims.num_anonymized == first.claims.num_anonymized + 1 == 8
    assert ledger.add(second, day="2026-11-02").check().safe
