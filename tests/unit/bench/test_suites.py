"""Instances on the paper's maps or on generated ones, and from a suite's name to its cells."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute import FileFormatError, InvalidInputError, bench
from veilroute.maps import MapStore

TWO = ("rooms-2", "rooms-6")


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))


def copy_maps(shared: Path, folder: Path, *names: str) -> Path:
    """Some of the paper's maps in a folder of their own."""
    folder.mkdir()
    for name in names:
        (folder / f"{name}.map").write_bytes((shared / "maps" / "dao" / f"{name}.map").read_bytes())
    return folder


# -- instances


def test_the_package_holds_the_instances_of_the_paper(shared: Path) -> None:
    instances = bench.read_paper_instances()
    known = {(instance.map_name, instance.seed): instance for instance in instances}
    assert list(known) == [(name, seed) for name in bench.MAPS for seed in range(1, 6)]
    assert all(len(set(instance.candidates)) == bench.MAX_CANDIDATES == 16 for instance in instances)
    lines = (shared / "instances" / "paper.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3 * len(known)
    for row in map(json.loads, lines):
        ours = known[Path(row["map"]).stem, row["seed"]]
        assert (ours.start, ours.goal) == (tuple(row["start"]), tuple(row["goal"]))
        assert ours.candidates[: row["num_candidates"]] == tuple(map(tuple, row["candidates"]))


@pytest.mark.parametrize("place", ["directory", "cache"])
def test_the_papers_maps_are_found(shared: Path, place: str) -> None:
    if place == "cache":
        MapStore().add_directory(shared / "maps" / "dao")
    terrain = bench.find_terrain(num_pairs=5, directory=shared if place == "directory" else None)
    assert not terrain.is_generated and tuple(terrain.domains) == bench.MAPS and len(terrain.instances) == 30
    for name, domain in terrain.domains.items():
        assert bench.known_instances(name, 5) == (
            domain.sha256,
            tuple(i for i in terrain.instances if i.map_name == name),
        )
    with pytest.raises(InvalidInputError, match="at most 5"):
        bench.find_terrain(num_pairs=6, directory=shared, map_names=["den101d"])


def test_without_maps_others_are_generated_the_same_each_time() -> None:
    terrain = bench.find_terrain(num_pairs=2)
    assert terrain.is_generated and "the paper's maps are not here" in terrain.remark
    assert tuple(terrain.domains) == tuple(bench.GENERATED) and len(terrain.instances) == 12
    for instance in terrain.instances:
        assert len(set(instance.candidates)) == bench.MAX_CANDIDATES and instance.start != instance.goal
        trip = vr.Trip(instance.start, instance.goal)
        problem = vr.Problem(terrain.domains[instance.map_name], [trip], instance.candidates)
        assert vr.cover(problem, []).status == "optimal"
    again = bench.find_terrain(num_pairs=2, map_names=["rooms-2", "rooms-1"])
    assert again.instances == tuple(each for each in terrain.instances if each.map_name in ("rooms-1", "rooms-2"))
    # Pinned: a change would make the records of everybody's runs useless.
    assert again.domains["rooms-1"].sha256.startswith("94d23b4422de")
    assert (again.instances[0].start, again.instances[0].goal) == ((21, 52), (31, 66))


def test_another_map_under_a_paper_name_is_refused(shared: Path, tmp_path: Path) -> None:
    path = copy_maps(shared, tmp_path / "a", "den101d") / "den101d.map"
    text = path.read_bytes()
    path.write_bytes(text.replace(b".", b"@", 1))
    with pytest.raises(FileFormatError, match="den101d.map: not the map that the paper used"):
        bench.find_terrain(num_pairs=1, map_names=["den101d"], directory=tmp_path)
    # The right one, with other line ends, further down.
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "den101d.map").write_bytes(text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    terrain = bench.find_terrain(num_pairs=1, map_names=["den101d"], directory=tmp_path)
    assert terrain.domains["den101d"].sha256 == vr.read_movingai(shared / "maps" / "dao" / "den101d.map").sha256


# -- cells


@pytest.fixture(scope="module")
def terrain() -> bench.Terrain:
    return bench.find_terrain(num_pairs=2, map_names=TWO)


def keys(cells: list[bench.Cell]) -> set[str]:
    return {cell.key for cell in cells}


def cells_of(terrain: bench.Terrain, name: str, **choice: Any) -> list[bench.Cell]:
    return bench.build_cells(bench.suite_names(name), terrain, bench.Choice(**{"time_limit_s": 4, **choice}))


def test_the_cells_of_the_suites_are_what_they_were(terrain: bench.Terrain) -> None:
    every = cells_of(terrain, "all")
    parts = {name: keys(cells_of(terrain, name)) for name in bench.suite_names("all")}
    assert len(every) == len(keys(every)) and keys(every) == set().union(*parts.values())
    fewer = bench.build_cells(
        ["table3"], bench.find_terrain(num_pairs=1, map_names=TWO), bench.Choice(time_limit_s=4.0)
    )
    assert keys(fewer) < parts["table3"], "also with a limit that is a float"
    # If this fails, the records of everybody's runs are of no use any more.
    digest = hashlib.sha256(" ".join(sorted(keys(every) | keys(cells_of(terrain, "as-printed")))).encode()).hexdigest()
    assert digest == "22d92f25849d3b10dfd455f1c97ba3dca2362c90ddd6e42ed407ad73ccb98cfe"
