"""Latitude and longitude as people write them, by themselves or both in one text.

Degrees may have a decimal point or a decimal comma, or minutes and seconds; a letter for the hemisphere stands before
or behind. What can be read in two ways is refused.
"""

import re

_NUMBER = r"\d+(?:[.,]\d*)?|[.,]\d+"
_PLAIN = re.compile(rf"\s*([+-]?(?:{_NUMBER})(?:[eE]-\d\d?)?)\s*", re.ASCII)  # 5e-05 is what programs write
_ANGLE = re.compile(
    rf"""\s*(?P<before>[NSEW])?\s*(?P<sign>[+-])?\s*
    (?P<degrees>{_NUMBER})\s*(?P<mark>[°d:]?)
    (?:(?:(?<=[°d:])\s*|\s+)(?P<minutes>{_NUMBER})\s*(?P<minute_mark>[':]?)
        (?:(?:(?<=[':])\s*|\s+)(?P<seconds>{_NUMBER})\s*(?:"|'')?)?
    )?\s*(?P<after>[NSEW])?\s*""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_WKT_POINT = re.compile(
    rf"\s*POINT\s*Z?\s*\(\s*([+-]?(?:{_NUMBER}))\s+([+-]?(?:{_NUMBER}))(?:\s.*)?\)\s*", re.ASCII | re.I
)
_BETWEEN = re.compile(r"[,;/|]\s*|\s+|(?<=[NSEW\"])(?=[\dNSEW+-])|(?<=['\"°])(?=[NSEW]\s*\d)")
_EXPONENT = re.compile(r"\d[eE][+-]?\d", re.ASCII)  # whose letter is not the east
_LETTER = re.compile("[NSEW]", re.IGNORECASE)
# What keyboards and word processors put for the marks, minus signs and spaces.
_SIGNS = str.maketrans(dict.fromkeys("′’‘´`", "'") | dict.fromkeys("″“”„", '"') | dict.fromkeys("−–", "-"))
_SIGNS |= str.maketrans(dict.fromkeys("º˚", "°") | dict.fromkeys("\u00a0\u202f\u2009", " "))
_LONGEST = 80

Axis = str  # "lat" or "lon"


def read_degrees(text: str, axis: Axis) -> float:
    """The degrees in a text such as ``60.17``, ``60,17``, ``60°10'12.3"N`` or ``60 10.2 N``.

    Raises ``ValueError``, with what was expected, where it is something else.
    """
    try:
        degrees, stated = _angle(text.translate(_SIGNS))
    except ValueError as error:
        raise ValueError(str(error) or "expected degrees such as 60.17 or 60°10'12\"N") from None
    if stated is not None and stated != axis:
        raise ValueError(f"expected a {_WORDS[axis]}, and this is a {_WORDS[stated]}; have the two changed places?")
    return degrees


def read_lat_lon(text: str) -> tuple[float, float]:
    """Latitude and longitude in one text; in this order, unless letters say otherwise, and ``POINT (LON LAT)``.

    Raises ``ValueError``, with what was expected, where it is something else or can be read in two ways.
    """
    point = _WKT_POINT.fullmatch(text)
    if point is not None:
        return _decimal(point[2]), _decimal(point[1])
    bare = text.translate(_SIGNS).strip().removeprefix("geo:").strip("()[] ")
    is_readable = len(bare) <= _LONGEST and _EXPONENT.search(bare) is None
    found = _readings(bare) if is_readable else set()
    if found and _LETTER.search(bare):
        # A letter at one end makes minutes of bare numbers, which may as well be those of the other: N 60 10 24 56.
        found |= _readings(bare, needs_marks=False)
    if len(found) != 1:
        problem = "can be read in two ways" if found else "expected latitude and longitude such as 60.17,24.93"
        raise ValueError(f"{problem}; write 60.17,24.93" if found else problem)
    return found.pop()


def _readings(text: str, *, needs_marks: bool = True) -> set[tuple[float, float]]:
    """Latitude and longitude for each way to part the text into two angles."""
    found = set()
    for cut in _BETWEEN.finditer(text):
        try:
            first, second = (_angle(part, needs_marks) for part in (text[: cut.start()], text[cut.end() :]))
        except ValueError:
            continue
        axes = (first[1] or "lat", second[1] or "lon") if first[1] != "lon" else ("lon", second[1] or "lat")
        if axes[0] != axes[1]:
            found.add((first[0], second[0]) if axes[0] == "lat" else (second[0], first[0]))
    return found


_WORDS = {"lat": "latitude", "lon": "longitude"}


def _angle(text: str, needs_marks: bool = True) -> tuple[float, Axis | None]:
    """The degrees, and the axis where a letter says it. Minutes need a mark or a letter, unless told otherwise."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return _decimal(plain[1]), None
    match = _ANGLE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError
    parts = match.groupdict()
    letter = (parts["before"] or "") + (parts["after"] or "")
    has_marks = bool(parts["mark"] or parts["minute_mark"] or letter)
    if len(letter) > 1 or (parts["minutes"] and needs_marks and not has_marks):
        raise ValueError
    seconds = 3600 * _decimal(parts["degrees"])
    for unit, size in (("minutes", 60), ("seconds", 1)):
        value = _decimal(parts[unit] or "0")
        coarser = parts["degrees" if unit == "minutes" else "minutes"] or ""
        if value >= 60:
            raise ValueError(f"expected {unit} below 60, got {value:g}")
        if parts[unit] and not coarser.isdigit():
            raise ValueError(f"expected whole numbers before the {unit}")
        seconds += size * value
    if letter and parts["sign"]:
        raise ValueError("expected a sign or a letter for the hemisphere, not both")
    is_negative = parts["sign"] == "-" or letter.upper() in ("S", "W")
    axis = None if not letter else "lat" if letter.upper() in "NS" else "lon"
    degrees = seconds / 3600 if parts["minutes"] else _decimal(parts["degrees"])
    return -degrees if is_negative else degrees, axis


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))
