"""A simulated observer: someone on the street who sees which routes are driven, and works out what that tells.

Planner and auditor share no code, but they share definitions, and a definition can be wrong. This observer reads no
claim, no group and no definition of theirs. It holds what is public: the map, the places, how probable each is, and the
program. It asks the program the only question there is, "what would the vehicle do if the secret were this place?",
for every place and for every draw. Then it knows which places could have led to what it sees, and with Bayes' rule how
probable each of them is. Distances are its own, by a plain Dijkstra search from every place.

What it achieves is compared with what is printed (:class:`Comparison`). `veilroute audit --simulate` does that, and so
do the tests, over random scenarios of every feature.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, pairwise, permutations, product
from random import Random
from typing import Any, NamedTuple

import numpy as np

from veilroute.base.errors import BrokenPromiseError, NotAnonymizedError
from veilroute.base.keys import Key

Place = Hashable  #: the label of a candidate
Seen = Any  #: anything that can be seen, hashable
Beliefs = Mapping[Any, float]  #: how probable each place is, not yet divided by their sum

MAX_RUNS = 50_000  #: how often the program is asked about the draws of one secret, before draws are sampled
NUM_SAMPLES = 4_000  #: how many draws are sampled then, with a fixed seed
_MAX_STEPS = 400_000  #: in a search for areas or for places that are apart
_MOST_PLACES = 14  #: of so many places all sets of orders are tried
_FEW = 64  #: a draw among so many numbers tries each of them
_NUM_PROBES = 33  #: of a draw among more numbers, so many are tried before the search between two that differ
_NUM_HALVINGS = 64  #: then an end is known to a part of the draw that is no chance worth speaking of
_NUM_CONFIRMED = 50  #: random runs that must show what was worked out
_MOST_RANKS = 6  #: of so many numbers all orders are tried
_EARTH_M = 6_371_008.8
_NEARLY = 1e-9  #: sums in another order may differ by as much, relatively


# ----------------------------------------------------------------------------------------------------------------------
# The map


class StreetMap:
    """Which places are at one node and which are less than ``ell`` apart, measured from every place."""

    def __init__(self, domain: Any, places: Iterable[Place], ell: float = 0.0, measure: str = "cost") -> None:
        self.node = {place: domain.node(place) for place in places}
        nodes = sorted(set(self.node.values()))
        limit = ell * (1 - _NEARLY)
        reach = (
            _straight_reach(domain, nodes, limit)
            if measure == "straight"
            else _walking_reach(domain, nodes, limit, measure)
        )
        #: Per node the others that are less than ell from it, or from which it is.
        self.close: dict[int, set[int]] = {a: set() for a in nodes}
        for a, near in reach.items():
            for b in near:
                if b != a and b in self.close:
                    self.close[a].add(b)
                    self.close[b].add(a)
        self._areas: dict[tuple[tuple[int, float], ...], float] = {}

    def by_node(self, beliefs: Beliefs) -> dict[int, float]:
        """How probable each node is: names at one node are one door."""
        masses: dict[int, list[float]] = {}
        for place, mass in beliefs.items():
            if mass > 0:
                masses.setdefault(self.node[place], []).append(mass)
        return {node: math.fsum(parts) for node, parts in sorted(masses.items())}

    def heaviest_area(self, masses: Mapping[int, float]) -> float:
        """The most that nodes weigh together of which any two are less than ell apart: all such sets are tried.

        After very many sets it is the heaviest that was found: what an observer achieves who gives up then.
        """
        key = tuple(sorted(masses.items()))
        if key not in self._areas:
            steps, best = 0, max(masses.values(), default=0.0)
            todo: list[tuple[tuple[int, ...], set[int]]] = []
            todo += [((), set(masses))] if any(self.close[node] & masses.keys() for node in masses) else []
            while todo and steps < _MAX_STEPS:
                steps += 1
                area, rest = todo.pop()
                best = max(best, math.fsum(masses[node] for node in area))
                if math.fsum(masses[node] for node in (*area, *rest)) <= best:
                    continue
                # With the next node, whose company must be close to it, or without it.
                node = max(rest, key=lambda each: (len(self.close[each] & rest), -each))
                todo.append((area, rest - {node}))
                todo.append(((*area, node), rest & self.close[node]))
            self._areas[key] = best
        return self._areas[key]

    def maximal_areas(self) -> list[frozenset[int]] | None:
        """All sets of nodes that are pairwise less than ell apart and part of no larger one; ``None`` if too many."""
        found: list[frozenset[int]] = []
        todo = [(frozenset[int](), frozenset(self.close), frozenset[int]())]
        for _ in range(_MAX_STEPS):
            if not todo:
                return found
            area, rest, done = todo.pop()
            if not rest:
                found += [] if done or not area else [area]
                continue
            node = min(rest)
            todo.append((area, rest - {node}, done | {node}))
            todo.append((area | {node}, rest & self.close[node], done & self.close[node]))
        return None

    def num_apart(self, nodes: Iterable[int]) -> int | None:
        """How many of some nodes there are at most with no two less than ell apart; ``None`` if it takes too long."""
        budget = [_MAX_STEPS]

        def most(rest: frozenset[int]) -> int:
            found = 0
            while rest:
                budget[0] -= 1
                if budget[0] < 0:
                    raise TimeoutError
                node = min(rest, key=lambda each: (len(self.close[each] & rest), each))
                near = self.close[node] & rest
                if all(b in self.close[a] for a, b in combinations(near, 2)):
                    found, rest = found + 1, rest - near - {node}  # at most one of them can be taken: this one
                    continue
                node = max(near, key=lambda each: (len(self.close[each] & rest), -each))
                return found + max(most(rest - {node}), 1 + most(rest - {node} - self.close[node]))
            return found

        try:
            return most(frozenset(nodes))
        except TimeoutError:
            return None


def _walking_reach(domain: Any, nodes: Sequence[int], limit: float, measure: str) -> dict[int, set[int]]:
    """Per node what can be reached from it over less than the limit."""
    lengths = domain.costs if measure == "cost" else domain.streets.shortest
    ends, heads = domain.indptr.tolist(), domain.indices.tolist()
    ahead: list[list[tuple[int, float]]] = [[] for _ in range(domain.num_nodes)]
    for tail, (first, last) in enumerate(pairwise(ends)):
        for head, length in zip(heads[first:last], lengths[first:last].tolist(), strict=True):
            ahead[tail].append((head, length))
            if measure == "walking":
                ahead[head].append((tail, length))
    found: dict[int, set[int]] = {}
    for source in nodes:
        best: dict[int, float] = {}
        queue: list[tuple[float, int]] = [(0.0, source)] if limit > 0 else []
        while queue:
            there, node = heapq.heappop(queue)
            if node not in best:
                best[node] = there
                for head, length in ahead[node]:
                    if there + length < limit:
                        heapq.heappush(queue, (there + length, head))
        found[source] = set(best)
    return found


def _straight_reach(domain: Any, nodes: Sequence[int], limit: float) -> dict[int, set[int]]:
    """The same as the crow flies, by the haversine of the angle between two places on earth."""
    lonlat = {node: np.radians(domain.streets.lonlat[node]).tolist() for node in nodes}
    found: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in combinations(nodes, 2):
        (west, south), (east, north) = lonlat[a], lonlat[b]
        part = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
        if 2 * _EARTH_M * math.asin(min(1.0, math.sqrt(part))) < limit:
            found[a].add(b)
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Draws


class _Dice(Key):
    """A key whose numbers the observer chooses, so that it can look at everything that a draw may give.

    Numbers that the program asks for with the same words come out the same, as those of a real key do; with other words
    they are independent of each other.
    """

    def __init__(self, pick: Callable[[int, int], int]) -> None:
        super().__init__(bytes(32))
        self.pick, self.totals, self.marks = pick, list[int](), list[int]()
        self.names = list[tuple[tuple[bytes, ...], int]]()
        self._known: dict[tuple[tuple[bytes, ...], int], tuple[int, int]] = {}

    def numbers(self, *parts: bytes) -> Callable[[int], int]:
        asked = [0]

        def below(total: int) -> int:
            name, asked[0] = (parts, asked[0]), asked[0] + 1
            if name not in self._known:
                self._known[name] = self.pick(len(self.totals), total), total
                self.totals.append(total)
                self.names.append(name)
            value, range_ = self._known[name]
            return value if range_ == total else value * total // range_

        return below


class Outcomes(NamedTuple):
    """What may be seen, with its chance."""

    chances: Mapping[Seen, float]
    is_sampled: bool = False


def try_draws(run: Callable[[Key], Seen], *, seed: int = 0, max_runs: int = MAX_RUNS) -> Outcomes:
    """Everything that a run of the program may show, over all that it may draw, with the chance of each.

    A draw among few numbers is tried with each of them. Among many, neighbours for which the program hands out the very
    same route stand together; where one ends and the next begins is found by halving. Where only the order of several
    numbers counts, all orders are tried. Some random runs must then show what was found, or draws are sampled.
    """
    by_stretches = partial(_by_stretches, max_runs=max_runs)
    for search in (partial(by_stretches, is_alike=True), by_stretches, _by_order):
        try:
            cases = search(run)
        except TimeoutError:
            continue
        if cases is not None and _is_confirmed(run, cases, Random(seed)):
            chances: dict[Seen, list[float]] = {}
            for case in cases:
                chances.setdefault(case.seen, []).append(case.chance)
            return Outcomes({seen: math.fsum(parts) for seen, parts in chances.items()})
    rng = Random(seed)
    drawn = Counter(run(_Dice(lambda _, total: rng.randrange(total))) for _ in range(NUM_SAMPLES))
    return Outcomes({seen: num / NUM_SAMPLES for seen, num in drawn.items()}, is_sampled=True)


class _Case(NamedTuple):
    """Numbers for which a run shows the same."""

    seen: Seen
    chance: float
    covers: Callable[[Sequence[int]], bool]


def _is_confirmed(run: Callable[[Key], Seen], cases: Sequence[_Case], rng: Random) -> bool:
    for _ in range(_NUM_CONFIRMED if len(cases) > 1 else 1):
        values: list[int] = []

        def pick(_: int, total: int, values: list[int] = values) -> int:
            values.append(rng.randrange(total))
            return values[-1]

        seen = run(_Dice(pick))
        if [case.seen for case in cases if case.covers(values)] != [seen]:
            return False
    return True


def _by_stretches(run: Callable[[Key], Seen], *, max_runs: int, is_alike: bool = False) -> list[_Case]:
    """One draw after the other; what one decides must not depend on what others do.

    With ``is_alike`` the stretches of a draw are looked for once, and taken for the same whatever was drawn before.
    """
    budget, known = [max_runs], dict[Hashable, list[tuple[int, int]]]()

    def throw(script: Sequence[int]) -> tuple[Seen, _Dice]:
        budget[0] -= 1
        if budget[0] < 0:
            raise TimeoutError
        dice = _Dice(lambda at, total: script[at] if at < len(script) else 0)
        return run(dice), dice

    def mark(script: Sequence[int]) -> Hashable:
        seen, dice = throw(script)
        return seen, tuple(dice.marks)

    def explore(box: tuple[tuple[int, int], ...], chance: float) -> Iterator[_Case]:
        script = tuple(first for first, _ in box)
        seen, dice = throw(script)
        if len(dice.totals) <= len(script):
            yield _Case(seen, chance, lambda values: _is_inside(values, box))
            return
        total, name = dice.totals[len(script)], (dice.names[len(script)] if is_alike else script)
        if name not in known:
            known[name] = _stretches(lambda value: mark((*script, value)), total)
        for first, last in known[name]:
            yield from explore((*box, (first, last)), chance * ((last - first) / total))

    return list(explore((), 1.0))


def _is_inside(values: Sequence[int], box: Sequence[tuple[int, int]]) -> bool:
    return len(values) == len(box) and all(a <= value < b for value, (a, b) in zip(values, box, strict=True))


def _stretches(outcome: Callable[[int], Seen], total: int) -> list[tuple[int, int]]:
    """Stretches of the numbers below a total that give the same outcome, as first and last excluded."""
    if total <= _FEW:
        return [(value, value + 1) for value in range(total)]
    probes = sorted({total * at // (_NUM_PROBES - 1) for at in range(_NUM_PROBES - 1)} | {total - 1})
    found = {value: outcome(value) for value in probes}
    ends = []
    for low, high in pairwise(probes):
        while found[low] != found[high]:  # several may end between two probes
            end, beyond = low, high
            while beyond - end > max(1, total >> _NUM_HALVINGS):
                middle = (end + beyond) // 2
                found[middle] = outcome(middle)
                end, beyond = (middle, beyond) if found[middle] == found[low] else (end, middle)
            ends.append(beyond)
            low = beyond
    return list(pairwise([0, *ends, total]))


def _by_order(run: Callable[[Key], Seen]) -> list[_Case] | None:
    """Several numbers of which only the order counts, such as ranks; ``None`` if there are too many of them."""
    dice = _Dice(lambda at, _: at)
    run(dice)
    num = len(dice.totals)
    if num > _MOST_RANKS or len(set(dice.totals)) > 1:
        return None
    cases = []
    for order in permutations(range(num)):

        def covers(values: Sequence[int], order: tuple[int, ...] = order) -> bool:
            return sorted(range(len(values)), key=values.__getitem__) == sorted(range(num), key=order.__getitem__)

        seen = run(_Dice(partial(_ranked, order)))
        cases.append(_Case(seen, 1 / math.factorial(num), covers))
    return cases


def _ranked(order: Sequence[int], at: int, _: int) -> int:
    return order[at] if at < len(order) else 0


# ----------------------------------------------------------------------------------------------------------------------
# What is seen, and what it tells


class Sights(NamedTuple):
    """Per thing that can be seen, how probable it is together with each place."""

    beliefs: Mapping[Seen, Beliefs]
    is_sampled: bool


def watch(weights: Beliefs, run: Callable[[Place, Key], Seen | None]) -> Sights:
    """Try every secret and every draw; ``run`` gives what is seen, or nothing if there is no trip."""
    sights: dict[Seen, dict[Place, float]] = {}
    is_sampled = False
    for place, weight in weights.items():
        found = try_draws(partial(run, place))
        is_sampled |= found.is_sampled
        for seen, chance in found.chances.items():
            if seen is not None:
                sights.setdefault(seen, {})[place] = weight * chance
    return Sights(sights, is_sampled)


class Findings(NamedTuple):
    """What the observer achieves; over all that it may see the worst, and on average."""

    num_possible: int  #: how many nodes could have led to it, at least
    num_apart: int | None  #: how many of these are pairwise at least ell apart, at least
    worst_place: float  #: how probable one node is, at most
    worst_area: float  #: how probable nodes are of which any two are less than ell apart, at most
    bayes_success: float  #: how often the node is right that it takes for the most probable
    worst_ball: float  #: how probable one node is with all that are less than ell from it, at most


def judge_sights(sights: Iterable[Beliefs], streets: StreetMap) -> Findings | None:
    """What someone achieves who sees one of these; ``None`` if nothing of it can happen."""
    num_possible, num_apart, place, area, ball = math.inf, math.inf, 0.0, 0.0, 0.0
    right, all_of_it = [], []
    for beliefs in sights:
        masses = streets.by_node(beliefs)
        total = math.fsum(masses.values())
        if not total > 0:
            continue
        num_possible = min(num_possible, len(masses))
        apart = streets.num_apart(masses)
        num_apart = min(num_apart, math.inf if apart is None else apart)
        place = max(place, max(masses.values()) / total)
        area = max(area, streets.heaviest_area(masses) / total)
        near = ({centre, *others} & masses.keys() for centre, others in streets.close.items())
        ball = max(ball, *(math.fsum(masses[node] for node in some) / total for some in near))
        right.append(max(masses.values()))
        all_of_it.append(total)
    if not all_of_it:
        return None
    apart = None if num_apart == math.inf else int(num_apart)
    success = math.fsum(right) / math.fsum(all_of_it)
    return Findings(int(num_possible), apart, min(1.0, place), min(1.0, area), min(1.0, success), min(1.0, ball))


def weights_of(playbook: Any) -> dict[Place, float]:
    """How probable each place of a playbook is beforehand, in some unit."""
    prior = playbook.prior or (1.0,) * len(playbook.candidates)
    return dict(zip(playbook.candidates, prior, strict=True))


def drive(
    playbook: Any, secret: Place, key: Key | None = None, occasion: str = ""
) -> tuple[tuple[Any, ...], ...] | None:
    """The nodes of every trip that the vehicle drives for a secret; ``None`` if the program gives no route."""
    routes = _ask(playbook, secret, key, occasion)
    return None if routes is None else tuple(tuple(route.nodes) for route in routes)


def _ask(playbook: Any, secret: Place, key: Key | None, occasion: str = "") -> list[Any] | None:
    key = key if playbook.is_randomised else None
    try:
        trips = range(len(playbook.trips))
        routes = [playbook.route_for(secret, trip, key=key, occasion=occasion) for trip in trips]
    except (NotAnonymizedError, BrokenPromiseError):
        return None
    if isinstance(key, _Dice):
        key.marks += map(id, routes)  # which of several that look the same it is
    return routes


def first_nodes(sights: Sights, m: int | None, trip: int | None = None) -> list[dict[Place, float]]:
    """What is believed after the first m nodes of every trip, or of one: routes that begin alike are one sight."""
    alike: dict[Seen, dict[Place, float]] = {}
    for routes, beliefs in sights.beliefs.items():
        shown = routes if trip is None else routes[trip : trip + 1]
        mine = alike.setdefault(tuple(nodes[:m] for nodes in shown), {})
        for place, mass in beliefs.items():
            mine[place] = mine.get(place, 0.0) + mass
    return list(alike.values())


def along(sights: Sights, streets: StreetMap, trip: int | None = None) -> Iterator[tuple[int, Findings]]:
    """What is achieved after 1, 2, ... nodes of every trip, or of one, until the longest route has ended."""
    longest = max((len(nodes) for routes in sights.beliefs for nodes in routes), default=0)
    num, found = 0, None
    for m in range(1, longest + 1):
        alike = first_nodes(sights, m, trip)
        if len(alike) != num:  # routes that have parted never look alike again
            num, found = len(alike), judge_sights(alike, streets)
        if found is not None:
            yield m, found


def guess(sights: Sights, streets: StreetMap, num: int, *, seed: int = 0) -> float | None:
    """How often the best guess is right on simulated trips, drawn with a fixed seed; ``None`` if there are no trips."""
    trips = [
        (streets.by_node({place: mass}), streets.by_node(beliefs))
        for beliefs in sights.beliefs.values()
        for place, mass in beliefs.items()
    ]
    weights = [sum(masses.values()) for masses, _ in trips]
    if not any(weights):
        return None
    rng = Random(seed)
    drawn = rng.choices(trips, weights, k=num)
    return sum(max(masses, key=masses.__getitem__) in secret for secret, masses in drawn) / num


# ----------------------------------------------------------------------------------------------------------------------
# Linked days


class DayOut(NamedTuple):
    """The trips of one day: by which playbook, on which occasion they are drawn, and who the places are."""

    playbook: Any
    occasion: str | None = None  #: ``None`` for an occasion of its own
    person: Callable[[Place], Hashable] = lambda place: place  #: who a place is, on all days
    #: What is driven for a place in place of what the playbook has; whoever has nothing then need not have no trip.
    instead: Callable[[Place], tuple[tuple[Any, ...], ...] | None] | None = None


class Linked(NamedTuple):
    """What may be believed about somebody whose trips on some days are linked."""

    person: Hashable
    days: tuple[int, ...]  #: that are linked, by position
    possible: Mapping[Hashable, float]  #: who may be meant, with the chance of what was seen


def link_days(
    days: Sequence[DayOut],
    *,
    is_expected: bool,
    lengths: Sequence[int | None] | None = None,
    subsets: bool = False,
    others: Iterable[Hashable] = (),
) -> list[Linked]:
    """Everything that can be believed of somebody after linking all trips or, with ``subsets``, any of them.

    If trips are expected, the observer also knows on which days somebody has none. If they are occasional, a day
    without a trip says nothing: then only the days of a trip are linked. ``lengths`` says how many nodes are seen of
    the trips of each day; whole routes if it is left out. ``others`` are known as well and have no trip on these days.
    """
    labels = [{day.person(place): place for place in day.playbook.candidates} for day in days]
    seen_of_day = lengths or [None] * len(days)
    routes: dict[Hashable, Mapping[Any, float]] = {}
    for person in dict.fromkeys([*(person for own in labels for person in own), *others]):

        def run(key: Key, person: Hashable = person) -> Seen:
            trips = []
            for at, (day, own, m) in enumerate(zip(days, labels, seen_of_day, strict=True)):
                occasion = f"day {at}" if day.occasion is None else day.occasion
                found = None
                if person in own and day.instead is not None:
                    found = day.instead(own[person])
                elif person in own:
                    found = drive(day.playbook, own[person], key, occasion)
                trips.append(None if found is None else tuple(nodes[:m] for nodes in found))
            return tuple(trips)

        routes[person] = try_draws(run).chances
    every = tuple(range(len(days)))
    chosen = [some for size in every for some in combinations(every, size + 1)] if subsets else [every]
    found: dict[tuple[Seen, ...], Linked] = {}
    for linked, (person, own) in product(chosen, routes.items()):
        for trips in own:
            shown = tuple(at for at in linked if trips[at] is not None or (is_expected and days[at].instead is None))
            seen = tuple(trips[at] for at in shown)
            if any(seen) and (person, shown, seen) not in found:
                possible = {
                    other: math.fsum(chance for way, chance in ways.items() if tuple(way[at] for at in shown) == seen)
                    for other, ways in routes.items()
                }
                found[person, shown, seen] = Linked(person, shown, {who: c for who, c in possible.items() if c > 0})
    return list(found.values())


# ----------------------------------------------------------------------------------------------------------------------
# Closed roads


class Detour(NamedTuple):
    """What the program says of a way around closed roads, and what is seen then."""

    seen: tuple[Any, ...]  #: all nodes, from the start on
    entry: Any  #: the last replan; ``None`` if the route does not use what has changed
    has_stop: bool  #: whether the secret is among those that the program says are still covered


class News(NamedTuple):
    """Roads that are not as they were from now on, and when vehicles hear of it."""

    closure: Any  #: roads, one_way, nodes and costs, as a replan has them
    known_at: int | None = None  #: the position on a route at which its vehicle knows; ``None`` where it meets them


def drive_around(
    playbook: Any,
    secret: Place,
    news: Sequence[News],
    *,
    key: Key | None = None,
    trip: int = 0,
    choice: str | None = None,
    otherwise: str = "go-on",
    entries: Sequence[Any] | None = None,
    given: Any = None,
    known: dict[Hashable, Any] | None = None,
    replan: Callable[..., Any] | None = None,
) -> Detour | None:
    """What the vehicle of a secret drives on a day with changed roads; ``None`` if it has no trip.

    It turns away at the last node before what has changed, or where it hears of that. With ``choice`` the driver always
    says so; ``otherwise`` is what is said if the program chooses nothing. With ``entries`` the driver has replans that
    were made beforehand, and no computer; ``given`` is a last replan of one class that stands already. ``known`` holds
    what the program has said before, and ``replan`` is the program that plans again.
    """
    routes = _ask(playbook, secret, key)
    if routes is None:
        return None
    nodes = tuple(routes[trip].nodes)
    groups = enumerate(playbook.hidden_classes, 1)
    # Which class it is, as the driver is told: several may go the same way.
    number = next(at for at, group in groups if any(routes[trip] is own for own in _handed_out(group, secret, trip)))
    answers: dict[Hashable, Any] = {} if known is None else known
    before: list[Any] = []
    entry: Any = None
    stands = 0
    for which, each in enumerate(news):
        before.append(each.closure)
        met = next(
            (at for at, step in enumerate(pairwise(nodes)) if at >= stands and _is_changed(each.closure, step)), None
        )
        if met is None:
            continue
        stands = met if each.known_at is None else max(stands, min(met, each.known_at))
        if entries is not None:
            entry = next(
                (one for one in entries if (one.number, one.trip, one.closure) == (number, trip, each.closure)), None
            )
            if entry is None:
                return None
        is_given = given is not None and (which, number, stands) == (len(news) - 1, given.number, given.position)
        if is_given:
            entry = given
        for said in (choice, otherwise) if entries is None and not is_given else ():
            if (name := (number, which, stands, said, id(entry))) not in answers:
                roads = before if entry is None else before[-1:]
                answers[name] = (
                    entry,
                    _program(replan)(
                        playbook,
                        number,
                        nodes[stands],
                        position=stands,
                        trip=trip,
                        closed=[road for closure in roads for road in closure.roads],
                        closed_one_way=[road for closure in roads for road in closure.one_way],
                        closed_nodes=[node for closure in roads for node in closure.nodes],
                        costs=[edge for closure in roads for edge in closure.costs],
                        choice=said,
                        after=entry,
                    ),
                )
            if (found := answers[name][1]).choice is not None or said == otherwise:
                entry = found
                break
        stands = entry.position
        if entry.choice is None:  # there is no way, or nobody chose: it stays where it is
            return Detour(tuple(nodes[: stands + 1]), entry, secret in entry.still_hidden)
        nodes = tuple(entry.walk_of(secret))
    return Detour(nodes, entry, entry is None or secret in entry.still_hidden)


def _handed_out(group: Any, secret: Place, trip: int) -> tuple[Any, ...]:
    return (group.route_of(secret, trip), group.routes[trip]) if secret in group.members else ()


def _program(replan: Callable[..., Any] | None) -> Callable[..., Any]:
    if replan is None:
        raise TypeError("replan: what plans again is missing")
    return replan


def _was_known(closure: Any, later: Any) -> bool:
    """Whether all that is closed, or costs something else, is so in the other closure as well."""
    return all({*getattr(closure, name)} <= {*getattr(later, name)} for name in ("roads", "one_way", "nodes", "costs"))


def _is_changed(closure: Any, step: tuple[Any, Any]) -> bool:
    """Whether a step of a route is closed, or costs something else."""
    tail, head = step
    roads = {*closure.roads, *((b, a) for a, b in closure.roads), *closure.one_way}
    return (
        step in roads
        or tail in closure.nodes
        or head in closure.nodes
        or any(step == edge[:2] for edge in closure.costs)
    )


# ----------------------------------------------------------------------------------------------------------------------
# Fleets


Orders = dict[frozenset[Place], float]
"""Sets of places that may have ordered, with how probable each is."""


def watch_orders(
    rates: Mapping[Place, float],
    touch: Callable[[frozenset[Place]], Hashable],
    run: Callable[[Any, Key], Seen | None],
    *,
    seed: int = 0,
) -> tuple[dict[Seen, Orders], bool]:
    """After each thing that may be seen of a day: who may have ordered together; and whether orders were sampled.

    ``touch`` is what the program makes of orders, and ``run`` what is then seen of the day, or nothing if the program
    refuses it. All sets of orders are tried or, if there are too many, a sample of them.
    """
    places, rng = list(rates), Random(seed)
    is_sampled = len(places) > _MOST_PLACES
    if is_sampled:
        drawn = Counter(frozenset(p for p in places if rng.random() < rates[p]) for _ in range(NUM_SAMPLES))
        days = [(orders, num / NUM_SAMPLES) for orders, num in drawn.items()]
    else:
        sets = (frozenset(some) for size in range(len(places) + 1) for some in combinations(places, size))
        days = [(orders, math.prod(rates[p] if p in orders else 1 - rates[p] for p in places)) for orders in sets]
    shown: dict[Hashable, Outcomes] = {}
    found: dict[Seen, Orders] = {}
    for orders, mass in days:
        touched = touch(orders)
        if touched not in shown:
            shown[touched] = try_draws(partial(run, touched))
            is_sampled |= shown[touched].is_sampled
        for seen, chance in shown[touched].chances.items():
            if seen is not None and mass * chance > 0:
                found.setdefault(seen, {})[orders] = mass * chance
    totals = {seen: math.fsum(mine.values()) for seen, mine in found.items()}
    return {seen: {o: part / totals[seen] for o, part in mine.items()} for seen, mine in found.items()}, is_sampled


class DayFindings(NamedTuple):
    """What the observer makes of a day. A place is a node, under whatever names somebody there orders."""

    num_behind: int | None  #: at how many nodes an order may be instead of where it is, at least; ``None`` without one
    worst_order: float  #: how probable it is that somebody at one node has ordered, at most
    worst_order_area: float | None  #: that somebody in an area has, at most; ``None`` if this takes too long
    best_orders: float  #: the same as for the worst node, averaged over the parts of the day


def judge_orders(
    orders: Orders,
    streets: StreetMap,
    visited: Mapping[Place, Hashable],
    *,
    known: Iterable[Place] = (),
    is_counted: bool = True,
) -> DayFindings:
    """What an observer believes of a day, given the sets of orders that may be behind it and their probabilities.

    To find out which nodes may be behind an order, every other place takes its part while all other orders stay. The
    order may be at every node for which the day looks the same. Orders that were ``known`` before the day stay where
    they are. ``visited`` has the places that are visited, with what the program makes of an order there alone: where
    this is the same, the places are one part of the day, of which the observer names the most probable node.
    """
    nodes = sorted(set(streets.node.values()))
    bit = {place: 1 << at for at, place in enumerate(streets.node)}
    at_node = {node: [place for place in streets.node if streets.node[place] == node] for node in nodes}
    sets = {sum(bit[place] for place in some): mass for some, mass in orders.items()}

    def any_of(some: Iterable[int]) -> float:
        asked = sum(bit[place] for node in some for place in at_node[node])
        return min(1.0, math.fsum(mass for ordered, mass in sets.items() if ordered & asked))

    sure = {node: any_of([node]) for node in nodes}
    parts: dict[Hashable, set[int]] = {}
    for place, made in visited.items():
        parts.setdefault(made, set()).add(streets.node[place])
    guesses = [max(sure[node] for node in part) for part in parts.values()]
    areas = streets.maximal_areas()
    in_area = None if areas is None else max(map(any_of, areas), default=0.0)
    behind = None
    if is_counted:
        for ordered in sets:
            for place in (place for place in streets.node.keys() - set(known) if ordered & bit[place]):
                others = ordered & ~bit[place]
                num = sum(any((others | bit[other]) in sets for other in at_node[node]) for node in nodes)
                behind = num if behind is None else min(behind, num)
    best = math.fsum(guesses) / len(guesses) if guesses else 0.0
    return DayFindings(behind, max(sure.values(), default=0.0), in_area, best)


# ----------------------------------------------------------------------------------------------------------------------
# What is printed


@dataclass(frozen=True)
class Comparison:
    """A printed figure beside what the observer achieves."""

    about: str  #: where it is printed
    figure: str  #: its name, one of :data:`FIGURES`
    printed: float
    achieved: float
    where: str = ""  #: at which node, day, place or class
    slack: float = 0.0  #: by how much what is achieved may be off because draws were sampled

    @property
    def is_least(self) -> bool:
        """Whether the figure says "at least" and not "at most"."""
        return self.figure.startswith("num_") or self.figure == "hidden_mass"

    @property
    def excess(self) -> float:
        """By how much the observer does better than is printed; 0 if it does not."""
        better = self.printed - self.achieved if self.is_least else self.achieved - self.printed
        return better if better > _NEARLY * max(1.0, abs(self.printed)) + self.slack else 0.0

    @property
    def is_exceeded(self) -> bool:
        """Whether the observer does better than is printed."""
        return self.excess > 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        limit = "least" if self.is_least else "most"
        data = {"about": self.about, "where": self.where, "figure": self.figure, "limit": limit}
        return data | {"printed": self.printed, "achieved": self.achieved, "exceeded": self.is_exceeded}


FIGURES = {
    "num_possible": "Places that stay possible",
    "num_apart": "Places that are far apart",
    "worst_place": "How sure of one place",
    "worst_area": "How sure of an area",
    "worst_ball": "How sure of a place and all near it",
    "bayes_success": "Best guess of a place, on average",
    "hidden_mass": "Share of trips that are covered",
    "num_behind": "Places that may be behind an order",
    "worst_order": "How sure of an order at one place",
    "worst_order_area": "How sure of an order in an area",
    "worst_order_ever": "The same of one place on any day",
    "worst_order_area_ever": "The same of an area on any day",
    "best_orders": "Best guess of each part, on average",
    "identified": "Who is identified",
}
"""What is printed, in words."""


def compare(
    about: str, found: Findings | None, printed: Mapping[str, float | None], where: str = "", slack: float = 0.0
) -> list[Comparison]:
    """Printed figures, by the names that :class:`Findings` has for them, beside what was found."""
    rows = []
    for figure, value in printed.items():
        achieved = None if found is None else getattr(found, figure)
        if value is not None and achieved is not None:
            rows.append(Comparison(about, figure, value, achieved, where, slack))
    return rows


@dataclass(frozen=True)
class Simulation:
    """Everything that was compared."""

    rows: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()  #: what was simulated, what was sampled, and what could not be looked at

    @property
    def exceeded(self) -> tuple[Comparison, ...]:
        """The printed figures that the observer exceeds."""
        return tuple(row for row in self.rows if row.is_exceeded)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        rows = [row.to_dict() for row in self.rows]
        return {"exceeded": len(self.exceeded), "compared": len(rows), "notes": list(self.notes), "figures": rows}

    def to_text(self) -> str:
        """Of each figure the one that is exceeded most or, if none is, the one that the observer comes closest to."""
        lines = list(self.notes)
        sections: dict[str, dict[str, list[Comparison]]] = {}
        for row in self.rows:
            sections.setdefault(row.about, {}).setdefault(row.figure, []).append(row)
        for about, figures in sections.items():
            lines += ["", f"{about[0].upper()}{about[1:]}", f"  {'':34} {'printed':>15} {'achieved':>9}"]
            for figure, rows in figures.items():
                row = min(rows, key=lambda each: (-each.excess, abs(each.printed - each.achieved)))
                printed = f"at {'least' if row.is_least else 'most'} {_figure_text(figure, row.printed)}"
                text = f"  {FIGURES[figure]:34} {printed:>15} {_figure_text(figure, row.achieved):>9}"
                text += "  EXCEEDED" if row.is_exceeded else ""
                text += f"  ({row.where}; closest of {len(rows):,})" if len(rows) > 1 and row.where else ""
                lines.append(text)
        num = len(self.exceeded)
        lines.append("")
        if num:
            lines.append(f"Do not rely on what is printed: the observer exceeds {num:,} of {len(self.rows):,} figures.")
        else:
            lines.append(f"The observer exceeds none of {len(self.rows):,} printed figures.")
        return "\n".join(lines) + "\n"


def _figure_text(figure: str, value: float) -> str:
    return f"{value:g}" if figure.startswith("num_") or figure == "identified" else f"{100 * value:.3g}%"


# ----------------------------------------------------------------------------------------------------------------------
# Everything that is compared, by what is looked at


class Shown(NamedTuple):
    """Figures that are printed of a playbook."""

    about: str
    figures: Mapping[str, float | None]
    m: int | None  #: how many nodes are seen
    trip: int | None = None  #: of which trip alone; ``None`` for all of them
    where: str = ""
    is_counted: bool = False  #: whether places count as possible whatever their weights, as k counts them


def promised(privacy: Any) -> dict[str, float | None]:
    """What a plan promises, in the observer's words."""
    if privacy.beta is not None:
        return {"worst_place": privacy.beta, "worst_area": privacy.beta}
    return {"num_possible": privacy.k, "num_apart": privacy.k}


