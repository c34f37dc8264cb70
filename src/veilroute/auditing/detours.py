"""The check of replans: what a vehicle does where a road is closed, walked and priced by the auditor's own code.

A replan must begin as the routes of its whole class do, and then be the same for all its members. It must be a walk on
the map without the closed roads, cost what it says, cover whom it says, and say truly whether these keep the promise.
Nothing here knows how it was planned.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import pairwise

from veilroute.auditing.apartness import ClassRule, Spread, mask_of
from veilroute.auditing.changes import ChangedMap
from veilroute.auditing.legality import legal_map
from veilroute.auditing.lookalikes import Replanner, Scene, hidden_classes, scene_of_replan, scene_of_road
from veilroute.auditing.pricing import price_walks
from veilroute.auditing.replay import is_same, wrong_figure
from veilroute.auditing.survey import Survey, measure_trip, survey_problem
from veilroute.auditing.verdicts import ClaimVerdict, judge, names, number
from veilroute.auditing.walking import TooMuchError
from veilroute.domain.graph import Label
from veilroute.model.closure import GIVE_UP, GO_ON, Replan, Way
from veilroute.model.playbook import Playbook, PlaybookClass

_EFFORT = 3e7  #: visits of nodes after which it is not asked whether a rest is the cheapest
_SHARED_BY = 30  #: contingencies share that, and each gets at least this part of it
_MOST_PRICED = 10  #: members still to be covered beyond which it is not asked either

_TOPICS = ("begins", "walk", "turns", "cost", "same-route", "coverage", "qualifies", "cheapest", "observer")
_GOOD = {
    "begins": "begins as the routes of all members do",
    "walk": "a walk on the changed map to the goal; no closed road is used",
    "turns": "no turn is illegal on the changed map",
    "cost": "costs add up",
    "same-route": "the same for all members, as far as is promised",
    "coverage": "covers whom it says, from the start of the trip on",
    "qualifies": "whether the promise is kept is as stated",
    "cheapest": "no cheaper walk covers them, none covers more, and the rule leaves no others",
    "observer": "which classes look the same, and how sure an observer can be, is as stated",
}

Faults = dict[str, list[str]]  #: what is wrong, by topic


def audit_replan(playbook: Playbook, entry: Replan, *, replanner: Replanner | None = None) -> tuple[ClaimVerdict, ...]:
    """Check a replan by itself, one verdict for each topic.

    The ``replanner`` says how other classes are replanned. Without one it cannot be said which of them look the same.
    """
    survey = survey_problem(playbook.problem)
    asked = None if replanner is None else cache(replanner)  # the same is asked again for each replan before it
    check = _Check(playbook, survey, Spread(survey, playbook.privacy), entry, replanner=asked)
    found = check.faults()
    shown, is_checked = dict(_GOOD), dict.fromkeys(_TOPICS, True) | {"cheapest": check.is_priced}
    if check.missing is not None:
        shown["observer"], is_checked["observer"] = check.missing, False
    if replanner is None:
        shown["qualifies"] = "whether the class keeps the promise by itself is as stated"
    return tuple(judge(topic, found.get(topic, []), shown[topic], checked=is_checked[topic]) for topic in _TOPICS)


def check_contingencies(playbook: Playbook, survey: Survey, rule: ClassRule) -> ClaimVerdict:
    """Every replan in the playbook is what it says, and for its road each class that uses it has one."""
    problems: list[str] = []
    met: dict[tuple[int, int, frozenset[Label]], None] = {}
    num, num_priced, num_silent = len(playbook.contingencies), 0, 0
    on_road: dict[tuple[int, frozenset[Label]], dict[int, Replan]] = {}
    for entry in playbook.contingencies:
        on_road.setdefault((entry.trip, _road(entry)), {}).setdefault(entry.number, entry)
    for place, entry in enumerate(playbook.contingencies):
        check = _Check(playbook, survey, rule, entry, _EFFORT / min(num, _SHARED_BY))
        check.beside = on_road[entry.trip, _road(entry)]
        found = check.faults() | _misplaced(playbook, entry)
        num_priced += check.is_priced
        num_silent += check.missing is not None
        problems += [f"contingency {place}: {fault}" for faults in found.values() for fault in faults]
        key = (entry.number, entry.trip, _road(entry))
        if key in met:
            problems.append(f"contingency {place}: there is one for this class and road already")
        met[key] = None
    roads = dict.fromkeys(road for _, _, road in met)
    for at, group in enumerate(hidden_classes(playbook), start=1):
        for trip in range(len(playbook.trips)):
            used = {frozenset(pair) for pair in pairwise(_shared(group, trip))}
            problems += [
                f"class {at} has none on trip {trip} for {names(sorted(map(str, road)))}, a road that it uses"
                for road in roads
                if road in used and (at, trip, road) not in met
            ]
    priced = "" if num_priced < num else ", and the cheapest"
    shown = f"{number(num, 'replan')}, each walked without its road, as stated{priced}"
    if num_silent:
        shown += f"; {num_silent} of them do not say what an observer sees: plan them again"
    return judge("contingencies", problems, shown, checked=not num_silent)


def _road(entry: Replan) -> frozenset[Label]:
    """The road for which a contingency is made."""
    return frozenset(entry.closure.roads[0]) if entry.closure.roads else frozenset()


def _misplaced(playbook: Playbook, entry: Replan) -> Faults:
    """What is wrong with where a contingency begins, or with what it chooses."""
    closure, walked = entry.closure, entry.walked
    if len(closure.roads) != 1 or closure.one_way or closure.nodes or closure.costs or entry.after is not None:
        return {"closed": ["closes something else than one road"]}
    road, problems = frozenset(closure.roads[0]), []
    if not 1 <= entry.number <= len(hidden_classes(playbook)) or entry.trip >= len(playbook.trips):
        return {}  # said elsewhere
    ahead = _shared(hidden_classes(playbook)[entry.number - 1], entry.trip)[entry.position : entry.position + 2]
    if frozenset(ahead) != road or any(frozenset(pair) == road for pair in pairwise(walked)):
        problems.append("does not begin where the route first meets the closed road")
    if entry.choice != (GO_ON if entry.going_on.qualifies else None):
        problems.append("chooses what nobody chose, or nothing where the promise is kept")
    return {"position": problems}


def _shared(group: PlaybookClass, trip: int) -> list[Label]:
    """With what the routes of all members begin, read off them one by one."""
    routes = [group.route_of(member, trip).nodes for member in group.members]
    shared: list[Label] = []
    for first, *others in zip(*routes, strict=False):
        if any(node != first for node in others):
            break
        shared.append(first)
    return shared


class _Check:
    """One replan, on the map as it has changed."""

    def __init__(
        self,
        playbook: Playbook,
        survey: Survey,
        rule: ClassRule,
        entry: Replan,
        effort: float = _EFFORT,
        replanner: Replanner | None = None,
    ) -> None:
        self.playbook, self.survey, self.rule, self.entry, self.effort = playbook, survey, rule, entry, effort
        self.replanner = replanner
        self.beside: dict[int, Replan] | None = None  #: of a contingency those of all classes for the same road
        self.is_priced = False
        self.missing: str | None = None  #: why it is not known whether the replan is right about an observer
        self.map = ChangedMap(survey, entry.closure)

    @cached_property
    def scene(self) -> Scene | None:
        """What all classes do there; ``None`` where it is not known."""
        playbook, survey, rule, entry = self.playbook, self.survey, self.rule, self.entry
        if self.beside is not None:
            # A contingency of something else than a class and a trip of the playbook is refused for that.
            sound = {at: each for at, each in self.beside.items() if 1 <= at <= len(hidden_classes(playbook))}
            return scene_of_road(playbook, survey, rule, entry.trip, sound | {entry.number: entry}, entry.closure)
        return None if self.replanner is None else scene_of_replan(playbook, survey, rule, entry, self.replanner)

    def faults(self) -> Faults:
        """What is wrong, by topic; first whether it is about anything in this playbook."""
        entry, groups = self.entry, hidden_classes(self.playbook)
        if not 1 <= entry.number <= len(groups) or entry.trip >= len(self.playbook.trips):
            return {"begins": [f"is about class {entry.number} on trip {entry.trip}, which there is not"]}
        group = groups[entry.number - 1]
        if entry.members != group.members:
            return {"begins": [f"lists other members than class {entry.number} has"]}
        if None in map(self.survey.find, entry.members):
            return {"begins": [f"class {entry.number} has members that are no candidates"]}
        if self.map.unknown:
            return {"walk": [f"closes {self.map.unknown}, which is no road of the map"]}
        walked = entry.walked
        routes = [group.route_of(member, entry.trip).nodes for member in group.members]
        if (earlier := entry.after) is not None:
            about = (earlier.number, earlier.trip, earlier.members)
            before = _Check(self.playbook, self.survey, self.rule, earlier, replanner=self.replanner).faults()
            if about != (entry.number, entry.trip, entry.members) or any(before.values()):
                return {"begins": ["the replan before it is of another class, or not what it says"]}
            if entry.position < earlier.position:
                return {"begins": ["begins before the replan before it does"]}
            if entry.closure != entry.closure.with_earlier(earlier.closure):
                return {"walk": ["opens again what the replan before it says is closed"]}
            routes = [earlier.walk_of(member) for member in entry.members]
        if any(nodes[: len(walked)] != walked for nodes in routes):
            return {"begins": ["does not begin as the routes of all members do"]}
        found: Faults = {}
        for name, choice, way in (("going on", GO_ON, entry.going_on), ("giving up", GIVE_UP, entry.giving_up)):
            for topic, problems in self._look_at(way, choice).items():
                found.setdefault(topic, []).extend(f"{name}: {problem}" for problem in problems)
        if entry.choice is None and entry.going_on.qualifies:
            found["qualifies"].append("chooses nothing, though going on keeps the promise")
        found["cheapest"] = self._undercut()
        found["observer"] = [] if self.scene is None else [*self.scene.mistakes(entry), *self._unexpected()]
        if self.scene is None:
            self.missing = "which other classes look the same was not asked"
        if any(way.route and way.seen is None for way in (entry.going_on, entry.giving_up)):
            self.missing = "missing: it does not say what an observer sees; replan again"
        return found

    @cached_property
    def ahead(self) -> Survey:
        """The survey of the changed map, on which one trip leads from where the vehicle stands to the goal."""
        legal = None if self.map.rules is None else legal_map(self.map.rules, [self.walked])
        survey = replace(self.survey, walking=self.map.walking, legal=legal)
        begin = self.here if legal is None else legal.begins[0]
        return replace(survey, trips=(measure_trip(survey, self.here, self.goal, begin, ()),))

    @cached_property
    def walked(self) -> tuple[int, ...]:
        """The nodes that were walked so far."""
        return tuple(node for node in map(self.survey.node, self.entry.walked) if node is not None)

    @cached_property
    def goal(self) -> int:
        """The goal of the trip."""
        return self.survey.trips[self.entry.trip].goal

    @property
    def _least(self) -> float:
        """How far the goal is."""
        return self.ahead.trips[0].to_goal[self.ahead.trips[0].begin]

    @cached_property
    def here(self) -> int:
        """Where the vehicle stands; known, because the routes of the class go there."""
        node = self.survey.node(self.entry.at)
        return -1 if node is None else node

    def _look_at(self, way: Way, choice: str) -> Faults:
        """What is wrong with one way on."""
        found: Faults = {topic: [] for topic in _TOPICS}
        members, m = self.entry.members, self.playbook.privacy.m
        if not way.route:
            if way.cost is not None or way.own or way.qualifies:
                found["walk"].append("has a cost, or a promise, without a route")
            if self.here >= 0 and self._least < math.inf:
                found["walk"].append("gives no route, though roads lead to the goal")
            found["coverage"] += self._miscounted(way, dict.fromkeys(members, (self.entry.at,)))
            return found
        if way.own and (m is None or set(way.own) != set(members)):
            found["same-route"].append("has routes of some members' own")
            return found
        rests = {member: way.rest_of(member) for member in members}
        stated = {member: way.own[member][1] if way.own else way.cost for member in members}
        if way.own:
            found["walk"] += self._no_walk(way.route, None)
            found["turns"] += self._illegal(way.route)
            found["cost"] += self._mispriced(way.route, way.cost)
            if any(rest[: len(way.route)] != way.route for rest in rests.values()):
                found["same-route"].append("some members do not go the way that all are said to share")
        for rest, cost in dict.fromkeys((rests[member], stated[member]) for member in members):
            found["walk"] += self._no_walk(rest, self.goal)
            found["turns"] += self._illegal(rest)
            found["cost"] += self._mispriced(rest, cost)
        shared = None if m is None else max(1, m - self.entry.position)
        if len({rest[:shared] for rest in rests.values()}) > 1:
            found["same-route"].append("members can be told apart by their ways on")
        found["coverage"] += self._miscounted(way, rests)
        if self._is_misjudged(way, choice):
            found["qualifies"].append(f"{names(way.left)}: says {way.qualifies}, which is not so")
        return found

    def _unexpected(self) -> Iterator[str]:
        """Whether other members would be told another walk, perhaps one that costs the same."""
        if self.replanner is None:
            return
        told = self.replanner(self.entry.number, self.entry.trip, self.entry.walked, self.entry.closure)
        ways = ("going on", self.entry.going_on, told.going_on), ("giving up", self.entry.giving_up, told.giving_up)
        for name, stated, real in ways:
            if any(stated.rest_of(member) != real.rest_of(member) for member in self.entry.members):
                yield f"{name}: is another walk than this version gives, which may cost the same; replan again"

    def _is_misjudged(self, way: Way, choice: str) -> bool:
        """Whether the promise is kept where it is said to be broken, or the other way round."""
        keeps = self._keeps(way.left)
        if self.rule.beta is None or not keeps:
            return way.qualifies != keeps
        return self.scene is not None and way.qualifies != self.scene.qualifies(self.entry, choice)

    def _no_walk(self, rest: tuple[Label, ...], goal: int | None) -> list[str]:
        """Why a rest is no walk on the changed map; without a ``goal`` it may end anywhere."""
        nodes = [self.survey.node(label) for label in rest]
        if not nodes or None in nodes or nodes[0] != self.here:
            return ["does not begin where the vehicle stands, or names what is not on the map"]
        if goal is not None and nodes[-1] != goal:
            return ["does not end at the goal"]
        for place, (tail, head) in enumerate(pairwise(nodes)):
            if tail is None or head is None or self.map.step(tail, head) is None:
                return [f"no open road leads from {rest[place]} to {rest[place + 1]}"]
        return []

    def _illegal(self, rest: tuple[Label, ...]) -> list[str]:
        """The first illegal turn of a rest, with what was walked before it; one that is no walk is left to ``walk``."""
        rules, nodes = self.map.rules, [self.survey.node(label) for label in rest[1:]]
        if rules is None or None in nodes:
            return []
        whole = (*self.walked, *(node for node in nodes if node is not None))
        illegal = rules.describe(whole, len(self.walked))
        return [illegal] if illegal else []

    def _mispriced(self, rest: tuple[Label, ...], stated: float | None) -> list[str]:
        nodes = [self.survey.node(label) for label in rest]
        steps = [None if a is None or b is None else self.map.step(a, b) for a, b in pairwise(nodes)]
        real = [cost for cost in steps if cost is not None]
        if len(real) < len(steps):
            return []
        if (rules := self.map.rules) is not None:
            whole = (*self.walked, *(node for node in nodes[1:] if node is not None))
            real += [rules.extra_cost(whole[: last + 1]) for last in range(len(self.walked), len(whole))]
        return wrong_figure("cost", stated, math.fsum(real), max((cost for cost in real if cost), default=1.0))

    def _miscounted(self, way: Way, rests: Mapping[Label, tuple[Label, ...]]) -> list[str]:
        """Whether those said to be left are those whom their own walk, from the start of the trip on, covers."""
        real = []
        for member in self.entry.members:
            walk = (*self.entry.walked, *rests[member])
            candidate = self.survey.find(member)
            seen = self.survey.watchers[candidate] if candidate is not None else frozenset()
            if not seen.isdisjoint(node for node in map(self.survey.node, walk) if node is not None):
                real.append(member)
        if tuple(real) == way.left:
            return []
        return [f"covers {names(real) or 'nobody'}, not {names(way.left) or 'nobody'}"]

    def _keeps(self, left: Sequence[Label]) -> bool:
        """Whether those left keep the promise, on the playbook's map and on the changed one."""
        return None not in map(self.survey.find, left) and self.map.keeps(self.playbook, self.rule, self._masses(left))

    def _masses(self, left: Iterable[Label]) -> dict[int, float]:
        """How probable candidates are beside one another: by their shares where a class is drawn."""
        group = hidden_classes(self.playbook)[self.entry.number - 1]
        shares = dict(zip(group.members, group.shares, strict=False)) if group.shares else None
        found = ((label, self.survey.find(label)) for label in left)
        return {
            c: self.survey.prior.get(c, 0.0) if shares is None else shares.get(label, 0.0)
            for label, c in found
            if c is not None
        }

    def _undercut(self) -> list[str]:
        """Whether a cheaper rest covers those left, or some rest covers more of them; only where one walk is shared."""
        entry = self.entry
        if self.here < 0 or not entry.giving_up.route:
            self.is_priced = True  # there is nothing to price
            return []
        problems = []
        if entry.giving_up.cost is None or not is_same(self._least, entry.giving_up.cost):
            problems.append(f"giving up: the goal is {self._least:.9g} away")
        found = [(label, self.survey.find(label)) for label in entry.members]
        ahead = [(label, c) for label, c in found if c is not None and self.survey.watchers[c].isdisjoint(self.walked)]
        if self.playbook.privacy.m is not None or len(ahead) > _MOST_PRICED:
            return problems
        try:
            prices = price_walks(self.ahead, self.ahead.trips[0], [c for _, c in ahead], self.effort)
        except TooMuchError:
            return problems
        self.is_priced = True
        kept = mask_of(i for i, (label, _) in enumerate(ahead) if label in entry.going_on.left)
        if entry.going_on.cost is None or not is_same(prices[kept], entry.going_on.cost):
            problems.append(f"going on: {prices[kept]:.9g} is the cheapest that covers as much")
        at = [self.survey.nodes[c] for _, c in ahead]
        num_doors = [len({node for i, node in enumerate(at) if mask >> i & 1}) for mask in range(len(prices))]
        if any(price < math.inf and num > num_doors[kept] for num, price in zip(num_doors, prices, strict=True)):
            problems.append("going on: another walk covers more places")
        rivals = (mask for mask, num in enumerate(num_doors) if num == num_doors[kept] and mask != kept)
        if any(prices[mask] < math.inf and self._is_better(ahead, mask, kept, prices) for mask in rivals):
            problems.append("going on: as many others are left by the rule")
        return problems

    def _is_better(self, ahead: Sequence[tuple[Label, int]], mask: int, kept: int, prices: Sequence[float]) -> bool:
        """Whether the rule prefers some to as many whom a walk covers: they keep the promise, weigh more, cost less.

        Sums of probabilities are not told apart by rounding, so that nothing is said of costs where there are any.
        """
        seen = [label for label in self.entry.members if label not in dict(ahead)]
        mine, theirs = (
            seen + [label for i, (label, _) in enumerate(ahead) if chosen >> i & 1] for chosen in (kept, mask)
        )
        is_kept, would_be = self._keeps(mine), self._keeps(theirs)
        if is_kept != would_be:
            return would_be
        if self.rule.beta is None:
            return prices[mask] < prices[kept] and not is_same(prices[mask], prices[kept])
        weight, other = (math.fsum(self._masses(labels).values()) for labels in (mine, theirs))
        return other > weight and not is_same(other, weight)
