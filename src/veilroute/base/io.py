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
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from veilroute.base.errors import FileFormatError, InvalidInputError, shorten

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
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.ENOENT: "check the path, and make its folder first",
}
_UNCHANGED = "; what was there before is unchanged"
_OPEN_FILE = re.compile(r"/dev/fd/\d+|/proc/\d+(/task/\d+)?/fd/\d+", re.ASCII)
_MOST_LINKS = 40
_ESCAPE = re.compile(rb"\\.", re.DOTALL)


def dump_canonical(data: object) -> bytes:
    """Serialise plain data so that equal data gives equal bytes."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def parse_json(raw: bytes, source: object, *, most_values: int = MAX_VALUES) -> Any:
    """Parse JSON, or raise a :class:`~veilroute.base.errors.FileFormatError` that names the source and line.

    Refused as well is an object with the same key twice, of which readers take the first, the last or both.
    """
    if not raw.strip():
        raise FileFormatError(source, "the file is empty; expected JSON")
    # Each value but the first follows one of these; those within text make it a bound from above.
    num_values = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if num_values > most_values:
        large = f"about {num_values:,} values, and at most {most_values:,} are read"
        raise FileFormatError(source, f"{large}; use .npz for a large network")
    depth, num_keys = measure(raw)
    if depth > MAX_DEPTH:
        deep = f"nested {depth:,} deep, at most {MAX_DEPTH}"
        raise FileFormatError(source, f"not valid JSON for veilroute ({deep}); is it the right file?")
    # No cycles can arise here, and looking for them again and again takes longer than parsing.
    was_looking = gc.isenabled()
    gc.disable()
    try:
        data = orjson.loads(raw)
        # The parser keeps the last of equal keys: then the data written again has fewer than the text.
        is_lossy = num_keys != measure(orjson.dumps(data))[1]
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


def measure(raw: bytes, chunk_size: int = _CHUNK) -> tuple[int, int]:
    """How deep JSON is nested and how many keys it has; exact if it is valid up to its end."""
    depth = deepest = num_keys = spot = 0
    is_text = False
    while spot < len(raw):
        chunk = raw[spot : spot + chunk_size]
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


def check_out(out: Path, field: str = "out") -> None:
    """Raise before the work begins when its result could not be written."""
    if out.is_dir() or not out.parent.is_dir():
        raise InvalidInputError(field, "a file in a folder that exists", str(out))


def write_file(path: str | Path, content: bytes | str, *, is_new: bool = False, mode: int = 0o666) -> None:
    """Write a whole file or none; text as UTF-8 with the line ends that it has.

    The content is written to a file beside the target, which then takes the target's name in one step. So what was
    there before stays until the new file is complete and on the disk, and a full disk or a killed process leaves
    nothing half-written. The file beside has no name until it is complete, where the system can do that (Linux). A
    process that is killed at the last step, elsewhere at any step, may leave a file ``.veilroute-...``. What is not a
    file, such as a pipe, and what a process has open, such as /dev/stdout, is written to as it is.

    With ``is_new`` a file that is there is never overwritten: a :class:`FileExistsError` instead. On a file system
    without hard links a process that is killed at the last step may then leave an empty file. ``mode`` is for new
    files; others keep their mode, and their owner and group where the system permits that.
    """
    raw = content.encode() if isinstance(content, str) else content
    is_in_place = False
    try:
        target = Path(path) if is_new else Path(path).resolve()  # where a link leads, so that the link stays one
        old = target.stat() if not is_new and target.exists() else None
        is_in_place = not is_new and (_is_open_file(Path(path)) or (old is not None and not stat.S_ISREG(old.st_mode)))
        if is_in_place:
            Path(path).write_bytes(raw)
            return
        if old is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _write_beside(target, raw, mode, old, is_new=is_new)
    except FileExistsError:
        if is_new:
            raise
        raise FileFormatError(path, "cannot be written: its folder is a file; check the path") from None
    except OSError as error:
        raise _refusal(path, error, is_unchanged=not is_in_place and _is_regular(path)) from None
    except RuntimeError:  # from `resolve`
        raise FileFormatError(
            path, "cannot be written: it is a link that leads back to itself; check the path"
        ) from None
    except ValueError:
        raise FileFormatError("file name", "not a path; it holds a null byte or half a character") from None


def move_file(path: Path, target: Path) -> None:
    """Give a file another name in one step, in place of the file that has it."""
    try:
        path.replace(target)
    except OSError as error:
        raise _refusal(target, error, is_unchanged=_is_regular(target)) from None


@contextmanager
def staging(folder: Path, prefix: str, *, home: Path | None = None) -> Iterator[Path]:
    """Yield a new folder within a folder in which files are made ready before they are moved; it is removed at the end.

    Its name begins with the prefix. A killed process leaves it behind, and the next call with this prefix removes it:
    a process holds the lock of its folder as long as it lives, and only a folder of this user whose lock can be had is
    removed. If folders cannot be locked (Windows, some network drives), it stays. An error about a file in it names the
    file in ``home``, or else in the folder, that would have been written.
    """
    try:
        _remove_stale(folder, prefix)
        while True:
            made = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
            try:
                handle = _lock_folder(made)
                break
            except (BlockingIOError, FileNotFoundError):  # another process took it for a stale one
                continue
    except OSError as error:
        raise _refusal(folder, error) from None
    try:
        yield made
    except FileFormatError as error:
        if Path(error.field).parent != made:
            raise
        target = (home or folder) / Path(error.field).name
        raise FileFormatError(target, error.problem + (_UNCHANGED if _is_regular(target) else "")) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if handle >= 0:
            os.close(handle)


def _remove_stale(folder: Path, prefix: str) -> None:
    """Remove what killed processes left of :func:`staging`."""
    name = re.compile(re.escape(prefix) + "[a-z0-9_]{8}")  # as `tempfile` makes them
    for path in sorted(folder.iterdir()):
        if not name.fullmatch(path.name):
            continue
        with suppress(OSError):  # in use, or gone meanwhile
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or not hasattr(os, "geteuid") or found.st_uid != os.geteuid():
                continue
            handle = _lock_folder(path)
            if handle >= 0:
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def _lock_folder(folder: Path) -> int:
    """A handle that holds the lock of a folder, -1 if folders cannot be locked here; an error if it is in use or gone.

    The lock ends with the process, however it ends.
    """
    try:
        import fcntl
    except ImportError:
        return -1
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), folder.lstat()):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    except (BlockingIOError, FileNotFoundError):
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return -1
    return handle


def _refusal(path: str | Path, error: OSError, *, is_unchanged: bool = False) -> FileFormatError:
    """What to tell of a file that the system does not let us write."""
    advice = _WRITE_ADVICE.get(error.errno or 0, "check the path and its permissions")
    return FileFormatError(path, f"cannot be written ({error.strerror}): {advice}{_UNCHANGED if is_unchanged else ''}")


def _is_open_file(path: Path) -> bool:
    """Whether a path leads to a file that a process has open: /dev/stdout, /dev/fd/N, /proc/PID/fd/N, links to these.

    Others may hold it open too, and would not see a new file of its name.
    """
    spot = path.absolute()
    for _ in range(_MOST_LINKS):
        spot = spot.parent.resolve() / spot.name
        if _OPEN_FILE.fullmatch(str(spot)):
            return True
        if not spot.is_symlink():
            break
        spot = spot.parent / spot.readlink()
    return False


def _write_beside(target: Path, raw: bytes, mode: int, old: os.stat_result | None, *, is_new: bool) -> None:
    """Write a file that gets the target's name once it is on the disk; it takes over mode and owner of an old one."""
    beside = target.with_name(f".veilroute-{secrets.token_hex(8)}")
    try:
        if not _write_nameless(beside, raw, mode, old):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(beside, flags, mode if old is None else 0o600), "wb") as file:
                _fill(file, raw, old)
        if is_new:
            _name_new(beside, target)
        else:
            beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()


