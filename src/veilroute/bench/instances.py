"""The instances of the experiments: the paper's on its maps, or seeded ones on generated maps."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from veilroute.bench.cells import Instance, Place
from veilroute.bench.design import PAPER_MAPS, SIZES
from veilroute.domain.generate import draw_candidates, generate_rooms
from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError
from veilroute.formats.movingai import parse_movingai, read_movingai
from veilroute.jsontext import parse_json, read_bytes
from veilroute.maps import MapStore, hash_text

MAX_CANDIDATES = max(SIZES)
"""How many candidates each instance has; an experiment takes the first so many."""

MAX_PAIRS = 1000
"""The most pairs of start and goal on a generated map."""

GENERATED = {
    "rooms-1": (40, 72),
    "rooms-2": (36, 36),
    "rooms-3": (150, 132),
    "rooms-4": (150, 150),
    "rooms-5": (136, 80),
    "rooms-6": (44, 48),
}
"""Names and sizes (height, width) of the maps that stand in for the paper's six; the largest two are smaller."""

FALLBACK_REMARK = "the paper's maps are not here; running on generated maps ('veilroute maps get dao' fetches them)"


@dataclass(frozen=True, eq=False)
class Terrain:
    """Maps and the instances on them.

    Parameters
    ----------
    domains
        By name, in the order of the experiments.
    instances
        Pair by pair, and for each pair map by map, with all their candidates.
    is_generated
        Whether the maps are generated ones.
    remark
        Which maps these are, in one line.
    """

    domains: Mapping[str, Domain]
    instances: tuple[Instance, ...]
    is_generated: bool
    remark: str


def find_terrain(
    *,
    num_pairs: int,
    map_names: Sequence[str] = (),
    directory: Path | None = None,
    store: MapStore | None = None,
) -> Terrain:
    """Find the paper's maps, or generate others where there is none of them.

    Real and generated maps are never mixed, and no map is left out unless ``map_names`` says so.

    Parameters
    ----------
    num_pairs
        How many pairs of start and goal to take on each map.
    map_names
        Which maps; all six when empty. Names of generated maps ask for these.
    directory
        Where to look for the maps, at all levels; the user's cache when ``None``.
    store
        The cache, when not the user's own.
    """
    if isinstance(num_pairs, bool) or not isinstance(num_pairs, int) or not 1 <= num_pairs <= MAX_PAIRS:
        raise InvalidInputError("--pairs", f"an integer from 1 to {MAX_PAIRS}", num_pairs)
    names = _checked_names(map_names)
    if names[0] in GENERATED:
        if directory is not None:
            raise InvalidInputError(
                "--map", "maps of the paper with --maps; generated ones need no directory", names[0]
            )
        return _generated_terrain(names, num_pairs, "running on generated maps")
    if directory is not None:
        return _paper_terrain(_search_directory(directory, names), num_pairs)
    store = MapStore() if store is None else store
    stored = {entry.name for entry in store.list_maps()}
    here = [name for name in names if f"{name}.map" in stored]
    if not here and not map_names:
        return _generated_terrain(tuple(GENERATED), num_pairs, FALLBACK_REMARK)
    if len(here) < len(names):
        absent = ", ".join(name for name in names if name not in here)
        advice = "run 'veilroute maps get dao'" + (f", or choose with --map {here[0]}" if here else "")
        raise InvalidInputError("--map", f"{absent} in the cache; {advice}")
    return _paper_terrain({name: read_movingai(store.find(name)) for name in names}, num_pairs)


def _checked_names(map_names: Sequence[str]) -> tuple[str, ...]:
    for known in (PAPER_MAPS, tuple(GENERATED)):
        if all(name in known for name in map_names):
            return tuple(name for name in known if name in map_names) if map_names else known
    known_names = (*PAPER_MAPS, *GENERATED)
    for name in map_names:
        if name not in known_names:
            raise InvalidInputError("--map", "one of " + ", ".join(known_names), name)
    raise InvalidInputError("--map", "maps of the paper or generated ones, not both", ", ".join(map_names))


def _search_directory(directory: Path, names: Iterable[str]) -> dict[str, Domain]:
    """The maps below a directory; of several files with one name, the first that is what the paper used."""
    if not directory.is_dir():
        raise InvalidInputError("--maps", "a directory with the paper's maps", str(directory))
    pinned = MapStore().catalogue.pinned
    found, absent = {}, []
    for name in names:
        paths = sorted(path for path in directory.rglob(f"{name}.map") if path.is_file())
        if not paths:
            absent.append(name)
            continue
        expected = pinned.get(f"{name}.map")
        for path in paths:
            data = read_bytes(path)
            if expected in (None, hash_text(data)):
                found[name] = parse_movingai(data.decode("ascii", "replace").replace("\r\n", "\n"), source=path)
                break
        else:
            raise FileFormatError(paths[0], "not the map that the paper used (SHA-256 of its text differs)")
    if absent:
        raise InvalidInputError("--maps", f"a directory that also holds {', '.join(absent)} (.map)", str(directory))
    return found


def _paper_terrain(domains: Mapping[str, Domain], num_pairs: int) -> Terrain:
    stored = read_paper_instances()
    most = max(instance.seed for instance in stored)
    if num_pairs > most:
        raise InvalidInputError("--pairs", f"at most {most}, the paper's pairs on each map", num_pairs)
    by_pair = {(instance.seed, instance.map_name): instance for instance in stored}
    chosen = tuple(by_pair[seed, name] for seed in range(1, num_pairs + 1) for name in domains)
    return Terrain(domains, chosen, is_generated=False, remark=f"running on the paper's maps: {', '.join(domains)}")


@cache
def read_paper_instances() -> tuple[Instance, ...]:
    """The paper's 30 instances, five on each map, with 16 candidates each."""
    source = resources.files("veilroute.bench").joinpath("instances.json")
    rows = parse_json(source.read_bytes(), "instances.json")["instances"]
    return tuple(
        Instance(
            map_name=row["map"],
            seed=row["seed"],
            start=_place(row["start"]),
            goal=_place(row["goal"]),
            candidates=tuple(_place(cell) for cell in row["candidates"]),
        )
        for row in rows
    )


def _generated_terrain(names: Sequence[str], num_pairs: int, remark: str) -> Terrain:
    domains = {name: _generate_map(name) for name in names}
    chosen = (_draw_instance(name, domains[name], seed) for seed in range(1, num_pairs + 1) for name in names)
    return Terrain(domains, tuple(chosen), is_generated=True, remark=f"{remark}: {', '.join(names)}")


def _generate_map(name: str) -> Domain:
    height, width = GENERATED[name]
    return generate_rooms(height, width, seed=tuple(GENERATED).index(name) + 1)


def _draw_instance(name: str, domain: Domain, seed: int) -> Instance:
    # Every free cell of a generated map can reach every other, so that any two will do.
    rng = random.Random(f"veilroute-bench-{name}-{seed}")
    start, goal = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 2))
    drawn = draw_candidates(domain, start, goal, MAX_CANDIDATES, seed=seed)
    return Instance(name, seed, _place(start), _place(goal), tuple(_place(label) for label in drawn))


def _place(cell: object) -> Place:
    match cell:
        case [int(row), int(col)]:
            return row, col
    raise InvalidInputError("instance", "a cell as [row, col]", cell)
