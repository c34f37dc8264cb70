"""The observer's and the driver's seat of a page: all that Watch and Drive need, as plain data.

:func:`watch_data` and :func:`drive_data` are parts of the scene of a playbook. Both say what the playbook says to
everybody, and are made without a secret. What depends on one happens in the browser (``web/draw.js``), on this data.

Watch (``web/watch.js``) gets numbers of :class:`~veilroute.analysis.posterior.Sights` as they are::

    {"m", "bound", "distance": text,
     "walks": [[node, ...]],           # each distinct walk once; nodes are small numbers without a meaning
     "ways": [{"walks": [walk of each trip], "parts": [[class, part] of each trip], "title", "classes": [number]}],
     "sights": {"candidates", "classes", "joint", "ways"},   # parallel; joint sums to 1; classes count from 1
     "areas": [[candidate, ...]] | null,   # maximal sets of two or more that are pairwise close; null: too many to list
     "doors": [[candidate, ...]],          # those that are at one node with others
     "trips": [{"at", "worst", "place", "bayes", "left", "length"}],   # from ``at[i]`` nodes on, earlier trips whole
     "promised": {"worst", "place", "bayes", "left"}, "hiddenMass",
     "noTrip": {"candidates", "posterior", "probability", "advice"}}

or ``{"refused": text}`` where the playbook contradicts itself. Drive (``web/drive.js``) gets::

    {"sentences": {name: text}, "isRandomised", "fold": {letter: text}, "formats": [...],
     "places": [{"text", "name", "isCell", "folded": [...], "json", "refusal": name of a sentence | null,
                 "drawSha256": text | null,   # what a draw is about, where there are draws
                 "draws": [{"class": number, "share": double | null, "routes": [route of each trip],
                            "parts": [part of each trip]}]}],
     "labels": [text | [text, json]],
     "routes": [{"nodes": [label, ...], "json": [head, tail], "directions": text, "gpx": text | [head, points, tail]}]}

``part`` says how a class's route goes on where its members part, as in the list of its parts in the scene: 0 is what
all share, and all there is when they do not part.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from veilroute.analysis.posterior import find_sights, measure_risk
from veilroute.auditing.replay import is_hidden
from veilroute.auditing.walking import WalkingMap
from veilroute.base.errors import (
    BrokenPromiseError,
    InvalidInputError,
    NotAnonymizedError,
    UnknownCandidateError,
    VeilrouteError,
)
from veilroute.base.io import dump_canonical
from veilroute.domain.graph import Label, folded, label_text
from veilroute.formats.route_text import route_texts
from veilroute.model.playbook import Playbook, PlaybookClass, Route
from veilroute.planners.sights import RiskFigures, Sights
from veilroute.streets.stops import Stops

SENTENCES = {
    "unknown": str(UnknownCandidateError()),
    "no-route": str(NotAnonymizedError(has_route=False)),
    "not-anonymized": str(NotAnonymizedError()),
    "broken": str(BrokenPromiseError()),
    "other": "the route could not be given; check the playbook: veilroute audit PLAYBOOK",
    "key": "key: expected a file made by veilroute key new; choose that file, unchanged",
    "occasion": "occasion: expected a key beside it: without a key each draw is a fresh one",
    "drawn": "one of several routes was drawn; a second draw for the same secret leaks, so draw with a key",
}
"""All that the driver's seat says when it refuses, and when it draws. Nothing is ever filled in."""

_SCALE = 7  #: decimals of degrees in GPX


def watch_data(playbook: Playbook) -> dict[str, Any]:
    """What an observer can see of a playbook, and what is believed then; see above."""
    try:
        sights, risk = find_sights(playbook), measure_risk(playbook)
    except InvalidInputError as error:
        return {"refused": str(error)}
    place = {label: i for i, label in enumerate(playbook.candidates)}
    privacy = playbook.privacy
    walks: dict[tuple[Label, ...], int] = {}
    ways = [[walks.setdefault(nodes, len(walks)) for nodes in way] for way in sights.routes]
    numbers: dict[Label, int] = {}
    return {
        "m": privacy.m,
        "bound": privacy.beta,
        "distance": privacy.distance_text,
        "walks": [[numbers.setdefault(node, len(numbers)) for node in nodes] for nodes in walks],
        "ways": [_way(playbook, sights, at, own) for at, own in enumerate(ways)],
        "sights": {
            "candidates": sights.candidates.tolist(),
            "classes": (sights.classes + 1).tolist(),
            "joint": sights.joint.tolist(),
            "ways": sights.ways.tolist(),
        },
        "areas": sights.areas(),
        "doors": sights.doors(),
        "trips": [_figures_of_trip(sights, trip) for trip in range(len(playbook.trips))],
        "promised": _plain(RiskFigures(risk.worst, risk.worst_place, risk.bayes_success, risk.num_possible)),
        "hiddenMass": sights.hidden_mass,
        "noTrip": {
            "candidates": [place[label] for label in risk.no_trip.candidates],
            "posterior": list(risk.no_trip.posterior),
            "probability": risk.no_trip.probability,
            "advice": risk.no_trip.advice,
        },
    }


