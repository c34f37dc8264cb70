"""The data set: what is exported, and what becomes of playbooks that are handed in."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute.bench.dataset import INDEX, SUMS, export_dataset, grown_candidates, read_dataset
from veilroute.bench.leaderboard import verify_dataset
from veilroute.bench.suites import find_terrain
from veilroute.errors import FileFormatError

NAME = "rooms-2-1-8-partition"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    made = export_dataset(folder, find_terrain(num_pairs=1, map_names=["rooms-2"]), sizes=(8, 20))
    assert len(made.entries) == made.num_wanted == 4
    return folder


@pytest.fixture
def dataset(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "dataset"))


def submit(dataset: Path, who: str, change: Callable[[dict[str, Any]], object] = lambda data: None) -> Path:
    """A submission of the optima, of which one was changed."""
    folder = dataset / "submissions" / who
    shutil.copytree(dataset / "optima", folder)
    data = json.loads((folder / f"{NAME}.json").read_bytes())
    change(data)
    (folder / f"{NAME}.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def reason(dataset: Path, folder: Path) -> str:
    """Why the changed playbook is refused; the others are accepted."""
    ranking = verify_dataset(dataset, [folder])
    (refused,) = ranking.refused
    assert refused.entry.name == NAME
    assert ranking.standings[0].num_accepted == 3
    return refused.reason


def test_the_instances_are_those_of_the_terrain_and_their_optima_are_proved(dataset: Path) -> None:
    found = read_dataset(dataset)
    assert found.is_generated
    terrain = find_terrain(num_pairs=1, map_names=["rooms-2"])
    (at,) = terrain.instances
    for entry in found.entries:
        instance = vr.read_instance(dataset / entry.instance_path)
        assert instance.problem.domain.sha256 == terrain.domains["rooms-2"].sha256
        assert list(instance.problem.candidates)[:8] == list(at.candidates[:8])
        assert instance.problem.trips == (vr.Trip(at.start, at.goal),)
        assert instance.privacy.mechanism == entry.mechanism
        again = vr.solve(instance.problem, instance.privacy)
        assert again.mac == pytest.approx(entry.mac, abs=1e-9)
        assert again.status == entry.status == "optimal"
    assert "generated" in (dataset / "README.md").read_text(encoding="utf-8")
    optimum = vr.read_playbook(dataset / "optima" / "rooms-2-1-20-partition.json")
    assert optimum.certificate is not None
    assert optimum.domain is None


def test_larger_sets_hold_the_smaller_ones() -> None:
    terrain = find_terrain(num_pairs=1, map_names=["rooms-2"])
    (at,), domain = terrain.instances, terrain.domains["rooms-2"]
    sets = [grown_candidates(domain, at, size) for size in (8, 16, 50, 100)]
    assert [len(each) for each in sets] == [8, 16, 50, 100]
    for small, large in itertools.pairwise(sets):
        assert large[: len(small)] == small
    assert len(set(sets[-1])) == 100
    assert not {at.start, at.goal} & set(sets[-1])
    assert len(grown_candidates(domain, at, 10**6)) < domain.num_nodes


def test_an_export_that_was_stopped_goes_on_and_gives_the_same_bytes(exported: Path, tmp_path: Path) -> None:
    terrain, asked = find_terrain(num_pairs=1, map_names=["rooms-2"]), iter(range(10**6))
    stopped = export_dataset(tmp_path / "d", terrain, sizes=(8, 20), should_stop=lambda: next(asked) >= 2)
    assert len(stopped.entries) < stopped.num_wanted
    assert not (tmp_path / "d" / SUMS).exists()
    with pytest.raises(vr.InvalidInputError, match="has not come to its end"):
        read_dataset(tmp_path / "d")
    export_dataset(tmp_path / "d", terrain, sizes=(8, 20))
    names = [path.relative_to(exported) for path in sorted(exported.rglob("*")) if path.is_file()]
    assert len(names) == 4 * 2 + 6
    for name in names:
        assert (tmp_path / "d" / name).read_bytes() == (exported / name).read_bytes()


def test_the_optima_are_accepted_and_first(dataset: Path) -> None:
    ranking = verify_dataset(dataset, [submit(dataset, "same")], with_optima=True)
    assert [(one.submission, one.num_optimal, one.excess) for one in ranking.standings] == [
        ("optima", 4, 0.0),
        ("same", 4, 0.0),
    ]
    assert not ranking.refused
    assert not ranking.contradictions


def test_classes_and_routes_alone_are_enough(dataset: Path) -> None:
    folder = dataset / "submissions" / "plain"
    folder.mkdir(parents=True)
    for path in sorted((dataset / "optima").iterdir()):
        classes = [
            {"members": group["members"], "route": group["routes"][0]["route"], **(
                {"shares": group["shares"]} if "shares" in group else {}
            )}
            for group in json.loads(path.read_bytes())["classes"]
        ]  # fmt: skip
        (folder / path.name).write_text(json.dumps({"classes": classes}), encoding="ascii")
    (standing,) = verify_dataset(dataset, [folder]).standings
    # They carry no proof, and the optima beside which they stand were not audited.
    assert (standing.num_accepted, standing.num_optimal, standing.num_trusted) == (4, 0, 4)
    ranking = verify_dataset(dataset, [folder], with_optima=True)
    assert [(one.num_optimal, one.num_trusted) for one in ranking.standings] == [(4, 0), (4, 0)]
    assert standing.excess == pytest.approx(0, abs=1e-9)


def test_a_suboptimal_playbook_is_ranked_behind(dataset: Path) -> None:
    instance = vr.read_instance(dataset / "instances" / f"{NAME}.json")
    naive = vr.solve(instance.problem, instance.privacy, planner="pbp", partitioner="naive")
    folder, same = submit(dataset, "a-naive"), submit(dataset, "b-optimal")
    naive.write(folder / f"{NAME}.json")
    ranking = verify_dataset(dataset, [folder, same])
    assert [one.submission for one in ranking.standings] == ["b-optimal", "a-naive"]
    last = ranking.standings[-1]
    optimum = next(entry.mac for entry in ranking.entries if entry.name == NAME)
    assert (last.num_accepted, last.num_optimal) == (4, 3)
    assert naive.mac is not None and optimum is not None
    assert last.excess == pytest.approx((naive.mac - optimum) / 4)


def test_a_suboptimal_playbook_that_says_it_is_optimal_is_refused(dataset: Path) -> None:
    instance = vr.read_instance(dataset / "instances" / f"{NAME}.json")
    folder = submit(dataset, "boaster")
    naive = vr.solve(instance.problem, instance.privacy, planner="pbp", partitioner="naive").to_dict()
    (folder / f"{NAME}.json").write_text(json.dumps({**naive, "status": "optimal"}, default=list), encoding="utf-8")
    assert "optimal" in reason(dataset, folder)


def test_a_leaking_playbook_is_refused_and_ranked_last(dataset: Path) -> None:
    def leak(data: dict[str, Any]) -> None:
        """One member gets a class of its own, and is still said to be hidden."""
        group = data["classes"][0]
        data["classes"].append({**group, "members": [group["members"].pop()]})

    folder = submit(dataset, "a-leaking", leak)
    assert "not anonymized in truth" in reason(dataset, folder)
    ranking = verify_dataset(dataset, [folder, submit(dataset, "z-sound")])
    assert [one.submission for one in ranking.standings] == ["z-sound", "a-leaking"]


def test_classes_of_one_are_refused(dataset: Path) -> None:
    """Everybody on the way that is cheapest for them, which tells who they are."""
    problem = vr.read_instance(dataset / "instances" / f"{NAME}.json").problem
    alone = [(label, vr.cover(problem, [label])) for label in problem.candidates]
    classes = [{"members": [label], "route": list(way.walk)} for label, way in alone]
    folder = submit(dataset, "telling")
    (folder / f"{NAME}.json").write_text(json.dumps({"classes": classes}), encoding="ascii")
    assert "nobody shares the route" in reason(dataset, folder)


def test_a_route_that_misses_a_member_is_refused(dataset: Path) -> None:
    def shorten(data: dict[str, Any]) -> None:
        start, goal = data["trips"][0]["start"], data["trips"][0]["goal"]
        data["classes"][0]["routes"][0]["route"] = [start, goal]

    assert reason(dataset, submit(dataset, "jumping", shorten)).startswith("walk: ")


@pytest.mark.parametrize("keep", [0, 1, 400])
def test_a_truncated_file_is_refused(keep: int, dataset: Path) -> None:
    folder = submit(dataset, "truncated")
    path = folder / f"{NAME}.json"
    path.write_bytes(path.read_bytes()[:keep])
    assert reason(dataset, folder).startswith("line 1: not valid JSON" if keep else "the file is empty")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"classes": 3}, "classes"),
        ([], "neither a playbook nor"),
        ({"classes": [{"members": [[0, 0]]}]}, "members and route"),
        ({"classes": [{"members": [[999, 0]], "route": []}]}, "route"),
        ({"classes": [{"members": [{}], "route": []}]}, "expected"),
        ({"format": "veilroute-playbook/9"}, "veilroute-playbook/9"),
    ],
)
def test_answers_that_are_none_are_refused(answer: object, word: str, dataset: Path) -> None:
    folder = submit(dataset, "strange")
    (folder / f"{NAME}.json").write_text(json.dumps(answer), encoding="ascii")
    assert word in reason(dataset, folder)


def test_a_playbook_for_something_else_is_refused(dataset: Path) -> None:
    folder = submit(dataset, "other")
    shutil.copy(dataset / "optima" / "rooms-2-1-20-partition.json", folder / f"{NAME}.json")
    assert reason(dataset, folder).startswith("instance: ")


def test_nobody_comes_first_by_stating_less_than_it_costs(dataset: Path) -> None:
    """Within what the auditor allows for rounding."""

    def restate(data: dict[str, Any]) -> None:
        data["status"] = "feasible"
        data["claims"]["mac"] *= 1 - 5e-10
        data["claims"]["mac_lower_bound"] = data["claims"]["gap"] = None
        data.pop("certificate", None)

    cheat, honest = submit(dataset, "z-cheat", restate), submit(dataset, "a-honest")
    ranking = verify_dataset(dataset, [cheat, honest])
    assert not ranking.refused
    assert [(one.submission, one.excess) for one in ranking.standings] == [("a-honest", 0.0), ("z-cheat", 0.0)]


def test_after_a_stop_all_are_compared_on_the_same_instances(dataset: Path) -> None:
    folders, asked = [submit(dataset, "a"), submit(dataset, "b")], iter(range(10**6))
    ranking = verify_dataset(dataset, folders, should_stop=lambda: next(asked) >= 3)
    assert not ranking.is_complete
    assert [len(one.judgements) for one in ranking.standings] == [1, 1]


def test_a_data_set_of_nothing_is_none(dataset: Path) -> None:
    rewrite(dataset, INDEX, json.loads((dataset / INDEX).read_bytes()) | {"entries": []})
    with pytest.raises(FileFormatError, match="damaged"):
        read_dataset(dataset)


def test_missing_playbooks_count_and_rank_behind(dataset: Path) -> None:
    folder = submit(dataset, "a-lazy")
    (folder / f"{NAME}.json").unlink()
    ranking = verify_dataset(dataset, [folder, submit(dataset, "b-whole")])
    assert [(one.submission, one.num_missing) for one in ranking.standings] == [("b-whole", 0), ("a-lazy", 1)]
    assert not ranking.refused


def rewrite(dataset: Path, name: str, data: object) -> None:
    """Edit a file of the data set as somebody who wants to cheat: with a new checksum."""
    path, raw = dataset / name, data if isinstance(data, bytes) else json.dumps(data, default=list).encode()
    old, new = (hashlib.sha256(each).hexdigest() for each in (path.read_bytes(), raw))
    path.write_bytes(raw)
    sums = (dataset / SUMS).read_text(encoding="ascii")
    assert old in sums
    (dataset / SUMS).write_text(sums.replace(old, new), encoding="ascii")


def test_a_forged_optimum_is_refused_and_contradicted(dataset: Path) -> None:
    """Random groups are said to be optimal, in the playbook and in the index alike."""
    instance = vr.read_instance(dataset / "instances" / f"{NAME}.json")
    naive = vr.solve(instance.problem, instance.privacy, planner="pbp", partitioner="naive")
    true = submit(dataset, "true")
    forged = {**naive.to_dict(embed_domain=False), "status": "optimal"}
    rewrite(dataset, f"optima/{NAME}.json", forged)
    index = json.loads((dataset / INDEX).read_bytes())
    index["entries"][0]["mac"] = naive.mac
    index["entries"][0]["mac_lower_bound"] = forged["claims"]["mac_lower_bound"]
    rewrite(dataset, INDEX, index)
    (better,) = verify_dataset(dataset, [true]).contradictions
    assert (better.submission, better.entry.name) == ("true", NAME)
    ranking = verify_dataset(dataset, [], with_optima=True)
    assert [each.entry.name for each in ranking.refused] == [NAME]


def test_nobody_hidden_is_no_optimum(dataset: Path) -> None:
    """For large instances the auditor takes a planner's word for it that nobody can be hidden; here it cannot be."""
    name = "rooms-2-1-20-partition"
    instance = vr.read_instance(dataset / "instances" / f"{name}.json")
    empty = vr.playbook_from_classes(instance.problem, instance.privacy, [])
    rewrite(dataset, f"optima/{name}.json", {**empty.to_dict(embed_domain=False), "status": "infeasible"})
    index = json.loads((dataset / INDEX).read_bytes())
    (entry,) = (entry for entry in index["entries"] if entry["name"] == name)
    entry |= {"status": "infeasible", "num_anonymized": 0, "mac": None, "mac_lower_bound": None}
    rewrite(dataset, INDEX, index)
    with pytest.raises(FileFormatError, match="damaged"):
        read_dataset(dataset)


