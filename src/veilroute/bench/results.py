"""The file ``records.jsonl`` of a run: one finished cell a line, in canonical JSON, in the order in which cells end.

Each line is written whole and synced to the disk before the next, so that a killed run loses nothing that was finished.
A run that is killed while it writes leaves at most one torn line at the end; the next run cuts it off. The file is
locked by the operating system while a run writes to it, which also frees it when that run is killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from veilroute.base.errors import FileFormatError, InvalidInputError
from veilroute.base.io import dump_canonical, parse_json, read_bytes
from veilroute.base.journal import lock_file
from veilroute.bench.cells import FORMAT, Record, record_from_dict

FILE_NAME = "records.jsonl"


class RecordStore(dict[str, Record]):
    """The records in a folder by their cells' keys; a context manager, which makes the folder and is open for more.

    Records of other experiments stay in the file, and are found by their keys.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / FILE_NAME
        self._file: BinaryIO | None = None

    def __enter__(self) -> RecordStore:
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
        try:
            self._lock(self._file)
            self._mend(self._file)
            self.update(read_records(self.path))
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            is_empty = not self._file.tell()
            self._file.close()
            self._file = None
            if is_empty:  # nothing came of it: leave no trace
                with suppress(OSError):
                    self.path.unlink()
                    self.path.parent.rmdir()

    def append(self, data: dict[str, Any]) -> Record:
        """Write what ``Record.to_dict`` made, and return it as it will be read back; it is then on the disk."""
        if self._file is None:
            raise InvalidInputError("RecordStore", "to be opened by a with statement first")
        line = dump_canonical(data)
        record = _parse(line, self.path, None)
        with self._writing():
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        _keep(self, record)
        return record

    def _lock(self, file: BinaryIO) -> None:
        # Some network file systems know no locks; there we rely on the user.
        with suppress(OSError):
            if not lock_file(file):
                expected = "no other run that writes to it; wait for that one, or choose another --out"
                raise InvalidInputError(str(self.path), expected)

    def _mend(self, file: BinaryIO) -> None:
        """Cut off a line that a killed run left half written."""
        raw = read_bytes(self.path)
        whole = raw.rfind(b"\n") + 1
        if whole == len(raw):
            return
        with self._writing():
            try:
                _parse(raw[whole:], self.path, None)
            except FileFormatError:
                file.truncate(whole)
            else:
                file.write(b"\n")  # only the end of the line is missing
            os.fsync(file.fileno())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            expected = f"a folder that can be written, with room left ({error.strerror})"
            raise InvalidInputError("--out", expected, str(self.path.parent)) from None


def read_records(path: Path) -> dict[str, Record]:
    """Read a records file: records by their cell's key, in the order of the file.

    Of several records of one cell that the same plug-ins made, or none, the first counts, or the first without an error
    if there is one. A record that other plug-ins made than those of the record before it takes the place of that one,
    with an error too: the cell was run again because they had changed. What is behind the last end of a line is the
    torn line of a killed run, and is passed over.
    """
    records: dict[str, Record] = {}
    for number, line in enumerate(read_bytes(path).split(b"\n")[:-1], start=1):
        _keep(records, _parse(line, path, number))
    return records


def _keep(records: dict[str, Record], record: Record) -> None:
    known = records.get(record.cell.key)
    if known is None or known.plugins != record.plugins or (known.outcome.error and not record.outcome.error):
        records[record.cell.key] = record


def _parse(line: bytes, path: Path, number: int | None) -> Record:
    try:
        data = parse_json(line, path)
    except FileFormatError:
        data = None
    found = data.get("format") if isinstance(data, dict) else None
    if not isinstance(found, str) or not found.startswith("veilroute-record/"):
        raise FileFormatError(path, "not a record; delete the line, and its cell will be run again", number)
    if found != FORMAT:
        trouble = f"written in {found[:40]}, but this version reads {FORMAT}; choose another --out"
        raise FileFormatError(path, trouble, number)
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        record = record_from_dict(data)
        if record.cell.key == data["key"]:
            return record
    raise FileFormatError(path, "damaged record; delete the line, and its cell will be run again", number)
