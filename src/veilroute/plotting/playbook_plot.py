"""A playbook on its map, in the manner of the paper's example figure."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from veilroute.domain.labels import Label
from veilroute.errors import InvalidInputError
from veilroute.playbook import Playbook, PlaybookClass
from veilroute.plotting import marks
from veilroute.plotting.domain_plot import draw_domain
from veilroute.plotting.figure import fit_figure
from veilroute.plotting.frame import frame_of, new_axes
from veilroute.plotting.legend import Entry, add_legend
from veilroute.plotting.palette import class_style
from veilroute.plotting.routes import class_walks, draw_routes
from veilroute.plotting.sights import sight_lines
from veilroute.plotting.street_lines import BentWalks
from veilroute.streets.directions import distance_text, duration_text

# Of a class's marker, in points; on grids it follows the cell in between.
_SMALLEST_MARK_PT, _LARGEST_MARK_PT = 12.0, 20.0
# Characters of names in one line of the legend.
_LONGEST_NAMES = 48


def plot_playbook(
    playbook: Playbook, *, trip: int = 0, ax: Axes | None = None, title: str | None = None, legend: bool = True
) -> Axes:
    """Draw the classes of a playbook and their routes on the map.

    Start and goal are marked S and G. Candidates of one class have the same colour, number and marker shape; the
    class's route is drawn in a lighter tone, with arrows; where its members part, thinner lines go on from there.
    Routes that share an edge run side by side, each in a lane of its own; where a route comes back the way it went,
    both directions share the lane. Where candidates are seen from afar, a dotted line joins each to the nearest node of
    its route that sees it. Candidates that the playbook does not protect are hollow, those that cannot be covered are
    crosses. Markers that would hide each other are moved apart and joined to their place by a line.

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
    """
    return draw_on_axes(playbook, trip=trip, ax=ax, title=title, legend=legend, size_in=None)


def draw_on_axes(
    playbook: Playbook,
    *,
    trip: int,
    ax: Axes | None,
    title: str | None,
    legend: bool,
    size_in: tuple[float, float] | None,
) -> Axes:
    """Do the work of :func:`plot_playbook`; ``size_in`` is the size of the new figure when ``ax`` is left out."""
    if isinstance(trip, bool) or not isinstance(trip, int) or not 0 <= trip < len(playbook.trips):
        raise InvalidInputError("trip", f"a trip from 0 to {len(playbook.trips) - 1}", trip)
    problem = playbook.problem
    domain = problem.domain
    hidden = [group for group in playbook.classes if group.anonymized]
    walks = [class_walks(problem, group, trip) for group in hidden]
    shown = all_marks(playbook, hidden, trip)
    positions = None
    focus = [mark.node for mark in shown]
    if domain.streets is not None:
        bent = BentWalks(domain)
        focus += [node for group in walks for walk in group for node in walk]
        walks = [[bent.bend(walk) for walk in group] for group in walks]
        positions = bent.positions
    frame = frame_of(domain, focus)

    # The legend comes first: it decides how large the figure is, and that how far lanes and markers are apart.
    own_figure = ax is None
    ax = new_axes(frame) if ax is None else ax
    frame.apply(ax)
    ax.set_title(describe(playbook, trip) if title is None else title, fontsize=10, pad=7)
    entries = legend_entries(playbook, hidden, trip) if legend else []
    if own_figure:
        fit_figure(ax, frame, entries, size_in)
    elif entries:
        add_legend(ax, entries, frame, beside=False)

    draw_domain(ax, domain, frame)
    scale = frame.points_per_unit(ax)
    is_grid = domain.grid is not None
    size = (
        min(max(0.72 * frame.step * scale, _SMALLEST_MARK_PT), _LARGEST_MARK_PT) if is_grid else _SMALLEST_MARK_PT + 1
    )
    homes = frame.positions[[mark.node for mark in shown]]
    placed = marks.draw_marks(ax, shown, homes, scale, size)
    for i, ends in sight_lines(playbook, hidden, trip, frame.positions):
        line = frame.positions[list(ends)]
        ax.plot(*line.T, ":", color=class_style(i).edge, linewidth=1.4, zorder=2.5, gid=f"sight-{i + 1}")
    draw_routes(
        ax,
        walks,
        frame.positions if positions is None else positions,
        placed,
        mark_size=size,
        step=frame.step,
        scale=scale,
        is_grid=is_grid,
    )
    frame.apply(ax)
    return ax


def describe(playbook: Playbook, trip: int) -> str:
    """One line: what was asked and what was reached."""
    privacy, claims = playbook.privacy, playbook.claims
    span = "whole route" if privacy.m is None else f"first {privacy.m} nodes"
    asked = f"k={privacy.k}, ell={privacy.distance_text}, {span}"
    if len(playbook.trips) > 1:
        asked = f"Trip {trip}, {asked}"
    reached = f"{claims.num_anonymized} of {claims.num_candidates} candidates hidden"
    if claims.mac is not None:
        reached += f", MAC {claims.mac:.2f}"
    return f"{asked}: {reached} ({playbook.status})"


def legend_entries(playbook: Playbook, hidden: Sequence[PlaybookClass], trip: int) -> list[Entry]:
    """Start, goal, the classes by number, and how many candidates are left out for which reason."""
    ends = playbook.trips[trip]
    entries = [
        Entry(marks.start_mark(0), _named(playbook, "start", ends.start)),
        Entry(marks.goal_mark(0), _named(playbook, "goal", ends.goal)),
    ]
    for i, group in enumerate(hidden):
        style = class_style(i)
        label = f"{i + 1}: {_members(playbook, group)}, {costs_text(playbook, group, trip)}"
        if group.rests(trip):
            label += f", {len(group.shared(trip))} nodes shared"
        entries.append(Entry(marks.class_mark(0, i + 1, style), label, style))
    exposed, uncounted = exposed_candidates(playbook), _uncounted(playbook)
    if exposed:
        entries.append(Entry(marks.exposed_mark(0), f"not protected: {len(exposed)}"))
    if playbook.uncoverable:
        entries.append(Entry(marks.uncoverable_mark(0), f"cannot be covered: {len(playbook.uncoverable)}"))
    if uncounted:
        entries.append(Entry(marks.uncounted_mark(0), f"start or goal, not counted: {len(uncounted)}"))
    return entries


def all_marks(playbook: Playbook, hidden: Sequence[PlaybookClass], trip: int) -> list[marks.Mark]:
    """Start and goal, the candidates of the classes, then those that are left out."""
    node = playbook.problem.domain.node
    start, goal = node(playbook.trips[trip].start), node(playbook.trips[trip].goal)
    shown = [marks.start_mark(start), marks.goal_mark(goal)]
    for i, group in enumerate(hidden):
        shown += [marks.class_mark(node(member), i + 1, class_style(i)) for member in group.members]
    shown += [marks.exposed_mark(node(label)) for label in exposed_candidates(playbook)]
    shown += [marks.uncoverable_mark(node(label)) for label in playbook.uncoverable]
    # Those at the ends of the trip that is drawn are marked S or G already.
    others = {node(label) for label in _uncounted(playbook)} - {start, goal}
    return shown + [marks.uncounted_mark(other) for other in sorted(others)]


def exposed_candidates(playbook: Playbook) -> list[Label]:
    """The candidates that could be covered but are not hidden."""
    return [member for group in playbook.classes if not group.anonymized for member in group.members]


def _uncounted(playbook: Playbook) -> list[Label]:
    known = {member for group in playbook.classes for member in group.members} | set(playbook.uncoverable)
    return [label for label in playbook.candidates if label not in known]


def _named(playbook: Playbook, role: str, label: Label) -> str:
    name = playbook.names.get(label)
    return role if name is None else f"{role}: {_shortened(name)}"


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
    """What the routes of a class cost, in minutes or kilometres on street networks."""
    costs = [group.route_of(member, trip).cost for member in group.members]
    streets = playbook.problem.domain.streets
    say = _number if streets is None else duration_text if streets.unit == "seconds" else distance_text
    low, high = say(min(costs)), say(max(costs))
    span = low if low == high else f"{low} to {high}"
    return f"cost {span}" if streets is None else span


def _number(cost: float) -> str:
    return f"{cost:.2f}".rstrip("0").rstrip(".")
