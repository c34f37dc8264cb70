"""Findings F1 and F7: no file tells whose route it is, and nothing draws again but what a draw is about."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from changed_values import mutate
from commands import Command, Outcome
from door_towns import door_problem
from drawn_books import triangle_book
from street_samples import little_book
from veilroute.auditing import check_same_route, replay_playbook
from veilroute.cli import run
from veilroute.domain import label_text
from veilroute.formats import differing_formats, route_texts
from veilroute.plotting import drive_data

Data = dict[str, Any]

KEY = vr.Key(bytes(range(32)))
DAYS = ["", *(f"week {number}" for number in range(1, 12))]
SEVERAL = "ABCDEFGH"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


def rooms_problem(num: int = 8, seed: int = 4, **more: Any) -> vr.Problem:
    domain = vr.generate_rooms(16, 20, seed=seed)
    labels = [domain.label(node) for node in Random(seed).sample(range(domain.num_nodes), num + 2)]
    return vr.Problem(domain, [vr.Trip(labels[num], labels[num + 1])], labels[:num], **more)


@cache
def grid_book() -> vr.Playbook:
    return vr.solve(rooms_problem(), vr.Privacy(k=3, ell=2))


@cache
def drawn_book() -> vr.Playbook:
    """A randomised playbook with names, with a prior that is not even, and with classes that overlap."""
    problem = rooms_problem(prior=[1 / (i + 1) for i in range(8)])
    names = dict(zip(problem.candidates, SEVERAL, strict=True))
    return vr.solve(replace(problem, names=names), vr.Privacy(risk=0.4, ell=1, mechanism="randomised"))


def data_of(book: vr.Playbook) -> Data:
    data: Data = json.loads(book.to_json())
    return data


def read(data: Data) -> vr.Playbook:
    return vr.playbook_from_json(json.dumps(data).encode())


# F1: what is given for the members of a class.

FORMATS = {"grid": ("text", "json"), "streets": ("text", "json", "geojson", "gpx", "kml", "directions")}
BOOKS: dict[str, Callable[[], vr.Playbook]] = {"grid": grid_book, "streets": little_book}


def with_copies(book: vr.Playbook) -> Data:
    """Each member of the first class has its own copy of the route, which costs a little more from one to the next."""
    data = data_of(book)
    group = data["classes"][0]
    shared = group["routes"][0]
    for number, member in enumerate(group["members"], start=1):
        group["routes"].append({**shared, "member": member, "cost": shared["cost"] * (1 + number * 2e-12)})
    return data


@pytest.mark.parametrize("where", BOOKS)
def test_f1_members_cannot_be_told_apart_by_copies_of_their_route(command: Command, where: str) -> None:
    book = BOOKS[where]()
    Path("forged.json").write_text(json.dumps(with_copies(book)), encoding="utf-8")
    assert command("audit", "forged.json", "--strict").code != 0
    assert command("audit", "forged.json").code != 0
    for format in FORMATS[where]:
        members = map(label_text, book.classes[0].members)
        given = {command("route", "forged.json", "--transit", member, "--format", format) for member in members}
        assert len(given) == 1


@pytest.mark.parametrize("where", BOOKS)
@pytest.mark.parametrize("change", [lambda cost: float(cost), lambda cost: cost * (1 + 1e-12), lambda cost: cost + 7])
def test_f1_no_figure_of_the_file_is_printed(command: Command, where: str, change: Callable[[float], float]) -> None:
    book = BOOKS[where]()
    data = data_of(book)
    for group in data["classes"]:
        for route in group["routes"]:
            route["cost"] = change(route["cost"])
    Path("forged.json").write_text(json.dumps(data), encoding="utf-8")
    book.write("honest.json")
    member = label_text(book.classes[0].members[0])
    for format in FORMATS[where]:
        honest, forged = (
            command("route", name, "--transit", member, "--format", format) for name in ("honest.json", "forged.json")
        )
        assert honest.code == 0
        assert forged == honest
    assert drive_data(read(data))["routes"] == drive_data(book)["routes"]


def test_f1_without_the_map_no_cost_is_printed(command: Command) -> None:
    grid_book().write("bare.json", embed_domain=False)
    member = label_text(grid_book().classes[0].members[0])
    shown = json.loads(command("route", "bare.json", "--transit", member, "--format", "json").out)
    assert shown["cost"] is None
    grid_book().write("whole.json")
    shown = json.loads(command("route", "whole.json", "--transit", member, "--format", "json").out)
    assert (shown["cost"], type(shown["cost"])) == (grid_book().classes[0].routes[0].cost, int)


@pytest.mark.parametrize("where", BOOKS)
def test_f1_copies_in_memory_are_a_violated_claim_and_reach_nobody(where: str) -> None:
    book = BOOKS[where]()
    first, *others = book.classes
    shared = first.routes[0]
    own = {(0, member): replace(shared, cost=shared.cost * (1 + i * 2e-12)) for i, member in enumerate(first.members)}
    forged = replace(book, classes=(replace(first, member_routes=own), *others))
    broken = [claim.claim for claim in vr.audit(forged).claims if not claim.holds]
    assert broken == ["same-route"]
    assert len({id(forged.route_for(member)) for member in first.members}) == 1
    given = {place["text"]: place["draws"] for place in drive_data(forged)["places"]}
    assert len({json.dumps(given[label_text(member)]) for member in first.members}) == 1


@pytest.mark.parametrize(("where", "format"), [(where, format) for where in BOOKS for format in FORMATS[where]])
def test_f1_the_auditor_compares_the_bytes_of_every_format(where: str, format: str) -> None:
    """The nodes agree, and one format betrays in its last digit which member's object it was made of."""
    book = BOOKS[where]()
    costs = {label: 100 + i * 1e-10 for i, label in enumerate(book.candidates)}

    def planner(label: Any, trip: int) -> vr.Route:
        return replace(book.route_for(label, trip), cost=costs[label])

    def leaky(book: vr.Playbook, route: vr.Route, formats: Any, **more: Any) -> dict[str, str]:
        texts = route_texts(book, route, formats, **more)
        return texts | {format: f"{texts[format]}{route.cost!r}"}

    replayed = replay_playbook(book, planner)
    assert check_same_route(replayed, differing_formats).holds
    found = check_same_route(replayed, partial(differing_formats, write=leaky))
    assert not found.holds
    assert f"as {format} " in found.evidence


