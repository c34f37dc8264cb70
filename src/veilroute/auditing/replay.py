"""The replay: ask for every candidate's route, as the adversary would, walk it on the map, and see who looks like whom.

What is worked out here once is read by every check.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, pairwise
from typing import Final, NamedTuple

from veilroute.auditing.apartness import Spread, mask_of, members_of
from veilroute.auditing.survey import Survey, bare_survey, survey_problem
from veilroute.auditing.verdicts import AnonymityStep
from veilroute.auditing.walking import WalkingMap
from veilroute.base.errors import NotAnonymizedError, UnknownCandidateError
from veilroute.domain.graph import Label
from veilroute.model.certificate import MAX_TRIED
from veilroute.model.playbook import Playbook, PlaybookClass, Route
from veilroute.model.problem import ROUNDING

Planner = Callable[[Label, int], Route | Sequence[Label]]
"""Anything that gives the route for a candidate on a trip, or raises `NotAnonymizedError` (the paper's Failure)."""

UNSTATED: Final = object()  #: stands for the cost of a route that came without one, such as a plain list of nodes

RELATIVE = 1e-9
ABSOLUTE = 1e-12

_Nodes = tuple[int | None, ...]


def is_same(real: float, stated: float, unit: float = 1.0) -> bool:
    """Whether two figures agree up to rounding; ``unit`` is the size of what they were added up from."""
    if not (math.isfinite(real) and math.isfinite(stated)):
        return False
    return abs(real - stated) <= RELATIVE * max(abs(real), abs(stated)) + ABSOLUTE * unit


def wrong_figure(name: str, stated: float | None, real: float | None, unit: float = 1.0) -> list[str]:
    """What is wrong with a figure that is stated, in words; nothing where it is the real one."""
    if stated is None or real is None:
        shown = ("none" if value is None else f"{value:.9g}" for value in (stated, real))
        return [] if stated is real else ["{}: stated {}, recomputed {}".format(name, *shown)]
    if is_same(real, stated, unit):
        return []
    side = "better" if real < stated else "worse"
    return [f"{name} is {side} than stated: {real:.9g} instead of {stated:.9g}"]


@dataclass(frozen=True)
class Objective:
    """The figure that the playbook says to keep small, and what it states of it.

    Plans are compared by a sum over their classes. The MAC is that sum divided by the number of anonymized candidates,
    the total extra cost is the sum itself. The sum behind the expected MAC counts each candidate as it is probable, and
    is divided by how probable the anonymized ones are. This number, or probability, is what a plan *hides*.
    """

    name: str
    sum_name: str
    stated: float | None
    bound: float | None
    reached: float | None  # the real figure, None where some route has no cost
    unit: float  # what a base cost comes to in the sum, on average, which rounding is relative to: 1 in the MAC

    @property
    def is_mean(self) -> bool:
        """Whether it is divided by what the plan hides."""
        return self.name.endswith("MAC")

    def figure(self, total: float, hidden: float) -> float:
        """The figure of a plan that hides so much and whose classes add up to ``total``."""
        return total / hidden if self.is_mean else total

    def total(self, figure: float, hidden: float) -> float:
        """The sum over the classes behind a figure."""
        return figure * hidden if self.is_mean else figure

    def margin(self, value: float, hidden: float) -> float:
        """How far the sum of a plan that hides so much may be off: as far as the MAC itself may, for each of them."""
        return RELATIVE * abs(value) + ABSOLUTE * self.unit * hidden

    def is_same(self, real: float, stated: float, hidden: float) -> bool:
        """Whether two figures of plans that hide so much agree up to rounding."""
        return is_same(real, stated, self.unit * (1 if self.is_mean else hidden))


@dataclass(frozen=True)
class RealCosts:
    """What the candidates claimed anonymized pay, worked out from the replayed routes and the auditor's base costs.

    Where a class is drawn, it is what they pay on average. All figures are ``None`` when nothing is anonymized.
    """

    mac_by_trip: tuple[float | None, ...]
    mac: float | None = None
    expected_mac: float | None = None  # each candidate weighted as it is probable; None where all are impossible
    total_extra: float | None = None  # the trips averaged by their weights
    worst_extra: float | None = None  # the largest over all trips
    unknown: tuple[int, ...] = ()  # candidates without a cost: their routes are no walks


@dataclass(frozen=True)
class ReplayedRoute:
    """A route as the planner gave it, and what walking it showed."""

    labels: tuple[Label, ...]
    nodes: _Nodes  # None for each label that is not in the domain
    stated_cost: object  # whatever came with the route, or `UNSTATED`
    steps: tuple[float, ...]  # what each of its edges costs, with turning round; none when it is no walk of the trip
    fault: str  # why it is not, or nothing
    illegal: str  # which of its turns is not legal, or nothing

    @cached_property
    def real_cost(self) -> float | None:
        """What its edges add up to, or ``None`` when it is no walk of the trip."""
        return None if self.fault else math.fsum(self.steps)

    def covers(self, watchers: frozenset[int]) -> bool:
        """Whether one of its nodes, start and goal included, is a watcher."""
        return not watchers.isdisjoint(node for node in self.nodes if node is not None)


Draw = tuple[int, int]
"""A candidate and the number of a class that is drawn for it. In a partition each candidate has one."""

_Routes = dict[tuple[int, int, int], ReplayedRoute]  #: routes by candidate, class and trip

_FOREIGN = -1  #: stands for the class where the routes come from a planner function


class Group(NamedTuple):
    """Who looks the same to an observer."""

    mask: int  # the candidates
    masses: dict[int, float]  # how probable it is, for each, that it is the secret and looks like this


@dataclass(frozen=True)
class ReplayedPlaybook:
    """A playbook, the map surveyed, and which route every candidate was given."""

    playbook: Playbook
    survey: Survey
    routes: _Routes  # whoever has none got the paper's Failure
    exposed: _Routes  # what it holds for those it does not anonymize: they protect nobody, but must be what they say
    is_foreign: bool = False  # whether the routes come from a planner function rather than from the playbook

    @property
    def is_randomised(self) -> bool:
        """Whether a candidate may be in several classes, of which one is drawn."""
        return self.playbook.privacy.mechanism == "randomised" and not self.is_foreign

    @cached_property
    def homes(self) -> dict[int, tuple[int, ...]]:
        """The numbers of the classes from which each candidate gets a route: one, or those that may be drawn."""
        homes: dict[int, dict[int, None]] = {}
        for c, position, _ in self.answers:
            homes.setdefault(c, {})[position] = None
        return {c: tuple(positions) for c, positions in homes.items()}

    def home(self, candidate: int, position: int) -> int:
        """The class from which a member of a class gets its route: that one, if it is drawn or lists it first."""
        homes = self.homes.get(candidate, ())
        return position if position in homes or not homes or self.is_randomised else homes[0]

    @cached_property
    def chances(self) -> dict[Draw, float]:
        """How probable each class claimed anonymized is for each of its members: 1 where nothing is drawn.

        In proportion to the shares, because that is how it is drawn, whether they sum to the prior or not.
        """
        if not self.is_randomised:
            return dict.fromkeys(self.listed, 1.0)
        shares: dict[Draw, float] = {}
        for draw in self.listed:
            group = self.playbook.classes[draw[1]]
            at = [self.survey.find(label) for label in group.members].index(draw[0])
            share = group.shares[at] if at < len(group.shares) else 0.0
            shares[draw] = share if 0 < share < math.inf else 0.0
        sums: dict[int, float] = {}
        for (c, _), share in shares.items():
            sums[c] = sums.get(c, 0.0) + share
        return {draw: share / sums[draw[0]] if sums[draw[0]] else 0.0 for draw, share in shares.items()}

    @cached_property
    def joint(self) -> dict[Draw, float]:
        """How probable it is that a candidate is the secret and a class is drawn for it."""
        return {draw: chance * self.survey.prior.get(draw[0], 0.0) for draw, chance in self.chances.items()}

    @cached_property
    def hideable(self) -> tuple[int, ...]:
        """The candidates that are not certainly impossible to hide, as far as numbers and probabilities say."""
        return self.rule.hideable

    @cached_property
    def within_reach(self) -> frozenset[int]:
        """Those of the hideable that may stand in a class of members that are all apart; all if that is not asked.

        The optimum of a randomised playbook is one over such classes, and so is that of a partition by all pairs.
        """
        left = mask_of(self.hideable)
        if self.rule.beta is None or not self.rule.is_all_pairs:
            return frozenset(self.hideable)
        while lost := mask_of(c for c in members_of(left) if self._is_crowded(1 << c, left)):
            left &= ~lost
        return frozenset(members_of(left))

    def _is_crowded(self, some: int, pool: int) -> bool:
        """Whether some, who are all close to each other, cannot all be hidden by classes within a pool that holds them.

        Where all members of a class stand apart, it has at most one of these. So they weigh at most beta of all such
        classes together, whose other members are far from one of them. And each needs k - 1 others to stand apart with.
        """
        close, num = self.rule.close, self.rule.k - 1
        near = reduce(operator.and_, (close[c] for c in members_of(some)))
        around = members_of(some | pool & ~near)
        if self.mass(members_of(some)) > (self.rule.beta or 1.0) * self.mass(around) * (1 + ROUNDING):
            return True
        apart = [self.rule.largest_far_set(pool & ~(close[c] | 1 << c), enough=num) for c in members_of(some)]
        return any(each.is_largest and each.size < num for each in apart)

    @cached_property
    def hides_all(self) -> bool:
        """Whether everybody is hidden who could be; or, of a few, whether nobody else could be hidden in their place.

        Of a few all sets are tried: each that is as probable must hold some who are too crowded.
        """
        if self.within_reach <= set(self.protected):
            return True
        if not self.is_randomised or len(self.within_reach) > MAX_TRIED:
            return False
        everybody, kept = mask_of(self.within_reach), mask_of(self.protected)
        close, least = self.rule.close, self.mass(self.protected) - ROUNDING
        subsets, crowds = [0], [0]
        for c in members_of(everybody):
            subsets += [chosen | 1 << c for chosen in subsets]
            crowds += [some | 1 << c for some in crowds if not some & ~close[c]]
        return all(
            any(not some & ~chosen and self._is_crowded(some, chosen) for some in crowds[1:])
            for chosen in subsets[1:]
            if chosen != kept and self.mass(members_of(chosen)) >= least
        )

    @property
    def is_all_open(self) -> bool:
        """Whether a randomised playbook can certainly hide all of the hideable.

        That is so where nobody of them is close to anybody and every street leads both ways, so that a walk covers
        them all: then any of them may share a class, and shares of which none exceeds beta always mix to such priors.
        """
        near = mask_of(self.hideable)
        is_free = self.is_randomised and not self.rule.lines
        return is_free and self.rule.is_far(near) and self.survey.ground.is_two_way

    def mass(self, candidates: Iterable[int]) -> float:
        """How probable it is that the secret is one of some candidates."""
        return math.fsum(self.survey.prior.get(c, 0.0) for c in candidates)

    @property
    def stated_size(self) -> float:
        """What the playbook says to hide: so many candidates, or where a risk is bounded, so much probability."""
        if self.playbook.privacy.beta is None:
            return self.playbook.claims.num_anonymized
        return self.mass(self.claimed)

    @property
    def real_size(self) -> float:
        """What it really hides."""
        return len(self.protected) if self.playbook.privacy.beta is None else self.mass(self.protected)

    @cached_property
    def rule(self) -> Spread:
        """What the playbook promises that each class is, and who stands far from whom."""
        return Spread(self.survey, self.playbook.privacy)

    @cached_property
    def real_costs(self) -> RealCosts:
        """The costs of the candidates claimed anonymized, each with the route that it really gets."""
        survey, trips = self.survey, range(len(self.survey.trips))
        costs = {
            place: route.real_cost
            for place, route in self.routes.items()
            if route.real_cost is not None and survey.trips[place[2]].base_costs[place[0]] < math.inf
        }
        paid = [draw for draw in self.listed if all((*draw, trip) in costs for trip in trips)]
        unknown = tuple(sorted({c for c, _ in self.listed.keys() - set(paid)}))
        if not paid:
            return RealCosts((None,) * len(survey.trips), unknown=unknown)
        num, mass = len({c for c, _ in paid}), math.fsum(self.joint[draw] for draw in paid)
        macs, expected, totals, worst = [], [], [], 0.0
        for i, trip in enumerate(survey.trips):
            extra = {draw: costs[*draw, i] - trip.base_costs[draw[0]] for draw in paid}
            ratios = {draw: extra[draw] * survey.weight(trip, draw[0], "mac") for draw in paid}
            macs.append(math.fsum(ratios[draw] * self.chances[draw] for draw in paid) / num)
            expected.append(math.fsum(ratios[draw] * self.joint[draw] for draw in paid) / (mass or math.inf))
            totals.append(math.fsum(extra[draw] * self.chances[draw] for draw in paid))
            worst = max(worst, *extra.values())
        mac, mean, total = (math.fsum(map(operator.mul, survey.trip_shares, each)) for each in (macs, expected, totals))
        return RealCosts(tuple(macs), mac, mean if mass else None, total, worst, unknown)

    @cached_property
    def objective(self) -> Objective:
        """What the playbook says to keep small."""
        claims, survey = self.playbook.claims, self.survey
        real = RealCosts(()) if self.real_costs.unknown else self.real_costs
        if self.playbook.privacy.beta is not None:
            name, bound = "expected MAC", claims.expected_mac_lower_bound
            return Objective(name, "expected MAC sum", claims.expected_mac, bound, real.expected_mac, 1.0)
        if self.playbook.objective == "mac":
            return Objective("MAC", "MAC sum", claims.mac, claims.mac_lower_bound, real.mac, 1.0)
        base_costs = survey.credits(survey.coverable)
        unit = math.fsum(base_costs) / max(1, len(base_costs)) or survey.walking.smallest_positive_cost
        name, bound = "total extra cost", claims.total_extra_lower_bound
        return Objective(name, name, claims.total_extra, bound, real.total_extra, unit)

    @property
    def answers(self) -> _Routes:
        """All routes, those that are only exposed last."""
        return {**self.routes, **self.exposed}

    @cached_property
    def covered(self) -> frozenset[tuple[int, int, int]]:
        """The answers (candidate, class, trip) whose route covers the candidate."""
        watchers = self.survey.watchers
        return frozenset(place for place, route in self.answers.items() if route.covers(watchers[place[0]]))

    @cached_property
    def listed(self) -> dict[Draw, int]:
        """The members of each class claimed anonymized, by each of them; of a partition the first that lists it."""
        listed: dict[Draw, int] = {}
        seen: set[int] = set()
        for position, group in enumerate(self.playbook.classes):
            members = self.members(group)
            if group.anonymized:
                mask, at = mask_of(members), _FOREIGN if self.is_foreign else position
                listed.update(((c, at), mask) for c in members if self.is_randomised or c not in seen)
            seen.update(members)
        return listed

    @cached_property
    def groups(self) -> dict[Draw, Group]:
        """For each draw those with the same first m nodes on every trip, its own candidate included.

        An observer may link the trips, so all of them must agree. Candidates without a sound route on every trip are in
        no group: Failure equals nothing, itself included.
        """
        return self._alike(self.playbook.privacy.m)

    def _alike(self, m: int | None) -> dict[Draw, Group]:
        trips = range(len(self.survey.trips))
        sights: dict[tuple[_Nodes, ...], list[Draw]] = {}
        for draw in dict.fromkeys(place[:2] for place in self.routes):
            if all(self.is_sound(draw, trip) for trip in trips):
                sights.setdefault(tuple(self.routes[*draw, trip].nodes[:m] for trip in trips), []).append(draw)
        return {draw: group for draws in sights.values() for group in [self.group_of(draws)] for draw in draws}

    def group_of(self, draws: Iterable[Draw]) -> Group:
        """Some draws that look the same."""
        masses: dict[int, float] = {}
        for draw in draws:
            # A planner function may give routes to others than the playbook says.
            mass = self.joint.get(draw, self.survey.prior.get(draw[0], 0.0))
            masses[draw[0]] = masses.get(draw[0], 0.0) + mass
        # Who is never the secret does not stay possible, whatever looks alike.
        return Group(mask_of(c for c, mass in masses.items() if mass > 0), masses)

    @cached_property
    def claimed_groups(self) -> tuple[Group, ...]:
        """The distinct groups that hold a candidate claimed anonymized."""
        return self.claimed_alike(self.playbook.privacy.m)

    def claimed_alike(self, m: int | None) -> tuple[Group, ...]:
        """The same for an observer who sees the first m nodes of every trip, or all of them."""
        groups = self.groups if m == self.playbook.privacy.m else self._alike(m)
        return tuple({id(groups[draw]): groups[draw] for draw in self.listed if draw in groups}.values())

    @cached_property
    def claimed(self) -> tuple[int, ...]:
        """The candidates that the playbook claims to anonymize."""
        return tuple(sorted({c for c, _ in self.listed}))

    @cached_property
    def protected(self) -> tuple[int, ...]:
        """Those for which the claim is true, whichever class is drawn."""
        kept = {id(group): self.is_kept(group) for group in self.claimed_groups}
        alone: dict[tuple[int, int], bool] = {}
        possible = {c for c in self.claimed if self.survey.prior.get(c)}
        for draw in self.listed.keys() & self.groups.keys():
            if (place := (draw[1], self.groups[draw].mask & self.listed[draw])) not in alone:
                alone[place] = self.is_class_alone(draw)
        lost = {
            draw[0]
            for draw, mask in self.listed.items()
            if draw not in self.groups
            or not (kept[id(self.groups[draw])] and alone[draw[1], self.groups[draw].mask & mask])
            or not self.fits(draw, self.groups[draw])
            or (self.rule.beta is None and draw[0] not in possible)
        }
        return tuple(c for c in self.claimed if c not in lost)

    def num_places(self, mask: int) -> int:
        """At how many nodes some candidates are: several names at one node are one place to an observer."""
        return len({self.survey.nodes[c] for c in members_of(mask)})

    def members(self, group: PlaybookClass) -> list[int]:
        """The counted candidates that a class of the playbook lists."""
        return [c for c in map(self.survey.find, group.members) if c is not None]

    def is_sound(self, draw: Draw, trip: int) -> bool:
        """Whether the candidate gets a true walk of the trip that covers it.

        A route that is no walk, or passes its candidate by, protects nobody: an observer with the same map rules
        the candidate out. Nor does one that nobody may drive: what is driven instead is another.
        """
        route = self.routes.get((*draw, trip))
        return route is not None and not route.fault and not route.illegal and (*draw, trip) in self.covered

    def is_kept(self, group: Group) -> bool:
        """Whether those who look the same keep what was promised, as far as it is about all of them.

        A bound on the risk is about what an observer sees: no area may weigh more than beta of all who look the same.
        If each class keeps to that, classes that look the same do together. (Under a bound by counting they are more.)
        """
        if self.rule.beta is not None:
            return self.rule.is_within(group.masses)
        return self.rule.is_all_pairs or self.rule.hides(group.mask)

    def fits(self, draw: Draw, group: Group) -> bool:
        """Whether those of its own class who look the same are what was promised, where it is about classes.

        Under the ``all-pairs`` reading the members of its own class must be k and all far apart; candidates of
        other classes that happen to look the same (all do, at first) can only add to the doubt. And what earlier trips
        have left must hide it still. A randomised playbook promises a bound on the risk alone: whether members of a
        class that is drawn are close is a matter of their shares.
        """
        if self.rule.is_all_pairs and not self.is_randomised:
            own = group.mask & self.listed.get(draw, group.mask)
            if not (self.rule.is_far(own) if self.rule.beta is not None else self.rule.hides(own)):
                return False
        return self.short_history(draw, group) is None

    def is_class_alone(self, draw: Draw) -> bool:
        """Whether the class of a draw keeps the promise without other classes that look the same.

        `route` looks at one class of a partition, and gives no route to any member of one that falls short: on the
        street their trips are missing, which names them. A planner function has no classes of its own.
        """
        if self.is_foreign:
            return True
        own = self.groups[draw].mask & self.listed[draw]
        if self.rule.beta is None:
            return self.rule.hides(own)
        return self.rule.is_within({c: self.joint.get((c, draw[1]), 0.0) for c in members_of(own)})

    def short_history(self, draw: Draw, group: Group) -> int | None:
        """Who is left of those who look the same as a candidate, where that hides it no longer; else ``None``."""
        masses = group.masses
        if self.rule.is_all_pairs and self.rule.beta is None:
            own = self.listed.get(draw, group.mask)
            masses = {c: mass for c, mass in masses.items() if own >> c & 1}
        return self.rule.outlasts(draw[0], masses)

    def on_trip(self, trip: int) -> str:
        """`` on trip 1``, or nothing when there is only one."""
        return f" on trip {trip}" if len(self.survey.trips) > 1 else ""


def is_hidden(playbook: Playbook, groups: Sequence[PlaybookClass], walking: WalkingMap | None = None) -> bool:
    """Whether some classes keep what is promised, worked out from the map with the auditor's own means.

    All their members are asked for, so the work tells the classes and not which member it is done for. It takes a sweep
    of the map as far as ell for each member. Of a partition one class is enough, which an observer who sees the route
    knows anyway: classes that keep the promise keep it together if they look the same, and no route is handed out for
    one that does not. Of a randomised playbook take all: a member that is refused for the sake of another class hides
    nobody. If you ask about many classes, make the ``walking`` map of the domain once.
    """
    problem = playbook.problem
    counted = {problem.candidates[c]: c for c in problem.counted}
    if not all(member in counted for group in groups for member in group.members):
        return False
    survey = bare_survey(problem, [counted[member] for group in groups for member in group.members], walking)
    replayed = replay_playbook(playbook, None, survey)
    wanted = {counted[member] for group in groups for member in group.members}
    return bool(wanted) and wanted <= set(replayed.protected)


def replay_playbook(playbook: Playbook, planner: Planner | None, survey: Survey | None = None) -> ReplayedPlaybook:
    """Ask for the route of every counted candidate on every trip, and walk each distinct one once.

    What the playbook holds is looked up here: ``route_for`` refuses what it can see to be wrong, and the auditor is to
    say what that is.
    """
    privacy = playbook.privacy
    is_weighted = privacy.beta is not None and privacy.mechanism == "partition"
    survey = replace(survey or survey_problem(playbook.problem), is_weighted=is_weighted)
    routes: _Routes = {}
    exposed: _Routes = {}
    # By identity, because members of a class usually share one object. The route is kept so that it stays alive.
    known: dict[tuple[int, int], tuple[object, ReplayedRoute]] = {}

    def walk(given: object, trip: int) -> ReplayedRoute:
        if (trip, id(given)) not in known:
            known[trip, id(given)] = (given, _walk(given, trip, survey))
        return known[trip, id(given)][1]

    homes = _find_homes(playbook, survey)
    for candidate in survey.counted:
        label = survey.label(candidate)
        for trip in range(len(survey.trips)):
            if planner is not None:
                try:
                    given = planner(label, trip)
                except (NotAnonymizedError, UnknownCandidateError):
                    continue
                routes[candidate, _FOREIGN, trip] = walk(given, trip)
                continue
            for position in homes.get(candidate, ()):
                group = playbook.classes[position]
                own = group.member_routes.get((trip, label))
                held = group.routes[trip] if own is None and trip < len(group.routes) else own
                if group.anonymized:
                    routes[candidate, position, trip] = walk(held, trip)
                elif held is not None:
                    exposed[candidate, position, trip] = walk(held, trip)
    return ReplayedPlaybook(playbook, survey, routes, exposed, planner is not None)


def _find_homes(playbook: Playbook, survey: Survey) -> dict[int, list[int]]:
    """For each candidate the number of the first class that lists it; or of all that may be drawn, where some may."""
    homes: dict[int, list[int]] = {}
    drawn: dict[int, list[int]] = {}
    for position, group in enumerate(playbook.classes):
        for c in dict.fromkeys(survey.find(label) for label in group.members):
            if c is not None:
                homes.setdefault(c, [position])
                if group.anonymized:
                    drawn.setdefault(c, []).append(position)
    return homes | drawn if playbook.privacy.mechanism == "randomised" else homes


def _walk(given: object, trip: int, survey: Survey) -> ReplayedRoute:
    stated: object = given.cost if isinstance(given, Route) else UNSTATED
    if not isinstance(given, Iterable):
        return ReplayedRoute((), (), stated, (), f"is {given!r} and no sequence of nodes", "")
    labels = tuple(given)
    nodes = tuple(survey.node(label) for label in labels)
    costs = [None if a is None or b is None else survey.walking.edge_cost(a, b) for a, b in pairwise(nodes)]
    fault = _find_fault(labels, nodes, costs, trip, survey)
    if fault:
        return ReplayedRoute(labels, nodes, stated, (), fault, "")
    steps = [cost for cost in costs if cost is not None]
    illegal = ""
    if survey.rules is not None:
        walked = tuple(node for node in nodes if node is not None)
        steps = [cost + survey.rules.extra_cost(walked[: i + 2]) for i, cost in enumerate(steps)]
        illegal = survey.rules.describe(walked)
    return ReplayedRoute(labels, nodes, stated, tuple(steps), "", illegal)


def _find_fault(labels: tuple[Label, ...], nodes: _Nodes, costs: list[float | None], trip: int, survey: Survey) -> str:
    """Why a route is no walk of the trip, or nothing; ``costs`` are those of its steps, ``None`` without an edge."""
    ends, asked = survey.trips[trip], survey.problem.trips[trip]
    if not nodes:
        return "is empty"
    if None in nodes:
        place = nodes.index(None)
        return f"names {labels[place]}, which is not in the domain (node {place + 1} of the route)"
    # A node with several names would let two routes that look the same be written in two ways.
    for place, (label, node) in enumerate(zip(labels, nodes, strict=True)):
        if node is not None and (first := survey.problem.domain.label(node)) != label:
            return f"names {label} where the map says {first} (node {place + 1} of the route)"
    if nodes[0] != ends.start:
        return f"begins at {labels[0]} instead of the start {asked.start}"
    if nodes[-1] != ends.goal:
        return f"ends at {labels[-1]} instead of the goal {asked.goal}"
    if None in costs:
        step = costs.index(None) + 1
        apart = "nodes that no edge joins" if survey.problem.domain.grid is None else "cells that do not touch"
        places = f"from {labels[step - 1]} to {labels[step]} (nodes {step} and {step + 1} of the route)"
        return f"jumps between {apart}: {places}"
    return ""


def watch_trips(replayed: ReplayedPlaybook) -> tuple[AnonymityStep, ...]:
    """The anonymity set over time, for each trip and every number of nodes seen.

    Groups are split by the node at each position (a route that has ended differs from one that goes on), and
    judged again only when one of them was split.
    """
    steps: list[AnonymityStep] = []
    for trip in range(len(replayed.survey.trips)):
        sights: dict[_Nodes, list[Draw]] = {}
        for c, position, at in replayed.routes:
            if at == trip and replayed.is_sound((c, position), trip):
                sights.setdefault(replayed.routes[c, position, trip].nodes, []).append((c, position))
        if not sights:
            continue
        undecided = [list(sights)]
        settled: list[list[Draw]] = []
        state = _judge_groups(trip, [list(chain.from_iterable(sights.values()))], replayed)
        for m in range(1, max(map(len, sights)) + 1):
            pieces: list[list[_Nodes]] = []
            for routes in undecided:
                by_node: dict[int | None, list[_Nodes]] = {}
                for route in routes:
                    by_node.setdefault(route[m - 1] if m <= len(route) else None, []).append(route)
                pieces += by_node.values()
            if len(pieces) > len(undecided):
                settled += [sights[piece[0]] for piece in pieces if len(piece) == 1]
                undecided = [piece for piece in pieces if len(piece) > 1]
                open_ = [[draw for route in piece for draw in sights[route]] for piece in undecided]
                state = _judge_groups(trip, settled + open_, replayed)
            steps.append(replace(state, m=m))
    return tuple(steps)


def _judge_groups(trip: int, parts: list[list[Draw]], replayed: ReplayedPlaybook) -> AnonymityStep:
    """What an observer knows while these look the same; the caller says for which number of nodes."""
    groups = [replayed.group_of(draws) for draws in parts]
    watched = [
        group for group, draws in zip(groups, parts, strict=True) if not replayed.listed.keys().isdisjoint(draws)
    ]
    places = {group.mask: replayed.num_places(group.mask) for group in groups}
    revealed = {c for group in groups if places[group.mask] == 1 for c in members_of(group.mask)}
    exposed: set[int] = set()
    for group, draws in zip(groups, parts, strict=True):
        is_kept = replayed.is_kept(group)
        exposed |= {draw[0] for draw in draws if not (is_kept and replayed.fits(draw, group))}
    return AnonymityStep(
        trip,
        1,
        min(places[group.mask] for group in watched or groups),
        min(replayed.rule.largest_far_set(group.mask).size for group in watched or groups),
        tuple(replayed.survey.label(c) for c in sorted(revealed)),
        tuple(replayed.survey.label(c) for c in sorted(exposed)),
    )
