"""Points with names from other programs: GeoJSON, GPX waypoints, KML and KMZ placemarks, GeoPackages, tables.

Each reader gives records: what the file says of a point, by the keys of :func:`~veilroute.formats.sheets.header_key`,
and where in the file. What is wrong with one point is added to the problems of the file, and the next one is read.
"""

import contextlib
import io
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from veilroute.base.checks import is_number
from veilroute.base.errors import FileFormatError, Problems, UnknownMethodError
from veilroute.base.io import MAX_BYTES, open_regular, parse_json, read_bytes
from veilroute.formats.sheets import TABLES, Sheet, decode_text, header_key

SUFFIXES = (*TABLES, ".geojson", ".json", ".gpx", ".kml", ".kmz", ".gpkg")  #: what the names of such files end with
_DEEPEST = 100
_MOST_ROWS = 1_000_000
_ENVELOPES = (0, 32, 48, 48, 64, 0, 0, 0)  # bytes of the boxes that may stand before a shape of a GeoPackage
_GEOGRAPHIC = {("epsg", 4326), ("epsg", 4258), ("epsg", 4269), ("ogc", 84)}  # longitude and latitude, to a metre


@dataclass(frozen=True)
class Spot:
    """Where in a file something is: a line, or the name of a part."""

    path: str | Path
    line: int | None = None
    part: str = ""
    name: str | None = None  #: what the place there is called

    @property
    def text(self) -> str:
        """The place without the file: ``line 3``."""
        return self.part if self.line is None else f"line {self.line}"

    def error(self, problem: str, *, column: str | None = None, did_you_mean: Sequence[str] = ()) -> FileFormatError:
        """An error about it."""
        about: dict[str, Any] = {"part": None if self.line else self.part, "column": column, "name": self.name}
        return FileFormatError(self.path, problem, self.line, did_you_mean=did_you_mean, **about)


@dataclass(frozen=True)
class Record:
    """What a file says of a point."""

    spot: Spot
    cells: dict[str, Any]
    lat: float | None = None
    lon: float | None = None


def read_records(path: str | Path, problems: Problems, what: str) -> Iterator[Record]:
    """The points of a file that is no table; ``what`` the file is, for messages."""
    match Path(path).suffix.lower():
        case ".geojson" | ".json":
            return _read_geojson(path, problems)
        case ".gpx" | ".kml":
            return _read_xml(path, read_bytes(path), problems)
        case ".kmz":
            return _read_xml(path, _unzipped(path), problems)
        case ".gpkg":
            return _read_geopackage(path, problems)
        case suffix:
            raise UnknownMethodError(f"{what} format", suffix or str(path), SUFFIXES)


def table_records(sheet: Sheet, problems: Problems) -> Iterator[Record]:
    """The points of a table, one in each row."""
    width = len(sheet.columns)
    for row in sheet:
        if problems.is_full:
            return
        if any(row[width:]):
            problems.add(
                sheet.error(
                    f"{len(row)} values for {width} columns; write decimals with a point, and quotes round "
                    "text that holds a separator"
                )
            )
            continue
        # Of two columns with the same header the first counts.
        cells = dict(zip(reversed(sheet.columns), reversed((row + [""] * width)[:width]), strict=True))
        yield Record(Spot(sheet.path, sheet.line), cells)


def _read_geojson(path: str | Path, problems: Problems) -> Iterator[Record]:
    data = parse_json(decode_text(read_bytes(path), path).encode(), path)
    is_collection = isinstance(data, dict) and data.get("type") == "FeatureCollection"
    if not is_collection or not isinstance(data.get("features"), list):
        raise FileFormatError(path, "expected a GeoJSON FeatureCollection of Points")
    for number, feature in enumerate(data["features"]):
        spot = Spot(path, part=f"features[{number}]")
        with problems.collecting():
            if not isinstance(feature, dict) or feature.get("type") != "Feature":
                raise spot.error("expected a Feature")
            properties = feature.get("properties") or {}
            if not isinstance(properties, dict):
                raise spot.error("expected an object as properties")
            cells = {"feature_id": feature.get("id")} | {header_key(key): value for key, value in properties.items()}
            yield Record(spot, cells, *_geojson_point(feature.get("geometry"), spot))


