"""From files and options to what commands work on: a problem with the privacy wanted, or a playbook with its map.

An instance file may leave open where the trip goes, what the candidates are and how much privacy is wanted. All of it
comes from the options, else from the instance; for places, a file of them comes between the two.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, Problems, UnknownMethodError
from veilroute.base.io import read_bytes
from veilroute.cli.console import remark
from veilroute.domain import AtNode, Domain, Explicit, Label, LineOfSight, Visibility, WithinDistance, draw_candidates
from veilroute.domain.connectivity import largest_component
from veilroute.domain.geography import MEASURES, check_measurable
from veilroute.domain.graph import label_text
from veilroute.domain.grid import Anchor, anchored
from veilroute.formats import Instance, read_domain, read_instance, read_movingai, read_network, read_scenarios
from veilroute.formats.instance import UNSTATED, with_implied
from veilroute.formats.network_file import read_addresses
from veilroute.formats.places import read_prior, scan_places
from veilroute.model.playbook import Playbook, read_playbook
from veilroute.model.problem import Privacy, Problem, Trip
from veilroute.streets import Located, Place, locate
from veilroute.streets.addresses import AddressBook, Gazetteer
from veilroute.streets.doors import SIDES, SNAPS, TRAFFIC, DoorFinder
from veilroute.streets.places import (
    FAR_M,
    check_distinct,
    check_joined,
    check_way,
    example_text,
    open_located,
    shared_doors,
    typed_coordinates,
)
from veilroute.streets.roads import split_places

NETWORKS = (".npz", ".graphml", ".gr", ".csv", ".xlsx")
_MAYBE_NETWORKS = (*NETWORKS, ".gz", ".osm", ".pbf", ".bz2")  # the reader of networks knows what to say about these
FORMATS = (".in", ".json", ".map", ".scen", *NETWORKS)

_MANY_SECONDS = 100  # hardly anybody asks for places that are minutes of driving apart; for 100 m, many do
_ONE_TRIP_ONLY = "an instance with one trip; edit the file, which has several"

FileArgument = Annotated[
    Path,
    Argument(
        metavar="INSTANCE", help="An .in, .json, .map or .scen file, or a street network (.json, .npz, .graphml, ...)."
    ),
]
FilesArgument = Annotated[
    list[Path],
    Argument(
        metavar="INSTANCE", help="An .in, .json, .map or .scen file, or a street network; several with --out-dir."
    ),
]
PlaybookArgument = Annotated[Path, Argument(metavar="PLAYBOOK", help="A playbook made by `veilroute plan`.")]
DomainOption = Annotated[
    Path | None, Option(metavar="FILE", help="The map or instance file, when the playbook holds only its hash.")
]
MovementOption = Annotated[int, Option(metavar="4|8", help="Moves on the --domain map.")]
_Measure = Annotated[
    str | None, Option(metavar="MEASURE", help="cost; or metres: driving, walking or straight, on streets. [cost]")
]


@dataclass(frozen=True)
class InstanceOptions:
    """Options that complete or override what an instance file says; ``None`` where not given."""

    start: Annotated[
        str | None,
        Option(metavar="PLACE", help="Where the trip starts: R,C on a grid; LAT,LON, id, name or address on streets."),
    ] = None
    goal: Annotated[str | None, Option(metavar="PLACE", help="Where it ends.")] = None
    candidates: Annotated[str | None, Option(metavar="'PLACE PLACE ...'", help="The possible transit points.")] = None
    random_candidates: Annotated[int | None, Option(metavar="N", help="Draw N candidates with the seed instead.")] = (
        None
    )
    places: Annotated[
        Path | None,
        Option(metavar="FILE", help="Named points (a table, .geojson, .kml, .gpx, ...): candidates, start, goal."),
    ] = None
    snap: Annotated[
        str | None,
        Option(metavar="door|junction", help="Where a place on streets is: at its door, or the next junction. [door]"),
    ] = None
    side: Annotated[
        str | None,
        Option(metavar="any|kerb", help="Which traffic passes a door: all, or that on its side of the road. [any]"),
    ] = None
    traffic: Annotated[
        str | None, Option(metavar="right|left", help="On which side one drives, for --side kerb. [right]")
    ] = None
    snap_warning: Annotated[
        float, Option(metavar="METRES", help="Warn when the nearest street is further than this.")
    ] = FAR_M
    origin: Annotated[
        str | None, Option(metavar="LAT,LON", help="Where on earth a grid lies: its north-west corner; with --cell.")
    ] = None
    cell: Annotated[float | None, Option(metavar="METRES", help="How wide a cell of that grid is.")] = None
    movement: Annotated[int | None, Option(metavar="4|8", help="Moves on a .map: 4-way (default) or 8-way.")] = None
    scenario: Annotated[int, Option(metavar="N", help="Which line of a .scen file, from 0.")] = 0
    radius: Annotated[float | None, Option(help="Walking distance from which a candidate is seen. [0]")] = None
    radius_measure: _Measure = None
    sight: Annotated[float | None, Option(metavar="RANGE", help="See by line of sight instead (grids).")] = None
    k: Annotated[int | None, Option("-k", help="How many candidates must stay possible. [2]")] = None
    ell: Annotated[float | None, Option(help="How far apart they must stand. [0: different places]")] = None
    ell_measure: _Measure = None
    m: Annotated[str | None, Option(metavar="INT|inf", help="For how many nodes of the route. [inf]")] = None
    spread: Annotated[str | None, Option(metavar="witness|all-pairs", help="Reading of ell. [witness]")] = None
    risk: Annotated[
        float | None,
        Option(metavar="BETA", help="In place of -k: how probable a place may be to whoever saw the route, at most."),
    ] = None
    prior: Annotated[
        Path | None, Option(metavar="FILE", help="How probable each candidate is beforehand: a table of place,weight.")
    ] = None
    mechanism: Annotated[
        str | None,
        Option(
            metavar="partition|randomised", help="Each candidate in one class, or one drawn of several. [partition]"
        ),
    ] = None
    seed: Annotated[int, Option(help="For everything drawn at random.")] = 0


def takes_instance_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of :class:`InstanceOptions` on the command line, as its parameter ``options``.

    An option that the command has itself, in another form, is left to it.
    """
    own = inspect.signature(command, eval_str=True).parameters
    shared = {
        name: one
        for name, one in inspect.signature(InstanceOptions, eval_str=True).parameters.items()
        if name not in own
    }
    parameters = {**shared, **own}
    del parameters["options"]

    @wraps(command)
    def run(**given: Any) -> int:
        options = InstanceOptions(**{name: given.pop(name) for name in shared})
        return command(options=options, **given)

    # What typer reads to build the options.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters.values()]
    )
    return run


