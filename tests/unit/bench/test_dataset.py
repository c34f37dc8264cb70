"""The data set: what is exported, and what becomes of playbooks that are handed in."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute import FileFormatError
from veilroute.bench import (
    INDEX,
    METADATA,
    SUMS,
    TEXTS,
    VERSION,
    Entry,
    export_dataset,
    find_terrain,
    grown_candidates,
    name_of,
    pack_archive,
    read_dataset,
    read_paper_instances,
    verify_dataset,
    version_of,
)

NAME = "rooms-2-1-8-partition"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / "dataset"
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


@pytest.fixture
def archive(exported: Path, tmp_path: Path) -> Path:
    (made,) = exported.parent.glob("*.zip")
    return Path(shutil.copy(made, tmp_path))


def test_the_version_is_raised_when_instances_change(exported: Path) -> None:
    """If this fails, instances or their format are not what they were: raise the version by its rule, then the hash."""
    texts = [path.read_bytes() for path in sorted((exported / "instances").iterdir())]
    found = hashlib.sha256(b"".join(texts)).hexdigest()
    assert (VERSION, found) == ("1.0.0", "38b3fa29fc8b8e2cd489594de2ebe8a6b7d8cce4cd4b6665daf55ac5d5a94dd6")


def whole() -> list[Entry]:
    """The entries that the data set itself has, with made-up figures."""
    places = itertools.product(read_paper_instances(), (8, 12, 16, 50, 100, 200), ("partition", "randomised"))
    rest = ("optimal", 8, 8, 0.5, 0.5)
    return [Entry(name_of(at.map_name, at.seed, n, how), at.map_name, at.seed, n, how, *rest) for at, n, how in places]


def test_only_the_whole_data_set_has_the_bare_version() -> None:
    entries = whole()
    assert len(entries) == 360
    assert version_of(entries) == VERSION
    unproved = dataclasses.replace(entries[0], status="feasible")
    more = dataclasses.replace(entries[0], name=name_of("den101d", 1, 20, "partition"), num_candidates=20)
    unproved_more = dataclasses.replace(more, status="feasible")
    changed = [entries[1:], [unproved, *entries[1:]], [more, *entries], [unproved_more, *entries], [more, *entries[1:]]]
    for other in changed:
        assert version_of(other) == f"{VERSION}+custom"
    assert version_of([dataclasses.replace(entries[0], map="rooms-1"), *entries]) == f"{VERSION}+generated"


@pytest.mark.parametrize(
    ("version", "word"),
    [("2.0.0", "this veilroute reads"), (None, "this veilroute reads"), (VERSION, "with its entries it is")],
)
def test_a_data_set_of_another_version_is_refused(version: object, word: str, dataset: Path) -> None:
    index = json.loads((dataset / INDEX).read_bytes())
    assert index["version"] == f"{VERSION}+generated"
    rewrite(dataset, INDEX, index | {"version": version})
    with pytest.raises(FileFormatError, match=word):
        read_dataset(dataset)


def test_the_texts_give_the_figures_of_the_export(exported: Path) -> None:
    version = f"{VERSION}+generated"
    for name in TEXTS:
        text = (exported / name).read_text(encoding="utf-8")
        assert version in text
        assert "4 instances" in text
        assert not re.search(r"\$[a-z]", text), "a template that was not filled in"
    sheet = (exported / "DATASHEET.md").read_text(encoding="utf-8")
    index = json.loads((exported / INDEX).read_bytes())
    for entry in index["entries"]:
        hidden = 100 * entry["num_anonymized"] / entry["num_candidates"]
        shown = f"| {entry['num_candidates']} | {entry['mechanism']} | 1 | {hidden:.0f} | {entry['mac']:#.3g} |"
        assert shown in sheet
    cells = read_dataset(exported).asked[NAME][0].domain.num_nodes
    assert f"| rooms-2 | {cells} | 1 |" in sheet
    assert "The auditor proved 4 of 4 optima" in sheet
    about = json.loads((exported / METADATA).read_bytes())
    assert {"title", "upload_type", "description", "creators", "license", "version"} <= set(about)
    assert (about["upload_type"], about["version"]) == ("dataset", version)
    assert "generated" in about["notes"]
    assert about["related_identifiers"] == []  # the benchmark is not where these maps are from


def test_an_archive_has_the_same_bytes_everywhere(exported: Path, archive: Path) -> None:
    packed = pack_archive({"b/c.json": b"{}\n", "a.txt": b"one\n"}, "set-1.0.0")
    assert hashlib.sha256(packed).hexdigest() == "e8692fdea6872830989160c549ec4ec21dee48703126f519be0d673f6773b734"
    assert archive.name == f"dataset-{VERSION}+generated.zip"
    names = [line.partition("  ")[2] for line in (exported / SUMS).read_text(encoding="ascii").splitlines()]
    files = {name: (exported / name).read_bytes() for name in [*names, SUMS]}
    assert archive.read_bytes() == pack_archive(files, f"transit-data-{VERSION}+generated")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert (exported.parent / f"{archive.name}.sha256").read_text() == f"{digest}  {archive.name}\n"


def test_an_archive_is_as_good_as_the_folder(exported: Path, archive: Path) -> None:
    packed, unpacked = read_dataset(archive), read_dataset(exported)
    assert (packed.entries, packed.files, packed.sha256) == (unpacked.entries, unpacked.files, unpacked.sha256)
    ranking = verify_dataset(archive, [], with_optima=True)
    assert ranking.standings[0].num_optimal == 4


def packed_by_others(archive: Path, change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], object]) -> None:
    """Write an archive again with other entries, in the order that it has."""
    with zipfile.ZipFile(archive) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    change(entries)
    data = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, zipfile.ZipFile(data, "w") as new:
        patch.setattr("warnings.warn", lambda *_args, **_options: None)  # of a name that is there twice
        for info, raw in entries:
            new.writestr(info, raw)
    archive.write_bytes(data.getvalue())


def renamed(entries: list[tuple[zipfile.ZipInfo, bytes]], name: str, raw: bytes | None = None, mode: int = 0) -> None:
    """Add an entry that is like the first one."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (mode or 0o100644) << 16
    entries.append((info, entries[0][1] if raw is None else raw))


