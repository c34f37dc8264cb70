"""What an observer can find out, in the words that people read: three figures, always together, and an average.

The planner's side (:mod:`veilroute.analysis.posterior`) and the auditor work the figures out each for itself. They
share these words and nothing else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from veilroute.model.problem import ROUNDING, Privacy

UNKNOWN = "not worked out"
_MANY_NEAR = 0.5  # the share of pairs closer than ell above which the ell may not be what was meant


@dataclass(frozen=True)
class Exposure:
    """What an observer who sees this much can find out."""

    seen: str  #: ``the whole route``, or ``the first 10 nodes of a route``
    across: str  #: ``an area less than 300 m driving across``
    num_possible: int  #: places that stay possible, at least
    worst_place: float  #: how sure an observer can be of one place, at worst
    worst_area: float  #: how sure of an area, at worst
    bayes_success: float  #: how often the best guess of a place is right, on average
    over: str = "all trips"  #: or ``the trips that are covered``

    def rows(self) -> list[tuple[str, str]]:
        """The figures as name and value, in their order."""
        guess = ("Best guess of a place", guess_text(self.bayes_success, self.over))
        return [*figure_rows(self.num_possible, self.worst_place, self.worst_area, self.across), guess]


@dataclass(frozen=True)
class ExposureReport:
    """What observers can find out of a playbook: one who sees what it makes promises about, and one who sees all."""

    exposures: tuple[Exposure, ...] = ()  #: empty when no place is hidden
    warnings: tuple[str, ...] = ()  #: why the state is not green although the playbook keeps its word
    #: What may not be meant as it was asked; the state stays green.
    notes: tuple[str, ...] = field(default=(), repr=False)

    def rows(self) -> list[tuple[str, str]]:
        """All of it as name and value."""
        rows = []
        for each in self.exposures:
            rows += [("An observer who sees", each.seen), *each.rows()]
        return [*rows, *(("Warning", text) for text in (*self.warnings, *self.notes))]

    def to_lines(self) -> list[str]:
        """The same for a terminal."""
        lines = []
        for each in self.exposures:
            lines += [f"An observer who sees {each.seen}:", *row_lines(each.rows())]
        return [*lines, *(f"Warning: {text}" for text in (*self.warnings, *self.notes))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for pages."""
        seats = [{"seen": each.seen, "rows": [list(row) for row in each.rows()]} for each in self.exposures]
        return {"seats": seats, "warnings": list(self.warnings), "notes": list(self.notes)}


def figure_rows(
    num_possible: int | None,
    worst_place: float | None,
    worst_area: float | None,
    across: str,
    *,
    is_of_orders: bool = False,
) -> list[tuple[str, str]]:
    """The three figures as name and value, in their order; ``None`` for one that was not worked out.

    Of a fleet they are about orders: which places may be behind one, and how sure it is that there is one.
    """
    order = "an order at " if is_of_orders else ""
    in_area = "an order in " if is_of_orders else ""
    first = "Places that may be behind an order" if is_of_orders else "Places that stay possible"
    return [
        (first, UNKNOWN if num_possible is None else f"at least {num_possible}"),
        (f"How sure of {order}one place", UNKNOWN if worst_place is None else f"at most {percent(worst_place)}"),
        (f"How sure of {in_area}{across}", UNKNOWN if worst_area is None else f"at most {percent(worst_area)}"),
    ]


def guess_text(bayes_success: float, over: str) -> str:
    """How often a best guess is right, and over what that is averaged."""
    return f"right {percent(bayes_success)} of the time, averaged over {over}"


