"""Files in, up to a stated size, files out, whole or not at all, and JSON in one canonical form.

Canonical JSON has sorted keys, no spaces and one newline. Every file that is read into memory comes through
:func:`read_bytes`, and all JSON through :func:`parse_json`. Both refuse before they spend memory on what cannot be
meant: an endless file would fill it, and a few bytes of JSON become a hundred bytes of objects. Every file that is
written goes through :func:`write_file`, but for journals, which grow by lines.
"""

import errno
import gc
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from veilroute.errors import FileFormatError, shorten

MAX_BYTES = 2**30  #: no file is read into memory beyond this size; a network of a million junctions has 280 MB as JSON
MAX_VALUES = 100_000_000
"""No JSON with more values is parsed: 3 GB of memory for 44 million, as a network of a million junctions has."""
MAX_DEPTH = 100  #: no JSON is parsed that is nested deeper; ours needs seven levels
_CHUNK = 2**20
_MARKS = b'"[]{}:'
_OTHERS = bytes(set(range(256)) - set(_MARKS))
_WRITE_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.ENOENT: "check the path, and make its folder first",
}
_ESCAPE = re.compile(rb"\\.", re.DOTALL)


def dump_canonical(data: object) -> bytes:
    """Serialise plain data so that equal data gives equal bytes."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def parse_json(raw: bytes, source: object) -> Any:
    """Parse JSON, or raise a :class:`~veilroute.errors.FileFormatError` that names the source and line.

    Refused as well is an object with the same key twice, of which readers take the first, the last or both.
    """
    if not raw.strip():
        raise FileFormatError(source, "the file is empty; expected JSON")
    # Each value but the first follows one of these; those within text make it a bound from above.
    num_values = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if num_values > MAX_VALUES:
        large = f"about {num_values:,} values, and at most {MAX_VALUES:,} are read"
        raise FileFormatError(source, f"{large}; use .npz for a large network")
    depth, num_keys = _measure(raw)
    if depth > MAX_DEPTH:
        deep = f"nested {depth:,} deep, at most {MAX_DEPTH}"
        raise FileFormatError(source, f"not valid JSON for veilroute ({deep}); is it the right file?")
    # No cycles can arise here, and looking for them again and again takes longer than parsing.
    was_looking = gc.isenabled()
    gc.disable()
    try:
        data = orjson.loads(raw)
        # The parser keeps the last of equal keys: then the data written again has fewer than the text.
        is_lossy = num_keys != _measure(orjson.dumps(data))[1]
    except orjson.JSONDecodeError as error:
        problem = f"not valid JSON ({error.msg}); check that it is complete"
        raise FileFormatError(source, problem, error.lineno) from None
    finally:
        if was_looking:
            gc.enable()
    if is_lossy:
        del data
        raise FileFormatError(source, f"the key {_find_twin(raw)} is there twice in one object; keep one of them")
    return data


def _measure(raw: bytes) -> tuple[int, int]:
    """How deep JSON is nested and how many keys it has; exact where it is valid up to its end."""
    depth = deepest = num_keys = spot = 0
    is_text = False
    while spot < len(raw):
        chunk = raw[spot : spot + _CHUNK]
        spot += len(chunk)
        if b"\\" in chunk:
            if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2 and spot < len(raw):
                chunk, spot = chunk[:-1], spot - 1  # what it escapes is in the next chunk
            chunk = _ESCAPE.sub(b"", chunk)
        marks = np.frombuffer(chunk.translate(None, _OTHERS), dtype=np.uint8)
        if not marks.size:
            continue
        in_text = np.logical_xor.accumulate(marks == ord('"')) ^ is_text
        is_text = bool(in_text[-1])
        marks = marks[~in_text]
        if not marks.size:
            continue
        num_keys += int(np.count_nonzero(marks == ord(":")))
        # Brackets and braces differ in this bit only.
        folded = marks | 0x20
        steps = (folded == ord("{")).view(np.int8) - (folded == ord("}")).view(np.int8)
        levels = np.cumsum(steps, dtype=np.int64)
        deepest = max(deepest, depth + int(levels.max()))
        depth += int(levels[-1])
    return deepest, num_keys


def _find_twin(raw: bytes) -> str:
    """The first key that an object has twice; only for the message, because the standard library is slow."""

    def look(pairs: list[tuple[str, None]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise KeyError(key)
            seen.add(key)

    try:
        json.loads(raw, object_pairs_hook=look, parse_int=len, parse_float=len)
    except KeyError as twin:
        return shorten(twin.args[0])
    except (ValueError, RecursionError):
        pass
    return "of an object"


def read_bytes(path: str | Path, *, most: int = MAX_BYTES) -> bytes:
    """Read a file of at most ``most`` bytes, turning all refusals into a line for the user."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            large = f"{size:,} bytes, and at most {most:,} are read"
            raise FileFormatError(path, f"{large}; is it the right file? .npz holds most in the least space")
        raw = file.read(size)
        if file.read(1):
            raise FileFormatError(path, "grows while it is read; wait until it is complete, or copy it first")
    return raw


