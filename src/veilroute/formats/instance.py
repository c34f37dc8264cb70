"""Instances: a problem and the privacy wanted, as JSON or in the text format of the authors' program (``.in``).

The latter has first ``N E``, then E directed edges ``a b cost``, then ``start goal``, the number of candidates, and the
candidates one a line. Anything after that is ignored.
"""

from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from veilroute.base.checks import check_list
from veilroute.base.errors import FileFormatError, InvalidInputError, UnknownMethodError, blame_file
from veilroute.base.io import dump_canonical, parse_json, read_bytes, read_text, write_file
from veilroute.domain.codec import anchor_from_dict, domain_from_dict, domain_to_dict
from veilroute.domain.graph import Domain, plain_label
from veilroute.domain.grid import anchored
from veilroute.domain.visibility import AtNode, visibility_from_dict, visibility_to_dict
from veilroute.formats.movingai import read_movingai, write_movingai
from veilroute.formats.network_file import is_network_data, network_from_data, read_network
from veilroute.model.problem import Privacy, Problem, Trip, places_from_list

FORMAT = "veilroute-instance/1"


def read_authors(path: str | Path) -> Problem:
    """Read a problem in the authors' format; candidates are watched from themselves only."""
    tokens = _Tokens(path)
    num_nodes, num_edges = tokens.whole("the number of nodes"), tokens.whole("the number of edges")
    if num_edges > len(tokens.left) // 3:
        raise FileFormatError(path, f"truncated: {num_edges} edges promised, the file is too short for them")
    tails, heads, costs = [], [], []
    for number in range(num_edges):
        tails.append(tokens.whole(f"the tail of edge {number}"))
        heads.append(tokens.whole(f"the head of edge {number}"))
        costs.append(tokens.cost(f"the cost of edge {number}"))
    start, goal = tokens.whole("the start"), tokens.whole("the goal")
    candidates = [tokens.whole("a candidate") for _ in range(tokens.whole("the number of candidates"))]
    with blame_file(path):
        domain = Domain.from_edges(num_nodes, tails, heads, costs)
        return Problem(domain, [Trip(start, goal)], candidates)


def write_authors(problem: Problem, path: str | Path) -> None:
    """Write a problem with one trip in the authors' format; nodes are numbered, labels and visibility are lost."""
    if len(problem.trips) != 1:
        raise InvalidInputError("trips", "one trip; the .in format holds no more", len(problem.trips))
    tails, heads, costs = problem.domain.edge_arrays()
    lines = [f"{problem.domain.num_nodes} {problem.domain.num_edges}"]
    lines += [f"{a} {b} {c}" for a, b, c in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)]
    lines += [f"{problem.start_nodes[0]} {problem.goal_nodes[0]}", str(len(problem.candidates))]
    lines += [str(node) for node in problem.candidate_nodes]
    write_file(path, "\n".join(lines) + "\n")


class _Tokens:
    """The words of a file, one after another."""

    def __init__(self, path: str | Path) -> None:
        self.path, self._text = path, read_text(path)
        self.left = self._text.split()[::-1]  # the next one last
        self._num = len(self.left)

    def whole(self, what: str) -> int:
        token = self._take(what)
        if not (token.isascii() and token.isdigit() and len(token) < 16):
            raise self._error(f"expected {what} as a whole number >= 0, got {token[:20]!r}")
        return int(token)

    def cost(self, what: str) -> int | float:
        token = self._take(what)
        try:
            value = int(token) if token.lstrip("-").isdigit() else float(token)
        except ValueError:
            raise self._error(f"expected {what} as a number >= 0, got {token[:20]!r}") from None
        if not 0 <= value < float("inf"):
            raise self._error(f"expected {what} as a finite number >= 0, got {token[:20]}")
        return value

    def _error(self, problem: str) -> FileFormatError:
        """An error about the word that was taken last, with its line."""
        ends = accumulate(len(line.split()) for line in self._text.split("\n"))
        line = next(number for number, end in enumerate(ends, start=1) if end >= self._num - len(self.left))
        return FileFormatError(self.path, problem, line)

    def _take(self, what: str) -> str:
        if not self.left:
            raise FileFormatError(self.path, f"truncated: the file ends before {what}")
        return self.left.pop()


UNSTATED = frozenset({"visibility", "k", "risk", "ell", "measure", "m", "spread", "mechanism", "objective", "prior"})
"""What a file may leave open; planning then takes what is usual."""


@dataclass(frozen=True)
class Instance:
    """A problem together with the privacy asked for; ``unstated`` is what of :data:`UNSTATED` nobody asked for."""

    problem: Problem
    privacy: Privacy = field(default_factory=Privacy)
    unstated: frozenset[str] = frozenset()