def streets_of(playbook: Any) -> StreetMap:
    """The map of a playbook, with its distance apart."""
    return StreetMap(playbook.domain, playbook.candidates, playbook.privacy.ell, playbook.privacy.measure)


def counted_weights(playbook: Any) -> dict[Place, float]:
    """How probable places are where a risk is promised; where k is, each counts the same."""
    if playbook.privacy.beta is not None:
        return weights_of(playbook)
    return dict.fromkeys(playbook.candidates, 1.0)


def compare_playbook(playbook: Any, shown: Iterable[Shown], *, num_trips: int = 0) -> Simulation:
    """One playbook, seen once: its promise, and all that is printed of it."""
    streets, m = streets_of(playbook), playbook.privacy.m

    def run(place: Place, key: Key) -> Seen | None:
        return drive(playbook, place, key)

    sights = watch(weights_of(playbook), run)
    counted = watch(dict.fromkeys(playbook.candidates, 1.0), run)
    slack = 4 / math.sqrt(NUM_SAMPLES) if sights.is_sampled else 0.0
    notes = [
        "A simulated observer on the street. It knows the map, the places and this program; it reads no group.",
        f"It asked what the vehicle does for each of {len(playbook.candidates)} places, "
        + ("with draws that were sampled." if sights.is_sampled else "with everything that can be drawn."),
    ]
    share = guess(sights, streets, num_trips) if num_trips else None
    if share is not None:
        notes.append(f"On {num_trips:,} simulated trips its best guess of the place was right {share:.1%} of the time.")
    asked = sights if playbook.privacy.beta is not None else counted
    found = judge_sights(first_nodes(asked, m), streets)
    rows = compare("What was promised", found, promised(playbook.privacy), slack=slack)
    on_the_way: dict[tuple[bool, int | None], dict[int, Findings]] = {}
    for each in shown:
        of = counted if each.is_counted else sights
        if each.m is None:
            found = judge_sights(first_nodes(of, None, each.trip), streets)
        else:
            steps = on_the_way.setdefault((each.is_counted, each.trip), {})
            steps.update(() if steps else along(of, streets, each.trip))
            found = steps.get(min(each.m, max(steps, default=0)))
        rows += compare(each.about, found, each.figures, each.where, slack)
    return Simulation(tuple(rows), tuple(notes))


