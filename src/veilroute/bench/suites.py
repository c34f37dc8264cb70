"""The suites by name, the maps and instances that they run on, and from both the cells to run.

The instances are the paper's on its maps, or seeded ones on generated maps.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from veilroute.base.checks import check_whole, is_number
from veilroute.base.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.base.io import read_bytes
from veilroute.base.registry import read_option
from veilroute.bench import design
from veilroute.bench.cells import EXTERNAL, Cell, Instance, Method, method_from_name
from veilroute.bench.design import EXPERIMENT_KEYS, SETTING_FIELDS, Picture, Selection, Suite, Variation
from veilroute.bench.paper import MAPS, SIZES, cell_instance, map_fingerprints, method_label, read_paper_instances
from veilroute.bench.printed import PRINTED_SUITE
from veilroute.bench.table import listed
from veilroute.bench.tables import LAYOUT_KEYS, Layout, build_details, build_findings, build_tables, read_layout
from veilroute.domain import Domain, draw_candidates, generate_rooms
from veilroute.formats.movingai import parse_movingai, read_movingai
from veilroute.maps import MapStore, hash_text

#: Suites with tables that no layout has, as which an experiment may be shown.
_OWN_TABLES = {PRINTED_SUITE.name: PRINTED_SUITE}
_TOLD = ("title", "about", "where", "found", "shown_as", *LAYOUT_KEYS)  # of all experiments that have one name
_ALIKE = ("watched", "keep_playbook")  # in all of them
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,59}")


def read_suites(
    experiments: Sequence[Mapping[str, Any]], read: Callable[[str], Method] = method_from_name
) -> Iterator[Suite]:
    """The experiments of a study's file; several with one name are one suite."""
    named: dict[str, list[Mapping[str, Any]]] = {}
    for number, data in enumerate(experiments):
        check_keys(data, ("name", *_TOLD, *EXPERIMENT_KEYS), f"experiment[{number}].")
        name = data.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            expected = "lower case letters, digits and hyphens, at most 60"
            raise InvalidInputError(f"experiment[{number}].name", expected, name)
        named.setdefault(name, []).append(data)
    for name, (first, *others) in named.items():
        for part, key in product(others, (*_TOLD, *_ALIKE)):
            told, first_told = (each.get(key, False if key in _ALIKE else first.get(key)) for each in (part, first))
            if told != first_told:
                raise InvalidInputError(f"{name}.{key}", "the same in all experiments of one name", told)
        variations = tuple(
            design.read_variation({key: value for key, value in part.items() if key in EXPERIMENT_KEYS}, name, read)
            for part in (first, *others)
        )
        methods = tuple(dict.fromkeys(method for each in variations for method in each.methods))
        title, about, where, found = (
            read_text(first, key, name if key == "title" else "", name) for key in ("title", "about", "where", "found")
        )
        layout = read_layout(first, name, title, methods)
        shown_as = first.get("shown_as")
        if shown_as is None:
            yield Suite(
                name, title, where, about, found, variations, partial(build_tables, layout),
                partial(build_findings, layout), partial(_draw, layout), partial(build_details, layout),
            )  # fmt: skip
        elif isinstance(shown_as, str) and shown_as in _OWN_TABLES:
            if stated := [key for key in LAYOUT_KEYS if key in first]:
                raise InvalidInputError(
                    f"{name}.{stated[0]}", f"none beside shown_as, because {shown_as} has its own tables"
                )
            yield replace(_OWN_TABLES[shown_as], name=name, variations=variations)
        else:
            expected = f"{listed(_OWN_TABLES)}; other tables are stated by columns, across and rows"
            raise InvalidInputError(f"{name}.shown_as", expected, shown_as)


