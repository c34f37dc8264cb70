"""Pictures of playbooks: what they show of every kind, what an observer believes, and the same bytes again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

import veilroute as vr
from drawn_books import PLACES, triangle_book
from street_samples import ATTRIBUTION, exposed_book, little_book, little_town
from veilroute.plotting import bend_walks, draw_playbook, letters, plot_playbook

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
ROOMS = ["...@...", ".......", "...@..."]
WEST, EAST = (1, 0), (1, 6)


def rooms_book() -> vr.Playbook:
    problem = vr.Problem(vr.grid_domain(ROOMS), [vr.Trip(WEST, EAST)], [(0, 2), (2, 2), (0, 4), (2, 4)])
    return vr.solve(problem, vr.Privacy(k=2, ell=2))


def town_book() -> vr.Playbook:
    """A randomised playbook on streets."""
    places = [102, 104, 109, 111, 103, 112]
    problem = vr.Problem(little_town(), [vr.Trip(105, 108)], places, prior=[6, 3, 2, 2, 1, 1])
    return vr.solve(problem, vr.Privacy(risk=0.45, ell=1, mechanism="randomised"))


def graph_book() -> vr.Playbook:
    """Without coordinates, from the middle of a line and back, with labels of all kinds."""
    labels: list[Hashable] = ["a", 7, "$c$", "d", "東"]
    domain = vr.Domain.from_edges(5, [0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3], [1.5] * 8, labels=labels)
    return vr.solve(vr.Problem(domain, [vr.Trip("$c$", "$c$")], [7, "d"]), vr.Privacy(k=2))


def hopeless_book() -> vr.Playbook:
    problem = vr.Problem(vr.grid_domain(["....."]), [vr.Trip((0, 0), (0, 4))], [(0, 1), (0, 2)])
    return vr.solve(problem, vr.Privacy(k=2, ell=30))


BOOKS: dict[str, Callable[[], vr.Playbook]] = {
    "grid": rooms_book,
    "streets": little_book,
    "members part": lambda: little_book(m=3),
    "other scripts": lambda: little_book(names={102: "東京", 105: "$x_1$ " * 20}),
    "randomised": town_book,
    "triangle": triangle_book,
    "graph": graph_book,
    "nobody is hidden": hopeless_book,
    "exposed": exposed_book,
}


def lines(ax: Axes, name: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_gid() == name]


def route_names(ax: Axes) -> list[str]:
    return [name for line in ax.lines if (name := str(line.get_gid())).startswith("route-")]


def marks(ax: Axes) -> list[str]:
    return sorted(text.get_text() for text in ax.texts if isinstance(text, Annotation))


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def bars(ax: Axes) -> list[float]:
    """The widths of all parts of all bars, in the order of the legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [part.get_width() for part in legend.findobj(Rectangle) if part.get_gid() == "posterior"]


@pytest.mark.parametrize("suffix", MAGIC)
@pytest.mark.parametrize("name", ["grid", "streets", "randomised", "other scripts"])
def test_equal_playbooks_give_equal_bytes_whatever_the_users_settings_are(
    tmp_path: Path, name: str, suffix: str
) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"SECOND{suffix.upper()}"
    draw_playbook(BOOKS[name](), first, dpi=50)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "savefig.bbox": "tight", "svg.fonttype": "none"}):
        draw_playbook(BOOKS[name](), str(second), dpi=50)
        assert mpl.rcParams["font.size"] == 20
    data = first.read_bytes()
    assert data == second.read_bytes()
    assert data.startswith(MAGIC[suffix]) and b"Date" not in data


@pytest.mark.parametrize("name", [name for name in BOOKS if name != "other scripts"])  # the font lacks some
def test_every_hidden_class_has_its_routes_its_places_and_a_line_in_the_legend(name: str) -> None:
    book = BOOKS[name]()
    ax = plot_playbook(book)
    wanted = []
    for number, group in enumerate(book.hidden_classes, start=1):
        parts = [f"route-{number}-{i + 1}" for i, (_, nodes) in enumerate(group.rests(0)) if len(nodes) > 1]
        wanted += [f"route-{number}", *parts]
        if not book.is_randomised:
            assert len(lines(ax, f"candidate-{number}")) == len(group.members)
    assert route_names(ax) == wanted
    places = {member for group in book.hidden_classes for member in group.members}
    numbers = [str(i) for i, group in enumerate(book.hidden_classes, 1) for _ in group.members]
    shown = map(letters, range(len(places))) if book.is_randomised else numbers
    exposed = ["!"] * sum(label not in places for label in book.candidates)
    assert marks(ax) == sorted([*shown, *exposed, "G", "S"])
    streets = book.problem.domain.streets
    assert (ATTRIBUTION in {text.get_text() for text in ax.texts}) == bool(streets and streets.attribution)
    assert sum(text.partition(":")[0].isdigit() for text in legend_texts(ax)) == len(book.hidden_classes)


def test_routes_follow_the_bends_of_streets() -> None:
    book, town = little_book(), little_town()
    ax = plot_playbook(book)
    for number, group in enumerate(book.hidden_classes, start=1):
        drawn = np.asarray(lines(ax, f"route-{number}")[0].get_xydata())
        ((walk,),), positions = bend_walks(town, [[[town.node(label) for label in group.routes[0]]]])
        for bend in positions[walk]:
            assert np.hypot(*(drawn - bend).T).min() < 8  # metres; corners may be rounded


def test_bars_show_what_an_observer_believes() -> None:
    problem = vr.Problem(vr.grid_domain(ROOMS), [vr.Trip((0, 0), (2, 6))], PLACES, prior=[1, 3, 2])
    book = vr.solve(problem, vr.Privacy(k=3))
    widths = bars(plot_playbook(book))
    assert [width / sum(widths) for width in widths] == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert bars(plot_playbook(replace(book, prior=None))) == []
