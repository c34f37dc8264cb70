"""Charts show the numbers they should, figures are files with the same bytes each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute.bench import (
    BEST,
    M_PBP,
    OPTIMAL,
    PARTITIONING,
    Layout,
    Picture,
    Record,
    Selection,
    draw_chart,
    draw_pictures,
    find_suite,
)

LINES = Layout("t", "T", columns=("mac",))


def chart_of(layout: Layout, records: Sequence[Record]) -> tuple[list[Axes], int]:
    """The panels that show something, and how many settings have none."""
    figure, num_left_out = draw_chart(layout, Selection(tuple(records)))
    return [ax for ax in figure.axes if ax.axison], num_left_out


def drawn_on(ax: Axes) -> dict[str, ErrorbarContainer]:
    """What is drawn of each method."""
    found = cast("tuple[list[ErrorbarContainer], list[str]]", ax.get_legend_handles_labels())
    return {label: drawn for drawn, label in zip(*found, strict=True)}


def points_of(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of each method."""
    lines = {label: np.asarray(drawn.lines[0].get_xydata()) for label, drawn in drawn_on(ax).items()}
    return {label: [(x, y) for x, y in line.tolist()] for label, line in lines.items()}


@pytest.fixture
def example(two_rooms: vr.Domain) -> Record:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2)).to_dict(embed_domain=False)
    return make_record(OPTIMAL, size=4, keep_playbook=True, playbook=book, map_sha256=two_rooms.sha256)


def test_lines_go_by_what_stands_across_and_panels_by_the_rest() -> None:
    records = [
        make_record(method, k=k, m_ratio=ratio, mac=mac * k * ratio)
        for k in (2, 3, 5)
        for ratio in (0.1, 1.0, 10.0)
        for method, mac in ((OPTIMAL, 1.0), (M_PBP, 2.0))
    ]
    layout = replace(LINES, across="m_ratio", methods=(M_PBP, OPTIMAL))
    (two, three, five), num_left_out = chart_of(layout, records)
    assert two.get_position().y0 == five.get_position().y0, "panels of one measure stand in one row"
    assert [two.get_title(), three.get_title(), num_left_out] == ["k 2", "k 3", 0]
    assert points_of(two)["m-Pbp"] == [(0.1, pytest.approx(0.4)), (1.0, 4.0), (10.0, 40.0)]
    assert points_of(three)["optimal (exact)"] == [(0.1, pytest.approx(0.3)), (1.0, 3.0), (10.0, 30.0)]
    assert (two.get_xscale(), two.get_yscale(), two.get_xlabel()) == ("log", "log", "m / shortest path")
    # With a MAC of 0 the axis is not logarithmic, so that the point has a place.
    free = [make_record(OPTIMAL, m_ratio=0.1, mac=0.0), *records[2:6]]
    (panel,), _ = chart_of(layout, free)
    assert panel.get_yscale() == "linear" and points_of(panel)["optimal (exact)"][0] == (0.1, 0.0)


def test_an_interval_is_drawn_around_the_mean() -> None:
    records = [make_record(OPTIMAL, size=size, pair=pair, mac=float(pair)) for size in (8, 12) for pair in (1, 2, 3)]
    (ax,), _ = chart_of(LINES, records)
    assert points_of(ax) == {"optimal (exact)": [(8.0, 2.0), (12.0, 2.0)]}
    (bars,) = drawn_on(ax)["optimal (exact)"].lines[2]
    (low, high), _ = (segment[:, 1] for segment in bars.get_segments())
    assert 1 <= low < 2 < high <= 3


def test_without_numbers_settings_stand_side_by_side() -> None:
    records = [make_record(OPTIMAL, mac=0.1), make_record(BEST, mac=0.2)]
    bounded = replace(records[0], cell=replace(records[0].cell, risk=0.5, mechanism="randomised"))
    (ax,), _ = chart_of(replace(LINES, methods=(OPTIMAL, BEST)), [*records, bounded])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["k 2, partition", "risk 0.5, randomised"]
    # Methods beside each other at each setting, from left to right.
    assert points_of(ax) == {
        "optimal (exact)": [(-0.2, 0.1), (0.8, 0.1)], "Merge-BB, CostAsc, Tunnel": [(pytest.approx(0.2), 0.2)]
    }  # fmt: skip


