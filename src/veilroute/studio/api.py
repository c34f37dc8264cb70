"""What clients may ask for: the kinds of jobs, the request that each becomes, and the description of ``/api``.

A job is JSON with the keys of a problem file; a file in it is a reference to one that was uploaded, or to a result.
Whatever a client sends is checked here key by key, all at once, before anything else sees it. Texts of clients become
values of requests and nothing else: all paths are made here, from names of ours.
"""

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from veilroute import __version__
from veilroute.app.requests import (
    OLD_KEYS,
    AuditRequest,
    CompareRequest,
    FleetRequest,
    PlanRequest,
    ProblemRequest,
    ReplanRequest,
    RiskRequest,
    texts_of,
)
from veilroute.base.checks import is_number
from veilroute.base.errors import InvalidInputError, Issue, Problems
from veilroute.studio import tasks
from veilroute.studio.files import KINDS as FILE_KINDS
from veilroute.studio.store import STATES, Job, StoredFile

ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
RESULT = re.compile(r"[a-z0-9][a-z0-9-]{0,40}\.[a-z]{2,8}", re.ASCII)
REF = re.compile(rf"({ID.pattern})(?:/({RESULT.pattern}))?", re.ASCII)

SOURCES = ("map", "scenario", "instance", "network", "osm", "table")
_MOST_ITEMS = 20_000
_MOST_COMPARED = 100  # points, for each mechanism
_USUAL_S = {"plan": 60.0, "frontier": 20.0}
_TYPED = ("asked", "problem", "public")  # parts of requests whose keys clients give without their name

#: Keys that are not for clients: they reach out of the studio, write into files, or are of use with secrets only.
CLOSED = ("method.workers", "method.options", "ledger.enter", "against", "pad_to", "occasion", "date")

_MEASURES = ("cost", "driving", "walking", "straight")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "planner": ("optimal", "pbp", "m-pbp", "cbp", "rbp"), "objective": ("mac", "total"), "cost": ("seconds", "metres"),
    "partitioner": ("exact", "local-search", "merge-bb", "df-bb", "naive"), "spread": ("witness", "all-pairs"),
    "mechanism": ("partition", "randomised", "both"), "privacy.mechanism": ("partition", "randomised"),
    "apart_measure": _MEASURES, "seen_measure": _MEASURES, "stops.at": ("door", "junction"), "side": ("any", "kerb"),
    "traffic": ("right", "left"), "network": ("drive", "truck", "cycle", "walk"), "choice": ("go-on", "give-up"),
    "format": ("gpx", "geojson", "kml", "csv", "xlsx", "txt", "html", "pdf", "png", "svg"),
}  # fmt: skip
BOUNDS: Mapping[str, tuple[float, float]] = {
    "k": (1, 1_000_000), "ks": (1, 1_000_000), "risk": (1e-9, 1), "risks": (1e-9, 1), "until": (1, 99_999_999),
    "untils": (1, 99_999_999), "random_candidates": (1, 10_000), "movement": (4, 8), "scenario": (0, 10_000_000),
    "seed": (0, 2**31 - 1), "seen_within": (0, 1e9), "line_of_sight": (0, 1e9), "cell": (1e-3, 1e6),
    "time_limit": (0.1, 86_400), "time_limit_s": (0.1, 86_400), "number": (1, 1_000_000), "position": (0, 100_000_000),
    "trip": (0, 1_000_000),
    "touched": (1, 1_000_000), "vehicles": (1, 10_000), "capacity": (1, 10**9), "demand": (1, 10**9),
    "service": (0, 1440), "speed": (0.01, 1000), "iterations": (0, 100_000),
}  # fmt: skip
_ANY_NUMBER = (0, 1e12)
_TEXTS = {"closed": 20_000, "closed_nodes": 20_000, "contingencies": 2000, "since": 10, "shift": 20, "depart": 5}
_MOST_TEXT = 300
_ANY_TEXT = re.compile(r".*")
_LISTS = {"ks": 20, "risks": 20, "aparts": 20, "untils": 20, "playbooks": 200}
#: Texts that must look like this, and what to say where one does not.
PATTERNS = {
    "until": (re.compile(r"inf|end|[1-9][0-9]{0,7}", re.ASCII), "a whole number of nodes >= 1, or end"),
    "time_limit": (re.compile(r"[0-9]{1,6}(\.[0-9]{0,20})?", re.ASCII), "a number of seconds"),
}
_ALSO_NUMBERS = ("apart", "until", "time_limit")  # texts that need no quotes


