"""The total extra cost as what plans keep small: honest playbooks hold; forged figures and objectives do not."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import veilroute as vr
from veilroute import Certificate, playbook_from_json
from veilroute.auditing import ClaimVerdict

HONEST: dict[str, Callable[[], vr.Playbook]] = {
    "tried": lambda: solve_total(8, vr.Privacy(k=2, ell=4)),
    "tried, prefixes": lambda: solve_total(8, vr.Privacy(k=2, m=24)),
    "certificate": lambda: solve_total(14, vr.Privacy(k=2), num_trips=2),
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


def test_a_certificate_for_the_mac_proves_nothing_about_the_total(playbooks: dict[str, vr.Playbook]) -> None:
    playbook = playbooks["certificate"]
    other = vr.solve(replace(playbook.problem, objective="mac"), playbook.privacy)
    assert isinstance(other.certificate, Certificate)
    assert (
        "is enough for a total extra cost of" in broken(replace(playbook, certificate=other.certificate))["certificate"]
    )


def test_the_objective_is_compared_with_what_was_meant(playbooks: dict[str, vr.Playbook]) -> None:
    playbook = playbooks["tried"]
    meant = playbook.problem
    other = replace(meant, objective="mac")
    least = vr.solve(other, playbook.privacy)
    for book, problem, unstated, verdict in (
        (playbook, meant, (), "holds"),
        (playbook, other, (), "violated"),
        (playbook, other, ("objective",), "unproved"),
        (least, meant, (), "violated"),
    ):
        found = vr.audit(book, instance=problem, privacy=book.privacy, unstated=unstated).claims[-1]
        assert (found.claim, found.verdict) == ("instance", verdict)
        assert verdict != "violated" or "objective: the instance says" in found.evidence


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
