"""Methods by name: those that veilroute has, and those that installed packages add to them (plug-ins).

A package offers plug-ins as entry points, each in the group of its kind: ``veilroute.planners``, ``.partitioners``,
``.merge_orders`` or ``.heuristics``. What function each names is in docs/plugins. Those of the last two are called in
the innermost loops: numba compiles them, and for each a search of its own.

Installed packages are looked through only for a name that is not built in, and a plug-in is imported only when it is
asked for by its name. So a run without plug-ins does not wait for them, and a broken one stops no other. A plug-in
never takes the place of a built-in method, and of two with one name neither is taken. It runs with all rights of the
user who runs veilroute; the auditor imports nothing from here.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from veilroute.base.errors import InvalidInputError, PluginError, UnknownMethodError, VeilrouteError
from veilroute.base.io import parse_json

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

Value = TypeVar("Value")
Plain = str | int | float | bool | None  #: what an option may be to be kept in a playbook and in records
_TAKEN = ("problem", "privacy", "planner", "time_limit_s", "progress", "should_stop", "seed", "watch")
"""Names that mean something else to who calls a planner, and that no option of a plug-in can have."""


@dataclass(frozen=True)
class Plugin:
    """What an entry point has given: the kind and name that it was asked for by, its package, and the object."""

    kind: str
    name: str
    package: str
    value: Any

    def error(self, trouble: str) -> PluginError:
        """What is wrong with it, in one line that names the package."""
        return PluginError(f"{self.kind} {self.name} of the package {self.package}: {trouble}")

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with what it raises told in one line that names the package."""

        @wraps(function)
        def guarded(*given: Any, **options: Any) -> Any:
            try:
                return function(*given, **options)
            except (VeilrouteError, MemoryError):
                raise
            except (Exception, SystemExit) as error:
                raise self.error(f"failed with {type(error).__name__}: {error}") from error

        return guarded

    def check_members(self, groups: Iterable[Sequence[int]], num: int) -> None:
        """Refuse classes, and those who are left out, that do not hold each of ``num`` members once."""
        if sorted(member for group in groups for member in group) != list(range(num)):
            raise self.error("expected each member in one class, or left out")

    def to_entry(self, result: type) -> Entry:
        """The entry of a planner or partitioner: its options are its keyword-only parameters but `seed` and `watch`."""
        try:
            parameters = inspect.signature(self.value).parameters.values()
        except (TypeError, ValueError):
            raise self.error("expected a function") from None
        own = [one for one in parameters if one.kind == one.KEYWORD_ONLY and one.name not in ("seed", "watch")]
        if any(one.kind == one.VAR_KEYWORD or (one in own and one.default is one.empty) for one in parameters):
            raise self.error("expected each option as a parameter of its own, with a default, and no **options")
        if any(one.name in _TAKEN for one in own):
            raise self.error(f"expected options with other names than {', '.join(_TAKEN)}")
        run = self.guard(self.value)

        @wraps(self.value)
        def checked(*given: Any, **options: Any) -> Any:
            outcome = run(*given, **options)
            if not isinstance(outcome, result):
                raise self.error(f"expected to be given a {result.__name__}, got {type(outcome).__name__}")
            return outcome

        defaults = {one.name: one.default for one in own}
        return Entry(checked, tuple(defaults), defaults)


@dataclass(frozen=True)
class Entry:
    """A planner or a partitioner."""

    #: Its function, or ``module:function`` for one that is imported when it is first wanted.
    home: Callable[..., Any] | str
    options: tuple[str, ...] = ()  #: the names of its own options
    #: What a plug-in's options are when they are not given.
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def function(self) -> Callable[..., Any]:
        """What to call."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        return cast(Callable[..., Any], getattr(import_module(module), name))

    def record(self, options: Mapping[str, object]) -> dict[str, object]:
        """The options of a run for its record: those given, and a plug-in's defaults; nothing but plain values."""
        return {name: value for name, value in {**self.defaults, **options}.items() if isinstance(value, Plain)}


