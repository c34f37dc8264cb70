"""Zip archives of maps: whether they are sound, and what is in them."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Generator
from pathlib import Path, PurePosixPath

from veilroute.errors import DownloadError, FileFormatError

SUFFIXES = (".map", ".scen")

MAX_MEMBER_BYTES = 64 * 2**20
"""The largest benchmark map is near 1 MB; a member beyond this is no map."""
MAX_ARCHIVE_BYTES = 2**30
"""All members of an archive together, unpacked; the real ones stay below 100 MB."""

UNSOUND_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What zipfile raises, depending on where the damage is."""


def find_archive_problem(path: Path) -> str:
    """Return what is wrong with a zip archive, in a few words; empty when every member unpacks."""
    if not path.is_file():
        return "no file"
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_ARCHIVE_BYTES:
                return f"it unpacks to more than {MAX_ARCHIVE_BYTES // 2**20} MB"
            bad = archive.testzip()
    except UNSOUND_ZIP as error:
        return f"no sound zip archive: {error}"
    return "" if bad is None else f"{bad} does not unpack"


def read_members(zip_path: Path) -> Generator[tuple[str, bytes], None, None]:
    """Yield name and content of each map and scenario of an archive, refusing what no honest archive holds."""
    seen: dict[str, int] = {}
    if zip_path.exists() and not zip_path.is_file():
        raise FileFormatError(zip_path, "not a file; name a zip archive")
    try:
        with zipfile.ZipFile(zip_path) as archive:
            members = [(_plain_name(zip_path, info), info) for info in archive.infolist() if not info.is_dir()]
            members = [(name, info) for name, info in members if name.endswith(SUFFIXES) and not name.startswith("._")]
            # The sizes are what the directory claims; zipfile never hands out more than that for a member.
            if sum(info.file_size for _, info in members) > MAX_ARCHIVE_BYTES:
                raise DownloadError(
                    f"{zip_path.name}: unpacks to more than {MAX_ARCHIVE_BYTES // 2**20} MB; check --url"
                )
            for name, info in members:
                if info.file_size > MAX_MEMBER_BYTES:
                    raise DownloadError(
                        f"{zip_path.name}: {name} unpacks to more than {MAX_MEMBER_BYTES // 2**20} MB; check --url"
                    )
                data = archive.read(info)
                if seen.setdefault(name, info.CRC) != info.CRC:
                    raise DownloadError(f"{zip_path.name}: holds two different files named {name}; check --url")
                yield name, data
    except FileNotFoundError:
        raise FileFormatError(zip_path, "no such file; check the path") from None
    except UNSOUND_ZIP as error:
        raise DownloadError(f"{zip_path.name}: not a sound zip archive ({error}); run the command again") from None


def _plain_name(zip_path: Path, info: zipfile.ZipInfo) -> str:
    """The file name of a member without directories; archives of several origins nest their files differently."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in info.filename:
        raise DownloadError(f"{zip_path.name}: unsafe member {info.filename!r}; nothing was installed, check --url")
    return path.name
