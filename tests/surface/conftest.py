"""What the command-line tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, Outcome, said_of_failures
from dask_cluster import Cluster, running_cluster
from veilroute.cli import run
from veilroute.formats import write_movingai


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run the command line in this process, in an empty directory and with an empty cache of maps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(code, out, said_of_failures(err))

    return call


@pytest.fixture
def building(tmp_path: Path) -> Path:
    """A generated map as a .map file; (1, 18) and (32, 60) are free."""
    path = tmp_path / "building.map"
    write_movingai(vr.generate_rooms(36, 64, seed=11), path)
    return path


@pytest.fixture
def planned(command: Command, building: Path, tmp_path: Path) -> Path:
    """A playbook for ten random candidates of the building."""
    path = tmp_path / "playbook.json"
    done = command(
        "plan", building, "--start", "1,18", "--goal", "32,60", "--random-candidates", 10, "--radius", 2, "-o", path
    )
    assert done.code == 0, done.err
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """The address of a Dask scheduler, and its two workers."""
    with running_cluster(tmp_path) as running:
        yield running
