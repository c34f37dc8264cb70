"""Tables with a header, as people save them: text in several encodings and with several separators, and ``.xlsx``.

Headers are compared without capitals, units and signs: ``Lat / Lon (deg)`` is ``lat_lon``, and ``from_`` is ``from``. A
number may have a decimal comma. What may be a decimal comma or one between thousands is decided by the other numbers of
the column, and refused where these leave it open; in a column with decimal commas, points stand between thousands.
"""

import codecs
import csv
import io
import math
import re
import unicodedata
import warnings
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from veilroute.base.errors import FileFormatError, MissingExtraError
from veilroute.base.io import read_bytes

TABLES = (".csv", ".tsv", ".txt", ".xlsx")  #: what the names of tables end with
Row = tuple[int, list[str]]  # the line of a file, and its cells

_MARKS = {
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ZIP = b"PK\x03\x04"
_SEPARATORS = ",;\t|"
_GAIN, _FREE_BYTES = 60, 2**26  # what a workbook may unpack to
_LAST_ROW = 1_048_576  # of a sheet, in every program that writes one
_MOST_COLUMNS, _LONGEST_HEADER = 10_000, 100
_THOUSANDS = re.compile(r"(?<=\d)[ '’\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_OPEN_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_OPEN_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+", re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d*", re.ASCII)


def decode_text(raw: bytes, path: str | Path) -> str:
    """The text in a file's bytes: by its mark, else UTF-16 or UTF-8 where it is one, else that of Windows (cp1252)."""
    if not raw.strip(b"\0\t\n\r "):
        raise FileFormatError(path, "the file is empty")
    for mark, encoding in _MARKS.items():
        if raw.startswith(mark):
            return _decoded(raw[len(mark) :], encoding, path)
    beginning = raw[:2000]
    if b"\0" in beginning:
        zeros = [beginning[first::2].count(0) for first in (0, 1)]
        if min(zeros) > 0.1 * max(zeros) or 4 * max(zeros) < len(beginning):
            raise FileFormatError(path, "not text; check that it is the right file")
        return _decoded(raw, "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le", path)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        num_good = len(_SEQUENCE.findall(raw))
        if num_good > sum(byte > 127 for byte in _SEQUENCE.sub(b"", raw)):
            line = raw.count(b"\n", 0, error.start) + 1
            raise FileFormatError(path, "UTF-8 except for a few letters; save it as UTF-8", line) from None
    return _decoded(raw, "cp1252", path)


def _decoded(raw: bytes, encoding: str, path: str | Path) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        raise FileFormatError(path, "not text; check that it is the right file, or save it as UTF-8") from None


def header_key(text: str) -> str:
    """What a header is compared by."""
    bare = re.sub(r"\([^)]*\)|\[[^]]*\]", " ", unicodedata.normalize("NFKC", text).casefold())
    return re.sub(r"\W+", "_", bare).strip("_")


class Sheet:
    """A table with a header.

    Parameters
    ----------
    path
        A ``.xlsx`` file, of whose sheets the one is taken that has the most of the ``known`` columns, or text, whose
        separator is found in the same way; of equals the first.
    known
        The keys of columns that are looked for.
    raw
        What is in the file, where it was read already; then a workbook is told by its first bytes.
    """

    def __init__(self, path: str | Path, known: Collection[str], *, raw: bytes | None = None) -> None:
        self.path = path
        self.line = 1  #: the line that was read last
        is_workbook = Path(path).suffix.lower() == ".xlsx" if raw is None else raw.startswith(_ZIP)
        content = read_bytes(path) if raw is None else raw
        self._rows = _read_workbook(content, path, known) if is_workbook else None
        self._text = "" if is_workbook else _with_plain_ends(decode_text(content, path))
        self._separator = "" if is_workbook else _separator(self._text, known)
        self._may_have_commas = is_workbook or self._separator != "," or '"' in self._text
        self._comma_is_decimal: dict[int, bool | None] = {}
        header = next((row for _, row in self._all_rows() if any(row)), [])
        if len(header) > _MOST_COLUMNS:
            raise self.error(f"{len(header):,} columns, and at most {_MOST_COLUMNS:,} are read")
        self.columns = [header_key(name[:_LONGEST_HEADER]) for name in header]

    def _all_rows(self) -> Iterator[Row]:
        if self._rows is not None:
            yield from self._rows
            return
        text = io.StringIO(self._text, newline="")
        rows = csv.reader(text, delimiter=self._separator, strict=True, skipinitialspace=True)
        try:
            for row in rows:
                self.line = rows.line_num
                yield rows.line_num, [cell.strip() for cell in row]
        except csv.Error as error:
            self.line = rows.line_num
            raise self.error(f"not a table ({error}); check quotes and separators") from None

    def __iter__(self) -> Iterator[list[str]]:
        """The rows below the header that are not empty."""
        is_below = False
        for line, row in self._all_rows():
            self.line = line
            if any(row):
                if is_below:
                    yield row
                is_below = True

    def lines(self) -> Iterator[Row]:
        """All lines that are not empty, the first included, each as one cell: a list that has no header."""
        if self._rows is not None:
            yield from ((line, [",".join(filter(None, row))]) for line, row in self._rows)
            return
        for line, text in enumerate(self._text.split("\n"), start=1):
            bare = text.strip()
            if len(bare) > 1 and bare[0] == bare[-1] == '"':
                bare = bare[1:-1].replace('""', '"')
            if bare:
                yield line, [bare]

    def error(self, problem: str) -> FileFormatError:
        """An error about the line that was read last."""
        return FileFormatError(self.path, problem, self.line)

    def find(self, *names: str) -> int | None:
        """Where the column of one of these names is, if there is one."""
        columns = [i for i, name in enumerate(self.columns) if name in names]
        if len(columns) > 1:
            raise self.error(f"columns {' and '.join(self.columns[i] for i in columns)} mean the same; keep one")
        return columns[0] if columns else None

    def need(self, what: str, *names: str) -> int:
        """Where the column of one of these names is."""
        column = self.find(*names)
        if column is None:
            shown = ", ".join(self.columns)[:60]
            raise self.error(f"no column for {what}; call it {' or '.join(names)} (found: {shown})")
        return column

    def full_rows(self) -> Iterator[list[str]]:
        """The rows below the header, each as wide as it."""
        width = len(self.columns)
        for row in self:
            if len(row) < width or any(row[width:]):
                raise self.error(f"expected {width} columns, as in the header, got {len(row)}")
            yield row[:width]

    def number(self, row: list[str], column: int, least: float = -math.inf) -> int | float:
        """The finite number in a cell."""
        text = row[column]
        try:
            is_open = _OPEN_COMMA.fullmatch(text) or (self._may_have_commas and _OPEN_POINT.fullmatch(text))
            if is_open and column not in self._comma_is_decimal:
                self._comma_is_decimal[column] = self.comma_is_decimal(column)
            value = number_of_text(text, comma_is_decimal=self._comma_is_decimal.get(column))
        except OpenCommaError as error:
            raise self.error(f"{self.columns[column]}: {error}") from None
        except ValueError:
            value = math.nan
        if not least <= value < math.inf or value == -math.inf:
            wanted = "a number" if least < 0 else f"a finite number >= {least:g}"
            raise self.error(f"expected {wanted} as {self.columns[column]}, got {text[:20]!r}")
        return value

    def comma_is_decimal(self, column: int) -> bool | None:
        """Whether commas of a column are decimal commas, by its other cells; ``None`` where they do not say."""
        line = self.line
        cells = [row[column] for row in self if column < len(row)]
        self.line = line
        if any(_DECIMAL_COMMA.fullmatch(cell) and not _OPEN_COMMA.fullmatch(cell) for cell in cells):
            return True
        if any(_POINT_GROUPS.fullmatch(cell) for cell in cells):
            return True
        return False if any("." in cell for cell in cells) else None


class OpenCommaError(ValueError):
    """A comma that may be decimal or stand between thousands."""

    def __init__(self, text: str) -> None:
        two_ways = "may have a decimal comma or one between thousands; write it with a point, or without the comma"
        super().__init__(f"{text[:20]} {two_ways}")


def number_of_text(text: str, *, comma_is_decimal: bool | None = None) -> int | float:
    """A number as written, with a decimal point or comma: an integer where it is one.

    Raises ``ValueError`` where it is none, and :class:`OpenCommaError` where nobody says what the comma is.
    """
    bare = _THOUSANDS.sub("", text.strip())
    if "_" in bare:
        raise ValueError
    if _POINT_GROUPS.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    elif comma_is_decimal and _OPEN_POINT.fullmatch(bare):
        bare = bare.replace(".", "")
    elif _OPEN_COMMA.fullmatch(bare):
        if comma_is_decimal is None:
            raise OpenCommaError(bare)
        bare = bare.replace(",", "." if comma_is_decimal else "")
    elif _COMMA_GROUPS.fullmatch(bare):
        bare = bare.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(bare):
        bare = bare.replace(",", ".")
    return int(bare) if _WHOLE.fullmatch(bare) and len(bare) < 19 else float(bare)


def _with_plain_ends(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _separator(text: str, known: Collection[str]) -> str:
    """The sign that parts the header into most columns that are known, else into most columns."""
    header = next((line for line in text.split("\n") if line.strip()), "")

    def merit(separator: str) -> tuple[int, int]:
        cells = header.split(separator)
        keys = [header_key(cell[:_LONGEST_HEADER].strip(' "')) for cell in cells[:_MOST_COLUMNS]]
        return sum(key in known for key in keys), len(cells)

    return max(_SEPARATORS, key=merit)


def _read_workbook(raw: bytes, path: str | Path, known: Collection[str]) -> list[Row]:
    """The rows of the sheet with the most known columns; cells as text."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "streets") from None
    most = _FREE_BYTES + _GAIN * len(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            is_bomb = sum(part.file_size for part in archive.infolist()) > most
        if is_bomb:
            raise FileFormatError(path, "unpacks to far more than a workbook does; save it again")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and checks that are of no use here
            book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
            sheets = [_rows_of_sheet(sheet) for sheet in book.worksheets]
    except FileFormatError:
        raise
    except Exception:  # the library lets through what its parts raise
        problem = "damaged, protected by a password, or no workbook; save it again as .xlsx or .csv"
        raise FileFormatError(path, problem) from None
    sheets = [rows for rows in sheets if rows]
    if not sheets:
        raise FileFormatError(path, "the file is empty")
    return max(sheets, key=lambda rows: sum(header_key(cell) in known for cell in rows[0][1]))


def _rows_of_sheet(sheet: Any) -> list[Row]:
    sheet.reset_dimensions()  # a file may claim to be much larger than it is
    rows = []
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if line > _LAST_ROW:  # the library fills a gap before any row number with rows
            raise ValueError(line)
        texts = [_text_of_cell(cell) for cell in cells]
        if any(texts):
            rows.append((line, texts))
    width = len(rows[0][1]) if rows else 0
    return [(line, texts + [""] * (width - len(texts))) for line, texts in rows]


def _text_of_cell(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
    return str(cell).strip()
