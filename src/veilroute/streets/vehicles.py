"""How large a vehicle is, and which streets are too low, too weak or too short for it.

A limit is a number with or without a unit: metres or feet and inches (``3.5``, ``3.5 m``, ``12'6"``), tonnes,
kilograms, pounds or short tons (``7.5``, ``7.5 t``, ``7500 kg``, ``8 st``). Of several the lowest counts. Words such as
``default`` and ``none`` are no limits, nor is what cannot be read. A limit for heavy vehicles (``maxweight:hgv``)
stands in for that for all. What holds only at times, or for some (``maxweight:conditional``), is not read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError
from veilroute.streets.ways import Tags

_MOST_M, _MOST_LONG_M, _MOST_T = 10.0, 60.0, 500.0
_FOOT, _INCH = 0.3048, 0.0254
_METRES = {"": 1.0, "m": 1.0, "metre": 1.0, "metres": 1.0, "meter": 1.0, "meters": 1.0, "cm": 0.01}
_METRES |= {"ft": _FOOT, "feet": _FOOT, "'": _FOOT, "in": _INCH, '"': _INCH}
_TONNES = {"": 1.0, "t": 1.0, "ton": 1.0, "tons": 1.0, "tonne": 1.0, "tonnes": 1.0, "kg": 0.001, "st": 0.90718474}
_TONNES |= {"lb": 0.00045359237, "lbs": 0.00045359237}
_NUMBER = re.compile(r"(\d{1,6}(?:[.,]\d{1,6})?)\s*([a-z'\"]*)")
_FEET = re.compile(r"(\d{1,3})\s*(?:'|ft|feet)\s*(\d{1,2}(?:\.\d{1,3})?)\s*(?:\"|in)?")
_QUOTES = str.maketrans({"\u2032": "'", "\u2019": "'", "\u2033": '"', "\u201d": '"'})


def parse_metres(text: str) -> float | None:
    """Read a height or length; ``None`` where the text states none."""
    return _lowest(text, _one_length)


def parse_tonnes(text: str) -> float | None:
    """Read a weight; ``None`` where the text states none."""
    return _lowest(text, lambda part: _with_unit(part, _TONNES))


def _lowest(text: str, parse: Callable[[str], float | None]) -> float | None:
    tidy = text.translate(_QUOTES).replace("''", '"').lower()
    return min((limit for part in tidy.split(";") if (limit := parse(part.strip())) is not None), default=None)


def _one_length(text: str) -> float | None:
    if both := _FEET.fullmatch(text):
        return int(both[1]) * _FOOT + float(both[2]) * _INCH
    return _with_unit(text, _METRES)


def _with_unit(text: str, units: dict[str, float]) -> float | None:
    number = _NUMBER.fullmatch(text)
    if number is None or number[2] not in units:
        return None
    return float(number[1].replace(",", ".")) * units[number[2]] or None  # 0 is no limit that anybody meant


# The tags that limit each size; where a key has one for heavy vehicles beside it, that one counts.
_LIMITS: dict[str, tuple[str, ...]] = {
    "height": ("maxheight", "maxheight:physical"),
    "weight": ("maxweight", "maxweightrating"),
    "length": ("maxlength",),
}
LIMIT_KEYS = frozenset(key + end for keys in _LIMITS.values() for key in keys for end in ("", ":hgv"))


@dataclass(frozen=True)
class Vehicle:
    """The size of a vehicle; what is not given meets no limit."""

    height: float | None = None  #: metres
    weight: float | None = None  #: tonnes, loaded
    length: float | None = None  #: metres

    def __post_init__(self) -> None:
        most = {"height": (_MOST_M, "metres"), "weight": (_MOST_T, "tonnes"), "length": (_MOST_LONG_M, "metres")}
        for name, (largest, unit) in most.items():
            size = getattr(self, name)
            if size is not None and not is_number(size, 1e-3, largest):
                raise InvalidInputError(name, f"{unit} above 0 and at most {largest:g}", size)

    def reason_against(self, tags: Tags) -> str:
        """The limit among the tags that the vehicle exceeds, as ``maxheight=3.5``; or nothing."""
        for name, keys in _LIMITS.items():
            size = getattr(self, name)
            parse = parse_tonnes if name == "weight" else parse_metres
            for key in keys if size is not None else ():
                stated = f"{key}:hgv" if f"{key}:hgv" in tags else key
                limit = parse(tags.get(stated, ""))
                if limit is not None and size > limit + 1e-9:
                    return f"{stated}={tags[stated]}"
        return ""


ANY_SIZE = Vehicle()  #: a vehicle that meets no limit
