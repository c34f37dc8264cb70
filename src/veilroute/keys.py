"""Drawing one of several classes: by a private key, or by the operating system's randomness.

A draw is exact. Shares are floating-point numbers, and each of these is an integer over a power of two: over a common
one they are integers, and a uniform integer below their sum falls to one of them. No share is rounded.

With a key, the uniform integer comes from HMAC-SHA256 over the playbook's hash, the secret and an occasion. So the same
key, secret and occasion give the same class in any process, and nothing has to be stored. The key is private. It is not
the seed of a plan, which is public.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import unicodedata
from collections.abc import Callable, Sequence
from itertools import accumulate, count
from pathlib import Path

from veilroute.errors import FileFormatError, InvalidInputError
from veilroute.jsontext import open_regular

_HEADER = b"veilroute-key/1\n"
_DRAW = b"veilroute-draw/1"
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
    number = below(ends[-1])
    return next(position for position, end in enumerate(ends) if number < end)


def occasion_bytes(occasion: str) -> bytes:
    """An occasion as bytes: text that looks the same is the same, however its accents were typed."""
    if not isinstance(occasion, str):
        raise InvalidInputError("occasion", "text")
    return unicodedata.normalize("NFC", occasion).encode("utf-8", "surrogatepass")


def new_key(path: str | Path) -> None:
    """Write a new random key to a file that only its owner can read; a file that is there is never overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        raise FileFormatError(
            path, "is there already, and a key that is lost cannot be made again; name a new file"
        ) from None
    except OSError as error:
        raise FileFormatError(
            path, f"cannot be written ({error.strerror}); check the path and its permissions"
        ) from None
    except ValueError:
        raise FileFormatError("file name", "not a path; it holds a null byte or half a character") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_HEADER + secrets.token_hex(_NUM_BYTES).encode() + b"\n")
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(path).unlink()
        if isinstance(error, OSError):
            raise FileFormatError(path, f"cannot be written ({error.strerror}); is the disk full?") from None
        raise


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
