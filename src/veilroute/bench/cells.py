"""What is run and what is kept of it: a cell of an experiment, its outcome, and the record of both."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from veilroute.base.checks import check_finite
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical
from veilroute.base.registry import Plain, Registry, read_option
from veilroute.domain.graph import Label, plain_label

FORMAT = "veilroute-record/1"
SPREAD = "all-pairs"  #: the reading of spread in the paper's experiments, as its partitioners have it
#: Of a cell that came to an end; any other status is an error and counts nowhere but in the list of errors.
STATUSES = ("optimal", "feasible", "infeasible")
#: How m is read: as one number for the whole problem, which is ours; as the authors' program does, by the base cost of
#: the secret, which is unsafe; and that with Rbp's sum that is never set back (:mod:`veilroute.bench.authors`).
TEXT, AUTHORS, CARRIED = READINGS = ("text", "authors", "carried")
EXTERNAL = "external"  #: the planner of a method that runs a program of others (:mod:`veilroute.bench.external`)
Place = Label  #: a node as the user calls it: the row and column of a grid's cell, a number, or text
InstanceKey = tuple[object, ...]
#: Of each part of a method that is a plug-in (``planner``, ...): ``package``, ``version`` and ``sha256`` of its source.
Plugins = dict[str, dict[str, str]]


@dataclass(frozen=True, eq=False)
class Method:
    """A planner with its options, as :func:`veilroute.solve` takes them; an option that is left empty is not given.

    Options of 1, 1.0 and true are equal to Python, and not to a method: they make methods that differ.
    """

    planner: str
    partitioner: str = ""
    merge_order: str = ""
    heuristic: str = ""
    extra: tuple[tuple[str, Plain], ...] = ()  #: Options that only plug-ins have: names and values, by name.

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        return (self.planner, self.partitioner, self.merge_order, self.heuristic, json.dumps(self.extra))

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Method) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def parts(self) -> dict[str, str]:
        """The planner and what it is put together from, without what is left empty."""
        return {name: value for name, value in asdict(self).items() if value and name != "extra"}

    @property
    def name(self) -> str:
        """What tables and records call it: ``pbp/merge-bb/cost-asc/tunnel``, or ``by-cost/size=3`` for a plug-in."""
        if self.planner == EXTERNAL:
            # Records of earlier versions have the command alone.
            return f"{EXTERNAL}/{dict(self.extra).get('name', self.command)}"
        own = (f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in self.extra)
        return "/".join([*self.parts.values(), *own])

    @property
    def options(self) -> dict[str, Any]:
        """What to hand to :func:`veilroute.solve` beside the planner."""
        return {name: value for name, value in self.parts.items() if name != "planner"} | dict(self.extra)

    @property
    def command(self) -> str:
        """Of a program of others, what to run; empty for all other methods."""
        return str(dict(self.extra)["command"]) if self.planner == EXTERNAL else ""

    @property
    def draws_at_random(self) -> bool:
        """Whether another seed gives another result; of plug-ins it is assumed."""
        drawing = ("rbp", "cbp", "naive", "random", "local-search")
        return any(part in drawing for part in self.parts.values()) or self.is_plugin

    @cached_property
    def is_plugin(self) -> bool:
        """Whether some part of it is not built in."""
        return self.planner == EXTERNAL or any(part not in table for table, part in self.entries())

    def entries(self) -> list[tuple[Registry[Any], str]]:
        """The parts, each with the table of its kind."""
        # Here, because they load kernels, which records are read without.
        from veilroute.covering.astar import HEURISTICS
        from veilroute.partition import PARTITIONERS
        from veilroute.partition.merge_bb import MERGE_ORDERS
        from veilroute.planners import PLANNERS

        tables: dict[str, Registry[Any]] = {
            "planner": PLANNERS, "partitioner": PARTITIONERS, "merge_order": MERGE_ORDERS, "heuristic": HEURISTICS
        }  # fmt: skip
        return [(tables[kind], part) for kind, part in self.parts.items()]

    def plugins(self, *, as_loaded: bool = False) -> Plugins:
        """Its parts that are plug-ins, as they are installed now, or as this process has imported them."""
        if self.command:
            return {}
        entries = zip(self.parts, self.entries(), strict=True)
        found = {kind: table.fingerprint(part, as_loaded=as_loaded) for kind, (table, part) in entries}
        return {kind: fingerprint for kind, fingerprint in found.items() if fingerprint}


@dataclass(frozen=True)
class Instance:
    """A trip with candidates on a map; an experiment with n candidates takes the first n."""

    map_name: str  # without suffix: den101d; of a study, how it calls its terrain
    seed: int  # the number of the pair of start and goal on this map
    start: Place
    goal: Place
    candidates: tuple[Place, ...]
    prior: tuple[float, ...] | None = None  #: A weight for each candidate, if the instance file has them.
    #: What kind of map it is, as ``streets in seconds``; tables average over no two of them. A grid's may be empty. It
    #: is a property of the map, which the hash names, and so no part of a cell's key.
    kind: str = field(default="", compare=False)

    def first(self, num: int) -> Instance:
        """The same with the first candidates only, and their weights."""
        prior = None if self.prior is None else self.prior[:num]
        if prior is not None and sum(weight > 0 for weight in prior) < 2:
            expected = f"weights above 0 for two of the first {num} candidates; list these first in the instance file"
            raise InvalidInputError(f"{self.map_name}.prior", expected)
        return replace(self, candidates=self.candidates[:num], prior=prior)

    @property
    def map_kind(self) -> str:
        """The kind of map, also of records that do not have it."""
        return self.kind or ("grid" if isinstance(self.start, tuple) else "graph")


@dataclass(frozen=True)
class Cell:
    """One run: what is solved, how, and for how long."""

    instance: Instance  #: Has exactly the candidates that take part.
    map_sha256: str  #: Keeps records of another map with the same name from being mistaken for these.
    method: Method
    k: int
    ell: float
    radius: float
    m_ratio: float | None  #: m over the number of nodes on a shortest path, ``None`` for m = infinity.
    time_limit_s: float
    seed: int = 0
    keep_playbook: bool = False  #: Ask the auditor, and keep the playbook in the record, to draw it.
    #: Let observers guess; planned under the instance's prior, or under one of 1, 1/2, 1/3, ... if it has none.
    is_watched: bool = False
    risk: float | None = None  #: What to bound in place of counting to k.
    mechanism: str = "partition"
    reading: str = TEXT  #: One of :data:`READINGS`.
    spread: str = SPREAD
    m: int | None = None  #: In nodes, for studies that state it so and not over the shortest path.
    draw: int = 0  #: Which of several draws, for methods that draw at random.

    @property
    def num_candidates(self) -> int:
        """How many candidates take part."""
        return len(self.instance.candidates)

    @property
    def fits_programs(self) -> bool:
        """Whether an external program can be asked for it: it can be told k and ell, and a finite m or a radius if its
        command names them.
        """
        has_m, command = self.m_ratio is not None or self.m is not None, self.method.command
        is_told = (not has_m or "{m}" in command) and (not self.radius or "{radius}" in command)
        is_plain = self.risk is None and self.mechanism == "partition" and self.reading == TEXT
        return is_told and is_plain and not (self.keep_playbook or self.is_watched)

    @property
    def instance_key(self) -> InstanceKey:
        """Equal for cells of the same trip with the same candidates on the same map."""
        at = self.instance
        return (at.map_name, self.map_sha256, at.seed, at.start, at.goal, at.candidates, at.prior)

    @property
    def setting(self) -> tuple[object, ...]:
        """What is asked of the method: all but the instance, the time limit and the draw."""
        m = (self.m_ratio, self.m, self.reading)
        return (self.k, self.ell, self.radius, *m, self.risk, self.mechanism, self.spread)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record; what few cells have is there only where it is not as usual."""
        data = asdict(self)
        if not self.instance.kind:
            del data["instance"]["kind"]
        extra = data["method"].pop("extra")
        usual = {each.name: each.default for each in fields(self) if each.name in _SELDOM}
        data = {name: value for name, value in data.items() if name not in usual or value != usual[name]}
        data["method"] |= {"extra": dict(extra)} if extra else {}
        if self.instance.prior is None:
            del data["instance"]["prior"]
        return data

    @cached_property
    def key(self) -> str:
        """Names the cell in a records file: equal for equal cells, in every process."""
        data = self.to_dict()
        data["instance"].pop("kind", None)
        return hashlib.sha256(dump_canonical(data)).hexdigest()[:16]


