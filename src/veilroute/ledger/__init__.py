"""The playbooks in use: what linked trips show of everybody, and how the next plan keeps them hidden."""

from __future__ import annotations

__all__: list[str] = []
