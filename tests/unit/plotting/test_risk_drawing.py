"""Pictures of risk: places in several classes, and bars of what an observer believes."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import veilroute as vr
from drawn_books import PLACES, triangle_book
from street_samples import little_town
from veilroute.plotting import draw_playbook, html_map, letters, plot_playbook, rings


@pytest.fixture
def town() -> vr.Playbook:
    """A randomised playbook on streets, with a name that is no friend of HTML."""
    problem = vr.Problem(
        little_town(),
        [vr.Trip(105, 108)],
        [102, 104, 109, 111, 103, 112],
        names={102: "<b>North</b>"},
        prior=[6, 3, 2, 2, 1, 1],
    )
    return vr.solve(problem, vr.Privacy(risk=0.45, ell=1, mechanism="randomised"))


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def bars(ax: Axes) -> list[float]:
    """The widths of all parts of all bars, in the order of the legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [part.get_width() for part in legend.findobj(Rectangle) if part.get_gid() == "posterior"]


def test_a_place_of_several_classes_is_drawn_once() -> None:
    ax = plot_playbook(triangle_book())
    marked = [str(line.get_gid()) for line in ax.lines if str(line.get_gid()).startswith("place-")]
    # An outline, a slice for each of two classes, and the middle.
    assert marked == [f"place-{i}" for i in (1, 2, 3) for _ in range(4)]
    assert not [line for line in ax.lines if str(line.get_gid()).startswith("candidate-")]
    assert sorted(text.get_text() for text in ax.texts) == ["G", "S", "a", "b", "c"]


def test_the_legend_says_who_is_in_a_class_and_how_often_it_is_drawn() -> None:
    ax = plot_playbook(triangle_book())
    assert [text.partition(", ")[0] for text in legend_texts(ax)[2:]] == ["1: a b", "2: a c", "3: b c"]
    assert [text.rpartition(", ")[2] for text in legend_texts(ax)[2:]] == ["drawn 50%", "drawn 30%", "drawn 20%"]
    assert "risk 0.5" in ax.get_title()


def test_slices_are_as_large_as_the_chances() -> None:
    ring = rings(triangle_book())
    assert list(ring) == list(PLACES)
    assert dict(ring[PLACES[0]]) == pytest.approx({0: 0.625, 1: 0.375})
    assert all(sum(chance for _, chance in slices) == pytest.approx(1) for slices in ring.values())


def test_bars_show_what_an_observer_believes(two_rooms: vr.Domain) -> None:
    trips, places = [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4)]
    book = vr.solve(vr.Problem(two_rooms, trips, places, prior=[1, 3, 2]), vr.Privacy(k=3))
    ax = plot_playbook(book)
    widths = bars(ax)
    assert [width / sum(widths) for width in widths] == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert legend_texts(ax)[2].endswith("best guess 50%")
    plain = plot_playbook(replace(book, prior=None))
    assert bars(plain) == []
    assert "best guess" not in legend_texts(plain)[2]


def test_classes_that_look_the_same_have_one_bar() -> None:
    book = triangle_book()
    first = book.classes[0]
    taken = replace(book.classes[1], routes=first.routes, member_routes={})
    book = replace(book, classes=(first, taken, book.classes[2]))
    ax = plot_playbook(book)
    texts, widths = legend_texts(ax)[2:], bars(ax)
    assert texts[0].endswith("drawn 50%, looks like 2") and texts[1].endswith("drawn 30%, looks like 1")
    assert texts[2].endswith("drawn 20%")
    # Of the shares .25 .25 and .15 .15: the first place has .4 of .8; then the two of the third class.
    whole = sum(widths) / 2
    assert [width / whole for width in widths] == pytest.approx([0.5, 0.3125, 0.1875, 0.5, 0.5])


def test_letters_go_on_after_z() -> None:
    assert [letters(i) for i in (0, 25, 26, 27, 51, 52, 701, 702)] == ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]
    assert len({letters(i) for i in range(2_000)}) == 2_000


def test_the_same_playbook_gives_the_same_bytes(town: vr.Playbook, tmp_path: Path) -> None:
    for suffix in (".png", ".svg", ".pdf"):
        files = [tmp_path / f"{i}{suffix}" for i in range(2)]
        for file in files:
            draw_playbook(town, file)
        assert files[0].read_bytes() == files[1].read_bytes()


def test_the_html_map_has_rings_and_bars(town: vr.Playbook) -> None:
    page = html_map(town)
    found = re.search(r'<script[^>]*id="scene"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    scene = json.loads(gzip.decompress(base64.b64decode(found[1])))
    book = scene["playbook"]
    places = [place for place in book["places"][0] if place["role"] == "candidate"]
    assert sorted(place["mark"] for place in places) == ["a", "b", "c", "d", "e", "f"]
    for place in places:
        assert len(place["ring"]) == len(place["numbers"]) >= 1
        assert sum(part["part"] for part in place["ring"]) == pytest.approx(1)
    bars = [group["bar"] for group in book["trips"][0]["classes"] if "bar" in group]
    assert len(bars) == len(vr.risk(town).routes)
    assert all(sum(chance for _, chance in bar) == pytest.approx(1) for bar in bars)
    assert ["Risk", "no area less than 1 across is likelier than 45%"] in book["summary"]
    assert "<b>North" not in page
    (north,) = [candidate for candidate in book["candidates"] if candidate["name"] == "<b>North</b>"]
    assert north["letters"] == "a"
