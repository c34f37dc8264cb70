"""What is asked and what is answered, as frozen data: problem, privacy, playbook, day, ledger entry."""

from __future__ import annotations

__all__: list[str] = []
