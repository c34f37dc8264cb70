"""The report for whoever answers for the trips: what was planned, what it costs, and whether it keeps its word.

It is one PDF without a link in it. What it says of privacy and cost is what the auditor and the risk measure found, not
what the playbook claims. The same playbook and audit give the same bytes.
"""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from veilroute.analysis.posterior import RiskReport, measure_risk
from veilroute.auditing import AuditReport
from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import cost_text, distance_text, duration_text
from veilroute.formats.geojson import class_colour
from veilroute.formats.route_table import Cell, RouteTable, customer_columns, make_table, route_columns
from veilroute.model.exposure import area_text, percent, uncovered_text
from veilroute.model.playbook import Playbook
from veilroute.plotting.frame import plain_settings
from veilroute.plotting.marks import letters
from veilroute.plotting.pages import Pages
from veilroute.plotting.playbook_plot import plot_playbook, rings
from veilroute.streets.sheets import chosen_trips
from veilroute.streets.stops import Schedule

_VERDICTS = {"holds": "#1B7A3D", "unproved": "#8A6100", "violated": "#B3261E"}


def write_report(
    playbook: Playbook,
    path: str | Path,
    *,
    report: AuditReport,
    trip: int | None = None,
    schedule: Schedule | None = None,
) -> None:
    """Write the report of a playbook as a PDF, of all trips or of one ``trip``.

    Parameters
    ----------
    playbook
        With its domain attached.
    path
        The file to write.
    report
        What ``vr.audit`` said of this playbook.
    trip
        Which trip's map and tables to show; those of all when left out. The audit is always that of all.
    schedule
        How long stops take.
    """
    pages = report_pages(playbook, report, trip=trip, schedule=schedule)
    pages.save(path, f"veilroute   playbook {playbook.sha256[:16]}")


def report_pages(
    playbook: Playbook, audit: AuditReport, *, trip: int | None = None, schedule: Schedule | None = None
) -> Pages:
    """The pages of a report before they are written."""
    if audit.playbook_sha256 != playbook.sha256:
        raise InvalidInputError("report", "the audit of this playbook, not of another")
    schedule, trips = schedule or Schedule(), chosen_trips(playbook, trip)
    table, risk = make_table(playbook, trip=trip), _measure(playbook)
    with plain_settings():
        pages = Pages()
        pages.title("Playbook report", _about(playbook, trips))
        state = "unproved" if audit.verdict == "holds" and audit.observer.warnings else audit.verdict
        pages.banner(audit.headline, _VERDICTS[state])
        pages.facts(_facts(playbook, audit, table, schedule))
        for which in trips:
            if len(trips) > 1:
                pages.heading(f"Map of trip {which}", least=5.2)
            pages.picture(partial(_draw, playbook, which))
        if playbook.is_randomised:
            called = "; ".join(f"{letters(i)}: {playbook.name(place)}" for i, place in enumerate(rings(playbook)))
            pages.paragraph(f"On the map, {called}.")
        _write_tables(pages, playbook, table, schedule)
        _write_risk(pages, playbook, risk)
        _write_audit(pages, playbook, audit)
    return pages


def _draw(playbook: Playbook, trip: int, ax: Axes) -> None:
    plot_playbook(playbook, trip=trip, ax=ax, title="", legend=False)


def _measure(playbook: Playbook) -> RiskReport | None:
    """What an observer believes; ``None`` where the playbook is in no state to say."""
    try:
        return measure_risk(playbook)
    except InvalidInputError:
        return None


def _about(playbook: Playbook, trips: Sequence[int]) -> str:
    ways = []
    for which in trips:
        start, goal = (playbook.name(end) for end in (playbook.trips[which].start, playbook.trips[which].goal))
        ways.append(f"from {start} and back" if start == goal else f"from {start} to {goal}")
    told = "; ".join(ways)
    return f"{told[0].upper()}{told[1:]}. The numbers and colours of classes are those of the map."


def _facts(playbook: Playbook, audit: AuditReport, table: RouteTable, schedule: Schedule) -> list[tuple[str, str]]:
    privacy, summary, domain = playbook.privacy, audit.summary, playbook.problem.domain
    promise = f"{privacy.k} places stay possible"
    if privacy.beta is not None:
        promise = f"no {area_text(privacy)} likelier than {percent(privacy.beta)}"
    apart = f", {privacy.distance_text} apart ({privacy.spread})" if privacy.ell > 0 else ""
    span = "on the whole route" if privacy.m is None else f"for the first {privacy.m} nodes"
    rows = [
        ("Promise", f"{promise}{apart}, {span}"),
        ("Hidden", f"{summary.num_protected} of {summary.num_candidates} customers, found so by the audit"),
        ("Routes", _routes_text(table)),
    ]
    if audit.total_extra is not None and audit.worst_extra is not None:
        total = f"{cost_text(domain, audit.total_extra)} over all customers"
        rows.append(("Extra for hiding", f"{total}{_longer(table)}"))
        rows.append(("Worst case", f"{cost_text(domain, audit.worst_extra)} more for one customer{_worst(table)}"))
    rows += audit.observer.rows()
    if any(row.stops for row in table.routes):
        rows.append(("Stops", f"{schedule.stay} at every stop of a route, the same at each"))
    return [*rows, ("Plan", f"{_proof(playbook, audit)} (planner {playbook.planner})")]


