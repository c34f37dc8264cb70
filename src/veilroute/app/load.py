"""From a request to what is worked on: a problem with the privacy wanted, or a playbook with its map.

A file may leave open where the trip goes, what the candidates are and how much privacy is wanted. All of it comes from
the request, else from the file; for places, a table of them comes between the two.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veilroute.app.requests import GridSpec, PrivacySpec, ProblemRequest, StopsSpec
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, Problems, UnknownMethodError
from veilroute.base.io import open_regular, read_bytes
from veilroute.base.run import Progress, Run
from veilroute.domain import AtNode, Domain, Explicit, Label, LineOfSight, Visibility, WithinDistance, draw_candidates
from veilroute.domain.connectivity import largest_component
from veilroute.domain.geography import MEASURES, check_measurable
from veilroute.domain.graph import label_text
from veilroute.domain.grid import Anchor, anchored
from veilroute.formats import Instance, read_domain, read_instance, read_movingai, read_network, read_scenarios
from veilroute.formats.instance import UNSTATED, with_implied
from veilroute.formats.network_file import read_addresses, write_network
from veilroute.formats.osm import is_osm_name, read_osm
from veilroute.formats.osm_addresses import read_osm_addresses
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
FORMATS = (".toml", ".in", ".json", ".map", ".scen", *NETWORKS)

_EXTRACTS = 1  # how extracts are made into networks; raise it when that changes
_MANY_SECONDS = 100  # hardly anybody asks for places that are minutes of driving apart; for 100 m, many do
_ONE_TRIP_ONLY = "an instance with one trip; edit the file, which has several"


def load_playbook(path: Path, domain: Path | None = None, movement: int = 4) -> Playbook:
    """Read a playbook, with its domain from another file where one is named."""
    book = read_playbook(path, domain=None if domain is None else read_domain(domain, movement=movement))
    if book.domain is None:
        raise InvalidInputError("domain", "the map or instance file: this playbook holds only its hash")
    return book


def load_instance(asked: ProblemRequest, run: Run, earlier: Playbook | None = None) -> Instance:
    """Read the file in any format and apply the request; the run hears what is to be said of places.

    Candidates and names that neither the options nor the file give are those of an ``earlier`` playbook.
    """
    content = _open(asked, run)
    if earlier is not None:
        is_open = content.candidates is None and asked.problem.places is None
        content = _with_earlier(content, earlier, run, is_open=is_open)
    return _complete(content, asked, run)


def load_map(asked: ProblemRequest, run: Run) -> tuple[Domain, bool]:
    """The map of a file in any format, and whether the file says where a trip goes and what its candidates are."""
    content = _open(asked, run)
    return content.domain, bool(content.trips) and content.candidates is not None


def load_open_instance(asked: ProblemRequest, run: Run, *, num_usual: int) -> Instance:
    """As :func:`load_instance`, but trip and candidates may be left open: ``num_usual`` candidates are drawn then."""
    content = _open(asked, run)
    domain = content.domain
    if not content.trips:
        tails, heads, _ = domain.edge_arrays()
        hub = domain.label(int(np.argmax(largest_component(domain.num_nodes, tails, heads))))
        content = replace(content, trips=[Trip(hub, hub)])
    wanted = asked.problem
    named = (wanted.candidates, wanted.random_candidates, wanted.places, content.candidates)
    if all(each is None for each in named):
        drawn = replace(wanted, random_candidates=min(num_usual, domain.num_nodes - 1))
        asked = replace(asked, problem=drawn)
    return _complete(content, asked, run)


@dataclass(frozen=True)
class FoundPlaces:
    """The places of a request as far as they are found, and what is wrong with the others."""

    domain: Domain
    located: tuple[tuple[str, Located], ...]  #: by role: start, goal or candidate
    problems: Problems


def find_places(asked: ProblemRequest, run: Run) -> FoundPlaces:
    """Look for every place of a request; what is wrong with one keeps no other from being found."""
    content = _open(asked, run)
    finder = _PlaceFinder(content, asked, run)
    located: list[tuple[str, Located]] = []
    with suppress(InvalidInputError):  # the finder itself keeps what is wrong
        finder.find_listed()
    ends = []
    for role in ("start", "goal"):
        with finder.problems.collecting():
            ends.append(finder.end(role))
            located.append((role, ends[-1]))
    wanted = asked.problem
    if wanted.candidates is None and wanted.random_candidates is None:
        names = {place.name for place in ends} - {None}
        found = [finder.found_at(place) for place in finder.listed if place.role == "candidate"]
        listed = [place for place in found if place is not None and (place.name is None or place.name not in names)]
        located += [("candidate", place) for place in listed]
    if not finder.problems and len(ends) == 2 and not any(role == "candidate" for role, _ in located):
        with finder.problems.collecting():
            located += [("candidate", place) for place in finder.candidates(*ends)]
    finder.tell_addresses()
    for place in dict.fromkeys(each.warning for _, each in located if each.warning is not None):
        run.warn(place)
    return FoundPlaces(content.domain, tuple(located), finder.problems)


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


def _open(asked: ProblemRequest, run: Run) -> _FileContent:
    """What the file says, on earth where the request says where."""
    if asked.problem.map is None:
        raise InvalidInputError("map", "a map, a network or an instance: name the file")
    content = _read(_locate(asked.problem.map), asked, run)
    if asked.grid.origin is not None or asked.grid.cell is not None:
        content = replace(content, domain=_on_earth(content.domain, asked.grid))
    return content


def _read(path: Path, asked: ProblemRequest, run: Run) -> _FileContent:
    grid = asked.grid
    suffix = path.suffix.lower()
    if suffix == ".map":
        return _FileContent(read_movingai(path, movement=grid.movement or 4))
    if suffix == ".scen":
        scenarios = read_scenarios(path)
        number = grid.scenario or 0
        if not 0 <= number < len(scenarios):
            raise InvalidInputError("scenario", f"a number from 0 to {len(scenarios) - 1}", number)
        chosen = scenarios[number]
        beside = path.parent / chosen.map_name
        map_path = beside if beside.exists() else _locate(Path(chosen.map_name))
        trip = Trip(chosen.start, chosen.goal)
        return _FileContent(read_movingai(map_path, movement=grid.movement or 4), [trip])
    if is_osm_name(path):
        return _read_extract(path, run)
    if suffix == ".geojson":
        raise InvalidInputError(path.name, "a network; make one of an area with `veilroute map make`")
    if suffix not in (".json", ".in", *_MAYBE_NETWORKS):
        raise UnknownMethodError("instance format", path.suffix or str(path), FORMATS)
    if grid.movement is not None:
        raise InvalidInputError("movement", "a .map or .scen file; other instances state their own edges")
    if _is_network(path):
        return _FileContent(read_network(path, tell=run.warn), network=path)
    instance = read_instance(path)
    stated, privacy = instance.problem, instance.privacy
    if len(stated.trips) > 1 and asked.problem.random_candidates is not None:
        raise InvalidInputError("random_candidates", _ONE_TRIP_ONLY)
    prior = None if stated.prior is None else dict(zip(stated.candidates, stated.prior, strict=True))
    return _FileContent(
        stated.domain, stated.trips, stated.candidates, stated.visibility, privacy, stated.names, stated.objective,
        prior, instance.unstated, stated.places,
    )  # fmt: skip


def _read_extract(path: Path, run: Run) -> _FileContent:
    """An extract of OpenStreetMap as a network for cars, kept in the cache: making it takes longer than reading it."""
    from veilroute.maps import MapStore  # here, because most files need no cache

    with open_regular(path) as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    kept = MapStore().root.parent / "networks" / f"{digest[:32]}-{_EXTRACTS}.npz"
    if not kept.exists():
        run.progress(Progress("reading the extract"))
        network = read_osm(path, connected=True, progress=run.progress)
        addresses = read_osm_addresses(path, progress=run.progress)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_network(network, kept, addresses=addresses)
    return _FileContent(read_network(kept, tell=run.warn), network=kept)


def _on_earth(domain: Domain, grid: GridSpec) -> Domain:
    """The grid with its place on earth."""
    if grid.origin is None or grid.cell is None:
        given, other = ("origin", "`cell`, in metres,") if grid.cell is None else ("cell", "`origin`, LAT,LON,")
        raise InvalidInputError(given, f"{other} as well")
    if domain.grid is None:
        raise InvalidInputError("origin", "a grid: other maps say themselves where on earth they are, or nowhere")
    corner = typed_coordinates(grid.origin)
    if corner is None:
        raise InvalidInputError("origin", "LAT,LON of the grid's north-west corner", grid.origin)
    return anchored(domain, Anchor(*corner, grid.cell))


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


def _with_earlier(content: _FileContent, earlier: Playbook, run: Run, *, is_open: bool) -> _FileContent:
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
        run.warn(f"not on this map, and so left out: {num_lost} of the earlier candidates")
    return replace(content, candidates=candidates, names=names)


def _doors_again(earlier: Playbook) -> list[Place]:
    """The candidates of an earlier playbook as places to be found again, if it knows their coordinates."""
    if not set(earlier.candidates) & set(earlier.places):
        return []
    places = []
    for label in earlier.candidates:
        name = earlier.names.get(label)
        origin = f"reuse, {name or label_text(label)}"
        if label in earlier.places:
            lon, lat = earlier.places[label]
            places.append(Place(name or label_text(label), lat, lon, role="candidate", origin=origin))
        else:
            places.append(Place(name, node=label_text(label), role="candidate", origin=origin))
    return places


def _complete(content: _FileContent, asked: ProblemRequest, run: Run) -> Instance:
    """Apply the request, and check that places which were typed or listed fit together."""
    domain, trips = content.domain, content.trips
    visibility, changes = _visibility(content.visibility, asked.stops), _privacy_changes(domain, asked.privacy)
    usual = {"spread": "witness"} if "spread" in content.unstated else {}  # as it was before a mechanism changed it
    privacy = replace(content.privacy, **{**usual, **changes})
    _tell_seconds(domain, asked.privacy, privacy, run)
    finder = _PlaceFinder(content, asked, run)
    seen = visibility.measure if isinstance(visibility, WithinDistance) else "cost"
    if finder.doors is not None and finder.doors.is_kerb and "walking" in (privacy.measure, seen):
        # The network does not say that one can cross the street between two doors.
        raise InvalidInputError("side", "any, where distances are walked: on foot one crosses the street", "kerb")
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
            run.warn(line)
    if len(trips) < 2:
        trips = [Trip(start.label, goal.label, trips[0].weight if trips else 1.0)]
    # Of two names for a node the first counts; names come in the order of the places, then of the file.
    places = [start, goal, *candidates]
    called = {place.label: place.name for place in reversed(places) if place.name is not None}
    names = {place.label: called[place.label] for place in places if place.label in called}
    names |= {label: name for label, name in content.names.items() if label not in names}
    labels = [place.label for place in candidates]
    prior = _prior(replace(content, domain=domain), asked.privacy.prior, trips, labels, names)
    spots = {place.label: place.lonlat for place in reversed(places) if place.lonlat is not None}
    given = {label: lonlat for label, lonlat in content.places.items() if domain.has_label(label)}
    given |= {place.label: spots[place.label] for place in places if place.label in spots}
    problem = Problem(domain, trips, labels, visibility, names, content.objective, prior, places=given)
    for line in dict.fromkeys(place.warning for place in places if place.warning is not None):
        run.warn(line)
    finder.tell_addresses()
    stated = set(changes)
    if asked.stops.seen_within is not None or asked.stops.line_of_sight is not None:
        stated.add("visibility")
    if asked.privacy.prior is not None:
        stated.add("prior")
    return Instance(problem, privacy, content.unstated - with_implied(stated))


def _prior(
    content: _FileContent,
    file: Path | None,
    trips: Sequence[Trip],
    candidates: Sequence[Label],
    names: Mapping[Label, str],
) -> Sequence[float] | None:
    """How probable each candidate is: by a table of weights, else by the instance."""
    if file is not None:
        ends = {end for trip in trips for end in (trip.start, trip.goal)}
        return read_prior(file, content.domain, candidates, names, ends=ends)
    if content.prior is None:
        return None
    if not set(candidates) <= set(content.prior):
        raise InvalidInputError("prior", "a prior for these candidates: that of the instance is for others")
    return [content.prior[label] for label in candidates]


class _PlaceFinder:
    """Finds places, and remembers those that were typed or listed and not taken from the instance."""

    def __init__(self, content: _FileContent, asked: ProblemRequest, run: Run) -> None:
        self.content, self.asked, self.run, self.domain = content, asked, run, content.domain
        self.stops, self.wanted, self.seed = asked.stops, asked.problem, asked.problem.seed or 0
        self.far_m = FAR_M if self.stops.warn_beyond is None else self.stops.warn_beyond
        if not 0 <= self.far_m < math.inf:
            raise InvalidInputError("warn_beyond", "a finite number of metres >= 0", self.far_m)
        # The rows of a table that cannot be used are told of together with those whose place is not found.
        self.listed, self.problems = list(content.listed), Problems()
        if self.wanted.places is not None:
            self.listed, self.problems = _listed_places(self.wanted.places)
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
            self.run.warn(f"found on the map: {'; '.join(shown)}{more}")

    def _read_addresses(self) -> AddressBook:
        return AddressBook() if self.content.network is None else read_addresses(self.content.network)

    def find_listed(self) -> None:
        """Find the places of the file that are needed, so that all that is wrong with them is told at once."""
        wanted = self.wanted
        is_open = {
            "start": wanted.start is None,
            "goal": wanted.goal is None,
            "candidate": wanted.candidates is None and wanted.random_candidates is None,
        }
        problems = self.problems
        for place in self.listed:
            if is_open[place.role or "candidate"]:
                with problems.collecting():
                    self._located[place.origin] = self._locate(place, "places")
        for role in ("start", "goal"):
            typed = getattr(wanted, role)
            if typed is not None and len(problems):  # else they are found in a moment
                with problems.collecting():
                    self._locate(typed, role)
        problems.raise_all()

    def _door_finder(self) -> DoorFinder | None:
        """What finds doors; nothing where places are to be at junctions, or can be nowhere else."""
        stops = self.stops
        snap = "door" if stops.at is None else check_name("at", stops.at, SNAPS)
        for name, choices in (("side", SIDES), ("traffic", TRAFFIC)):
            if (value := getattr(stops, name)) is not None:
                check_name(name, value, choices)
                if snap == "junction":
                    raise InvalidInputError(name, "places at their doors: a junction has no sides")
        if self.domain.streets is None or snap == "junction" or not self.domain.num_edges:
            return None
        return DoorFinder(self.domain, side=stops.side or "any", traffic=stops.traffic or "right")

    def end(self, role: str) -> Located:
        """The start or the goal; of the first trip where there are several."""
        option, trips = role, self.content.trips
        listed = next((place for place in self.listed if place.role == role), None)
        wanted: str | Place | None = getattr(self.wanted, role) or listed
        if wanted is not None:
            if len(trips) > 1:
                raise InvalidInputError(wanted.origin if isinstance(wanted, Place) else option, _ONE_TRIP_ONLY)
            return self._find(wanted, option)
        if trips:
            label = getattr(trips[0], role)
            self.domain.node(label, field=option)
            return self._known_node(label, f"trip.{role}")
        if role == "goal" and (self.wanted.start or any(place.role == "start" for place in self.listed)):
            return self.end("start")  # a round trip
        kind = "cell" if self.domain.grid is not None else "node" if self.domain.streets is None else "place"
        example = f"a {kind} such as {example_text(self.domain)}"
        raise InvalidInputError(option, f"{example}: the file does not say where the trip goes")

    def candidates(self, start: Located, goal: Located) -> list[Located]:
        """The candidates; a listed place that is the start or the goal is none."""
        wanted = self.wanted
        if wanted.candidates is not None and wanted.random_candidates is not None:
            raise InvalidInputError("candidates", "either `candidates` or `random_candidates`, not both")
        if wanted.candidates is not None:
            typed = self._split(wanted.candidates) if isinstance(wanted.candidates, str) else wanted.candidates
            return self._find_all(typed, "candidates")
        if wanted.random_candidates is not None:
            domain = self.domain
            if domain.streets is not None:  # the map with the doors of the trip, where nobody else has one yet
                domain, (start, goal) = open_located(domain, [start, goal])
                check_way(domain, start, goal)
            drawn = draw_candidates(domain, start.label, goal.label, wanted.random_candidates, seed=self.seed)
            return [self._known_node(label, "random_candidates") for label in drawn]
        ends = {place.name for place in (start, goal)} - {None}
        listed = [place for place in self.listed if place.role == "candidate" and place.name not in ends]
        if listed:
            return self._find_all(listed, "places")
        if self.content.candidates is None:
            sample = (
                '"LAT,LON LAT,LON ..." or a table of `places`' if self.domain.streets is not None else '"R,C R,C ..."'
            )
            expected = f"the possible transit points as {sample}, or a number of `random_candidates`"
            raise InvalidInputError("candidates", expected)
        return [self._known_node(label, "candidates") for label in self.content.candidates]

    def _split(self, text: str) -> list[str]:
        """The parts of a list of places: separated by spaces, on street networks by semicolons if there are any.

        Names of places may have spaces.

        One that ends with a semicolon has semicolons between its places on every map.
        """
        if self.domain.streets is None and ";" in text and not text.endswith(";"):
            return text.split()
        return split_places(text, [place.name for place in self.known if place.name is not None])

    def _find_all(self, places: Sequence[str | Place], field: str) -> list[Located]:
        """Places that were typed or listed; all that are not found are told of at once."""
        problems, found = Problems(), []
        for place in places:
            with problems.collecting():
                found.append(self._find(place, field))
        problems.raise_all()
        return found

    def found_at(self, place: Place) -> Located | None:
        """A listed place, if it was found."""
        return self._located.get(place.origin)

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
            far_m=self.far_m,
            places=self.known,
            doors=self.doors,
            gazetteer=self._gazetteer,
        )

    def _known_node(self, label: Label, field: str) -> Located:
        name = self.content.names.get(label)
        return Located(label, name or label_text(label), name, origin=field)


def _listed_places(given: str | tuple[str, ...]) -> tuple[list[Place], Problems]:
    """The places of a table, or of a list in a problem file; and what is wrong with its rows."""
    if not isinstance(given, tuple):
        return scan_places(given)
    origins = [f"places, number {at}" for at in range(1, len(given) + 1)]
    listed = [
        Place(None, node=text, role="candidate", origin=origin) for text, origin in zip(given, origins, strict=True)
    ]
    return listed, Problems()


def _visibility(stated: Visibility, stops: StopsSpec) -> Visibility:
    radius, measure = stops.seen_within, stops.seen_measure
    if radius is not None and stops.line_of_sight is not None:
        raise InvalidInputError("seen_within", "either `seen_within` or `line_of_sight`, not both")
    if measure is not None:
        check_name("seen_measure", measure, MEASURES)
    if stops.line_of_sight is not None:
        if measure is not None:
            raise InvalidInputError("seen_measure", "`seen_within`, and not `line_of_sight`")
        return LineOfSight(stops.line_of_sight)
    if radius is None and measure is None:
        return stated
    if isinstance(stated, WithinDistance):
        radius = stated.radius if radius is None else radius
        measure = measure or stated.measure
    if radius is None:
        raise InvalidInputError("seen_measure", "`seen_within` as well: how far a candidate is seen")
    return WithinDistance(radius, measure or "cost") if radius else AtNode()


def _tell_seconds(domain: Domain, wanted: PrivacySpec, privacy: Privacy, run: Run) -> None:
    """Ask back where a distance that was typed without its unit looks like metres and counts as seconds."""
    in_seconds = domain.streets is not None and domain.streets.unit == "seconds" and privacy.measure == "cost"
    is_bare = wanted.apart is not None and wanted.apart_measure is None and _is_number(wanted.apart)
    if in_seconds and is_bare and privacy.ell >= _MANY_SECONDS:
        run.warn(f'places must be {privacy.ell:g} s apart; did you mean "{privacy.ell:g} m driving"?')


def _privacy_changes(domain: Domain, wanted: PrivacySpec) -> dict[str, Any]:
    """What was asked for of the privacy wanted."""
    names = ("k", "risk", "spread", "mechanism")
    changes = {name: value for name in names if (value := getattr(wanted, name)) is not None}
    if "risk" in changes:
        if "k" in changes:
            raise InvalidInputError("risk", "either `k` or `risk`, not both")
        changes["k"] = None
    elif "k" in changes:
        changes["risk"] = None
    if wanted.mechanism == "randomised" and wanted.spread == "witness":
        raise InvalidInputError("spread", "all-pairs for a randomised playbook", wanted.spread)
    if wanted.until is not None:
        changes["m"] = read_until(wanted.until)
    if wanted.apart is not None:
        changes["ell"], measure = read_distance(wanted.apart, domain)
        if measure is not None:
            if wanted.apart_measure not in (None, measure):
                expected = f"nothing, or {measure}, as `apart` says"
                raise InvalidInputError("apart_measure", expected, wanted.apart_measure)
            changes["measure"] = measure
    if wanted.apart_measure is not None:
        check_name("apart_measure", wanted.apart_measure, MEASURES)
        changes["measure"] = wanted.apart_measure
    if "measure" in changes:
        check_measurable(domain, changes["measure"], "apart_measure")
    return changes


def read_until(text: str) -> int | None:
    """For how many nodes places stay hidden; ``None`` for the whole route."""
    if str(text).strip().lower() in ("end", "inf"):
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError("until", "a whole number of nodes >= 1, or end", text) from None


def read_distance(text: str, domain: Domain) -> tuple[float, str | None]:
    """A distance as people write it, and what it is measured in where they say it: ``8``, ``300 m``, ``5 min``.

    Metres are driven on streets, unless ``straight`` or ``walking`` stands behind them. Minutes and seconds are the
    costs of a network in seconds. Steps are the cost of a grid.
    """
    wanted = re.fullmatch(r"\s*([0-9.e+-]+|inf|nan)\s*([a-z]*)\s*([a-z]*)\s*", str(text).lower())
    number, unit, way = wanted.groups() if wanted is not None else ("", "", "")
    if not _is_number(number):
        raise InvalidInputError("apart", 'a distance such as 8, "300 m", "300 m straight" or "5 min"', text)
    value = float(number)
    if unit in ("", "steps", "step") and not way:
        return value, None
    if unit in ("s", "sec", "seconds", "min", "minutes") and not way:
        if domain.streets is None or domain.streets.unit != "seconds":
            raise InvalidInputError("apart", "a distance: only on street networks that cost seconds it is a time", text)
        return value * (60 if unit.startswith("min") else 1), "cost"
    if unit in ("m", "metres", "meters", "km") and way in ("", *MEASURES):
        metres = value * (1000 if unit == "km" else 1)
        if domain.streets is None:
            anchor = None if domain.grid is None else domain.grid.anchor
            if way or anchor is None:
                raise InvalidInputError("apart", "a number: this map has no metres", text)
            return metres / anchor.cell_m, None
        return metres, way or "driving"
    raise InvalidInputError("apart", 'a distance such as 8, "300 m", "300 m straight" or "5 min"', text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