class Input(NamedTuple):
    """A file as a task gets it: under a name that says its part, with the ending that says its format."""

    ref: str
    alias: str


@dataclass(frozen=True)
class Asked:
    """A job that was checked: its request, whose paths are names within the attempt's folder, and its files."""

    kind: str
    request: Any
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class Leaf:
    """One value that a client may give."""

    name: str  #: as in a problem file, with its part: ``privacy.k``
    path: tuple[str, ...]  #: of the same value within the request
    type: Any
    schema: Mapping[str, Any]
    kinds: tuple[str, ...] = ()  #: of files that it may name

    @property
    def key(self) -> str:
        """The last word of its name."""
        return self.path[-1]

    @property
    def choices(self) -> tuple[str, ...] | None:
        """What it may be, if that is a fixed list."""
        return CHOICES.get(self.name) or CHOICES.get(self.key)

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which a number must be."""
        return BOUNDS.get(self.key, _ANY_NUMBER)

    @property
    def expected(self) -> str:
        """What to say where something else came."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.key in PATTERNS:
            return PATTERNS[self.key][1]
        if self.kinds:
            return "the id of a file, or JOB/NAME of a result"
        types, bounds = _types(self.type), "from {:,.12g} to {:,.12g}".format(*self.bounds)
        if bool in types:
            return "true or false"
        if str not in types:
            return f"a number {bounds}" if float in types else f"a whole number {bounds}"
        return f"a text of 1 to {_TEXTS.get(self.key, _MOST_TEXT)} signs in one line"

    def read(self, where: str, given: Any, name_file: "_NameFile") -> Any:
        """The value of a request for what came, or an error that names the field."""
        is_many, most, is_list = (
            isinstance(given, list),
            _LISTS.get(self.key, _MOST_ITEMS),
            get_origin(self.type) is tuple,
        )
        if is_many and not (0 if is_list else 1) <= len(given) <= most:
            raise InvalidInputError(where, f"a list of 1 to {most} values", len(given))
        is_file = self.kinds and (is_list or not is_many)
        items = []
        for number, item in enumerate(given if is_many else [given]):
            spot = f"{where}[{number}]" if is_many else where
            part = f"{self.key.rstrip('s')}-{number + 1}" if is_many else _ALIASES.get(self.key, self.key)
            if is_file and not (isinstance(item, str) and REF.fullmatch(item)):
                raise InvalidInputError(spot, self.expected, item)
            items.append(name_file(spot, item, part, self.kinds) if is_file else self._check(spot, item))
        value: Any = items if is_many or is_list else items[0]
        if is_many and self.key == "touched":
            value = ",".join(map(str, items))
        try:
            return msgspec.convert(value, self.type, dec_hook=lambda kind, one: kind(one))
        except (msgspec.ValidationError, TypeError):
            raise InvalidInputError(where, self.expected, given) from None

    def _check(self, where: str, item: Any) -> Any:
        """One value, or one of a list."""
        if isinstance(item, int | float) and not isinstance(item, bool):
            if not is_number(item, *self.bounds):
                raise InvalidInputError(where, "a number from {:,.12g} to {:,.12g}".format(*self.bounds), item)
            item = repr(item) if str in _types(self.type) else item
        if isinstance(item, str):
            if self.key == "untils" and item in ("inf", "end"):
                return None
            known, pattern = self.choices, PATTERNS.get(self.key, (_ANY_TEXT,))[0]
            is_right = item.strip() != "" and len(item) <= _TEXTS.get(self.key, _MOST_TEXT) and item.isprintable()
            is_right &= (known is None or item in known) and pattern.fullmatch(item) is not None
            if not is_right:
                raise InvalidInputError(where, self.expected, item)
            return item.strip()
        return item

    def to_schema(self) -> dict[str, Any]:
        """The value as JSON Schema: by its type, and by what is checked beside that."""
        made: dict[str, Any] = json.loads(json.dumps(self.schema))
        made.pop("default", None)
        for one in made.get("anyOf", [made]):
            for each in (one, one.get("items", {})):
                if each.get("type") in ("integer", "number"):
                    each |= {"minimum": self.bounds[0], "maximum": self.bounds[1]}
                elif each.get("type") == "string":
                    each |= _text_schema(self)
            if one.get("type") == "array":
                one |= {"maxItems": _LISTS.get(self.key, _MOST_ITEMS)}
        numbers = {"type": "number", "minimum": self.bounds[0], "maximum": self.bounds[1]}
        if self.key in _ALSO_NUMBERS:
            made["anyOf"].append(numbers)
        if self.key == "touched":
            made["anyOf"].append({"type": "array", "items": numbers, "minItems": 1, "maxItems": _MOST_ITEMS})
        return made


