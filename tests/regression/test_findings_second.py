"""What a second review found after the first fifteen findings were mended: each was accepted, or said, by mistake."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from veilroute.playbook import playbook_from_json
from veilroute.posterior import find_exposures


def line(num: int, *, also: tuple[tuple[str, int], ...] = ()) -> vr.Domain:
    """A street with both directions, of nodes 10, 11, ...; some with a second name."""
    tails = [*range(num - 1), *range(1, num)]
    heads = [*range(1, num), *range(num - 1)]
    domain = vr.Domain.from_edges(num, tails, heads, [1] * len(tails), labels=list(range(10, 10 + num)))
    return replace(domain, also=also)


def plan(**wanted: Any) -> vr.Playbook:
    problem = vr.Problem(line(8, also=(("x", 3),)), [vr.Trip(10, 17)], [11, 12, 15, 16])
    return vr.solve(problem, vr.Privacy(**wanted))


def verdicts(data: dict[str, Any]) -> dict[str, str]:
    """The claims of a changed file that do not hold, by their names."""
    report = vr.audit(playbook_from_json(json.dumps(data).encode()))
    return {claim.claim: claim.evidence for claim in report.claims if not claim.holds}


def data_of(book: vr.Playbook) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(book.to_json())
    data["status"] = "feasible"
    data.pop("certificate", None)
    data["claims"] |= dict.fromkeys((name for name in data["claims"] if "bound" in name), None)
    return data


@pytest.mark.parametrize("wanted", [{"k": 2, "ell": 2}, {"k": 2, "ell": 2, "mechanism": "randomised"}])
def test_a_second_name_of_a_node_does_not_mark_a_route(wanted: dict[str, Any]) -> None:
    """Routes that look the same on the street were written in two ways, which told the members of two classes apart."""
    data = data_of(plan(**wanted))
    assert not verdicts(data)
    for group in data["classes"]:
        marked = copy.deepcopy(data)
        route = next(each for each in marked["classes"] if each["members"] == group["members"])["routes"][0]
        route["route"] = ["x" if node == 13 else node for node in route["route"]]
        assert "names x where the map says 13" in verdicts(marked)["walk"]


@pytest.mark.parametrize("wanted", [{"k": 2, "ell": 2}, {"risk": 0.5, "ell": 2}])
def test_each_class_keeps_the_promise_by_itself(wanted: dict[str, Any]) -> None:
    """A class in two parts that look the same: `route` gives none to the smaller one, which an audit did not see."""
    data = data_of(plan(**wanted))
    group = max(data["classes"], key=lambda each: len(each["members"]))
    part = copy.deepcopy(group)
    part["members"], group["members"] = group["members"][:1], group["members"][1:]
    data["classes"].append(part)
    book = playbook_from_json(json.dumps(data).encode())
    with pytest.raises(vr.VeilrouteError):
        book.route_for(part["members"][0])
    assert "get no route" in verdicts(data)["anonymized"]


@pytest.mark.parametrize("mechanism", ["partition", "randomised"])
def test_a_customer_at_the_door_of_the_depot_does_not_count(mechanism: str) -> None:
    """The depot's door under another name took part of the prior, so that every route was refused."""
    domain = vr.Domain.from_edges(
        4, [0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3], [1] * 8, labels=["depot", "a", "b", "c"]
    )
    problem = vr.Problem(replace(domain, also=(("office", 0),)), [vr.Trip("depot", "depot")], ["a", "b", "office"])
    book = vr.solve(problem, vr.Privacy(k=2, mechanism=mechanism))
    assert vr.audit(book).verdict == "holds"
    assert book.route_for("a").nodes == book.route_for("b").nodes


@pytest.mark.parametrize("spread", ["witness", "all-pairs"])
def test_a_place_that_is_never_the_secret_does_not_count_for_k(spread: str) -> None:
    problem = vr.Problem(line(8), [vr.Trip(10, 17)], [11, 12, 15, 16], prior=[1, 0, 2, 0])
    assert vr.solve(problem, vr.Privacy(k=3, spread=spread)).status == "infeasible"
    book = vr.solve(problem, vr.Privacy(k=2, spread=spread))
    assert [set(group.members) for group in book.hidden_classes] == [{11, 15}]
    report = vr.audit(book)
    assert report.verdict == "holds"
    assert find_exposures(book).exposures[0].num_possible == 2
    # The same plan for places that are all possible, read by somebody who knows that two of them are not.
    honest = vr.solve(replace(problem, prior=None), vr.Privacy(k=2, spread=spread))
    data = data_of(honest) | {"prior": [1 / 3, 0.0, 2 / 3, 0.0]}
    assert "anonymized" in verdicts(data)


@pytest.mark.parametrize("planner", ["constructive", "cbp", "rbp"])
def test_planners_that_cannot_leave_out_a_place_say_so(planner: str) -> None:
    problem = vr.Problem(line(8), [vr.Trip(10, 17)], [11, 12, 15, 16], prior=[1, 0, 2, 1])
    with pytest.raises(vr.InvalidInputError, match="weight of 0"):
        vr.solve(problem, vr.Privacy(k=2, m=None if planner == "constructive" else 4), planner=planner)


def test_places_out_of_reach_are_trips_that_are_not_covered() -> None:
    """Nine trips in ten went to a place that no walk reaches, and the figures were "averaged over all trips"."""
    domain = vr.grid_domain([".....@..", ".....@..", ".....@.."])
    problem = vr.Problem(domain, [vr.Trip((1, 0), (1, 4))], [(0, 2), (2, 2), (0, 7)], prior=[5, 5, 90])
    book = vr.solve(problem, vr.Privacy(k=2))
    risk = vr.risk(book)
    assert risk.hidden_mass == 1
    assert risk.covered_mass == pytest.approx(0.1)
    for text in (risk.to_text(), vr.audit(book).to_text(), "\n".join(find_exposures(book).to_lines())):
        assert "90% of trips are not covered" in text
        assert "averaged over the trips that are covered" in text
