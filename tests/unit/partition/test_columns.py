"""Column generation: bounds that hold, cuts that are violated, answers in time."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random

import numpy as np
import pytest

import veilroute as vr
from reference import is_spread
from veilroute.arrays import as_members
from veilroute.covering.task import k_and_ell, prepare_task
from veilroute.partition.bitmask import partition_by_bitmask
from veilroute.partition.class_space import ClassSpace, Prices
from veilroute.partition.exact import partition_by_columns
from veilroute.partition.first import first_partition
from veilroute.partition.limits import other_limits
from veilroute.partition.master import separate
from veilroute.progress import Progress, Watch
from veilroute.rules import KAndEll


def rooms(num: int, seed: int = 0, *, radius: float = 0, num_trips: int = 1, side: int = 25) -> vr.Problem:
    domain = vr.generate_rooms(side, side, seed=seed)
    rng = Random(seed)
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(cells), rng.choice(cells), weight) for weight in (1.0, 2.0)[:num_trips]]
    candidates = vr.draw_candidates(domain, trips[0].start, trips[0].goal, num, seed=seed)
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius))


def space_of(problem: vr.Problem, privacy: vr.Privacy, *, m: int | None = None) -> ClassSpace:
    space = ClassSpace(task := prepare_task(problem), k_and_ell(problem, task, privacy), m=m)
    space.prepare(Watch())
    return space


@pytest.mark.parametrize("spread", ["witness", "all-pairs"])
@pytest.mark.parametrize(("k", "ell", "radius", "num_trips"), [(2, 1, 0, 1), (2, 6, 0, 1), (3, 4, 2, 2), (5, 1, 0, 1)])
def test_columns_and_tables_agree(spread: str, k: int, ell: float, radius: float, num_trips: int) -> None:
    problem = rooms(14, 3, radius=radius, num_trips=num_trips)
    privacy = vr.Privacy(k=k, ell=ell, spread=spread)
    task = prepare_task(problem)
    by_table = partition_by_bitmask(problem, task, k_and_ell(problem, task, privacy), watch=Watch())
    by_columns = partition_by_columns(problem, task, k_and_ell(problem, task, privacy), watch=Watch())
    assert by_columns.is_optimal
    assert sum(map(len, by_columns.classes)) == sum(map(len, by_table.classes))
    assert by_columns.least_mean == pytest.approx(by_table.least_mean, abs=1e-9)
    assert by_columns.num_anonymizable == by_table.num_anonymizable
    assert by_columns.certificate is not None


@pytest.mark.parametrize(("k", "m"), [(2, 1), (2, 12), (3, 30), (2, 400)])
def test_columns_and_tables_agree_at_a_finite_m(k: int, m: int) -> None:
    problem = rooms(13, 5)
    privacy = vr.Privacy(k=k, m=m)
    by_columns = vr.solve(problem, privacy)
    with other_limits(tried=20):
        by_table = vr.solve(problem, privacy)
    assert by_columns.status == by_table.status == "optimal"
    assert by_columns.mac == pytest.approx(by_table.mac, abs=1e-9)
    for playbook in (by_columns, by_table):
        assert playbook.certificate is not None
        assert vr.audit(playbook).verdict == "holds"


def test_prefixes_that_do_not_fit_are_those_of_m_pbp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veilroute.covering.prefixes.MAX_BYTES", 1)
    playbook = vr.solve(rooms(13, 5), vr.Privacy(k=2, m=12))
    assert (playbook.status, playbook.mac_lower_bound, playbook.apr) == ("feasible", None, 1)
    assert vr.audit(playbook).holds


@pytest.mark.parametrize(
    ("k", "ell", "spread", "m"),
    [(2, 1, "witness", None), (3, 1, "witness", None), (2, 5, "witness", None), (2, 5, "all-pairs", None),
     (2, 1, "witness", 15), (3, 4, "witness", 15)],
)  # fmt: skip
def test_the_search_finds_every_class_within_a_threshold(k: int, ell: float, spread: str, m: int | None) -> None:
    """Against pricing all sets of up to 2k members, with prices and cuts drawn at random."""
    problem = rooms(9, 2)
    privacy = vr.Privacy(k=k, ell=ell, spread=spread)
    space = space_of(problem, privacy, m=m)
    rng = np.random.default_rng(1)
    cuts = tuple(map(as_members, ((0, 1, 2), (1, 3, 4, 6, 8), (2, 5, 7))))
    prices = Prices(space.simple_prices().duals * rng.uniform(0.5, 3, space.num), cuts, rng.uniform(0, 0.2, 3))
    threshold = 0.6
    found = space.search(prices, threshold, Watch())
    assert found.is_complete
    mine = {
        tuple(row[row >= 0].tolist()): value
        for row, value in zip(found.columns.sets, found.columns.reduced, strict=True)
    }
    expected = {}
    for size in range(k, 2 * k + 1):
        for members in combinations(range(space.num), size):
            if not is_spread(members, space.far, privacy):
                continue
            measured = space.measure(np.array([members], dtype=np.int32), Watch())
            assert measured is not None
            paid = sum(
                dual * (len(set(cut) & set(members)) // 2) for cut, dual in zip(cuts, prices.cut_duals, strict=True)
            )
            reduced = float(measured[1][0]) - float(prices.duals[list(members)].sum()) + paid
            if reduced <= threshold and not splits(members, space, privacy):
                expected[members] = reduced
    assert {members for members in mine if len(members) <= 2 * k} == set(expected)
    assert len(expected) > 3
    for members, reduced in expected.items():
        assert mine[members] == pytest.approx(reduced, abs=1e-9)


def splits(members: tuple[int, ...], space: ClassSpace, privacy: vr.Privacy) -> bool:
    """Whether two classes could be made of one."""
    for size in range(privacy.k, len(members) - privacy.k + 1):
        for part in combinations(members, size):
            rest = tuple(i for i in members if i not in part)
            if is_spread(part, space.far, privacy) and is_spread(rest, space.far, privacy):
                return True
    return False


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


def test_a_first_partition_needs_ways_back() -> None:
    one_way = vr.Domain.from_edges(4, [0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, 1])
    problem = vr.Problem(one_way, [vr.Trip(0, 0)], [1, 2, 3])
    first = first_partition(prepare_task(problem), KAndEll.of(~np.eye(3, dtype=bool), 2, "witness"))
    assert first.mac == math.inf


def test_stopped_at_once_it_still_groups_everybody() -> None:
    problem = rooms(60, 1)
    playbook = vr.solve(problem, vr.Privacy(k=2), should_stop=lambda: True)
    assert playbook.status == "feasible"
    assert playbook.apr == 1
    assert vr.audit(playbook).holds


def test_stopped_at_once_among_neighbours() -> None:
    """Nobody stands far from anybody but the last one: a class of all would be too large to be walked."""
    domain = vr.grid_domain(["." * 90])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 89))], [(0, c) for c in range(1, 41)] + [(0, 88)])
    playbook = vr.solve(problem, vr.Privacy(k=2, ell=45), should_stop=lambda: True)
    assert playbook.status == "feasible"
    assert vr.audit(playbook).holds


@pytest.mark.parametrize("num_reports", [1, 5, 20, 60, 150])
def test_stopped_on_the_way_the_bound_holds(num_reports: int) -> None:
    problem = rooms(40, 4)
    privacy = vr.Privacy(k=3)
    optimum = vr.solve(problem, privacy)
    assert optimum.status == "optimal"
    seen: list[Progress] = []
    stopped = vr.solve(problem, privacy, progress=seen.append, should_stop=lambda: len(seen) >= num_reports)
    assert stopped.mac is not None
    assert optimum.mac is not None
    assert stopped.mac >= optimum.mac - 1e-12
    assert stopped.mac_lower_bound is None or stopped.mac_lower_bound <= optimum.mac + 1e-12
    assert vr.audit(stopped).holds


def test_progress_closes_the_gap() -> None:
    seen: list[Progress] = []
    playbook = vr.solve(rooms(40, 4), vr.Privacy(k=2), progress=seen.append)
    gaps = [report.gap for report in seen if report.gap is not None]
    assert gaps
    assert gaps[-1] <= gaps[0]
    bounds = [report.bound for report in seen if report.bound is not None]
    assert all(bound <= (playbook.mac or 0) * (1 + 1e-9) for bound in bounds)


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


def test_nothing_to_group_among_many() -> None:
    edges = [(0, i) for i in range(1, 15)] + [(i, 15) for i in range(1, 15)]
    domain = vr.Domain.from_edges(16, [a for a, _ in edges], [b for _, b in edges], [1] * len(edges))
    playbook = vr.solve(vr.Problem(domain, [vr.Trip(0, 15)], list(range(1, 15))), vr.Privacy(k=2))
    assert playbook.status == "infeasible"
    assert playbook.claims.num_anonymizable == 0


@pytest.mark.slow
def test_large_classes_have_a_bound_before_they_are_priced_one_by_one() -> None:
    """Was 0 or nearly so, for as long as one cared to wait."""
    seen: list[Progress] = []
    playbook = vr.solve(
        rooms(50, 2),
        vr.Privacy(k=10),
        progress=seen.append,
        should_stop=lambda: bool(seen) and (seen[-1].gap or 1.0) < 0.4,
    )
    assert playbook.gap is not None
    assert playbook.gap < 0.4
    assert playbook.certificate is not None
    smallest = sorted(playbook.certificate.cost.duals)[: playbook.claims.num_anonymized]
    assert playbook.certificate.bound == pytest.approx(sum(smallest))
    assert not playbook.certificate.cost.cuts