def load_playbook(path: Path, domain: Path | None, movement: int) -> Playbook:
    """Read a playbook, with its domain from another file where one is named."""
    book = read_playbook(path, domain=None if domain is None else read_domain(domain, movement=movement))
    if book.domain is None:
        raise InvalidInputError("--domain", "the map or instance file: this playbook holds only its hash")
    return book


def load_instance(path: Path, options: InstanceOptions, earlier: Playbook | None = None) -> Instance:
    """Read an instance in any format and apply the options; remarks about places go to standard error.

    Candidates and names that neither the options nor the file give are those of an ``earlier`` playbook.
    """
    content = _open(path, options)
    if earlier is not None:
        content = _with_earlier(content, earlier, is_open=content.candidates is None and options.places is None)
    return _complete(content, options)


def load_map(path: Path, options: InstanceOptions) -> tuple[Domain, bool]:
    """The map of a file in any format, and whether the file says where a trip goes and what its candidates are."""
    content = _open(path, options)
    return content.domain, bool(content.trips) and content.candidates is not None


def load_open_instance(path: Path, options: InstanceOptions, *, num_usual: int) -> Instance:
    """As :func:`load_instance`, where the trip may be left open, and the candidates: so many are drawn then."""
    content = _open(path, options)
    domain = content.domain
    if not content.trips:
        tails, heads, _ = domain.edge_arrays()
        hub = domain.label(int(np.argmax(largest_component(domain.num_nodes, tails, heads))))
        content = replace(content, trips=[Trip(hub, hub)])
    named = (options.candidates, options.random_candidates, options.places, content.candidates)
    if all(each is None for each in named):
        options = replace(options, random_candidates=min(num_usual, domain.num_nodes - 1))
    return _complete(content, options)


