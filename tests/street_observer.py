"""Random scenarios of every feature, and what the simulated observer achieves in each beside what is printed.

``FEATURES`` has by name a function from a seed to comparisons. Everything that is asked of the package has the same
name in the version that was reviewed (1c8f6de), so that ``benchmarks/street.py`` can run the same scenarios there; the
observer itself is always that of this checkout.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import veilroute as vr
from door_towns import door_problem, winding_town
from veilroute.domain import label_text, with_rules

CODE = Path(__file__).parent.parent / "src" / "veilroute" / "auditing" / "street.py"


def load_observer() -> Any:
    """The observer of this checkout, whichever version of the package is imported."""
    spec = importlib.util.spec_from_file_location("simulated_observer", CODE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


street = load_observer()
Comparison = street.Comparison
Key = vr.Key


# ----------------------------------------------------------------------------------------------------------------------
# Maps and problems


def draw_graph(rng: Random) -> vr.Domain:
    """A directed graph, or streets in both directions, with whole, broken or equal costs; strongly connected."""
    num = rng.randint(14, 26)
    pairs = {(node, (node + 1) % num) for node in range(num)} if rng.random() < 0.5 else set()
    for node in range(1, num):
        other = rng.randrange(max(0, node - 4), node)
        pairs |= {(node, other), (other, node)}
    for _ in range(rng.randint(0, num)):
        a, b = rng.sample(range(num), 2)
        pairs.add((a, b))
    rows = sorted(pairs)
    costs = [rng.choice(rng.choice([(1,), (1, 2, 3, 4), (0.5, 1.0, 1.7, 2.25)])) for _ in rows]
    return vr.Domain.from_edges(
        num, [a for a, _ in rows], [b for _, b in rows], costs, labels=[f"N{node}" for node in range(num)]
    )


def with_twins(rng: Random, domain: vr.Domain, places: Sequence[Any], num: int) -> tuple[vr.Domain, list[Any]]:
    """Some places get a second name at the same node."""
    twins = rng.sample(list(places), num)
    further = [(f"{place} too", domain.node(place)) for place in twins]
    return with_rules(domain, None, further), [*places, *(name for name, _ in further)]


def draw_trip(rng: Random, ends: Sequence[Any]) -> vr.Trip:
    start, goal = rng.sample(ends, 2)
    return vr.Trip(start, goal)


def draw_problem(
    rng: Random, *, num_trips: int = 1, has_twins: bool | None = None, num: int | None = None
) -> vr.Problem:
    """Rooms or a graph, with some places, a prior of some shape or none, and some visibility."""
    has_twins = rng.random() < 0.25 if has_twins is None else has_twins
    num = rng.randint(5, 9) if num is None else num
    is_graph = has_twins or rng.random() < 0.5
    domain = draw_graph(rng) if is_graph else vr.generate_rooms(12, 14, seed=rng.randrange(50))
    labels = [domain.label(node) for node in rng.sample(range(domain.num_nodes), num + 4)]
    places, ends = labels[:num], labels[num:]
    if has_twins:
        domain, places = with_twins(rng, domain, places, rng.randint(1, 3))
        rng.shuffle(places)
    trips = [draw_trip(rng, ends) for _ in range(num_trips)]
    shapes: list[list[float] | None] = [None, [1 / (at + 1) for at in range(len(places))]]
    shapes.append([rng.random() ** 2 + 1e-3 for _ in places])
    shapes.append([*(rng.choice([0.0, 1.0, 1.0, 2.0]) for _ in places[2:]), 1.0, 1.0])
    sights: list[vr.Visibility] = [vr.AtNode(), vr.AtNode(), vr.WithinDistance(1), vr.WithinDistance(2)]
    return vr.Problem(domain, trips, places, rng.choice(sights), prior=rng.choice(shapes))


def draw_ell(rng: Random) -> float:
    """From 0 to beyond the diameter of most maps here."""
    return rng.choice([0, 0, 0.5, 1, 1, 2, 3, 4, 6, 10, 20])


def solve(problem: vr.Problem, privacy: vr.Privacy) -> vr.Playbook | None:
    """A plan, or nothing if there can be none."""
    with suppress(vr.InvalidInputError):
        return vr.solve(problem, privacy, time_limit_s=20)
    return None


# ----------------------------------------------------------------------------------------------------------------------
# What is printed


def shown_by_plan(book: vr.Playbook) -> list[Any]:
    """What `plan` prints of what is seen."""
    with suppress(ImportError):
        from veilroute.posterior import find_exposures

        report: Any = find_exposures(book)
        exposures = getattr(report, "exposures", report)
        seen = [None] if book.privacy.m is None else [book.privacy.m, None]
        names = ("num_possible", "worst_place", "worst_area", "bayes_success")
        return [
            street.Shown("plan", {name: getattr(each, name) for name in names}, m, where=each.seen)
            for m, each in zip(seen, exposures, strict=False)
        ]
    # As it was: one figure for "one place and those closer than ell to it", and one for "whoever watches".
    worst, claims = book.claims.worst_posterior, book.claims
    figures = {"worst_place": worst, "worst_area": worst, "worst_ball": worst}
    return [
        street.Shown("plan", figures, book.privacy.m, where="the route"),
        street.Shown("plan", {"bayes_success": claims.bayes_success}, None, where="whoever watches"),
    ]


def judge_book(book: vr.Playbook) -> list[Any]:
    """One playbook, seen once: everything that plan, audit and risk print."""
    shown, report = shown_by_plan(book), vr.risk(book)
    for step in report.over_time:
        figures = {
            "worst_area": step.worst,
            "bayes_success": step.bayes_success,
            "worst_place": getattr(step, "worst_place", None),
            "num_possible": getattr(step, "num_possible", None),
        }
        shown.append(street.Shown("risk, on the way", figures, step.m, where=f"after {step.m} nodes"))
    for each in vr.audit(book).anonymity:
        figures = {"num_possible": each.smallest_class, "num_apart": each.widest_witness}
        where = f"trip {each.trip}, after {each.m} nodes"
        shown.append(street.Shown("audit, on the way", figures, each.m, each.trip, where, is_counted=True))
    is_warned = report.no_trip.identified is not None
    silent = street.compare_silent(book, report.hidden_mass, report.no_trip.candidates, is_warned=is_warned)
    return [*street.compare_playbook(book, shown).rows, *silent]


# ----------------------------------------------------------------------------------------------------------------------
# Scenarios


def single(rng: Random) -> list[Any]:
    """One trip under k and ell, by both readings of spread."""
    k, spread = rng.randint(2, 4), rng.choice(["witness", "all-pairs"])
    book = solve(draw_problem(rng), vr.Privacy(k=k, ell=draw_ell(rng), spread=spread))
    return [] if book is None else judge_book(book)


def risky(rng: Random) -> list[Any]:
    """One trip under a risk, with priors and an ell."""
    risk = rng.choice([0.5, 0.4, 0.34, 0.25, 0.6, 0.75])
    spread = rng.choice(["witness", "witness", "all-pairs"])
    book = solve(draw_problem(rng), vr.Privacy(risk=risk, ell=draw_ell(rng), spread=spread))
    return [] if book is None else judge_book(book)


def randomised(rng: Random) -> list[Any]:
    """One trip of a randomised playbook, under k or a risk."""
    asked: dict[str, Any] = {"k": rng.randint(2, 3)} if rng.random() < 0.4 else {"risk": rng.choice([0.5, 0.4, 0.34])}
    book = solve(draw_problem(rng), vr.Privacy(ell=draw_ell(rng), mechanism="randomised", **asked))
    return [] if book is None else judge_book(book)


def finite(rng: Random) -> list[Any]:
    """The first m nodes are promised, and the whole route is seen."""
    asked: dict[str, Any] = {"k": rng.randint(2, 3)} if rng.random() < 0.6 else {"risk": rng.choice([0.5, 0.4])}
    if rng.random() < 0.25:
        asked["mechanism"] = "randomised"
    book = solve(draw_problem(rng), vr.Privacy(ell=draw_ell(rng), m=rng.randint(1, 12), **asked))
    return [] if book is None else judge_book(book)


def several(rng: Random) -> list[Any]:
    """Several trips with one partition."""
    asked: dict[str, Any] = {"k": rng.randint(2, 3)} if rng.random() < 0.6 else {"risk": rng.choice([0.5, 0.34])}
    m = rng.choice([None, None, rng.randint(2, 10)])
    if rng.random() < 0.2:
        asked["mechanism"] = "randomised"
    problem = draw_problem(rng, num_trips=rng.randint(2, 3))
    book = solve(problem, vr.Privacy(ell=draw_ell(rng), m=m, **asked))
    return [] if book is None else judge_book(book)


def on_streets(rng: Random) -> list[Any]:
    """Places beside streets with rules for turns, some with two names at one door; distances in metres or seconds."""
    measure = rng.choice(["cost", "driving", "walking", "straight"])
    ell = rng.choice([0, 20, 60]) if measure == "cost" else rng.choice([0, 100, 300, 600])
    seed = rng.randrange(40)
    town = winding_town(seed, u_turns=rng.choice(["dead-ends", "allow"]))
    problem = door_problem(seed, town, num=rng.randint(5, 8), num_twins=rng.randint(0, 3))
    prior = rng.choice([None, [1 / (at + 1) for at in range(len(problem.candidates))]])
    asked: dict[str, Any] = {"k": rng.randint(2, 3)} if rng.random() < 0.5 else {"risk": rng.choice([0.5, 0.34])}
    if rng.random() < 0.25:
        asked["mechanism"] = "randomised"
    book = solve(replace(problem, prior=prior), vr.Privacy(ell=ell, measure=measure, **asked))
    return [] if book is None else [*judge_book(book), *judge_stops(book)]


def judge_stops(book: vr.Playbook) -> list[Any]:
    """Whole routes, seen with where the van stops, as driver sheets have it: no more than what routes alone tell.

    Figures of a part of the way are about nodes: a stop on it may tell more, and is not compared.
    """
    from veilroute.streets import Stops

    stops = Stops(book)

    def run(place: Any, key: Key) -> Any:
        routes = street.drive(book, place, key)
        if routes is None:
            return None
        halts = ([stop.position for stop in stops.on_route(nodes, trip)] for trip, nodes in enumerate(routes))
        return tuple((nodes, *some) for nodes, some in zip(routes, halts, strict=True))

    streets, rows = street.streets_of(book), list[Any]()
    if book.privacy.m is None:
        counted = street.watch(street.counted_weights(book), run)
        found = street.judge_sights(counted.beliefs.values(), streets)
        rows += street.compare("promise, with stops", found, street.promised(book.privacy))
    found = street.judge_sights(street.watch(street.weights_of(book), run).beliefs.values(), streets)
    for each in shown_by_plan(book):
        if each.m is None:
            rows += street.compare("plan, with stops", found, each.figures, each.where)
    return rows


def other_planners(rng: Random) -> list[Any]:
    """Planners of the paper, plans that are extended or used again, and classes that come from elsewhere."""
    problem, ell = draw_problem(rng), draw_ell(rng)
    kind = rng.choice(["pbp", "m-pbp", "cbp", "rbp", "constructive", "extended", "reused", "elsewhere"])
    k = rng.randint(2, 3)
    try:
        match kind:
            case "pbp":
                partitioner = rng.choice(["exact", "local-search", "merge-bb", "df-bb", "naive"])
                book = vr.solve(problem, vr.Privacy(k=k, ell=ell), planner="pbp", partitioner=partitioner)
            case "m-pbp" | "cbp" | "rbp" | "constructive":
                m = None if kind == "constructive" else rng.randint(2, 10)
                book = vr.solve(problem, vr.Privacy(k=k, ell=ell, m=m), planner=kind)
            case "extended":
                privacy = vr.Privacy(risk=0.5, ell=ell) if rng.random() < 0.5 else vr.Privacy(k=k, ell=ell)
                book = vr.solve(problem, privacy)
                rows, _, _ = (array.tolist() for array in problem.domain.edge_arrays())
                goal = problem.domain.node(problem.trips[0].goal)
                ahead = [head for tail, head in zip(rows, problem.domain.indices.tolist(), strict=True) if tail == goal]
                after = [problem.trips[0].goal, problem.domain.label(rng.choice(ahead))]
                book = vr.extend_playbook(book, after=after)
            case "reused":
                first = vr.solve(problem, vr.Privacy(k=k, ell=ell))
                again = replace(problem, trips=[vr.Trip(problem.trips[0].goal, problem.trips[0].start)])
                book = vr.solve(again, vr.Privacy(k=k, ell=ell), planner="reuse", partition=first)
            case _:
                privacy = vr.Privacy(risk=0.5, ell=ell) if rng.random() < 0.5 else vr.Privacy(k=k, ell=ell)
                places = rng.sample(list(problem.candidates), len(problem.candidates))
                size = rng.randint(2, 4)
                groups = [places[at : at + size] for at in range(0, len(places), size)]
                classes = [{"members": own, "route": vr.cover(problem, own).walk} for own in groups]
                book = vr.playbook_from_classes(problem, privacy, classes)
                if not vr.audit(book).holds:  # nobody says that these keep a promise
                    return []
    except (vr.InvalidInputError, vr.TooLargeError):
        return []
    return judge_book(book) if book.hidden_classes else []


def another_prior(rng: Random) -> list[Any]:
    """An observer with another prior than the planned one, as `risk --prior` has it."""
    book = draw_book(rng) if rng.random() < 0.7 else draw_randomised(rng)
    if book is None:
        return []
    prior = [rng.choice([0.0, 0.5, 1.0, 3.0]) for _ in book.candidates[2:]] + [1.0, 2.0]
    streets, weights = street.streets_of(book), dict(zip(book.candidates, prior, strict=True))
    sights = street.watch(weights, lambda place, key: street.drive(book, place, key))
    report, on_the_way, rows = vr.risk(book, prior), dict(street.along(sights, streets)), []
    figures = {"worst_area": report.worst, "bayes_success": report.bayes_success}
    figures["worst_place"] = getattr(report, "worst_place", None)
    rows += street.compare("risk", street.judge_sights(sights.beliefs.values(), streets), figures)
    for step in report.over_time:
        figures = {"worst_area": step.worst, "bayes_success": step.bayes_success}
        rows += street.compare("risk, on the way", on_the_way.get(step.m), figures, f"after {step.m} nodes")
    return list(rows)


def forged(rng: Random) -> list[Any]:
    """Playbooks with a change that the audit accepts. Someone who sees a route's file sees its cost as well."""
    book = draw_book(rng) if rng.random() < 0.7 else draw_randomised(rng)
    if book is None:
        return []
    at = rng.randrange(len(book.hidden_classes))
    group = book.hidden_classes[at]
    route, member = group.routes[0], rng.choice(group.members)
    loop = (route.nodes[0], *route.nodes) if len(route) > 1 else route.nodes
    stranger = rng.choice(book.candidates)
    changes: list[Callable[[], vr.PlaybookClass]] = [
        lambda: replace(group, member_routes={(0, member): replace(route, cost=route.cost * (1 + 1e-10))}),
        lambda: replace(group, member_routes={(0, member): replace(route, cost=float(route.cost))}),
        lambda: replace(group, member_routes={(0, member): replace(route, nodes=loop)}),
        lambda: replace(group, members=group.members[:-1], shares=group.shares[:-1]),
        lambda: replace(group, shares=tuple(share * 0.5 for share in group.shares)),
        lambda: replace(group, members=(*group.members, stranger)),
        lambda: replace(group, anonymized=False),
    ]
    rng.shuffle(changes)
    rows = []
    for change in changes:
        try:
            classes = [change() if each is group else each for each in book.classes]
            claims = book.claims
            if rng.random() < 0.5:
                claims = replace(claims, worst_posterior=None, bayes_success=None, hidden_mass=None)
            made = replace(book, classes=tuple(classes), claims=claims, status="feasible", certificate=None)
            made = vr.playbook_from_json(made.to_json())
            if vr.audit(made).holds:
                rows += [*judge_files(made), *judge_book(made)]
        except vr.VeilrouteError:
            continue
    return rows


