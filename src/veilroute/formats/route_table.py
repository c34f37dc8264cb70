"""What a playbook costs, route by route and customer by customer, as tables: CSV, or an .xlsx workbook.

Figures are worked out again from the routes and the map; on street networks in kilometres and minutes of driving, the
time at stops not counted. *Extra* is what a customer's route costs more than the cheapest one past that customer alone.
"""

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from veilroute.base.errors import InvalidInputError, MissingExtraError
from veilroute.base.io import write_file
from veilroute.domain.graph import Domain, Label
from veilroute.model.metrics import extra_costs
from veilroute.model.playbook import Playbook
from veilroute.streets.directions import edge_number
from veilroute.streets.sheets import chosen_trips
from veilroute.streets.stops import Stop, Stops

Cell = str | int | float | None

HIDDEN, EXPOSED, UNCOVERABLE, UNCOUNTED = "hidden", "not protected", "cannot be covered", "start or goal"
_NARROWEST, _WIDEST = 8, 60  # columns of a workbook, in characters


@dataclass(frozen=True)
class RouteRow:
    """One route that members of a class share."""

    trip: int
    number: int  #: of the class, from 1
    members: tuple[Label, ...]  #: who takes it
    stops: tuple[Stop, ...]
    num_nodes: int
    metres: float | None  #: ``None`` where the map does not know
    cost: float
    drawn: float | None = None  #: how often the class is drawn, in a randomised playbook


@dataclass(frozen=True)
class CustomerRow:
    """One candidate on one trip; in a randomised playbook, for one of the classes that may be drawn for it."""

    trip: int
    member: Label
    status: str  #: hidden, or why not
    route: RouteRow | None = None  #: ``None`` for who is not hidden
    base: float | None = None  #: cost of the cheapest route past this one alone
    extra: float | None = None  #: what the route costs more than that
    drawn: float | None = None  #: how often this class is drawn for this one

    @property
    def stop(self) -> Stop | None:
        """The stop of the route that is for this candidate."""
        stops = () if self.route is None else self.route.stops
        return next((stop for stop in stops if self.member in stop.members), None)


@dataclass(frozen=True)
class RouteTable:
    """The figures of a playbook."""

    playbook: Playbook
    routes: tuple[RouteRow, ...]
    customers: tuple[CustomerRow, ...]

    @property
    def unit(self) -> str | None:
        """What costs are measured in, on a street network."""
        domain = self.playbook.problem.domain
        return None if domain.streets is None else domain.streets.unit


def make_table(playbook: Playbook, *, trip: int | None = None) -> RouteTable:
    """Work the figures out for all trips, or for one ``trip``."""
    # Imported here because it brings the compiled kernels.
    from veilroute.covering.task import prepare_task

    task, stops, domain = prepare_task(playbook.problem), Stops(playbook), playbook.problem.domain
    column = {playbook.candidates[i]: at for at, i in enumerate(task.members)}
    whole = math.fsum(share for group in playbook.hidden_classes for share in group.shares)
    routes: list[RouteRow] = []
    customers: list[CustomerRow] = []
    for which in chosen_trips(playbook, trip):
        rows: dict[Label, list[CustomerRow]] = {}
        for number, group in enumerate(playbook.hidden_classes, start=1):
            chance = math.fsum(group.shares) / whole if group.shares and whole else None
            ways: dict[tuple[Label, ...], list[Label]] = {}
            for member in group.members:
                ways.setdefault(group.route_of(member, which).nodes, []).append(member)
            for nodes, members in ways.items():
                cost, metres = playbook.cost_of(nodes), _metres(domain, nodes)
                if cost is None:
                    raise InvalidInputError("route", f"a walk along edges of the map for class {number}")
                made = stops.on_route(nodes, which)
                row = RouteRow(which, number, tuple(members), made, len(nodes), metres, cost, chance)
                routes.append(row)
                for member in members:
                    base = task.base_costs[which, column[member]].item() if member in column else None
                    extra = None if base is None else extra_costs([cost], [base])[0]
                    share = _chance(playbook, member, group.share_of(member)) if group.shares else None
                    rows.setdefault(member, []).append(CustomerRow(which, member, HIDDEN, row, base, extra, share))
        for label in playbook.candidates:
            customers += rows.get(label) or [CustomerRow(which, label, _why_not(playbook, label))]
    return RouteTable(playbook, tuple(routes), tuple(customers))


def _metres(domain: Domain, nodes: Sequence[Label]) -> float | None:
    """How long a route is."""
    if domain.on_earth is None:
        return None
    edges = [edge_number(domain, tail, head) for tail, head in pairwise(map(domain.node, nodes))]
    return math.fsum(float(domain.on_earth.lengths[edge]) for edge in edges if edge >= 0)


def _chance(playbook: Playbook, member: Label, share: float) -> float:
    total = math.fsum(group.share_of(member) for group in playbook.classes_of(member))
    return share / total if total else 0.0


def _why_not(playbook: Playbook, label: Label) -> str:
    if label in playbook.uncoverable:
        return UNCOVERABLE
    return EXPOSED if label in playbook.exposed_candidates else UNCOUNTED


