"""Archives of maps: fetched over an unreliable line, checked, and read.

A download is resumed, retried and never glued from two versions. While it is under way there are three files::

    dao-map.zip.part           what has arrived so far; stays when a download is given up or interrupted
    dao-map.zip.part.json      where it came from: address, ETag, Last-Modified, size
    dao-map.zip                complete and a sound zip archive
"""

from __future__ import annotations

import http.client
import lzma
import re
import ssl
import struct
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from veilroute.errors import DownloadError, FileFormatError, InvalidInputError
from veilroute.jsontext import dump_canonical, parse_json, read_bytes
from veilroute.maps.catalogue import DEFAULT_BASE_URL

SUFFIXES = (".map", ".scen")
ADVICE = "check --url or register local copies with 'veilroute maps add DIR'"

MAX_MEMBER_BYTES = 64 * 2**20
"""The largest benchmark map is near 1 MB; a member beyond this is no map."""
MAX_ARCHIVE_BYTES = 2**30
"""All members of an archive together, unpacked; the real ones stay below 100 MB."""

Report = Callable[[int, int | None], None]
"""Called with the bytes that are there and the bytes expected, ``None`` while unknown."""

_BLOCK_BYTES = 1 << 16
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_LONGEST_TIMEOUT_S = 86400
_PASSING_STATUSES = frozenset({408, 425, 429})

# What zipfile raises, depending on where the damage is.
_UNSOUND_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    OSError,
)


def find_archive_problem(path: Path) -> str:
    """Return what is wrong with a zip archive, in a few words; empty when every member unpacks."""
    if not path.is_file():
        return "no file"
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_ARCHIVE_BYTES:
                return f"it unpacks to more than {MAX_ARCHIVE_BYTES // 2**20} MB"
            bad = archive.testzip()
    except _UNSOUND_ZIP as error:
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
                raise _refuse(zip_path, f"unpacks to more than {MAX_ARCHIVE_BYTES // 2**20} MB")
            for name, info in members:
                if info.file_size > MAX_MEMBER_BYTES:
                    raise _refuse(zip_path, f"{name} unpacks to more than {MAX_MEMBER_BYTES // 2**20} MB")
                data = archive.read(info)
                if seen.setdefault(name, info.CRC) != info.CRC:
                    raise _refuse(zip_path, f"holds two different files named {name}")
                yield name, data
    except FileNotFoundError:
        raise FileFormatError(zip_path, "no such file; check the path") from None
    except _UNSOUND_ZIP as error:
        raise DownloadError(f"{zip_path.name}: not a sound zip archive ({error}); run the command again") from None


def _plain_name(zip_path: Path, info: zipfile.ZipInfo) -> str:
    """The file name of a member without directories; archives of several origins nest their files differently."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in info.filename:
        raise DownloadError(f"{zip_path.name}: unsafe member {info.filename!r}; nothing was installed, check --url")
    return path.name


def _refuse(zip_path: Path, problem: str) -> DownloadError:
    return DownloadError(f"{zip_path.name}: {problem}; check --url")


class _PassingFaultError(Exception):
    """Something that may go better on the next attempt."""


class _StaleError(Exception):
    """What has arrived so far is of no use for this address any more, and is deleted."""


def download(
    url: str,
    target: Path,
    *,
    retries: int = 4,
    timeout_s: float = 20.0,
    report: Report | None = None,
    should_stop: Callable[[], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Download a zip archive, continuing what an earlier call left behind.

    Lost connections, silence, and the statuses that say "later" are retried with growing pauses. A damaged
    archive is fetched afresh once. When giving up, and on ``KeyboardInterrupt``, what has arrived is kept.

    Parameters
    ----------
    url
        An http or https address.
    target
        The file to write; replaced in one step, when complete and sound.
    retries
        Attempts in a row that may fail, without bringing anything new, after the first one.
    timeout_s
        Seconds of silence after which an attempt has failed.
    report
        Called as the bytes arrive.
    should_stop
        Asked between blocks; true gives up at once.
    sleep
        Waits between attempts.

    Returns
    -------
    Path
        ``target``.
    """
    check_url(url, "--url")
    if retries < 0:
        raise InvalidInputError("retries", "an integer >= 0", retries)
    if not 0 < timeout_s <= _LONGEST_TIMEOUT_S:
        raise InvalidInputError("--timeout", f"seconds, > 0 and <= {_LONGEST_TIMEOUT_S}", timeout_s)
    transfer = _Transfer(url, _Part(target), timeout_s, report, should_stop)
    problem = ""
    for _ in range(2):
        transfer.complete(retries, sleep)
        problem = find_archive_problem(transfer.part.path)
        if not problem:
            transfer.part.promote()
            return target
        transfer.part.discard()
    raise DownloadError(f"{url}: fetched twice and damaged both times ({problem}); {ADVICE}")


