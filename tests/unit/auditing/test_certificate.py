"""Certificates above the size that is tried out: honest ones pass, and each part that is tampered with is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies
import veilroute as vr
from certificates import list_classes, rooms
from veilroute import Certificate, Cut, DualPrices
from veilroute.auditing import (
    ClaimVerdict,
    Effort,
    PrefixPrices,
    Spread,
    TooMuchError,
    check_bound,
    check_certificate,
    check_optimality,
    count_anonymizable,
    examine_certificate,
    find_nodes_that_matter,
    find_optimum,
    replay_playbook,
    survey_problem,
)


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


def with_other_costs(problem: vr.Problem) -> vr.Problem:
    """The same map as a graph whose edges do not all cost the same, so that walks cannot be padded."""
    tails, heads, _ = problem.domain.edge_arrays()
    costs = [1 + (int(a) * 7 + int(b) * 7) % 5 for a, b in zip(tails, heads, strict=True)]
    domain = vr.Domain.from_edges(problem.domain.num_nodes, tails, heads, costs)
    trips = [vr.Trip(a, b) for a, b in zip(problem.start_nodes, problem.goal_nodes, strict=True)]
    return vr.Problem(domain, trips, list(problem.candidate_nodes))


SMALL = (14, 20)


def verdicts(playbook: vr.Playbook) -> dict[str, ClaimVerdict]:
    return {verdict.claim: verdict for verdict in vr.audit(playbook).claims}


def broken(playbook: vr.Playbook) -> dict[str, str]:
    return {claim: verdict.evidence for claim, verdict in verdicts(playbook).items() if not verdict.holds}


def not_proved(playbook: vr.Playbook) -> dict[str, str]:
    return {claim: v.evidence for claim, v in verdicts(playbook).items() if v.verdict != "holds"}


HONEST: dict[str, Callable[[], tuple[vr.Problem, vr.Privacy]]] = {
    "14": lambda: (rooms(14, 1), vr.Privacy(k=2)),
    "k=3": lambda: (rooms(24, 3), vr.Privacy(k=3)),
    "k=3, two trips": lambda: (rooms(14, 4, num_trips=2), vr.Privacy(k=3)),
    "near pairs": lambda: (rooms(14, 6, SMALL), vr.Privacy(k=2, ell=9)),
    "k=3, near pairs": lambda: (rooms(13, 7, SMALL), vr.Privacy(k=3, ell=7)),
    "seen from afar": lambda: (rooms(24, 5, radius=4), vr.Privacy(k=2)),
    "all pairs": lambda: (rooms(16, 8, SMALL), vr.Privacy(k=3, ell=7, spread="all-pairs")),
    "some left out": lambda: (valley(24, seed=12), vr.Privacy(k=3)),
    "some left out, cuts": lambda: (valley(24, seed=4), vr.Privacy(k=3)),
    # Tables of all sets are used to plan these: crowded candidates, large k, prefixes on any map.
    "crowded": lambda: (rooms(14, 6, SMALL), vr.Privacy(k=2, ell=13)),
    "large k": lambda: (rooms(14, 1), vr.Privacy(k=7)),
    "prefixes": lambda: (rooms(16, 1), vr.Privacy(k=2, m=20)),
    "prefixes, k=3": lambda: (rooms(13, 2, SMALL, num_trips=2), vr.Privacy(k=3, m=12)),
    "prefixes, seen from afar": lambda: (rooms(14, 3, SMALL, radius=3), vr.Privacy(k=2, ell=6, m=9)),
    "prefixes, one-way streets": lambda: (valley(16, seed=4), vr.Privacy(k=3, m=3)),
    "prefixes, other costs": lambda: (with_other_costs(rooms(14, 4, SMALL)), vr.Privacy(k=2, m=10)),
}


@cache
def honest(name: str) -> vr.Playbook:
    return vr.solve(*HONEST[name]())


def certificate_of(playbook: vr.Playbook) -> Certificate:
    assert playbook.certificate is not None
    return playbook.certificate


@pytest.mark.parametrize("name", HONEST)
def test_what_the_planner_certifies_is_proved_again_and_higher_prices_are_not(name: str) -> None:
    playbook = honest(name)
    assert playbook.status == "optimal"
    assert "priced and the others bounded" in verdicts(playbook)["optimality"].evidence
    certificate = certificate_of(playbook)
    assert not_proved(playbook) == {}
    duals = tuple(dual + 0.01 for dual in certificate.cost.duals)
    bound = certificate.bound + 0.01 * playbook.claims.num_anonymized
    lying = replace(change_cost(certificate, duals=duals), bound=bound, threshold=0.0, num_enumerated=0)
    assert "its prices are too high" in broken(replace(playbook, certificate=lying))["certificate"]


def change_cost(certificate: Certificate, **changes: Any) -> Certificate:
    return replace(certificate, cost=replace(certificate.cost, **changes))


def raised(certificate: Certificate, change: float) -> Certificate:
    first, *rest = certificate.cost.duals
    return change_cost(certificate, duals=(first + change, *rest))


def with_cuts(certificate: Certificate, change: Callable[[Cut, Cut], Cut]) -> Certificate:
    """What becomes of each cut; it is told the one with the highest price as well."""
    highest = max(certificate.cost.cuts, key=lambda cut: cut.dual)
    return change_cost(certificate, cuts=tuple(change(cut, highest) for cut in certificate.cost.cuts))


def without_last(certificate: Certificate) -> Certificate:
    *members, lost = certificate.members
    cuts = tuple(cut for cut in certificate.cost.cuts if lost not in cut.members)
    return replace(certificate, members=tuple(members), cost=DualPrices(certificate.cost.duals[:-1], cuts))


def with_stranger(certificate: Certificate) -> Certificate:
    prices = replace(certificate.cost, duals=(*certificate.cost.duals, 0.0))
    return replace(certificate, members=(*certificate.members, "nobody"), cost=prices)


def halved(cut: Cut, highest: Cut) -> Cut:
    return replace(cut, dual=cut.dual / 2) if cut is highest else cut


TAMPERED: dict[str, tuple[Callable[[Certificate], Certificate], str]] = {
    "a dual too high": (lambda c: raised(c, 0.01), "its prices are too high"),
    "a dual too low": (lambda c: raised(c, -0.01), "its prices say"),
    "a cut priced too low": (lambda c: with_cuts(c, halved), "its prices are too high"),
    "cuts priced too high": (
        lambda c: with_cuts(c, lambda cut, _: replace(cut, dual=cut.dual + 0.1)), "its prices say",
    ),
    "the bound too high": (lambda c: replace(c, bound=c.bound * 1.001), "its prices say"),
    "too few classes": (lambda c: replace(c, num_enumerated=c.num_enumerated - 5), "there are"),
    "too many classes": (lambda c: replace(c, num_enumerated=c.num_enumerated + 5), "there are"),
    "not enough compared": (lambda c: replace(c, threshold=c.threshold / 2), "which is enough for a MAC sum of"),
    "somebody not priced": (without_last, "fewer than the 14"),
    "a stranger priced": (with_stranger, "prices nobody"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_changed_in_a_certificate_is_found(name: str) -> None:
    playbook = honest("k=3, two trips")
    certificate = certificate_of(playbook)
    assert certificate.cost.cuts and certificate.threshold > 1e-3
    change, words = TAMPERED[name]
    changed = replace(playbook, certificate=change(certificate))
    found = broken(changed)
    assert found.keys() <= {"certificate", "bound", "optimality"}
    assert words in found["certificate"]
    if "too high" in words:
        assert not verdicts(changed)["bound"].checked, "it proves nothing any more"


def test_a_claimed_bound_too_high() -> None:
    playbook = honest("k=3, two trips")
    assert playbook.mac is not None
    found = broken(replace(playbook, claims=replace(playbook.claims, mac_lower_bound=playbook.mac * 1.01)))
    assert "but its own is" in found["bound"] and "is possible" in found["bound"]
    assert "and not for the" in found["certificate"]


class TestNumbers:
    """How many can be anonymized at all, and at once."""

    @pytest.fixture
    def playbook(self) -> vr.Playbook:
        playbook = honest("some left out")
        assert 0 < playbook.claims.num_anonymized < playbook.claims.num_coverable
        return playbook

    def test_prices_too_low(self, playbook: vr.Playbook) -> None:
        certificate = certificate_of(playbook)
        assert certificate.count is not None
        duals = list(certificate.count.duals)
        duals[next(i for i, dual in enumerate(duals) if dual > 0.5)] -= 0.25
        changed = replace(certificate, count=DualPrices(tuple(duals)))
        found = broken(replace(playbook, certificate=changed))
        assert "its prices for the number of candidates are too low" in found["certificate"]

    @pytest.mark.parametrize("count", [None, DualPrices((1.0,) * 20), DualPrices((0.9,) * 20)])
    def test_prices_that_say_little_are_made_up_for(self, playbook: vr.Playbook, count: DualPrices | None) -> None:
        found = verdicts(replace(playbook, certificate=replace(certificate_of(playbook), count=count)))
        assert found["certificate"].holds == (count is None or count.duals[0] == 1)
        assert found["bound"].checked
        assert found["optimality"].holds
        assert found["optimality"].checked == found["certificate"].holds

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
        nothing = vr.solve(problem, vr.Privacy(k=2, ell=20))
        assert nothing.claims.num_anonymizable == 0
        assert verdicts(nothing)["optimality"].verdict == "holds"
        lying = replace(nothing, privacy=vr.Privacy(k=2, ell=2))
        assert "but 14 candidates can be" in broken(lying)["optimality"]


def test_taking_the_certificate_away_is_no_way_out() -> None:
    bare = replace(honest("14"), certificate=None)
    assert "without the certificate that proves it" in broken(replace(bare, status="feasible"))["bound"]
    # Nor does it help to name a method that has none.
    for partitioner in ("exact", "merge-bb", "df-bb"):
        searched = replace(bare, options={"partitioner": partitioner, "search_completed": True})
        assert broken(searched).keys() == {"bound", "optimality"}


def judged(playbook: vr.Playbook, **limits: Any) -> list[ClaimVerdict]:
    """The claims that a certificate is about, within limits."""
    replayed = replay_playbook(playbook, None)
    m = find_nodes_that_matter(replayed)
    proof = examine_certificate(replayed, certificate_of(playbook), m, **limits)
    return [
        check_certificate(proof), check_bound(replayed, None, proof), check_optimality(replayed, None, proof, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"effort": 100}, "the map is too large"),
        ({"effort": 10_000}, "too many classes to price them all"),
        ({"most_members": 12}, "up to 12 coverable candidates"),
    ],
)
def test_what_is_too_much_work_is_not_checked(limits: dict[str, Any], words: str) -> None:
    found = judged(honest("k=3, near pairs"), **limits)
    assert {each.verdict for each in found} == {"unproved"}
    assert words in found[0].evidence
    assert {each.verdict for each in judged(honest("k=3, near pairs"), most_members=13)} == {"holds"}
    first, *rest = honest("k=3, near pairs").classes
    strange = replace(honest("k=3, near pairs"), classes=(replace(first, members=(*first.members, "nobody")), *rest))
    assert judged(strange, **limits)[0].verdict == "unproved"


def test_an_m_beyond_every_route_counts_as_infinite() -> None:
    problem = with_other_costs(rooms(16, 1))
    whole = vr.solve(problem, vr.Privacy(k=2))
    far = vr.solve(problem, vr.Privacy(k=2, m=1_000_000))
    assert (far.status, far.mac, far.certificate) == ("optimal", whole.mac, whole.certificate)
    assert vr.audit(far).verdict == "holds"
    # Nothing is won by writing such an m over the real one.
    bare = replace(whole, privacy=vr.Privacy(k=2, m=10**15), certificate=None)
    assert broken(bare).keys() == {"bound", "optimality"}


def test_a_mac_that_rounding_puts_below_zero_does_not_make_m_infinite() -> None:
    """Sharing one node costs nothing; stated as a little less than nothing, no route seemed to be within reach."""
    playbook = vr.solve(rooms(6, 1), vr.Privacy(k=2, m=1))
    assert playbook.mac == 0
    claims = replace(playbook.claims, mac=-1e-13, mac_by_trip=(-1e-13,), mac_lower_bound=-1e-13)
    assert not broken(replace(playbook, claims=claims))


def test_prices_that_are_only_rounding_are_no_violation() -> None:
    """Costs of 1e7 and 1e-5 on one map: the planner's shares of 0 are off by 1e-13, for each member alone."""
    playbook = vr.solve(rooms(14, 1), vr.Privacy(k=1))
    assert (playbook.status, playbook.mac) == ("optimal", 0)
    for off, found in ((1.2e-13, set()), (1e-10, {"certificate"})):
        changed = replace(change_cost(certificate_of(playbook), duals=(off, *[0.0] * 13)), bound=off)
        assert broken(replace(playbook, certificate=changed)).keys() == found


