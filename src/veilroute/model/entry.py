"""What a ledger says of one playbook: who was listed, who shared a class, who got no route.

It is data alone: planning and auditing both read it, and each works out by itself what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Any

import numpy as np

from veilroute.base.checks import check_finite, check_list, check_name, check_whole, is_number
from veilroute.base.errors import FileFormatError, InvalidInputError
from veilroute.base.journal import Journal
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy

#: How far from where it was a place of the same name may be on another map: it may be nearest to another junction.
FURTHEST_M = 250.0
#: A new place this close to one that has disappeared is taken for the same, however small ell is.
SAME_M = 50.0

LEDGER_FORMAT = "veilroute-ledger/2"
#: Files that are read and written to: a new ledger's format comes first.
LEDGER_FORMATS = (LEDGER_FORMAT, "veilroute-ledger/1")

TRIPS = ("occasional", "expected")
"""What a ledger may assume of a day without a trip: ``"occasional"``, that it says nothing; ``"expected"``, that it
shows, because every place that is served has a trip every day. Ledgers of the first format are read as ``"listed"``."""

IDENTITIES = ("same", "different")  #: the kinds of lines that say who is who

_KINDS = ("playbook", "replan", "day")
_SPOT_SIZES = {"cell": 4, "earth": 2, "plane": 2}  # how many numbers say where a place of each kind is

Spot = tuple[str | float, ...]

Gap = tuple[int, int, int, float]
"""A place by its number, an earlier entry and a place of it by theirs, and how far apart the two are on the map."""


@dataclass(frozen=True)
class Place:
    """Who somebody is, on this map and on others."""

    label: Label
    name: str | None = None  #: what people call it
    at: Spot | None = None  #: where it is: on the earth, on a plane or in a grid; those of different kinds never agree

    @property
    def text(self) -> str:
        """What people call it, or its label."""
        return self.name or label_text(self.label)


def spots_of(domain: Domain | None, nodes: Sequence[int]) -> list[Spot | None]:
    """Where some nodes are; ``None`` for each where that is not known."""
    at = list(nodes)
    if domain is None or (domain.grid is None and domain.streets is None and domain.coordinates is None):
        return [None] * len(at)
    if domain.grid is not None:
        return [("cell", *domain.grid.free.shape, *cell) for cell in domain.grid.cells[at].tolist()]
    if domain.streets is not None:
        return [("earth", *place) for place in np.round(domain.streets.lonlat[at], 6).tolist()]
    assert domain.coordinates is not None
    return [("plane", *place) for place in domain.coordinates[at].tolist()]


def places_of(domain: Domain, candidates: Iterable[Label], names: Mapping[Label, str]) -> tuple[Place, ...]:
    """The candidates with all that tells them on other maps."""
    labels = list(candidates)
    spots = spots_of(domain, [domain.node(label) for label in labels])
    return tuple(Place(label, names.get(label), spot) for label, spot in zip(labels, spots, strict=True))


def check_date(value: object, field_name: str = "date") -> str:
    """A day as ``2026-11-16``."""
    try:
        is_day = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        is_day = False
    if not is_day:
        raise InvalidInputError(field_name, "a day such as 2026-11-16", value)
    return str(value)


@dataclass(frozen=True)
class Entry:
    """A playbook in use, a trip of one that was planned again on the way, or a day of a fleet.

    Numbers are positions among the places. Of a trip or a day only those are places whose classes were on the way.
    """

    date: str
    playbook: str  #: its hash
    domain: str  #: the hash of its map
    trips: tuple[tuple[Label, Label], ...]
    privacy: Privacy
    places: tuple[Place, ...]  #: who was listed, those apart who are starts or goals
    classes: tuple[tuple[int, ...], ...]  #: who is hidden with whom
    refused: tuple[int, ...]  #: who got no route: to who expects a trip, that none takes place says as much as a class
    near: tuple[tuple[int, int], ...] = ()  #: who stand closer than ell, of those in one class
    prior: tuple[float, ...] | None = None  #: how probable each place was taken to be
    shares: tuple[tuple[float, ...], ...] = ()  #: those of the classes, in a randomised playbook
    parent: str | None = None  #: the line of the ledger under which it was planned
    since: str | None = None  #: the day before which nothing can be linked, as was assumed for it
    occasion: str | None = None  #: draws of one playbook on one occasion are the same draw; ``None`` for a fresh one
    kind: str = "playbook"  #: or ``"replan"`` or ``"day"``
    #: Places that are new and closer than ell to one of an earlier entry, because later there is no map; ``None`` where
    #: that was not measured, as in files of earlier versions.
    close: tuple[Gap, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the ledger."""
        places = [
            {"label": each.label}
            | ({} if each.name is None else {"name": each.name})
            | ({} if each.at is None else {"at": list(each.at)})
            for each in self.places
        ]
        data: dict[str, Any] = {
            "kind": self.kind,
            "date": self.date,
            "playbook": self.playbook,
            "domain": self.domain,
            "trips": [list(trip) for trip in self.trips],
            "privacy": self.privacy.to_dict(),
            "places": places,
            "classes": [list(members) for members in self.classes],
            "refused": list(self.refused),
            "near": [list(pair) for pair in self.near],
            "parent": self.parent,
        }
        optional = {
            "prior": None if self.prior is None else list(self.prior),
            "shares": [list(shares) for shares in self.shares] or None,
            "since": self.since,
            "occasion": self.occasion,
            "close": None if self.close is None else [list(each) for each in self.close],
        }
        return data | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Identity:
    """What the user said of two places, for the whole ledger: that they are the same, or that they are different."""

    kind: str  #: ``"same"`` or ``"different"``
    places: tuple[str, str]  #: what people call the two, or their labels (:attr:`Place.text`)
    date: str  #: the day on which it was said; nothing depends on it

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the ledger."""
        return {"kind": self.kind, "places": list(self.places), "date": self.date}


def identity_from_dict(data: Mapping[str, Any]) -> Identity:
    """Read what :meth:`Identity.to_dict` wrote, or raise naming what is wrong."""
    places = check_list("places", data["places"])
    if not all(isinstance(text, str) and text for text in places) or len(set(places)) != 2 or len(places) != 2:
        raise InvalidInputError("places", "the names of two places", data["places"])
    if set(data) != {"kind", "places", "date"}:
        raise InvalidInputError("identity", "kind, places and date", sorted(data))
    check_name("kind", data["kind"], IDENTITIES)
    return Identity(data["kind"], (places[0], places[1]), check_date(data["date"]))


def entry_from_dict(data: Mapping[str, Any]) -> Entry:
    """Read what :meth:`Entry.to_dict` wrote, or raise naming what is wrong."""
    places = []
    for each in check_list("places", data["places"]):
        at, name = each.get("at"), each.get("name")
        if at is not None and len(check_list("at", at)) != 1 + _SPOT_SIZES.get(str(*at[:1]), len(at)):
            raise InvalidInputError("places.at", "a kind of place and its numbers", at)
        if not isinstance(name, str | None):
            raise InvalidInputError("places.name", "text", name)
        spot = None if at is None else (at[0], *(check_finite("places.at", value) for value in at[1:]))
        places.append(Place(plain_label(each["label"]), name, spot))
    num = len(places)

    def numbers(name: str, value: Any) -> tuple[int, ...]:
        items = check_list(name, value)
        return tuple(check_whole(name, i, f"numbers of places, below {num}", least=0, most=num - 1) for i in items)

    classes = tuple(numbers("classes", members) for members in check_list("classes", data["classes"]))
    near = tuple(numbers("near", pair) for pair in check_list("near", data["near"]))
    weights = None if "prior" not in data else check_list("prior", data["prior"])
    shares = [check_list("shares", each) for each in check_list("shares", data.get("shares", []))]
    refused = numbers("refused", data["refused"])
    listed = [i for members in classes for i in dict.fromkeys(members)] if not shares else []
    is_twice = len(set(listed)) < len(listed) or not set(refused).isdisjoint(i for group in classes for i in group)
    if is_twice or any(len(set(group)) < len(group) or not group for group in classes):
        raise InvalidInputError("classes", "classes that have nobody in common, and nobody who is refused")
    if any(len(pair) != 2 for pair in near) or len(set(places)) < num or len({each.label for each in places}) < num:
        raise InvalidInputError("places", "places that are distinct, and pairs of them that are near")
    if (weights is not None and len(weights) != num) or (shares and [*map(len, shares)] != [*map(len, classes)]):
        raise InvalidInputError("prior", "a weight for each place, and shares for each member")
    if not all(is_number(share, 1e-300, 1) for each in shares for share in each):
        raise InvalidInputError("shares", "probabilities above 0")
    gaps: list[Gap] = []
    for each in check_list("close", data["close"]) if "close" in data else ():
        if len(check_list("close", each)) != 4:
            raise InvalidInputError("close", "a place, an earlier entry, a place of it and a distance", each)
        at, entry, other, distance = each
        which = (check_whole("close", number, "whole numbers", least=0) for number in (entry, other))
        gaps.append((*numbers("close", [at]), *which, check_finite("close", distance, least=0)))  # type: ignore[arg-type]
    privacy = Privacy(**data["privacy"])
    if shares and privacy.mechanism != "randomised":
        raise InvalidInputError("shares", "those of a randomised playbook")
    if weights is not None and not all(is_number(weight, 0, 1e100) for weight in weights):
        raise InvalidInputError("prior", "weights from 0 to 1e100")
    if data.get("since") is not None and check_date(data["since"], "since") > check_date(data["date"]):
        raise InvalidInputError("since", f"a day up to {data['date']}, that of the entry", data["since"])
    check_name("kind", data["kind"], _KINDS)
    for name in ("playbook", "domain"):
        if not isinstance(data[name], str):
            raise InvalidInputError(name, "text", data[name])
    for name in ("parent", "occasion"):
        if not isinstance(data.get(name), str | None):
            raise InvalidInputError(name, "text", data[name])
    return Entry(
        date=check_date(data["date"]),
        playbook=data["playbook"],
        domain=data["domain"],
        trips=tuple((plain_label(start), plain_label(goal)) for start, goal in check_list("trips", data["trips"])),
        privacy=privacy,
        places=tuple(places),
        classes=classes,
        refused=refused,
        near=tuple((pair[0], pair[1]) for pair in near),
        prior=None if weights is None else tuple(map(float, weights)),
        shares=tuple(tuple(map(float, each)) for each in shares),
        parent=data["parent"],
        since=None if data.get("since") is None else check_date(data["since"], "since"),
        occasion=data.get("occasion"),
        kind=data["kind"],
        close=tuple(gaps) if "close" in data else None,
    )


def read_trips(journal: Journal) -> str:
    """What a ledger assumes of a day without a trip: one of :data:`TRIPS`, or ``"listed"`` for the first format."""
    first = journal.first
    if first == {"format": LEDGER_FORMATS[1]}:
        return "listed"
    if set(first) != {"format", "trips"} or first["trips"] not in TRIPS:
        expected = "the first line has to say what a missing trip means: trips is occasional or expected"
        raise FileFormatError(journal.path, expected, 1)
    return str(first["trips"])


def read_lines(journal: Journal) -> tuple[Entry | Identity, ...]:
    """What each line of a ledger after the first says, or raise naming the line that does not belong there."""
    lines: list[Entry | Identity] = []
    sizes: list[int] = []  # how many places each entry has
    last = ""
    for number, data in enumerate(journal.entries):
        try:
            if data.get("kind") in IDENTITIES:
                lines.append(identity_from_dict(data))
                continue
            entry = entry_from_dict(data)
            if entry.date < last:
                raise InvalidInputError("date", f"a day from {last} on", entry.date)
            if any(earlier >= len(sizes) or place >= sizes[earlier] for _, earlier, place, _ in entry.close or ()):
                raise InvalidInputError("close", "places of earlier entries", list(entry.close or ()))
            last = entry.date
            sizes.append(len(entry.places))
            lines.append(entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"field {error}" if isinstance(error, KeyError) else str(error)
            raise FileFormatError(journal.path, f"not an entry of a ledger ({what})", number + 2) from None
    return tuple(lines)


def read_entries(journal: Journal) -> tuple[Entry, ...]:
    """The playbooks, replans and days of a ledger, without what the user said of identities."""
    return tuple(line for line in read_lines(journal) if isinstance(line, Entry))


def read_identities(journal: Journal) -> tuple[Identity, ...]:
    """What the user said of identities, in the order of the lines; of the same two places the last word counts."""
    return tuple(line for line in read_lines(journal) if isinstance(line, Identity))


def entry_of(playbook: Playbook, near: Iterable[tuple[Label, Label]], day: str, occasion: str | None = None) -> Entry:
    """A playbook as a ledger keeps it; ``near`` are those closer than ell among the members of its classes."""
    domain = playbook.problem.domain
    ends = {end for trip in playbook.trips for end in (trip.start, trip.goal)}
    listed = [label for label in playbook.candidates if label not in ends]
    place = {label: at for at, label in enumerate(listed)}
    if any(member not in place for group in playbook.hidden_classes for member in group.members):
        raise InvalidInputError("playbook", "classes of candidates that count; audit it")
    weights = dict(zip(playbook.candidates, playbook.prior or (), strict=False))
    past = playbook.past
    return Entry(
        date=check_date(day),
        playbook=playbook.sha256,
        domain=playbook.domain_sha256,
        trips=tuple((trip.start, trip.goal) for trip in playbook.trips),
        privacy=playbook.privacy,
        places=places_of(domain, listed, playbook.names),
        classes=tuple(tuple(place[m] for m in group.members) for group in playbook.hidden_classes),
        refused=tuple(sorted(place[m] for m in {*playbook.uncoverable, *playbook.exposed_candidates} & place.keys())),
        near=tuple(sorted((min(place[a], place[b]), max(place[a], place[b])) for a, b in near)),
        prior=tuple(weights[label] for label in listed) if weights else None,
        shares=tuple(group.shares for group in playbook.hidden_classes if group.shares),
        parent=None if past is None else past.ledger,
        since=None if past is None else past.since,
        occasion=occasion if playbook.privacy.mechanism == "randomised" else None,
    )


def pairs_within(classes: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Every two who share a class, once."""
    return sorted({(min(pair), max(pair)) for members in classes for pair in combinations(members, 2)})