def compare_silent(playbook: Any, hidden_mass: float, silent: Sequence[Place], *, is_warned: bool) -> list[Comparison]:
    """How many trips are covered, and what it tells that there is none: ``is_warned`` if that is said to identify."""
    weights = weights_of(playbook)
    served = {place for place in weights if drive(playbook, place, Key(bytes(32))) is not None}
    total = math.fsum(weights[place] for place in {*served, *silent})
    rows = []
    if total > 0:
        share = math.fsum(weights[place] for place in served) / total
        rows.append(Comparison("Trips without a route", "hidden_mass", hidden_mass, share))
    found = judge_sights([{place: weights[place] for place in silent}], streets_of(playbook))
    return rows + compare("Trips without a route", found, {"num_possible": 1 if is_warned else 2})


def compare_detours(playbook: Any, about: str, news: Sequence[News], **how: Any) -> list[Comparison]:
    """What is seen where roads have changed, beside what each replan says of its class; ``how`` as in drive_around."""
    m, streets, is_risk = playbook.privacy.m, streets_of(playbook), playbook.privacy.beta is not None
    entries: dict[Seen, dict[int, Any]] = {}
    known: dict[Hashable, Any] = {}

    def run(place: Place, key: Key) -> Seen | None:
        found = drive_around(playbook, place, news, key=key, known=known, **how)
        if found is None or not found.has_stop:
            return None
        if found.entry is not None:
            entries.setdefault(found.seen[:m], {})[found.entry.number] = found.entry
        return found.seen[:m]

    weighed = watch(weights_of(playbook), run).beliefs
    rows = []
    for seen, beliefs in watch(dict.fromkeys(playbook.candidates, 1.0), run).beliefs.items():
        counted, likely = judge_sights([beliefs], streets), judge_sights([weighed.get(seen, {})], streets)
        made = sorted(entries.get(seen, {}).items())
        for number, entry in made:
            if entry.choice is None:
                continue  # what it says is about ways that nobody has chosen
            if not all(_was_known(other.closure, entry.closure) for _, other in made):
                continue  # what it says is about what was closed by then: others were sent here by what came later
            where = f"class {number}, at node {entry.position + 1} of its route"
            doors = len({streets.node[place] for place in entry.still_hidden})
            rows += compare(about, counted, {"num_possible": doors}, where)
            if entry.qualifies:
                kept = likely if is_risk else counted
                rows += compare(f"{about}: said to keep the promise", kept, promised(playbook.privacy), where)
            if (said := getattr(entry.way, "seen", None)) is not None:  # versions before did not say this
                rows += compare(f"{about}: what can be found out", counted, {"num_possible": said.num_possible}, where)
                figures = {"worst_place": said.worst_place, "worst_area": said.worst_area}
                rows += compare(f"{about}: what can be found out", likely, figures, where)
    return rows


