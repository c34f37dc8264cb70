"""`veilroute maps list|get|add`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from veilroute import DownloadError, InvalidInputError
from veilroute.cli import app
from veilroute.maps import Catalogue, MapStore

Run = Callable[..., Result]


@pytest.fixture
def cache(catalogue: Catalogue) -> MapStore:
    """The store that the commands use."""
    return MapStore(catalogue=catalogue)


@pytest.fixture
def run(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with the test catalogue."""
    monkeypatch.setattr("veilroute.cli.maps.MapStore", partial(MapStore, catalogue=catalogue))
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    return invoke


@pytest.fixture
def local(tmp_path: Path, arena: bytes) -> Path:
    """A directory with a pinned map, its scenarios and a map of the user's own."""
    directory = tmp_path / "local"
    directory.mkdir()
    (directory / "arena.map").write_bytes(arena)
    (directory / "arena.map.scen").write_bytes(b"version 1\n")
    (directory / "[red]mine.map").write_bytes(b"x")
    return directory


def test_list_of_nothing(run: Run, tmp_path: Path) -> None:
    result = run("list")
    assert result.exit_code == 0
    assert "not here: arena.map; run 'veilroute maps get'" in result.stdout
    assert str(tmp_path / "cache" / "maps") in result.stdout
    assert not (tmp_path / "cache").exists()


def test_add_then_list(run: Run, local: Path, arena: bytes) -> None:
    added = run("add", str(local))
    assert added.exit_code == 0
    assert added.stdout == "3 files registered, 1 of them maps of the paper, verified\n"
    assert added.stderr == ""
    lines = run("list").stdout.splitlines()
    (row,) = [line for line in lines if "arena.map" in line]
    assert [word.strip() for word in row.strip("│ ").split("│")] == [
        "arena.map",
        "dao",
        f"{len(arena):,}",
        "verified",
        "yes",
        "added",
    ]
    (mine,) = [line for line in lines if "mine.map" in line]
    assert "[red]mine.map" in mine
    assert "unverified" in mine
    assert "not here" not in "".join(lines)


def test_list_as_json(run: Run, local: Path, arena: bytes) -> None:
    run("add", str(local))
    (local / "[red]mine.map").unlink()
    result = run("list", "--json")
    data = json.loads(result.stdout)
    assert data["absent"] == []
    assert data["maps"][0] == {
        "name": "arena.map",
        "set": "dao",
        "path": str(local / "arena.map"),
        "num_bytes": len(arena),
        "state": "verified",
        "verified": True,
        "source": "added",
        "scenarios": str(local / "arena.map.scen"),
    }
    assert (data["maps"][1]["state"], data["maps"][1]["scenarios"]) == ("missing", None)


def test_add_with_an_altered_map(run: Run, cache: MapStore, local: Path) -> None:
    (local / "arena.map").write_bytes(b"altered")
    result = run("add", str(local))
    assert isinstance(result.exception, InvalidInputError)
    assert "1 refused" in str(result.exception)
    assert "arena.map: refused" in result.stderr
    assert "2 files registered" in result.stdout
    assert [stored.name for stored in cache.list_maps()] == ["[red]mine.map"]


def test_add_of_no_directory(run: Run, tmp_path: Path) -> None:
    assert isinstance(run("add", str(tmp_path / "nowhere")).exception, InvalidInputError)
    assert run("add").exit_code == 2


def test_get(run: Run, cache: MapStore, base_url: str, served: dict[str, dict[str, bytes]], seen: list[object]) -> None:
    result = run("get", "--url", base_url)
    assert result.exit_code == 0, result.exception
    assert "dao/dao-map.zip: 2 files installed\n" in result.stdout
    assert "fetching street/street-scen.zip\n" in result.stderr
    assert cache.find("arena").is_file()
    again = run("get", "--url", base_url)
    assert again.stdout.count("here already") == 4
    assert again.stderr == ""
    assert len(seen) == 4
    run("get", "dao", "--force", "--no-scenarios", "--url", base_url)
    assert len(seen) == 5


def test_get_uses_the_configured_address(
    run: Run, cache: MapStore, base_url: str, served: dict[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VEILROUTE_MAPS_URL", base_url)
    assert run("get", "street", "--no-scenarios").exit_code == 0
    assert [stored.name for stored in cache.list_maps()] == ["Town.map"]


def test_get_shows_progress_on_a_terminal(
    run: Run, base_url: str, served: dict[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    result = run("get", "dao", "--url", base_url)
    assert result.exit_code == 0, result.exception
    assert "dao/dao-map.zip" in result.stderr
    assert "bytes" in result.stderr or "kB" in result.stderr


def test_get_from_nowhere(run: Run, base_url: str) -> None:
    result = run("get", "dao", "--url", base_url)
    assert isinstance(result.exception, DownloadError)
    assert "404" in str(result.exception)
    assert "veilroute maps add DIR" in str(result.exception)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("words", [("moon",), ("--url", "nonsense"), ("--timeout", "0")])
def test_get_with_bad_input(run: Run, words: tuple[str, ...]) -> None:
    assert isinstance(run("get", *words).exception, InvalidInputError)


def test_interrupted_get_continues(
    run: Run,
    cache: MapStore,
    base_url: str,
    served: dict[str, dict[str, bytes]],
    site: dict[str, bytes],
    seen: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(self: object, *_: object, completed: int = 0, **__: object) -> None:
        if completed:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("veilroute.cli.maps.Progress.update", interrupt)
        result = run("get", "dao", "--url", base_url)
    assert result.exit_code != 0
    assert "the same command continues" in result.stderr
    (part,) = (cache.archive_directory / "dao").glob("*.part")
    assert site["/dao/dao-map.zip"].startswith(part.read_bytes())
    kept = part.stat().st_size
    assert run("get", "dao", "--url", base_url).exit_code == 0
    assert seen[1]["range"] == f"bytes={kept}-"