def _proof(playbook: Playbook, audit: AuditReport) -> str:
    """How good the plan is, as far as the audit agrees."""
    if playbook.status != "optimal":
        gap = "" if playbook.gap is None else f", at most {playbook.gap:.1%} above the best by its own bound"
        return f"{playbook.status}{gap}{', search completed' if playbook.search_completed else ''}"
    found = {verdict.claim: verdict.verdict for verdict in audit.claims}
    words = {
        "holds": "proved optimal",
        "unproved": "optimal by the planner's word",
        "violated": "not as good as it says",
    }
    return words[found.get("optimality", "unproved")]


def _routes_text(table: RouteTable) -> str:
    """How many routes there are, and the longest."""
    count = f"{len(table.routes)} for {len({row.number for row in table.routes})} classes"
    if not table.routes:
        return count
    domain, longest = table.playbook.problem.domain, max(table.routes, key=lambda row: row.cost)
    if table.unit == "seconds" and longest.metres is not None:
        return f"{count}; the longest {distance_text(longest.metres)}, {duration_text(longest.cost)}"
    return f"{count}; the longest {cost_text(domain, longest.cost)}"


def _longer(table: RouteTable) -> str:
    """How much longer routes are on average, as far as there is something to compare with."""
    trips = table.playbook.trips
    rows = [row for row in table.customers if row.extra is not None and row.base]
    weights = [trips[row.trip].weight * (1.0 if row.drawn is None else row.drawn) for row in rows]
    ratios = [(row.extra or 0.0) / (row.base or 1.0) for row in rows]
    if not rows:
        return ""
    mean = math.fsum(map(operator.mul, ratios, weights)) / math.fsum(weights)
    return f"; routes are {mean:.1%} longer on average"


def _worst(table: RouteTable) -> str:
    rows = [row for row in table.customers if row.extra is not None]
    worst = max(rows, key=lambda row: row.extra or 0.0, default=None)
    return "" if worst is None else f": {table.playbook.name(worst.member)}"


def _write_tables(pages: Pages, playbook: Playbook, table: RouteTable, schedule: Schedule) -> None:
    columns = route_columns(table)
    pages.heading("Routes")
    driving = "Time at stops is not counted. " if table.unit == "seconds" else ""
    pages.paragraph(f"{driving}{schedule.note()}")
    if table.routes:
        colours = [class_colour(row.number - 1) for row in table.routes]
        pages.table([heading for heading, _ in columns], _cells(columns, table.routes), colours=colours)
    else:
        pages.paragraph("None: nobody is hidden.")
    pages.heading("Customers")
    pages.paragraph("Extra is what a customer's route takes more than the best route past that customer alone.")
    listed = customer_columns(table)
    tints = [None if row.route is None else class_colour(row.route.number - 1) for row in table.customers]
    pages.table([heading for heading, _ in listed], _cells(listed, table.customers), colours=tints)


def _cells(columns: Sequence[tuple[str, Callable[..., Cell]]], rows: Sequence[object]) -> list[list[str]]:
    """The rows as text, the figures of a column with as many decimals each."""
    values = [[show(row) for row in rows] for _, show in columns]
    texts = []
    for column in values:
        figures = [value for value in column if isinstance(value, float)]
        digits = max((len(f"{value:.2f}".rstrip("0").partition(".")[2]) for value in figures), default=0)
        texts.append(["" if v is None else f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in column])
    return [list(row) for row in zip(*texts, strict=True)]


def _write_risk(pages: Pages, playbook: Playbook, risk: RiskReport | None) -> None:
    pages.heading("Risk: what an observer may believe")
    if risk is None or not risk.routes:
        pages.paragraph("It cannot be measured: no place is hidden, or the groups are no partition; see the audit.")
        return
    rows, colours, domain = [], [], playbook.problem.domain
    for route in risk.routes:
        # Names at one node are one place: an observer who finds the right door need not know the name.
        doors: dict[int, list[int]] = {}
        for at, member in enumerate(route.members):
            doors.setdefault(domain.node(member), []).append(at)
        chances = {node: math.fsum(route.posterior[at] for at in names) for node, names in doors.items()}
        likeliest = max(chances, key=chances.__getitem__)
        most = f"{100 * chances[likeliest]:.1f}"
        numbers = ", ".join(map(str, route.classes))
        seen = f"{100 * route.probability:.1f}"
        name = " or ".join(playbook.name(route.members[at]) for at in doors[likeliest])
        rows.append([numbers, seen, str(len(doors)), most, name])
        colours.append(class_colour(route.classes[0] - 1))
    headings = [
        "class",
        "seen on % of trips",
        "possible places",
        "best guess right %",
        "best guess (one of the likeliest)",
    ]
    pages.table(headings, rows, colours=colours)
    if (line := uncovered_text(risk.covered_mass)) is not None:
        pages.paragraph(line)


def _write_audit(pages: Pages, playbook: Playbook, audit: AuditReport) -> None:
    pages.heading("Audit")
    pages.paragraph(audit.in_words)
    pages.table(["verdict", "claim", "evidence"], [[v.word, v.claim, v.evidence] for v in audit.claims])
    pages.heading("What this is about")
    hashes = {
        "Playbook": playbook.sha256,
        "Map": playbook.domain_sha256,
        "Names": playbook.names_sha256,
        "Drawing": playbook.drawing_sha256,
    }
    pages.facts([(name, f"SHA-256 {digest}") for name, digest in hashes.items() if digest is not None])
    pages.paragraph(
        "To check it: veilroute audit PLAYBOOK works the claims above out anew from the file. "
        "That the playbook is about what was meant, is checked with veilroute audit PLAYBOOK --instance FILE."
    )
    streets = playbook.problem.domain.streets
    if streets is not None and streets.attribution:
        pages.paragraph(f"Map: {streets.attribution}")
