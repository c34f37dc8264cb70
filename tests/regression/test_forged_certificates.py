"""Certificates made to deceive: plans that are not the best ones, with evidence that says they are.

A forger who wants a bad plan to pass as proved may write anything into its certificate. Here this is done by hand,
attack by attack, and by thousands of combined changes. None may be accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from certificates import rooms
from veilroute import Certificate, Cut, DualPrices
from veilroute.auditing import (
    MAX_EFFORT,
    ClaimVerdict,
    ReplayedPlaybook,
    check_bound,
    check_certificate,
    check_optimality,
    examine_certificate,
    find_nodes_that_matter,
    replay_playbook,
)


@dataclass(frozen=True)
class Fraud:
    """A plan that is worse than the best one and says that it is, what the auditor knows of it, and the best one."""

    playbook: vr.Playbook
    replayed: ReplayedPlaybook
    best: vr.Playbook

    @property
    def honest(self) -> Certificate:
        assert self.best.certificate is not None
        return self.best.certificate

    @property
    def total(self) -> float:
        """The sum over classes that is claimed to be the least."""
        return sum_of(self.playbook)

    @property
    def num(self) -> int:
        return self.playbook.claims.num_anonymized

    def certificate(self, duals: Iterable[float], cuts: Iterable[Cut] = (), **stated: object) -> Certificate:
        """Prices with the sums that they have; ``stated`` says otherwise."""
        prices = DualPrices(tuple(duals), tuple(cuts))
        bound = min(self.total, max(0.0, value_of(prices, self.num)))
        gap = self.total - bound
        made = Certificate(self.honest.members, prices, None, bound, gap, 1000, 1000)
        return replace(made, **stated)  # type: ignore[arg-type]

    def judge(self, certificate: Certificate | None, effort: float = MAX_EFFORT) -> list[ClaimVerdict]:
        """The verdicts on the certificate, the bound and the optimum."""
        replayed = replace(self.replayed, playbook=replace(self.playbook, certificate=certificate))
        proof = None
        if certificate is not None:
            proof = examine_certificate(replayed, certificate, find_nodes_that_matter(replayed), effort=effort)
        bound, optimum = check_bound(replayed, None, proof), check_optimality(replayed, None, proof, None)
        return [check_certificate(proof), bound, optimum]

    def is_accepted(self, certificate: Certificate | None, effort: float = MAX_EFFORT) -> bool:
        """Whether the auditor is taken in: it proves the bound or the optimum."""
        own, *verdicts = self.judge(certificate, effort)
        if certificate is not None and own.verdict == "holds":
            # A certificate may be true and prove too little; what it states must not exceed the truth.
            assert certificate.bound <= sum_of(self.best) * (1 + 1e-6) + 1e-9
        return any(verdict.verdict == "holds" for verdict in verdicts)


def sum_of(playbook: vr.Playbook) -> float:
    """What the classes of a plan add up to, by its own word: N times the MAC, the total extra cost, or with a prior."""
    if playbook.privacy.risk is not None:
        assert playbook.claims.expected_mac is not None
        assert playbook.claims.hidden_mass is not None
        return playbook.claims.expected_mac * playbook.claims.hidden_mass
    if playbook.objective == "total":
        assert playbook.claims.total_extra is not None
        return playbook.claims.total_extra
    assert playbook.mac is not None
    return playbook.mac * playbook.claims.num_anonymized


def value_of(prices: DualPrices, num: int) -> float:
    """What prices would prove, if they held."""
    return sum(sorted(prices.duals)[:num]) - sum(cut.dual * (len(cut.members) // 2) for cut in prices.cuts)


def defraud(
    problem: vr.Problem, privacy: vr.Privacy, seed: int, *, num_swaps: int | None = None, num_joined: int = 0
) -> Fraud:
    """Random classes, or the best ones with some members exchanged, or some joined to the first.

    Routes and figures are true but for "optimal".
    """
    best = vr.solve(problem, privacy)
    assert best.status == "optimal"
    assert best.certificate is not None
    rng = Random(seed)
    groups = [list(group.members) for group in best.classes if group.anonymized]
    for group in groups[1 : 1 + num_joined]:
        groups.remove(group)
        groups[0] += group
    if num_swaps is None and not num_joined:
        members = [label for group in groups for label in group]
        rng.shuffle(members)
        sizes = [len(group) for group in groups]
        groups = [[members.pop() for _ in range(size)] for size in sizes]
    for _ in range(num_swaps or 0):
        one, other = rng.sample(groups, 2)
        i, j = rng.randrange(len(one)), rng.randrange(len(other))
        one[i], other[j] = other[j], one[i]
    classes = []
    for group in groups:
        covers = [vr.cover(problem, tuple(group), trip=trip) for trip in range(len(problem.trips))]
        routes = tuple(vr.Route(cover.walk, cover.cost, trip) for trip, cover in enumerate(covers))
        classes.append(vr.PlaybookClass(tuple(group), True, routes))
    left_out = tuple(group for group in best.classes if not group.anonymized)
    playbook = replace(best, classes=(*classes, *left_out))
    real = replay_playbook(playbook, None).real_costs
    is_total, is_risk = problem.objective == "total", privacy.risk is not None
    claims = replace(
        best.claims, mac=real.mac, mac_by_trip=real.mac_by_trip, total_extra=real.total_extra,
        mac_lower_bound=None if is_total or is_risk else real.mac, worst_extra=real.worst_extra,
        total_extra_lower_bound=real.total_extra if is_total else None, expected_mac=real.expected_mac,
        expected_mac_lower_bound=real.expected_mac if is_risk else None, worst_posterior=None, bayes_success=None,
    )  # fmt: skip
    playbook = replace(playbook, claims=claims)
    assert sum_of(playbook) > sum_of(best) * (1 + 1e-6)
    return Fraud(playbook, replay_playbook(playbook, None), best)


def weighed(problem: vr.Problem) -> vr.Problem:
    """The same with a prior: the tenth candidate is half as probable as the first."""
    return replace(problem, prior=[1 / (10 + i) for i in range(len(problem.candidates))])


FRAUDS: dict[str, Callable[[], Fraud]] = {
    "13": lambda: defraud(rooms(13, 1), vr.Privacy(k=2), 1),
    "16, almost": lambda: defraud(rooms(16, 2), vr.Privacy(k=2), 2, num_swaps=1),
    "20, two trips": lambda: defraud(rooms(20, 3, num_trips=2), vr.Privacy(k=2), 3),
    "18, k=3": lambda: defraud(rooms(18, 4), vr.Privacy(k=3), 4),
    "14, near pairs": lambda: defraud(rooms(14, 6, (14, 20)), vr.Privacy(k=2, ell=5), 5),
    "28, k=3": lambda: defraud(rooms(28, 5), vr.Privacy(k=3), 6),
    "16, prefixes": lambda: defraud(rooms(16, 7), vr.Privacy(k=2, m=30), 7),
    "16, total": lambda: defraud(replace(rooms(16, 2), objective="total"), vr.Privacy(k=2), 2, num_swaps=1),
    "15, risk": lambda: defraud(weighed(rooms(15, 11)), vr.Privacy(risk=0.5), 11, num_joined=1),
    "14, risk and near pairs": lambda: defraud(
        weighed(rooms(14, 6, (14, 20))), vr.Privacy(risk=0.45, ell=4), 12, num_joined=2
    ),
    "40, almost": lambda: defraud(rooms(40, 8), vr.Privacy(k=2), 8, num_swaps=1),
    "70": lambda: defraud(rooms(70, 9), vr.Privacy(k=2), 9),
    "130": lambda: defraud(rooms(130, 10), vr.Privacy(k=2), 10),
}


@cache
def fraud(name: str) -> Fraud:
    return FRAUDS[name]()


def priced_away(fraud: Fraud, z: float) -> list[float]:
    """One member priced at -z, the others so that the sum is what is claimed."""
    return [-z] + [(fraud.total + z) / (fraud.num - 1)] * (len(fraud.honest.members) - 1)


ATTACKS: dict[str, Callable[[Fraud], Certificate]] = {
    # The forgery that once passed: a list of classes cut short, in which the member priced at -z has none.
    "one member priced away, at 10": lambda f: f.certificate(
        priced_away(f, 10), bound=-1e9, threshold=1e10, num_enumerated=1000
    ),
    "one member priced away, at a million": lambda f: f.certificate(priced_away(f, 1e6), bound=-1e9, threshold=1e10),
    "honest prices, and all classes said to be compared": lambda f: replace(f.honest, threshold=1e10),
    "honest prices, and the gap said to be closed": lambda f: replace(
        f.honest, threshold=f.total - f.honest.bound, num_enumerated=f.honest.num_enumerated
    ),
    "equal prices that add up": lambda f: f.certificate([f.total / f.num] * len(f.honest.members)),
    "no prices and everything compared": lambda f: f.certificate([0.0] * len(f.honest.members), threshold=f.total),
    "prices of 1e16, which swallow everything else": lambda f: f.certificate(priced_away(f, 1e16), bound=0.0),
    "prices of 1e300, whose sums overflow": lambda f: f.certificate(
        [1e300, -1e300, *([1e308] * (len(f.honest.members) - 2))], bound=0.0
    ),
    "a cut that pays for prices too high": lambda f: f.certificate(
        [f.total / f.num + 5.0 * (i < 3) for i in range(len(f.honest.members))], [Cut(f.honest.members[:3], 10.0)]
    ),
    "the same cut many times": lambda f: f.certificate(
        [f.total / f.num + 2.0 * (i < 3) for i in range(len(f.honest.members))],
        [Cut(f.honest.members[:3], 0.06)] * 100,
    ),
    "one cut of everybody": lambda f: f.certificate(
        [f.total / f.num + 0.5 for _ in f.honest.members],
        [Cut(f.honest.members[: len(f.honest.members) // 2 * 2 - 1], 1.0)],
    ),
    "a count that proves nothing": lambda f: replace(
        f.certificate([f.total / f.num] * len(f.honest.members)), count=DualPrices((0.0,) * len(f.honest.members))
    ),
    "classes of the fraud priced at what they cost": lambda f: f.certificate(
        [f.total / f.num * (1 + 0.5 * math.sin(i)) for i in range(len(f.honest.members))], threshold=f.total
    ),
}


QUICK = ("13", "28, k=3", "16, prefixes", "16, total", "15, risk")


def slow_unless(quick: Iterable[str]) -> list[object]:
    """All frauds; those that are not named are left to `make test-all`."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in FRAUDS]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", slow_unless(QUICK))
