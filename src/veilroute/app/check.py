"""Check: find every place of a request, and list all that is wrong at once; nothing is planned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from veilroute.app.load import find_places, load_instance
from veilroute.app.requests import PlanRequest, ProblemRequest
from veilroute.base.errors import InvalidInputError, Issue, UnknownMethodError, issues_of
from veilroute.base.run import Run
from veilroute.domain import Domain
from veilroute.domain.graph import label_text
from veilroute.formats.route_table import write_rows, write_workbook
from veilroute.streets import Located

TABLES = (".csv", ".xlsx")


@dataclass(frozen=True)
class CheckedPlace:
    """A place that was found: where it is, and how far from the street."""

    name: str
    role: str  #: start, goal or candidate
    lat: float | None
    lon: float | None
    node: str | None  #: its label on the map; None for a door, which gets its node with the plan
    distance_m: float | None  #: from the coordinates that were given to the street
    origin: str  #: where it was given: a row of a table, or the key of the request
    note: str | None  #: what somebody should read about it


@dataclass(frozen=True)
class CheckResult:
    """What is wrong with a request, and the places that were found all the same."""

    issues: tuple[Issue, ...]
    places: tuple[CheckedPlace, ...]
    warnings: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Whether it can be planned."""
        return not self.issues

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        issues, places = ([asdict(each) for each in part] for part in (self.issues, self.places))
        return {"ready": self.is_ready, "problems": issues, "places": places, "warnings": list(self.warnings)}

    def write_places(self, path: Path) -> None:
        """Write the places as a table, which `plan` can read again."""
        heads = ["name", "role", "lat", "lon", "node", "metres to the street", "given", "note"]
        rows = [[*vars(each).values()] for each in self.places]
        match path.suffix.lower():
            case ".csv":
                write_rows(path, [heads, *rows])
            case ".xlsx":
                write_workbook(path, {"Places": [heads, *rows]})
            case _:
                raise UnknownMethodError("out", path.suffix or str(path), TABLES)


def check(request: ProblemRequest | PlanRequest, run: Run | None = None) -> CheckResult:
    """Find every place, and say all that is wrong with the request at once."""
    run = Run() if run is None else run
    asked = request.asked if isinstance(request, PlanRequest) else request
    try:
        found = find_places(asked, run)
    except InvalidInputError as error:  # the map cannot be read, or the table: no place can be looked for
        return CheckResult(issues_of(error), (), tuple(run.warnings))
    issues = list(found.problems.issues)
    if not issues:  # then the places are looked at together: doors, ways between them, weights
        quiet = Run(run.progress, run.should_stop)
        try:
            load_instance(asked, quiet)
        except InvalidInputError as error:
            issues = [*issues_of(error)]
        for line in quiet.warnings:
            run.warn(line)
    places = tuple(_checked(found.domain, role, each) for role, each in found.located)
    issues.sort(key=lambda issue: (issue.file or "", issue.row or 0))
    return CheckResult(tuple(issues), places, tuple(run.warnings))


def _checked(domain: Domain, role: str, place: Located) -> CheckedPlace:
    """A place as data; its coordinates are those that were given, or those of its junction."""
    lonlat, node = place.lonlat, None
    if place.door is None or place.door.node is not None:
        node = label_text(place.label)
        if lonlat is None and domain.streets is not None:
            lon, lat = domain.streets.lonlat[domain.node(place.label)].tolist()
            lonlat = (lon, lat)
    lon_, lat_ = lonlat or (None, None)
    metres = None if place.distance_m is None else round(place.distance_m, 1)
    return CheckedPlace(place.name or place.text, role, lat_, lon_, node, metres, place.origin, place.warning)