@dataclass(frozen=True)
class _Origin:
    """Which version of which archive a part belongs to; empty where the server did not say."""

    url: str = ""
    etag: str = ""
    last_modified: str = ""
    total: int | None = None

    @property
    def validator(self) -> str:
        """What an If-Range header may carry; weak tags may not."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    def contradicts(self, other: _Origin) -> bool:
        """Whether two answers cannot be of one version."""
        pairs = ((self.etag, other.etag), (self.last_modified, other.last_modified), (self.total, other.total))
        return any(ours and theirs and ours != theirs for ours, theirs in pairs)


class _Part:
    """The unfinished file beside a target, with the sidecar that says what it is a part of."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.sidecar = target.with_name(target.name + ".part.json")

    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    def origin_for(self, url: str) -> _Origin:
        """Where the part comes from; a part of unknown or other origin is dropped, as it cannot be continued."""
        try:
            origin = _Origin(**parse_json(read_bytes(self.sidecar), self.sidecar))
            if origin.url == url and isinstance(origin.etag, str) and isinstance(origin.last_modified, str):
                return origin
        except (FileFormatError, TypeError):
            pass
        self.discard()
        return _Origin()

    def open_at(self, offset: int, origin: _Origin) -> IO[bytes]:
        """Open for writing from an offset on; a fresh start records its origin first."""
        with self._writing():
            if not offset:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # In this order, so that old bytes never stand beside a new origin.
                self.path.write_bytes(b"")
                self.sidecar.write_bytes(dump_canonical(asdict(origin)))
            file = self.path.open("r+b")
            file.seek(offset)
        return file

    def append(self, file: IO[bytes], block: bytes) -> None:
        """Write a block; flushed, so that a full disk shows here and not when the file is closed."""
        with self._writing():
            file.write(block)
            file.flush()

    def promote(self) -> None:
        """Put the complete file in its place."""
        with self._writing():
            self.path.replace(self.target)
            self.sidecar.unlink(missing_ok=True)

    def discard(self) -> None:
        """Forget what has arrived."""
        with self._writing():
            self.path.unlink(missing_ok=True)
            self.sidecar.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A full disk does not get better by asking the server again: tell it from a lost connection."""
        try:
            yield
        except OSError as error:
            raise DownloadError(
                f"{self.path}: cannot be written ({error.strerror}); set VEILROUTE_CACHE to another place"
            ) from None


@dataclass(frozen=True)
class _Transfer:
    """Fetches what a part lacks of the archive at an address."""

    url: str
    part: _Part
    timeout_s: float
    report: Report | None
    should_stop: Callable[[], bool] | None

    def complete(self, retries: int, sleep: Callable[[float], None]) -> None:
        """Try until the part is complete, or too many attempts in a row have brought nothing new."""
        part = self.part
        part.origin_for(self.url)
        failures, most = 0, part.size()
        while True:
            try:
                self._attempt()
                return
            except _StaleError:
                # The next attempt starts from nothing, and so cannot end here again.
                part.discard()
                most = 0
            except _PassingFaultError as fault:
                # A line that drops every minute still gets there: only attempts that bring nothing new count.
                failures = failures + 1 if part.size() <= most else 1
                most = max(most, part.size())
                if failures > retries:
                    kept = f"{part.size()} bytes are kept and the next run continues there; " if part.size() else ""
                    tries = "1 attempt" if failures == 1 else f"{failures} attempts"
                    raise DownloadError(f"{self.url}: {fault} ({tries}); {kept}{ADVICE}") from None
                sleep(min(_FIRST_PAUSE_S * 2.0 ** (failures - 1), _LONGEST_PAUSE_S))

    def _attempt(self) -> None:
        known, offset = self.part.origin_for(self.url), self.part.size()
        headers = {"User-Agent": "veilroute", "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if known.validator:
                headers["If-Range"] = known.validator
        try:
            with self._connection():
                response = urllib.request.urlopen(
                    urllib.request.Request(self.url, headers=headers), timeout=self.timeout_s
                )
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 416 or not offset:
                raise _explain_status(self.url, error.code, error.reason) from None
            size, origin = _range_of(error.headers)[1], _origin_of(self.url, error.headers)
            if offset != (known.total if size is None else size) or known.contradicts(origin):
                raise _StaleError from None
            self._tell(offset, offset)
            return
        with response:
            origin = _origin_of(self.url, response.headers)
            if response.status == 206 and offset:
                if _range_of(response.headers)[0] != offset or known.contradicts(origin):
                    raise _StaleError
            elif response.status == 200:
                offset = 0
            else:
                raise _explain_status(self.url, response.status, response.reason)
            self._receive(response, offset, origin)

    def _receive(self, response: http.client.HTTPResponse, done: int, origin: _Origin) -> None:
        """Write what arrives from offset ``done`` on."""
        with self.part.open_at(done, origin) as file:
            self._tell(done, origin.total)
            while origin.total is None or done < origin.total:
                if self.should_stop is not None and self.should_stop():
                    kept = f"stopped after {done} bytes; they are kept and the next run continues"
                    raise DownloadError(f"{self.url}: {kept}")
                wanted = _BLOCK_BYTES if origin.total is None else min(_BLOCK_BYTES, origin.total - done)
                with self._connection():
                    # One receive at a time: what came before a silence is kept, and a wish to stop is heard soon.
                    block = response.read1(wanted)
                if not block:
                    break
                self.part.append(file, block)
                done += len(block)
                self._tell(done, origin.total)
        if origin.total is not None and done < origin.total:
            raise _PassingFaultError(f"the connection closed after {done} of {origin.total} bytes")

    def _tell(self, done: int, total: int | None) -> None:
        if self.report is not None:
            self.report(done, total)

    @contextmanager
    def _connection(self) -> Iterator[None]:
        """Silence and lost connections may pass; a certificate that is not trusted does not."""
        try:
            yield
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise DownloadError(f"{self.url}: {cause.verify_message}, not trusted; {ADVICE}") from None
            if isinstance(cause, TimeoutError):
                raise _PassingFaultError(f"no answer for {self.timeout_s:g} s") from None
            if isinstance(cause, http.client.IncompleteRead):
                raise _PassingFaultError("the connection closed early") from None
            text = (cause.strerror if isinstance(cause, OSError) else None) or str(cause) or type(cause).__name__
            raise _PassingFaultError(f"no connection ({text})") from None


def _explain_status(url: str, status: int, reason: object) -> Exception:
    answer = f"the server answered {status} {reason}".rstrip()
    if status >= 500 or status in _PASSING_STATUSES:
        return _PassingFaultError(answer)
    return DownloadError(f"{url}: {answer}; {ADVICE}")


def _origin_of(url: str, headers: Message) -> _Origin:
    length = headers.get("Content-Length", "")
    total = int(length) if length.isascii() and length.isdigit() else None
    first, size = _range_of(headers)
    if first is not None:
        total = size if size is not None or total is None else first + total
    elif "Content-Range" in headers:
        total = size  # a 416: its length is that of the error page
    # What could not be sent back in a header, such as a folded line, is as good as not said.
    etag, last_modified = (
        value if value.isascii() and value.isprintable() else ""
        for value in (str(headers.get(name, "")) for name in ("ETag", "Last-Modified"))
    )
    return _Origin(url, etag, last_modified, total)


def _range_of(headers: Message) -> tuple[int | None, int | None]:
    """First byte and full size that a Content-Range header states, each ``None`` where it does not."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)", headers.get("Content-Range", "").strip())
    if match is None:
        return None, None
    first, size = match.groups()
    return None if first is None else int(first), None if size is None else int(size)


def check_url(url: str, field: str) -> str:
    """Return an address that can be fetched from, or raise naming where it was given."""
    expected = "an address such as " + DEFAULT_BASE_URL
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInputError(field, expected, url)
    return url