def compressed(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    for info, _ in entries:
        info.compress_type = zipfile.ZIP_DEFLATED


ROOT = f"transit-data-{VERSION}+generated"


@pytest.mark.parametrize(
    "change",
    [
        compressed,
        lambda entries: renamed(entries, f"{ROOT}/../outside.json"),
        lambda entries: renamed(entries, "/outside.json"),
        lambda entries: renamed(entries, f"{ROOT}/README.md", b"twice"),
        lambda entries: renamed(entries, f"{ROOT}/zzz", b"/etc/hostname", 0o120777),
        lambda entries: entries.reverse(),
        lambda entries: entries.clear(),
        lambda entries: renamed(entries, f"{ROOT}/zzz", b"no checksum"),
    ],
    ids=["compressed", "slip", "absolute", "twice", "link", "order", "empty", "extra"],
)
def test_an_archive_that_others_packed_is_refused(
    change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], object], archive: Path
) -> None:
    packed_by_others(archive, change)
    with pytest.raises(vr.InvalidInputError, match=r"byte by byte|no checksum|not there|slip|\.\."):
        read_dataset(archive)


def test_what_an_archive_would_grow_to_is_never_read(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred entries that are one and the same large file, and a compressed one, whatever size it says it has."""
    raw = b"0" * 100_000
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w") as new:
        new.writestr("set/0", raw)
        (first,) = new.infolist()
        for number in range(1, 100):
            again = zipfile.ZipInfo(f"set/{number}")
            again.header_offset, again.file_size, again.compress_size, again.CRC = (
                first.header_offset, first.file_size, first.compress_size, first.CRC
            )  # fmt: skip
            new.filelist.append(again)
        vars(new)["_didModify"] = True
    assert len(zipfile.ZipFile(io.BytesIO(bomb.getvalue())).infolist()) == 100
    squeezed = io.BytesIO()
    with zipfile.ZipFile(squeezed, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("set/0", b"small")

    def read(*_: object) -> bytes:
        raise AssertionError("read an entry")

    monkeypatch.setattr(zipfile.ZipFile, "read", read)
    for damage in (bomb.getvalue(), squeezed.getvalue(), archive.read_bytes()[:-30], b"", b"PK"):
        archive.write_bytes(damage)
        with pytest.raises(FileFormatError, match="byte by byte"):
            read_dataset(archive)


def test_bytes_around_an_archive_are_refused(archive: Path) -> None:
    raw = archive.read_bytes()
    for damage in (b"#!/bin/sh\n" + raw, raw + b"more"):
        archive.write_bytes(damage)
        with pytest.raises(FileFormatError, match="byte by byte"):
            read_dataset(archive)


def test_equal_submissions_share_a_rank(dataset: Path) -> None:
    submissions = [submit(dataset, "b"), submit(dataset, "a"), submit(dataset, "lazy")]
    (submissions[2] / f"{NAME}.json").unlink()
    table = verify_dataset(dataset, submissions).to_table()
    assert [row[:2] for row in table.rows] == [(1, "a"), (1, "b"), (3, "lazy")]


def test_a_part_of_the_ranking_goes_by_its_own_instances(dataset: Path) -> None:
    """One submission is better with few candidates, the other with many."""
    few, many = submit(dataset, "few"), submit(dataset, "many")
    for folder, size in ((few, 20), (many, 8)):
        (folder / f"rooms-2-1-{size}-partition.json").unlink()
    ranking = verify_dataset(dataset, [few, many])
    for size, first in ((8, "few"), (20, "many")):
        part = ranking.part("num_candidates", size)
        assert [one.submission for one in part.standings] == [first, {"few": "many", "many": "few"}[first]]
        assert [one.num_missing for one in part.standings] == [0, 1]
        assert len(part.entries) == 2
        assert {entry.name for entry in part.entries} >= part.checked
    assert ranking.part("mechanism", "partition").standings[0].num_missing == 1


NASTY = "<script>alert(1)<b onload='x'>&amp; \u202egnp\u2066 \x1b[31m \u05d0\u05d1"


def test_the_page_shows_names_and_reasons_as_text(dataset: Path, tmp_path: Path) -> None:
    honest, naughty = submit(dataset, "honest"), submit(dataset, NASTY + "x" * 120)
    for path in naughty.iterdir():
        data = json.loads(path.read_bytes())
        path.write_text(json.dumps(data | {"format": "veilroute-playbook/<img src=x onerror=alert(1)>"}))
    ranking = verify_dataset(dataset, [honest, naughty], with_optima=True)
    page = ranking.to_html()
    assert not re.search(r"<(script|img|b|iframe|link|object)\b", page)
    assert "&lt;script&gt;alert(1)" in page
    assert not set("\u202e\u2066\x1b") & set(page)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|url\(|@import|https?:""", page)
    assert str(tmp_path) not in page, "a place on this machine"
    shown = [one.submission for one in ranking.standings]
    assert shown[:2] == ["honest", "optima"]
    assert max(map(len, shown)) <= 60
    assert page.count("&lt;img src=x") == len(ranking.refused) == 4
    assert ranking.dataset.sha256 in page
    assert f"transit-data {VERSION}+generated" in page
    # The same submissions give the same page, in whatever order they come and wherever they are.
    moved = Path(shutil.copytree(dataset, tmp_path / "elsewhere"))
    folders = [moved / "submissions" / folder.name for folder in (naughty, honest)]
    assert verify_dataset(moved, folders, with_optima=True).to_html() == page


