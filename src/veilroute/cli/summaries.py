"""The text that people read about a plan."""

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from veilroute.analysis.posterior import find_doors, find_exposures
from veilroute.app.summary import member_costs, other_obstacles
from veilroute.base.run import peak_memory_mb
from veilroute.cli import console
from veilroute.domain.geography import cost_text
from veilroute.domain.graph import Label
from veilroute.ledger.explain import Shortfall
from veilroute.model.exposure import percent
from veilroute.model.playbook import Claims, Playbook, PlaybookClass

_SAYS_LITTLE = 1.0  # a gap above which the bound is of no use to judge a plan by
_MOST_REASONS = 12
_MOST_ROWS = 200


def print_plan(playbook: Playbook, runtime_s: float, out: Path | None, shortfalls: Sequence[Shortfall] = ()) -> None:
    """Print the readable summary; shortfalls are those of a plan under a ledger."""
    screen = console.stdout()
    for line in (*headline(playbook), *find_doors(playbook)):
        screen.print(line)
    hidden = playbook.hidden_classes
    if playbook.claims.num_anonymized:
        screen.print(_class_table(playbook, hidden[:_MOST_ROWS]))
    if len(hidden) > _MOST_ROWS:
        screen.print(f"... and {len(hidden) - _MOST_ROWS} classes more: --json, or the playbook")
    exposed = playbook.exposed_candidates
    if exposed:
        screen.print(f"Not protected (no route is given): {_listing(playbook, exposed)}")
    if playbook.uncoverable:
        screen.print(f"Cannot be covered: {_listing(playbook, playbook.uncoverable)}")
    if exposed or playbook.uncoverable:
        _print_shortfall(screen, playbook, shortfalls)
    if playbook.contingencies:
        undecided = sum(entry.choice is None for entry in playbook.contingencies)
        told = f"Contingencies: {len(playbook.contingencies)}"
        screen.print(told + (f", of which {undecided} leave too few possible." if undecided else "."))
    peak = peak_memory_mb()
    screen.print(f"Planned in {runtime_s:.2f} s" + (f", peak memory {peak:.0f} MB." if peak is not None else "."))
    hint = "Add -o FILE to keep the playbook."
    screen.print(hint if out is None else f"Playbook: {out}   (check it: veilroute audit {out})")


