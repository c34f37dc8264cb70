"""Colours, markers and line styles: one look per class, told apart without relying on hue.

The eight colours are those of :mod:`veilroute.formats.geojson`. Number, marker shape and, beyond eight classes, the
line style are further cues.
"""

from dataclasses import dataclass

from matplotlib.colors import to_hex, to_rgb

from veilroute.formats.geojson import OKABE_ITO, class_colour

# Shapes that leave room for a number; squares are kept for start and goal. Five shapes and eight colours repeat
# together only after forty classes.
MARKERS = ("o", "D", "^", "p", "v")

# On and off in widths of the line, drawn on a solid darker line: the route looks plain, dashed, dotted, mixed.
DASHES: tuple[tuple[float, ...], ...] = ((), (3.2, 2.2), (0.9, 1.8), (4.5, 1.5, 0.9, 1.5))

FLOOR = "#FBFBF8"
WALL = "#4D4D50"
CELL_LINE = "#E4E4DF"
STREET = "#B4B4B0"
JUNCTION = "#9C9C98"
# Real streets, from main roads to service roads and paths.
ROADS = ("#A9A9A4", "#B7B7B2", "#C6C6C1", "#D6D6D1")
MUTED = "#7A7A7A"
INK = "#1A1A1A"
START = "#22E3F2"
GOAL = "#4BD955"

# Black is lightened more, or its route would pass for its outline.
_LIGHTER = 0.38
_LIGHTER_BLACK = 0.5
_DARKER = 0.45


@dataclass(frozen=True)
class ClassStyle:
    """How one class is drawn."""

    colour: str  # of its candidates' markers
    route: str  # a lighter tone
    edge: str  # a darker one, for outlines and arrows
    text: str  # black or white, whichever is read more easily on the colour
    marker: str
    dashes: tuple[float, ...]  # on and off lengths of the route in line widths, empty for a plain line


def class_style(index: int) -> ClassStyle:
    """The look of the class at ``index``, counted from 0."""
    colour = class_colour(index)
    lighter = _LIGHTER_BLACK if max(to_rgb(colour)) == 0 else _LIGHTER
    return ClassStyle(
        colour=colour,
        route=mix(colour, "#FFFFFF", lighter),
        edge=mix(colour, "#000000", _DARKER),
        text="#FFFFFF" if luminance(colour) < 0.18 else "#000000",
        marker=MARKERS[index % len(MARKERS)],
        dashes=DASHES[index // len(OKABE_ITO) % len(DASHES)],
    )


def mix(colour: str, other: str, share: float) -> str:
    """``colour`` with ``share`` of ``other`` mixed in."""
    pairs = zip(to_rgb(colour), to_rgb(other), strict=True)
    return to_hex(tuple(a + (b - a) * share for a, b in pairs))  # type: ignore[arg-type]


def luminance(colour: str) -> float:
    """Relative luminance as the web's contrast rules define it: 0 for black, 1 for white."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
