"""Charts show the numbers they should, figures are files with the same bytes each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute.bench.cells import Method, Record
from veilroute.bench.charts import (
    ZERO,
    look_of,
    plot_convergence,
    plot_coverage,
    plot_impact_of_m,
    plot_klr,
    plot_relative,
    plot_runtimes,
    plot_times,
)
from veilroute.bench.design import Picture
from veilroute.bench.paper import BEST, BOUNDED, CONVERGING, M_PBP, M_RATIOS, NAIVE, OPTIMAL, PARTITIONING
from veilroute.bench.suites import find_suite
from veilroute.plotting.palette import luminance


def draw_figures(
    suite: str, records: Sequence[Record], folder: Path, *, domains: Mapping[str, vr.Domain]
) -> list[Picture]:
    return find_suite(suite).pictures(find_suite(suite).select(records), folder, domains)


def plotted(suite: str, plot: Callable[..., None], records: list[Record], *panel: object) -> Axes:
    """New axes with one panel of a suite's figure."""
    ax: Axes = Figure().subplots()
    chosen = find_suite(suite).select(records)
    plot(chosen, *panel[:-1], ax, panel[-1])
    return ax


def lines_of(ax: Axes, colour: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_color() == colour]


@pytest.fixture
def example(two_rooms: vr.Domain) -> Record:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2)).to_dict(embed_domain=False)
    return make_record(OPTIMAL, size=4, keep_playbook=True, playbook=book, map_sha256=two_rooms.sha256)


def test_every_panel_can_be_drawn_on_axes_of_ones_own() -> None:
    records = make_run(num_pairs=1, sizes=(8,))
    used = [
        plotted("table1", plot_coverage, records, 8),
        plotted("table1", plot_times, records, 8),
        plotted("table2", plot_relative, records, 8),
        plotted("convergence", plot_convergence, records, "mac", 8),
        plotted("table3", plot_runtimes, records, None),
        plotted("table4", plot_impact_of_m, records, 2),
        plotted("klr", plot_klr, records, (2, 1)),
    ]
    assert all(ax.has_data() for ax in used)


def test_coverage_bars() -> None:
    records = [make_record(BEST, pair=pair, is_finished=pair < 4) for pair in (1, 2, 3, 4)]
    ax = plotted("table1", plot_coverage, records, 8)
    # Only Merge-BB with CostAsc and Tunnel was run: three of four.
    assert [bar.get_width() for bar in ax.patches] == [75.0]  # type: ignore[attr-defined]
    assert [text.get_text() for text in ax.texts] == [*["no run"] * 5, "3/4", "no run"]
    # The paper's diamonds: all methods but the optimum.
    assert [line.get_xdata()[0] for line in ax.lines] == [77, 100, 74, 100, 77, 100]  # type: ignore[index]
    assert ax.get_xlabel() == "finished [%]"


def test_times_that_are_lower_bounds_have_another_marker() -> None:
    records = [make_record(BEST, runtime_s=300.0, is_finished=False), make_record(OPTIMAL, runtime_s=0.25)]
    ax = plotted("table1", plot_times, records, 8)
    (stopped,) = lines_of(ax, look_of(BEST).colour)
    (exact,) = lines_of(ax, look_of(OPTIMAL).colour)
    assert (stopped.get_marker(), stopped.get_xdata()[0]) == (">", 300.0)  # type: ignore[index]
    assert (exact.get_marker(), exact.get_xdata()[0]) == ("o", 0.25)  # type: ignore[index]


def test_relative_mac_of_a_single_instance_has_no_deviation() -> None:
    records = [make_record(NAIVE["tunnel"], mac=0.8), make_record(BEST, mac=0.2)]
    ax = plotted("table2", plot_relative, records, 8)
    points = [line for line in lines_of(ax, look_of(BEST).colour) if line.get_marker() == look_of(BEST).marker]
    assert [line.get_xdata()[0] for line in points] == [pytest.approx(0.25)]  # type: ignore[index]


def test_convergence_steps() -> None:
    improvements = ((0.02, 4, 0.6), (2.0, 8, 0.2))
    records = [
        make_record(BEST, pair=1, mac=0.2, improvements=improvements, time_limit_s=10.0),
        make_record(BEST, pair=2, mac=0.4, improvements=((0.5, 8, 0.4),), time_limit_s=10.0),
    ]
    (line,) = lines_of(plotted("convergence", plot_convergence, records, "apr", 8), look_of(BEST).colour)
    assert list(line.get_xdata()) == [0.001, 0.02, 0.5, 2.0, 10.0]  # type: ignore[arg-type]
    assert list(line.get_ydata()) == [0.0, 0.25, 0.75, 1.0, 1.0]  # type: ignore[arg-type]
    assert line.get_drawstyle() == "steps-post"
    # Thin from the first MAC on, thick where both instances have one.
    thin, thick = lines_of(plotted("convergence", plot_convergence, records, "mac", 8), look_of(BEST).colour)
    assert list(thin.get_ydata()) == pytest.approx([0.6, 0.5, 0.3, 0.3])  # type: ignore[arg-type]
    assert list(thick.get_xdata()) == [0.5, 2.0, 10.0]  # type: ignore[arg-type]
    assert thin.get_linewidth() < thick.get_linewidth()


