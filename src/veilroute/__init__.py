"""veilroute: plan routes that hide where they stop, and check that they do.

>>> import veilroute as vr
>>> domain = vr.generate_rooms(seed=7)

What most programs need is here; the rest is in its rooms: ``vr.fleet.Van``, ``vr.ledger.new_ledger``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import veilroute_start

if veilroute_start.is_run_as_module():  # before the imports, which take longest
    veilroute_start.prepare()

from veilroute.base.lazy import SHOWN_BY, lazy_names

if TYPE_CHECKING:
    # The rooms, and the names in __all__; then names that were here before rooms showed them.
    from veilroute import analysis as analysis
    from veilroute import app as app
    from veilroute import auditing as auditing
    from veilroute import base as base
    from veilroute import bench as bench
    from veilroute import covering as covering
    from veilroute import domain as domain
    from veilroute import fleet as fleet
    from veilroute import formats as formats
    from veilroute import ledger as ledger
    from veilroute import maps as maps
    from veilroute import model as model
    from veilroute import partition as partition
    from veilroute import planners as planners
    from veilroute import plotting as plotting
    from veilroute import streets as streets
    from veilroute.analysis import (
        CandidateOutcome,
        FrontierPoint,
        Obstacle,
        PairOutcome,
        PairSurvey,
        RiskReport,
        find_obstacles,
        survey_pairs,
    )
    from veilroute.analysis.frontier import Frontier, frontier
    from veilroute.analysis.posterior import measure_risk as risk
    from veilroute.app.api import audit, check, export, plan
    from veilroute.app.plan import PlanResult
    from veilroute.app.requests import PlanRequest
    from veilroute.auditing import AuditReport, DayReport, LinkedReport, audit_day, audit_linked
    from veilroute.base import (
        BrokenPromiseError,
        DownloadError,
        FallsShortError,
        FileFormatError,
        Incumbent,
        Key,
        ManyProblemsError,
        MissingExtraError,
        OutOfTimeError,
        PluginError,
        Progress,
        TooLargeError,
        UnknownCandidateError,
        UnknownMethodError,
        UnsafeLedgerError,
        Watch,
        new_key,
        read_key,
    )
    from veilroute.base.errors import InvalidInputError, NotAnonymizedError, VeilrouteError
    from veilroute.covering.cover import Cover, cover, m_of_ratio
    from veilroute.domain import (
        Anchor,
        AtNode,
        Domain,
        Explicit,
        LineOfSight,
        Visibility,
        WithinDistance,
        draw_candidates,
        generate_rooms,
        generate_streets,
        grid_domain,
    )
    from veilroute.fleet import (
        Customer,
        Day,
        Exposure,
        Shortage,
        Simulation,
        Stand,
        Terms,
        Tour,
        Underway,
        Van,
        dispatch,
        exposure,
        pad,
        read_day,
        redispatch,
        simulate_days,
    )
    from veilroute.formats import (
        Instance,
        domain_from_osmnx,
        read_area,
        read_dimacs,
        read_edge_list,
        read_graphml,
        read_instance,
        read_movingai,
        read_network,
        read_osm,
        read_scenarios,
        write_instance,
        write_movingai,
        write_network,
    )
    from veilroute.ledger import Ledger, LedgerReport, WhatIf, new_ledger, read_ledger
    from veilroute.ledger.what_if import what_if
    from veilroute.model import (
        Certificate,
        Claims,
        Closure,
        Cut,
        DualPrices,
        Past,
        PlaybookClass,
        Replan,
        Route,
        Rule,
        Way,
        playbook_from_json,
    )
    from veilroute.model.playbook import Playbook, read_playbook
    from veilroute.model.problem import Privacy, Problem, Trip
    from veilroute.planners import extend_playbook, playbook_from_classes, with_contingencies
    from veilroute.planners.replan import replan
    from veilroute.planners.solve import solve
    from veilroute.streets import NetworkReport, StreetNetwork

# Each is imported when it is wanted: `import veilroute` takes no time, and a command loads only what it needs.
__getattr__ = lazy_names(__name__, __file__)

__version__ = "0.1.0"

_ROOMS = (
    "analysis", "app", "auditing", "base", "bench", "covering", "domain", "fleet", "formats", "ledger", "maps", "model",
    "partition", "planners", "plotting", "streets",
)  # fmt: skip


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])


def _shown_by(name: str) -> Callable[[Any], str]:
    def show(shown: Any) -> str:
        from veilroute.plotting import notebook

        html: str = getattr(notebook, name)(shown)
        return html

    return show


def _plot(playbook: Any, **options: Any) -> Any:
    from veilroute.plotting import plot_playbook

    return plot_playbook(playbook, **options)


def _base_costs(problem: Any) -> Any:
    from veilroute.covering import base_costs

    return base_costs(problem)


SHOWN_BY |= {
    "Playbook": _shown_by("playbook_html"),
    "AuditReport": _shown_by("audit_html"),
    "Frontier": _shown_by("frontier_html"),
    "plot": _plot,
    "base_costs": _base_costs,
}

__all__ = [
    "AtNode", "Domain", "Explicit", "InvalidInputError", "LineOfSight", "NotAnonymizedError", "PlanRequest", "Playbook",
    "Privacy", "Problem", "Trip", "VeilrouteError", "WithinDistance", "__version__", "audit", "check", "cover",
    "draw_candidates", "export", "frontier", "generate_rooms", "generate_streets", "grid_domain", "m_of_ratio", "plan",
    "read_instance", "read_movingai", "read_network", "read_osm", "read_playbook", "replan", "risk", "solve", "what_if",
]  # fmt: skip
