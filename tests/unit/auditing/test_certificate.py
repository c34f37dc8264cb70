"""Certificates above the size that is tried out: honest ones pass, and each part that is tampered with is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
import veilroute as vr
from certificates import certify, list_classes, make_playbook
from veilroute import Certificate, Cut, DualPrices, playbook_from_json
from veilroute.auditing import (
    ClaimVerdict,
    ClassSearch,
    Spread,
    TooMuchError,
    Workbench,
    class_search,
    examine_certificate,
    optimality,
    pricing,
    proofs,
    replay_playbook,
    survey_problem,
)


def rooms(
    num: int, *, seed: int, num_trips: int = 1, radius: float = 0, size: tuple[int, int] = (30, 44)
) -> vr.Problem:
    domain = vr.generate_rooms(*size, seed=seed)
    ends = [domain.label(node) for node in (0, domain.num_nodes - 1, domain.num_nodes // 2)]
    trips = [vr.Trip(ends[i], ends[(i + 1) % 3], 1.0 + i) for i in range(num_trips)]
    candidates = [c for c in vr.draw_candidates(domain, ends[0], ends[1], num + 1, seed=seed) if c not in ends][:num]
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius))


def valley(num: int, *, seed: int, depth: int = 4, width: int = 7) -> vr.Problem:
    """One-way streets downhill, from row to row: most pairs cannot be joined by any walk, so some are left out."""
    rng = Random(seed)
    goal = depth * width + 1
    edges = [(0, 1 + i) for i in range(width)] + [(goal - 1 - i, goal) for i in range(width)]
    for node in range(1, goal - width):
        row = (node - 1) // width + 1
        edges += [(node, 1 + row * width + other) for other in rng.sample(range(width), rng.choice([1, 2]))]
    domain = vr.Domain.from_edges(
        goal + 1, [a for a, _ in edges], [b for _, b in edges], [rng.choice([1, 2, 3, 5]) for _ in edges]
    )
    return vr.Problem(domain, [vr.Trip(0, goal)], rng.sample(range(1, goal), num))


def verdicts(playbook: vr.Playbook) -> dict[str, ClaimVerdict]:
    return {verdict.claim: verdict for verdict in vr.audit(playbook).claims}


def broken(playbook: vr.Playbook) -> dict[str, str]:
    return {claim: verdict.evidence for claim, verdict in verdicts(playbook).items() if not verdict.holds}


HONEST: dict[str, Callable[[], tuple[vr.Problem, vr.Privacy]]] = {
    "14": lambda: (rooms(14, seed=1), vr.Privacy(k=2)),
    "20, two trips": lambda: (rooms(20, seed=2, num_trips=2), vr.Privacy(k=2)),
    "30": lambda: (rooms(30, seed=3), vr.Privacy(k=2)),
    "14, k=3": lambda: (rooms(14, seed=4, num_trips=2), vr.Privacy(k=3)),
    "20, seen from afar": lambda: (rooms(20, seed=5, radius=4), vr.Privacy(k=2)),
    "14, near pairs": lambda: (rooms(14, seed=6, size=(14, 20)), vr.Privacy(k=2, ell=9)),
    "13, k=3, near pairs": lambda: (rooms(13, seed=7, size=(14, 20)), vr.Privacy(k=3, ell=7)),
    "16, all pairs": lambda: (rooms(16, seed=8, size=(14, 20)), vr.Privacy(k=3, ell=7, spread="all-pairs")),
    "20, k=3, some left out": lambda: (valley(24, seed=12), vr.Privacy(k=3)),
    "24, k=3, some left out": lambda: (valley(24, seed=4), vr.Privacy(k=3)),
}


@pytest.fixture(scope="module")
def playbooks() -> dict[str, vr.Playbook]:
    return {}


@pytest.fixture
def honest(playbooks: dict[str, vr.Playbook]) -> Callable[[str], vr.Playbook]:
    """The playbooks, each made when it is first asked for."""

    def make(name: str) -> vr.Playbook:
        if name not in playbooks:
            playbooks[name] = certify(*HONEST[name]())
        return playbooks[name]

    return make


@pytest.mark.parametrize("name", HONEST)
def test_honest_certificates_prove_optimality(honest: Callable[[str], vr.Playbook], name: str) -> None:
    playbook = honest(name)
    found = verdicts(playbook)
    assert not {claim: v.evidence for claim, v in found.items() if not v.holds or not v.checked}
    assert "priced and the others bounded" in found["optimality"].evidence
    assert "so the MAC sum is at least" in found["certificate"].evidence


def test_the_honest_ones_are_worth_checking(honest: Callable[[str], vr.Playbook]) -> None:
    """Among them are cuts, gaps between bound and optimum, candidates left out, and classes larger than 2k - 1."""
    books = [honest(name) for name in HONEST]
    certificates = [book.certificate for book in books if book.certificate is not None]
    assert sum(bool(each.cost.cuts) for each in certificates) >= 3
    assert sum(each.threshold > 1e-6 for each in certificates) >= 3
    assert sum(each.count is not None for each in certificates) >= 2
    assert any(len(group.members) > 2 * book.privacy.k - 1 for book in books for group in book.classes)


@pytest.mark.parametrize(
    ("problem", "privacy"),
    [
        (rooms(30, seed=3), vr.Privacy(k=3)),
        (rooms(30, seed=3, num_trips=2), vr.Privacy(k=2, ell=12)),
        (rooms(24, seed=5, radius=4), vr.Privacy(k=2)),
        (rooms(24, seed=8), vr.Privacy(k=3, ell=12, spread="all-pairs")),
        (valley(24, seed=4), vr.Privacy(k=3)),
    ],
    ids=["k=3", "near pairs", "seen from afar", "all pairs", "some left out"],
)
def test_what_the_planner_certifies_is_proved_again(problem: vr.Problem, privacy: vr.Privacy) -> None:
    playbook = vr.solve(problem, privacy)
    assert playbook.status == "optimal"
    assert playbook.certificate is not None
    found = verdicts(playbook)
    assert not {claim: v.evidence for claim, v in found.items() if not v.holds or not v.checked}


def test_a_bound_below_the_optimum_needs_no_combining() -> None:
    problem, privacy = HONEST["30"]()
    playbook = certify(problem, privacy, num_rounds=0, status="feasible")
    assert playbook.gap is not None
    assert playbook.gap > 0
    found = verdicts(playbook)
    assert found["bound"].checked
    assert "the prices are enough" in found["bound"].evidence
    assert "none claimed" in found["optimality"].evidence


def change_cost(certificate: Certificate, **changes: Any) -> Certificate:
    return replace(certificate, cost=replace(certificate.cost, **changes))


class TestTampering:
    """One change to an honest playbook, and the sentence that it leads to."""

    @pytest.fixture
    def playbook(self, honest: Callable[[str], vr.Playbook]) -> vr.Playbook:
        return honest("20, two trips")

    @pytest.fixture
    def certificate(self, playbook: vr.Playbook) -> Certificate:
        assert playbook.certificate is not None
        assert playbook.certificate.cost.cuts
        assert playbook.certificate.threshold > 1e-3
        return playbook.certificate

    def test_a_dual_too_high(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        first, *rest = certificate.cost.duals
        changed = change_cost(certificate, duals=(first + 0.01, *rest))
        found = broken(replace(playbook, certificate=changed))
        assert found.keys() == {"certificate"}
        assert "its prices are too high" in found["certificate"]
        assert str(certificate.members[0]) in found["certificate"]
        # It proves nothing any more.
        assert not verdicts(replace(playbook, certificate=changed))["bound"].checked

    def test_a_dual_too_low(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        first, *rest = certificate.cost.duals
        changed = change_cost(certificate, duals=(first - 0.01, *rest))
        assert "states that the MAC sum is at least" in broken(replace(playbook, certificate=changed))["certificate"]

    def test_a_cut_priced_too_low(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        dearest = max(certificate.cost.cuts, key=lambda cut: cut.dual)
        cuts = tuple(replace(cut, dual=cut.dual / 2) if cut is dearest else cut for cut in certificate.cost.cuts)
        found = broken(replace(playbook, certificate=change_cost(certificate, cuts=cuts)))
        assert "its prices are too high" in found["certificate"]

    def test_a_cut_priced_too_high(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        cuts = tuple(replace(cut, dual=cut.dual + 0.1) for cut in certificate.cost.cuts)
        found = broken(replace(playbook, certificate=change_cost(certificate, cuts=cuts)))
        assert "its prices say" in found["certificate"]

    def test_the_bound_too_high(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        changed = replace(certificate, bound=certificate.bound * 1.001)
        assert "its prices say" in broken(replace(playbook, certificate=changed))["certificate"]

    @pytest.mark.parametrize("change", [-5, 5])
    def test_the_number_of_classes(self, playbook: vr.Playbook, certificate: Certificate, change: int) -> None:
        num = certificate.num_enumerated
        found = broken(replace(playbook, certificate=replace(certificate, num_enumerated=num + change)))
        assert found.keys() == {"certificate"}
        assert f"lists {num + change} classes up to" in found["certificate"]
        assert "there are" in found["certificate"]

    def test_a_threshold_that_is_not_enough(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        changed = replace(certificate, threshold=certificate.threshold / 2)
        assert "which is enough for a MAC sum of" in broken(replace(playbook, certificate=changed))["certificate"]

    def test_a_claimed_bound_too_high(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        assert playbook.mac is not None
        claims = replace(playbook.claims, mac_lower_bound=playbook.mac * 1.01)
        found = broken(replace(playbook, claims=claims))
        assert "but its own is" in found["bound"]
        assert "is possible" in found["bound"]
        assert "and not for the" in found["certificate"]

    def test_members_that_are_not_the_candidates(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        lost = certificate.members[-1]
        cuts = tuple(cut for cut in certificate.cost.cuts if lost not in cut.members)
        fewer = replace(
            certificate, members=certificate.members[:-1], cost=DualPrices(certificate.cost.duals[:-1], cuts)
        )
        assert f"does not price {lost}" in broken(replace(playbook, certificate=fewer))["certificate"]
        assert "fewer than the 20" in broken(replace(playbook, certificate=fewer))["certificate"]
        strange = replace(
            certificate,
            members=(*certificate.members, "nobody"),
            cost=replace(certificate.cost, duals=(*certificate.cost.duals, 0.0)),
        )
        assert "prices nobody" in broken(replace(playbook, certificate=strange))["certificate"]

    def test_a_partition_that_is_not_optimal(self, playbook: vr.Playbook, certificate: Certificate) -> None:
        """Two members change places; figures and certificate are made to fit."""
        world = list_classes(playbook.problem, playbook.privacy)
        place = {world.label(i): i for i in range(world.num)}
        first, second, *rest = [[place[label] for label in group.members] for group in playbook.classes]
        first[0], second[0] = second[0], first[0]
        groups = [tuple(sorted(group)) for group in (first, second, *rest)]
        worse = make_playbook(world, groups, None, certificate, "optimal")
        assert worse.mac is not None
        assert playbook.mac is not None
        assert worse.mac > playbook.mac
        threshold = worse.mac * world.num - certificate.bound
        num = int((world.reduced(certificate.cost) <= threshold).sum())
        lying = replace(worse, certificate=replace(certificate, threshold=threshold, num_enumerated=num))
        found = broken(lying)
        assert found.keys() == {"bound", "optimality"}
        assert "not optimal: a MAC of" in found["optimality"]
        assert broken(replace(lying, status="feasible")).keys() == {"bound"}


class TestNumbers:
    """How many can be anonymized at all, and at once."""

    @pytest.fixture
    def playbook(self, honest: Callable[[str], vr.Playbook]) -> vr.Playbook:
        playbook = honest("20, k=3, some left out")
        assert 0 < playbook.claims.num_anonymized < playbook.claims.num_coverable
        return playbook

    def test_prices_too_low(self, playbook: vr.Playbook) -> None:
        certificate = playbook.certificate
        assert certificate is not None
        assert certificate.count is not None
        place = next(i for i, dual in enumerate(certificate.count.duals) if dual > 0.5)
        duals = tuple(dual - 0.25 if i == place else dual for i, dual in enumerate(certificate.count.duals))
        changed = replace(certificate, count=DualPrices(duals))
        found = broken(replace(playbook, certificate=changed))
        assert "its prices for the number of candidates are too low" in found["certificate"]

    @pytest.mark.parametrize("count", [None, DualPrices((1.0,) * 20), DualPrices((0.9,) * 20)])
    def test_prices_that_say_little_are_made_up_for(self, playbook: vr.Playbook, count: DualPrices | None) -> None:
        assert playbook.certificate is not None
        found = verdicts(replace(playbook, certificate=replace(playbook.certificate, count=count)))
        assert found["certificate"].holds == (count is None or count.duals[0] == 1)
        assert found["bound"].checked
        assert found["optimality"].holds
        assert found["optimality"].checked == found["certificate"].holds

    def test_more_could_be_anonymized(self, playbook: vr.Playbook) -> None:
        """A class is dissolved, and the certificate made to fit."""
        world = list_classes(playbook.problem, playbook.privacy)
        certificate = playbook.certificate
        assert certificate is not None
        place = {world.label(i): i for i in range(world.num)}
        groups = [tuple(place[label] for label in group.members) for group in playbook.classes if group.anonymized]
        fewer = make_playbook(world, groups[1:], None, None, "optimal")
        assert fewer.mac is not None
        num = fewer.claims.num_anonymized
        bound = sum(sorted(certificate.cost.duals)[:num]) - sum(cut.dual for cut in certificate.cost.cuts)
        threshold = max(0.0, fewer.mac * num - bound)
        listed = int((world.reduced(certificate.cost) <= threshold).sum())
        fitting = replace(certificate, count=None, bound=bound, threshold=threshold, num_enumerated=listed)
        found = broken(replace(fewer, certificate=fitting))
        assert "certificate" not in found
        assert f"candidates can be anonymized, not only {num}" in found["optimality"]

    def test_a_wrong_number_of_anonymizable_candidates(self, playbook: vr.Playbook) -> None:
        num = playbook.claims.num_anonymizable
        assert num is not None
        wrong = num - 1 if num > playbook.claims.num_anonymized else num + 1
        claims = replace(playbook.claims, num_anonymizable=wrong)
        assert f"in truth there are {num}" in broken(replace(playbook, claims=claims))["anonymizable"]

    def test_infeasible(self) -> None:
        """All candidates stand side by side: no two are far apart."""
        domain = vr.grid_domain(["." * 30])
        problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 29))], [(0, i) for i in range(5, 19)])
        world = list_classes(problem, vr.Privacy(k=2, ell=20))
        nothing = make_playbook(world, [], None, None, "infeasible")
        assert nothing.claims.num_anonymizable == 0
        found = verdicts(nothing)
        assert found["optimality"].checked
        assert found["optimality"].holds
        lying = replace(nothing, privacy=vr.Privacy(k=2, ell=2))
        assert "but 14 candidates can be" in broken(lying)["optimality"]


def test_taking_the_certificate_away_is_no_way_out(honest: Callable[[str], vr.Playbook]) -> None:
    bare = replace(honest("14"), certificate=None)
    assert broken(bare).keys() == {"bound", "optimality"}
    assert "without the certificate that proves it" in broken(bare)["optimality"]
    assert "without the certificate that proves it" in broken(replace(bare, status="feasible"))["bound"]
    # Nor does it help to name a method that has none.
    for partitioner in ("merge-bb", "df-bb"):
        searched = replace(bare, planner="pbp", options={"partitioner": partitioner, "search_completed": True})
        assert broken(searched).keys() == {"bound", "optimality"}


def test_what_is_too_much_work_is_not_checked(
    honest: Callable[[str], vr.Playbook], monkeypatch: pytest.MonkeyPatch
) -> None:
    playbook = honest("13, k=3, near pairs")
    words = {}
    for effort in (100, 10_000):
        monkeypatch.setattr(proofs, "MAX_EFFORT", effort)
        found = verdicts(playbook)
        assert all(verdict.holds for verdict in found.values())
        assert {claim for claim, v in found.items() if not v.checked} == {"certificate", "bound", "optimality"}
        words[effort] = found["certificate"].evidence
    assert "the map is too large" in words[100]
    assert "too many classes to price them all" in words[10_000]
    monkeypatch.setattr(proofs, "MAX_MEMBERS", 12)
    assert "up to 12 coverable candidates" in verdicts(playbook)["certificate"].evidence


SHARED_PREFIXES = {
    "grid": lambda: (rooms(16, seed=1), vr.Privacy(k=2, m=20)),
    "grid, k=3": lambda: (rooms(13, seed=2, num_trips=2, size=(14, 20)), vr.Privacy(k=3, m=12)),
    "grid, seen from afar": lambda: (rooms(14, seed=3, radius=3, size=(14, 20)), vr.Privacy(k=2, m=9)),
    "grid, near pairs": lambda: (rooms(14, seed=6, size=(14, 20)), vr.Privacy(k=2, ell=9, m=15)),
    "one-way streets": lambda: (valley(16, seed=4), vr.Privacy(k=3, m=3)),
    "other costs": lambda: (with_other_costs(rooms(14, seed=4, size=(14, 20))), vr.Privacy(k=2, m=10)),
}


def with_other_costs(problem: vr.Problem) -> vr.Problem:
    """The same map as a graph whose edges do not all cost the same, so that walks cannot be padded."""
    tails, heads, _ = problem.domain.edge_arrays()
    costs = [1 + (int(a) * 7 + int(b) * 7) % 5 for a, b in zip(tails, heads, strict=True)]
    domain = vr.Domain.from_edges(problem.domain.num_nodes, tails, heads, costs)
    trips = [vr.Trip(a, b) for a, b in zip(problem.start_nodes, problem.goal_nodes, strict=True)]
    return vr.Problem(domain, trips, list(problem.candidate_nodes))


@pytest.mark.parametrize("name", SHARED_PREFIXES)
def test_certificates_for_prefixes_are_checked(name: str) -> None:
    playbook = vr.solve(*SHARED_PREFIXES[name]())
    assert playbook.status == "optimal"
    assert playbook.certificate is not None
    found = verdicts(playbook)
    assert not {claim: v.evidence for claim, v in found.items() if v.verdict != "holds"}
    # Prices that are too high, here as well.
    duals = tuple(dual + 0.01 for dual in playbook.certificate.cost.duals)
    bound = playbook.certificate.bound + 0.01 * playbook.claims.num_anonymized
    lying = replace(change_cost(playbook.certificate, duals=duals), bound=bound, threshold=0.0, num_enumerated=0)
    assert "its prices are too high" in broken(replace(playbook, certificate=lying))["certificate"]


def test_an_m_beyond_every_route_counts_as_infinite() -> None:
    problem = with_other_costs(rooms(16, seed=1))
    whole = vr.solve(problem, vr.Privacy(k=2))
    far = vr.solve(problem, vr.Privacy(k=2, m=1_000_000))
    assert (far.status, far.mac, far.certificate) == ("optimal", whole.mac, whole.certificate)
    assert vr.audit(far).verdict == "holds"
    # Nothing is won by writing such an m over the real one.
    bare = replace(whole, privacy=vr.Privacy(k=2, m=10**15), certificate=None)
    assert broken(bare).keys() == {"bound", "optimality"}


def test_a_mac_that_rounding_puts_below_zero_does_not_make_m_infinite() -> None:
    """Sharing one node costs nothing; stated as a little less than nothing, no route seemed to be within reach."""
    playbook = vr.solve(rooms(6, seed=1), vr.Privacy(k=2, m=1))
    assert playbook.mac == 0
    claims = replace(playbook.claims, mac=-1e-13, mac_by_trip=(-1e-13,), mac_lower_bound=-1e-13)
    assert not broken(replace(playbook, claims=claims))


def test_prices_that_are_only_rounding_are_no_violation() -> None:
    """Costs of 1e7 and 1e-5 on one map: the planner's shares of 0 are off by 1e-13, for each member alone."""
    playbook = vr.solve(rooms(14, seed=1), vr.Privacy(k=1))
    assert (playbook.status, playbook.mac) == ("optimal", 0)
    assert playbook.certificate is not None
    rounded = replace(change_cost(playbook.certificate, duals=(1.2e-13, *[0.0] * 13)), bound=1.2e-13)
    assert vr.audit(replace(playbook, certificate=rounded)).verdict == "holds"
    wrong = replace(change_cost(playbook.certificate, duals=(1e-10, *[0.0] * 13)), bound=1e-10)
    assert broken(replace(playbook, certificate=wrong)).keys() == {"certificate"}


