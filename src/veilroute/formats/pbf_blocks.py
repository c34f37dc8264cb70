"""Whether a ``.pbf`` file is complete: it is a row of blocks, each of which says how long it is, packed and unpacked.

A file that was cut exactly between two blocks cannot be told from a complete one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from veilroute.errors import FileFormatError
from veilroute.jsontext import open_regular

_LARGEST_HEADER, _LARGEST_BODY = 64 * 1024, 32 * 1024 * 1024
_MOST_FIELDS = 8  # a block has two or three
_MOST_GAIN, _FREE_BYTES = 50, 2**26  # maps as text grow about twelvefold, others about threefold
_NOT_PBF = "not an OpenStreetMap file in PBF format; check that it is the right one"
BOMB = f"unpacks to more than {_MOST_GAIN} times its size, as no map does; download it again"
"""What to say of a file that would keep its reader busy for hours."""


def most_unpacked(num_bytes: int) -> int:
    """How much a map of so many bytes may unpack to."""
    return _FREE_BYTES + _MOST_GAIN * num_bytes


def check_blocks(path: str | Path) -> None:
    """Raise unless the blocks of a PBF file fill it exactly; reads only what says how long they are."""
    num_blocks = unpacked = 0
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        while (left := size - file.tell()) > 0:
            length = int.from_bytes(file.read(4), "big")
            if left >= 4 and not 0 < length <= _LARGEST_HEADER:
                raise FileFormatError(path, _NOT_PBF if num_blocks == 0 else _damaged(num_blocks))
            if left < 4 + length:
                raise FileFormatError(path, _cut_off(num_blocks, size))
            kind, body = _parse_header(file.read(length))
            if kind not in (b"OSMHeader", b"OSMData") or not 0 <= body <= _LARGEST_BODY:
                raise FileFormatError(path, _NOT_PBF if num_blocks == 0 else _damaged(num_blocks))
            if left < 4 + length + body:
                raise FileFormatError(path, _cut_off(num_blocks, size))
            grown = _unpacked_size(file, body)
            if grown < 0:
                raise FileFormatError(path, _damaged(num_blocks))
            unpacked += grown
            if unpacked > most_unpacked(size):
                raise FileFormatError(path, BOMB)
            num_blocks += 1


def _unpacked_size(file: BinaryIO, body: int) -> int:
    """What a block says that it unpacks to (field 2), which osmium holds it to; -1 where it is none of OpenStreetMap's.

    Leaves the file behind the block.
    """
    begin, spot, size = file.tell(), 0, 0
    for _ in range(_MOST_FIELDS):
        if spot >= body:
            break
        file.seek(begin + spot)
        head = file.read(min(20, body - spot))
        tag, used = _varint(head, 0)
        value, used = _varint(head, used)
        spot += used
        if tag == (2 << 3):
            size = max(size, value)
        elif tag & 7 == 2:
            spot += value
        else:
            return -1
    file.seek(begin + body)
    return size if spot == body else -1


def _parse_header(raw: bytes) -> tuple[bytes, int]:
    """The kind of a block and the length of its body, from fields 1 and 3 of a protobuf message; else ``b""``, -1."""
    kind, body, spot = b"", -1, 0
    while spot < len(raw):
        tag, spot = _varint(raw, spot)
        value, spot = _varint(raw, spot)
        if tag == (3 << 3):
            body = value
        elif tag & 7 == 2:
            if tag == (1 << 3 | 2):
                kind = raw[spot : spot + value]
            spot += value
        elif tag & 7 != 0:
            return b"", -1
    return kind, body


def _varint(raw: bytes, spot: int) -> tuple[int, int]:
    value = shift = 0
    while spot < len(raw):
        value |= (raw[spot] & 127) << shift
        spot += 1
        if raw[spot - 1] < 128:
            break
        shift += 7
    return value, spot


def _cut_off(num_blocks: int, size: int) -> str:
    return f"truncated: it ends in the middle of block {num_blocks + 1}, after {size:,} bytes; download it again"


def _damaged(num_blocks: int) -> str:
    return f"damaged: block {num_blocks + 1} is none of OpenStreetMap's; download it again"
