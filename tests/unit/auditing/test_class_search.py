"""The search for classes and the prices of their walks, against lists of everything."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import reduce
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
import veilroute as vr
from certificates import list_classes
from veilroute.auditing import (
    ClassSearch,
    Effort,
    ReplayedPlaybook,
    SetPrices,
    Survey,
    TooMuchError,
    Workbench,
    can_pad,
    count_anonymizable,
    price_prefixes,
    price_walks,
    replay_playbook,
    survey_problem,
)


def replayed_of(problem: vr.Problem, privacy: vr.Privacy) -> ReplayedPlaybook:
    return replay_playbook(vr.solve(problem, privacy), None)


def bench_of(problem: vr.Problem, privacy: vr.Privacy) -> Workbench:
    return Workbench(replayed_of(problem, privacy), math.inf)


@given(problem=strategies.problems(max_nodes=9, max_candidates=6), half=st.integers(0, 2))
def test_prices_of_sets(problem: vr.Problem, half: int) -> None:
    assume(problem.counted)
    bench = bench_of(problem, vr.Privacy(k=1))
    prices = SetPrices(bench.survey, bench.members, half, Effort(math.inf))
    expected = [price_walks(bench.survey, trip, bench.members) for trip in bench.survey.trips]
    for chosen in range(1 << len(bench.members)):
        assert prices.costs(chosen) == pytest.approx([costs[chosen] for costs in expected])


def test_prices_by_table_and_by_sweeps() -> None:
    domain = vr.generate_rooms(20, 24, seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 6, seed=3)
    for radius in (0, 4):
        problem = vr.Problem(domain, [vr.Trip(start, goal)], candidates, vr.WithinDistance(radius))
        bench = bench_of(problem, vr.Privacy(k=3))
        assert isinstance(bench.prices, SetPrices)
        assert (bench.prices._trips[0].tables is not None) == (radius == 0)
        expected = price_walks(bench.survey, bench.survey.trips[0], bench.members, math.inf)
        for chosen in range(1 << len(bench.members)):
            assert bench.prices.costs(chosen) == (expected[chosen],)


@given(
    problem=strategies.problems(max_nodes=10, max_candidates=7),
    privacy=strategies.privacies(),
    seed=st.integers(0, 1_000_000),
)
def test_search_finds_exactly_the_classes_within_the_limit(problem: vr.Problem, privacy: vr.Privacy, seed: int) -> None:
    assume(len(problem.counted) >= privacy.k)
    bench = bench_of(problem, privacy)
    world = list_classes(problem, privacy)
    rng = Random(seed)
    num = len(bench.members)
    scale = rng.choice([0.1, 1, 4])
    is_free = rng.random() < 0.3

    def draw(least: float, most: float) -> float:  # without shares sums are exact: then the least is the limit itself
        return rng.randint(int(least * 4), int(most * 4)) / 4 if is_free else rng.uniform(least, most) * scale

    duals = [draw(-0.25, 1) for _ in range(num)]
    cuts = [(sum(1 << i for i in rng.sample(range(num), 3)), draw(0, 1)) for _ in range(2 if num > 2 else 0)]
    expected = {}
    for group, share in zip(world.classes, world.shares, strict=True):
        inside = sum(1 << bench.members.index(world.task.members[i]) for i in group)
        reduced = 0.0 if is_free else share
        reduced -= sum(dual for i, dual in enumerate(duals) if inside >> i & 1)
        reduced += sum(price * ((inside & cut).bit_count() // 2) for cut, price in cuts)
        expected[inside] = reduced
        assert is_free or bench.prices.share(inside) == pytest.approx(share, abs=1e-12)
    limit = min(expected.values()) if is_free and expected else draw(-1, 2)
    expected = {group: reduced for group, reduced in expected.items() if reduced <= limit}
    search = bench.search(duals, cuts, limit, is_free=is_free)
    assert isinstance(search, ClassSearch)
    assert search.is_complete
    assert search.found == pytest.approx(expected, abs=1e-12)


@st.composite
def grids(draw: st.DrawFn) -> vr.Problem:
    """Small 4-way grids, where walks can be padded; the start may stand in a cell without a neighbour."""
    rng = Random(draw(st.integers(0, 1_000_000)))
    rows = ["".join(rng.choice("....@") for _ in range(4)) for _ in range(3)]
    domain = vr.grid_domain(["." + rows[0][1:], *rows[1:]])
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(cells[0], rng.choice(cells)) for _ in range(rng.choice([1, 1, 2]))]
    return vr.Problem(domain, trips, rng.sample(cells, min(5, len(cells))), vr.WithinDistance(rng.choice([0, 0, 1])))


@given(
    problem=st.one_of(grids(), strategies.problems(max_nodes=8, max_candidates=5)),
    privacy=strategies.privacies(),
    m=st.integers(1, 7),
    seed=st.integers(0, 1_000_000),
)
def test_prefixes_are_priced_and_searched_as_by_trying_all(
    problem: vr.Problem, privacy: vr.Privacy, m: int, seed: int
) -> None:
    """Set by set against all at once, and the search against every class that it could list."""
    assume(len(problem.counted) >= privacy.k)
    replayed = replayed_of(problem, replace(privacy, m=m))
    bench = Workbench(replayed, math.inf, m)
    num = len(bench.members)
    total = math.fsum(trip.weight for trip in problem.trips)
    by_trip = [price_prefixes(bench.survey, trip, bench.members, m, 1e12) for trip in bench.survey.trips]
    expected = [
        math.fsum(trip.weight / total * prices[chosen] for trip, prices in zip(problem.trips, by_trip, strict=True))
        for chosen in range(1 << num)
    ]
    for chosen in range(1, 1 << num):
        assert bench.prices.share(chosen) == pytest.approx(expected[chosen], abs=1e-12)
        assert (bench.prices.share(chosen) < math.inf) == (expected[chosen] < math.inf)
    rng = Random(seed)
    is_free = rng.random() < 0.3

    def draw(least: float, most: float) -> float:  # see above
        return rng.randint(int(least * 4), int(most * 4)) / 4 if is_free else rng.uniform(least, most)

    gains = [draw(-0.25, 1) for _ in range(num)]
    cuts = [(sum(1 << i for i in rng.sample(range(num), 3)), draw(0, 1)) for _ in range(2 if num > 2 else 0)]
    rule, listed = bench.rule, {}
    for chosen in range(1, 1 << num):
        inside = [i for i in range(num) if chosen >> i & 1]
        parts = [sum(1 << i for i in inside[:at]) for at in range(len(inside))]
        is_class = all(rule.may_join(part, i) for part, i in zip(parts, inside, strict=True))
        reduced = (0.0 if is_free else expected[chosen]) - sum(gains[i] for i in inside)
        reduced += sum(price * ((chosen & cut).bit_count() // 2) for cut, price in cuts)
        is_class &= rule.k <= len(inside) <= rule.max_size and rule.qualifies(chosen)
        if is_class and expected[chosen] < math.inf:
            listed[chosen] = reduced
    limit = min(listed.values()) if is_free and listed else draw(-1, 1)
    listed = {group: reduced for group, reduced in listed.items() if reduced <= limit}
    search = bench.search(gains, cuts, limit, is_free=is_free)
    assert search.is_complete
    assert search.found == pytest.approx(listed, abs=1e-12)


@given(problem=strategies.problems(max_nodes=9, max_candidates=6), privacy=strategies.privacies())
def test_who_could_be_anonymized(problem: vr.Problem, privacy: vr.Privacy) -> None:
    assume(len(problem.counted) >= privacy.k)
    world = list_classes(problem, privacy)
    playbook = vr.solve(problem, privacy)
    for classes in (playbook.classes, ()):  # with nobody anonymized, everybody is looked at
        replayed = replay_playbook(replace(playbook, classes=classes), None)
        assert count_anonymizable(replayed, None) == len({i for group in world.classes for i in group})


@pytest.mark.parametrize("seed", range(60))
def test_who_could_be_anonymized_after_earlier_trips(seed: int) -> None:
    """Each history is part of the one before, as where people come later; what a class is, see test_histories."""
    rng = Random(seed)
    left = rng.sample(range(1, 9), 6)
    domain = vr.Domain.from_edges(10, range(9), range(1, 10), [1] * 9)
    candidates, past = left, dict.fromkeys(left, tuple(left))
    while (size := rng.randint(0, len(left) - 1)) >= 2:
        left = rng.sample(left, size)
        past |= dict.fromkeys(left, tuple(left))
    problem = vr.Problem(domain, [vr.Trip(0, 9)], candidates, past=vr.Past(tuple(past.items())))
    privacy = vr.Privacy(k=rng.choice([2, 3]), ell=rng.randint(1, 4), spread=rng.choice(["witness", "all-pairs"]))
    replayed = replay_playbook(replace(vr.solve(problem, privacy), classes=()), None)
    bench = Workbench(replayed, math.inf)
    classes = [group for group in range(1, 1 << len(bench.members)) if bench.rule.qualifies(group)]
    assert count_anonymizable(replayed, None) == reduce(operator.or_, classes, 0).bit_count()


def test_the_search_gives_up_beyond_its_effort() -> None:
    domain = vr.generate_rooms(20, 24, seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 10, seed=3)
    replayed = replayed_of(vr.Problem(domain, [vr.Trip(start, goal)], candidates), vr.Privacy(k=2))
    with pytest.raises(TooMuchError):
        Workbench(replayed, 100)
    bench = Workbench(replayed, 2_300)
    assert not bench.search([98.0] * 10, (), 0.0).is_complete
    assert bench.search([98.0] * 10, (), -1e9).is_complete
    # Many steps; and one, with four sweeps over the map of four visits a node.
    for m, effort in ((60, 10_000), (1, 4 * 4 * domain.num_nodes - 1)):
        with pytest.raises(TooMuchError):
            price_prefixes(bench.survey, bench.survey.trips[0], bench.members[:4], m, effort)


def test_where_walks_can_be_padded(line5: vr.Domain) -> None:
    def survey_of(domain: vr.Domain, start: object, goal: object) -> Survey:
        return survey_problem(vr.Problem(domain, [vr.Trip(start, goal)], [goal]))

    assert can_pad(survey_of(vr.grid_domain(["....", ".@..", "...."]), (0, 0), (2, 3)))
    assert can_pad(survey_of(line5, 0, 4))
    triangle = vr.Domain.from_edges(3, [0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2], [1] * 6)
    one_way = vr.Domain.from_edges(2, [0], [1], [1])
    uneven = vr.Domain.from_edges(2, [0, 1], [1, 0], [1, 2])
    assert not any(can_pad(survey_of(domain, 0, 1)) for domain in (triangle, one_way, uneven))
