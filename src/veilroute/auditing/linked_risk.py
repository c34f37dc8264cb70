"""How much linked trips tell: three figures, as of every plan, with the auditor's own code."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from veilroute.auditing.apartness import ClassRule
from veilroute.auditing.sightings import Observer, Sight
from veilroute.model.exposure import across_text, figure_rows
from veilroute.model.problem import Privacy


class LinkedFigures(NamedTuple):
    """What an observer of all trips of one secret can find out; the worst case over the places that had a trip."""

    m: int | None  #: how many nodes are seen of each route
    num_possible: int  #: places that stay possible, at least
    worst_place: float  #: how sure an observer can be of one place
    worst_area: float  #: how sure of an area
    across: str

    @property
    def seen(self) -> str:
        """What is seen, in words."""
        nodes = "node" if self.m == 1 else f"{self.m} nodes"
        return "whole routes" if self.m is None else f"the first {nodes} of each route"

    def rows(self) -> list[tuple[str, str]]:
        """The figures as name and value, in the order of all reports."""
        return figure_rows(self.num_possible, self.worst_place, self.worst_area, self.across)


def observe_linked(observer: Observer, m: int | None) -> LinkedFigures | None:
    """Which places stay possible after all trips, and how probable that makes places and areas.

    How probable places are beforehand, and which are close together, is what each playbook says that had a trip of the
    secret; the worst of them counts. ``None`` when nobody had a trip.
    """
    rules = [_closeness(sight) for sight in observer.sights]
    shown = [{at for group in sight.shown for at in group} for sight in observer.sights]
    place_of = [{person: at for at, person in enumerate(numbers)} for numbers in observer.numbers]
    fewest, known = math.inf, dict[Hashable, tuple[float, float]]()
    for person in observer.hidden:
        own = [at for at, places in enumerate(place_of) if places.get(person, -1) in shown[at]]
        for story in observer.stories(person) if own else ():
            fewest = min(fewest, observer.num_doors(story))
            told = frozenset(story.items())
            for at in own:
                if (at, told) not in known:
                    chances = {place_of[at][who]: chance for who, chance in story.items() if who in place_of[at]}
                    known[at, told] = _surest(observer.sights[at], rules[at], chances)
    if not known:
        return None
    place, area = (max(column) for column in zip(*known.values(), strict=True))
    return LinkedFigures(m, int(fewest), place, area, _across([sight.privacy for sight in observer.sights]))


def _closeness(sight: Sight) -> ClassRule:
    """Which of a playbook's places are close to each other."""
    close = dict.fromkeys(range(len(sight.places)), 0)
    for one, other in (sorted(pair) for pair in sight.near if len(pair) == 2):
        close[one] |= 1 << other
        close[other] |= 1 << one
    return ClassRule(1, close, is_all_pairs=False)


def _surest(sight: Sight, rule: ClassRule, chances: Mapping[int, float]) -> tuple[float, float]:
    """How probable the likeliest place is, and the likeliest area."""
    masses = {at: sight.weights[at] * chance for at, chance in chances.items() if sight.weights[at] * chance > 0}
    total = math.fsum(masses.values())
    if not total > 0:
        return 0.0, 0.0
    doors: dict[Hashable, list[float]] = {}
    for at, mass in masses.items():
        doors.setdefault(sight.doors[at], []).append(mass)
    place = max(map(math.fsum, doors.values())) / total
    return min(1.0, place), min(1.0, max(place, rule.heaviest(masses).most / total))


def _across(privacies: Sequence[Privacy]) -> str:
    texts = dict.fromkeys(across_text(privacy) for privacy in privacies)
    return next(iter(texts)) if len(texts) == 1 else "an area less than its plan's distance apart across"
