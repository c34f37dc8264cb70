"""Studies: experiments stated in a TOML file. The paper's are one of them, which comes with the package.

A study has terrain (maps, graphs, street networks, instance files), experiments on it (what is varied, and which
methods), and presets that say how much is run. docs/experiments describes the file.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from veilroute.base.checks import check_whole, is_number, is_whole
from veilroute.base.errors import InvalidInputError, UnknownMethodError, VeilrouteError, blame_file
from veilroute.base.io import parse_json, read_bytes
from veilroute.bench.cells import Instance, Method
from veilroute.bench.dataset import MAX_SIZE, grown_candidates
from veilroute.bench.design import TIME_LIMITS_S, Suite, Variation, paper_file, read_toml
from veilroute.bench.suites import MAX_PAIRS, Terrain, check_keys, find_terrain, read_method, read_suites, read_text
from veilroute.domain import Domain, draw_candidates, generate_rooms, generate_streets
from veilroute.domain.graph import plain_label
from veilroute.domain.visibility import AtNode, WithinDistance
from veilroute.formats.instance import Instance as InstanceFile
from veilroute.formats.instance import read_domain, read_instance
from veilroute.formats.network_file import is_network_data
from veilroute.model.problem import Problem, Trip

FORMAT = "veilroute-study/1"
_FOLDER = "studies"
_KEYS = ("format", "title", "about", "time_limit_s", "pairs", "preset", "terrain", "experiment")
_PRESET_KEYS = ("pairs", "time_limit_s", "most_candidates", "most_nodes")
_TERRAIN_KINDS = ("maps", "file", "rooms", "streets")
_TERRAIN_KEYS = ("name", "start", "goal", "candidates", "seed")  # not for maps
_SMALLEST = {"rooms": 12, "streets": 3}  # on a side
_MOST_CELLS = {"rooms": 2 * 10**7, "streets": 10**6}
_MOST_TRIES = 100
_USUAL_CANDIDATES = 16
_PAIRS = f"an integer from 1 to {MAX_PAIRS}"


@dataclass(frozen=True)
class Preset:
    """How much of a study is run."""

    pairs: int = 1  #: of start and goal, where these are drawn or listed
    time_limit_s: float = 60.0  #: of each cell
    most_candidates: int | None = None  #: experiments leave larger numbers out
    most_nodes: int | None = None  #: maps beyond it are left out


@dataclass(frozen=True)
class Study:
    """What a study's file says."""

    name: str
    title: str
    about: str
    presets: Mapping[str, Preset]  #: The first is what is usual.
    suites: tuple[Suite, ...]
    terrain: tuple[Mapping[str, Any], ...]
    folder: Path  #: Where the files are that it names.
    is_paper: bool = False  #: Whether it is the paper's, which comes with the package.

    def preset(self, name: str | None) -> tuple[str, Preset]:
        """A preset by name, or the usual one."""
        name = next(iter(self.presets)) if name is None else name
        if name not in self.presets:
            raise UnknownMethodError("--preset", name, tuple(self.presets))
        return name, self.presets[name]

    def within(self, preset: Preset) -> tuple[Suite, ...]:
        """The suites with no more candidates than a preset allows."""
        most = preset.most_candidates
        if most is None:
            return self.suites
        parts = (replace(suite, variations=tuple(_smaller(suite.variations, most))) for suite in self.suites)
        shown = tuple(suite for suite in parts if suite.variations)
        if not shown:
            least = min(size for suite in self.suites for variation in suite.variations for size in variation.sizes)
            raise InvalidInputError("most_candidates", f"at least {least}, the fewest of any experiment", most)
        return shown

    def find_terrain(self, preset: Preset, *, map_names: Sequence[str] = (), directory: Path | None = None) -> Terrain:
        """The maps with their instances; with ``map_names`` only these."""
        check_whole("--pairs", preset.pairs, _PAIRS, least=1, most=MAX_PAIRS)
        most = max(max(variation.sizes) for suite in self.suites for variation in suite.variations)
        most = min(most, preset.most_candidates or most)
        parts: list[Terrain] = []
        for number, spec in enumerate(self.terrain):
            if "maps" in spec:
                named = map_names or (() if spec["maps"] == "paper" else tuple(spec["maps"]))
                found = find_terrain(num_pairs=preset.pairs, map_names=named, directory=directory)
                parts.append(_grown(found, min(most, spec.get("candidates", 0))))
            elif (own := _own_terrain(spec, f"terrain[{number}]", self.folder, preset, most)) is not None:
                parts.append(own)
        domains = {name: domain for part in parts for name, domain in part.domains.items()}
        if len(domains) < sum(len(part.domains) for part in parts):
            raise InvalidInputError("terrain.name", "another name for each map")
        if any("maps" not in spec for spec in self.terrain):
            for name in map_names:
                if name not in domains:
                    raise UnknownMethodError("--map", name, tuple(domains))
            domains = {name: domain for name, domain in domains.items() if not map_names or name in map_names}
        most_nodes = math.inf if preset.most_nodes is None else preset.most_nodes
        large = [name for name, domain in domains.items() if domain.num_nodes > most_nodes]
        domains = {name: domain for name, domain in domains.items() if name not in large}
        if not domains:
            raise InvalidInputError("terrain", f"a map of at most {most_nodes} nodes, the preset's most_nodes")
        instances = [instance for part in parts for instance in part.instances if instance.map_name in domains]
        instances.sort(key=lambda instance: instance.seed)  # stable: pair by pair, and for each pair map by map
        remark = "; ".join(dict.fromkeys(part.remark for part in parts if not domains.keys().isdisjoint(part.domains)))
        remark += f"; left out, beyond most_nodes: {', '.join(large)}" if large else ""
        generated = frozenset(name for part in parts if part.is_generated for name in part.domains)
        return Terrain(domains, tuple(instances), bool(generated), remark, generated)


