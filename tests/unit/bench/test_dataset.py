"""The data set: what is exported, how forgeries of it are refused, and what becomes of playbooks that are handed in."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from changed_values import mutate
from veilroute import FileFormatError, bench

NAME, LARGE = "rooms-2-1-8-partition", "rooms-2-1-20-partition"
CUSTOM = f"{bench.VERSION}+generated"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / "dataset"
    made = bench.export_dataset(folder, bench.find_terrain(num_pairs=1, map_names=["rooms-2"]), sizes=(20, 8, 20))
    assert len(made.entries) == made.num_wanted == made.num_proved == 4
    return folder


@pytest.fixture
def dataset(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "dataset"))


@pytest.fixture
def archive(exported: Path, tmp_path: Path) -> Path:
    (made,) = exported.parent.glob("*.zip")
    return Path(shutil.copy(made, tmp_path))


def asked(dataset: Path, name: str = NAME) -> vr.Instance:
    return vr.read_instance(dataset / "instances" / f"{name}.json")


def naive_plan(dataset: Path) -> vr.Playbook:
    """A plan that is no optimum."""
    instance = asked(dataset)
    return vr.solve(instance.problem, instance.privacy, planner="pbp", partitioner="naive")


def submit(dataset: Path, who: str, answer: object = None) -> Path:
    """A submission of the optima, one of which is another answer: bytes or plain data; ``...`` for none."""
    folder = dataset / "submissions" / who
    shutil.copytree(dataset / "optima", folder)
    path = folder / f"{NAME}.json"
    if answer is ...:
        path.unlink()
    elif answer is not None:
        path.write_bytes(answer if isinstance(answer, bytes) else json.dumps(answer, default=list).encode())
    return folder


def optimum(dataset: Path, name: str = NAME) -> Any:
    return json.loads((dataset / "optima" / f"{name}.json").read_bytes())


def only_classes(data: dict[str, Any]) -> dict[str, Any]:
    """What of a playbook says where to go."""
    return {
        "classes": [
            {"members": group["members"], "route": group["routes"][0]["route"]}
            | ({"shares": group["shares"]} if group.get("shares") else {})
            for group in data["classes"]
        ]
    }


def rewrite(dataset: Path, name: str, data: object) -> None:
    """Edit a file of the data set as somebody who wants to cheat: with a new checksum."""
    path, raw = dataset / name, data if isinstance(data, bytes) else json.dumps(data, default=list).encode()
    old, new = (hashlib.sha256(each).hexdigest() for each in (path.read_bytes(), raw))
    path.write_bytes(raw)
    sums = (dataset / bench.SUMS).read_text(encoding="ascii")
    assert old in sums
    (dataset / bench.SUMS).write_text(sums.replace(old, new), encoding="ascii")


# -- what is exported


def test_the_instances_are_those_of_the_terrain_and_their_optima_are_proved(dataset: Path) -> None:
    found = bench.read_dataset(dataset)
    assert found.is_generated and [entry.num_candidates for entry in found.entries] == [8, 8, 20, 20]
    terrain = bench.find_terrain(num_pairs=1, map_names=["rooms-2"])
    (at,) = terrain.instances
    for entry in found.entries:
        instance = asked(dataset, entry.name)
        assert list(instance.problem.candidates)[:8] == list(at.candidates[:8])
        again = vr.solve(instance.problem, instance.privacy)
        assert again.mac == pytest.approx(entry.mac, abs=1e-9)
        assert again.status == entry.status == "optimal"
    texts = [path.read_bytes() for path in sorted((dataset / "instances").iterdir())]
    # If this fails, instances or their format are not what they were: raise the version by its rule, then the hash.
    digest = "38b3fa29fc8b8e2cd489594de2ebe8a6b7d8cce4cd4b6665daf55ac5d5a94dd6"
    assert (bench.VERSION, hashlib.sha256(b"".join(texts)).hexdigest()) == ("1.0.0", digest)


def test_an_export_that_was_stopped_goes_on_and_gives_the_same_bytes(exported: Path, tmp_path: Path) -> None:
    terrain, looks = bench.find_terrain(num_pairs=1, map_names=["rooms-2"]), iter(range(10**6))
    stopped = bench.export_dataset(tmp_path / "d", terrain, sizes=(8, 20), should_stop=lambda: next(looks) >= 2)
    assert len(stopped.entries) < stopped.num_wanted
    assert not (tmp_path / "d" / bench.SUMS).exists()
    with pytest.raises(vr.InvalidInputError, match="has not come to its end"):
        bench.read_dataset(tmp_path / "d")
    # What stands in the place of an optimum is taken only if it is proved to be one.
    (tmp_path / "d" / "optima").mkdir(exist_ok=True)
    naive_plan(exported).write(tmp_path / "d" / "optima" / f"{NAME}.json", embed_domain=False)
    (tmp_path / "d" / "optima" / f"{LARGE}.json").write_bytes(b"{")
    bench.export_dataset(tmp_path / "d", terrain, sizes=(8, 20))
    names = [path.relative_to(exported) for path in sorted(exported.rglob("*")) if path.is_file()]
    assert len(names) == 4 * 2 + 6
    for name in names:
        assert (tmp_path / "d" / name).read_bytes() == (exported / name).read_bytes()


# -- archives


def test_what_is_not_proved_is_not_called_optimal(tmp_path: Path) -> None:
    terrain = bench.find_terrain(num_pairs=1, map_names=["rooms-2"])
    made = bench.export_dataset(tmp_path, terrain, sizes=(8, 200), time_limit_s=0.001)
    num_proved = sum(entry.status == "optimal" for entry in made.entries)
    assert num_proved < len(made.entries)
    assert bench.verify_dataset(tmp_path, [], with_optima=True).standings[0].num_optimal == num_proved


def test_an_archive_has_the_same_bytes_everywhere_and_is_as_good_as_the_folder(exported: Path, archive: Path) -> None:
    packed = bench.pack_archive({"b/c.json": b"{}\n", "a.txt": b"one\n"}, "set-1.0.0")
    assert hashlib.sha256(packed).hexdigest() == "e8692fdea6872830989160c549ec4ec21dee48703126f519be0d673f6773b734"
    names = [line.partition("  ")[2] for line in (exported / bench.SUMS).read_text(encoding="ascii").splitlines()]
    files = {name: (exported / name).read_bytes() for name in [*names, bench.SUMS]}
    raw = archive.read_bytes()
    assert archive.name == f"dataset-{CUSTOM}.zip" and raw == bench.pack_archive(files, f"transit-data-{CUSTOM}")
    digest = hashlib.sha256(raw).hexdigest()
    assert (exported.parent / f"{archive.name}.sha256").read_text() == f"{digest}  {archive.name}\n"
    one, other = bench.read_dataset(archive), bench.read_dataset(exported)
    assert (one.entries, one.files, one.sha256) == (other.entries, other.files, other.sha256)
    assert bench.verify_dataset(archive, [], with_optima=True).standings[0].num_optimal == 4
    for damage in (b"#!/bin/sh\n" + raw, raw + b"more", raw[:-1], b""):
        archive.write_bytes(damage)
        with pytest.raises(FileFormatError, match="byte by byte"):
            bench.read_dataset(archive)


@pytest.mark.parametrize("how", ["../outside.json", "README.md", "zzz", "link"])
def test_an_archive_that_others_packed_is_refused(how: str, archive: Path) -> None:
    """With another file: outside, twice, extra and a link."""
    with zipfile.ZipFile(archive) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    info = zipfile.ZipInfo(f"transit-data-{CUSTOM}/{how}")
    info.create_system, info.external_attr = 3, (0o120777 if how == "link" else 0o100644) << 16
    entries.append((info, b"/etc/hostname"))
    with warnings.catch_warnings(), zipfile.ZipFile(archive, "w") as new:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for info, raw in entries:
            new.writestr(info, raw)
    with pytest.raises(vr.InvalidInputError, match="byte by byte|no checksum|not there"):
        bench.read_dataset(archive)


def test_what_an_archive_would_grow_to_is_never_read(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred entries that are one and the same large file."""
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w") as new:
        new.writestr("set/0", b"0" * 100_000)
        (first,) = new.infolist()
        for number in range(1, 100):
            again = zipfile.ZipInfo(f"set/{number}")
            for name in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(again, name, getattr(first, name))
            new.filelist.append(again)

    def read(*_: object) -> bytes:
        raise AssertionError("read an entry")

    monkeypatch.setattr(zipfile.ZipFile, "read", read)
    archive.write_bytes(bomb.getvalue())
    with pytest.raises(FileFormatError, match="byte by byte"):
        bench.read_dataset(archive)


