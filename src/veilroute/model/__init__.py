"""What is asked and what is answered, as frozen data: problem, privacy, playbook, day, ledger entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.model.certificate import Certificate, Cut, DualPrices
    from veilroute.model.closure import Closure, Replan, Way
    from veilroute.model.figures import PlanStats
    from veilroute.model.playbook import Claims, PlaybookClass, Route, playbook_from_json
    from veilroute.model.problem import Past
    from veilroute.model.rules import Rule

# Each is imported when it is wanted; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)

__all__ = [
    "Certificate", "Claims", "Closure", "Cut", "DualPrices", "Past", "PlanStats", "PlaybookClass", "Replan", "Route",
    "Rule", "Way", "playbook_from_json",
]  # fmt: skip
