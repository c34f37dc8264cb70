"""Random scenarios of every feature, and what the simulated observer achieves in each beside what is printed.

``FEATURES`` has by name a function from random numbers to comparisons (:mod:`veilroute.auditing.street`).
"""

from __future__ import annotations

import math
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
from veilroute.app import simulate_day, simulate_linked, simulate_playbook
from veilroute.auditing import street
from veilroute.domain import label_text, with_rules
from veilroute.streets import Stops

Rows = list[street.Comparison]
Feature = Callable[[Random], Rows]


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


def draw_privacy(
    rng: Random, share_k: float = 0.55, share_drawn: float = 0.15, *, ell: float | None = None, **more: Any
) -> vr.Privacy:
    """A promise about places that are counted, or about a risk; of a partition or of classes that are drawn."""
    ell = draw_ell(rng) if ell is None else ell
    asked: dict[str, Any] = {"risk": rng.choice([0.5, 0.5, 0.4, 0.34, 0.25, 0.6, 0.75])}
    if rng.random() < share_k:
        asked = {"k": rng.randint(2, 4)}
    if rng.random() < share_drawn:
        asked["mechanism"] = "randomised"
    else:
        asked["spread"] = rng.choice(["witness", "witness", "all-pairs"])
    return vr.Privacy(ell=ell, **asked, **more)


def solve(problem: vr.Problem, privacy: vr.Privacy) -> vr.Playbook | None:
    """A plan, or nothing if there can be none."""
    with suppress(vr.InvalidInputError):
        return vr.solve(problem, privacy, time_limit_s=20)
    return None


def draw_book(rng: Random, *shares: float, num: int | None = None) -> vr.Playbook | None:
    """A playbook of one trip by any promise about whole routes."""
    book = solve(draw_problem(rng, num=num), draw_privacy(rng, *shares))
    return book if book is not None and book.hidden_classes else None


def judge_book(book: vr.Playbook | None) -> Rows:
    """One playbook, seen once: everything that plan, audit and risk print."""
    return [] if book is None else list(simulate_playbook(book).rows)


# ----------------------------------------------------------------------------------------------------------------------
# Scenarios


def seen_once(share_k: float, share_drawn: float, *, is_finite: bool = False, has_trips: bool = False) -> Feature:
    """One playbook; if only the first nodes are promised, the whole route is seen as well."""

    def run(rng: Random) -> Rows:
        m = rng.randint(1, 12) if is_finite or (has_trips and rng.random() < 0.3) else None
        problem = draw_problem(rng, num_trips=rng.randint(2, 3) if has_trips else 1)
        return judge_book(solve(problem, draw_privacy(rng, share_k, share_drawn, m=m)))

    return run


def on_streets(rng: Random) -> Rows:
    """Places beside streets with rules for turns, some with two names at one door; distances in metres or seconds."""
    measure = rng.choice(["cost", "driving", "walking", "straight"])
    ell = rng.choice([0, 20, 60]) if measure == "cost" else rng.choice([0, 100, 300, 600])
    seed = rng.randrange(40)
    town = winding_town(seed, u_turns=rng.choice(["dead-ends", "allow"]))
    problem = door_problem(seed, town, num=rng.randint(5, 8), num_twins=rng.randint(0, 3))
    prior = rng.choice([None, [1 / (at + 1) for at in range(len(problem.candidates))]])
    book = solve(replace(problem, prior=prior), draw_privacy(rng, 0.5, 0.25, ell=ell, measure=measure))
    return [] if book is None or not book.hidden_classes else [*judge_book(book), *judge_stops(book)]


def judge_stops(book: vr.Playbook) -> Rows:
    """Whole routes, seen with where the van stops, as driver sheets have it: no more than what routes alone tell.

    Figures of a part of the way are about nodes: a stop on it may tell more, and is not compared.
    """
    stops = Stops(book)

    def run(place: Any, key: vr.Key) -> Any:
        routes = street.drive(book, place, key)
        if routes is None:
            return None
        halts = ([stop.position for stop in stops.on_route(nodes, trip)] for trip, nodes in enumerate(routes))
        return tuple((nodes, *some) for nodes, some in zip(routes, halts, strict=True))

    streets = street.streets_of(book)
    found = street.judge_sights(street.watch(street.counted_weights(book), run).beliefs.values(), streets)
    rows = street.compare("promise, with stops", found, street.promised(book.privacy))
    found = street.judge_sights(street.watch(street.weights_of(book), run).beliefs.values(), streets)
    risk = vr.risk(book)
    figures = {"num_possible": risk.num_possible, "worst_place": risk.worst_place, "worst_area": risk.worst}
    figures["bayes_success"] = risk.bayes_success
    return [*rows, *street.compare("plan, with stops", found, figures)]


