from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from veilroute import Certificate, Cut, DualPrices, playbook_from_json

CELLS = ((0, 2), (2, 2), (0, 4), (2, 4))


@pytest.fixture
def certificate() -> Certificate:
    cost = DualPrices((0.1, 0.2, 0.3, 0.4), (Cut(CELLS[:3], 0.05),))
    return Certificate(CELLS, cost, DualPrices((1.0, 1.0, 0.5, 0.5)), 0.95, 0.25, 7, 12, 3)


@pytest.fixture
def playbook(two_rooms: vr.Domain, certificate: Certificate) -> vr.Playbook:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], CELLS)
    return replace(vr.solve(problem, vr.Privacy(k=2, ell=2)), certificate=certificate)


def test_a_file_keeps_every_bit(playbook: vr.Playbook, certificate: Certificate) -> None:
    again = playbook_from_json(playbook.to_json())
    assert again.certificate == certificate
    assert again.to_json() == playbook.to_json()
    odd = DualPrices((0.1 + 0.2, 1e-300, -1, 0))
    for changed in (replace(certificate, count=None), replace(certificate, cost=odd), None):
        book = replace(playbook, certificate=changed)
        assert playbook_from_json(book.to_json()).certificate == changed
        assert (b"certificate" in book.to_json()) == (changed is not None)


def test_numbers_of_numpy_become_plain(certificate: Certificate) -> None:
    duals = np.array([0.1, 0.2, 0.3, 0.4])
    same = replace(
        certificate,
        members=tuple(np.array(CELLS)),
        cost=DualPrices(tuple(duals), (Cut(tuple(np.array(CELLS[:3])), np.float64(0.05)),)),
        num_columns=np.int64(12),  # type: ignore[arg-type]
    )
    assert same == certificate
    assert {type(dual) for dual in same.cost.duals} == {float}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Cut((1, 2), 0.1), "odd number of members"),
        (lambda: Cut((1,), 0.1), "at least 3"),
        (lambda: Cut((1, 2, 2), 0.1), "distinct"),
        (lambda: Cut((1, 2, 3), -0.1), "Cut.dual: expected a finite number >= 0"),
        (lambda: Cut((1, 2, 3), float("nan")), "Cut.dual"),
        (lambda: DualPrices((1.0, float("inf"))), "DualPrices.duals"),
        (lambda: DualPrices((1.0, True)), "DualPrices.duals"),
        (lambda: Certificate((1, 2), DualPrices((1.0,)), None, 0, 0, 0, 0), "one for each of 2 members"),
        (lambda: Certificate((1, 1), DualPrices((1.0, 1.0)), None, 0, 0, 0, 0), "distinct"),
        (lambda: Certificate((1,), DualPrices((1.0,), (Cut((1, 2, 3), 1.0),)), None, 0, 0, 0, 0), "cost.cuts"),
        (lambda: Certificate((1,), DualPrices((1.0,)), DualPrices((-1.0,)), 0, 0, 0, 0), "count.duals"),
        (lambda: Certificate((1,), DualPrices((1.0,)), None, 0, -1.0, 0, 0), "Certificate.threshold"),
        (lambda: Certificate((1,), DualPrices((1.0,)), None, 0, 0, -1, 0), "num_enumerated"),
        (lambda: Certificate((1,), DualPrices((1.0,)), None, 0, 0, 0, 1.5), "num_columns"),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused_when_it_is_made(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=words):
        make()


GONE = object()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("bound", GONE, "damaged playbook"),
        ("members", "abcd", "certificate.members: expected a list"),
        ("members", [[0, 2], [2, 2], [0, 4], 1.5], "Certificate.members"),
        ("bound", None, "Certificate.bound"),
        ("num_nodes", True, "Certificate.num_nodes"),
        ("cost", None, "damaged playbook"),
        ("cost", {"duals": [1, 2, 3, "4"], "cuts": []}, "DualPrices.duals"),
        ("cost", {"duals": [1, 2, 3, 4], "cuts": [{"members": [1, 2, 3], "dual": 1}]}, "own members"),
        (None, [1], "damaged playbook"),
    ],
)
def test_damaged_files_are_refused(playbook: vr.Playbook, key: str | None, value: Any, words: str) -> None:
    data = json.loads(playbook.to_json())
    if key is None:
        data["certificate"] = value
    elif value is GONE:
        del data["certificate"][key]
    else:
        data["certificate"][key] = value
    with pytest.raises(vr.FileFormatError, match=words):
        playbook_from_json(json.dumps(data).encode(), source="playbook.json")
