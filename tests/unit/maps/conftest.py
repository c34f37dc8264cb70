"""What the tests of maps share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from map_server import CATALOGUE, MapServer, running_server
from veilroute.maps import MapStore


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's cache, address or proxy."""
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VEILROUTE_MAPS_URL", raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[MapServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> MapStore:
    """An empty cache with the test catalogue."""
    return MapStore(tmp_path / "store", catalogue=CATALOGUE)
