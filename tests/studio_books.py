"""Playbooks of fifty places with names that people type in many ways, for tests of the driver's seat in a browser."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import veilroute as vr
from veilroute import Playbook
from veilroute.cli import run
from veilroute.domain import Label, draw_candidates, folded, great_circle_m, label_text, street_domain

NUM_PLACES = 50
_WORDS = (
    "Market Square", "Große Straße", "Café Zoë", "Ærø Møbler", "Łódź Fabryczna", "Käse-Ecke", "İstanbul Grill",
    "ΠΛΑΤΕΙΑ Δέλτα", "Fish & Chips", "L’Écluse",
)  # fmt: skip
_ROWS, _COLS, _FIRST = 9, 10, 1000


def names_of(labels: Sequence[Label]) -> dict[Label, str]:
    """A name for each place: capitals, umlauts, spaces, signs; no two the same when capitals do not count."""
    return {label: f"{_WORDS[at % len(_WORDS)]} {at // len(_WORDS) + 1:02}" for at, label in enumerate(labels)}


def odd_spelling(name: str, at: int) -> str:
    """A name in a way that stands nowhere else: capitals here and there, spaces around and doubled."""
    letters = [letter.upper() if (i + at) % 2 else letter.lower() for i, letter in enumerate(name)]
    typed = "".join(letters).replace(" ", "  ", 1)
    if folded(typed) != folded(name):
        typed = name.swapcase().replace(" ", "  ", 1)
    if folded(typed) != folded(name):
        typed = name.replace(" ", " \t ", 1).replace("\t", " ")
    assert folded(typed) == folded(name)
    assert typed != name
    return typed


def street_town() -> vr.Domain:
    """Nine streets across ten, on earth, some of them one-way."""
    rng = random.Random(3)

    def place(node: int) -> tuple[float, float]:
        return round(24.9 + 0.002 * (node % _COLS), 7), round(60.2 - 0.001 * (node // _COLS), 7)

    both = [(r * _COLS + c, r * _COLS + c + 1, f"Rivi {r}") for r in range(_ROWS) for c in range(_COLS - 1)]
    both += [(r * _COLS + c, (r + 1) * _COLS + c, f"Sarake {c}") for r in range(_ROWS - 1) for c in range(_COLS)]
    edges = both + [(head, tail, name) for tail, head, name in both if rng.random() < 0.85]
    lengths = [round(float(great_circle_m(np.array([place(a)]), np.array([place(b)]))[0]), 1) for a, b, _ in edges]
    names = sorted({name for _, _, name in edges})
    return street_domain(
        lonlat=[place(node) for node in range(_ROWS * _COLS)],
        tails=[edge[0] for edge in edges],
        heads=[edge[1] for edge in edges],
        costs=[round(length / 8.3, 1) for length in lengths],
        lengths=lengths,
        unit="seconds",
        labels=list(range(_FIRST, _FIRST + _ROWS * _COLS)),
        names=names,
        name_ids=[names.index(edge[2]) for edge in edges],
        kinds=["residential"],
        kind_ids=[0] * len(edges),
        shape_ptr=np.zeros(len(edges) + 1, dtype=np.int64),
        shape=np.zeros((0, 2)),
        attribution="© OpenStreetMap contributors, ODbL",
    )


def grid_problem() -> vr.Problem:
    """Rooms with fifty places."""
    rooms = vr.generate_rooms(24, 40, seed=7)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    places = draw_candidates(rooms, start, goal, NUM_PLACES, seed=4)
    return vr.Problem(rooms, [vr.Trip(start, goal)], places, names=names_of(places))


def street_problem() -> vr.Problem:
    """The town with fifty places and a depot."""
    places: list[Label] = list(random.Random(5).sample(range(_FIRST + 1, _FIRST + _ROWS * _COLS), NUM_PLACES))
    return vr.Problem(street_town(), [vr.Trip(_FIRST, _FIRST)], places, names={_FIRST: "Depot", **names_of(places)})


def make_book(name: str) -> Playbook:
    """One of ``BOOKS``."""
    map_name, mechanism = name.split()
    is_grid = map_name == "grid"
    problem = grid_problem() if is_grid else street_problem()
    apart = {"ell": 3.0} if is_grid else {"ell": 150.0, "measure": "straight"}
    if mechanism == "partition":
        privacy = vr.Privacy(k=3, **apart)
        return vr.solve(problem, privacy, planner="pbp", partitioner="local-search", seed=0)
    privacy = vr.Privacy(risk=0.34 if is_grid else 0.4, mechanism="randomised", **apart)
    return vr.solve(problem, privacy, time_limit_s=10)


BOOKS = ("grid partition", "grid randomised", "streets partition", "streets randomised")


class Told(NamedTuple):
    """Exit code and what was printed."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> Told:
    """Run the command line in this process, as bytes are printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
        out.flush()
    raw = out.buffer
    assert isinstance(raw, io.BytesIO)
    return Told(code, raw.getvalue().decode(), err.getvalue())


def ways_of(book: Playbook, watch: dict[str, Any]) -> list[tuple[tuple[Label, ...], ...]]:
    """For each way in the observer's data, the routes of all trips that the playbook has for it."""
    found: dict[int, tuple[tuple[Label, ...], ...]] = {}
    for at, number, way in zip(*(watch["sights"][name] for name in ("candidates", "classes", "ways")), strict=True):
        label, group = book.candidates[at], book.hidden_classes[number - 1]
        routes = tuple(group.route_of(label, trip).nodes for trip in range(len(book.trips)))
        assert found.setdefault(way, routes) == routes, "a way is one way"
    return [found[way] for way in range(len(found))]


def place_text(book: Playbook, at: int) -> str:
    """A place by its node, as the command takes it."""
    return label_text(book.candidates[at])


def write_key(path: Path) -> Path:
    """A key of its own."""
    assert command("key", "new", path).code == 0
    return path
