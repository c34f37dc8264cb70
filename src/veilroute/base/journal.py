"""A public file that only grows: JSON lines, each with the hash of the line before.

::

    {"entry":{"format":"veilroute-ledger/2","trips":"occasional"},"previous":"","sha256":"4bd1..."}
    {"entry":{...},"previous":"4bd1...","sha256":"90ac..."}

A line is canonical JSON. Its ``sha256`` is that of the canonical JSON, with its newline, of ``entry`` and ``previous``
alone, and ``previous`` is the ``sha256`` of the line before. The first line says what kind of journal it is, and may
say more. What else the entries hold is not the journal's business.

A line is *closed* by its newline. A writer that is killed leaves at most one line that is not, at the end: *torn*.
Readers pass over it, and the next writer cuts it off. Where nothing but the newline is missing, the line counts, and
the next writer closes it. Anything else that is not as it was written is damage, and refused with the line's number.

What the file alone cannot show: **whoever cuts off its end leaves a shorter journal that is sound**, and whoever makes
all hashes anew leaves another journal, because nothing is signed. Against both, write down elsewhere what
:attr:`Journal.head` was. Where :meth:`Journal.holds` no longer knows it, lines are missing or not what they were.
"""

import codecs
import errno
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from veilroute.base.errors import FileFormatError, InvalidInputError, shorten
from veilroute.base.io import MAX_BYTES, dump_canonical, open_handle, open_regular, parse_json, write_file

Entry = dict[str, Any]

_PATIENCE_S = 60.0  # writers take milliseconds; beyond this one has stopped
_PAUSE_S = 0.002
_KEYS = {"entry", "previous", "sha256"}
_BEGIN = b'{"entry":{'
_RESTORE = "closed lines never change, so take the file from a copy"
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_UP_TO_TEXT = re.compile(rb'(?:[^"]++|' + _TEXT.pattern + rb")*+", re.DOTALL)
_WORDS = (b"true", b"false", b"null")
_NUMBER = b"+-.0123456789eE"
_CLOSERS = {ord("{"): b"}", ord("["): b"]"}


@dataclass(frozen=True)
class Journal:
    """What a journal held when it was read."""

    path: Path
    first: Entry  #: what the first line says: the format, and what else was said when the journal was made
    entries: tuple[Entry, ...]  #: those of the lines after the first
    hashes: tuple[str, ...]  #: of all lines, so that ``hashes[n]`` was the head when there were n entries
    torn: bool = False  #: whether an unfinished line at the end was passed over

    @property
    def head(self) -> str:
        """The hash of the last line, which stands for all that the journal holds."""
        return self.hashes[-1]

    def holds(self, head: str) -> bool:
        """Whether the journal goes on from where this was its head; if not, it is another one or has lost lines."""
        return head in self.hashes


def new_journal(path: str | Path, format: str, **more: str) -> Journal:
    """Make a journal without entries; a file that is there is never overwritten.

    The file comes into being with its first line complete and on the disk. ``more`` is written into that line.
    """
    path = Path(path)
    first = {"format": format, **more}
    line, sha256 = _make_line(first, "")
    try:
        write_file(path, line, is_new=True)
    except FileExistsError:
        raise FileFormatError(path, "is there already, and what it holds would be lost; name a new file") from None
    _sync_directory(path.parent)
    return Journal(path, first, (), (sha256,))


def read_journal(path: str | Path, format: str | tuple[str, ...]) -> Journal:
    """Read a journal of this format, or of one of several; waits for no writer unless it finds damage."""
    path = Path(path)
    with open_regular(path) as file:
        try:
            return _parse(_read(file, path), path, format)
        except FileFormatError:
            # Perhaps a torn line was cut off and another one written while we read. Then all is well under the lock.
            _lock(file, path, is_shared=True)
            return _parse(_read(file, path), path, format)


