"""Instances: a problem and the privacy wanted, in any of the formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veilroute.domain.codec import domain_from_dict, domain_to_dict
from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label, plain_label
from veilroute.domain.visibility import AtNode, visibility_from_dict, visibility_to_dict
from veilroute.errors import FileFormatError, InvalidInputError, UnknownMethodError
from veilroute.formats.authors import read_authors, write_authors
from veilroute.formats.movingai import read_movingai, write_movingai
from veilroute.formats.network import is_network_data, network_from_data, read_network
from veilroute.jsontext import dump_canonical, parse_json, read_bytes
from veilroute.problem import Privacy, Problem, Trip

FORMAT = "veilroute-instance/1"


UNSTATED = frozenset({"visibility", "k", "ell", "measure", "m", "spread"})
"""What a file may leave open; planning then takes what is usual."""


@dataclass(frozen=True)
class Instance:
    """A problem together with the privacy asked for; ``unstated`` is what of :data:`UNSTATED` nobody asked for."""

    problem: Problem
    privacy: Privacy = field(default_factory=Privacy)
    unstated: frozenset[str] = frozenset()


def read_instance(path: str | Path) -> Instance:
    """Read an instance from ``.json`` or ``.in``; a ``.map`` or ``.scen`` alone lacks candidates."""
    match Path(path).suffix:
        case ".json":
            return _from_data(parse_json(read_bytes(path), path), path)
        case ".in":
            return Instance(read_authors(path), unstated=UNSTATED)
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), (".json", ".in"))


def read_domain(path: str | Path, *, movement: int = 4) -> Domain:
    """Read only the domain of a ``.map``, of an instance (``.json``, ``.in``) or of a network file."""
    match Path(path).suffix:
        case ".map":
            return read_movingai(path, movement=movement)
        case ".in":
            return read_authors(path).domain
        case ".json":
            data = parse_json(read_bytes(path), path)
            return network_from_data(data, path) if is_network_data(data) else _from_data(data, path).problem.domain
        case _:
            return read_network(path)


def write_instance(instance: Instance, path: str | Path) -> list[str]:
    """Write an instance as ``.json``, ``.in`` or ``.map``; return what the format could not hold."""
    problem = instance.problem
    match Path(path).suffix:
        case ".json":
            Path(path).write_bytes(dump_canonical(_to_dict(instance)))
            return []
        case ".in":
            write_authors(problem, path)
            lost = ["privacy"]
            lost += [] if isinstance(problem.visibility, AtNode) else ["visibility"]
            lost += [] if problem.domain.streets is None else ["streets"]
            lost += ["names"] if problem.names else []
            return lost + (["labels"] if problem.domain.grid is not None or problem.domain.labels is not None else [])
        case ".map":
            write_movingai(problem.domain, path)
            return ["trips", "candidates", "visibility", "privacy"]
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), (".json", ".in", ".map"))


def _to_dict(instance: Instance) -> dict[str, Any]:
    problem = instance.problem
    data = {
        "format": FORMAT,
        "domain": domain_to_dict(problem.domain),
        "trips": [{"start": t.start, "goal": t.goal, "weight": t.weight} for t in problem.trips],
        "candidates": list(problem.candidates),
        "visibility": visibility_to_dict(problem.visibility),
        "privacy": instance.privacy.to_dict(),
    }
    return data | {"names": [[label, name] for label, name in problem.names.items()]} if problem.names else data


def _from_data(data: Any, path: str | Path) -> Instance:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(path, f"not a veilroute instance; expected a JSON object with format {FORMAT}")
    try:
        domain = _domain(data.get("domain"), Path(path).parent)
        problem = Problem(
            domain,
            [_trip(trip, i) for i, trip in enumerate(_list(data, "trips"))],
            _list(data, "candidates"),
            visibility_from_dict(data.get("visibility", {"kind": "at-node"}), domain),
            _names(data.get("names", [])),
        )
        privacy = _privacy(data.get("privacy", {}))
        stated = set(data.get("privacy", {})) | ({"visibility"} & set(data))
        return Instance(problem, privacy, UNSTATED - with_measure(stated))
    except FileFormatError:
        raise
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


def _domain(data: Any, folder: Path) -> Domain:
    match data:
        case {"grid": {"map": str(name)} as grid}:
            return read_movingai(folder / name, movement=grid.get("movement", 4))
        case _:
            return domain_from_dict(data)


def _trip(data: Any, number: int) -> Trip:
    match data:
        case {"start": start, "goal": goal}:
            return Trip(start, goal, data.get("weight", 1.0))
    raise InvalidInputError(f"trips[{number}]", '{"start", "goal"} with an optional weight', data)


def with_measure(stated: set[str]) -> set[str]:
    """What is stated, and the measure with ell: where none is named, it is that of the costs."""
    return stated | {"measure"} if "ell" in stated else stated


def _privacy(data: object) -> Privacy:
    known = {"k", "ell", "m", "spread", "measure"}
    if not isinstance(data, dict) or set(data) - known:
        raise InvalidInputError("privacy", "an object with k, ell, m, spread and measure", data)
    return Privacy(**data)


def _names(data: object) -> dict[Label, str]:
    if not isinstance(data, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in data):
        raise InvalidInputError("names", "a list of [node, name] pairs", data)
    return {plain_label(label, field="names"): name for label, name in data}


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise InvalidInputError(name, "a list", "nothing" if value is None else value)
    return value
