"""How long a street network of 100,000 junctions takes to load: as .npz, as .json, and one scipy Dijkstra on it.

    python benchmarks/network_cache.py

The city is generated, with places, lengths, names, kinds and bends for every street, in seconds.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import veilroute as vr
from timing import best_times, dijkstra_run
from veilroute.domain.geography import street_domain
from veilroute.formats.network_file import read_network, write_network

SIDE = 325
REPEATS = 5
MOST_SECONDS, LEAST_GAIN = 1.0, 5.0


def make_city(side: int) -> vr.Domain:
    """A generated city somewhere in Helsinki; every street has up to three bends and one of 5,000 names."""
    plain = vr.generate_streets(side, side, seed=1)
    assert plain.coordinates is not None
    tails, heads, metres = plain.edge_arrays()
    rng = np.random.default_rng(0)
    lonlat = np.round(plain.coordinates / (55_600.0, 111_200.0) + (24.9, 60.1), 7)
    num_bends = rng.integers(0, 4, plain.num_edges)
    shape = np.repeat((lonlat[tails] + lonlat[heads]) / 2, num_bends, axis=0) + rng.normal(
        0, 1e-4, (num_bends.sum(), 2)
    )
    return street_domain(
        lonlat=lonlat,
        tails=tails,
        heads=heads,
        costs=np.round(metres / rng.choice((8.3, 11.1, 13.9), plain.num_edges), 3),
        lengths=metres,
        unit="seconds",
        labels=(10**9 + 7 * np.arange(plain.num_nodes)).tolist(),
        names=["", *(f"Street {number}" for number in range(1, 5000))],
        name_ids=rng.integers(0, 5000, plain.num_edges),
        kinds=["residential", "tertiary", "primary"],
        kind_ids=rng.integers(0, 3, plain.num_edges),
        shape_ptr=np.concatenate([[0], np.cumsum(num_bends)]),
        shape=np.round(shape, 7),
    )


def main() -> int:
    city = make_city(SIDE)
    print(city)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"city{suffix}" for suffix in (".npz", ".json")]
        for file in files:
            write_network(city, file)
        assert all(read_network(file).sha256 == city.sha256 for file in files)
        works = [partial(read_network, file) for file in files]
        npz_s, json_s, dijkstra_s = best_times(*works, dijkstra_run(city, city.num_nodes // 2), repeats=REPEATS)
        sizes = [file.stat().st_size / 1e6 for file in files]
    print(f"{'':16} {'MB':>6} {'seconds':>8} {'Dijkstras':>10}")
    for name, size, seconds in (("load .npz", sizes[0], npz_s), ("load .json", sizes[1], json_s)):
        print(f"{name:16} {size:6.1f} {seconds:8.3f} {seconds / dijkstra_s:10.1f}")
    print(f"{'one Dijkstra':16} {'':6} {dijkstra_s:8.3f} {1:10.1f}")
    print(
        f".npz: at most {MOST_SECONDS:g} s, and {json_s / npz_s:.1f} times faster than .json (at least {LEAST_GAIN:g})"
    )
    return 0 if npz_s <= MOST_SECONDS and json_s >= LEAST_GAIN * npz_s else 1


if __name__ == "__main__":
    sys.exit(main())
