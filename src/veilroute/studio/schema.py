"""Job kinds and the parameters that they take.

Whatever a client sends is checked against the tables here, key by key, before anything else sees it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from veilroute.base.checks import is_number, is_whole
from veilroute.base.errors import InvalidInputError
from veilroute.studio.files import KINDS

ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
RESULT = re.compile(r"[a-z0-9][a-z0-9-]{0,40}\.[a-z]{2,8}", re.ASCII)
REF = re.compile(rf"({ID.pattern})(?:/({RESULT.pattern}))?", re.ASCII)

LENGTH = re.compile(r"inf|[1-9][0-9]{0,7}", re.ASCII)

MOST_TEXT = 300  #: signs of a place, an address or a name
MOST_PLACES = 20_000

SOURCES = ("map", "scenario", "instance", "network", "osm", "table")
FORMATS = ("gpx", "geojson", "kml", "csv", "xlsx", "txt", "html", "pdf", "png", "svg")
PLANNERS = ("optimal", "pbp", "m-pbp", "cbp", "rbp")
PARTITIONERS = ("exact", "local-search", "merge-bb", "df-bb", "naive")


@dataclass(frozen=True)
class Field:
    """What a parameter may be; ``type`` is one of text, whole, number, length, flag, choice, ref, list, group."""

    type: str
    least: float = 0
    most: float = 1e12
    choices: tuple[str, ...] = ()
    item: "Field | None" = None  #: of a list
    fields: "Mapping[str, Field]" = field(default_factory=dict)  #: of a group
    is_needed: bool = False
    about: str = ""

    @property
    def expected(self) -> str:
        """What to say where something else came."""
        match self.type:
            case "text":
                return f"a text of 1 to {self.most:.0f} signs in one line" + (
                    "" if ";" in self.choices else " without semicolons"
                )
            case "whole":
                return f"a whole number from {self.least:g} to {self.most:g}"
            case "number":
                return f"a number from {self.least:g} to {self.most:g}"
            case "length":
                return "a whole number of nodes >= 1, or inf"
            case "flag":
                return "true or false"
            case "choice":
                return f"one of {', '.join(self.choices)}"
            case "ref":
                return "the id of a file, or JOB/NAME of a result"
            case "list":
                return f"a list of {self.least:g} to {self.most:g} values"
            case _:
                return "an object"

    def to_schema(self) -> dict[str, Any]:
        """The field as JSON Schema."""
        about = {"description": self.about} if self.about else {}
        match self.type:
            case "text":
                return {"type": "string", "minLength": 1, "maxLength": int(self.most), **about}
            case "whole":
                return {"type": "integer", "minimum": int(self.least), "maximum": int(self.most), **about}
            case "number":
                return {"type": "number", "minimum": self.least, "maximum": self.most, **about}
            case "length":
                text = {"type": "string", "pattern": f"^({LENGTH.pattern})$"}
                return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": int(self.most)}, text]}
            case "flag":
                return {"type": "boolean", **about}
            case "choice":
                return {"type": "string", "enum": list(self.choices), **about}
            case "ref":
                kinds = f"Kinds: {', '.join(self.choices)}."
                return {"type": "string", "pattern": f"^{REF.pattern}$", "description": kinds}
            case "list":
                assert self.item is not None
                bounds = {"minItems": int(self.least), "maxItems": int(self.most)}
                return {"type": "array", "items": self.item.to_schema(), **bounds, **about}
            case _:
                return group_schema(self.fields) | about


def group_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """An object with these fields as JSON Schema."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: one.to_schema() for name, one in fields.items()},
        "required": [name for name, one in fields.items() if one.is_needed],
    }


def _text(about: str = "", *, most: int = MOST_TEXT, is_needed: bool = False, any_sign: bool = False) -> Field:
    return Field("text", most=most, about=about, is_needed=is_needed, choices=(";",) if any_sign else ())


def _whole(least: int, most: int, about: str = "", *, is_needed: bool = False) -> Field:
    return Field("whole", least, most, about=about, is_needed=is_needed)


def _number(least: float, most: float, about: str = "") -> Field:
    return Field("number", least, most, about=about)


