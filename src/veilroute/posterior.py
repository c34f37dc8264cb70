"""What an observer believes who has seen a route: how probable each place is then (the posterior).

The observer knows the playbook, and beforehand how probable each candidate is: the prior over those that can be
covered. *Hidden* candidates are the members of anonymized classes. What is seen of them within the promise is the first
m nodes of every trip, so classes whose routes begin alike are one sight. Figures:

- **worst**: the largest posterior of an area: candidates that are pairwise closer than ell, or at one node.
- **worst place**: the largest posterior of one node. Candidates at the same node add up: it is one door.
- **Bayes success**: how often an observer who bets on the most probable node is right.

:func:`measure_risk` is ``vr.risk``; :class:`Sights` is what it counts, and what the observers of
:mod:`veilroute.adversary` look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from veilroute.areas import area_rows, close_masks, heaviest_area
from veilroute.arrays import Flags, Floats, Int32s, Ints
from veilroute.domain.geography import great_circle_m, measured_domain
from veilroute.domain.graph import Label, label_text
from veilroute.errors import InvalidInputError
from veilroute.exposure import ExposureReport, doors_text, percent, report_exposures
from veilroute.playbook import Playbook, PlaybookClass
from veilroute.problem import ROUNDING, Privacy, Problem, checked_prior

Sight = tuple[tuple[Label, ...], ...]  #: the nodes that were seen of every trip
Prior = Sequence[float] | Mapping[Label, float]  #: weights parallel to the candidates, or by candidate

_BAR = 30  #: characters of a bar that stands for certainty
_MAX_ROUTES, _MAX_STEPS = 20, 10  #: shown to people at most


class RiskFigures(NamedTuple):
    """What an observer makes of all routes together; ``None`` when nobody is hidden."""

    worst: float | None  #: the largest posterior of an area
    worst_place: float | None  #: the largest posterior of one node
    bayes_success: float | None  #: how often the best guess of a node is right
    num_possible: int | None  #: how many nodes stay possible at least


class _Glance(NamedTuple):
    """The same for one thing that can be seen, not yet divided by how probable it is."""

    total: float
    largest: float
    largest_area: float
    num_possible: int


BUILDING_M = 50.0
"""Places on streets that are closer together than this, as the crow flies, may be one building to an observer."""


class Sights:
    """Everything that can be seen of hidden candidates: who, in which class, by which routes, and how probable.

    A sight is a candidate in a class that it may be in: one for each candidate in a partition, several where a class is
    drawn. Candidates are positions among those of the problem.
    """

    def __init__(self, problem: Problem, privacy: Privacy, classes: Sequence[PlaybookClass]) -> None:
        place = {label: i for i, label in enumerate(problem.candidates)}
        self.problem, self.privacy = problem, privacy
        hidden = [group for group in classes if group.anonymized]
        alone = [group for group in classes if not group.anonymized]
        counted = set(problem.counted)
        if any(place.get(member) not in counted for group in classes for member in group.members):
            raise InvalidInputError("playbook", "classes of candidates that count; audit it")
        #: Who can be covered and gets no route.
        self.refused = [place[member] for group in alone for member in group.members]
        entries = [(place[label], at) for at, group in enumerate(hidden) for label in group.members]
        self.candidates: Ints = np.array([c for c, _ in entries], dtype=np.int64)
        self.classes: Ints = np.array([at for _, at in entries], dtype=np.int64)
        hidden_once = list(dict.fromkeys(self.candidates.tolist()))
        everyone = sorted({*hidden_once, *self.refused})
        is_listed_twice = len(everyone) < len(hidden_once) + len(self.refused)
        draws = draw_chances(
            [c for c, _ in entries],
            [share for group in hidden for share in group.shares or [None] * len(group.members)],
        )
        if is_listed_twice or draws is None:
            raise InvalidInputError("playbook", "each candidate in one class, or in several with shares; audit it")
        self.draws: Floats = draws  #: how probable the class is when the candidate is the secret
        weights = np.zeros(len(problem.candidates))
        if everyone:
            # Not yet divided by their sum: when all are hidden, the hidden mass is 1 and not one bit less.
            own = np.ones(weights.size) if problem.prior is None else np.array(problem.prior)
            weights[everyone] = own[everyone] if own[everyone].any() else 1.0
        whole = math.fsum(weights.tolist())
        mass = math.fsum(weights[hidden_once].tolist())
        self.prior: Floats = weights / whole if whole else weights  #: over the candidates that can be covered
        self.hidden_mass = mass / whole if whole else 0.0
        # Places that no walk can cover: their trips are not covered either.
        lost = math.fsum(1.0 if problem.prior is None else problem.prior[i] for i in counted - set(everyone))
        self.covered_mass = mass / (whole + lost) if whole else 0.0  #: how many of all trips have a route
        self.joint: Floats = weights[self.candidates] * self.draws / (mass or 1.0)  #: given that the secret is hidden
        numbers: dict[Sight, int] = {}
        trips = range(len(problem.trips))
        ways = [
            numbers.setdefault(tuple(group.route_of(label, trip).nodes for trip in trips), len(numbers))
            for group in hidden
            for label in group.members
        ]
        self.ways: Ints = np.array(ways, dtype=np.int64)  #: the routes of each sight, as a position among ``routes``
        self.routes = list(numbers)  #: distinct ones, each with the nodes of every trip
        self._glances: dict[bytes, _Glance] = {}

    def alike(self, m: int | None) -> dict[Sight, Ints]:
        """Which sights look alike for m nodes of every trip: by these nodes, in the order of the first of each."""
        seen = [tuple(nodes[:m] for nodes in way) for way in self.routes]
        numbers = {key: at for at, key in enumerate(dict.fromkeys(seen))}
        alike = np.array([numbers[key] for key in seen], dtype=np.int64)
        return dict(zip(numbers, _split(alike[self.ways]), strict=True))

    def over_time(self, trip: int | None = None) -> Iterator[tuple[int, list[Ints]]]:
        """What looks alike after 1, 2, ... nodes of every trip, until the longest route has ended.

        With a ``trip``, after so many nodes of that one: trips before it were seen whole, later ones not yet.
        """
        steps = self._steps()
        before = [(at, each) for each in range(trip or 0) for at in range(steps.shape[2])]
        shown, longest = range(steps.shape[0]), steps.shape[2]
        if trip is not None:
            shown, longest = range(trip, trip + 1), max((len(way[trip]) for way in self.routes), default=0)
        alike = np.zeros(len(self.routes), dtype=np.int64)

        def split_by(alike: Ints, at: int, each: int) -> Ints:
            return np.unique(alike * (steps.max() + 2) + steps[each, :, at] + 1, return_inverse=True)[1]

        for at, each in before:
            alike = split_by(alike, at, each)
        num, groups = 0, _split(alike[self.ways])
        for at in range(longest):
            for each in shown:
                alike = split_by(alike, at, each)
            if alike.max() + 1 > num:
                num, groups = int(alike.max()) + 1, _split(alike[self.ways])
            yield at + 1, groups

    def _steps(self) -> Int32s:
        """The nodes of every trip and route in some numbering, -1 after the end."""
        longest = max((len(nodes) for way in self.routes for nodes in way), default=0)
        steps = np.full((len(self.problem.trips), len(self.routes), longest), -1, dtype=np.int32)
        numbers: dict[Label, int] = {}
        for at, way in enumerate(self.routes):
            for trip, nodes in enumerate(way):
                steps[trip, at, : len(nodes)] = [numbers.setdefault(node, len(numbers)) for node in nodes]
        return steps

    def figures(self, groups: Iterable[Ints]) -> RiskFigures:
        """What an observer makes of sights that look alike within each group."""
        glances = [glance for glance in map(self._glance, groups) if glance.total > 0]
        if not glances:
            return RiskFigures(None, None, None, None)
        return RiskFigures(
            max(min(1.0, glance.largest_area / glance.total) for glance in glances),
            max(min(1.0, glance.largest / glance.total) for glance in glances),
            min(1.0, math.fsum(glance.largest for glance in glances)),
            min(glance.num_possible for glance in glances),
        )

    def masses(self, group: Ints) -> tuple[Ints, Floats]:
        """Who is possible in a group, in the order of the sights, and how probable each is together with it."""
        candidates, first, at = np.unique(self.candidates[group], return_index=True, return_inverse=True)
        masses: Floats = np.bincount(at, self.joint[group], candidates.size).astype(np.float64)
        order = np.argsort(first)
        return candidates[order], masses[order]

    def spread_out(self, group: Ints) -> Floats:
        """How probable each of the problem's candidates is together with a group."""
        return np.bincount(self.candidates[group], self.joint[group], self.prior.size).astype(np.float64)

    def _glance(self, group: Ints) -> _Glance:
        # Ways part and never meet again, so that most groups are those of the step before.
        key = group.tobytes()
        if key not in self._glances:
            candidates, masses = self.masses(group)
            doors = np.unique(np.array(self.problem.candidate_nodes)[candidates], return_inverse=True)[1]
            at_doors = np.bincount(doors, masses)
            largest = largest_area = float(at_doors.max())
            if self._near is not None and candidates.size > 1:
                largest_area = max(largest, self._heaviest_area(candidates, masses))
            self._glances[key] = _Glance(math.fsum(masses.tolist()), largest, largest_area, int((at_doors > 0).sum()))
        return self._glances[key]

    def _heaviest_area(self, candidates: Ints, masses: Floats) -> float:
        """The largest mass of an area among some hidden candidates."""
        assert self._near is not None, "asked only when some are near each other"
        at = np.searchsorted(self._hidden, candidates)
        if self._areas is None:
            return heaviest_area(masses.tolist(), close_masks(self._near[np.ix_(at, at)]))
        return float((self._areas[:, at] @ masses).max(initial=0.0))

    def areas(self) -> list[list[int]] | None:
        """The maximal areas of two or more hidden candidates; ``None`` when there are too many to list."""
        if self._near is None:
            return []
        return None if self._areas is None else [self._hidden[row].tolist() for row in self._areas]

    def doors(self) -> list[list[int]]:
        """The hidden candidates at each node that has more than one of them."""
        names: dict[int, list[int]] = {}
        for candidate in self._hidden.tolist():
            names.setdefault(self.problem.candidate_nodes[candidate], []).append(candidate)
        return [each for each in names.values() if len(each) > 1]

    @cached_property
    def _areas(self) -> Flags | None:
        """Per maximal area of hidden candidates who is in it; ``None`` when there are too many to list."""
        return None if self._near is None else area_rows(self._near)

    @cached_property
    def _hidden(self) -> Ints:
        return np.unique(self.candidates)

    @cached_property
    def _near(self) -> Flags | None:
        """Per two hidden candidates whether they are closer than ell; ``None`` when nobody is close to anybody else."""
        domain, privacy = self.problem.domain, self.privacy
        nodes = [self.problem.candidate_nodes[i] for i in self._hidden.tolist()]
        is_far = privacy.measure != "straight" and len(set(nodes)) == len(nodes)
        if is_far and privacy.ell <= measured_domain(domain, privacy.measure).smallest_cost:
            return None  # before kernels are loaded
        from veilroute.covering.task import far_matrix

        near = ~far_matrix(domain, nodes, privacy)
        return near if near.sum() > len(near) else None


