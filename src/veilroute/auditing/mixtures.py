"""The certificate of a randomised playbook: prices that no class, with any shares that it may have, undercuts.

A randomised playbook is a solution of a linear programme, and its certificate a solution of the dual one: a price for
each hidden candidate t, so that for every class S, walked at the cost c(S), and all shares ``x`` that its members may
have ::

    sum over t in S of x[t] * (c(S) / base_cost_t - 1 - dual_t) >= 0

Then a plan that hides all of them costs at least the sum of ``p_t * dual_t``. This is about classes whose members are
pairwise not close: "optimal" means optimal among such playbooks. No area holds two members of such a class, so shares
may be what they like as long as none exceeds beta of their sum. So they are mixtures of a few kinds, all with as many
members as go into ``1 / beta``: these count once each and, where ``1 / beta`` is no whole number, one more member
counts for what is left. For each class the worst kind is the one in which the member counts for less that adds most.

A playbook keeps its promise with any shares that leave every area within beta, whether members are close or not: that
is the claim ``risk``, and nothing here depends on it.
"""

import math

from veilroute.auditing.apartness import ClassRule
from veilroute.auditing.class_search import MAX_MEMBERS, Search, Workbench
from veilroute.auditing.proofs import MAX_EFFORT, MOST_ROUNDING, SUM_ROUNDING, Proof, size_of
from veilroute.auditing.replay import ABSOLUTE, ReplayedPlaybook
from veilroute.auditing.verdicts import names, number
from veilroute.auditing.walking import TooMuchError
from veilroute.model.certificate import Certificate
from veilroute.model.problem import ROUNDING


def examine_mixture(replayed: ReplayedPlaybook, certificate: Certificate, m: int | None) -> Proof:
    """Check a certificate for the bound of a randomised playbook, as far as the effort allows."""
    return _Examination(replayed, certificate, m).run()


def whole_and_rest(beta: float) -> tuple[int, float]:
    """How many members a class has that is no mixture of others, and for how much the last of them counts."""
    inverse = 1 / beta
    if abs(inverse - round(inverse)) <= ROUNDING * inverse:
        return round(inverse), 1.0
    return math.ceil(inverse), inverse - math.floor(inverse)


class _Examination:
    """The check, part by part."""

    def __init__(self, replayed: ReplayedPlaybook, certificate: Certificate, m: int | None) -> None:
        self.replayed, self.certificate, self.m = replayed, certificate, m
        self.objective = replayed.objective
        self.beta = replayed.playbook.privacy.beta or 1.0
        self.hidden = replayed.mass(replayed.claimed)
        self.found = [replayed.survey.find(label) for label in certificate.members]

    def run(self) -> Proof:
        """Members and sums first, then the classes."""
        problems = self._wrong_members() or self._wrong_size()
        if problems:
            return Proof(tuple(problems), effort="the certificate is wrong")
        prior, duals = self.replayed.survey.prior, self.certificate.cost.duals
        self.bound = math.fsum(prior[c or 0] * dual for c, dual in zip(self.found, duals, strict=True))
        problems = self._wrong_sums()
        search = None
        reason = f"certificates are checked for up to {MAX_MEMBERS} hidden candidates"
        if len(duals) <= MAX_MEMBERS:
            reason = "there are too many classes to price them all"
            try:
                search = self._list_classes()
            except TooMuchError:
                reason = "the map is too large to price all classes"
        if search is not None and search.found:
            # All shares together are at most beta of what is hidden, counted in members that count once.
            lost = min(search.found.values()) * self.beta * self.hidden
            if self.certificate.bound > self.bound + lost + self._margin(self.bound):
                return Proof((*problems, self._undercut(search)), effort="the certificate is wrong")
        if search is None or not search.is_complete:
            return Proof(tuple(problems), f"no class contradicts its prices so far; {reason}", effort=reason)
        evidence = (
            "its prices hold for every class of members that are pairwise not close, so the expected MAC sum is at "
            f"least {self.certificate.bound:.9g}"
        )
        effort = f"{number(search.num_priced, 'set')} priced and the others bounded"
        if not self.replayed.hides_all:
            effort = "that no other candidates can be hidden in place of these was not worked out"
        has_bound = not problems and self.replayed.hides_all and self.objective.bound is not None
        return Proof(tuple(problems), evidence, is_checked=True, has_bound=has_bound, effort=effort)

    def _wrong_members(self) -> list[str]:
        claimed, survey = self.replayed.claimed, self.replayed.survey
        missing = [c for c in claimed if c not in self.found]
        strange = [label for label, c in zip(self.certificate.members, self.found, strict=True) if c not in claimed]
        problems = [f"does not price {survey.names(missing)}"] if missing else []
        problems += [f"prices {names(strange)}, which are not hidden"] if strange else []
        if not problems and len(self.found) > len(claimed):
            problems.append(f"prices {len(self.found)} members where {len(claimed)} are hidden, so some twice")
        lost = [c for c in claimed if c not in survey.prior]
        return problems + ([f"prices {survey.names(lost)}, which cannot be covered"] if lost else [])

    def _wrong_size(self) -> list[str]:
        """Whether the prices are so large that their sums drown in rounding."""
        claimed = self.objective.total(self.objective.bound or self.certificate.bound, self.hidden)
        size = size_of(self.certificate.cost)
        if size * SUM_ROUNDING <= MOST_ROUNDING * abs(claimed) + ABSOLUTE < math.inf:
            return []
        return [f"its prices add up to {size:.3g}, too much to be exact"]

    def _wrong_sums(self) -> list[str]:
        """What is wrong whatever the classes cost."""
        certificate, stated = self.certificate, self.certificate.bound
        problems = []
        if (
            certificate.cost.cuts
            or certificate.count is not None
            or certificate.threshold
            or certificate.num_enumerated
        ):
            problems.append("has cuts, a count or classes listed, which prove nothing where classes overlap")
        if stated > self.bound + self._margin(stated):
            problems.append(
                f"states that the expected MAC sum is at least {stated:.9g}, its prices say {self.bound:.9g}"
            )
        if stated < -self._margin(self.bound):
            problems.append(f"states the bound {stated:.9g}, which says nothing: no expected MAC is below 0")
        if self.objective.bound is not None:
            claimed = self.objective.total(self.objective.bound, self.hidden)
            if claimed > stated + self._margin(claimed):
                problems.append(f"its bound is enough for an expected MAC sum of {stated:.9g}, not of {claimed:.9g}")
        return problems

    def _list_classes(self) -> Search:
        """The classes that undercut the prices."""
        replayed = self.replayed
        size, rest = whole_and_rest(self.beta)
        rule = ClassRule(size, replayed.rule.close, is_all_pairs=True, largest=size)
        members = [c for c in self.found if c is not None]
        bench = Workbench(replayed, MAX_EFFORT, self.m, members, rule)
        self.bench = bench
        duals = dict(zip(members, self.certificate.cost.duals, strict=True))
        self.duals = [duals[c] for c in bench.members]
        limit = -ABSOLUTE * max([1.0, *map(abs, self.duals)])
        return bench.search(self.duals, (), limit, rest=rest)

    def _margin(self, value: float) -> float:
        return self.objective.margin(value, self.hidden or 1.0)

    def _undercut(self, search: Search) -> str:
        worst, reduced = min(search.found.items(), key=lambda item: item[1])
        return f"its prices are too high: {self.bench.names(worst)} as a class come to {-reduced:.9g} less than that"