def append(path: str | Path, format: str | tuple[str, ...], entry: Entry | Callable[[Journal], Entry]) -> Journal:
    """Add an entry at the end. When this returns, it is on the disk; after an error of ours, it is not in the journal.

    Parameters
    ----------
    path
        The journal.
    format
        What kind of journal it must be, or which kinds it may be.
    entry
        Plain JSON data: no tuples, no keys but texts, no number that is not finite. Or a function that gets the journal
        as it is, decides, and returns the entry or raises. Nobody else writes meanwhile, so it should not take long,
        and must not add to the same journal itself.

    Returns
    -------
    The journal with the new entry.
    """
    path = Path(path)
    with os.fdopen(open_handle(path, os.O_RDWR | os.O_APPEND), "rb") as file:
        _lock(file, path)
        raw = _read(file, path)
        journal = _parse(raw, path, format)
        line, sha256 = _make_line(entry(journal) if callable(entry) else entry, journal.head)
        size = raw.rfind(b"\n") + 1 if journal.torn else len(raw)
        if not raw.endswith(b"\n", 0, size):
            line = b"\n" + line
        if size + len(line) > MAX_BYTES:
            raise FileFormatError(path, f"would have more than {MAX_BYTES:,} bytes, which nobody reads; begin another")
        _check_place(file, path, len(raw))
        handle = file.fileno()
        try:
            if journal.torn:
                os.ftruncate(handle, size)
            _write(handle, line)
            os.fsync(handle)
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(handle, size)
            if isinstance(error, OSError):
                raise FileFormatError(path, f"cannot be written ({error.strerror}); is the disk full?") from None
            raise
        _check_place(file, path, size + len(line))
    added = parse_json(line, path)["entry"]
    return replace(journal, entries=(*journal.entries, added), hashes=(*journal.hashes, sha256), torn=False)


def _make_line(entry: Entry, previous: str) -> tuple[bytes, str]:
    """The line of an entry and its hash; raises where reading it would not give the same entry."""
    try:
        sha256 = hashlib.sha256(dump_canonical({"entry": entry, "previous": previous})).hexdigest()
        line = dump_canonical({"entry": entry, "previous": previous, "sha256": sha256})
        if isinstance(entry, dict) and parse_json(line, "entry")["entry"] == entry:
            return line, sha256
    except (TypeError, FileFormatError):  # what JSON does not have; what is too deep
        pass
    raise InvalidInputError("entry", "an object of plain JSON data: text, finite numbers, true, false, null, lists")


def _parse(raw: bytes, path: Path, format: str | tuple[str, ...]) -> Journal:
    formats = (format,) if isinstance(format, str) else format
    entries: list[Entry] = []
    hashes: list[str] = []
    torn = False
    *closed, tail = raw.split(b"\n")
    for number, line in enumerate([*closed, tail] if tail else closed, start=1):
        previous = hashes[-1] if hashes else ""
        try:
            entry, sha256 = _parse_line(line, previous)
        except FileFormatError as error:
            if number > max(1, len(closed)) and _is_begun(line, previous):
                torn = True
                break
            problem = error.problem.partition(";")[0]  # without the advice, which is for files that may be mended
            raise FileFormatError(path, f"{problem}; {_RESTORE}", number) from None
        if number == 1 and entry.get("format") not in formats:
            found = shorten(entry.get("format"))
            raise FileFormatError(path, f"expected the format {formats[0]!r}, got {found}; is it the right file?", 1)
        entries.append(entry)
        hashes.append(sha256)
    if not hashes:
        raise FileFormatError(path, f"the file is empty; it never was a journal of the format {formats[0]!r}")
    return Journal(path, entries[0], tuple(entries[1:]), tuple(hashes), torn)


def _parse_line(line: bytes, previous: str) -> tuple[Entry, str]:
    """The entry and the hash of a line without its newline; an error says what is wrong, not where."""
    if not line.strip():
        raise FileFormatError("line", "blank")
    data = parse_json(line, "line")
    if not isinstance(data, dict) or set(data) != _KEYS or not isinstance(data["entry"], dict):
        raise FileFormatError("line", "not a line of a journal, which has an entry, previous and sha256")
    if dump_canonical(data) != line + b"\n":
        raise FileFormatError("line", "not in canonical JSON: spaces, line ends, order of keys or numbers were changed")
    body = dump_canonical({"entry": data["entry"], "previous": data["previous"]})
    sha256 = hashlib.sha256(body).hexdigest()
    if data["sha256"] != sha256:
        raise FileFormatError("line", "changed: its sha256 is not that of what it holds")
    if data["previous"] != previous:
        raise FileFormatError("line", "does not follow the line before: a line was removed, added, moved or changed")
    return data["entry"], sha256


