"""What the paper proves or shows about its planners, as tests (sections 3 to 5)."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import veilroute as vr
from strategies import build_domain, build_visibility

FORK = [(0, 1), (1, 2), (2, 3), (3, 6), (1, 4), (4, 5), (5, 6)]
"""The paper's figure "Directed vs. Undirected": s = 0, t1 to t5, g = 6."""


def fork(*, directed: bool) -> vr.Problem:
    pairs = FORK if directed else FORK + [(b, a) for a, b in FORK]
    domain = vr.Domain.from_edges(7, [a for a, _ in pairs], [b for _, b in pairs], [1] * len(pairs))
    return vr.Problem(domain, [vr.Trip(0, 6)], [1, 2, 3, 4, 5])


@st.composite
def undirected_problems(draw: st.DrawFn) -> vr.Problem:
    """Connected, every edge both ways at the same cost; all candidates can be covered."""
    rng = draw(st.randoms(use_true_random=True))
    num = rng.randint(5, 12)
    tree = build_domain(rng, "tree", draw(st.sampled_from(["unit", "integer", "float"])), num)
    tails, heads, costs = (x.tolist() for x in tree.edge_arrays())
    both = {frozenset((a, b)): c for a, b, c in zip(tails, heads, costs, strict=True) if a != b}
    pairs = [tuple(pair) for pair in both] + [tuple(pair)[::-1] for pair in both]
    domain = vr.Domain.from_edges(num, [a for a, _ in pairs], [b for _, b in pairs], [*both.values()] * 2)
    trips = [vr.Trip(rng.randrange(num), rng.randrange(num), rng.choice([1.0, 2.0])) for _ in range(rng.choice([1, 2]))]
    visibility = build_visibility(rng, draw(st.sampled_from(["at", "within", "explicit"])), num)
    return vr.Problem(domain, trips, rng.sample(range(num), rng.randint(3, 5)), visibility)


@pytest.mark.parametrize("planner", ["rbp", "cbp"])
@given(problem=undirected_problems(), k=st.integers(1, 3), m=st.integers(1, 40), seed=st.integers(0, 9))
def test_rbp_and_cbp_give_k_0_m_anonymity_on_undirected_graphs(
    planner: str, problem: vr.Problem, k: int, m: int, seed: int
) -> None:
    """Propositions 3 and 5: every candidate is anonymized, whatever is drawn."""
    assume(k <= len(problem.counted))
    playbook = vr.solve(problem, vr.Privacy(k=k, ell=0, m=m), planner=planner, seed=seed)
    assert playbook.apr == 1
    assert vr.audit(playbook).holds


@given(problem=undirected_problems(), k=st.integers(1, 3), ell=st.sampled_from([0, 1, 2]), data=st.data())
def test_m_pbp_gives_k_ell_m_anonymity_and_becomes_pbp(
    problem: vr.Problem, k: int, ell: float, data: st.DataObject
) -> None:
    """Proposition 4, and section 6.2: m-Pbp hides whom Pbp hides, costs more as m grows, and equals Pbp at last."""
    assume(k <= len(problem.counted))
    options: dict[str, Any] = {"partitioner": data.draw(st.sampled_from(["exact", "merge-bb", "df-bb", "naive"]))}
    whole = vr.solve(problem, vr.Privacy(k=k, ell=ell), planner="pbp", **options)
    longest = max((len(route) for group in whole.classes if group.anonymized for route in group.routes), default=1)
    macs = []
    for m in (1, 2, data.draw(st.integers(1, longest)), longest, longest + 5):
        bounded = vr.solve(problem, vr.Privacy(k=k, ell=ell, m=m), planner="m-pbp", **options)
        assert bounded.claims.num_anonymized == whole.claims.num_anonymized
        assert [group.members for group in bounded.classes] == [group.members for group in whole.classes]
        assert vr.audit(bounded).holds
        macs.append((m, bounded.mac))
        if m >= longest:
            assert bounded.classes == whole.classes
    if whole.mac is not None:
        rising = [mac for _, mac in sorted(macs) if mac is not None]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(rising))
        assert rising[-1] == whole.mac


