"""Studies: experiments stated in a TOML file. The paper's are one of them, which comes with the package.

A study has terrain (maps, graphs, street networks, instance files), experiments on it (what is varied, and which
methods), and presets that say how much is run. docs/experiments describes the file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from veilroute.bench.cells import Instance, Method
from veilroute.bench.comparing import build_findings, build_tables, draw_pictures
from veilroute.bench.design import EXPERIMENT_KEYS, Suite, Variation, paper_file, read_toml, read_variation
from veilroute.bench.suites import MAX_PAIRS, SUITES, Terrain, find_terrain, read_method
from veilroute.checks import check_whole, is_number
from veilroute.domain import Domain, draw_candidates, generate_rooms, generate_streets
from veilroute.domain.graph import Label, plain_label
from veilroute.domain.visibility import AtNode, WithinDistance
from veilroute.errors import InvalidInputError, UnknownMethodError, VeilrouteError
from veilroute.formats.instance import Instance as InstanceFile
from veilroute.formats.instance import read_domain, read_instance
from veilroute.formats.network_file import is_network_data
from veilroute.jsontext import parse_json, read_bytes

FORMAT = "veilroute-study/1"
_FOLDER = "studies"
_KEYS = ("format", "title", "about", "time_limit_s", "pairs", "preset", "terrain", "experiment")
_PRESET_KEYS = ("pairs", "time_limit_s", "most_candidates", "most_nodes")
_TERRAIN_KEYS = ("maps", "file", "rooms", "streets", "name", "start", "goal", "candidates", "seed")
_MOST_TRIES = 100
_USUAL_CANDIDATES = 16


@dataclass(frozen=True)
class Preset:
    """How much of a study is run."""

    pairs: int = 1  #: of start and goal, where these are drawn or listed
    time_limit_s: float = 60.0  #: of each cell
    most_candidates: int | None = None  #: experiments leave larger numbers out
    most_nodes: int | None = None  #: generated maps beyond it are left out


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
        return tuple(suite for suite in parts if suite.variations)

    def find_terrain(self, preset: Preset, *, map_names: Sequence[str] = (), directory: Path | None = None) -> Terrain:
        """The maps with their instances; with ``map_names`` only these."""
        most = max(max(variation.sizes) for suite in self.suites for variation in suite.variations)
        most = min(most, preset.most_candidates or most)
        parts: list[Terrain] = []
        for number, spec in enumerate(self.terrain):
            if "maps" in spec:
                named = map_names or (() if spec["maps"] == "paper" else tuple(spec["maps"]))
                parts.append(find_terrain(num_pairs=preset.pairs, map_names=named, directory=directory))
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
        if not domains:
            raise InvalidInputError("terrain", "a map that the preset allows")
        instances = [instance for part in parts for instance in part.instances if instance.map_name in domains]
        instances.sort(key=lambda instance: instance.seed)  # stable: pair by pair, and for each pair map by map
        remark = "; ".join(dict.fromkeys(part.remark for part in parts))
        return Terrain(domains, tuple(instances), any(part.is_generated for part in parts), remark)


def shipped_studies() -> tuple[str, ...]:
    """The names of the studies in the package."""
    folder = resources.files("veilroute.bench").joinpath(_FOLDER)
    return tuple(sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")))


def read_study(source: str | Path) -> Study:
    """Read the study in a file, or one that comes with the package by its name, such as ``paper``."""
    path = Path(source)
    if path.is_file():
        return _study(read_toml(read_bytes(path), path), path.stem, path.parent)
    if str(source) not in shipped_studies():
        raise InvalidInputError("STUDY", f"a .toml file, or one of {', '.join(shipped_studies())}", str(source))
    if str(source) == "paper":
        return _study(paper_file(), "paper", Path())
    data = resources.files("veilroute.bench").joinpath(_FOLDER, f"{source}.toml").read_bytes()
    return _study(read_toml(data, f"{source}.toml"), str(source), Path())


def _study(data: Mapping[str, Any], name: str, folder: Path) -> Study:
    if data.get("format") != FORMAT:
        raise InvalidInputError("format", f'"{FORMAT}"', data.get("format"))
    _check_keys(data, _KEYS, "")
    usual = _preset({key: value for key, value in data.items() if key in _PRESET_KEYS}, Preset(), "")
    stated = data.get("preset", {})
    presets = {each: _preset(own, usual, f"preset.{each}.") for each, own in stated.items()} or {"usual": usual}
    terrain = data.get("terrain", [{"maps": "paper"}])
    for number, spec in enumerate(terrain):
        _check_keys(spec, _TERRAIN_KEYS, f"terrain[{number}].")
        if sum(kind in spec for kind in ("maps", "file", "rooms", "streets")) != 1:
            raise InvalidInputError(f"terrain[{number}]", "one of maps, file, rooms and streets", ", ".join(spec))
    experiments = data.get("experiment")
    if not isinstance(experiments, list) or not experiments:
        raise InvalidInputError("experiment", "at least one [[experiment]]")
    title = _text(data, "title", name)
    return Study(name, title, _text(data, "about", ""), presets, tuple(_suites(experiments)), tuple(terrain), folder)


def _suites(experiments: Sequence[Mapping[str, Any]]) -> Iterator[Suite]:
    """The experiments by name: those that are shown as the paper's tables, and those with tables of their own."""
    named: dict[str, list[Mapping[str, Any]]] = {}
    for number, data in enumerate(experiments):
        _check_keys(data, ("name", "title", "about", "shown_as", *EXPERIMENT_KEYS), f"experiment[{number}].")
        name = data.get("name")
        if not isinstance(name, str) or not name.replace("-", "").isalnum() or name != name.lower():
            raise InvalidInputError(f"experiment[{number}].name", "lower case letters, digits and hyphens", name)
        named.setdefault(name, []).append(data)
    for name, parts in named.items():
        told = ("name", "title", "about", "shown_as")
        variations = tuple(
            read_variation({key: value for key, value in part.items() if key not in told}, name, _read_method)
            for part in parts
        )
        first = parts[0]
        shown_as = first.get("shown_as")
        if shown_as is not None:
            if shown_as not in SUITES:
                raise UnknownMethodError(f"{name}.shown_as", shown_as, tuple(SUITES))
            yield replace(SUITES[shown_as], name=name, variations=variations)
        else:
            yield Suite(
                name, _text(first, "title", name), "", _text(first, "about", ""), "", variations,
                partial(build_tables, name=name), build_findings, partial(draw_pictures, name=name),
            )  # fmt: skip


