"""The benchmark sets that can be fetched, and the fingerprints of the maps that the paper used."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from veilroute.base.errors import InvalidInputError

DEFAULT_BASE_URL = "https://movingai.com/benchmarks"


def hash_text(data: bytes) -> str:
    """Return the SHA-256 of a text with LF line ends.

    The same map circulates with CRLF and with LF; both are the same grid and get the same fingerprint.
    """
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


@dataclass(frozen=True)
class MapSet:
    """One set of benchmark maps."""

    name: str  #: short name, also the directory in the cache
    map_archive: str  #: relative to the base address, as is the other one
    scenario_archive: str
    #: File name of a map to the :func:`hash_text` that it must have. Maps of the set that are not named here are taken
    #: as they come; scenarios always are.
    pinned: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalogue:
    """All sets that are known."""

    sets: tuple[MapSet, ...]  #: the sets; no map is pinned in two of them

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sets, in order."""
        return tuple(one.name for one in self.sets)

    @cached_property
    def pinned(self) -> dict[str, str]:
        """File name to fingerprint, over all sets."""
        return {name: digest for one in self.sets for name, digest in one.pinned.items()}

    def set_named(self, name: str) -> MapSet:
        """Return a set by its name."""
        for one in self.sets:
            if one.name == name:
                return one
        raise InvalidInputError("map set", "one of " + ", ".join(self.names), name)

    def set_name_of(self, file_name: str) -> str:
        """Return the name of the set that pins a map (or the map of a scenario file), ``local`` if none does."""
        map_name = file_name.removesuffix(".scen")
        return next((one.name for one in self.sets if map_name in one.pinned), "local")


CATALOGUE = Catalogue(
    (
        MapSet(
            "dao",
            "dao/dao-map.zip",
            "dao/dao-scen.zip",
            {
                "den101d.map": "a43f92df61f9bda523686b568127e410a79fc8dd460feaa06ed315bb7fb816a5",
                "den201d.map": "7618b45b6bd400f675e9da4b861e42cee653b895ced3a7384df1ea091282ea9d",
                "lak102d.map": "c6938e3a958375ab212be6db65f41c14fd820ef94b609fb370f04811829e9cfc",
                "lak202d.map": "f7dd5c0ce06ff6a51974950b799502e17f1092331872b2b279df26296c694f84",
                "lak510d.map": "70423e4478dc785188c825969d6fb6646ddc7b830d57a331afc8440828599f4b",
                "orz000d.map": "add7c5e8e9d790f39f4f575e838c06de165215761959858f723edd37dd3946aa",
                "orz201d.map": "93e0e743ca980b4d7662f1977530107bf1fd190c70063461c04c38e62b3bf5fa",
            },
        ),
        MapSet(
            "street",
            "street/street-map.zip",
            "street/street-scen.zip",
            {
                "Berlin_0_1024.map": "3f87f68dba61a39d1d1d5a3161795861a025f130389b2dd691d5e7d69276ee61",
                "Berlin_0_256.map": "bbb9a6ec86825c8c19da97216a5041285bc2a0dce8d8f366af7913cc3d162aae",
            },
        ),
    )
)
