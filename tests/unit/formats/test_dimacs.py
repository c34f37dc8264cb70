from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from sound_files import ARCS, POINTS

LONLAT = [[-73.530538, 41.085396], [-73.530767, 41.086098], [-73.519366, 41.048796]]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["USA-road-d.NY.co", "USA-road-d.NY.co.gz"])
def test_coordinates_beside_the_arcs_are_used(tmp_path: Path, name: str) -> None:
    arcs = write(tmp_path, "USA-road-d.NY.gr", ARCS)
    write(tmp_path, name, POINTS)
    plain = vr.read_dimacs(arcs)
    assert plain.streets is None
    assert plain.coordinates is not None
    # Metres: nodes 1 and 2 are 78 m north and 19 m west of each other.
    assert np.round(plain.coordinates[1] - plain.coordinates[0]).tolist() == [-19, 78]
    metres = vr.read_dimacs(arcs, unit="metres")
    assert metres.streets is not None
    assert metres.streets.lonlat.tolist() == LONLAT
    assert metres.streets.lengths.tolist() == [803, 803, 158, 774]
    assert metres.has_integer_costs
