"""Addresses without a network: what the extract of a map itself says of house numbers, shops and streets.

An :class:`AddressBook` holds what was collected from a map. A :class:`Gazetteer` looks texts up in it, and among the
streets of the network: ``Mannerheimintie 5``, the name of a shop, or a street, which stands for its middle. Accents and
capitals do not matter, and street names may be cut short. A text that may mean places that are far from each other is
refused, and so is one that means none; the message lists what was meant perhaps. Never look the secret up here: it is
looked up among the candidates of the playbook.
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
from veilroute.base.errors import InvalidInputError, listing, printable, shorten
from veilroute.domain.geography import Streets, great_circle_m
from veilroute.domain.graph import Domain

KINDS = ("amenity", "shop", "office", "tourism", "public_transport", "leisure", "healthcare", "craft", "historic")
"""The keys whose value says what a named place is."""

_ONE_PLACE_M = 100.0  # what has the same name within it is one place: the doors of a shop, the stops of a bus
_ONE_STREET_M = 400.0  # parts of a street that are closer are one street
_LONGEST = 120
_MOST_SHOWN = 3
_MOST_MEANT = 5
_MOST_LIKELY = 60
_SHORTEST = 5  # letters of a text that is a name cut short
_MOST_DOTS = 3  # of such a text; each may stand for any letters
_LEVELS = _EXACT, _PLAIN, _CUT = 0, 1, 2
"""As it is written; without accents; cut short."""

# Letters that Unicode does not take apart, and how some are written where there is no key for them.
_NO_ACCENT = str.maketrans(
    {"æ": "ae", "ø": "o", "œ": "oe", "ß": "ss", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i"}
)

_SHORT = {
    "st": ("street", "saint", "sankt"), "str": ("strasse", "street"), "av": ("avenue",), "ave": ("avenue",),
    "rd": ("road",), "dr": ("drive",), "ln": ("lane",), "ct": ("court",), "sq": ("square",), "hwy": ("highway",),
    "pkwy": ("parkway",), "bd": ("boulevard",), "bld": ("boulevard",), "blvd": ("boulevard",), "bvd": ("boulevard",),
    "pl": ("place", "platz", "plats", "plaza"), "plz": ("platz", "plaza"), "ch": ("chemin",), "rte": ("route",),
    "r": ("rue",), "imp": ("impasse",), "fg": ("faubourg",), "ste": ("sainte",), "mt": ("mount",),
    "n": ("north",), "s": ("south",), "e": ("east",), "w": ("west",),
}  # fmt: skip
"""Words of street names that are written short, without a dot as well."""

_ENDS = (
    "katu", "tie", "kuja", "polku", "kaari", "ranta", "puisto", "tori", "gatan", "gata", "vagen", "vag", "vej", "veg",
    "grand", "plats", "torg", "strasse", "weg", "gasse", "platz", "allee", "damm", "ufer", "straat", "laan", "plein",
    "street", "avenue", "road", "lane", "drive", "square", "boulevard",
)  # fmt: skip
"""What the names of streets end with, without accents."""


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

    A text is read as it is written; then without accents; then as a street's name that is cut short (``Annankat``,
    ``Fabianink.``, ``Main St``). The first reading that fits something counts. One that may mean several is refused,
    and so is a text that is only similar to a name: the error has what was meant perhaps.

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

    def find(self, text: str, *, field: str, name: str | None = None, names: Sequence[str] = ()) -> tuple[float, float]:
        """Longitude and latitude of the place that is meant.

        Where it is not clear, ``field`` and ``name`` say in the error what it is about; ``names`` are further ones that
        may have been meant.
        """
        spots = _apart(self._matches(text))
        shown = shorten(text.strip())
        if len(spots) == 1:
            self.found[text.strip()] = spots[0]
            return spots[0].lon, spots[0].lat
        if spots:
            called = {_bare(one.name) for one in spots}
            problem = f"{shown} is at {len(spots)} places on the map."
            if len(called) > 1:
                problem = f"{shown} may mean {listing(sorted({one.name for one in spots}), _MOST_SHOWN)}."
            raise InvalidInputError.saying(field, problem, name=name, did_you_mean=self._typed(spots))
        meant, why = self._perhaps(text, names)
        if not meant:
            known = "an address on this map" if self._book.entries else "a street (this map has no addresses)"
            why += f" Write the name of a place, {known}, LAT,LON, or the id of a junction."
        raise InvalidInputError.saying(field, f"{shown} was not found{why}", name=name, did_you_mean=meant)

    def has(self, text: str) -> bool:
        """Whether a text means one place."""
        return len(_apart(self._matches(text))) == 1

    def street(self, text: str) -> tuple[str, ...]:
        """The names of the network's streets that a text may mean; several where it is not clear, none for no street.

        One name may be written in several ways on the map.
        """
        for level in _LEVELS:
            keys = [key for key in self._called(text, level, is_cut=True) if key in self._street_ids]
            if keys:
                return tuple(sorted({self._streets.names[i] for key in keys for i in self._street_ids[key]}))
        return ()

    def parts(self, names: Sequence[str]) -> list[Ints]:
        """The edges of the streets of some names: a list for each street that is far from the others."""
        streets = self._streets
        wanted = [number for number, name in enumerate(streets.names) if name in names]
        edges = np.flatnonzero(np.isin(streets.name_ids, wanted))
        if not edges.size:
            return []
        tails, heads, _ = self._domain.edge_arrays()
        halves = np.array([_halfway(streets.line(tails[e], heads[e], e)) for e in edges.tolist()])
        parts: list[tuple[set[int], Ints]] = []
        for group in _near_groups(halves):  # long pieces are far from each other by their middles, and have ends alike
            mine = edges[group]
            nodes = {*tails[mine].tolist(), *heads[mine].tolist()}
            joined = [part for part in parts if part[0] & nodes]
            parts = [part for part in parts if not part[0] & nodes]
            nodes = nodes.union(*(part[0] for part in joined))
            parts.append((nodes, np.sort(np.concatenate([mine, *(part[1] for part in joined)]))))
        return sorted((part for _, part in parts), key=lambda part: int(part[0]))

    def spellings(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of some names those that differ by more than capitals and accents."""
        return tuple({_bare(name): name for name in names})

    def similar(self, text: str) -> tuple[str, ...]:
        """The network's street names that are spelled like a text."""
        return similar_names(text, [name for name in self._streets.names if name])

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
        """All that the text may mean: as it is, or with a city behind a comma; what is more exact goes first."""
        main, _, rest = text.partition(",")
        words = f" {_bare(rest)} "
        for level in _LEVELS:
            whole = self._named(text, level) or self._numbered(text, level)
            if not whole and rest:
                found = self._named(main, level) or self._numbered(main, level)
                whole = [entry for entry in found if not entry.city or f" {_bare(entry.city)} " in words]
            if whole:
                return whole
        return []

    def _called(self, text: str, level: int, *, is_cut: bool = False) -> list[str]:
        """The keys of the names that a text is, on a level; cut short only those of streets are recognised."""
        if level == _EXACT:
            return [key] if (key := _key(text)) in self._spellings else []
        if level == _PLAIN:
            return self._keys_by_bare.get(_bare(text), [])
        pattern = _cut_pattern(text)
        likely = self._street_bares.get(_bare(text)[:1], ()) if pattern else ()
        found = [bare for bare in likely if pattern and pattern.fullmatch(bare)]
        found = found or [bare for bare in likely if bare.startswith(f"{_bare(text)} ")]  # whole words are left out
        if found and not is_cut and not _has_marks(text):
            found = [bare for bare in found if _is_nearly_whole(_bare(text), bare)] if len(found) == 1 else found
        return list(dict.fromkeys(key for bare in found for key in self._keys_by_bare[bare]))

    def _named(self, text: str, level: int) -> list[Address]:
        keys, found = self._called(text, level), list[Address]()
        if level == _CUT and len(keys) > 1:
            return [entry for bare in dict.fromkeys(map(_bare, keys)) for entry in self._any_of(bare)]
        for key in keys:
            found += self._by_name.get(key, ()) if level < _CUT else ()
            found += self._middles(key) if key in self._street_ids else ()
        return found

    def _numbered(self, text: str, level: int) -> list[Address]:
        """Houses of a street: the number stands behind, perhaps with a staircase, or before."""
        for street, number in _readings(text):
            keys = self._called(street, level, is_cut=True)
            found = [entry for key in keys for entry in self._houses(key, number)]
            if found:
                # Of several streets that a text cut short may mean, one may have the house and not be the one.
                without = {_bare(key) for key in keys} - {_bare(entry.name) for entry in found}
                return found + [entry for bare in without if level == _CUT for entry in self._any_of(bare)]
        return []

    def _houses(self, key: str, number: str) -> list[Address]:
        """The houses of a street with a number; with its staircases where the map has only these."""
        houses, words = self._by_street.get(key, {}), number.split()
        for size in range(len(words), 0, -1):  # without the staircase and the flat, which no map has
            wanted = _number_key(" ".join(words[:size]))
            if wanted in houses:
                return houses[wanted]
            found = [entry for key, entries in houses.items() if _is_within(wanted, key) for entry in entries]
            found = found or [entry for key, entries in houses.items() if _is_part_of(key, wanted) for entry in entries]
            if found:
                return found
        return []

    def _any_of(self, bare: str) -> list[Address]:
        """A street by its middle, or by a house."""
        for key in self._keys_by_bare[bare]:
            middles = self._middles(key) if key in self._street_ids else []
            if middles or key in self._by_street:
                return middles[:1] or next(iter(self._by_street[key].values()))[:1]
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

    def _typed(self, spots: Sequence[Address]) -> list[str]:
        """How each of some places can be typed so that it alone is meant: if need be with its city, or by degrees."""
        texts = []
        for one in spots[:_MOST_MEANT]:
            plain = f"{one.name} {one.number}".strip()
            ways = [plain, *([f"{plain}, {one.city}"] if one.city else [])]
            clear = next((way for way in ways if len(_apart(self._matches(way))) == 1), None)
            texts.append(clear or f"{one.lat:.5f},{one.lon:.5f}")
        return list(dict.fromkeys(texts))

    def _perhaps(self, text: str, names: Sequence[str]) -> tuple[list[str], str]:
        """What the text may have meant, and what is wrong with it.

        That are other numbers of its street, or names that are spelled like it, with the number that was given.
        """
        main = text.partition(",")[0]
        readings = _readings(main)
        for street, number in readings:
            for level in _LEVELS:
                keys = self._called(street, level, is_cut=True)
                if keys:
                    meant = [one for key in keys for one in self._near_number(key, number)]
                    has_houses = any(key in self._by_street for key in keys)
                    why = f": the map has {'no such number' if has_houses else 'no house numbers'} on that street."
                    return list(dict.fromkeys(meant)), why
        called = {_bare(name): name for name in reversed(names)}
        for street, number in [*readings, (main, "")]:
            wanted = _bare(street)
            shared: Counter[str] = Counter()
            for piece in _pieces(wanted):
                shared.update(self._bares_by_piece.get(piece, ()))
            if number:  # a house is on a street
                shared = Counter({bare: count for bare, count in shared.items() if bare in self._streets_called_so})
            likely = [bare for bare, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LIKELY]]
            meant = []
            for bare in _close(wanted, [*called, *likely]):
                keys = self._keys_by_bare.get(bare, [])
                with_house = [one for key in keys if number for one in self._near_number(key, number)[:2]]
                meant += with_house or [called[bare] if bare in called else self._spellings[keys[0]]]
            if meant:
                return list(dict.fromkeys(meant))[:_MOST_MEANT], "."
        return [], "."

    def _near_number(self, key: str, number: str) -> list[str]:
        """Addresses of a street as they can be typed: the one with this number, or else the nearest numbers."""
        houses = self._by_street.get(key, {})
        exact = self._houses(key, number)
        if exact:
            return self._typed(_apart(exact))
        wanted = _leading(number)
        order = sorted(houses, key=lambda each: (abs(_leading(each) - wanted), each))[:_MOST_SHOWN]
        return self._typed([houses[each][0] for each in order]) or [self._spellings[key]]

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """All names of streets and places as they are written, by their keys."""
        names = [*(entry.name for entry in self._book.entries), *self._streets.names]
        return {_key(name): name for name in reversed(names) if name}

    @cached_property
    def _keys_by_bare(self) -> dict[str, list[str]]:
        """The keys of names, by how they are written without accents."""
        keys: dict[str, list[str]] = defaultdict(list)
        for key in sorted(self._spellings):
            keys[_bare(key)].append(key)
        return keys

    @cached_property
    def _street_bares(self) -> dict[str, list[str]]:
        """The names of streets without accents, by how they begin."""
        bares: dict[str, list[str]] = defaultdict(list)
        for key in sorted({*self._by_street, *self._street_ids}):
            bares[_bare(key)[:1]].append(_bare(key))
        return bares

    @cached_property
    def _streets_called_so(self) -> frozenset[str]:
        return frozenset(bare for bares in self._street_bares.values() for bare in bares)

    @cached_property
    def _bares_by_piece(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for bare in self._keys_by_bare:
            for piece in _pieces(bare):
                names[piece].append(bare)
        return names


def similar_names(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that are spelled like a text, the most alike first, whatever their capitals and accents."""
    called: dict[str, str] = {}
    for name in names:
        called.setdefault(_bare(name), name)
    return tuple(called[bare] for bare in _close(_bare(text), called))


def _key(text: str) -> str:
    """What names are compared by: without capitals, marks and repeated spaces."""
    bare = re.sub(r"[.'’`´]", "", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(re.sub(r"[\W_]+", " ", bare).split())


def _bare(text: str) -> str:
    """The key of a name without its accents, whether one writes o for ö or, as Germans do, oe."""
    apart = unicodedata.normalize("NFKD", _key(text))
    plain = "".join(sign for sign in apart if not unicodedata.combining(sign)).translate(_NO_ACCENT)
    return re.sub("(?<=[aou])e", "", plain)


def _has_marks(text: str) -> bool:
    """Whether words say themselves that they are cut short."""
    return "." in text or any(word in _SHORT for word in _bare(text).split())


def _cut_pattern(text: str) -> re.Pattern[str] | None:
    """What names fit a text whose words may be cut short: those with a dot, common ones as St, and the last one."""
    pattern, last = "", ""
    for word in text.split():
        between = " "
        for part in re.findall(r"[^.]+[.]?", word):
            for last in _bare(part).split():
                fits = [re.escape(_bare(each)) for each in (last, *_SHORT.get(last, ()))]
                if last.endswith(("kt", "gt")):
                    fits.append(re.escape(last[:-1]) + ("atu" if last.endswith("kt") else "atan"))
                if part.endswith(".") and not last.isdecimal():
                    fits.append(re.escape(last) + r"\w*")
                pattern += f"{between if pattern else ''}(?:{'|'.join(fits)})"
                between = " "
            between = " ?"  # Pohj.espl. is one word
    if len(_bare(text)) < _SHORTEST or text.count(".") > _MOST_DOTS:
        return None
    return re.compile(pattern + ("" if last in _SHORT else r"\w*"))


def _is_nearly_whole(text: str, name: str) -> bool:
    """Whether all that a text leaves out of a street's name is the end of the word for a street."""
    return any(name.endswith(end) and len(text) >= len(name) - len(end) for end in map(_bare, _ENDS))


def _close(text: str, names: Iterable[str]) -> list[str]:
    """Names that are spelled like a text, the most alike first; those that are much less so than the first are not."""
    near = difflib.get_close_matches(text, list(dict.fromkeys(names)), _MOST_SHOWN, 0.7)
    likeness = [difflib.SequenceMatcher(None, name, text).ratio() for name in near]
    return [name for name, ratio in zip(near, likeness, strict=True) if ratio >= likeness[0] - 0.1]


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


def _is_part_of(number: str, wanted: str) -> bool:
    """Whether a house number is a wanted one with a letter: 36a of 36."""
    return wanted.isdecimal() and number.startswith(wanted) and number[len(wanted) :].isalpha()


def _readings(text: str) -> list[tuple[str, str]]:
    """How a text parts into a street and a number: at each word that begins with a digit, or after the first word."""
    words = re.sub(r"(?<=[^\W\d][.])(?=\d)", " ", text).split()[:20]  # Fabianink.38
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
