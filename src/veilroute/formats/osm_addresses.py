"""The addresses and named places of an OpenStreetMap file, for looking places up without a network."""

from pathlib import Path

import numpy as np

from veilroute.base.errors import FileFormatError
from veilroute.base.run import ProgressCallback, Watch
from veilroute.formats.osm import check_osm_file, filtered_things, read_node_places
from veilroute.streets.addresses import KINDS, Address, AddressBook, addresses_of

_HOUSE = "addr:housenumber"
_TELL_EVERY = 20_000
_BYTES_EACH = 4  # of a file, for an address; those that promise more are no maps


def read_osm_addresses(path: str | Path, *, progress: ProgressCallback | None = None) -> AddressBook:
    """Collect house numbers, and what has a name and is an amenity, a shop or the like.

    A building is where the middle between two of its corners is. Buildings that are relations are left out. The file is
    read twice, and only what has such a tag is held.
    """
    watch = Watch(report=progress)
    check_osm_file(path)
    found: list[Address] = []
    buildings: list[tuple[int, int, dict[str, str]]] = []
    most = 100_000 + Path(path).stat().st_size // _BYTES_EACH
    num_seen = 0
    for thing in filtered_things(path, _HOUSE, *KINDS):
        num_seen += 1
        if num_seen > most:
            raise FileFormatError(path, "more addresses than a map of its size can hold; download it again")
        if num_seen % _TELL_EVERY == 0:
            watch.tell("reading addresses", num_seen)
        tags = dict(thing.tags)
        if not addresses_of(tags, 0.0, 0.0):
            continue
        if thing.is_way():
            refs = [node.ref for node in thing.nodes]
            if refs:
                buildings.append((refs[0], refs[len(refs) // 2], tags))
        elif thing.location.valid():
            found += addresses_of(tags, thing.location.lon, thing.location.lat)
    if buildings:
        corners = np.unique(np.array([building[:2] for building in buildings], dtype=np.int64))
        numbers, lonlat, _ = read_node_places(path, corners, watch)
        place = dict(zip(numbers.tolist(), lonlat.tolist(), strict=True))
        for first, other, tags in buildings:
            if first in place and other in place:
                lon, lat = ((a + b) / 2 for a, b in zip(place[first], place[other], strict=True))
                found += addresses_of(tags, lon, lat)
    return AddressBook.of(found)
