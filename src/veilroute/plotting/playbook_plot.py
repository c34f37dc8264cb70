"""A playbook on its map, in the manner of the paper's example figure, on axes or as a file.

The legend stands outside the map in as many columns as fit; title, map and legend decide how large a figure is. A file
has the same bytes for the same playbook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerBase
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from veilroute.analysis.posterior import find_sights
from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.model.playbook import Playbook, PlaybookClass
from veilroute.plotting import marks
from veilroute.plotting.domain_plot import bend_walks, draw_domain
from veilroute.plotting.frame import POINTS_PER_INCH, Frame, frame_of, new_axes, save_picture
from veilroute.plotting.marks import Mark, letters, mark_lines, sight_lines, text_shift, text_style
from veilroute.plotting.palette import ClassStyle, class_style, mix
from veilroute.plotting.routes import class_walks, draw_routes, route_lines
from veilroute.streets.sheets import check_trip

# Of a class's marker, in points; on grids it follows the cell in between.
_SMALLEST_MARK_PT, _LARGEST_MARK_PT = 12.0, 20.0

# Of the legend.
_FONT_SIZE = 8.5
_MARK_SIZE = 11.0
_LINE_WIDTH = 4.0
_GAP_IN = 0.12
_COLUMN_SPACING = 2.2
# Of a bar of posteriors, in lengths of the route beside it.
_BAR = 1.1
# Numbers of classes that look the same, in one line.
_MOST_ALIKE = 4
# Characters of names in one line.
_LONGEST_NAMES = 48

# Of the page, which is still wide enough for a title.
_PAD_IN = 0.12
_NARROWEST_IN = 5.6
# A map this much taller than wide has its legend on the right.
_TALL = 1.15


def plot_playbook(
    playbook: Playbook,
    *,
    trip: int = 0,
    ax: Axes | None = None,
    title: str | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Axes:
    """Draw the classes of a playbook and their routes on the map.

    Start and goal are marked S and G. Candidates of one class have the same colour, number and marker shape; the
    class's route is drawn in a lighter tone, with arrows; where its members part, thinner lines go on from there.
    Routes that share an edge run side by side, each in a lane of its own; where a route comes back the way it went,
    both directions share the lane. Where candidates are seen from afar, a dotted line joins each to the nearest node of
    its route that sees it. Candidates that the playbook does not protect are hollow, those that cannot be covered are
    crosses. Markers that would hide each other are moved apart and joined to their place by a line.

    In a randomised playbook a candidate has letters, within a ring: a slice for each of its classes, as large as the
    chance that this class is drawn for it. Where there is a prior or a bound on the risk, the legend has a bar for each
    route that can be seen: how probable places are then, the most probable first. Classes whose routes look the same
    have one bar, at the first of them.

    Parameters
    ----------
    playbook
        With its domain attached.
    trip
        Which trip's routes to draw.
    ax
        Where to draw; a new figure, sized for the map, when left out.
    title
        Above the map; what was asked and reached when left out, nothing when empty.
    legend
        Whether to explain the classes below the map (to the right of tall ones).
    size
        Width and height of a new figure in inches; made to fit the map when left out.
    """
    check_trip(playbook, trip)
    if size is not None:
        if not isinstance(size, Sequence) or len(size) != 2:
            raise InvalidInputError("size", "width and height in inches", size)
        for i, inches in enumerate(size):
            _check_positive(f"size[{i}]", inches)
    domain = playbook.problem.domain
    walks = class_walks(playbook, trip)
    shown = all_marks(playbook, trip)
    marked, visited = [node for node, _ in shown], [node for group in walks for walk in group for node in walk]
    frame = frame_of(domain, marked + visited)
    positions = frame.positions
    if domain.streets is not None:
        walks, positions = bend_walks(domain, walks)

    # The legend comes first: it decides how large the figure is, and that how far lanes and markers are apart.
    own_figure = ax is None
    ax = new_axes(frame) if ax is None else ax
    frame.apply(ax)
    ax.set_title(describe(playbook, trip) if title is None else title, fontsize=10, pad=7)
    entries = legend_entries(playbook, trip) if legend else []
    if own_figure:
        fit_figure(ax, frame, entries, size)
    elif entries:
        add_legend(ax, entries, frame, beside=False)

    draw_domain(ax, domain, frame)
    scale = frame.points_per_unit(ax)
    cell_pt = min(max(0.72 * frame.step * scale, _SMALLEST_MARK_PT), _LARGEST_MARK_PT)
    mark_size = _SMALLEST_MARK_PT + 1 if domain.grid is None else cell_pt
    placed = marks.draw_marks(ax, [mark for _, mark in shown], frame.positions[marked], scale, mark_size)
    for i, ends in sight_lines(playbook, trip, frame.positions):
        line = frame.positions[list(ends)]
        ax.plot(*line.T, ":", color=class_style(i).edge, linewidth=1.4, zorder=2.5, gid=f"sight-{i + 1}")
    draw_routes(ax, frame, walks, positions, placed, mark_size)
    frame.apply(ax)
    return ax


def draw_playbook(
    playbook: Playbook, path: str | Path, *, trip: int = 0, dpi: float = 150, size: tuple[float, float] | None = None
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
    _check_positive("dpi", dpi)
    save_picture(path, lambda: plot_playbook(playbook, trip=trip, size=size), dpi)


def _check_positive(name: str, value: object) -> None:
    if not is_number(value) or not 0 < value < math.inf:
        raise InvalidInputError(name, "a number > 0", value)


def describe(playbook: Playbook, trip: int) -> str:
    """One line: what was asked and what was reached."""
    privacy, claims = playbook.privacy, playbook.claims
    span = "whole route" if privacy.m is None else f"first {privacy.m} nodes"
    promise = f"k={privacy.k}" if privacy.beta is None else f"risk {privacy.beta:.3g}"
    asked = f"{promise}, ell={privacy.distance_text}, {span}"
    if len(playbook.trips) > 1:
        asked = f"Trip {trip}, {asked}"
    reached = f"{claims.num_anonymized} of {claims.num_candidates} candidates hidden"
    if privacy.beta is not None and claims.expected_mac is not None:
        reached += f", expected MAC {claims.expected_mac:.2f}"
    elif claims.mac is not None:
        reached += f", MAC {claims.mac:.2f}"
    return f"{asked}: {reached} ({playbook.status})"


def all_marks(playbook: Playbook, trip: int) -> list[tuple[int, Mark]]:
    """Nodes and their marks: start and goal, the candidates of the classes, then those that are left out."""
    node = playbook.problem.domain.node
    return [(node(label), mark) for label, mark in labelled_marks(playbook, trip)]


def labelled_marks(playbook: Playbook, trip: int) -> list[tuple[Label, Mark]]:
    """Like :func:`all_marks`, with labels, which differ where several places are at one node."""
    node, ends = playbook.problem.domain.node, playbook.trips[trip]
    shown = [(ends.start, marks.START), (ends.goal, marks.GOAL)]
    for i, group in enumerate(() if playbook.is_randomised else playbook.hidden_classes):
        shown += [(member, marks.class_mark(i)) for member in group.members]
    for i, (place, ring) in enumerate(rings(playbook).items()):
        shown.append((place, marks.ring_mark(i, ring)))
    shown += [(label, marks.EXPOSED) for label in playbook.exposed_candidates]
    shown += [(label, marks.UNCOVERABLE) for label in playbook.uncoverable]
    # Those at the ends of the trip that is drawn are marked S or G already.
    drawn_at = {node(ends.start), node(ends.goal)}
    others = {node(label): label for label in uncounted(playbook) if node(label) not in drawn_at}
    return shown + [(others[at], marks.UNCOUNTED) for at in sorted(others)]


def rings(playbook: Playbook) -> dict[Label, tuple[tuple[int, float], ...]]:
    """For each place that a randomised playbook hides its classes, from 0, and the chance that each is drawn for it."""
    if not playbook.is_randomised:
        return {}
    table: dict[Label, list[tuple[int, float]]] = {}
    for i, group in enumerate(playbook.hidden_classes):
        for member in group.members:
            table.setdefault(member, []).append((i, group.share_of(member)))
    # By the order of the candidates; a member that is none, as in damaged files, comes last.
    places = dict.fromkeys([*(place for place in playbook.candidates if place in table), *table])
    totals = {place: sum(share for _, share in table[place]) or 1.0 for place in places}
    return {place: tuple((i, share / totals[place]) for i, share in table[place]) for place in places}


def uncounted(playbook: Playbook) -> list[Label]:
    """The candidates that are the start or goal of some trip."""
    known = {member for group in playbook.classes for member in group.members} | set(playbook.uncoverable)
    return [label for label in playbook.candidates if label not in known]


def legend_entries(playbook: Playbook, trip: int) -> list[Entry]:
    """Start, goal, the classes by number, and how many candidates are left out for which reason."""
    entries, ends = [], playbook.trips[trip]
    for mark, role, end in ((marks.START, "start", ends.start), (marks.GOAL, "goal", ends.goal)):
        entries.append(Entry(mark, f"{role}: {_shortened(playbook.names[end])}" if end in playbook.names else role))
    called = {place: letters(i) for i, place in enumerate(rings(playbook))}
    seen = beliefs(playbook)
    for i, group in enumerate(playbook.hidden_classes):
        belief = seen.get(i + 1)
        bar = belief.bar if belief is not None and belief.is_first(i + 1) else ()
        members = " ".join(called[member] for member in _by_share(group)) if called else _members(playbook, group)
        label = f"{i + 1}: {members}, {costs_text(playbook, group, trip)}"
        if group.rests(trip):
            label += f", {len(group.shared(trip))} nodes shared"
        if called:
            label += f", drawn {drawn(playbook, group):.0%}"
        elif bar:
            label += f", best guess {bar[0][1]:.0%}"
        label += alike_text(i + 1, belief)
        entries.append(Entry(marks.class_mark(i), label, class_style(i), tuple(chance for _, chance in bar)))
    entries += [
        Entry(marks.ring_mark(i, ring), f"{called[place]}: {_shortened(playbook.names[place])}")
        for i, (place, ring) in enumerate(rings(playbook).items())
        if place in playbook.names
    ]
    others = (
        (marks.EXPOSED, "not protected", playbook.exposed_candidates),
        (marks.UNCOVERABLE, "cannot be covered", playbook.uncoverable),
        (marks.UNCOUNTED, "start or goal, not counted", uncounted(playbook)),
    )
    entries += [Entry(mark, f"{reason}: {len(labels)}") for mark, reason, labels in others if labels]
    return entries


@dataclass(frozen=True)
class Belief:
    """What whoever sees the route of a class believes."""

    alike: tuple[int, ...]  #: the classes whose routes look the same, numbered from 1
    bar: tuple[tuple[Label, float], ...]  #: who is possible and how probable each is, the most probable first

    def is_first(self, number: int) -> bool:
        """Whether a class is the first of those that look the same: it has the bar of all."""
        return number == self.alike[0]


def beliefs(playbook: Playbook) -> dict[int, Belief]:
    """By class, numbered from 1, what its route is taken for; none where nobody asked how probable places are."""
    if playbook.prior is None and playbook.privacy.beta is None:
        return {}
    found: dict[int, Belief] = {}
    sights = find_sights(playbook)
    for group in sights.alike(playbook.privacy.m).values():
        candidates, masses = sights.masses(group)
        total = math.fsum(masses.tolist()) or 1.0
        pairs = [(playbook.candidates[i], mass / total) for i, mass in zip(candidates, masses.tolist(), strict=True)]
        alike = tuple(dict.fromkeys((sights.classes[group] + 1).tolist()))
        belief = Belief(alike, tuple(sorted(pairs, key=lambda pair: -pair[1])))
        for number in alike:
            found.setdefault(number, belief)
    return found


def alike_text(number: int, belief: Belief | None) -> str:
    """Which classes look like this one: all where it has their bar, and whose bar it is where it has none."""
    if belief is None or len(belief.alike) == 1:
        return ""
    if not belief.is_first(number):
        return f", looks like {belief.alike[0]}"
    others = belief.alike[1:]
    return f", looks like {', '.join(map(str, others)) if len(others) <= _MOST_ALIKE else f'{len(others)} others'}"


def _by_share(group: PlaybookClass) -> list[Label]:
    """The members of a class that is drawn, those with the largest share first."""
    return sorted(group.members, key=lambda member: -group.share_of(member))


def drawn(playbook: Playbook, group: PlaybookClass) -> float:
    """How often a class is drawn, of all trips that a randomised playbook hides."""
    return sum(group.shares) / (sum(sum(other.shares) for other in playbook.hidden_classes) or 1.0)


def _members(playbook: Playbook, group: PlaybookClass) -> str:
    """The members by name, as many as fit into a line; their number where they have no names."""
    size = len(group.members)
    names = [playbook.names[member] for member in group.members if member in playbook.names]
    if not names:
        return f"{size} candidate{'' if size == 1 else 's'}"
    text = _shortened(names[0])
    fitting = 1
    while fitting < len(names) and len(f"{text}, {names[fitting]}") <= _LONGEST_NAMES:
        text += f", {names[fitting]}"
        fitting += 1
    return text if fitting == size else f"{text} and {size - fitting} more"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAMES else name[: _LONGEST_NAMES - 1].rstrip() + "…"


def costs_text(playbook: Playbook, group: PlaybookClass, trip: int) -> str:
    """What the routes of a class add up to on the map, in minutes or kilometres on street networks."""
    walks = dict.fromkeys(group.route_of(member, trip).nodes for member in group.members) or [group.routes[trip].nodes]
    costs = [cost for cost in map(playbook.cost_of, walks) if cost is not None]
    if not costs:
        return "cost unknown: no walk"
    streets = playbook.problem.domain.streets

    def say(cost: float) -> str:
        if streets is None:
            return f"{cost:.2f}".rstrip("0").rstrip(".")
        return cost_text(playbook.problem.domain, cost)

    low, high = say(min(costs)), say(max(costs))
    span = low if low == high else f"{low} to {high}"
    return f"cost {span}" if streets is None else span


def fit_figure(ax: Axes, frame: Frame, entries: Sequence[Entry], size_in: tuple[float, float] | None) -> None:
    """Set the size of the figure and the place of the axes so that title, map and legend just fit.

    The axes are the only ones of their figure and have their title; without entries there is no legend. Where
    ``size_in`` is given, it is the whole figure's, and the map takes what is left; otherwise the map has the frame's
    size and the figure grows around it.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    width, height = frame.size_in
    # Names of places make a legend wide, and there would be little beside it.
    beside = height > _TALL * width and not frame.notes_in
    left = _PAD_IN + frame.ticks_in
    page_width = max(left + width + _PAD_IN, _NARROWEST_IN) if size_in is None else size_in[0]
    # The legend's columns depend on the width there is for it, which is the axes' at this moment.
    _place(figure, ax, (page_width, height), (left, 0.0, max(page_width - left - _PAD_IN, 0.5), height))
    legend_width = legend_height = 0.0
    if entries:
        extent = add_legend(ax, entries, frame, beside=beside).get_window_extent()
        legend_width, legend_height = extent.width / figure.dpi + _PAD_IN, extent.height / figure.dpi + _PAD_IN
    bottom = _PAD_IN + frame.below_in + (0.0 if beside else legend_height)
    right = _PAD_IN + (legend_width if beside else 0.0)
    if beside:
        # Over a narrow map the title would hang out on the left; let it run on above the legend.
        ax.title.set(x=0.0, ha="left")
    top = _PAD_IN + _title_height(figure, ax, max(page_width, left + width + right) - left)
    if size_in is None:
        page = (max(left + width + right, page_width), bottom + height + top)
        spare = 0.0 if beside else page[0] - left - width - right
        _place(figure, ax, page, (left + spare / 2, bottom, width, height))
    else:
        # A page that is too small for title and legend still shows some map.
        room = (max(size_in[0] - left - right, 0.5), max(size_in[1] - bottom - top, 0.5))
        _place(figure, ax, size_in, (left, max(size_in[1] - top - room[1], 0.0), *room))


