from __future__ import annotations

import dataclasses
from collections.abc import Hashable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

import veilroute as vr
from veilroute.plotting import frame_of, plot_domain, plot_playbook

WEST, EAST = (1, 0), (1, 6)
ROUTE = tuple((1, col) for col in range(7))


def detour(*cells: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Along the middle row, stepping aside to each cell above or below it and back."""
    nodes: list[tuple[int, int]] = []
    for cell in ROUTE:
        nodes.append(cell)
        for aside in cells:
            if aside[1] == cell[1]:
                nodes += [aside, cell]
    return tuple(nodes)


def hide(*members: tuple[int, int], anonymized: bool = True) -> vr.PlaybookClass:
    nodes = detour(*members)
    return vr.PlaybookClass(members, anonymized, (vr.Route(nodes, len(nodes) - 1),))


def make_playbook(
    domain: vr.Domain,
    *classes: vr.PlaybookClass,
    trip: tuple[Hashable, Hashable] = (WEST, EAST),
    uncoverable: tuple[Hashable, ...] = (),
    candidates: tuple[Hashable, ...] | None = None,
    visibility: vr.Visibility | None = None,
    m: int | None = None,
) -> vr.Playbook:
    members = [member for group in classes for member in group.members]
    hidden = sum(len(group.members) for group in classes if group.anonymized)
    return vr.Playbook(
        domain=domain,
        domain_sha256=domain.sha256,
        trips=(vr.Trip(*trip),),
        candidates=(*members, *uncoverable) if candidates is None else candidates,
        visibility=vr.AtNode() if visibility is None else visibility,
        privacy=vr.Privacy(k=2, ell=2, m=m),
        planner="optimal",
        options={},
        status="optimal" if hidden else "infeasible",
        classes=classes,
        uncoverable=uncoverable,
        claims=vr.Claims(
            num_candidates=len(members) + len(uncoverable),
            num_coverable=len(members),
            num_anonymized=hidden,
            num_anonymizable=None,
            apr=hidden / max(len(members), 1),
            mac=0.25 if hidden else None,
            mac_by_trip=(0.25 if hidden else None,),
        ),
    )


@pytest.fixture
def book(two_rooms: vr.Domain) -> vr.Playbook:
    return make_playbook(two_rooms, hide((0, 1), (0, 5)), hide((2, 1), (2, 5)))


def lines(ax: Axes, name: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_gid() == name]


def routes(ax: Axes) -> list[Line2D]:
    return [line for line in ax.lines if str(line.get_gid()).startswith("route-")]


def labels(ax: Axes) -> list[str]:
    return sorted(text.get_text() for text in ax.texts if isinstance(text, Annotation))


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def spot(line: Line2D) -> tuple[float, float]:
    ((x, y),) = line.get_xydata().tolist()  # type: ignore[union-attr]
    return x, y


def render(ax: Axes) -> None:
    figure = ax.figure
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()


def test_each_class_has_its_route_candidates_and_legend_entry(book: vr.Playbook) -> None:
    ax = plot_playbook(book)
    assert [line.get_gid() for line in routes(ax)] == ["route-1", "route-2"]
    assert labels(ax) == ["1", "1", "2", "2", "G", "S"]
    assert legend_texts(ax) == ["start", "goal", "1: 2 candidates, cost 10", "2: 2 candidates, cost 10"]
    first, second = (lines(ax, f"candidate-{number}") for number in (1, 2))
    assert {spot(line) for line in first} == {(1, 0), (5, 0)}
    assert first[0].get_markerfacecolor() != second[0].get_markerfacecolor()
    assert first[0].get_marker() != second[0].get_marker()
    render(ax)


def test_title_says_what_was_asked_and_reached(book: vr.Playbook) -> None:
    assert plot_playbook(book).get_title() == "k=2, ell=2, whole route: 4 of 4 candidates hidden, MAC 0.25 (optimal)"
    assert plot_playbook(book, title="Two rooms").get_title() == "Two rooms"
    assert plot_playbook(book, title="").get_title() == ""
    first = dataclasses.replace(book, privacy=vr.Privacy(k=2, ell=0.5, m=7), trips=book.trips * 2)
    assert plot_playbook(first).get_title().startswith("Trip 0, k=2, ell=0.5, first 7 nodes: 4 of 4")


def test_start_is_cyan_and_goal_green_on_top(book: vr.Playbook) -> None:
    ax = plot_playbook(book)
    (start,), (goal,) = lines(ax, "start"), lines(ax, "goal")
    assert (spot(start), spot(goal)) == ((0, 1), (6, 1))
    others = [line.get_zorder() for line in ax.lines if line.get_gid() not in ("start", "goal")]
    assert min(start.get_zorder(), goal.get_zorder()) > max(others)


def test_overlapping_routes_run_side_by_side_inside_their_cells(book: vr.Playbook) -> None:
    ax = plot_playbook(book)
    first, second = (np.asarray(line.get_xydata()) for line in routes(ax))
    heights = [np.median(line[(line[:, 0] > 2) & (line[:, 0] < 4), 1]) for line in (first, second)]
    assert abs(heights[0] - heights[1]) > 0.05
    assert all(0.5 < height < 1.5 for height in heights)
    for line, group in zip((first, second), book.classes, strict=True):
        cells = np.array(group.routes[0].nodes)[:, ::-1]
        assert (np.abs(line[:, None] - cells[None]).max(axis=2).min(axis=1) <= 0.5).all()


def test_start_and_goal_on_one_cell_are_both_seen(two_rooms: vr.Domain) -> None:
    there_and_back = vr.PlaybookClass(((0, 0), (2, 0)), True, (vr.Route((WEST, (0, 0), WEST, (2, 0), WEST), 4),))
    ax = plot_playbook(make_playbook(two_rooms, there_and_back, trip=(WEST, WEST)))
    (start,), (goal,) = lines(ax, "start"), lines(ax, "goal")
    assert spot(start)[0] < spot(goal)[0]
    assert labels(ax) == ["1", "1", "G", "S"]
    render(ax)


def test_candidates_that_are_left_out_are_marked_and_counted() -> None:
    domain = vr.grid_domain(["...@...@.", ".......@@", "...@...@@"])
    book = make_playbook(
        domain,
        hide((0, 1), (0, 5)),
        hide((2, 2), anonymized=False),
        uncoverable=((0, 8),),
        candidates=((0, 1), (0, 5), (2, 2), (0, 8), WEST, EAST),
    )
    ax = plot_playbook(book)
    assert [line.get_gid() for line in routes(ax)] == ["route-1"]
    assert labels(ax) == ["!", "1", "1", "G", "S"]
    assert [spot(line) for line in lines(ax, "uncoverable")] == [(8, 0)]
    assert legend_texts(ax)[3:] == ["not protected: 1", "cannot be covered: 1", "start or goal, not counted: 2"]
    assert not lines(ax, "not-counted")
    other_trip = dataclasses.replace(book, candidates=(*book.candidates, (2, 6)))
    assert [spot(line) for line in lines(plot_playbook(other_trip), "not-counted")] == [(6, 2)]
    render(ax)


def test_nothing_hidden(two_rooms: vr.Domain) -> None:
    ax = plot_playbook(make_playbook(two_rooms, hide((0, 1), anonymized=False)))
    assert routes(ax) == []
    assert ax.get_title().endswith("0 of 1 candidates hidden (infeasible)")
    render(ax)


def test_legend_hides_nothing_and_stays_on_the_page(two_rooms: vr.Domain) -> None:
    cells = [(row, col) for row in (0, 2) for col in (0, 1, 2, 4, 5, 6)]
    book = make_playbook(two_rooms, *[hide(cell) for cell in cells])
    ax = plot_playbook(book)
    render(ax)
    legend = ax.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2 + len(cells)
    assert legend_texts(ax)[2] == "1: 1 candidate, cost 8"
    box, page = legend.get_window_extent(), ax.figure.bbox
    assert box.y1 <= ax.get_window_extent().y0
    assert box.x0 >= page.x0
    assert box.x1 <= page.x1
    assert box.y0 >= page.y0
    title = ax.title.get_window_extent()
    assert title.x0 >= page.x0
    assert title.x1 <= page.x1
    assert title.y1 <= page.y1


def test_tall_maps_have_their_legend_on_the_right() -> None:
    book = make_playbook(
        vr.grid_domain(["..."] * 20),
        vr.PlaybookClass(((5, 0), (9, 0)), True, (vr.Route(tuple((row, 0) for row in range(20)), 19),)),
        trip=((0, 0), (19, 0)),
    )
    ax = plot_playbook(book)
    render(ax)
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
    assert legend.get_window_extent().x1 <= ax.figure.bbox.x1
    assert ax.title.get_window_extent().x0 >= 0


def test_long_titles_are_broken_at_the_colon(two_rooms: vr.Domain) -> None:
    book = dataclasses.replace(
        make_playbook(two_rooms, hide((0, 1))), privacy=vr.Privacy(k=2, ell=123456.5, m=1_000_000)
    )
    title = plot_playbook(book).get_title()
    assert title.splitlines()[0] == "k=2, ell=123456, first 1000000 nodes"


def test_drawing_into_axes_that_are_there(book: vr.Playbook) -> None:
    figure = Figure((8, 4))
    left, right = figure.subplots(1, 2)
    assert plot_playbook(book, ax=left) is left
    assert plot_playbook(book, ax=right, legend=False) is right
    assert len(legend_texts(left)) == 4
    assert right.get_legend() is None
    assert figure.get_size_inches().tolist() == [8, 4]
    render(left)


def test_members_that_leave_the_shared_route_have_lines_of_their_own(two_rooms: vr.Domain) -> None:
    shared = vr.Route(detour((0, 2), (0, 4)), 10)
    own: dict[tuple[int, Hashable], vr.Route] = {
        (0, (0, 2)): vr.Route((*ROUTE[:3], (0, 2), (1, 2), *ROUTE[3:]), 8),
        (0, (0, 4)): vr.Route((*ROUTE[:5], (0, 4), (1, 4), *ROUTE[5:]), 8),
    }
    group = vr.PlaybookClass(((0, 2), (0, 4)), True, (shared,), own)
    ax = plot_playbook(make_playbook(two_rooms, group, m=3))
    assert [line.get_gid() for line in routes(ax)] == ["route-1", "route-1-1", "route-1-2"]
    assert len(np.asarray(routes(ax)[0].get_xydata())) == 3
    one_stays = dataclasses.replace(group, member_routes={(0, (0, 4)): vr.Route(ROUTE, 6)})
    ax = plot_playbook(make_playbook(two_rooms, one_stays, m=3))
    # Also the member without a route of its own goes on in its own way from where the other leaves.
    assert [line.get_gid() for line in routes(ax)] == ["route-1", "route-1-1", "route-1-2"]
    assert len(np.asarray(routes(ax)[0].get_xydata())) == 3
    assert legend_texts(ax)[2] == "1: 2 candidates, cost 6 to 10, 3 nodes shared"


def test_candidates_seen_from_afar_are_joined_to_their_route(two_rooms: vr.Domain) -> None:
    straight = vr.PlaybookClass(((0, 1), (1, 5)), True, (vr.Route(ROUTE, 6),))
    sees = vr.Explicit({(1, 2): [(0, 1)], (1, 4): [(0, 1)], (1, 5): [(1, 5)]})
    ax = plot_playbook(make_playbook(two_rooms, straight, visibility=sees))
    (sight,) = lines(ax, "sight-1")
    assert np.asarray(sight.get_xydata()).tolist() == [[1, 0], [2, 1]]


def test_streets_with_coordinates() -> None:
    domain = vr.generate_streets(6, 7, seed=3)
    problem = vr.Problem(domain, [vr.Trip(0, 30)], [5, 12, 20, 25])
    ax = plot_playbook(vr.solve(problem, vr.Privacy(k=2, ell=50)))
    (streets,) = [part for part in ax.collections if part.get_gid() == "streets"]
    assert isinstance(streets, LineCollection)
    tails, heads, _ = domain.edge_arrays()
    assert len(streets.get_segments()) == len({frozenset(ends) for ends in zip(tails, heads, strict=True)})
    assert ax.get_aspect() == 1
    render(ax)


@pytest.mark.parametrize("trip", [(0, 4), (2, 2)])
def test_graph_without_coordinates(line5: vr.Domain, trip: tuple[int, int]) -> None:
    nodes = (0, 1, 2, 3, 4) if trip == (0, 4) else (2, 1, 2, 3, 2)
    group = vr.PlaybookClass((1, 3), True, (vr.Route(nodes, 4),))
    ax = plot_playbook(make_playbook(line5, group, trip=trip))
    assert len(routes(ax)) == 1
    assert labels(ax) == ["1", "1", "G", "S"]
    render(ax)


def test_labels_of_a_graph_can_be_anything() -> None:
    domain = vr.Domain.from_edges(3, [0, 1], [1, 2], [1.5, 2.25], labels=["a", "b", "c"], coordinates=[[0, 0]] * 3)
    group = vr.PlaybookClass(("b",), True, (vr.Route(("a", "b", "c"), 3.75),))
    ax = plot_playbook(make_playbook(domain, group, trip=("a", "c")))
    assert legend_texts(ax)[2] == "1: 1 candidate, cost 3.75"
    render(ax)


def test_a_map_alone_is_cropped_to_its_free_cells() -> None:
    free = np.zeros((50, 80), dtype=bool)
    free[10:20, 30:60] = True
    ax = plot_domain(vr.grid_domain(free))
    assert ax.get_xlim() == (28.5, 60.5)
    assert ax.get_ylim() == (20.5, 8.5)
    (image,) = ax.images
    walls = np.asarray(image.get_array())[..., 3]
    assert walls.shape == (12, 32)
    assert int((walls == 0).sum()) == 300
    render(ax)


@pytest.mark.parametrize(("height", "width"), [(12, 12), (1024, 1024), (3, 900)])
def test_pictures_have_the_shape_of_the_map(height: int, width: int) -> None:
    frame = frame_of(vr.grid_domain(np.ones((height, width), dtype=bool)))
    assert 5.4 < max(frame.size_in) < 9.6
    wide, high = abs(frame.right - frame.left), abs(frame.bottom - frame.top)
    assert frame.size_in[0] / frame.size_in[1] == pytest.approx(wide / high)


def test_bad_trip_and_missing_domain(book: vr.Playbook) -> None:
    with pytest.raises(vr.InvalidInputError, match="trip: expected a trip from 0 to 0, got 1"):
        plot_playbook(book, trip=1)
    with pytest.raises(vr.InvalidInputError, match="only its hash"):
        plot_playbook(dataclasses.replace(book, domain=None))
