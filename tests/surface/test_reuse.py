"""`veilroute plan --reuse`: a later trip with the classes of an earlier playbook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused

BACK = ("--start", "32,60", "--goal", "1,18")


def classes_of(path: Path) -> set[frozenset[object]]:
    return {frozenset(group.members) for group in vr.read_playbook(path).classes if group.anonymized}


def test_the_way_back_keeps_the_classes(command: Command, building: Path, planned: Path, tmp_path: Path) -> None:
    done = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "-o", "back.json")
    assert done.code == 0, done.err
    assert classes_of(tmp_path / "back.json") == classes_of(planned)
    assert vr.read_playbook(tmp_path / "back.json").candidates == vr.read_playbook(planned).candidates
    assert command("audit", "back.json").code == 0
    named = command("plan", building, *BACK, "--radius", 2, "--reuse", planned, "--planner", "reuse", "--json")
    result = json.loads(named.out)
    assert (result["planner"], result["status"], result["mac_lower_bound"]) == ("reuse", "feasible", None)


def test_a_finite_m_an_instance_file_and_classes_that_fall_short(
    command: Command, building: Path, planned: Path
) -> None:
    earlier = vr.read_playbook(planned)
    problem = vr.Problem(vr.read_movingai(building), [vr.Trip((32, 60), (1, 18))], earlier.candidates[:8])
    vr.write_instance(vr.Instance(problem, vr.Privacy(m=9)), "back.json")
    result = json.loads(command("plan", "back.json", "--reuse", planned, "--json").out)
    assert result["num_candidates"] == 8
    assert all(len(group["prefix"]) == 9 for group in result["classes"] if group["anonymized"])
    largest = max(map(len, classes_of(planned)))
    done = command("plan", building, *BACK, "-k", largest + 1, "--reuse", planned)
    assert done.code == 3
    assert f"k={largest + 1}" in done.out


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
    assert_refused(command("plan", building, *BACK, "--reuse", planned, *options), *words)
    assert_refused(command("plan", building, *BACK, "--random-candidates", 6, "--planner", "reuse"), "--reuse")
    assert_refused(command("plan", building, *BACK, "--reuse", "nowhere.json"), "no such file")
    assert_refused(command("plan", building, *BACK, "--reuse", building))


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
    assert_refused(refused, "a playbook made on this very map")
    # Without its map a playbook is known on its own map only.
    earlier.write("bare.json", embed_domain=False)
    assert command("plan", building, *BACK, "--radius", 2, "--reuse", "bare.json").code == 0
    assert command("plan", "closed.map", *BACK, "--radius", 2, "--reuse", "bare.json").code == 2


def test_a_newer_extract_with_other_numbers(command: Command, tmp_path: Path) -> None:
    """Junctions have other numbers; the names in the file of places, or the coordinates, still find them."""
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
