"""From a base address to maps in the store, by the library and by `veilroute maps list|get|add`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from map_server import ARENA, CATALOGUE, OFFERED, MapServer, make_zip
from veilroute import DownloadError, InvalidInputError
from veilroute.cli import app
from veilroute.maps import MapStore, fetch_sets

ALTERED = make_zip({"arena.map": ARENA.replace(b"@", b".", 1)})


def files_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_what_is_fetched_is_installed_and_not_fetched_twice(store: MapStore, server: MapServer) -> None:
    with pytest.raises(InvalidInputError, match="one of dao, street, got 'moon'"):
        fetch_sets(store, ["dao", "moon"], base_url=server.url)
    fetched = fetch_sets(store, base_url=server.url + "/")
    assert [(f"/{one.archive}", one.was_present, one.num_files) for one in fetched] == [
        (path, False, len(files)) for path, files in OFFERED.items()
    ]
    assert server.asked() == list(OFFERED)
    listed = [(stored.name, stored.verified) for stored in store.list_maps()]
    assert listed == [("arena.map", True), ("other.map", False), ("Town.map", False)]
    assert files_below(store.archive_directory) == []
    again = fetch_sets(store, base_url=server.url)
    assert all(one.was_present and one.num_files == 0 for one in again) and len(server.seen) == 4
    (one,) = fetch_sets(store, ["dao"], base_url=server.url, scenarios=False, force=True)
    assert not one.was_present and server.asked()[4:] == ["/dao/dao-map.zip"]
    (store.root / "dao" / "arena.map").write_bytes(b"broken")
    assert [one.was_present for one in fetch_sets(store, ["dao"], base_url=server.url)] == [False, True]
    assert store.find("arena").read_bytes() == ARENA


def test_an_altered_map_is_refused_and_not_kept(store: MapStore, server: MapServer) -> None:
    server.site["/dao/dao-map.zip"] = ALTERED
    with pytest.raises(DownloadError, match=r"arena\.map is not the map that the paper used"):
        fetch_sets(store, ["dao"], base_url=server.url)
    assert store.list_maps() == [] and files_below(store.root) == []
    server.site["/dao/dao-map.zip"] = make_zip({"other.map": b"x"})
    with pytest.raises(DownloadError, match=r"arena\.map not in the archive"):
        fetch_sets(store, ["dao"], base_url=server.url)


@pytest.mark.parametrize(("left", "num_asked"), [(make_zip({"arena.map": ARENA}), 0), (b"PK half", 1), (ALTERED, 0)])
def test_what_a_killed_run_left_is_used_if_it_is_sound(
    store: MapStore, server: MapServer, left: bytes, num_asked: int
) -> None:
    """Killed between download and installation."""
    path = store.archive_directory / "dao" / "dao-map.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(left)
    if left == ALTERED:
        with pytest.raises(DownloadError, match="is not the map"):
            fetch_sets(store, ["dao"], base_url=server.url, scenarios=False)
    else:
        fetch_sets(store, ["dao"], base_url=server.url, scenarios=False)
        assert store.find("arena").read_bytes() == ARENA
    assert len(server.seen) == num_asked and not path.exists()


def test_the_command_fetches(server: MapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the given address, or from that of the environment; what is here already is not fetched again."""
    monkeypatch.setattr("veilroute.cli.maps.MapStore", partial(MapStore, catalogue=CATALOGUE))
    app(["get", "--url", server.url], exit_on_error=False)
    assert server.asked() == list(OFFERED)
    monkeypatch.setenv("VEILROUTE_MAPS_URL", server.url)
    app(["get"], exit_on_error=False)
    assert len(server.seen) == 4
    with pytest.raises(InvalidInputError):
        app(["get", "--timeout", "0", "--force"], exit_on_error=False)
