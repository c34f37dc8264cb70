"""Problem files: a request as TOML, with the same keys as the options; and where each value of a request came from."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from veilroute.app.requests import CALLER, FILE, OLD_KEYS, USUAL, PlanRequest, sections, values
from veilroute.base.errors import FileFormatError, InvalidInputError
from veilroute.base.io import read_bytes

_Request = TypeVar("_Request")
_ALSO_PATHS = ("places",)  #: texts that are paths; as lists they are something else
_TOP = "problem"  #: the part whose keys stand at the top of a file


@dataclass(frozen=True)
class Setting:
    """One key of a request: its value, and where that came from."""

    key: str  #: with its part, as ``privacy.k``
    value: Any
    origin: str  #: ``usual``, ``file`` or ``caller``


def is_problem_file(path: Path) -> bool:
    """Whether a file is a request, by its ending."""
    return path.suffix.lower() == ".toml"


def read_problem(path: Path, kind: type[_Request]) -> _Request:
    """Read a request from a problem file: paths in it are relative to it, and what only planning needs is left out."""
    try:
        data = tomllib.loads(read_bytes(path).decode("utf-8"))
    except ValueError as error:  # also of text that is not UTF-8, and of numbers with thousands of digits
        raise FileFormatError(path, f"this is no TOML: {error}") from None
    others = sections(PlanRequest).keys() - sections(kind).keys()
    try:
        return make_request({k: v for k, v in data.items() if k not in others}, kind, folder=path.parent)
    except InvalidInputError as error:
        raise FileFormatError(path, str(error), did_you_mean=getattr(error, "did_you_mean", ())) from None


def make_request(data: Mapping[str, Any], kind: type[_Request], *, folder: Path | None = None) -> _Request:
    """A request from nested data with the keys of a problem file: from TOML, or JSON of a page.

    An unknown key is an error that names the nearest known one. What has a wrong type is named by its key.
    """
    parts: dict[str, dict[str, Any]] = {name: {} for name in sections(kind)}
    for key, value in data.items():
        if isinstance(value, Mapping) and key in parts and key != _TOP:
            for inner, own in value.items():
                put(parts, key, inner, own)
        else:
            put(parts, _TOP, key, value)
    made = {name: _convert(name, given, sections(kind)[name], folder) for name, given in parts.items() if given}
    return kind(**made)


def put(parts: dict[str, dict[str, Any]], part: str, key: str, value: Any) -> None:
    """Put a value where its key belongs; older names of keys are understood."""
    parts[part][OLD_KEYS.get(key, key) if part != _TOP else key] = value


def override(request: _Request, given: Mapping[str, Any]) -> _Request:
    """The request with other values for some keys, which are named without their parts: ``k=3, places="a.csv"``."""
    kind = type(request)
    homes = homes_of(kind)
    changes: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        key = OLD_KEYS.get(name, name)
        if key not in homes:
            raise unknown_key(name, [*homes, *OLD_KEYS])
        changes.setdefault(homes[key], {})[key] = value
    for part, changed in changes.items():
        spec = getattr(request, part)
        made = _convert(part, changed, type(spec), None)
        request = replace(request, **{part: replace(spec, **{key: getattr(made, key) for key in changed})})  # type: ignore[type-var]
    return request


def overlay(below: _Request, above: _Request) -> _Request:
    """What the upper request says, and what the lower one says of everything else."""
    changed = {}
    for part, kind in sections(type(below)).items():
        usual, lower, upper = kind(), getattr(below, part), getattr(above, part)
        names = [each.name for each in fields(kind)]
        said = {name: getattr(upper, name) for name in names if getattr(upper, name) != getattr(usual, name)}
        changed[part] = replace(lower, **said)
    return replace(below, **changed)  # type: ignore[type-var]


def homes_of(kind: type) -> dict[str, str]:
    """The part of each key. Keys are unique over all parts but for ``file`` and ``options``, which say little alone."""
    return {each.name: part for part, own in sections(kind).items() for each in fields(own)}


def explain(request: Any, file: Any = None) -> list[Setting]:
    """Every key, its value, and where it came from: the caller, the problem file, or what is usual."""
    usual = type(request)()
    plain = {(part, key): value for part, key, value in values(usual)}
    said = {} if file is None else {(part, key): value for part, key, value in values(file)}
    found = []
    for part, key, value in values(request):
        origin = USUAL if value == plain[part, key] else FILE if said.get((part, key)) == value else CALLER
        found.append(Setting(key if part == _TOP else f"{part}.{key}", value, origin))
    return found


def problem_text(request: Any) -> str:
    """What a request says, as a problem file."""
    lines: list[str] = []
    for part, kind in sections(type(request)).items():
        usual, spec = kind(), getattr(request, part)
        said = {each.name: getattr(spec, each.name) for each in fields(kind)}
        said = {name: value for name, value in said.items() if value != getattr(usual, name)}
        if not said:
            continue
        if part != _TOP:
            lines += ["", f"[{part}]"]
        tables = {name: value for name, value in said.items() if isinstance(value, Mapping)}
        lines += [f"{name} = {_toml(value)}" for name, value in said.items() if name not in tables]
        for name, table in tables.items():
            lines += ["", f"[{part}.{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def unknown_key(name: str, known: Sequence[str]) -> InvalidInputError:
    """An error that names the nearest known key."""
    near = difflib.get_close_matches(name.rpartition(".")[2], known, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(sorted(set(known) - set(OLD_KEYS)))}"
    return InvalidInputError(name, f"a key that is known; {hint}", did_you_mean=tuple(near))


def _convert(part: str, given: Mapping[str, Any], kind: type, folder: Path | None) -> Any:
    """A part of a request from plain data."""
    hints = get_type_hints(kind)
    clean = {}
    for name, value in given.items():
        if name not in hints:
            raise unknown_key(name if part == _TOP else f"{part}.{name}", [*hints, *OLD_KEYS])
        allowed = get_args(hints[name]) or (hints[name],)
        if str in allowed and isinstance(value, int | float) and not isinstance(value, bool):
            value = f"{value!r}"  # apart = 8, until = 20 and time_limit = 60 need no quotes
        if (Path in allowed or name in _ALSO_PATHS) and isinstance(value, str | Path):
            path = Path(value) if folder is None else folder / value
            value = path if Path in allowed else str(path)
        clean[name] = value
    try:
        return msgspec.convert(clean, kind, dec_hook=_as_is)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        key = where.rstrip("`")
        raise InvalidInputError(key if part == _TOP else f"{part}.{key}", f"another value: {what}") from None


def _as_is(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    raise ValueError(f"expected a {kind.__name__}")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return msgspec.json.encode(str(value)).decode()  # a JSON text is a TOML text, but for control characters
