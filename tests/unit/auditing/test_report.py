from __future__ import annotations

import json
from dataclasses import replace

import pytest

import veilroute as vr
from risk_plans import with_risk
from veilroute.auditing import AnonymityStep, AuditReport, AuditSummary, ClaimVerdict, judge, names, number


@pytest.fixture
def report(two_rooms: vr.Domain) -> AuditReport:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    return vr.audit(with_risk(vr.solve(problem, vr.Privacy(k=2, ell=2))))


def test_json_holds_what_the_contract_promises(report: AuditReport) -> None:
    data = report.to_dict()
    assert json.loads(json.dumps(data)) == data
    figures = {"total_extra", "worst_extra", "playbook_sha256"}
    assert set(data) == {"holds", "verdict", "claims", "anonymity", "bound_to", "observer", *figures}
    assert (data["holds"], data["verdict"]) == (True, "holds")
    assert set(data["claims"][0]) == {"claim", "holds", "verdict", "evidence", "checked"}
    assert {"m", "smallest_class", "revealed"} <= set(data["anonymity"][0])
    assert [entry["m"] for entry in data["anonymity"]] == list(range(1, len(data["anonymity"]) + 1))


def test_a_report_says_which_playbook_it_is_about(two_rooms: vr.Domain) -> None:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    first, second = (vr.solve(problem, vr.Privacy(k=k)) for k in (2, 4))
    assert vr.audit(first).to_dict()["playbook_sha256"] == first.sha256 != second.sha256


def test_cells_are_lists_in_json(report: AuditReport) -> None:
    step = AnonymityStep(0, 1, 1, 1, ((0, 2),), ((0, 2), "name", 3))
    entry = replace(report, anonymity=(step,)).to_dict()["anonymity"][0]
    assert entry["revealed"] == [[0, 2]]
    assert entry["exposed"] == [[0, 2], "name", 3]


def test_text_begins_with_the_verdict_in_plain_words(report: AuditReport) -> None:
    lines = report.to_text().splitlines()
    assert lines[0] == "The playbook keeps its word: all 20 claims hold."
    assert " ".join(lines[2:4]) == (
        "An observer who sees a whole trip and has our map and our code still has at least 2 possible places to choose "
        "from, 2 of them at least 2 apart on foot: that holds for 4 of 4 candidates."
    )
    assert max(map(len, lines[:4])) <= 100
    assert "  OK        walk " in report.to_text()
    assert "Anonymity over time\n  node" in report.to_text()


def test_text_names_the_broken_claims(report: AuditReport) -> None:
    walk, cost = ClaimVerdict("walk", False, "jumps"), ClaimVerdict("cost", False, "too low")
    one = replace(report, holds=False, claims=(walk, *report.claims[1:]))
    assert one.to_text().startswith("Do not rely on this playbook: the claim 'walk' is violated.\n")
    assert "  VIOLATED  walk          jumps\n" in one.to_text()
    two = replace(report, holds=False, claims=(walk, cost, *report.claims[2:]))
    assert two.to_text().startswith("Do not rely on this playbook: 2 of 20 claims are violated.\n")


def words(report: AuditReport, **changes: object) -> str:
    summary = AuditSummary(vr.Privacy(k=3, ell=5), 1, 10, 9, 8, 6)
    text = replace(report, summary=replace(summary, **changes)).to_text()  # type: ignore[arg-type]
    return " ".join(text.split())


def test_text_says_who_is_not_protected_and_why(report: AuditReport) -> None:
    assert (
        "Not protected: 4 candidates (2 said to be protected but not, 1 out of reach of any walk, "
        "1 for which the playbook gives no route)." in words(report)
    )
    assert "Not protected" not in words(report, num_protected=10, num_claimed=10, num_coverable=10)
    assert "finds no candidate protected." in words(report, num_protected=0)


def test_text_says_what_was_promised(report: AuditReport) -> None:
    assert "all of them at least 5 apart" in words(report, privacy=vr.Privacy(k=3, ell=5, spread="all-pairs"))
    assert "at least 1 possible place to choose from: that" in words(report, privacy=vr.Privacy(k=1))
    assert "An observer who sees the first 7 nodes of a trip and has" in words(report, privacy=vr.Privacy(m=7))
    assert "After the first node nothing is promised" in words(report, privacy=vr.Privacy(m=1))
    assert "a whole trip, links the 3 trips and has our map" in words(report, num_trips=3)


def test_many_changes_are_cut_short(report: AuditReport) -> None:
    steps = tuple(AnonymityStep(0, m, m, 1, (), ()) for m in range(1, 101))
    text = replace(report, anonymity=steps).to_text()
    assert text.endswith("  and 60 more changes; the JSON report has them all\n")


def test_small_helpers() -> None:
    assert number(1, "node") == "1 node"
    assert number(2_000, "class", "classes") == "2,000 classes"
    assert names(range(8)) == "0, 1, 2, 3, 4, 5 and 2 more"
    assert judge("walk", [], "fine") == ClaimVerdict("walk", True, "fine")
    assert judge("walk", list("abcde"), "fine") == ClaimVerdict("walk", False, "a; b; c; and 2 more")
