"""The adversary (placeholder while it is being written)."""

from typing import Any


class AuditReport:
    """Placeholder."""


def audit_playbook(playbook: Any, *, planner: Any = None) -> Any:
    """Placeholder."""
    raise NotImplementedError
