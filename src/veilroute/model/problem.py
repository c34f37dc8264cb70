"""What is asked: trips, candidates, the privacy to reach and what to keep small. Validated once, at construction."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veilroute.base.arrays import Floats
from veilroute.base.checks import (
    check_finite,
    check_list,
    check_name,
    check_whole,
    count_text,
    is_number,
    is_whole,
    plain_number,
)
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical
from veilroute.domain.geography import MEASURES, check_measurable
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.domain.visibility import AtNode, Visibility, check_visibility

OBJECTIVES = ("mac", "total")
"""What to keep small once as many candidates as possible are hidden: the mean of (route cost / base cost - 1), or the
sum of (route cost - base cost), which no candidate beside the depot can dominate."""

SPREADS = ("witness", "all-pairs")
"""The readings of the spread condition (see the concepts page): Definition 1 to the letter, and the stricter one."""

MECHANISMS = ("partition", "randomised")
"""How a candidate gets its class: each is in one, or in several of which one is drawn."""

ROUNDING = 1e-9  #: a posterior may exceed its bound by as much, relatively: priors are floating-point numbers


@dataclass(frozen=True)
class Trip:
    """One journey."""

    start: Label
    goal: Label  #: may be the start
    weight: float = 1.0  #: how much the trip counts when one partition serves several trips, > 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", plain_label(self.start, field="Trip.start"))
        object.__setattr__(self, "goal", plain_label(self.goal, field="Trip.goal"))
        if not is_number(self.weight, 1e-100, 1e100):
            raise InvalidInputError("Trip.weight", "a number > 0, from 1e-100 to 1e100", self.weight)


@dataclass(frozen=True)
class Privacy:
    """The guarantee to reach: (k, ell, m)-anonymity under a reading of spread, or a bound on what an observer believes.

    Say either k or ``risk``. With a risk, no place may be more probable than that to whoever saw the route; k is then
    what follows from it, the least number of candidates that stay possible.
    """

    k: int = None  # type: ignore[assignment]  #: how many candidates must stay possible, at least 1; 2 when left out
    ell: float = 0.0  #: how far apart they must stand, 0 for different places; both directions count
    m: int | None = None  #: for how many nodes of the route the guarantee holds; ``None`` means the whole route
    #: ``"witness"``: some k members of a class are pairwise at least ell apart (Definition 1). ``"all-pairs"``: all
    #: members are (what the paper's partitioners enforce).
    spread: str = "witness"
    #: What ell is measured in: ``"cost"`` of walking over the edges or, on street networks, metres ``"driving"``,
    #: ``"walking"`` or ``"straight"`` ahead.
    measure: str = "cost"
    #: The largest posterior that a route may give to an area: places pairwise closer than ``ell``, or one place.
    risk: float | None = None
    #: ``"partition"``: each candidate is in one class. ``"randomised"``: in several, with shares by which one is drawn;
    #: all members then stand ell apart, and k means a risk of 1 / k.
    mechanism: str = "partition"

    def __post_init__(self) -> None:
        settle = object.__setattr__
        given: int | None = self.k
        if self.risk is not None:
            if not is_number(self.risk, 1e-9, 1) or not self.risk < 1:
                raise InvalidInputError("Privacy.risk", "a number between 0 and 1, both excluded", self.risk)
            settle(self, "risk", float(self.risk))
            least = math.ceil(1 / self.risk - ROUNDING)
            if given not in (None, least):
                raise InvalidInputError("Privacy.k", "either k or risk, not both", given)
            settle(self, "k", least)
        elif given is None:
            settle(self, "k", 2)
        check_name("Privacy.mechanism", self.mechanism, MECHANISMS)
        if self.mechanism == "randomised":
            if self.k == 1:
                raise InvalidInputError("Privacy.k", "at least 2 for a randomised playbook", self.k)
            if self.spread == "witness":
                settle(self, "spread", "all-pairs")
        check_whole("Privacy.k", self.k, "an integer >= 1", least=1)
        if isinstance(self.ell, int) and self.ell >= 2**53:
            raise InvalidInputError("Privacy.ell", "an integer below 2^53, or a float", self.ell)
        check_finite("Privacy.ell", self.ell, least=0)
        if self.m is not None and not is_whole(self.m, 1, 2**53 - 1):
            raise InvalidInputError("Privacy.m", "an integer >= 1 (below 2^53), or None for the whole route", self.m)
        check_name("Privacy.spread", self.spread, SPREADS)
        check_name("Privacy.measure", self.measure, MEASURES)

    @property
    def beta(self) -> float | None:
        """The largest posterior that is promised; ``None`` where only possibilities are counted."""
        return 1 / self.k if self.risk is None and self.mechanism == "randomised" else self.risk

    @property
    def distance_text(self) -> str:
        """Ell as people say it: ``300`` where it is a cost, ``300 m driving`` where it is in metres."""
        return f"{self.ell:g}" if self.measure == "cost" else f"{self.ell:g} m {self.measure}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data: dict[str, Any] = {"k": self.k, "ell": self.ell, "m": self.m, "spread": self.spread}
        optional = {
            "measure": None if self.measure == "cost" else self.measure,
            "risk": self.risk,
            "mechanism": None if self.mechanism == "partition" else self.mechanism,
        }
        return data | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Past:
    """What whoever links the trips of one secret knows already: who is still possible, for each candidate.

    It comes from a ledger (:meth:`Ledger.past`). A candidate that is not named has no history: it may be anybody.
    Histories name candidates of the problem only, because nobody else can be in a class with them.
    """

    #: A candidate and who is left beside it, itself included. Under a risk a candidate has further such lines if
    #: others were not hidden on all of its days: some of its trips may leave people of whom no line is what is left.
    left: tuple[tuple[Label, tuple[Label, ...]], ...]
    near: tuple[tuple[Label, Label], ...] = ()  #: those that stood closer than ell when they were promised to be hidden
    ledger: str | None = None  #: the hash of the ledger's last line
    since: str | None = None  #: the day before which nothing can be linked, if that is assumed
    trips: str | None = None  #: what the ledger assumes of a day without a trip; ``None`` in old playbooks

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        left = [[label, list(others)] for label, others in self.left]
        data: dict[str, Any] = {"ledger": self.ledger, "left": left}
        optional = {"near": [list(pair) for pair in self.near] or None, "since": self.since, "trips": self.trips}
        return data | {name: value for name, value in optional.items() if value is not None}


def past_from_dict(data: Any) -> Past:
    """Read what :meth:`Past.to_dict` wrote, or raise naming what is wrong."""
    if not isinstance(data, dict):
        raise InvalidInputError("past", "an object", type(data).__name__)
    for name in ("ledger", "since", "trips"):
        if not isinstance(data.get(name), str | None):
            raise InvalidInputError(f"past.{name}", "text", data[name])
    left = []
    for line in check_list("past.left", data["left"]):
        label, others = check_list("past.left", line)
        left.append((plain_label(label), tuple(plain_label(other) for other in check_list("past.left", others))))
    near = []
    for pair in check_list("past.near", data.get("near", [])):
        one, other = check_list("past.near", pair)
        near.append((plain_label(one), plain_label(other)))
    return Past(tuple(left), tuple(near), data.get("ledger"), data.get("since"), data.get("trips"))


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A domain, one or several trips, the candidates and what can be seen from where.

    Several trips share one partition of the candidates (an observer who links trips would otherwise intersect
    classes), so a candidate that is the start or goal of any trip is left out of all.
    """

    domain: Domain
    trips: Sequence[Trip]  #: at least one
    candidates: Sequence[Label]  #: labels of the possible transit points, distinct; several may be at one node
    #: One of :class:`AtNode`, :class:`WithinDistance`, :class:`LineOfSight`, :class:`Explicit`.
    visibility: Visibility = field(default_factory=AtNode)
    #: What people call some of the nodes (``{264015624: "Kamppi"}``); for reports and pictures only.
    names: Mapping[Label, str] = field(default_factory=dict)
    objective: str = "mac"  #: what the plan is to keep small: ``"mac"`` or ``"total"``, see :data:`OBJECTIVES`
    #: How probable an observer takes each candidate to be beforehand: weights >= 0, kept so that they sum to 1.
    #: ``None`` when nobody knows more about one than about another.
    prior: Sequence[float] | None = None
    #: What earlier trips have shown, where a ledger is to be kept safe; ``None`` for a trip by itself.
    past: Past | None = None
    #: Longitude and latitude of places as they were given. Their nodes are where a street is nearest: whether routes
    #: pass their doors is measured from here, nothing else depends on it.
    places: Mapping[Label, tuple[float, float]] = field(default_factory=dict)

    start_nodes: tuple[int, ...] = field(init=False)
    goal_nodes: tuple[int, ...] = field(init=False)
    candidate_nodes: tuple[int, ...] = field(init=False)
    #: What plans for this problem have worked out for each other (:meth:`sharing_work`); ``None``: each does its own.
    kept: dict[Any, Any] | None = field(init=False, default=None)

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
        fields = [f"trips[{i}]" for i in range(len(trips))] if len(trips) > 1 else ["trip"]
        for end in ("start", "goal"):
            ends = (node(getattr(trip, end), field=f"{name}.{end}") for trip, name in zip(trips, fields, strict=True))
            settle(self, f"{end}_nodes", tuple(ends))
        if self.domain.also:
            # By the labels that routes have at their ends: a node may have several.
            ends_of = zip(trips, self.start_nodes, self.goal_nodes, strict=True)
            first = self.domain.label
            settle(self, "trips", tuple(replace(trip, start=first(a), goal=first(b)) for trip, a, b in ends_of))
        nodes = tuple(node(label, field=f"candidates[{i}]") for i, label in enumerate(candidates))
        if len(set(candidates)) != len(candidates):
            twice = next(label for i, label in enumerate(candidates) if label in candidates[:i])
            raise InvalidInputError("Problem.candidates", "distinct candidates", f"{twice} twice")
        settle(self, "candidate_nodes", nodes)
        settle(self, "names", checked_names(self.names))
        check_name("Problem.objective", self.objective, OBJECTIVES)
        if self.prior is not None:
            settle(self, "prior", checked_prior(self.prior, len(candidates)))
            if not any(self.prior[i] for i in self.counted):
                raise InvalidInputError("Problem.prior", "a weight above 0 for a candidate that is no start or goal")
        settle(self, "places", checked_places(self.places))
        for what, labels in (("names", self.names), ("places", self.places)):
            for label in labels:
                node(label, field=what)
        if self.past is not None:
            known = set(candidates)
            for owner, others in self.past.left:
                if owner not in others or not known.issuperset(others):
                    raise InvalidInputError("Problem.past", "for a candidate, candidates and itself among them", owner)
            for pair in self.past.near:
                if not known.issuperset(pair):
                    raise InvalidInputError("Problem.past", "near pairs of candidates", pair)

    @property
    def counted(self) -> tuple[int, ...]:
        """Positions of the candidates that count: those that are no trip's start or goal."""
        ends = set(self.start_nodes) | set(self.goal_nodes)
        return tuple(i for i, node in enumerate(self.candidate_nodes) if node not in ends)

    @property
    def num_places(self) -> int:
        """At how many nodes the candidates that count are: no plan keeps more places possible."""
        return len({self.candidate_nodes[i] for i in self.counted})

    def sharing_work(self) -> Problem:
        """The same problem for several plans, which then share what does not depend on the privacy wanted.

        The plans are the same, and sooner there. What is shared stays in memory as long as this problem does.
        """
        shared = replace(self)
        object.__setattr__(shared, "kept", {})
        return shared

    def reordered(self, order: Sequence[int]) -> Problem:
        """The same problem with the candidate ``order[i]`` as the i-th; what plans share stays shared."""
        again = replace(
            self,
            candidates=[self.candidates[i] for i in order],
            prior=None if self.prior is None else [self.prior[i] for i in order],
        )
        if self.kept is not None:
            object.__setattr__(again, "kept", self.kept.setdefault(tuple(order), {}))
        return again

    def prior_of(self, positions: Sequence[int]) -> Floats:
        """How probable some of the candidates are among themselves; equally without a prior, or with none for any."""
        weights = np.ones(len(positions)) if self.prior is None else np.array([self.prior[i] for i in positions])
        total = math.fsum(weights.tolist())
        return weights / total if total > 0 else np.full(len(positions), 1 / max(1, len(positions)))

    def __repr__(self) -> str:
        counts = count_text(len(self.trips), "trip"), count_text(len(self.candidates), "candidate")
        return f"<Problem: {self.domain!r}, {counts[0]}, {counts[1]}>"