def _is_begun(tail: bytes, previous: str) -> bool:
    """Whether the next line may begin with these bytes, and goes on.

    What is there is completed in the shortest way and must then be canonical JSON. Only of the last word, which may be
    unfinished, less is asked. Once the entry is complete, all that follows is known and compared.
    """
    if not tail.startswith(_BEGIN):
        return _BEGIN.startswith(tail)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(tail)  # the last character may be unfinished
    except UnicodeDecodeError:
        return False
    found = _UP_TO_TEXT.match(tail)
    before = found[0] if found else b""
    text = tail[len(before) :]
    whole = before.rstrip(_NUMBER + b"".join(_WORDS))
    word = before[len(whole) :]
    if (text and word) or min(text, default=32) < 32:
        return False
    if word.strip(_NUMBER) and not any(known.startswith(word) for known in _WORDS):
        return False
    open_ends: list[bytes] = []
    for mark in _TEXT.sub(b"", whole):
        if mark in _CLOSERS:
            open_ends.append(_CLOSERS[mark])
        elif mark in b"]}" and open_ends:
            open_ends.pop()
            if not open_ends:  # a complete object, of which the sum is wrong or behind which there is more
                return False
    ends = b"".join(reversed(open_ends))
    is_value = word or whole.endswith(b":")
    begun = whole + b"null" if is_value else whole.removesuffix(b",")
    for shortest in (begun + ends, begun + b":null" + ends):  # the second where it ends with a key
        with suppress(InvalidInputError):
            data = parse_json(shortest, "line")
            if len(open_ends) == 1:
                return _make_line(data["entry"], previous)[0].startswith(tail)
            return dump_canonical(data) == shortest + b"\n"
    return False


def _read(file: BinaryIO, path: Path) -> bytes:
    """What the file holds; one that grows meanwhile is read as far as it went."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise FileFormatError(path, f"{size:,} bytes, and at most {MAX_BYTES:,} are read; is it the right file?")
    file.seek(0)
    return file.read(size)


def _write(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _check_place(file: BinaryIO, path: Path, size: int) -> None:
    """Raise unless the path still leads to this file, and it has this size."""
    here = os.fstat(file.fileno())
    with suppress(OSError):
        if os.path.samestat(here, path.stat()) and here.st_size == size:
            return
    raise FileFormatError(path, "was replaced, removed or changed by another program meanwhile; look at it, try again")


def _sync_directory(directory: Path) -> None:
    """Have the name of a new file on the disk, where the system can."""
    if os.name == "posix":
        with suppress(OSError):  # some file systems cannot
            handle = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _lock(file: BinaryIO, path: Path, *, is_shared: bool = False) -> None:
    """Wait until nobody else writes; the lock ends with the open file, also when the process is killed."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            if lock_file(file, is_shared=is_shared):
                return
        except OSError as error:
            advice = "two writers would mix their lines; keep it on a disk of this computer"
            raise FileFormatError(path, f"cannot be locked ({error.strerror}): {advice}") from None
        if time.monotonic() > deadline:
            waited = f"another process has been writing to it for {_PATIENCE_S:g} s"
            raise FileFormatError(path, f"{waited}; wait for it, or end it where it hangs")
        time.sleep(_PAUSE_S)


def lock_file(file: BinaryIO, *, is_shared: bool = False) -> bool:
    """Lock an open file against others who ask; false when one of them has it, an OSError where there are no locks.

    Several may have a shared lock at once, but not beside one that is not.
    """
    try:
        _lock_now(file, is_shared)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock_now(file: BinaryIO, is_shared: bool) -> None:  # there is no shared one
        # A byte far behind the end, because Windows keeps others from reading what is locked.
        file.seek(2**40)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_now(file: BinaryIO, is_shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