def _geojson_point(geometry: Any, spot: Spot) -> tuple[float | None, float | None]:
    """Latitude and longitude of a Point; neither where there is no geometry."""
    match geometry:
        case None:
            return None, None
        case {"type": "Point", "coordinates": [lon, lat, *_]} if is_number(lon) and is_number(lat):
            return float(lat), float(lon)
        case {"type": str(kind)} if kind != "Point":
            raise spot.error(f"expected a Point, got {kind[:20]!r}")
    raise spot.error("expected a Point with coordinates [longitude, latitude]")


@dataclass
class _Element:
    """An element that is still open, and what the elements within it said."""

    kind: str
    line: int
    attributes: dict[str, str]
    text: str = ""
    cells: dict[str, str] = field(default_factory=dict)
    point: str | None = None  # "LON,LAT" of a point within it
    num_points: int = 0
    shape: str = ""  # the kind of another shape within it


class _PointReader:
    """Takes the waypoints of GPX and the placemarks of KML, whatever their name spaces; no tree stands in memory."""

    def __init__(self, path: str | Path, problems: Problems) -> None:
        self.path, self.problems = path, problems
        self.records: list[Record] = []
        self.root = ""
        self._open = [_Element("", 1, {})]
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._take
        self._parser.EntityDeclHandler = self._refuse_entity

    def read(self, raw: bytes) -> None:
        try:
            self._parser.Parse(raw, True)
        except expat.ExpatError as error:
            raise FileFormatError(self.path, "not valid XML; check that it is complete", error.lineno) from None
        except FileFormatError:
            raise
        except (LookupError, ValueError):
            raise FileFormatError(self.path, "not text in an encoding that is known; save it as UTF-8") from None

    def _refuse_entity(self, *_: Any) -> None:
        raise FileFormatError(self.path, "declares entities, which are not read; save it again without")

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition("}")[2]
        self.root = self.root or kind
        self._open.append(_Element(kind, self._parser.CurrentLineNumber, attributes))
        if len(self._open) > _DEEPEST:
            raise FileFormatError(self.path, f"nested more than {_DEEPEST} deep; expected GPX or KML")

    def _take(self, text: str) -> None:
        self._open[-1].text += text

    def _end(self, _: str) -> None:
        done, parent = self._open.pop(), self._open[-1]
        match done.kind:
            case "wpt":
                cells = done.cells | {key: done.attributes.get(key, "") for key in ("lat", "lon")}
                self.records.append(Record(Spot(self.path, done.line), cells))
            case "Placemark":
                self._add_placemark(done)
            case "coordinates" if parent.kind == "Point":
                parent.point = done.text.strip()
            case "Point":
                parent.point = parent.point or done.point or ""
                parent.num_points += 1
            case "LineString" | "Polygon" | "Track" | "Model":
                parent.shape = done.kind
            case "MultiGeometry" | "ExtendedData" | "SchemaData" | "extensions":
                parent.point = parent.point if done.point is None else done.point
                parent.num_points += done.num_points
                parent.shape = parent.shape or done.shape
                parent.cells |= done.cells
            case "Data":
                parent.cells[header_key(done.attributes.get("name", ""))] = done.cells.get("value", "")
            case "SimpleData":
                parent.cells[header_key(done.attributes.get("name", ""))] = done.text.strip()
            case kind:
                parent.cells.setdefault(header_key(kind), done.text.strip())

    def _add_placemark(self, done: _Element) -> None:
        spot = Spot(self.path, done.line)
        cells = {key: text for key, text in done.cells.items() if key not in ("lat", "lon")}
        if done.num_points > 1:
            self.problems.add(spot.error(f"expected one Point, got {done.num_points}"))
            return
        if done.point is None:
            if done.shape:
                self.problems.add(spot.error(f"expected a Point, got {done.shape!r}"))
            else:
                self.records.append(Record(spot, cells))  # maybe with an address
            return
        lon, lat, *_ = [*done.point.split(","), "", ""]
        self.records.append(Record(spot, cells | {"lat": lat.strip(), "lon": lon.strip()}))


def _read_xml(path: str | Path, raw: bytes, problems: Problems) -> Iterator[Record]:
    if not raw.strip():
        raise FileFormatError(path, "the file is empty")
    reader = _PointReader(path, problems)
    reader.read(raw)
    wanted = {".gpx": ("gpx", "waypoints (wpt)")}.get(Path(path).suffix.lower(), ("kml", "placemarks with points"))
    if reader.root != wanted[0]:
        raise FileFormatError(path, f"expected a {wanted[0].upper()} file, got one of {reader.root[:20]!r}")
    if not reader.records and not problems:
        raise FileFormatError(path, f"no places in the file; expected {wanted[1]}")
    yield from reader.records