def test_f1_members_who_part_have_no_copy_of_what_they_share(line5: vr.Domain) -> None:
    """Past 1 a walk ends at 2, where that past 3 goes on: the first is what both share."""
    book = vr.solve(vr.Problem(line5, [vr.Trip(0, 2)], [1, 3]), vr.Privacy(k=2, m=2))
    (group,) = book.classes
    assert list(group.member_routes) == [(0, 3)]
    assert vr.audit(book).holds
    again = read(data_of(book))
    assert [again.route_for(place).nodes for place in (1, 3)] == [(0, 1, 2), (0, 1, 2, 3, 2)]


def test_f1_copies_of_what_members_share_are_refused() -> None:
    data = data_of(little_book(m=3))
    group = next(group for group in data["classes"] if len(group["routes"]) > 1)
    group["routes"][1]["route"] = group["routes"][0]["route"]
    with pytest.raises(vr.FileFormatError, match="the shared one again"):
        read(data)


def test_f1_detours_have_no_ways_of_single_members() -> None:
    book = vr.with_contingencies(little_book(), worst=1)
    data = data_of(book)
    for way in (data["contingencies"][0], data["contingencies"][0]["going_on"]):
        way["member_routes"] = [
            {"member": member, "route": way["route"], "cost": way["cost"] + i * 1e-10}
            for i, member in enumerate(data["contingencies"][0]["members"])
        ]
    with pytest.raises(vr.FileFormatError, match=r"contingencies\.member_routes"):
        read(data)


# F7: what makes a new draw.


def drawn_members(book: vr.Playbook) -> list[frozenset[Any]]:
    """For whom the class may be that is drawn for each place on each day."""
    places = sorted(book.candidates, key=repr)
    by_nodes = {}
    for group in book.classes:
        pairs = zip(group.members, group.shares, strict=True)
        by_nodes[group.routes[0].nodes] = frozenset(member for member, share in pairs if share > 1e-6)
    assert len(by_nodes) == len(book.classes)
    return [by_nodes[book.route_for(place, key=KEY, occasion=day).nodes] for place in places for day in DAYS]


