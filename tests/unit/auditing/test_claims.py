"""Every claim is broken once, by hand, in a small honest playbook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from street_samples import little_book
from veilroute.auditing import AuditReport, ClaimVerdict, survey_problem
from veilroute.domain import Label

CLAIMS = (
    "walk coverage cost same-route partition class-size spread coverable anonymized risk apr mac extra-cost "
    "hidden-mass expected-mac certificate bound optimality anonymizable shown"
)
NO_RISK: Any = dict.fromkeys(("expected_mac", "hidden_mass", "worst_posterior", "bayes_success"))


@pytest.fixture
def playbook(two_rooms: vr.Domain) -> vr.Playbook:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    return vr.solve(problem, vr.Privacy(k=2, ell=2))


@pytest.fixture
def dead_end() -> vr.Playbook:
    """0 <-> 1 <-> 2 -> 3 from 0 to 2: whoever is at 3 does not come back, so 3 is uncoverable; 0 does not count."""
    domain = vr.Domain.from_edges(4, [0, 1, 1, 2, 2], [1, 0, 2, 1, 3], [1] * 5)
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 2)], [0, 1, 3]), vr.Privacy(k=1, ell=1))


def verdict_of(report: AuditReport, claim: str) -> ClaimVerdict:
    return next(verdict for verdict in report.claims if verdict.claim == claim)


def broken(playbook: vr.Playbook, **changes: Any) -> dict[str, str]:
    """Evidence by violated claim after changing fields of the playbook."""
    return {v.claim: v.evidence for v in vr.audit(replace(playbook, **changes)).claims if not v.holds}


def with_claims(playbook: vr.Playbook, **changes: Any) -> dict[str, str]:
    return broken(playbook, claims=replace(playbook.claims, **changes))


def test_honest_playbooks_pass_every_claim(playbook: vr.Playbook, dead_end: vr.Playbook) -> None:
    for honest in (playbook, dead_end):
        report = vr.audit(honest)
        assert " ".join(verdict.claim for verdict in report.claims) == CLAIMS
        assert report.holds
        assert all(verdict.evidence for verdict in report.claims)


def test_each_stated_cost_is_looked_at_once() -> None:
    """Some members have routes of their own, others get the one that is shown for the class."""
    for m in (3, 4, 5, None):
        book = little_book(m=m)
        num = sum(len(group.routes) + len(group.member_routes) for group in book.classes)
        assert verdict_of(vr.audit(book), "cost").evidence.startswith(f"{num} stated costs ")


@pytest.mark.parametrize(
    ("claim", "changes", "words"),
    [
        ("coverable", {"num_coverable": 3}, "states 3 coverable candidates, there are 4"),
        ("anonymized", {"num_anonymized": 3}, "states 3 anonymized candidates, in truth there are 4"),
        ("apr", {"apr": 0.75}, "states an APR of 0.75, in truth it is 1"),
        ("apr", {"apr": float("nan")}, "nan"),
        ("mac", {"mac": None}, "stated none"),
        ("mac", {"mac_by_trip": ()}, "states 0 values for 1 trip"),
        ("mac", {"mac_by_trip": (99.0,)}, "MAC of trip 0 is better than stated"),
        ("mac", {"mac": 99.0}, "MAC is better than stated"),
        ("mac", {"mac": 0.0}, "MAC is worse than stated"),
        ("bound", {"mac_lower_bound": 9.0}, "no MAC is below 9"),
        ("bound", {"mac_lower_bound": float("nan")}, "a bound that is no number"),
        ("optimality", {"mac_lower_bound": None}, "without a MAC and a bound"),
        ("optimality", {"mac_lower_bound": 0.0}, "worse than the 0 claimed as optimal"),
        ("anonymizable", {"num_anonymizable": 5}, "states 5, but only 4 can be covered at all"),
        ("anonymizable", {"num_anonymizable": 1}, "fewer than the 4 it anonymizes"),
    ],
)
def test_wrong_figure_is_named(playbook: vr.Playbook, claim: str, changes: dict[str, Any], words: str) -> None:
    assert words in with_claims(playbook, **changes)[claim]


def test_figures_that_are_not_stated_are_not_held_against_anyone(playbook: vr.Playbook) -> None:
    modest = replace(playbook.claims, mac_lower_bound=None, num_anonymizable=None, delta=None)
    report = vr.audit(replace(playbook, status="feasible", claims=modest))
    assert report.holds
    assert verdict_of(report, "bound").evidence == "no lower bound is stated"
    assert "none claimed" in verdict_of(report, "optimality").evidence
    assert verdict_of(report, "anonymizable").evidence == "no number is stated"


def test_status_must_be_known_and_true(playbook: vr.Playbook) -> None:
    assert "unknown status 'splendid'" in broken(playbook, status="splendid")["optimality"]
    assert "nothing can be anonymized and anonymizes 4" in broken(playbook, status="infeasible")["optimality"]


def idle(playbook: vr.Playbook, **claimed: Any) -> dict[str, Any]:
    """The same with nobody anonymized, and true figures but for those given."""
    claims = replace(
        playbook.claims, num_anonymized=0, apr=0.0, mac=None, mac_by_trip=(None,), total_extra=None, worst_extra=None,
        **(NO_RISK | {"delta": None} | claimed),
    )  # fmt: skip
    return {"claims": claims, "classes": tuple(replace(group, anonymized=False) for group in playbook.classes)}


def test_giving_up_too_early_is_not_infeasible_and_has_no_bound(playbook: vr.Playbook) -> None:
    nothing = idle(playbook, mac_lower_bound=None)
    assert broken(playbook, status="infeasible", **nothing) == {
        "optimality": "not optimal: 4 candidates can be anonymized, not only 0",
        "anonymizable": "states 4, yet says that nothing can be anonymized",
    }
    assert broken(playbook, status="feasible", **nothing) == {}
    assert broken(playbook, status="feasible", **idle(playbook)).keys() == {"bound"}


def test_partition_faults(playbook: vr.Playbook) -> None:
    first, *rest = playbook.classes
    twice = replace(rest[0], members=(*rest[0].members, first.members[0]))
    assert "is both in class 0 and in class 1" in broken(playbook, classes=(first, twice, *rest[1:]))["partition"]
    stranger = replace(first, members=(*first.members, (1, 1), "nowhere", ("deep", [1])))
    found = broken(playbook, classes=(stranger, *rest))["partition"]
    assert "class 0 holds (1, 1), which is no candidate that counts" in found
    assert "nowhere" in found
    missing = broken(playbook, classes=tuple(rest))["partition"]
    assert "in no class and not listed as uncoverable" in missing
    assert str(first.members[0]) in missing
    visitor = replace(first, member_routes={(0, rest[0].members[0]): first.routes[0]})
    assert "who is not a member" in broken(playbook, classes=(visitor, *rest))["partition"]


def test_uncoverable_list_is_checked(playbook: vr.Playbook, dead_end: vr.Playbook) -> None:
    assert dead_end.uncoverable == (3,)
    assert "3 counts as coverable, but no walk covers it" in broken(dead_end, uncoverable=())["coverable"]
    first, *rest = playbook.classes
    found = broken(playbook, classes=tuple(rest), uncoverable=first.members)
    assert "counts as uncoverable, but a walk covers it" in found["coverable"]


def test_all_pairs_is_stricter_than_witness(line5: vr.Domain) -> None:
    problem = vr.Problem(line5, [vr.Trip(0, 0)], [1, 3, 4])
    playbook = vr.solve(problem, vr.Privacy(k=2, ell=2))
    assert [sorted(group.members, key=str) for group in playbook.classes] == [[1, 3, 4]]
    found = broken(playbook, privacy=vr.Privacy(k=2, ell=2, spread="all-pairs"))
    assert found["spread"] == "3 and 4 share a class but are only 1 apart, less than 2"
    assert "in truth there are 0" in found["anonymized"]


def test_all_pairs_allows_other_classes_to_look_the_same(line5: vr.Domain) -> None:
    # The only cheapest walk for either class is the whole line and back; together they hold neighbours.
    whole = vr.Route((0, 1, 2, 3, 4, 3, 2, 1, 0), 8)
    privacy = vr.Privacy(k=2, ell=2, spread="all-pairs")
    playbook = vr.solve(vr.Problem(line5, [vr.Trip(0, 0)], [1, 2, 3, 4]), privacy)
    classes = tuple(vr.PlaybookClass(members, True, (whole,)) for members in ((1, 3), (2, 4)))
    report = vr.audit(replace(playbook, classes=classes, status="feasible"))
    assert verdict_of(report, "spread").holds
    assert verdict_of(report, "anonymized").holds
    assert report.anonymity[-1].exposed == ()


@pytest.mark.parametrize(("spread", "holds"), [("witness", True), ("all-pairs", False)])
def test_who_is_left_beside_a_candidate_may_be_in_another_class_that_looks_the_same(
    line5: vr.Domain, spread: str, holds: bool
) -> None:
    """Earlier trips leave 1 and 2 of which 2 is in the other class; under all-pairs each class counts by itself."""
    whole = vr.Route((0, 1, 2, 3, 4, 3, 2, 1, 0), 8)
    problem = vr.Problem(line5, [vr.Trip(0, 0)], [1, 2, 3, 4], past=vr.Past(((1, (1, 2)),)))
    playbook = vr.solve(problem, vr.Privacy(k=2, ell=0, spread=spread))
    classes = tuple(vr.PlaybookClass(members, True, (whole,)) for members in ((1, 3), (2, 4)))
    report = vr.audit(replace(playbook, classes=classes, status="feasible"))
    assert verdict_of(report, "history").holds == holds


def test_linked_trips_must_not_tell_members_apart(two_rooms: vr.Domain) -> None:
    trips = [vr.Trip((0, 0), (2, 6)), vr.Trip((2, 0), (0, 6), 2.0)]
    playbook = vr.solve(vr.Problem(two_rooms, trips, [(0, 2), (2, 2), (0, 4), (2, 4)]), vr.Privacy(k=2, ell=2))
    assert vr.audit(playbook).holds
    first, *rest = playbook.classes
    route = first.routes[1]
    longer = replace(route, nodes=(route[0], route[1], *route.nodes), cost=route.cost + 2)
    split = replace(first, member_routes={(1, first.members[0]): longer})
    found = broken(playbook, classes=(split, *rest))
    assert found["same-route"].startswith("class 0 on trip 1: ")
    assert f"nobody shares the route of {first.members[0]}" in found["class-size"]
    assert "MAC of trip 1 is worse than stated" in found["mac"]
    assert "MAC of trip 0" not in found["mac"]


def test_shown_route_must_be_the_one_that_members_get(playbook: vr.Playbook) -> None:
    first, *rest = playbook.classes
    decoy = replace(first, routes=rest[0].routes, member_routes={(0, m): first.routes[0] for m in first.members})
    # What the playbook hands out is the shared route, which is not what its members' own copies say.
    assert broken(playbook, classes=(decoy, *rest)).keys() == {"same-route", "anonymized"}


def parted(two_rooms: vr.Domain) -> vr.Playbook:
    """A plan for which only the first two nodes are promised, each member with a route of its own."""
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2, ell=2, m=2))
    classes = tuple(
        replace(group, member_routes={(0, member): group.route_of(member, 0) for member in group.members})
        for group in book.classes
    )
    return replace(book, classes=classes)


@pytest.mark.parametrize("is_anonymized", [True, False])
def test_a_shown_route_that_nobody_gets_must_be_true_beyond_the_promise(
    two_rooms: vr.Domain, is_anonymized: bool
) -> None:
    """Exports and pictures show it for the whole class, and its end was nobody's."""
    book = parted(two_rooms)
    assert vr.audit(book).holds
    first, *rest = book.classes
    if not is_anonymized:
        first = replace(first, anonymized=False)
    shown = first.routes[0]
    own = next(iter(first.member_routes.values()))

    def found(route: vr.Route) -> dict[str, str]:
        problems = broken(book, classes=(replace(first, routes=(route,)), *rest))
        return {claim: problems[claim] for claim in ("same-route", "cost") if claim in problems}

    assert found(replace(own)) == {}
    assert found(vr.Route(own.nodes[:3], 2)) == {}, "the common beginning alone will do"
    assert found(vr.Route(own.nodes[:1], 0)).keys() == ({"same-route"} if is_anonymized else set())
    bogus = vr.Route((*shown.nodes[:2], (9, 9), shown.nodes[-1]), shown.cost)
    assert found(bogus) == {"same-route": "class 0: the route shown is not the one that its members get"}
    assert "same-route" in found(vr.Route((*own.nodes, own.nodes[-2], own.nodes[-1]), own.cost + 2))
    assert "the route shown for class 0 states a cost of 1, but its" in found(replace(own, cost=1))["cost"]
    assert "no number" in found(replace(own, cost="2"))["cost"]  # type: ignore[arg-type]