@dataclass(frozen=True)
class _FileContent:
    """What an instance file says."""

    domain: Domain
    trips: Sequence[Trip] = ()
    candidates: Sequence[Label] | None = None
    visibility: Visibility = field(default_factory=AtNode)
    privacy: Privacy = field(default_factory=Privacy)
    names: Mapping[Label, str] = field(default_factory=dict)
    objective: str = "mac"
    prior: Mapping[Label, float] | None = None
    unstated: frozenset[str] = UNSTATED
    places: Mapping[Label, tuple[float, float]] = field(default_factory=dict)
    network: Path | None = None  # the file of a street network, which may have addresses
    listed: Sequence[Place] = ()  # the places of an earlier playbook, where this map has to find them again


def _open(path: Path, options: InstanceOptions) -> _FileContent:
    """What a file says, on earth where the options say where."""
    content = _read(_locate(path), options)
    if options.origin is not None or options.cell is not None:
        content = replace(content, domain=_on_earth(content.domain, options))
    return content


def _read(path: Path, options: InstanceOptions) -> _FileContent:
    suffix = path.suffix.lower()
    if suffix == ".map":
        return _FileContent(read_movingai(path, movement=options.movement or 4))
    if suffix == ".scen":
        scenarios = read_scenarios(path)
        if not 0 <= options.scenario < len(scenarios):
            raise InvalidInputError("--scenario", f"a number from 0 to {len(scenarios) - 1}", options.scenario)
        chosen = scenarios[options.scenario]
        beside = path.parent / chosen.map_name
        map_path = beside if beside.exists() else _locate(Path(chosen.map_name))
        trip = Trip(chosen.start, chosen.goal)
        return _FileContent(read_movingai(map_path, movement=options.movement or 4), [trip])
    if suffix == ".geojson":
        raise InvalidInputError(path.name, "a network; make one of an area with `veilroute area`")
    if suffix not in (".json", ".in", *_MAYBE_NETWORKS):
        raise UnknownMethodError("instance format", path.suffix or str(path), FORMATS)
    if options.movement is not None:
        raise InvalidInputError("--movement", "a .map or .scen file; other instances state their own edges")
    if _is_network(path):
        return _FileContent(read_network(path, tell=remark), network=path)
    instance = read_instance(path)
    stated, privacy = instance.problem, instance.privacy
    if len(stated.trips) > 1 and options.random_candidates is not None:
        raise InvalidInputError("--random-candidates", _ONE_TRIP_ONLY)
    prior = None if stated.prior is None else dict(zip(stated.candidates, stated.prior, strict=True))
    return _FileContent(
        stated.domain, stated.trips, stated.candidates, stated.visibility, privacy, stated.names, stated.objective,
        prior, instance.unstated, stated.places,
    )  # fmt: skip


def _on_earth(domain: Domain, options: InstanceOptions) -> Domain:
    """The grid with its place on earth."""
    if options.origin is None or options.cell is None:
        given, other = ("--origin", "--cell METRES") if options.cell is None else ("--cell", "--origin LAT,LON")
        raise InvalidInputError(given, f"{other} as well")
    if domain.grid is None:
        raise InvalidInputError("--origin", "a grid: other maps say themselves where on earth they are, or nowhere")
    corner = typed_coordinates(options.origin)
    if corner is None:
        raise InvalidInputError("--origin", "LAT,LON of the grid's north-west corner", options.origin)
    return anchored(domain, Anchor(*corner, options.cell))


def _is_network(path: Path) -> bool:
    """Whether a file is a street network, which says nothing of trips and candidates."""
    if (suffix := path.suffix.lower()) != ".json":
        return suffix in _MAYBE_NETWORKS
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


def _with_earlier(content: _FileContent, earlier: Playbook, *, is_open: bool) -> _FileContent:
    """With the candidates of an earlier playbook where they are open, and its names, as this map calls its nodes."""
    # Here, because the planner brings the compiled kernels, which other commands do without.
    from veilroute.planners.reuse import find_again

    doors = _doors_again(earlier) if is_open and content.domain.streets is not None else []
    try:
        now = find_again(earlier, content.domain, content.names)
    except InvalidInputError:
        if is_open and not doors:
            raise
        now = {}  # the planner looks again, when the names in the file of places are known
    names = {now[label]: name for label, name in earlier.names.items() if label in now}
    names = {label: name for label, name in names.items() if content.domain.has_label(label)} | dict(content.names)
    if not is_open:
        return replace(content, names=names)
    candidates = [now[label] for label in earlier.candidates if label in now]
    if doors and len(candidates) < len(earlier.candidates):
        return replace(content, listed=doors, names=names)
    if num_lost := len(earlier.candidates) - len(candidates):
        remark(f"not on this map, and so left out: {num_lost} of the earlier candidates")
    return replace(content, candidates=candidates, names=names)


