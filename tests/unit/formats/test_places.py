"""Places as people have them in every kind of file, and what a table says of each."""

from __future__ import annotations

import codecs
import zipfile
from pathlib import Path

import pytest

import sound_files as sf
import veilroute as vr
from sound_files import PLACES, Writer, collection, feature, geopackage, raw, table, workbook, write
from street_samples import little_town
from veilroute.base.errors import Issue, issues_of
from veilroute.domain import great_circle_m
from veilroute.formats import read_places, scan_places
from veilroute.streets import AddressBook, Gazetteer, Place, locate


def in_seconds(value: float) -> str:
    seconds = round(value * 3600, 3)
    return f"{int(seconds // 3600)}° {int(seconds % 3600 / 60)}′ {round(seconds % 60, 3)}″"


PLACE_FILES: dict[str, tuple[str, Writer]] = {
    "comma-separated": ("a.csv", table("name,lat,lon")),
    "UTF-8 with a mark": ("a.csv", table("name,lat,lon", mark=codecs.BOM_UTF8)),
    "Windows (cp1252)": ("a.csv", table("name,lat,lon,note", "{name},{lat},{lon},“5 €”", encoding="cp1252")),
    "UTF-16 of Excel": ("a.txt", table("name\tlat\tlon", s="\t", encoding="utf-16-le", mark=codecs.BOM_UTF16_LE)),
    "UTF-16 without a mark": ("a.csv", table("name,lat,lon", encoding="utf-16-le")),
    "semicolons, decimal commas": ("a.csv", table("name;lat;lon", s=";", comma=True)),
    "quoted decimal commas": ("a.csv", table("name,lat,lon", '{name},"{lat}","{lon}"', comma=True)),
    "line ends of old Macs": ("a.csv", table("name,lat,lon", ends="\r")),
    "east and west": ("a.csv", table("name,lat,lon,x,y", "{name},{lat},{lon},1,2")),
    "other columns, quotes": ("a.csv", table("no,name,phone,lat,lng", '1,"{name}","09, 12",{lat},{lon}')),
    "both in one, four commas": ("a.csv", table("name;gps", "{name};{lat},{lon}", comma=True)),
    "well-known text": ("a.csv", table("name;WKT", "{name};POINT ({lon} {lat})")),
    "degrees, minutes, seconds": (
        "a.csv", raw("name;gps\n" + "".join(f"{n};{in_seconds(y)}N {in_seconds(x)}E\n" for n, y, x in PLACES)),
    ),
    "workbook": ("a.xlsx", workbook([("Name", "Lat", "Lon"), *PLACES])),
    "workbook, second sheet": (
        "a.xlsx", workbook([("name", "lat", "lon"), *PLACES], before=[("Sales 2026",), ("Turku", 5)]),
    ),
    "workbook, rows left out": (
        "a.xlsx", workbook([(), ("note", "name", "lat", "lon"), (), *((None, *place) for place in PLACES), ()]),
    ),
    "GeoJSON": ("a.geojson", sf.geojson()),
    "GeoJSON, capitals and a mark": ("a.json", sf.geojson(key="NAME", mark=codecs.BOM_UTF8)),
    "GPX 1.1": ("a.gpx", sf.gpx()),
    "GPX 1.0 in Latin-1, with a track": (
        "a.GPX", sf.gpx(version="1.0", encoding="ISO-8859-1", more='<trk><trkpt lat="1" lon="2"/></trk>'),
    ),
    "KML": ("a.kml", raw(sf.kml_text())),
    "KMZ": ("a.kmz", sf.kmz),
    "GeoPackage": ("a.gpkg", geopackage()),
    "GeoPackage, sets of one point": ("a.gpkg", geopackage(is_multi=True)),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLACE_FILES)
def test_the_same_places_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    name, write = PLACE_FILES[kind]
    write(tmp_path / name)
    found = read_places(tmp_path / name)
    assert [place.name for place in found] == [place[0] for place in PLACES]
    for place, (_, lat, lon) in zip(found, PLACES, strict=True):
        assert place.lat is not None and place.lon is not None
        assert float(great_circle_m((place.lon, place.lat), (lon, lat))) < 0.2


@pytest.mark.parametrize("column", ["id", "node", "osmid", "ID"])
def test_ids_in_place_of_coordinates(tmp_path: Path, column: str) -> None:
    (place,) = read_places(write(tmp_path, "a.csv", f"name,{column}\nKamppi,264015624\n"))
    assert (place.node, place.lat) == ("264015624", None)