def test_an_empty_class_is_no_class(playbook: vr.Playbook) -> None:
    for is_anonymized in (True, False):
        empty = vr.PlaybookClass((), is_anonymized, playbook.classes[0].routes)
        found = broken(playbook, classes=(*playbook.classes, empty))
        assert found == {"partition": "class 2 has no members"}


@pytest.mark.parametrize("cost", ["cheap", None, float("nan"), True])
@pytest.mark.parametrize("is_anonymized", [True, False])
def test_cost_that_is_no_number(playbook: vr.Playbook, cost: Any, is_anonymized: bool) -> None:
    first, *rest = playbook.classes
    odd = replace(first, anonymized=is_anonymized, routes=(replace(first.routes[0], cost=cost),))
    assert "cost" in broken(playbook, classes=(odd, *rest))


def test_zero_base_cost_is_divided_by_the_smallest_edge() -> None:
    # The start sees the first two candidates, so their base cost is 0.
    domain = vr.Domain.from_edges(4, [0, 1, 2, 3], [1, 0, 3, 2], [0.5, 0.5, 2, 2])
    problem = vr.Problem(domain, [vr.Trip(0, 0)], [1, 2, 3], vr.Explicit({0: [2, 3], 1: [1]}))
    for privacy in (vr.Privacy(k=3, ell=0), vr.Privacy(k=1, ell=0)):
        playbook = vr.solve(problem, privacy)
        assert playbook.mac == (pytest.approx((0 + 2 + 2) / 3) if privacy.k == 3 else 0)
        assert vr.audit(playbook).holds


