"""`veilroute key new` and `veilroute route --key --occasion` on randomised playbooks."""

from __future__ import annotations

import os
import random
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, Outcome, assert_refused
from drawn_books import PLACES, triangle_book
from veilroute.cli import SENTENCES
from veilroute.domain import label_text

NOTE = f"veilroute: {SENTENCES['drawn']}\n"
TYPED = ("0,2", "2,2", "0,4")


@pytest.fixture
def book(command: Command) -> vr.Playbook:
    """The little randomised playbook, also written as book.json, with a key in key.txt."""
    made = triangle_book()
    made.write("book.json")
    done = command("key", "new", "key.txt")
    assert (done.code, done.err) == (0, "")
    return made


def digits() -> str:
    return Path("key.txt").read_text().splitlines()[1]


def refused(done: Outcome, sentence: str) -> bool:
    return (done.code, done.out, done.err) == (2, "", f"veilroute: {SENTENCES[sentence]}\n")


def test_a_key_settles_the_route_of_an_occasion(command: Command, book: vr.Playbook) -> None:
    key = vr.read_key("key.txt")
    seen = set()
    for day in ("", *map(str, range(20))):
        done = command("route", "book.json", "--transit", "0,2", "--key", "key.txt", "--occasion", day)
        assert (done.code, done.err) == (0, "")
        assert done.out.split() == list(map(label_text, book.route_for(PLACES[0], key=key, occasion=day)))
        assert digits() not in done.out
        seen.add(done.out)
    assert len(seen) == 2
    # Without a key a note says what leaks, whatever the secret is, and however many its classes are.
    for typed in TYPED:
        done = command("route", "book.json", "--transit", typed)
        assert (done.code, done.err) == (0, NOTE)
    assert refused(command("route", "book.json", "--transit", "0,2", "--occasion", "monday"), "occasion")


def test_keys_that_cannot_be_used(command: Command, book: vr.Playbook) -> None:
    Path("other.txt").write_text(f"veilroute-key/9\n{digits()}\n")
    Path("other.txt").chmod(0o600)
    for name in ("other.txt", "nothing.txt", ".", "book.json", digits()):
        assert refused(command("route", "book.json", "--transit", "0,2", "--key", name), "key")
    if os.name == "posix":
        Path("key.txt").chmod(0o644)
        assert refused(command("route", "book.json", "--transit", "0,2", "--key", "key.txt"), "key")


def test_key_new_makes_a_private_file_once(command: Command, book: vr.Playbook) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(Path("key.txt").stat().st_mode) == 0o600
    before = digits()
    assert_refused(command("key", "new", "key.txt"), "key.txt", "is there already")
    assert_refused(command("key", "new", "no/key.txt"), "cannot be written")
    assert_refused(command("key", "new"))
    assert digits() == before
    done = command("key", "new", "second.txt")
    assert Path("second.txt").read_text().splitlines()[1] not in done.out + done.err


def test_a_class_that_the_map_refutes_refuses_everybody(command: Command, book: vr.Playbook) -> None:
    """The last class passes one of its members by, which takes the map to see; then nobody gets a route."""
    ab, ac, bc = book.classes
    broken = replace(book, classes=(ab, ac, replace(bc, routes=ab.routes)))
    broken.write("broken.json")
    replace(book, privacy=replace(book.privacy, ell=3)).write("far.json")
    for name in ("broken.json", "far.json"):
        for typed in TYPED:
            done = command("route", name, "--transit", typed, "--key", "key.txt")
            assert done == (1, "", f"veilroute: {vr.BrokenPromiseError()}\n")
    broken.write("bare.json", embed_domain=False)
    assert command("route", "bare.json", "--transit", "0,2", "--key", "key.txt").code == 0


@pytest.mark.parametrize(
    ("prior", "ell", "code"),
    [
        ((0.25, 0.25, 0.25, 0.25), 2, 0),
        ((0.2, 0.3, 0.3, 0.2), 2, 1),
        ((0.2, 0.3, 0.3, 0.2), 1, 0),
    ],
)
def test_a_partition_by_risk_is_checked_on_the_map(
    command: Command, two_rooms: vr.Domain, prior: tuple[float, ...], ell: float, code: int
) -> None:
    """Near places count together: 0,4 and 1,4 are one step apart and hold more than half of the class."""
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (0, 4), (1, 4), (2, 2)])
    whole = vr.solve(problem, vr.Privacy(k=4, ell=1))
    replace(whole, privacy=vr.Privacy(risk=0.5, ell=ell), prior=prior).write("risk.json")
    assert command("route", "risk.json", "--transit", "2,2").code == code


@pytest.mark.parametrize("seed", range(4))
def test_planned_playbooks_give_a_route_to_everybody_they_hide(command: Command, book: vr.Playbook, seed: int) -> None:
    """As the planner makes them, with shares up to rounding, priors that differ by millions and candidates left out."""
    domain = vr.generate_rooms(16, 24, seed=seed)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = vr.draw_candidates(domain, start, goal, 9, seed=seed)
    chance = random.Random(seed)
    prior = [1.0 if i % 2 or not seed else 10 ** chance.uniform(-6, 0.5) for i in range(len(places))]
    problem = vr.Problem(domain, [vr.Trip(start, goal), vr.Trip(goal, start)], places, prior=prior)
    planned = vr.solve(problem, vr.Privacy(risk=(0.5, 0.45, 0.6, 0.7)[seed], ell=2, mechanism="randomised"))
    planned.write("planned.json")
    hidden = {member for group in planned.hidden_classes for member in group.members}
    assert hidden
    for place in places:
        done = command("route", "planned.json", "--transit", label_text(place), "--key", "key.txt")
        assert done.code == (0 if place in hidden else 3), done.err