def objective_rates(objective: str, base_costs: Floats, smallest_positive_cost: float) -> Floats:
    """What a unit of extra cost adds to the sum that is kept small, for each base cost.

    A base cost of 0 has no ratio: the smallest positive edge cost stands in for it.
    """
    if objective == "total":
        return np.ones_like(base_costs)
    return 1.0 / np.where(base_costs > 0, base_costs, smallest_positive_cost)


def check_fit(problem: Problem, privacy: Privacy) -> None:
    """Raise when the privacy asks for something that has no meaning in the problem."""
    check_measurable(problem.domain, privacy.measure, "Privacy.measure")
    if privacy.beta is not None and problem.objective != "mac":
        raise InvalidInputError(
            "Problem.objective", "mac where a risk is bounded: it is the expected MAC that is kept small"
        )


def checked_prior(prior: object, num: int) -> tuple[float, ...]:
    """Weights of ``num`` candidates so that they sum to 1, or raise naming what is wrong."""
    if isinstance(prior, str | Set | Mapping) or not isinstance(prior, Iterable):
        raise InvalidInputError("prior", "a list of weights, one for each candidate", type(prior).__name__)
    weights = [float(check_finite("prior", plain_number(weight), least=0)) for weight in prior]
    if len(weights) != num:
        raise InvalidInputError("prior", f"one weight for each of {num} candidates", len(weights))
    largest = max(weights)
    if largest == 0:
        raise InvalidInputError("prior", "a weight above 0 for some candidate", "0 for all")
    if sum(weight > 0 for weight in weights) == 1:
        raise InvalidInputError("prior", "weights above 0 for two candidates at least: nothing hides what is certain")
    # Divided by the largest first: sums of huge weights overflow, and those of tiny ones vanish.
    scaled = [weight / largest for weight in weights]
    total = math.fsum(weights) if largest < 1e300 else math.inf
    if abs(total - 1) <= 1e-12:
        return tuple(weights)  # as they were kept before
    total = math.fsum(scaled)
    return tuple(weight / total for weight in scaled)


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


