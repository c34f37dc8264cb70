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
    """What an observer learns who links all trips of a ledger."""

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
        from veilroute.app.plan import plan

        return cls(plan, _scene, _audit, _risk)


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
    folder = Path("points")
    with desk.patient(False):
        found = _compare(replace(request, playbooks=folder), desk.run).to_dict()
    books = {path.name: path for path in sorted(folder.glob("*")) if _POINT.fullmatch(path.name)}
    is_hidden = any(point["num_anonymized"] for point in found["points"])
    code = INTERRUPTED if desk.run.should_stop() else DONE if is_hidden else NOTHING_ANONYMIZED
    yield Results({"frontier.json": found, **books}, code)
    for name, path in sorted(books.items(), key=lambda item: int(_POINT.sub(r"\1", item[0]))):
        scene = desk.hall.scene(SceneRequest(file=path), desk.run)
        yield Results({name.replace("playbook", "scene"): scene})


def replan(request: ReplanRequest, desk: Desk) -> Iterator[Results]:
    """The rest of a class's route where roads are closed."""
    data = _replan(request, desk.run).to_dict()
    is_open = data.get("choice") is None
    code = VIOLATED if not data["audit"]["holds"] else NOTHING_ANONYMIZED if is_open else DONE
    yield Results({"replan.json": data}, code)


def fleet(request: FleetRequest, desk: Desk) -> Iterator[Results]:
    """A day of tours, with the files for drivers."""
    folder = Path("day")
    data = _fleet(replace(request, out=folder), desk.run).to_dict()
    yield Results({**{path.name: path for path in sorted(folder.iterdir())}, "fleet.json": data}, DONE)


def linked(request: LinkedRequest, desk: Desk) -> Iterator[Results]:
    """What linked trips leave of everybody."""
    checked = _check_ledger(LedgerCheckRequest(ledger=request.ledger, since=request.since), desk.run).to_dict()
    yield Results({"ledger.json": checked}, DONE if checked["safe"] else VIOLATED)
    found = desk.hall.audit(AuditRequest(playbooks=request.playbooks, ledger=request.ledger), desk.run)
    yield Results({"linked.json": found.to_dict()})


def export(request: WriteRequest, desk: Desk) -> Iterator[Results]:
    """A playbook as a picture, a page, routes, tables or a report."""
    out = Path(f"routes.{request.format}")
    _export(ExportRequest(playbook=request.playbook, out=out, trip=request.trip), desk.run)
    yield Results({out.name: out}, DONE)


# What app has not got yet


@dataclass(frozen=True)
class _Found:
    """A result as those of ``app``."""

    data: dict[str, Any]
    words: str = ""

    def to_dict(self) -> dict[str, Any]:
        return self.data

    def text(self) -> str:
        return self.words


def _make_network(request: OpenRequest, run: Run) -> Path:  # merged: app.maps.make_network
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


def _scene(request: SceneRequest, run: Run) -> Mapping[str, Any]:  # merged: app.export.scene
    from veilroute.app.load import load_instance, load_map, load_playbook
    from veilroute.base.io import read_bytes
    from veilroute.plotting.scene import domain_scene, instance_scene, playbook_scene

    if request.file.suffix == ".json" and b'"veilroute-playbook/' in read_bytes(request.file):
        return playbook_scene(load_playbook(request.file, request.domain, request.asked.grid.movement or 4))
    asked = replace(request.asked, problem=replace(request.asked.problem, map=request.file))
    world, is_whole = load_map(asked, run)
    if not is_whole:
        return domain_scene(world)
    found = load_instance(asked, run)
    return instance_scene(found.problem, found.privacy)


def _audit(request: AuditRequest, run: Run) -> Any:  # merged: app.audit.audit
    from veilroute.app.load import load_playbook
    from veilroute.auditing import audit_linked, audit_playbook
    from veilroute.auditing.verdicts import joint_verdict

    books = [load_playbook(path) for path in request.playbooks]
    if request.ledger is None:
        alone = audit_playbook(books[0])
        return _Found(alone.to_dict(), alone.to_text().rstrip("\n") + "\n")
    report = audit_linked(books, ledger=request.ledger)
    under = [audit_playbook(book, ledger=request.ledger) for book in books if book.past is not None]
    verdict = joint_verdict([*report.claims, *(claim for each in under for claim in each.claims)])
    audits = {"audits": [each.to_dict() for each in under]} if under else {}
    return _Found(report.to_dict() | audits | {"holds": verdict != "violated", "verdict": verdict})


def _risk(request: RiskRequest, run: Run) -> Any:  # merged: app.audit.risk
    from veilroute.analysis.posterior import measure_risk
    from veilroute.app.load import load_playbook
    from veilroute.formats.places import read_prior

    book = load_playbook(request.playbook)
    ends = {end for trip in book.trips for end in (trip.start, trip.goal)}
    known = (book.problem.domain, book.candidates, book.names)
    return measure_risk(book, None if request.prior is None else read_prior(request.prior, *known, ends=ends))