def _doors_again(earlier: Playbook) -> list[Place]:
    """The candidates of an earlier playbook as places to be found anew, where it knows their coordinates."""
    if not set(earlier.candidates) & set(earlier.places):
        return []
    places = []
    for label in earlier.candidates:
        name = earlier.names.get(label)
        origin = f"--reuse, {name or label_text(label)}"
        if label in earlier.places:
            lon, lat = earlier.places[label]
            places.append(Place(name or label_text(label), lat, lon, role="candidate", origin=origin))
        else:
            places.append(Place(name, node=label_text(label), role="candidate", origin=origin))
    return places


def _complete(content: _FileContent, options: InstanceOptions) -> Instance:
    """Apply the options, and check that places which were typed or listed fit together."""
    domain, trips = content.domain, content.trips
    visibility, changes = _visibility(content.visibility, options), _privacy_changes(domain, options)
    usual = {"spread": "witness"} if "spread" in content.unstated else {}  # as it was before a mechanism changed it
    privacy = replace(content.privacy, **{**usual, **changes})
    _tell_seconds(domain, options, privacy)
    finder = _PlaceFinder(content, options)
    seen = visibility.measure if isinstance(visibility, WithinDistance) else "cost"
    if finder.doors is not None and finder.doors.is_kerb and "walking" in (privacy.measure, seen):
        # The network does not say that one can cross the street between two doors.
        raise InvalidInputError("--side", "any, where distances are walked: on foot one crosses the street", "kerb")
    finder.find_listed()
    start, goal = finder.end("start"), finder.end("goal")
    num_typed_ends = len(finder.typed)
    candidates = finder.candidates(start, goal)
    are_typed = len(finder.typed) > num_typed_ends
    if domain.streets is not None:
        domain, (start, goal, *candidates) = open_located(domain, [start, goal, *candidates])
    if num_typed_ends and domain.streets is not None:
        check_way(domain, start, goal)
    if are_typed and domain.streets is not None:
        problems = Problems()
        with problems.collecting():
            check_distinct(domain, start, goal, candidates)
        match visibility:
            case WithinDistance(_, "straight") | Explicit():
                pass  # a candidate may be seen from streets that are not joined to its own
            case _:
                with problems.collecting():
                    check_joined(domain, start, candidates)
        problems.raise_all()
        for line in shared_doors(domain, candidates):
            remark(line)
    if len(trips) < 2:
        trips = [Trip(start.label, goal.label, trips[0].weight if trips else 1.0)]
    # Of two names for a node the first counts; names come in the order of the places, then of the file.
    places = [start, goal, *candidates]
    called = {place.label: place.name for place in reversed(places) if place.name is not None}
    names = {place.label: called[place.label] for place in places if place.label in called}
    names |= {label: name for label, name in content.names.items() if label not in names}
    labels = [place.label for place in candidates]
    prior = _prior(replace(content, domain=domain), options, trips, labels, names)
    spots = {place.label: place.lonlat for place in reversed(places) if place.lonlat is not None}
    given = {label: lonlat for label, lonlat in content.places.items() if domain.has_label(label)}
    given |= {place.label: spots[place.label] for place in places if place.label in spots}
    problem = Problem(domain, trips, labels, visibility, names, content.objective, prior, places=given)
    for line in dict.fromkeys(place.warning for place in places if place.warning is not None):
        remark(line)
    finder.tell_addresses()
    stated = set(changes)
    if options.radius is not None or options.sight is not None:
        stated.add("visibility")
    if options.prior is not None:
        stated.add("prior")
    return Instance(problem, privacy, content.unstated - with_implied(stated))


def _prior(
    content: _FileContent,
    options: InstanceOptions,
    trips: Sequence[Trip],
    candidates: Sequence[Label],
    names: Mapping[Label, str],
) -> Sequence[float] | None:
    """How probable each candidate is: by the file of ``--prior``, else by the instance."""
    if options.prior is not None:
        ends = {end for trip in trips for end in (trip.start, trip.goal)}
        return read_prior(options.prior, content.domain, candidates, names, ends=ends)
    if content.prior is None:
        return None
    if not set(candidates) <= set(content.prior):
        raise InvalidInputError("--prior", "a prior for these candidates: that of the instance is for others")
    return [content.prior[label] for label in candidates]


