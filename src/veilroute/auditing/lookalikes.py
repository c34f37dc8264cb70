"""What an observer makes of a replan: which other classes go the same way, worked out with the auditor's own code.

How another class is replanned is asked of the planner, from outside: it is what that class is told to do. Whom its walk
covers, whether that keeps the promise, and how sure an observer can be of a place is worked out here.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import NamedTuple

from veilroute.auditing.apartness import ClassRule
from veilroute.auditing.changes import ChangedMap
from veilroute.auditing.replay import is_same
from veilroute.auditing.survey import Survey
from veilroute.auditing.verdicts import number as count
from veilroute.base.errors import VeilrouteError
from veilroute.domain.graph import Label
from veilroute.model.closure import CHOICES, GIVE_UP, GO_ON, Closure, Replan, Sighting, Way
from veilroute.model.playbook import Playbook, PlaybookClass

_MOST_COMPANIES = 512
"""Of more sets of other classes that may go the same way, not all are looked at."""

Replanner = Callable[[int, int, tuple[Label, ...], Closure], Replan]
"""How a class is replanned: asked with its number, a trip, what was walked and what is closed."""


class Fate(NamedTuple):
    """How a class goes: the whole walk of each member, from the start on."""

    number: int
    walks: Mapping[Label, tuple[Label, ...]]

    def sight(self, m: int | None) -> tuple[Label, ...]:
        """What is seen of it, as far as anything is promised."""
        return next(iter(self.walks.values()))[:m]


@dataclass(eq=False)
class Scene:
    """All classes on a trip when something is closed, if those that are replanned make the same choice.

    Each goes its way as it was, or has a replan. ``told`` is how classes go by the rule: on where their promise is
    kept, and without a route otherwise.
    """

    playbook: Playbook
    survey: Survey
    rule: ClassRule
    map: ChangedMap
    chosen: Mapping[int, Fate | Replan]
    told: Mapping[int, Fate]

    def by_rule(self, number: int) -> Fate | None:
        """How a class goes by the rule, if it came here by the rule."""
        found = self.chosen.get(number)
        if not isinstance(found, Replan):
            return found
        return _fate(found, found.going_on) if self.qualifies(found, GO_ON) else None

    def by_choice(self, number: int, choice: str) -> Fate | None:
        """How a class goes if that is chosen."""
        found = self.chosen.get(number)
        return _fate(found, _way(found, choice)) if isinstance(found, Replan) else found

    def qualifies(self, entry: Replan, choice: str) -> bool:
        """Whether the members whom a way covers keep the promise, alone and whoever looks the same."""
        fate = _fate(entry, _way(entry, choice))
        left = self.left(fate) if fate is not None else ()
        return bool(left) and self.keeps_alone(entry.number, left) and self._keep_together(fate)

    def keeps_alone(self, number: int, left: Sequence[Label]) -> bool:
        """Whether some members of a class keep the promise."""
        return self.map.keeps(self.playbook, self.rule, self.masses([(number, left)]))

    def _keep_together(self, mine: Fate | None) -> bool:
        """Under a risk, whether the promise is kept whichever others go the same way; others only add possibilities.

        A class that keeps the promise by itself can be left out: with it the rest keeps the promise as well as without.
        """
        if self.rule.beta is None or mine is None:
            return True
        options = {
            number: [left for left in lefts if not (left and self.keeps_alone(number, left))]
            for number, lefts in self._others(mine).items()
        }
        own = (mine.number, self.left(mine))
        if _num_companies(options) > _MOST_COMPANIES:
            return False  # nobody has tried it all, so nobody may say that it is kept
        return all(
            self.map.keeps(self.playbook, self.rule, self.masses([own, *others]), of_several=True)
            for others in _companies(options)
            if others
        )

    def _others(self, mine: Fate) -> dict[int, list[tuple[Label, ...]]]:
        """The other classes that may go the same way, with the members whom they may cover then."""
        m = self.playbook.privacy.m
        found: dict[int, dict[tuple[Label, ...], None]] = {}
        for number in sorted({*self.told, *self.chosen} - {mine.number}):
            fates = [self.told.get(number), *(self.by_choice(number, choice) for choice in CHOICES)]
            for fate in fates if number in self.chosen else fates[:1]:
                if fate is not None and fate.sight(m) == mine.sight(m):
                    found.setdefault(number, {})[self.left(fate)] = None
        return {number: list(lefts) for number, lefts in found.items()}

    def left(self, fate: Fate) -> tuple[Label, ...]:
        """The members whom their own walks cover."""
        found = []
        for member, walk in fate.walks.items():
            candidate = self.survey.find(member)
            seers = self.survey.watchers[candidate] if candidate is not None else frozenset()
            if not seers.isdisjoint(self.survey.node(label) for label in walk):
                found.append(member)
        return tuple(found)

    def masses(self, parts: Iterable[tuple[int, Sequence[Label]]]) -> dict[int, float]:
        """How probable some members of classes are beside one another: by their shares where classes are drawn."""
        found: dict[int, float] = {}
        for at, labels in parts:
            group = hidden_classes(self.playbook)[at - 1]
            shares = dict(zip(group.members, group.shares, strict=False)) if group.shares else None
            for label in labels:
                if (c := self.survey.find(label)) is not None:
                    own = self.survey.prior.get(c, 0.0) if shares is None else shares.get(label, 0.0)
                    found[c] = found.get(c, 0.0) + own
        return found

    def mistakes(self, entry: Replan) -> Iterator[str]:
        """What is wrong with what a replan says of an observer."""
        for choice, name in zip(CHOICES, ("going on", "giving up"), strict=True):
            stated, fate = _way(entry, choice).seen, _fate(entry, _way(entry, choice))
            if fate is None:
                if stated is not None:
                    yield f"{name}: says what is seen of no way"
            elif stated is not None:
                yield from (f"{name}: {problem}" for problem in self._differences(stated, fate))

    def _differences(self, stated: Sighting, mine: Fate) -> Iterator[str]:
        real, is_decided = self._sighting(mine)
        if (stated.looks_like, stated.may_look_like) != (real.looks_like, real.may_look_like):
            yield f"looks like {_classes(real)}, not like {_classes(stated)}"
        for what, said, num in (
            ("stay possible with all who look the same", stated.num_together, real.num_together),
            ("stay possible", stated.num_possible, real.num_possible),
        ):
            if said != num:
                yield f"{count(num, 'place')} {what}, not {said}"
        for name, one, other in (
            ("one place", stated.worst_place, real.worst_place),
            ("an area", stated.worst_area, real.worst_area),
        ):
            is_equal = one == other if one is None or other is None else is_same(one, other, 1.0)
            # What is not decided is a figure that some company reaches: less must not be said.
            if not is_equal and (is_decided or one is None or other is None or one < other):
                yield f"an observer is {other} sure of {name}, not {one}"

    def _sighting(self, mine: Fate) -> tuple[Sighting, bool]:
        """What can be found out, and whether nothing was left out because there is too much."""
        m, others = self.playbook.privacy.m, self._others(mine)
        told = [at for at, fate in self.told.items() if at in others and fate.sight(m) == mine.sight(m)]
        whole = {at: [hidden_classes(self.playbook)[at - 1].members] for at in others}
        is_decided = max(_num_companies(others), _num_companies(whole)) <= _MOST_COMPANIES
        places, areas = list[float](), list[float]()
        for own, options in ((self.left(mine), others), (tuple(mine.walks), whole)):
            for company in _companies(options):
                masses = self.masses([(mine.number, own), *company])
                total = math.fsum(masses.values())
                if total > 0:
                    places.append(max(self._doors(masses).values()) / total)
                    found = [rule.heaviest(masses) for rule in self.map.rules_of_spread(self.playbook, self.rule)]
                    areas += [area.mass / total for area in found]
                    is_decided = is_decided and all(area.is_decided for area in found)
        alone = self.masses([(mine.number, self.left(mine))])
        together = self.masses([(mine.number, self.left(mine)), *((at, self.left(self.told[at])) for at in told)])
        nums = [sum(mass > 0 for mass in self._doors(masses).values()) for masses in (together, alone)]
        worst = (max(places), max(areas)) if places else (None, None)
        alike = tuple(sorted({mine.number, *told}))
        return Sighting(alike, tuple(sorted(others.keys() - set(told))), *nums, *worst), is_decided

    def _doors(self, masses: Mapping[int, float]) -> dict[int, float]:
        """How probable each node is."""
        doors: dict[int, list[float]] = {}
        for c, mass in masses.items():
            doors.setdefault(self.survey.nodes[c], []).append(mass)
        return {node: math.fsum(parts) for node, parts in doors.items()}


def _num_companies(options: Mapping[int, Sequence[object]]) -> int:
    return math.prod(len(each) + 1 for each in options.values())


def _companies(
    options: Mapping[int, Sequence[tuple[Label, ...]]],
) -> Iterator[list[tuple[int, tuple[Label, ...]]]]:
    """Everything that other classes may do: each goes another way, or covers some members on this one.

    If there is too much to list, nobody else, each by itself, and all of them with what each lists first.
    """
    if _num_companies(options) <= _MOST_COMPANIES:
        for chosen in product(*([None, *lefts] for lefts in options.values())):
            yield [(at, left) for at, left in zip(options, chosen, strict=True) if left is not None]
        return
    yield []
    yield from ([(at, left)] for at, lefts in options.items() for left in lefts)
    yield [(at, lefts[0]) for at, lefts in options.items() if lefts]


def hidden_classes(playbook: Playbook) -> list[PlaybookClass]:
    """The classes that replans number, from 1."""
    return [group for group in playbook.classes if group.anonymized]


def _classes(seen: Sighting) -> str:
    more = f" and perhaps {', '.join(map(str, seen.may_look_like))}" if seen.may_look_like else ""
    return f"{count(len(seen.looks_like), 'class', 'classes')} ({', '.join(map(str, seen.looks_like))}{more})"


def _way(entry: Replan, choice: str) -> Way:
    return entry.giving_up if choice == GIVE_UP else entry.going_on


def _fate(entry: Replan, way: Way) -> Fate | None:
    """How the members go on a way; ``None`` where no road leads to the goal."""
    if not way.route:
        return None
    return Fate(entry.number, {member: entry.walked[:-1] + way.rest_of(member) for member in entry.members})


def _as_planned(playbook: Playbook, trip: int) -> dict[int, Fate]:
    return {
        at: Fate(at, {member: group.route_of(member, trip).nodes for member in group.members})
        for at, group in enumerate(hidden_classes(playbook), start=1)
    }


def _is_changed(walks: Iterable[tuple[Label, ...]], first: int, closure: Closure) -> bool:
    """Whether something on a way is not as it was, from a position on."""
    odd = {frozenset(road) for road in closure.roads}
    edges = {*closure.one_way, *((tail, head) for tail, head, _ in closure.costs)}
    return any(
        frozenset(step) in odd or step in edges or not set(closure.nodes).isdisjoint(step)
        for walk in walks
        for step in pairwise(walk[first:])
    )


def scene_of_replan(playbook: Playbook, survey: Survey, rule: ClassRule, entry: Replan, replanner: Replanner) -> Scene:
    """What all classes do when this is closed where the vehicle of a replan stands."""
    changed = ChangedMap(survey, entry.closure)
    told = _told(playbook, survey, rule, entry, replanner)
    return Scene(playbook, survey, rule, changed, _chosen(playbook, entry, replanner, own=entry.number), told)


def _chosen(playbook: Playbook, entry: Replan, replanner: Replanner, own: int | None) -> dict[int, Fate | Replan]:
    """What classes do there if they made the same choices before; the ``own`` one is replanned in any case."""
    m, first, paths = playbook.privacy.m, len(entry.walked) - 1, _as_planned(playbook, entry.trip)
    if (before := entry.after) is not None:
        earlier = _chosen(playbook, before, replanner, own)
        fates = [_choose(each, before) for each in earlier.values()]
        paths = {fate.number: fate for fate in fates if fate is not None}
    found: dict[int, Fate | Replan] = {} if own is None else {own: entry}
    for at, fate in paths.items():
        walks = list(fate.walks.values())
        shared = _begin_together(walks)
        if at == own:
            continue
        if shared[: first + 1] != entry.walked:
            # It is elsewhere: only if nothing is promised here any more can it have looked the same.
            if m is not None and m <= first and shared[:m] == entry.walked[:m]:
                found[at] = fate
                continue
            # Or it met the change where it would have parted, was replanned there, and has come this way since. What
            # changed further back was as usual when both passed, and at a closed node nobody stood.
            both = _begin_together([shared, entry.walked])
            is_met = _is_changed((walk[: len(both) + 1] for walk in walks), len(both) - 1, entry.closure)
            if is_met and both[-1] not in entry.closure.nodes:
                made = _ask(replanner, at, replace(entry, walked=both))
                found |= {} if made is None else {at: made}
        elif not _is_changed(fate.walks.values(), first, entry.closure):
            found[at] = fate
        elif (made := _ask(replanner, at, entry)) is not None:
            found[at] = made
    return found


def _choose(found: Fate | Replan, like: Replan) -> Fate | None:
    """How a class goes that chooses as the class of another replan did."""
    return _fate(found, _way(found, like.choice or GO_ON)) if isinstance(found, Replan) else found


def _told(playbook: Playbook, survey: Survey, rule: ClassRule, entry: Replan, replanner: Replanner) -> dict[int, Fate]:
    """How classes go by the rule: each was let go on every time, or has no route any more."""
    came = {*_as_planned(playbook, entry.trip)}
    if entry.after is not None:
        came = {*_told(playbook, survey, rule, entry.after, replanner)}
    on = _chosen(playbook, _always_on(entry), replanner, own=None)
    scene = Scene(playbook, survey, rule, ChangedMap(survey, entry.closure), on, {})
    return {at: fate for at in came if (fate := scene.by_rule(at)) is not None}


def _always_on(entry: Replan) -> Replan:
    """The replan if the choice was to go on every time before."""
    return entry if entry.after is None else replace(entry, after=replace(_always_on(entry.after), choice=GO_ON))


def scene_of_road(
    playbook: Playbook, survey: Survey, rule: ClassRule, trip: int, entries: Mapping[int, Replan], closure: Closure
) -> Scene:
    """What all classes do when a road is closed for which those who use it have contingencies."""
    case: dict[int, Fate | Replan] = {**_as_planned(playbook, trip), **entries}
    scene = Scene(playbook, survey, rule, ChangedMap(survey, closure), case, {})
    return replace(scene, told={at: fate for at in case if (fate := scene.by_rule(at)) is not None})


def _begin_together(walks: Iterable[tuple[Label, ...]]) -> tuple[Label, ...]:
    shared = []
    for nodes in zip(*walks, strict=False):
        if len(set(nodes)) > 1:
            break
        shared.append(nodes[0])
    return tuple(shared)


def _ask(replanner: Replanner, at: int, entry: Replan) -> Replan | None:
    """What another class is told to do there; nothing where it is told nothing."""
    try:
        return replanner(at, entry.trip, entry.walked, entry.closure)
    except VeilrouteError:
        return None