def judge_files(book: vr.Playbook) -> list[Any]:
    """What somebody achieves who is given the file of a route."""

    def run(place: Any, key: Key) -> Any:
        if street.drive(book, place, key) is None:
            return None
        route = book.route_for(place, key=key if book.is_randomised else None)
        return route.nodes, repr(route.cost)

    found = street.judge_sights(
        street.watch(street.counted_weights(book), run).beliefs.values(), street.streets_of(book)
    )
    rows: list[Any] = street.compare("promise, files", found, street.promised(book.privacy))
    return rows


def draw_randomised(rng: Random, **asked: Any) -> vr.Playbook | None:
    how = {"k": rng.randint(2, 3)} if rng.random() < 0.4 else {"risk": rng.choice([0.5, 0.4, 0.34])}
    problem = draw_problem(rng, num=rng.randint(5, 7))
    book = solve(problem, vr.Privacy(ell=draw_ell(rng), mechanism="randomised", **how, **asked))
    return book if book is not None and book.hidden_classes else None


def retouch(rng: Random, book: vr.Playbook) -> vr.Playbook:
    """A copy that somebody has changed in ways that have nothing to do with what is drawn."""
    match rng.randrange(8):
        case 0:
            return replace(book, options={**book.options, "seed": rng.randrange(1, 9)})
        case 1:
            return replace(book, planner="another")
        case 2:
            return replace(book, certificate=None, status="feasible")
        case 3:
            return replace(book, names={book.candidates[0]: "A new name"})
        case 4:
            return replace(book, classes=book.classes[::-1])
        case 5:
            turned = [replace(each, members=each.members[::-1], shares=each.shares[::-1]) for each in book.classes]
            return replace(book, classes=tuple(turned))
        case 6:
            trips = tuple(replace(trip, weight=2 * trip.weight) for trip in book.trips)
            return replace(book, trips=trips, claims=replace(book.claims, mac_lower_bound=None))
        case _:
            with suppress(vr.InvalidInputError, vr.TooLargeError):
                return book.with_contingencies(worst=1)
            return book