def test_no_attack_made_by_hand_is_accepted(name: str, attack: str) -> None:
    assert not fraud(name).is_accepted(ATTACKS[attack](fraud(name)), effort=200_000 if name in QUICK else 1_000_000)


@pytest.mark.parametrize(("num", "k"), [(28, 3), (130, 2)])
def test_the_forged_playbooks_that_once_passed_are_refused(shared: Path, num: int, k: int) -> None:
    """On the map and of the sizes with which they were called "optimal (certificate)"."""
    domain = vr.read_movingai(shared / "maps" / "dao" / "den101d.map")
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, num, seed=1)
    forged = defraud(vr.Problem(domain, [vr.Trip(start, goal)], candidates), vr.Privacy(k=k), 1)
    certificate = forged.certificate(priced_away(forged, 10), bound=-1e9, threshold=1e10)
    assert not forged.is_accepted(certificate, effort=1_000_000)
    assert forged.judge(certificate, effort=1_000_000)[0].verdict == "violated"


def test_the_best_plans_themselves_are_accepted() -> None:
    """What refuses everything would pass all of the above."""
    for name in ("13", "20, two trips", "18, k=3", "70", "16, total", "15, risk", "14, risk and near pairs"):
        report = vr.audit(fraud(name).best)
        assert report.verdict == "holds", name