class _PlaceFinder:
    """Finds places, and remembers those that were typed or listed and not taken from the instance."""

    def __init__(self, content: _FileContent, options: InstanceOptions) -> None:
        if not 0 <= options.snap_warning < math.inf:
            raise InvalidInputError("--snap-warning", "a finite number of metres >= 0", options.snap_warning)
        self.content, self.options, self.domain = content, options, content.domain
        # The rows of a file that cannot be used are told of together with those whose place is not found.
        self.problems = Problems()
        self.listed = list(content.listed)
        if options.places is not None:
            self.listed, self.problems = scan_places(options.places)
        named = (Place(name, node=label_text(label)) for label, name in content.names.items())
        self.known = [*self.listed, *named]
        self.typed: list[Located] = []
        self.doors = self._door_finder()
        self._located: dict[str, Located] = {}  # places of the file, by where they stand in it
        is_street = content.network is not None and self.domain.streets is not None
        self._gazetteer = Gazetteer(self.domain, self._read_addresses) if is_street else None

    def tell_addresses(self) -> None:
        """Say what was taken for the addresses that were looked up: nobody has typed these coordinates."""
        found = {} if self._gazetteer is None else self._gazetteer.found
        if found:
            shown = [f"{one.text} at {one.lat:.5f},{one.lon:.5f}" for one in list(found.values())[:3]]
            more = f"; and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
            remark(f"found on the map: {'; '.join(shown)}{more}")

    def _read_addresses(self) -> AddressBook:
        return AddressBook() if self.content.network is None else read_addresses(self.content.network)

    def find_listed(self) -> None:
        """Find the places of the file that are needed, so that all that is wrong with them is told at once."""
        options = self.options
        is_open = {
            "start": options.start is None,
            "goal": options.goal is None,
            "candidate": options.candidates is None and options.random_candidates is None,
        }
        problems = self.problems
        for place in self.listed:
            if is_open[place.role or "candidate"]:
                with problems.collecting():
                    self._located[place.origin] = self._locate(place, "--places")
        for role, typed in (("start", options.start), ("goal", options.goal)):
            if typed is not None and len(problems):  # else they are found in a moment
                with problems.collecting():
                    self._locate(typed, f"--{role}")
        problems.raise_all()

    def _door_finder(self) -> DoorFinder | None:
        """What finds doors; nothing where places are to be at junctions, or can be nowhere else."""
        options = self.options
        snap = "door" if options.snap is None else check_name("--snap", options.snap, SNAPS)
        for name, choices in (("side", SIDES), ("traffic", TRAFFIC)):
            if (value := getattr(options, name)) is not None:
                check_name(f"--{name}", value, choices)
                if snap == "junction":
                    raise InvalidInputError(f"--{name}", "--snap door; a junction has no sides")
        if self.domain.streets is None or snap == "junction" or not self.domain.num_edges:
            return None
        return DoorFinder(self.domain, side=options.side or "any", traffic=options.traffic or "right")

    def end(self, role: str) -> Located:
        """The start or the goal; of the first trip where there are several."""
        option, trips = f"--{role}", self.content.trips
        listed = next((place for place in self.listed if place.role == role), None)
        wanted: str | Place | None = getattr(self.options, role) or listed
        if wanted is not None:
            if len(trips) > 1:
                raise InvalidInputError(wanted.origin if isinstance(wanted, Place) else option, _ONE_TRIP_ONLY)
            return self._find(wanted, option)
        if trips:
            label = getattr(trips[0], role)
            self.domain.node(label, field=option)
            return self._known_node(label, f"trip.{role}")
        kind = "cell" if self.domain.grid is not None else "node" if self.domain.streets is None else "place"
        example = f"a {kind} such as {option} {example_text(self.domain)}"
        raise InvalidInputError(option, f"{example}: the file does not say where the trip goes")

    def candidates(self, start: Located, goal: Located) -> list[Located]:
        """The candidates; a listed place that is the start or the goal is none."""
        options = self.options
        if options.candidates is not None and options.random_candidates is not None:
            raise InvalidInputError("--candidates", "either --candidates or --random-candidates, not both")
        if options.candidates is not None:
            problems, found = Problems(), []
            for text in self._split(options.candidates):
                with problems.collecting():
                    found.append(self._find(text, "--candidates"))
            problems.raise_all()
            return found
        if options.random_candidates is not None:
            domain = self.domain
            if domain.streets is not None:  # the map with the doors of the trip, where nobody else has one yet
                domain, (start, goal) = open_located(domain, [start, goal])
                check_way(domain, start, goal)
            drawn = draw_candidates(domain, start.label, goal.label, options.random_candidates, seed=options.seed)
            return [self._known_node(label, "--random-candidates") for label in drawn]
        ends = {place.name for place in (start, goal)} - {None}
        listed = [place for place in self.listed if place.role == "candidate" and place.name not in ends]
        if listed:
            return [self._find(place, "--places") for place in listed]
        if self.content.candidates is None:
            sample = '"LAT,LON LAT,LON ..." or --places FILE' if self.domain.streets is not None else '"R,C R,C ..."'
            expected = f"the possible transit points as {sample}, or --random-candidates N"
            raise InvalidInputError("--candidates", expected)
        return [self._known_node(label, "candidates") for label in self.content.candidates]

    def _split(self, text: str) -> list[str]:
        """The parts of a list of places: separated by spaces, on street networks by semicolons if there are any.

        Names of places may have spaces.

        One that ends with a semicolon has semicolons between its places on every map: whoever writes it for any map
        needs not know which it is.
        """
        if self.domain.streets is None and ";" in text and not text.endswith(";"):
            return text.split()
        return split_places(text, [place.name for place in self.known if place.name is not None])

    def _find(self, place: str | Place, field: str) -> Located:
        """A place that was typed or listed."""
        known = self._located.get(place.origin) if isinstance(place, Place) else None
        self.typed.append(known or self._locate(place, field))
        return self.typed[-1]

    def _locate(self, place: str | Place, field: str) -> Located:
        return locate(
            self.domain,
            place,
            field=field,
            far_m=self.options.snap_warning,
            places=self.known,
            doors=self.doors,
            gazetteer=self._gazetteer,
        )

    def _known_node(self, label: Label, field: str) -> Located:
        name = self.content.names.get(label)
        return Located(label, name or label_text(label), name, origin=field)