class SaidOfDay(NamedTuple):
    """What somebody prints of a day, by the names of :data:`FIGURES`; ``None`` for what is not printed."""

    about: str
    figures: Mapping[str, float | None]


def compare_day(
    streets: StreetMap,
    rates: Mapping[Place, float],
    touch: Callable[[frozenset[Place]], frozenset[int]],
    run: Callable[[frozenset[int], Key], Seen | None],
    driven: Seen,
    said: Sequence[SaidOfDay],
) -> tuple[list[Comparison], bool]:
    """What a fleet's day tells of orders, beside what is printed; and whether orders were sampled.

    ``touch`` and ``run`` are as in :func:`watch_orders`, and ``driven`` is what was seen of the day. What is said of
    any day is compared with every day that may come, if these can be tried.
    """
    visited, asked = set(driven), dict(rates)
    if len(asked) > _MOST_PLACES:
        # A place whose order would have changed what is driven has not ordered, whatever the others have done.
        asked = {place: rate for place, rate in rates.items() if touch(frozenset([place])) <= visited}
    found, is_sampled = watch_orders(asked, touch, run)
    if driven not in found:
        return [], is_sampled
    alone = {place: touch(frozenset([place])) for place in asked}
    parts = {place: made for place, made in alone.items() if made <= visited}
    known = [place for place, rate in rates.items() if rate >= 1]
    today = judge_orders(found[driven], streets, parts, known=known, is_counted=not is_sampled)
    days = [today]
    if len(asked) == len(rates):
        days += [judge_orders(each, streets, {}, is_counted=False) for each in found.values()]
    areas = [each.worst_order_area for each in days if each.worst_order_area is not None]
    achieved = today._asdict() | {
        "worst_order_ever": max(each.worst_order for each in days),
        "worst_order_area_ever": max(areas, default=None),
        "identified": _num_identified(found[driven], streets, rates),
    }
    slack = 4 / math.sqrt(NUM_SAMPLES) if is_sampled else 0.0
    rows = [
        Comparison(each.about, name, value, achieved[name], slack=slack)
        for each in said
        for name, value in each.figures.items()
        if value is not None and achieved[name] is not None
    ]
    return rows, is_sampled


