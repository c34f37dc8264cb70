"""Priors from files: how they are written, and what is refused."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import pytest

import veilroute as vr
from sound_files import GRID, PRIOR, SPOTS, write
from veilroute.domain import street_domain
from veilroute.formats import read_prior

NAMES: dict[Hashable, str] = {(0, 1): "Vault", (1, 2): "Tea room"}


def town() -> vr.Domain:
    lonlat = [(24.93 + 0.01 * i, 60.17) for i in range(4)]
    return street_domain(
        lonlat=lonlat, tails=[0, 1, 2], heads=[1, 2, 3], costs=[1, 1, 1], lengths=[555.0] * 3, unit="seconds",
        labels=[10, 11, 12, 13],
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        PRIOR,
        PRIOR.replace("place", "Name").replace("weight", "Weight"),
        "weight;place\n1;Vault\n2;0,2\n1;1,2\n",
        "place\tnote\tweight\n0,1\t\t5\n0,2\tfar\t10\n1,2\t\t5.0\n\n",
    ],
)
def test_a_table_of_places_and_weights(tmp_path: Path, text: str) -> None:
    assert read_prior(write(tmp_path, "p.csv", text), GRID, SPOTS, NAMES) == (0.25, 0.5, 0.25)


def test_a_table_of_points(tmp_path: Path) -> None:
    text = "name,lat,lon,role,weight\nDepot,60.17,24.93,start,\nB,60.1701,24.9501,,3\nA,60.17,24.94,,1\n"
    names: dict[Hashable, str] = {11: "A", 12: "B"}
    assert read_prior(write(tmp_path, "p.csv", text), town(), [11, 12], names) == (0.25, 0.75)
    by_hand = "place;weight\n60.17,24.94;1\nB;3\n10;7\n"
    assert read_prior(write(tmp_path, "q.csv", by_hand), town(), [11, 12], names, ends=[10]) == (0.25, 0.75)


def test_starts_and_goals_need_no_weight(tmp_path: Path) -> None:
    path = write(tmp_path, "p.csv", PRIOR)
    assert read_prior(path, GRID, [*SPOTS, (0, 0)], NAMES, ends=[(0, 0)]) == (0.25, 0.5, 0.25, 0)
