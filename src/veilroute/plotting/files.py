"""Pictures as files: the same playbook gives the same bytes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.playbook import Playbook
from veilroute.plotting.playbook_plot import draw_on_axes

FORMATS = (".png", ".svg", ".pdf")

# No dates, and no version that would change the bytes without changing the picture.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "veilroute"},
    ".svg": {"Creator": "veilroute", "Date": None},
    ".pdf": {"Creator": "veilroute", "Producer": "veilroute", "CreationDate": None},
}


def draw_playbook(
    playbook: Playbook,
    path: str | Path,
    *,
    trip: int = 0,
    dpi: float = 150,
    size: tuple[float, float] | None = None,
) -> None:
    """Draw a playbook as :func:`~veilroute.plotting.plot_playbook` does and save the picture.

    The bytes depend only on the playbook, the options and the installed matplotlib; the user's matplotlib settings
    play no part. No display is needed.

    Parameters
    ----------
    playbook
        With its domain attached.
    path
        The file; its suffix, ``.png``, ``.svg`` or ``.pdf``, chooses the format.
    trip
        Which trip's routes to draw.
    dpi
        Resolution of a ``.png``, and of the walls inside an ``.svg`` or ``.pdf``.
    size
        Width and height in inches; made to fit the map when left out.

    Raises
    ------
    UnknownMethodError
        For another suffix.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UnknownMethodError("picture format", path.suffix, FORMATS)
    _check_positive("dpi", dpi)
    if size is not None:
        if not isinstance(size, Sequence) or len(size) != 2:
            raise InvalidInputError("size", "width and height in inches", size)
        _check_positive("size[0]", size[0])
        _check_positive("size[1]", size[1])
    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the font lacks shows boxes; the picture is of use all the same.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "veilroute"
        ax = draw_on_axes(playbook, trip=trip, ax=None, title=None, legend=True, size_in=size)
        figure = ax.figure
        assert isinstance(figure, Figure)
        figure.savefig(path, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInputError(name, "a number > 0", value)