def shuffled(items: list[Any], seed: int) -> list[Any]:
    return Random(seed).sample(items, len(items))


def nudge(group: Data) -> Data:
    """The last digits of its shares."""
    return group | {"shares": [share * (1 + 1e-11) for share in group["shares"]]}


def turn(group: Data, seed: int) -> Data:
    pairs = shuffled(list(zip(group["members"], group["shares"], strict=True)), seed)
    members, shares = zip(*pairs, strict=True)
    return group | {"members": members, "shares": shares}


def cosmetic_edits(data: Data) -> Iterator[tuple[str, Data]]:
    """Copies of a playbook that say the same of who shares a class, and with which chance."""
    classes, claims = data["classes"], dict.fromkeys(("mac_lower_bound", "num_anonymizable", "delta"))

    def never_drawn(group: Data) -> Data:
        others = [label for label in data["candidates"] if label not in group["members"]]
        shares = [0.0, *[1e-13] * (len(others) - 1), *group["shares"]]
        return group | {"members": [*others, *group["members"]], "shares": shares}

    def longer(group: Data) -> Data:
        first, second, *_ = nodes = group["routes"][0]["route"]
        route = group["routes"][0] | {"route": [first, second, *nodes], "cost": group["routes"][0]["cost"] + 2}
        return group | {"routes": [route]}

    for gone in ("certificate", "names", "names_sha256", "domain"):
        yield f"no {gone}", {name: value for name, value in data.items() if name != gone}
    bare = {name: value for name, value in data.items() if name != "domain"}
    yield "another map", bare | {"domain_sha256": 64 * "0"}
    changes: dict[str, Data] = {
        **{f"options.seed {seed}": {"options": data["options"] | {"seed": seed}} for seed in range(8)},
        **{f"classes {seed}": {"classes": shuffled(classes, seed)} for seed in range(3)},
        **{f"members {seed}": {"classes": [turn(group, seed) for group in classes]} for seed in range(3)},
        "another option": {"options": data["options"] | {"greeting": "hello"}},
        "the planner": {"planner": "somebody"},
        "status": {"status": "feasible"},
        "claims": {"claims": data["claims"] | claims},
        "another picture": {"drawing_sha256": 64 * "0"},
        "the last digits of shares": {"classes": [*map(nudge, classes)]},
        "another road for the same classes": {"classes": [*map(longer, classes)]},
        "members for whom a class is never drawn": {"classes": [*map(never_drawn, classes)]},
    }
    for what, parts in changes.items():
        yield what, data | parts


def test_f7_cosmetic_edits_draw_nothing_again() -> None:
    book = drawn_book()
    honest, overlap = drawn_members(book), sum(len(group.members) for group in book.classes)
    assert overlap > len(book.candidates)
    for what, data in cosmetic_edits(data_of(book)):
        assert drawn_members(read(data)) == honest, what


def test_f7_contingencies_draw_nothing_again() -> None:
    book = triangle_book()
    more = vr.with_contingencies(book, worst=1)
    assert more.contingencies
    for day in DAYS:
        for place in book.candidates:
            assert more.route_for(place, key=KEY, occasion=day) == book.route_for(place, key=KEY, occasion=day)


def test_f7_decoys_stay_the_same() -> None:
    domain = vr.generate_streets(5, 6, seed=1)
    places = vr.draw_candidates(domain, 0, 0, 12, seed=1)
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 0)], places), vr.Privacy(k=2))
    groups = book.hidden_classes
    assert len(groups) >= 5
    terms = vr.Terms(vans=(vr.Van(0, 0),), pad_to=4)

    def driven(book: vr.Playbook, day: str) -> set[frozenset[Any]]:
        touched = [i for i, group in enumerate(book.hidden_classes, start=1) if group.members[0] in groups[0].members]
        return {
            frozenset(book.hidden_classes[i - 1].members) for i in vr.pad(book, touched, terms, key=KEY, occasion=day)
        }

    assert len({frozenset(driven(book, day)) for day in DAYS}) > 1
    others = [replace(book, options={**book.options, "seed": seed}) for seed in range(1, 8)]
    others += [replace(book, classes=tuple(shuffled(list(book.classes), seed))) for seed in range(4)]
    others.append(replace(book, classes=tuple(replace(group, members=group.members[::-1]) for group in book.classes)))
    for day in DAYS:
        assert all(driven(other, day) == driven(book, day) for other in others)