_NameFile = Callable[[str, str, str, tuple[str, ...]], str]
_ALIASES = {"map": "source", "file": "ledger", "playbooks": "playbook"}


def _text_schema(leaf: Leaf) -> dict[str, Any]:
    if leaf.kinds and "places" not in leaf.key:
        return {"pattern": f"^{REF.pattern}$", "description": f"A file of the kind {' or '.join(leaf.kinds)}."}
    if leaf.choices:
        return {"enum": list(leaf.choices)}
    if leaf.key in PATTERNS:
        return {"pattern": f"^({PATTERNS[leaf.key][0].pattern})$"}
    return {"minLength": 1, "maxLength": _TEXTS.get(leaf.key, _MOST_TEXT)}


@cache
def _types(hint: Any) -> frozenset[Any]:
    """All plain types within a type."""
    inner = get_args(hint)
    return frozenset().union(*map(_types, inner)) if inner else frozenset([hint])


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    request: type
    task: tasks.Task
    files: Mapping[str, tuple[str, ...]]  #: the keys that name files, and what kinds of files these may be
    needed: tuple[str, ...]  #: keys without which there is no job
    old: Mapping[str, str] = field(default_factory=dict)  #: older names of keys, beside those of :data:`OLD`

    @cached_property
    def leaves(self) -> dict[str, Leaf]:
        """All that a client may give, by its name."""
        found = {}
        for path, hint, schema in _leaves(self.request):
            name = ".".join(part for part in path if part not in _TYPED)
            kinds = self.files.get(name, ())
            # No key that is a path is open but those that are known to name files of the studio.
            if name not in CLOSED and (kinds or Path not in _types(hint)):
                found[name] = Leaf(name, path, hint, schema, kinds)
        return found

    @cached_property
    def names(self) -> dict[str, str]:
        """Every name that a key may have, and the key."""
        names = {name: name for name in self.leaves}
        for given, name in {**OLD, **self.old}.items():
            if name in self.leaves and given not in names and ("map" in names or not given.startswith("options.")):
                names[given] = name
        return names

    def flat(self, given: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
        """The values that came, with the names of their parts before their own."""
        for key, value in given.items():
            name = f"{within}{key}"
            if isinstance(value, dict) and any(known.startswith(f"{name}.") for known in self.names):
                yield from self.flat(value, f"{name}.")
            elif value is not None:
                yield name, value

    def to_schema(self) -> dict[str, Any]:
        """The parameters as JSON Schema."""
        made: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
        for given, name in sorted(self.names.items(), key=lambda item: (-item[0].count("."), item[0])):
            *parts, key = given.split(".")
            home = made["properties"]
            for part in parts:
                empty = {"type": "object", "additionalProperties": False, "properties": {}}
                home = home.setdefault(part, empty)["properties"]
            about = {} if given == name else {"deprecated": True, "description": f"An older name of {name}."}
            schema = self.leaves[name].to_schema() | about
            home[key] = {"anyOf": [schema, home[key]]} if key in home else schema  # `ledger` is a part, and was a file
        named = [[given for given, name in self.names.items() if name == needed] for needed in self.needed]
        return made | {"allOf": [{"anyOf": [{"required": [given]} for given in each]} for each in named]}


def _leaves(kind: type, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Mapping[str, Any]]]:
    hints, texts = get_type_hints(kind), texts_of(kind)
    (_,), found = msgspec.json.schema_components([kind], schema_hook=lambda _: {"type": "string"})
    for each in fields(kind):
        if is_dataclass(hints[each.name]):
            yield from _leaves(hints[each.name], (*path, each.name))
        else:
            about = {"description": texts[each.name]} if each.name in texts else {}
            yield (*path, each.name), hints[each.name], found[kind.__name__]["properties"][each.name] | about