def test_coordinates_go_before_ids(tmp_path: Path) -> None:
    """A table's own running numbers are no junctions."""
    first, second = read_places(write(tmp_path, "a.csv", "id,lat,lon\n1,60.1,24.9\n2,,\n"))
    assert (first.node, first.lat, first.name) == (None, 60.1, None)
    assert (second.node, second.lat) == ("2", None)


@pytest.mark.parametrize("name", ["a.geojson", "a.json"])
def test_geojson_has_longitude_first(tmp_path: Path, name: str) -> None:
    text = collection(
        feature("Point", [24.93, 60.17], name="Depot", role="start"),
        feature("Point", [1e-5, -60, 12.5], name="Kamppi", phone=9),
        feature("", 0, name=7, node=264015624),
    )
    path = write(tmp_path, name, text)
    assert read_places(path) == [
        Place("Depot", 60.17, 24.93, role="start", origin=f"{path}, features[0]"),
        Place("Kamppi", -60.0, 1e-5, role="candidate", origin=f"{path}, features[1]"),
        Place("7", node="264015624", role="candidate", origin=f"{path}, features[2]"),
    ]


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (geopackage(system=("EPSG", 3067)), "EPSG:3067"),
        (geopackage(tables=("a", "b")), "a, b"),
        (geopackage(is_multi=True, num_points=2), "row 1"),
    ],
)
def test_geopackages_with_something_else(tmp_path: Path, write: Writer, word: str) -> None:
    write(tmp_path / "a.gpkg")
    with pytest.raises(vr.FileFormatError, match=rf"a\.gpkg[:,] .*{word}"):
        read_places(tmp_path / "a.gpkg")


def test_a_row_beyond_the_last_of_a_sheet_is_damage(tmp_path: Path) -> None:
    """The library would fill the gap before it with billions of rows."""
    path = tmp_path / "a.xlsx"
    workbook([("Name", "Lat", "Lon"), *PLACES])(path)
    with zipfile.ZipFile(path) as sound:
        parts = {name: sound.read(name) for name in sound.namelist()}
    with zipfile.ZipFile(path, "w") as damaged:
        for name, part in parts.items():
            damaged.writestr(name, part.replace(b'<row r="2"', b'<row r="4000000000"'))
    with pytest.raises(vr.FileFormatError, match="damaged"):
        read_places(path)


def test_problems_are_data(tmp_path: Path) -> None:
    """Where each is, what it is about, and what could be typed instead; the good rows are not lost."""
    rows = ["Depot,Rantatie,,", "Clinic,Keskuskattu,,", "Bank,,60.17,", "Depot,Itätie,,", "Bar,,91,24.9"]
    path = write(tmp_path, "a.csv", "\n".join(["name,address,lat,lon", *rows]) + "\n")
    places, problems = scan_places(path)
    assert [str(place) for place in places] == ["Depot", "Clinic", "Bar"]
    town = little_town()
    gazetteer = Gazetteer(town, AddressBook)
    for place in places:
        with problems.collecting():
            locate(town, place, field="--places", gazetteer=gazetteer)
    with pytest.raises(vr.ManyProblemsError) as caught:
        problems.raise_all()
    clinic, bank, depot, bar = issues_of(caught.value)
    assert clinic == Issue("'Keskuskattu' was not found.", str(path), 3, name="Clinic", did_you_mean=("Keskuskatu",))
    assert str(caught.value).startswith(
        f"{path}, line 3, Clinic: 'Keskuskattu' was not found. Did you mean 'Keskuskatu'?\n"
    )
    assert (bank.row, bank.column, bank.name) == (4, "lon", "Bank")
    assert (depot.row, depot.column, "line 2" in depot.what) == (5, "name", True)
    assert (bar.file, bar.row, bar.name) == (str(path), 6, "Bar")
    assert issues_of(vr.InvalidInputError("--start", "a place", 3)) == (
        Issue("expected a place, got 3", field="--start"),
    )
    path = write(tmp_path, "a.geojson", collection(feature("Point", [24.9, 61.0], name="Far")))
    with pytest.raises(vr.InvalidInputError) as single:
        locate(town, read_places(path)[0], field="--places")
    (issue,) = issues_of(single.value)
    assert (issue.file, issue.row, issue.field, issue.name) == (str(path), None, "features[0]", "Far")
