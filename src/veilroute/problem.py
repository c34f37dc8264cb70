"""What is asked: trips, candidates, the privacy to reach and what to keep small. Validated once, at construction.

:class:`Rule` is what the privacy means for the members of a task: which sets of them are classes.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from veilroute.arrays import Flags, Floats, Int32s, Ints, Masks
from veilroute.checks import check_finite, check_list, check_name, check_whole, is_number, is_whole, plain_number
from veilroute.domain.geography import MEASURES, check_measurable
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.domain.visibility import AtNode, Visibility, check_visibility
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical

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
    ell: float = 1.0  #: how far apart they must stand; both directions count
    m: int | None = None  #: for how many nodes of the route the guarantee holds; ``None`` means the whole route
    #: ``"witness"``: some k members of a class are pairwise at least ell apart (Definition 1). ``"all-pairs"``: all
    #: members are (what the paper's partitioners enforce).
    spread: str = "witness"
    #: What ell is measured in: ``"cost"`` of walking over the edges or, on street networks, metres ``"driving"``,
    #: ``"walking"`` or ``"straight"`` ahead.
    measure: str = "cost"
    #: The largest posterior that a route may give to a place, or with ``ell`` to all places closer than that to one.
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

    #: A candidate and who is left beside it, itself included; under a risk one candidate may have several such lines,
    #: one for what each part of its trips leaves, because less knowledge is not always less risk.
    left: tuple[tuple[Label, tuple[Label, ...]], ...]
    near: tuple[tuple[Label, Label], ...] = ()  #: those that stood closer than ell when they were promised to be hidden
    ledger: str | None = None  #: the hash of the ledger's last line
    since: str | None = None  #: the day before which nothing can be linked, if that is assumed

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        left = [[label, list(others)] for label, others in self.left]
        data: dict[str, Any] = {"ledger": self.ledger, "left": left}
        optional = {"near": [list(pair) for pair in self.near] or None, "since": self.since}
        return data | {name: value for name, value in optional.items() if value is not None}


def past_from_dict(data: Any) -> Past:
    """Read what :meth:`Past.to_dict` wrote, or raise naming what is wrong."""
    if not isinstance(data, dict):
        raise InvalidInputError("past", "an object", type(data).__name__)
    for name in ("ledger", "since"):
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
    return Past(tuple(left), tuple(near), data.get("ledger"), data.get("since"))


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A domain, one or several trips, the candidates and what can be seen from where.

    Several trips share one partition of the candidates (an observer who links trips would otherwise intersect
    classes), so a candidate that is the start or goal of any trip is left out of all.
    """

    domain: Domain
    trips: Sequence[Trip]  #: at least one
    candidates: Sequence[Label]  #: labels of the possible transit points, distinct
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
        nodes = tuple(node(label, field=f"candidates[{i}]") for i, label in enumerate(candidates))
        if len(set(nodes)) != len(nodes):
            first = {own: i for i, own in reversed(list(enumerate(nodes)))}
            twice = next(label for i, label in enumerate(candidates) if first[nodes[i]] < i)
            raise InvalidInputError("Problem.candidates", "distinct candidates", f"{twice} twice")
        settle(self, "candidate_nodes", nodes)
        settle(self, "names", checked_names(self.names))
        check_name("Problem.objective", self.objective, OBJECTIVES)
        if self.prior is not None:
            settle(self, "prior", checked_prior(self.prior, len(candidates)))
            if not any(self.prior[i] for i in self.counted):
                raise InvalidInputError("Problem.prior", "a weight above 0 for a candidate that is no start or goal")
        for label in self.names:
            node(label, field="names")
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

    def sharing_work(self) -> Problem:
        """The same problem for several plans, which then share what does not depend on the privacy wanted.

        The plans are the same, and sooner there. What is shared stays in memory as long as this problem does.
        """
        shared = replace(self)
        object.__setattr__(shared, "kept", {})
        return shared

    def prior_of(self, positions: Sequence[int]) -> Floats:
        """How probable some of the candidates are among themselves; equally without a prior, or with none for any."""
        weights = np.ones(len(positions)) if self.prior is None else np.array([self.prior[i] for i in positions])
        total = math.fsum(weights.tolist())
        return weights / total if total > 0 else np.full(len(positions), 1 / max(1, len(positions)))

    def __repr__(self) -> str:
        return f"<Problem: {self.domain!r}, {len(self.trips)} trips, {len(self.candidates)} candidates>"


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """What makes some of a task's members a class: the one place where partitioners ask.

    Members are numbered from 0. A set of them is a row, ascending; many sets of one size are the rows of an array. A
    rule of one's own says which sets qualify, and is then obeyed by tables, column generation and local search;
    ``may_grow`` makes these faster. The paper's searches know k and ell alone. Costs are not its concern
    (:func:`objective_rates`), except that a class has at least ``least`` members: bounds rest on each member's sharing
    its walk with that many.
    """

    together: Flags  #: per two members whether they may be in one class at all; false for a member and itself
    least: int  #: the fewest members of a class: 2 or more, or 1 where every single member qualifies
    largest: int  #: the most members of a class that some best partition needs

    @property
    def num(self) -> int:
        """How many members there are."""
        return len(self.together)

    @property
    def worth(self) -> Floats:
        """How much it is worth that a class holds each member; partitions are compared by it before what they cost."""
        return np.ones(self.num)

    @property
    def is_alike(self) -> bool:
        """Whether everybody is worth the same, so that those who are left out need only be counted."""
        return True

    @abstractmethod
    def qualify(self, sets: Int32s) -> Flags:
        """Whether each of the sets, which all have one size, is a class.

        It may be asked about any set, also one whose members are not all ``together``: the answer is then no.
        """

    def may_grow(self, sets: Int32s) -> Flags:
        """Whether a class that a best partition needs may come of each set by adding members to it."""
        return np.full(len(sets), sets.shape[1] < self.largest, dtype=np.bool_)

    def renumbered(self, order: Ints) -> Rule:
        """The same rule where ``order[i]`` is called i. A rule that holds more per member renumbers that as well."""
        return replace(self, together=self.together[np.ix_(order, order)])

    def qualifies(self, members: Sequence[int]) -> bool:
        """Whether one set is a class."""
        return len(members) > 0 and bool(self.qualify(np.array([sorted(members)], dtype=np.int32))[0])


