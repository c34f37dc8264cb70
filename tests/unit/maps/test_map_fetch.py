"""From a base address to maps in the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from veilroute import DownloadError, InvalidInputError
from veilroute.maps import MapStore, fetch_sets, resolve_base_url

MakeZip = Callable[[dict[str, bytes]], bytes]


def _paths(seen: list[dict[str, str]]) -> list[str]:
    return [record["path"] for record in seen]


def test_fetch_installs_and_then_skips(
    store: MapStore, base_url: str, served: dict[str, dict[str, bytes]], seen: list[dict[str, str]]
) -> None:
    reports: list[tuple[str, int, int | None]] = []
    fetched = fetch_sets(store, base_url=base_url + "/", report=lambda *report: reports.append(report))
    assert [(one.archive, one.was_present, one.num_files) for one in fetched] == [
        ("dao/dao-map.zip", False, 2),
        ("dao/dao-scen.zip", False, 1),
        ("street/street-map.zip", False, 1),
        ("street/street-scen.zip", False, 1),
    ]
    assert _paths(seen) == list(served)
    assert {archive for archive, _, _ in reports} == {one.archive for one in fetched}
    assert [(stored.name, stored.verified) for stored in store.list_maps()] == [
        ("arena.map", True),
        ("other.map", False),
        ("Town.map", False),
    ]
    assert not [path for path in store.archive_directory.rglob("*") if path.is_file()]
    again = fetch_sets(store, base_url=base_url)
    assert all(one.was_present for one in again)
    assert len(seen) == 4


def test_fetch_some(
    store: MapStore, base_url: str, served: dict[str, dict[str, bytes]], seen: list[dict[str, str]]
) -> None:
    fetch_sets(store, ["street", "street"], base_url=base_url, scenarios=False)
    assert _paths(seen) == ["/street/street-map.zip"]
    fetch_sets(store, ["street"], base_url=base_url)
    assert _paths(seen)[1:] == ["/street/street-scen.zip"]


@pytest.mark.parametrize("with_crlf", [False, True])
def test_both_line_ends_are_accepted(
    store: MapStore,
    base_url: str,
    site: dict[str, bytes],
    make_zip: MakeZip,
    arena: bytes,
    with_crlf: bool,
) -> None:
    site["/dao/dao-map.zip"] = make_zip({"arena.map": arena.replace(b"\n", b"\r\n") if with_crlf else arena})
    fetch_sets(store, ["dao"], base_url=base_url, scenarios=False)
    assert store.list_maps()[0].verified


def test_force_fetches_again(
    store: MapStore, base_url: str, served: dict[str, dict[str, bytes]], seen: list[dict[str, str]]
) -> None:
    fetch_sets(store, ["dao"], base_url=base_url, scenarios=False)
    (one,) = fetch_sets(store, ["dao"], base_url=base_url, scenarios=False, force=True)
    assert not one.was_present
    assert len(seen) == 2


def test_damaged_file_is_fetched_again(
    store: MapStore, base_url: str, served: dict[str, dict[str, bytes]], arena: bytes
) -> None:
    fetch_sets(store, ["dao"], base_url=base_url)
    (store.root / "dao" / "arena.map").write_bytes(b"broken")
    assert [one.was_present for one in fetch_sets(store, ["dao"], base_url=base_url)] == [False, True]
    assert store.find("arena").read_bytes() == arena


def test_altered_pinned_map_is_refused_and_not_kept(
    store: MapStore,
    base_url: str,
    served: dict[str, dict[str, bytes]],
    site: dict[str, bytes],
    make_zip: MakeZip,
    arena: bytes,
) -> None:
    sound = site["/dao/dao-map.zip"]
    site["/dao/dao-map.zip"] = make_zip({"arena.map": arena.replace(b"@", b".", 1)})
    with pytest.raises(DownloadError, match=r"arena\.map is not the map that the paper used"):
        fetch_sets(store, ["dao"], base_url=base_url)
    assert store.list_maps() == []
    assert not [path for path in store.root.rglob("*") if path.is_file()]
    site["/dao/dao-map.zip"] = sound
    fetch_sets(store, ["dao"], base_url=base_url)
    assert store.find("arena").read_bytes() == arena


def test_archive_without_a_pinned_map_is_refused(
    store: MapStore, base_url: str, site: dict[str, bytes], make_zip: MakeZip
) -> None:
    site["/dao/dao-map.zip"] = make_zip({"other.map": b"x"})
    with pytest.raises(DownloadError, match=r"arena\.map not in the archive"):
        fetch_sets(store, ["dao"], base_url=base_url)


def test_sound_archive_left_by_a_killed_run_is_used(
    store: MapStore, base_url: str, site: dict[str, bytes], make_zip: MakeZip, arena: bytes, seen: list[object]
) -> None:
    left = store.archive_directory / "dao" / "dao-map.zip"
    left.parent.mkdir(parents=True)
    left.write_bytes(make_zip({"arena.map": arena}))
    fetch_sets(store, ["dao"], base_url=base_url, scenarios=False)
    assert seen == []
    assert store.find("arena").read_bytes() == arena
    assert not left.exists()


def test_first_set_stays_when_the_second_fails(
    store: MapStore, base_url: str, served: dict[str, dict[str, bytes]], site: dict[str, bytes]
) -> None:
    del site["/street/street-map.zip"]
    with pytest.raises(DownloadError, match=r"street/street-map\.zip: the server answered 404"):
        fetch_sets(store, base_url=base_url)
    assert store.is_installed("dao", "dao-map.zip")
    assert store.is_installed("dao", "dao-scen.zip")


def test_unknown_set(store: MapStore, base_url: str, seen: list[object]) -> None:
    with pytest.raises(InvalidInputError, match="one of dao, street, got 'moon'"):
        fetch_sets(store, ["dao", "moon"], base_url=base_url)
    assert seen == []


def test_base_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_base_url() == "https://movingai.com/benchmarks"
    monkeypatch.setenv("VEILROUTE_MAPS_URL", "http://mirror.example/maps/")
    assert resolve_base_url() == "http://mirror.example/maps"
    assert resolve_base_url("http://option.example") == "http://option.example"
    monkeypatch.setenv("VEILROUTE_MAPS_URL", "mirror.example")
    with pytest.raises(InvalidInputError, match="VEILROUTE_MAPS_URL: expected an address"):
        resolve_base_url()
