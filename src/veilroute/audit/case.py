"""The case file: everything worked out once and read by every check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from veilroute.audit.anonymity import Standard, group_candidates, listed_classes
from veilroute.audit.facts import Facts, TripFacts, find_watchers, gather_facts
from veilroute.audit.replay import Planner, Replay, replay
from veilroute.audit.spread import Spread
from veilroute.audit.walking import WalkingMap
from veilroute.playbook import Playbook, PlaybookClass

RELATIVE = 1e-9
ABSOLUTE = 1e-12


@dataclass(frozen=True)
class Case:
    """A playbook, what the domain says, what the replay gave, and who looks like whom.

    Parameters
    ----------
    playbook
        Whose claims are checked.
    facts
        Watchers, distances and base costs.
    replay
        The routes.
    standard
        When a candidate counts as anonymized.
    groups
        For each candidate with sound routes, those with the same first m nodes on every trip.
    is_foreign
        Whether the routes come from a planner function rather than from the playbook.
    """

    playbook: Playbook
    facts: Facts
    replay: Replay
    standard: Standard
    groups: dict[int, int]
    is_foreign: bool

    @property
    def claimed(self) -> tuple[int, ...]:
        """The candidates that the playbook claims to anonymize."""
        return tuple(sorted(self.standard.listed))

    @cached_property
    def protected(self) -> tuple[int, ...]:
        """Those for which the claim is true."""
        return tuple(c for c in self.claimed if c in self.groups and self.standard.is_met(c, self.groups[c]))

    def on_trip(self, trip: int) -> str:
        """`` on trip 1``, or nothing when there is only one."""
        return f" on trip {trip}" if len(self.facts.trips) > 1 else ""


def open_case(playbook: Playbook, planner: Planner | None) -> Case:
    """Replay the planner for every candidate and group what an observer cannot tell apart."""
    facts = gather_facts(playbook.problem)
    answers = replay(playbook, facts, planner)
    privacy = playbook.privacy
    standard = Standard(
        privacy.k, privacy.spread == "all-pairs", Spread(facts, privacy), listed_classes(playbook, facts)
    )
    return Case(playbook, facts, answers, standard, group_candidates(facts, answers, privacy.m), planner is not None)


def is_hidden(playbook: Playbook, group: PlaybookClass) -> bool:
    """Whether a class by itself keeps (k, ell, m), worked out from the map with the auditor's own means.

    All its members are asked for, so the work tells the class, which whoever sees the route knows anyway, and not which
    member it is done for. It takes a sweep of the map as far as ell for each member.
    """
    problem, privacy = playbook.problem, playbook.privacy
    walking = WalkingMap(problem.domain)
    counted = {problem.candidates[c]: c for c in problem.counted}
    if not all(member in counted for member in group.members):
        return False
    nodes = {counted[member]: problem.candidate_nodes[counted[member]] for member in group.members}
    # No base costs: nothing is asked here about how long the routes are.
    trips = tuple(
        TripFacts(start, goal, [], [], {}) for start, goal in zip(problem.start_nodes, problem.goal_nodes, strict=True)
    )
    facts = Facts(problem, walking, nodes, find_watchers(problem, walking, nodes), trips)
    groups = group_candidates(facts, replay(playbook, facts, None), privacy.m)
    standard = Standard(
        privacy.k, privacy.spread == "all-pairs", Spread(facts, privacy), listed_classes(playbook, facts)
    )
    return bool(nodes) and all(c in groups and standard.is_met(c, groups[c]) for c in nodes)


def is_same(real: float, stated: float) -> bool:
    """Whether two figures agree up to rounding."""
    if not (math.isfinite(real) and math.isfinite(stated)):
        return False
    return abs(real - stated) <= RELATIVE * max(abs(real), abs(stated)) + ABSOLUTE