def repeated_draws(rng: Random) -> list[Any]:
    """A trip that is repeated with the same key on the same occasion, from retouched copies of the playbook."""
    book = draw_randomised(rng)
    if book is None:
        return []
    copies = [book, *(retouch(rng, book) for _ in range(rng.randint(1, 2)))]
    streets = street.streets_of(book)
    sights = street.watch(
        street.weights_of(book),
        lambda place, key: (
            tuple(street.drive(each, place, key, "week 47") for each in copies)
            if street.drive(book, place, key) is not None
            else None
        ),
    )
    found = street.judge_sights(sights.beliefs.values(), streets)
    rows: list[Any] = street.compare("promise", found, street.promised(book.privacy))
    for each in shown_by_plan(book):
        rows += street.compare("plan", found, each.figures, each.where)
    return rows


def fresh_draws(rng: Random) -> list[Any]:
    """Several draws for one secret on occasions of their own: what the ledger's account and the linked audit print."""
    book = draw_randomised(rng)
    if book is None:
        return []
    num, streets = rng.choice([2, 2, 3]), street.streets_of(book)
    sights = street.watch(
        street.weights_of(book),
        lambda place, key: (
            tuple(street.drive(book, place, key, f"week {week}") for week in range(num))
            if street.drive(book, place, key) is not None
            else None
        ),
    )
    found = street.judge_sights(sights.beliefs.values(), streets)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = vr.new_ledger(Path(folder) / "ledger.jsonl")
        for week in range(num):
            ledger = ledger.add(book, day=f"2026-11-{week + 1:02}", occasion=f"week {week}", anyway=True)
        account = ledger.account()[0].now
    shown = {"worst_place": account.worst, "bayes_success": account.bayes_success}
    rows += street.compare("ledger account", found, shown)
    report = vr.audit_linked([book] * num)
    left = {each.candidate: each.over_time[-1].num_left for each in report.candidates if each.over_time[-1]}
    identified = report.playbooks[-1].num_identified
    said = street.SaidOfDays("linked audit", left, lambda _: report.holds, identified, figures=linked_figures(report))
    return [*rows, *street.compare_days([street.DayOut(book)] * num, [said], is_expected=False)]


