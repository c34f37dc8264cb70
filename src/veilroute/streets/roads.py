"""Roads as people name them: by a street's name, or by the two places at their ends.

A list has semicolons between its items; spaces do as well where no item has any. The name of a street or of a place may
have spaces: what is a name as a whole is never taken apart.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from veilroute.base.errors import InvalidInputError, Problems, listing, shorten
from veilroute.domain.geography import great_circle_m
from veilroute.domain.graph import Domain, Label, folded, label_text
from veilroute.streets.addresses import AddressBook, Gazetteer
from veilroute.streets.directions import edge_number
from veilroute.streets.places import Place, locate, typed_coordinates

Pair = tuple[Label, Label]


def split_places(text: str, known_names: Collection[str]) -> list[str]:
    """The places of a list: what stands between semicolons, or else each known name and each word beside these."""
    if ";" in text and folded(text) not in set(map(folded, known_names)):
        return [part.strip() for part in text.split(";") if part.strip()]
    known = set(map(folded, known_names))
    longest = max((len(name.split()) for name in known), default=1)
    words, items, others = text.split(), list[str](), list[str]()

    def words_beside() -> list[str]:
        """What stands beside names: places with a comma, which may have spaces round it."""
        return re.sub(r"\s*([,>])\s*", r"\1", " ".join(others)).split()

    while words:
        sizes = range(min(longest, len(words)), 1, -1)
        size = next((size for size in sizes if folded(" ".join(words[:size])) in known), 1)
        if size == 1:
            others.append(words[0])
        else:
            items += [*words_beside(), " ".join(words[:size])]
            others.clear()
        words = words[size:]
    return items + words_beside()


def find_roads(
    domain: Domain,
    text: str | Sequence[str],
    *,
    names: Mapping[Label, str],
    places: Sequence[Place] = (),
    gazetteer: Gazetteer | None = None,
    field: str,
    warn: Callable[[str], None] | None = None,
) -> tuple[list[Pair], list[Pair]]:
    """The roads that are named: those closed in both directions, and those in one.

    Parameters
    ----------
    domain
        The map.
    text
        A list of roads as one text, or as its items. ``A,B`` is the road between two places in whichever directions it
        leads, ``A>B`` only from the first to the second; ``Main Street`` is every road of that name. If a map has two
        streets of that name, ``Main Street near 60.17,24.94`` is the nearer one.
    names
        What people call nodes.
    places
        Further places with names.
    gazetteer
        Finds addresses; without one, only streets, places, nodes and coordinates are found.
    field
        Names the culprit in errors; all that is wrong is raised at once.
    warn
        Is told when a place is far from the map's junctions.
    """
    finder = _RoadFinder(domain, names, places, gazetteer, field, warn)
    problems = Problems()
    roads: list[Pair] = []
    one_way: list[Pair] = []
    for item in finder.items(text) if isinstance(text, str) else text:
        with problems.collecting():
            both, single = finder.find(item)
            roads += both
            one_way += single
    problems.raise_all()
    return list(dict.fromkeys(roads)), list(dict.fromkeys(one_way))


class _RoadFinder:
    def __init__(
        self,
        domain: Domain,
        names: Mapping[Label, str],
        places: Sequence[Place],
        gazetteer: Gazetteer | None,
        field: str,
        warn: Callable[[str], None] | None,
    ) -> None:
        self._domain, self._field, self._warn = domain, field, warn
        self._places = [*places, *(Place(name, node=label_text(label)) for label, name in names.items())]
        self._names = {folded(place.name) for place in self._places if place.name is not None}
        self._addresses = gazetteer
        # Streets are found by name on every map that has some, also without addresses.
        self._streets = gazetteer if domain.streets is None else gazetteer or Gazetteer(domain, AddressBook)

    def items(self, text: str) -> list[str]:
        """The items of a list; the whole text if it is one."""
        streets = () if self._domain.streets is None else filter(None, self._domain.streets.names)
        called = set(map(folded, streets))
        items = split_places(text, called | self._names)
        # The items first: 102 103,107 is also a place on earth, with a decimal comma.
        if ";" in text or all(folded(item) in called or self._known_ends(item) for item in items):
            return items
        return [text] if self._known_ends(text) or self._street_names(text) else items

    def find(self, item: str) -> tuple[list[Pair], list[Pair]]:
        """The roads of an item: two places that there are, else a street, else two texts that may be addresses."""
        ends = self._known_ends(item)
        if ends is None:
            streets = self._street(item)
            if streets is not None:
                return streets
            ends = next(_splits(item), None)
        if ends is None:
            how = ("" if self._streets is None else "a street's name, or ") + "two places, A,B or A>B"
            near = () if self._streets is None else self._streets.similar(item)
            problem = f"{shorten(item)} was not found."
            if not near:
                problem += f" Name a road by {how}; put ; between several."
            raise InvalidInputError.saying(self._field, problem, did_you_mean=near)
        pair = [(self._node(ends[0]), self._node(ends[2]))]
        return ([], pair) if ends[1] == ">" else (pair, [])

    def _known_ends(self, item: str) -> tuple[str, str, str] | None:
        """The two ends of a road and what stands between, where both are places that there are."""
        return next((ends for ends in _splits(item) if self._is_known(ends[0]) and self._is_known(ends[2])), None)

    def _is_known(self, text: str) -> bool:
        if folded(text) in self._names or self._domain.labels_like(text):
            return True
        if self._domain.streets is not None and typed_coordinates(text) is not None:
            return True
        try:
            if self._domain.has_label(self._domain.parse_label(text)):
                return True
        except InvalidInputError:
            pass
        return self._addresses is not None and self._addresses.has(text)

    def _node(self, text: str) -> Label:
        found = locate(self._domain, text, field=self._field, places=self._places, gazetteer=self._addresses)
        if found.warning is not None and self._warn is not None:
            self._warn(found.warning)
        return found.label

    def _street_names(self, text: str) -> tuple[str, ...]:
        return () if self._streets is None else self._streets.street(text.partition(" near ")[0])

    def _street(self, item: str) -> tuple[list[Pair], list[Pair]] | None:
        """All roads of a street; ``None`` where it is none."""
        names, (called, _, near) = self._street_names(item), item.partition(" near ")
        if not names or self._streets is None:
            return None
        parts = [part for part in self._streets.parts(names) if part.size]
        if len(self._streets.spellings(names)) > 1:
            problem = f"{shorten(called)} may mean {listing(names, 5)}."
            raise InvalidInputError.saying(self._field, problem, did_you_mean=names)
        streets = self._domain.streets
        assert streets is not None, "only street networks have streets"
        tails, _, _ = self._domain.edge_arrays()
        if near:
            node = self._domain.node(self._node(near))
            away = [float(great_circle_m(streets.lonlat[tails[part]], streets.lonlat[node]).min()) for part in parts]
            parts = [parts[int(np.argmin(np.round(away, 2)))]]
        if len(parts) > 1:
            spots = [streets.lonlat[tails[part[part.size // 2]]].tolist() for part in parts]
            problem = f"there are {len(parts)} streets called {names[0]}, far from each other."
            meant = [f"{names[0]} near {lat:.4f},{lon:.4f}" for lon, lat in spots]
            raise InvalidInputError.saying(self._field, problem, did_you_mean=meant)
        return self._roads_of(chain.from_iterable(part.tolist() for part in parts))

    def _roads_of(self, edges: Iterator[int]) -> tuple[list[Pair], list[Pair]]:
        """Edges as roads; one of which the other direction has another name is closed in its own only."""
        tails, heads, _ = self._domain.edge_arrays()
        closed = set(edges)
        both, single = list[Pair](), list[Pair]()
        for edge in sorted(closed):
            tail, head = int(tails[edge]), int(heads[edge])
            back = edge_number(self._domain, head, tail)
            pair = self._domain.label(tail), self._domain.label(head)
            if back >= 0 and back not in closed:
                single.append(pair)
            elif back < 0 or edge < back:
                both.append(pair)
        return both, single


def _splits(item: str) -> Iterator[tuple[str, str, str]]:
    """How a text may part into two places: at ``>``, or at a comma, of which places may have some themselves."""
    for sign in (">", ","):
        parts = item.split(sign)
        # The middle goes first: of cells and coordinates both have as many commas.
        for i in sorted(range(1, len(parts)), key=lambda i: (abs(2 * i - len(parts)), i)):
            ends = sign.join(parts[:i]).strip(), sign, sign.join(parts[i:]).strip()
            if all(ends):
                yield ends
