"""Why candidates get no route: who is in the way, or what parts them from the others.

On directed graphs a walk may reach a place and not come back, or pass either of two places and never both. The
playbook counts such candidates; here it is said which they are and why, with the names of the one-way streets where
the domain knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilroute.domain.labels import Label
from veilroute.playbook import Playbook

MAX_OBSTACLES = 50
"""Candidates looked into at most, because each takes some sweeps of the map."""


@dataclass(frozen=True)
class Obstacle:
    """Why one candidate gets no route.

    Parameters
    ----------
    candidate
        Its label.
    kind
        ``"uncoverable"``: some trip has no walk that covers it; ``"unprotected"``: no class hides it.
    reason
        One sentence.
    parted_from
        Candidates that no walk covers together with this one, for unprotected ones.
    streets
        Names of one-way streets that stand in the way, where they are known.
    """

    candidate: Label
    kind: str
    reason: str
    parted_from: tuple[Label, ...] = ()
    streets: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "candidate": self.candidate,
            "kind": self.kind,
            "reason": self.reason,
            "parted_from": list(self.parted_from),
            "streets": list(self.streets),
        }


def find_obstacles(playbook: Playbook, *, limit: int = MAX_OBSTACLES) -> tuple[Obstacle, ...]:
    """Explain the candidates that a playbook cannot cover or does not protect, in the order of its candidates.

    Two sweeps of the map per trip, and two more for each unprotected candidate. Nothing here depends on a secret.

    Parameters
    ----------
    playbook
        With its domain attached.
    limit
        How many candidates to look into at most.
    """
    exposed = [label for group in playbook.classes if not group.anonymized for label in group.members]
    wanted = [*playbook.uncoverable, *exposed][:limit]
    if not wanted:
        return ()
    # Here, because the kernels that come along take a while to load.
    from veilroute.diagnosis.ground import Ground

    ground = Ground(playbook)
    blocked = set(playbook.uncoverable)
    position = {label: i for i, label in enumerate(playbook.candidates)}
    return tuple(
        ground.explain_uncoverable(label) if label in blocked else ground.explain_unprotected(label)
        for label in sorted(wanted, key=lambda label: position[label])
    )