@pytest.mark.parametrize(("factor", "verdict"), [(1e6, "holds"), (1e8, "violated")])
def test_large_prices_hold_as_long_as_their_rounding_can_be_allowed_for(factor: float, verdict: str) -> None:
    """Who is in no class at all may have any price; with costs of 1e-8 and 1e8 planners arrive at such prices."""
    playbook = vr.solve(valley(14, seed=11), vr.Privacy(k=3))
    assert playbook.mac is not None
    assert playbook.certificate is not None
    assert playbook.claims.num_anonymized == playbook.claims.num_anonymizable == 6
    left_out = {label for group in playbook.classes if not group.anonymized for label in group.members}
    prices = zip(playbook.certificate.members, playbook.certificate.cost.duals, strict=True)
    duals = tuple(factor * playbook.mac if label in left_out else dual for label, dual in prices)
    large = replace(playbook, certificate=change_cost(playbook.certificate, duals=duals))
    assert vr.audit(large).verdict == verdict
    # What is allowed for rounding proves nothing that is false.
    claims = replace(large.claims, mac_lower_bound=playbook.mac * (1 + 1e-8))
    assert verdicts(replace(large, claims=claims, status="feasible"))["bound"].verdict == "violated"


def test_a_bound_above_its_prices_is_refused_where_no_class_is_listed(honest: Callable[[str], vr.Playbook]) -> None:
    """Prices so low that no class is near them, and a bound that they do not add up to."""
    playbook = honest("20, k=3, some left out")
    assert playbook.certificate is not None
    duals = tuple(dual - 3 for dual in playbook.certificate.cost.duals)
    lying = replace(change_cost(playbook.certificate, duals=duals), threshold=0.0, num_enumerated=0)
    for lower in (0.0, -5.0):
        claims = replace(playbook.claims, mac_lower_bound=lower)
        found = broken(replace(playbook, claims=claims, status="feasible", certificate=lying))
        assert "its prices say" in found["certificate"]
        assert "too high" not in found["certificate"]


