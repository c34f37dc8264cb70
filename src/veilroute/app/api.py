"""The doors for Python: a request, a problem file or a map, with other values for some keys; a result comes back.

``vr.plan("trip.toml", k=3)`` does what ``veilroute plan trip.toml -k 3`` does. The keys are those of a problem file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from veilroute.app.problem_file import homes_of, is_problem_file, override, read_problem
from veilroute.app.requests import PlanRequest, ProblemRequest
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import ProgressCallback, Run
from veilroute.domain.graph import label_text

if TYPE_CHECKING:
    from veilroute.app.check import CheckResult
    from veilroute.app.plan import PlanResult
    from veilroute.auditing import AuditReport
    from veilroute.auditing.replay import Planner
    from veilroute.model.playbook import Playbook
    from veilroute.model.problem import Privacy, Problem

_Request = TypeVar("_Request")
_LABELS = ("start", "goal", "candidates", "places")  #: keys whose values may be labels in place of texts


def plan(
    request: PlanRequest | str | Path | None = None,
    /,
    *,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    **overrides: Any,
) -> PlanResult:
    """Group the places and plan the routes, as the command ``plan`` does.

    Parameters
    ----------
    request
        A request; or the path of a problem file (``.toml``), an instance, a map or a network. Paths of a problem file
        are relative to it.
    progress, should_stop
        As for :func:`veilroute.solve`.
    **overrides
        Other values for keys of the request, named as in a problem file: ``k=3, places="a.csv", apart="300 m"``. Cells
        and other labels may stand for places, and ``planner`` may be one of the objects in :mod:`veilroute.planners`.

    Returns
    -------
    PlanResult
        With the ``playbook``, the ``places`` that were found, and the ``warnings``.
    """
    from veilroute.app.plan import plan as plan_request

    asked = _request_of(request, PlanRequest, _plain(overrides))
    if asked.ledger.enter:
        expected = "nothing in Python: write the playbook, and enter it with `Ledger.add` or the command `ledger add`"
        raise InvalidInputError("enter", expected)
    return plan_request(asked, _run(progress, should_stop))


def check(
    request: ProblemRequest | str | Path | None = None,
    /,
    *,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
    **overrides: Any,
) -> CheckResult:
    """Find every place and list all that is wrong with a problem, as the command ``check`` does; nothing is planned.

    Parameters are those of :func:`plan`, of the problem alone.
    """
    from veilroute.app.check import check as check_request

    return check_request(_request_of(request, ProblemRequest, _plain(overrides)), _run(progress, should_stop))


def audit(
    playbook: Playbook | str | Path,
    *,
    planner: Planner | None = None,
    instance: Problem | None = None,
    privacy: Privacy | None = None,
    unstated: Collection[str] = (),
    prior: Sequence[float] | None = None,
    ledger: str | Path | None = None,
) -> AuditReport:
    """Check every claim of a playbook, or of the file of one, by playing the adversary.

    Each candidate in turn is taken for the secret and its route asked for; what comes back is walked on the map,
    compared with the routes of all other candidates and priced. A bad route is a violated claim, not an exception.

    Parameters
    ----------
    playbook
        What to check, with its domain; or the path of one.
    planner
        Where the routes come from instead: called with a candidate's label and a trip, it returns a route or raises
        `NotAnonymizedError`. The claims are still those of the playbook.
    instance, privacy
        What was meant. With either there is one more claim, ``instance``: that the playbook is about this map, these
        trips and candidates in this order, this visibility, these names, and promises this privacy.
    unstated
        What of these nobody stated and is not to be compared: ``visibility``, ``prior`` or fields of the privacy, as in
        ``Instance.unstated``.
    prior
        A weight for each candidate under which to measure the risk as well, with one more claim, ``prior``.
    ledger
        The ledger under which it was planned, if it was. With one more claim, ``past``: that it says of earlier trips
        what the ledger says. Without the ledger nothing is proved that depends on them.
    """
    from veilroute.app.audit import audit_playbook

    return audit_playbook(
        _book_of(playbook), planner=planner, instance=instance, privacy=privacy, unstated=unstated, prior=prior,
        ledger=ledger,
    )  # fmt: skip


def export(
    playbook: Playbook | str | Path,
    out: str | Path,
    *,
    trip: int | None = None,
    dwell_s: float | None = None,
    depart: str | None = None,
) -> Path:
    """Write a playbook as a picture, a page, routes, a table or a report, as the command ``export`` does.

    Parameters
    ----------
    playbook
        With its map; or the path of one.
    out
        The ending decides: ``.png``, ``.svg``, ``.html``, ``.pdf`` (a report, which audits it), ``.gpx``, ``.kml``,
        ``.geojson``, ``.txt`` (for drivers), ``.csv`` or ``.xlsx``.
    trip
        Only this one, from 0; all of them, or in a picture the first, when left out.
    dwell_s
        How long a stop takes, in seconds.
    depart
        When vehicles depart, as HH:MM, where costs are seconds.

    Returns
    -------
    Path
        The file.
    """
    from veilroute.app.export import write_book
    from veilroute.streets.stops import DWELL_S, Schedule

    schedule = Schedule(DWELL_S if dwell_s is None else dwell_s, depart)
    write_book(_book_of(playbook), Path(out), schedule, Run(), trip=trip)
    return Path(out)


def _request_of(given: object, kind: type[_Request], overrides: Mapping[str, Any]) -> _Request:
    """The request that is meant, with other values for some of its keys."""
    if given is None or isinstance(given, kind):
        request = kind() if given is None else given
    elif isinstance(given, str | Path):
        path = Path(given)
        request = read_problem(path, kind) if is_problem_file(path) else override(kind(), {"map": path})
    else:
        expected = f"a {kind.__name__}, or the path of a problem file, a map or an instance"
        raise InvalidInputError("request", expected, type(given).__name__)
    return override(request, overrides)


def _plain(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides as a problem file would have them: texts for labels, and options for a planner that is an object."""
    from veilroute.planners.parameters import name_and_options

    plain = dict(overrides)
    for key in _LABELS:
        value = plain.get(key)
        if isinstance(value, list) or (key in ("candidates", "places") and isinstance(value, tuple)):
            plain[key] = tuple(each if isinstance(each, str) else label_text(each) for each in value)
        elif value is not None and not isinstance(value, str | Path):
            plain[key] = label_text(value)
    if "planner" in plain and not isinstance(plain["planner"], str | None):
        own: dict[str, Any] = {
            key: plain[key] for key in ("partitioner", "merge_order", "heuristic", "engine") if key in plain
        }
        plain["planner"], options = name_and_options(plain["planner"], own)
        further = {name: options.pop(name) for name in [*options] if name not in homes_of(PlanRequest)}
        plain |= options | ({"options": {**further, **plain.get("options", {})}} if further else {})
    return plain


def _run(progress: ProgressCallback | None, should_stop: Callable[[], bool] | None) -> Run:
    run = Run()
    run.progress = progress or run.progress
    run.should_stop = should_stop or run.should_stop
    return run


def _book_of(playbook: Playbook | str | Path) -> Playbook:
    if not isinstance(playbook, str | Path):
        return playbook
    from veilroute.model.playbook import read_playbook

    return read_playbook(playbook)