def test_convergence_goes_by_time() -> None:
    steps = ((0.02, 4, 0.6), (2.0, 8, 0.2))
    records = [make_record(BEST, mac=0.2, improvements=steps, time_limit_s=10.0)]
    chosen = find_suite("convergence").select(records)
    figure, _ = draw_chart(Layout("c", "C", columns=("apr", "mac"), across="time"), chosen)
    aprs, macs = figure.axes
    assert aprs.get_xlabel() == "after [s]"
    assert points_of(aprs)["Merge-BB, CostAsc, Tunnel"][:3] == [(0.01, 0.0), (0.03, 0.5), (0.1, 0.5)]
    assert points_of(macs)["Merge-BB, CostAsc, Tunnel"][0] == (0.03, 0.6), "no MAC before the first partition"


def test_methods_of_one_figure_look_different_and_there_are_at_most_four_panels() -> None:
    records = [make_record(method, size=size, mac=0.1 + size) for method in PARTITIONING for size in (8, 12)]
    (ax,), _ = chart_of(replace(LINES, methods=PARTITIONING), records)
    lines = [drawn.lines[0] for drawn in drawn_on(ax).values()]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(PARTITIONING)
    records = [make_record(OPTIMAL, k=k, ell=ell, size=size) for k in (2, 3, 4) for ell in (1, 2, 3) for size in (8, 9)]
    panels, num_left_out = chart_of(LINES, records)
    assert (len(panels), num_left_out) == (4, 5)


@pytest.mark.parametrize(("suite", "sizes"), [("table1", (8, 12, 16)), ("adversaries", (8,))])
def test_same_records_same_bytes_and_nothing_is_cut_off(suite: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    records = make_run(maps=("rooms-2",), num_pairs=1, sizes=sizes)
    own, made = find_suite(suite), list[Picture]()
    for name, given in (("first", records), ("second", records[::-1])):
        (tmp_path / name).mkdir()
        with mpl.rc_context({"font.size": 20, "svg.fonttype": "none", "axes.grid": True} if made else {}):
            made += own.pictures(own.select(given), tmp_path / name, {})
    one, other = made
    assert [path.read_bytes() for path in one.paths] == [path.read_bytes() for path in other.paths]
    assert [path.suffix for path in one.paths] == [".png", ".svg", ".pdf"]
    assert b"<svg" in one.paths[1].read_bytes()[:800] and b"Date" not in one.png.read_bytes()
    pixels = mpl.image.imread(one.png)
    assert pixels.shape[1] >= 800
    border = [pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]
    assert all((edge == 1).all() for edge in border)


def test_examples_are_drawn_on_their_maps_and_not_without(
    example: Record, two_rooms: vr.Domain, line5: vr.Domain, tmp_path: Path
) -> None:
    bare = replace(example, outcome=replace(example.outcome, playbook=None))
    free = make_record(OPTIMAL, mac=None)
    domain = {"den101d": two_rooms}
    for record, domains in ((example, {}), (example, {"den101d": line5}), (bare, domain), (free, domain)):
        assert draw_pictures(LINES, Selection((record,)), tmp_path, domains) == [] and not list(tmp_path.iterdir())
    evil = replace(example, cell=replace(example.cell, instance=replace(example.cell.instance, map_name="../Evil\n2")))
    for domains in ({"den101d": two_rooms, "../Evil\n2": two_rooms}, {two_rooms.sha256: two_rooms}):
        pictures = draw_pictures(LINES, Selection((example, evil, evil)), tmp_path, domains)
        assert [picture.png.name for picture in pictures] == [
            "example-den101d-1-k2-ell1.png", "example-evil-2-1-k2-ell1.png", "example-evil-2-1-k2-ell1-2.png"
        ]  # fmt: skip
        assert b'id="route-1"' in pictures[0].png.with_suffix(".svg").read_bytes()


def test_tables_do_not_import_matplotlib() -> None:
    code = "import sys; from veilroute.bench import SUITES; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
