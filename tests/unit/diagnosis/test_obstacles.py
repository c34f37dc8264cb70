"""Why candidates get no route, on networks small enough to see it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import veilroute as vr
from veilroute.domain import street_domain

ONE_WAY = [(0, 1), (1, 2), (2, 3), (1, 4), (5, 2), (1, 7), (7, 2), (1, 8), (8, 2)]
"""0 -> 1 -> 2 -> 3 with a trap at 4, a source at 5, nothing at 6, and two ways from 1 to 2: by 7 or by 8."""
TRAPS = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7), (7, 3), (1, 4), (2, 4), (5, 4), (6, 4), (7, 4)]
"""0 -> 1 -> 2 -> 5 -> 6 -> 7 -> 3, and from each of the five between a street into the trap at 4."""


def graph() -> vr.Domain:
    tails, heads = zip(*ONE_WAY, strict=True)
    return vr.Domain.from_edges(9, tails, heads, [1] * len(ONE_WAY))


def town(pairs: list[tuple[int, int]], names: list[str]) -> vr.Domain:
    """The same as streets, each with its name."""
    return street_domain(
        lonlat=[(24.9 + 0.001 * i, 60.1) for i in range(9)],
        tails=[tail for tail, _ in pairs], heads=[head for _, head in pairs], unit="seconds",
        costs=[1.0] * len(pairs), lengths=[60.0] * len(pairs), names=["", *names],
        name_ids=[0] * (len(pairs) - len(names)) + list(range(1, len(names) + 1)),
    )  # fmt: skip


def obstacles(
    candidates: list[int], domain: vr.Domain | None = None, trips: tuple[vr.Trip, ...] = (vr.Trip(0, 3),),
    visibility: vr.Visibility | None = None, **privacy: object,
) -> dict[object, vr.Obstacle]:  # fmt: skip
    problem = vr.Problem(domain or graph(), trips, candidates, visibility or vr.AtNode())
    playbook = vr.solve(problem, vr.Privacy(**({"ell": 0} | privacy)))  # type: ignore[arg-type]
    return {obstacle.candidate: obstacle for obstacle in vr.find_obstacles(playbook)}


@pytest.mark.parametrize(
    ("candidates", "given", "words"),
    [
        ([4, 5, 6, 1, 7], {}, {4: "lead only towards", 5: "lead only away", 6: "not connected"}),
        ([7, 8], {}, {7: "no walk passes both it and 8", 8: "no walk passes both it and 7"}),
        ([1, 7, 8], {"k": 3}, {1: "", 7: "needs 2 other candidates .* there is 1:", 8: ""}),
        ([1, 7], {"ell": 5}, {1: "stand 5 apart for k=2", 7: "stand 5 apart"}),
        ([1, 7, 8], {"ell": 5}, {1: "no walk covers it together", 7: "", 8: ""}),
        ([1, 7, 8], {}, {None: "would take members from others"}),
        ([1, 7], {"trips": (vr.Trip(3, 0),)}, {1: "from the start to the goal", 7: "from the start to the goal"}),
        ([1, 7], {"trips": (vr.Trip(0, 3), vr.Trip(2, 3))}, {1: "start of trip 1 to it", 7: "start of trip 1"}),
        (
            [6, 7, 8], {"visibility": vr.Explicit({4: [7], 5: [7], 1: [8], 2: [8]}), "k": 1},
            {6: "no node sees it", 7: "none does both"},
        ),
        ([1, 7], {}, {}),
        ([7, 8], {"m": 2}, {}),  # at a finite m sharing a whole walk is not asked for
    ],
)  # fmt: skip
def test_reasons(candidates: list[int], given: dict[str, object], words: dict[int | None, str]) -> None:
    found = obstacles(candidates, **given)  # type: ignore[arg-type]
    if None in words:
        (alone,) = found.values()
        found = {None: alone}
    assert list(found) == list(words)
    for label, word in words.items():
        assert not word or re.search(word, found[label].reason), found[label].reason


def test_kinds_and_who_it_is_parted_from() -> None:
    assert {obstacle.kind for obstacle in obstacles([4, 5, 6, 1, 7]).values()} == {"uncoverable"}
    found = obstacles([7, 8])
    assert [(found[at].kind, found[at].parted_from) for at in (7, 8)] == [("unprotected", (8,)), ("unprotected", (7,))]


def test_the_streets_in_the_way_are_named_but_three_at_most() -> None:
    found = obstacles([4, 5, 1, 7], town(ONE_WAY, [f"{a}-{b}" for a, b in ONE_WAY]))
    assert (found[4].streets, found[5].streets) == (("1-4",), ("5-2",))
    assert "1-4" in found[4].reason
    assert obstacles([4, 1, 2], town(TRAPS, ["A", "B", "C", "D"]))[4].streets == ("A", "B", "C")


def test_a_limit_and_what_is_not_proved() -> None:
    """Without proof nothing is said to be impossible."""
    trips = [vr.Trip(0, 3)]
    book = vr.solve(vr.Problem(graph(), trips, [1, 7, 8]), vr.Privacy(ell=0))
    (found,) = vr.find_obstacles(replace(book, status="feasible"))
    assert "no proof" in found.reason
    assert len(vr.find_obstacles(vr.solve(vr.Problem(graph(), trips, [4, 5, 6]), vr.Privacy(ell=0)), limit=2)) == 2
    assert vr.Obstacle(3, "unprotected", "why", (4,), ("Street",)).to_dict() == {
        "candidate": 3, "kind": "unprotected", "reason": "why", "parted_from": [4], "streets": ["Street"],
    }  # fmt: skip