# -- forgeries


def in_index(**changes: object) -> Callable[[Path], None]:
    """Edit the index; with ``entry_`` before a name, its first entry."""

    def change(dataset: Path) -> None:
        index = json.loads((dataset / bench.INDEX).read_bytes())
        for name, value in changes.items():
            holder = index["entries"][0] if name.startswith("entry_") else index
            holder[name.removeprefix("entry_")] = value
        rewrite(dataset, bench.INDEX, index)

    return change


def twice(dataset: Path) -> None:
    entries = json.loads((dataset / bench.INDEX).read_bytes())["entries"]
    in_index(entries=[*entries, entries[0]])(dataset)


def easier(**change: object) -> Callable[[Path], None]:
    name = f"instances/{NAME}.json"
    return lambda dataset: rewrite(dataset, name, json.loads((dataset / name).read_bytes()) | change)


def open_wall(dataset: Path) -> None:
    rows = (dataset / "maps/rooms-2.map").read_bytes().split(b"\n")
    rows[8] = rows[8].replace(b"@", b".")
    rewrite(dataset, "maps/rooms-2.map", b"\n".join(rows))


def nobody_hidden(dataset: Path) -> None:
    """For large instances the auditor takes a planner's word for it that nobody can be hidden; here it cannot be."""
    instance = asked(dataset, LARGE)
    empty = vr.playbook_from_classes(instance.problem, instance.privacy, [])
    rewrite(dataset, f"optima/{LARGE}.json", {**empty.to_dict(embed_domain=False), "status": "infeasible"})
    entries = json.loads((dataset / bench.INDEX).read_bytes())["entries"]
    (entry,) = (entry for entry in entries if entry["name"] == LARGE)
    entry |= {"status": "infeasible", "num_anonymized": 0, "mac": None, "mac_lower_bound": None}
    in_index(entries=entries)(dataset)


