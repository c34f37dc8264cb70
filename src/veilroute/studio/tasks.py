"""What each kind of job does: calls of ``app``, as steps that yield results with names.

A task takes a request, whose paths lead into the folder of the attempt, and yields results as soon as they are there.
Everything that computes is imported within the functions, so that the server, which only checks requests, stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veilroute.app.requests import (
    AuditRequest,
    CompareRequest,
    ExportRequest,
    FleetRequest,
    LedgerCheckRequest,
    PlanRequest,
    ProblemRequest,
    ReplanRequest,
    RiskRequest,
    SceneRequest,
)
from veilroute.base.run import Run

# How a job ended, as the exit codes of the command line.
DONE, VIOLATED, BAD_INPUT, NOTHING_ANONYMIZED, INTERRUPTED = 0, 1, 2, 3, 130

_FIRST_S = 2.0  # how long the plan takes that is shown at once
_WORTH_TWO_S = 3.0  # a search that is shorter is done at once
_POINT = re.compile(r"playbook-(\d+)\.json", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """Read a map, an instance, a network or a playbook, to be looked at."""

    source: Path
    network: str | None = None  #: of a map from OpenStreetMap: drive, truck, cycle or walk
    cost: str | None = None  #: seconds or metres
    service: bool = False  #: with service roads
    connected: bool = False  #: only the largest part within which everything can be reached
    movement: int | None = None  #: moves on a grid


@dataclass(frozen=True, kw_only=True)
class LinkedRequest:
    """What an observer who links all trips of a ledger learns."""

    ledger: Path
    playbooks: tuple[Path, ...] = ()
    since: str | None = None


@dataclass(frozen=True, kw_only=True)
class WriteRequest:
    """A playbook in another format."""

    playbook: Path
    format: str  #: one of a fixed list, because it becomes the ending of a file's name
    trip: int | None = None


@dataclass(frozen=True)
class Results:
    """Results that appear together."""

    made: Mapping[str, Any]  #: by their names: bytes, the path of a file, or data that becomes JSON
    code: int | None = None  #: how the job ends, if these decide it
    in_place_of_all: bool = False  #: earlier results go when these appear
    is_final: bool = True  #: nothing better comes later


@dataclass(frozen=True)
class Hall:
    """The functions of ``app`` that a plan job calls. Tests put others in their place."""

    plan: Callable[[PlanRequest, Run], Any]
    scene: Callable[[SceneRequest, Run], Mapping[str, Any]]
    audit: Callable[[AuditRequest, Run], Any]
    risk: Callable[[RiskRequest, Run], Any]

    @classmethod
    def usual(cls) -> Hall:
        """Those of ``app``."""
        from veilroute.app.audit import audit, risk
        from veilroute.app.export import scene
        from veilroute.app.plan import plan

        return cls(plan, scene, audit, risk)


@dataclass(frozen=True)
class Desk:
    """What a task works with, beside its request."""

    run: Run  #: its ``should_stop`` is true as soon as the job was cancelled
    #: Within it the first signal raises nothing: what is worked on looks at ``should_stop``, or takes but a moment.
    #: A search that has not begun yet, as its first report would show, is left at once all the same.
    patient: Callable[[bool], AbstractContextManager[None]]
    hall: Hall


Task = Callable[[Any, Desk], Iterator[Results]]


def open_map(request: OpenRequest, desk: Desk) -> Iterator[Results]:
    """Read a map; one from OpenStreetMap becomes a network first."""
    file = request.source
    if file.name.startswith("source.osm"):
        file = _make_network(request, desk.run)
        yield Results({file.name: file}, DONE)
    asked = ProblemRequest(grid=replace(ProblemRequest().grid, movement=request.movement))
    yield Results({"scene.json": desk.hall.scene(SceneRequest(file=file, asked=asked), desk.run)}, DONE)


def check_places(request: ProblemRequest, desk: Desk) -> Iterator[Results]:
    """Find all places, and plan nothing. Whatever cannot be found is told at once."""
    from veilroute.app.load import load_instance
    from veilroute.plotting.scene import instance_scene

    found = load_instance(request, desk.run)
    problem = found.problem
    names, at = problem.names, problem.places
    places = [{"label": each, "name": names.get(each), "lonlat": at.get(each)} for each in problem.candidates]
    yield Results({"check.json": {"places": places}, "scene.json": instance_scene(problem, found.privacy)}, DONE)


def plan(request: PlanRequest, desk: Desk) -> Iterator[Results]:
    """Plan twice: a first plan after two seconds, and the one that was asked for. Then audit what is there.

    Figures, playbook and picture of a plan appear together, so nobody sees the routes of one beside the figures of the
    other. A first plan that is proved is the last one as well, unless contingencies are wanted, which it has not.
    """
    method, found = request.method, None
    stages = [request]
    if float(method.time_limit or 0) > _WORTH_TWO_S:
        stages.insert(0, replace(request, method=replace(method, time_limit=f"{_FIRST_S:g}", contingencies=None)))
    for stage in stages:
        try:
            with desk.patient(False):
                found = desk.hall.plan(stage, desk.run)
        except KeyboardInterrupt:
            if found is None:
                raise
            break  # it was too early: what was there before stays as it is
        # Nothing better is found by a method that proves nothing, however long it takes.
        is_proved = found.playbook.status in ("optimal", "infeasible") and method.contingencies is None
        is_last = is_proved or stage is stages[-1] or desk.run.should_stop()
        with desk.patient(True):  # the plan is there, and who cancels keeps it: a picture of it takes little longer
            Path("plan").mkdir(exist_ok=True)
            book = Path("plan") / f"playbook-{stages.index(stage)}.json"
            found.playbook.write(book)
            scene = desk.hall.scene(SceneRequest(file=book), desk.run)
        code = NOTHING_ANONYMIZED if not found.playbook.claims.num_anonymized else DONE
        made = {"plan.json": found.to_dict(), "playbook.json": book, "scene.json": scene}
        yield Results(made, INTERRUPTED if found.is_stopped else code, in_place_of_all=True, is_final=is_last)
        if is_last:
            break
    if found is not None and found.playbook.claims.num_anonymized:
        yield Results({"audit.json": desk.hall.audit(AuditRequest(playbooks=(book,)), desk.run).to_dict()})
        yield Results({"risk.json": desk.hall.risk(RiskRequest(playbook=book), desk.run).to_dict()})


def audit(request: AuditRequest, desk: Desk) -> Iterator[Results]:
    """Play the observer of a playbook."""
    found = desk.hall.audit(request, desk.run)
    data = found.to_dict()
    yield Results({"audit.json": data, "audit.txt": found.text().encode()}, DONE if data["holds"] else VIOLATED)


def risk(request: RiskRequest, desk: Desk) -> Iterator[Results]:
    """What a playbook tells an observer who knows how likely each place is."""
    yield Results({"risk.json": desk.hall.risk(request, desk.run).to_dict()}, DONE)


def compare(request: CompareRequest, desk: Desk) -> Iterator[Results]:
    """What several privacies cost; then a picture of each."""
    from veilroute.app.compare import compare as compare_privacies

    folder = Path("points")
    with desk.patient(False):
        found = compare_privacies(replace(request, playbooks=folder), desk.run).to_dict()
    books = {path.name: path for path in sorted(folder.glob("*")) if _POINT.fullmatch(path.name)}
    is_hidden = any(point["num_anonymized"] for point in found["points"])
    code = INTERRUPTED if desk.run.should_stop() else DONE if is_hidden else NOTHING_ANONYMIZED
    yield Results({"frontier.json": found, **books}, code)
    for name, path in sorted(books.items(), key=lambda item: int(_POINT.sub(r"\1", item[0]))):
        scene = desk.hall.scene(SceneRequest(file=path), desk.run)
        yield Results({name.replace("playbook", "scene"): scene})


def replan(request: ReplanRequest, desk: Desk) -> Iterator[Results]:
    """The rest of a class's route where roads are closed."""
    from veilroute.app.replan import replan as replan_class

    data = replan_class(request, desk.run).to_dict()
    is_open = data.get("choice") is None
    code = VIOLATED if not data["audit"]["holds"] else NOTHING_ANONYMIZED if is_open else DONE
    yield Results({"replan.json": data}, code)


