"""The planner for fleets: it hides as many as the exact one, in classes that keep the tours of a day short."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from veilroute.kernels import join_tours
from veilroute.planners import order_rates

CITY = vr.generate_streets(20, 20, seed=2)
HOMES = vr.draw_candidates(CITY, 0, 0, 15, seed=1)
PROBLEM = vr.Problem(CITY, [vr.Trip(0, 0)], HOMES)
PRIVACY = vr.Privacy(k=3, ell=300)


def plan(problem: vr.Problem = PROBLEM, privacy: vr.Privacy = PRIVACY, **options: Any) -> vr.Playbook:
    return vr.solve(problem, privacy, planner="fleet", **options)


@cache
def usual_plan() -> vr.Playbook:
    return plan()


def tables(num: int, seed: int) -> tuple[Any, Any]:
    """Places in the plane with a depot behind them, and for each the others by distance."""
    points = np.random.default_rng(seed).random((num + 1, 2))
    between = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    ranked = between + np.where(np.eye(num + 1) > 0, np.inf, 0)
    return between, np.argsort(ranked, axis=1, kind="stable")[:, :num]


def room_for(num_days: int, num: int) -> tuple[Any, Any, Any]:
    shape = (num_days, num + 1)
    return np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_)


def test_tours_are_round_trips_past_all_who_are_wanted_and_nearly_the_shortest() -> None:
    num, rng, found, best = 7, Random(3), 0.0, 0.0
    for seed in range(20):
        between, near = tables(num, seed)
        wanted = np.array([[rng.random() < 0.8 for _ in range(num)]])
        after, before, visited = room_for(1, num)
        total = join_tours(wanted, between, near, after, before, visited)
        tour = [num]
        while (following := int(after[0, tour[-1]])) != num:
            assert before[0, following] == tour[-1]
            tour.append(following)
        assert sorted(tour[1:]) == np.flatnonzero(wanted[0]).tolist() == np.flatnonzero(visited[0, :num]).tolist()
        assert total == pytest.approx(sum(between[a, b] for a, b in pairwise([*tour, num])))
        least = min(sum(between[a, b] for a, b in pairwise([num, *o, num])) for o in permutations(tour[1:]))
        assert least - 1e-9 <= total <= 1.2 * least
        found, best = found + total, best + least
    assert found <= 1.02 * best


def test_as_many_are_hidden_as_can_be_the_audit_holds_and_the_bytes_are_the_same() -> None:
    exact, book = vr.solve(PROBLEM, PRIVACY), usual_plan()
    assert book.claims.num_anonymized == exact.claims.num_anonymized == len(HOMES)
    assert (book.status, book.mac_lower_bound) == ("feasible", None)
    assert vr.audit(book).holds
    assert plan().to_json() == book.to_json()
    assert plan(partition=exact, seed=5).claims.num_anonymized == len(HOMES)


def test_under_a_ledger_everybody_stays_hidden(tmp_path: Path) -> None:
    ledger = vr.new_ledger(tmp_path / "ledger.jsonl")
    first = vr.solve(PROBLEM, PRIVACY)
    ledger.add(first, day="2026-01-05")
    past = ledger.past(PROBLEM, PRIVACY)
    later = plan(vr.Problem(CITY, [vr.Trip(0, 0)], HOMES, past=past))
    assert later.claims.num_anonymized == first.claims.num_anonymized
    ledger.add(later, day="2026-01-06")
    assert ledger.check().safe


def test_who_orders_often_is_with_others_who_do() -> None:
    """Classes of equal rates are touched least often; here that counts for more than the way."""
    often = set(Random(1).sample(HOMES, 6))
    customers = {label: vr.Customer(rate=0.9 if label in often else 0.02) for label in HOMES}
    book = plan(customers=customers)
    mixed = [group for group in book.hidden_classes if 0 < len(often & set(group.members)) < len(group.members)]
    single = vr.solve(PROBLEM, PRIVACY).hidden_classes
    before = [group for group in single if 0 < len(often & set(group.members)) < len(group.members)]
    assert 2 * len(mixed) <= len(before) >= 2
    assert "customers_sha256" in book.options


def test_windows_that_have_no_time_in_common_part_classes() -> None:
    """A star: everybody is as far from everybody, and only the time tells them apart."""
    homes = list(range(1, 7))
    star = vr.Domain.from_edges(7, [0] * 6 + homes, homes + [0] * 6, [5] * 12)
    early, late = vr.Customer(closes_s=12 * 3600), vr.Customer(opens_s=13 * 3600)
    customers = {label: early if label % 2 else late for label in homes}
    book = plan(vr.Problem(star, [vr.Trip(0, 0)], homes), vr.Privacy(k=3), orders_per_day=2, customers=customers)
    assert [group.members for group in book.hidden_classes] == [(1, 3, 5), (2, 4, 6)]


def test_rates_are_shared_out() -> None:
    assert order_rates(PROBLEM) == pytest.approx([0.15] * 15)
    assert order_rates(PROBLEM, 6) == pytest.approx([0.4] * 15)
    customers = {HOMES[0]: vr.Customer(rate=1.0), HOMES[1]: vr.Customer(opens_s=5)}
    assert order_rates(PROBLEM, 6, customers) == pytest.approx([1.0, *[5 / 14] * 14])
    weighed = vr.Problem(CITY, [vr.Trip(0, 0)], HOMES, prior=[100, 0, *[1] * 13])
    assert order_rates(weighed, 6) == pytest.approx([1.0, 0.0, *[5 / 13] * 13])
    for wrong in (0, -1, 16, float("nan")):
        with pytest.raises(vr.InvalidInputError, match="orders_per_day"):
            plan(orders_per_day=wrong)
    other = vr.solve(vr.Problem(CITY, [vr.Trip(0, 0)], HOMES[:9]), vr.Privacy(k=2))
    with pytest.raises(vr.InvalidInputError, match="partition: expected a playbook of the same problem and privacy"):
        plan(partition=other)


def test_the_time_is_kept_and_a_stop_gives_the_best_so_far() -> None:
    book = plan(time_limit_s=1e-6)
    assert book.options["stopped_early"]
    assert vr.audit(book).holds
    asked = iter(range(10**9))
    stopped = plan(should_stop=lambda: next(asked) > 40)
    assert stopped.options["stopped_early"]
    assert stopped.claims.num_anonymized == len(HOMES)
    few = vr.Problem(CITY, [vr.Trip(0, 0)], HOMES[:6])
    slow = {"class costs": 0.6}  # seconds; the first half of the time is for the exact partition
    halved = plan(few, time_limit_s=1, progress=lambda told: sleep(slow.pop(told.stage, 0)))
    assert halved.options["stopped_early"] and not slow


def test_simulated_days_are_the_same_for_all_partitions_and_more_expensive_than_without_hiding() -> None:
    pytest.importorskip("pyvrp")
    terms = vr.Terms((vr.Van(0, 0),) * 2, capacity=24, iterations=30)
    one, other = (
        vr.simulate_days(book, terms, 3, orders_per_day=4) for book in (usual_plan(), vr.solve(PROBLEM, PRIVACY))
    )
    assert [day.direct_cost for day in one.days] == [day.direct_cost for day in other.days]
    assert all(day.num_orders == 4 <= 3 * day.num_touched <= day.num_stops for day in one.days)
    assert one.extra == pytest.approx(one.cost - one.direct_cost)
    assert one.extra > 0
    assert one == vr.simulate_days(usual_plan(), terms, 3, orders_per_day=4)
    told: list[vr.Progress] = []
    some = vr.simulate_days(
        usual_plan(), terms, 3, orders_per_day=4, progress=told.append, should_stop=lambda: told[-1].stage == "days"
    )
    assert ({*some.days}, told[-1].total) == ({one.days[0]}, 3)
    with pytest.raises(vr.InvalidInputError, match="terms: expected terms that every day"):
        vr.simulate_days(usual_plan(), vr.Terms((vr.Van(0, 0),), capacity=3, iterations=5), 1, orders_per_day=9)