# ----------------------------------------------------------------------------------------------------------------------
# Linked days


def linked_figures(report: Any) -> list[Any]:
    """What a linked audit prints of each observer; versions before printed none of it."""
    names = ("num_possible", "worst_place", "worst_area")
    return [(each.m, {name: getattr(each, name) for name in names}) for each in getattr(report, "observers", ())]


@dataclass
class Weeks:
    """Days in a ledger, with what was driven on each."""

    days: list[Any]
    dates: list[str]
    ledger: vr.Ledger
    path: Path


def open_ledger(path: Path, trips: str) -> vr.Ledger:
    """A ledger under an assumption, where there are any."""
    make: Any = vr.new_ledger
    with suppress(TypeError):
        ledger: vr.Ledger = make(path, trips=trips)
        return ledger
    return vr.new_ledger(path)


def draw_privacy(rng: Random) -> vr.Privacy:
    """A promise for linked days."""
    kind, ell, m = rng.random(), rng.choice([0, 0, 1, 2, 3]), rng.choice([None, None, None, None, rng.randint(2, 8)])
    if kind < 0.55:
        return vr.Privacy(k=rng.randint(2, 3), ell=ell, m=m, spread=rng.choice(["witness", "witness", "all-pairs"]))
    if kind < 0.85:
        return vr.Privacy(risk=rng.choice([0.5, 0.4, 0.34]), ell=ell, m=m)
    return vr.Privacy(risk=0.5, ell=ell, mechanism="randomised")


