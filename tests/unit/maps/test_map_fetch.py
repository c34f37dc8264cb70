"""From a base address to maps in the store, by the library and by `veilroute maps list|get|add`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from map_server import ARENA, CATALOGUE, OFFERED, MapServer, make_zip
from veilroute import DownloadError, InvalidInputError
from veilroute.cli import app
from veilroute.maps import MapStore, fetch_sets


class Result(NamedTuple):
    """What a command printed, and what it raised."""

    stdout: str
    stderr: str
    exception: Exception | None
    exit_code: int


Run = Callable[..., Result]
ALTERED = make_zip({"arena.map": ARENA.replace(b"@", b".", 1)})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with the test catalogue."""
    monkeypatch.setattr("veilroute.cli.maps.MapStore", partial(MapStore, catalogue=CATALOGUE))
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*words: str) -> Result:
        raised, code = None, 1
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            try:
                code = app(list(words), exit_on_error=False, print_error=False)
            except Exception as error:
                raised = error
        return Result(out.getvalue(), err.getvalue(), raised, code)

    return invoke


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


def test_the_first_set_stays_when_the_second_fails(store: MapStore, server: MapServer) -> None:
    del server.site["/street/street-map.zip"]
    with pytest.raises(DownloadError, match=r"street/street-map\.zip: the server answered 404"):
        fetch_sets(store, base_url=server.url)
    assert store.is_installed("dao", "dao-map.zip") and store.is_installed("dao", "dao-scen.zip")


# -- the commands


def test_added_maps_are_listed(run: Run, tmp_path: Path) -> None:
    assert "not here: arena.map;" in run("list").stdout and not (tmp_path / "cache").exists()
    local = tmp_path / "local"
    local.mkdir()
    for name, data in {"arena.map": ARENA, "arena.map.scen": b"version 1\n", "[red]mine.map": b"x"}.items():
        (local / name).write_bytes(data)
    added = run("add", str(local))
    assert (added.exit_code, added.stderr) == (0, "") and added.stdout.startswith("3 files registered, 1 of them")
    assert "[red]mine.map" in run("list").stdout
    data = json.loads(run("list", "--json").stdout)
    assert (data["absent"], data["cache"]) == ([], str(tmp_path / "cache" / "maps"))
    assert data["maps"][0] == {
        "name": "arena.map", "set": "dao", "path": str(local / "arena.map"), "num_bytes": len(ARENA),
        "state": "verified", "verified": True, "source": "added", "scenarios": str(local / "arena.map.scen"),
    }  # fmt: skip
    assert (data["maps"][1]["state"], data["maps"][1]["scenarios"]) == ("unverified", None)
    (local / "arena.map").write_bytes(b"altered")
    altered = run("add", str(local))
    assert isinstance(altered.exception, InvalidInputError) and "arena.map: refused" in altered.stderr


def test_the_command_fetches(run: Run, server: MapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("get", "--url", server.url)
    assert done.exit_code == 0 and "dao/dao-map.zip: 2 files installed\n" in done.stdout, done.exception
    assert "fetching street/street-scen.zip\n" in done.stderr
    monkeypatch.setenv("VEILROUTE_MAPS_URL", server.url)
    again = run("get")
    assert again.stdout.count("here already") == len(server.seen) == 4 and again.stderr == ""
    for words in (("get", "moon"), ("get", "--timeout", "0", "--force"), ("add", "nowhere")):
        assert isinstance(run(*words).exception, InvalidInputError)