def _visibility(stated: Visibility, options: InstanceOptions) -> Visibility:
    radius, measure = options.radius, options.radius_measure
    if radius is not None and options.sight is not None:
        raise InvalidInputError("--radius", "either --radius or --sight, not both")
    if measure is not None:
        check_name("--radius-measure", measure, MEASURES)
    if options.sight is not None:
        if measure is not None:
            raise InvalidInputError("--radius-measure", "--radius, and not --sight")
        return LineOfSight(options.sight)
    if radius is None and measure is None:
        return stated
    if isinstance(stated, WithinDistance):
        radius = stated.radius if radius is None else radius
        measure = measure or stated.measure
    if radius is None:
        raise InvalidInputError("--radius-measure", "--radius as well: how far a candidate is seen")
    return WithinDistance(radius, measure or "cost") if radius else AtNode()


def _tell_seconds(domain: Domain, options: InstanceOptions, privacy: Privacy) -> None:
    """Ask back where an ell that was typed looks like metres and counts as seconds."""
    in_seconds = domain.streets is not None and domain.streets.unit == "seconds" and privacy.measure == "cost"
    if in_seconds and options.ell is not None and options.ell_measure is None and options.ell >= _MANY_SECONDS:
        remark(f"ell is {options.ell:g} s; did you mean --ell-measure driving? (--ell-measure cost if not)")


def _privacy_changes(domain: Domain, options: InstanceOptions) -> dict[str, Any]:
    """What was typed of the privacy wanted."""
    names = ("k", "risk", "ell", "spread", "mechanism")
    changes = {name: value for name in names if (value := getattr(options, name)) is not None}
    if "risk" in changes:
        if "k" in changes:
            raise InvalidInputError("--risk", "either -k or --risk, not both")
        changes["k"] = None
    elif "k" in changes:
        changes["risk"] = None
    if options.mechanism == "randomised" and options.spread == "witness":
        raise InvalidInputError("--spread", "all-pairs for a randomised playbook", options.spread)
    if options.m is not None:
        try:
            changes["m"] = None if options.m == "inf" else int(options.m)
        except ValueError:
            raise InvalidInputError("--m", "a whole number >= 1, or inf", options.m) from None
    if options.ell_measure is not None:
        check_name("--ell-measure", options.ell_measure, MEASURES)
        check_measurable(domain, options.ell_measure, "--ell-measure")
        changes["measure"] = options.ell_measure
    return changes
