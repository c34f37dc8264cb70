"""Who stands apart from whom, and how many of a group do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

import veilroute as vr
from veilroute.auditing import ClassRule, Effort, Spread, TooMuchError, survey_problem
from veilroute.domain import Label


def spread_of(domain: vr.Domain, candidates: Sequence[Label], ell: float) -> Spread:
    trip = vr.Trip(domain.label(0), domain.label(0))
    return Spread(survey_problem(vr.Problem(domain, [trip], candidates)), vr.Privacy(ell=ell))


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


def rings(num: int) -> vr.Domain:
    """Node 0 is a hub, the others are rings of five, 1 apart and 5 from the hub: two of each ring stand apart."""
    pairs = []
    for node in range(5 * num):
        pairs += [(1 + node, 1 + node // 5 * 5 + (node + 1) % 5, 1), (1 + node, 0, 5)]
    tails, heads, costs = zip(*pairs, *((b, a, cost) for a, b, cost in pairs), strict=True)
    return vr.Domain.from_edges(5 * num + 1, tails, heads, costs)


def test_a_search_cut_short_says_so() -> None:
    spread = spread_of(rings(3), range(1, 16), 1.5)
    assert spread.largest_far_set((1 << 15) - 1, enough=7).is_largest
    cut = spread_of(rings(3), range(1, 16), 1.5).largest_far_set((1 << 15) - 1, enough=6, limit=1)
    assert not cut.is_largest
    assert cut.size < 6


def test_an_audit_says_whether_it_has_looked_at_everything() -> None:
    """One more than can stand apart is asked for; of 18 rings the auditor does not try out all choices."""
    for num, words in ((3, "at most 6 are"), (18, "no more than 36 were found that are")):
        problem = vr.Problem(rings(num), [vr.Trip(0, 0)], range(1, 5 * num + 1))
        walk = [node for ring in range(num) for node in (0, *range(5 * ring + 1, 5 * ring + 6))]
        groups = [{"members": problem.candidates, "route": [*walk, 0]}]
        book = vr.playbook_from_classes(problem, vr.Privacy(k=2 * num + 1, ell=1.5), groups)
        (found,) = (each for each in vr.audit(book).claims if each.claim == "spread")
        assert not found.holds and words in found.evidence


def test_the_search_for_an_area_is_part_of_the_effort() -> None:
    """A ring of five, in which neither all nor none are close; each look at a candidate takes half a visit."""
    close = {c: 1 << (c + 1) % 5 | 1 << (c - 1) % 5 for c in range(5)}
    masses = dict.fromkeys(range(5), 1.0)
    for effort, is_enough in ((2.4, False), (1e9, True)):
        rule = ClassRule(2, close, is_all_pairs=False, effort=Effort(effort), beta=0.5, masses=masses)
        if is_enough:
            assert rule.heaviest(masses)[1:] == (2.0, 2.0)
        else:
            with pytest.raises(TooMuchError):
                rule.heaviest(masses)


def test_pairs_in_a_crowd_are_told_by_bits_and_measured_when_asked() -> None:
    """Everybody is close to everybody: a table of all pairs would take gigabytes for some thousand candidates."""
    domain = vr.grid_domain(["." * 40])
    spread = spread_of(domain, [(0, col) for col in range(1, 40)], 1000)
    assert not any(len(held) > 39 for held in vars(spread).values() if isinstance(held, dict))
    assert len(spread.close_pairs((1 << 39) - 1)) == 39 * 38 // 2
    assert spread.close_pairs(0b1011) == [(0, 1, 1), (1, 3, 2), (0, 3, 3)]
