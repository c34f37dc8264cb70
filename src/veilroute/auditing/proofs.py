"""The certificate of a bound, checked against the map by an enumeration of the auditor's own.

`veilroute.model.certificate` says what the prices mean. Whether they hold for every class that matters (`ClassRule`
says which do), how many classes are within reach of the bound, and whether some of these combine to something cheaper:
all of this is worked out again, from walks that are priced here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

from veilroute.auditing.apartness import mask_of, members_of
from veilroute.auditing.class_search import FEW_CUTS, MAX_MEMBERS, ClassSearch, Cuts, Search, Workbench
from veilroute.auditing.replay import ABSOLUTE, RELATIVE, ReplayedPlaybook
from veilroute.auditing.verdicts import ClaimVerdict, judge, names, number
from veilroute.auditing.walking import Effort, TooMuchError
from veilroute.model.certificate import Certificate, DualPrices

MAX_EFFORT = 10_000_000
"""Node visits (or steps of similar cost) after which a part of the check is given up: about five seconds."""

_COUNT_SLACK = 1e-6
_COUNT_ROUNDING = 1e-9
"""How far the prices behind a number of members may sum above it, and for a class below its size."""

SUM_ROUNDING = 1e-13
"""How far a sum of prices may be off, for each unit that they add up to: some hundred roundings of 2^-53."""

MOST_ROUNDING = 1e-6
"""Prices whose sums may be off by more, relative to the MAC sum claimed, are refused. Honest ones come near to that on
maps with costs of 1e-8 and 1e8. What they may be off is added to how far classes are listed and combined."""

_OPTION_STEP = 4
_PAIRS_STEP = 0.25
"""What looking at a class, and at its pairs within a cut, take, measured in visits by breadth-first search."""


@dataclass(frozen=True)
class Proof:
    """What became of a certificate."""

    problems: tuple[str, ...] = ()  # what is wrong with it
    evidence: str = ""  # what was found when nothing is
    is_checked: bool = False  # whether its prices were held against every class
    has_bound: bool = False  # that no plan for as many candidates undercuts the playbook's bound
    cheaper: float | None = None  # a sum below it that is possible
    most: int | None = None  # how many candidates can be anonymized at most, where that is proved
    more: int | None = None  # a larger number than the playbook's that can be
    effort: str = ""  # in words what was tried, or why it was not


def check_certificate(proof: Proof | None) -> ClaimVerdict:
    """The evidence that the playbook gives for its bound is sound."""
    if proof is None:
        return judge("certificate", [], "none is given")
    return judge("certificate", proof.problems, proof.evidence, checked=proof.is_checked)


def examine_certificate(
    replayed: ReplayedPlaybook,
    certificate: Certificate,
    m: int | None,
    *,
    effort: float = MAX_EFFORT,
    most_members: int = MAX_MEMBERS,
) -> Proof:
    """Check a certificate for the playbook's bound, as far as the effort allows; classes share their first m nodes.

    Sums first, then its prices against every class, the classes within reach of the bound, the number of members, and
    at last what those classes combine to. Each part has an allowance of its own, the ``effort``; what goes beyond it
    stays unchecked.
    """
    return _Examination(replayed, certificate).run(m, effort, most_members)


def size_of(prices: DualPrices) -> float:
    """What the prices add up to, whatever their signs."""
    return sum(map(abs, prices.duals)) + sum(cut.dual * len(cut.members) for cut in prices.cuts)


def _exchanged(one: int, other: int) -> Iterator[tuple[int, int]]:
    """Two groups after a member of each changed places, or a member of one went over."""
    # 0 stands for nobody, who comes last.
    leaving, joining = ([*(1 << i for i in members_of(group)), 0] for group in (one, other))
    for i, j in product(leaving, joining):
        if i or j:
            yield one ^ i | j, other ^ j | i


class Option(NamedTuple):
    """A class that may be part of a partition."""

    group: int
    excess: float  # what it takes of the slack between the bound and the sum to stay below, at least 0 but for rounding
    share: float  # what it adds to the sum


@dataclass(eq=False)
class Combiner:
    """Looks for a partition whose shares sum to less than ``target``.

    By exact cover: of the members not yet settled, the one with the fewest options left gets each of them in turn, or
    is left out while somebody still may be. A branch ends when what was taken and what the rest takes at least exceed
    the slack: each member not settled takes at least the least excess per member of its options, and a cut that can no
    longer be met with equality takes its price for each pair that is missing. Where the same members were settled at a
    lower sum before, a branch ends as well.

    All classes that a cheaper partition could consist of must be among the ``options``. Exactly ``num_left_out`` are
    left out, which takes ``leaving`` of the slack, the target less the bound.
    """

    options: Sequence[Option]
    leaving: Sequence[float]
    num_left_out: int
    cuts: Cuts
    slack: float
    target: float
    effort: Effort
    num_tried: int = 0
    is_complete: bool = False
    cheaper: tuple[Option, ...] = ()
    _least: dict[tuple[int, int], float] = field(default_factory=dict)

    def run(self) -> Combiner:
        """Search: ``cheaper`` has the first partition found; when there is none, ``is_complete`` says for certain."""
        everybody = (1 << len(self.leaving)) - 1
        with suppress(TooMuchError):
            options = sorted(self.options, key=lambda option: (option.excess, option.group))
            self._settle(everybody, self.num_left_out, 0.0, 0.0, (), options)
            self.is_complete = True
        return self

    def _settle(
        self, open_: int, num_out: int, taken: float, share: float, chosen: tuple[Option, ...], options: list[Option]
    ) -> None:
        self.num_tried += 1
        if open_.bit_count() <= num_out:
            if open_.bit_count() == num_out and share < self.target:
                self.cheaper = chosen
            return
        state = (open_, num_out)
        if share >= self._least.get(state, math.inf):
            return
        self._least[state] = share
        self.effort.spend(_OPTION_STEP * (1 + len(options)) + len(self.cuts))
        self.effort.spend(_PAIRS_STEP * max(0, len(self.cuts) - FEW_CUTS) * len(chosen))
        taken_by_cuts = self._cut_excess(open_, chosen)
        fitting: dict[int, list[Option]] = {member: [] for member in members_of(open_)}
        usable = []
        for option in options:
            if not option.group & ~open_ and taken + taken_by_cuts + option.excess < self.slack:
                usable.append(option)
                for member in members_of(option.group):
                    fitting[member].append(option)
        least = taken + taken_by_cuts
        for member, own in fitting.items():
            per_member = min((option.excess / option.group.bit_count() for option in own), default=math.inf)
            least += min(per_member, self.leaving[member] if num_out else math.inf)
        if least >= self.slack:
            return
        member = min(fitting, key=lambda m: (len(fitting[m]), m))
        for option in fitting[member]:
            rest = open_ & ~option.group
            self._settle(rest, num_out, taken + option.excess, share + option.share, (*chosen, option), usable)
            if self.cheaper:
                return
        if num_out:
            self._settle(open_ ^ 1 << member, num_out - 1, taken + self.leaving[member], share, chosen, usable)

    def _cut_excess(self, open_: int, chosen: tuple[Option, ...]) -> float:
        excess = 0.0
        for inside, price in self.cuts:
            pairs = sum((option.group & inside).bit_count() >> 1 for option in chosen)
            excess += price * ((inside.bit_count() >> 1) - pairs - ((open_ & inside).bit_count() >> 1))
        return excess


class _Examination:
    """The check, part by part; ``problems`` are those found so far."""

    def __init__(self, replayed: ReplayedPlaybook, certificate: Certificate) -> None:
        self.replayed, self.certificate, self.objective = replayed, certificate, replayed.objective
        # Under a bound on the risk the prices are those of plans that hide everybody who can be hidden.
        is_counted = replayed.rule.beta is None
        self.num = replayed.playbook.claims.num_anonymized if is_counted else len(certificate.members)
        self.hidden = self.num if is_counted else replayed.mass(replayed.hideable)
        self.rounding = SUM_ROUNDING * size_of(certificate.cost)
        self.problems: list[str] = []

    @property
    def is_about_plan(self) -> bool:
        """Whether the plan is one of those that the prices are about: under a bound on the risk, it hides them all."""
        return self.replayed.rule.beta is None or set(self.replayed.claimed) >= set(self.replayed.hideable)

    # Worked out when asked for: members and sizes are checked before, and what a file holds may overflow.

    @cached_property
    def claimed(self) -> float:
        """The sum over classes that no plan is said to undercut."""
        stated = self.objective.bound
        return self.certificate.bound if stated is None else self.objective.total(stated, self.hidden)

    @cached_property
    def bound(self) -> float:
        """What the prices prove for partitions of so many members when no class has a negative reduced cost."""
        duals, cuts = self.certificate.cost.duals, self.certificate.cost.cuts
        return math.fsum(sorted(duals)[: self.num]) - math.fsum(cut.dual * (len(cut.members) // 2) for cut in cuts)

    def run(self, m: int | None, max_effort: float, most_members: int) -> Proof:
        """Check the sums; then, where there are not too many, the classes."""
        self.problems += self._wrong_members() or self._wrong_sizes()
        if self.problems:
            return Proof(tuple(self.problems), effort="the certificate is wrong")
        self.problems += self._wrong_sums()
        if len(self.certificate.members) > most_members:
            reason = f"certificates are checked for up to {most_members} coverable candidates"
        else:
            try:
                self.bench = Workbench(self.replayed, max_effort, m)
                self.duals, self.cuts = self._placed(self.certificate.cost)
                return self._examine_classes()
            except TooMuchError:
                reason = "the map is too large to price all classes"
        return Proof(tuple(self.problems), f"its prices give the bound that it states; {reason}", effort=reason)

    def _wrong_members(self) -> list[str]:
        survey, members = self.replayed.survey, self.certificate.members
        possible = self.replayed.hideable
        found = [survey.find(label) for label in members]
        missing = sorted(set(possible).difference(found))
        strange = [label for label, c in zip(members, found, strict=True) if c not in possible]
        rule = self.replayed.rule
        can = "covered" if rule.beta is None and not rule.lines else "hidden"
        problems = [f"does not price {survey.names(missing)}"] if missing else []
        problems += [f"prices {names(strange)}, which cannot be {can}"] if strange else []
        if not problems and len(found) > len(possible):
            problems.append(f"prices {len(found)} members where {len(possible)} can be {can}, so some twice")
        if self.num > len(found):
            problems.append(f"prices {len(found)} members, fewer than the {self.num} said to be anonymized")
        return problems

    def _wrong_sizes(self) -> list[str]:
        """Whether the prices are so large that their sums, which should nearly cancel, drown in rounding."""
        tolerance = MOST_ROUNDING * abs(self.claimed) + ABSOLUTE * self.objective.unit * self.hidden
        sizes = [(self.objective.name, size_of(self.certificate.cost), tolerance)]
        if self.certificate.count is not None:
            sizes.append(("number of candidates", size_of(self.certificate.count), _COUNT_ROUNDING))
        return [
            f"its prices for the {what} add up to {size:.3g}, too much to be exact"
            for what, size, most in sizes
            if not size * SUM_ROUNDING <= most < math.inf
        ]

    def _wrong_sums(self) -> list[str]:
        """What is wrong whatever the classes cost."""
        stated, name = self.certificate.bound, self.objective.sum_name
        problems = []
        if stated > self.bound + self._margin(stated):
            problems.append(f"states that the {name} is at least {stated:.9g}, its prices say {self.bound:.9g}")
        if stated < -self._margin(self.bound):
            problems.append(f"states the bound {stated:.9g}, which says nothing: no {name} is below 0")
        enough = stated + self.certificate.threshold
        if (
            self.objective.bound is not None
            and self.is_about_plan
            and self.claimed > enough + self._margin(self.claimed)
        ):
            problems.append(
                f"compares classes up to {self.certificate.threshold:.9g} above its bound, which is enough for a "
                f"{name} of {enough:.9g} and not for the {self.claimed:.9g} claimed"
            )
        return problems

    def _examine_classes(self) -> Proof:
        """Hold the prices against every class, then combine those within reach of the bound.

        Nothing follows from a list of classes that ends before what it is needed for: a class that is missing might be
        part of a cheaper partition. So each step asks how far the list goes, and says nothing where that is too short.
        """
        certificate = self.certificate
        # Less than the sum claimed by more than rounding.
        target = self.claimed - self.objective.margin(self.claimed, self.hidden)
        reach = max(0.0, target - self.bound)
        limit = max(reach, certificate.threshold)
        search = self._list_classes(limit)
        if limit > reach and not search.is_complete:
            limit = reach
            search = self._list_classes(limit)
        # What classes with a negative reduced cost take off the bound; a partition has at most N / k of them.
        lost = min(0.0, 0.0, *search.found.values()) * (self.num // self.bench.rule.k)
        if certificate.bound > self.bound + lost + self._margin(certificate.bound):
            # Where no class undercuts the prices, it is their sum that is wrong, which was said before.
            undercut = [self._undercut(search)] if lost < 0 else []
            return Proof((*self.problems, *undercut), effort="the certificate is wrong")
        if not search.is_complete:
            reason = "there are too many classes to price them all"
            evidence = f"no class contradicts its prices so far; {reason}"
            return self._exchange(Proof(tuple(self.problems), evidence, effort=reason), target)
        # Under a prior or a ledger the planner may list classes that are not needed: there is nothing to count again.
        is_open = self.replayed.rule.beta is not None or bool(self.replayed.rule.lines)
        is_counted = is_open or limit >= certificate.threshold
        if not is_open and is_counted:
            self._count_listed(search)
        most, more = self._count_members()
        evidence = (
            f"its prices hold for every class, so the {self.objective.sum_name} is at least {certificate.bound:.9g}"
        )
        if certificate.num_enumerated or not is_counted:
            listed = number(certificate.num_enumerated, "class", "classes")
            evidence += f"; {listed} up to {certificate.threshold:.3g} above that"
            evidence += "" if is_counted else ", too many to be counted again"
        proof = Proof(tuple(self.problems), evidence, is_checked=is_counted, most=most, more=more)
        if self.objective.bound is None:
            return replace(proof, effort="no bound is stated")
        if not self.is_about_plan:
            return replace(proof, effort="its prices are those of plans that hide more")
        # Classes below zero make room for others: each of a partition's may be as far below as the worst.
        slack = target - self.bound - lost + self.rounding
        if slack > limit:
            search = self._list_classes(slack)
            if not search.is_complete:
                return self._exchange(replace(proof, effort="too many classes are within reach of the bound"), target)
        return self._combine(proof, search, target, slack)

    def _placed(self, prices: DualPrices) -> tuple[list[float], list[tuple[int, float]]]:
        """Prices in the order of the bench, and cuts as bit masks."""
        places = {label: self.bench.find(label) for label in self.certificate.members}
        duals = [0.0] * len(places)
        for label, dual in zip(self.certificate.members, prices.duals, strict=True):
            duals[places[label]] = dual
        cuts = [(sum(1 << places[label] for label in cut.members), cut.dual) for cut in prices.cuts]
        return duals, [cut for cut in cuts if cut[1]]

    def _list_classes(self, limit: float) -> Search:
        # What the worst class may be below zero is allowed to the others on top.
        room = self._rounding(limit) + self._margin(self.bound) + self.rounding
        return self.bench.search(self.duals, self.cuts, limit + room)

    def _rounding(self, threshold: float) -> float:
        """How far reduced costs around a threshold may be off."""
        return RELATIVE * threshold + ABSOLUTE * max([self.objective.unit, *map(abs, self.duals)])

    def _margin(self, value: float) -> float:
        """How far a sum over the members may be off."""
        return self.objective.margin(value, self.hidden or 1)

    def _undercut(self, search: Search) -> str:
        worst, reduced = min(search.found.items(), key=lambda item: item[1])
        share = self.bench.prices.share(worst)
        return (
            f"its prices are too high: {self.bench.names(worst)} as a class add {share:.9g} to the "
            f"{self.objective.sum_name}, the prices say at least {share - reduced:.9g}"
        )

    def _count_listed(self, search: Search) -> None:
        """Whether as many classes were listed as there are, but for those on the threshold itself."""
        stated, threshold = self.certificate.num_enumerated, self.certificate.threshold
        if not stated and not threshold:
            return  # nothing was listed, because nothing had to be
        if self.replayed.playbook.privacy.m is not None and isinstance(search, ClassSearch):
            return  # here an m counts as infinite for which the planner may have priced prefixes
        rounding = self._rounding(threshold)
        fewest = sum(reduced <= threshold - rounding for reduced in search.found.values())
        most = sum(reduced <= threshold + rounding for reduced in search.found.values())
        if not fewest <= stated <= most:
            listed = number(stated, "class", "classes")
            self.problems.append(f"lists {listed} up to {threshold:.9g} above its bound, there are {most:,}")

    def _count_members(self) -> tuple[int | None, int | None]:
        """How many members can be anonymized at most, where that is proved, and a larger number than N that can be."""
        num = len(self.duals)
        if self.replayed.rule.beta is not None:
            return num, None  # none but the members can be hidden
        # Without prices: everybody counts once.
        duals, cuts = ([1.0] * num, []) if self.certificate.count is None else self._placed(self.certificate.count)
        # What a class's prices sum to, less its size, stands for its reduced cost; what its walks cost does not matter.
        gains = [1 - dual for dual in duals]
        search = self.bench.search(gains, cuts, -_COUNT_ROUNDING, is_free=True)
        if search.found:
            group, lacking = min(search.found.items(), key=lambda item: item[1])
            size = group.bit_count()
            self.problems.append(
                f"its prices for the number of candidates are too low: {self.bench.names(group)} as a class are "
                f"{size}, the prices say at most {size + lacking:.9g}"
            )
        if search.found or not search.is_complete:
            return None, None
        total = math.fsum(duals) + math.fsum(price * (inside.bit_count() // 2) for inside, price in cuts)
        most = math.floor(total + _COUNT_SLACK)
        if most <= self.num or self.replayed.playbook.status != "optimal":
            return most, None
        search = self.bench.search(gains, cuts, total - self.num - 1 + _COUNT_SLACK, is_free=True)
        options = [Option(group, excess, 0.0) for group, excess in search.found.items()]
        self.bench.effort.renew()
        while search.is_complete and most > self.num:
            slack = total - most + _COUNT_SLACK
            combiner = Combiner(options, duals, num - most, cuts, slack, math.inf, self.bench.effort).run()
            if combiner.cheaper:
                return None, most
            if not combiner.is_complete:
                break
            most -= 1
        return most, None

    def _combine(self, proof: Proof, search: Search, target: float, slack: float) -> Proof:
        """Whether the classes listed, which must be all with a reduced cost up to ``slack``, combine to less."""
        # Of the members grouped, those priced above the dearest of the cheapest N add to the bound; of those left out,
        # those priced below it do.
        dearest = sorted(self.duals)[self.num - 1] if self.num else 0.0
        leaving = [max(0.0, dearest - dual) for dual in self.duals]
        options = []
        for group, reduced in search.found.items():
            excess = reduced + math.fsum(max(0.0, self.duals[i] - dearest) for i in members_of(group))
            if excess < slack:
                options.append(Option(group, excess, self.bench.prices.share(group)))
        effort = f"{number(search.num_priced, 'set')} priced and the others bounded"
        if slack <= 0:
            return replace(proof, has_bound=True, effort=f"{effort}, the prices are enough")
        self.bench.effort.renew()
        num_left_out = len(self.duals) - self.num
        combiner = Combiner(options, leaving, num_left_out, self.cuts, slack, target, self.bench.effort).run()
        effort += f", {number(len(options), 'class', 'classes')} within reach"
        effort += f", {number(combiner.num_tried, 'combination')} tried"
        if combiner.cheaper:
            total = math.fsum(option.share for option in combiner.cheaper)
            return replace(proof, cheaper=total, effort=effort)
        if not combiner.is_complete:
            return self._exchange(replace(proof, effort=f"{effort}, too few to rule all out"), target)
        return replace(proof, has_bound=True, effort=effort)

    def _exchange(self, proof: Proof, target: float) -> Proof:
        """Where no proof is to be had, at least a look whether two members that change places make the plan cheaper."""
        bench = self.bench
        bench.effort.renew()
        with suppress(TooMuchError):
            groups = [
                mask_of(bench.find(label) for label in group.members)
                for group in self.replayed.playbook.classes
                if group.anonymized
                and all(self.replayed.survey.find(label) in bench.members for label in group.members)
            ]
            if sum(group.bit_count() for group in groups) != self.num:
                return proof  # this is no plan for as many as it says, or for all who are priced
            shares = [bench.prices.share(group) for group in groups]
            total = math.fsum(shares)
            for (one, first), (other, second) in combinations(zip(groups, shares, strict=True), 2):
                for changed in _exchanged(one, other):
                    if all(map(bench.rule.qualifies, changed)):
                        better = total - first - second + math.fsum(map(bench.prices.share, changed))
                        if better < target:
                            return replace(proof, cheaper=better)
        return proof