def draw_chances(candidates: Sequence[int], shares: Sequence[float | None]) -> Floats | None:
    """How probable it is that each entry is drawn when its candidate is the secret: by its share of the candidate's.

    Without shares it is certain. ``None`` when a candidate has several entries and no shares, or nothing but shares
    of 0.
    """
    by_candidate: dict[int, list[float | None]] = {}
    for candidate, share in zip(candidates, shares, strict=True):
        by_candidate.setdefault(candidate, []).append(share)
    totals: dict[int, float] = {}
    for candidate, own in by_candidate.items():
        given = [share for share in own if share is not None]
        totals[candidate] = math.fsum(given) if given else 1.0
        if len(given) < len(own) > 1 or totals[candidate] <= 0:
            return None
    chances = [1.0 if x is None else x / totals[c] for c, x in zip(candidates, shares, strict=True)]
    return np.array(chances)


def _split(numbers: Ints) -> list[Ints]:
    """The positions that have each number, in the order of the first of each."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order])) + 1
    groups = np.split(order, bounds) if numbers.size else []
    return sorted(groups, key=lambda group: int(group[0]))


@dataclass(frozen=True)
class SeenRoute:
    """One thing that an observer can see within the promise, and what is believed then."""

    classes: tuple[int, ...]  #: the anonymized classes that look like this, numbered from 1
    members: tuple[Label, ...]
    posterior: tuple[float, ...]  #: how probable each member is to whoever sees this; all 0 when it is never seen
    probability: float  #: how probable it is that this is seen


@dataclass(frozen=True)
class RiskStep:
    """What is known after the first m nodes of every trip."""

    m: int
    worst: float | None
    worst_place: float | None
    bayes_success: float | None
    num_possible: int | None

    @property
    def figures(self) -> RiskFigures:
        """All but m."""
        return RiskFigures(self.worst, self.worst_place, self.bayes_success, self.num_possible)


@dataclass(frozen=True)
class NoTrip:
    """What it says that no trip is seen where one was expected: the secret is one of those who get no route."""

    candidates: tuple[Label, ...]  #: who can be covered and gets no route
    posterior: tuple[float, ...]
    probability: float
    identified: Label | None  #: the one who can be meant, where all who can are at one node
    advice: str | None


@dataclass(frozen=True, repr=False)
class RiskReport:
    """How much a playbook tells an observer who knows how probable each candidate is."""

    worst: float | None  #: within the promise: the largest posterior of an area
    worst_place: float | None  #: and that of one node
    bayes_success: float | None  #: how often the best guess of a node is right, when the secret is a hidden candidate
    num_possible: int | None  #: how many nodes stay possible at least
    bound: float | None  #: what the playbook promises for ``worst`` under its own prior; ``None`` where it only counts
    hidden_mass: float  #: how probable it is that the secret is hidden, among the places that can be covered
    covered_mass: float  #: the same among all places
    routes: tuple[SeenRoute, ...]
    over_time: tuple[RiskStep, ...]  #: after 1, 2, ... nodes, beyond the promise as well
    no_trip: NoTrip
    privacy: Privacy
    names: Mapping[Label, str]
    num_trips: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data = {name: value for name, value in vars(self).items() if name not in ("privacy", "names", "num_trips")}
        for name in ("routes", "over_time"):
            data[name] = [_plain(each) for each in data[name]]
        return data | {"m": self.privacy.m, "ell": self.privacy.ell, "no_trip": _plain(self.no_trip)}

    def to_text(self) -> str:
        """For people: the figures, what each route gives away, how that grows on the way, and what no trip says."""
        report = self.exposures
        lines = report.to_lines()
        if not report.exposures:
            lines.insert(0, "No place is hidden that an observer could look for: there is no route to judge by.")
        else:
            if self.bound is not None:
                lines.append(f"Promised of every area, for the prior of the plan: at most {percent(self.bound)} sure.")
            lines += [*self._route_lines(), *self._time_lines()]
        return "\n".join([*lines, *self._no_trip_lines()]) + "\n"

    @property
    def exposures(self) -> ExposureReport:
        """What an observer can find out within the promise and, if that is only a part of the trip, in all."""
        last = self.over_time[-1:]
        figures = RiskFigures(self.worst, self.worst_place, self.bayes_success, self.num_possible)
        whole = last[0].figures if last else figures
        return _in_words(self.privacy, figures, whole, self.covered_mass, self.num_trips)

    def _route_lines(self) -> Iterator[str]:
        worst_first = sorted(self.routes, key=lambda route: -max(route.posterior))
        shown = [route for route in self.routes if route in worst_first[:_MAX_ROUTES]]
        for route in shown:
            numbers = ", ".join(map(str, route.classes))
            yield f"Class{'es' * (len(route.classes) > 1)} {numbers}, seen on {route.probability:.1%} of the trips:"
            for member, chance in sorted(zip(route.members, route.posterior, strict=True), key=lambda each: -each[1]):
                yield f"  {chance:6.1%} {'#' * round(_BAR * chance):{_BAR}} {self._name(member)}"
        if len(shown) < len(self.routes):
            yield f"The {len(self.routes) - len(shown)} others say less of each place."

    def _time_lines(self) -> Iterator[str]:
        first, last = self.over_time[0], self.over_time[-1]
        changes = [first, *(now for before, now in pairwise(self.over_time) if before.figures != now.figures)]
        if len(changes) > _MAX_STEPS:
            spread = {round(at * (len(changes) - 1) / (_MAX_STEPS - 1)) for at in range(_MAX_STEPS)}
            changes = [changes[at] for at in sorted(spread)]
        yield (
            "On the way, after this many nodes, for an observer who does not see where the vehicle stops: how often "
            "the best guess is right on average, and how sure the observer can be of an area at worst."
        )
        for step in [*changes, *([last] if changes[-1] is not last else [])]:
            yield f"  {step.m:6d} {step.bayes_success:8.1%} {step.worst:8.1%}"

    def _no_trip_lines(self) -> Iterator[str]:
        no_trip = self.no_trip
        if not no_trip.candidates:
            return
        who = ", ".join(map(self._name, no_trip.candidates[:_MAX_ROUTES]))
        more = len(no_trip.candidates) - _MAX_ROUTES
        who += f" and {more} others" if more > 0 else ""
        yield f"Places without a route, {no_trip.probability:.1%} of the trips: {who}."
        if no_trip.identified is not None:
            yield (
                "WARNING: an observer who expects a trip and sees none knows that the secret stop is "
                f"{self._name(no_trip.identified)}: no other place that can be reached is left out."
            )
        elif no_trip.advice is not None:
            yield "An observer who expects a trip and sees none knows that the secret stop is one of these."
        if no_trip.advice is not None:
            yield no_trip.advice

    def _name(self, label: Label) -> str:
        return self.names.get(label) or label_text(label)

    def __repr__(self) -> str:
        return f"<RiskReport: worst {self.worst}, Bayes success {self.bayes_success}, {len(self.routes)} routes>"


def _plain(record: object) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(record).items()}


def measure_risk(playbook: Playbook, prior: Prior | None = None) -> RiskReport:
    """What an observer believes who knows how probable each candidate is.

    Parameters
    ----------
    playbook
        With its domain.
    prior
        Weights parallel to the playbook's candidates, or by candidate; those of the playbook when left out, and the
        same for all where it has none. Under another prior than the planned one, classes are drawn as before.
    """
    sights = find_sights(playbook, prior)
    alike = list(sights.alike(playbook.privacy.m).values())
    label = playbook.candidates.__getitem__
    routes = []
    for group in alike:
        candidates, masses = sights.masses(group)
        total = math.fsum(masses.tolist())
        routes.append(
            SeenRoute(
                tuple(dict.fromkeys((sights.classes[group] + 1).tolist())),
                tuple(map(label, candidates.tolist())),
                tuple((masses / total if total else masses).tolist()),
                total * sights.covered_mass,
            )
        )
    return RiskReport(
        *sights.figures(alike),
        bound=playbook.privacy.beta,
        hidden_mass=sights.hidden_mass,
        covered_mass=sights.covered_mass,
        routes=tuple(routes),
        over_time=tuple(RiskStep(m, *sights.figures(groups)) for m, groups in sights.over_time()),
        no_trip=_find_no_trip(playbook, sights),
        privacy=playbook.privacy,
        names=playbook.names,
        num_trips=len(playbook.trips),
    )


def find_doors(playbook: Playbook) -> list[str]:
    """A line on places that share a node, where some do."""
    text = doors_text(playbook.problem.candidate_nodes[i] for i in playbook.problem.counted)
    return [] if text is None else [text]


def find_exposures(playbook: Playbook) -> ExposureReport:
    """What an observer can find out within the promise and, for a finite m, from the whole route."""
    sights = find_sights(playbook)
    promised, whole = (sights.figures(sights.alike(m).values()) for m in (playbook.privacy.m, None))
    near = near_share(playbook)
    report = _in_words(playbook.privacy, promised, whole, sights.covered_mass, len(playbook.trips), near)
    text = _building_text(sights, promised.worst)
    return report if text is None else replace(report, warnings=(*report.warnings, text))


def _building_text(sights: Sights, worst: float | None) -> str | None:
    """What to say when an observer can be surer of one building than of a place: names a few metres apart are two."""
    streets, privacy = sights.problem.domain.streets, sights.privacy
    if streets is None or worst is None:
        return None
    most = 0.0
    for group in sights.alike(privacy.m).values():
        candidates, masses = sights.masses(group)
        at = streets.lonlat[[sights.problem.candidate_nodes[i] for i in candidates.tolist()]]
        close = close_masks(great_circle_m(at[:, None], at[None, :]) < BUILDING_M)
        total = math.fsum(masses.tolist())
        if any(close) and total > 0:
            most = max(most, min(1.0, heaviest_area(masses.tolist(), close) / total))
    limit = max(worst, 1 / privacy.k if privacy.beta is None else privacy.beta)
    if most <= limit * (1 + ROUNDING):
        return None
    return (
        f"some places are so near each other that an observer can be {percent(most)} sure of an area less than "
        f"{BUILDING_M:g} m across, such as one building. Use --ell {BUILDING_M:g} --ell-measure straight, or more: "
        "then places that near do not hide each other."
    )


def near_share(playbook: Playbook) -> float:
    """How many of all pairs of candidates, as a share, stand closer to each other than ell; 0 without an ell.

    One sweep of the map for each candidate, cut off at ell.
    """
    problem, privacy = playbook.problem, playbook.privacy
    nodes = [problem.candidate_nodes[i] for i in problem.counted]
    num_pairs = len(nodes) * (len(nodes) - 1) // 2
    if not privacy.ell or not num_pairs:
        return 0.0
    from veilroute.covering.task import far_matrix  # here, because it loads kernels

    return 1 - int(far_matrix(problem.domain, nodes, privacy).sum()) / 2 / num_pairs


def _in_words(
    privacy: Privacy,
    promised: RiskFigures,
    whole: RiskFigures,
    covered_mass: float,
    num_trips: int,
    near: float = 0.0,
) -> ExposureReport:
    first, second = (
        (each.num_possible, each.worst_place, each.worst, each.bayes_success) for each in (promised, whole)
    )
    return report_exposures(privacy, first, second, hidden_mass=covered_mass, num_trips=num_trips, near_share=near)


def find_sights(playbook: Playbook, prior: Prior | None = None) -> Sights:
    """What can be seen of a playbook's hidden candidates under its own or another prior."""
    problem = playbook.problem
    if prior is not None:
        problem = replace(problem, prior=_prior_by_position(playbook, prior))
    return Sights(problem, playbook.privacy, playbook.classes)


