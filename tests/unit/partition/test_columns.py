"""Column generation: bounds that hold, cuts that are violated, answers in time."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import veilroute as vr
from strategies import rooms
from veilroute import Progress, Watch
from veilroute.covering import KAndEll, as_members, k_and_ell, prepare_task
from veilroute.partition import (
    ClassSpace,
    Prices,
    first_partition,
    separate,
)


def space_of(problem: vr.Problem, privacy: vr.Privacy, *, m: int | None = None) -> ClassSpace:
    space = ClassSpace(task := prepare_task(problem), k_and_ell(problem, task, privacy), m=m)
    space.prepare(Watch())
    return space


@pytest.mark.parametrize("seed", range(18))
def test_the_classes_found_are_those_that_do_not_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, is_loose, num = 2 + seed % 2, seed % 3 > 0, 8
    square = vr.grid_domain(["....."] * 4)
    labels = [square.label(node) for node in rng.permutation(20).tolist()]
    trips = [vr.Trip(labels[0], labels[1]), vr.Trip(labels[2], labels[3], 2.0)][: 1 + seed % 4 // 3]
    far = np.triu(rng.random((num, num)) < 0.4 + 0.1 * (seed % 5), 1)
    rule = KAndEll.of(far | far.T, k, "witness" if is_loose else "all-pairs")
    space = ClassSpace(prepare_task(vr.Problem(square, trips, labels[4 : 4 + num])), rule)
    space.prepare(Watch())
    cuts = tuple(as_members(cut) for cut in ((0, 1, 2), (1, 3, 4, 5, 6)))[: seed % 3]
    prices = Prices(rng.random(num) * 4, cuts, rng.random(len(cuts)) * 2)

    def cliques(group: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
        return [each for each in combinations(group, size) if space.far[np.ix_(each, each)].sum() == size * (size - 1)]

    def is_class(group: tuple[int, ...]) -> bool:
        if not is_loose:
            return len(group) < 2 * k and bool(cliques(group, len(group)))
        apart = cliques(group, k)
        return bool(apart) and not any({*one}.isdisjoint(other) for one, other in combinations(apart, 2))

    costs: dict[tuple[int, ...], float] = {}
    for size in range(k, num + 1):
        if listed := [group for group in combinations(range(num), size) if is_class(group)]:
            sets = np.array(listed, dtype=np.int32)
            costs |= dict(zip(listed, prices.reduce(sets, space.measure(sets, Watch())[1]), strict=True))
    for threshold in (-2.0, 0.0, 1e9):
        columns = space.search(prices, threshold, Watch()).columns
        found = {tuple(row[row >= 0].tolist()): cost for row, cost in zip(columns.sets, columns.reduced, strict=True)}
        assert found == pytest.approx({group: cost for group, cost in costs.items() if cost <= threshold})


def test_cuts_are_odd_and_violated() -> None:
    # Five members in a ring of half pairs: each three of them keep to their cut, all five do not.
    ring = np.array([(i, (i + 1) % 5, -1) for i in range(5)], dtype=np.int32)
    assert separate(5, ring, np.full(5, 0.5), [], 10) == [(0, 1, 2, 3, 4)]
    triangle = np.array([(0, 1), (1, 2), (0, 2), (3, 4)], dtype=np.int32)
    assert separate(5, triangle, np.array([0.5, 0.5, 0.5, 1.0]), [], 10) == [(0, 1, 2)]
    assert separate(5, triangle, np.array([0.5, 0.5, 0.5, 1.0]), [as_members((0, 1, 2))], 10) == []
    whole = np.array([(0, 1), (2, 3)], dtype=np.int32)
    assert separate(4, whole, np.ones(2), [], 10) == []


@pytest.mark.parametrize("k", [2, 3])
def test_the_first_partition_comes_with_a_mac_that_it_keeps_to(k: int) -> None:
    problem = rooms(30, 7, num_trips=2, radius=1)
    privacy = vr.Privacy(k=k)
    space = space_of(problem, privacy)
    everybody_far = ~np.eye(30, dtype=bool)
    first = first_partition(space.task, KAndEll.of(everybody_far, k, "witness"))
    assert sorted(i for members in first.classes for i in members) == list(range(30))
    rank = np.argsort(space.order)
    total = 0.0
    for members in first.classes:
        measured = space.measure(np.array([rank[list(members)]], dtype=np.int32), Watch())
        assert measured is not None
        total += float(measured[1][0])
    assert 0 < total / 30 <= first.mac + 1e-9


LINE = vr.grid_domain(["." * 90])
#: Nobody stands far from anybody but the last one: a class of all would be too large to be walked.
NEIGHBOURS = vr.Problem(LINE, [vr.Trip((0, 0), (0, 89))], [(0, c) for c in range(1, 41)] + [(0, 88)])


@pytest.mark.parametrize(("problem", "ell", "apr"), [(rooms(60, 1), 1, 1.0), (NEIGHBOURS, 45, 0.0)])
def test_stopped_at_once(problem: vr.Problem, ell: float, apr: float) -> None:
    playbook = vr.solve(problem, vr.Privacy(k=2, ell=ell), should_stop=lambda: True)
    assert playbook.status == "feasible"
    assert playbook.apr >= apr
    assert vr.audit(playbook).holds


def test_stopped_on_the_way_the_bound_holds_and_the_gap_closes() -> None:
    problem, privacy = rooms(40, 4), vr.Privacy(k=3)
    told: list[Progress] = []
    optimum = vr.solve(problem, privacy, progress=told.append)
    assert optimum.status == "optimal"
    assert optimum.mac is not None
    bounds = [report.bound for report in told if report.bound is not None]
    assert bounds == sorted(bounds) and next(each for each in told if each.stage == "bounds").bound is not None
    gaps = [report.gap for report in told if report.gap is not None]
    assert gaps[-1] <= gaps[0]
    num_bounded = 0
    for num_reports in (1, 5, 20, 60):
        seen: list[Progress] = []
        stopped = vr.solve(problem, privacy, progress=seen.append, should_stop=partial(has_told, seen, num_reports))
        assert stopped.mac is not None
        assert stopped.mac >= optimum.mac - 1e-12
        for bound in (stopped.mac_lower_bound, *(each.bound for each in seen)):
            assert bound is None or bound <= optimum.mac * (1 + 1e-9)
        num_bounded += stopped.status == "feasible" and stopped.mac_lower_bound is not None
        assert (stopped.certificate is None) == (stopped.mac_lower_bound is None)
        assert vr.audit(stopped).holds
    assert num_bounded > 0


def has_told(seen: list[Progress], num: int) -> bool:
    return len(seen) >= num


def test_members_who_cannot_be_grouped_are_left_out_with_a_proof() -> None:
    """Two one-way branches with 9 and 5 candidates under k = 3, and one of a single candidate."""
    edges = [(0, 1), (0, 10), (0, 15), (9, 16), (14, 16), (15, 16)]
    edges += [(i, i + 1) for i in range(1, 9)] + [(i, i + 1) for i in range(10, 14)]
    domain = vr.Domain.from_edges(17, [a for a, _ in edges], [b for _, b in edges], [1] * len(edges))
    problem = vr.Problem(domain, [vr.Trip(0, 16)], list(range(1, 16)))
    playbook = vr.solve(problem, vr.Privacy(k=3))
    assert playbook.status == "optimal"
    assert playbook.claims.num_anonymized == playbook.claims.num_anonymizable == 14
    assert playbook.mac == 0
    assert playbook.certificate is not None
    assert playbook.certificate.count is not None
    report = vr.audit(playbook)
    assert report.holds
    assert all(verdict.checked for verdict in report.claims), report.to_text()
