"""What is known of a plan, as data: the object that `plan --json` prints, and that the studio gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from veilroute.analysis.obstacles import MAX_OBSTACLES, Obstacle, coverable_positions, find_obstacles
from veilroute.analysis.posterior import find_exposures, near_share
from veilroute.base.run import peak_memory_mb
from veilroute.model.playbook import Playbook, PlaybookClass
from veilroute.model.problem import ROUNDING, Past
from veilroute.model.rules import least_risk

if TYPE_CHECKING:
    from veilroute.ledger.explain import Shortfall


def least_possible_risk(playbook: Playbook) -> str | None:
    """The least risk that probabilities allow, rounded up, where less was asked for than that."""
    beta, problem = playbook.privacy.beta, playbook.problem
    if beta is None:
        return None
    least = least_risk(problem.prior_of(coverable_positions(playbook)))
    if least is None or least <= beta * (1 + ROUNDING):
        return None
    return f"{math.ceil(least * 1e4 - 1e-6) / 1e4:g}"


def plan_summary(playbook: Playbook, runtime_s: float, shortfalls: Sequence[Shortfall] = ()) -> dict[str, Any]:
    """The object that `plan --json` prints; shortfalls are those of a plan under a ledger."""
    claims, privacy = playbook.claims, playbook.privacy
    figures = asdict(claims)
    worst, success = figures.pop("worst_posterior"), figures.pop("bayes_success")
    exposed = next(iter(find_exposures(playbook).exposures), None)
    return {
        "status": playbook.status,
        "planner": playbook.planner,
        "objective": playbook.objective,
        **privacy.to_dict(),
        "mechanism": privacy.mechanism,
        **figures,
        "risk": {
            "bound": privacy.beta,
            "num_possible": exposed.num_possible if exposed else None,
            "worst_place": exposed.worst_place if exposed else None,
            "worst": worst,
            "bayes_success": success,
        },
        "gap": claims.gap,
        "near_share": near_share(playbook),
        "classes": [_class_summary(group, privacy.m) for group in playbook.classes],
        "uncoverable": playbook.uncoverable,
        "obstacles": [obstacle.to_dict() for obstacle in other_obstacles(playbook, shortfalls)],
        **({} if playbook.past is None else _history_summary(playbook.past, shortfalls)),
        "names": [[label, name] for label, name in playbook.names.items()],
        **({"contingencies": [one.to_dict() for one in playbook.contingencies]} if playbook.contingencies else {}),
        "runtime_s": runtime_s,
        "peak_memory_mb": peak_memory_mb(),
    }


def _history_summary(past: Past, shortfalls: Sequence[Shortfall]) -> dict[str, Any]:
    """What is printed of a plan under a ledger besides."""
    found = [each.to_dict() for each in shortfalls]
    return {"ledger": past.ledger, "since": past.since, "trips": past.trips, "shortfalls": found}


def other_obstacles(
    playbook: Playbook, shortfalls: Sequence[Shortfall], *, limit: int = MAX_OBSTACLES
) -> tuple[Obstacle, ...]:
    """Why candidates get no route for other reasons than their history."""
    explained = {each.candidate for each in shortfalls}
    found = find_obstacles(playbook, limit=limit + len(explained))
    return tuple(each for each in found if each.candidate not in explained or each.kind == "uncoverable")[:limit]


def _class_summary(group: PlaybookClass, m: int | None) -> dict[str, Any]:
    """What all members walk, on the first trip and, where there are several, on each."""
    trips: list[dict[str, Any]]
    if m is None:
        name, trips = "routes", [{"cost": route.cost, "route": route.nodes} for route in group.routes]
    else:
        name, numbers = "prefixes", range(len(group.routes))
        trips = [{"costs": member_costs(group, trip), "prefix": group.shared(trip)[:m]} for trip in numbers]
    summary = {"members": group.members, "anonymized": group.anonymized, **trips[0]}
    if group.shares:
        summary["shares"] = group.shares
    if m is not None:
        summary["cost"] = sum(summary["costs"]) / len(group.members)
    if len(trips) > 1:
        summary[name] = [{"trip": number, **trip} for number, trip in enumerate(trips)]
    return summary


def member_costs(group: PlaybookClass, trip: int) -> list[float]:
    """What each member of a class pays on a trip."""
    return [group.route_of(member, trip).cost for member in group.members]