def _prior_by_position(playbook: Playbook, prior: Prior) -> tuple[float, ...]:
    if not isinstance(prior, Mapping):
        return checked_prior(prior, len(playbook.candidates))
    known = set(playbook.candidates)
    for label in prior:
        if label not in known:
            raise InvalidInputError("prior", "weights of candidates only", label)
    missing = [label for label in playbook.candidates if label not in prior]
    if missing:
        raise InvalidInputError("prior", "a weight for every candidate", f"none for {playbook.name(missing[0])}")
    return checked_prior([prior[label] for label in playbook.candidates], len(playbook.candidates))


def _find_no_trip(playbook: Playbook, sights: Sights) -> NoTrip:
    label = playbook.candidates.__getitem__
    masses = sights.prior[sights.refused]
    total = math.fsum(masses.tolist())
    possible = [c for c, mass in zip(sights.refused, masses.tolist(), strict=True) if mass > 0]
    doors = {playbook.problem.candidate_nodes[c] for c in possible}
    advice = None
    if possible:
        advice = (
            "Another k, risk or distance apart may leave out no place, or more than one. Whatever you do for one of "
            "the places left out, do it for all of them or for none."
        )
    return NoTrip(
        tuple(map(label, sights.refused)),
        tuple((masses / total if total else masses).tolist()),
        total,
        label(possible[0]) if len(doors) == 1 else None,
        advice,
    )
