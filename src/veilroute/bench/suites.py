"""From the name of a suite to its cells.

What the paper's experiments vary, and how much of it each preset runs (paper, section 6 and supplement).

The instances of the experiments: the paper's on its maps, or seeded ones on generated maps.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from veilroute.bench.cells import Cell, Instance, Method, Place
from veilroute.domain.generate import draw_candidates, generate_rooms
from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.formats.movingai import parse_movingai, read_movingai
from veilroute.jsontext import parse_json, read_bytes
from veilroute.maps import MapStore, hash_text

PAPER_MAPS = ("den101d", "den201d", "lak202d", "lak510d", "orz000d", "orz201d")
"""The six maps. The paper's text says lak102d where its figures and its authors' instances say lak202d."""

SIZES = (8, 12, 16)
"""Numbers of candidates."""

OPTIMAL = Method("optimal")
BEST = Method("pbp", "merge-bb", "cost-asc", "tunnel")
NAIVE = {heuristic: Method("pbp", "naive", "", heuristic) for heuristic in ("blind", "tunnel")}

PARTITIONING = (
    *NAIVE.values(),
    Method("pbp", "df-bb", "", "blind"),
    Method("pbp", "df-bb", "", "tunnel"),
    Method("pbp", "merge-bb", "random", "blind"),
    Method("pbp", "merge-bb", "random", "tunnel"),
    Method("pbp", "merge-bb", "cost-asc", "blind"),
    BEST,
    OPTIMAL,
)
"""Tables 1 and 2, at k = 2, ell = 1, radius 0, m = infinity; in the paper's order, ours last."""

CONVERGING = tuple(method for method in PARTITIONING if method.heuristic == "tunnel" or method == OPTIMAL)
"""The figure of convergence, from the same cells."""

BOUNDED = (
    Method("rbp"),
    Method("cbp"),
    Method("m-pbp", "merge-bb", "cost-asc", "tunnel"),
    OPTIMAL,
)
"""Tables 3 and 4, at ell = 1, radius 0, 8 candidates."""

BOUNDED_KS = (2, 3, 5)
M_RATIOS = (0.1, 0.3, 0.5, 1.0, 5.0, 10.0)
"""``m = max(1, round(ratio * nodes on a shortest start-goal path))``."""

BOUNDED_SIZE = 8

KLR_METHODS = (BEST, OPTIMAL)
KLR_KS = (2, 3)
KLR_ELLS = (1, 10)
KLR_RADII = (0, 2, 10)
KLR_SIZE = 8
"""The figure of k, ell and radius, at m = infinity."""

EXAMPLE_SIZE = 8
EXAMPLE_METHOD = OPTIMAL
"""The figures of playbooks: the first pair of each map, (2, 1, infinity); on the first map also (2, 10, infinity)."""

SUITES = ("table1", "table2", "table3", "table4", "convergence", "klr", "examples")
"""In the order of a report; ``all`` stands for all of them."""


@dataclass(frozen=True)
class Preset:
    """How much of the design is run.

    Parameters
    ----------
    name
        What the command line calls it.
    num_pairs
        Pairs of start and goal on each map.
    time_limit_s
        For each cell.
    """

    name: str
    num_pairs: int
    time_limit_s: float


PRESETS = {
    "quick": Preset("quick", num_pairs=2, time_limit_s=4.0),
    "paper": Preset("paper", num_pairs=5, time_limit_s=300.0),
}


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


SPREAD = "all-pairs"
"""The reading of spread in all experiments, as the paper's partitioners have it."""

SIZED_SUITES = ("table1", "table2", "convergence")
"""Suites that vary the number of candidates; the others have one."""

# From quick to slow, where they differ by much.
_PACE = ("optimal", "naive", "rbp", "cbp", "m-pbp", "merge-bb", "df-bb")


@dataclass(frozen=True)
class Choice:
    """What of a suite is run.

    Parameters
    ----------
    time_limit_s
        For each cell.
    sizes
        Numbers of candidates, for the suites that vary them; the paper's when empty.
    methods
        Names of the methods, see :attr:`veilroute.bench.cells.Method.name`; all when empty.
    """

    time_limit_s: float
    sizes: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        limit = self.time_limit_s
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < float("inf"):
            raise InvalidInputError("--time-limit", "a number of seconds > 0", limit)
        for size in self.sizes:
            if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= MAX_CANDIDATES:
                raise InvalidInputError("--candidates", f"numbers from 2 to {MAX_CANDIDATES}", size)


