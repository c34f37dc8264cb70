"""Ways as they stand in an OpenStreetMap file, before anything is decided about them."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from veilroute.base.arrays import Flags, Floats, Int32s, Ints
from veilroute.base.errors import printable

Tags = Mapping[str, str]
Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Restriction:
    """A turn restriction as it stands in the file; members are numbers of OpenStreetMap."""

    tags: Tags  # those that say what is restricted, and for whom
    froms: tuple[int, ...] = ()  # ways
    via_nodes: tuple[int, ...] = ()
    via_ways: tuple[int, ...] = ()
    tos: tuple[int, ...] = ()  # ways


@dataclass(frozen=True, eq=False, repr=False)
class Ways:
    """The ways of a file that have a ``highway`` tag.

    Cities repeat themselves, so equal tags are held once, and all node references are in one array: way ``w`` runs
    through the nodes ``refs[ptr[w]:ptr[w + 1]]``, which are numbers of OpenStreetMap.
    """

    numbers: Ints  # of the ways in OpenStreetMap
    ptr: Ints
    refs: Ints
    tag_sets: tuple[Tags, ...]  # the different sets of tags
    tag_ids: Int32s  # which of them each way has
    names: tuple[str, ...]  # the different street names, "" for none
    name_ids: Int32s
    node_ids: Ints  # the nodes whose place is known, ascending
    lonlat: Floats  # their longitude and latitude in degrees
    num_read: int  # how many ways the file has, buildings and shores included
    restrictions: tuple[Restriction, ...] = ()
    barriers: Mapping[int, Tags] = field(default_factory=dict)  # the tags of nodes with a barrier

    @property
    def num_ways(self) -> int:
        """How many ways have a ``highway`` tag."""
        return int(self.tag_ids.size)

    def count_by(self, texts: Sequence[str], chosen: Flags) -> Counts:
        """How many of the chosen ways have each of the ``texts`` that are given for the sets of tags.

        The most frequent comes first, equals are in the order of their names.
        """
        counts: Counter[str] = Counter()
        for tag_id, count in enumerate(np.bincount(self.tag_ids[chosen]).tolist()):
            if count:
                counts[texts[tag_id]] += count
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def count_kinds(self, chosen: Flags) -> Counts:
        """Each kind of highway and how many of the chosen ways it has, in the order of :meth:`count_by`."""
        return self.count_by([tags["highway"] for tags in self.tag_sets], chosen)


class WaysCollector:
    """Takes ways one by one and packs them; of their tags only those that matter (``keys``) and the name are kept."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = frozenset(keys) | {"highway"}
        self._ends, self._refs = array("q", [0]), array("q")
        self._tag_ids, self._name_ids = array("i"), array("i")
        self._tag_sets: dict[tuple[tuple[str, str], ...], int] = {}
        self._names: dict[str, int] = {}
        self._restrictions: dict[int, Restriction] = {}
        self._numbers: dict[int, None] = {}
        self.num_read = 0
        """How many ways the file had so far, of any kind."""

    def add_way(self, number: int, refs: Iterable[int], tags: Tags) -> None:
        """Take a way with a ``highway`` tag; one that was here before is left out."""
        if number in self._numbers:
            return
        self._numbers[number] = None
        kept = tuple(sorted((key, tags[key].strip().lower()) for key in self._keys & tags.keys()))
        self._refs.extend(refs)
        self._ends.append(len(self._refs))
        self._tag_ids.append(self._tag_sets.setdefault(kept, len(self._tag_sets)))
        self._name_ids.append(self._names.setdefault(_street_name(tags), len(self._names)))

    def add_restriction(self, number: int, tags: Tags, members: Iterable[tuple[str, str, int]]) -> None:
        """Take a turn restriction; its members are given by role, kind (``n`` or ``w``) and number."""
        wanted = {key: tags[key].strip().lower() for key in tags if key == "except" or key.startswith("restriction")}
        by_role: dict[tuple[str, str], list[int]] = {}
        for role, kind, member in members:
            by_role.setdefault((role, kind), []).append(member)
        roles = (("from", "w"), ("via", "n"), ("via", "w"), ("to", "w"))
        self._restrictions.setdefault(number, Restriction(wanted, *(tuple(by_role.get(role, ())) for role in roles)))

    def pack(self) -> Ways:
        """The ways so far, without places."""
        return Ways(
            numbers=np.array(list(self._numbers), dtype=np.int64),
            ptr=np.array(self._ends, dtype=np.int64),
            refs=np.array(self._refs, dtype=np.int64),
            tag_sets=tuple(dict(tags) for tags in self._tag_sets),
            tag_ids=np.array(self._tag_ids, dtype=np.int32),
            names=tuple(self._names),
            name_ids=np.array(self._name_ids, dtype=np.int32),
            node_ids=np.empty(0, dtype=np.int64),
            lonlat=np.empty((0, 2)),
            num_read=self.num_read,
            restrictions=tuple(restriction for _, restriction in sorted(self._restrictions.items())),
        )


def positions(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands in the ascending known ones, -1 where it does not."""
    if not known.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    spots = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[spots] == wanted, spots, -1)


def _street_name(tags: Tags) -> str:
    """The name of a street, or its number where it has no name; in characters that can be printed."""
    text = (tags.get("name") or tags.get("ref") or "").strip()
    return text if text.isprintable() else " ".join(printable(text).split())
