"""From a file and options to a problem: what `plan` and `convert` share.

Where a trip starts and ends and what its candidates are: from options, a file of places and the instance.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from veilroute.cli.console import remark
from veilroute.domain.generate import draw_candidates
from veilroute.domain.geography import check_measurable, check_measure
from veilroute.domain.graph import Domain, Label, label_text
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, Visibility, WithinDistance
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.formats import Instance, read_instance, read_movingai, read_scenarios
from veilroute.formats.instance import UNSTATED, with_measure
from veilroute.jsontext import read_bytes
from veilroute.playbook import Playbook
from veilroute.problem import Privacy, Problem, Trip
from veilroute.streets.places import (
    FAR_M,
    Located,
    Place,
    check_distinct,
    check_joined,
    check_way,
    example_text,
    locate,
)


@dataclass(frozen=True)
class TripPlaces:
    """The places of a problem.

    Parameters
    ----------
    start, goal
        Ends of the trip; of the first one where there are several.
    candidates
        The possible transit points.
    names
        What people call some of these.
    remarks
        What to tell the user, one line each, once nothing else is wrong.
    """

    start: Label
    goal: Label
    candidates: list[Label]
    names: dict[Label, str]
    remarks: list[str]


def find_trip_places(
    domain: Domain,
    trips: Sequence[Trip],
    candidates: Sequence[Label] | None,
    names: Mapping[Label, str],
    options: InstanceOptions,
    *,
    is_seen_along_streets: bool,
) -> TripPlaces:
    """Start, goal and candidates: as the options say, else the file of places, else the instance.

    Parameters
    ----------
    domain
        The world.
    trips, candidates, names
        What the instance says; no trips and ``None`` where it says nothing.
    options
        What was typed.
    is_seen_along_streets
        Whether a candidate on another part of the network can never be seen.
    """
    finder = _Finder(domain, names, options)
    start, goal = finder.end("start", trips), finder.end("goal", trips)
    if finder.typed and domain.streets is not None:
        check_way(domain, start, goal)
    typed_ends = list(finder.typed)
    stops = finder.candidates(candidates, start, goal)
    typed_stops = finder.typed[len(typed_ends) :]
    if domain.streets is not None:
        check_distinct(start, goal, typed_stops)
        if is_seen_along_streets:
            check_joined(domain, start, typed_stops)
    called = {place.label: place.name for place in reversed([start, goal, *stops]) if place.name is not None}
    ordered = {place.label: called[place.label] for place in (start, goal, *stops) if place.label in called}
    remarks = [place.warning for place in finder.typed if place.warning is not None]
    return TripPlaces(
        start.label,
        goal.label,
        [place.label for place in stops],
        ordered | {label: name for label, name in names.items() if label not in ordered},
        list(dict.fromkeys(remarks)),
    )


class _Finder:
    """Finds places, and remembers those that were typed or listed and not taken from the instance."""

    def __init__(self, domain: Domain, names: Mapping[Label, str], options: InstanceOptions) -> None:
        if not 0 <= options.snap_warning < math.inf:
            raise InvalidInputError("--snap-warning", "a finite number of metres >= 0", options.snap_warning)
        self.domain, self.names, self.options = domain, names, options
        self.listed = _listed(options)
        self.known = [*self.listed, *(Place(name, node=label_text(label)) for label, name in names.items())]
        self.typed: list[Located] = []

    def end(self, role: str, trips: Sequence[Trip]) -> Located:
        """The start or the goal."""
        option = f"--{role}"
        listed = next((place for place in self.listed if place.role == role), None)
        wanted: str | Place | None = getattr(self.options, role) or listed
        if wanted is not None:
            if len(trips) > 1:
                several = "an instance with one trip; edit the file, which has several"
                raise InvalidInputError(wanted.origin if isinstance(wanted, Place) else option, several)
            return self.find(wanted, option)
        if trips:
            label = getattr(trips[0], role)
            self.domain.node(label, field=option)
            return self.from_instance(label, f"trip.{role}")
        kind = "cell" if self.domain.grid is not None else "node" if self.domain.streets is None else "place"
        example = f"a {kind} such as {option} {example_text(self.domain)}"
        raise InvalidInputError(option, f"{example}: the file does not say where the trip goes")

    def candidates(self, given: Sequence[Label] | None, start: Located, goal: Located) -> list[Located]:
        """The candidates; a listed place that is the start or the goal is none."""
        options = self.options
        if options.candidates is not None and options.random_candidates is not None:
            raise InvalidInputError("--candidates", "either --candidates or --random-candidates, not both")
        if options.candidates is not None:
            return [self.find(text, "--candidates") for text in self.split(options.candidates)]
        if options.random_candidates is not None:
            drawn = draw_candidates(self.domain, start.label, goal.label, options.random_candidates, seed=options.seed)
            return [self.from_instance(label, "--random-candidates") for label in drawn]
        ends = {place.name for place in (start, goal)} - {None}
        listed = [place for place in self.listed if place.role == "candidate" and place.name not in ends]
        if listed:
            return [self.find(place, "--places") for place in listed]
        if given is None:
            sample = '"LAT,LON LAT,LON ..." or --places FILE' if self.domain.streets is not None else '"R,C R,C ..."'
            raise InvalidInputError(
                "--candidates", f"the possible transit points as {sample}, or --random-candidates N"
            )
        return [self.from_instance(label, "candidates") for label in given]

    def split(self, text: str) -> list[str]:
        """The parts of a list of places: separated by spaces, on street networks by semicolons if there are any."""
        if self.domain.streets is None:
            return text.split()
        if ";" in text:
            return [part for part in text.split(";") if part.strip()]
        return re.sub(r"\s*,\s*", ",", text).split()

    def find(self, place: str | Place, field: str) -> Located:
        """A place that was typed or listed."""
        far_m = self.options.snap_warning
        found = locate(self.domain, place, field=field, far_m=far_m, places=self.known)
        self.typed.append(found)
        return found

    def from_instance(self, label: Label, field: str) -> Located:
        """A node that is known already."""
        return Located(label, self.names.get(label) or label_text(label), self.names.get(label), origin=field)


def _listed(options: InstanceOptions) -> list[Place]:
    if options.places is None:
        return []
    # Here, because most commands have no such file.
    from veilroute.formats.tables import read_places

    return read_places(options.places)


NETWORKS = (".npz", ".graphml", ".gr", ".csv")
_MAYBE_NETWORKS = (*NETWORKS, ".gz", ".osm", ".pbf", ".bz2")  # the reader of networks knows what to say about these
FORMATS = (".in", ".json", ".map", ".scen", *NETWORKS)

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="INSTANCE", help="An .in, .json, .map or .scen file, or a street network (.json, .npz, .graphml, ...)."
    ),
]


@dataclass(frozen=True)
class InstanceOptions:
    """Options that complete or override what an instance file says; ``None`` where not given."""

    start: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Where the trip starts: R,C on a grid; LAT,LON, id or name on streets."),
    ] = None
    goal: Annotated[str | None, typer.Option(metavar="PLACE", help="Where it ends.")] = None
    candidates: Annotated[
        str | None, typer.Option(metavar="'PLACE PLACE ...'", help="The possible transit points.")
    ] = None
    random_candidates: Annotated[
        int | None, typer.Option(metavar="N", help="Draw N candidates with the seed instead.")
    ] = None
    places: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Named points, .csv or .geojson: candidates, start, goal.")
    ] = None
    snap_warning: Annotated[
        float, typer.Option(metavar="METRES", help="Warn when the nearest junction is further than this.")
    ] = FAR_M
    movement: Annotated[int | None, typer.Option(metavar="4|8", help="Moves on a .map: 4-way (default) or 8-way.")] = (
        None
    )
    scenario: Annotated[int, typer.Option(metavar="N", help="Which line of a .scen file, from 0.")] = 0
    radius: Annotated[float | None, typer.Option(help="Walking distance from which a candidate is seen. [0]")] = None
    radius_measure: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="cost; or metres: driving, walking or straight, on streets. [cost]"),
    ] = None
    sight: Annotated[float | None, typer.Option(metavar="RANGE", help="See by line of sight instead (grids).")] = None
    k: Annotated[int | None, typer.Option("-k", help="How many candidates must stay possible. [2]")] = None
    ell: Annotated[float | None, typer.Option(help="How far apart they must stand. [1]")] = None
    ell_measure: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="cost; or metres: driving, walking or straight, on streets. [cost]"),
    ] = None
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


@dataclass(frozen=True)
class _Given:
    """What a file says."""

    domain: Domain
    trips: Sequence[Trip] = ()
    candidates: Sequence[Label] | None = None
    visibility: Visibility = field(default_factory=AtNode)
    privacy: Privacy = field(default_factory=Privacy)
    names: Mapping[Label, str] = field(default_factory=dict)
    unstated: frozenset[str] = UNSTATED


def load_instance(path: Path, options: InstanceOptions, earlier: Playbook | None = None) -> Instance:
    """Read an instance in any format and apply the options; remarks about places go to standard error.

    Where neither options nor file say what the candidates are, they are those of an ``earlier`` playbook, and so are
    names that neither gives.
    """
    given = _read(_locate(path), options)
    if earlier is not None:
        given = _with_earlier(given, earlier, is_open=given.candidates is None and options.places is None)
    return _complete(given, options)


def _with_earlier(given: _Given, earlier: Playbook, *, is_open: bool) -> _Given:
    """With the candidates of an earlier playbook where they are open, and its names, as this map calls its nodes."""
    # Here, because the planner brings the compiled kernels, which other commands do without.
    from veilroute.planners.reuse import find_again

    try:
        now = find_again(earlier, given.domain, given.names)
    except InvalidInputError:
        if is_open:
            raise
        now = {}  # the planner looks again, when the names in the file of places are known
    known = [label for label in earlier.candidates if label in now]
    if is_open and len(known) < len(earlier.candidates):
        num = len(earlier.candidates) - len(known)
        remark(f"not on this map, and so left out: {num} of the earlier candidates")
    names = {now[label]: name for label, name in earlier.names.items() if label in now}
    return replace(
        given,
        candidates=[now[label] for label in known] if is_open else given.candidates,
        names={label: name for label, name in names.items() if given.domain.has_label(label)} | dict(given.names),
    )


def _read(path: Path, options: InstanceOptions) -> _Given:
    match path.suffix:
        case ".map":
            return _Given(read_movingai(path, movement=options.movement or 4))
        case ".scen":
            domain, trip = _read_scenario(path, options)
            return _Given(domain, [trip])
        case ".json" | ".in" | ".npz" | ".graphml" | ".gr" | ".csv" | ".gz" | ".osm" | ".pbf" | ".bz2":
            if options.movement is not None:
                raise InvalidInputError("--movement", "a .map or .scen file; other instances state their own edges")
            if _is_network(path):
                # Here, because the readers of street networks take a while to load.
                from veilroute.formats.network import read_network

                return _Given(read_network(path))
            given = read_instance(path)
            problem = given.problem
            if len(problem.trips) > 1 and options.random_candidates is not None:
                several = "an instance with one trip; edit the file, which has several"
                raise InvalidInputError("--random-candidates", several)
            return _Given(
                problem.domain,
                problem.trips,
                problem.candidates,
                problem.visibility,
                given.privacy,
                problem.names,
                given.unstated,
            )
        case suffix:
            raise UnknownMethodError("instance format", suffix or str(path), FORMATS)


def _is_network(path: Path) -> bool:
    """Whether a file is a street network, which says nothing of trips and candidates."""
    if path.suffix != ".json":
        return path.suffix in _MAYBE_NETWORKS
    # The word is looked for as it is, because parsing a large network twice would take longer than planning on it.
    raw = read_bytes(path)
    return b'"veilroute-network/' in raw and b'"veilroute-instance/' not in raw


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


def _complete(given: _Given, options: InstanceOptions) -> Instance:
    visibility, privacy = _visibility(given.visibility, options), _privacy(given, options)
    found = find_trip_places(
        given.domain,
        given.trips,
        given.candidates,
        given.names,
        options,
        is_seen_along_streets=not _is_seen_from_anywhere(visibility),
    )
    trips = given.trips
    if len(trips) < 2:
        trips = [Trip(found.start, found.goal, trips[0].weight if trips else 1.0)]
    problem = Problem(given.domain, trips, found.candidates, visibility, found.names)
    for line in found.remarks:
        remark(line)
    return Instance(problem, privacy, given.unstated - _stated(options))


def _stated(options: InstanceOptions) -> set[str]:
    """What of that which a file may leave open was typed."""
    typed = {
        "visibility": (options.radius, options.sight),
        "k": (options.k,),
        "ell": (options.ell,),
        "measure": (options.ell_measure,),
        "m": (options.m,),
        "spread": (options.spread,),
    }
    return with_measure({what for what, values in typed.items() if any(value is not None for value in values)})


def _is_seen_from_anywhere(visibility: Visibility) -> bool:
    """Whether a candidate may be seen from streets that are not joined to its own."""
    match visibility:
        case WithinDistance(_, "straight") | Explicit():
            return True
    return False


def _visibility(given: Visibility, options: InstanceOptions) -> Visibility:
    if options.radius is not None and options.sight is not None:
        raise InvalidInputError("--radius", "either --radius or --sight, not both")
    if options.radius_measure is not None:
        check_measure(options.radius_measure, "--radius-measure")
    if options.sight is not None:
        if options.radius_measure is not None:
            raise InvalidInputError("--radius-measure", "--radius, and not --sight")
        return LineOfSight(options.sight)
    was = given if isinstance(given, WithinDistance) else None
    radius = was.radius if options.radius is None and was is not None else options.radius
    if radius is None:
        if options.radius_measure is not None:
            raise InvalidInputError("--radius-measure", "--radius as well: how far a candidate is seen")
        return given
    if options.radius is None and options.radius_measure is None:
        return given
    measure = options.radius_measure or (was.measure if was is not None else "cost")
    return WithinDistance(radius, measure) if radius else AtNode()


def _privacy(given: _Given, options: InstanceOptions) -> Privacy:
    changes = {name: value for name in ("k", "ell", "spread") if (value := getattr(options, name)) is not None}
    if options.m is not None:
        changes["m"] = _parse_m(options.m)
    if options.ell_measure is not None:
        check_measure(options.ell_measure, "--ell-measure")
        check_measurable(given.domain, options.ell_measure, "--ell-measure")
        changes["measure"] = options.ell_measure
    return replace(given.privacy, **changes)


def _parse_m(text: str) -> int | None:
    if text == "inf":
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError("--m", "a whole number >= 1, or inf", text) from None
