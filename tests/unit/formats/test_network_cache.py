from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from door_towns import winding_town
from veilroute.domain import street_domain
from veilroute.formats import read_network_cache, write_network_cache


def harbour(**changes: Any) -> vr.Domain:
    """Three junctions and four streets, two of them bent."""
    given: dict[str, Any] = {
        "lonlat": [[24.90, 60.16], [24.91, 60.17], [24.92, 60.16]],
        "tails": [0, 1, 1, 2],
        "heads": [1, 0, 2, 1],
        "costs": [60.5, 61.0, 90.0, 0.0],
        "lengths": [700.0, 700.0, 800.0, 800.0],
        "unit": "seconds",
        "labels": [2**40, 7, 8],
        "names": ["", "Bulevardi", "Yrjönkatu"],
        "name_ids": [1, 1, 2, 0],
        "kinds": ["", "primary"],
        "kind_ids": [1, 1, 0, 0],
        "shape_ptr": [0, 2, 3, 3, 3],
        "shape": [[24.902, 60.162], [24.905, 60.168], [24.903, 60.165]],
        "attribution": "© somebody",
    }
    return street_domain(**given | changes)


def everything(domain: vr.Domain) -> list[object]:
    """All that a domain holds, as plain values with their types."""
    arrays: list[Any] = [domain.indptr, domain.indices, domain.costs, domain.coordinates]
    plain: list[object] = [domain.sha256, domain.labels, domain.turns]
    if domain.streets is not None:
        parts = vars(domain.streets)
        arrays += [part for part in parts.values() if isinstance(part, np.ndarray)]
        plain += [part for part in parts.values() if not isinstance(part, np.ndarray)]
    return plain + [None if a is None else (a.dtype.str, a.shape, a.tolist(), a.flags.writeable) for a in arrays]


def domains() -> list[vr.Domain]:
    tuples = [(0, "a"), (0, ("b", 1)), (1, "ö")]
    return [
        harbour(),
        harbour(labels=None, unit="metres", costs=[700, 700, 800, 800], shape_ptr=None, shape=None),
        harbour(labels=["a", "b", "ö"], names=("",), name_ids=None, attribution=""),
        vr.Domain.from_edges(3, [0, 1], [1, 2], [1.5, 2], labels=[-5, 0, 5], coordinates=[[0, 0], [1, 2], [3, 4]]),
        vr.Domain.from_edges(3, [0, 1], [1, 2], [1, 2], labels=tuples),
        vr.Domain.from_edges(1, [], [], []),
        winding_town(1, u_turns="allow", u_turn_cost=9.0),
    ]


def test_everything_comes_back_and_equal_domains_are_equal_bytes(tmp_path: Path) -> None:
    for domain in domains():
        write_network_cache(domain, tmp_path / "a.npz")
        again = read_network_cache(tmp_path / "a.npz")
        assert everything(again) == everything(domain)
        write_network_cache(again, tmp_path / "b.npz")
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def rewrite(path: Path, about: dict[str, Any] | None = None, *, compression: int = 0, **arrays: object) -> None:
    """The file again with other contents and right checksums; None leaves an array out, bytes are taken as they are."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["about.json"] = json.dumps(json.loads(parts["about.json"]) | (about or {})).encode()
    for name, values in arrays.items():
        packed = io.BytesIO()
        np.save(packed, np.asarray(values), allow_pickle=True)
        parts[f"{name}.npy"] = values if isinstance(values, bytes) else packed.getvalue() if values is not None else b""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            if data:
                archive.writestr(name, data)


def u4(*numbers: object) -> np.ndarray:
    return np.array(numbers, np.uint32)


BAD_ARRAYS: dict[str, list[tuple[Any, str]]] = {
    "indptr": [*((u4(*numbers), "indptr") for numbers in ([0, 3, 1, 4], [1, 1, 3, 4], [])), ([0, 1, 3, 4], "<u4")],
    "indices": [(u4(*numbers), "indices") for numbers in ([1, 0, 3, 1], [1, 2, 0, 1], [1, 0, 0, 1])],
    "costs": [
        ([1.0, 1, 1], "costs"), ([1.0, 1, 1, np.nan], r"edges\[3\].cost"), ([1.0, 1, 1, 2], "another hash"),
        (np.array([1, 1, 1, {}], dtype=object), "damaged"), (None, "damaged"),
    ],
    "labels": [([7, 7, 8], "labels"), ([7, 8], "labels"), ([7, 8, 9], "another hash")],
    "coordinates": [(np.zeros((2, 2)), "coordinates"), (np.full((3, 2), np.inf), "coordinates")],
    "lonlat": [(np.full((3, 2), 91.0), "lonlat")],
    "lengths": [(np.zeros(3), "lengths"), (np.full(4, -1.0), "lengths")],
    "name_ids": [(np.array([0, 1, 2, 3], np.int32), "names")],
    "shape_ptr": [([0, 2, 1, 3, 3], "shape_ptr"), ([0, 2, 3, 3, 4], "shape_ptr")],
    "shape": [(np.full((3, 2), np.nan), "shape")],
}  # fmt: skip
BAD_WORDS: list[tuple[dict[str, Any], str]] = [
    ({"format": "veilroute-network/2"}, "veilroute-network/1"), ({"sha256": "0" * 64}, "another hash"),
    ({"arrays": ["../costs"]}, "arrays"), ({"arrays": ["indptr"] * 100}, "arrays"), ({"streets": []}, "streets"),
    *(({"labels": labels}, "labels") for labels in ("abb", ["a", "b", "\n"], ["a", "b", 1.5])),
]  # fmt: skip


def test_files_that_could_mislead_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    cases: list[tuple[dict[str, Any], str]] = [({"about": about}, word) for about, word in BAD_WORDS]
    cases += [({name: array}, word) for name, bad in BAD_ARRAYS.items() for array, word in bad]
    for changes, word in (*cases, ({"compression": zipfile.ZIP_DEFLATED}, "compression")):
        write_network_cache(
            harbour(**({"labels": ["a", "b", "c"]} if "labels" in changes.get("about", {}) else {})), path
        )
        rewrite(path, **changes)
        with pytest.raises(vr.FileFormatError, match=word):
            read_network_cache(path)


def test_damaged_bytes_never_give_another_graph(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_network_cache(harbour(), path)
    whole, right = path.read_bytes(), everything(harbour())
    rng = random.Random(0)
    broken = [whole[:size] for size in range(0, len(whole), 311)]
    for _ in range(120):
        place = rng.randrange(len(whole))
        broken.append(whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :])
    num_refused = 0
    for data in broken:
        path.write_bytes(data)
        try:
            assert everything(read_network_cache(path)) == right  # a bit that nobody reads, such as a date
        except vr.FileFormatError as error:
            num_refused += 1
            assert "\n" not in str(error)
    assert num_refused > 80