def _num_identified(orders: Orders, streets: StreetMap, rates: Mapping[Place, float]) -> int:
    """How many places have certainly ordered, they or somebody at their node, of whom that was not known before."""
    num = 0
    for place in rates:
        here = frozenset(other for other in rates if streets.node[other] == streets.node[place])
        before = 1 - math.prod(1 - rates[other] for other in here)
        after = math.fsum(mass for some, mass in orders.items() if some & here)
        is_driven = any(place in some for some in orders)
        num += is_driven and after >= 1 - _NEARLY > before
    return num


class SaidOfDays(NamedTuple):
    """What somebody prints about linked days."""

    about: str
    left: Mapping[Hashable, int]  #: how many are left of each person after all trips
    holds: Callable[[Hashable], bool]  #: whether the promises to somebody are said to be kept
    identified: int | None = None  #: how many are said to be left alone
    #: The printed figures by how many nodes of each route an observer sees; ``None`` for whole routes.
    figures: Sequence[tuple[int | None, Mapping[str, float | None]]] = ()
    is_own_length: bool = False  #: whether of each day no more is seen than its own promise is about


def compare_days(
    days: Sequence[DayOut],
    said: Sequence[SaidOfDays],
    *,
    is_expected: bool,
    subsets: bool = False,
    others: Sequence[Hashable] = (),
) -> list[Comparison]:
    """Linked days: how many are left of each after all trips, and whether promises are kept.

    With ``subsets`` any days may be linked; the promise of a day is about those among which it is.
    """
    maps = [streets_of(day.playbook) for day in days]
    labels = [{day.person(place): place for place in day.playbook.candidates} for day in days]
    own_lengths = tuple(day.playbook.privacy.m for day in days)
    most = None if None in own_lengths else max(own_lengths, default=None)

    @cache
    def linked(lengths: tuple[int | None, ...], subsets: bool) -> list[Linked]:
        return link_days(days, is_expected=is_expected, lengths=lengths, subsets=subsets, others=others)

    rows: list[Comparison] = []
    for each in said:
        fewest: dict[Hashable, int] = {}
        for found in linked(own_lengths if each.is_own_length else (most,) * len(days), False):
            at = next(at for at in reversed(found.days) if found.person in labels[at])
            doors = {maps[at].node[labels[at][who]] if who in labels[at] else who for who in found.possible}
            fewest[found.person] = min(len(doors), fewest.get(found.person, len(doors)))
        if each.identified is not None:
            alone = sum(num == 1 for num in fewest.values())
            rows.append(Comparison(f"{each.about}: left after all trips", "identified", each.identified, alone))
        for person, num in each.left.items():
            if person in fewest:
                about = f"{each.about}: left after all trips"
                rows.append(Comparison(about, "num_possible", num, fewest[person], str(person)))
        for m, figures in each.figures:
            for found in linked((m,) * len(days), False):
                rows += _compare_linked(each.about, found, figures, days, labels, maps)
    for at, (day, own) in enumerate(zip(days, labels, strict=True)):
        book, weights = day.playbook, counted_weights(day.playbook)
        for found in linked((book.privacy.m,) * len(days), subsets) if day.instead is None else ():
            is_hidden = found.person in own and drive(book, own[found.person], Key(bytes(32))) is not None
            if at not in found.days or not is_hidden:
                continue
            beliefs = {own[who]: weights[own[who]] * chance for who, chance in found.possible.items() if who in own}
            what = judge_sights([beliefs], maps[at])
            where = f"{found.person}, promised on day {at + 1}, linked: {', '.join(str(day + 1) for day in found.days)}"
            for each in said:
                if each.holds(found.person):
                    rows += compare(f"{each.about}: promises kept", what, promised(book.privacy), where)
    return rows


def _compare_linked(
    about: str,
    found: Linked,
    figures: Mapping[str, float | None],
    days: Sequence[DayOut],
    labels: Sequence[Mapping[Hashable, Place]],
    maps: Sequence[StreetMap],
) -> list[Comparison]:
    """What linked trips tell of somebody, with the map and the weights of each day on which there was one."""
    rows = []
    for at in found.days:
        day, own = days[at], labels[at]
        has_trip = found.person in own and drive(day.playbook, own[found.person], Key(bytes(32))) is not None
        if day.instead is not None or not has_trip:
            continue
        weights = weights_of(day.playbook)
        beliefs = {own[who]: weights[own[who]] * chance for who, chance in found.possible.items() if who in own}
        where = f"{found.person}, as day {at + 1} has it"
        rows += compare(f"{about}: all trips linked", judge_sights([beliefs], maps[at]), figures, where)
    return rows