def enter(rng: Random, weeks: Weeks, day: Any, date: str, add: Callable[..., vr.Ledger]) -> None:
    """Enter a day; one that the ledger refuses is driven all the same now and then."""
    try:
        weeks.ledger = add(day=date)
    except vr.InvalidInputError:
        return  # somebody cannot be told from somebody else
    except vr.UnsafeLedgerError:
        if rng.random() < 0.5:
            return
        weeks.ledger = add(day=date, anyway=True)
    weeks.days.append(day)
    weeks.dates.append(date)


def draw_weeks(rng: Random, path: Path, trips: str) -> Weeks:
    """Days on which customers join and leave. Most are planned under the ledger, some by themselves; some that the
    ledger refuses are entered all the same. Now and then a trip goes around a closed road."""
    base = draw_problem(rng, num=rng.randint(7, 9), has_twins=rng.random() < 0.2)
    privacy = draw_privacy(rng)
    ends = [label for label in map(base.domain.label, range(base.domain.num_nodes)) if label not in base.candidates]
    weights = street.weights_of(base)
    listed = rng.sample(list(base.candidates), max(5, len(base.candidates) - rng.randint(0, 3)))
    weeks = Weeks([], [], open_ledger(path, trips), path)
    num_trips = rng.choice([1, 1, 1, 2])
    for number in range(rng.randint(2, 4)):
        is_other = rng.random() < 0.6
        journeys = [draw_trip(rng, ends) for _ in range(num_trips)] if is_other else [*base.trips]
        prior = None if base.prior is None else [weights[label] for label in listed]
        problem = vr.Problem(base.domain, journeys, list(listed), base.visibility, prior=prior)
        if rng.random() < 0.15:
            privacy = draw_privacy(rng)
        date = f"2026-11-{2 * number + 1:02}"
        tell_apart(weeks, listed, date)
        try:
            if rng.random() < 0.75:
                problem = replace(problem, past=weeks.ledger.past(problem, privacy))
            book = vr.solve(problem, privacy, time_limit_s=20)
        except (vr.InvalidInputError, vr.TooLargeError):
            continue
        if book.hidden_classes:
            enter(rng, weeks, street.DayOut(book), date, partial(weeks.ledger.add, book))
            if rng.random() < 0.25 and weeks.ledger.holds(book) and not book.is_randomised and privacy.m is None:
                drive_around(rng, weeks, book, f"2026-11-{2 * number + 2:02}")
        if rng.random() < 0.7:
            listed = rng.sample(list(base.candidates), rng.randint(5, len(base.candidates)))
    return weeks


