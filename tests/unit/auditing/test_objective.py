"""The total extra cost as what plans keep small: honest playbooks hold; forged figures and objectives do not."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import veilroute as vr
from veilroute import Certificate, playbook_from_json
from veilroute.auditing import ClaimVerdict, Spread, find_optimum, survey_problem

HONEST: dict[str, Callable[[], vr.Playbook]] = {
    "tried": lambda: solve_total(8, vr.Privacy(k=2, ell=4)),
    "tried, all pairs": lambda: solve_total(8, vr.Privacy(k=3, ell=4, spread="all-pairs")),
    "tried, prefixes": lambda: solve_total(8, vr.Privacy(k=2, m=24)),
    "certificate": lambda: solve_total(16, vr.Privacy(k=2)),
    "certificate, two trips": lambda: solve_total(14, vr.Privacy(k=2), num_trips=2),
    "certificate, prefixes": lambda: solve_total(14, vr.Privacy(k=2, m=24)),
    "certificate, m beyond every route": lambda: solve_total(14, vr.Privacy(k=2, m=5_000)),
}


def solve_total(num: int, privacy: vr.Privacy, *, num_trips: int = 1) -> vr.Playbook:
    domain = vr.generate_rooms(20, 26, seed=3)
    rng = Random(7)
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 2 * num_trips)]
    trips = [vr.Trip(labels[2 * i], labels[2 * i + 1], 1.0 + 2 * i) for i in range(num_trips)]
    return vr.solve(vr.Problem(domain, trips, labels[2 * num_trips :], objective="total"), privacy)


@pytest.fixture(scope="module")
def playbooks() -> dict[str, vr.Playbook]:
    return {name: make() for name, make in HONEST.items()}


def verdicts(playbook: vr.Playbook) -> dict[str, ClaimVerdict]:
    return {verdict.claim: verdict for verdict in vr.audit(playbook).claims}


def broken(playbook: vr.Playbook) -> dict[str, str]:
    return {claim: verdict.evidence for claim, verdict in verdicts(playbook).items() if not verdict.holds}


def with_claims(playbook: vr.Playbook, **changes: Any) -> vr.Playbook:
    return replace(playbook, claims=replace(playbook.claims, **changes))


@pytest.mark.parametrize("name", HONEST)
def test_honest_playbooks_are_proved(playbooks: dict[str, vr.Playbook], name: str) -> None:
    playbook = playbooks[name]
    assert (playbook.status, playbook.objective, playbook.mac_lower_bound) == ("optimal", "total", None)
    assert playbook.claims.total_extra
    assert (playbook.certificate is not None) == name.startswith("certificate")
    report = vr.audit(playbook_from_json(playbook.to_json()))
    assert {v.claim: v.evidence for v in report.claims if v.verdict != "holds"} == {}
    assert report.total_extra == pytest.approx(playbook.claims.total_extra)
    assert report.worst_extra == pytest.approx(playbook.claims.worst_extra)
    assert {"total_extra", "worst_extra"} <= set(report.to_dict())
    assert f"total extra cost recomputed: {report.total_extra:.9g}, worst single detour:" in report.to_text()
    assert "MAC" not in next(v.evidence for v in report.claims if v.claim == "bound")


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("extra-cost", {"total_extra": 0.999}),
        ("extra-cost", {"total_extra": 1.001}),
        ("extra-cost", {"worst_extra": 0.999}),
        ("bound", {"total_extra_lower_bound": 1.001}),
        ("optimality", {"total_extra_lower_bound": 0.999}),
        ("optimality", {"total_extra": 0.999, "total_extra_lower_bound": 0.999}),
    ],
)
def test_forged_figures_are_violated(
    playbooks: dict[str, vr.Playbook], name: str, claim: str, changes: dict[str, float]
) -> None:
    playbook = playbooks[name]
    forged = {figure: getattr(playbook.claims, figure) * factor for figure, factor in changes.items()}
    assert claim in broken(with_claims(playbook, **forged))


@pytest.mark.parametrize("name", HONEST)
def test_another_objective_in_the_file_is_no_proof(playbooks: dict[str, vr.Playbook], name: str) -> None:
    """Taken for the least MAC, the plan has no bound; with one, it is the plan that is held against the least MAC."""
    playbook = playbooks[name]
    data = json.loads(playbook.to_json())
    del data["objective"]
    assert {"bound", "optimality"} <= broken(playbook_from_json(json.dumps(data).encode())).keys()
    lying = with_claims(replace(playbook, objective="mac"), mac_lower_bound=playbook.mac, total_extra_lower_bound=None)
    least = vr.solve(replace(playbook.problem, objective="mac"), playbook.privacy)
    assert playbook.mac is not None
    assert least.mac is not None
    if playbook.mac > least.mac * (1 + 1e-6):
        assert verdicts(lying)["optimality"].verdict != "holds"
    assert {"bound", "optimality"} <= broken(replace(least, objective="total")).keys()


def test_a_bound_on_what_is_not_kept_small_is_refused(playbooks: dict[str, vr.Playbook]) -> None:
    """Nobody proves it, however low it is."""
    playbook = playbooks["tried"]
    assert (
        "it is the total extra cost that is kept small" in broken(with_claims(playbook, mac_lower_bound=0.0))["bound"]
    )
    least = vr.solve(replace(playbook.problem, objective="mac"), playbook.privacy)
    assert "no total extra cost is below 0" in broken(with_claims(least, total_extra_lower_bound=0.0))["bound"]


@pytest.mark.parametrize("name", ["tried", "certificate", "certificate, two trips"])
def test_a_worse_plan_is_not_optimal(playbooks: dict[str, vr.Playbook], name: str) -> None:
    """True routes and figures, and a bound that meets them, for classes with two members exchanged."""
    playbook = playbooks[name]
    problem = playbook.problem
    for seed in range(4):
        groups = [list(group.members) for group in playbook.classes]
        one, other = Random(seed).sample(groups, 2)
        one[0], other[0] = other[0], one[0]
        classes = []
        for group in groups:
            covers = [vr.cover(problem, tuple(group), trip=trip) for trip in range(len(problem.trips))]
            routes = tuple(vr.Route(cover.walk, cover.cost, trip) for trip, cover in enumerate(covers))
            classes.append(vr.PlaybookClass(tuple(group), True, routes))
        worse = replace(playbook, classes=tuple(classes))
        report = vr.audit(worse)
        assert report.total_extra is not None
        assert playbook.claims.total_extra is not None
        if report.total_extra <= playbook.claims.total_extra * (1 + 1e-6):
            continue
        lying = with_claims(
            worse,
            total_extra=report.total_extra,
            worst_extra=report.worst_extra,
            total_extra_lower_bound=report.total_extra,
        )
        found = broken(lying)
        assert "is possible" in found["bound"] + found["optimality"]
        if playbook.certificate is not None:
            # With as high a bound in the certificate, and as wide a list.
            gap = report.total_extra - playbook.certificate.bound
            for certificate in (
                replace(playbook.certificate, bound=report.total_extra),
                replace(playbook.certificate, threshold=max(gap, playbook.certificate.threshold)),
            ):
                found_by = verdicts(replace(lying, certificate=certificate))
                assert not (found_by["optimality"].verdict == "holds" or found_by["bound"].verdict == "holds")
        return
    pytest.fail("no exchange made the plan dearer")


def test_a_certificate_for_the_mac_proves_nothing_about_the_total(playbooks: dict[str, vr.Playbook]) -> None:
    playbook = playbooks["certificate"]
    other = vr.solve(replace(playbook.problem, objective="mac"), playbook.privacy)
    assert isinstance(other.certificate, Certificate)
    assert (
        "is enough for a total extra cost of" in broken(replace(playbook, certificate=other.certificate))["certificate"]
    )


def test_playbooks_of_old_lack_a_figure_and_get_the_same_report_otherwise(playbooks: dict[str, vr.Playbook]) -> None:
    least = vr.solve(replace(playbooks["tried"].problem, objective="mac"), playbooks["tried"].privacy)
    old = with_claims(least, total_extra=None, worst_extra=None)
    new, without = vr.audit(least), vr.audit(old)
    assert [v.claim for v, w in zip(new.claims, without.claims, strict=True) if v != w] == ["extra-cost"]
    assert [v.claim for v in without.claims if v.verdict != "holds"] == ["extra-cost"]
    assert without.verdict == "unproved"
    assert without.total_extra == new.total_extra
    assert [item.what for item in without.bound_to if item.what == "objective"] == []


def test_the_objective_is_compared_with_what_was_meant(playbooks: dict[str, vr.Playbook]) -> None:
    playbook = playbooks["tried"]
    meant = playbook.problem
    report = vr.audit(playbook, instance=meant, privacy=playbook.privacy)
    assert report.claims[-1].verdict == "holds"
    assert {"what": "objective", "playbook": "total", "instance": "total", "agrees": True} in report.to_dict()[
        "bound_to"
    ]
    other = replace(meant, objective="mac")
    assert "objective: the instance says mac, the playbook total" in (
        vr.audit(playbook, instance=other, privacy=playbook.privacy).claims[-1].evidence
    )
    unsaid = vr.audit(playbook, instance=other, privacy=playbook.privacy, unstated=("objective",))
    assert unsaid.claims[-1].verdict == "unproved"
    least = vr.solve(other, playbook.privacy)
    assert not vr.audit(least, instance=meant, privacy=playbook.privacy).holds


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rounding_is_relative_to_the_costs(scale: float) -> None:
    """On a map with tiny costs a figure of the total that is twice as high is not taken for rounding."""
    tails, heads = [*range(6), *range(1, 7)], [*range(1, 7), *range(6)]
    domain = vr.Domain.from_edges(7, tails, heads, [scale * (1 + i % 6) for i in range(12)])
    problem = vr.Problem(domain, [vr.Trip(0, 0)], [1, 2, 4, 5, 6], objective="total")
    playbook = vr.solve(problem, vr.Privacy(k=2, ell=0))
    assert playbook.claims.total_extra
    assert broken(playbook) == {}
    for factor in (0.5, 2.0):
        for figure, claim in (("total_extra", "extra-cost"), ("worst_extra", "extra-cost")):
            forged = {figure: getattr(playbook.claims, figure) * factor}
            assert claim in broken(with_claims(playbook, **forged))
    assert "bound" in broken(with_claims(playbook, total_extra_lower_bound=playbook.claims.total_extra * 2))


@pytest.mark.parametrize("seed", range(20))
def test_planner_and_auditor_agree_on_the_least_total(seed: int) -> None:
    rng = Random(seed)
    tails = [rng.randrange(8) for _ in range(20)] + list(range(8))
    heads = [rng.randrange(8) for _ in range(20)] + [(i + 1) % 8 for i in range(8)]
    edges = {(a, b): rng.choice([0, 1, 2, 3.5]) for a, b in zip(tails, heads, strict=True) if a != b}
    domain = vr.Domain.from_edges(8, [a for a, _ in edges], [b for _, b in edges], list(edges.values()))
    trips = [vr.Trip(0, rng.randrange(8), 1.0 + i) for i in range(2)]
    problem = vr.Problem(domain, trips, list(range(1, 7)), objective="total")
    privacy = vr.Privacy(k=2, ell=rng.choice([0, 2]), m=rng.choice([None, None, 3]))
    if len(problem.counted) < privacy.k:
        return
    playbook = vr.solve(problem, privacy)
    survey = survey_problem(problem)
    optimum = find_optimum(survey, Spread(survey, privacy), privacy.m)
    assert optimum is not None
    assert optimum.num_anonymized == playbook.claims.num_anonymized
    if optimum.num_anonymized:
        least = optimum.least[optimum.num_anonymized]
        assert playbook.claims.total_extra is not None
        assert math.isclose(least, playbook.claims.total_extra, rel_tol=1e-9, abs_tol=1e-9)
    assert broken(playbook) == {}
