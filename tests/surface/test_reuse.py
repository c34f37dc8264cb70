"""`veilroute plan --reuse`: a later trip with the classes of an earlier playbook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from veilroute.formats import Instance

BACK = ("--start", "32,60", "--goal", "1,18")


def classes_of(path: Path) -> set[frozenset[object]]:
    return {frozenset(group.members) for group in vr.read_playbook(path).classes if group.anonymized}


def test_the_way_back_keeps_the_classes(command: Command, building: Path, planned: Path, tmp_path: Path) -> None:
    done = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "-o", "back.json")
    assert done.code == 0, done.err
    assert "10 of 10 candidates hidden in" in done.out
    assert "not proved optimal" in done.out
    assert classes_of(tmp_path / "back.json") == classes_of(planned)
    assert vr.read_playbook(tmp_path / "back.json").candidates == vr.read_playbook(planned).candidates
    assert command("audit", "back.json").code == 0
    named = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "--planner", "reuse", "--json")
    result = json.loads(named.out)
    assert (result["planner"], result["status"], result["mac_lower_bound"]) == ("reuse", "feasible", None)


def test_a_finite_m_and_an_instance_file(command: Command, building: Path, planned: Path) -> None:
    earlier = vr.read_playbook(planned)
    problem = vr.Problem(vr.read_movingai(building), [vr.Trip((32, 60), (1, 18))], earlier.candidates[:8])
    vr.write_instance(Instance(problem, vr.Privacy(m=9)), "back.json")
    result = json.loads(command("plan", "back.json", "--reuse", planned, "--json").out)
    assert result["num_candidates"] == 8
    assert all(len(group["prefix"]) == 9 for group in result["classes"] if group["anonymized"])


def test_classes_that_fall_short_are_exit_code_3(command: Command, building: Path, planned: Path) -> None:
    largest = max(map(len, classes_of(planned)))
    done = command("plan", building, *BACK, "-k", largest + 1, "--reuse", planned)
    assert done.code == 3
    assert f"no class of the earlier playbook reaches k={largest + 1}" in done.out
    assert "plan all trips together" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--planner", "optimal"), ("--planner", "reuse, or none named, with --reuse", "optimal")),
        (("--partitioner", "naive"), ("--partitioner", "none with --reuse")),
        (("--merge-order", "random"), ("--merge-order", "none with --reuse")),
        (("--candidates", "2,2 30,10"), ("candidates that the reused partition knows", "plan --ledger")),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    command: Command, building: Path, planned: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    code, out, err = command("plan", building, *BACK, "--reuse", planned, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err


def test_the_planner_needs_a_playbook(command: Command, building: Path) -> None:
    code, out, err = command("plan", building, *BACK, "--random-candidates", 6, "--planner", "reuse")
    assert (code, out) == (2, "")
    assert err == "veilroute: --reuse: expected the playbook of an earlier trip, for the planner reuse\n"
    missing = command("plan", building, *BACK, "--reuse", "nowhere.json")
    assert missing.code == 2
    assert "no such file" in missing.err
    instead = command("plan", building, *BACK, "--reuse", building)
    assert instead.code == 2
    assert instead.err.count("\n") == 1


def test_labels_with_spaces_and_names_outlive_the_first_trip(command: Command, tmp_path: Path) -> None:
    rows = ["from,to,metres,oneway", "Depot Yard,North Gate,100,no", "North Gate,South Gate,400,no"]
    (tmp_path / "town.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    nodes = ["id,lat,lon", "Depot Yard,60.17,24.94", "North Gate,60.171,24.94", "South Gate,60.171,24.947"]
    (tmp_path / "town.nodes.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (tmp_path / "places.csv").write_text("name,id\nBank,North Gate\nShop,South Gate\n", encoding="utf-8")
    ends = ("--start", "Depot Yard", "--goal", "Depot Yard")
    assert command("plan", "town.csv", *ends, "--places", "places.csv", "-o", "first.json").code == 0
    done = command("plan", "town.csv", *ends, "--reuse", "first.json", "-o", "second.json")
    assert done.code == 0, done.err
    assert "Bank, Shop" in done.out
    assert vr.read_playbook("second.json").names == {"North Gate": "Bank", "South Gate": "Shop"}
    assert classes_of(tmp_path / "second.json") == classes_of(tmp_path / "first.json")


def test_another_map_keeps_the_places_or_is_refused(command: Command, building: Path, planned: Path) -> None:
    rows = building.read_text().splitlines()
    earlier = vr.read_playbook(planned)
    kept = {(32, 60), (1, 18), *earlier.candidates}
    row, col = next(
        (row, col)
        for row, line in enumerate(rows[4:])
        for col, cell in enumerate(line)
        if cell == "." and (row, col) not in kept
    )
    closed = [*rows[: row + 4], rows[row + 4][:col] + "@" + rows[row + 4][col + 1 :], *rows[row + 5 :]]
    Path("closed.map").write_text("\n".join(closed) + "\n")
    done = command("plan", "closed.map", *BACK, "--radius", 2, "--reuse", planned, "-o", "back.json")
    assert done.code == 0, done.err
    before = classes_of(planned)
    assert all(any(members <= whole for whole in before) for members in classes_of(Path("back.json")))
    # A map of another size may be any map.
    wider = [*rows[:2], f"width {len(rows[4]) + 1}", rows[3], *(f"{line}." for line in rows[4:])]
    Path("wider.map").write_text("\n".join(wider) + "\n")
    refused = command("plan", "wider.map", *BACK, "--radius", 2, "--reuse", planned)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "a playbook made on this very map" in refused.err
    # Without its map a playbook is known on its own map only.
    earlier.write("bare.json", embed_domain=False)
    assert command("plan", building, *BACK, "--radius", 2, "--reuse", "bare.json").code == 0
    assert command("plan", "closed.map", *BACK, "--radius", 2, "--reuse", "bare.json").code == 2


def test_a_newer_extract_with_other_numbers(command: Command, tmp_path: Path) -> None:
    """Junctions are numbered anew; the names in the file of places, or the coordinates, still find them."""
    place = {i: (60.17 + 0.002 * (i // 3), 24.94 + 0.004 * (i % 3)) for i in range(6)}
    links = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
    for name, number in (("old", [1, 2, 3, 4, 5, 6]), ("new", [2, 4, 6, 3, 1, 5])):
        rows = [f"{number[a]},{number[b]},100,no" for a, b in links[: 6 if name == "new" else 7]]
        (tmp_path / f"{name}.csv").write_text("\n".join(["from,to,metres,oneway", *rows]) + "\n")
        spots = [f"{number[i]},{lat},{lon}" for i, (lat, lon) in place.items()]
        (tmp_path / f"{name}.nodes.csv").write_text("\n".join(["id,lat,lon", *spots]) + "\n")
    listed = [f"Shop {i},{place[i][0]},{place[i][1]}" for i in (1, 2, 3, 4)]
    (tmp_path / "places.csv").write_text("\n".join(["name,lat,lon", *listed]) + "\n")
    ends = ("--start", "60.17,24.94", "--goal", "60.172,24.948", "--ell", 0)
    assert command("plan", "old.csv", *ends, "--places", "places.csv", "-o", "old.json").code == 0
    first = vr.read_playbook("old.json")

    def placed(book: vr.Playbook) -> set[frozenset[object]]:
        assert book.domain is not None
        assert book.domain.streets is not None
        where = [tuple(place) for place in book.domain.streets.lonlat.tolist()]
        hidden = [group.members for group in book.classes if group.anonymized]
        return {frozenset(where[book.domain.node(member)] for member in members) for members in hidden}

    for more in ((), ("--places", "places.csv")):
        done = command("plan", "new.csv", *ends, *more, "--reuse", "old.json", "-o", "new.json")
        assert done.code == 0, done.err
        later = vr.read_playbook("new.json")
        assert placed(later) == placed(first)
        assert {later.name(label) for label in later.candidates} == {f"Shop {i}" for i in (1, 2, 3, 4)}
