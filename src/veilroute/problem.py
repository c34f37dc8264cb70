"""What is asked: trips, candidates and the privacy to reach. Validated once, at construction."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from veilroute.domain.geography import check_measurable, check_measure
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.domain.visibility import AtNode, Visibility, check_visibility
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical

SPREADS = ("witness", "all-pairs")
"""The readings of the spread condition (see the concepts page): Definition 1 to the letter, and the stricter one."""


@dataclass(frozen=True)
class Trip:
    """One journey.

    Parameters
    ----------
    start, goal
        Labels of nodes; they may be equal.
    weight
        How much the trip counts when one partition serves several trips, > 0.
    """

    start: Label
    goal: Label
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", plain_label(self.start, field="Trip.start"))
        object.__setattr__(self, "goal", plain_label(self.goal, field="Trip.goal"))
        if not _is_real(self.weight) or not 1e-100 <= self.weight <= 1e100:
            raise InvalidInputError("Trip.weight", "a number > 0, from 1e-100 to 1e100", self.weight)


@dataclass(frozen=True)
class Privacy:
    """The guarantee to reach: (k, ell, m)-anonymity under a reading of spread.

    Parameters
    ----------
    k
        How many candidates must stay possible, at least 1.
    ell
        How far apart they must stand; both directions count.
    m
        For how many nodes of the route the guarantee holds; ``None`` means the whole route.
    spread
        ``"witness"``: some k members of a class are pairwise at least ell apart (Definition 1).
        ``"all-pairs"``: all members are (what the paper's partitioners enforce).
    measure
        What ell is measured in: ``"cost"`` of walking over the edges or, on street networks, metres ``"driving"``,
        ``"walking"`` or ``"straight"`` ahead.
    """

    k: int = 2
    ell: float = 1.0
    m: int | None = None
    spread: str = "witness"
    measure: str = "cost"

    def __post_init__(self) -> None:
        if not _is_whole(self.k) or self.k < 1:
            raise InvalidInputError("Privacy.k", "an integer >= 1", self.k)
        if not _is_real(self.ell) or not 0 <= self.ell < math.inf:
            raise InvalidInputError("Privacy.ell", "a finite number >= 0", self.ell)
        if isinstance(self.ell, int) and self.ell >= 2**53:
            raise InvalidInputError("Privacy.ell", "an integer below 2^53, or a float", self.ell)
        if self.m is not None and (not _is_whole(self.m) or not 1 <= self.m < 2**53):
            raise InvalidInputError("Privacy.m", "an integer >= 1 (below 2^53), or None for the whole route", self.m)
        if self.spread not in SPREADS:
            raise InvalidInputError("Privacy.spread", " or ".join(SPREADS), self.spread)
        check_measure(self.measure, "Privacy.measure")

    @property
    def distance_text(self) -> str:
        """Ell as people say it: ``300`` where it is a cost, ``300 m driving`` where it is in metres."""
        return f"{self.ell:g}" if self.measure == "cost" else f"{self.ell:g} m {self.measure}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data: dict[str, Any] = {"k": self.k, "ell": self.ell, "m": self.m, "spread": self.spread}
        return data if self.measure == "cost" else data | {"measure": self.measure}


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A domain, one or several trips, the candidates and what can be seen from where.

    Several trips share one partition of the candidates (an observer who links trips would otherwise intersect
    classes), so a candidate that is the start or goal of any trip is left out of all.

    Parameters
    ----------
    domain
        The world.
    trips
        At least one :class:`Trip`.
    candidates
        Labels of the possible transit points, distinct.
    visibility
        One of :class:`AtNode`, :class:`WithinDistance`, :class:`LineOfSight`, :class:`Explicit`.
    names
        What people call some of the nodes (``{264015624: "Kamppi"}``); for reports and pictures only.
    """

    domain: Domain
    trips: Sequence[Trip]
    candidates: Sequence[Label]
    visibility: Visibility = field(default_factory=AtNode)
    names: Mapping[Label, str] = field(default_factory=dict)

    start_nodes: tuple[int, ...] = field(init=False)
    goal_nodes: tuple[int, ...] = field(init=False)
    candidate_nodes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InvalidInputError("Problem.domain", "a Domain", self.domain)
        trips = _checked_trips(self.trips)
        candidates = _checked_candidates(self.candidates)
        node = self.domain.node
        settle = object.__setattr__
        settle(self, "trips", trips)
        settle(self, "candidates", candidates)
        settle(self, "visibility", check_visibility(self.domain, self.visibility))
        many = len(trips) > 1
        names = [f"trips[{i}]" if many else "trip" for i in range(len(trips))]
        settle(
            self,
            "start_nodes",
            tuple(node(t.start, field=f"{n}.start") for t, n in zip(trips, names, strict=True)),
        )
        settle(
            self,
            "goal_nodes",
            tuple(node(t.goal, field=f"{n}.goal") for t, n in zip(trips, names, strict=True)),
        )
        nodes = tuple(node(label, field=f"candidates[{i}]") for i, label in enumerate(candidates))
        if len(set(nodes)) != len(nodes):
            first = {own: i for i, own in reversed(list(enumerate(nodes)))}
            twice = next(label for i, label in enumerate(candidates) if first[nodes[i]] < i)
            raise InvalidInputError("Problem.candidates", "distinct candidates", f"{twice} twice")
        settle(self, "candidate_nodes", nodes)
        settle(self, "names", checked_names(self.names))
        for label in self.names:
            node(label, field="names")

    @property
    def counted(self) -> tuple[int, ...]:
        """Positions of the candidates that count: those that are no trip's start or goal."""
        ends = set(self.start_nodes) | set(self.goal_nodes)
        return tuple(i for i, node in enumerate(self.candidate_nodes) if node not in ends)

    def __repr__(self) -> str:
        return f"<Problem: {self.domain!r}, {len(self.trips)} trips, {len(self.candidates)} candidates>"


def check_fit(problem: Problem, privacy: Privacy) -> None:
    """Raise when the privacy cannot be met by any planner for lack of candidates."""
    num_counted = len(problem.counted)
    if privacy.k > num_counted:
        raise InvalidInputError(
            "Privacy.k",
            f"at most {num_counted}, the number of candidates that are neither start nor goal",
            privacy.k,
        )
    check_measurable(problem.domain, privacy.measure, "Privacy.measure")


def checked_names(names: object) -> dict[Label, str]:
    """Names of nodes in plain values, or raise naming what is wrong."""
    if not isinstance(names, Mapping):
        raise InvalidInputError("names", "an object from nodes to what people call them", type(names).__name__)
    plain: dict[Label, str] = {}
    for label, name in names.items():
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidInputError("names", "printable text for each node", name)
        plain[plain_label(label, field="names")] = name.strip()
    return plain


def names_sha256(names: Mapping[Label, str]) -> str | None:
    """A hash of who is called what, whatever the order; ``None`` without names."""
    if not names:
        return None
    pairs = sorted((label_text(label), name) for label, name in names.items())
    return hashlib.sha256(b"veilroute-names/1\n" + dump_canonical(pairs)).hexdigest()


def _checked_trips(trips: object) -> tuple[Trip, ...]:
    if isinstance(trips, Trip):
        return (trips,)
    if not isinstance(trips, Iterable):
        raise InvalidInputError("Problem.trips", "a list of Trip", trips)
    items = tuple(trips)
    if not items:
        raise InvalidInputError("Problem.trips", "at least one trip", "none")
    for trip in items:
        if not isinstance(trip, Trip):
            raise InvalidInputError("Problem.trips", "a list of Trip", trip)
    return items


def _checked_candidates(candidates: object) -> tuple[Label, ...]:
    # A set has no order of its own, and the playbook would depend on the process.
    if isinstance(candidates, str | Set) or not isinstance(candidates, Iterable):
        raise InvalidInputError("Problem.candidates", "a list of nodes, in an order of your choice", candidates)
    items = tuple(plain_label(label, field="Problem.candidates") for label in candidates)
    if not items:
        raise InvalidInputError("Problem.candidates", "at least one candidate", "none")
    return items


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