@pytest.mark.parametrize(("factor", "verdict"), [(1e6, "holds"), (1e8, "violated")])
def test_large_prices_hold_as_long_as_their_rounding_can_be_allowed_for(factor: float, verdict: str) -> None:
    """A candidate that is in no class may have any price; with costs of 1e-8 and 1e8 planners arrive at such prices."""
    playbook = vr.solve(valley(14, seed=11), vr.Privacy(k=3))
    assert playbook.mac is not None
    assert playbook.claims.num_anonymized == playbook.claims.num_anonymizable == 6
    left_out = {label for group in playbook.classes if not group.anonymized for label in group.members}
    certificate = certificate_of(playbook)
    prices = zip(certificate.members, certificate.cost.duals, strict=True)
    duals = tuple(factor * playbook.mac if label in left_out else dual for label, dual in prices)
    large = replace(playbook, certificate=change_cost(certificate, duals=duals))
    assert vr.audit(large).verdict == verdict
    # What is allowed for rounding proves nothing that is false.
    claims = replace(large.claims, mac_lower_bound=playbook.mac * (1 + 1e-8))
    assert verdicts(replace(large, claims=claims, status="feasible"))["bound"].verdict == "violated"


def test_a_bound_above_its_prices_is_refused_where_no_class_is_listed() -> None:
    """Prices so low that no class is near them, and a bound that they do not add up to."""
    playbook = honest("some left out")
    duals = tuple(dual - 3 for dual in certificate_of(playbook).cost.duals)
    lying = replace(change_cost(certificate_of(playbook), duals=duals), threshold=0.0, num_enumerated=0)
    for lower in (0.0, -5.0):
        claims = replace(playbook.claims, mac_lower_bound=lower)
        found = broken(replace(playbook, claims=claims, status="feasible", certificate=lying))
        assert "its prices say" in found["certificate"]
        assert "too high" not in found["certificate"]