def _unzipped(path: str | Path) -> bytes:
    """The first ``.kml`` of a ``.kmz``."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            documents = [part for part in archive.infolist() if part.filename.lower().endswith(".kml")]
            if documents and documents[0].file_size < MAX_BYTES // 8:
                return archive.read(documents[0])
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error, zlib.error):
        pass
    raise FileFormatError(path, "damaged, or no .kmz file with a .kml in it; save it again as .kml")


def _read_geopackage(path: str | Path, problems: Problems) -> Iterator[Record]:
    with open_regular(path) as file:  # which says what is wrong with the path
        if not file.read(16).startswith(b"SQLite format 3"):
            raise FileFormatError(path, "no GeoPackage; check that it is complete, and the right file")
    journal = Path(f"{path}-wal")
    if journal.is_file() and journal.stat().st_size:
        raise FileFormatError(path, "open in another program, which has not written all of it; close it there first")
    address = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            yield from _rows_of_points(path, database, problems)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):
        raise FileFormatError(path, "damaged, or no GeoPackage; save it again") from None


def _rows_of_points(path: str | Path, database: sqlite3.Connection, problems: Problems) -> Iterator[Record]:
    # Tables only: reading a view may take any time.
    found = database.execute(
        "SELECT c.table_name, c.column_name, lower(s.organization), s.organization_coordsys_id "
        "FROM gpkg_geometry_columns c JOIN sqlite_master m ON m.name = c.table_name AND m.type = 'table' "
        "LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = c.srs_id "
        "WHERE upper(c.geometry_type_name) IN ('POINT', 'MULTIPOINT', 'GEOMETRY') ORDER BY c.table_name LIMIT 20"
    ).fetchall()
    if len(found) != 1:
        several = ", ".join(str(row[0]) for row in found)
        wanted = f"one table of points, and there are several ({several}); keep one" if found else "a table of points"
        raise FileFormatError(path, f"expected {wanted}")
    ((table, column, organization, number),) = found
    if (organization, number) not in _GEOGRAPHIC:
        system = f"{organization}:{number}".upper() if organization else "a system that is not named"
        raise FileFormatError(path, f"in {system}; save it in EPSG:4326, longitude and latitude")
    quoted = str(table).replace('"', '""')
    rows = database.execute(f'SELECT * FROM "{quoted}" ORDER BY rowid LIMIT {_MOST_ROWS}')
    names = [str(each[0]) for each in rows.description]
    if column not in names:
        raise FileFormatError(path, f"expected a column {str(column)[:40]} of points in {str(table)[:40]}")
    for index, row in enumerate(rows, start=1):
        spot = Spot(path, part=f"row {index} of {str(table)[:40]}")
        cells = {header_key(name): value for name, value in zip(names, row, strict=True) if name != column}
        cells.pop("fid", None)
        with problems.collecting():
            yield Record(spot, cells, *_geopackage_point(row[names.index(column)], spot))


def _geopackage_point(blob: Any, spot: Spot) -> tuple[float | None, float | None]:
    """Latitude and longitude in the binary form of GeoPackages: a head, perhaps an envelope, and then WKB."""
    if blob is None:
        return None, None
    try:
        magic, _, flags = struct.unpack_from("<2sBB", blob)
        at, num_points, kind = 8 + _ENVELOPES[flags >> 1 & 7], 1, 4
        while kind == 4:  # a set of points, perhaps of one
            order = "<" if blob[at] else ">"
            kind, many = struct.unpack_from(f"{order}II", blob, at + 1)
            kind = (kind & 0x0FFFFFFF) % 1000  # without what says that there are heights
            if kind == 4:
                num_points, at = max(num_points, many), at + 9
        lon, lat = struct.unpack_from(f"{order}dd", blob, at + 5)
    except (struct.error, IndexError, TypeError):
        raise spot.error("expected a Point, got something that cannot be read") from None
    if magic != b"GP" or kind != 1 or num_points != 1 or flags & 16:
        raise spot.error("expected one Point")
    return lat, lon