def test_the_page_says_which_optima_were_proved(dataset: Path) -> None:
    """One of the two submissions hands in classes without a proof for three of four instances."""
    folder = submit(dataset, "partly")
    for path in sorted(folder.iterdir())[1:]:
        groups = [
            {"members": group["members"], "route": group["routes"][0]["route"]}
            | ({"shares": group["shares"]} if group.get("shares") else {})
            for group in json.loads(path.read_bytes())["classes"]
        ]
        path.write_text(json.dumps({"classes": groups}), encoding="utf-8")
    ranking = verify_dataset(dataset, [folder])
    assert len(ranking.checked) == 1
    _, _, optima = ranking.to_html().partition('id="proofs"')
    rows = re.findall(r"<tr>(<td.*?)</tr>", optima)
    assert [re.findall(r">([^<>]+)</td>", row)[2:] for row in rows].count(["1", "1", "1"]) == 1
    assert [re.findall(r">([^<>]+)</td>", row)[2:] for row in rows].count(["1", "1", "0"]) == 3


def test_a_page_names_a_few_of_many_refusals(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veilroute.bench.leaderboard._MOST_REFUSED", 3)
    folder = submit(dataset, "broken")
    for path in folder.iterdir():
        path.write_text("{}", encoding="utf-8")
    page = verify_dataset(dataset, [folder]).to_html()
    assert page.count("neither a playbook nor an object with classes") == 3
    assert "1 more" in page