def tell_apart(weeks: Weeks, listed: Sequence[Any], date: str) -> None:
    """Say that new places are not those that are gone: a ledger takes neighbours for one place until it is told."""
    known = {place for day in weeks.days for place in day.playbook.candidates}
    if hasattr(weeks.ledger, "different"):
        for new, old in product(set(listed) - known, known - set(listed)):
            with suppress(vr.InvalidInputError):
                weeks.ledger = weeks.ledger.different(label_text(new), label_text(old), day=date)


def drive_around(rng: Random, weeks: Weeks, book: vr.Playbook, date: str) -> None:
    """A trip of one group around a closed road; it is seen of who is still covered, and nothing of anybody else."""
    number = rng.randint(1, len(book.hidden_classes))
    route = book.hidden_classes[number - 1].routes[0].nodes
    if len(route) < 2:
        return
    at = rng.randrange(len(route) - 1)
    found = book.replan(number, route[at], position=at, closed=[route[at : at + 2]])
    if found.choice is None:
        found = book.replan(number, route[at], position=at, closed=[route[at : at + 2]], choice="go-on")
    if found.choice is not None:
        walks = {member: (("detour", *found.walk_of(member)),) for member in found.still_hidden}
        enter(rng, weeks, street.DayOut(book, instead=walks.get), date, partial(weeks.ledger.add_replan, book, found))


def renamed_town(rng: Random, town: vr.Domain, number: int) -> vr.Domain:
    """The same town from another source: other names for the same corners, some metres off."""
    assert town.streets is not None
    turns = [rng.uniform(0, 2 * math.pi) for _ in range(town.num_nodes)]
    off = np.array([[1.5e-4 * math.cos(turn), 7.5e-5 * math.sin(turn)] for turn in turns])  # some 8 m
    streets = replace(town.streets, lonlat=town.streets.lonlat + off)
    labels = tuple(f"K{number}{node}" for node in range(town.num_nodes))
    return replace(town, labels=labels, streets=streets)


def renamed_doors(trips: str) -> Callable[[Random], list[Any]]:
    """The customers of one day are listed again under other names, a few metres off. The observer knows who is who."""

    def run(rng: Random) -> list[Any]:
        town = winding_town(rng.randrange(40), u_turns="allow", num_banned=0)
        nodes = rng.sample(range(town.num_nodes), rng.randint(6, 8))
        privacy = vr.Privacy(k=2, ell=rng.choice([0, 100]), measure=rng.choice(["driving", "straight"]))
        if rng.random() < 0.3:
            privacy = vr.Privacy(risk=0.5, ell=privacy.ell, measure=privacy.measure)
        ends = [node for node in range(town.num_nodes) if node not in nodes]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.jsonl"
            weeks = Weeks([], [], open_ledger(path, trips), path)
            for number in range(2):
                here = town if number == 0 else renamed_town(rng, town, number)
                listed = nodes if rng.random() < 0.6 else rng.sample(nodes, len(nodes) - 1)
                label = here.label
                problem = vr.Problem(here, [draw_trip(rng, list(map(label, ends)))], [label(node) for node in listed])
                try:
                    if rng.random() < 0.7:
                        problem = replace(problem, past=weeks.ledger.past(problem, privacy))
                    book = vr.solve(problem, privacy, time_limit_s=20)
                except (vr.InvalidInputError, vr.TooLargeError):
                    continue
                if book.hidden_classes:
                    day = street.DayOut(book, person=here.node)
                    enter(rng, weeks, day, f"2026-11-{number + 1:02}", partial(weeks.ledger.add, book))
            if len(weeks.days) < 2:
                return []
            maps = [day.playbook.domain for day in weeks.days]

            def person(place: Any) -> Any:
                return next(each.node(place) for each in maps[::-1] if each is not None and each.has_label(place))

            return judge_weeks(weeks, rng, is_expected=trips == "expected", person=person)

    return run


def linked_days(trips: str) -> Callable[[Random], list[Any]]:
    """Linked days for the observer of an assumption: what ledger and linked audit print after all of them."""

    def run(rng: Random) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            weeks = draw_weeks(rng, Path(folder) / "ledger.jsonl", trips)
            return judge_weeks(weeks, rng, is_expected=trips == "expected") if weeks.days else []

    return run