def shipped_studies() -> tuple[str, ...]:
    """The names of the studies in the package."""
    folder = resources.files("veilroute.bench").joinpath(_FOLDER)
    return tuple(sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")))


def read_study(source: str | Path) -> Study:
    """Read a study: of the package by its name, such as ``paper``, whatever files there are, or else in a file."""
    if source == "paper":
        return replace(_study(paper_file(), "paper", Path()), is_paper=True)
    if source in shipped_studies():
        return _study(paper_file(str(source)), str(source), Path())
    path = Path(source)
    if not path.is_file():
        raise InvalidInputError("STUDY", f"a .toml file, or one of {', '.join(shipped_studies())}", str(source))
    return _study(read_toml(read_bytes(path), path), path.stem, path.parent)


def _study(data: Mapping[str, Any], name: str, folder: Path) -> Study:
    if data.get("format") != FORMAT:
        raise InvalidInputError("format", f'"{FORMAT}"', data.get("format"))
    check_keys(data, _KEYS, "")
    usual = _preset({key: value for key, value in data.items() if key in _PRESET_KEYS}, Preset(), "")
    stated = data.get("preset", {})
    if not isinstance(stated, Mapping):
        raise InvalidInputError("preset", "tables, as [preset.quick]", stated)
    presets = {each: _preset(own, usual, f"preset.{each}.") for each, own in stated.items()} or {"usual": usual}
    terrain = data.get("terrain", [{"maps": "paper"}])
    if not isinstance(terrain, list) or not terrain:
        raise InvalidInputError("terrain", "at least one [[terrain]], or none at all for the paper's maps", terrain)
    for number, spec in enumerate(terrain):
        _check_terrain(spec, f"terrain[{number}]")
    experiments = data.get("experiment")
    if not isinstance(experiments, list) or not experiments:
        raise InvalidInputError("experiment", "at least one [[experiment]]")
    title = read_text(data, "title", name)
    return Study(
        name,
        title,
        read_text(data, "about", ""),
        presets,
        tuple(read_suites(experiments, _read_method)),
        tuple(terrain),
        folder,
    )


def _check_terrain(spec: Mapping[str, Any], where: str) -> None:
    """Refuse a terrain that says something else than what there is for its kind."""
    check_keys(spec, (*_TERRAIN_KINDS, *_TERRAIN_KEYS), f"{where}.")
    if sum(kind in spec for kind in _TERRAIN_KINDS) != 1:
        raise InvalidInputError(where, "one of maps, file, rooms and streets", ", ".join(spec))
    if "maps" in spec:
        maps = spec["maps"]
        for key in spec:
            if key not in ("maps", "candidates"):
                expected = "nothing beside maps but candidates, because their starts and goals are as they are"
                raise InvalidInputError(f"{where}.{key}", expected, key)
        expected = f"an integer from 2 to {MAX_SIZE}: how many candidates an instance has, with drawn ones"
        check_whole(f"{where}.candidates", spec.get("candidates", 2), expected, least=2, most=MAX_SIZE)
        if maps != "paper" and not (isinstance(maps, list) and maps and all(isinstance(each, str) for each in maps)):
            raise InvalidInputError(f"{where}.maps", 'a list of names, or "paper"', maps)
    for name in ("file", "name"):
        if not read_text(spec, name, "usual"):
            raise InvalidInputError(f"{where}.{name}", "text that is not empty")


def _read_method(text: str) -> Method:
    try:
        return read_method(text, may_be_built_in=True)
    except UnknownMethodError as error:
        expected = f"PLANNER, or PLANNER/PARTITIONER as pbp/naive ({error})"
        raise InvalidInputError(f"methods, {text}", expected) from None


def _preset(data: Mapping[str, Any], usual: Preset, where: str) -> Preset:
    check_keys(data, _PRESET_KEYS, where)
    limit = data.get("time_limit_s", usual.time_limit_s)
    if not is_number(limit, *TIME_LIMITS_S):
        raise InvalidInputError(f"{where}time_limit_s", "a number of seconds > 0, at most 1e9", limit)
    whole = {
        name: check_whole(f"{where}{name}", data[name], "an integer >= 1", least=1)
        for name in ("most_candidates", "most_nodes")
        if name in data
    }
    if "pairs" in data:
        whole["pairs"] = check_whole(f"{where}pairs", data["pairs"], _PAIRS, least=1, most=MAX_PAIRS)
    return replace(usual, time_limit_s=float(limit), **whole)


def _smaller(variations: Sequence[Variation], most: int) -> Iterator[Variation]:
    for variation in variations:
        if sizes := tuple(size for size in variation.sizes if size <= most):
            yield replace(variation, sizes=sizes)


def _grown(terrain: Terrain, num: int) -> Terrain:
    """The instances with up to ``num`` candidates: those of the data set, which go on from the paper's 16."""

    def grow(at: Instance) -> Instance:
        more = grown_candidates(terrain.domains[at.map_name], at, max(num, len(at.candidates)))
        return replace(at, candidates=tuple(more))

    return replace(terrain, instances=tuple(map(grow, terrain.instances)))


def _own_terrain(spec: Mapping[str, Any], where: str, folder: Path, preset: Preset, most: int) -> Terrain | None:
    """One map with instances, from a file or generated; ``None`` for one that is larger than the preset allows."""
    seed = check_whole(f"{where}.seed", spec.get("seed", 1), _PAIRS, least=1, most=MAX_PAIRS)
    kind = next(kind for kind in ("file", "rooms", "streets") if kind in spec)
    stated: InstanceFile | None = None
    if kind == "file":
        path = folder / spec["file"]
        stated, domain = _read_file(path)
        name = read_text(spec, "name", path.name.partition(".")[0])
    else:
        size, least, most_cells = spec[kind], _SMALLEST[kind], _MOST_CELLS[kind]
        is_size = isinstance(size, list) and len(size) == 2 and all(is_whole(each, least) for each in size)
        if not is_size or size[0] * size[1] > most_cells:
            expected = f"two integers >= {least} with a product of at most {most_cells}, as [40, 72]"
            raise InvalidInputError(f"{where}.{kind}", expected, size)
        if preset.most_nodes is not None and size[0] * size[1] > preset.most_nodes:
            return None
        make = generate_rooms if kind == "rooms" else generate_streets
        domain, name = make(*size, seed=seed), read_text(spec, "name", f"{kind}-{size[0]}x{size[1]}")
    instances = tuple(_instances(spec, where, name, domain, stated, seed, preset.pairs, most))
    return Terrain({name: domain}, instances, kind != "file", f"running on {name}, {domain.num_nodes} nodes")


def _read_file(path: Path) -> tuple[InstanceFile | None, Domain]:
    """What a file has: an instance, or only a map."""
    suffix = path.suffix.lower()
    is_instance = suffix == ".in" or (suffix == ".json" and not is_network_data(parse_json(read_bytes(path), path)))
    if not is_instance:
        return None, read_domain(path)
    stated = read_instance(path)
    if len(stated.problem.trips) != 1:
        raise InvalidInputError(path.name, "an instance with one trip", len(stated.problem.trips))
    if not isinstance(stated.problem.visibility, AtNode | WithinDistance):
        raise InvalidInputError(path.name, "candidates that are seen from nearby; radius in the study says how near")
    if stated.problem.objective != "mac":
        expected = 'the objective "mac", because the tables of a study compare MACs; take "objective" out of a copy'
        raise InvalidInputError(path.name, expected, stated.problem.objective)
    return stated, stated.problem.domain


def _instances(
    spec: Mapping[str, Any], where: str, name: str, domain: Domain, stated: InstanceFile | None, seed: int, pairs: int,
    most: int,
) -> Iterator[Instance]:  # fmt: skip
    """The instance of the file, or that of the study, or drawn ones."""
    trip = None if stated is None else stated.problem.trips[0]
    ends = [spec.get("start", trip and trip.start), spec.get("goal", trip and trip.goal)]
    prior = None if stated is None else stated.problem.prior
    if prior is not None and "candidates" in spec:
        expected = "no candidates beside a file with a prior, which has a weight for each of its own"
        raise InvalidInputError(f"{where}.candidates", expected)
    candidates = spec.get("candidates", None if stated is None else list(stated.problem.candidates))
    if (ends[0] is None) != (ends[1] is None):
        raise InvalidInputError(where, "start and goal, or neither")
    if isinstance(candidates, list):
        if ends[0] is None:
            raise InvalidInputError(f"{where}.start", "start and goal for the candidates listed")
        yield replace(_instance(where, name, domain, ends, candidates), prior=None if prior is None else tuple(prior))
        return
    if domain.num_nodes < 4:
        raise InvalidInputError(where, "a map with at least 4 nodes", domain.num_nodes)
    if candidates is not None:
        expected = f"an integer from 2 to {domain.num_nodes - 2}, or a list of places"
        check_whole(f"{where}.candidates", candidates, expected, least=2, most=domain.num_nodes - 2)
    num = min(max(most, _USUAL_CANDIDATES), domain.num_nodes - 2) if candidates is None else candidates
    if ends[0] is not None:
        with blame_file(where):
            start, goal = (plain_label(end) for end in ends)
            places = draw_candidates(domain, start, goal, num, seed=seed)
        yield _instance(where, name, domain, ends, places)
        return
    for number in range(1, pairs + 1):
        rng = random.Random(f"veilroute-study-{name}-{seed}-{number}")
        for _ in range(_MOST_TRIES):
            start, goal = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 2))
            try:
                places = draw_candidates(domain, start, goal, num, seed=seed + number)
            except VeilrouteError:  # one-way streets may leave too few places in between
                continue
            yield Instance(name, number, start, goal, tuple(places))
            break
        else:
            raise InvalidInputError(where, f"a map with {num} nodes between some start and goal", domain.num_nodes)


def _instance(where: str, name: str, domain: Domain, ends: Sequence[Any], candidates: Sequence[Any]) -> Instance:
    """The instance of stated places, after a look at whether the map has them."""
    with blame_file(where):
        problem = Problem(domain, [Trip(*ends)], candidates)
    (trip,) = problem.trips
    return Instance(name, 1, trip.start, trip.goal, tuple(problem.candidates))
