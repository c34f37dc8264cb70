"""Where a trip starts and ends and what its candidates are: from options, a file of places and the instance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veilroute.domain.generate import draw_candidates
from veilroute.domain.graph import Domain
from veilroute.domain.labels import Label, label_text
from veilroute.errors import InvalidInputError
from veilroute.problem import Trip
from veilroute.streets.places import Located, Place, example_text, locate
from veilroute.streets.trip_checks import check_distinct, check_joined, check_way

if TYPE_CHECKING:
    from veilroute.cli.instances import InstanceOptions


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
    from veilroute.formats.places import read_places

    return read_places(options.places)