def test_what_is_not_proved_is_not_called_optimal(tmp_path: Path) -> None:
    terrain = find_terrain(num_pairs=1, map_names=["rooms-2"])
    made = export_dataset(tmp_path, terrain, sizes=(8, 200), time_limit_s=0.001)
    num_proved = sum(entry.status == "optimal" for entry in made.entries)
    assert num_proved < len(made.entries)
    ranking = verify_dataset(tmp_path, [], with_optima=True)
    assert ranking.standings[0].num_optimal == num_proved
    table = ranking.to_table()
    assert table.rows[0][table.columns.index("optimal")] == f"{num_proved} of {num_proved}"
    assert any("no optimum is proved" in note for note in table.notes)


@pytest.mark.parametrize(
    ("field", "value"),
    [("mac", 9.0), ("status", "feasible"), ("num_anonymized", 2), ("pair", 2), ("num_candidates", 9), ("pair", True)],
)
def test_an_index_that_was_edited_is_refused(field: str, value: object, dataset: Path) -> None:
    index = json.loads((dataset / INDEX).read_bytes())
    index["entries"][0][field] = value
    rewrite(dataset, INDEX, index)
    with pytest.raises(FileFormatError, match="not the optimum|damaged"):
        read_dataset(dataset)


def test_the_same_instance_does_not_count_twice(dataset: Path) -> None:
    index = json.loads((dataset / INDEX).read_bytes())
    index["entries"].append(index["entries"][0])
    rewrite(dataset, INDEX, index)
    with pytest.raises(FileFormatError, match="damaged"):
        read_dataset(dataset)


