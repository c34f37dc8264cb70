from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D

import veilroute as vr
from street_samples import ATTRIBUTION, NAMES, little_book, little_town
from veilroute.plotting import (
    arrows_along,
    bend_walks,
    draw_playbook,
    frame_of,
    plot_domain,
    plot_playbook,
    scale_length_m,
    street_lines,
    street_rank,
)


def collections(ax: Axes, name: str) -> list[LineCollection]:
    return [c for c in ax.collections if isinstance(c, LineCollection) and c.get_gid() == name]


def route(ax: Axes, name: str) -> Line2D:
    (line,) = [line for line in ax.lines if line.get_gid() == name]
    return line


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_streets_are_drawn_along_their_bends_main_roads_wider() -> None:
    ax = plot_domain(little_town())
    by_rank = [collections(ax, f"streets-{rank}")[0] for rank in range(4)]
    # Keskuskatu; Rantatie; the residential streets; the service road. Two-way streets once.
    assert [len(c.get_segments()) for c in by_rank] == [3, 3, 9, 2]
    widths = [float(np.asarray(c.get_linewidth())[0]) for c in by_rank]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 4
    assert sorted(len(segment) for segment in by_rank[1].get_segments()) == [2, 2, 5]
    assert sum(len(segment) for segment in by_rank[2].get_segments()) == 2 * 9 + 1


def test_one_way_streets_have_arrows_where_there_is_room() -> None:
    (arrows,) = [c for c in plot_domain(little_town()).collections if c.get_gid() == "one-way"]
    assert isinstance(arrows, PolyCollection)
    assert len(arrows.get_paths()) == 2
    tip = np.asarray(arrows.get_paths()[0].vertices)[0]
    back = np.asarray(arrows.get_paths()[0].vertices)[2]
    assert tip[1] < back[1]  # to the south


def test_routes_follow_the_bends() -> None:
    book = little_book()
    ax = plot_playbook(book)
    south = np.column_stack(route(ax, "route-2").get_data())
    nodes = [little_town().node(label) for label in book.classes[1].routes[0]]
    ((walk,),), positions = bend_walks(little_town(), [[nodes]])
    bends = positions[[node for node in walk if node >= 12]]
    assert len(bends) == 4
    for bend in bends:
        assert np.hypot(*(south - bend).T).min() < 8  # metres; corners may be rounded


def test_bends_are_the_same_nodes_in_both_directions() -> None:
    node = little_town().node
    walks = [[[node(110), node(111)]], [[node(111), node(110)]]]
    ((there,), (back,)), positions = bend_walks(little_town(), walks)
    assert there == back[::-1]
    assert len(there) == 5
    assert len(positions) == 12 + 3


def test_routes_on_one_bent_street_run_side_by_side() -> None:
    ax = plot_playbook(little_book(m=3))
    # Beyond 108, class 3 and the parting of class 2 both use the bend of Itätie.
    outer = np.column_stack(route(ax, "route-3").get_data())[:, 0].max()
    inner = np.column_stack(route(ax, "route-2-1").get_data())[:, 0].max()
    assert outer - inner > 1


def test_the_map_is_cropped_to_what_it_is_about() -> None:
    town = little_town()
    whole = frame_of(town)
    part = frame_of(town, [town.node(101), town.node(105)])
    assert part.right < whole.right
    assert part.left >= whole.left - 1
    assert part.top <= whole.top + 1


def test_legend_names_places_and_says_minutes() -> None:
    book = little_book()
    first, goal, *classes = legend_texts(plot_playbook(book))
    assert (first, goal) == ("start: Depot", "goal")
    assert classes == [
        "1: Branch North, Branch East, Branch Yard, 65 s",
        "2: Branch West, Branch Harbour, Branch Point, 60 s",
    ]


def test_legend_is_shortened_and_prints_dollars() -> None:
    names = {label: f"{name} with a rather long name $ of $ it" for label, name in NAMES.items()}
    texts = legend_texts(plot_playbook(little_book(names=names)))
    assert texts[2].endswith("and 2 more, 65 s")
    assert all(len(text) < 80 for text in texts)
    plain = legend_texts(plot_playbook(little_book(names={})))
    assert plain == ["start", "goal", "1: 3 candidates, 65 s", "2: 3 candidates, 60 s"]


def test_metres_are_said_as_distances() -> None:
    texts = legend_texts(plot_playbook(little_book(little_town(unit="metres"))))
    assert texts[2].endswith(" m")


def test_scale_and_credits_stand_below_the_map() -> None:
    ax = plot_playbook(little_book())
    texts = {text.get_text(): text for text in ax.texts}
    assert ATTRIBUTION in texts
    assert "100 m" in texts
    bar = np.asarray(route(ax, "scale").get_xdata(), dtype=np.float64)
    left, right = ax.get_xlim()
    assert (bar.max() - bar.min()) * (right - left) == pytest.approx(100)


@pytest.mark.parametrize(("scale", "metres"), [(1.0, 100), (0.5, 200), (0.3, 200), (0.2, 500), (0.011, 10_000)])
def test_scales_are_round_numbers(scale: float, metres: float) -> None:
    assert scale_length_m(scale) == metres


def test_ranks_of_streets() -> None:
    kinds = ("motorway_link", "tertiary", "residential", "", "footway")
    assert [street_rank(kind) for kind in kinds] == [0, 1, 2, 2, 3]


def test_streets_that_differ_by_direction_are_both_drawn() -> None:
    town = little_town()
    lines = street_lines(town)
    assert lines.is_one_way.sum() == 2
    assert len(lines.edges) == 17


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_playbooks_give_equal_pictures(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        draw_playbook(little_book(), tmp_path / f"{name}{suffix}", dpi=50)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_names_in_other_scripts_are_drawn_without_complaint(tmp_path: Path) -> None:
    draw_playbook(little_book(names={102: "東京"}), tmp_path / "a.png", dpi=50)


def test_a_plain_graph_keeps_its_legend() -> None:
    domain = vr.generate_streets(4, 5, seed=1)
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 19)], [3, 7, 11, 15]), vr.Privacy(k=2))
    assert any("candidates, cost " in text for text in legend_texts(plot_playbook(book)))


def test_a_line_that_runs_away_gets_so_many_arrows_and_no_more() -> None:
    far = np.array([[0.0, 0.0], [1e9, 0.0]])
    centres, directions = arrows_along(far, np.empty((0, 2)), clearance=10.0, phase=0.0)
    assert len(centres) == len(directions) == 300