class TestPlannerFunction:
    """The claims are the playbook's, the routes somebody else's."""

    def test_plain_lists_state_no_cost(self, playbook: vr.Playbook) -> None:
        report = vr.audit(playbook, planner=lambda candidate, trip: list(playbook.route_for(candidate, trip)))
        assert report.holds
        assert verdict_of(report, "cost").evidence.startswith("0 stated costs")

    def test_failure_for_one_member(self, playbook: vr.Playbook) -> None:
        lost = playbook.classes[0].members[0]

        def planner(candidate: Label, trip: int) -> vr.Route:
            if candidate == lost:
                raise vr.NotAnonymizedError
            return playbook.route_for(candidate, trip)

        report = vr.audit(playbook, planner=planner)
        assert verdict_of(report, "same-route").evidence == f"class 0: {lost} gets no route"
        assert not verdict_of(report, "class-size").holds
        assert not verdict_of(report, "anonymized").holds

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ([], "is empty"),
            (None, "is None and no sequence of nodes"),
            ([(0, 0), (9, 9), (2, 6)], "names (9, 9), which is not in the domain (node 2 of the route)"),
            ([(0, 0), {"row": 1}, (2, 6)], "not in the domain"),
            ([(0, 1), (0, 2)], "begins at (0, 1) instead of the start (0, 0)"),
            ([(0, 0), (0, 1)], "ends at (0, 1) instead of the goal (2, 6)"),
            ([(0, 0), (2, 6)], "from (0, 0) to (2, 6) (nodes 1 and 2 of the route)"),
            ("a street", "names a, which is not in the domain"),
        ],
    )
    def test_nonsense_is_a_violation_not_an_exception(self, playbook: vr.Playbook, answer: Any, words: str) -> None:
        def planner(candidate: Label, trip: int) -> Sequence[Label]:
            return answer  # type: ignore[no-any-return]

        report = vr.audit(playbook, planner=planner)
        assert words in verdict_of(report, "walk").evidence
        assert report.anonymity == ()
        assert "no candidate gets a sound route" in report.to_text()


