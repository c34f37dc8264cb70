"""JSON in and out, in one canonical form: sorted keys, no spaces, one newline at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from veilroute.errors import FileFormatError


def dump_canonical(data: object) -> bytes:
    """Serialise plain data so that equal data gives equal bytes."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def parse_json(raw: bytes, source: object) -> Any:
    """Parse JSON, or raise a :class:`~veilroute.errors.FileFormatError` that names the source and line."""
    if not raw.strip():
        raise FileFormatError(source, "the file is empty; expected JSON")
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise FileFormatError(
            source, f"not valid JSON ({error.msg}); check that it is complete", error.lineno
        ) from None


def read_bytes(path: str | Path) -> bytes:
    """Read a file, turning the operating system's refusals into a line for the user."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileFormatError(path, "no such file; check the path") from None
    except IsADirectoryError:
        raise FileFormatError(path, "this is a directory; name a file in it") from None
    except ValueError:
        raise FileFormatError("file name", "not a path; it holds a null byte") from None
    except OSError as error:
        raise FileFormatError(path, f"cannot be read ({error.strerror}); check its permissions") from None


def read_text(path: str | Path) -> str:
    """Read a text file as UTF-8 with any line ends."""
    raw = read_bytes(path)
    if not raw.strip():
        raise FileFormatError(path, "the file is empty")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileFormatError(path, "not text in UTF-8; check that it is the right file, or save it as UTF-8") from None