_COUNTS = ("cpu_s", "num_expansions", "num_searches", "num_partitions")
#: What of a cell is written down only where it is not as usual.
_SELDOM = ("is_watched", "risk", "mechanism", "reading", "spread", "m", "draw")


@dataclass(frozen=True)
class Outcome:
    """What came of a cell, nothing by default; counts, APR and MAC are what the playbook claims."""

    status: str  #: One of :data:`STATUSES`, or ``error`` when there is no playbook.
    #: Whether the method came to its own end, and was not stopped by a time limit; ``None`` for an external program
    #: that has ended and does not say which.
    is_finished: bool | None = False
    m: int | None = None  #: In nodes, ``None`` for infinity.
    num_coverable: int = 0
    num_anonymized: int = 0
    apr: float = 0.0
    mac: float | None = None
    mac_lower_bound: float | None = None
    runtime_s: float = 0.0  #: Of planning, without imports and compilation.
    improvements: tuple[tuple[float, int, float], ...] = ()  #: Better partitions: seconds, members anonymized, MAC.
    #: The most that planning held beyond what its process held before; of a program of others, the most that it held.
    memory_mb: float | None = None
    cpu_s: float | None = None  #: The processor's time that planning took.
    num_expansions: int | None = None  #: States that A* expanded; ``None`` where nothing is counted, here and below.
    num_searches: int | None = None  #: Covering walks or costs that were looked for.
    num_partitions: int | None = None  #: Partitions that were looked at.
    audit_holds: bool | None = None  #: ``None`` when the auditor was not asked.
    playbook: dict[str, Any] | None = None  #: Without its domain.
    error: str = ""  #: Why there is no playbook, in one line.
    #: Observers, and how often each guesses right: within the promise, and when all has been seen.
    guesses: tuple[tuple[str, float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record; guesses are there only where there are some."""
        return {name: value for name, value in asdict(self).items() if name != "guesses" or value}


@dataclass(frozen=True)
class Record:
    """A finished cell; ``provenance`` has versions, machine, worker, run and time of day, and plug-ins if any ran."""

    cell: Cell
    outcome: Outcome
    provenance: dict[str, Any]

    @property
    def plugins(self) -> Plugins:
        """The plug-ins that ran; empty also in records of versions that did not write them down."""
        found: Plugins = self.provenance.get("plugins", {})
        return found

    @property
    def has_ended(self) -> bool:
        """Whether the cell did not end with an error."""
        return self.outcome.status in STATUSES

    def to_dict(self) -> dict[str, Any]:
        """Plain data, one line of a records file."""
        parts = {"cell": self.cell.to_dict(), "outcome": self.outcome.to_dict(), "provenance": self.provenance}
        return {"format": FORMAT, "key": self.cell.key, **parts}


def method_from_name(text: str) -> Method:
    """The method of this name, as :attr:`Method.name` has it; whether there is one is not looked at.

    Only the parts of built-in partitioners have places; those of others are named, as ``heuristic=blind``.
    """
    planner, *words = text.split("/")
    parts = [word for word in words if "=" not in word]
    slots = ("partitioner", "merge_order", "heuristic") if parts[:1] == ["merge-bb"] else ("partitioner", "heuristic")
    options = dict(map(read_option, (word for word in words if "=" in word)))
    named: dict[str, str] = dict(zip(slots, parts, strict=False))
    named |= {slot: str(options.pop(slot)) for slot in ("partitioner", "merge_order", "heuristic") if slot in options}
    if len(parts) > len(slots):
        raise InvalidInputError("method", "PLANNER/PARTITIONER/.../NAME=VALUE", text)
    return Method(planner, **named, extra=tuple(sorted(options.items())))


def record_from_dict(data: dict[str, Any]) -> Record:
    """Read a record back; `KeyError`, `TypeError` or `ValueError` where it is not one that tables can count on."""
    cell, outcome, provenance = dict(data["cell"]), dict(data["outcome"]), data["provenance"]
    instance, method = dict(cell.pop("instance")), dict(cell.pop("method"))
    instance |= {name: plain_label(instance[name]) for name in ("start", "goal")}
    instance["candidates"] = tuple(map(plain_label, instance["candidates"]))
    if "prior" in instance:
        instance["prior"] = tuple(check_finite("prior", weight, least=0) for weight in instance["prior"])
    instance["kind"] = str(instance.get("kind", ""))
    outcome["improvements"] = tuple(map(tuple, outcome["improvements"]))
    outcome["guesses"] = tuple((str(name), within, end) for name, within, end in outcome.get("guesses", ()))
    for name in _COUNTS:  # records of earlier versions lack them
        outcome.setdefault(name, None)
    # Those versions wrote down the most that the process had ever held. That is the work of a program of others, whose
    # process does nothing else; of ours it was mostly what a worker has imported.
    held_mb = outcome.pop("peak_memory_mb", None)
    outcome.setdefault("memory_mb", held_mb if method["planner"] == EXTERNAL else None)
    method["extra"] = tuple(sorted(dict(method.pop("extra", {})).items()))
    if not all(isinstance(value, Plain) for _, value in method["extra"]):
        raise TypeError("extra: expected plain values")
    if method["planner"] == EXTERNAL and "name" not in dict(method["extra"]) and outcome["is_finished"] is True:
        outcome["is_finished"] = None  # versions that gave programs no name took the end of one for that of its search
    if outcome.keys() != {field.name for field in fields(Outcome)}:
        raise KeyError("outcome: expected all fields")
    numbers = [outcome[name] for name in ("num_coverable", "num_anonymized", "apr", "runtime_s")]
    optional = [outcome[name] for name in ("m", "mac", "mac_lower_bound", "memory_mb", *_COUNTS)]
    numbers += [number for number in optional if number is not None]
    for seconds, num_anonymized, mac in outcome["improvements"]:
        numbers += [seconds, num_anonymized, mac]
    numbers += [chance for _, *chances in outcome["guesses"] for chance in chances]
    for number in numbers:
        check_finite("outcome", number)
    kinds: dict[str, Any] = {"status": str, "error": str, "is_finished": bool | None, "audit_holds": bool | None}
    kinds |= {"playbook": dict | None, "versions": dict, "machine": dict, "worker": dict}
    told, kinds = provenance | outcome, kinds | {"run": str, "finished_at": str}
    if not all(isinstance(told[name], kind) for name, kind in kinds.items()):
        raise TypeError("record: expected objects, text and answers of yes and no where they belong")
    for fingerprint in provenance.get("plugins", {}).values():
        if not all(isinstance(fingerprint[name], str) for name in ("package", "version", "sha256")):
            raise TypeError("plugins: expected texts")
    return Record(Cell(Instance(**instance), method=Method(**method), **cell), Outcome(**outcome), provenance)