def judge_weeks(weeks: Weeks, rng: Random, *, is_expected: bool, person: Any = lambda label: label) -> list[Any]:
    """What is printed of linked days beside what is achieved by who links all of them, or any."""
    days, books = weeks.days, list({day.playbook.sha256: day.playbook for day in weeks.days}.values())
    node = {place: book.domain.node(place) for book in books if book.domain is not None for place in book.candidates}
    audit = vr.audit_linked(books, ledger=weeks.path)
    known = [day.person(place) for day in days for place in day.playbook.candidates]
    rows = []
    for first in {0, rng.randrange(len(days))}:
        check = weeks.ledger.check(weeks.dates[first] if first else None)
        # The check names those left, so that the reader sees which are at one door; the audit prints a number.
        left: dict[Any, int] = {}
        for each in check.candidates:  # somebody may be listed twice under two names: what is said of either counts
            doors = len({node[place] for place in each.left})
            left[person(each.candidate)] = max(doors, left.get(person(each.candidate), 0))
        broken = {person(each.candidate) for each in check.candidates if each.broken is not None}
        said = [street.SaidOfDays("ledger check", left, _holds(check.safe, broken), is_own_length=True)]
        if not first:
            left = {
                person(each.candidate): each.over_time[-1].num_left for each in audit.candidates if each.over_time[-1]
            }
            steps = {person(each.candidate): each.over_time for each in audit.candidates}
            short = {who for who, own in steps.items() if any(step and step.is_short for step in own)}
            identified = audit.playbooks[-1].num_identified
            holds = _holds(audit.holds, short)
            said.append(street.SaidOfDays("linked audit", left, holds, identified, figures=linked_figures(audit)))
        rows += street.compare_days(days[first:], said, is_expected=is_expected, others=known)
        if len(days) - first < 5:
            said = [each._replace(left={}, identified=None, figures=()) for each in said]
            rows += street.compare_days(days[first:], said, is_expected=is_expected, subsets=True, others=known)
    return rows


def _holds(is_safe: bool, broken: set[Any]) -> Callable[[Any], bool]:
    return lambda person: is_safe or person not in broken


# ----------------------------------------------------------------------------------------------------------------------
# Closed roads


def draw_book(rng: Random) -> vr.Playbook | None:
    """A playbook of one trip by any promise about whole routes."""
    kind, ell = rng.random(), draw_ell(rng)
    if kind < 0.45:
        privacy = vr.Privacy(k=rng.randint(2, 3), ell=ell, spread=rng.choice(["witness", "all-pairs"]))
    elif kind < 0.85:
        privacy = vr.Privacy(risk=rng.choice([0.5, 0.4, 0.34]), ell=ell)
    else:
        privacy = vr.Privacy(risk=0.5, ell=ell, mechanism="randomised")
    book = solve(draw_problem(rng), privacy)
    return book if book is not None and book.hidden_classes else None


def draw_closed(rng: Random, book: vr.Playbook) -> vr.Closure:
    """Some roads, or a node, on the ways of some groups; now and then in one direction, or only more expensive."""
    roads: list[tuple[Any, Any]] = []
    one_way: list[tuple[Any, Any]] = []
    nodes: list[Any] = []
    costs: list[tuple[Any, Any, float]] = []
    for _ in range(rng.randint(1, 3)):
        route = rng.choice(book.hidden_classes).routes[0].nodes
        if len(route) < 2:
            continue
        step = rng.choice(list(pairwise(route)))
        inner = rng.choice(route)
        match rng.randrange(8):
            case 0 | 1 | 2 | 3 | 4:
                roads.append(step)
            case 5:
                one_way.append(step)
            case 6:
                nodes += [] if inner in (book.trips[0].start, book.trips[0].goal) else [inner]
            case _:
                costs.append((*step, 5.0))
    costs = [edge for edge in costs if not vr.Closure.of(roads, one_way, nodes).shuts(*edge[:2])]
    return vr.Closure.of(roads, one_way, nodes, {edge[:2]: edge for edge in costs}.values())


def replans(rng: Random) -> list[Any]:
    """Closed roads that every vehicle meets, or hears of after some nodes; going on, giving up, or what is chosen. Now
    and then another road is closed later."""
    book = draw_book(rng)
    if book is None:
        return []
    rows = []
    for _ in range(3):
        news = [
            street.News(draw_closed(rng, book), rng.choice([None, 0, 1, 2, 4])) for _ in range(rng.choice([1, 1, 2]))
        ]
        for name, choice, otherwise in (
            ("replan", None, rng.choice(["go-on", "give-up"])),
            ("replan, all give up", "give-up", "give-up"),
            ("replan, all go on", "go-on", "go-on"),
        ):
            with suppress(vr.InvalidInputError, vr.TooLargeError):
                rows += street.compare_detours(book, name, news, choice=choice, otherwise=otherwise)
    return rows


def contingencies(rng: Random) -> list[Any]:
    """Contingencies that a playbook holds."""
    book = draw_book(rng)
    if book is None:
        return []
    routes = [group.routes[0].nodes for group in book.hidden_classes if len(group.routes[0]) > 1]
    roads = list({frozenset(road): road for road in (rng.choice(list(pairwise(nodes))) for nodes in routes)}.values())
    try:
        book = book.with_contingencies(roads)
    except (vr.InvalidInputError, vr.TooLargeError):
        return []
    rows = []
    for closure in dict.fromkeys(entry.closure for entry in book.contingencies):
        rows += street.compare_detours(book, "contingency", [street.News(closure)], entries=book.contingencies)
    return rows


