"""What users ask for: a request and a run go in, a result comes out. Only here planning and auditing meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.app.load import load_instance, load_playbook
    from veilroute.app.places import find_node, find_secret, read_roads
    from veilroute.app.plan import PlanResult
    from veilroute.app.problem_file import explain, make_request, override, problem_text, read_problem
    from veilroute.app.requests import (
        AuditRequest,
        CompareRequest,
        ExportRequest,
        FleetRequest,
        FleetTerms,
        GridSpec,
        LedgerSpec,
        MethodSpec,
        PlanRequest,
        PrivacySpec,
        ProblemRequest,
        ProblemSpec,
        ReplanRequest,
        RiskRequest,
        StopsSpec,
    )

# Each is imported when it is wanted, because planning loads the kernels; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)

__all__: list[str] = []
