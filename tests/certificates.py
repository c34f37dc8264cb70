"""Certified playbooks made the plain way: every class listed, then scipy's linear and integer programmes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

import veilroute as vr
from veilroute import Certificate, Cut, DualPrices
from veilroute.auditing import measure_risk, replay_playbook
from veilroute.covering import CoveringTask, FieldsEngine, far_matrix, prepare_task

Floats = npt.NDArray[np.float64]
Group = tuple[int, ...]


@dataclass
class World:
    """All classes that are needed, with what they add to the MAC sum."""

    problem: vr.Problem
    privacy: vr.Privacy
    task: CoveringTask
    classes: list[Group]
    shares: Floats

    @property
    def num(self) -> int:
        return len(self.task.members)

    @property
    def sizes(self) -> Floats:
        return np.array([len(group) for group in self.classes], dtype=float)

    def label(self, member: int) -> Any:
        return self.problem.candidates[self.task.members[member]]

    def reduced(self, prices: DualPrices) -> Floats:
        return self.shares - self.paid(prices.duals) + self.cut_terms(prices)

    def paid(self, duals: tuple[float, ...]) -> Floats:
        return np.array([sum(duals[i] for i in group) for group in self.classes])

    def cut_terms(self, prices: DualPrices) -> Floats:
        total = np.zeros(len(self.classes))
        for cut in prices.cuts:
            total += cut.dual * self.halves({i for i in range(self.num) if self.label(i) in cut.members})
        return total

    def halves(self, inside: set[int]) -> Floats:
        return np.array([len(inside.intersection(group)) // 2 for group in self.classes], dtype=float)

    def rows(self) -> csr_matrix:
        rows = [i for group in self.classes for i in group]
        columns = [at for at, group in enumerate(self.classes) for _ in group]
        return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.num, len(self.classes)))


def list_classes(problem: vr.Problem, privacy: vr.Privacy) -> World:
    """Every class that qualifies and cannot be split, straight from the definition."""
    task = prepare_task(problem)
    num = len(task.members)
    far = far_matrix(problem.domain, [problem.candidate_nodes[i] for i in task.members], privacy)

    def stands_apart(group: Group) -> bool:
        return all(far[a, b] for a, b in combinations(group, 2))

    def qualifies(group: Group) -> bool:
        if privacy.spread == "all-pairs":
            return len(group) >= privacy.k and stands_apart(group)
        return any(stands_apart(some) for some in combinations(group, privacy.k))

    def splits(group: Group) -> bool:
        # If it splits at all, then also with k members who stand apart on one side.
        if len(group) < 2 * privacy.k:
            return False
        parts = (some for some in combinations(group, privacy.k) if stands_apart(some))
        return any(qualifies(tuple(i for i in group if i not in some)) for some in parts)

    is_everybody_far = stands_apart(tuple(range(num)))
    is_tight = is_everybody_far or privacy.spread == "all-pairs"
    weights = np.array(task.weights)[:, None] * task.rates
    engine = FieldsEngine(task)
    joined = np.ones((num, num), dtype=bool)
    for pair in combinations(range(num), 2):
        joined[pair] = all(np.isfinite(engine.costs([pair], trip)[0]) for trip in range(task.num_trips))
    classes: list[Group] = []
    shares: list[Floats] = []
    for size in range(privacy.k, min(num, 2 * privacy.k - 1 if is_tight else num) + 1):
        some = np.array(list(combinations(range(num), size)))
        for a, b in combinations(range(size), 2):
            some = some[joined[some[:, a], some[:, b]]]
        sets: list[Group] = [tuple(group) for group in some.tolist()]
        if not is_everybody_far:
            sets = [group for group in sets if qualifies(group) and not splits(group)]
        if not sets:
            continue
        costs = np.array([engine.costs(sets, trip) for trip in range(task.num_trips)])
        extra = costs[:, :, None] - task.base_costs[:, np.array(sets)]
        share = (weights[:, np.array(sets)] * extra).sum(axis=(0, 2))
        classes += [group for group, value in zip(sets, share, strict=True) if np.isfinite(value)]
        shares.append(share[np.isfinite(share)])
    return World(problem, privacy, task, classes, np.concatenate([np.empty(0), *shares]))


def certify(problem: vr.Problem, privacy: vr.Privacy, *, num_rounds: int = 4, status: str = "optimal") -> vr.Playbook:
    """An optimal playbook with its certificate; with status ``feasible``, the bound is the one of the prices alone."""
    world = list_classes(problem, privacy)
    rows, sizes = world.rows(), world.sizes
    most = milp(-sizes, constraints=LinearConstraint(rows, -np.inf, 1), integrality=np.ones(len(sizes)))
    num_grouped = round(-most.fun) if len(sizes) else 0
    cost = _price(world, num_grouped, num_rounds)
    reduced = world.reduced(cost)
    bound = sum(sorted(cost.duals)[:num_grouped]) - sum(cut.dual * (len(cut.members) // 2) for cut in cost.cuts)
    threshold, chosen = _choose(world, num_grouped, reduced, bound)
    count = None if num_grouped == world.num else _price_count(world)
    total = sum(world.shares[at] for at in chosen)
    certificate = Certificate(
        members=tuple(world.label(i) for i in range(world.num)),
        cost=cost,
        count=count,
        bound=bound,
        threshold=threshold,
        num_enumerated=int((reduced <= threshold).sum()),
        num_columns=len(sizes),
    )
    groups = [world.classes[at] for at in chosen]
    lower = total if status == "optimal" else min(total, bound)
    return make_playbook(world, groups, lower / num_grouped, certificate, status)


def _price(world: World, num_grouped: int, num_rounds: int) -> DualPrices:
    rows, sizes = world.rows(), world.sizes
    inside: list[set[int]] = []
    while True:
        halves = [world.halves(members) for members in inside]
        found = linprog(
            world.shares,
            A_ub=csr_matrix(np.vstack([rows.toarray(), *halves])),
            b_ub=np.concatenate([np.ones(world.num), np.ones(len(inside))]),
            A_eq=sizes[None, :],
            b_eq=[num_grouped],
            method="highs",
        )
        marginals = found.ineqlin.marginals
        duals = marginals[: world.num] + found.eqlin.marginals[0]
        if num_rounds == 0:
            break
        num_rounds -= 1
        used = np.flatnonzero(found.x > 1e-9)
        holds = rows[:, used].toarray()
        broken = []
        for some in combinations(range(world.num), 3):
            value = float((holds[list(some)].sum(axis=0) // 2) @ found.x[used])
            if value > 1 + 1e-6:
                broken.append((-value, some))
        if not broken:
            break
        inside += [set(some) for _, some in sorted(broken)[:8]]
    cuts = tuple(
        Cut(tuple(world.label(i) for i in sorted(members)), max(0.0, -float(dual)))
        for members, dual in zip(inside, marginals[world.num :], strict=True)
    )
    prices = DualPrices(tuple(duals.tolist()), cuts)
    # Solvers are exact to 1e-7: lowered until they hold for every class.
    lacking = max(0.0, -float(world.reduced(prices).min())) / world.privacy.k
    return DualPrices(tuple((duals - lacking * (1 + 1e-12)).tolist()), cuts)


def _price_count(world: World) -> DualPrices:
    rows = world.rows()
    found = linprog(-world.sizes, A_ub=rows, b_ub=np.ones(world.num), method="highs")
    duals = np.maximum(0.0, -found.ineqlin.marginals)
    lacking = max(0.0, float((world.sizes - world.paid(tuple(duals))).max())) / world.privacy.k
    return DualPrices(tuple((duals + lacking).tolist()))


def _choose(world: World, num_grouped: int, reduced: Floats, bound: float) -> tuple[float, list[int]]:
    """The best partition, and the least threshold that leaves it in."""
    rows, sizes = world.rows(), world.sizes
    reach = 0.01 * abs(bound) + 1e-9
    while True:
        kept = np.flatnonzero(reduced <= reach)
        found = milp(
            world.shares[kept],
            constraints=[
                LinearConstraint(rows[:, kept], -np.inf, 1),
                LinearConstraint(sizes[None, kept], num_grouped, num_grouped),
            ],
            integrality=np.ones(len(kept)),
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        if found.x is not None and found.fun <= bound + reach:
            chosen = kept[np.flatnonzero(found.x > 0.5)].tolist()
            return max(0.0, sum(world.shares[at] for at in chosen) - bound), chosen
        reach *= 2


def make_playbook(
    world: World, groups: list[Group], lower: float | None, certificate: Certificate | None, status: str
) -> vr.Playbook:
    """A playbook of these classes, with routes and figures that are true."""
    problem, task = world.problem, world.task
    grouped = {i for group in groups for i in group}
    everybody = sorted(groups) + [(i,) for i in range(world.num) if i not in grouped]
    classes = []
    for group in everybody:
        members = tuple(world.label(i) for i in group)
        covers = [vr.cover(problem, members, trip=trip) for trip in range(task.num_trips)]
        routes = tuple(vr.Route(c.walk, c.cost, trip) for trip, c in enumerate(covers))
        classes.append(vr.PlaybookClass(members, group in groups, routes))
    by_trip = []
    for trip in range(task.num_trips):
        extra = [
            (group.routes[trip].cost - task.base_costs[trip, i]) * task.rates[trip, i]
            for group, members in zip(classes, everybody, strict=True)
            if group.anonymized
            for i in members
        ]
        by_trip.append(float(sum(extra)) / len(grouped) if grouped else None)
    mac = float(np.dot(by_trip, task.weights)) if grouped else None  # type: ignore[arg-type]
    num_needed = len({i for group in world.classes for i in group})
    claims = vr.Claims(
        num_candidates=len(problem.counted),
        num_coverable=world.num,
        num_anonymized=len(grouped),
        num_anonymizable=num_needed,
        apr=len(grouped) / world.num,
        mac=mac,
        mac_by_trip=tuple(by_trip),
        mac_lower_bound=mac if status == "optimal" else lower,
        delta=len(grouped) / num_needed if num_needed else None,
    )
    playbook = vr.Playbook(
        domain=problem.domain,
        domain_sha256=problem.domain.sha256,
        trips=tuple(problem.trips),
        candidates=tuple(problem.candidates),
        visibility=problem.visibility,
        privacy=world.privacy,
        planner="optimal",
        options={},
        status=status,
        classes=tuple(classes),
        uncoverable=tuple(problem.candidates[i] for i in task.uncoverable),
        claims=claims,
        certificate=certificate,
    )
    return with_figures(playbook)


def with_figures(playbook: vr.Playbook) -> vr.Playbook:
    """With the figures that certificates are not about, as the auditor works them out."""
    replayed = replay_playbook(playbook, None)
    real, risk = replayed.real_costs, measure_risk(replayed)
    claims = replace(
        playbook.claims, total_extra=real.total_extra, worst_extra=real.worst_extra, expected_mac=real.expected_mac,
        hidden_mass=replayed.mass(replayed.claimed), worst_posterior=risk.worst, bayes_success=risk.bayes_success,
    )  # fmt: skip
    return replace(playbook, claims=claims)


def rooms(
    num: int, seed: int, size: tuple[int, int] = (30, 44), *, num_trips: int = 1, radius: float = 0
) -> vr.Problem:
    """A building with so many candidates; the trips lead between its first, its last and its middle cell."""
    domain = vr.generate_rooms(*size, seed=seed)
    ends = [domain.label(node) for node in (0, domain.num_nodes - 1, domain.num_nodes // 2)]
    trips = [vr.Trip(ends[i], ends[(i + 1) % 3], 1.0 + i) for i in range(num_trips)]
    candidates = [c for c in vr.draw_candidates(domain, ends[0], ends[1], num + 2, seed=seed) if c not in ends][:num]
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius) if radius else vr.AtNode())
