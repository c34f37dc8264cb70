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


def test_posteriors_of_a_partition_by_hand() -> None:
    book = make_book(make_class([1, 2, 3], 3), make_class([4, 5, 6], 6), prior=(4, 3, 1, 6, 5, 1))
    report = vr.risk(book)
    assert [route.members for route in report.routes] == [((0, 1), (0, 2), (0, 3)), ((0, 4), (0, 5), (0, 6))]
    assert report.routes[0].posterior == pytest.approx((4 / 8, 3 / 8, 1 / 8))
    assert report.routes[1].posterior == pytest.approx((6 / 12, 5 / 12, 1 / 12))
    assert [route.probability for route in report.routes] == pytest.approx([8 / 20, 12 / 20])
    assert report.worst == report.worst_place == pytest.approx(0.5)
    assert report.bayes_success == pytest.approx((4 + 6) / 20)
    assert report.hidden_mass == 1.0
    assert report.bound is None
    uniform = vr.risk(book, [1] * 6)
    assert (uniform.worst, uniform.bayes_success) == pytest.approx((1 / 3, 1 / 3))


def test_an_area_counts_together() -> None:
    """At ell = 2 cells 1 and 2 are an area, and 2 and 3 are one: not all three, since 1 and 3 are not close."""
    book = make_book(make_class([1, 2, 3, 6], 6), make_class([4, 5], 5), prior=(1, 2, 3, 1, 1, 4), ell=2)
    report = vr.risk(book)
    assert report.worst == pytest.approx(1.0), "4 and 5 are one place at this ell"
    assert report.worst_place == pytest.approx(0.5)
    alone = make_book(make_class([1, 2, 3, 6], 6), prior=(1, 2, 3, 1, 1, 4), ell=2, candidates=(1, 2, 3, 4, 5, 6))
    assert vr.risk(replace(alone, classes=(*alone.classes, make_class([4], 4, anonymized=False)))).worst == (
        pytest.approx(5 / 10)
    )
    assert vr.risk(replace(book, privacy=vr.Privacy(k=2, ell=1))).worst == pytest.approx(0.5)


def test_classes_whose_routes_begin_alike_are_one_sight() -> None:
    """Both go straight on for five nodes; after six, one has turned at cell 4."""
    near, far = make_class([1, 2], 4), make_class([3, 6], 6)
    book = make_book(near, far, candidates=(1, 2, 3, 6), m=5)
    report = vr.risk(book)
    (route,) = report.routes
    assert route.classes == (1, 2)
    assert route.posterior == pytest.approx((0.25,) * 4)
    assert (report.worst, report.bayes_success) == pytest.approx((0.25, 0.25))
    steps = {step.m: step.bayes_success for step in report.over_time}
    assert list(steps) == list(range(1, 12))
    assert steps[5] == pytest.approx(0.25)
    assert steps[6] == steps[11] == pytest.approx(0.5)


def test_shares_of_a_randomised_playbook_by_hand() -> None:
    """Candidate 1 is in two classes, with chances of 2/3 and 1/3."""
    one = make_class([1, 2], 2, shares=(0.2, 0.2))
    other = make_class([1, 3], 3, shares=(0.1, 0.1))
    rest = make_class([4, 5], 5, shares=(0.2, 0.2))
    book = make_book(
        one, other, rest, candidates=(1, 2, 3, 4, 5), prior=(0.3, 0.2, 0.1, 0.2, 0.2), mechanism="randomised"
    )
    report = vr.risk(book)
    assert report.bound == 0.5
    assert [route.posterior for route in report.routes] == [pytest.approx((0.5, 0.5))] * 3
    assert report.bayes_success == pytest.approx(0.5)
    assert [route.probability for route in report.routes] == pytest.approx([0.4, 0.2, 0.4])
    other_prior = vr.risk(book, {(0, 1): 6, (0, 2): 1, (0, 3): 1, (0, 4): 1, (0, 5): 1})
    assert other_prior.routes[0].posterior == pytest.approx((4 / 5, 1 / 5))
    assert other_prior.routes[1].posterior == pytest.approx((2 / 3, 1 / 3))
    assert other_prior.bayes_success == pytest.approx((4 + 2 + 1) / 10)
    # Seen for two nodes only, all three look alike and the two parts of candidate 1 are one again.
    assert vr.risk(replace(book, privacy=replace(book.privacy, m=2))).worst_place == pytest.approx(0.3)


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
