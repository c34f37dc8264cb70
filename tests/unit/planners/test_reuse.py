"""A partition that is reused for a later trip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import veilroute as vr
from strategies import privacies, problems
from veilroute.domain import Label, street_domain

THERE, BACK = vr.Trip((1, 32), (21, 36)), vr.Trip((21, 36), (2, 1))


@pytest.fixture(scope="module")
def building() -> vr.Domain:
    return vr.generate_rooms(24, 40, seed=3)


@pytest.fixture(scope="module")
def places(building: vr.Domain) -> list[Label]:
    return vr.draw_candidates(building, (1, 32), (21, 36), 9, seed=1)


@pytest.fixture(scope="module")
def earlier(building: vr.Domain, places: list[Label]) -> vr.Playbook:
    return vr.solve(vr.Problem(building, [THERE], places), vr.Privacy(k=2))


@pytest.fixture(scope="module")
def later(building: vr.Domain, places: list[Label]) -> vr.Problem:
    return vr.Problem(building, [BACK], places)


def reuse(problem: vr.Problem, partition: object, k: int = 2, **privacy: Any) -> vr.Playbook:
    playbook = vr.solve(problem, vr.Privacy(k=k, **privacy), planner="reuse", partition=partition)
    report = vr.audit(playbook)
    assert report.holds, report.to_text()
    return playbook


def classes_of(playbook: vr.Playbook) -> set[frozenset[Label]]:
    return {frozenset(group.members) for group in playbook.classes if group.anonymized}


def linked(playbooks: Sequence[vr.Playbook]) -> dict[Label, set[Label]]:
    """For each candidate that has a route in all playbooks: who is possible to an observer who links the trips."""
    left: dict[Label, set[Label]] = {}
    for candidate in playbooks[0].candidates:
        homes = [{m for c in classes_of(book) if candidate in c for m in c} for book in playbooks]
        if all(homes):
            left[candidate] = set.intersection(*homes)
    return left


def test_linked_trips_leave_a_whole_class(earlier: vr.Playbook, later: vr.Problem) -> None:
    apart = vr.solve(later, vr.Privacy(k=2))
    assert min(map(len, linked([earlier, apart]).values())) == 1, "planned apart, somebody is found"
    playbook = reuse(later, earlier)
    assert classes_of(playbook) == classes_of(earlier)
    possible = linked([earlier, playbook])
    assert len(possible) == 9
    assert min(map(len, possible.values())) >= 2
    assert (playbook.status, playbook.mac_lower_bound, playbook.claims.num_anonymizable) == ("feasible", None, None)
    assert (playbook.planner, playbook.options) == ("reuse", {"seed": 0, "stopped_early": False})
    assert apart.mac is not None and playbook.mac is not None
    assert playbook.mac >= apart.mac


def test_a_playbook_its_file_without_the_map_and_its_classes_as_lists_give_the_same_bytes(
    earlier: vr.Playbook, later: vr.Problem, tmp_path: Any
) -> None:
    lists = [list(group.members) for group in earlier.classes]
    earlier.write(tmp_path / "small.json", embed_domain=False)
    again = vr.read_playbook(tmp_path / "small.json")
    made = [reuse(later, each) for each in (earlier, again, lists[::-1], {frozenset(members) for members in lists})]
    assert len({book.to_json() for book in made}) == 1


def town(order: Sequence[int], *, closed: int | None = None, shift: float = 0.0, named: bool = False) -> vr.Domain:
    """A ring of eight junctions whose numbers are given in ``order``; without the street after junction ``closed``."""
    number = {place: i for i, place in enumerate(order)}
    ring = [(i, (i + 1) % 8) for i in range(8) if i != closed]
    ends = [(number[a], number[b]) for a, b in ring] + [(number[b], number[a]) for a, b in ring]
    return street_domain(
        lonlat=[(24.9 + 0.01 * math.cos(place) + shift, 60.17 + 0.005 * math.sin(place)) for place in order],
        tails=[tail for tail, _ in ends],
        heads=[head for _, head in ends],
        costs=[60.0] * len(ends),
        lengths=[900.0] * len(ends),
        unit="seconds",
        labels=[f"corner {place}" for place in order] if named else None,
    )


ORDER, OTHER = (0, 1, 2, 3, 4, 5, 6, 7), (5, 2, 7, 0, 3, 1, 6, 4)


@pytest.mark.parametrize("how", ["closed", "renumbered", "names", "texts", "plane"])
def test_on_another_map_classes_keep_their_places_and_not_their_numbers(how: str) -> None:
    """A junction that has another number on the new map stays in its class, and no other takes its seat."""
    old, new = town(ORDER), town(OTHER, closed=6)
    names: list[dict[Label, str]] = [{}, {}]
    if how == "closed":
        new = town(ORDER, closed=6)
    elif how == "names":  # the same places, a little off
        new = town(OTHER, closed=6, shift=0.001)
        names = [{order.index(place): f"Shop {place}" for place in range(1, 7)} for order in (ORDER, OTHER)]
    elif how == "texts":
        old, new = town(ORDER, named=True), town(OTHER, closed=6, shift=0.001, named=True)
    elif how == "plane":
        old, new = replace(old, streets=None), replace(new, streets=None)

    def problem(domain: vr.Domain, order: Sequence[int], called: dict[Label, str], start: int) -> vr.Problem:
        nodes = {place: domain.label(order.index(place)) for place in range(8)}
        return vr.Problem(domain, [vr.Trip(nodes[start], nodes[start])], [nodes[i] for i in range(1, 7)], names=called)

    order = ORDER if how == "closed" else OTHER
    earlier = vr.solve(problem(old, ORDER, names[0], 0), vr.Privacy(k=2, ell=0))
    assert earlier.domain_sha256 != new.sha256
    now = problem(new, order, names[1], 7)
    place_before = {old.label(ORDER.index(place)): place for place in ORDER}
    place_after = {new.label(order.index(place)): place for place in order}
    later = reuse(now, earlier, ell=0)
    assert {frozenset(place_after[label] for label in members) for members in classes_of(later)} == {
        frozenset(place_before[label] for label in members) for members in classes_of(earlier)
    }
    if how in ("names", "texts"):
        bare = replace(earlier, domain=None)
        assert classes_of(reuse(now, bare, ell=0)) == classes_of(later)
    else:
        with pytest.raises(vr.InvalidInputError, match="names or coordinates"):
            reuse(now, replace(earlier, domain=None), ell=0)


def test_names_that_lead_elsewhere_are_refused() -> None:
    def problem(domain: vr.Domain, names: dict[Label, str]) -> vr.Problem:
        return vr.Problem(domain, [vr.Trip(0, 0)], [1, 2, 3, 4], names=names)

    names: dict[Label, str] = {1: "Bank", 2: "Shop", 3: "Yard", 4: "Mill"}
    earlier = vr.solve(problem(town(ORDER), names), vr.Privacy(k=2, ell=0))
    swapped = names | {1: "Shop", 2: "Bank"}
    for now in (problem(town(ORDER, closed=6), swapped), problem(town(ORDER, closed=6, shift=0.1), names)):
        with pytest.raises(vr.InvalidInputError, match="the same names on this map"):
            reuse(now, earlier, ell=0)


def test_a_list_that_was_numbered_again_is_refused() -> None:
    """The same doors some 9 m off, and each has the number of its neighbour: classes would be those of neighbours."""
    street = [(24.9 + 0.0015 * at, 60.17) for at in range(7)]  # 83 m from door to door

    def problem(numbers: Sequence[int], off: float) -> vr.Problem:
        domain = street_domain(
            lonlat=[(longitude, latitude + off) for longitude, latitude in street],
            tails=[*range(6), *range(1, 7)],
            heads=[*range(1, 7), *range(6)],
            costs=[83.0] * 12,
            lengths=[83.0] * 12,
            unit="metres",
            labels=["Depot", *(f"Customer {number}" for number in numbers)],
        )
        places = [label for label in domain.labels_of(np.arange(1, 7)) if label != "Customer 7"]
        return vr.Problem(domain, [vr.Trip("Depot", "Depot")], places)

    earlier = vr.solve(problem([1, 2, 3, 4, 5, 6], 0), vr.Privacy(k=2, ell=0))
    assert reuse(problem([1, 2, 3, 4, 5, 6], 8e-5), earlier, ell=0).claims.num_anonymized == 6
    with pytest.raises(vr.InvalidInputError, match="was the list numbered again"):
        reuse(problem([7, 1, 2, 3, 4, 5], 8e-5), earlier, ell=0)


def test_a_grid_of_the_same_size_has_the_same_cells(earlier: vr.Playbook, building: vr.Domain) -> None:
    assert building.grid is not None
    free = building.grid.free.copy()
    closed = next(
        cell for cell in map(tuple, building.grid.cells.tolist()) if cell not in {*earlier.candidates, (21, 36), (2, 1)}
    )
    free[closed] = False
    rows = ["".join(".@"[not cell] for cell in row) for row in free]
    later = reuse(vr.Problem(vr.grid_domain(rows), [BACK], earlier.candidates), earlier)
    assert all(any(members <= whole for whole in classes_of(earlier)) for members in classes_of(later))
    assert classes_of(later)
    wider = vr.grid_domain([f"{row}@" for row in rows])
    with pytest.raises(vr.InvalidInputError, match="made on this very map"):
        reuse(vr.Problem(wider, [BACK], earlier.candidates), earlier)


def test_classes_that_fall_short_or_stand_too_close_are_left_out_and_never_grouped_again(
    earlier: vr.Playbook, later: vr.Problem, building: vr.Domain, places: list[Label]
) -> None:
    assert {len(members) for members in classes_of(earlier)} == {2, 3}
    playbook = reuse(later, earlier, k=3)
    assert classes_of(playbook) == {members for members in classes_of(earlier) if len(members) >= 3}
    assert vr.solve(later, vr.Privacy(k=3)).apr == 1, "a new partition would hide everybody"
    assert reuse(later, earlier, k=4).claims.num_anonymized == 0
    close = reuse(later, earlier, ell=20)
    assert 0 < close.claims.num_anonymized < 9
    assert classes_of(close) < classes_of(earlier)
    everybody = [list(earlier.candidates)]
    assert [reuse(later, everybody, ell=20, spread=each).apr for each in ("witness", "all-pairs")] == [1, 0]
    # Whom the earlier playbook left out stays out.
    some = vr.solve(vr.Problem(building, [THERE], places), vr.Privacy(k=4, ell=20, spread="all-pairs"))
    assert 0 < some.claims.num_anonymized < 9
    assert classes_of(reuse(later, some, ell=0)) == classes_of(some)


@given(problem=problems(max_nodes=9, max_candidates=6, max_trips=3), privacy=privacies(), m=st.sampled_from([None, 3]))
def test_a_chain_of_trips_leaves_k_candidates_apart(problem: vr.Problem, privacy: vr.Privacy, m: int | None) -> None:
    privacy = vr.Privacy(privacy.k, privacy.ell, m, privacy.spread)
    chain: list[vr.Playbook] = []
    for trip in problem.trips:
        alone = vr.Problem(problem.domain, [trip], problem.candidates, problem.visibility)
        assume(privacy.k <= len(alone.counted))
        how: dict[str, Any] = {"planner": "reuse", "partition": chain[-1]} if chain else {}
        chain.append(vr.solve(alone, privacy, **how))
        assert vr.audit(chain[-1]).holds
    possible = linked(chain)
    assert set(possible) == {member for members in classes_of(chain[-1]) for member in members}
    for candidate, others in possible.items():
        assert frozenset(others) in classes_of(chain[-1])
        assert candidate in others
        assert len(others) >= privacy.k


def test_of_large_classes_and_without_time_the_first_nodes_of_the_walk_are_shared(
    earlier: vr.Playbook, later: vr.Problem
) -> None:
    row = vr.grid_domain(["." * 30])
    problem = vr.Problem(row, [vr.Trip((0, 0), (0, 29))], [(0, i) for i in range(1, 23)])
    with pytest.raises(vr.InvalidInputError, match="classes of at most 20 members that one walk can cover, got 22"):
        reuse(problem, [problem.candidates])
    halves = [problem.candidates[:9], problem.candidates[9:]]  # a class of thirteen
    for m in (None, 4):
        playbook = reuse(problem, halves, m=m)
        assert (playbook.apr, playbook.mac) == (1, 0)
        hurried = vr.solve(later, vr.Privacy(k=2, m=m), planner="reuse", partition=earlier, should_stop=lambda: True)
        assert hurried.options["stopped_early"]
        assert classes_of(hurried) == classes_of(earlier)
        assert vr.audit(hurried).holds


def test_an_unknown_candidate_is_refused(earlier: vr.Playbook, building: vr.Domain, places: list[Label]) -> None:
    problem = vr.Problem(building, [BACK], [*places, (1, 32)])
    with pytest.raises(vr.InvalidInputError, match=r"plan under a ledger: plan --ledger\), got \(1, 32\)"):
        reuse(problem, earlier)
    # As a start it does not count, and nobody asks for it.
    back = vr.Problem(building, [vr.Trip((1, 32), (2, 1))], [*places, (1, 32)])
    assert reuse(back, earlier).apr == 1


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        (None, "an earlier playbook, or a list of classes"),
        ("12", "an earlier playbook, or a list of classes"),
        ([1, 2], "classes that are lists of candidates, got 'int'"),
        (["ab", "cd"], "classes that are lists of candidates, got 'str'"),
        ([[1, 2], [2, 3]], "no candidate in common, got '2 twice'"),
        ([[1, 1]], "no candidate in common"),
        ([[1, None]], "partition: expected an integer, printable text"),
    ],
)
def test_what_is_no_partition_is_refused(partition: object, words: str, line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3])
    with pytest.raises(vr.InvalidInputError, match=words):
        reuse(problem, partition)


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        (vr.Privacy(k=2), {"planner": "reuse"}),
        (vr.Privacy(k=2), {"planner": "fleet"}),
        (vr.Privacy(risk=0.5, mechanism="randomised"), {}),
    ],
)
def test_each_walk_that_is_written_down_is_told(
    later: vr.Problem, earlier: vr.Playbook, privacy: vr.Privacy, options: dict[str, Any]
) -> None:
    told: list[vr.Progress] = []
    more = options | ({"partition": earlier} if options.get("planner") == "reuse" else {})
    found = vr.solve(later, privacy, progress=told.append, **more)
    num = len(found.hidden_classes)
    assert {(0, num), (num - 1, num)} & {(one.done, one.total) for one in told if one.stage == "walks"}