def test_leaving_somebody_out_does_not_help() -> None:
    """The most expensive class is dissolved, so that the rest costs less, and the count is said to be proved."""
    best = fraud("18, k=3").best
    assert best.certificate is not None
    *kept, dissolved = sorted(best.classes, key=lambda group: group.routes[0].cost)
    alone = [
        vr.PlaybookClass((label,), False, (vr.Route(cover.walk, cover.cost, 0),))
        for label in dissolved.members
        for cover in [vr.cover(best.problem, (label,))]
    ]
    num = sum(len(group.members) for group in kept)
    playbook = replace(best, classes=(*kept, *alone))
    real = replay_playbook(playbook, None).real_costs
    claims = replace(
        best.claims, num_anonymized=num, apr=num / 18, mac=real.mac, mac_by_trip=real.mac_by_trip,
        mac_lower_bound=real.mac, delta=num / 18,
    )  # fmt: skip
    assert real.mac is not None
    for count in (None, DualPrices((num / 18,) * 18), DualPrices((0.0,) * 18), DualPrices((1.0,) * 18)):
        certificate = replace(
            best.certificate, count=count, bound=min(value_of(best.certificate.cost, num), real.mac * num),
            threshold=max(0.0, real.mac * num - value_of(best.certificate.cost, num)),
        )  # fmt: skip
        report = vr.audit(replace(playbook, claims=claims, certificate=certificate))
        verdicts = {verdict.claim: verdict.verdict for verdict in report.claims}
        assert verdicts["optimality"] == "violated"


