"""The instances: the paper's on its maps, others on generated maps, and never a mixture."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

import veilroute as vr
from veilroute import FileFormatError, InvalidInputError
from veilroute.bench import (
    GENERATED,
    MAPS,
    MAX_CANDIDATES,
    Preset,
    find_terrain,
    known_instances,
    read_paper_instances,
    read_study,
)
from veilroute.maps import MapStore


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_package_holds_thirty_instances_and_no_solutions() -> None:
    text = resources.files("veilroute.bench").joinpath("instances.json").read_text(encoding="utf-8")
    assert "mac" not in text
    instances = read_paper_instances()
    pairs = [(instance.map_name, instance.seed) for instance in instances]
    assert pairs == [(name, seed) for name in MAPS for seed in range(1, 6)]
    assert len(text.splitlines()) == len(instances) + len(MAPS) + 3, "one a line"
    for instance in instances:
        assert len(set(instance.candidates)) == MAX_CANDIDATES


def test_they_are_the_instances_of_the_paper(shared: Path) -> None:
    known = {(instance.map_name, instance.seed): instance for instance in read_paper_instances()}
    lines = (shared / "instances" / "paper.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3 * len(known)
    for row in map(json.loads, lines):
        ours = known[Path(row["map"]).stem, row["seed"]]
        assert (ours.start, ours.goal) == (tuple(row["start"]), tuple(row["goal"]))
        assert ours.candidates[: row["num_candidates"]] == tuple(map(tuple, row["candidates"]))


@pytest.mark.parametrize("place", ["directory", "cache"])
def test_the_papers_maps_are_found(shared: Path, empty_cache: Path, place: str) -> None:
    if place == "cache":
        MapStore().add_directory(shared / "maps" / "dao")
    terrain = find_terrain(num_pairs=5, directory=shared if place == "directory" else None)
    assert not terrain.is_generated
    assert tuple(terrain.domains) == MAPS
    assert len(terrain.instances) == 30
    for name, domain in terrain.domains.items():
        assert known_instances(name, 5) == (domain.sha256, tuple(i for i in terrain.instances if i.map_name == name))
    assert [instance.map_name for instance in terrain.instances[:6]] == list(MAPS)
    for instance in terrain.instances:
        trip = vr.Trip(instance.start, instance.goal)
        vr.Problem(terrain.domains[instance.map_name], [trip], instance.candidates)


def test_without_maps_others_are_generated_and_it_is_said(empty_cache: Path) -> None:
    terrain = find_terrain(num_pairs=2)
    assert terrain.is_generated
    assert "the paper's maps are not here" in terrain.remark
    assert "veilroute maps get dao" in terrain.remark
    assert tuple(terrain.domains) == tuple(GENERATED)
    assert len(terrain.instances) == 12
    for instance in terrain.instances:
        assert len(set(instance.candidates)) == MAX_CANDIDATES
        assert instance.start != instance.goal
        problem = vr.Problem(
            terrain.domains[instance.map_name], [vr.Trip(instance.start, instance.goal)], instance.candidates
        )
        assert vr.cover(problem, []).status == "optimal"


def test_generated_maps_are_the_same_each_time() -> None:
    first, again = (find_terrain(num_pairs=1, map_names=["rooms-2", "rooms-1"]) for _ in range(2))
    assert first.instances == again.instances
    # Pinned: a change would make the records of everybody's runs useless.
    assert first.domains["rooms-1"].sha256.startswith("94d23b4422de")
    assert (first.instances[0].start, first.instances[0].goal) == ((21, 52), (31, 66))
    assert "not here" not in first.remark


def test_of_maps_that_are_partly_there_none_is_left_out_silently(shared: Path, empty_cache: Path) -> None:
    some = empty_cache / "some"
    some.mkdir()
    for name in ("den101d", "orz201d"):
        (some / f"{name}.map").write_bytes((shared / "maps" / "dao" / f"{name}.map").read_bytes())
    with pytest.raises(InvalidInputError, match="--maps.*den201d, lak202d, lak510d, orz000d"):
        find_terrain(num_pairs=1, directory=some)
    MapStore().add_directory(some)
    with pytest.raises(InvalidInputError, match="den201d.*veilroute maps get dao.*--map den101d"):
        find_terrain(num_pairs=1)
    assert tuple(find_terrain(num_pairs=1, map_names=["orz201d"]).domains) == ("orz201d",)
    with pytest.raises(InvalidInputError, match="lak202d in the cache"):
        find_terrain(num_pairs=1, map_names=["lak202d"])


def test_another_map_under_a_paper_name_is_refused(shared: Path, empty_cache: Path) -> None:
    text = (shared / "maps" / "dao" / "den101d.map").read_bytes()
    (empty_cache / "a").mkdir()
    (empty_cache / "a" / "den101d.map").write_bytes(text.replace(b".", b"@", 1))
    with pytest.raises(FileFormatError, match="den101d.map: not the map that the paper used"):
        find_terrain(num_pairs=1, map_names=["den101d"], directory=empty_cache)
    # The right one, with other line ends, further down.
    (empty_cache / "b").mkdir()
    (empty_cache / "b" / "den101d.map").write_bytes(text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    terrain = find_terrain(num_pairs=1, map_names=["den101d"], directory=empty_cache)
    assert terrain.domains["den101d"].sha256 == vr.read_movingai(shared / "maps" / "dao" / "den101d.map").sha256


def test_a_damaged_map_in_the_cache_is_not_replaced_by_a_generated_one(shared: Path, empty_cache: Path) -> None:
    local = empty_cache / "local"
    local.mkdir()
    for name in MAPS:
        (local / f"{name}.map").write_bytes((shared / "maps" / "dao" / f"{name}.map").read_bytes())
    MapStore().add_directory(local)
    (local / "den101d.map").write_text("something else")
    with pytest.raises(FileFormatError, match="not the text that the paper used"):
        find_terrain(num_pairs=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"map_names": ["den999d"]}, "--map: expected one of den101d"),
        ({"map_names": ["den101d", "rooms-1"]}, "not both"),
        ({"num_pairs": 0}, "pairs"),
        ({"directory": Path("nowhere")}, "--maps: expected a directory"),
    ],
)
def test_bad_choices_are_refused(empty_cache: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        find_terrain(**{"num_pairs": 1, **options})  # type: ignore[arg-type]


def test_more_pairs_than_the_paper_has_are_refused(shared: Path, empty_cache: Path) -> None:
    assert read_study("paper").presets["paper"] == Preset(pairs=5, time_limit_s=300.0)
    with pytest.raises(InvalidInputError, match="at most 5"):
        find_terrain(num_pairs=6, directory=shared, map_names=["den101d"])
