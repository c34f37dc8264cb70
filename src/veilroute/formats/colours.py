"""The colours of classes, for pictures and for map files alike.

They are those of Okabe and Ito ("Color universal design", 2008), in the order that keeps the first few furthest apart
(CIE Lab) for normal sight, protanopia, deuteranopia and tritanopia alike.
"""

from __future__ import annotations

OKABE_ITO = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#F0E442",  # yellow
    "#000000",  # black
    "#56B4E9",  # sky blue
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#009E73",  # bluish green
)


def class_colour(index: int) -> str:
    """The colour of the class at ``index``, counted from 0; they repeat after eight."""
    return OKABE_ITO[index % len(OKABE_ITO)]
