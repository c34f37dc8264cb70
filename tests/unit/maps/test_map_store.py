"""The store: listing, finding, adding, installing."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from veilroute import DownloadError, FileFormatError, InvalidInputError
from veilroute.maps import MapStore, StoredMap
from veilroute.maps import store as store_module

MakeZip = Callable[[dict[str, bytes]], bytes]


@pytest.fixture
def install(store: MapStore, tmp_path: Path, make_zip: MakeZip) -> Callable[[dict[str, bytes]], object]:
    """Install an archive with the given members into the dao set."""

    def run(files: dict[str, bytes]) -> object:
        archive = tmp_path / "dao-map.zip"
        archive.write_bytes(make_zip(files))
        return store.install_archive(archive, "dao")

    return run


def _tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.exists() else []


# -- where it is


def test_root_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path))
    assert MapStore().root == tmp_path / "maps"


def test_root_defaults_to_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEILROUTE_CACHE", "")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: f"/somewhere/{name}")
    assert MapStore().root == Path("/somewhere/veilroute/maps")


def test_asking_an_empty_store_creates_nothing(store: MapStore) -> None:
    assert store.list_maps() == store.list_scenarios() == []
    assert not store.is_installed("dao", "dao-map.zip")
    assert not store.root.exists()


# -- installing


@pytest.mark.parametrize("with_crlf", [False, True])
def test_install_and_list(
    store: MapStore, install: Callable[[dict[str, bytes]], object], arena: bytes, with_crlf: bool
) -> None:
    data = arena.replace(b"\n", b"\r\n") if with_crlf else arena
    install({"maps/arena.map": data, "b.map": b"x", "arena.map.scen": b"version 1\n", "readme.txt": b"no"})
    home = store.root / "dao"
    assert store.list_maps() == [
        StoredMap("arena.map", "dao", home / "arena.map", len(data), True, "downloaded"),
        StoredMap("b.map", "dao", home / "b.map", 1, False, "downloaded"),
    ]
    assert [stored.name for stored in store.list_scenarios()] == ["arena.map.scen"]
    assert (home / "arena.map").read_bytes() == data
    assert store.is_installed("dao", "dao-map.zip")
    assert _tree(store.root) == ["dao", "dao/arena.map", "dao/arena.map.scen", "dao/b.map", "installed.json"]


def test_wrong_byte_in_a_pinned_map_installs_nothing(
    store: MapStore, install: Callable[[dict[str, bytes]], object], arena: bytes
) -> None:
    with pytest.raises(DownloadError, match=r"arena\.map is not the map that the paper used"):
        install({"before.map": b"fine", "arena.map": arena.replace(b"@", b".", 1)})
    assert _tree(store.root) == []


def test_bad_archive_leaves_what_was_installed(
    store: MapStore, install: Callable[[dict[str, bytes]], object], arena: bytes
) -> None:
    install({"arena.map": arena})
    with pytest.raises(DownloadError):
        install({"arena.map": arena + b"."})
    assert store.find("arena").read_bytes() == arena
    assert store.is_installed("dao", "dao-map.zip")


@pytest.mark.parametrize(
    "member", ["../evil.map", "maps/../../evil.map", "/evil.map", "..\\evil.map", "C:\\evil.map", "../note.txt"]
)
def test_unsafe_member_is_refused(
    store: MapStore, install: Callable[[dict[str, bytes]], object], tmp_path: Path, member: str
) -> None:
    with pytest.raises(DownloadError, match="unsafe member"):
        install({"good.map": b"x", member: b"evil"})
    assert _tree(store.root) == []
    assert not list(tmp_path.rglob("evil*"))


def test_huge_member_is_refused(
    store: MapStore, install: Callable[[dict[str, bytes]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert import_module("veilroute.maps.download").MAX_MEMBER_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(import_module("veilroute.maps.download"), "MAX_MEMBER_BYTES", 2**20)
    install({"just.map": bytes(2**20)})
    with pytest.raises(DownloadError, match=r"bomb\.map unpacks to more than 1 MB"):
        install({"bomb.map": bytes(2**20 + 1)})
    assert not (store.root / "dao" / "bomb.map").exists()


def test_huge_archive_is_refused(
    install: Callable[[dict[str, bytes]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("veilroute.maps.download"), "MAX_ARCHIVE_BYTES", 2**20)
    with pytest.raises(DownloadError, match=r"dao-map\.zip: unpacks to more than 1 MB"):
        install({f"{number}.map": bytes(2**19) for number in range(3)})


def test_member_that_lies_about_its_size_is_refused(store: MapStore, tmp_path: Path) -> None:
    archive = tmp_path / "dao-map.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("liar.map", b"." * 100_000)
    raw = archive.read_bytes()
    archive.write_bytes(raw.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(DownloadError, match="not a sound zip archive"):
        store.install_archive(archive, "dao")
    assert _tree(store.root) == []


def test_same_name_twice(install: Callable[[dict[str, bytes]], object], store: MapStore) -> None:
    install({"a/x.map": b"same", "b/x.map": b"same", "__MACOSX/a/._x.map": b"resource fork"})
    assert _tree(store.root / "dao") == ["x.map"]
    with pytest.raises(DownloadError, match=r"two different files named y\.map"):
        install({"a/y.map": b"one", "b/y.map": b"two"})


def test_archive_without_maps(install: Callable[[dict[str, bytes]], object]) -> None:
    with pytest.raises(DownloadError, match=r"no \.map or \.scen file"):
        install({"readme.txt": b"hello"})


def test_archive_that_is_none(store: MapStore, tmp_path: Path) -> None:
    page = tmp_path / "dao-map.zip"
    with pytest.raises(FileFormatError, match="no such file"):
        store.install_archive(page, "dao")
    page.write_text("<html>sorry</html>")
    with pytest.raises(DownloadError, match="not a sound zip"):
        store.install_archive(page, "dao")
    with pytest.raises(InvalidInputError, match="one of dao, street"):
        store.install_archive(page, "moon")
    assert _tree(store.root) == []


def test_not_installed_any_more(store: MapStore, install: Callable[[dict[str, bytes]], object], arena: bytes) -> None:
    install({"arena.map": arena, "b.map": b"x"})
    (store.root / "dao" / "arena.map").write_bytes(arena.replace(b"@", b".", 1))
    assert not store.is_installed("dao", "dao-map.zip")
    assert [(stored.name, stored.problem) for stored in store.list_maps()] == [("arena.map", "damaged"), ("b.map", "")]
    with pytest.raises(InvalidInputError, match="not the text that the paper used; run 'veilroute maps get dao'"):
        store.find("arena")
    install({"arena.map": arena, "b.map": b"x"})
    (store.root / "dao" / "b.map").unlink()
    assert not store.is_installed("dao", "dao-map.zip")


def test_cache_that_cannot_be_written(store: MapStore, tmp_path: Path, make_zip: MakeZip) -> None:
    archive = tmp_path / "dao-map.zip"
    archive.write_bytes(make_zip({"x.map": b"x"}))
    store.root.write_text("a file where the directory should be")
    with pytest.raises(InvalidInputError, match="VEILROUTE_CACHE: expected a directory that can be written"):
        store.install_archive(archive, "dao")


# -- adding


def test_add_registers_in_place(store: MapStore, tmp_path: Path, arena: bytes) -> None:
    local = tmp_path / "local"
    (local / "deep").mkdir(parents=True)
    (local / "arena.map").write_bytes(arena.replace(b"\n", b"\r\n"))
    (local / "deep" / "mine.map").write_bytes(b"x")
    (local / "deep" / "arena.map.scen").write_bytes(b"version 1\n")
    (local / "._mine.map").write_bytes(b"resource fork")
    report = store.add_directory(local)
    assert report.verified == ("arena.map",)
    assert report.unverified == ("arena.map.scen", "mine.map")
    assert report.num_registered == 3
    assert report.refused == report.skipped == ()
    assert _tree(store.root) == ["added.json"]
    listed = {stored.name: (stored.set_name, stored.verified, stored.source) for stored in store.list_maps()}
    assert listed == {"arena.map": ("dao", True, "added"), "mine.map": ("local", False, "added")}
    assert store.find("mine") == (local / "deep" / "mine.map").resolve()
    assert store.find("arena.map.scen").name == "arena.map.scen"


def test_add_refuses_an_altered_pinned_map(store: MapStore, tmp_path: Path, arena: bytes) -> None:
    local = tmp_path / "local"
    local.mkdir()
    (local / "arena.map").write_bytes(arena + b"@")
    (local / "mine.map").write_bytes(b"x")
    report = store.add_directory(local)
    assert report.unverified == ("mine.map",)
    assert len(report.refused) == 1
    assert str(local / "arena.map") in report.refused[0]
    assert "another text" in report.refused[0]
    assert [stored.name for stored in store.list_maps()] == ["mine.map"]


def test_add_takes_the_first_of_one_name_and_replaces_earlier_ones(store: MapStore, tmp_path: Path) -> None:
    for place in ("one/a", "one/b", "two"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "x.map").write_text(place)
    report = store.add_directory(tmp_path / "one")
    assert report.num_registered == 1
    assert len(report.skipped) == 1
    assert "same name" in report.skipped[0]
    assert store.find("x").read_text() == "one/a"
    store.add_directory(tmp_path / "two")
    assert store.find("x").read_text() == "two"


def test_add_refuses_what_is_no_map(store: MapStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_MEMBER_BYTES", 2**20)
    (tmp_path / "local" / "folder.map").mkdir(parents=True)
    (tmp_path / "local" / "huge.map").write_bytes(bytes(2**20 + 1))
    (tmp_path / "local" / "gone.map").symlink_to(tmp_path / "nowhere.map")
    report = store.add_directory(tmp_path / "local")
    assert report.num_registered == 0
    assert [line.partition(": ")[2] for line in report.refused] == [
        "not a file",
        "not a file",
        "larger than 1 MB; no benchmark map is",
    ]
    assert not store.root.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let such a name be made")
def test_add_refuses_a_name_that_is_not_text(store: MapStore, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / os.fsdecode(b"\xff.map")).write_bytes(b"x")
    (line,) = store.add_directory(tmp_path / "local").refused
    assert "not UTF-8" in line
    line.encode("utf-8")


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_add_of_nothing(store: MapStore, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match=r"DIR: expected a directory with \.map or \.scen files"):
        store.add_directory(tmp_path / name)


def test_vanished_file_is_missing(store: MapStore, tmp_path: Path, arena: bytes) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "arena.map").write_bytes(arena)
    (tmp_path / "local" / "mine.map").write_bytes(b"x")
    store.add_directory(tmp_path / "local")
    (tmp_path / "local" / "arena.map").unlink()
    (tmp_path / "local" / "mine.map").unlink()
    assert [(stored.problem, stored.num_bytes, stored.verified) for stored in store.list_maps()] == [
        ("missing", 0, False),
        ("missing", 0, False),
    ]
    with pytest.raises(InvalidInputError, match="has vanished; run 'veilroute maps get dao'"):
        store.find("arena.map")


# -- finding


def test_downloaded_goes_before_added_unless_it_is_damaged(
    store: MapStore, install: Callable[[dict[str, bytes]], object], tmp_path: Path, arena: bytes
) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "arena.map").write_bytes(arena)
    store.add_directory(tmp_path / "local")
    install({"arena.map": arena})
    downloaded = store.root / "dao" / "arena.map"
    assert store.find("arena") == downloaded
    assert [stored.source for stored in store.list_maps()] == ["added", "downloaded"]
    downloaded.write_bytes(b"broken")
    assert store.find("arena") == (tmp_path / "local" / "arena.map").resolve()


@pytest.mark.parametrize("name", ["arena", "arena.map", "arena.map.scen"])
def test_find_says_how_to_get_a_map(store: MapStore, name: str) -> None:
    with pytest.raises(InvalidInputError, match="run 'veilroute maps get dao', or 'veilroute maps add DIR'"):
        store.find(name)


def test_find_suggests_a_near_name(store: MapStore, install: Callable[[dict[str, bytes]], object]) -> None:
    install({"corridor.map": b"x"})
    with pytest.raises(InvalidInputError, match=r"did you mean corridor\.map\? Otherwise run 'veilroute maps get'"):
        store.find("coridor")


@pytest.mark.parametrize("name", ["../dao/x", "/etc/passwd", ""])
def test_find_takes_names_only(store: MapStore, install: Callable[[dict[str, bytes]], object], name: str) -> None:
    install({"x.map": b"x"})
    with pytest.raises(InvalidInputError):
        store.find(name)


@pytest.mark.parametrize("content", ["[1, 2]", "{", ""])
def test_damaged_index_is_named(store: MapStore, content: str) -> None:
    store.root.mkdir()
    (store.root / "added.json").write_text(content)
    with pytest.raises(FileFormatError, match=r"added\.json"):
        store.list_maps()
