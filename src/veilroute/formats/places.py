"""Places with names, and priors: from tables, GeoJSON, GPX, KML and GeoPackages to what ``locate`` takes.

A place has coordinates, or where these are left out an address or the id of a node. Coordinates stand in two columns or
in one. Either all places have a name or none has. All that is wrong with a file is told at once.

A prior is a table of ``place`` and ``weight``, or places with a ``weight``.
"""

import difflib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from veilroute.base.checks import is_number
from veilroute.base.errors import FileFormatError, InvalidInputError, Problems, blame_file, shorten
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.formats.points import Record, Spot, read_records, table_records
from veilroute.formats.sheets import TABLES, OpenCommaError, Sheet, number_of_text
from veilroute.model.problem import checked_prior
from veilroute.streets.coordinates import read_degrees, read_lat_lon
from veilroute.streets.places import ROLES, Place, locate

ALIASES = {
    "name": (
        "name", "title", "label", "place", "place_name", "customer", "client", "site", "nimi", "asiakas", "namn",
        "kunde", "nom", "nombre",
    ),
    "lat": ("lat", "latitude", "y", "lat_dd", "gps_lat", "leveysaste", "breitengrad"),
    "lon": ("lon", "lng", "long", "longitude", "x", "lon_dd", "gps_lon", "pituusaste", "längengrad"),
    "coordinates": (
        "coordinates", "coordinate", "coords", "lat_lon", "latlon", "lat_lng", "latlng", "lat_long", "latlong",
        "latitude_longitude", "gps", "position", "wkt", "geometry", "koordinaatit", "koordinaten", "coordonnées",
    ),
    "address": ("address", "addr", "street_address", "location", "osoite", "adress", "adresse", "dirección"),
    "node": ("node", "osmid", "id", "feature_id"),
    "role": ("role",),
    "weight": ("weight",),
}  # fmt: skip
"""What columns may be called, by the keys of :func:`~veilroute.formats.sheets.header_key`; the first that is there
counts."""

#: What people call the roles of places, for suggestions.
_ROLE_WORDS = {role: role for role in ROLES} | {
    "customer": "candidate", "client": "candidate", "stop": "candidate", "branch": "candidate", "depot": "start",
    "origin": "start", "end": "goal", "finish": "goal", "destination": "goal",
}  # fmt: skip

_KNOWN = frozenset(alias for aliases in ALIASES.values() for alias in aliases)
_POINT_KEYS = frozenset(alias for what in ("lat", "lon", "coordinates", "address", "node") for alias in ALIASES[what])


def read_places(path: str | Path) -> list[Place]:
    """Read the places of a file, in order.

    The file is a table (``.csv``, ``.tsv``, ``.txt``, ``.xlsx``), GeoJSON (``.geojson``, ``.json``), or a ``.gpx``,
    ``.kml``, ``.kmz`` or ``.gpkg`` file. All that is wrong with it is raised at once, as a
    :class:`~veilroute.base.errors.ManyProblemsError` where that is more than one thing.
    """
    places, problems = scan_places(path)
    problems.raise_all()
    return places


def scan_places(path: str | Path) -> tuple[list[Place], Problems]:
    """The places of a file that can be used, in order, and what is wrong with the others."""
    problems = Problems()
    places: list[Place] = []
    with problems.collecting():
        for record in _records(path, problems, "places"):
            with problems.collecting():
                places.append(_place(record))
            if problems.is_full:
                break
    if not places and not len(problems):
        problems.add(FileFormatError(path, "no places in the file"))
    return _check_together(path, places, problems), problems