def _choice(*names: str, is_needed: bool = False) -> Field:
    return Field("choice", choices=names, is_needed=is_needed)


def _ref(*kinds: str, is_needed: bool = False) -> Field:
    return Field("ref", choices=kinds, is_needed=is_needed)


def _list(item: Field, most: int, about: str = "", *, least: int = 1, is_needed: bool = False) -> Field:
    return Field("list", least, most, item=item, about=about, is_needed=is_needed)


_MEASURE = _choice("cost", "driving", "walking", "straight")
_M = Field("length", most=99_999_999)
_SECONDS = _number(0.1, 86_400, "Seconds; the server has a bound of its own.")

OPTIONS: Mapping[str, Field] = {
    "start": _text("R,C on a grid; LAT,LON, id, name or address on streets."),
    "goal": _text(),
    "candidates": _list(_text(), MOST_PLACES, "The possible transit points, as start."),
    "random_candidates": _whole(1, 10_000),
    "places": _ref("table"),
    "prior": _ref("table"),
    "movement": _whole(4, 8, "4 or 8, on a .map."),
    "scenario": _whole(0, 10_000_000),
    "radius": _number(0, 1e9),
    "radius_measure": _MEASURE,
    "sight": _number(0, 1e9),
    "k": _whole(1, 1_000_000),
    "risk": _number(1e-9, 1),
    "ell": _number(0, 1e12),
    "ell_measure": _MEASURE,
    "m": _M,
    "spread": _choice("witness", "all-pairs"),
    "mechanism": _choice("partition", "randomised"),
    "seed": _whole(0, 2**31 - 1),
    "snap": _choice("door", "junction"),
    "side": _choice("any", "kerb"),
    "traffic": _choice("right", "left"),
    "origin": _text("LAT,LON of a grid's north-west corner."),
    "cell": _number(1e-3, 1e6, "Metres."),
}
"""What the page may say of an instance, as on the command line."""

_SOURCE = _ref(*SOURCES, is_needed=True)
_PLAYBOOK = _ref("playbook", is_needed=True)
_OPTIONS = Field("group", fields=OPTIONS)

JOB_KINDS: Mapping[str, Mapping[str, Field]] = {
    "open": {
        "source": _ref(*SOURCES, "playbook", is_needed=True),
        "network": _choice("drive", "truck", "cycle", "walk"),
        "cost": _choice("seconds", "metres"),
        "service": Field("flag"),
        "connected": Field("flag"),
        "movement": OPTIONS["movement"],
    },
    "plan": {
        "source": _SOURCE,
        "options": _OPTIONS,
        "planner": _choice(*PLANNERS),
        "partitioner": _choice(*PARTITIONERS),
        "objective": _choice("mac", "total"),
        "time_limit_s": _SECONDS,
        "contingencies": _text("Roads as 'A,B; C,D', or 'worst N'.", most=2000, any_sign=True),
        "ledger": _ref("ledger"),
    },
    "audit": {"playbook": _PLAYBOOK},
    "risk": {"playbook": _PLAYBOOK, "prior": _ref("table")},
    "frontier": {
        "source": _SOURCE,
        "options": _OPTIONS,
        "k": _list(OPTIONS["k"], 20),
        "risk": _list(OPTIONS["risk"], 20),
        "ell": _list(OPTIONS["ell"], 20),
        "m": _list(_M, 20),
        "mechanism": _choice("partition", "randomised", "both"),
        "time_limit_s": _SECONDS,
    },
    "replan": {
        "playbook": _PLAYBOOK,
        "class": _whole(1, 1_000_000, is_needed=True),
        "at": _text(is_needed=True),
        "position": _whole(0, 100_000_000),
        "trip": _whole(0, 1_000_000),
        "closed": _text("Roads as 'A,B; C,D'.", most=20_000, is_needed=True, any_sign=True),
        "choice": _choice("go-on", "give-up"),
    },
    "fleet": {
        "playbook": _PLAYBOOK,
        "touched": _list(_whole(1, 1_000_000), MOST_PLACES, "Class numbers, never orders.", is_needed=True),
        "vehicles": _whole(1, 10_000, is_needed=True),
        "capacity": _whole(1, 1_000_000_000),
        "customers": _ref("table"),
        "demand": _whole(1, 1_000_000_000),
        "service": _number(0, 1440, "Minutes."),
        "shift": _text("HH:MM, or minutes.", most=20),
        "depart": _text("HH:MM.", most=5),
        "speed": _number(0.01, 1000, "Kilometres per hour."),
        "iterations": _whole(0, 100_000),
        "seed": OPTIONS["seed"],
    },
    "linked": {
        "ledger": _ref("ledger", is_needed=True),
        "playbooks": _list(_ref("playbook"), 200, least=0),
        "since": _text("A day, as 2026-11-16.", most=10),
    },
    "export": {
        "playbook": _PLAYBOOK,
        "format": _choice(*FORMATS, is_needed=True),
        "trip": _whole(0, 1_000_000),
    },
}
"""The parameters of each kind of job."""