@dataclass(frozen=True, eq=False)
class KAndEll(Rule):
    """The rule of :class:`Privacy`: k members that stand ell apart, all of them or some k of them.

    The two readings: docs/theory, :ref:`Two readings of spread <theory-spread>`. Some best partition has classes of k
    to 2k - 1 members only (docs/theory, :ref:`Size lemma <theory-size>`), unless members that stand near each other may
    be in one class: then it is enough to look at classes that do not split in two.
    """

    far: Flags  #: per two members whether they stand far enough apart
    k: int  #: how many members must stand apart
    is_loose: bool  #: whether there are members who stand near each other and may be in one class (witness spread)
    value: float = 1.0  #: what each member is worth

    @classmethod
    def of(cls, far: Flags, k: int, spread: str, value: float = 1.0) -> KAndEll:
        """The rule under a reading of spread."""
        num = len(far)
        everybody = ~np.eye(num, dtype=np.bool_)
        is_loose = spread == "witness" and not np.array_equal(far, everybody)
        largest = num if is_loose else min(2 * k - 1, num)
        return cls(everybody if is_loose else far, k, largest, far, k, is_loose, value)

    @property
    def worth(self) -> Floats:
        """The same for everybody."""
        return np.full(self.num, self.value)

    def qualify(self, sets: Int32s) -> Flags:
        """At least k members, of which all, or some k, stand apart; classes may be larger than any that are needed."""
        if sets.shape[1] < self.k:
            return np.zeros(len(sets), dtype=np.bool_)
        if self.is_loose:
            return np.array([_has_far(members, self.far, self.k) for members in sets.tolist()], dtype=np.bool_)
        num_far = self.far[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2))
        return np.asarray(num_far == sets.shape[1] * (sets.shape[1] - 1))

    def hides(self, sets: Int32s, is_left: Flags) -> Flags:
        """Whether k of those who are left stand apart; all do where the rule is not loose and the set is a class."""
        if not self.is_loose:
            return np.asarray(is_left.sum(axis=1) >= self.k)
        rows = (row[left].tolist() for row, left in zip(sets, is_left, strict=True))
        return np.array([_has_far(row, self.far, self.k) for row in rows], dtype=np.bool_)

    def renumbered(self, order: Ints) -> KAndEll:
        """The same rule where ``order[i]`` is called i."""
        far = self.far[np.ix_(order, order)]
        return replace(self, together=~np.eye(len(order), dtype=np.bool_) if self.is_loose else far, far=far)

    @property
    def far_masks(self) -> Masks:
        """For each member the bit mask of those far from it, for at most 62 members."""
        return np.asarray(self.far.astype(np.int64) @ (np.int64(1) << np.arange(self.num, dtype=np.int64)))