def _records(path: str | Path, problems: Problems, what: str) -> Iterator[Record]:
    if Path(path).suffix.lower() not in TABLES:
        return read_records(path, problems, what)
    sheet = Sheet(path, _KNOWN)
    if what == "prior":
        weight = sheet.need("the weight", *ALIASES["weight"])
        if _has_texts(sheet.columns):
            sheet.need("the place", "place", "name")
        return _with_numbers(sheet, weight, problems)
    if sheet.columns and not _says_where(sheet.columns):
        shown = ", ".join(repr(name[:20]) for name in sheet.columns[:6])
        wanted = "expected a header with the columns name, lat, lon (or name, coordinates; name, address; name, id)"
        raise sheet.error(f"{wanted}; got {shown}")
    return table_records(sheet, problems)


def _with_numbers(sheet: Sheet, column: int, problems: Problems) -> Iterator[Record]:
    """The records of a table; in one column numbers, where they are some, by the use of commas in all of it."""
    name, comma_is_decimal = sheet.columns[column], sheet.comma_is_decimal(column)
    for record in table_records(sheet, problems):
        with suppress(ValueError):  # what is none, or open, is told of where it is used
            record.cells[name] = number_of_text(record.cells[name], comma_is_decimal=comma_is_decimal)
        yield record


def _says_where(columns: Collection[str]) -> bool:
    has = {what: any(alias in columns for alias in aliases) for what, aliases in ALIASES.items()}
    return (has["lat"] and has["lon"]) or has["coordinates"] or has["address"] or has["node"]


def _has_texts(columns: Collection[str]) -> bool:
    """Whether the rows of a prior name their places only: by a name, an id or coordinates as one types them."""
    return "place" in columns or not _POINT_KEYS & set(columns)


def _place(record: Record) -> Place:
    """The place in a record. What is empty was not given. Coordinates go before addresses, these before ids."""
    # A no-break space is a space to whoever types the name.
    name = _text(record, "name").replace("\u00a0", " ").replace("\u202f", " ")
    role = _text(record, "role").lower() or "candidate"
    if not name.isprintable():
        raise record.spot.error("the name has signs that cannot be printed; write it again", column="name")
    spot = replace(record.spot, name=name or None)
    if role not in ROLES:
        near = difflib.get_close_matches(role[:40], _ROLE_WORDS, 1)
        meant = [_ROLE_WORDS[each] for each in near]
        said = f"the role {role[:20]!r} is not known; write start, goal or candidate"
        raise spot.error(said, column="role", did_you_mean=meant)
    lat, lon = _coordinates(replace(record, spot=spot))
    address, node = _text(record, "address"), _text(record, "node")
    if lat is None and address:
        try:
            lat, lon = read_lat_lon(address)
        except ValueError:
            node = address
    if (lat is None) != (lon is None):
        missing, column = ("latitude", "lat") if lat is None else ("longitude", "lon")
        raise spot.error(f"there is no {missing}; write both latitude and longitude, or an address", column=column)
    if lat is None and not node:
        raise spot.error("there is no address; write one, or latitude and longitude, or the id of a junction")
    try:
        return Place(name or None, lat, lon, node if lat is None else None, role, f"{spot.path}, {spot.text}")
    except InvalidInputError:
        raise spot.error("latitude and longitude must be numbers of degrees") from None


def _coordinates(record: Record) -> tuple[float | None, float | None]:
    if record.lat is not None:
        return record.lat, record.lon
    lat, lon, both = (_text(record, what) for what in ("lat", "lon", "coordinates"))
    if both and not (lat and lon):
        try:
            return read_lat_lon(both)
        except ValueError as error:
            raise record.spot.error(f"{error}, got {both[:30]!r}", column="coordinates") from None
    return _degrees(lat, "lat", record.spot), _degrees(lon, "lon", record.spot)


def _degrees(text: str, axis: str, spot: Spot) -> float | None:
    try:
        return read_degrees(text, axis) if text else None
    except ValueError as error:
        raise spot.error(f"{axis}: {error}, got {text[:20]!r}", column=axis) from None


def _value(record: Record, what: str) -> Any:
    """What a record says under the first name that it has for something."""
    return next((record.cells[alias] for alias in ALIASES[what] if record.cells.get(alias) is not None), None)