def checked_places(places: object) -> dict[Label, tuple[float, float]]:
    """Longitudes and latitudes of places in plain values, or raise naming what is wrong."""
    if not isinstance(places, Mapping):
        raise InvalidInputError("places", "an object from nodes to longitude and latitude", type(places).__name__)
    plain: dict[Label, tuple[float, float]] = {}
    for label, lonlat in places.items():
        pair = tuple(map(plain_number, lonlat)) if isinstance(lonlat, Sequence | np.ndarray) else ()
        if len(pair) != 2 or not (is_number(pair[0], -180, 180) and is_number(pair[1], -90, 90)):
            raise InvalidInputError("places", "longitudes from -180 to 180 and latitudes from -90 to 90, in this order")
        plain[plain_label(label, field="places")] = (float(pair[0]), float(pair[1]))
    return plain


def places_from_list(data: Any, *, field: str = "places") -> dict[Label, tuple[float, float]]:
    """Places as they stand in a JSON file: a node, longitude and latitude each."""
    rows = check_list(field, data)
    if not all(isinstance(row, list) and len(row) == 3 for row in rows):
        raise InvalidInputError(field, "a list of [node, longitude, latitude]")
    places = checked_places({plain_label(label, field=field): rest for label, *rest in rows})
    if len(places) < len(rows):
        raise InvalidInputError(field, "one entry for each node")
    return places


def places_sha256(places: Mapping[Label, tuple[float, float]]) -> str | None:
    """A hash of where places are, whatever the order; ``None`` without places."""
    if not places:
        return None
    rows = sorted((label_text(label), *lonlat) for label, lonlat in places.items())
    return hashlib.sha256(b"veilroute-places/1\n" + dump_canonical(rows)).hexdigest()


def names_sha256(names: Mapping[Label, str]) -> str | None:
    """A hash of who is called what, whatever the order; ``None`` without names."""
    if not names:
        return None
    pairs = sorted((label_text(label), name) for label, name in names.items())
    return hashlib.sha256(b"veilroute-names/1\n" + dump_canonical(pairs)).hexdigest()


def _checked_trips(trips: object) -> tuple[Trip, ...]:
    items = tuple(trips) if isinstance(trips, Iterable) else (trips,)
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