def row_lines(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Figures for a terminal, values below each other."""
    width = max((len(name) for name, _ in rows), default=0) + 1
    return [f"  {name + ':':{width}} {value}" for name, value in rows]


Figures = tuple[int | None, float | None, float | None, float | None]
"""Places that stay possible, how sure of one place, how sure of an area, Bayes success; ``None`` if none is hidden."""


def report_exposures(
    privacy: Privacy,
    promised: Figures,
    whole: Figures,
    *,
    hidden_mass: float | None,
    num_trips: int = 1,
    near_share: float = 0.0,
) -> ExposureReport:
    """Put figures into words.

    Parameters
    ----------
    privacy
        What is promised.
    promised, whole
        The figures of an observer who sees what is promised about, and of one who sees all.
    hidden_mass
        How probable it is that the secret is hidden; ``None`` if that is not known.
    num_trips
        How many trips the observer links.
    near_share
        How many of all pairs of places, as a share, are closer together than ell.
    """
    trips = "" if num_trips == 1 else f" of {'both' if num_trips == 2 else f'all {num_trips}'} trips"
    across = across_text(privacy)
    over = "all trips" if uncovered_text(hidden_mass) is None else "the trips that are covered"
    seen = [(f"the whole route{trips}", whole)]
    if privacy.m is not None:
        nodes = "node" if privacy.m == 1 else f"{privacy.m:,} nodes"
        seen.insert(0, (f"the first {nodes} of a route" if not trips else f"the first {nodes}{trips}", promised))
    exposures = tuple(
        Exposure(text, across, num or 0, place or 0.0, area, bayes or 0.0, over)
        for text, (num, place, area, bayes) in seen
        if area is not None
    )
    warnings = (uncovered_text(hidden_mass), _area_text(privacy, exposures))
    notes = () if near_share <= _MANY_NEAR else (_near_text(privacy, near_share),)
    return ExposureReport(exposures, tuple(text for text in warnings if text is not None), notes)


def _near_text(privacy: Privacy, near_share: float) -> str:
    """That most places are closer together than ell, which may then not be what was meant."""
    ell = f"ell={privacy.distance_text}"
    return f"{near_share:.0%} of all pairs of places are closer together than {ell}. Is this distance too large?"


def across_text(privacy: Privacy) -> str:
    """What an observer is sure of: ``an area less than 300 m across``."""
    return f"an {area_text(privacy)}" if privacy.ell > 0 else "an area (here, a single place)"


def area_text(privacy: Privacy) -> str:
    """What a risk is about, after "no" or "any": ``area less than 300 m across``, or ``place`` with an ell of 0."""
    return f"area less than {privacy.distance_text} across" if privacy.ell > 0 else "place"


def uncovered_text(hidden_mass: float | None) -> str | None:
    """How many trips a plan does not cover, because it refuses some places; ``None`` when it covers all."""
    if hidden_mass is None or hidden_mass >= 1 - ROUNDING:
        return None
    return f"{percent(1 - hidden_mass)} of trips are not covered by this plan: their places get no route."


def _area_text(privacy: Privacy, exposures: Sequence[Exposure]) -> str | None:
    """What to say when an area is likelier than 1 / k, or than what is promised; ``None`` when it is not."""
    limit = 1 / privacy.k if privacy.beta is None else privacy.beta
    if not exposures or exposures[0].worst_area <= limit * (1 + ROUNDING):
        return None
    first, is_place = exposures[0], exposures[0].worst_area <= exposures[0].worst_place
    told = f"an observer who sees {first.seen} can be {percent(first.worst_area)} sure of "
    told += "one place" if is_place else first.across
    if privacy.beta is not None:
        promised = f"the {percent(privacy.beta)} that this plan promises for the prior it was made with"
        return f"{told}, more than {promised}. Audit it before you use it."
    risk = math.ceil(1e4 / privacy.k) / 1e4
    return (
        f"{told}, more than 1/k = {percent(limit)}. Use --risk {risk:g} instead of "
        f"-k {privacy.k} to limit this; a larger k often lowers it."
    )


def doors_text(nodes: Iterable[Hashable]) -> str | None:
    """That several names are at one node, of the nodes of all places; ``None`` when each has one for itself."""
    shared = [num for num in Counter(nodes).values() if num > 1]
    if not shared:
        return None
    doors = f"{len(shared)} door{'' if len(shared) == 1 else 's'}"
    return f"{sum(shared)} names share {doors}. An observer who finds the door has found them all, so k counts doors."


def percent(share: float) -> str:
    """A share as people say it: ``41.2%``, ``50%``."""
    return f"{100 * share:.3g}%"
