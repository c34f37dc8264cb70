"""From a file and options to a problem: what `plan` and `convert` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from veilroute.domain.generate import draw_candidates
from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label
from veilroute.domain.visibility import AtNode, LineOfSight, Visibility, WithinDistance
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.formats import Instance, read_instance, read_movingai, read_scenarios
from veilroute.problem import Privacy, Problem, Trip

FORMATS = (".in", ".json", ".map", ".scen")

FileArgument = Annotated[Path, typer.Argument(metavar="INSTANCE", help="An .in, .json, .map or .scen file.")]


@dataclass(frozen=True)
class InstanceOptions:
    """Options that complete or override what an instance file says; ``None`` where not given."""

    start: Annotated[str | None, typer.Option(metavar="R,C", help="Where the trip starts.")] = None
    goal: Annotated[str | None, typer.Option(metavar="R,C", help="Where it ends.")] = None
    candidates: Annotated[str | None, typer.Option(metavar="'R,C R,C ...'", help="The possible transit points.")] = None
    random_candidates: Annotated[
        int | None, typer.Option(metavar="N", help="Draw N candidates with the seed instead.")
    ] = None
    movement: Annotated[int | None, typer.Option(metavar="4|8", help="Moves on a .map: 4-way (default) or 8-way.")] = (
        None
    )
    scenario: Annotated[int, typer.Option(metavar="N", help="Which line of a .scen file, from 0.")] = 0
    radius: Annotated[float | None, typer.Option(help="Walking distance from which a candidate is seen. [0]")] = None
    sight: Annotated[float | None, typer.Option(metavar="RANGE", help="See by line of sight instead (grids).")] = None
    k: Annotated[int | None, typer.Option("-k", help="How many candidates must stay possible. [2]")] = None
    ell: Annotated[float | None, typer.Option(help="How far apart they must stand. [1]")] = None
    m: Annotated[str | None, typer.Option(metavar="INT|inf", help="For how many nodes of the route. [inf]")] = None
    spread: Annotated[str | None, typer.Option(metavar="witness|all-pairs", help="Reading of ell. [witness]")] = None
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0


def takes_instance_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of :class:`InstanceOptions` on the command line, as its parameter ``options``."""
    kinds = get_type_hints(InstanceOptions, include_extras=True)
    own = {name: p for name, p in inspect.signature(command, eval_str=True).parameters.items() if name != "options"}
    shared = {
        f.name: inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=kinds[f.name])
        for f in fields(InstanceOptions)
    }

    @wraps(command)
    def run(**given: Any) -> int:
        options = InstanceOptions(**{name: given.pop(name) for name in shared})
        return command(options=options, **given)

    parameters = {**shared, **own}
    # What typer reads to build the options.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters.values()], return_annotation=int
    )
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()} | {"return": int}
    return run


def load_instance(path: Path, options: InstanceOptions) -> Instance:
    """Read an instance in any format and apply the options."""
    path = _locate(path)
    match path.suffix:
        case ".map":
            domain = read_movingai(path, movement=options.movement or 4)
            return _complete(domain, None, None, AtNode(), Privacy(), options)
        case ".scen":
            domain, trip = _read_scenario(path, options)
            return _complete(domain, trip, None, AtNode(), Privacy(), options)
        case ".json" | ".in":
            if options.movement is not None:
                raise InvalidInputError("--movement", "a .map or .scen file; other instances state their own edges")
            given = read_instance(path)
            problem = given.problem
            first = problem.trips[0]
            if len(problem.trips) > 1:
                _refuse_with_several_trips(options)
            completed = _complete(problem.domain, first, problem.candidates, problem.visibility, given.privacy, options)
            if len(problem.trips) == 1:
                return completed
            done = completed.problem
            return Instance(
                Problem(done.domain, problem.trips, done.candidates, done.visibility, done.names), completed.privacy
            )
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), FORMATS)


def _refuse_with_several_trips(options: InstanceOptions) -> None:
    for name in ("start", "goal", "random_candidates"):
        if getattr(options, name) is not None:
            option = "--" + name.replace("_", "-")
            raise InvalidInputError(option, "an instance with one trip; edit the file, which has several")


def _locate(path: Path) -> Path:
    """The file itself, or the benchmark map of that name in the user's cache."""
    if path.exists() or path.suffix not in (".map", ".scen") or path.parent != Path():
        return path
    # Here, because the downloader that comes along is not needed for files that are there.
    from veilroute.maps import MapStore

    return MapStore().find(path.name)


def _read_scenario(path: Path, options: InstanceOptions) -> tuple[Domain, Trip]:
    scenarios = read_scenarios(path)
    if not 0 <= options.scenario < len(scenarios):
        raise InvalidInputError("--scenario", f"a number from 0 to {len(scenarios) - 1}", options.scenario)
    scenario = scenarios[options.scenario]
    beside = path.parent / scenario.map_name
    domain = read_movingai(
        beside if beside.exists() else _locate(Path(scenario.map_name)), movement=options.movement or 4
    )
    return domain, Trip(scenario.start, scenario.goal)


def _complete(
    domain: Domain,
    trip: Trip | None,
    candidates: Sequence[Label] | None,
    visibility: Visibility,
    privacy: Privacy,
    options: InstanceOptions,
) -> Instance:
    start = domain.parse_label(options.start, field="--start") if options.start else trip and trip.start
    goal = domain.parse_label(options.goal, field="--goal") if options.goal else trip and trip.goal
    for name, value in (("--start", start), ("--goal", goal)):
        if value is None:
            raise InvalidInputError(name, f"a cell such as {name} 3,4: the file does not say where the trip goes")
        domain.node(value, field=name)
    chosen = _candidates(domain, start, goal, candidates, options)
    weight = 1.0 if trip is None else trip.weight
    problem = Problem(domain, [Trip(start, goal, weight)], chosen, _visibility(visibility, options))
    return Instance(problem, _privacy(privacy, options))


def _candidates(
    domain: Domain,
    start: Label,
    goal: Label,
    given: Sequence[Label] | None,
    options: InstanceOptions,
) -> list[Label]:
    if options.candidates is not None and options.random_candidates is not None:
        raise InvalidInputError("--candidates", "either --candidates or --random-candidates, not both")
    if options.candidates is not None:
        labels = [domain.parse_label(word, field="--candidates") for word in options.candidates.split()]
        for label in labels:
            domain.node(label, field="--candidates")
        return labels
    if options.random_candidates is not None:
        return draw_candidates(domain, start, goal, options.random_candidates, seed=options.seed)
    if given is None:
        raise InvalidInputError(
            "--candidates", 'the possible transit points as "R,C R,C ...", or --random-candidates N'
        )
    return list(given)


def _visibility(given: Visibility, options: InstanceOptions) -> Visibility:
    if options.radius is not None and options.sight is not None:
        raise InvalidInputError("--radius", "either --radius or --sight, not both")
    if options.sight is not None:
        return LineOfSight(options.sight)
    if options.radius is not None:
        return WithinDistance(options.radius) if options.radius else AtNode()
    return given


def _privacy(given: Privacy, options: InstanceOptions) -> Privacy:
    changes = {name: value for name in ("k", "ell", "spread") if (value := getattr(options, name)) is not None}
    if options.m is not None:
        changes["m"] = _parse_m(options.m)
    return replace(given, **changes)


def _parse_m(text: str) -> int | None:
    if text == "inf":
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError("--m", "a whole number >= 1, or inf", text) from None
