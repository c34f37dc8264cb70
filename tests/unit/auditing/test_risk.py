"""What an observer believes: posteriors of replayed routes, priors, shares, and who tries to get round them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import veilroute as vr
from risk_plans import small_problem
from veilroute import Claims, Playbook, PlaybookClass
from veilroute.auditing import ClassRule, is_hidden, measure_risk, replay_playbook, survey_problem


def verdicts(playbook: Playbook, **meant: object) -> dict[str, str]:
    return {claim.claim: claim.verdict for claim in vr.audit(playbook, **meant).claims}  # type: ignore[arg-type]


def make_playbook(problem: vr.Problem, privacy: vr.Privacy, groups: list[PlaybookClass], claims: Claims) -> Playbook:
    return Playbook(
        domain=problem.domain, domain_sha256=problem.domain.sha256, trips=tuple(problem.trips),
        candidates=tuple(problem.candidates), visibility=problem.visibility, privacy=privacy, planner="optimal",
        options={}, status="feasible", classes=tuple(groups), uncoverable=(), claims=claims,
        prior=None if problem.prior is None else tuple(problem.prior),
    )  # fmt: skip


def corridor() -> tuple[vr.Problem, vr.Route]:
    """One way only, past four candidates: x stands near both a and b, which are far from each other; y is far away."""
    domain = vr.grid_domain(["." * 40])
    problem = vr.Problem(domain, [vr.Trip((0, 0), (0, 39))], [(0, 10), (0, 30), (0, 7), (0, 13)])
    return problem, vr.Route(tuple((0, col) for col in range(40)), 39.0)


def figures(worst: float, success: float) -> Claims:
    return Claims(
        4, 4, 4, None, 1.0, 0.0, (0.0,), expected_mac=0.0, hidden_mass=1.0, worst_posterior=worst,
        bayes_success=success, total_extra=0.0, worst_extra=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("mechanism", ["partition", "randomised"])
def test_classes_that_look_the_same_are_one_to_an_observer(mechanism: str) -> None:
    """Each class keeps to its bound by itself. So does the union, which is what an observer of their route sees."""
    problem, route = corridor()
    x, y, a, b = problem.candidates
    shares = (0.25, 0.25) if mechanism == "randomised" else ()
    groups = [PlaybookClass(pair, True, (route,), {}, shares) for pair in ((x, y), (a, b))]
    privacy = vr.Privacy(risk=0.5, ell=5, mechanism=mechanism)
    book = make_playbook(problem, privacy, groups, figures(0.5, 0.25))
    assert set(verdicts(book).values()) == {"holds"}
    assert is_hidden(book, book.classes)
    truth = measure_risk(replay_playbook(book, None))
    assert (truth.worst, truth.bayes_success) == (0.5, 0.25)
    # With a wider ell x, a and b are one area, which is too probable whatever the classes are.
    wide = replace(book, privacy=replace(privacy, ell=21), claims=figures(0.75, 0.25))
    assert verdicts(wide)["risk"] == verdicts(wide)["anonymized"] == "violated"
    (evidence,) = (each.evidence for each in vr.audit(wide).claims if each.claim == "risk")
    assert "a probability of 0.75, more than 0.5" in evidence
    assert "now too probable in their group: (0, 10), (0, 30), (0, 7), (0, 13)" in vr.audit(wide).to_text()
    for risk, ell, words in (
        (0.4, 5, "gives (0, 10), (0, 13), in one area less than 5 across, a probability of 0.5,"),
        (0.2, 1, "gives (0, 10) a probability of 0.25,"),
    ):
        less = replace(book, privacy=vr.Privacy(risk=risk, ell=ell, mechanism=mechanism))
        assert any(words in each.evidence for each in vr.audit(less).claims if each.claim == "risk")
    assert not is_hidden(wide, wide.classes)


def test_a_plan_by_counting_states_its_risk() -> None:
    problem = replace(small_problem(Random(1), 6), prior=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    book = vr.solve(problem, vr.Privacy(k=2))
    risk = measure_risk(replay_playbook(book, None))
    assert risk.worst is not None
    assert risk.bayes_success is not None
    stated = replace(book, claims=replace(book.claims, worst_posterior=risk.worst, bayes_success=risk.bayes_success))
    assert verdicts(stated)["risk"] == "holds"
    for claims in (replace(stated.claims, worst_posterior=0.5), replace(stated.claims, bayes_success=0.5)):
        assert verdicts(replace(stated, claims=claims))["risk"] == "violated"
    assert vr.audit(book).verdict == "holds"


@pytest.mark.parametrize("mechanism", ["partition", "randomised"])
def test_a_playbook_for_a_prior_that_suits_the_seller(mechanism: str) -> None:
    """Every claim is true, of another prior than was meant."""
    problem = replace(small_problem(Random(8), 6), prior=[0.6, 0.2, 0.05, 0.05, 0.05, 0.05])
    privacy = vr.Privacy(risk=0.5, mechanism=mechanism)
    suiting = replace(problem, prior=[0.1, 0.1, 0.1, 0.15, 0.25, 0.3])
    sold = vr.solve(suiting, privacy)
    assert vr.audit(sold).verdict == "holds"
    found = verdicts(sold, instance=problem, privacy=privacy)
    assert found["instance"] == "violated"
    assert verdicts(sold, instance=suiting, privacy=privacy)["instance"] == "holds"
    assert verdicts(sold, instance=problem, privacy=privacy, unstated=["prior"])["instance"] == "unproved"
    assert verdicts(sold, prior=problem.prior)["prior"] == "violated"
    assert verdicts(sold, prior=suiting.prior)["prior"] == "holds"


def test_what_was_meant_is_a_risk_or_a_mechanism() -> None:
    problem = replace(small_problem(Random(8), 6), prior=None)
    book = vr.solve(problem, vr.Privacy(risk=0.5))
    other = {"instance": problem, "privacy": vr.Privacy(k=2)}
    assert verdicts(book, **other)["instance"] == "violated"
    assert verdicts(book, instance=problem, privacy=vr.Privacy(risk=0.4))["instance"] == "violated"
    assert verdicts(book, instance=problem, privacy=vr.Privacy(risk=0.5))["instance"] == "holds"
    assert verdicts(book, **other, unstated=["k"])["instance"] == "unproved"
    mixed = vr.Privacy(risk=0.5, mechanism="randomised")
    assert verdicts(book, instance=problem, privacy=mixed)["instance"] == "violated"
    even = replace(problem, prior=[2.0] * 6)
    assert verdicts(book, instance=even, privacy=vr.Privacy(risk=0.5))["instance"] == "holds"


@pytest.mark.parametrize("mechanism", ["partition", "randomised"])
def test_leaving_out_who_could_be_hidden_is_not_optimal(mechanism: str) -> None:
    """The plan is the best one for all but one candidate, whose route is said to exist for nobody's sake."""
    problem = replace(small_problem(Random(8), 6), prior=[0.2, 0.2, 0.15, 0.15, 0.15, 0.15])
    privacy = vr.Privacy(risk=0.5, mechanism=mechanism)
    assert vr.solve(problem, privacy).claims.num_anonymized == 6
    fewer = replace(problem, candidates=problem.candidates[1:], prior=problem.prior[1:])  # type: ignore[index]
    best = vr.solve(fewer, privacy)
    assert best.status == "optimal"
    first = problem.candidates[0]
    routes = tuple(
        vr.Route(cover.walk, cover.cost, trip)
        for trip in range(len(problem.trips))
        for cover in [vr.cover(problem, (first,), trip=trip)]
    )
    classes = [replace(group, shares=tuple(0.8 * share for share in group.shares)) for group in best.classes]
    certificate = None if best.certificate is None else replace(best.certificate, bound=0.8 * best.certificate.bound)
    claims = replace(
        best.claims, num_candidates=6, num_coverable=6, apr=5 / 6, hidden_mass=0.8, num_anonymizable=None, delta=None
    )
    cheat = replace(
        best, candidates=tuple(problem.candidates), prior=tuple(problem.prior or ()), claims=claims,
        certificate=certificate, classes=(*classes, PlaybookClass((first,), False, routes)),
    )  # fmt: skip
    found = verdicts(cheat)
    assert found.pop("optimality") == "violated"
    del found["bound"]  # others who are as probable may be cheaper to hide
    assert set(found.values()) == {"holds"}
    assert verdicts(replace(cheat, status="feasible"))["optimality"] == "holds"


def test_who_can_be_hidden_at_all() -> None:
    domain = vr.grid_domain(["." * 12])
    problem = vr.Problem(
        domain, [vr.Trip((0, 0), (0, 11))], [(0, col) for col in range(1, 7)], prior=[60, 16, 12, 8, 4, 0]
    )
    survey = survey_problem(problem)
    assert survey.hideable(0.7) == (0, 1, 2, 3, 4)
    assert survey.hideable(0.6) == (0, 1, 2, 3, 4)
    assert survey.hideable(0.5) == (1, 2, 3, 4)
    assert survey.hideable(0.35) == ()
    assert survey.hideable(None) == (0, 1, 2, 3, 4)


def test_a_heavy_member_may_need_everybody() -> None:
    """Two classes that qualify and a heavier one that joins: together they are one class that cannot be split."""
    masses = {0: 4.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}
    rule = ClassRule(2, dict.fromkeys(masses, 0), is_all_pairs=False, beta=0.5, masses=masses)
    assert rule.qualifies(0b00110)
    assert rule.qualifies(0b11000)
    assert rule.qualifies(0b11111)
    assert not any(rule.qualifies(part) and rule.qualifies(0b11111 ^ part) for part in range(1, 0b11111))
