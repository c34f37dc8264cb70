"""The catalogue: sets, pinned maps, fingerprints."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from veilroute import InvalidInputError
from veilroute.maps import CATALOGUE, hash_text


def test_line_ends_do_not_change_the_hash() -> None:
    assert hash_text(b"type octile\r\nmap\r\n..\r\n") == hash_text(b"type octile\nmap\n..\n")
    assert hash_text(b"..\n") != hash_text(b".@\n")


def test_archives_are_those_of_the_site() -> None:
    archives = [(one.map_archive, one.scenario_archive) for one in CATALOGUE.sets]
    assert archives == [("dao/dao-map.zip", "dao/dao-scen.zip"), ("street/street-map.zip", "street/street-scen.zip")]


def test_pinned_maps_are_unique_and_well_formed() -> None:
    assert len(CATALOGUE.pinned) == sum(len(one.pinned) for one in CATALOGUE.sets)
    assert all(name.endswith(".map") for name in CATALOGUE.pinned)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in CATALOGUE.pinned.values())


def test_sets_by_name() -> None:
    assert CATALOGUE.set_named("street").name == "street"
    with pytest.raises(InvalidInputError, match="one of dao, street, got 'moon'"):
        CATALOGUE.set_named("moon")


@pytest.mark.parametrize(
    ("name", "expected"), [("den101d.map", "dao"), ("Berlin_0_256.map.scen", "street"), ("mine.map", "local")]
)
def test_set_of_a_file(name: str, expected: str) -> None:
    assert CATALOGUE.set_name_of(name) == expected


def test_pinned_hashes_are_those_of_the_shared_maps() -> None:
    chosen = os.environ.get("VEILROUTE_SHARED")
    shared = (Path(chosen) if chosen else Path(__file__).resolve().parents[4] / "shared") / "maps"
    if not shared.is_dir():
        pytest.skip("no shared maps beside the checkout; set VEILROUTE_SHARED to their directory's parent")
    found = {path.name: hash_text(path.read_bytes()) for path in shared.rglob("*.map")}
    assert found == CATALOGUE.pinned
