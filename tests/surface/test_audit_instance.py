"""`audit --instance`: a playbook that is honest, but about something else than was meant, is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import veilroute as vr
from commands import Command, assert_refused
from street_samples import NAMES, little_town
from veilroute.domain import domain_from_dict, domain_to_dict, great_circle_m


class Meant(NamedTuple):
    """What a user asks for; forgers change it and plan anew, so that all that they hand over fits together."""

    domain: vr.Domain
    trips: tuple[vr.Trip, ...]
    candidates: tuple[int, ...]
    visibility: vr.Visibility
    privacy: vr.Privacy
    names: dict[Any, str]

    @property
    def problem(self) -> vr.Problem:
        return vr.Problem(self.domain, self.trips, self.candidates, self.visibility, self.names)


MEANT = Meant(
    little_town(),
    (vr.Trip(105, 108), vr.Trip(101, 112, 2.0)),
    (102, 103, 110, 111, 109, 104),
    vr.WithinDistance(1, "straight"),
    vr.Privacy(k=2, ell=100, measure="straight"),
    {label: name for label, name in NAMES.items() if isinstance(label, int)},
)


def with_privacy(**changes: Any) -> Meant:
    return MEANT._replace(privacy=replace(MEANT.privacy, **changes))


def with_streets(change: Callable[[dict[str, Any]], None]) -> Meant:
    """Another map: the plain data of the town, changed."""
    data = domain_to_dict(MEANT.domain)
    change(data["graph"])
    return MEANT._replace(domain=domain_from_dict(data))


def bends_moved(degrees: float) -> Callable[[dict[str, Any]], None]:
    def change(graph: dict[str, Any]) -> None:
        edge = next(i for i, line in enumerate(graph["streets"]["bends"]) if line)
        graph["streets"]["bends"][edge][1] += degrees

    return change


def without_first_edge(graph: dict[str, Any]) -> None:
    streets = graph["streets"]
    for rows in (graph["edges"], *(streets[name] for name in ("lengths", "name_ids", "kind_ids", "bends"))):
        del rows[0]


def street_renamed(graph: dict[str, Any]) -> None:
    words = graph["streets"]["names"]
    words[words.index("Rantatie")] = "Keskuskatu"


def plus(number: float, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(graph: dict[str, Any]) -> None:
        holder: Any = graph
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] += number

    return change


FIRST, SECOND = MEANT.trips
ALTERED: dict[str, Meant] = {
    "1 of the instance's 6 are missing: 104": MEANT._replace(candidates=MEANT.candidates[:-1]),
    "1 are not in the instance: 107": MEANT._replace(candidates=(*MEANT.candidates, 107)),
    "another order: number 0 is 102": MEANT._replace(candidates=MEANT.candidates[::-1]),
    "k: the instance says 2, the playbook 1": with_privacy(k=1),
    "m: the instance says the whole route, the playbook 1": with_privacy(m=1),
    "ell: the instance says 100, the playbook 0": with_privacy(ell=0),
    "measure: the instance says straight, the playbook cost": with_privacy(ell=100, measure="cost"),
    "spread: the instance says witness, the playbook all-pairs": with_privacy(spread="all-pairs"),
    "visibility: the instance says within 1 m straight, the playbook within 1000 m straight": MEANT._replace(
        visibility=vr.WithinDistance(1000, "straight")
    ),
    "the playbook listed for 1 node": MEANT._replace(visibility=vr.Explicit({106: MEANT.candidates})),
    "trips: trip 0 is 105 to 108 in the instance, 105 to 107": MEANT._replace(trips=(vr.Trip(105, 107), SECOND)),
    "trip 1 is 101 to 112 with weight 2 in the instance, no": MEANT._replace(trips=(FIRST,)),
    "102 is called 'Branch North' in the instance, 'Branch East' in the playbook; 1 more differ": MEANT._replace(
        names=MEANT.names | {102: MEANT.names[104], 104: MEANT.names[102]}
    ),
    "106 is called nothing in the instance": MEANT._replace(names={**MEANT.names, 106: "Bank"}),
    "drawing: the bends of the street from 108 to 112": with_streets(bends_moved(0.00045)),
    "is called 'Rantatie' in the instance, 'Keskuskatu' in": with_streets(street_renamed),
    "map: the edge from 101 to 102 costs 13.3 in the instance, 12.3": with_streets(plus(-1, "edges", 0, 2)),
    "map: the edges are the same, but not what is measured": with_streets(plus(50, "streets", "lengths", 0)),
    "map: only the instance has the edge from 101 to 102": with_streets(without_first_edge),
}
CHEAPER, BENT = (next(meant for words, meant in ALTERED.items() if part in words) for part in ("12.3", "bends"))


def write_meant(path: Path, meant: Meant = MEANT) -> Path:
    vr.write_instance(vr.Instance(meant.problem, meant.privacy), path)
    return path


def claims_of(out: str) -> dict[str, dict[str, Any]]:
    return {entry["claim"]: entry for entry in json.loads(out)["claims"]}


@pytest.fixture(scope="module")
def honest() -> vr.Playbook:
    return vr.solve(MEANT.problem, MEANT.privacy)


def test_the_honest_playbook_passes(command: Command, tmp_path: Path, honest: vr.Playbook) -> None:
    honest.write(tmp_path / "p.json")
    honest.write(tmp_path / "bare.json", embed_domain=False)
    instance = write_meant(tmp_path / "meant.json")
    for name in ("p.json", "bare.json"):
        code, out, err = command("audit", tmp_path / name, "--instance", instance, "--json")
        assert (code, err) == (0, "")
        entry = claims_of(out)["instance"]
        assert entry["holds"]
        assert entry["checked"]
        assert all(item["agrees"] and item["playbook"] == item["instance"] for item in json.loads(out)["bound_to"])


@pytest.mark.parametrize("words", ALTERED)
def test_altered_playbooks_are_refused_and_the_difference_named(command: Command, tmp_path: Path, words: str) -> None:
    meant = ALTERED[words]
    vr.solve(meant.problem, meant.privacy).write(tmp_path / "p.json")
    assert command("audit", tmp_path / "p.json").code == 0, "the forger planned again: by itself, it keeps its word"
    code, out, _ = command("audit", tmp_path / "p.json", "--instance", write_meant(tmp_path / "meant.json"), "--json")
    assert code == 1
    assert [name for name, entry in claims_of(out).items() if not entry["holds"]] == ["instance"]
    assert words in claims_of(out)["instance"]["evidence"]


def test_the_map_of_a_playbook_with_a_hash_only_comes_from_the_instance(command: Command, tmp_path: Path) -> None:
    instance = write_meant(tmp_path / "meant.json")
    vr.solve(CHEAPER.problem, CHEAPER.privacy).write(tmp_path / "p.json", embed_domain=False)
    assert_refused(command("audit", tmp_path / "p.json", "--instance", instance), "SHA-256")
    vr.solve(BENT.problem, BENT.privacy).write(tmp_path / "p.json", embed_domain=False)
    code, out, _ = command("audit", tmp_path / "p.json", "--instance", instance, "--json")
    assert code == 1
    assert not claims_of(out)["shown"]["holds"]
    vr.solve(BENT.problem, BENT.privacy).write(tmp_path / "whole.json")
    assert_refused(command("audit", tmp_path / "whole.json", "--domain", instance), "names, bends or coordinates")


@pytest.mark.parametrize("keeps_hashes", [True, False])
def test_names_swapped_or_bends_moved_in_the_file(
    command: Command, tmp_path: Path, honest: vr.Playbook, keeps_hashes: bool
) -> None:
    """Crack 4 as it was found, and by somebody who takes the hashes away."""
    for change in ("names", "bends"):
        data = json.loads(honest.to_json())
        if change == "names":
            data["names"][1][1], data["names"][2][1] = data["names"][2][1], data["names"][1][1]
        else:
            bends_moved(4 / 111.2)(data["domain"]["graph"])
        if not keeps_hashes:
            del data["names_sha256"], data["drawing_sha256"]
        (tmp_path / "p.json").write_text(json.dumps(data))
        code, out, _ = command("audit", tmp_path / "p.json", "--json")
        entry = claims_of(out)["shown"]
        if keeps_hashes or change == "bends":
            assert code == 1
            assert not entry["holds"]
            assert ("names: hashed as" if change == "names" else "drawing" * keeps_hashes) in entry["evidence"]
        else:
            assert not entry["checked"], "nothing can tell, and that is said"
        bound = command("audit", tmp_path / "p.json", "--instance", write_meant(tmp_path / "meant.json"))
        assert bound.code == 1


@pytest.mark.parametrize(("num_bends", "place"), [(1, 0), (3, 1)])
def test_a_bend_4_km_away_is_false_whatever_the_hash_says(num_bends: int, place: int) -> None:
    streets = MEANT.domain.streets
    assert streets is not None
    edge = next(i for i in range(MEANT.domain.num_edges) if len(streets.bends(i)) == num_bends)

    def change(graph: dict[str, Any]) -> None:
        graph["streets"]["bends"][edge][2 * place + 1] -= 4 / 111.2

    meant = with_streets(change)
    assert meant.domain.streets is not None
    tails, heads, _ = meant.domain.edge_arrays()
    line = meant.domain.streets.line(int(tails[edge]), int(heads[edge]), edge)
    drawn = float(great_circle_m(line[:-1], line[1:]).sum())
    report = vr.audit(vr.solve(meant.problem, meant.privacy))
    evidence = {verdict.claim: verdict.evidence for verdict in report.claims if not verdict.holds}
    assert list(evidence) == ["shown"]
    assert f"{drawn:,.0f} m long, but said to be {streets.lengths[edge]:,.0f} m" in evidence["shown"]


def test_what_the_instance_does_not_state_is_not_taken_for_granted(
    command: Command, tmp_path: Path, building: Path
) -> None:
    words = ("--start", "1,18", "--goal", "32,60", "--random-candidates", 8, "--seed", 3)
    assert command("plan", building, *words, "-k", 3, "-o", tmp_path / "p.json").code == 0
    audit = ("audit", tmp_path / "p.json", "--instance", building, *words)
    code, out, _ = command(*audit, "--json")
    entry = claims_of(out)["instance"]
    assert (code, entry["holds"], entry["checked"]) == (0, True, False)
    assert "not stated by the instance: visibility (" in entry["evidence"] and "k (the playbook" in entry["evidence"]
    code, out, _ = command(*audit, "-k", 3, "--ell", 0, "--m", "inf", "--spread", "witness", "--radius", 0, "--json")
    assert (code, claims_of(out)["instance"]["checked"]) == (0, True)
    for option, value, said in (
        ("--ell", 4, "ell: the instance says 4, the playbook 0"),
        ("--sight", 3, "visibility: the instance says in line of sight within 3"),
        ("--movement", 8, "map: 8-way in the instance, 4-way in the playbook"),
    ):
        code, out, _ = command(*audit, option, value, "--json")
        assert code == 1
        assert said in claims_of(out)["instance"]["evidence"]
    assert command("audit", tmp_path / "p.json", "--instance", building, *words[:-1], 4).code == 1, "other candidates"


def test_a_file_that_says_less_leaves_more_open(tmp_path: Path) -> None:
    data = json.loads(write_meant(tmp_path / "meant.json").read_bytes())
    del data["visibility"], data["privacy"]["spread"], data["privacy"]["measure"]
    (tmp_path / "less.json").write_text(json.dumps(data))
    unstated = {"visibility", "spread", "mechanism", "objective", "prior"}
    assert vr.read_instance(tmp_path / "less.json").unstated == unstated


def test_a_wall_moved_or_another_world_altogether(command: Command, building: Path, planned: Path) -> None:
    rows = building.read_text().splitlines()
    rows[-1] = rows[-1].replace("@", ".", 1)
    building.write_text("\n".join(rows) + "\n")
    words = ("--start", "1,18", "--goal", "32,60", "--random-candidates", 10, "--radius", 2)
    code, out, _ = command("audit", planned, "--instance", building, *words, "--json")
    assert code == 1
    assert "(35, 0) is free in the instance, blocked in the playbook" in claims_of(out)["instance"]["evidence"]
    code, out, _ = command("audit", planned, "--instance", write_meant(planned.with_name("meant.json")), "--json")
    assert code == 1
    for what in ("map", "drawing", "trips", "candidates", "visibility", "names", "ell", "measure"):
        assert f"{what}: " in claims_of(out)["instance"]["evidence"]


def test_coordinates_of_plain_graphs_are_hashed() -> None:
    """They are where drawings and exports put the nodes."""
    town = vr.generate_streets(5, 6, seed=2)
    problem = vr.Problem(town, [vr.Trip(town.label(0), town.label(20))], [town.label(i) for i in (3, 7, 12, 18)])
    playbook = vr.solve(problem, vr.Privacy())
    assert town.coordinates is not None
    assert playbook.drawing_sha256 is not None
    moved = replace(town, coordinates=town.coordinates + np.array([1.0, 0.0]))
    lying = replace(playbook, domain=moved)
    assert [verdict.claim for verdict in vr.audit(lying).claims if not verdict.holds] == ["shown"]
    bare = vr.audit(replace(playbook, domain=replace(town, coordinates=None))).claims[-1]
    assert (bare.claim, bare.holds, bare.checked) == ("shown", True, False)
    forged = replace(lying, drawing_sha256=moved.drawing_sha256)
    assert vr.audit(forged).holds
    report = vr.audit(forged, instance=problem, privacy=vr.Privacy())
    assert report.claims[-1].evidence == "drawing: the nodes stand elsewhere"


def test_python_takes_what_was_meant(honest: vr.Playbook) -> None:
    last = vr.audit(honest, privacy=vr.Privacy(k=3)).claims[-1]
    assert (last.claim, last.verdict) == ("instance", "violated")
    whole: Any = vr.Instance(MEANT.problem, MEANT.privacy)
    with pytest.raises(vr.InvalidInputError, match="instance"):
        vr.audit(honest, instance=whole)
