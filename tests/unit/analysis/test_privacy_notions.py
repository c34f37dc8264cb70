"""The study of what privacy notions cost: each notion keeps what it says, and observers are as good as they can be."""

from __future__ import annotations

import math
import runpy
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute.analysis import watch_by_fraction

STUDY = Path(__file__).resolve().parents[3] / "docs" / "examples" / "privacy_notions" / "privacy_notions.py"
PRIORS = ([1.0] * 5, [5.0, 4.0, 3.0, 2.0, 1.0])


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return runpy.run_path(str(STUDY))


@pytest.fixture(params=PRIORS, ids=["uniform", "uneven"])
def problem(request: pytest.FixtureRequest) -> vr.Problem:
    domain = vr.grid_domain(["........", ".@@.@@@.", "........", ".@@@@.@.", "........"])
    places = [(0, 2), (0, 6), (2, 1), (2, 6), (4, 3)]
    return vr.Problem(domain, [vr.Trip((0, 0), (4, 7))], places, prior=request.param)


def chances(problem: vr.Problem) -> dict[Any, float]:
    weights = problem.prior or []
    return {place: weight / sum(weights) for place, weight in zip(problem.candidates, weights, strict=True)}


def test_one_tour_tells_no_more_than_the_prior(study: dict[str, Any], problem: vr.Problem) -> None:
    book = study["one_tour"](study["Geography"](problem))
    best = max(chances(problem).values())
    assert watch_by_fraction(book, [0.2, 0.5, 0.8, 1.0]) == pytest.approx([best] * 4)
    assert book.claims.worst_posterior == pytest.approx(best)
    assert len({book.route_for(place).nodes for place in problem.candidates}) == 1
    assert vr.audit(book).holds
    assert book.mac == pytest.approx(vr.solve(problem, vr.Privacy(k=5)).mac), "no cheaper tour passes all"


@pytest.mark.parametrize("eps", [0.0, 1.5])
def test_the_reported_place_is_geo_indistinguishable_and_the_route_is_not(
    study: dict[str, Any], problem: vr.Problem, eps: float
) -> None:
    geography = study["Geography"](problem)
    book, prior, far = study["reported_dummy"](geography, eps), chances(problem), geography.distances
    report: dict[Any, dict[Any, float]] = {t: {} for t in prior}
    for group in book.classes:
        for t in group.members:
            (u,) = set(group.members) - {t} or {t}
            report[t][u] = group.share_of(t) / prior[t]
    for t, u in permutations(prior, 2):
        assert math.fsum(report[t].values()) == pytest.approx(1.0)
        for drawn in prior:
            assert report[t][drawn] <= math.exp(eps * far[t, u]) * report[u][drawn] * (1 + 1e-9)
    assert vr.risk(book).worst == pytest.approx(1.0), "on some trips the secret is drawn for itself"
    assert not vr.audit(book).holds


def test_draws_within_classes_keep_their_bound_at_the_least_cost(study: dict[str, Any], problem: vr.Problem) -> None:
    geography, prior = study["Geography"](problem), chances(problem)
    costs = []
    for eps in (0.0, 0.7, 2.0):
        book = study["within_classes"](geography, eps)
        costs.append(book.claims.expected_mac)
        for group in book.classes:
            assert len(group.members) >= 2
            for t, u in permutations(group.members, 2):
                bound = math.exp(eps * geography.distances[t, u]) * group.share_of(u) / prior[u]
                assert group.share_of(t) / prior[t] <= bound + 1e-6
        for place in prior:
            assert math.fsum(group.share_of(place) for group in book.classes) == pytest.approx(prior[place])
    assert costs[0] > costs[1] > costs[2]
    if len(set(prior.values())) == 1:
        drawn = vr.solve(problem, vr.Privacy(k=2, mechanism="randomised"))
        assert costs[0] == pytest.approx(drawn.claims.expected_mac), "equal shares in classes of two"


def test_the_study_runs_on_a_generated_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--map", "rooms-2", "--candidates", "5", "--out", str(tmp_path / "notions")]
    monkeypatch.setattr(sys, "argv", [str(STUDY), *asked])
    runpy.run_path(str(STUDY), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count("geo, one tour") == 2 and "generated maps" in printed
    rows = (tmp_path / "notions" / "notions-zipf.csv").read_text(encoding="utf-8").splitlines()
    # 60/137 of the trips are to the first place, which nobody can hide behind 1/3; the rest is too uneven as well.
    assert '"risk, partition",at most 0.333,,,0.0,0.3333333333333333,,,,,' in rows
    by_instance = (tmp_path / "notions" / "by-instance.csv").read_text(encoding="utf-8").splitlines()
    assert len(by_instance) == 1 + 2 * (len(rows) - 1)