def list_more(line: str) -> Callable[[Path], object]:
    return lambda dataset: (dataset / bench.SUMS).write_text((dataset / bench.SUMS).read_text() + line)


def add_byte(name: str) -> Callable[[Path], object]:
    return lambda dataset: (dataset / name).write_bytes((dataset / name).read_bytes() + b"\n")


FILES = (f"instances/{NAME}.json", "maps/rooms-2.map", bench.INDEX, "README.md")


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (in_index(entry_mac=9.0), "not the optimum"),
        (in_index(entry_status="feasible"), "not the optimum"),
        *((in_index(**{f"entry_{name}": value}), "damaged") for name, value in (
            ("pair", 2), ("pair", True), ("num_candidates", 9), ("map", "rooms-9"), ("name", "x")
        )),
        (in_index(entries=[]), "damaged"),
        (in_index(format="veilroute-dataset/2"), "not a data set"),
        (twice, "damaged"),
        (nobody_hidden, "damaged"),
        (easier(privacy={"k": 1}), "not the instance"),
        (easier(candidates=[[1, 1], [1, 2]]), "not the instance"),
        (open_wall, "not the map of that name"),
        (in_index(version="2.0.0"), "this veilroute reads"),
        (in_index(version=bench.VERSION), "with its entries it is"),
        *((add_byte(name), "not what it was") for name in FILES),
        *((lambda dataset, name=name: (dataset / name).unlink(), "missing from the data set") for name in FILES),
        *((list_more("0" * 64 + f"  {name}\n"), "within the data set") for name in ("../secret", "/secret")),
    ],
)  # fmt: skip
def test_a_forged_data_set_is_refused(forge: Callable[[Path], object], words: str, dataset: Path) -> None:
    forge(dataset)
    with pytest.raises(FileFormatError, match=words):
        bench.read_dataset(dataset)