def door_book(names: dict[int, str] | None = None) -> vr.Playbook:
    """A randomised playbook on streets, where labels are the names that people give."""
    problem = door_problem(3, num=8, num_twins=1, names=names)
    return vr.solve(problem, vr.Privacy(risk=0.4, mechanism="randomised"))


def test_f7_a_new_name_on_streets_draws_nothing_again() -> None:
    """Customers and the depot get other names and the week is planned again: each place keeps its routes."""
    new = {0: "Old Depot", 3: "A new owner", 5: "Zoo"}
    old_name: dict[Any, Any] = {name: f"Place {i}" for i, name in new.items()}
    book, other = door_book(), door_book(new)

    def drawn(book: vr.Playbook) -> dict[Any, list[list[Any]]]:
        return {
            old_name.get(label, label): [
                [old_name.get(node, node) for node in book.route_for(label, key=KEY, occasion=day).nodes]
                for day in DAYS
            ]
            for label in {member for group in book.hidden_classes for member in group.members}
        }

    assert drawn(other) == drawn(book)
    assert any(routes.count(routes[0]) < len(routes) for routes in drawn(book).values())
    for each in (book, other):
        bare = read(json.loads(each.to_json(embed_domain=False)))
        assert drawn(bare) == drawn(each)
        assert bare.sha256 == each.sha256
        assert each.domain is not None
        assert drawn(bare.with_domain(each.domain)) == drawn(each)


def test_f7_an_old_file_without_its_map_draws_by_no_key(command: Command) -> None:
    """With its map it may draw another class, so the office and the driver would hold two draws of one occasion."""
    book = door_book()
    data = json.loads(book.to_json(embed_domain=False))
    data.pop("spots")
    Path("old.json").write_text(json.dumps(data), encoding="utf-8")
    place = book.hidden_classes[0].members[0]
    with pytest.raises(vr.InvalidInputError, match="the map"):
        read(data).route_for(place, key=KEY)
    assert read(data).route_for(place)
    vr.new_key("key")
    refused = command("route", "old.json", "--transit", place, "--key", "key")
    assert (refused.code, refused.out) == (2, "") and "--domain" in refused.err and str(place) not in refused.err
    assert book.domain is not None
    assert read(data).with_domain(book.domain).route_for(place, key=KEY) == book.route_for(place, key=KEY)


def test_f7_where_places_are_cannot_be_talked_away() -> None:
    """A file without the map says where its places are; with the map, it must say the same."""
    book = door_book()
    data = json.loads(book.to_json(embed_domain=False))
    data["spots"][2][1] += 0.001
    assert book.domain is not None
    with pytest.raises(vr.InvalidInputError, match="spots"):
        read(data).with_domain(book.domain)
    with pytest.raises(vr.FileFormatError, match="spots"):
        read(data | {"domain": data_of(book)["domain"]})


def mutated(data: Data, rng: Random) -> Data:
    """One edit, anywhere but in the map; all parts are edited as often, however large they are."""
    made = copy.deepcopy(data)
    name = rng.choice(sorted(made.keys() - {"domain", "format"}))
    part = {name: made.pop(name)}
    mutate(rng, part, data["candidates"])
    return made | part


def test_f7_edits_that_an_audit_accepts_draw_nothing_again() -> None:
    book, rng, accepted = drawn_book(), Random(7), 0
    data, honest = data_of(book), drawn_members(book)
    for _ in range(300):
        made = mutated(data, rng)
        try:
            other = read(made)
            if other.to_json() == book.to_json() or not vr.audit(other).holds:
                continue
        except vr.VeilrouteError:
            continue
        accepted += 1
        assert drawn_members(other) == honest
    assert accepted >= 20
