"""The observer's figures against the public library `qif`, and against plain sums, for playbooks of every planner."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from plain_cliques import heaviest_area

NUM_PLAYBOOKS = 50
METHODS: dict[str, dict[str, Any]] = {
    "optimal": {},
    "optimal with m": {"m": 9},
    "by risk": {"risk": 0.6},
    "randomised": {"mechanism": "randomised"},
    "randomised by risk with m": {"risk": 0.45, "mechanism": "randomised", "m": 9},
    "pbp": {"planner": "pbp", "partitioner": "naive"},
    "m-pbp": {"planner": "m-pbp", "m": 9},
    "cbp": {"planner": "cbp", "m": 9},
    "rbp": {"planner": "rbp", "m": 9},
    "reuse": {"planner": "reuse"},
}


def draw_playbook(rng: random.Random, asked: dict[str, Any]) -> vr.Playbook:
    domain = vr.generate_rooms(rng.randint(12, 16), rng.randint(12, 18), seed=rng.randrange(10**6))
    ends = [domain.label(node) for node in rng.sample(range(domain.num_nodes), 2)]
    candidates = vr.draw_candidates(domain, ends[0], ends[1], rng.randint(5, 8), seed=rng.randrange(10**6))
    trips = [vr.Trip(ends[0], ends[1]), vr.Trip(ends[1], ends[0], 2.0)][: rng.randint(1, 2)]
    prior = rng.choice([None, [rng.random() for _ in candidates], [1 / rank for rank, _ in enumerate(candidates, 1)]])
    problem = vr.Problem(domain, trips, candidates, prior=prior)
    options = {name: value for name, value in asked.items() if name in ("planner", "partitioner")}
    goals = {name: value for name, value in asked.items() if name not in options}
    ell = rng.choice([1, 1, 4])
    if asked.get("planner") == "reuse":
        options["partition"] = vr.solve(problem, vr.Privacy(k=2, ell=ell))
    if "risk" not in goals:
        goals["k"] = 2
    return vr.solve(problem, vr.Privacy(ell=ell, **goals), seed=rng.randrange(100), **options)


def channel_of(book: vr.Playbook) -> tuple[list[Any], Any, Any]:
    """Who is hidden, the prior among them, and by row how probable each sight is for each: in plain Python."""
    hidden = list(dict.fromkeys(label for group in book.hidden_classes for label in group.members))
    weights = dict(zip(book.candidates, book.prior or [1.0] * len(book.candidates), strict=True))
    columns: dict[Any, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    for group in book.hidden_classes:
        for at, label in enumerate(group.members):
            seen = tuple(group.route_of(label, trip).nodes[: book.privacy.m] for trip in range(len(book.trips)))
            own = [
                each.shares[each.members.index(label)]
                for each in book.hidden_classes
                if label in each.members and each.shares
            ]
            columns[seen][label] += group.shares[at] / math.fsum(own) if group.shares else 1.0
    prior = np.array([weights[label] for label in hidden])
    channel = np.array([[column[label] for column in columns.values()] for label in hidden])
    return hidden, prior / prior.sum(), channel


@pytest.mark.parametrize("name", METHODS)
def test_bayes_success_is_that_of_qif(name: str) -> None:
    qif = pytest.importorskip("qif", reason="qif is not installed (the extra `test` has it)")
    from qif.measure import bayes_vuln

    rng = random.Random(f"veilroute-qif-{name}")
    num_compared = 0
    for _ in range(NUM_PLAYBOOKS):
        book = draw_playbook(rng, METHODS[name])
        report = vr.risk(book)
        assert report.bayes_success == book.claims.bayes_success
        if report.bayes_success is None:
            continue
        hidden, prior, channel = channel_of(book)
        channel = channel / channel.sum(axis=1, keepdims=True)
        assert bayes_vuln.posterior(prior, channel) == pytest.approx(report.bayes_success, abs=1e-9)
        joint = prior[:, None] * channel
        posterior = joint / joint.sum(axis=0)
        assert posterior.max() == pytest.approx(report.worst_place, abs=1e-9)
        told = [dict(zip(route.members, route.posterior, strict=True)) for route in report.routes]
        assert len(told) == channel.shape[1]
        for column, route in zip(posterior.T, told, strict=True):
            assert [route.get(label, 0.0) for label in hidden] == pytest.approx(column.tolist(), abs=1e-9)
        assert report.worst == pytest.approx(worst_area(book, hidden, posterior), abs=1e-9)
        num_compared += 1
    assert qif is not None
    assert num_compared > NUM_PLAYBOOKS // 2


def worst_area(book: vr.Playbook, hidden: list[Any], posterior: Any) -> float:
    """The largest posterior of places pairwise closer than ell, with distances by covering walks of single trips."""
    domain = book.problem.domain
    close = np.eye(len(hidden), dtype=bool)
    for i, a in enumerate(hidden):
        for j, b in enumerate(hidden):
            if i != j and book.privacy.ell > 1:
                away = vr.cover(vr.Problem(domain, [vr.Trip(a, b)], [a]), []).cost
                close[i, j] |= away < book.privacy.ell
                close[j, i] |= away < book.privacy.ell
    everybody = range(len(hidden))
    return max(heaviest_area(everybody, lambda i, j: bool(close[i, j]), column.__getitem__) for column in posterior.T)
