"""Archives of maps: fetched over an unreliable line, checked, and read.

A download is resumed, retried and never glued from two versions. While it is under way there are three files::

    dao-map.zip.part           what has arrived so far; stays when a download is given up or interrupted
    dao-map.zip.part.json      where it came from: the address, and the ETag or Last-Modified of the version
    dao-map.zip                complete and a sound zip archive
"""

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
from collections.abc import Callable, Generator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from veilroute.base.errors import DownloadError, FileFormatError, InvalidInputError
from veilroute.base.io import dump_canonical, parse_json, read_bytes
from veilroute.maps.catalogue import DEFAULT_BASE_URL

SUFFIXES = (".map", ".scen")
ADVICE = "check --url or register local copies with 'veilroute maps add DIR'"

MAX_MEMBER_BYTES = 64 * 2**20  #: the largest benchmark map is near 1 MB; a member beyond this is no map
MAX_ARCHIVE_BYTES = 2**30  #: all members of an archive together, unpacked; the real ones stay below 100 MB
_BLOCK_BYTES = 1 << 16
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_LONGEST_TIMEOUT_S = 86400
_PASSING_STATUSES = frozenset({408, 425, 429})

# What zipfile raises, depending on where the damage is.
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, ValueError, OSError)


def find_archive_problem(path: Path) -> str:
    """Return what is wrong with a zip archive, in a few words; empty when every member unpacks."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_ARCHIVE_BYTES:
                return f"it unpacks to more than {MAX_ARCHIVE_BYTES // 2**20} MB"
            bad = archive.testzip()
    except _BAD_ZIP as error:
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
    except _BAD_ZIP as error:
        raise DownloadError(f"{zip_path.name}: not a sound zip archive ({error}); run the command again") from None


def _plain_name(zip_path: Path, info: zipfile.ZipInfo) -> str:
    """The file name of a member without directories; archives of several origins nest their files differently."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in info.filename:
        raise DownloadError(f"{zip_path.name}: unsafe member {info.filename!r}; nothing was installed, check --url")
    return path.name


def _refuse(zip_path: Path, problem: str) -> DownloadError:
    return DownloadError(f"{zip_path.name}: {problem}; check --url")


