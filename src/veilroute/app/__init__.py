"""What users ask for: a request and a run go in, a result comes out. Only here planning and auditing meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.app.audit import AuditResult, RiskResult, audit_playbook
    from veilroute.app.compare import CompareResult
    from veilroute.app.day_files import write_day
    from veilroute.app.export import ExportResult
    from veilroute.app.fleet import FleetResult, OpenDay, forget_orders, open_day, plan_day, read_touched
    from veilroute.app.ledger import LedgerCheckResult, add_to_ledger, check_ledger, enter_playbook
    from veilroute.app.load import load_instance, load_playbook
    from veilroute.app.places import find_node, find_secret, read_roads
    from veilroute.app.plan import PlanResult
    from veilroute.app.problem_file import explain, make_request, override, problem_text, read_problem
    from veilroute.app.replan import (
        ReplanDayResult,
        ReplanResult,
        check_replan_file,
        read_replan,
        replan_day,
        replan_file,
    )
    from veilroute.app.requests import (
        AuditRequest,
        CompareRequest,
        ExportRequest,
        FleetRequest,
        FleetTerms,
        GridSpec,
        LedgerAddRequest,
        LedgerCheckRequest,
        LedgerNewRequest,
        LedgerPlacesRequest,
        LedgerSpec,
        LedgerWhatIfRequest,
        MethodSpec,
        PairsRequest,
        PlanRequest,
        PrivacySpec,
        ProblemRequest,
        ProblemSpec,
        ReplanDayRequest,
        ReplanRequest,
        RiskRequest,
        RouteRequest,
        SceneRequest,
        StopsSpec,
    )
    from veilroute.app.route import RouteError, RouteResult
    from veilroute.app.simulate import simulate_day, simulate_linked, simulate_playbook

# Each is imported when it is wanted, because planning loads the kernels; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)

__all__ = [
    "GridSpec", "LedgerSpec", "MethodSpec", "PlanResult", "PrivacySpec", "ProblemRequest", "ProblemSpec", "StopsSpec",
]  # fmt: skip
