"""The anonymity over time, on a complete graph: any sequence of nodes is a walk there; and the report as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import veilroute as vr
from veilroute import Claims, Route
from veilroute.auditing import AnonymityStep, AuditReport, ClaimVerdict, judge, names, number
from veilroute.domain import Label

NO_CLAIMS = Claims(4, 4, 0, None, 0.0, None, (None,))


def watch(
    routes: Mapping[int, list[int]], *, privacy: vr.Privacy, anonymized: bool = False, num_nodes: int = 12
) -> AuditReport:
    """Audit a planner on a complete graph, so that any sequence of nodes is a walk; the trip leads from 0 to 1."""
    pairs = [(a, b) for a in range(num_nodes) for b in range(num_nodes) if a != b]
    domain = vr.Domain.from_edges(num_nodes, [a for a, _ in pairs], [b for _, b in pairs], [1] * len(pairs))
    sees = vr.Explicit({0: list(range(num_nodes))})
    candidates = (6, 7, 8, 9)
    group = vr.PlaybookClass(candidates, anonymized, (Route((0, 1), 1),))
    playbook = vr.Playbook(
        domain, domain.sha256, (vr.Trip(0, 1),), candidates, sees, privacy, "by hand", {}, "feasible", (group,), (),
        NO_CLAIMS,
    )  # fmt: skip

    def planner(candidate: Label, trip: int) -> list[int]:
        if not isinstance(candidate, int) or candidate not in routes:
            raise vr.NotAnonymizedError
        assert trip == 0
        return routes[candidate]

    return vr.audit(playbook, planner=planner)


def test_groups_split_node_by_node() -> None:
    report = watch({6: [0, 2, 3, 1], 7: [0, 2, 3, 1], 8: [0, 2, 4, 1], 9: [0, 5, 3, 1]}, privacy=vr.Privacy(k=2, ell=1))
    assert [(step.m, step.smallest_class, step.revealed) for step in report.anonymity] == [
        (1, 4, ()),
        (2, 1, (9,)),
        (3, 1, (8, 9)),
        (4, 1, (8, 9)),
    ]
    assert [step.exposed for step in report.anonymity] == [(), (9,), (8, 9), (8, 9)]


def test_a_route_that_has_ended_differs_from_one_that_goes_on() -> None:
    report = watch({6: [0, 1], 7: [0, 1], 8: [0, 1, 2, 1], 9: [0, 1, 2, 1]}, privacy=vr.Privacy(k=2, ell=1))
    assert [step.smallest_class for step in report.anonymity] == [4, 4, 2, 2]


def test_failure_equals_nothing_itself_included() -> None:
    report = watch({6: [0, 1]}, privacy=vr.Privacy(k=2, ell=1))
    assert [(step.smallest_class, step.revealed) for step in report.anonymity] == [(1, (6,)), (1, (6,))]
    assert watch({}, privacy=vr.Privacy(k=1, ell=1)).anonymity == ()


def test_groups_that_stand_too_close_are_exposed_but_not_revealed() -> None:
    routes = {candidate: [0, 2, 1] for candidate in (6, 7, 8, 9)}
    report = watch(routes, privacy=vr.Privacy(k=2, ell=1.5))
    assert [step.widest_witness for step in report.anonymity] == [1, 1, 1]
    assert report.anonymity[-1].exposed == (6, 7, 8, 9)
    assert report.anonymity[-1].revealed == ()


def test_only_the_first_m_nodes_are_promised() -> None:
    routes = {6: [0, 2, 3, 1], 7: [0, 2, 3, 1], 8: [0, 2, 4, 1], 9: [0, 2, 5, 1]}
    for m, holds in ((1, True), (2, True), (3, False), (None, False)):
        report = watch(routes, privacy=vr.Privacy(k=2, ell=1, m=m), anonymized=True)
        verdicts = {verdict.claim: verdict.holds for verdict in report.claims}
        assert verdicts["same-route"] is holds
        assert verdicts["class-size"] is holds


def test_m_beyond_the_end_of_a_route_means_the_whole_route() -> None:
    routes = {6: [0, 1], 7: [0, 1], 8: [0, 1, 2, 1], 9: [0, 1, 2, 1]}
    for m, holds in ((2, True), (3, False), (4, False), (100, False)):
        claims = watch(routes, privacy=vr.Privacy(m=m), anonymized=True).claims
        assert [each.holds for each in claims if each.claim == "same-route"] == [holds], m


def test_long_routes_are_watched_quickly_and_told_briefly() -> None:
    there_and_back = [0, *([2, 3] * 5_000)]
    routes = {6: [*there_and_back, 1], 7: [*there_and_back, 1], 8: [*there_and_back, 4, 1], 9: [*there_and_back, 4, 1]}
    report = watch(routes, privacy=vr.Privacy(k=2, ell=1))
    assert len(report.anonymity) == 10_003
    assert report.to_text().count("seen:") == 2


def test_the_json_holds_what_the_contract_promises(two_rooms: vr.Domain) -> None:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2, ell=2))
    data = vr.audit(book).to_dict()
    assert json.loads(json.dumps(data)) == data
    figures = {"total_extra", "worst_extra", "playbook_sha256"}
    assert set(data) == {"holds", "verdict", "claims", "anonymity", "bound_to", "observer", *figures}
    assert (data["holds"], data["verdict"], data["playbook_sha256"]) == (True, "holds", book.sha256)
    assert set(data["claims"][0]) == {"claim", "holds", "verdict", "evidence", "checked"}
    assert [entry["m"] for entry in data["anonymity"]] == list(range(1, len(data["anonymity"]) + 1))
    step = AnonymityStep(0, 1, 1, 1, ((0, 2),), ((0, 2), "name", 3))
    entry = replace(vr.audit(book), anonymity=(step,)).to_dict()["anonymity"][0]
    assert (entry["revealed"], entry["exposed"]) == ([[0, 2]], [[0, 2], "name", 3])


def test_the_text_is_cut_short(two_rooms: vr.Domain) -> None:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    report = vr.audit(vr.solve(problem, vr.Privacy(k=2, ell=2)))
    steps = tuple(AnonymityStep(0, m, m, 1, (), ()) for m in range(1, 101))
    assert "60 more" in replace(report, anonymity=steps).to_text().splitlines()[-1]
    assert number(2_000, "class", "classes") == "2,000 classes"
    assert names(range(8)) == "0, 1, 2, 3, 4, 5 and 2 more"
    for problems, said in (("abc", "a; b; c"), ("abcde", "a; b; c; and 2 more")):
        assert judge("walk", list(problems), "fine") == ClaimVerdict("walk", False, said)