def download(
    url: str,
    target: Path,
    *,
    retries: int = 4,
    timeout_s: float = 20.0,
    report: Callable[[int, int | None], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Path:
    """Download a zip archive, continuing what an earlier call left behind.

    Lost connections, silence, and the statuses that say "later" are retried with growing pauses. A damaged
    archive is fetched afresh once. When giving up, and on ``KeyboardInterrupt``, what has arrived is kept.

    Parameters
    ----------
    url
        An http or https address.
    target
        The file to write; replaced in one step, when complete and sound. It is what is returned.
    retries
        Attempts in a row that may fail, without bringing anything new, after the first one.
    timeout_s
        Seconds of silence after which an attempt has failed.
    report
        Called as the bytes arrive, with how many are there and how many are expected, ``None`` while unknown.
    should_stop
        Asked between blocks; true gives up at once.
    """
    check_url(url, "--url")
    if retries < 0:
        raise InvalidInputError("retries", "an integer >= 0", retries)
    if not 0 < timeout_s <= _LONGEST_TIMEOUT_S:
        raise InvalidInputError("--timeout", f"seconds, > 0 and <= {_LONGEST_TIMEOUT_S}", timeout_s)
    part = target.with_name(target.name + ".part")
    sidecar = target.with_name(target.name + ".part.json")
    transfer = _Transfer(url, part, sidecar, timeout_s, report or (lambda done, total: None), should_stop)
    problem = ""
    try:
        for _ in range(2):
            transfer.complete(retries)
            problem = find_archive_problem(part)
            if not problem:
                part.replace(target)
                sidecar.unlink(missing_ok=True)
                return target
            transfer.discard()
    except OSError as error:
        # What the line does wrong is dealt with where it happens. This is the disk, which asking again does not mend.
        problem = f"cannot be written ({error.strerror}); set VEILROUTE_CACHE to another place"
        raise DownloadError(f"{part}: {problem}") from None
    raise DownloadError(f"{url}: fetched twice and damaged both times ({problem}); {ADVICE}")


class _PassingFaultError(Exception):
    """Something that may go better on the next attempt."""


@dataclass(frozen=True)
class _Transfer:
    """Fetches what a part lacks of the archive at an address; the sidecar says of which version the part is."""

    url: str
    part: Path
    sidecar: Path
    timeout_s: float
    report: Callable[[int, int | None], None]
    should_stop: Callable[[], bool] | None

    def complete(self, retries: int) -> None:
        """Try until the part is complete, or too many attempts in a row have brought nothing new."""
        self._known_version()
        failures, most = 0, self._size()
        while True:
            try:
                if self._attempt():
                    return
                # The next attempt starts from nothing, and so cannot end here again.
                self.discard()
                most = 0
            except _PassingFaultError as fault:
                # A line that drops every minute still gets there: only attempts that bring nothing new count.
                size = self._size()
                failures = failures + 1 if size <= most else 1
                most = max(most, size)
                if failures > retries:
                    kept = f"{size} bytes are kept and the next run continues there; " if size else ""
                    tries = "1 attempt" if failures == 1 else f"{failures} attempts"
                    raise DownloadError(f"{self.url}: {fault} ({tries}); {kept}{ADVICE}") from None
                time.sleep(min(_FIRST_PAUSE_S * 2.0 ** (failures - 1), _LONGEST_PAUSE_S))

    def discard(self) -> None:
        """Forget what has arrived."""
        self.part.unlink(missing_ok=True)
        self.sidecar.unlink(missing_ok=True)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _known_version(self) -> str:
        """Which version the part is of, see :func:`_read_headers`; one from elsewhere is dropped: it cannot go on."""
        try:
            match parse_json(read_bytes(self.sidecar), self.sidecar):
                case {"url": self.url, "version": str(version)}:
                    return version
        except FileFormatError:
            pass
        self.discard()
        return ""

    def _attempt(self) -> bool:
        """Ask for what is missing and receive it; false when what has arrived so far is of no use any more."""
        known, offset = self._known_version(), self._size()
        headers = {"User-Agent": "veilroute", "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if known:
                headers["If-Range"] = known
        request = urllib.request.Request(self.url, headers=headers)
        try:
            response = urllib.request.urlopen(request, timeout=self.timeout_s)
        except urllib.error.HTTPError as answer:
            response = answer
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from None
        with response:
            first, total, version = _read_headers(response.headers)
            # Where the server does not say which version it is, the check of the whole archive has to do.
            is_same = version in ("", known) or not known
            match response.status:
                case 200:
                    self._receive(response, 0, total, version)
                case 206 if 0 < offset == first and is_same:
                    self._receive(response, offset, total, version)
                case 416 if 0 < offset == total and is_same:
                    self.report(offset, offset)  # the server has nothing beyond these bytes: they are all there is
                case 206 | 416 if offset:
                    return False
                case status:
                    raise self._refusal(status, response.reason)
        return True

    def _receive(self, response: http.client.HTTPResponse, done: int, total: int | None, version: str) -> None:
        """Write what arrives from offset ``done`` on; a fresh start records its version first."""
        if not done:
            self.part.parent.mkdir(parents=True, exist_ok=True)
            # In this order, so that old bytes never stand beside a new version.
            self.part.write_bytes(b"")
            self.sidecar.write_bytes(dump_canonical({"url": self.url, "version": version}))
        with self.part.open("r+b") as file:
            file.seek(done)
            self.report(done, total)
            while total is None or done < total:
                if self.should_stop is not None and self.should_stop():
                    kept = f"stopped after {done} bytes; they are kept and the next run continues"
                    raise DownloadError(f"{self.url}: {kept}")
                try:
                    # One receive at a time: what came before a silence is kept, and a wish to stop is heard soon.
                    block = response.read1(_BLOCK_BYTES if total is None else min(_BLOCK_BYTES, total - done))
                except (OSError, http.client.HTTPException) as error:
                    raise self._lost(error) from None
                if not block:
                    break
                file.write(block)
                file.flush()  # so that what has arrived is there, whatever comes next
                done += len(block)
                self.report(done, total)
        if total is not None and done < total:
            raise _PassingFaultError(f"the connection closed after {done} of {total} bytes")

    def _refusal(self, status: int, reason: object) -> Exception:
        answer = f"the server answered {status} {reason}".rstrip()
        if status >= 500 or status in _PASSING_STATUSES:
            return _PassingFaultError(answer)
        return DownloadError(f"{self.url}: {answer}; {ADVICE}")

    def _lost(self, error: Exception) -> Exception:
        """Silence and lost connections may pass; a certificate that is not trusted does not."""
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            return DownloadError(f"{self.url}: {cause.verify_message}, not trusted; {ADVICE}")
        if isinstance(cause, TimeoutError):
            return _PassingFaultError(f"no answer for {self.timeout_s:g} s")
        if isinstance(cause, http.client.IncompleteRead):
            return _PassingFaultError("the connection closed early")
        text = (cause.strerror if isinstance(cause, OSError) else None) or str(cause) or type(cause).__name__
        return _PassingFaultError(f"no connection ({text})")


def _read_headers(headers: Message) -> tuple[int | None, int | None, str]:
    """With which byte an answer begins, how many the whole has, and its version: what an If-Range header may carry.

    The numbers are ``None`` and the version is empty where the answer does not say. A weak tag is none to be sent back.
    """
    match = re.fullmatch(r"bytes (?:(\d{1,18})-\d+|\*)/(?:(\d{1,18})|\*)", headers.get("Content-Range", "").strip())
    first, total = (None if text is None else int(text) for text in (match.groups() if match else (None, None)))
    length = headers.get("Content-Length", "")
    if total is None and re.fullmatch(r"[0-9]{1,18}", length):
        total = (first or 0) + int(length)
    # What could not be sent back in a header, such as a folded line, is as good as not said.
    etag, last_modified = (
        value if value.isascii() and value.isprintable() else ""
        for value in (str(headers.get(name, "")) for name in ("ETag", "Last-Modified"))
    )
    return first, total, etag if etag and not etag.startswith("W/") else last_modified


def check_url(url: str, field: str) -> str:
    """Return an address that can be fetched from, or raise naming where it was given."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInputError(field, "an address such as " + DEFAULT_BASE_URL, url)
    return url