def _has_far(members: list[int], far: Flags, num: int) -> bool:
    """Whether some ``num`` of the members are pairwise far: each is tried in turn with those after it."""
    if num <= 1:
        return len(members) >= num
    for at in range(len(members) - num + 1):
        ahead = [other for other in members[at + 1 :] if far[members[at], other]]
        if len(ahead) >= num - 1 and _has_far(ahead, far, num - 1):
            return True
    return False


@dataclass(frozen=True, eq=False)
class RiskBound(Rule):
    """The rule of a risk under a prior: no member, with those who stand near it, holds more than beta of its class.

    A class that splits into two that qualify is never needed, because a part costs no more: docs/theory,
    :ref:`Classes under a prior <theory-risk>`.
    """

    near: Flags  #: per two members whether they stand near each other; true for a member and itself
    masses: Floats  #: how probable each member is, in any unit
    beta: float
    is_strict: bool = False  #: whether also those count whom the class does not hold: then classes can be put together

    @classmethod
    def of(cls, far: Flags, masses: Floats, beta: float, spread: str, *, is_strict: bool = False) -> RiskBound:
        """The rule under a reading of spread."""
        together = far if spread == "all-pairs" else ~np.eye(len(far), dtype=np.bool_)
        return cls(together, _least_members(masses, beta), len(far), ~far, masses, beta, is_strict)

    @property
    def worth(self) -> Floats:
        """The most hidden probability comes first."""
        return self.masses

    def qualify(self, sets: Int32s) -> Flags:
        """Whether no member is near more than beta of the class, itself included; impossible without any mass."""
        is_class = self.hides(sets, np.ones(sets.shape, dtype=np.bool_))
        if not self.together.all():
            size = sets.shape[1]
            is_class &= self.together[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2)) == size * (size - 1)
        return np.asarray(is_class)

    def hides(self, sets: Int32s, is_left: Flags) -> Flags:
        """Whether no member who is left is near more than beta of those who are."""
        masses = np.where(is_left, self.masses[sets], 0.0)
        total = masses.sum(axis=1)
        hides = total > 0
        whom = np.arange(self.num)[:, None] if self.is_strict else sets.T
        for at, each in enumerate(whom):
            near = np.where(self.near[each[:, None], sets], masses, 0.0).sum(axis=1)
            is_within = near <= self.beta * total * (1 + ROUNDING)
            hides &= is_within if self.is_strict else is_within | ~is_left[:, at]
        return np.asarray(hides)

    @property
    def is_alike(self) -> bool:
        """No: members differ in their probabilities."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether no two members that may be in one class are near each other: only the heaviest one matters then."""
        return not self.is_strict and int((self.near & self.together).sum()) == 0

    def renumbered(self, order: Ints) -> RiskBound:
        """The same rule where ``order[i]`` is called i."""
        at = np.ix_(order, order)
        return replace(self, together=self.together[at], near=self.near[at], masses=self.masses[order])