@given(problem=undirected_problems(), m=st.integers(1, 30))
def test_rbp_does_not_depend_on_k_and_a_larger_m_goes_on_with_its_walk(problem: vr.Problem, m: int) -> None:
    assume(len(problem.counted) >= 2)
    two, one, longer = (
        vr.solve(problem, vr.Privacy(k=k, ell=0, m=length), planner="rbp", seed=5)
        for k, length in ((2, m), (1, m), (2, m + 7))
    )
    assert two.classes == one.classes
    assert [r[:m] for r in longer.classes[0].routes] == [r[:m] for r in two.classes[0].routes]
    for group in longer.classes:
        for trip in range(len(problem.trips)):
            assert all(len(group.route_of(member, trip)) >= m + 7 for member in group.members)


@pytest.mark.parametrize("partitioner", ["exact", "merge-bb", "df-bb"])
def test_the_directed_counterexample_cannot_be_anonymized_whole(partitioner: str) -> None:
    """All five tuples are anonymizable, but t2, t3 exclude t4, t5, and only one side can have t1."""
    playbook = vr.solve(fork(directed=True), vr.Privacy(k=3, ell=1), planner="pbp", partitioner=partitioner)
    assert playbook.status == "optimal"
    assert playbook.claims.num_coverable == 5
    assert playbook.claims.num_anonymized == 3
    if partitioner == "exact":
        assert playbook.claims.num_anonymizable == 5
    hidden = next(group for group in playbook.classes if group.anonymized)
    assert set(hidden.members) in ({1, 2, 3}, {1, 4, 5})
    assert vr.audit(playbook).holds


@pytest.mark.parametrize("partitioner", ["exact", "merge-bb", "df-bb"])
def test_the_undirected_counterexample_is_anonymized_whole(partitioner: str) -> None:
    playbook = vr.solve(fork(directed=False), vr.Privacy(k=3, ell=1), planner="pbp", partitioner=partitioner)
    assert playbook.apr == 1
    assert vr.audit(playbook).holds


@pytest.mark.parametrize("planner", ["rbp", "cbp"])
def test_on_the_directed_counterexample_a_drawn_beginning_may_fail(planner: str) -> None:
    """Once the walk has gone one way, the other way's candidates get Failure; the others are told apart from nobody."""
    problem = fork(directed=True)
    hidden_sets = set()
    for seed in range(12):
        playbook = vr.solve(problem, vr.Privacy(k=3, ell=0, m=3), planner=planner, seed=seed)
        hidden_sets.add(frozenset(x for group in playbook.classes if group.anonymized for x in group.members))
        assert vr.audit(playbook).holds
    assert hidden_sets <= {frozenset(), frozenset({1, 2, 3}), frozenset({1, 4, 5})}
    if planner == "rbp":
        assert hidden_sets == {frozenset({1, 2, 3}), frozenset({1, 4, 5})}


def test_draws_depend_on_the_seed() -> None:
    domain = vr.generate_rooms(20, 26, seed=4)
    ends = (domain.label(0), domain.label(domain.num_nodes - 1))
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 9, seed=1))
    methods: list[tuple[str, int | None, dict[str, Any]]] = [
        ("rbp", 20, {}),
        ("cbp", 200, {}),
        ("pbp", None, {"partitioner": "naive"}),
    ]
    for planner, m, options in methods:
        made = {
            vr.solve(problem, vr.Privacy(k=2, m=m), planner=planner, seed=seed, **options).to_json()
            for seed in range(4)
        }
        assert len(made) == 4, planner


def test_mac_of_drawn_beginnings_grows_without_bound() -> None:
    domain = vr.generate_rooms(20, 26, seed=4)
    ends = (domain.label(0), domain.label(domain.num_nodes - 1))
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 8, seed=1))
    rng = random.Random(1)
    for planner in ("rbp", "cbp"):
        seed = rng.randrange(100)
        macs = [vr.solve(problem, vr.Privacy(k=2, m=m), planner=planner, seed=seed).mac for m in (100, 400, 1600)]
        assert all(mac is not None for mac in macs)
        # Each step costs one, so four times as many of them cost at least three times as much again.
        assert macs[1] > 2 * macs[0]  # type: ignore[operator]
        assert macs[2] > 3 * macs[1]  # type: ignore[operator]