def _text(record: Record, what: str) -> str:
    value = _value(record, what)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise record.spot.error(f"{what}: expected text", column=what)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value) if is_whole else value).strip()


def _check_together(path: str | Path, places: list[Place], problems: Problems) -> list[Place]:
    """Names for all or for none, no name twice, at most one start and one goal; the places that fit together so."""
    kept = []
    seen: dict[tuple[str, str | None], str] = {}  # where each name and role was first
    is_named = any(place.name is not None for place in places)
    for place in places:
        where = place.origin.removeprefix(f"{path}, ")
        spot = Spot(path, int(where[5:])) if where.startswith("line ") else Spot(path, part=where)
        if problems.is_full:
            break
        num_problems = len(problems)
        if is_named and place.name is None:
            problem = "this place has no name, and others have one; name it, or none of them"
            problems.add(spot.error(problem, column="name"))
        for what, text in (("name", place.name), ("role", None if place.role == "candidate" else place.role)):
            first = seen.setdefault((what, text), where)
            if text is not None and first != where:
                remedy = "rename or delete one of them" if what == "name" else "keep one of them"
                same = f"{first} has the same {what}, {shorten(text)}; {remedy}"
                problems.add(replace(spot, name=place.name).error(same, column=what))
        if len(problems) == num_problems:
            kept.append(place)
    return kept


def read_prior(
    path: str | Path,
    domain: Domain,
    candidates: Sequence[Label],
    names: Mapping[Label, str],
    *,
    ends: Collection[Label] = (),
) -> tuple[float, ...]:
    """Read how probable each candidate is beforehand: weights in the order of the candidates, summing to 1.

    The file is a table of ``place`` and ``weight``, or any file of places with a ``weight`` for each. In a table, a
    place is one of the ``names``, or else what :func:`~veilroute.streets.places.locate` makes of the text. Starts and
    goals (``ends``) may be in the file and need not be: they are never the secret.
    """
    known = [Place(name, node=label_text(label)) for label, name in names.items()]
    weights: dict[Label, float] = {}
    first: dict[Label, str] = {}  # where each place was first
    wanted, called = set(candidates), set(names.values())
    problems = Problems()
    for record in _records(path, problems, "prior"):
        with problems.collecting():
            spot = record.spot
            if _has_texts(record.cells) and record.lat is None:
                text = str(record.cells.get("place", record.cells.get("name")) or "")
                label = locate(domain, text, field=f"{path}, {spot.text}", places=known).label
                shown, is_end = text, label in ends
            else:
                place = _place(record)
                # The coordinates may be those of a door, which has its name for a label.
                meant = place.name if place.name in called else place
                label = locate(domain, meant, field=place.origin, places=known).label
                shown, is_end = str(place), label in ends or place.role in ("start", "goal")
            if is_end:
                continue
            if label not in wanted:
                raise spot.error(f"{shown[:60]} is not among the candidates; leave it out, or plan for it as well")
            if first.setdefault(label, spot.text) != spot.text:
                raise spot.error(f"{shown[:60]} has a weight already, in {first[label]}; keep one")
            weights[label] = _weight(_value(record, "weight"), spot)
    problems.raise_all()
    for label in candidates:
        if label not in weights and label not in ends:
            missing = names.get(label) or label_text(label)
            raise FileFormatError(path, f"no weight for {missing[:60]}; write 0 for a place that is never the secret")
    with blame_file(path):
        return checked_prior([weights.get(label, 0.0) for label in candidates], len(candidates))


def _weight(given: object, spot: Spot) -> float:
    value: object = given
    if isinstance(given, str):
        try:
            value = number_of_text(given)
        except OpenCommaError as error:
            raise spot.error(f"weight: {error}") from None
        except ValueError:
            value = None
    if not is_number(value, 0, sys.float_info.max):
        got = "nothing" if given is None or given == "" else shorten(given)
        raise spot.error(f"expected a finite number >= 0 as weight, got {got}", column="weight")
    return float(value)