def read_instance(path: str | Path) -> Instance:
    """Read an instance from ``.json`` or ``.in``; a ``.map`` or ``.scen`` alone lacks candidates."""
    match Path(path).suffix.lower():
        case ".json":
            return _from_data(parse_json(read_bytes(path), path), path)
        case ".in":
            return Instance(read_authors(path), unstated=UNSTATED)
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), (".json", ".in"))


def read_domain(path: str | Path, *, movement: int = 4) -> Domain:
    """Read only the domain of a ``.map``, of an instance (``.json``, ``.in``) or of a network file."""
    match Path(path).suffix.lower():
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
    match Path(path).suffix.lower():
        case ".json":
            write_file(path, dump_canonical(_to_dict(instance)))
            return []
        case ".in":
            write_authors(problem, path)
            is_lost = {
                "privacy": True,
                "visibility": not isinstance(problem.visibility, AtNode),
                "streets": problem.domain.streets is not None,
                "origin": problem.domain.grid is not None and problem.domain.grid.anchor is not None,
                "names": bool(problem.names),
                "places": bool(problem.places),
                "prior": problem.prior is not None,
                "labels": problem.domain.grid is not None or problem.domain.labels is not None,
            }
            return [part for part, lost in is_lost.items() if lost]
        case ".map":
            write_movingai(problem.domain, path)
            lost = ["trips", "candidates", "visibility", "privacy", *(["prior"] if problem.prior is not None else [])]
            return [*lost, "origin"] if problem.domain.on_earth is not None else lost
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), (".json", ".in", ".map"))


def _to_dict(instance: Instance) -> dict[str, Any]:
    problem = instance.problem
    data = {
        "format": FORMAT,
        "domain": domain_to_dict(problem.domain),
        "trips": [asdict(trip) for trip in problem.trips],
        "candidates": list(problem.candidates),
        "visibility": visibility_to_dict(problem.visibility),
        "privacy": instance.privacy.to_dict(),
    }
    if problem.objective != "mac":
        data["objective"] = problem.objective
    if problem.prior is not None:
        data["prior"] = list(problem.prior)
    if problem.names:
        data["names"] = [[label, name] for label, name in problem.names.items()]
    if problem.places:
        data["places"] = [[label, *lonlat] for label, lonlat in problem.places.items()]
    return data


def _from_data(data: Any, path: str | Path) -> Instance:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(path, f"not a veilroute instance; expected a JSON object with format {FORMAT}")
    with blame_file(path):
        domain = _domain(data.get("domain"), Path(path).parent)
        names = data.get("names", [])
        if not isinstance(names, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in names):
            raise InvalidInputError("names", "a list of [node, name] pairs", names)
        problem = Problem(
            domain,
            [_trip(trip, i) for i, trip in enumerate(_list(data, "trips"))],
            _list(data, "candidates"),
            visibility_from_dict(data.get("visibility", {"kind": "at-node"}), domain),
            {plain_label(label, field="names"): name for label, name in names},
            data.get("objective", "mac"),
            check_list("prior", data["prior"]) if "prior" in data else None,
            places=places_from_list(data.get("places", [])),
        )
        privacy = data.get("privacy", {})
        if not isinstance(privacy, dict) or set(privacy) - set(Privacy.__dataclass_fields__):
            expected = "an object with k or risk, ell, m, spread, measure and mechanism"
            raise InvalidInputError("privacy", expected, privacy)
        stated = set(privacy) | ({"visibility", "objective", "prior"} & set(data))
        return Instance(problem, Privacy(**privacy), UNSTATED - with_implied(stated))


def _domain(data: Any, folder: Path) -> Domain:
    match data:
        case {"grid": {"map": str(name)} as grid}:
            domain, anchor = read_movingai(folder / name, movement=grid.get("movement", 4)), anchor_from_dict(grid)
            return domain if anchor is None else anchored(domain, anchor)
    return domain_from_dict(data)


def _trip(data: Any, number: int) -> Trip:
    match data:
        case {"start": start, "goal": goal}:
            return Trip(start, goal, data.get("weight", 1.0))
    raise InvalidInputError(f"trips[{number}]", '{"start", "goal"} with an optional weight', data)


def with_implied(stated: set[str]) -> set[str]:
    """What is stated, and what that implies: ell is a cost where no measure is named, and it is either k or a risk."""
    implied = {"ell": {"measure"}, "k": {"risk"}, "risk": {"k"}}
    return stated.union(*(more for what, more in implied.items() if what in stated))


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise InvalidInputError(name, "a list", "nothing" if value is None else value)
    return value