# ----------------------------------------------------------------------------------------------------------------------
# Fleets


def fleets(rng: Random) -> list[Any]:
    """Days of a fleet, some classes driven for show: one day, and a standing order by a key from retouched copies."""
    problem = draw_problem(rng, num=rng.randint(6, 8), has_twins=rng.random() < 0.4)
    problem = replace(problem, trips=[vr.Trip(problem.trips[0].start, problem.trips[0].start)])
    book = solve(problem, vr.Privacy(k=rng.choice([2, 2, 3]), ell=rng.choice([0, 0, 1, 2, 4])))
    if book is None or not book.hidden_classes:
        return []
    num = len(book.hidden_classes)
    members = [frozenset(group.members) for group in book.hidden_classes]
    number_of = {place: at for at, group in enumerate(members, 1) for place in group}
    customers = {place: vr.Customer(rate=rng.choice([0.05, 0.2, 0.5])) for place in number_of if rng.random() < 0.5}
    rate = rng.choice([0.1, 0.3])
    always = tuple(sorted(rng.sample(range(1, num + 1), 1))) if rng.random() < 0.3 and num > 1 else ()
    pad_to = rng.choice([None, rng.randint(max(1, len(always)), num), num])
    terms = vr.Terms(
        (vr.Van(problem.trips[0].start, None),), customers=customers, always=always, pad_to=pad_to, rate=rate
    )
    rates = dict.fromkeys(number_of, rate) | {place: each.rate or rate for place, each in customers.items()}
    copies = [book] if rng.random() < 0.4 or num > 4 or always else [book, retouch(rng, book)]

    def run(touched: Any, key: Key) -> Any:
        seen = []
        try:
            for each in copies:
                groups = [frozenset(group.members) for group in each.hidden_classes]
                own = [groups.index(members[number - 1]) + 1 for number in touched]
                driven = vr.pad(each, own, terms, key=key, occasion="standing")
                seen.append(tuple(sorted(members.index(groups[number - 1]) + 1 for number in driven)))
            return tuple(seen)
        except vr.InvalidInputError:
            return None  # more has to be driven than agreed: this day is refused

    from veilroute.fleet import expose

    rows, streets = [], street.streets_of(book)
    alone = {place: frozenset([number]) for place, number in number_of.items()}
    known = [place for place, rate in rates.items() if rate >= 1]
    touch = lambda orders: frozenset(number_of[place] for place in orders)  # noqa: E731
    for driven, orders in street.watch_orders(rates, touch, run)[0].items():
        shown = expose(book, driven[0], terms)
        visited = {place: made for place, made in alone.items() if made <= set(driven[0])}
        found = street.judge_orders(orders, streets, visited, known=known)
        about = "fleet, one day" if len(copies) == 1 else "fleet, standing order"
        printed = {
            "num_behind": (shown.smallest_left, found.num_behind),
            "worst_order": (shown.worst, found.worst_order),
            "worst_order_area": (getattr(shown, "worst_area", None), found.worst_order_area),
            "worst_order_ever": (shown.bound, found.worst_order),
            "worst_order_area_ever": (getattr(shown, "bound_area", None), found.worst_order_area),
            "best_orders": (shown.bayes_success, found.best_orders),
            "identified": (len(shown.identified), street._num_identified(orders, streets, rates)),
        }
        with suppress(ImportError):
            from veilroute.auditing import observe_day

            day = vr.Day(book.sha256, terms, driven[0], (vr.Tour((), (), (), 0),), 0, 0)
            audited = observe_day(book, day)
            rows += [
                Comparison(f"{about}, audit", name, value, achieved)
                for name, value, achieved in (
                    ("num_behind", audited.num_possible, found.num_behind),
                    ("worst_order", audited.worst_place, found.worst_order),
                    ("worst_order_area", audited.worst_area, found.worst_order_area),
                )
                if value is not None and achieved is not None
            ]
        rows += [
            Comparison(about, name, value, achieved)
            for name, (value, achieved) in printed.items()
            if value is not None and achieved is not None
        ]
    return rows


FEATURES: dict[str, Callable[[Random], list[Any]]] = {
    "one trip, k": single,
    "one trip, risk": risky,
    "one trip, randomised": randomised,
    "first m nodes": finite,
    "several trips": several,
    "streets and doors": on_streets,
    "other planners": other_planners,
    "another prior": another_prior,
    "forged": forged,
    "repeated draws": repeated_draws,
    "fresh draws": fresh_draws,
    "linked days, occasional": linked_days("occasional"),
    "linked days, expected": linked_days("expected"),
    "renamed, occasional": renamed_doors("occasional"),
    "renamed, expected": renamed_doors("expected"),
    "replans": replans,
    "contingencies": contingencies,
    "fleets": fleets,
}


def run_scenario(feature: str, seed: int) -> list[Any]:
    """What comes of one scenario."""
    rows: list[Any] = FEATURES[feature](Random(f"{feature} {seed}"))
    return rows