assert all(set(one.choices) <= set(KINDS) for kind in JOB_KINDS.values() for one in kind.values() if one.type == "ref")


def check_job(kind: object, params: object, kind_of: Callable[[str, str], str]) -> tuple[str, dict[str, Any]]:
    """The kind and parameters of a job as they came, or an error that names the field.

    Parameters
    ----------
    kind, params
        As a client sent them.
    kind_of
        Gives the kind of the file that a reference names; its first argument is the field, for the error.
    """
    if not isinstance(kind, str) or kind not in JOB_KINDS:
        raise InvalidInputError("kind", f"one of {', '.join(JOB_KINDS)}", kind)
    if not isinstance(params, dict):
        raise InvalidInputError("params", "an object", params)
    _check_group("params", JOB_KINDS[kind], params, kind_of)
    return kind, params


def _check_group(where: str, fields: Mapping[str, Field], given: Any, kind_of: Callable[[str, str], str]) -> None:
    if not isinstance(given, dict):
        raise InvalidInputError(where, "an object", given)
    for name in given:
        if name not in fields:
            raise InvalidInputError(where, f"no other keys than {', '.join(fields)}", name)
    for name, one in fields.items():
        if name in given:
            _check(f"{where}.{name}", one, given[name], kind_of)
        elif one.is_needed:
            raise InvalidInputError(f"{where}.{name}", one.expected, "nothing")


def _check(where: str, one: Field, value: Any, kind_of: Callable[[str, str], str]) -> None:
    match one.type:
        case "group":
            _check_group(where, one.fields, value, kind_of)
            return
        case "list":
            assert one.item is not None
            is_right = isinstance(value, list) and one.least <= len(value) <= one.most
            if is_right:
                for number, item in enumerate(value):
                    _check(f"{where}[{number}]", one.item, item, kind_of)
        case "text":
            is_right = (
                isinstance(value, str)
                and value.strip() != ""
                and len(value) <= one.most
                and value.isprintable()
                and (";" in one.choices or ";" not in value)
            )
        case "whole":
            is_right = is_whole(value, one.least, one.most)
        case "number":
            is_right = is_number(value, one.least, one.most)
        case "length":
            is_right = is_whole(value, 1, one.most) or (isinstance(value, str) and LENGTH.fullmatch(value) is not None)
        case "flag":
            is_right = isinstance(value, bool)
        case "choice":
            is_right = isinstance(value, str) and value in one.choices
        case _:
            is_right = isinstance(value, str) and REF.fullmatch(value) is not None
            if is_right and (kind := kind_of(where, value)) not in one.choices:
                raise InvalidInputError(where, f"a file of the kind {' or '.join(one.choices)}", kind)
    if not is_right:
        raise InvalidInputError(where, one.expected, value)


def refs_of(kind: str, params: Mapping[str, Any]) -> list[str]:
    """All references to files in checked parameters."""
    return _refs(JOB_KINDS[kind], params)


def _refs(fields: Mapping[str, Field], given: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in given.items():
        one = fields[name]
        if one.type == "ref":
            found.append(value)
        elif one.type == "list" and one.item is not None and one.item.type == "ref":
            found += value
        elif one.type == "group":
            found += _refs(one.fields, value)
    return found
