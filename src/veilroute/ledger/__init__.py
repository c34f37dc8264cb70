"""The playbooks in use: what linked trips show of everybody, and how the next plan keeps them hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.ledger.ledger import Ledger, LedgerReport, new_ledger, read_ledger
    from veilroute.ledger.what_if import WhatIf

# Each is imported when it is wanted; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)

__all__ = [
    "Ledger", "LedgerReport", "WhatIf", "new_ledger", "read_ledger",
]  # fmt: skip
