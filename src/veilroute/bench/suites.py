"""From the name of a suite to its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from veilroute.bench.cells import Cell, Instance, Method
from veilroute.bench.design import (
    BOUNDED,
    BOUNDED_KS,
    BOUNDED_SIZE,
    CONVERGING,
    EXAMPLE_METHOD,
    EXAMPLE_SIZE,
    KLR_ELLS,
    KLR_KS,
    KLR_METHODS,
    KLR_RADII,
    KLR_SIZE,
    M_RATIOS,
    PARTITIONING,
    SIZES,
    SUITES,
)
from veilroute.bench.instances import MAX_CANDIDATES, Terrain
from veilroute.errors import InvalidInputError, UnknownMethodError

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