def _class_table(playbook: Playbook, groups: Sequence[PlaybookClass]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    streets = None if playbook.domain is None else playbook.domain.streets
    drawn = ("drawn",) if any(group.shares for group in groups) else ()
    figure = "cost" if streets is None else "time" if streets.unit == "seconds" else "length"
    for name in ("class", *drawn, "size", figure, "route", "members"):
        table.add_column(name, justify="left" if name == "members" else "right", overflow="fold")
    for number, group in enumerate(groups, start=1):
        costs = " ".join(_costs_text(playbook, group, route.trip) for route in group.routes)
        nodes = f"{len(group.shared(0))} nodes{' shared' if group.rests(0) else ''}"
        chance = (f"{math.fsum(group.shares):.1%}",) if drawn else ()
        members = _listing(playbook, group.members)
        table.add_row(str(number), *chance, str(len(group.members)), costs, nodes, members)
    return table


def _listing(playbook: Playbook, labels: Sequence[Label]) -> str:
    return (", " if playbook.names else " ").join(playbook.name(label) for label in labels)


def _print_shortfall(screen: Console, playbook: Playbook, shortfalls: Sequence[Shortfall]) -> None:
    """Against what the figures are to be read, and why candidates are missing."""
    claims = playbook.claims
    shares = f"{claims.num_coverable} of {claims.num_candidates} candidates can be covered"
    if claims.num_coverable:
        shares += f", {claims.num_anonymized} of these are hidden (APR {claims.apr:.3g})"
    if claims.num_anonymizable is not None and claims.delta is not None:
        shares += f", {claims.num_anonymizable} could be in some class (delta {claims.delta:.3g})"
    screen.print(shares + ".")
    if shortfalls:
        screen.print("Because of earlier trips, which an observer may link with this one:")
        from veilroute.cli.ledger import shortfall_lines

        for line in shortfall_lines(playbook, shortfalls):
            screen.print(line)
    obstacles = other_obstacles(playbook, shortfalls, limit=_MOST_REASONS + 1)
    for obstacle in obstacles[:_MOST_REASONS]:
        screen.print(f"  {playbook.name(obstacle.candidate)}: {obstacle.reason}.")
    if len(obstacles) > _MOST_REASONS:
        screen.print("  More reasons: --json")


def _costs_text(playbook: Playbook, group: PlaybookClass, trip: int) -> str:
    costs = member_costs(group, trip)
    low, high = (cost_text(playbook.domain, cost) for cost in (min(costs), max(costs)))
    return low if low == high else f"{low} to {high}"


def headline(playbook: Playbook) -> list[str]:
    """What was reached, in a few sentences, and what is to be known about them."""
    claims, privacy = playbook.claims, playbook.privacy
    span = "the whole route" if privacy.m is None else f"the first {privacy.m} nodes"
    wanted = f"k={privacy.k}" if privacy.risk is None else f"risk at most {percent(privacy.risk)}"
    goal = f"{wanted}, ell={privacy.distance_text}, {span}, spread by {privacy.spread}"
    exposed = find_exposures(playbook)
    notes = [f"Warning: {text}" for text in exposed.notes]
    if playbook.status == "infeasible":
        advice = "Lower k or ell, or add candidates." if privacy.risk is None else "Allow more risk, or lower ell."
        if playbook.past is not None and playbook.past.left:
            goal += " after what earlier trips have shown"
            new = "at least k candidates" if playbook.past.trips == "expected" else "candidates"
            advice = f"Add {new} who were never listed; --since says which trips nobody can link any more."
        if privacy.risk is None and privacy.k > (num := playbook.problem.num_places):
            advice = (
                f"k={privacy.k} asks for {privacy.k} possible places, and there are {num}: lower k, or add candidates."
            )
        return [f"Nothing can be hidden: no class of candidates reaches {goal}.", advice, *notes]
    if not claims.num_anonymized and playbook.planner == "reuse":
        return [
            f"Nothing is hidden: no class of the earlier playbook reaches {goal} on this trip.",
            "Lower k or ell, or plan all trips together, before the first one is taken.",
            *notes,
        ]
    if not claims.num_anonymized:
        return [f"Nothing is hidden: no class was found that reaches {goal}.", "That is not proved impossible.", *notes]
    num_classes = len(playbook.hidden_classes)
    word = "class" if num_classes == 1 else "classes"
    if privacy.mechanism == "randomised":
        word += ", of which one is drawn"
    proof = f", {_proof_text(playbook)}"
    of_mac, of_total = (proof, "") if playbook.objective == "mac" else ("", proof)
    average, mean, figure = "on average", claims.mac, "MAC"
    if playbook.prior is not None and privacy.beta is not None and claims.expected_mac is not None:
        average, mean, figure = "on average, by how probable each is,", claims.expected_mac, "expected MAC"
    lines = [
        f"{claims.num_anonymized} of {claims.num_coverable} candidates hidden in {num_classes} {word} ({goal}).",
        f"Routes are {mean:.1%} longer {average} than without hiding ({figure} {mean:.6g}{of_mac}).",
        *exposed.to_lines(),
    ]
    if claims.total_extra is not None and claims.worst_extra is not None:
        total, worst = (cost_text(playbook.domain, cost) for cost in (claims.total_extra, claims.worst_extra))
        share = claims.total_extra / max(_total_cost(playbook) - claims.total_extra, 1e-12)
        lines.append(
            f"All routes together cost {total} ({share:.1%}) more{of_total}; the worst single detour is {worst}."
        )
    if claims.gap is not None and claims.gap > _SAYS_LITTLE and playbook.status != "optimal":
        bound = f"The proved bound of {_bound(claims):.3g}"
        lines.append(f"{bound} says little about how good the plan is: allow more time, or lower k.")
    if playbook.options.get("areas") == "surroundings":
        lines.append(
            f"There are more areas less than {playbook.privacy.distance_text} across than can be looked at one by one. "
            "So the plan bounds each place together with all places close to it. This is stricter than the promise: "
            "a plan that hides more, or costs less, may exist."
        )
    if privacy.m is not None and any(group.member_routes for group in playbook.classes):
        lines.append(f"After {privacy.m} nodes the routes of a class may part: from there on nothing is promised.")
    return lines


def _proof_text(playbook: Playbook) -> str:
    """How good the plan is proved to be."""
    claims = playbook.claims
    if playbook.status == "optimal":
        return "proved optimal"
    gap = "" if claims.gap is None else console.gap_text(claims.gap)
    if not gap:
        return "search completed, not proved optimal" if playbook.search_completed else "not proved optimal"
    best = "the optimum" if claims.num_anonymized == claims.num_coverable else "the best that hides as many"
    return f"at most {gap} above {best}: bound {_bound(claims):.6g}"


def _bound(claims: Claims) -> float | None:
    bounds = (claims.total_extra_lower_bound, claims.expected_mac_lower_bound, claims.mac_lower_bound)
    return next((bound for bound in bounds if bound is not None), None)


def _total_cost(playbook: Playbook) -> float:
    """What the routes of all hidden candidates cost together, trips averaged by their weights."""
    weights = [trip.weight for trip in playbook.trips]
    trips, groups = range(len(weights)), playbook.hidden_classes
    drawn: dict[Label, float] = {}
    for group in groups:
        for member, share in zip(group.members, group.shares or [1.0] * len(group.members), strict=True):
            drawn[member] = drawn.get(member, 0.0) + share
    costs = [0.0] * len(weights)
    for trip in trips:
        for group in groups:
            shares = group.shares or [1.0] * len(group.members)
            parts = zip(group.members, shares, member_costs(group, trip), strict=True)
            costs[trip] += sum(cost * share / drawn[member] for member, share, cost in parts)
    return sum(weight * cost for weight, cost in zip(weights, costs, strict=True)) / sum(weights)
