from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

import veilroute as vr
from veilroute.auditing import Spread, apartness, mask_of, members_of, survey_problem
from veilroute.domain import Label


def spread_of(domain: vr.Domain, candidates: Sequence[Label], ell: float) -> Spread:
    trip = vr.Trip(domain.label(0), domain.label(0))
    return Spread(survey_problem(vr.Problem(domain, [trip], candidates)), vr.Privacy(ell=ell))


def test_masks() -> None:
    assert mask_of([0, 3]) == 0b1001
    assert list(members_of(0b1011)) == [0, 1, 3]


def test_distance_is_the_smaller_of_both_directions(ring6: vr.Domain) -> None:
    # One way round the ring from 1 to 2 costs 2, the other way 19.
    spread = spread_of(ring6, [1, 2, 4], 3)
    assert spread.close_pairs(0b111) == [(0, 1, 2)]
    assert spread.is_far(0b101)
    assert not spread.is_far(0b011)
    assert spread.largest_far_set(0b111).size == 2


def test_exactly_ell_is_far_enough_and_zero_asks_for_nothing(line5: vr.Domain) -> None:
    assert spread_of(line5, [1, 3], 2).is_far(0b11)
    assert not spread_of(line5, [1, 3], 2.001).is_far(0b11)
    assert spread_of(line5, [1, 2, 3, 4], 0).is_far(0b1111)


def test_unreachable_candidates_are_infinitely_far() -> None:
    apart = vr.Domain.from_edges(4, [0, 2], [1, 3], [1, 1])
    assert spread_of(apart, [1, 2, 3], 1e9).close_pairs(0b111) == [(1, 2, 1)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ell", [2, 3, 5])
def test_largest_far_set_agrees_with_trying_all(seed: int, ell: float) -> None:
    domain = vr.generate_rooms(12, 14, seed=seed)
    candidates = [domain.label(node) for node in random.Random(seed).sample(range(1, domain.num_nodes), 11)]
    spread = spread_of(domain, candidates, ell)
    everyone = (1 << len(candidates)) - 1
    far = [mask for mask in range(1, everyone + 1) if spread.is_far(mask)]
    largest = max(mask.bit_count() for mask in far)
    found = spread.largest_far_set(everyone)
    assert found.size == largest
    assert found.is_largest
    assert spread.is_far(found.mask)
    for enough in range(1, largest + 2):
        got = spread.largest_far_set(everyone, enough=enough)
        assert min(got.size, enough) == min(largest, enough)
        assert got.is_largest


def test_hundreds_of_candidates_do_not_explode() -> None:
    domain = vr.grid_domain(["." * 30] * 30)
    candidates = [(row, col) for row, col in combinations(range(1, 30), 2)][:400]
    spread = spread_of(domain, candidates, 6)
    everyone = (1 << 400) - 1
    assert spread.largest_far_set(everyone, enough=5).size >= 5
    widest = spread.largest_far_set(everyone)
    assert spread.is_far(widest.mask)
    assert widest.size >= 10


def test_a_search_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = range(8)
    ring = vr.Domain.from_edges(
        8, [*nodes, *nodes], [*[(n + 1) % 8 for n in nodes], *[(n - 1) % 8 for n in nodes]], [1] * 16
    )
    whole = vr.Problem(ring, [vr.Trip(0, 0)], list(range(1, 8)))
    assert Spread(survey_problem(whole), vr.Privacy(ell=3)).largest_far_set(0b1111111, enough=3).is_largest
    monkeypatch.setattr(apartness, "_MAX_BRANCHES", 1)
    cut = Spread(survey_problem(whole), vr.Privacy(ell=3)).largest_far_set(0b1111111, enough=3)
    assert not cut.is_largest
    assert cut.size < 2
    report = vr.audit(vr.solve(whole, vr.Privacy(k=2, ell=3)))
    assert "were found that are pairwise" in next(v.evidence for v in report.claims if v.claim == "spread")


def test_pairs_in_a_crowd_are_told_by_bits_and_measured_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody is close to everybody: a table of all pairs would take gigabytes for some thousand candidates."""
    domain = vr.grid_domain(["." * 40])
    spread = spread_of(domain, [(0, col) for col in range(1, 40)], 1000)
    assert not any(len(held) > 39 for held in vars(spread).values() if isinstance(held, dict))
    assert len(spread.close_pairs((1 << 39) - 1)) == 39 * 38 // 2
    assert spread.close_pairs(0b1011) == [(0, 1, 1), (1, 3, 2), (0, 3, 3)]