def _compare(request: CompareRequest, run: Run) -> Any:  # merged: app.compare.compare
    from veilroute.analysis.frontier import frontier, privacies_of
    from veilroute.app.load import load_instance
    from veilroute.model.problem import MECHANISMS

    folder = request.playbooks or Path()
    folder.mkdir(exist_ok=True)
    loaded = load_instance(request.asked, run)
    usual = [k for k in (2, 3, 4, 5) if k <= len(loaded.problem.counted)] or [2]
    mechanisms = MECHANISMS if request.mechanism == "both" else (request.mechanism,)
    wanted = privacies_of(
        loaded.privacy, ks=request.ks or (() if request.risks else usual), risks=request.risks, ells=request.aparts,
        ms=request.untils, mechanisms=mechanisms,
    )  # fmt: skip

    def keep(number: int, book: Any) -> None:
        if book.claims.num_anonymized:
            book.write(folder / f"playbook-{number}.json")

    seed = request.asked.problem.seed or 0
    more: dict[str, Any] = {"progress": run.progress, "should_stop": run.should_stop, "keep": keep, "seed": seed}
    return frontier(loaded.problem, list(wanted), time_limit_s=request.time_limit_s, **more)


def _replan(request: ReplanRequest, run: Run) -> Any:  # merged: app.replan.replan
    from functools import partial

    from veilroute.app.load import load_playbook
    from veilroute.app.places import find_node, read_roads
    from veilroute.auditing.detours import audit_replan
    from veilroute.planners.replan import replan, replan_alone

    book = load_playbook(request.playbook)
    roads, one_way = read_roads(book, request.closed, "closed", run)
    found = replan(
        book, request.number, find_node(book, request.at, "at", run), position=request.position, trip=request.trip,
        closed=roads, closed_one_way=one_way, choice=request.choice,
    )  # fmt: skip
    verdicts = audit_replan(book, found, replanner=partial(replan_alone, book))
    audit = {"holds": all(each.holds for each in verdicts), "claims": [vars(each) for each in verdicts]}
    head = {"format": "veilroute-replan/1", "playbook_sha256": book.sha256}
    return _Found({**head, **found.to_dict(), "audit": audit})


def _fleet(request: FleetRequest, run: Run) -> Any:  # merged: app.fleet.fleet
    from veilroute.app.load import load_playbook
    from veilroute.app.places import read_public_terms
    from veilroute.base.errors import InvalidInputError
    from veilroute.base.io import write_file
    from veilroute.fleet import dispatch
    from veilroute.fleet.exposure import exposure
    from veilroute.model.day import Terms, Van
    from veilroute.plotting.day_report import write_day_report

    book, public, out = load_playbook(request.playbook), request.public, request.out or Path()
    touched = frozenset(int(part) for part in (request.touched or "").split(","))
    if not all(1 <= number <= len(book.hidden_classes) for number in touched):
        raise InvalidInputError("touched", f"different numbers of classes from 1 to {len(book.hidden_classes)}")
    names = ("capacity", "demand", "iterations", "seed")
    given: dict[str, Any] = {name: value for name in names if (value := getattr(public, name)) is not None}
    given |= {} if public.customers is None else {"customers": read_public_terms(book, public.customers)}
    given |= {} if public.service is None else {"service_s": 60 * public.service}
    trip = book.trips[0]
    terms = Terms((Van(trip.start, trip.goal),) * (public.vehicles or 1), **given)
    day = dispatch(book, touched, terms, progress=run.progress)
    out.mkdir(exist_ok=True)
    write_file(out / "day.json", day.to_json())
    write_day_report(book, day, out / "report.pdf")
    return _Found({**day.to_dict(), "exposure": exposure(book, day).to_dict()})


def _check_ledger(request: LedgerCheckRequest, run: Run) -> Any:  # merged: app.ledger.check_ledger
    from veilroute.ledger.ledger import read_ledger

    ledger = read_ledger(request.ledger)
    accounts = [each.to_dict() for each in ledger.account(since=request.since)]
    return _Found(ledger.check(request.since).to_dict() | ({"accounts": accounts} if accounts else {}))


def _export(request: ExportRequest, run: Run) -> Any:  # merged: app.export.export
    from veilroute.app.load import load_playbook
    from veilroute.base.io import write_file
    from veilroute.formats.geojson import write_geojson
    from veilroute.formats.gpx import write_gpx
    from veilroute.formats.kml import write_kml
    from veilroute.formats.route_table import write_csv, write_xlsx
    from veilroute.plotting import draw_playbook, write_html_map, write_report
    from veilroute.streets.sheets import playbook_directions

    book, out, trip = load_playbook(request.playbook), request.out, request.trip
    writers: dict[str, Callable[..., Any]] = {
        ".gpx": write_gpx, ".geojson": write_geojson, ".kml": write_kml, ".csv": write_csv, ".xlsx": write_xlsx,
        ".pdf": write_report,
    }  # fmt: skip
    if out.suffix in writers:
        writers[out.suffix](book, out, trip=trip)
    elif out.suffix == ".txt":
        write_file(out, playbook_directions(book, trip=trip))
    else:
        (write_html_map if out.suffix == ".html" else draw_playbook)(book, out, trip=trip or 0)