def _place(figure: Figure, ax: Axes, page: tuple[float, float], box: tuple[float, float, float, float]) -> None:
    figure.set_size_inches(page)
    ax.set_position((box[0] / page[0], box[1] / page[1], box[2] / page[0], box[3] / page[1]))


def _title_height(figure: Figure, ax: Axes, width: float) -> float:
    """Height of the title in inches, after breaking it at its colon when it is wider than ``width``."""
    text = ax.get_title()
    if not text:
        return 0.0
    if ax.title.get_window_extent().width / figure.dpi > width:
        ax.title.set_text(text.replace(": ", "\n", 1))
    return float(ax.title.get_window_extent().height / figure.dpi) + _PAD_IN


@dataclass(frozen=True)
class Entry:
    """One line of the legend: a mark, the style of a route when there is one, and what they mean."""

    mark: Mark
    label: str
    style: ClassStyle | None = None
    bar: tuple[float, ...] = ()  # the parts of a bar, which sum to 1


def add_legend(ax: Axes, entries: Sequence[Entry], frame: Frame, *, beside: bool) -> Legend:
    """Put the legend below the axes of a map and what stands below these, or ``beside`` them on the right."""
    width, height = ax.get_window_extent().size
    shift = (_GAP_IN, 0.0) if beside else (0.0, -_GAP_IN - frame.below_in)
    outside = ax.transAxes + ScaledTranslation(*shift, ax.figure.dpi_scale_trans)

    has_bars = any(entry.bar for entry in entries)

    def make(num_columns: int) -> Legend:
        legend = ax.legend(
            cast(list[Artist], list(entries)),
            [entry.label for entry in entries],
            handler_map={Entry: _EntryHandler(has_bars=has_bars)},
            loc="upper left" if beside else "upper center",
            bbox_to_anchor=(1.0, 1.0) if beside else (0.5, 0.0),
            bbox_transform=outside,
            borderaxespad=0.0,
            ncols=num_columns,
            fontsize=_FONT_SIZE,
            frameon=False,
            handlelength=3.4 * (1 + _BAR) if has_bars else 3.4,
            handletextpad=0.7,
            labelspacing=0.75,
            columnspacing=_COLUMN_SPACING,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)  # a place may be called "$"
        return legend

    extent = make(1).get_window_extent()
    spacing = _COLUMN_SPACING * _FONT_SIZE * ax.figure.dpi / POINTS_PER_INCH
    abreast = int((width + spacing) / (extent.width + spacing))
    fitting = math.ceil(extent.height / max(height, 1.0)) if beside else abreast
    num_columns = max(1, min(fitting, len(entries)))
    # With the number of rows settled, even columns look better than a last one that is nearly empty.
    return make(math.ceil(len(entries) / math.ceil(len(entries) / num_columns)))