def _read_method(text: str) -> Method:
    return read_method(text, may_be_built_in=True)


def _preset(data: Mapping[str, Any], usual: Preset, where: str) -> Preset:
    _check_keys(data, _PRESET_KEYS, where)
    limit = data.get("time_limit_s", usual.time_limit_s)
    if not is_number(limit) or not limit > 0:
        raise InvalidInputError(f"{where}time_limit_s", "a number of seconds > 0", limit)
    whole = {
        name: check_whole(f"{where}{name}", data[name], "an integer >= 1", least=1)
        for name in ("pairs", "most_candidates", "most_nodes")
        if name in data
    }
    return replace(usual, time_limit_s=float(limit), **whole)


def _check_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise InvalidInputError(where.rstrip("."), "a table", data)
    for key in data:
        if key not in known:
            raise InvalidInputError(f"{where}{key}", f"one of {', '.join(known)}", key)


def _text(data: Mapping[str, Any], key: str, usual: str) -> str:
    value = data.get(key, usual)
    if not isinstance(value, str):
        raise InvalidInputError(key, "text", value)
    return value


def _smaller(variations: Sequence[Variation], most: int) -> Iterator[Variation]:
    for variation in variations:
        if sizes := tuple(size for size in variation.sizes if size <= most):
            yield replace(variation, sizes=sizes)


def _own_terrain(spec: Mapping[str, Any], where: str, folder: Path, preset: Preset, most: int) -> Terrain | None:
    """One map with instances, from a file or generated; ``None`` for one that is larger than the preset allows."""
    seed = check_whole(f"{where}.seed", spec.get("seed", 1), "an integer >= 1", least=1, most=MAX_PAIRS)
    kind = next(kind for kind in ("file", "rooms", "streets") if kind in spec)
    stated: InstanceFile | None = None
    if kind == "file":
        path = folder / str(spec["file"])
        stated, domain = _read_file(path)
        name = _text(spec, "name", path.name.partition(".")[0])
    else:
        size = spec[kind]
        if not (isinstance(size, list) and len(size) == 2 and all(isinstance(each, int) for each in size)):
            raise InvalidInputError(f"{where}.{kind}", "two numbers, as [40, 72]", size)
        if preset.most_nodes is not None and size[0] * size[1] > preset.most_nodes:
            return None
        make = generate_rooms if kind == "rooms" else generate_streets
        domain, name = make(*size, seed=seed), _text(spec, "name", f"{kind}-{size[0]}x{size[1]}")
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
    return stated, stated.problem.domain


def _instances(
    spec: Mapping[str, Any], where: str, name: str, domain: Domain, stated: InstanceFile | None, seed: int, pairs: int,
    most: int,
) -> Iterator[Instance]:  # fmt: skip
    """The instance of the file, or that of the study, or drawn ones."""
    trip = None if stated is None else stated.problem.trips[0]
    ends = [spec.get("start", trip and trip.start), spec.get("goal", trip and trip.goal)]
    candidates = spec.get("candidates", None if stated is None else list(stated.problem.candidates))
    if (ends[0] is None) != (ends[1] is None):
        raise InvalidInputError(where, "start and goal, or neither")
    listed = [plain_label(each) for each in candidates] if isinstance(candidates, list) else None
    if ends[0] is not None:
        start, goal = (plain_label(end) for end in ends)
        places = listed or _draw(domain, start, goal, candidates, most, seed)
        yield Instance(name, 1, start, goal, tuple(places))
        return
    if listed is not None:
        raise InvalidInputError(f"{where}.start", "start and goal for the candidates listed")
    for number in range(1, pairs + 1):
        rng = random.Random(f"veilroute-study-{name}-{seed}-{number}")
        for _ in range(_MOST_TRIES):
            start, goal = (domain.label(node) for node in rng.sample(range(domain.num_nodes), 2))
            try:
                places = _draw(domain, start, goal, candidates, most, seed + number)
            except VeilrouteError:  # one-way streets may leave too few places in between
                continue
            yield Instance(name, number, start, goal, tuple(places))
            break
        else:
            raise InvalidInputError(where, "a map with enough nodes between some start and goal", domain.num_nodes)


def _draw(domain: Domain, start: Label, goal: Label, wanted: Any, most: int, seed: int) -> list[Label]:
    num = max(most, _USUAL_CANDIDATES) if wanted is None else wanted
    num = min(num, domain.num_nodes - 2) if wanted is None else num
    return draw_candidates(domain, start, goal, check_whole("candidates", num, "an integer >= 2", least=2), seed=seed)
