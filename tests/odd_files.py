"""Files as people have them: the same three places in every kind of file, and small maps with addresses."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

PLACES = (("Kauppa Äijä", 60.1715, 24.9404), ("Pankki", 60.1705, 24.9456), ("Satama", 60.17, 24.9412))
"""Three places beside the streets of the little town: name, latitude, longitude."""

Writer = Callable[[Path], object]


def raw(content: bytes | str) -> Writer:
    """A file with this in it; text in UTF-8."""
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def table(
    header: str, row: str = "{name}{s}{lat}{s}{lon}", *, s: str = ",", encoding: str = "utf-8", mark: bytes = b"",
    ends: str = "\n", comma: bool = False, form: str = "{:.4f}",
) -> Writer:  # fmt: skip
    """A text file with a row for each place; ``comma`` writes decimals with one, ``form`` says how degrees look."""

    def write(path: Path) -> None:
        lines = [header]
        for name, lat, lon in PLACES:
            degrees = [form.format(value).replace(".", "," if comma else ".") for value in (lat, lon)]
            lines.append(row.format(name=name, lat=degrees[0], lon=degrees[1], s=s))
        path.write_bytes(mark + (ends.join(lines) + ends).encode(encoding))

    return write


def lines_of(header: str, row: Callable[[str, float, float], str], encoding: str = "utf-8") -> Writer:
    """A text file whose rows a function makes."""
    return raw(("\n".join([header, *(row(*place) for place in PLACES)]) + "\n").encode(encoding))


def workbook(rows: Sequence[Sequence[object]], *, before: Sequence[Sequence[object]] | None = None) -> Writer:
    """An ``.xlsx`` with these rows, behind another sheet where one is given."""

    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        sheet = book.active
        if before is not None:
            for row in before:
                sheet.append(list(row))
            sheet = book.create_sheet("Data")
        for row in rows:
            sheet.append(list(row))
        book.save(path)

    return write


def geojson(*, key: str = "name", mark: bytes = b"") -> Writer:
    """A FeatureCollection of points."""
    features = [
        {
            "type": "Feature",
            "properties": {key: n, "phone": 5},
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }
        for n, lat, lon in PLACES
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False)
    return raw(mark + text.encode())


def gpx(*, version: str = "1.1", encoding: str = "UTF-8", more: str = "") -> Writer:
    """Waypoints, and what else the file may have."""
    space = f' xmlns="http://www.topografix.com/GPX/1/{version[-1]}"' if version == "1.1" else ""
    points = "".join(f'<wpt lat="{lat}" lon="{lon}"><name>{name}</name></wpt>\n' for name, lat, lon in PLACES)
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<gpx version="{version}"{space}>\n{points}{more}</gpx>\n'
    return raw(text.encode(encoding))


def kml_text(*, extended: bool = False) -> str:
    """Placemarks, in a folder and with data of their own where wanted."""
    marks = ""
    for name, lat, lon in PLACES:
        data = '<ExtendedData><Data name="Role"><value>candidate</value></Data></ExtendedData>' if extended else ""
        point = f"<Point><coordinates>\n {lon},{lat},0 </coordinates></Point>"
        marks += f"<Placemark><name>{name}</name>{data}{point}</Placemark>\n"
    marks = f"<Folder><name>Shops</name>{marks}</Folder>" if extended else marks
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>'
    return f"{head}<name>All</name>{marks}</Document></kml>\n"


def kmz(path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("doc.kml", kml_text())
    path.write_bytes(packed.getvalue())


def geopackage(
    *, is_multi: bool = False, order: str = "<", envelope: bool = False, system: tuple[str, int] = ("EPSG", 4326),
    places: Sequence[tuple[str, float, float]] = PLACES, kind: int | None = None, tables: Sequence[str] = ("shops",),
    num_points: int = 1, is_empty: bool = False,
) -> Writer:  # fmt: skip
    """A GeoPackage with the tables that a reader needs, written from the facts of the standard."""

    def blob(lat: float, lon: float) -> bytes:
        flags = (1 if order == "<" else 0) | (2 if envelope else 0) | (16 if is_empty else 0)
        head = b"GP" + bytes([0, flags]) + struct.pack(f"{order}i", 4326)
        head += struct.pack(f"{order}4d", lon, lon, lat, lat) if envelope else b""
        byte = b"\1" if order == "<" else b"\0"
        point = byte + struct.pack(f"{order}Idd", 1 if kind is None else kind, lon, lat)
        return head + (byte + struct.pack(f"{order}II", 4, num_points) + point * num_points if is_multi else point)

    def write(path: Path) -> None:
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.executescript(
            "CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, "
            "organization_coordsys_id INTEGER, definition TEXT);"
            "CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, "
            "srs_id INTEGER, z INTEGER, m INTEGER);"
        )
        database.execute("INSERT INTO gpkg_spatial_ref_sys VALUES ('a system', 7, ?, ?, '')", system)
        for name in tables:
            database.execute(f'CREATE TABLE "{name}" (fid INTEGER PRIMARY KEY, geom BLOB, "Name" TEXT, note TEXT)')
            shape = "MULTIPOINT" if is_multi else "POINT"
            database.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', ?, 7, 0, 0)", (name, shape))
            for label, lat, lon in places:
                database.execute(f'INSERT INTO "{name}" (geom, "Name") VALUES (?, ?)', (blob(lat, lon), label))
        database.commit()
        database.close()

    return write
