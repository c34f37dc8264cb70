"""What the program's exit codes mean (the contract's list)."""

from __future__ import annotations

DONE = 0
VIOLATED = 1
BAD_INPUT = 2
NOTHING_ANONYMIZED = 3
INTERRUPTED = 130