def _draw(layout: Layout, chosen: Selection, folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
    # Here, because it imports matplotlib, which takes its time and is not needed for tables.
    from veilroute.bench.charts import draw_pictures

    return draw_pictures(layout, chosen, folder, domains)


def check_keys(data: Any, known: Sequence[str], where: str) -> None:
    """Refuse what is no table of a study's file, or has other keys."""
    if not isinstance(data, Mapping):
        raise InvalidInputError(where.rstrip("."), "a table", data)
    for key in data:
        if key not in known:
            raise InvalidInputError(f"{where}{key}", f"one of {', '.join(known)}", key)


def read_text(data: Mapping[str, Any], key: str, usual: str, where: str = "") -> str:
    """Text in a study's file."""
    value = data.get(key, usual)
    if not isinstance(value, str):
        raise InvalidInputError(f"{where}.{key}" if where else key, "text", value)
    return value


#: By name, in the order of a report; ``all`` means all of them but ``as-printed``, which is a study of its own.
SUITES: Mapping[str, Suite] = {
    suite.name: suite for suite in (*read_suites(design.paper_file()["experiment"]), PRINTED_SUITE)
}
#: Suites that vary the number of candidates; the others have one.
SIZED_SUITES = tuple(name for name, suite in SUITES.items() if any(each.is_sized for each in suite.variations))

# From quick to slow, where they differ by much.
_PACE = ("optimal", "naive", "rbp", "cbp", "m-pbp", "merge-bb", "df-bb")

MAX_CANDIDATES = max(SIZES)  #: how many candidates each instance has; an experiment takes the first so many
MAX_PAIRS = 1000  #: the most pairs of start and goal on a generated map
DRAW_STEP = 10**6  #: from the seed of one draw to that of the next, beyond all numbers of pairs

_GENERATED_SIZES = ((40, 72), (36, 36), (150, 132), (150, 150), (136, 80), (44, 48))
#: Names and sizes (height, width) of the maps that stand in for the paper's six; the largest two are smaller.
GENERATED = {f"rooms-{number}": size for number, size in enumerate(_GENERATED_SIZES, start=1)}


@dataclass(frozen=True)
class Choice:
    """What of a suite is run."""

    time_limit_s: float
    #: Numbers of candidates for the suites that vary them, the paper's when empty.
    sizes: tuple[int, ...] = ()
    #: Names of methods, all when empty; one that names a plug-in joins those of the suite.
    methods: tuple[str, ...] = ()
    draws: int = 1  #: How often methods draw that draw at random, at least.
    externals: tuple[tuple[str, str], ...] = ()  #: Names and commands of external programs to run beside the methods.

    def __post_init__(self) -> None:
        if not is_number(self.time_limit_s) or not 0 < self.time_limit_s < math.inf:
            raise InvalidInputError("--time-limit", "a number of seconds > 0", self.time_limit_s)
        design.check_draws("--draws", self.draws)


@dataclass(frozen=True, eq=False)
class Terrain:
    """Maps by name, in the order of the experiments, and the instances on them with all their candidates."""

    domains: Mapping[str, Domain]
    instances: tuple[Instance, ...]  #: Pair by pair, and for each pair map by map.
    is_generated: bool
    remark: str  #: Says in one line which maps these are.
    generated: frozenset[str] = frozenset()  #: Which maps are generated, if not all are alike in this.

    def kind_of(self, map_name: str) -> str:
        """The kind of a map, so that tables average over no two kinds; empty for a grid that is not generated."""
        domain = self.domains[map_name]
        is_generated = self.is_generated and (not self.generated or map_name in self.generated)
        if domain.streets is not None:
            return f"streets in {domain.streets.unit}"
        if domain.grid is None:
            return "streets in metres" if is_generated else "graph"
        return "rooms" if is_generated else ""


def suite_names(name: str) -> tuple[str, ...]:
    """The suites that a name means: itself, or for ``all`` and ``paper`` all of the paper's study."""
    if name in SUITES:
        return (name,)
    if name not in ("all", "paper"):
        raise UnknownMethodError("SUITE", name, (*SUITES, "all", "paper"))
    return tuple(each for each in SUITES if each != PRINTED_SUITE.name)


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise UnknownMethodError("suite", name, tuple(SUITES))
    return SUITES[name]


def build_cells(names: Sequence[str | Suite], terrain: Terrain, choice: Choice) -> list[Cell]:
    """All cells of some suites, by name or as they are, each once, in the order in which they should be run.

    Pairs come one after the other, and maps in turns, so that a run that is stopped half way has all methods on some
    instances; the cells of one instance begin with the quick ones.
    """
    suites = [find_suite(each) if isinstance(each, str) else each for each in names]
    if choice.sizes and not any(variation.is_sized for suite in suites for variation in suite.variations):
        expected = f"one of the suites that vary it ({', '.join(SIZED_SUITES)}), or all"
        raise InvalidInputError("--candidates", expected, ", ".join(suite.name for suite in suites))
    most = max(len(instance.candidates) for instance in terrain.instances)
    for size in choice.sizes:
        check_whole("--candidates", size, f"numbers from 2 to {most}", least=2, most=most)
    chosen = {cell.key: cell for own in _cells_by_suite(suites, terrain, choice) for cell in own}.values()
    if not chosen:
        raise InvalidInputError("--method", "a method that takes part; plug-ins do not in these experiments")
    turns = {(instance.map_name, instance.seed): i for i, instance in enumerate(terrain.instances)}

    def turn(cell: Cell) -> tuple[int, int, int, bool]:
        method, instance = cell.method, cell.instance
        pace = max((_PACE.index(part) for part in (method.planner, method.partitioner) if part in _PACE), default=0)
        return turns[instance.map_name, instance.seed], cell.num_candidates, pace, method.heuristic == "blind"

    return sorted(chosen, key=turn)  # stable: what is alike here stays in the order of the design


def showing_own(suites: Sequence[Suite], terrain: Terrain, choice: Choice) -> tuple[Suite, ...]:
    """The suites of a study of one's own: each shows records of the cells that it runs itself, and of no others."""

    def taking(cells: Iterable[Cell]) -> Callable[[Cell], bool]:
        keys = {cell.key for cell in cells}
        return lambda cell: cell.key in keys

    parts = _cells_by_suite(suites, terrain, choice)
    return tuple(replace(suite, takes=taking(own)) for suite, own in zip(suites, parts, strict=True))


def left_out(suites: Iterable[Suite], terrain: Terrain, choice: Choice) -> Iterator[str]:
    """A sentence for each number of candidates that some of a suite's instances are too small for."""
    for suite in suites:
        small: dict[int, dict[str, int]] = {}
        for variation in suite.variations:
            for size, instance in product(_sizes_of(variation, choice), _instances_of(variation, terrain)):
                if size > (num := len(instance.candidates)):
                    small.setdefault(size, {})[instance.map_name] = num
        for size, maps in sorted(small.items()):
            where = listed(f"{name} ({num})" for name, num in maps.items())
            yield f"{suite.name}: {size} candidates are left out where there are fewer, on {where}"


def _cells_by_suite(suites: Sequence[Suite], terrain: Terrain, choice: Choice) -> list[list[Cell]]:
    """The cells of each suite."""
    known = tuple(
        dict.fromkeys(m.name for suite in suites for variation in suite.variations for m in variation.methods)
    )
    plugins = tuple(read_method(text, known) for text in choice.methods if text not in known)
    pairs = dict.fromkeys(choice.externals)
    programs = [Method(EXTERNAL, extra=(("command", command), ("name", name))) for name, command in pairs]
    own = {method for suite in suites for variation in suite.variations for method in variation.methods}
    labels = [method_label(method) for method in (*programs, *plugins, *own)]
    if twice := next((name for name, _ in pairs if labels.count(name) > 1), None):
        expected = "NAME=COMMAND, with a name that no other program or method has, so that tables tell them apart"
        raise InvalidInputError("--external", expected, twice)
    plugins += (*programs,)
    wanted = choice.methods or known
    parts = []
    for suite in suites:
        for variation in suite.variations:
            most = max(len(instance.candidates) for instance in _instances_of(variation, terrain))
            expected = f"at most {most}, which is what the largest instance has"
            check_whole(f"{suite.name}.candidates", min(_sizes_of(variation, choice)), expected, most=most)
        joined = [replace(each, methods=plugins) for each in suite.variations if each.is_for_all]
        cells = (cell for each in (*suite.variations, *joined) for cell in _cells_of(each, terrain, choice))
        parts.append([each for each in cells if each.method.name in wanted or each.method in plugins])
    return parts


def read_method(text: str, known: tuple[str, ...] = (), *, may_be_built_in: bool = False) -> Method:
    """A method that names a plug-in, as ``pbp/PARTITIONER/NAME=VALUE``, after checking that it is there and takes the
    options; with ``known``, the names of other methods, for the message when it is no such method."""
    # Here, because they load kernels, and the methods of the suites need no look at them.
    from veilroute.partition import PARTITIONERS
    from veilroute.planners import PLANNERS, find_planner

    form = "PLANNER or PLANNER/PARTITIONER, and no more than these take"
    unknown = UnknownMethodError("--method", text, known) if known else InvalidInputError("methods", form, text)
    planner, *words = text.split("/")
    parts = [word for word in words if "=" not in word]
    options = dict(map(read_option, (word for word in words if "=" in word)))
    try:
        taken = PLANNERS.find(planner).options
        if parts and "partitioner" in taken:
            taken = ("partitioner", *PARTITIONERS.find(parts[0]).options)
        slots = [slot for slot in ("partitioner", "merge_order", "heuristic") if slot in taken]
        named = dict(zip(slots, parts, strict=False))
        named |= {slot: str(options.pop(slot)) for slot in slots if slot in options}
        method = Method(planner, **named, extra=tuple(sorted(options.items())))
        for table, part in method.entries():
            table.find(part)
    except UnknownMethodError as error:  # which says what planners, partitioners and so on there are
        raise (unknown if known else error) from None
    if len(parts) > len(slots) or not (method.is_plugin or may_be_built_in):
        raise unknown
    find_planner(planner, method.options)
    return method


def _sizes_of(variation: Variation, choice: Choice) -> tuple[int, ...]:
    return (variation.is_sized and tuple(sorted(set(choice.sizes)))) or variation.sizes


def _instances_of(variation: Variation, terrain: Terrain) -> tuple[Instance, ...]:
    num_instances = {"all": len(terrain.instances), "first of each map": len(terrain.domains), "first": 1}
    return terrain.instances[: num_instances[variation.instances]]


def _cells_of(variation: Variation, terrain: Terrain, choice: Choice) -> Iterator[Cell]:
    settings = [
        dict(zip(SETTING_FIELDS, values, strict=True))
        for values in product(*(getattr(variation, own) for own in SETTING_FIELDS.values()))
    ]
    limits, draws = variation.limits_s or (choice.time_limit_s,), range(max(variation.draws, choice.draws))
    for instance in _instances_of(variation, terrain):
        sha256, kind = terrain.domains[instance.map_name].sha256, terrain.kind_of(instance.map_name)
        choices = product(_sizes_of(variation, choice), variation.methods, settings, limits, draws)
        for size, method, setting, limit, draw in choices:
            if (draw and not method.draws_at_random) or size > len(instance.candidates):
                continue
            cell = Cell(
                instance=replace(instance.first(size), kind=kind),
                map_sha256=sha256,
                method=method,
                time_limit_s=float(limit),  # a number of one kind, because 1 and 1.0 would be two keys
                seed=instance.seed + DRAW_STEP * draw,
                keep_playbook=variation.keep_playbook,
                is_watched=variation.is_watched,
                draw=draw,
                **setting,
            )
            if not method.command or cell.fits_programs:
                yield cell


def find_terrain(*, num_pairs: int, map_names: Sequence[str] = (), directory: Path | None = None) -> Terrain:
    """Find the paper's maps, or generate others where there is none of them.

    Without ``map_names`` all six maps are taken; names of generated maps ask for these. Maps are looked for at all
    levels below the directory, or in the user's cache. Real and generated maps are never mixed, and none is left out.
    """
    check_whole("--pairs", num_pairs, f"an integer from 1 to {MAX_PAIRS}", least=1, most=MAX_PAIRS)
    names = _checked_names(map_names)
    if names[0] in GENERATED:
        if directory is not None:
            expected = "maps of the paper with --maps; generated ones need no directory"
            raise InvalidInputError("--map", expected, names[0])
        return _generated_terrain(names, num_pairs, "running on generated maps")
    if directory is not None:
        return _paper_terrain(_search_directory(directory, names), num_pairs)
    store = MapStore()
    stored = {entry.name for entry in store.list_maps()}
    here = [name for name in names if f"{name}.map" in stored]
    if not here and not map_names:
        remark = "the paper's maps are not here; running on generated maps ('veilroute maps get dao' fetches them)"
        return _generated_terrain(tuple(GENERATED), num_pairs, remark)
    if len(here) < len(names):
        absent = ", ".join(name for name in names if name not in here)
        advice = "run 'veilroute maps get dao'" + (f", or choose with --map {here[0]}" if here else "")
        raise InvalidInputError("--map", f"{absent} in the cache; {advice}")
    return _paper_terrain({name: read_movingai(store.find(name)) for name in names}, num_pairs)


def _checked_names(map_names: Sequence[str]) -> tuple[str, ...]:
    for known in (MAPS, tuple(GENERATED)):
        if all(name in known for name in map_names):
            return tuple(name for name in known if name in map_names) or known
    for name in map_names:
        if name not in (*MAPS, *GENERATED):
            raise InvalidInputError("--map", "one of " + ", ".join((*MAPS, *GENERATED)), name)
    raise InvalidInputError("--map", "maps of the paper or generated ones, not both", ", ".join(map_names))


def _search_directory(directory: Path, names: Iterable[str]) -> dict[str, Domain]:
    """The maps below a directory; of several files with one name, the first that is what the paper used."""
    if not directory.is_dir():
        raise InvalidInputError("--maps", "a directory with the paper's maps", str(directory))
    pinned = MapStore().catalogue.pinned
    found = {name: sorted(path for path in directory.rglob(f"{name}.map") if path.is_file()) for name in names}
    if absent := [name for name, paths in found.items() if not paths]:
        raise InvalidInputError("--maps", f"a directory that also holds {', '.join(absent)} (.map)", str(directory))
    domains = {}
    for name, paths in found.items():
        expected = pinned.get(f"{name}.map")
        for path in paths:
            data = read_bytes(path)
            if expected in (None, hash_text(data)):
                domains[name] = parse_movingai(data.decode("ascii", "replace").replace("\r\n", "\n"), source=path)
                break
        else:
            raise FileFormatError(paths[0], "not the map that the paper used (SHA-256 of its text differs)")
    return domains


def _paper_terrain(domains: Mapping[str, Domain], num_pairs: int) -> Terrain:
    stored = read_paper_instances()
    most = max(instance.seed for instance in stored)
    if num_pairs > most:
        raise InvalidInputError("--pairs", f"at most {most}, the paper's pairs on each map", num_pairs)
    by_pair = {(instance.seed, instance.map_name): instance for instance in stored}
    chosen = tuple(by_pair[seed, name] for seed in range(1, num_pairs + 1) for name in domains)
    return Terrain(domains, chosen, is_generated=False, remark=f"running on the paper's maps: {', '.join(domains)}")


def known_instances(map_name: str, num_pairs: int) -> tuple[str, tuple[Instance, ...]]:
    """The fingerprint of one of the paper's maps or of the generated ones, and the instances on it, without the map."""
    if map_name in GENERATED:
        terrain = find_terrain(num_pairs=num_pairs, map_names=[map_name])
        return terrain.domains[map_name].sha256, terrain.instances
    own = (instance for instance in read_paper_instances() if instance.map_name == map_name)
    return map_fingerprints()[map_name], tuple(own)


def _generated_terrain(names: Sequence[str], num_pairs: int, remark: str) -> Terrain:
    seeds = {name: seed for seed, name in enumerate(GENERATED, start=1)}
    domains = {name: generate_rooms(*GENERATED[name], seed=seeds[name]) for name in names}
    chosen = []
    for seed, (name, domain) in product(range(1, num_pairs + 1), domains.items()):
        # Every free cell of a generated map can reach every other, so that any two will do.
        rng = random.Random(f"veilroute-bench-{name}-{seed}")
        start, goal = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 2))
        drawn = draw_candidates(domain, start, goal, MAX_CANDIDATES, seed=seed)
        chosen.append(cell_instance(name, seed, start, goal, drawn))
    return Terrain(domains, tuple(chosen), is_generated=True, remark=f"{remark}: {', '.join(names)}")
