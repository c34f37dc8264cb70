"""Addresses without a network: what the extract of a map itself says of house numbers, shops and streets.

An :class:`AddressBook` holds what was collected from a map. A :class:`Gazetteer` looks texts up in it, and among the
streets of the network: ``Mannerheimintie 5``, the name of a shop, or a street, which stands for its middle. A text that
may mean places that are far from each other is refused, and so is one that means none; the message lists what was meant
perhaps. Never look the secret up here: it is looked up among the candidates of the playbook.
"""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from veilroute.base.arrays import Floats, Ints
from veilroute.base.checks import check_list, is_number, is_whole
from veilroute.base.errors import InvalidInputError, listing, printable
from veilroute.domain.geography import Streets, great_circle_m
from veilroute.domain.graph import Domain

KINDS = ("amenity", "shop", "office", "tourism", "public_transport", "leisure", "healthcare", "craft", "historic")
"""The keys whose value says what a named place is."""

_ONE_PLACE_M = 100.0  # what has the same name within it is one place: the doors of a shop, the stops of a bus
_ONE_STREET_M = 400.0  # parts of a street that are closer are one street
_LONGEST = 120
_MOST_SHOWN = 3


class Address(NamedTuple):
    """A house or a place of a map."""

    name: str  #: of the street, or of the place
    number: str  #: of the house; empty for a place
    city: str  #: empty where the map does not say
    kind: str  #: ``address``, or what the place is, as ``supermarket``
    lon: float
    lat: float

    @property
    def text(self) -> str:
        """As one writes it, with what tells it from others."""
        about = ", ".join(part for part in (self.city, "" if self.number else self.kind) if part)
        return f"{self.name} {self.number}".strip() + (f" ({about})" if about else "")


