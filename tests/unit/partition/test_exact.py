from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

import veilroute as vr
from veilroute import Progress, Watch
from veilroute.covering import mask_of
from veilroute.partition import best_partition, largest_spread, mark_needed, other_limits


def test_classes_of_a_line_are_its_halves() -> None:
    """On 0-1-...-5 from 0 to 0, pairing far with near wastes nothing that pairing neighbours would not."""
    tails = [*range(5), *range(1, 6)]
    heads = [*range(1, 6), *range(5)]
    line6 = vr.Domain.from_edges(6, tails, heads, [1] * 10)
    playbook = vr.solve(vr.Problem(line6, [vr.Trip(0, 0)], [1, 2, 4, 5]), vr.Privacy(k=2))
    assert [set(group.members) for group in playbook.classes] == [{1, 2}, {4, 5}]
    assert [group.routes[0].cost for group in playbook.classes] == [4, 10]
    # (4/2 - 1 + 0 + 10/8 - 1 + 0) / 4
    assert playbook.mac == pytest.approx((1 + 0 + 0.25 + 0) / 4)


def test_spread_counts_the_largest_far_subset() -> None:
    # 0 and 1 are near each other, everything else is far.
    far = np.array([0b1100, 0b1100, 0b1011, 0b0111])
    spread = largest_spread(4, far)
    assert spread[0b0011] == 1
    assert spread[0b0111] == 2
    assert spread[0b1111] == 3


@pytest.mark.parametrize("all_pairs", [False, True])
def test_needed_sets_are_the_irreducible_classes_and_their_subsets(all_pairs: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        num, k = 6, int(rng.integers(1, 4))
        near = np.triu(rng.random((num, num)) < 0.4, 1)
        far = [sum(1 << j for j in range(num) if j != i and not near[i, j] and not near[j, i]) for i in range(num)]
        spread = largest_spread(num, np.array(far))

        def is_class(mask: int, spread: npt.NDArray[np.int8] = spread, k: int = k) -> bool:
            return bool(spread[mask] >= k and (not all_pairs or spread[mask] == mask.bit_count()))

        def splits(mask: int) -> bool:
            parts = (part for part in range(1, mask) if part & mask == part)
            return any(is_class(part) and is_class(mask ^ part) for part in parts)

        classes = [mask for mask in range(1, 1 << num) if is_class(mask) and not splits(mask)]
        expected = {mask for mask in range(1, 1 << num) if any(mask & group == mask for group in classes)}
        assert set(np.flatnonzero(mark_needed(num, k, all_pairs, spread)).tolist()) == expected


@pytest.mark.parametrize("max_size", [1, 2, 3, 5])
def test_partition_kernel_tries_every_class(max_size: int) -> None:
    rng = np.random.default_rng(max_size)
    num = 5
    shares = np.where(rng.random(1 << num) < 0.6, rng.random(1 << num), np.inf)
    shares[[mask for mask in range(1 << num) if mask == 0 or mask.bit_count() > max_size]] = np.inf
    columns = [mask for mask in range(1 << num) if np.isfinite(shares[mask])]
    needed = np.array([any(mask & column == mask for column in columns) for mask in range(1 << num)])
    classes, mean = best_partition(np.ones(num), needed, shares, Watch())
    assert mean is not None
    best = (0, 0.0)
    for size in range(num + 1):
        for chosen in itertools.combinations(columns, size):
            union = 0
            for mask in chosen:
                if union & mask:
                    break
                union |= mask
            else:
                best = min(best, (-union.bit_count(), float(sum(shares[mask] for mask in chosen))))
    num_grouped = sum(map(len, classes))
    assert (-num_grouped, mean * num_grouped) == pytest.approx(best)
    assert sum(shares[mask_of(members)] for members in classes) == pytest.approx(best[1])


@pytest.mark.parametrize(("num", "k"), [(16, 13), (15, 8), (16, 16)])
def test_classes_too_large_for_tours_are_tried_by_tables(num: int, k: int) -> None:
    domain = vr.generate_rooms(seed=1)
    start, goal = domain.label(0), domain.label(9)
    problem = vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, num, seed=0))
    playbook = vr.solve(problem, vr.Privacy(k=k))
    assert playbook.status == "optimal"
    assert len(playbook.classes) == 1