def _way(playbook: Playbook, sights: Sights, at: int, walks: list[int]) -> dict[str, Any]:
    """One way that all trips together may go, and where it stands among the routes of the classes."""
    mine = (sights.ways == at).nonzero()[0].tolist()
    classes = list(dict.fromkeys((sights.classes[mine] + 1).tolist()))
    first, member = classes[0], playbook.candidates[int(sights.candidates[mine[0]])]
    group = playbook.hidden_classes[first - 1]
    parts = [[first, _part(group, member, trip)] for trip in range(len(playbook.trips))]
    title = f"Class{'es' * (len(classes) > 1)} {', '.join(map(str, classes))}"
    if any(group.rests(trip) for trip in range(len(playbook.trips))):
        members = dict.fromkeys(playbook.candidates[c] for c in sights.candidates[mine].tolist())
        title += f", as for {', '.join(map(playbook.name, members))}"
    return {"walks": walks, "parts": parts, "title": title, "classes": classes}


def _part(group: PlaybookClass, member: Label, trip: int) -> int:
    """Which of the parts of a class's route a member's own ends with; who stops where the others go on has no other."""
    rests = [members for members, nodes in group.rests(trip) if len(nodes) > 1]
    return next((i for i, members in enumerate(rests, start=1) if member in members), 0)


def _figures_of_trip(sights: Sights, trip: int) -> dict[str, Any]:
    """What an observer makes of all routes after so many nodes of a trip; only where something changes."""
    changes: list[tuple[int, RiskFigures]] = []
    length = 0
    for length, groups in sights.over_time(trip):
        figures = sights.figures(groups)
        if not changes or changes[-1][1] != figures:
            changes.append((length, figures))
    columns = [_plain(figures) for _, figures in changes]
    return {
        "at": [at for at, _ in changes],
        **{name: [column[name] for column in columns] for name in ("worst", "place", "bayes", "left")},
        "length": length,
    }


def _plain(figures: RiskFigures) -> dict[str, float | None]:
    return {
        "worst": figures.worst,
        "place": figures.worst_place,
        "bayes": figures.bayes_success,
        "left": figures.num_possible,
    }


def drive_data(playbook: Playbook) -> dict[str, Any]:
    """What gives each candidate its route in a browser, and each route its texts, as ``veilroute route`` has them.

    Whom the command refuses a route has none in the data either.
    """
    is_on_earth = playbook.problem.domain.on_earth is not None
    formats = ["text", "json", *(["directions", "gpx"] if is_on_earth else [])]
    driver = _Driver(playbook, formats)
    places = [driver.place(label) for label in playbook.candidates]
    return {
        "sentences": SENTENCES,
        "isRandomised": playbook.is_randomised,
        "fold": _fold_table([name for place in places for name in place["folded"]]),
        "formats": formats,
        "places": places,
        "labels": [_label_entry(label) for label in driver.labels],
        "routes": driver.routes,
    }