@dataclass(frozen=True, eq=False)
class Linked(Rule):
    """The rule of a ledger: whatever earlier trips have left of a class for each member hides that member still.

    Docs/theory, :ref:`Linked trips <theory-linking>`: which classes are needed, and why nobody who counts need be in
    one with members that neither's history holds.
    """

    own: KAndEll | RiskBound  #: what the privacy asks for by itself
    owners: Ints  #: whose history each line is
    left: Flags  #: per line and member whether it is still possible

    @classmethod
    def of(cls, own: KAndEll | RiskBound, owners: Ints, left: Flags) -> Linked:
        """The rule with the classes that some best partition needs."""
        after = np.ones((own.num, own.num), dtype=np.bool_)
        np.logical_and.at(after, owners, left)
        if isinstance(own, RiskBound) or not _is_nested(after):
            return cls(own.together, own.least, own.num, own, owners, left)
        largest = own.num
        if not own.is_loose:
            # A core in the smallest history, and for each wider one fewer newcomers than would be a class themselves.
            levels = max((np.unique(after.sum(axis=1)[after[:, i]]).size for i in range(own.num)), default=1) - 1
            largest = min(own.num, 2 * own.k - 1 + levels * (own.k - 1))
        return cls(own.together & (after | after.T), own.least, largest, own, owners, left)

    @property
    def worth(self) -> Floats:
        """What the privacy says."""
        return self.own.worth

    @property
    def is_alike(self) -> bool:
        """What the privacy says."""
        return self.own.is_alike

    @cached_property
    def _lines(self) -> Ints:
        """Per member the lines of its history, with -1 behind them."""
        counts = np.bincount(self.owners, minlength=self.num)
        lines = np.full((self.num, int(counts.max(initial=0))), -1, dtype=np.int64)
        for line, owner in enumerate(self.owners.tolist()):
            counts[owner] -= 1
            lines[owner, counts[owner]] = line
        return lines

    def qualify(self, sets: Int32s) -> Flags:
        """Whether a set is a class by itself, and what is left of it for each member hides that one."""
        size = sets.shape[1]
        is_class = self.own.qualify(sets)
        is_class &= self.together[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2)) == size * (size - 1)
        for lines in (self._lines[members, which] for members in sets.T for which in range(self._lines.shape[1])):
            rows = np.flatnonzero(is_class & (lines >= 0))
            is_class[rows] = self.own.hides(sets[rows], self.left[lines[rows][:, None], sets[rows]])
        return is_class

    def renumbered(self, order: Ints) -> Linked:
        """The same rule where ``order[i]`` is called i."""
        place = np.full(self.num, -1, dtype=np.int64)
        place[order] = np.arange(order.size)
        kept = np.flatnonzero(place[self.owners] >= 0)
        together = self.together[np.ix_(order, order)]
        left = self.left[np.ix_(kept, order)]
        return replace(
            self, together=together, own=self.own.renumbered(order), owners=place[self.owners[kept]], left=left
        )


def _is_nested(after: Flags) -> bool:
    """Whether each history holds those of all in it, and any two have nobody in common or one holds the other."""
    who = after.astype(np.float32)
    if ((who @ who > 0) & ~after).any():
        return False
    histories = np.unique(who, axis=0)
    common, sizes = histories @ histories.T, histories.sum(axis=1)
    return bool(((common == 0) | (common == np.minimum(sizes[:, None], sizes))).all())


def _least_members(masses: Floats, beta: float) -> int:
    """The fewest members of a class: of a size, the best are neighbours in the order of their masses."""
    ordered = np.sort(masses)[::-1]
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    for size in range(math.ceil(1 / beta - ROUNDING), len(masses) + 1):
        if (ordered[: len(masses) - size + 1] <= beta * (sums[size:] - sums[:-size]) * (1 + ROUNDING)).any():
            return size
    return max(2, len(masses) + 1)


def hideable(masses: Floats, beta: float) -> Flags:
    """Who can be hidden at all: posteriors average to priors, so nobody above beta of all that can be hidden.

    Whoever is left out makes the rest weigh more: looked at again until nobody else has to go.
    """
    can = masses > 0
    while (is_heavy := can & (masses > beta * math.fsum(masses[can].tolist()) * (1 + ROUNDING))).any():
        can &= ~is_heavy
    return can


def least_risk(masses: Floats) -> float | None:
    """The least beta at which somebody can be hidden, as far as probabilities are concerned; ``None`` without any."""
    ordered = np.sort(masses[masses > 0])
    return float((ordered / np.cumsum(ordered)).min()) if ordered.size > 1 else None


def objective_rates(objective: str, base_costs: Floats, smallest_positive_cost: float) -> Floats:
    """What a unit of extra cost adds to the sum that is kept small, for each base cost.

    A base cost of 0 has no ratio: the smallest positive edge cost stands in for it.
    """
    if objective == "total":
        return np.ones_like(base_costs)
    return 1.0 / np.where(base_costs > 0, base_costs, smallest_positive_cost)


def check_fit(problem: Problem, privacy: Privacy) -> None:
    """Raise when the privacy cannot be met by any planner for lack of candidates."""
    num_counted = len(problem.counted)
    if privacy.risk is None and privacy.k > num_counted:
        expected = f"at most {num_counted}, the number of candidates that are neither start nor goal"
        raise InvalidInputError("Privacy.k", expected, privacy.k)
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
