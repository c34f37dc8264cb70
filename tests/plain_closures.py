"""An exact observer of closed roads, as plainly as it can be said.

It knows the playbook and what each class is told to do, sees a whole walk (or its first m nodes), and lists every
secret that could have led to it. It reads nothing that a replan says of an observer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random
from typing import Any, NamedTuple

import veilroute as vr
from reference import adjacency, distances
from strategies import COSTS, build_domain

Nodes = tuple[object, ...]


class Belief(NamedTuple):
    """What the observer makes of one walk: places that stay possible, how sure of a place, and of an area."""

    places: frozenset[object]
    worst_place: float
    worst_area: float


def is_close(book: vr.Playbook, graph: list[list[tuple[int, float]]], one: object, other: object) -> bool:
    a, b = book.problem.domain.node(one), book.problem.domain.node(other)
    ell = book.privacy.ell * (1 - 1e-9)
    return a == b or min(distances(graph, a)[b], distances(graph, b)[a]) < ell


def believe(book: vr.Playbook, masses: Mapping[object, float]) -> Belief:
    """By listing every set of pairwise close places."""
    graph = adjacency(book.problem.domain)
    at = {label: book.problem.domain.node(label) for label in masses}
    total = math.fsum(masses.values())
    some = [label for label, mass in masses.items() if mass > 0]
    close = {frozenset(pair) for pair in combinations(some, 2) if is_close(book, graph, *pair)}
    worst = 0.0
    for size in range(1, len(some) + 1):
        for area in combinations(some, size):
            if all(frozenset(pair) in close for pair in combinations(area, 2)):
                worst = max(worst, math.fsum(masses[label] for label in area))
    doors: dict[int, float] = {}
    for label in some:
        doors[at[label]] = doors.get(at[label], 0.0) + masses[label]
    return Belief(frozenset(doors), max(doors.values(), default=0.0) / (total or 1), worst / (total or 1))


def prior_of(book: vr.Playbook, number: int) -> dict[object, float]:
    """How probable each member of a class is together with it; exact fractions of the weights given."""
    group = book.hidden_classes[number - 1]
    if group.shares:
        return dict(zip(group.members, group.shares, strict=True))
    weights = dict(zip(book.candidates, book.prior or (1.0,) * len(book.candidates), strict=True))
    total = sum(map(Fraction, weights.values()))
    return {member: float(Fraction(weights[member]) / total) for member in group.members}


class Event(NamedTuple):
    """Something is closed when a walk has come so far; all that was closed before stays so."""

    walked: Nodes
    closure: vr.Closure
    choice: str | None


def events_of(made: vr.Replan) -> list[Event]:
    """What led to a replan, the first event first."""
    before = [] if made.after is None else events_of(made.after)
    return [*before, Event(made.walked, made.closure, made.choice)]


def drive(book: vr.Playbook, number: int, trip: int, events: list[Event], *, by_rule: bool) -> dict[object, Nodes]:
    """What a class is told to walk when all this happens, by member; nothing where it is told nothing.

    Its driver replans when something on the way has changed: by the rule, or with the choice that was made each time.
    What was closed before and did not concern it is told to the later replan, because it may have sent other classes
    the same way. A class that came another way counts if all that is promised was over before, or if a change on
    the road by which it would have parted was told to it there.
    """
    group, m, last = book.hidden_classes[number - 1], book.privacy.m, None
    walks = {member: tuple(group.route_of(member, trip).nodes) for member in group.members}
    for walked, closure, choice in events:
        here = len(walked) - 1
        if any(walk[: here + 1] != walked for walk in walks.values()):
            if m is not None and m <= here and all(walk[:m] == walked[:m] for walk in walks.values()):
                continue
            here = min(sum(walk[:num] == walked[:num] for num in range(1, here + 2)) for walk in walks.values()) - 1
            is_told = any(changes(closure, walk[here : here + 2]) for walk in walks.values())
            if not is_told or walked[here] in closure.nodes:
                return {}
        is_hit = any(changes(closure, walk[here:]) for walk in walks.values())
        found = vr.replan(book,
            number, walked[here], position=here, trip=trip, closed=closure.roads, closed_one_way=closure.one_way,
            closed_nodes=closure.nodes, costs=closure.costs, choice=None if by_rule else choice, after=last,
        )  # fmt: skip
        told = {member: found.walk_of(member) for member in group.members} if found.choice is not None else {}
        if is_hit and not told:
            return {}
        if is_hit or told == walks:
            last, walks = found, told
    return walks


def changes(closure: vr.Closure, walk: Nodes) -> bool:
    dear = {(a, b) for a, b, _ in closure.costs}
    return any(closure.shuts(a, b) or (a, b) in dear for a, b in pairwise(walk))


class Seen(NamedTuple):
    """What an observer makes of a way, listed, as :class:`veilroute.model.closure.Sighting` has it."""

    looks_like: tuple[int, ...]
    may_look_like: tuple[int, ...]
    num_together: int
    num_possible: int
    worst_place: float
    worst_area: float
    worst_covered: float  #: how sure of an area, if the secret is one of those whom the walk covers


def agrees(way: vr.Way, real: Seen) -> bool:
    """Whether a way says of an observer what the listing finds."""
    said = way.seen
    if said is None or said.worst_place is None or said.worst_area is None:
        return False
    names = ("looks_like", "may_look_like", "num_together", "num_possible")
    is_same = all(getattr(said, name) == getattr(real, name) for name in names)
    return is_same and all(
        math.isclose(getattr(said, name), getattr(real, name), rel_tol=1e-6) for name in ("worst_place", "worst_area")
    )


def should_keep(book: vr.Playbook, made: vr.Replan, way: vr.Way, real: Seen) -> bool:
    """Whether the promise holds for those who are left: by themselves and, if it is a risk, for all whom it covers."""
    is_kept = keeps_alone(book, made.number, way.left)
    return is_kept and (book.privacy.beta is None or real.worst_covered <= book.privacy.beta * (1 + 1e-9))


Walks = Mapping[object, Nodes]


def watch(book: vr.Playbook, made: vr.Replan, choice: str, seers: Mapping[object, set[object]]) -> Seen:
    """What an observer makes of one of the ways of a replan, whatever the drivers of other classes do."""
    *before, last = events_of(made)

    def others(choice: str, *, by_rule: bool) -> dict[int, Walks]:
        numbers = range(1, len(book.hidden_classes) + 1)
        events = [*before, last._replace(choice=choice)]
        return {at: drive(book, at, made.trip, events, by_rule=by_rule) for at in numbers if at != made.number}

    cases = [others(choice, by_rule=True), others("go-on", by_rule=False), others("give-up", by_rule=False)]
    way = made.going_on if choice == "go-on" else made.giving_up
    return listed(book, made.number, {t: made.walked[:-1] + way.rest_of(t) for t in made.members}, cases, seers)


def listed(
    book: vr.Playbook, number: int, mine: Walks, cases: list[dict[int, Walks]], seers: Mapping[object, set[object]]
) -> Seen:
    """What an observer makes of a class's walks; the first of the cases is what others do by the rule."""
    m = book.privacy.m

    def sight(walks: Walks) -> Nodes:
        return next(iter(walks.values()))[:m]

    def masses(at: int, walks: Walks, *, is_covered: bool) -> dict[object, float]:
        return {t: p for t, p in prior_of(book, at).items() if not is_covered or seers[t] & set(walks[t])}

    same = [{at: walks for at, walks in case.items() if walks and sight(walks) == sight(mine)} for case in cases]
    everyone = sorted(set().union(*same))
    beliefs: dict[bool, list[Belief]] = {True: [], False: []}
    for is_covered, found in beliefs.items():
        options = [
            [{}, *(masses(at, case[at], is_covered=is_covered) for case in same if at in case)] for at in everyone
        ]
        for company in product(*options):
            found.append(believe(book, add([masses(number, mine, is_covered=is_covered), *company])))
    alone = believe(book, masses(number, mine, is_covered=True))
    together = add([masses(at, walks, is_covered=True) for at, walks in {number: mine, **same[0]}.items()])
    return Seen(
        tuple(sorted({number, *same[0]})),
        tuple(at for at in everyone if at not in same[0]),
        len(believe(book, together).places),
        len(alone.places),
        max(each.worst_place for some in beliefs.values() for each in some),
        max(each.worst_area for some in beliefs.values() for each in some),
        max(each.worst_area for each in beliefs[True]),
    )


