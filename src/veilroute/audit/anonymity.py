"""The anonymity set: which candidates look the same to an observer, and whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veilroute.audit.facts import Facts
from veilroute.audit.replay import Replay
from veilroute.audit.report import AnonymityStep
from veilroute.audit.spread import Spread, mask_of, members_of
from veilroute.playbook import Playbook


@dataclass(frozen=True)
class Standard:
    """When a candidate counts as anonymized within the group of those that look the same.

    Parameters
    ----------
    k
        How many candidates must look the same.
    is_all_pairs
        Which reading of spread was promised.
    spread
        Who stands far from whom.
    listed
        For each candidate claimed anonymized, the class that the playbook lists it in.
    """

    k: int
    is_all_pairs: bool
    spread: Spread
    listed: dict[int, int]

    def is_met(self, candidate: int, group: int) -> bool:
        """Whether ``group`` hides the candidate.

        Under the ``all-pairs`` reading the members of its own class must be k and all far apart; candidates of
        other classes that happen to look the same (all do, at first) can only add to the doubt.
        """
        if not self.is_all_pairs:
            return self.spread.largest_far_set(group, enough=self.k).size >= self.k
        own = group & self.listed.get(candidate, group)
        return own.bit_count() >= self.k and self.spread.is_far(own)


def listed_classes(playbook: Playbook, facts: Facts) -> dict[int, int]:
    """The class of each candidate claimed anonymized; the first that lists it, as in ``route_for``."""
    listed: dict[int, int] = {}
    seen: set[int] = set()
    for group in playbook.classes:
        members = [c for c in map(facts.find, group.members) if c is not None]
        if group.anonymized:
            listed.update(dict.fromkeys((c for c in members if c not in seen), mask_of(members)))
        seen.update(members)
    return listed


def group_candidates(facts: Facts, replay: Replay, m: int | None) -> dict[int, int]:
    """For each candidate those with the same first ``m`` nodes on every trip, itself included.

    An observer may link the trips, so all of them must agree. Candidates without a sound route on every trip are in
    no group: Failure equals nothing, itself included.
    """
    trips = range(len(facts.trips))
    groups: dict[tuple[tuple[int | None, ...], ...], list[int]] = {}
    for c in facts.counted:
        if all(replay.is_sound(c, trip) for trip in trips):
            groups.setdefault(tuple(replay.walked_nodes(c, trip)[:m] for trip in trips), []).append(c)
    return {c: mask_of(group) for group in groups.values() for c in group}


def watch_trips(facts: Facts, replay: Replay, standard: Standard) -> tuple[AnonymityStep, ...]:
    """The anonymity set over time, for each trip and every number of nodes seen.

    Groups are split by the node at each position (a route that has ended differs from one that goes on), and
    judged again only when one of them was split.
    """
    steps: list[AnonymityStep] = []
    for trip in range(len(facts.trips)):
        masks: dict[tuple[int | None, ...], int] = {}
        for c in facts.counted:
            if replay.is_sound(c, trip):
                nodes = replay.walked_nodes(c, trip)
                masks[nodes] = masks.get(nodes, 0) | 1 << c
        if not masks:
            continue
        undecided = [list(masks)]
        settled: list[int] = []
        state = _judge_groups(trip, [sum(masks.values())], facts, standard)
        for m in range(1, max(map(len, masks)) + 1):
            pieces: list[list[tuple[int | None, ...]]] = []
            for routes in undecided:
                pieces += _split(routes, m)
            if len(pieces) > len(undecided):
                settled += [masks[piece[0]] for piece in pieces if len(piece) == 1]
                undecided = [piece for piece in pieces if len(piece) > 1]
                groups = settled + [sum(masks[route] for route in piece) for piece in undecided]
                state = _judge_groups(trip, groups, facts, standard)
            steps.append(replace(state, m=m))
    return tuple(steps)


def _split(routes: list[tuple[int | None, ...]], m: int) -> list[list[tuple[int | None, ...]]]:
    pieces: dict[int | None, list[tuple[int | None, ...]]] = {}
    for route in routes:
        pieces.setdefault(route[m - 1] if m <= len(route) else None, []).append(route)
    return list(pieces.values())


def _judge_groups(trip: int, groups: list[int], facts: Facts, standard: Standard) -> AnonymityStep:
    """What an observer knows while these are the groups; the caller says for which number of nodes."""
    promised = mask_of(standard.listed)
    watched = [group for group in groups if group & promised] or groups
    revealed = [group.bit_length() - 1 for group in groups if group.bit_count() == 1]
    exposed = [c for group in groups for c in members_of(group) if not standard.is_met(c, group)]
    return AnonymityStep(
        trip,
        1,
        min(group.bit_count() for group in watched),
        min(standard.spread.largest_far_set(group).size for group in watched),
        tuple(facts.label(c) for c in sorted(revealed)),
        tuple(facts.label(c) for c in sorted(exposed)),
    )
