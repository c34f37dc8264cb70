"""veilroute: plan routes that hide where they stop, and check that they do.

>>> import veilroute as vr
>>> domain = vr.generate_rooms(seed=7)
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import veilroute_start

if veilroute_start.is_run_as_module():  # before the imports, which take longest
    veilroute_start.prepare()

from veilroute.base.lazy import SHOWN_BY, lazy_names

if TYPE_CHECKING:
    from veilroute import analysis as analysis
    from veilroute.analysis.all_pairs import CandidateOutcome, PairOutcome, PairSurvey, survey_pairs
    from veilroute.analysis.frontier import Frontier, FrontierPoint, frontier
    from veilroute.analysis.obstacles import Obstacle, find_obstacles
    from veilroute.analysis.posterior import RiskReport
    from veilroute.analysis.posterior import measure_risk as risk
    from veilroute.app.audit import audit_playbook as audit
    from veilroute.auditing import AuditReport, DayReport, LinkedReport, audit_day, audit_linked
    from veilroute.base.errors import (
        BrokenPromiseError,
        DownloadError,
        FallsShortError,
        FileFormatError,
        InvalidInputError,
        ManyProblemsError,
        MissingExtraError,
        NotAnonymizedError,
        PluginError,
        TooLargeError,
        UnknownCandidateError,
        UnknownMethodError,
        UnsafeLedgerError,
        VeilrouteError,
    )
    from veilroute.base.keys import Key, new_key, read_key
    from veilroute.base.run import Incumbent, OutOfTimeError, Progress, Watch
    from veilroute.covering import Cover, cover
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
    from veilroute.fleet import Exposure, Simulation, dispatch, exposure, pad, redispatch, simulate_days
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
    from veilroute.ledger.ledger import Ledger, LedgerReport, new_ledger, read_ledger
    from veilroute.ledger.what_if import WhatIf, what_if
    from veilroute.model.certificate import Certificate, Cut, DualPrices
    from veilroute.model.closure import Closure, Replan, Way
    from veilroute.model.day import Customer, Day, Terms, Tour, Van, read_day
    from veilroute.model.day_state import Shortage, Stand, Underway
    from veilroute.model.playbook import Claims, Playbook, PlaybookClass, Route, playbook_from_json, read_playbook
    from veilroute.model.problem import Past, Privacy, Problem, Trip
    from veilroute.model.rules import Rule
    from veilroute.planners.replan import replan, with_contingencies
    from veilroute.planners.solve import extend_playbook, playbook_from_classes, solve
    from veilroute.streets import NetworkReport, StreetNetwork

# Each is imported when it is wanted: `import veilroute` takes no time, and a command loads only what it needs.
__getattr__ = lazy_names(__name__, __file__)

__version__ = "0.1.0"


def _shown_by(name: str) -> Callable[[Any], str]:
    def show(shown: Any) -> str:
        from veilroute.plotting import notebook

        html: str = getattr(notebook, name)(shown)
        return html

    return show


SHOWN_BY |= {
    "Playbook": _shown_by("playbook_html"),
    "AuditReport": _shown_by("audit_html"),
    "Frontier": _shown_by("frontier_html"),
}

__all__ = [
    "Anchor", "AtNode", "AuditReport", "BrokenPromiseError", "CandidateOutcome", "Certificate", "Claims", "Closure",
    "Cover", "Customer", "Cut", "Day", "DayReport", "Domain", "DownloadError", "DualPrices", "Explicit", "Exposure",
    "FallsShortError", "FileFormatError", "Frontier", "FrontierPoint", "Incumbent", "Instance", "InvalidInputError",
    "Key", "Ledger", "LedgerReport", "LineOfSight", "LinkedReport", "ManyProblemsError", "MissingExtraError",
    "NetworkReport", "NotAnonymizedError", "Obstacle", "OutOfTimeError", "PairOutcome", "PairSurvey", "Past",
    "Playbook", "PlaybookClass", "PluginError", "Privacy", "Problem", "Progress", "Replan", "RiskReport", "Route",
    "Rule", "Shortage", "Simulation", "Stand", "StreetNetwork", "Terms", "TooLargeError", "Tour", "Trip",
    "Underway", "UnknownCandidateError", "UnknownMethodError", "UnsafeLedgerError", "Van", "VeilrouteError",
    "Visibility", "Watch", "Way", "WhatIf", "WithinDistance", "__version__", "audit", "audit_day", "audit_linked",
    "cover", "dispatch", "domain_from_osmnx", "draw_candidates", "exposure", "extend_playbook", "find_obstacles",
    "frontier", "generate_rooms", "generate_streets", "grid_domain", "new_key", "new_ledger", "pad",
    "playbook_from_classes", "playbook_from_json", "read_area", "read_day", "read_dimacs", "read_edge_list",
    "read_graphml", "read_instance", "read_key", "read_ledger", "read_movingai", "read_network", "read_osm",
    "read_playbook", "read_scenarios", "redispatch", "replan", "risk", "simulate_days", "solve", "survey_pairs",
    "what_if", "with_contingencies", "write_instance", "write_movingai", "write_network",
]  # fmt: skip