def add(parts: Iterable[Mapping[object, float]]) -> dict[object, float]:
    """Members that are drawn with several classes count for each."""
    found: dict[object, float] = {}
    for label, mass in (pair for part in parts for pair in part.items()):
        found[label] = found.get(label, 0.0) + mass
    return found


def seers_of(book: vr.Playbook, members: Iterable[object]) -> dict[object, set[object]]:
    """From where each candidate is seen: at its own node, which is all that these tests use."""
    assert isinstance(book.problem.visibility, vr.AtNode)
    domain = book.problem.domain
    return {member: {domain.label(domain.node(member))} for member in members}


def corridors(rng: Random) -> vr.Domain:
    """A few parallel corridors with some walls and doors: closed roads often leave one way only."""
    height, width = rng.choice([3, 5]), rng.randint(5, 8)
    rows = [["." if row % 2 == 0 or rng.random() < 0.35 else "@" for _ in range(width)] for row in range(height)]
    for row in rows[1::2]:
        row[0] = row[-1] = "."
    return vr.grid_domain(["".join(row) for row in rows])


def drawn_book(rng: Random) -> vr.Playbook | None:
    """A playbook of several classes, by k or under a risk, of a partition or drawn, for whole routes or a part."""
    domain = corridors(rng) if rng.random() < 0.6 else build_domain(rng, "tree", rng.choice(sorted(COSTS)), 9)
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    start, goal, *places = rng.sample(labels, min(len(labels), rng.randint(7, 9)))
    ell = rng.choice([0, 0, 1, 2, 3]) * domain.smallest_positive_cost
    privacy: dict[str, Any] = {"ell": ell}
    kind, prior = rng.choice(["k", "all-pairs", "risk", "risk", "drawn", "m"]), None
    if kind in ("risk", "drawn"):
        privacy |= {"risk": rng.choice([0.34, 0.5, 0.6])}
        prior = [rng.choice([1, 1, 2, 3]) for _ in places]
    else:
        privacy |= {"k": 2, "spread": "all-pairs" if kind == "all-pairs" else "witness"}
        prior = rng.choice([None, [rng.choice([1, 2]) for _ in places]])
    if kind == "drawn":
        privacy |= {"mechanism": "randomised"}
    if kind == "m":
        privacy |= {"m": rng.randint(2, 6)}
    book = vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], places, prior=prior), vr.Privacy(**privacy))
    return book if len(book.hidden_classes) > 1 else None


def keeps_alone(book: vr.Playbook, number: int, left: tuple[object, ...]) -> bool:
    """The promise for some members of a class, on the playbook's own map."""
    graph = adjacency(book.problem.domain)
    close = {pair for pair in combinations(left, 2) if is_close(book, graph, *pair)}
    if book.privacy.beta is not None:
        prior = prior_of(book, number)
        return (
            bool(left) and believe(book, {label: prior[label] for label in left}).worst_area <= book.privacy.beta + 1e-9
        )
    k = book.privacy.k
    if book.privacy.spread == "all-pairs":
        return len(left) >= k and not close
    return any(not close & set(combinations(some, 2)) for some in combinations(left, k))