def suite_names(name: str) -> tuple[str, ...]:
    """The suites that a name stands for: itself, or all of them for ``all``."""
    if name == "all":
        return SUITES
    if name not in SUITES:
        raise UnknownMethodError("SUITE", name, (*SUITES, "all"))
    return (name,)


def build_cells(names: Sequence[str], terrain: Terrain, choice: Choice) -> list[Cell]:
    """All cells of some suites, each once, in the order in which they should be run.

    Pairs come one after the other, and maps in turns, so that a run that is stopped half way has all methods on some
    instances; the cells of one instance begin with the quick ones.

    Parameters
    ----------
    names
        Names of suites, as :func:`suite_names` gives them.
    terrain
        The maps and the instances.
    choice
        What to run of them.
    """
    if choice.sizes and not set(names) & set(SIZED_SUITES):
        raise InvalidInputError(
            "--candidates", f"one of the suites that vary it ({', '.join(SIZED_SUITES)}), or all", ", ".join(names)
        )
    cells = {cell.key: cell for name in names for cell in _suite_cells(name, terrain, choice)}
    known = tuple(dict.fromkeys(cell.method.name for cell in cells.values()))
    for method in choice.methods:
        if method not in known:
            raise UnknownMethodError("--method", method, known)
    chosen = [cell for cell in cells.values() if not choice.methods or cell.method.name in choice.methods]
    turn = {(instance.map_name, instance.seed): i for i, instance in enumerate(terrain.instances)}
    # Sorting is stable: what is alike here stays in the order of the design.
    return sorted(
        chosen,
        key=lambda cell: (turn[cell.instance.map_name, cell.instance.seed], cell.num_candidates, _pace(cell.method)),
    )


def _suite_cells(name: str, terrain: Terrain, choice: Choice) -> Iterator[Cell]:
    sizes = tuple(sorted(set(choice.sizes))) or SIZES
    first_map = next(iter(terrain.domains))
    for instance in terrain.instances:
        make = _CellMaker(instance, terrain.domains[instance.map_name].sha256, choice.time_limit_s)
        match name:
            case "table1" | "table2":
                yield from (make(method, size) for size in sizes for method in PARTITIONING)
            case "convergence":
                yield from (make(method, size) for size in sizes for method in CONVERGING)
            case "table3" | "table4":
                for method in BOUNDED:
                    for k in BOUNDED_KS:
                        yield from (make(method, BOUNDED_SIZE, k=k, m_ratio=ratio) for ratio in M_RATIOS)
            case "klr":
                for method in KLR_METHODS:
                    for k in KLR_KS:
                        for ell in KLR_ELLS:
                            yield from (make(method, KLR_SIZE, k=k, ell=ell, radius=radius) for radius in KLR_RADII)
            case "examples" if instance.seed == terrain.instances[0].seed:
                yield make(EXAMPLE_METHOD, EXAMPLE_SIZE, keep_playbook=True)
                if instance.map_name == first_map:
                    yield make(EXAMPLE_METHOD, EXAMPLE_SIZE, ell=10, keep_playbook=True)


@dataclass(frozen=True)
class _CellMaker:
    """Makes the cells of one instance, with the paper's usual parameters unless told otherwise."""

    instance: Instance
    map_sha256: str
    time_limit_s: float

    def __call__(
        self,
        method: Method,
        size: int,
        *,
        k: int = 2,
        ell: float = 1,
        radius: float = 0,
        m_ratio: float | None = None,
        keep_playbook: bool = False,
    ) -> Cell:
        # Numbers of one kind each, because 1 and 1.0 would be two keys.
        return Cell(
            instance=replace(self.instance, candidates=self.instance.candidates[:size]),
            map_sha256=self.map_sha256,
            method=method,
            k=k,
            ell=float(ell),
            radius=float(radius),
            m_ratio=None if m_ratio is None else float(m_ratio),
            time_limit_s=float(self.time_limit_s),
            seed=self.instance.seed,
            keep_playbook=keep_playbook,
        )


def _pace(method: Method) -> int:
    slowest = max((_PACE.index(part) for part in (method.planner, method.partitioner) if part in _PACE), default=0)
    return 2 * slowest + (method.heuristic == "blind")
