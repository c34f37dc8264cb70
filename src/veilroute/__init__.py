"""veilroute: plan routes that hide where they stop, and check that they do.

>>> import veilroute as vr
>>> domain = vr.generate_rooms(seed=7)
"""

import veilroute_start

if veilroute_start.is_run_as_module():  # before the imports, which take longest
    veilroute_start.prepare()

from veilroute import adversary as adversary
from veilroute.auditing import AuditReport, DayReport, LinkedReport, audit_day, audit_linked
from veilroute.auditing import audit_playbook as audit
from veilroute.certificate import Certificate, Cut, DualPrices
from veilroute.closures import Closure, Replan, Way
from veilroute.covering import Cover, cover
from veilroute.days import Customer, Day, Terms, Tour, Van, read_day
from veilroute.diagnosis import Obstacle, find_obstacles
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
from veilroute.errors import (
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
from veilroute.fleet import Exposure, Simulation, dispatch, exposure, pad, redispatch, simulate_days
from veilroute.foresight import WhatIf, what_if
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
from veilroute.frontier import Frontier, FrontierPoint, frontier
from veilroute.keys import Key, new_key, read_key
from veilroute.ledger import Ledger, LedgerReport, new_ledger, read_ledger
from veilroute.pairs import CandidateOutcome, PairOutcome, PairSurvey, survey_pairs
from veilroute.playbook import Claims, Playbook, PlaybookClass, Route, playbook_from_json, read_playbook
from veilroute.posterior import RiskReport
from veilroute.posterior import measure_risk as risk
from veilroute.problem import Past, Privacy, Problem, Trip
from veilroute.progress import Incumbent, OutOfTimeError, Progress, Watch
from veilroute.rules import Rule
from veilroute.solver import extend_playbook, playbook_from_classes, solve
from veilroute.streets import NetworkReport, StreetNetwork
from veilroute.underway import Shortage, Stand, Underway

__version__ = "0.1.0"

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
    "read_playbook", "read_scenarios", "redispatch", "risk", "simulate_days", "solve", "survey_pairs", "what_if",
    "write_instance", "write_movingai", "write_network",
]  # fmt: skip
