"""The audit of a day: honest days hold, and whatever is changed in one is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

import veilroute as vr
from fleet_days import KINDS, draw_day, files_of
from veilroute.auditing import Order
from veilroute.domain import Turns, street_domain

Data = dict[str, Any]


def save(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return folder


def canonical(data: Data) -> bytes:
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def violated(report: vr.DayReport) -> set[str]:
    return {claim.claim for claim in report.claims if not claim.holds}


@pytest.mark.parametrize("kind", KINDS)
def test_honest_days_hold(kind: str, tmp_path: Path) -> None:
    drawn = draw_day(kind, 0)
    folder = save(files_of(drawn.day), tmp_path / "day")
    report = vr.audit_day(drawn.book, folder, dispatcher=drawn.run, terms=drawn.terms)
    assert report.verdict == "holds", report.to_text()
    assert ("turns" in {claim.claim for claim in report.claims}) == (kind == "doors")


def busy(data: Data) -> Data:
    """A vehicle that has something to do."""
    return max(data["vehicles"], key=lambda each: len(each["stops"]))


def skip_member(data: Data) -> None:
    tour = busy(data)
    for key in ("stops", "positions", "begins_s"):
        del tour[key][1]


def visit_twice(data: Data) -> None:
    tour = busy(data)
    for key in ("stops", "positions", "begins_s"):
        tour[key].insert(1, tour[key][0])


def visit_stranger(data: Data) -> None:
    tour = busy(data)
    tour["stops"][0] = tour["route"][0]


def jump(data: Data) -> None:
    """Leave a node out behind the last stop, or before the first."""
    tour = busy(data)
    for at in range(1, len(tour["route"]) - 1):
        if at not in tour["positions"]:
            tour["route"].pop(at)
            tour["positions"] = [place - (place > at) for place in tour["positions"]]
            return


def come_from_elsewhere(data: Data) -> None:
    tour = busy(data)
    tour["route"] = tour["route"][1:]
    tour["positions"] = [max(0, place - 1) for place in tour["positions"]]


def stop_elsewhere(data: Data) -> None:
    busy(data)["positions"][0] -= 1


def later(seconds: float, since: int) -> Callable[[Data], None]:
    """All that begins from one stop on does so later, and the tour takes longer."""

    def change(data: Data) -> None:
        tour = busy(data)
        tour["begins_s"][since:] = [begins + seconds for begins in tour["begins_s"][since:]]
        tour["seconds"] += seconds * (since > 0)

    return change


def cheapen(data: Data) -> None:
    busy(data)["cost"] -= 1
    data["cost"] -= 1


def leave_early(data: Data) -> None:
    busy(data)["departs_s"] -= 60
    busy(data)["seconds"] += 60


FAULTS: dict[str, tuple[Callable[[Data], object], str]] = {
    "a member is skipped": (skip_member, "complete"),
    "a member is visited twice": (visit_twice, "complete"),
    "a stranger is visited": (visit_stranger, "complete"),
    "a class more is said to be driven": (lambda d: d.update(touched=sorted({*d["touched"], 1, 2, 3, 4})), "complete"),
    "a class that there is not": (lambda d: d["touched"].append(99), "binding"),
    "another playbook": (lambda d: d.update(playbook_sha256="0" * 64), "binding"),
    "fewer classes than every day": (lambda d: d["terms"].update(pad_to=4), "binding"),
    "a class of every day is left out": (
        lambda d: d["terms"].update(always=[min({*range(1, 9)} - {*d["touched"]})]), "binding"
    ),
    "a depot that there is not": (lambda d: d["terms"]["vans"][2].update(start="nowhere"), "binding"),
    "terms for a stranger": (lambda d: d["terms"]["customers"][0].update(customer="nobody"), "binding"),
    "an illegal edge": (jump, "walk"),
    "begins elsewhere": (come_from_elsewhere, "walk"),
    "an idle vehicle drives": (lambda d: d["vehicles"][1].update(cost=1.0, stops=[], positions=[]), "walk"),
    "a stop elsewhere": (stop_elsewhere, "stops"),
    "a tour is cheaper": (cheapen, "cost"),
    "no room": (lambda d: d["terms"].update(capacity=2), "capacity"),
    "a larger order may come": (lambda d: d["terms"].update(demand=50), "capacity"),
    "a longer stay": (later(45, 1), "times"),
    "leaves earlier than it need": (leave_early, "times"),
    "leaves before it may": (lambda d: d["terms"].update(depart_s=12 * 3600), "times"),
    "comes too late": (later(10 * 3600, 0), "windows"),
    "opens later": (
        lambda d: d["terms"]["customers"].append(
            {"customer": busy(d)["stops"][-1], "opens_s": 20 * 3600, "closes_s": 21 * 3600, "demand": None,
             "service_s": None, "rate": None}), "windows"
    ),
    "a shorter shift": (lambda d: d["terms"].update(shift_s=60), "shift"),
    "not the cheapest": (lambda d: d.update(status="optimal"), "same-files"),
    "another direct cost": (lambda d: d.update(direct_cost=d["direct_cost"] + 1), "same-files"),
    "tours change hands": (lambda d: d.update(vehicles=[*d["vehicles"][1::-1], *d["vehicles"][2:]]), "same-files"),
    "another seed": (lambda d: d["terms"].update(seed=7), "terms"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, tmp_path: Path) -> None:
    drawn = draw_day("streets", 1)
    data = json.loads(drawn.day.to_json())
    data["terms"]["customers"] = [c for c in data["terms"]["customers"] if fault != "opens later"]
    change, claim = FAULTS[fault]
    change(data)
    folder = save({**files_of(drawn.day), "day.json": canonical(data)}, tmp_path / "day")
    report = vr.audit_day(drawn.book, folder, dispatcher=drawn.run, reruns=2, terms=drawn.terms)
    assert claim in violated(report), report.to_text()
    assert "same-files" in violated(report)
    assert report.verdict == "violated" and report.to_text().startswith("Do not rely on this day")


def test_an_illegal_turn_is_found() -> None:
    drawn = draw_day("doors", 1)
    domain = drawn.book.problem.domain
    for tour in drawn.day.tours:
        for at, (a, b) in enumerate(pairwise(tour.route)):
            ahead = domain.indices[domain.indptr[domain.node(b)] : domain.indptr[domain.node(b) + 1]]
            if domain.node(a) in ahead and len(ahead) > 1:
                route = (*tour.route[: at + 2], a, *tour.route[at + 1 :])
                places = tuple(place + 2 * (place > at + 1) for place in tour.positions)
                bad = replace(tour, route=route, positions=places)
                tours = tuple(bad if each is tour else each for each in drawn.day.tours)
                report = vr.audit_day(drawn.book, replace(drawn.day, tours=tours))
                assert {"turns", "cost"} <= violated(report), report.to_text()
                return
    raise AssertionError("no street leads back")


MARKS: dict[str, Callable[[Path], object]] = {
    "a space at the end of the day": lambda f: (f / "day.json").write_bytes((f / "day.json").read_bytes() + b" "),
    "keys in another order": lambda f: (f / "day.json").write_text(
        json.dumps(json.loads((f / "day.json").read_bytes()), sort_keys=False)
    ),
    "a file more": lambda f: (f / ".notes").write_bytes(b""),
    "a file less": lambda f: (f / "sheet.txt").unlink(),
    "a folder": lambda f: (f / "more").mkdir(),
    "a link": lambda f: (f / "sheet.txt").symlink_to((f / "sheet.txt").rename(f.parent / "sheet")),
}


@pytest.mark.parametrize("mark", MARKS)
def test_marks_beside_the_day_are_found(mark: str, tmp_path: Path) -> None:
    drawn = draw_day("streets", 1)
    folder = save(files_of(drawn.day), tmp_path / "day")
    MARKS[mark](folder)
    report = vr.audit_day(drawn.book, folder, dispatcher=drawn.run, reruns=2)
    assert violated(report) & {"files", "same-files"}, report.to_text()


STRAYS: dict[str, Callable[[Data], object]] = {
    "day": lambda d: d.update(note=None),
    "terms": lambda d: d["terms"].update(note=1),
    "vans": lambda d: d["terms"]["vans"][0].update(note=1),
    "customers": lambda d: d["terms"]["customers"][0].update(note=1),
    "a customer twice": lambda d: d["terms"]["customers"].append(d["terms"]["customers"][0]),
    "tour": lambda d: d["vehicles"][0].update(note=[]),
    "times without seconds": lambda d: d["vehicles"][-1].update(begins_s=[]) or d["vehicles"][-1].pop("seconds", 0),
}


@pytest.mark.parametrize("where", STRAYS)
def test_a_day_with_anything_else_in_it_is_not_read(where: str, tmp_path: Path) -> None:
    data = json.loads(draw_day("streets", 1).day.to_json())
    STRAYS[where](data)
    path = tmp_path / "day.json"
    path.write_bytes(canonical(data))
    with pytest.raises(vr.FileFormatError, match="damaged day"):
        vr.read_day(path)


def test_a_dispatcher_that_looks_at_orders_is_found(tmp_path: Path) -> None:
    drawn = draw_day("streets", 1)

    def leak(orders: Sequence[Order]) -> dict[str, bytes]:
        return {**drawn.run(orders), "sheet.txt": f"{len(orders)}".encode()}

    def by_size(orders: Sequence[Order]) -> dict[str, bytes]:
        return {**drawn.run(orders), "sheet.txt": f"{sum(size or 0 for _, size in orders)}".encode()}

    def refuse(orders: Sequence[Order]) -> dict[str, bytes]:
        raise vr.InvalidInputError("orders", "those of today")

    folder = save(files_of(drawn.day), tmp_path / "day")
    for dispatcher in (leak, by_size, refuse):
        report = vr.audit_day(drawn.book, folder, dispatcher=dispatcher)
        assert violated(report) == {"same-files"}
    assert "depends on the orders" in vr.audit_day(drawn.book, folder, dispatcher=leak).to_text()


def test_other_orders_touch_the_same_classes_and_all_members_order_some_time() -> None:
    drawn = draw_day("streets", 1)
    seen: list[Sequence[Order]] = []

    def note(orders: Sequence[Order]) -> dict[str, bytes]:
        seen.append(orders)
        return drawn.run(orders)

    assert vr.audit_day(drawn.book, drawn.day, dispatcher=note).verdict == "holds"
    groups = [drawn.book.hidden_classes[number - 1].members for number in drawn.touched]
    assert len(seen) == 20 == len({frozenset(label for label, _ in orders) for orders in seen})
    for orders in seen:
        labels = [label for label, _ in orders]
        assert len(labels) == len(set(labels)) and set(labels) <= {m for group in groups for m in group}
        assert all(set(group) & set(labels) for group in groups)
    assert {label for orders in seen for label, _ in orders} == {m for group in groups for m in group}
    for label, size in (order for orders in seen for order in orders):
        most = drawn.terms.customers.get(label, vr.Customer()).demand or drawn.terms.demand
        assert most is not None and size is not None and 1 <= size <= most


def test_a_class_that_keeps_no_promise_is_found() -> None:
    drawn = draw_day("streets", 1)
    for privacy in (vr.Privacy(k=5, ell=1), vr.Privacy(k=3, ell=1e6)):
        book = replace(drawn.book, privacy=privacy)
        report = vr.audit_day(book, replace(drawn.day, playbook=book.sha256))
        assert violated(report) == {"qualifies"}, report.to_text()


def test_terms_are_compared_and_what_could_carry_a_message_is_listed() -> None:
    drawn = draw_day("streets", 1)
    (first, own), *_ = drawn.terms.customers.items()
    usual = next(label for label in drawn.book.candidates if label not in drawn.terms.customers)
    turned = dict(reversed([*drawn.terms.customers.items(), (usual, vr.Customer())]))
    day = replace(drawn.day, terms=replace(drawn.terms, customers=turned, iterations=101))
    report = vr.audit_day(drawn.book, day, terms=drawn.terms)
    assert violated(report) == {"terms"} and first in turned and own
    claim = next(claim for claim in report.claims if claim.claim == "terms")
    assert claim.evidence == "others than expected: customers, iterations"
    assert "1 of them as if not listed" in report.to_text() and "only some members" in report.to_text()
    group = next(group.members for group in drawn.book.hidden_classes if first in group.members)
    for listed, words in ((group[:1], "of 1 class only some members"), (group, "only some members")):
        some = replace(day, terms=replace(drawn.terms, customers=dict.fromkeys(listed, own)))
        assert (words in vr.audit_day(drawn.book, some).to_text()) == (listed != group)
    told = vr.audit_day(drawn.book, day).to_dict()
    assert [term["what"] for term in told["terms"]] == list(drawn.terms.to_dict())
    assert all(term["agrees"] is None for term in told["terms"])
    json.dumps(told)


def two_loops() -> vr.Playbook:
    """A depot at a dead end, and two loops behind the next junction: from one there is no turn into the other."""
    edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 1), (1, 4), (4, 5), (5, 1)]
    spots = [(0, 0), (0.001, 0), (0.002, 0.001), (0.002, 0.0005), (0.002, -0.001), (0.002, -0.0005)]
    domain = street_domain(
        lonlat=spots, tails=[a for a, _ in edges], heads=[b for _, b in edges], costs=[10.0] * 8, lengths=[100.0] * 8,
        unit="seconds", turns=Turns.of("allow", [(3, 1, 4), (5, 1, 2)], 500.0),
    )  # fmt: skip
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 0)], [2, 4]), vr.Privacy(k=2, ell=0))


def test_optimal_days_are_proved_again_and_false_ones_found() -> None:
    book = two_loops()
    alone = vr.dispatch(book, [1], vr.Terms((vr.Van(0, 0),), seconds_per_cost=1.0))
    assert (alone.status, alone.cost) == ("optimal", 600)
    assert vr.audit_day(book, alone).holds
    same = vr.audit_day(book, alone, dispatcher=lambda _: {"day.json": alone.to_json()}, reruns=3)
    assert "3 other sets of orders (3 different)" in same.to_text(), "as many sets as there are, each once"
    both = vr.dispatch(book, [1], vr.Terms((vr.Van(0, 0),) * 2, seconds_per_cost=1.0))
    assert both.cost == 100 and vr.audit_day(book, replace(both, status="optimal")).holds
    idle = vr.Tour((), (), (), 0)
    false = replace(both, tours=(*alone.tours, idle), cost=alone.cost, status="optimal")
    assert violated(vr.audit_day(book, false)) == {"optimality"}
    tight = replace(both, terms=replace(both.terms, capacity=1), status="optimal")
    assert vr.audit_day(book, tight).holds
    full = replace(alone, terms=replace(alone.terms, capacity=1))  # no tours would do
    assert violated(vr.audit_day(book, full)) == {"capacity", "optimality"}
    # Where not all tours can be tried, or some are cheaper that may come too late, nothing is proved.
    strange = replace(both, terms=replace(both.terms, vans=(vr.Van(0, 0), vr.Van(9, 9))), status="optimal")
    late = replace(false, terms=replace(both.terms, shift_s=80_000.0))
    drawn = draw_day("rooms", 0)
    many = replace(drawn.day, status="optimal")
    for plan, day, words in (
        (book, strange, "the map is too large to try all tours"),
        (book, late, "100 is possible where nothing depends on the clock"),
        (drawn.book, many, "stops are too many to try all tours"),
    ):
        (found,) = (claim for claim in vr.audit_day(plan, day).claims if claim.claim == "optimality")
        assert found.verdict == "unproved" and words in found.evidence, found


def test_a_day_alone_leaves_the_files_unproved(tmp_path: Path) -> None:
    drawn = draw_day("streets", 1)
    report = vr.audit_day(drawn.book, drawn.day)
    assert report.verdict == "unproved" and "not proved: same-files" in report.to_text()
    folder = save(files_of(drawn.day), tmp_path / "day")
    alone = vr.audit_day(drawn.book, folder / "day.json", dispatcher=drawn.run)
    assert alone.verdict == "holds" and "day.json alone" in alone.to_text()
    at = drawn.day.tours[0].begins_s[1]
    with pytest.raises(vr.InvalidInputError, match="before: expected the day that it goes on from"):
        vr.audit_day(drawn.book, vr.redispatch(drawn.book, drawn.day, at=at))
    with pytest.raises(vr.FileFormatError, match=r"no day\.json"):
        vr.audit_day(drawn.book, tmp_path)