def test_without_its_domain_nothing_can_be_audited(playbook: vr.Playbook) -> None:
    with pytest.raises(vr.InvalidInputError, match="domain"):
        vr.audit(replace(playbook, domain=None))


@pytest.mark.parametrize("visibility", [vr.WithinDistance(1000), vr.LineOfSight(1000)])
def test_a_view_that_no_memory_would_hold_is_refused(playbook: vr.Playbook, visibility: vr.Visibility) -> None:
    """A small file may name a radius in which everybody sees everything."""
    problem = replace(playbook.problem, visibility=visibility)
    num = playbook.problem.domain.num_nodes * len(problem.counted)
    assert len(survey_problem(problem).watchers) == 4
    most = sum(map(len, survey_problem(problem).watchers.values()))
    assert most <= num and survey_problem(problem, most_watchers=most)
    with pytest.raises(vr.InvalidInputError, match=f"visibility: expected a narrower view.* {most - 1} nodes"):
        survey_problem(problem, most_watchers=most - 1)


def test_trips_that_no_memory_would_hold_are_refused(playbook: vr.Playbook) -> None:
    problem, most = playbook.problem, 3 * playbook.problem.domain.num_nodes
    assert len(survey_problem(replace(problem, trips=[*problem.trips] * 3), most_distances=most).trips) == 3
    with pytest.raises(vr.InvalidInputError, match="trips: expected at most 3 on a map of this size"):
        survey_problem(replace(problem, trips=[*problem.trips] * 4), most_distances=most)


def test_a_place_without_a_name_is_missed_all_the_same() -> None:
    """The node in the middle is called nothing, and stands alone in a class that is said to be anonymized."""
    tails, heads = [0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]
    domain = vr.Domain.from_edges(5, tails, heads, [1] * 8, labels=["start", "a", "", "b", "goal"])
    honest = vr.solve(vr.Problem(domain, [vr.Trip("start", "goal")], ["a", "", "b"]), vr.Privacy(k=2, ell=2))
    routes = honest.classes[0].routes
    classes = (vr.PlaybookClass(("a", "b"), True, routes), vr.PlaybookClass(("",), True, (vr.Route(("start",), 0, 0),)))
    found = with_claims(replace(honest, classes=classes), num_anonymized=2)
    assert found["anonymized"] == "classes called anonymized hold , for whom it is not true"