class Registry(dict[str, Value]):
    """The methods of one kind: it holds the built-in ones, and looks for plug-ins when it is asked for another name.

    Messages call it by its ``kind``. Plug-ins come from the entry points of a ``group``; ``adapt`` makes an entry of
    one, or raises its error.
    """

    def __init__(self, kind: str, group: str, adapt: Callable[[Plugin], Value], built_in: Mapping[str, Value]) -> None:
        super().__init__(built_in)
        self.kind, self.group, self._adapt = kind, group, adapt
        self._loaded: dict[str, Value] = {}
        self._prints: dict[str, dict[str, str]] = {}

    def find(self, name: object) -> Value:
        """The method of this name, built in or from the one package that offers it."""
        known = {**self, **self._loaded}
        if isinstance(name, str) and name in known:
            return known[name]
        names = self.plugin_names()
        if not isinstance(name, str) or name not in names:
            raise UnknownMethodError(self.kind, name, (*self, *names))
        return self._loaded.setdefault(name, self._load(name))

    def fingerprint(self, name: str, *, as_loaded: bool = False) -> dict[str, str]:
        """Which plug-in a name stands for: package, version and the hash of its source; empty if none has this name.

        That is what is installed now, and nothing is imported to find it. With ``as_loaded`` it is what was installed
        when this process imported the plug-in, or another one of that module: the code that this process runs.
        """
        if as_loaded and name in self._loaded:
            return self._prints[name]
        points = () if name in self else self._offers()
        take = _as_imported if as_loaded else _fingerprint
        return next((take(point) for _, point in points if point.name == name), {})

    def plugin_names(self) -> tuple[str, ...]:
        """The names that installed packages offer, without importing any of them."""
        return tuple(sorted({point.name for _, point in self._offers() if point.name not in self}))

    def _offers(self) -> Iterator[tuple[str, EntryPoint]]:
        from importlib.metadata import distributions  # a tenth of a second, for plug-ins only

        seen = set()
        for package in distributions():
            # What is wrong with one package's files must not keep the others from being found.
            try:
                name, points = str(package.name), package.entry_points.select(group=self.group)
            except Exception:
                continue
            if name not in seen:  # of two on the path, Python would import the first
                seen.add(name)
                yield from ((name, point) for point in points)

    def _load(self, name: str) -> Value:
        offers = list(self._offers())
        packages = [package for package, point in offers if point.name == name]
        if len(packages) > 1:
            raise PluginError(f"{self.kind} {name}: the packages {' and '.join(packages)} offer it; remove all but one")
        for package, point in offers:
            if package == packages[0] and point.name in self:
                raise PluginError(
                    f"the package {package} offers a {self.kind} called {point.name}, which is built in and cannot be "
                    "replaced; nothing of this kind is taken from it until it has another name"
                )
        (point,) = (point for _, point in offers if point.name == name)
        plugin, found = Plugin(self.kind, name, packages[0], None), _as_imported(point)
        try:
            plugin = replace(plugin, value=point.load())
        except (Exception, SystemExit) as error:
            raise plugin.error(f"cannot be imported, {type(error).__name__}: {error}") from error
        self._prints[name] = _IMPORTED[packages[0], _top_module(point)] = found
        if not callable(plugin.value):
            raise plugin.error("expected a function")
        return self._adapt(plugin)


#: By package and top-level module, of which there may be several plug-ins: what was installed when it was imported.
_IMPORTED: dict[tuple[str, str], dict[str, str]] = {}


def _top_module(point: EntryPoint) -> str:
    return point.module.partition(".")[0]


def _as_imported(point: EntryPoint) -> dict[str, str]:
    """The fingerprint of when this process imported the module of an entry point, or that of now if it has not."""
    found = _fingerprint(point)
    is_imported = _top_module(point) in sys.modules
    return _IMPORTED.get((found.get("package", ""), _top_module(point)), found) if is_imported else found


def _fingerprint(point: EntryPoint) -> dict[str, str]:
    """Package, version and the SHA-256 of the names and contents of the source files behind an entry point.

    These are all ``.py`` files that the package has listed as installed, if the entry point's module is among them.
    Otherwise (an editable install) they are those in the module's package, at all levels, or beside a module that is in
    no package. Without any such file the hash is empty.
    """
    digest, package = hashlib.sha256(), point.dist
    if package is None:
        return {}
    try:
        files = _source_files(_top_module(point), package)
    except Exception:  # a finder of the package's own, or metadata that cannot be read, must stop nobody
        files = {}
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    sha256 = digest.hexdigest() if files else ""
    return {"package": str(package.name), "version": str(package.version), "sha256": sha256}


def _source_files(module: str, package: Distribution) -> dict[str, bytes]:
    """The source of a top-level module: files by their names, which do not depend on where they are installed."""
    spec = find_spec(module)
    if spec is None:
        return {}
    roots = [Path(each).resolve() for each in spec.submodule_search_locations or filter(None, [spec.origin])]
    listed = {str(each): Path(str(each.locate())).resolve() for each in package.files or () if each.suffix == ".py"}
    if any(path.is_relative_to(root) for path in listed.values() for root in roots):
        found = listed
    elif spec.submodule_search_locations is None:
        found = {path.name: path for root in roots for path in root.parent.glob("*.py")}
    else:
        found = {f"{module}/{path.relative_to(root).as_posix()}": path for root in roots for path in root.rglob("*.py")}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file()}


def check_options(methods: Registry[Entry], name: str, given: Iterable[str], taken: Sequence[str]) -> None:
    """Refuse options that a method does not take, and say which of the built-in ones do."""
    for option in given:
        if option not in taken:
            others = ", ".join(each for each, entry in methods.items() if option in entry.options)
            wanted = f"a {methods.kind} that has this option{f' ({others})' * bool(others)}"
            raise InvalidInputError(option, f"{wanted}; {name} takes {', '.join(taken) or 'no options'}")


def read_option(text: str) -> tuple[str, Plain]:
    """An option as it is written on a command line, ``NAME=VALUE``; the value as JSON has it, or else as text."""
    name, equals, written = text.partition("=")
    if not equals or not name.isidentifier() or name in _TAKEN:
        raise InvalidInputError("option", "NAME=VALUE, for an option of a planner or partitioner", text)
    try:
        value = parse_json(written.encode(), name)
    except InvalidInputError:
        return name, written
    return name, value if isinstance(value, Plain) else written