def test_a_forged_optimum_is_refused_and_contradicted(dataset: Path) -> None:
    """Random groups are said to be optimal, in the playbook and in the index alike."""
    true = submit(dataset, "true")
    forged = {**naive_plan(dataset).to_dict(embed_domain=False), "status": "optimal"}
    rewrite(dataset, f"optima/{NAME}.json", forged)
    in_index(entry_mac=forged["claims"]["mac"], entry_mac_lower_bound=forged["claims"]["mac_lower_bound"])(dataset)
    in_index(is_generated=False)(dataset)
    ranking = bench.verify_dataset(dataset, [true])
    assert [(each.submission, each.entry.name) for each in ranking.contradictions] == [("true", NAME)]
    assert ranking.dataset.is_generated, "generated maps cannot pass for the paper's"
    assert [each.entry.name for each in bench.verify_dataset(dataset, [], with_optima=True).refused] == [NAME]


# -- forgeries at random

FIGURES = ("num_coverable", "num_anonymized", "mac", "mac_lower_bound")


def forge_at_random(dataset: Path, rng: Random) -> None:
    """Change an optimum; the index tells of it what it says, and all checksums are right again."""
    entry = rng.choice(bench.read_dataset(dataset).entries)
    data = optimum(dataset, entry.name)
    # One value in ten is one of the few that figures stand in: members and routes are most of a file.
    mutate(rng, data["claims"] if rng.random() < 0.3 else data, [*range(4), [1, 2], "a", "optimal"])
    rewrite(dataset, entry.optimum_path, data)
    index = json.loads((dataset / bench.INDEX).read_bytes())
    (told,) = (each for each in index["entries"] if each["name"] == entry.name)
    claims = data.get("claims")
    told |= {name: claims.get(name) for name in FIGURES} if isinstance(claims, dict) else {}
    told["status"] = data.get("status")
    if rng.random() < 0.7:
        rewrite(dataset, bench.INDEX, index)