#: The names that keys of jobs had before, and what they are called in a problem file.
OLD: Mapping[str, str] = {
    "source": "map", "time_limit_s": "method.time_limit", "ledger": "ledger.file", "playbook": "playbooks",
    **{key: f"method.{key}" for key in ("planner", "partitioner", "objective", "contingencies")},
    **{
        f"options.{given}": ".".join(path).removeprefix("problem.")
        for path, *_ in _leaves(ProblemRequest)
        for given in (path[-1], *(old for old, new in OLD_KEYS.items() if new == path[-1]))
    },
}  # fmt: skip

_PROBLEM = {"map": SOURCES, "places": ("table",), "privacy.prior": ("table",)}
_PLAYBOOK = {"playbook": ("playbook",)}
KINDS: Mapping[str, Kind] = {
    "open": Kind(tasks.OpenRequest, tasks.open_map, {"source": (*SOURCES, "playbook")}, ("source",)),
    "check": Kind(ProblemRequest, tasks.check_places, _PROBLEM, ("map",)),
    "plan": Kind(
        PlanRequest, tasks.plan,
        _PROBLEM | {"ledger.file": ("ledger",), "method.reuse": ("playbook",), "method.customers": ("table",)},
        ("map",),
    ),
    "audit": Kind(AuditRequest, tasks.audit, {"playbooks": ("playbook",), "prior": ("table",)}, ("playbooks",)),
    "risk": Kind(RiskRequest, tasks.risk, _PLAYBOOK | {"prior": ("table",)}, ("playbook",)),
    "frontier": Kind(
        CompareRequest, tasks.compare, _PROBLEM, ("map",), {"k": "ks", "risk": "risks", "ell": "aparts", "m": "untils"}
    ),
    "replan": Kind(ReplanRequest, tasks.replan, _PLAYBOOK, ("playbook", "number", "at", "closed"), {"class": "number"}),
    "fleet": Kind(
        FleetRequest, tasks.fleet, _PLAYBOOK | {"customers": ("table",)}, ("playbook", "touched", "vehicles")
    ),
    "linked": Kind(
        tasks.LinkedRequest, tasks.linked, {"ledger": ("ledger",), "playbooks": ("playbook",)}, ("ledger",)
    ),
    "export": Kind(tasks.WriteRequest, tasks.export, _PLAYBOOK, ("playbook", "format")),
}  # fmt: skip


