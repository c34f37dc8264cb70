"""Searches under a bound on the risk, and certificates of randomised playbooks, against lists of everything."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

import veilroute as vr
from reference import World
from risk_plans import small_problem
from scipy_optima import Oracle
from veilroute import Certificate, DualPrices
from veilroute.auditing import (
    ClassRule,
    PrefixPrices,
    ReplayedPlaybook,
    Workbench,
    examine_mixture,
    find_nodes_that_matter,
    members_of,
    replay_playbook,
    whole_and_rest,
)


def replayed_of(problem: vr.Problem, privacy: vr.Privacy) -> ReplayedPlaybook:
    return replay_playbook(vr.solve(problem, privacy), None)


@pytest.mark.parametrize("seed", range(40))
def test_search_for_classes_under_a_prior_misses_none_that_is_needed(seed: int) -> None:
    rng = Random(seed)
    problem = small_problem(rng, rng.randint(4, 8))
    beta, ell = rng.choice([0.5, 0.4, 0.7, 1 / 3]), rng.choice([1, 3, 5, 8])
    m = rng.choice([None, None, 7])
    privacy = vr.Privacy(risk=beta, ell=ell, spread=rng.choice(["witness", "all-pairs"]), m=m)
    replayed = replayed_of(problem, privacy)
    assert privacy.spread == "all-pairs" or set(replayed.within_reach) == set(replayed.hideable)
    bench = Workbench(replayed, math.inf, m)
    num = len(bench.members)
    scale = rng.choice([0.02, 0.1, 0.5])
    gains = [rng.uniform(-0.2, 1) * scale for _ in range(num)]
    limit = rng.uniform(-0.5, 1) * scale
    cuts = [(sum(1 << i for i in rng.sample(range(num), 3)), rng.random() * scale)] if num > 2 else []
    search = bench.search(gains, cuts, limit)
    assert search.is_complete
    classes = {group for group in range(1, 1 << num) if bench.rule.qualifies(group)}
    for group in classes:
        parts = (part for part in range(1, group) if part & ~group == 0)
        is_needed = not any(part in classes and group ^ part in classes for part in parts)
        reduced = bench.prices.share(group) - sum(gains[i] for i in members_of(group))
        reduced += sum(price * ((group & inside).bit_count() // 2) for inside, price in cuts)
        if group in search.found:
            assert search.found[group] == pytest.approx(reduced)
        elif is_needed:
            assert reduced > limit - 1e-12
    assert search.found.keys() <= classes


@pytest.mark.parametrize("seed", range(40))
def test_search_for_mixtures_finds_exactly_those_within_the_limit(seed: int) -> None:
    rng = Random(seed)
    problem = small_problem(rng, rng.randint(4, 8))
    beta = rng.choice([0.5, 0.4, 0.7, 1 / 3, 0.3, 0.45])
    m = rng.choice([None, None, 7])
    privacy = vr.Privacy(risk=beta, ell=rng.choice([1, 3, 5]), mechanism="randomised", m=m)
    replayed = replayed_of(problem, privacy)
    size, rest = whole_and_rest(beta)
    assert size == privacy.k
    rule = ClassRule(size, replayed.rule.close, is_all_pairs=True, largest=size)
    bench = Workbench(replayed, math.inf, m, replayed.survey.coverable, rule)
    num = len(bench.members)
    scale = rng.choice([0.1, 1, 4])
    gains = [rng.uniform(-0.2, 1) * scale for _ in range(num)]
    limit = rng.uniform(-1, 1) * scale
    expected = {}
    for group in combinations(range(num), size):
        mask = sum(1 << i for i in group)
        if bench.rule.is_far(mask) and bench.prices.share(mask) < math.inf:
            worst = min(mixture_cost(bench, mask, gains, j, rest) for j in group)
            if worst <= limit:
                expected[mask] = worst
    assert bench.search(gains, (), limit, rest=rest).found == pytest.approx(expected)


def mixture_cost(bench: Workbench, mask: int, gains: list[float], less: int, rest: float) -> float:
    """The reduced cost of a class in which one member counts for less, one term at a time."""
    counts = {i: rest if i == less else 1.0 for i in members_of(mask)}
    gained = sum(gains[i] * count for i, count in counts.items())
    if isinstance(bench.prices, PrefixPrices):
        return bench.prices.share(mask, less, rest) - gained
    paid = 0.0
    for cost, trip, share in zip(bench.prices.costs(mask), bench.survey.trips, bench.survey.trip_shares, strict=True):
        for i, count in counts.items():
            c = bench.members[i]
            paid += count * share * (cost - trip.base_costs[c]) * bench.survey.weight(trip, c)
    return paid - gained


def test_prefixes_where_one_counts_for_less() -> None:
    """With a rest of 1 it is the share of the class; with one of 0 that of the others, on whatever walk suits them."""
    bench = Workbench(
        replayed_of(small_problem(Random(3), 6), vr.Privacy(risk=0.5, mechanism="randomised")), math.inf, 6
    )
    assert isinstance(bench.prices, PrefixPrices)
    for group in combinations(range(len(bench.members)), 3):
        mask = sum(1 << i for i in group)
        for i in group:
            assert bench.prices.share(mask, i, 1.0) == pytest.approx(bench.prices.share(mask))
            assert bench.prices.share(mask, i, 0.0) >= bench.prices.share(mask ^ 1 << i) - 1e-9


@pytest.mark.parametrize(
    ("beta", "expected"), [(0.5, (2, 1.0)), (1 / 3, (3, 1.0)), (0.4, (3, 0.5)), (0.7, (2, 3 / 7)), (0.3, (4, 1 / 3))]
)
def test_kinds_of_shares(beta: float, expected: tuple[int, float]) -> None:
    assert whole_and_rest(beta) == pytest.approx(expected)


@pytest.mark.parametrize("beta", [0.5, 0.4])
@pytest.mark.parametrize("m", [None, 9])
def test_certificates_of_randomised_playbooks(beta: float, m: int | None) -> None:
    playbook = vr.solve(small_problem(Random(12), 7), vr.Privacy(risk=beta, mechanism="randomised", m=m))
    assert playbook.status == "optimal"
    certificate = playbook.certificate
    assert certificate is not None
    replayed = replay_playbook(playbook, None)
    m = find_nodes_that_matter(replayed)
    proof = examine_mixture(replayed, certificate, m)
    assert (proof.problems, proof.is_checked, proof.has_bound) == ((), True, True)
    assert proof.effort.endswith("priced and the others bounded")
    duals = certificate.cost.duals

    def problems(**changes: object) -> tuple[str, ...]:
        changed: Certificate = replace(certificate, **changes)  # type: ignore[arg-type]
        found = examine_mixture(replayed, changed, m)
        assert found.has_bound == (not found.problems)
        return found.problems

    members, bound = certificate.members, certificate.bound
    for changes, words in (
        ({"bound": -1.0}, "states the bound -1, which says nothing"),
        ({"bound": bound / 2}, "its bound is enough for an expected MAC sum of"),
        ({"bound": bound + 1}, "states that the expected MAC sum is at least"),
        ({"count": DualPrices((0.0,) * len(duals))}, "has cuts, a count or classes listed"),
        ({"threshold": 1.0}, "has cuts, a count or classes listed"),
        ({"num_enumerated": 1}, "has cuts, a count or classes listed"),
        ({"cost": DualPrices(duals, (vr.Cut(members[:3], 0.0),))}, "has cuts, a count or classes listed"),
        ({"members": members[1:], "cost": DualPrices(duals[1:])}, "does not price "),
        ({"members": (*members, "?"), "cost": DualPrices((*duals, 0.0))}, "prices ?, which are not hidden"),
        ({"cost": DualPrices(tuple(1e12 * dual for dual in duals))}, "too much to be exact"),
    ):
        assert any(words in problem for problem in problems(**changes)), (words, problems(**changes))

    # What all prices are too high by is what the bound may be lower: prices may be off, the bound may not.
    higher, mass = DualPrices(tuple(dual + 0.1 for dual in duals)), replayed.mass(replayed.claimed)
    assert problems(cost=higher) == ()
    assert any("too high" in problem for problem in problems(cost=higher, bound=certificate.bound + 0.1 * mass))


@pytest.mark.parametrize("seed", range(25))
def test_who_can_be_hidden_is_not_called_out_of_reach(seed: int) -> None:
    """Against shares of every set of members who stand apart, by scipy."""
    rng = Random(seed)
    problem = small_problem(rng, 5)
    privacy = vr.Privacy(risk=rng.choice([0.5, 0.4, 1 / 3, 0.6]), ell=rng.choice([4, 6, 9]), mechanism="randomised")
    replayed, best = replayed_of(problem, privacy), Oracle(World(problem), privacy).randomised()
    assert set(replayed.protected) <= set(replayed.within_reach)
    assert replayed.mass(replayed.protected) == pytest.approx(best.hidden)
