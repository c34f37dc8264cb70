"""Files that come in: what they are called, what kind they are, and which are not taken.

Nothing is unpacked or parsed here: the kind is told by the name and by how the content begins. What a file really holds
shows in a worker, which has a bound on its memory.
"""

import codecs
import re
import unicodedata
from pathlib import Path

from veilroute.base.errors import FileFormatError, InvalidInputError, printable

KINDS = ("map", "scenario", "instance", "network", "osm", "table", "playbook", "ledger")
"""All kinds of files."""

MOST_NAME = 120
_HEAD = 2**16

_BY_SUFFIX = {
    ".map": "map", ".scen": "scenario", ".in": "instance",
    ".osm.pbf": "osm", ".pbf": "osm", ".osm": "osm", ".osm.gz": "osm", ".osm.bz2": "osm",
    ".npz": "network", ".graphml": "network", ".gr": "network", ".gr.gz": "network",
    ".csv": "table", ".xlsx": "table", ".tsv": "table", ".txt": "table", ".geojson": "table", ".kml": "table",
    ".gpx": "table", ".kmz": "table", ".gpkg": "table", ".json": "json", ".jsonl": "json", ".ledger": "json",
}  # fmt: skip
_BY_FORMAT = {
    b"veilroute-playbook/": "playbook", b"veilroute-instance/": "instance", b"veilroute-network/": "network",
    b"veilroute-ledger/": "ledger",
}  # fmt: skip
# How the content of a file begins, by its ending: what it is called, and a pattern of its first bytes or words.
_ZIP, _GZIP = rb"PK\x03\x04", rb"\x1f\x8b"
_LOOKS: dict[str, tuple[str, str | bytes]] = {
    ".map": ("a Moving AI map", r"(?m)^\s*(type|height|width)\s"), ".in": ("an instance", r"\s*\d+\s+\d+\s"),
    ".scen": ("a scenario", r"\s*(version\b|\d+\s+\S+\s+\d+\s+\d+\s)"),
    ".osm.pbf": ("a map from OpenStreetMap", rb".{4}\x0a\x09OSMHeader"), ".osm.gz": ("packed by gzip", _GZIP),
    ".osm.bz2": ("packed by bzip2", rb"BZh[1-9]"), ".osm": ("a map from OpenStreetMap", r"<osm\b"),
    ".npz": ("a network", _ZIP), ".graphml": ("a network as GraphML", r"<(\w+:)?graphml\b"),
    ".gr": ("a DIMACS network", r"(?m)^[cp]\s"), ".gr.gz": ("packed by gzip", _GZIP), ".xlsx": ("a workbook", _ZIP),
    ".csv": ("text", r"\S"), ".tsv": ("text", r"\S"), ".txt": ("text", r"\S"), ".geojson": ("GeoJSON", r"\s*\{"),
    ".kml": ("KML", r"<(\w+:)?kml\b"), ".gpx": ("GPX", r"<(\w+:)?gpx\b"), ".kmz": ("packed KML", _ZIP),
    ".gpkg": ("a GeoPackage", rb"SQLite format 3\x00"),
}  # fmt: skip
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean_name(text: str) -> str:
    """A file's name as it is shown: its last part, in one line, without signs that turn the writing's direction."""
    last = re.split(r"[/\\]", text[: 4 * MOST_NAME])[-1]
    last = _BIDI.sub("", unicodedata.normalize("NFC", last.encode("utf-8", "replace").decode()))
    plain = " ".join(printable(last).split()).strip(". ")
    if len(plain) > MOST_NAME:
        stem, suffix = plain[:-20], plain[-20:]
        plain = stem[: MOST_NAME - 21] + "…" + suffix
    return plain or "file"


def known_suffix(name: str) -> str:
    """The ending of a name by which commands tell what a file is; empty for one that they do not know."""
    lower = name.lower()
    return max((suffix for suffix in _BY_SUFFIX if lower.endswith(suffix)), key=len, default="")


def classify(path: Path, name: str) -> tuple[str, str]:
    """The kind of a file that came in, and the ending under which commands get it.

    Raises
    ------
    InvalidInputError, FileFormatError
        Where it is nothing that the studio can use, or a private key, which has no business on a server.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if b"veilroute-key/" in head:
        raise InvalidInputError("file", "anything but a private key: keys stay with their owners, and in the browser")
    if not head.strip():
        raise InvalidInputError("file", "a file that is not empty")
    suffix = known_suffix(name)
    if not suffix:
        raise InvalidInputError("file", f"a name with one of the endings {' '.join(sorted(_BY_SUFFIX))}")
    kind = _BY_SUFFIX[suffix]
    if kind == "json":
        return _classify_json(path, head)
    suffix = ".osm.pbf" if suffix == ".pbf" else suffix
    what, beginning = _LOOKS[suffix]
    if not _begins_like(head, beginning):
        raise FileFormatError(name, f"the name ends with {suffix}, but the content is not {what}; choose another file")
    if suffix == ".csv" and _is_edge_table(head):
        kind = "network"
    return kind, suffix


def _begins_like(head: bytes, beginning: str | bytes) -> bool:
    """Whether a file's first bytes are what they should be: such bytes, or text with such words."""
    if isinstance(beginning, bytes):
        return re.match(beginning, head, re.DOTALL) is not None
    text = _as_text(head)
    find = re.search if beginning.startswith(("<", "(?m)")) else re.match
    return text is not None and find(beginning, text) is not None


def _as_text(head: bytes) -> str | None:
    """The first part of a file as text, as far as that can be told; ``None`` where it is no text."""
    zeros = [head[first::2].count(0) for first in (0, 1)]
    encoding = "utf-8"
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif 4 * max(zeros) >= len(head):
        encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)  # the last letter may be cut off
    except UnicodeDecodeError:
        text = head.decode("cp1252", "replace")
    return None if _CONTROLS.search(text) else text.removeprefix("\ufeff")


def _classify_json(path: Path, head: bytes) -> tuple[str, str]:
    """The kind of a JSON file, by the first word of ours in it; of other JSON only points of a map are of use."""
    if (kind := _named_format(head)) is None and b'"FeatureCollection"' not in head:
        kind = _search_format(path)
    if kind == "ledger":
        return kind, ".jsonl"
    if kind is not None:
        return kind, ".json"
    if b'"FeatureCollection"' in head or b'"Feature"' in head:
        return "table", ".geojson"
    raise InvalidInputError("file", "JSON made by veilroute, or GeoJSON: the file says of itself that it is neither")


def _named_format(part: bytes) -> str | None:
    found = {part.find(word): kind for word, kind in _BY_FORMAT.items() if word in part}
    return found[min(found)] if found else None


def _search_format(path: Path) -> str | None:
    """Look for the format further on: keys are sorted in our files, and a domain may come before it."""
    before = b""
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            if (kind := _named_format(before + chunk)) is not None:
                return kind
            before = chunk[-64:]
    return None


def _is_edge_table(head: bytes) -> bool:
    """Whether a table has the columns of a network's edges."""
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").lower()
    words = set(re.split(r"[,;\t\"'\s]+", first.lstrip("\ufeff")))
    return {"from", "to"} <= words or {"u", "v"} <= words or {"source", "target"} <= words