class _Driver:
    """Collects the routes that candidates of a playbook are given, each with its texts once."""

    def __init__(self, playbook: Playbook, formats: Sequence[str]) -> None:
        self.playbook, self.formats = playbook, formats
        self.labels: dict[Label, int] = {}
        self.routes: list[dict[str, Any]] = []
        self._numbers: dict[tuple[int, tuple[Label, ...]], int] = {}
        self._stops = Stops(playbook) if "gpx" in formats else None
        self._walking = WalkingMap(playbook.problem.domain)
        self._kept: dict[int, bool] = {}
        self._class_numbers = {id(group): at for at, group in enumerate(playbook.hidden_classes, start=1)}

    def place(self, label: Label) -> dict[str, Any]:
        """One candidate: how it may be typed, and what is given for it."""
        name = self.playbook.names.get(label)
        draws: list[dict[str, Any]] = []
        refusal = self._refusal(label)
        if refusal is None:
            try:
                draws = self._draws(label)
            except VeilrouteError:
                refusal = "other"
        return {
            "text": label_text(label),
            "name": name,
            "isCell": isinstance(label, tuple),
            "folded": [folded(each) for each in (name, label) if isinstance(each, str)],
            "drawLabel": dump_canonical(self.playbook.draw_label(label)).decode(),
            "refusal": refusal,
            "drawSha256": self.playbook.draw_sha256(label) if draws and self.playbook.is_randomised else None,
            "draws": draws,
        }

    def _refusal(self, label: Label) -> str | None:
        """Why the command gives no route for this candidate, as the name of a sentence."""
        try:
            for trip in range(len(self.playbook.trips)):
                self.playbook.route_for(label, trip)
            return None if self._is_kept(self.playbook.classes_of(label)) else "broken"
        except BrokenPromiseError:
            return "broken"
        except NotAnonymizedError as error:
            return "not-anonymized" if str(error) == SENTENCES["not-anonymized"] else "no-route"
        except VeilrouteError:
            return "other"

    def _is_kept(self, groups: Sequence[PlaybookClass]) -> bool:
        """Whether the map bears out what is promised, asked as the command asks."""
        playbook = self.playbook
        if playbook.is_randomised or playbook.privacy.beta is not None:
            # All hidden classes are looked at together; if these hold, each of them does.
            if 0 not in self._kept:
                self._kept[0] = is_hidden(playbook, playbook.hidden_classes, self._walking)
            if playbook.is_randomised or self._kept[0]:
                return self._kept[0]
        number = self._class_numbers[id(groups[0])]
        if number not in self._kept:
            self._kept[number] = is_hidden(playbook, groups[:1], self._walking)
        return self._kept[number]

    def _draws(self, label: Label) -> list[dict[str, Any]]:
        """The classes of which one is drawn, or the only one, with the routes of the candidate in each."""
        playbook = self.playbook
        groups = playbook.draw_order(label) if playbook.is_randomised else playbook.classes_of(label)[:1]
        trips = range(len(playbook.trips))
        return [
            {
                "class": self._class_numbers[id(group)],
                "share": group.share_of(label) if playbook.is_randomised else None,
                "routes": [self._route(group.route_of(label, trip)) for trip in trips],
                "parts": [_part(group, label, trip) for trip in trips],
            }
            for group in groups
        ]

    def _route(self, route: Route) -> int:
        if (place := (route.trip, route.nodes)) not in self._numbers:  # what it is said to cost does not matter
            texts = route_texts(self.playbook, route, self.formats, stops=self._stops)
            nodes = [self.labels.setdefault(node, len(self.labels)) for node in route]
            # Without the labels, which are in the table.
            whole = texts["json"]
            head, tail = whole.index('"route":[') + len('"route":['), whole.rindex("]")
            made: dict[str, Any] = {"nodes": nodes, "json": [whole[:head], whole[tail:]]}
            if "gpx" in texts:
                made |= {"directions": texts["directions"], "gpx": _pack_gpx(texts["gpx"])}
            self._numbers[place] = len(self.routes)
            self.routes.append(made)
        return self._numbers[place]


def _label_entry(label: Label) -> str | list[str]:
    """A label as text, and as JSON where that is another."""
    text, plain = label_text(label), dump_canonical(label).decode().removesuffix("\n")
    return text if text == plain else [text, plain]


def _pack_gpx(text: str) -> str | list[Any]:
    """GPX with the points of its track as whole numbers, each the difference from the one before: a third as long.

    The page makes the text of it again. It is given as it is where that would not be the same.
    """
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if line.startswith("   <trkpt ")]
    if not at or at[-1] - at[0] != len(at) - 1:
        return text
    places = [[int(part.replace(".", "")) for part in lines[i].split('"')[1::2]] for i in at]
    points = [now - before for pair in pairwise([[0, 0], *places]) for before, now in zip(*pair, strict=True)]
    packed = ["\n".join(lines[: at[0]]) + "\n", points, "\n" + "\n".join(lines[at[-1] + 1 :])]
    return packed if unpack_gpx(packed) == text else text


def unpack_gpx(packed: str | list[Any]) -> str:
    """The text again, as ``web/draw.js`` makes it."""
    if isinstance(packed, str):
        return packed
    head, points, tail = packed
    pairs = zip(accumulate(points[::2]), accumulate(points[1::2]), strict=True)
    lines = [f'   <trkpt lat="{_degrees(lat)}" lon="{_degrees(lon)}"/>' for lat, lon in pairs]
    return f"{head}{chr(10).join(lines)}{tail}"


def _degrees(number: int) -> str:
    digits = f"{abs(number):0{_SCALE + 1}}"
    return f"{'-' * (number < 0)}{digits[:-_SCALE]}.{digits[-_SCALE:]}"


def _fold_table(names: Sequence[str]) -> dict[str, str]:
    """What letters become where capitals do not matter, as far as it can lead to one of these folded names.

    Browsers cannot do this by themselves: JavaScript's small letters are not Python's folding (ß, Cherokee, iotas).
    A letter that is left out would become something that is in none of the names, and is in none of them itself.
    """
    letters = set().union(*names)
    return {letter: small for letter, small in _foldings().items() if letters.issuperset(small)}


@cache
def _foldings() -> dict[str, str]:
    pairs = ((letter, letter.casefold()) for letter in map(chr, range(0x110000)))
    return {letter: small for letter, small in pairs if letter != small and unicodedata.category(letter) != "Cs"}
