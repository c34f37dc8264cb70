"""How methods look in figures: one colour, marker and dash each, told apart without relying on hue.

Colours are those of Okabe and Ito without yellow, which is hard to see on white. What the paper published has the
method's colour and marker, hollow.
"""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veilroute.bench.cells import Method
from veilroute.plotting.palette import MUTED, mix

GRID = "#DADAD6"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 10.0, 9.0, 8.0

Dashes = tuple[int, tuple[float, ...]] | str


@dataclass(frozen=True)
class Look:
    """How one method is drawn."""

    colour: str
    marker: str
    dashes: Dashes


_LOOKS = {
    "naive": Look("#E69F00", "s", (0, (1.0, 1.5))),
    "df-bb": Look("#D55E00", "v", (0, (5.0, 1.5, 1.0, 1.5))),
    "merge-bb/random": Look("#56B4E9", "D", (0, (4.0, 2.0))),
    "merge-bb/cost-asc": Look("#0072B2", "o", "solid"),
    "rbp": Look("#CC79A7", "s", (0, (1.0, 1.5))),
    "cbp": Look("#009E73", "^", (0, (4.0, 2.0))),
    "m-pbp": Look("#0072B2", "o", "solid"),
    "optimal": Look("#000000", "*", (0, (6.0, 1.5))),
}
_OTHER = Look(MUTED, "x", "solid")


def look_of(method: Method) -> Look:
    """The look of a method; with the Blind heuristic in a lighter tone."""
    name = method.planner if method.planner != "pbp" else method.partitioner
    if name == "merge-bb":
        name = f"{name}/{method.merge_order}"
    look = _LOOKS.get(name, _OTHER)
    if method.heuristic == "blind":
        return Look(mix(look.colour, "#FFFFFF", 0.45), look.marker, look.dashes)
    return look


def new_axes() -> Axes:
    """Axes on a figure of their own; nothing global is touched."""
    axes: Axes = new_figure((6.0, 4.0)).subplots()
    return axes


def new_figure(size_in: tuple[float, float]) -> Figure:
    """An empty figure that arranges its axes and legend by itself."""
    # Imported here so that whoever brings their own axes and backend is not made to load this one.
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Figure(figsize=size_in, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(ax: Axes, *, title: str, xlabel: str, ylabel: str, grid: str = "both") -> None:
    """Title, labels and grid in the style that all panels have."""
    ax.set_title(title, fontsize=TITLE_SIZE)
    ax.set_xlabel(xlabel, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, fontsize=LABEL_SIZE)
    ax.tick_params(labelsize=TICK_SIZE)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