def test_many_cuts_are_part_of_the_effort() -> None:
    """Each class is held against every cut, of which a file may hold a hundred thousand."""
    playbook = honest("some left out")
    certificate = certificate_of(playbook)
    members = certificate.members
    cuts = tuple(Cut((members[i % 18], members[i % 18 + 1], members[i % 18 + 2]), 1e-12) for i in range(20_000))
    lower = replace(certificate, bound=certificate.bound - 1e-6, threshold=1e-6, num_enumerated=20)
    for more, verdict in (((), "holds"), (cuts, "unproved")):
        made = change_cost(lower, cuts=certificate.cost.cuts + more)
        assert judged(replace(playbook, certificate=made), effort=100_000)[0].verdict == verdict


def test_walks_kept_on_all_trips_share_one_allowance() -> None:
    """What is enough for one trip is not for three."""
    for num_trips, is_enough in ((1, True), (3, False)):
        problem = rooms(8, 1, SMALL, num_trips=num_trips)
        survey = survey_problem(problem)
        prices = PrefixPrices(survey, survey.coverable, 6, Effort(1e9), max_bytes=120_000)
        found = 0
        for chosen in range(1, 256):
            try:
                found += prices.share(chosen) >= 0
            except TooMuchError:
                break
        assert (found == 255) == is_enough, found


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
    optimum = find_optimum(survey, Spread(survey, privacy), privacy.m)
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
            certificate = Certificate(members, prices, rng.choice([count, None]), bound, threshold, listed, 0)
            claims = replace(playbook.claims, num_anonymized=num, mac_lower_bound=claimed)
            lying = replace(playbook, claims=claims, certificate=certificate)
            proof = examine_certificate(replay_playbook(lying, None), certificate, None)
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


@pytest.mark.parametrize("m", [None, 9, 10**15])
def test_no_k_and_m_that_a_file_names_keep_the_auditor_busy(m: int | None) -> None:
    """Above a dozen candidates, where classes of k members are looked for."""
    playbook = honest("14")
    asked = replace(playbook, status="infeasible", privacy=replace(playbook.privacy, k=10**12, m=m))
    replayed = replay_playbook(asked, None)
    assert count_anonymizable(replayed, m, effort=100_000) == 0
    assert judged(asked, effort=100_000)[2].verdict == "violated"