@dataclass(frozen=True, repr=False)
class AddressBook:
    """The addresses and named places of a map, sorted."""

    entries: tuple[Address, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[Address]) -> "AddressBook":
        """The book of these, each once; places to a decimetre."""
        rounded = {entry._replace(lon=round(entry.lon, 6), lat=round(entry.lat, 6)) for entry in entries}
        return cls(tuple(sorted(rounded)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file: every text once, and a row of numbers for each entry."""
        texts = sorted({text for entry in self.entries for text in entry[:4]})
        number = {text: i for i, text in enumerate(texts)}
        rows = [[*(number[text] for text in entry[:4]), entry.lon, entry.lat] for entry in self.entries]
        return {"texts": texts, "rows": rows}

    @classmethod
    def from_dict(cls, data: Any) -> "AddressBook":
        """Read what :meth:`to_dict` wrote, or raise naming what is wrong."""
        if not isinstance(data, dict) or set(data) != {"texts", "rows"}:
            raise InvalidInputError("addresses", "an object with texts and rows")
        texts, rows = check_list("addresses.texts", data["texts"]), check_list("addresses.rows", data["rows"])
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            raise InvalidInputError("addresses.texts", "printable texts")
        entries = []
        for i, row in enumerate(rows):
            is_row = isinstance(row, list) and len(row) == 6 and all(is_whole(x, 0, len(texts) - 1) for x in row[:4])
            if not is_row or not (is_number(row[4], -180, 180) and is_number(row[5], -90, 90)):
                raise InvalidInputError(f"addresses.rows[{i}]", "numbers of four texts, longitude and latitude", row)
            name, number, city, kind = (texts[x] for x in row[:4])
            entries.append(Address(name, number, city, kind, float(row[4]), float(row[5])))
        return cls(tuple(entries))


def addresses_of(tags: dict[str, str], lon: float, lat: float) -> list[Address]:
    """What the tags of a node or a building add to the book: its address, several for ``5;7``, and its name."""
    street, city = _clean(tags.get("addr:street") or tags.get("addr:place", "")), _clean(tags.get("addr:city", ""))
    numbers = re.split("[;,]", tags.get("addr:housenumber", "")) if street else []
    found = [Address(street, _clean(each), city, "address", lon, lat) for each in numbers if _clean(each)]
    name, kind = _clean(tags.get("name", "")), next((tags[key] for key in KINDS if key in tags), None)
    if name and kind is not None:
        found.append(Address(name, "", city, _clean(kind).replace("_", " "), lon, lat))
    return found


def _clean(text: str) -> str:
    return " ".join(printable(text[:_LONGEST]).split())


class Gazetteer:
    """Finds the place that is meant by an address, the name of a place, or the name of a street.

    Parameters
    ----------
    domain
        The street network.
    read_book
        Gives the address book; asked the first time that a text is looked up.
    """

    def __init__(self, domain: Domain, read_book: Callable[[], AddressBook]) -> None:
        self._domain, self._read_book = domain, read_book
        self.found: dict[str, Address] = {}  #: what was looked up, and what it was taken for

    def find(self, text: str, *, field: str) -> tuple[float, float]:
        """Longitude and latitude of the place that is meant; ``field`` names the culprit where it is not clear."""
        found = self._matches(text)
        spots = _apart(found)
        if len(spots) == 1:
            self.found[text.strip()] = spots[0]
            return spots[0].lon, spots[0].lat
        if spots:
            shown = [f"{one.text} {one.lat:.6g},{one.lon:.6g}" for one in spots[:_MOST_SHOWN]]
            more = f"; and {len(spots) - _MOST_SHOWN} more" if len(spots) > _MOST_SHOWN else ""
            raise InvalidInputError(field, f"one place, and there are {'; '.join(shown)}{more}: write LAT,LON", text)
        near = self._nearest(text)
        known = "an address or name on this map" if self._book.entries else "a street (the network has no addresses)"
        hint = f"; the nearest are {listing(near, 5)}" if near else ""
        raise InvalidInputError(field, f"LAT,LON, the id of a junction, a name in --places, or {known}{hint}", text)

    @cached_property
    def _book(self) -> AddressBook:
        return self._read_book()

    @cached_property
    def _by_street(self) -> dict[str, dict[str, list[Address]]]:
        streets: dict[str, dict[str, list[Address]]] = defaultdict(lambda: defaultdict(list))
        for entry in self._book.entries:
            if entry.number:
                streets[_key(entry.name)][_number_key(entry.number)].append(entry)
        return streets

    @cached_property
    def _by_name(self) -> dict[str, list[Address]]:
        names: dict[str, list[Address]] = defaultdict(list)
        for entry in self._book.entries:
            if not entry.number:
                names[_key(entry.name)].append(entry)
        return names

    @cached_property
    def _street_ids(self) -> dict[str, list[int]]:
        """The numbers of the street names of the network, by their keys."""
        ids: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self._streets.names):
            if name:
                ids[_key(name)].append(number)
        return ids

    @property
    def _streets(self) -> Streets:
        assert self._domain.streets is not None, "only street networks have a gazetteer"
        return self._domain.streets

    def _matches(self, text: str) -> list[Address]:
        """All that the text may mean: as it is, or with a city behind a comma."""
        whole = self._named(text) or self._numbered(text)
        if whole or "," not in text:
            return whole
        main, _, rest = text.partition(",")
        words = f" {_key(rest)} "
        found = self._named(main) or self._numbered(main)
        return [entry for entry in found if not entry.city or f" {_key(entry.city)} " in words]

    def _named(self, text: str) -> list[Address]:
        key = _key(text)
        return [*self._by_name.get(key, ()), *(self._middles(key) if key in self._street_ids else ())]

    def _numbered(self, text: str) -> list[Address]:
        """Houses of a street: the number stands behind, perhaps with a staircase, or before."""
        for street, number in _readings(text):
            houses = self._by_street.get(_key(street))
            if not houses:
                continue
            words = number.split()
            for size in range(len(words), 0, -1):  # without the staircase and the flat, which no map has
                wanted = _number_key(" ".join(words[:size]))
                found = houses.get(wanted) or [
                    entry for key, entries in houses.items() if _is_within(wanted, key) for entry in entries
                ]
                if found:
                    return found
        return []

    def _middles(self, key: str) -> list[Address]:
        """The middle of each street of that name; parts that are far from each other are several streets."""
        streets = self._streets
        edges = np.flatnonzero(np.isin(streets.name_ids, self._street_ids[key]))
        if not edges.size:
            return []
        tails, heads, _ = self._domain.edge_arrays()
        halves = np.array([_halfway(streets.line(tails[e], heads[e], e)) for e in edges.tolist()])
        found = []
        for part in _near_groups(halves):
            weights = np.maximum(streets.lengths[edges[part]], 0.01)
            centre = np.average(halves[part], axis=0, weights=weights)
            nearest = part[int(np.argmin(np.round(great_circle_m(halves[part], centre), 2)))]
            lon, lat = np.round(halves[nearest], 7).tolist()
            found.append(Address(streets.name(int(edges[nearest])), "", "", "middle of the street", lon, lat))
        return found

    def _nearest(self, text: str) -> list[str]:
        """What the text may have meant: other numbers of its street, or the nearest spellings of names."""
        main = text.partition(",")[0]
        readings = _readings(main)
        for street, number in readings:
            houses = self._by_street.get(_key(street))
            if houses:
                wanted = _leading(number)
                order = sorted(houses, key=lambda key: (abs(_leading(key) - wanted), key))
                return [houses[key][0].text for key in order[:4]]
        key = _key(readings[0][0] if readings else main)
        shared: Counter[str] = Counter()
        for piece in _pieces(key):
            shared.update(self._names_by_piece.get(piece, ()))
        likely = [name for name, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:60]]
        close = difflib.get_close_matches(key, likely, 3, 0.6)
        return [self._spellings[name] for name in close]

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """All names of streets and places as they are written, by their keys."""
        names = [*(entry.name for entry in self._book.entries), *self._streets.names]
        return {_key(name): name for name in reversed(names) if name}

    @cached_property
    def _names_by_piece(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for key in self._spellings:
            for piece in _pieces(key):
                names[piece].append(key)
        return names


def _key(text: str) -> str:
    """What names are compared by: without capitals, marks and repeated spaces."""
    bare = re.sub(r"[.'’`´]", "", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(re.sub(r"[\W_]+", " ", bare).split())


def _number_key(text: str) -> str:
    return re.sub(r"[\s.]+", "", text.casefold()).replace("–", "-")


def _leading(number: str) -> int:
    digits = re.match(r"\D*(\d{1,9})", number)
    return int(digits[1]) if digits else 0


def _is_within(wanted: str, number: str) -> bool:
    """Whether a house number is one of those that a house has which stands over several: 5 in 3-7, and not 4."""
    span = re.fullmatch(r"(\d{1,6})-(\d{1,6})", number)
    if span is None or not wanted.isdecimal():
        return False
    first, last, own = int(span[1]), int(span[2]), int(wanted[:9])
    is_across = (last - first) % 2 == 0 and (own - first) % 2 == 1  # even numbers face odd ones
    return first <= own <= last and not is_across


def _readings(text: str) -> list[tuple[str, str]]:
    """How a text parts into a street and a number: at each word that begins with a digit, or after the first word."""
    words = text.split()[:20]
    behind = [
        (" ".join(words[:i]), " ".join(words[i:])) for i in range(len(words) - 1, 0, -1) if words[i][0].isdecimal()
    ]
    before = [(" ".join(words[1:]), words[0].rstrip(","))] if len(words) > 1 and words[0][0].isdecimal() else []
    return behind + before


def _pieces(key: str) -> set[str]:
    return {key[i : i + 3] for i in range(max(1, len(key) - 2))}


def _apart(found: Sequence[Address]) -> list[Address]:
    """One of each group of entries that are near each other: the first, addresses before others."""
    if not found:
        return []
    order = sorted(found, key=lambda entry: (entry.kind != "address", entry))
    lonlat = np.array([(entry.lon, entry.lat) for entry in order])
    spots: list[int] = []
    for i in range(len(order)):
        if not spots or float(great_circle_m(lonlat[spots], lonlat[i]).min()) > _ONE_PLACE_M:
            spots.append(i)
    return [order[i] for i in spots]


def _near_groups(points: Floats) -> list[Ints]:
    """Groups of points between which one gets by steps that are not too long, in the order of their first points."""
    left = np.arange(len(points))
    groups = []
    while left.size:
        group, border = [], left[:1]
        left = left[1:]
        while border.size:
            group.append(border)
            far = [great_circle_m(points[left], points[i]) for i in border.tolist()]
            is_near = np.min(far, axis=0) <= _ONE_STREET_M
            border, left = left[is_near], left[~is_near]
        groups.append(np.sort(np.concatenate(group)))
    return groups


def _halfway(line: Floats) -> Floats:
    """The point in the middle of a line."""
    steps = great_circle_m(line[:-1], line[1:])
    ends = np.cumsum(steps)
    half = ends[-1] / 2
    i = int(np.searchsorted(ends, half))
    share = (half - (ends[i] - steps[i])) / steps[i] if steps[i] > 0 else 0.0
    return np.asarray(line[i] + share * (line[i + 1] - line[i]))
