from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from sound_files import ARCS, POINTS
from veilroute.domain import great_circle_m

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


def test_seconds_have_the_distance_between_the_ends_as_lengths(tmp_path: Path) -> None:
    points = write(tmp_path, "elsewhere.co", POINTS)
    domain = vr.read_dimacs(write(tmp_path, "ny.gr", ARCS), points, unit="seconds")
    assert domain.streets is not None
    assert domain.costs.tolist() == [803, 803, 158, 774]
    assert domain.streets.lengths[2] == great_circle_m(LONLAT[1], LONLAT[2])


def test_points_that_are_no_degrees_are_kept_as_they_are(tmp_path: Path) -> None:
    arcs = write(tmp_path, "plane.gr", ARCS)
    write(tmp_path, "plane.co", POINTS.replace("41048796", "900000000"))
    domain = vr.read_dimacs(arcs)
    assert domain.coordinates is not None
    assert domain.coordinates[2].tolist() == [-73519366, 900000000]
    with pytest.raises(vr.FileFormatError, match="coordinates in millionths of a degree, got 'a .co file with others'"):
        vr.read_dimacs(arcs, unit="metres")


def test_what_costs_are(tmp_path: Path) -> None:
    arcs = write(tmp_path, "a.gr", ARCS)
    for unit, word in (("miles", "unit: .*'miles'"), ("seconds", "no .co file")):
        with pytest.raises(vr.InvalidInputError, match=word):
            vr.read_dimacs(arcs, unit=unit)
