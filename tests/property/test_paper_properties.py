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


@given(
    problem=undirected_problems(),
    k=st.integers(1, 4),
    ell=st.sampled_from([0, 1, 2, 3]),
    m=st.sampled_from([None, 1, 4]),
)
def test_the_planner_of_theorem_2_hides_everybody_who_can_be_hidden(
    problem: vr.Problem, k: int, ell: float, m: int | None
) -> None:
    """Theorem 2: on undirected graphs the walk that the proof builds hides every anonymizable candidate."""
    assume(k <= len(problem.counted))
    privacy = vr.Privacy(k=k, ell=ell, m=m)
    playbook, best = vr.solve(problem, privacy, planner="constructive"), vr.solve(problem, privacy)
    assert playbook.claims.num_anonymized == best.claims.num_anonymizable
    assert len(playbook.hidden_classes) == (1 if best.claims.num_anonymizable else 0)
    assert vr.audit(playbook).holds
    if best.mac is not None and playbook.mac is not None:
        assert best.mac <= playbook.mac + 1e-9


@given(problem=undirected_problems(), m=st.sampled_from([None, 1, 3, 8]), data=st.data())
def test_extended_routes_hide_whom_they_hid(problem: vr.Problem, m: int | None, data: st.DataObject) -> None:
    """Lemma Path-Extension: a walk to the start that no secret chose, and any walk on from the goal, reveal nothing."""
    planner = data.draw(st.sampled_from(["optimal", "m-pbp" if m else "pbp", "constructive"]))
    privacy = vr.Privacy(k=data.draw(st.integers(1, 3)), ell=data.draw(st.sampled_from([0, 1, 2])), m=m)
    assume(privacy.k <= len(problem.counted))
    book, trip = vr.solve(problem, privacy, planner=planner), data.draw(st.integers(0, len(problem.trips) - 1))
    rng = data.draw(st.randoms(use_true_random=True))
    ends = problem.trips[trip]
    # Edges lead both ways, so that a walk away from the start is one to it when it is turned round.
    before, after = (wander(problem.domain, end, rng) for end in (ends.start, ends.goal))
    before.reverse()
    assume(before[0] == ends.start or before[0] not in problem.candidates)
    assume(after[-1] == ends.goal or after[-1] not in problem.candidates)
    longer = vr.extend_playbook(book, before=before, after=after, trip=trip)
    assert [(g.members, g.anonymized) for g in longer.hidden_classes] == [
        (g.members, g.anonymized) for g in book.hidden_classes
    ]
    assert (longer.trips[trip].start, longer.trips[trip].goal) == (before[0], after[-1])
    for group, was in zip(longer.hidden_classes, book.hidden_classes, strict=True):
        for member in group.members:
            assert list(group.route_of(member, trip)) == [*before[:-1], *was.route_of(member, trip), *after[1:]]
    report = vr.audit(longer)
    assert report.holds, report.to_text()


def wander(domain: vr.Domain, start: vr.domain.Label, rng: random.Random) -> list[vr.domain.Label]:
    walk = [domain.node(start)]
    for _ in range(rng.randint(0, 4)):
        walk.append(int(rng.choice(domain.indices[domain.indptr[walk[-1]] : domain.indptr[walk[-1] + 1]].tolist())))
    return [domain.label(node) for node in walk]


@pytest.mark.parametrize("partitioner", ["exact", "merge-bb", "df-bb"])
def test_the_counterexample_is_anonymized_whole_only_where_edges_lead_both_ways(partitioner: str) -> None:
    """All five tuples are anonymizable, but t2, t3 exclude t4, t5, and only one side can have t1."""
    privacy, options = vr.Privacy(k=3, ell=1), {"planner": "pbp", "partitioner": partitioner}
    playbook = vr.solve(fork(directed=True), privacy, **options)  # type: ignore[arg-type]
    assert playbook.status == "optimal" if partitioner == "exact" else playbook.search_completed
    claims = playbook.claims
    assert (claims.num_coverable, claims.num_anonymized) == (5, 3)
    assert claims.num_anonymizable == (5 if partitioner == "exact" else None)
    assert set(playbook.hidden_classes[0].members) in ({1, 2, 3}, {1, 4, 5})
    both_ways = vr.solve(fork(directed=False), privacy, **options)  # type: ignore[arg-type]
    assert both_ways.apr == 1
    assert vr.audit(playbook).holds and vr.audit(both_ways).holds


def test_draws_depend_on_the_seed_and_the_mac_of_drawn_beginnings_grows_without_bound() -> None:
    domain = vr.generate_rooms(20, 26, seed=4)
    ends = (domain.label(0), domain.label(domain.num_nodes - 1))
    problem = vr.Problem(domain, [vr.Trip(*ends)], vr.draw_candidates(domain, *ends, 9, seed=1))
    methods: list[tuple[str, int | None, dict[str, Any]]] = [
        ("rbp", 20, {}), ("cbp", 200, {}), ("pbp", None, {"partitioner": "naive"})
    ]  # fmt: skip
    for planner, m, options in methods:
        books = [vr.solve(problem, vr.Privacy(k=2, m=m), planner=planner, seed=seed, **options) for seed in range(4)]
        assert len({book.to_json() for book in books}) == 4, planner
    for planner in ("rbp", "cbp"):
        macs = [vr.solve(problem, vr.Privacy(k=2, m=m), planner=planner, seed=7).mac or 0.0 for m in (100, 400, 1600)]
        # Each step costs one, so four times as many of them cost at least three times as much again.
        assert macs[1] > 2 * macs[0] > 0
        assert macs[2] > 3 * macs[1]