def read_job(
    kind: object, params: object, kind_of: Callable[[str, str], str], suffix_of: Callable[[str], str], limit_s: float
) -> Asked:
    """The request of a job as it came, or an error that names each field that is wrong.

    Parameters
    ----------
    kind, params
        As a client sent them.
    kind_of
        Gives the kind of the file that a reference names; its first argument is the field, for the error.
    suffix_of
        The ending of that file.
    limit_s
        The longest search that the server allows.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError("kind", f"one of {', '.join(KINDS)}", kind)
    if not isinstance(params, dict):
        raise InvalidInputError("params", "an object", params)
    known, problems = KINDS[kind], Problems()
    values: dict[str, Any] = {}
    inputs: dict[str, Input] = {}

    def name_file(where: str, ref: str, part: str, kinds: tuple[str, ...]) -> str:
        if (found := kind_of(where, ref)) not in kinds:
            raise InvalidInputError(where, f"a file of the kind {' or '.join(kinds)}", found)
        inputs[part] = Input(ref, f"{part}{suffix_of(ref)}")
        return inputs[part].alias

    for given, value in known.flat(params):
        with problems.collecting():
            if given not in known.names:
                raise _unknown(given, known)
            name = known.names[given]
            if name in values:
                raise InvalidInputError(f"params.{given}", f"only one of this and {name}", None)
            values[name] = known.leaves[name].read(f"params.{given}", value, name_file)
    for name in known.needed:
        if name not in values and not problems:
            given = next((old for old, new in known.names.items() if new == name and old != name), name)
            problems.add(InvalidInputError(f"params.{given}", known.leaves[name].expected, "nothing"))
    problems.raise_all()
    _check_together(kind, values, inputs, limit_s)
    return Asked(kind, request_of(known, _nested(known, values)), tuple(inputs.values()))


def _unknown(given: str, known: Kind) -> InvalidInputError:
    where, _, key = f"params.{given}".rpartition(".")
    within = [name.rpartition(".")[2] for name in known.names if f"params.{name}".rpartition(".")[0] == where]
    near = difflib.get_close_matches(key, within, 1, 0.6)
    known_keys = "." if near else f"; the keys are {', '.join(sorted(within))}"
    return InvalidInputError(f"{where}.{key}", f"a key that is known{known_keys}", did_you_mean=near)


def _check_together(kind: str, values: dict[str, Any], inputs: Mapping[str, Input], limit_s: float) -> None:
    """What no key shows alone; and the limits of the server."""
    if kind == "open" and not inputs["source"].alias.startswith("source.osm"):
        for name in ("network", "cost", "service", "connected"):
            if name in values:
                raise InvalidInputError(f"params.{name}", "a map from OpenStreetMap; other files are taken as they are")
    if kind == "frontier":
        for name in ("privacy.k", "privacy.risk", "privacy.mechanism"):
            values.pop(name, None)  # what the lists say
        sizes = {name: len(values.get(name) or ()) for name in ("ks", "risks", "aparts", "untils")}
        count = max(1, sizes["ks"] + sizes["risks"]) * max(1, sizes["aparts"]) * max(1, sizes["untils"])
        if count > _MOST_COMPARED:
            raise InvalidInputError("params", f"lists with at most {_MOST_COMPARED} combinations", count)
    if kind in _USUAL_S:
        name = "method.time_limit" if kind == "plan" else "time_limit_s"
        seconds = float(values.get(name) or _USUAL_S[kind])
        if name in values and not is_number(seconds, 0.1, limit_s):
            raise InvalidInputError("params.time_limit_s", f"seconds from 0.1 to {limit_s:g}", seconds)
        seconds = min(seconds, limit_s)
        values[name] = f"{seconds:g}" if kind == "plan" else seconds


def _nested(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the paths of a request, as plain data for JSON."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        *parts, key = kind.leaves[name].path
        home = made
        for part in parts:
            home = home.setdefault(part, {})
        home[key] = value
    plain: dict[str, Any] = msgspec.to_builtins(made, enc_hook=str)
    return plain


def request_of(kind: Kind, data: Mapping[str, Any]) -> Any:
    """The request of a job from plain data, as a worker gets it."""
    return msgspec.convert(data, kind.request, dec_hook=lambda wanted, one: wanted(one))


def plain(request: Any) -> dict[str, Any]:
    """A request as plain data, for a worker."""
    data: dict[str, Any] = msgspec.to_builtins(request, enc_hook=str)
    return data


# The description of /api


@dataclass(frozen=True)
class Report:
    """How far a running job has come."""

    stage: str
    done: int
    total: int
    hidden: int | None
    mac: float | None
    bound: float | None
    gap: float | None
    elapsed_s: float


@dataclass(frozen=True)
class About:
    """The server, and how much it takes on."""

    version: str
    limits: dict[str, float]
    demo: bool
    files: int


_PARTS = {"{id}": ID, "{name}": RESULT}  # of addresses
_JSON, _BYTES, _EVENTS = "application/json", "application/octet-stream", "text/event-stream"
#: Each address with its handler, what that does, how it answers, what with, and by which statuses it refuses.
ROUTES: tuple[tuple[str, str, str, str, int, str, tuple[int, ...]], ...] = (
    ("GET", "/api/about", "about", "This server.", 200, "About", ()),
    ("GET", "/api/openapi.json", "described", "This description.", 200, "object", ()),
    ("GET", "/api/files", "list_files", "All files.", 200, "files:File", ()),
    ("POST", "/api/files", "upload", "Upload a file. A private key is refused.", 201, "File",
     (408, 413, 415, 422, 503, 507)),
    ("GET", "/api/files/{id}", "download", "The file as it came.", 200, _BYTES, (404,)),
    ("DELETE", "/api/files/{id}", "remove_file", "Forget it.", 204, "", (404,)),
    ("GET", "/api/jobs", "list_jobs", "Jobs, the newest first.", 200, "jobs:Job", ()),
    ("POST", "/api/jobs", "submit", "Queue a job. The same key and the same job: the job that is there already.", 202,
     "Job", (409, 413, 415, 422, 429, 507)),
    ("GET", "/api/jobs/{id}", "show_job", "One job.", 200, "Job", (404,)),
    ("DELETE", "/api/jobs/{id}", "remove_job", "Forget it, with its results; not while it runs.", 204, "", (404, 409)),
    ("GET", "/api/jobs/{id}/events", "events",
     "Events: state (a Job), progress (a Progress), result (name, is_final). Ends with the job.", 200, _EVENTS,
     (404, 503)),
    ("POST", "/api/jobs/{id}/cancel", "cancel", "End it with the best so far; a second time, at once.", 202, "Job",
     (404, 409, 415)),
    ("POST", "/api/jobs/{id}/resume", "resume", "Queue one again that failed, was cancelled or was killed.", 202,
     "Job", (404, 409, 415)),
    ("GET", "/api/jobs/{id}/results/{name}", "result", "A result, to be saved.", 200, _BYTES, (404,)),
)  # fmt: skip


def openapi() -> dict[str, Any]:
    """The whole description, from the types of requests and answers."""
    paths: dict[str, Any] = {}
    for method, path, handler, summary, status, answer, refusals in ROUTES:
        paths.setdefault(path, {})[method.lower()] = _operation(path, handler, summary, status, answer, refusals)
    about = (
        "Files and jobs of the studio. The secret is never sent here. A request that is refused says why in one line, "
        "`error`; a job that failed says it in one line as well, and thing by thing in `problems`. When the server "
        "listens elsewhere than on this machine, every request needs its token."
    )
    refused = {"description": "Why it is not done, in one line.", "content": {_JSON: {"schema": _ref("Error")}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "veilroute studio", "version": __version__, "description": about},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"refused": refused},
        },
        "security": [{}, {"token": []}],
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def _operation(
    path: str, handler: str, summary: str, status: int, answer: str, refusals: tuple[int, ...]
) -> dict[str, Any]:
    """One method of one address."""
    good: dict[str, Any] = {"description": summary}
    list_name, _, item = answer.partition(":")
    if "/" in answer:
        good["content"] = {answer: {"schema": {"type": "string", "format": "binary"}}}
    elif answer:
        one = {"type": "object"} if answer == "object" else _ref(answer)
        many = _object({list_name: {"type": "array", "items": _ref(item)}})
        good["content"] = {_JSON: {"schema": many if item else one}}
    refused = {str(code): {"$ref": "#/components/responses/refused"} for code in (*refusals, 401, 403, 421)}
    made: dict[str, Any] = {"summary": summary, "responses": {str(status): good, **refused}}
    text = {"type": "string"}
    asked = [(part, "path", text | {"pattern": f"^{known.pattern}$"}) for part, known in _PARTS.items() if part in path]
    asked += {"upload": [("name", "query", text)], "submit": [("Idempotency-Key", "header", text)]}.get(handler, [])
    if asked:
        made["parameters"] = [
            {"name": name.strip("{}"), "in": where, "required": where != "header", "schema": schema}
            for name, where, schema in asked
        ]
    body = {"upload": (_BYTES, text | {"format": "binary"}), "submit": (_JSON, _ref("JobRequest"))}
    if handler in body:
        made["requestBody"] = {"required": True, "content": {body[handler][0]: {"schema": body[handler][1]}}}
    return made


def _schemas() -> dict[str, Any]:
    """What is asked and answered."""
    answers = (About, Issue, Report, Job, StoredFile)
    _, found = msgspec.json.schema_components(answers, ref_template="#/components/schemas/{name}")
    job, file = found.pop("Job"), found.pop("StoredFile")
    for hidden in ("key", "bytes"):
        del job["properties"][hidden]
    del file["properties"]["suffix"]
    job["properties"] |= {
        "kind": {"enum": list(KINDS)}, "state": {"enum": list(STATES)},
        "progress": {"anyOf": [_ref("Progress"), {"type": "null"}]},
        "problems": {"type": "array", "items": _ref("Issue")},
    }  # fmt: skip
    file["properties"]["kind"] = {"enum": list(FILE_KINDS)}
    for one in (job, file):
        one["required"] = list(one["properties"])
    requests = [
        _object({"kind": {"const": name}, "params": kind.to_schema()}, additionalProperties=False)
        for name, kind in KINDS.items()
    ]
    for request in requests:  # parts that several kinds have are said once
        properties = request["properties"]["params"]["properties"]
        for part in [key for key, one in properties.items() if one.get("type") == "object"]:
            if found.setdefault(part.title(), properties[part]) == properties[part]:
                properties[part] = _ref(part.title())
    progress = found.pop("Report") | {"title": "Progress"}
    own = {"Error": _object({"error": {"type": "string"}}), "JobRequest": {"oneOf": requests}, "Progress": progress}
    return {**found, **own, "Job": job, "File": file}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n")