class _EntryHandler(HandlerBase):
    """Draws an entry's route and mark, with the number set as it is on the map, and its bar where entries have some."""

    def __init__(self, *, has_bars: bool) -> None:
        super().__init__()
        self.has_bars = has_bars

    def create_artists(self, legend: Legend, orig_handle: Artist, *box: Any, **_: Any) -> Sequence[Artist]:
        """Return the artists of one entry, in the legend's coordinates."""
        xdescent, ydescent, width, height, _fontsize, trans = box
        entry = cast(Entry, orig_handle)
        whole, width = width, width / (1 + _BAR) if self.has_bars else width
        mark, left, middle, y = entry.mark, -xdescent, width / 2 - xdescent, height / 2 - ydescent
        artists: list[Artist] = []
        if entry.style is not None:
            artists += route_lines(np.array([(left, y), (left + width, y)]), entry.style, _LINE_WIDTH)
        artists += mark_lines(mark, (middle, y), _MARK_SIZE)
        if mark.text:
            shift = text_shift(mark, _MARK_SIZE)
            artists.append(Text(middle, y + shift, mark.text, **text_style(mark, _MARK_SIZE)))
        if entry.style is not None and entry.bar:
            begin, length = left + 1.15 * width, whole - 1.15 * width
            for step, part in enumerate(entry.bar):
                colour = mix(entry.style.colour, "#FFFFFF", 0.0 if step == 0 else 0.45 + 0.15 * (step % 2))
                box_of = Rectangle((begin, y - 0.4 * _MARK_SIZE), part * length, 0.8 * _MARK_SIZE)
                box_of.set(facecolor=colour, edgecolor=entry.style.edge, linewidth=0.5, gid="posterior")
                artists.append(box_of)
                begin += part * length
        for artist in artists:
            artist.set_transform(trans)
        return artists
