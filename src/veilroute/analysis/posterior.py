"""What an observer believes who has seen a route: how probable each place is then (the posterior).

The observer knows the playbook, and beforehand how probable each candidate is: the prior over those that can be
covered. *Hidden* candidates are the members of anonymized classes. What is seen of them within the promise is the first
m nodes of every trip, so classes whose routes begin alike are one sight. Figures:

- **worst**: the largest posterior of an area: candidates that are pairwise closer than ell, or at one node.
- **worst place**: the largest posterior of one node. Candidates at the same node add up: it is one door.
- **Bayes success**: how often an observer who bets on the most probable node is right.

:func:`measure_risk` is ``vr.risk``; :class:`Sights` is what it counts, and what the observers look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from veilroute.base.errors import InvalidInputError
from veilroute.domain.geography import great_circle_m
from veilroute.domain.graph import Label, label_text
from veilroute.model.areas import close_masks, heaviest_area
from veilroute.model.exposure import ExposureReport, doors_text, percent, report_exposures
from veilroute.model.playbook import Playbook
from veilroute.model.problem import ROUNDING, Privacy, checked_prior
from veilroute.planners.sights import RiskFigures, Sights

Prior = Sequence[float] | Mapping[Label, float]  #: weights parallel to the candidates, or by candidate

_BAR = 30  #: characters of a bar that stands for certainty
_MAX_ROUTES, _MAX_STEPS = 20, 10  #: shown to people at most

BUILDING_M = 50.0
"""Places on streets that are closer together than this, as the crow flies, may be one building to an observer."""


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