def test_generated_maps_cannot_pass_for_the_papers(dataset: Path) -> None:
    index = json.loads((dataset / INDEX).read_bytes())
    rewrite(dataset, INDEX, index | {"is_generated": False})
    assert read_dataset(dataset).is_generated


@pytest.mark.parametrize("change", [{"privacy": {"k": 1}}, {"candidates": [[1, 1], [1, 2]]}, {"trips": []}])
def test_an_instance_that_was_made_easier_is_refused(change: dict[str, Any], dataset: Path) -> None:
    name = f"instances/{NAME}.json"
    rewrite(dataset, name, json.loads((dataset / name).read_bytes()) | change)
    with pytest.raises(FileFormatError, match="not the instance"):
        read_dataset(dataset)


def test_a_map_with_an_opened_wall_is_refused(dataset: Path) -> None:
    name = "maps/rooms-2.map"
    rows = (dataset / name).read_bytes().split(b"\n")
    rows[8] = rows[8].replace(b"@", b".")
    rewrite(dataset, name, b"\n".join(rows))
    with pytest.raises(FileFormatError, match="not the map of that name"):
        read_dataset(dataset)


@pytest.mark.parametrize("name", ["instances/" + NAME + ".json", "maps/rooms-2.map", INDEX, "README.md"])
def test_a_file_that_was_changed_or_lost_is_noticed(name: str, dataset: Path) -> None:
    path = dataset / name
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(FileFormatError, match="not what it was"):
        read_dataset(dataset)
    path.unlink()
    with pytest.raises(FileFormatError, match="missing from the data set"):
        read_dataset(dataset)


def test_checksums_name_nothing_outside(dataset: Path) -> None:
    with (dataset / SUMS).open("a", encoding="ascii") as file:
        file.write("0" * 64 + "  ../secret\n")
    with pytest.raises(FileFormatError, match="within the data set"):
        read_dataset(dataset)
