"""A map on which roads are closed or cost something else, for the auditor alone, and who keeps a promise there."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from veilroute.auditing.apartness import ClassRule, Spread, mask_of
from veilroute.auditing.legality import TurnRules
from veilroute.auditing.survey import Survey
from veilroute.auditing.walking import WalkingMap, make_rows
from veilroute.base.arrays import Ints
from veilroute.model.closure import Closure
from veilroute.model.playbook import Playbook


class ChangedMap:
    """The map of a survey after a closure."""

    def __init__(self, survey: Survey, closure: Closure) -> None:
        self.survey, self.closure = survey, closure
        self.closed: set[tuple[int, int]] = set()
        self.shut: set[int] = set()
        self.costs: dict[tuple[int, int], float] = {}
        self._changed_rule: ClassRule | None = None
        self.unknown = self._read()  #: what the closure names and the map does not have; empty where there is nothing

    def _read(self) -> str:
        """Take down what is closed and what costs something else."""
        closure, node = self.closure, self.survey.node
        edges = [(tail, head, True) for tail, head in closure.roads]
        edges += [(tail, head, False) for tail, head in closure.one_way]
        for tail, head, both in edges:
            a, b = node(tail), node(head)
            if a is None or b is None:
                return f"{tail} to {head}"
            there = {(a, b), (b, a)} if both else {(a, b)}
            there = {edge for edge in there if self.survey.walking.edge_cost(*edge) is not None}
            if not there:
                return f"{tail} to {head}"
            self.closed |= there
        for label in closure.nodes:
            place = node(label)
            if place is None:
                return str(label)
            self.shut.add(place)
        for tail, head, cost in closure.costs:
            a, b = node(tail), node(head)
            if a is None or b is None or self.step(a, b) is None or not 0 <= cost < math.inf:
                return f"{tail} to {head}"
            self.costs[a, b] = cost
        return ""

    def step(self, tail: int, head: int) -> float | None:
        """What a step costs; ``None`` where no open road leads."""
        if (tail, head) in self.closed or tail in self.shut or head in self.shut:
            return None
        cost = self.survey.walking.edge_cost(tail, head)
        return None if cost is None else self.costs.get((tail, head), cost)

    @cached_property
    def walking(self) -> WalkingMap:
        """The whole map as it has changed."""
        domain = self.survey.problem.domain
        tails, heads, costs = domain.edge_arrays()
        keys = tails * domain.num_nodes + heads

        def among(edges: Iterable[tuple[int, int]]) -> Ints:
            return np.searchsorted(keys, np.array([a * domain.num_nodes + b for a, b in edges], dtype=np.int64))

        shut = np.array(sorted(self.shut), dtype=np.int64)
        is_open = ~(np.isin(tails, shut) | np.isin(heads, shut))
        is_open[among(self.closed)] = False
        prices = costs.astype(np.float64)
        prices[among(self.costs)] = list(self.costs.values())
        return WalkingMap(make_rows(domain.num_nodes, tails[is_open], heads[is_open], prices[is_open]))

    @cached_property
    def rules(self) -> TurnRules | None:
        """Which turns are legal, where another street may have become a dead end."""
        domain = self.survey.problem.domain
        return None if domain.turns is None else TurnRules(domain, domain.turns, self.walking, self.survey.called)

    def keeps(
        self, playbook: Playbook, rule: ClassRule, masses: Mapping[int, float], *, of_several: bool = False
    ) -> bool:
        """Whether candidates, probable as ``masses`` say, keep the promise by the playbook's map and by this one.

        If they are ``of_several`` classes, only what an observer may believe of an area is asked, under a risk.
        """
        find = self.survey.find
        # What earlier trips have left for a member, where the playbook was planned under a ledger, must do as well.
        groups, past = [masses], () if playbook.past is None else playbook.past.left
        for owner, others in past:
            if find(owner) in masses:
                known = {find(other) for other in others}
                groups.append({c: mass for c, mass in masses.items() if c in known})
        rules = self.rules_of_spread(playbook, rule)
        return all(_is_class(each, group, of_several) for each in rules for group in groups)

    def rules_of_spread(self, playbook: Playbook, rule: ClassRule) -> list[ClassRule]:
        """The rule on the playbook's map and, if that may be stricter, on this one.

        Closing roads makes no way shorter, and metres are not changed by new costs. So only new costs can bring
        members closer together than they were, and only where ell is a cost.
        """
        if not self.closure.costs or playbook.privacy.measure != "cost":
            return [rule]
        if self._changed_rule is None:
            exact = all(isinstance(cost, int) for *_, cost in self.closure.costs)
            self._changed_rule = Spread(replace(self.survey, walking=self.walking), playbook.privacy, exact=exact)
        return [rule, self._changed_rule]


def _is_class(rule: ClassRule, masses: Mapping[int, float], of_several: bool) -> bool:
    """Whether candidates with these probabilities, or shares, keep what a rule asks."""
    group = mask_of(masses)
    if rule.beta is None:
        return rule.hides(group)
    return bool(masses) and (of_several or not rule.is_all_pairs or rule.is_far(group)) and rule.is_within(masses)