def read_text(path: str | Path) -> str:
    """Read a text file as UTF-8 with any line ends."""
    raw = read_bytes(path)
    if not raw.strip():
        raise FileFormatError(path, "the file is empty")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileFormatError(path, "not text in UTF-8; check that it is the right file, or save it as UTF-8") from None


def write_file(path: str | Path, content: bytes | str, *, is_new: bool = False, mode: int = 0o666) -> None:
    """Write a whole file or none; text as UTF-8 with the line ends that it has.

    The content is written to a file beside the target, which then takes the target's name in one step. So what was
    there before stays until the new file is complete and on the disk, and a full disk or a killed process leaves
    nothing half-written. The file beside has no name until it is complete, where the system can do that (Linux);
    elsewhere a killed process may leave a file ``.veilroute-...``. Devices and pipes are written to as they are.

    With ``is_new`` a file that is there is never overwritten: a :class:`FileExistsError` instead. ``mode`` is for new
    files; others keep theirs.
    """
    raw = content.encode() if isinstance(content, str) else content
    try:
        target = Path(path) if is_new else Path(path).resolve()  # where a link leads, so that the link stays one
        old = target.stat().st_mode if target.exists() else None
        # An open file of a process, such as /dev/stdout, is written to as well: others may hold it open.
        is_open = Path(path).absolute().parts[1:2] in (("dev",), ("proc",))
        if not is_new and (is_open or (old is not None and not stat.S_ISREG(old))):
            Path(path).write_bytes(raw)
            return
        if not is_new and old is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _write_beside(target, raw, mode, None if is_new else old, is_new=is_new)
    except FileExistsError:
        if is_new:
            raise
        raise FileFormatError(path, "cannot be written: its folder is a file; check the path") from None
    except OSError as error:
        advice = _WRITE_ADVICE.get(error.errno or 0, "check the path and its permissions")
        left = "; what was there before is unchanged" if _is_regular(path) else ""
        raise FileFormatError(path, f"cannot be written ({error.strerror}): {advice}{left}") from None
    except ValueError:
        raise FileFormatError("file name", "not a path; it holds a null byte or half a character") from None


def _write_beside(target: Path, raw: bytes, mode: int, old: int | None, *, is_new: bool) -> None:
    """Write a file that gets the target's name once it is on the disk; it takes over the mode of an old one."""
    beside = target.with_name(f".veilroute-{secrets.token_hex(8)}")
    try:
        nameless = getattr(os, "O_TMPFILE", None)
        handle = -1
        if nameless is not None and Path("/proc/self/fd").is_dir():
            with suppress(OSError):  # not every file system can
                handle = os.open(target.parent, os.O_WRONLY | nameless, mode)
        is_named = handle < 0
        if is_named:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            if old is not None and hasattr(os, "fchmod"):
                os.fchmod(handle, stat.S_IMODE(old))
            os.fsync(handle)
            if not is_named:
                # A folder's handle makes Python use the call that follows the link to the open file.
                folder = os.open(target.parent, os.O_RDONLY)
                try:
                    os.link(f"/proc/self/fd/{handle}", beside, src_dir_fd=folder, follow_symlinks=True)
                finally:
                    os.close(folder)
        if is_new:
            os.link(beside, target)
        else:
            beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()


def _is_regular(path: str | Path) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISREG(Path(path).stat().st_mode)
    return False


@contextmanager
def open_regular(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading; a pipe, which may never end or never begin, and a device are refused unopened."""
    with os.fdopen(open_handle(path), "rb") as file:
        try:
            yield file
        except OSError as error:
            raise FileFormatError(path, f"cannot be read ({error.strerror})") from None


def open_handle(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """The system's handle of a file that is there and is neither a directory nor a pipe nor a device."""
    try:
        _check_regular(path, Path(path).stat().st_mode)
        # Should it have become a pipe meanwhile, this does not wait for a writer.
        handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FileFormatError(path, "no such file; check the path") from None
    except OSError as error:
        what = "read" if flags == os.O_RDONLY else "written"
        raise FileFormatError(path, f"cannot be {what} ({error.strerror}); check its permissions") from None
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError("file name", "not a path; it holds a null byte or half a character") from None
    try:
        _check_regular(path, os.fstat(handle).st_mode)
    except FileFormatError:
        os.close(handle)
        raise
    return handle


def _check_regular(path: str | Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise FileFormatError(path, "this is a directory; name a file in it")
    if not stat.S_ISREG(mode):
        raise FileFormatError(path, "a pipe or a device; save what comes from it as a file, and name that")
