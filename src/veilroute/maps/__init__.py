"""Benchmark maps in a per-user cache: which ones there are, where they lie, how they get there."""

from veilroute.maps.catalogue import CATALOGUE, Catalogue, MapSet, hash_text
from veilroute.maps.download import download
from veilroute.maps.store import AddReport, FetchedArchive, MapStore, StoredMap, fetch_sets, resolve_base_url

__all__ = [
    "CATALOGUE", "AddReport", "Catalogue", "FetchedArchive", "MapSet", "MapStore", "StoredMap", "download",
    "fetch_sets", "hash_text", "resolve_base_url",
]  # fmt: skip