def test_many_cuts_are_part_of_the_effort(
    honest: Callable[[str], vr.Playbook], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each class is held against every cut, of which a file may hold a hundred thousand."""
    playbook = honest("20, k=3, some left out")
    assert playbook.certificate is not None
    members = playbook.certificate.members
    cuts = tuple(Cut((members[i % 18], members[i % 18 + 1], members[i % 18 + 2]), 1e-12) for i in range(20_000))
    prices = replace(playbook.certificate.cost, cuts=playbook.certificate.cost.cuts + cuts)
    slow = replace(playbook.certificate, cost=prices, bound=0.0, threshold=100.0)
    looks = 0
    real = ClassSearch.surcharge

    def surcharge(self: ClassSearch, group: int) -> float:
        nonlocal looks
        looks += len(self.cuts)
        return real(self, group)

    monkeypatch.setattr(ClassSearch, "surcharge", surcharge)
    monkeypatch.setattr(proofs, "MAX_EFFORT", 20_000)
    assert broken(replace(playbook, certificate=slow)).keys() <= {"certificate", "optimality", "bound"}
    # Seven pieces of work at most, each with the whole allowance.
    assert 0 < looks < 7 * 20_000 / 0.25


def test_walks_kept_on_all_trips_share_one_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = rooms(8, seed=1, num_trips=3, size=(14, 20))
    replayed = replay_playbook(vr.solve(problem, vr.Privacy(k=2, m=6), planner="m-pbp"), None)
    monkeypatch.setattr(pricing, "_MAX_BYTES", 30_000)
    prices = Workbench(replayed, 1e9, 6).prices
    assert isinstance(prices, pricing.PrefixPrices)
    for chosen in range(1, 256):
        with suppress(TooMuchError):
            prices.share(chosen)
    kept = [trip._walks_by.num_bytes * len(trip._kept) for trip in prices._trips]
    assert 10_000 < sum(kept) < 30_000 + 3 * 2_000


def test_every_optimum_beyond_a_dozen_carries_evidence() -> None:
    """Also where tables of all sets were used: crowded candidates, large k, prefixes on any map."""
    for problem, privacy in (
        (rooms(14, seed=6, size=(14, 20)), vr.Privacy(k=2, ell=13)),
        (rooms(14, seed=1), vr.Privacy(k=7)),
        (with_other_costs(rooms(13, seed=1, size=(14, 20))), vr.Privacy(k=3, m=8)),
    ):
        playbook = vr.solve(problem, privacy)
        assert playbook.status == "optimal"
        assert playbook.certificate is not None
        assert not broken(playbook)


@given(
    problem=strategies.problems(max_nodes=10, max_candidates=7),
    privacy=strategies.privacies(),
    seed=st.integers(0, 1_000_000),
)
def test_any_prices_that_hold_lead_to_the_optimum(problem: vr.Problem, privacy: vr.Privacy, seed: int) -> None:
    """Far from the best prices, so that much has to be combined; against every way to group the candidates."""
    assume(len(problem.counted) >= privacy.k)
    world = list_classes(problem, privacy)
    assume(world.classes)
    survey = survey_problem(problem)
    rule = Spread(survey, privacy)
    optimum = optimality.find_optimum(survey, rule, privacy.m)
    assert optimum is not None
    rng = Random(seed)
    members = tuple(world.label(i) for i in range(world.num))
    cuts = tuple(Cut(tuple(rng.sample(members, 3)), rng.random() / 2) for _ in range(2 if world.num > 2 else 0))
    prices = DualPrices(tuple(rng.random() for _ in members), cuts)
    lacking = max(0.0, -float(world.reduced(prices).min())) / privacy.k
    prices = DualPrices(tuple(dual - lacking for dual in prices.duals), cuts)
    count = DualPrices(tuple(rng.random() for _ in members))
    lacking = max(0.0, float((world.sizes - world.paid(count.duals)).max())) / privacy.k
    count = DualPrices(tuple(dual + lacking for dual in count.duals))
    playbook = replace(vr.solve(problem, privacy), status="optimal")
    for hidden, least in optimum.least.items():
        num = int(hidden)
        mac = least / num
        bound = sum(sorted(prices.duals)[:num]) - sum(cut.dual for cut in cuts)
        for claimed in (mac * (1 - 1e-6) - 1e-6, mac, mac * (1 + 1e-6) + 1e-6):
            threshold = max(0.0, claimed * num - bound) * (1 + 1e-6)
            listed = int((world.reduced(prices) <= threshold).sum())
            lying = replace(
                playbook,
                claims=replace(playbook.claims, num_anonymized=num, mac_lower_bound=claimed),
                certificate=Certificate(members, prices, rng.choice([count, None]), bound, threshold, listed, 0),
            )
            assert lying.certificate is not None
            proof = examine_certificate(replay_playbook(lying, None), lying.certificate, None)
            assert [problem for problem in proof.problems if "which says nothing" not in problem] == []
            assert (proof.problems == ()) == (bound > -1e-9)
            assert proof.is_checked
            assert proof.has_bound == (claimed <= mac)
            if claimed > mac:
                assert proof.cheaper is not None
                assert mac - 1e-9 <= proof.cheaper / num < claimed
            if num == optimum.num_anonymized:
                assert (proof.most, proof.more) == (num, None)
            else:
                assert proof.more is not None
                assert num < proof.more <= optimum.num_anonymized


def test_no_k_and_m_that_a_file_names_keep_the_auditor_busy(
    honest: Callable[[str], vr.Playbook], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above a dozen candidates, where classes of k members are looked for."""
    monkeypatch.setattr(proofs, "MAX_EFFORT", 100_000)
    monkeypatch.setattr(class_search, "_COUNT_EFFORT", 100_000)
    playbook = honest("14")
    for m in (None, 9, 10**15):
        asked = replace(playbook, status="infeasible", privacy=replace(playbook.privacy, k=10**12, m=m))
        assert vr.audit(asked).verdict == "violated"


def test_a_file_keeps_the_certificate(honest: Callable[[str], vr.Playbook]) -> None:
    playbook = honest("20, k=3, some left out")
    again = playbook_from_json(playbook.to_json())
    assert again.certificate == playbook.certificate
    assert again.to_json() == playbook.to_json()
    assert b"certificate" not in replace(playbook, certificate=None).to_json()
    assert json.loads(playbook.to_json())["certificate"]["num_nodes"] == 0