def other_planners(rng: Random) -> Rows:
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


def another_prior(rng: Random) -> Rows:
    """An observer with another prior than the planned one, as `risk --prior` has it."""
    book = draw_book(rng, 0.3, 0.4)
    if book is None:
        return []
    prior = [rng.choice([0.0, 0.5, 1.0, 3.0]) for _ in book.candidates[2:]] + [1.0, 2.0]
    streets, weights = street.streets_of(book), dict(zip(book.candidates, prior, strict=True))
    sights = street.watch(weights, lambda place, key: street.drive(book, place, key))
    report, on_the_way, rows = vr.risk(book, prior), dict(street.along(sights, streets)), Rows()
    names = {"worst_area": "worst", "worst_place": "worst_place", "bayes_success": "bayes_success"}
    figures = {name: getattr(report, own) for name, own in names.items()}
    rows += street.compare("risk", street.judge_sights(sights.beliefs.values(), streets), figures)
    for step in report.over_time:
        figures = {"worst_area": step.worst, "bayes_success": step.bayes_success}
        rows += street.compare("risk, on the way", on_the_way.get(step.m), figures, f"after {step.m} nodes")
    return rows


def fresh_draws(rng: Random) -> Rows:
    """Several draws for one secret on occasions of their own: what the ledger's account and the linked audit print."""
    book = draw_book(rng, 0.4, 1.0, num=rng.randint(5, 7))
    if book is None:
        return []
    num = rng.choice([2, 2, 3])

    def run(place: Any, key: vr.Key) -> Any:
        routes = [street.drive(book, place, key, f"week {week}") for week in range(num)]
        return None if None in routes else tuple(routes)

    found = street.judge_sights(street.watch(street.weights_of(book), run).beliefs.values(), street.streets_of(book))
    with tempfile.TemporaryDirectory() as folder:
        ledger = vr.new_ledger(Path(folder) / "ledger.jsonl")
        for week in range(num):
            ledger = ledger.add(book, day=f"2026-11-{week + 1:02}", occasion=f"week {week}", anyway=True)
        account = ledger.account()[0].now
    shown = {"worst_place": account.worst, "bayes_success": account.bayes_success}
    return [*street.compare("ledger account", found, shown), *simulate_linked([book] * num, None, None).rows]


# ----------------------------------------------------------------------------------------------------------------------
# Linked days


def draw_linked_privacy(rng: Random) -> vr.Privacy:
    m = rng.choice([None, None, None, None, rng.randint(2, 8)])
    return draw_privacy(rng, ell=rng.choice([0, 0, 1, 2, 3]), m=m)


@dataclass
class Weeks:
    """Days in a ledger, with what was driven on each."""

    days: list[Any]
    dates: list[str]
    ledger: vr.Ledger
    path: Path


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
    privacy = draw_linked_privacy(rng)
    ends = [label for label in map(base.domain.label, range(base.domain.num_nodes)) if label not in base.candidates]
    weights = street.weights_of(base)
    listed = rng.sample(list(base.candidates), max(5, len(base.candidates) - rng.randint(0, 3)))
    weeks = Weeks([], [], vr.new_ledger(path, trips=trips), path)
    num_trips = rng.choice([1, 1, 1, 2])
    for number in range(rng.randint(2, 4)):
        is_other = rng.random() < 0.6
        journeys = [draw_trip(rng, ends) for _ in range(num_trips)] if is_other else [*base.trips]
        prior = None if base.prior is None else [weights[label] for label in listed]
        problem = vr.Problem(base.domain, journeys, list(listed), base.visibility, prior=prior)
        if rng.random() < 0.15:
            privacy = draw_linked_privacy(rng)
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
    found = vr.replan(book, number, route[at], position=at, closed=[route[at : at + 2]])
    if found.choice is None:
        found = vr.replan(book, number, route[at], position=at, closed=[route[at : at + 2]], choice="go-on")
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

    def run(rng: Random) -> Rows:
        town = winding_town(rng.randrange(40), u_turns="allow", num_banned=0)
        nodes = rng.sample(range(town.num_nodes), rng.randint(6, 8))
        privacy = vr.Privacy(k=2, ell=rng.choice([0, 100]), measure=rng.choice(["driving", "straight"]))
        if rng.random() < 0.3:
            privacy = vr.Privacy(risk=0.5, ell=privacy.ell, measure=privacy.measure)
        ends = [node for node in range(town.num_nodes) if node not in nodes]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.jsonl"
            weeks = Weeks([], [], vr.new_ledger(path, trips=trips), path)
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

    def run(rng: Random) -> Rows:
        with tempfile.TemporaryDirectory() as folder:
            weeks = draw_weeks(rng, Path(folder) / "ledger.jsonl", trips)
            return judge_weeks(weeks, rng, is_expected=trips == "expected") if weeks.days else []

    return run


