"""Drawing one of several classes: by a private key, or by the operating system's randomness.

A draw is exact. Shares are floating-point numbers, and each of these is an integer over a power of two: over a common
one they are integers, laid end to end, and a uniform number, as many digits of it as are needed, falls to one of them.
No share is rounded.

With a key, the digits come from HMAC-SHA256 over what the draw is about (:meth:`~veilroute.Playbook.draw_sha256`), the
secret and an occasion. So the same key, secret and occasion give the same class in any process, and nothing has to be
stored. The key is private. It is not the seed of a plan, which is public.
"""

import hashlib
import hmac
import os
import secrets
import stat
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, count
from pathlib import Path

from veilroute.base.errors import FileFormatError, InvalidInputError
from veilroute.base.io import open_regular, write_file

_HEADER = b"veilroute-key/1\n"
_DRAW = b"veilroute-draw/2"
_DIGIT = 2**255  #: uniform numbers have digits from 0 to below this one
_NUM_BYTES = 32
_NUM_DIGITS = 2 * _NUM_BYTES
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

Below = Callable[[int], int]  #: gives a uniform integer from 0 to below its argument, another one each time


class Key:
    """A private key for draws; nothing shows what it is.

    Make a file with :func:`new_key` and read it with :func:`read_key`.
    """

    __slots__ = ("_mac",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != _NUM_BYTES:
            raise InvalidInputError("key", f"{_NUM_BYTES} bytes")
        # Only the state of the hash is kept, of which the bytes cannot be had back.
        self._mac = hmac.new(secret, digestmod=hashlib.sha256)

    def __repr__(self) -> str:
        return "<Key>"

    def numbers(self, *parts: bytes) -> Below:
        """Uniform integers that depend on the key and the parts alone."""
        message = b"".join(len(part).to_bytes(8, "big") + part for part in (_DRAW, *parts))
        counter = count()

        def block() -> bytes:
            mac = self._mac.copy()
            mac.update(message + next(counter).to_bytes(8, "big"))
            return mac.digest()

        def below(total: int) -> int:
            num_bits = total.bit_length()
            num_blocks = -(-num_bits // 256)
            while True:  # each time it ends with a chance above one half
                raw = b"".join(block() for _ in range(num_blocks))
                number = int.from_bytes(raw, "big") >> (256 * num_blocks - num_bits)
                if number < total:
                    return number

        return below


def draw(weights: Sequence[float], below: Below = secrets.randbelow) -> int:
    """Draw a position with a chance exactly proportional to its weight; one of weight 0 is never drawn.

    Weights are finite, at least 0 and not all 0. The integers that they become have at most some 2,100 bits, which is
    the range of floating-point numbers, from the smallest to the largest.
    """
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    scale = max(divisor for _, divisor in ratios)  # a power of two, as all of them
    ends = list(accumulate(number * (scale // divisor) for number, divisor in ratios))
    number, scale = 0, 1
    while True:  # one digit is enough, but for a chance of 2^-240
        number, scale = number * _DIGIT + below(_DIGIT), scale * _DIGIT
        position = bisect_right(ends, number * ends[-1] // scale)
        if ((number + 1) * ends[-1] - 1) // scale < ends[position]:  # so does all that begins with these digits
            return position


def occasion_bytes(occasion: str) -> bytes:
    """An occasion as bytes: text that looks the same is the same, however its accents were typed."""
    if not isinstance(occasion, str):
        raise InvalidInputError("occasion", "text")
    return unicodedata.normalize("NFC", occasion).encode("utf-8", "surrogatepass")


def new_key(path: str | Path) -> None:
    """Write a new random key to a file that only its owner can read; a file that is there is never overwritten."""
    try:
        write_file(path, _HEADER + secrets.token_hex(_NUM_BYTES).encode() + b"\n", is_new=True, mode=0o600)
    except FileExistsError:
        raise FileFormatError(
            path, "is there already, and a key that is lost cannot be made again; name a new file"
        ) from None


def read_key(path: str | Path) -> Key:
    """Read a key file; one that others could have read or changed is refused. No error shows anything of it."""
    with open_regular(path) as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS:
            raise FileFormatError(
                path, "others than its owner can read or change this key; run chmod 600, or make another"
            )
        raw = file.read(len(_HEADER) + _NUM_DIGITS + 3)
    header, digits = raw[: len(_HEADER)], raw[len(_HEADER) :].removesuffix(b"\n")
    if header != _HEADER or len(digits) != _NUM_DIGITS or digits.strip(b"0123456789abcdef"):
        raise FileFormatError(path, "not a key; make one with veilroute key new FILE")
    return Key(bytes.fromhex(digits.decode("ascii")))
