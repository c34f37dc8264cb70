"""Why candidates get no route: who is in the way, or what parts them from the others.

On directed graphs a walk may reach a place and not come back, or pass either of two places and never both. The
playbook counts such candidates; here it is said which they are and why, with the names of the one-way streets where
the domain knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veilroute.base.arrays import Flags, Indices
from veilroute.domain.graph import Domain, Label
from veilroute.model.playbook import Playbook
from veilroute.model.problem import ROUNDING
from veilroute.model.rules import KAndEll, hideable

if TYPE_CHECKING:
    from veilroute.covering.walks import Sweeper

MAX_OBSTACLES = 50  #: candidates looked into at most, because each takes some sweeps of the map
_MAX_NAMES = 3
_MAX_TRIED = 20


@dataclass(frozen=True)
class Obstacle:
    """Why one candidate gets no route."""

    candidate: Label
    kind: str  #: ``"uncoverable"``: some trip has no walk that covers it; ``"unprotected"``: no class hides it
    reason: str  #: one sentence
    parted_from: tuple[Label, ...] = ()  #: candidates that no walk covers together with this one, for unprotected ones
    streets: tuple[str, ...] = ()  #: names of one-way streets that stand in the way, where they are known

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"parted_from": list(self.parted_from), "streets": list(self.streets)}


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
    wanted = [*playbook.uncoverable, *playbook.exposed_candidates][:limit]
    if not wanted:
        return ()
    reach = _TripReach(playbook)
    blocked = set(playbook.uncoverable)
    return tuple(
        reach.explain_uncoverable(label) if label in blocked else reach.explain_unprotected(label)
        for label in sorted(wanted, key=playbook.candidates.index)
    )


def coverable_positions(playbook: Playbook) -> list[int]:
    """Positions, among the candidates, of those that count and that every trip can cover: whom the prior is about."""
    blocked = set(playbook.uncoverable)
    return [i for i in playbook.problem.counted if playbook.candidates[i] not in blocked]


class _TripReach:
    """What can be reached from the starts of a playbook's trips, and from where their goals can."""

    def __init__(self, playbook: Playbook) -> None:
        # Here, because the kernels that come along take a while to load.
        from veilroute.covering.walks import Sweeper

        self.playbook = playbook
        self.problem = playbook.problem
        self.domain = self.problem.domain
        self.out = Sweeper(self.domain, backward=False, num_seeds=self.domain.num_nodes)
        self.back = Sweeper(self.domain, backward=True, num_seeds=self.domain.num_nodes)
        ends = list(zip(self.problem.start_nodes, self.problem.goal_nodes, strict=True))
        self.from_start = [np.isfinite(self.out.run(start)) for start, _ in ends]
        self.to_goal = [np.isfinite(self.back.run(goal)) for _, goal in ends]
        # The candidates that every trip can cover, class by class.
        self.coverable = list(dict.fromkeys(label for group in playbook.classes for label in group.members))

    @cached_property
    def watchers(self) -> dict[Label, Indices]:
        """The nodes that see each candidate."""
        from veilroute.covering.task import find_watchers

        found = find_watchers(self.domain, self.problem.visibility, self.problem.candidate_nodes)
        return dict(zip(self.problem.candidates, found, strict=True))

    def explain_uncoverable(self, label: Label) -> Obstacle:
        """Why some trip has no walk that covers a candidate."""
        seers = self.watchers[label]
        if not seers.size:
            return Obstacle(label, "uncoverable", "no node sees it")
        for trip, (reached, leading) in enumerate(zip(self.from_start, self.to_goal, strict=True)):
            if not (reached[seers] & leading[seers]).any():
                return self._explain_trip(label, seers, trip)
        if self.domain.turns is not None:
            return Obstacle(label, "uncoverable", "no way there and on is legal: turn restrictions, or turning round")
        return Obstacle(label, "uncoverable", "each trip can cover it, but the playbook says otherwise: audit it")

    def _explain_trip(self, label: Label, seers: Indices, trip: int) -> Obstacle:
        reached, leading = self.from_start[trip], self.to_goal[trip]
        which = "" if len(self.playbook.trips) == 1 else f" of trip {trip}"
        if not reached[self.problem.goal_nodes[trip]]:
            return Obstacle(label, "uncoverable", f"no way leads from the start{which} to the goal")
        if reached[seers].any() and leading[seers].any():
            why = f"some places that see it can be reached and others lead on{which}, but none does both"
            return Obstacle(label, "uncoverable", why)
        if not reached[seers].any():
            is_one_way, names = self._wrong_way(seers, reached, away=True)
            way, lead = f"no way leads from the start{which} to it", "away from"
        else:
            is_one_way, names = self._wrong_way(seers, leading, away=False)
            way, lead = f"no way leads from it to the goal{which}", "towards"
        if not is_one_way:
            return Obstacle(label, "uncoverable", f"{way}: that part of the map is not connected with the trip")
        through = f" ({', '.join(names)})" if names else ""
        word = "streets" if self.domain.streets is not None else "edges"
        why = f"{way}: one-way {word}{through} lead only {lead} that part of the map"
        return Obstacle(label, "uncoverable", why, streets=names)

    def _wrong_way(self, seers: Indices, joined: Flags, *, away: bool) -> tuple[bool, tuple[str, ...]]:
        """Whether edges join the candidate's part of the map with the trip's the other way round, and their names."""
        tails, heads, _ = self.domain.edge_arrays()
        part = _part_around(self.domain, seers, ~joined)
        wrong = part[tails] & joined[heads] if away else joined[tails] & part[heads]
        edges, streets = np.flatnonzero(wrong).tolist(), self.domain.streets
        names = {} if streets is None else dict.fromkeys(streets.name(edge) for edge in edges)
        return bool(edges), tuple(name for name in names if name)[:_MAX_NAMES]

    def explain_unprotected(self, label: Label) -> Obstacle:
        """Why no class hides a candidate."""
        privacy, claims = self.playbook.privacy, self.playbook.claims
        if (why := self._improbable(label)) is not None:
            return Obstacle(label, "unprotected", why)
        # At finite m members share a prefix only, so being on one walk with others is not asked of them.
        others = self._others(label)
        joined = self._joined(label) if privacy.m is None else others
        parted = tuple(other for other in others if other not in joined)
        needed = privacy.k - 1
        if len(joined) < needed:
            company = "1 other candidate" if needed == 1 else f"{needed} other candidates"
            found = "is 1" if len(joined) == 1 else f"are {len(joined) or 'none'}"
            why = f"a class needs {company} on one walk with it, and there {found}"
            if parted:
                shown = ", ".join(self.playbook.name(other) for other in parted[:_MAX_NAMES])
                more = f" or {len(parted) - _MAX_NAMES} more" if len(parted) > _MAX_NAMES else ""
                why += f": no walk passes both it and {shown}{more}"
            return Obstacle(label, "unprotected", why, parted)
        if len(joined) < _MAX_TRIED and not self._stand_apart(label, joined):
            wanted = f"k={privacy.k}" if privacy.risk is None else f"a risk of {100 * privacy.risk:.3g}%"
            apart = f"{privacy.distance_text} apart for {wanted}"
            why = f"of the candidates that share a walk with it, too few stand {apart}"
        elif claims.num_anonymizable is not None and claims.num_anonymizable > claims.num_anonymized:
            why = "no partition hides more candidates at once: a class for it would take members from others"
            if self.playbook.status != "optimal":
                why = "no class for it was found, which is no proof that there is none"
        elif self.playbook.past is not None:
            why = "no class hides it that earlier trips leave possible"
        elif claims.num_anonymizable is not None:
            why = f"no walk covers it together with enough others that stand {privacy.distance_text} apart"
        else:
            why = "no class for it was found"
        return Obstacle(label, "unprotected", why, parted)

    def _others(self, label: Label) -> tuple[Label, ...]:
        """The other coverable candidates that can be the secret: those with a weight above 0."""
        weights = dict(zip(self.playbook.candidates, self.playbook.prior or (), strict=False))
        return tuple(other for other in self.coverable if other != label and weights.get(other, 1.0) > 0)

    def _improbable(self, label: Label) -> str | None:
        """Why probabilities alone leave a candidate out."""
        beta = self.playbook.privacy.beta
        positions = coverable_positions(self.playbook)
        masses = self.problem.prior_of(positions)
        at = positions.index(self.playbook.candidates.index(label))
        can = masses > 0 if beta is None else hideable(masses, beta)
        if can[at]:
            return None
        if masses[at] == 0:
            return "it is never the secret: its weight is 0"
        assert beta is not None, "by counting only a weight of 0 rules a place out"
        share, once = float(masses[at]), ""
        if share <= beta * (1 + ROUNDING):
            share, once = share / (share + float(masses[can].sum())), " once those with more are left out"
        return f"it has {100 * share:.3g}% of the probability{once}; no planner hides more than {100 * beta:.3g}%"

    def _joined(self, label: Label) -> tuple[Label, ...]:
        """The coverable candidates that a walk of every trip can cover together with this one, in either order."""
        seers = self.watchers[label]
        together = dict.fromkeys(self._others(label), True)
        for reached, leading in zip(self.from_start, self.to_goal, strict=True):
            after = self._spreads_to(self.out, seers[reached[seers]]) & leading
            before = self._spreads_to(self.back, seers[leading[seers]]) & reached
            for other in together:
                there = self.watchers[other]
                together[other] &= bool(after[there].any() or before[there].any())
        return tuple(other for other, is_joined in together.items() if is_joined)

    def _spreads_to(self, sweeper: Sweeper, nodes: Indices) -> Flags:
        if not nodes.size:
            return np.zeros(self.domain.num_nodes, dtype=bool)
        return np.isfinite(sweeper.run_from(nodes, np.zeros(nodes.size)))

    def _stand_apart(self, label: Label, joined: Sequence[Label]) -> bool:
        """Whether some class of this candidate and those could be spread as wanted, whatever its walk costs."""
        from veilroute.covering.task import far_matrix

        privacy = self.playbook.privacy
        group = [label, *joined]
        far = far_matrix(self.domain, [self.domain.node(other) for other in group], privacy)
        if privacy.spread == "witness":
            return KAndEll.of(far, privacy.k, privacy.spread).qualifies(range(len(group)))
        apart = [i for i in range(1, len(group)) if far[0, i]]
        return privacy.k == 1 or KAndEll.of(far, privacy.k - 1, "witness").qualifies(apart)


def _part_around(domain: Domain, nodes: Indices, inside: Flags) -> Flags:
    """The nodes of a region that are joined with some of its nodes by edges within it, whatever their direction."""
    tails, heads, _ = domain.edge_arrays()
    within = inside[tails] & inside[heads]
    tails, heads = tails[within], heads[within]
    part = np.zeros(domain.num_nodes, dtype=bool)
    part[nodes] = True
    size = 0
    while size < (size := int(part.sum())):
        part[heads[part[tails]]] = True
        part[tails[part[heads]]] = True
    return part