def test_methods_without_records_are_not_in_the_legend_of_convergence() -> None:
    ax = plotted("convergence", plot_convergence, [make_record(OPTIMAL)], "apr", 8)
    assert ax.get_legend_handles_labels()[1] == ["optimal (exact)"]


def test_impact_of_m_with_the_papers_values_and_zeros() -> None:
    macs = dict(zip(M_RATIOS, (0.0, 0.0, 0.1, 0.2, 0.3, 0.3), strict=True))
    records = [make_record(M_PBP, m_ratio=ratio, mac=mac) for ratio, mac in macs.items()]
    ax = plotted("table4", plot_impact_of_m, records, 2)
    ours, zeros = lines_of(ax, look_of(M_PBP).colour)[:2]
    assert list(ours.get_ydata()) == [0.1, 0.2, 0.3, 0.3]  # type: ignore[arg-type]
    assert zeros.get_gid() == ZERO
    assert len(zeros.get_xdata()) == 2  # type: ignore[arg-type]
    hollow = [line for line in ax.lines if line.get_markeredgecolor() == look_of(M_PBP).colour]
    assert [0.00707, 0.0313, 0.0803, 0.188, 0.216, 0.229] in [list(line.get_ydata()) for line in hollow]  # type: ignore[arg-type]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_klr_says_where_not_all_is_anonymized() -> None:
    records = [
        make_record(BEST, radius=0.0, mac=0.5),
        make_record(BEST, radius=2.0, mac=0.7, num_anonymized=6),
        make_record(BEST, radius=10.0, mac=None),
    ]
    ax = plotted("klr", plot_klr, records, (2, 1))
    heights = [bar.get_height() for bar in ax.patches[:3]]  # type: ignore[attr-defined]
    assert heights == [0.5, 0.7, 0.0]
    assert [text.get_text() for text in ax.texts] == ["APR 0.750", "APR 0", *["no records"] * 3]


@pytest.mark.parametrize("methods", [PARTITIONING, BOUNDED, CONVERGING], ids=["table1", "table4", "convergence"])
def test_methods_of_one_figure_look_different(methods: tuple[Method, ...]) -> None:
    looks = [look_of(method) for method in methods]
    assert len({(look.colour, look.marker) for look in looks}) == len(methods)
    assert all(luminance(look.colour) < 0.7 for look in looks)


def test_same_records_same_bytes(tmp_path: Path) -> None:
    records = make_run(maps=("den101d",), num_pairs=2, sizes=(8,))
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (picture,) = draw_figures("table2", records, first, domains={})
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "none", "axes.grid": True}):
        (other,) = draw_figures("table2", records[::-1], second, domains={})
    assert picture.png.read_bytes() == other.png.read_bytes()
    assert picture.svg.read_bytes() == other.svg.read_bytes()
    assert picture.png.read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in picture.svg.read_bytes()[:800]
    assert b"Date" not in picture.png.read_bytes()


def test_panels_stay_inside_the_picture(tmp_path: Path) -> None:
    """No text or legend is cut off, with one panel as with three."""
    for suite, sizes in (("convergence", (8,)), ("table1", (8, 12, 16))):
        records = make_run(maps=("den101d",), num_pairs=1, sizes=sizes)
        (picture,) = draw_figures(suite, records, tmp_path, domains={})
        pixels = mpl.image.imread(picture.png)
        assert pixels.shape[1] >= 800
        border = [pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]
        assert all((edge == 1).all() for edge in border)


def test_examples_are_drawn_on_their_maps(example: Record, two_rooms: vr.Domain, tmp_path: Path) -> None:
    for domains in ({"den101d": two_rooms}, {two_rooms.sha256: two_rooms}):
        (picture,) = draw_figures("examples", [example], tmp_path, domains=domains)
        assert picture.png == tmp_path / "example-den101d-1-k2-ell1.png"
        assert b'id="route-1"' in picture.svg.read_bytes()


def test_examples_without_their_map_are_not_drawn(
    example: Record, two_rooms: vr.Domain, line5: vr.Domain, tmp_path: Path
) -> None:
    assert draw_figures("examples", [example], tmp_path, domains={}) == []
    assert draw_figures("examples", [example], tmp_path, domains={"den101d": line5}) == []
    bare = replace(example, outcome=replace(example.outcome, playbook=None))
    assert draw_figures("examples", [bare], tmp_path, domains={"den101d": two_rooms}) == []
    assert not list(tmp_path.iterdir())


def test_tables_do_not_import_matplotlib() -> None:
    code = "import sys, veilroute.bench.suites; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
