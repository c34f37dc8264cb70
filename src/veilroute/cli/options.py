"""From requests to options: each field of a request is an option, with the text below it as its help."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from cyclopts import App, Parameter

from veilroute.app.problem_file import is_problem_file, overlay, override, read_problem
from veilroute.app.requests import sections, texts_of
from veilroute.base.errors import InvalidInputError
from veilroute.cli.keys import heading, names_of

_Request = TypeVar("_Request")

#: What `plan` shows; everything else is a key of the problem file, and `plan --help-all` lists it.
SHOWN = {
    "Problem": ("map", "places", "candidates", "random_candidates", "start", "goal"),
    "Privacy": ("k", "apart", "until", "spread", "risk", "prior", "mechanism"),
    "Ledger": ("file", "enter"),
    "Method": ("planner", "time_limit", "workers", "seed"),
}
PlaybookArgument = Annotated[Path, Parameter(name="PLAYBOOK", help="A playbook made by `veilroute plan`.")]
DomainOption = Annotated[
    Path | None,
    Parameter(metavar="FILE", help="The map or instance file, when the playbook holds only its hash."),
]
MovementOption = Annotated[int, Parameter(metavar="4|8", help="Moves on the --domain map.")]
FileArgument = Annotated[
    Path, Parameter(name="PROBLEM", help="A problem file (.toml), a map (.osm.pbf, .map), a network or an instance.")
]


def out_option(text: str) -> Parameter:
    """The file to write."""
    return Parameter(name=("-o", "--out"), metavar="FILE", help=text)


SetOption = Annotated[
    tuple[str, ...] | None,
    Parameter(
        name="--set", negative=(), group=heading("Method"), help="KEY=VALUE for any key of a problem file; repeatable."
    ),
]


def takes_request(
    kind: type, *, shown: Mapping[str, Sequence[str]] | None = None, without: Sequence[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of a request; it is called with the request in place of them.

    Its help lists them where ``request`` is among its parameters. Options that are not ``shown`` are hidden there, and
    understood all the same. A key in ``without`` is left to the command itself. What the command takes without an
    option, such as PLAYBOOK, goes into the request as well, if that has a key of this name.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(command, eval_str=True).parameters
        kinds = sections(kind) | {"": kind}
        typed = [name for name in own if name in {each.name for each in fields(kind)} - kinds.keys()]
        added: dict[str, tuple[str, str]] = {}  # by the parameter: part and key
        parameters: list[inspect.Parameter] = []
        unfolded: list[inspect.Parameter] = []
        for part, spec in kinds.items():
            hints, texts = get_type_hints(spec), texts_of(spec)
            for each in sorted(fields(spec), key=lambda each: each.name not in spec.__annotations__):  # its own first
                if each.name in (*without, *typed) or (each.name in kinds and not part):
                    continue
                group = next((name for name, keys in (shown or {}).items() if each.name in keys), None)
                name = each.name if part != "ledger" or each.name != "file" else "ledger"
                is_shown = shown is None or group is not None
                about = (part, name, hints[each.name], texts[each.name])
                parameters.append(_parameter(*about, group, is_shown=is_shown))
                unfolded.append(_parameter(*about, group or ("More" if part else None), is_shown=True))
                added[name] = (part, each.name)

        def run(*files: Path, **given: Any) -> int:
            asked: dict[str, dict[str, Any]] = {"": dict(zip(typed, files, strict=False))}
            for name, (part, key) in added.items():
                value = given.pop(name, None)
                if value is not None and value is not False:
                    asked.setdefault(part, {})[key] = _value(key, value)
            flat = asked.pop("")
            for each in fields(kind):
                is_needed = each.default is MISSING and each.default_factory is MISSING
                if is_needed and each.name not in flat and each.name in added:
                    raise InvalidInputError(each.name, "this option, which is needed")
            request = kind(**flat, **{part: kinds[part](**values) for part, values in asked.items()})
            return command(*files, request=request, **given)

        at = [*own].index("request")
        front, rest = [*own.values()][:at], [*own.values()][at + 1 :]
        _sign(run, command, [*front, *parameters, *rest])

        def help_all(*files: Path, **given: Any) -> int:
            return run(*files, **given)

        _sign(help_all, command, [*front, *unfolded, *map(_unhidden, rest)])
        run.help_all = help_all  # type: ignore[attr-defined]
        return run

    return decorate


def _sign(made: Callable[..., int], command: Callable[..., int], parameters: Sequence[inspect.Parameter]) -> None:
    """Let a function look like a command with these parameters, for what reads its signature."""
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    made.__doc__, made.__name__, made.__module__ = command.__doc__, command.__name__, command.__module__


def _unhidden(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same option, shown in help."""
    kind, *about = get_args(parameter.annotation) or (parameter.annotation,)
    shown = [Parameter.combine(each, Parameter(show=True)) if isinstance(each, Parameter) else each for each in about]
    return parameter.replace(annotation=Annotated[kind, *shown] if shown else kind)


def _parameter(part: str, name: str, hint: Any, text: str, group: str | None, *, is_shown: bool) -> inspect.Parameter:
    bare = (get_args(hint) or (hint,))[0]
    kind: Any = bool
    if bare is not bool:
        kind = (Path if name == "places" else bare if bare in (int, float, Path) else str) | None
    default: Any = False if hint is bool else None
    if name == "options":
        kind, default = tuple[str, ...] | None, None
    grouped: dict[str, Any] = {} if group is None else {"group": heading(group)}
    about = Parameter(
        name=("--option",) if name == "options" else names_of(name, part),
        help=text.replace("\n", " "),
        show=is_shown,
        show_default=False,
        allow_leading_hyphen=bool(kind == (str | None)),
        negative=(),
        **grouped,
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


def _value(key: str, value: Any) -> Any:
    return read_options(value) if key == "options" else str(value) if key == "places" else value


def read_options(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE as it is typed: whole numbers, numbers, yes and no, or text."""
    from veilroute.base.registry import read_option

    found: dict[str, Any] = {}
    for name, value in map(read_option, texts):
        if name in found:
            raise InvalidInputError("--option", f"{name} only once", value)
        found[name] = value
    return found


def complete(
    request: _Request, files: Sequence[Path], settings: Sequence[str] | None = None
) -> tuple[_Request, _Request | None]:
    """The whole request: what was typed, over ``--set``, over the problem file; and what that file says."""
    said = None
    if settings:
        request = overlay(override(type(request)(), dict(map(_read_setting, settings))), request)
    if files and is_problem_file(files[0]):
        said = read_problem(files[0], type(request))
        return overlay(said, request), said
    if files:
        request = overlay(override(type(request)(), {"map": files[0]}), request)
    return request, None


def _read_setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE with any key of a problem file, with its part or without; the value as TOML has it, or else as text."""
    key, equals, written = text.partition("=")
    if not equals:
        raise InvalidInputError("--set", "KEY=VALUE, such as --set partitioner=merge-bb", text)
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except ValueError:
        value = written.strip()
    return key.strip().rpartition(".")[2], value


def group(name: str, text: str = "") -> App:
    """A command, or several under one name."""
    return App(
        name=name if name == "veilroute" else f"veilroute {name}",
        help=text or None,
        default_parameter=Parameter(negative=(), show_default=False, allow_repeating=True),
        version_flags=(),
        help_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
