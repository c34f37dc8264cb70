"""Forged replans, days and rests of days: a change of any field is refused, or what the file says is still true.

A plain oracle decides what is true: it lists subsets and walks, and shares no code with planner or auditor.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from changed_values import mutate
from closed_roads import audited, changed_graph, check_walk, draw_closure, replan_from_dict, watchers_of
from ledger_weeks import canonical
from plain_closures import agrees, drawn_book, keeps_alone, prior_of, seers_of, should_keep, watch
from reference import covering_cost, distances
from veilroute import audit_day

NUM_SMALL, NUM_LARGE = 120, 2000
OWN = ("class", "members", "trip", "walked", "closed", "closed_one_way", "closed_nodes", "new_costs", "choice",
       "going_on", "giving_up", "after")  # fmt: skip


def agree(data: Any) -> Any:
    """The same file with everything that is said twice as the first time: whoever forges makes it so."""
    try:
        own = {name: data[name] for name in OWN if name in data}
        way = own["giving_up" if own["choice"] == "give-up" else "going_on"]
        chosen = way if own["choice"] is not None else {}
        own |= {
            "position": len(own["walked"]) - 1, "at": own["walked"][-1], "route": chosen.get("route"),
            "cost": chosen.get("cost"), "still_hidden": way["left"], "qualifies": way["qualifies"],
            "dropped": [member for member in own["members"] if member not in way["left"]],
        }  # fmt: skip
        own |= {"after": agree(own["after"])} if "after" in own else {}
    except (KeyError, TypeError, IndexError, AttributeError):
        return data
    return own


def is_true(book: vr.Playbook, made: vr.Replan) -> bool:
    """Whether everything that a replan says is so; for whole routes, at-node visibility and one map of distances."""
    domain, groups = book.problem.domain, book.hidden_classes
    if not 1 <= made.number <= len(groups) or made.trip != 0 or made.members != groups[made.number - 1].members:
        return False
    path = groups[made.number - 1].shared(0)
    if (before := made.after) is not None:
        if not is_true(book, before) or before.choice is None or before.number != made.number:
            return False
        path = before.walked[:-1] + before.way.route
        if made.closure != made.closure.with_earlier(before.closure) or len(made.walked) < len(before.walked):
            return False
    if made.walked != path[: len(made.walked)]:
        return False
    graph, plain = changed_graph(domain, made.closure), changed_graph(domain, vr.Closure())
    for a, b in (*made.closure.roads, *made.closure.one_way):
        heads = [[head for head, _ in plain[domain.node(x)]] for x in (a, b)]
        if domain.node(b) not in heads[0] and ((a, b) in made.closure.one_way or domain.node(a) not in heads[1]):
            return False
    here, goal = domain.node(made.at), domain.node(book.trips[0].goal)
    seen, walked = watchers_of(book, made.members), {domain.node(label) for label in made.walked}
    ahead = [i for i in range(len(made.members)) if not seen[i] & walked]
    straight = covering_cost(graph, here, goal, [])
    if math.isinf(straight):
        ways = (made.going_on, made.giving_up)
        done = tuple(member for i, member in enumerate(made.members) if i not in ahead)
        return made.choice is None and all(way == vr.Way((), None, done, False) for way in ways)
    for way in (made.going_on, made.giving_up):
        try:
            check_walk(book, made, way)
        except (AssertionError, KeyError, IndexError, vr.InvalidInputError):
            return False
        if way.own or way.cost is None:
            return False
    if not math.isclose(made.giving_up.cost or 0, straight, rel_tol=1e-9, abs_tol=1e-12):
        return False
    prior = prior_of(book, made.number)

    def worth(left: tuple[object, ...], cost: float) -> tuple[bool, float, float]:
        """First the promise, then how probable those are who are left, then the cost."""
        mass = 0.0 if book.privacy.beta is None else math.fsum(prior[member] for member in left)
        return keeps_alone(book, made.number, left), round(mass, 9), -round(cost, 9)

    for size in range(len(ahead), -1, -1):
        found = []
        for chosen in combinations(ahead, size):
            cost = covering_cost(graph, here, goal, [seen[i] for i in chosen])
            left = tuple(m for i, m in enumerate(made.members) if i in chosen or i not in ahead)
            found += [worth(left, cost)] if math.isfinite(cost) else []
        if found:
            break
    if max(found) != worth(made.going_on.left, made.going_on.cost or 0):
        return False
    seers = seers_of(book, book.candidates)
    for choice, way in (("go-on", made.going_on), ("give-up", made.giving_up)):
        real = watch(book, made, choice, seers)
        if not agrees(way, real) or should_keep(book, made, way, real) != way.qualifies:
            return False
    return made.choice is not None or not made.going_on.qualifies


def honest_replans(rng: Random) -> Iterator[tuple[vr.Playbook, vr.Replan]]:
    """Replans of drawn playbooks for whole routes, some after another one."""
    while True:
        book = drawn_book(rng)
        if book is None or book.privacy.m is not None:
            continue
        number = rng.randint(1, len(book.hidden_classes))
        way, made, first = book.hidden_classes[number - 1].shared(0), None, 0
        for _ in range(rng.choice([1, 2])):
            position = rng.randrange(first, len(way))
            closure = draw_closure(rng, book, way[position:]) | {"costs": [], "closed_nodes": []}
            choice = rng.choice([None, "give-up"])
            made = vr.replan(book, number, way[position], position=position, after=made, choice=choice, **closure)
            if made.choice is None:
                break
            way, first = made.walked[:-1] + made.route, made.position
        assert made is not None
        yield book, made


@pytest.mark.parametrize("num", [NUM_SMALL, pytest.param(NUM_LARGE, marks=pytest.mark.slow)])
def test_forged_replans_are_refused_or_true(num: int) -> None:
    rng, honest = Random("forged replans"), honest_replans(Random("honest replans"))
    done, accepted, false, changed = 0, 0, [], 0
    while done < num:
        book, made = next(honest)
        domain = book.problem.domain
        labels = [json.loads(json.dumps(domain.label(node))) for node in range(domain.num_nodes)]
        whole = json.loads(canonical(made.to_dict()))
        assert is_true(book, made), made
        assert all(each.holds for each in audited(book, made))
        for _ in range(20):
            data = copy.deepcopy(whole)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                mutate(rng, data, labels)
            data = agree(data) if rng.random() < 0.75 else data
            if canonical(data) == canonical(whole):
                continue
            done += 1
            try:
                read = replan_from_dict(json.loads(canonical(data)))
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
            changed += 1
            if all(each.holds and each.checked for each in audited(book, read)):
                accepted += 1
                if not is_true(book, read):
                    false.append(data)
    print(f"{done} forged replans: {done - changed} unreadable, {accepted} accepted, {len(false)} accepted and false")
    assert changed > num / 4
    assert false == []


def town_day() -> tuple[vr.Playbook, vr.Day]:
    domain = vr.generate_streets(9, 9, seed=4, one_way_share=0.2)
    depot, *customers = (domain.label(node) for node in Random("forged").sample(range(domain.num_nodes), 13))
    book = vr.solve(vr.Problem(domain, [vr.Trip(depot, depot)], customers), vr.Privacy(k=3, ell=150))
    van = vr.Van(depot, depot)
    terms = vr.Terms((van, van, van), capacity=6, seconds_per_cost=0.2, iterations=20)
    return book, vr.dispatch(book, range(1, len(book.hidden_classes) + 1), terms)


def drives_as_said(
    book: vr.Playbook, terms: vr.Terms, closure: vr.Closure, day: vr.Day, stands: Sequence[vr.Stand], wanted: list[Any]
) -> bool:
    """Whether vehicles go on from where they stand by roads, past all who are wanted, at the costs and times said."""
    domain, graph = book.problem.domain, changed_graph(book.problem.domain, closure)
    if sorted(repr(stop) for tour in day.tours for stop in tour.stops) != sorted(map(repr, wanted)):
        return False
    for stand, tour, van in zip(stands, day.tours, terms.vans, strict=True):
        if not tour.route:
            if tour.stops or tour.cost or (stand.state == "fit" and stand.is_away and stand.at != van.goal):
                return False
            continue
        if stand.state != "fit" or (tour.route[0], tour.route[-1]) != (stand.at, van.goal):
            return False
        asked = [terms.customers.get(label, vr.Customer()) for label in (*stand.done, *tour.stops)]
        if sum(terms.demand if own.demand is None else own.demand for own in asked) > (terms.capacity or math.inf):
            return False
        reached = [0.0]
        for a, b in pairwise(tour.route):
            reached.append(reached[-1] + dict(graph[domain.node(a)]).get(domain.node(b), math.inf))
        if not math.isclose(reached[-1], tour.cost, rel_tol=1e-9, abs_tol=1e-9):
            return False
        if [tour.route[at] for at in sorted(tour.positions)] != list(tour.stops):
            return False
        per_cost = terms.seconds_per_cost
        if per_cost is None:
            continue
        if stand.ready_s is None or tour.departs_s is None or tour.seconds is None:
            return False
        now, base = tour.departs_s, 0.0
        if now < stand.ready_s - 1e-3:
            return False
        for at, begin, own in zip(tour.positions, tour.begins_s, asked[len(stand.done) :], strict=True):
            if begin < now + (reached[at] - base) * per_cost - 1e-3:
                return False
            now, base = begin + (terms.service_s if own.service_s is None else own.service_s), reached[at]
        home = now + (reached[-1] - base) * per_cost
        if not math.isclose(home - tour.departs_s, tour.seconds, rel_tol=1e-6, abs_tol=1e-2):
            return False
    return math.isclose(sum(tour.cost for tour in day.tours), day.cost, rel_tol=1e-9, abs_tol=1e-9)


def members_of(book: vr.Playbook, day: vr.Day) -> dict[int, tuple[Any, ...]] | None:
    groups = book.hidden_classes
    if not all(1 <= number <= len(groups) for number in day.touched):
        return None
    return {number: groups[number - 1].members for number in day.touched}


def is_true_day(book: vr.Playbook, day: vr.Day) -> bool:
    """Whether a whole day goes past all members of what it touches as it says."""
    terms, members = day.terms, members_of(book, day)
    if day.after is not None or len(day.tours) != len(terms.vans) or day.playbook != book.sha256 or members is None:
        return False
    begins = [vr.Stand((van.start,), (), None, terms.depart_s) for van in terms.vans]
    wanted = [label for own in members.values() for label in own]
    return drives_as_said(book, terms, vr.Closure(), day, begins, wanted)


def is_true_rest(book: vr.Playbook, earlier: vr.Day, rest: vr.Day) -> bool:
    """Whether the rest of a day is driven as it says."""
    after, terms, domain, members = rest.after, earlier.terms, book.problem.domain, members_of(book, rest)
    if after is None or earlier.after is not None or rest.playbook != earlier.playbook or members is None:
        return False
    if rest.terms != terms or rest.touched != earlier.touched or len(after.stands) != len(rest.tours):
        return False
    graph, everybody = changed_graph(domain, after.closure), [label for own in members.values() for label in own]
    done: list[Any] = []
    reach: set[Any] = set()
    for stand, planned, van in zip(after.stands, earlier.tours, terms.vans, strict=True):
        if stand.walked != planned.route[: len(stand.walked)] and stand.walked != (van.start,):
            return False
        num = len(stand.done)
        if stand.done != planned.stops[:num] or any(at > len(stand.walked) - 1 for at in planned.positions[:num]):
            return False
        if num < len(planned.stops) and planned.positions[num] < len(stand.walked) - 1:
            return False
        done += stand.done
        goal, ahead = domain.node(van.goal), distances(graph, domain.node(stand.at))
        if stand.state != "broken" and (stand.state == "fit") != math.isfinite(ahead[goal]):
            return False
        if stand.state == "fit":
            nodes = {label: domain.node(label) for label in everybody}
            reach |= {each for each, at in nodes.items() if math.isfinite(ahead[at] + distances(graph, at)[goal])}
    gone = {label for label in everybody if label not in done and label not in reach}
    short = {}
    for number, own in members.items():
        left = tuple(label for label in own if label not in gone)
        if len(left) < len(own) and not keeps_by_street(book, left):
            short[number] = (left, tuple(label for label in left if label in done))
    if {each.number: (each.going_on, each.giving_up) for each in after.short} != short:
        return False
    given_up = {each.number for each in after.short if each.choice == "give-up"}
    gone |= {label for number in given_up for label in members[number] if label not in done}
    wanted = [label for label in everybody if label not in done and label not in gone]
    return set(after.dropped) == gone and drives_as_said(book, terms, after.closure, rest, after.stands, wanted)


def keeps_by_street(book: vr.Playbook, left: tuple[Any, ...]) -> bool:
    """Some k of them with at least ell between them by road, in either direction."""
    domain, ell = book.problem.domain, book.privacy.ell
    graph = changed_graph(domain, vr.Closure())
    ahead = {label: distances(graph, domain.node(label)) for label in left}

    def is_far(one: Any, other: Any) -> bool:
        return min(ahead[one][domain.node(other)], ahead[other][domain.node(one)]) >= ell

    return any(all(is_far(*pair) for pair in combinations(some, 2)) for some in combinations(left, book.privacy.k))


def forge(
    honest: list[vr.Day],
    book: vr.Playbook,
    path: Path,
    num: int,
    parts: tuple[str, str],
    is_accepted: Callable[[vr.Day], bool],
    is_true: Callable[[vr.Day], bool],
) -> None:
    """Change honest days in one or two places at random; whatever is accepted must be true."""
    rng, domain = Random(f"forged {parts}"), book.problem.domain
    labels = [domain.label(node) for node in range(domain.num_nodes)]
    accepted, done, read_num, false = 0, 0, 0, []
    for day in honest:
        assert is_true(day) and is_accepted(day)
    while done < num:
        day = rng.choice(honest)
        data = json.loads(day.to_json())
        for _ in range(rng.choice([1, 1, 2])):
            some = [each for each in map(data.get, parts) if isinstance(each, dict | list) and each]
            mutate(rng, rng.choice([data, *some]), labels)
        vans = data["vehicles"] if isinstance(data.get("vehicles"), list) else []
        costs: list[Any] = [each.get("cost") if isinstance(each, dict) else None for each in vans]
        if rng.random() < 0.3 and all(isinstance(cost, int | float) for cost in costs):
            data["cost"] = sum(costs)
        raw = canonical(data)
        if raw == day.to_json():
            continue
        done += 1
        path.write_bytes(raw)
        try:
            read = vr.read_day(path)
            read_num += 1
            if is_accepted(read):
                accepted += 1
                false += [] if is_true(read) else [data]
        except vr.VeilrouteError:
            continue
    print(f"{done} forged days: {done - read_num} unreadable, {accepted} accepted, {len(false)} accepted and false")
    assert read_num > num / 5
    assert false == []


@pytest.mark.parametrize("num", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_forged_rests_of_days_are_refused_or_true(num: int, tmp_path: Path) -> None:
    pytest.importorskip("pyvrp")
    from veilroute.fleet import repeat_replan

    book, day = town_day()
    with pytest.raises(vr.InvalidInputError, match="day: expected the rest of a day"):
        repeat_replan(book, day, day)
    eight, rests = 8 * 3600.0, list[vr.Day]()
    for road in list(pairwise(day.tours[0].route))[4:]:
        with suppress(vr.VeilrouteError):
            rests.append(vr.redispatch(book, day, at=eight + 60, closed=[road]))
            break
    one, other, *_ = (at for at, tour in enumerate(day.tours) if tour.stops)
    rests.append(vr.redispatch(book, day, at=eight + 90, broken=[one + 1], choice="go-on"))
    last = day.tours[other].stops[-1]
    rests += [
        vr.redispatch(book, day, at=eight + 60, closed_nodes=[last], choice=each) for each in ("go-on", "give-up")
    ]

    def is_accepted(rest: vr.Day) -> bool:
        def dispatcher(_: object) -> dict[str, bytes]:
            return {"day.json": repeat_replan(book, day, rest).to_json()}

        # The cheap claims first: a day that breaks one is refused whatever the dispatcher makes.
        if not audit_day(book, rest, before=[day]).holds:
            return False
        return audit_day(book, rest, before=[day], dispatcher=dispatcher).verdict == "holds"

    forge(
        rests, book, tmp_path / "day.json", num, ("after", "vehicles"), is_accepted,
        lambda rest: is_true_rest(book, day, rest),
    )  # fmt: skip


@pytest.mark.parametrize("num", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_forged_days_are_refused_or_true(num: int, tmp_path: Path) -> None:
    pytest.importorskip("pyvrp")
    book, day = town_day()
    numbers = {label: at for at, own in enumerate(book.hidden_classes, start=1) for label in own.members}

    def is_accepted(made: vr.Day) -> bool:
        def dispatcher(orders: Any) -> dict[str, bytes]:
            touched = sorted({numbers[label] for label, _ in orders})
            return {"day.json": vr.dispatch(book, touched, made.terms).to_json()}

        if not audit_day(book, made).holds:
            return False
        return audit_day(book, made, dispatcher=dispatcher, reruns=2).verdict == "holds"

    forge(
        [day],
        book,
        tmp_path / "day.json",
        num,
        ("vehicles", "terms"),
        is_accepted,
        lambda made: is_true_day(book, made),
    )
