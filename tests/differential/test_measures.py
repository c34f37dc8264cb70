"""Distances in metres, three times: the planner's, the auditor's, and Floyd and Warshall's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

import veilroute as vr
from veilroute.auditing import Spread, survey_problem
from veilroute.covering import far_matrix, find_watchers
from veilroute.domain import EARTH_RADIUS_M, MEASURES, street_domain

Table = list[list[float]]
ORIGINS = ((24.94, 60.17), (151.2, -33.86), (-0.001, 0.0))
"""Helsinki, Sydney, and where the degrees change their sign."""


@st.composite
def towns(draw: st.DrawFn) -> vr.Domain:
    """Up to eight junctions; some streets are one-way, some longer than the crow flies, parts may not be joined."""
    rng = draw(st.randoms(use_true_random=True))
    num, unit = rng.randint(4, 8), draw(st.sampled_from(["seconds", "metres"]))
    west, south = draw(st.sampled_from(ORIGINS))
    lonlat = [(west + rng.randrange(40) / 10_000, south + rng.randrange(40) / 10_000) for _ in range(num)]
    pairs = [(rng.randrange(num), rng.randrange(num)) for _ in range(rng.randint(num, 3 * num))]
    if draw(st.booleans()):
        pairs += [(i, (i + 1) % num) for i in range(num)]
    pairs += [(b, a) for a, b in pairs if rng.random() < 0.5]
    lengths = [round(rng.uniform(5, 300), rng.choice((0, 1))) for _ in pairs]
    # A fast detour may be the cheapest way and not the shortest.
    costs = [round(metres) if unit == "metres" else round(metres / rng.choice((4, 10)), 1) for metres in lengths]
    return street_domain(
        lonlat=lonlat,
        tails=[a for a, _ in pairs],
        heads=[b for _, b in pairs],
        costs=costs,
        lengths=lengths,
        unit=unit,
        labels=[1000 + 7 * i for i in range(num)],
    )


def all_distances(domain: vr.Domain, measure: str) -> Table:
    """From every node to every node, by Floyd and Warshall or by the angle between two places."""
    assert domain.streets is not None
    num = domain.num_nodes
    if measure == "straight":
        places = domain.streets.lonlat.tolist()
        return [[_angle(a, b) * EARTH_RADIUS_M for b in places] for a in places]
    table = [[0.0 if a == b else math.inf for b in range(num)] for a in range(num)]
    tails, heads, costs = (array.tolist() for array in domain.edge_arrays())
    weights = costs if measure == "cost" else domain.streets.shortest.tolist()
    for tail, head, weight in zip(tails, heads, weights, strict=True):
        table[tail][head] = min(table[tail][head], weight)
        if measure == "walking":
            table[head][tail] = min(table[head][tail], weight)
    for via in range(num):
        for a in range(num):
            for b in range(num):
                table[a][b] = min(table[a][b], table[a][via] + table[via][b])
    return table


def _angle(a: list[float], b: list[float]) -> float:
    """Vincenty's formula on the sphere, which is exact for near and far places alike."""
    (lon1, lat1), (lon2, lat2) = (map(math.radians, place) for place in (a, b))
    across = math.cos(lat2) * math.sin(lon2 - lon1)
    along = math.cos(lat1) * math.sin(lat2) - math.sin(lat1) * math.cos(lat2) * math.cos(lon2 - lon1)
    return math.atan2(
        math.hypot(across, along),
        math.sin(lat1) * math.sin(lat2) + math.cos(lat1) * math.cos(lat2) * math.cos(lon2 - lon1),
    )


def bounds(table: Table) -> Iterator[float]:
    """Radii that matter: distances that occur along the streets, and halfway between any two that occur."""
    found = sorted({d for row in table for d in row if 0 < d < math.inf})
    for low, high in zip([0.0, *found], [*found, (found or [1.0])[-1] * 2], strict=False):
        if high - low > 1e-3:
            yield (low + high) / 2


@st.composite
def questions(draw: st.DrawFn) -> tuple[vr.Problem, vr.Privacy, Table, Table]:
    """A problem whose radius and ell are told in any measures, with the tables of distances behind them."""
    domain = draw(towns())
    rng = draw(st.randoms(use_true_random=True))
    tables, amounts = [], []
    for measure in (seen := draw(st.sampled_from(MEASURES)), apart := draw(st.sampled_from(MEASURES))):
        table = all_distances(domain, measure)
        choices = list(bounds(table))
        if measure != "straight":  # to the metre as people say it; a straight line never is
            choices += sorted({d for row in table for d in row if 0 < d < math.inf})
        tables.append(table)
        amounts.append(rng.choice(choices))
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    ends = rng.sample(labels, 2)
    problem = vr.Problem(
        domain,
        [vr.Trip(ends[0], ends[draw(st.integers(0, 1))])],
        rng.sample(labels, rng.randint(3, min(6, len(labels)))),
        vr.WithinDistance(amounts[0], seen),
    )
    privacy = vr.Privacy(k=2, ell=amounts[1], spread=rng.choice(("witness", "all-pairs")), measure=apart)
    return problem, privacy, tables[0], tables[1]


@given(questions())
def test_who_sees_whom_and_who_stands_far_from_whom(question: tuple[vr.Problem, vr.Privacy, Table, Table]) -> None:
    problem, privacy, seen, apart = question
    assert isinstance(problem.visibility, vr.WithinDistance)
    reach, limit = problem.visibility.radius * (1 + 1e-9), privacy.ell * (1 - 1e-9)
    nodes = [problem.candidate_nodes[i] for i in problem.counted]
    survey, ours = survey_problem(problem), find_watchers(problem.domain, problem.visibility, nodes)
    far, spread = far_matrix(problem.domain, nodes, privacy), Spread(survey, privacy)
    for i, (position, a) in enumerate(zip(problem.counted, nodes, strict=True)):
        plain = [seer for seer in range(problem.domain.num_nodes) if seen[seer][a] <= reach]
        assert ours[i].tolist() == sorted(survey.watchers[position]) == plain
        for j, (other, b) in enumerate(zip(problem.counted, nodes, strict=True)):
            is_far = i != j and min(apart[a][b], apart[b][a]) >= limit
            assert bool(far[i, j]) == is_far
            assert i == j or spread.is_far(1 << position | 1 << other) == is_far