def fleet(request: FleetRequest, desk: Desk) -> Iterator[Results]:
    """A day of tours, with the files for drivers."""
    from veilroute.app.fleet import fleet as plan_day

    folder = Path("day")
    data = plan_day(replace(request, out=folder), desk.run).to_dict()
    yield Results({**{path.name: path for path in sorted(folder.iterdir())}, "fleet.json": data}, DONE)


def linked(request: LinkedRequest, desk: Desk) -> Iterator[Results]:
    """What linked trips leave of everybody."""
    from veilroute.app.ledger import check_ledger

    checked = check_ledger(LedgerCheckRequest(ledger=request.ledger, since=request.since), desk.run).to_dict()
    yield Results({"ledger.json": checked}, DONE if checked["safe"] else VIOLATED)
    found = desk.hall.audit(AuditRequest(playbooks=request.playbooks, ledger=request.ledger), desk.run)
    yield Results({"linked.json": found.to_dict()})


def export(request: WriteRequest, desk: Desk) -> Iterator[Results]:
    """A playbook as a picture, a page, routes, tables or a report."""
    from veilroute.app.export import export as write_out

    out = Path(f"routes.{request.format}")
    write_out(ExportRequest(playbook=request.playbook, out=out, trip=request.trip), desk.run)
    yield Results({out.name: out}, DONE)


def _make_network(request: OpenRequest, run: Run) -> Path:
    from veilroute.base.errors import InvalidInputError
    from veilroute.formats.network_file import write_network
    from veilroute.formats.osm import read_osm
    from veilroute.formats.osm_addresses import read_osm_addresses

    if request.service and request.network not in (None, "drive", "truck"):
        raise InvalidInputError("service", "`network` drive or truck; the others have service roads anyway")
    given = {name: value for name in ("network", "cost") if (value := getattr(request, name)) is not None}
    options: dict[str, Any] = {**given, "service": request.service, "connected": request.connected}
    made = read_osm(request.source, progress=run.progress, **options)
    out = Path("network.json")
    write_network(made, out, addresses=read_osm_addresses(request.source, progress=run.progress))
    return out
