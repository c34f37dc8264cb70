"""Benchmark maps in a per-user cache: which ones there are, where they lie, how they get there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names
from veilroute.maps.catalogue import CATALOGUE, Catalogue, MapSet, hash_text
from veilroute.maps.download import download
from veilroute.maps.store import AddReport, FetchedArchive, MapStore, StoredMap, fetch_sets, resolve_base_url

if TYPE_CHECKING:
    from veilroute.maps.download import find_archive_problem

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "CATALOGUE", "AddReport", "Catalogue", "FetchedArchive", "MapSet", "MapStore", "StoredMap", "download",
    "fetch_sets", "hash_text", "resolve_base_url",
]  # fmt: skip