def _write_nameless(beside: Path, raw: bytes, mode: int, old: os.stat_result | None) -> bool:
    """Write a file that gets a name only when it is complete; returns whether the system can do that here."""
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is None or not Path("/proc/self/fd").is_dir():
        return False
    try:
        handle = os.open(beside.parent, os.O_WRONLY | nameless, mode if old is None else 0o600)
    except OSError:  # not every file system can
        return False
    with os.fdopen(handle, "wb") as file:
        _fill(file, raw, old)
        try:
            # A folder's handle makes Python use the call that follows the link to the open file.
            folder = os.open(beside.parent, os.O_RDONLY)
            try:
                os.link(f"/proc/self/fd/{handle}", beside, src_dir_fd=folder, follow_symlinks=True)
            finally:
                os.close(folder)
        except OSError:  # nor has every one of these hard links
            return False
    return True


def _fill(file: BinaryIO, raw: bytes, old: os.stat_result | None) -> None:
    """Write a new file that only we can read, or that has its mode, up to the disk; before that, let it be as the old.

    Nobody can read the content who could not read the old file: if its group cannot be kept, the new one may do no more
    than everybody may.
    """
    if old is not None and hasattr(os, "fchown"):
        handle = file.fileno()
        mode, new = stat.S_IMODE(old.st_mode), os.fstat(handle)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            try:
                os.fchown(handle, old.st_uid, old.st_gid)
            except OSError:
                try:
                    os.fchown(handle, -1, old.st_gid)
                except OSError:
                    mode &= ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
        with suppress(PermissionError):  # file systems without modes
            os.fchmod(handle, mode)
    file.write(raw)
    file.flush()
    os.fsync(file.fileno())


def _name_new(beside: Path, target: Path) -> None:
    """Give a complete file the target's name unless a file has it."""
    try:
        os.link(beside, target)
        return
    except FileExistsError:
        raise
    except OSError:  # no hard links here: reserve the name, then take it
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise


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
