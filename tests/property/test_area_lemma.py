"""The lemma on areas: an observer who sees less of routes, or links fewer trips, is no surer of any area.

Beliefs are worked out from the files of playbooks by tests/plain_areas.py, for every prefix of the routes, every union
of groups, and every choice of linked trips on each of which everybody is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from random import Random

import pytest

import harness
import veilroute as vr
from plain_areas import PlainProblem, hiding_cases, sights, told_by_file
from plain_cliques import areas

SLACK = 1e-12
NUM_SINGLE, NUM_LINKED = 120, 60


def sure_of_areas(masses: Mapping[int, float], plain: PlainProblem) -> dict[tuple[int, ...], float]:
    """How sure an observer is of each area, given how probable each candidate is together with what is seen."""
    whole = math.fsum(masses.values())
    everybody = areas(plain.counted, plain.is_close)
    return {area: math.fsum(masses.get(c, 0.0) for c in area) / whole for area in everybody}


def worst(seen: Iterable[Mapping[int, float]], plain: PlainProblem) -> float:
    return max(max(sure_of_areas(masses, plain).values()) for masses in seen)


def test_watching_less_and_groups_that_look_alike_never_tell_more() -> None:
    num_prefixes = num_unions = 0
    for plain, book in hiding_cases(NUM_SINGLE):
        text = book.to_json()
        whole = list(sights(text).values())
        most = worst(whole, plain)
        longest = max(len(route.nodes) for group in book.classes for route in group.routes)
        for m in range(1, longest + 1):
            told = told_by_file(text, plain, m)
            assert told is not None
            assert told.area <= most + SLACK
            num_prefixes += 1
        assert all(step.worst is not None and step.worst <= most + SLACK for step in vr.risk(book).over_time)
        for size in range(2, min(len(whole), 6) + 1):
            for some in combinations(whole, size):
                union = {c: math.fsum(masses.get(c, 0.0) for masses in some) for c in plain.counted}
                assert worst([union], plain) <= worst(some, plain) + SLACK
                num_unions += 1
    assert num_prefixes > NUM_SINGLE * 5
    assert num_unions > NUM_SINGLE


def test_linking_fewer_trips_never_tells_more() -> None:
    """Independent draws, where classes are drawn; the days of some places, or none, are left out."""
    num_subsets = 0
    for plain, days in linked_cases(NUM_LINKED):
        chances = [chances_of(book) for book in days]
        everything = range(len(days))
        most = worst(linked(chances, everything, plain), plain)
        for size in range(1, len(days)):
            for some in combinations(everything, size):
                assert worst(linked(chances, some, plain), plain) <= most + SLACK
                num_subsets += 1
    assert num_subsets > NUM_LINKED


def linked_cases(num: int) -> Iterable[tuple[PlainProblem, list[vr.Playbook]]]:
    """Two or three playbooks of the same candidates, with other trips, k and risks, that hide everybody."""
    found = seed = 0
    while found < num:
        rng, case = Random(seed), harness.draw_case(seed)
        plain = PlainProblem(case.problem, case.privacy)
        seed += 1
        if len(plain.counted) > 6:
            continue
        ends = list(plain.problem.trips)
        turned = [vr.Trip(trip.goal, trip.start) for trip in ends]
        days = []
        for _ in range(rng.randint(2, 3)):
            wanted = rng.choice(({"k": 2}, {"k": 3}, {"risk": 0.5}, {"risk": 0.6}, {"k": 2, "mechanism": "randomised"}))
            spread = "all-pairs" if "mechanism" in wanted else "witness"
            privacy = vr.Privacy(ell=plain.privacy.ell, measure=plain.privacy.measure, spread=spread, **wanted)
            problem = vr.Problem(
                plain.problem.domain,
                rng.choice((ends, turned)),
                plain.problem.candidates,
                plain.problem.visibility,
                prior=plain.problem.prior,
            )
            days.append(vr.solve(problem, privacy))
        hidden = [{label for group in book.hidden_classes for label in group.members} for book in days]
        everybody = {plain.problem.candidates[c] for c in plain.counted} - set(days[0].uncoverable)
        if everybody and all(some == everybody for some in hidden):
            found += 1
            yield plain, days


def chances_of(book: vr.Playbook) -> list[dict[int, float]]:
    """For each thing that can be seen how probable it is for each candidate."""
    seen = list(sights(book.to_json()).values())
    whole = {c: math.fsum(masses.get(c, 0.0) for masses in seen) for masses in seen for c in masses}
    return [{c: mass / whole[c] for c, mass in masses.items() if mass > 0} for masses in seen]


def linked(
    chances: list[list[dict[int, float]]], some: Iterable[int], plain: PlainProblem
) -> Iterable[dict[int, float]]:
    """What can be believed after some of the days, for all that can be seen on them."""
    for seen in product(*(chances[day] for day in some)):
        masses = {c: plain.prior[c] * math.prod(chance.get(c, 0.0) for chance in seen) for c in plain.counted}
        if sum(masses.values()) > 0:
            yield masses


def test_the_lemma_is_about_areas_and_not_about_balls() -> None:
    """With balls around members it is false: 3 is in both balls, and is sure of all four after less was seen."""
    masses = [{1: 0.25, 5: 0.25}, {3: 0.25, 9: 0.25}]

    def ball(some: Mapping[int, float]) -> float:
        whole = math.fsum(some.values())
        return max(math.fsum(some[b] for b in some if abs(a - b) <= 2) / whole for a in some)

    assert max(map(ball, masses)) == pytest.approx(0.5)
    assert ball(masses[0] | masses[1]) == pytest.approx(0.75)
