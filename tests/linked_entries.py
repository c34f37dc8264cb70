"""Entries of ledgers written by hand, where places are letters and classes are words; plans in a small town."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import veilroute as vr
from veilroute.ledger.intersection import Linking
from veilroute.model.entry import (
    IDENTITIES,
    TRIPS,
    Entry,
    Gap,
    Identity,
    Place,
    Spot,
    entry_from_dict,
    entry_of,
    places_of,
)
from veilroute.model.identities import Roster

__all__ = ["IDENTITIES", "TRIPS", "Entry", "Gap", "Identity", "Linking", "Place", "Roster", "Spot"]
__all__ += ["book_of", "entry", "entry_from_dict", "entry_of", "left_of", "places_of", "plan", "town"]
ROWS = ["......", ".@..@.", "......", "..@...", "......"]
THERE = vr.Trip((0, 0), (4, 4))


def entry(classes: str, refused: str = "", *, day: int = 1, **given: Any) -> Entry:
    """The playbook of a day of November: ``entry("abc de", "f")`` hides two groups and gives f no route."""
    groups = classes.split()
    letters = sorted({*"".join(groups), *refused})
    place = {letter: at for at, letter in enumerate(letters)}
    usual: dict[str, Any] = {
        "date": f"2026-11-{day:02}",
        "playbook": f"{classes}/{refused}/{day}",
        "domain": "a map",
        "trips": (("start", "goal"),),
        "privacy": vr.Privacy(k=2),
        "places": tuple(Place(letter) for letter in letters),
        "classes": tuple(tuple(place[letter] for letter in group) for group in groups),
        "refused": tuple(place[letter] for letter in refused),
    }
    return Entry(**usual | given)


def left_of(linking: Linking, letter: str, since: str | None = None) -> str:
    """Who is still possible where a letter is the secret."""
    texts = [place.text for place in linking.roster.places]
    return "".join(sorted(texts[number] for number in linking.left(texts.index(letter), since)))


def town(*closed: tuple[int, int]) -> vr.Domain:
    """A grid of five rows, some of its cells closed."""
    rows = [list(row) for row in ROWS]
    for row, col in closed:
        rows[row][col] = "@"
    return vr.grid_domain(["".join(row) for row in rows])


def book_of(*classes: Sequence[Any], refused: Sequence[Any] = (), **given: Any) -> vr.Playbook:
    """A playbook with these classes; routes do not matter to a ledger."""
    places = [*chain.from_iterable(classes), *refused]
    problem = vr.Problem(given.pop("domain", town()), [THERE], places, **given.pop("problem", {}))
    book = vr.solve(problem, given.pop("privacy", vr.Privacy(k=2)))
    groups = [replace(book.classes[0], members=tuple(group), anonymized=True) for group in classes]
    groups += [replace(book.classes[0], members=(each,), anonymized=False) for each in refused]
    return replace(book, classes=tuple(groups), **given)


def plan(ledger: vr.Ledger, places: Sequence[Any], privacy: vr.Privacy | None = None, **given: Any) -> vr.Playbook:
    """A plan under a ledger."""
    privacy = privacy or vr.Privacy(k=2)
    since = given.pop("since", None)
    problem = vr.Problem(given.pop("domain", town()), given.pop("trips", [THERE]), places, **given)
    return vr.solve(replace(problem, past=ledger.past(problem, privacy, since=since)), privacy)
