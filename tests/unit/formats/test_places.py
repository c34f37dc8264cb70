from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from veilroute.formats import read_places
from veilroute.streets import Place

CSV = "name,lat,lon,role\nDepot,60.17,24.93,start\nKamppi,60.168,24.931,\nForum,60.169,24.938,candidate\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def points(*features: tuple[dict[str, object], object], **more: object) -> str:
    listed = [{"type": "Feature", "properties": p, "geometry": g} for p, g in features]
    return json.dumps({"type": "FeatureCollection", "features": listed} | more)


def point(lon: float, lat: float) -> dict[str, object]:
    return {"type": "Point", "coordinates": [lon, lat]}


def test_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", CSV)
    assert read_places(path) == [
        Place("Depot", 60.17, 24.93, role="start", origin=f"{path}, line 2"),
        Place("Kamppi", 60.168, 24.931, role="candidate", origin=f"{path}, line 3"),
        Place("Forum", 60.169, 24.938, role="candidate", origin=f"{path}, line 4"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_any_delimiter_with_or_without_a_mark(tmp_path: Path, delimiter: str, start: str, ends: str) -> None:
    text = start + CSV.replace(",", delimiter).replace("\n", ends)
    places = read_places(write(tmp_path, "a.csv", text))
    assert [(p.name, p.lat, p.lon, p.role) for p in places] == [
        ("Depot", 60.17, 24.93, "start"),
        ("Kamppi", 60.168, 24.931, "candidate"),
        ("Forum", 60.169, 24.938, "candidate"),
    ]


@pytest.mark.parametrize(
    "header", ["Latitude,Longitude,Name", "lat,lng,name", "Y,X,NAME", " lat , long , name ", "lat,lon,name,x,y"]
)
def test_columns_by_other_names_and_in_any_order(tmp_path: Path, header: str) -> None:
    (place,) = read_places(write(tmp_path, "a.csv", f"{header}\n 60.17 ,-24.93,Café Äijä\n"))
    assert (place.name, place.lat, place.lon) == ("Café Äijä", 60.17, -24.93)


def test_quotes_extra_columns_and_blank_lines(tmp_path: Path) -> None:
    text = 'name,phone,lat,lon\n\n"Bank, ""North""\r\n",09 1234,60.17,24.93\n,,,\n'.replace("\r\n", "")
    (place,) = read_places(write(tmp_path, "a.csv", text))
    assert place.name == 'Bank, "North"'
    assert place.origin.endswith("line 3")


@pytest.mark.parametrize("column", ["id", "node", "osmid", "ID"])
def test_ids_in_place_of_coordinates(tmp_path: Path, column: str) -> None:
    (place,) = read_places(write(tmp_path, "a.csv", f"name,{column}\nKamppi,264015624\n"))
    assert (place.node, place.lat) == ("264015624", None)


def test_coordinates_go_before_ids(tmp_path: Path) -> None:
    """A table's own running numbers are no junctions."""
    first, second = read_places(write(tmp_path, "a.csv", "id,lat,lon\n1,60.1,24.9\n2,,\n"))
    assert (first.node, first.lat, first.name) == (None, 60.1, None)
    assert (second.node, second.lat) == ("2", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("name,lat,lon\n", "no places in the file"),
        ("\ufeff\n\n", "no places"),
        ("shop,where\nA,B\n", r"line 1: expected a header with the columns name, lat, lon .*; got 'shop', 'where'"),
        ("60.17,24.93\n", "line 1: expected a header"),
        ("name,lat\nA,60\n", "line 1: expected a header"),
        ("name,lat,lon\nA,60,17,24,93\n", "line 2: 5 values for 3 columns; write decimals with a point"),
        ("name,lat,lon\nA,60 10,24.9\n", "line 2: lat: expected degrees such as 60.17 .*, got '60 10'"),
        ("name,lat,lon\nA,60,nan\n", "line 2: lon: expected degrees"),
        ("name,lat,lon\nA,60,\n", "line 2: expected both lat and lon"),
        ("name,lat,lon\nA\n", "line 2: expected both lat and lon"),
        ("name,lat,lon\nA,60,24\n,60,25\n", "line 3: this place has no name and others have one"),
        ("name,lat,lon\nA,60,24\nB,60,25\nA,60,26\n", "line 4: the name 'A' is there twice, first in line 2"),
        (
            "name,lat,lon,role\nA,60,24,start\nB,60,25,start\n",
            "line 3: the role 'start' is there twice, first in line 2",
        ),
        ("name,lat,lon,role\nA,60,24,depot\n", "line 2: expected a role of start, goal or candidate, got 'depot'"),
        ('name,lat,lon\n"A,60,24\n', "not a table"),
        ("name,lat,lon\nA\x1b[31m,60,24\n", "line 2: expected a printable name"),
        ("name,lat,lon\nA," + "9" * 400 + ",24\n", "line 2: expected finite degrees"),
    ],
)
def test_bad_tables_say_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(vr.FileFormatError, match=f"bad.csv.*{message}"):
        read_places(write(tmp_path, "bad.csv", text))


@pytest.mark.parametrize("name", ["a.geojson", "a.json"])
def test_geojson_has_longitude_first(tmp_path: Path, name: str) -> None:
    text = points(
        ({"name": "Depot", "role": "start"}, point(24.93, 60.17)),
        ({"name": "Kamppi", "phone": 9}, {"type": "Point", "coordinates": [1e-5, -60, 12.5]}),
        ({"name": 7, "node": 264015624}, None),
    )
    path = write(tmp_path, name, text)
    assert read_places(path) == [
        Place("Depot", 60.17, 24.93, role="start", origin=f"{path}, features[0]"),
        Place("Kamppi", -60.0, 1e-5, role="candidate", origin=f"{path}, features[1]"),
        Place("7", node="264015624", role="candidate", origin=f"{path}, features[2]"),
    ]


def test_geojson_without_properties(tmp_path: Path) -> None:
    feature = {"type": "Feature", "properties": None, "geometry": point(24.93, 60.17), "id": 17}
    unlocated = feature | {"geometry": None}
    first, second = read_places(write(tmp_path, "a.json", points(features=[feature, unlocated])))
    assert (first.name, first.lat, first.node) == (None, 60.17, None)
    assert second.node == "17"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("{", "not valid JSON"),
        ("[1]", "expected a GeoJSON FeatureCollection of Points"),
        ('{"type": "FeatureCollection"}', "expected a GeoJSON FeatureCollection"),
        (points(), "no places"),
        (points(features=[3]), r"features\[0\]: expected a Feature"),
        (points(features=[{"type": "Feature", "properties": [1]}]), r"features\[0\]: expected an object as properties"),
        (points(({}, None)), r"features\[0\]: expected both lat and lon, or an address"),
        (points(({}, {"type": "LineString", "coordinates": []})), "expected a Point, got 'LineString'"),
        (points(({}, {"type": "Point", "coordinates": [1]})), r"a Point with coordinates \[longitude, latitude\]"),
        (points(({}, {"type": "Point", "coordinates": ["1", "2"]})), "a Point with coordinates"),
        (points(({"name": {}}, point(1, 2))), r"features\[0\]: name: expected text"),
        (
            points(({"name": "A"}, point(1, 2)), ({"name": "A"}, point(1, 3))),
            r"features\[1\]: the name 'A' is there twice",
        ),
        (points(({"name": "A"}, point(1, 2)), ({}, point(1, 3))), r"features\[1\]: this place has no name"),
        (points(({"role": "end"}, point(1, 2))), r"features\[0\]: expected a role"),
    ],
)
def test_bad_geojson_says_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(vr.FileFormatError, match=f"bad.geojson.*{message}"):
        read_places(write(tmp_path, "bad.geojson", text))


def test_missing_files_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(vr.FileFormatError, match="no such file"):
        read_places(tmp_path / "nowhere.csv")
    with pytest.raises(vr.InvalidInputError, match=r"places format: expected one of \.csv"):
        read_places(tmp_path / "a.ods")
