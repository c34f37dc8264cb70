"""What a second review found after the first fifteen findings were mended: each was accepted, or said, by mistake."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from closed_roads import audited
from door_towns import winding_town
from veilroute import Instance, playbook_from_json, write_instance
from veilroute.cli import headline, run


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
    assert vr.risk(book).num_possible == 2
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
    for text in (risk.to_text(), vr.audit(book).to_text(), " ".join(headline(book))):
        assert "90% of trips are not covered" in text


# What a third review found.


def test_a_replan_counts_places_and_not_names() -> None:
    """One door with three names is one place: the way past two other doors keeps the promise, and is taken."""
    roads = [("S", "A"), ("A", "D"), ("D", "Y"), ("A", "Y"), ("Y", "E"), ("E", "F"), ("F", "G"), ("D", "G")]
    nodes = list(dict.fromkeys(node for road in roads for node in road))
    tails, heads = zip(*((nodes.index(a), nodes.index(b)) for a, b in roads), strict=True)
    domain = vr.Domain.from_edges(len(nodes), tails, heads, [1] * len(roads), labels=nodes)
    domain = replace(domain, also=(("D 2", nodes.index("D")), ("D 3", nodes.index("D"))))
    places = ["D", "D 2", "D 3", "E", "F"]
    problem = vr.Problem(domain, [vr.Trip("S", "G")], places)
    route = ["S", "A", "D", "Y", "E", "F", "G"]
    book = vr.playbook_from_classes(problem, vr.Privacy(k=2), [{"members": places, "route": route}])
    found = vr.replan(book, 1, "A", closed=[("D", "Y")])
    assert found.still_hidden == ("E", "F")
    assert found.qualifies
    assert all(claim.holds for claim in audited(book, found))
    worse = replace(found, going_on=replace(found.giving_up, qualifies=False), choice=None)
    assert not all(claim.holds for claim in audited(book, worse))


def test_a_replan_covers_as_many_as_it_can_and_drops_nobody_to_keep_the_promise() -> None:
    """Without B the three others fall short; past C and D alone the promise would hold, but A can still be covered."""
    names = ["S", "A", "C", "D", "G", "B"]
    roads = [("S", "A"), ("A", "S"), ("A", "B"), ("B", "A"), ("A", "C"), ("S", "C"), ("C", "D"), ("D", "G")]
    tails, heads = zip(*((names.index(a), names.index(b)) for a, b in roads), strict=True)
    domain = vr.Domain.from_edges(len(names), tails, heads, [1] * len(roads), labels=names)
    problem = vr.Problem(domain, [vr.Trip("S", "G")], ["A", "B", "C", "D"], prior=[4, 4, 1, 1])
    route = ["S", "A", "B", "A", "C", "D", "G"]
    book = vr.playbook_from_classes(problem, vr.Privacy(risk=0.5), [{"members": ["A", "B", "C", "D"], "route": route}])
    found = vr.replan(book, 1, "S", position=0, closed=[("A", "B")])
    assert found.going_on.left == ("A", "C", "D")
    assert (found.qualifies, found.choice) == (False, None)


def test_too_many_areas_to_look_at_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten triples of which no two are close within one, and all across: 59,049 areas of ten."""
    num, hub = 30, 30
    pairs = [(i, j, 1.0) for i in range(num) for j in range(num) if i // 3 != j // 3]
    pairs += [pair for i in range(num) for pair in ((hub, i, 5.0), (i, hub, 5.0))]
    tails, heads, costs = zip(*pairs, strict=True)
    domain = vr.Domain.from_edges(num + 1, tails, heads, costs)
    write_instance(Instance(vr.Problem(domain, [vr.Trip(hub, hub)], range(num))), tmp_path / "trip.json")
    out = tmp_path / "book.json"
    words = ["plan", str(tmp_path / "trip.json"), "--risk", "0.7", "--ell", "1.5", "--time-limit", "2", "-o", str(out)]
    assert run(words) == 0
    assert "more areas less than 1.5 across than can be looked at one by one" in capsys.readouterr().out
    assert vr.read_playbook(out).options["areas"] == "surroundings"


def test_names_a_few_metres_apart_may_be_one_building() -> None:
    """By default places only have to be different: an observer who finds the building has found both."""
    town = replace(winding_town(2, num_banned=0), turns=None)
    assert town.streets is not None
    lonlat = town.streets.lonlat.copy()
    pairs = [(8, 9), (26, 27)]
    for one, other in pairs:
        lonlat[other] = lonlat[one] + [1e-4, 0]  # some 6 m
    town = replace(town, streets=replace(town.streets, lonlat=lonlat))
    places = [town.label(node) for pair in pairs for node in pair]
    problem = vr.Problem(town, [vr.Trip(town.label(0), town.label(35))], places)
    classes = [{"members": places[at : at + 2], "route": vr.cover(problem, places[at : at + 2]).walk} for at in (0, 2)]
    book = vr.playbook_from_classes(problem, vr.Privacy(k=2), classes)
    assert "an observer can be 100% sure of an area" in " ".join(headline(book))
    mixed = [places[0::2], places[1::2]]
    classes = [{"members": each, "route": vr.cover(problem, each).walk} for each in mixed]
    assert "so near each other" not in " ".join(headline(vr.playbook_from_classes(problem, vr.Privacy(k=2), classes)))