def test_classes_too_large_for_anything_are_refused() -> None:
    domain = vr.generate_rooms(seed=1)
    start, goal = domain.label(0), domain.label(9)
    problem = vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, 30, seed=0))
    for m in (None, 10):
        with pytest.raises(vr.InvalidInputError, match=r"Privacy.k: expected at most 12 .* got 13"):
            vr.solve(problem, vr.Privacy(k=13, m=m))


def test_a_met_bound_is_no_optimum_while_more_might_be_anonymized() -> None:
    """Thirteen on a line: stopped before it is known that all of them fit in one class."""
    problem = vr.Problem(vr.grid_domain(["." * 23]), [vr.Trip((0, 0), (0, 22))], [(0, c) for c in range(1, 22)])
    for after in (1, 5, 20, 60):
        looks = itertools.count()
        stop = partial(lambda looks, after: next(looks) >= after, looks, after)
        playbook = vr.solve(problem, vr.Privacy(k=8), should_stop=stop)
        assert playbook.status == "feasible" or playbook.apr == 1


@pytest.mark.parametrize(
    ("num", "num_trips", "stage", "num_done", "num_hidden", "largest"),
    [(17, 1, "partition", 0, 17, 3), (8, 2, "class costs", 2 * (8 + 28), 8, 2), (8, 1, "", 0, 0, 1)],
)
def test_a_stop_gives_a_valid_playbook_without_proof(
    num: int, num_trips: int, stage: str, num_done: int, num_hidden: int, largest: int
) -> None:
    """In the partition; among the class costs, with the sizes that are done; and at once."""
    domain = vr.generate_rooms(seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    trips = [vr.Trip(start, goal), vr.Trip(goal, start)][:num_trips]
    problem = vr.Problem(domain, trips, vr.draw_candidates(domain, start, goal, num, seed=0))
    reports: list[Progress] = []

    def stop() -> bool:
        return not stage or (bool(reports) and reports[-1].stage == stage and reports[-1].done >= num_done)

    with other_limits(tried=20):
        playbook = vr.solve(problem, vr.Privacy(k=2), progress=reports.append, should_stop=stop)
    assert (playbook.status, playbook.mac_lower_bound) == ("feasible", None)
    assert playbook.options["stopped_early"] is True
    assert playbook.claims.num_anonymized == num_hidden
    assert max(len(group.members) for group in playbook.classes) <= largest
    assert vr.audit(playbook).holds
    best = vr.solve(problem, vr.Privacy(k=2))
    assert best.status == "optimal" and best.options["stopped_early"] is False
    assert best.mac is not None
    assert playbook.mac is None or best.mac <= playbook.mac


def test_large_integer_costs_are_compared_exactly() -> None:
    big = 10**9
    edges = [(0, 1, big), (1, 2, 1), (2, 3, big), (0, 2, big + 1), (2, 1, 1), (1, 3, big + 1)]
    domain = vr.Domain.from_edges(4, [a for a, _, _ in edges], [b for _, b, _ in edges], [c for _, _, c in edges])
    playbook = vr.solve(vr.Problem(domain, [vr.Trip(0, 3)], [1, 2]), vr.Privacy(k=2, ell=1))
    assert playbook.classes[0].routes[0].cost == 2 * big + 1
    assert playbook.status == "optimal"
    apart = vr.Domain.from_edges(4, [0, 1, 2, 1], [1, 2, 3, 0], [1, big, 1, 1])
    for ell, count in ((big, 2), (big + 1, 0)):
        found = vr.solve(vr.Problem(apart, [vr.Trip(0, 3)], [1, 2]), vr.Privacy(k=2, ell=ell))
        assert found.claims.num_anonymized == count
        assert vr.audit(found).holds