def test_a_candidate_is_not_priced_twice() -> None:
    """Cells may be written as lists or tuples, numbers as numbers only: no second name leads to the same member."""
    book = fraud("13")
    members = book.honest.members
    certificate = replace(
        book.honest,
        members=(*members, (99, 99)),
        cost=DualPrices((*book.honest.cost.duals, 0.0), book.honest.cost.cuts),
    )
    assert not book.is_accepted(certificate)
    first: Any = members[0]
    twice: Any = [*members[:-1], [first[0], first[1]]]
    with pytest.raises(vr.InvalidInputError, match="distinct"):
        replace(book.honest, members=twice)


def forge(fraud: Fraud, rng: Random) -> Certificate:
    """A certificate with several things changed at random, then often made to fit its own sums."""
    honest = fraud.honest
    num = len(honest.members)
    duals, cuts = list(honest.cost.duals), list(honest.cost.cuts)
    for _ in range(rng.choice([1, 1, 2, 3])):
        match rng.randrange(9):
            case 0:
                factor = rng.choice(
                    [0.5, 0.99, 1.01, 1.5, fraud.total / max(1e-9, sum(duals)), 10 ** rng.uniform(-9, 12)]
                )
                duals = [dual * factor for dual in duals]
            case 1:
                lift = (fraud.total - value_of(DualPrices(tuple(duals), tuple(cuts)), fraud.num)) / fraud.num
                duals = [dual + lift for dual in duals]
            case 2:
                z = 10 ** rng.uniform(-3, 9)
                duals[rng.randrange(num)] -= z
                duals = [dual + z / (num - 1) for dual in duals]
            case 3:
                i, j = rng.sample(range(num), 2)
                z = 10 ** rng.uniform(-4, 2)
                duals[i], duals[j] = duals[i] + z, duals[j] - z
            case 4:
                size = rng.choice([size for size in (3, 5, 7, 9) if size <= num])
                cuts.append(Cut(tuple(rng.sample(honest.members, size)), 10 ** rng.uniform(-4, 3)))
            case 5:
                cuts = [replace(cut, dual=cut.dual * rng.choice([0, 0.5, 2, 100])) for cut in cuts]
            case 6:
                # A cut, and its members raised by all that it takes off the bound.
                inside = rng.sample(range(num), 3)
                z = 10 ** rng.uniform(-3, 6)
                cuts.append(Cut(tuple(honest.members[i] for i in inside), z))
                for i in inside:
                    duals[i] += z / 3
            case 7:
                duals = [rng.gauss(fraud.total / fraud.num, fraud.total / fraud.num) for _ in duals]
            case 8:
                half = rng.sample(range(num), num // 2)
                z = 10 ** rng.uniform(-3, 3)
                duals = [dual + (z if i in half else -z) for i, dual in enumerate(duals)]
    made = fraud.certificate(duals, cuts)
    gap = fraud.total - made.bound
    return replace(
        made,
        bound=rng.choice([made.bound] * 4 + [0.0, fraud.total, -1e9, fraud.total - made.threshold, honest.bound]),
        threshold=rng.choice([gap] * 3 + [max(0.0, gap * 0.5), 0.0, 1e10, 10 ** rng.uniform(-6, 6), honest.threshold]),
        num_enumerated=rng.choice([0, 1, honest.num_enumerated, 1000, 10**6]),
        count=rng.choice([None, None, DualPrices((1.0,) * num), DualPrices((0.0,) * num), DualPrices((0.5,) * num)]),
    )


@pytest.mark.parametrize("num_forged", [15, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", slow_unless(("13", "18, k=3", "14, near pairs", "16, prefixes", "16, total", "15, risk"))
)
def test_no_forged_certificate_is_accepted(name: str, num_forged: int) -> None:
    rng, book = Random(name), fraud(name)
    for _ in range(num_forged):
        assert not book.is_accepted(forge(book, rng), rng.choice([10_000, 50_000, 300_000]))


def test_where_no_proof_is_to_be_had_an_exchange_still_contradicts() -> None:
    """True prices, and a gap far too wide for all classes in it to be compared, which is said to have been done."""
    book = fraud("130")
    wide = replace(book.honest, threshold=book.total - book.honest.bound, num_enumerated=10**6)
    certificate, _, optimality = book.judge(wide, effort=500_000)
    assert (certificate.verdict, optimality.verdict) == ("unproved", "violated")
    assert "is possible" in optimality.evidence