def customer_columns(table: RouteTable) -> list[tuple[str, Callable[[CustomerRow], Cell]]]:
    """The columns of the customers: each a heading, and what stands below it."""
    many_trips, name = len(table.playbook.trips) > 1, table.playbook.name
    columns: list[tuple[str, Callable[[CustomerRow], Cell]]] = [("trip", lambda row: row.trip)] if many_trips else []
    columns += [
        ("customer", lambda row: name(row.member)),
        ("class", lambda row: None if row.route is None else row.route.number),
        ("stop", lambda row: None if row.stop is None else row.stop.number),
        ("stops", lambda row: None if row.route is None else len(row.route.stops)),
        *[(f"route {title}", _of_route(show)) for title, show in _measures(table)],
    ]
    unit, scale, digits = _cost_unit(table)
    columns += [
        (f"{unit} alone", lambda row: _rounded(row.base, scale, digits)),
        (f"extra {unit}", lambda row: _rounded(row.extra, scale, digits)),
        ("extra %", lambda row: None if not row.base or row.extra is None else round(100 * row.extra / row.base, 1)),
    ]
    if table.playbook.is_randomised:
        columns.append(("drawn %", lambda row: _rounded(row.drawn, 0.01, 1)))
    return [*columns, ("status", lambda row: row.status)]


def route_columns(table: RouteTable) -> list[tuple[str, Callable[[RouteRow], Cell]]]:
    """The columns of the routes."""
    many_trips, name = len(table.playbook.trips) > 1, table.playbook.name
    unit, scale, digits = _cost_unit(table)
    extras: dict[int, list[float]] = {}
    for row in table.customers:
        if row.route is not None and row.extra is not None:
            extras.setdefault(id(row.route), []).append(row.extra)

    def worst(row: RouteRow) -> Cell:
        return _rounded(max(extras.get(id(row), ()), default=None), scale, digits)

    columns: list[tuple[str, Callable[[RouteRow], Cell]]] = [("trip", lambda row: row.trip)] if many_trips else []
    columns += [("class", lambda row: row.number), ("stops", lambda row: len(row.stops)), *_measures(table)]
    columns.append((f"worst extra {unit}", worst))
    if table.playbook.is_randomised:
        columns.append(("drawn %", lambda row: _rounded(row.drawn, 0.01, 1)))
    return [*columns, ("customers", lambda row: ", ".join(name(member) for member in row.members))]


def _cost_unit(table: RouteTable) -> tuple[str, float, int]:
    """What costs are shown in, how many of the domain's units that is, and with how many digits."""
    return {"seconds": ("minutes", 60.0, 2), "metres": ("km", 1000.0, 3)}.get(table.unit or "", ("cost", 1.0, 6))


def _measures(table: RouteTable) -> list[tuple[str, Callable[[RouteRow], Cell]]]:
    unit, scale, digits = _cost_unit(table)
    cost: tuple[str, Callable[[RouteRow], Cell]] = (unit, lambda row: _rounded(row.cost, scale, digits))
    columns: list[tuple[str, Callable[[RouteRow], Cell]]] = []
    if table.unit is None:
        columns.append(("nodes", lambda row: row.num_nodes))
    if table.unit != "metres" and table.playbook.problem.domain.on_earth is not None:
        columns.append(("km", lambda row: _rounded(row.metres, 1000.0, 3)))
    return [*columns, cost]


def _of_route(show: Callable[[RouteRow], Cell]) -> Callable[[CustomerRow], Cell]:
    return lambda row: None if row.route is None else show(row.route)


def _rounded(value: float | None, scale: float, digits: int) -> Cell:
    return None if value is None else round(value / scale, digits)


def write_csv(playbook: Playbook, path: str | Path, *, trip: int | None = None) -> None:
    """Write a row for each customer and trip; see :func:`customer_columns`."""
    table = make_table(playbook, trip=trip)
    write_rows(path, _cells(customer_columns(table), table.customers))


def write_rows(path: str | Path, rows: Sequence[Sequence[Cell]]) -> None:
    """Write rows as CSV, the first of which names the columns."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[_plain(cell) for cell in row] for row in rows])
    write_file(path, text.getvalue())


def _plain(cell: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula: a name may be anything."""
    if isinstance(cell, str) and re.match(r"[=+\-@\t\r]", cell) and not re.fullmatch(r"[-+\d.,; ]+", cell):
        return f"'{cell}"
    return cell


def write_xlsx(playbook: Playbook, path: str | Path, *, trip: int | None = None) -> None:
    """Write a workbook with two sheets, the routes and the customers; equal playbooks give equal bytes."""
    table = make_table(playbook, trip=trip)
    sheets = {
        "Routes": _cells(route_columns(table), table.routes),
        "Customers": _cells(customer_columns(table), table.customers),
    }
    write_workbook(path, sheets)


def write_workbook(path: str | Path, sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> None:
    """Write sheets of rows, the first of which names the columns; equal rows give equal bytes."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
        from openpyxl.utils import get_column_letter
    except ImportError:
        raise MissingExtraError("openpyxl", "streets") from None
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        for i, row in enumerate(rows, start=1):
            for j, value in enumerate(row, start=1):
                if value is None:
                    continue
                cell = sheet.cell(i, j, value)
                if isinstance(value, str):
                    cell.data_type = "s"  # never a formula, whatever a place is called
                if i == 1:
                    cell.font = Font(bold=True)
        for j in range(1, len(rows[0]) + 1):
            longest = max(len(str(row[j - 1])) for row in rows if row[j - 1] is not None)
            sheet.column_dimensions[get_column_letter(j)].width = min(max(longest + 2, _NARROWEST), _WIDEST)
    made = io.BytesIO()
    book.save(made)
    write_file(path, _without_dates(made.getvalue()))


def _cells(columns: Sequence[tuple[str, Callable[..., Cell]]], rows: Sequence[object]) -> list[list[Cell]]:
    return [[heading for heading, _ in columns], *([show(row) for _, show in columns] for row in rows)]


def _without_dates(workbook: bytes) -> bytes:
    """The same workbook with the day from which zip files count in place of every date."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"1980-01-01T00:00:00Z", data)
            new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()