def judge_weeks(weeks: Weeks, rng: Random, *, is_expected: bool, person: Any = lambda label: label) -> Rows:
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
            names = ("num_possible", "worst_place", "worst_area")
            figures = [(each.m, {name: getattr(each, name) for name in names}) for each in audit.observers]
            said.append(street.SaidOfDays("linked audit", left, holds, identified, figures=figures))
        rows += street.compare_days(days[first:], said, is_expected=is_expected, others=known)
        if len(days) - first < 5:
            said = [each._replace(left={}, identified=None, figures=()) for each in said]
            rows += street.compare_days(days[first:], said, is_expected=is_expected, subsets=True, others=known)
    return rows


def _holds(is_safe: bool, broken: set[Any]) -> Callable[[Any], bool]:
    return lambda person: is_safe or person not in broken


# ----------------------------------------------------------------------------------------------------------------------
# Closed roads


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


def replans(rng: Random) -> Rows:
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
                rows += street.compare_detours(book, name, news, choice=choice, otherwise=otherwise, replan=vr.replan)
    return rows


def contingencies(rng: Random) -> Rows:
    """Contingencies that a playbook holds."""
    book = draw_book(rng)
    if book is None:
        return []
    routes = [group.routes[0].nodes for group in book.hidden_classes if len(group.routes[0]) > 1]
    roads = list({frozenset(road): road for road in (rng.choice(list(pairwise(nodes))) for nodes in routes)}.values())
    try:
        return judge_book(vr.with_contingencies(book, roads))
    except (vr.InvalidInputError, vr.TooLargeError):
        return []


# ----------------------------------------------------------------------------------------------------------------------
# Fleets


def fleets(rng: Random) -> Rows:
    """Days of a fleet, some classes driven for show: one day, and a standing order by a key from retouched copies."""
    problem = draw_problem(rng, num=rng.randint(6, 8), has_twins=rng.random() < 0.4)
    problem = replace(problem, trips=[vr.Trip(problem.trips[0].start, problem.trips[0].start)])
    book = solve(problem, vr.Privacy(k=rng.choice([2, 2, 3]), ell=rng.choice([0, 0, 1, 2, 4])))
    if book is None or not book.hidden_classes:
        return []
    num = len(book.hidden_classes)
    places = [place for group in book.hidden_classes for place in group.members]
    customers = {place: vr.Customer(rate=rng.choice([0.05, 0.2, 0.5])) for place in places if rng.random() < 0.5}
    always = tuple(sorted(rng.sample(range(1, num + 1), 1))) if rng.random() < 0.3 and num > 1 else ()
    pad_to = rng.choice([None, rng.randint(max(1, len(always)), num), num])
    vans, rate = (vr.Van(problem.trips[0].start, None),), rng.choice([0.1, 0.3])
    terms = vr.Terms(vans, customers=customers, always=always, pad_to=pad_to, rate=rate)
    rows, key = Rows(), vr.Key(rng.randbytes(32))
    for _ in range(3):
        with suppress(vr.InvalidInputError):  # more has to be driven than agreed: this day is refused
            driven = vr.pad(book, rng.sample(range(1, num + 1), rng.randint(0, num)), terms, key=key)
            rows += simulate_day(book, vr.Day(book.sha256, terms, driven, (vr.Tour((), (), (), 0),), 0, 0)).rows
    return rows


FEATURES: dict[str, Feature] = {
    "one trip, k": seen_once(1, 0),
    "one trip, risk": seen_once(0, 0),
    "one trip, randomised": seen_once(0.4, 1),
    "first m nodes": seen_once(0.6, 0.25, is_finite=True),
    "several trips": seen_once(0.6, 0.2, has_trips=True),
    "streets and doors": on_streets,
    "other planners": other_planners,
    "another prior": another_prior,
    "fresh draws": fresh_draws,
    "linked days, occasional": linked_days("occasional"),
    "linked days, expected": linked_days("expected"),
    "renamed, occasional": renamed_doors("occasional"),
    "renamed, expected": renamed_doors("expected"),
    "replans": replans,
    "contingencies": contingencies,
    "fleets": fleets,
}


def run_scenario(feature: str, seed: int) -> Rows:
    """What comes of one scenario."""
    return FEATURES[feature](Random(f"{feature} {seed}"))
