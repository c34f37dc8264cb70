"""What an observer believes, on examples that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

import veilroute as vr
from veilroute import InvalidInputError, PlaybookClass, Route

CELLS = [(0, c) for c in range(9)]
TRIP = vr.Trip((0, 0), (0, 8))


def make_class(
    members: list[int], far: int, *, anonymized: bool = True, shares: tuple[float, ...] = ()
) -> PlaybookClass:
    """A class on a corridor of nine cells whose route goes to a cell, back one, and on to the end."""
    nodes = [*range(far + 1), far - 1, *range(far, 9)]
    route = Route(tuple((0, c) for c in nodes), len(nodes) - 1.0)
    return PlaybookClass(tuple((0, c) for c in members), anonymized, (route,), {}, shares)


def make_book(
    *classes: PlaybookClass,
    candidates: tuple[int, ...] = (1, 2, 3, 4, 5, 6),
    prior: tuple[float, ...] | None = None,
    **privacy: object,
) -> vr.Playbook:
    domain = vr.grid_domain(["." * 9])
    problem = vr.Problem(domain, [TRIP], [(0, c) for c in candidates], prior=prior)
    book = vr.solve(problem, vr.Privacy(k=2))
    asked = vr.Privacy(**{"k": 2, **privacy})  # type: ignore[arg-type]
    return replace(book, classes=classes, privacy=asked)


def test_a_single_refused_candidate_is_identified_by_no_trip() -> None:
    book = make_book(make_class([1, 2, 3], 3), make_class([4, 5], 5), make_class([6], 6, anonymized=False))
    report = vr.risk(book)
    assert report.hidden_mass == pytest.approx(5 / 6)
    assert report.no_trip.candidates == ((0, 6),)
    assert report.no_trip.posterior == (1.0,)
    assert report.no_trip.probability == pytest.approx(1 / 6)
    assert report.no_trip.identified == (0, 6)
    two = replace(book, classes=(*book.classes[:1], *(make_class([c], c, anonymized=False) for c in (4, 5, 6))))
    assert vr.risk(two).no_trip.identified is None
    assert vr.risk(two, [1, 1, 1, 0, 0, 1]).no_trip.identified == (0, 6)
    assert vr.risk(two).no_trip.advice
    everybody = make_book(make_class([1, 2, 3], 3), make_class([4, 5, 6], 6))
    assert vr.risk(everybody).no_trip == replace(report.no_trip, candidates=(), posterior=(), probability=0.0,
                                                 identified=None, advice=None)  # fmt: skip


def test_nobody_hidden_has_no_figures() -> None:
    book = make_book(*(make_class([c], c, anonymized=False) for c in range(1, 7)))
    report = vr.risk(book)
    assert (report.worst, report.bayes_success, report.hidden_mass) == (None, None, 0.0)
    assert (report.routes, report.over_time) == ((), ())


@pytest.mark.parametrize(
    "prior",
    [
        [1, 1],
        [1, 1, 1, 1, 1, -1],
        [1, 1, 1, 1, 1, float("nan")],
        [0] * 6,
        [1, 0, 0, 0, 0, 0],
        {(0, 1): 1},
        {**{(0, c): 1 for c in range(1, 7)}, (0, 8): 1},
        "123456",
    ],
)
def test_bad_priors_are_refused(prior: object) -> None:
    book = make_book(make_class([1, 2, 3], 3), make_class([4, 5, 6], 6))
    with pytest.raises(InvalidInputError, match="prior"):
        vr.risk(book, prior)  # type: ignore[arg-type]


def test_damaged_classes_are_refused() -> None:
    for classes in (
        (make_class([1, 2], 2), make_class([2, 3], 3)),
        (make_class([1, 8], 3),),
        (make_class([1, 2], 2), make_class([2], 3, anonymized=False)),
        (make_class([1, 2], 2, shares=(0.0, 0.5)),),
    ):
        with pytest.raises(InvalidInputError, match="audit it"):
            vr.risk(make_book(*classes))


def test_every_step_says_what_would_be_said_of_it_alone() -> None:
    domain = vr.generate_rooms(60, 90, seed=3)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 300, seed=2)
    book = vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], candidates), planner="pbp", partitioner="naive")
    steps = {step.m: step for step in vr.risk(book).over_time}
    for m in (1, 7, 60):
        alone = vr.risk(replace(book, privacy=replace(book.privacy, m=m)))
        assert (steps[m].worst, steps[m].worst_place, steps[m].bayes_success) == (
            alone.worst, alone.worst_place, alone.bayes_success
        )  # fmt: skip


def test_two_names_at_one_door_that_get_no_route_are_one_place() -> None:
    """A day without a trip then means this door, whatever it is called."""
    pairs = [(a, a + 1) for a in range(5)]
    tails, heads = zip(*pairs, *[(b, a) for a, b in pairs], strict=True)
    domain = replace(vr.Domain.from_edges(6, tails, heads, [1] * 10, labels=list("abcdef")), also=(("other", 4),))
    problem = vr.Problem(domain, [vr.Trip("a", "f")], ["b", "c", "e", "other"])
    book = vr.playbook_from_classes(problem, vr.Privacy(k=2), [{"members": ["b", "c"], "route": list("abcdef")}])
    assert book.claims.num_anonymized == 2
    assert vr.risk(book).no_trip.identified == "e"
