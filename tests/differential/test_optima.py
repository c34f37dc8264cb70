"""Optimal playbooks against brute force over all set partitions, by each way that the exact planner may go."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veilroute as vr
from reference import best_partition
from strategies import privacies, problems
from veilroute.partition import other_limits

WAYS = {
    "tables": {},
    "columns": {"tried": 0},
    "programmes": {"tried": 0, "combined": 0, "many_columns": 0},
    "strolls": {"tried": 0, "large_k": 2, "few": 0},
    "strolls and programmes": {"tried": 0, "large_k": 2, "few": 0, "combined": 0},
}


def check(problem: vr.Problem, privacy: vr.Privacy, limits: dict[str, int]) -> None:
    assume(privacy.k <= len(problem.counted))
    with other_limits(**limits):
        playbook = vr.solve(problem, privacy)
    coverable, anonymized, mac = best_partition(problem, privacy)
    assert playbook.claims.num_coverable == coverable
    assert playbook.claims.num_anonymized == anonymized
    assert playbook.status == ("optimal" if anonymized else "infeasible")
    assert playbook.mac == (None if mac is None else pytest.approx(mac, abs=1e-9))
    report = vr.audit(playbook)
    assert report.holds, report.to_text()


@st.composite
def grid_problems(draw: st.DrawFn, max_candidates: int = 5) -> vr.Problem:
    """Small grids with walls, where walks can be padded; beside some of them three nodes in a ring, so that it is not
    seen that they can."""
    rng = Random(draw(st.integers(0, 2**32)))
    height, width = rng.randint(2, 4), rng.randint(2, 5)
    rows = ["".join(rng.choice("....@") for _ in range(width)) for _ in range(height)]
    domain = vr.grid_domain(["." * width, *rows[1:]])
    nodes = range(domain.num_nodes)
    if draw(st.booleans()):
        ring = [domain.num_nodes + i for i in range(3)]
        tails, heads, _ = (x.tolist() for x in domain.edge_arrays())
        tails, heads = [*tails, *ring, *ring], [*heads, *ring[1:], ring[0], ring[2], *ring[:2]]
        domain = vr.Domain.from_edges(len(nodes) + 3, tails, heads, [1] * len(tails))
    labels = [domain.label(node) for node in nodes]
    trips = [vr.Trip(rng.choice(labels), rng.choice(labels), rng.choice([1.0, 2.0])) for _ in range(rng.randint(1, 2))]
    candidates = rng.sample(labels, min(len(labels), rng.randint(2, max_candidates)))
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(rng.choice([0, 0, 1])))


@pytest.mark.parametrize("limits", WAYS.values(), ids=WAYS)
@given(problem=problems(max_nodes=9, max_candidates=6), privacy=privacies(max_k=4))
def test_whole_routes(limits: dict[str, int], problem: vr.Problem, privacy: vr.Privacy) -> None:
    check(problem, privacy, limits)


@pytest.mark.slow
@pytest.mark.parametrize("limits", WAYS.values(), ids=WAYS)
@settings(max_examples=400)
@given(problem=problems(max_nodes=11, max_candidates=7, max_trips=3), privacy=privacies(max_k=5))
def test_whole_routes_of_larger_problems(limits: dict[str, int], problem: vr.Problem, privacy: vr.Privacy) -> None:
    check(problem, privacy, limits)


@pytest.mark.parametrize("limits", [WAYS["tables"], WAYS["columns"]], ids=["tables", "columns"])
@given(problem=grid_problems() | problems(max_nodes=7, max_candidates=4), privacy=privacies(), m=st.integers(1, 14))
def test_routes_that_part(limits: dict[str, int], problem: vr.Problem, privacy: vr.Privacy, m: int) -> None:
    check(problem, vr.Privacy(privacy.k, privacy.ell, m, privacy.spread), limits)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [WAYS["tables"], WAYS["columns"]], ids=["tables", "columns"])
@settings(max_examples=300)
@given(problem=grid_problems(max_candidates=7), privacy=privacies(), m=st.integers(1, 16))
def test_routes_that_part_on_larger_grids(
    limits: dict[str, int], problem: vr.Problem, privacy: vr.Privacy, m: int
) -> None:
    check(problem, vr.Privacy(privacy.k, privacy.ell, m, privacy.spread), limits)
