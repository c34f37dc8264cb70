"""The catalogue, and the store: listing, finding, adding, installing."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from map_server import ARENA, make_zip
from veilroute import DownloadError, InvalidInputError, maps

CRLF = ARENA.replace(b"\n", b"\r\n")
LARGEST = 64 << 20  # bytes of a map or scenario
Install = Callable[[dict[str, bytes]], list[str]]


@pytest.fixture
def install(store: maps.MapStore, tmp_path: Path) -> Install:
    """Install an archive with the given members into the dao set."""

    def run(files: dict[str, bytes]) -> list[str]:
        archive = tmp_path / "dao-map.zip"
        archive.write_bytes(make_zip(files))
        return store.install_archive(archive, "dao")

    return run


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A folder with the pinned map and one that is not."""
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "arena.map").write_bytes(ARENA)
    (folder / "mine.map").write_bytes(b"x")
    return folder


def _tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.exists() else []


# -- the catalogue


def test_pinned_fingerprints_are_those_of_the_shared_maps(shared: Path) -> None:
    found = {path.name: maps.hash_text(path.read_bytes()) for path in (shared / "maps").rglob("*.map")}
    assert found == maps.CATALOGUE.pinned


# -- installing


@pytest.mark.parametrize("data", [ARENA, CRLF])
def test_install_and_list(store: maps.MapStore, install: Install, data: bytes) -> None:
    assert store.list_maps() == [] and not store.is_installed("dao", "dao-map.zip") and not store.root.exists()
    install(
        {"maps/arena.map": data, "b.map": b"x", "c/b.map": b"x", "arena.map.scen": b"1\n", "readme.txt": b"no"}
        | {"__MACOSX/._b.map": b"resource fork"}
    )
    home = store.root / "dao"
    assert store.list_maps() == [
        maps.StoredMap("arena.map", "dao", home / "arena.map", len(data), True, "downloaded"),
        maps.StoredMap("b.map", "dao", home / "b.map", 1, False, "downloaded"),
    ]
    assert [stored.name for stored in store.list_scenarios()] == ["arena.map.scen"]
    assert (home / "arena.map").read_bytes() == data
    assert store.is_installed("dao", "dao-map.zip") and not store.is_installed("dao", "dao-scen.zip")
    assert _tree(store.root) == ["dao", "dao/arena.map", "dao/arena.map.scen", "dao/b.map", "installed.json"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"fine.map": b"x", "arena.map": ARENA.replace(b"@", b".", 1)}, r"arena\.map is not the map that the paper"),
        *(
            ({"fine.map": b"x", member: b"evil"}, "unsafe member")
            for member in ("a/../../evil.map", "/evil.map", "..\\evil.map", "C:\\evil.map", "../evil.txt")
        ),
        ({"a/y.map": b"one", "b/y.map": b"two"}, r"two different files named y\.map"),
        ({"readme.txt": b"hello"}, r"no \.map or \.scen file"),
    ],
)
def test_a_bad_archive_leaves_no_trace(
    store: maps.MapStore, install: Install, tmp_path: Path, files: dict[str, bytes], words: str
) -> None:
    with pytest.raises(DownloadError, match=words):
        install(files)
    assert _tree(store.root) == [] and not list(tmp_path.rglob("evil*"))
    install({"arena.map": ARENA})
    before = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()}
    with pytest.raises(DownloadError, match=words):
        install(files)
    assert {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()} == before
    assert store.is_installed("dao", "dao-map.zip")


@pytest.mark.parametrize(
    ("size", "num", "told"), [(LARGEST, 1, 0), (LARGEST + 1, 1, 64), (LARGEST, 16, 0), (LARGEST, 17, 1024)]
)
def test_a_bomb_is_refused_before_it_is_unpacked(
    store: maps.MapStore, tmp_path: Path, size: int, num: int, told: int
) -> None:
    """By the sizes that the directory of the archive says, beyond which nothing is ever unpacked."""
    archive = tmp_path / "dao-map.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for number in range(num):
            writer.writestr(f"{number}.map", b"x")
            writer.filelist[-1].file_size = size
    if told:
        with pytest.raises(DownloadError, match=f"unpacks to more than {told} MB"):
            store.install_archive(archive, "dao")
        assert _tree(store.root) == []
        assert bool(maps.find_archive_problem(archive)) == (told == 1024)
    else:
        assert len(store.install_archive(archive, "dao")) == num
        assert not maps.find_archive_problem(archive)


def test_a_member_that_lies_about_its_size_is_refused(store: maps.MapStore, tmp_path: Path) -> None:
    archive = tmp_path / "dao-map.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("liar.map", b"." * 100_000)
    raw = archive.read_bytes()
    archive.write_bytes(raw.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(DownloadError, match="not a sound zip"):
        store.install_archive(archive, "dao")
    assert _tree(store.root) == []


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [("arena.map", ARENA.replace(b"@", b".", 1), "damaged"), ("arena.map", None, None), ("b.map", b"xx", "")],
)
def test_what_was_installed_and_is_not_any_more(
    store: maps.MapStore, install: Install, name: str, data: bytes | None, problem: str | None
) -> None:
    install({"arena.map": ARENA, "b.map": b"x"})
    path = store.root / "dao" / name
    path.unlink() if data is None else path.write_bytes(data)
    assert not store.is_installed("dao", "dao-map.zip")
    assert {stored.name: stored.problem for stored in store.list_maps()}.get(name) == problem
    if problem or data is None:
        with pytest.raises(InvalidInputError, match="run 'veilroute maps get dao'"):
            store.find(name)
    install({"arena.map": ARENA, "b.map": b"x"})
    assert store.is_installed("dao", "dao-map.zip") and store.find("arena").read_bytes() == ARENA


# -- adding


def test_what_is_added_stays_in_place(store: maps.MapStore, local: Path) -> None:
    (local / "arena.map").write_bytes(CRLF)
    (local / "deep").mkdir()
    (local / "deep" / "arena.map.scen").write_bytes(b"version 1\n")
    (local / "._mine.map").write_bytes(b"resource fork")
    report = store.add_directory(local)
    assert report.verified == ("arena.map",) and report.unverified == ("arena.map.scen", "mine.map")
    assert report.num_registered == 3 and report.refused == report.skipped == ()
    assert _tree(store.root) == ["added.json"] and (store.root / "added.json").stat().st_mode & 0o777 == 0o600
    listed = {stored.name: (stored.set_name, stored.verified, stored.source) for stored in store.list_maps()}
    assert listed == {"arena.map": ("dao", True, "added"), "mine.map": ("local", False, "added")}
    assert store.find("mine") == (local / "mine.map").resolve()
    assert store.find("arena.map.scen") == (local / "deep" / "arena.map.scen").resolve()