@pytest.mark.parametrize("num", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_no_forged_data_set_has_a_false_optimum(exported: Path, tmp_path: Path, num: int) -> None:
    rng = Random("forged data sets")
    honest = {entry.name: entry for entry in bench.read_dataset(exported).entries}
    came: Counter[str] = Counter()
    while came.total() < num:
        folder = tmp_path / f"forged-{came.total()}"
        shutil.copytree(exported, folder)
        forge_at_random(folder, rng)
        try:
            ranking = bench.verify_dataset(folder, [], with_optima=True)
        except vr.VeilrouteError:
            came["unreadable"] += 1
            continue
        finally:
            shutil.rmtree(folder)
        (standing,) = ranking.standings
        for judged in standing.judgements:
            true = honest[judged.entry.name]
            if judged.is_optimal or judged.entry.name in ranking.checked:
                assert judged.num_anonymized == true.num_anonymized
                assert judged.mac == pytest.approx(true.mac, abs=1e-9), judged
                assert judged.entry.mac == pytest.approx(true.mac, abs=1e-9), judged
                assert judged.entry.num_anonymized == true.num_anonymized
        came["an optimum refused or on trust" if standing.num_optimal < len(honest) else "all optima true"] += 1
    print(f"{came.total()} forged data sets: {dict(came)}, 0 false optima")
    assert came["an optimum refused or on trust"] > num / 20
    assert came["unreadable"] < num * 0.9


# -- what is handed in


def leak(dataset: Path) -> object:
    """One member gets a class of its own, and is still said to be hidden."""
    data = optimum(dataset)
    group = data["classes"][0]
    data["classes"].append({**group, "members": [group["members"].pop()]})
    return data


def tell(dataset: Path) -> object:
    """Everybody on the way that is cheapest for them, which tells who they are."""
    problem = asked(dataset).problem
    ways = [(label, vr.cover(problem, [label]).walk) for label in problem.candidates]
    return {"classes": [{"members": [label], "route": list(walk)} for label, walk in ways]}


def jump(dataset: Path) -> object:
    data = optimum(dataset)
    data["classes"][0]["routes"][0]["route"] = [data["trips"][0]["start"], data["trips"][0]["goal"]]
    return data


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (leak, "not anonymized in truth"),
        (tell, "nobody shares the route"),
        (jump, "^walk: "),
        (lambda dataset: {**naive_plan(dataset).to_dict(), "status": "optimal"}, "optimal"),
        (lambda dataset: optimum(dataset, LARGE), "^instance: "),
        (lambda dataset: json.dumps(optimum(dataset)).encode()[:400], "^line 1: not valid JSON"),
        *((lambda dataset, data=data: data, words) for data, words in (
            ([], "neither a playbook nor"),
            ({"classes": 3}, "classes"),
            ({"classes": [{"members": [[0, 0]]}]}, "members and route"),
            ({"classes": [{"members": [{}], "route": []}]}, "expected"),
            ({"format": "veilroute-playbook/9"}, "veilroute-playbook/9"),
        )),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_refused(answer: Callable[[Path], object], words: str, dataset: Path) -> None:
    ranking = bench.verify_dataset(dataset, [submit(dataset, "a", answer(dataset)), submit(dataset, "z")])
    (refused,) = ranking.refused
    assert refused.entry.name == NAME and re.search(words, refused.reason), refused.reason
    assert [(one.submission, one.num_accepted, one.num_refused) for one in ranking.standings] == [
        ("z", 4, 0), ("a", 3, 1)
    ]  # fmt: skip


def test_what_is_proved_and_what_is_trusted(dataset: Path) -> None:
    """Classes carry no proof: beside the optima themselves they are optimal, without them so on trust."""
    bare, partly = submit(dataset, "bare"), submit(dataset, "partly")
    for folder, num in ((bare, 4), (partly, 3)):
        for path in sorted(folder.iterdir())[:num]:
            path.write_text(json.dumps(only_classes(json.loads(path.read_bytes()))), encoding="ascii")

    def counts(folders: list[Path], **options: Any) -> list[tuple[str, int, int, int]]:
        found = bench.verify_dataset(dataset, folders, **options)
        assert not found.refused and not found.contradictions and found.is_complete
        return [(one.submission, one.num_accepted, one.num_optimal, one.num_trusted) for one in found.standings]

    assert counts([bare]) == [("bare", 4, 0, 4)]
    assert counts([bare, partly]) == [("bare", 4, 1, 3), ("partly", 4, 1, 3)]
    assert counts([bare], with_optima=True) == [("bare", 4, 4, 0), ("optima", 4, 4, 0)]
    assert len(bench.verify_dataset(dataset, [partly]).checked) == 1


def test_a_worse_plan_is_ranked_behind_and_a_stated_figure_counts_for_nothing(dataset: Path) -> None:
    naive = naive_plan(dataset)
    cheat = optimum(dataset) | {"status": "feasible"}
    cheat.pop("certificate", None)
    cheat["claims"] |= {"mac_lower_bound": None, "gap": None}
    cheat["claims"]["mac"] *= 1 - 5e-10  # within what the auditor allows for rounding
    folders = [submit(dataset, "a", naive.to_dict()), submit(dataset, "z", cheat), submit(dataset, "b")]
    ranking = bench.verify_dataset(dataset, folders)
    last = ranking.standings[-1]
    best = next(entry.mac for entry in ranking.entries if entry.name == NAME)
    assert naive.mac is not None and best is not None and not ranking.refused
    assert [(one.submission, one.num_accepted, one.num_optimal) for one in ranking.standings] == [
        ("b", 4, 4), ("z", 4, 4), ("a", 4, 3)
    ]  # fmt: skip
    assert last.excess == pytest.approx((naive.mac - best) / 4) and ranking.standings[1].excess == 0.0
    (stated,) = (one.mac for one in ranking.standings[1].judgements if one.entry.name == NAME)
    assert stated == pytest.approx(best, rel=1e-12), "what it costs is worked out here"


def test_the_page_shows_names_and_reasons_as_text(dataset: Path, tmp_path: Path) -> None:
    nasty = "<script>alert(1)<b onload='x'>&amp; \u202egnp\u2066 \x1b[31m \u05d0\u05d1"
    answer = optimum(dataset) | {"format": "veilroute-playbook/<img src=x onerror=alert(1)>"}
    honest, naughty = submit(dataset, "honest"), submit(dataset, nasty + "x" * 120, answer)
    ranking = bench.verify_dataset(dataset, [honest, naughty], with_optima=True)
    page = ranking.to_html()
    assert not re.search(r"<(script|img|b|iframe|link|object)\b", page)
    assert "&lt;script&gt;alert(1)" in page and page.count("&lt;img src=x") == 1
    assert not set("\u202e\u2066\x1b") & set(page) and max(len(one.submission) for one in ranking.standings) <= 60
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|url\(|@import|https?:""", page)
    assert str(tmp_path) not in page and ranking.dataset.sha256 in page
