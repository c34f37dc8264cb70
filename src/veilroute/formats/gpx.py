"""GPX 1.1: routes for navigation devices, with their stops as waypoints.

Files hold no date, so that equal routes give equal bytes. A single route's file depends on the route and on the stops
of everybody who could be meant by it; it does not know who is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from veilroute.base.arrays import Floats
from veilroute.base.io import write_file
from veilroute.domain.geography import streets_of
from veilroute.model.playbook import Playbook
from veilroute.streets.day_sheets import VanSheet
from veilroute.streets.directions import Itinerary, Step, stay_text, total_text
from veilroute.streets.sheets import class_routes, members_text
from veilroute.streets.stops import Schedule

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gpx version="1.1" creator="veilroute" xmlns="http://www.topografix.com/GPX/1/1"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">'
)


@dataclass(frozen=True, eq=False)
class Track:
    """One route as it stands in a file; with ``steps`` the file also has a ``<rte>`` that leads from turn to turn."""

    name: str
    description: str
    points: Floats  # longitude and latitude along the route
    steps: Sequence[Step] = field(default_factory=tuple)


@dataclass(frozen=True)
class Waypoint:
    """A stop as it stands in a file."""

    name: str
    description: str
    place: tuple[float, float]  # longitude and latitude


def route_gpx(
    itinerary: Itinerary, *, name: str = "Route", steps: Sequence[Step] = (), schedule: Schedule | None = None
) -> str:
    """One route as GPX: its stops, a track with every point of its line and, with ``steps``, a route turn by turn."""
    schedule = schedule or Schedule()
    track = Track(name, total_text(itinerary, schedule), itinerary.polyline(), steps)
    note = schedule.note(len(itinerary.stops)) if itinerary.stops else ""
    stops = waypoints(itinerary, schedule)
    return gpx_text([track], name=name, attribution=itinerary.attribution, stops=stops, note=note)


def playbook_gpx(playbook: Playbook, *, trip: int | None = None, schedule: Schedule | None = None) -> str:
    """A whole playbook as GPX: stops and one track for each anonymized class and trip (or for one ``trip``).

    Where the members of a class part, it is the track of what they share, and one for the rest of each follows.
    """
    schedule = schedule or Schedule()
    tracks: list[Track] = []
    stops: list[Waypoint] = []
    for part in (part for route in class_routes(playbook, trip=trip) for part in route.parts):
        description = f"{members_text(playbook, part.members)}: {total_text(part.itinerary, schedule)}"
        tracks.append(Track(part.title, description, part.itinerary.polyline()))
        stops += waypoints(part.itinerary, schedule, part.title)
    attribution = streets_of(playbook.problem.domain).attribution
    return gpx_text(tracks, name="Playbook", attribution=attribution, stops=stops)


def van_gpx(sheet: VanSheet) -> str:
    """The day of one vehicle as GPX: its stops with their times, its track, and the route turn by turn."""
    laid = sheet.laid
    stops = [
        Waypoint(visit.stop.title, f"{visit.called}; {sheet.when_text(visit)}", laid.place(visit.stop.position))
        for visit in sheet.visits
    ]
    track = Track(sheet.title, sheet.total_text, laid.polyline(), sheet.steps())
    return gpx_text([track], name=sheet.title, attribution=laid.attribution, stops=stops, note=sheet.note)


def waypoints(itinerary: Itinerary, schedule: Schedule, title: str = "") -> list[Waypoint]:
    """The stops of a route, numbered; ``title`` says of which, where there are several."""
    return [
        Waypoint(
            f"{title}, {stop.title[0].lower()}{stop.title[1:]}" if title else stop.title,
            f"{stop.text.partition(': ')[2]}; {stay_text(itinerary, stop, schedule)}",
            itinerary.place(stop.position),
        )
        for stop in itinerary.stops
    ]


def write_gpx(
    playbook: Playbook, path: str | Path, *, trip: int | None = None, schedule: Schedule | None = None
) -> None:
    """Write a whole playbook as :func:`playbook_gpx` makes it."""
    write_file(path, playbook_gpx(playbook, trip=trip, schedule=schedule))


def gpx_text(
    tracks: Sequence[Track], *, name: str, attribution: str = "", stops: Iterable[Waypoint] = (), note: str = ""
) -> str:
    """The GPX document with these tracks and stops; ``attribution`` is whom to credit for the map."""
    lines = [_HEAD, " <metadata>", f"  <name>{_text(name)}</name>"]
    lines += [f"  <desc>{_text(note)}</desc>"] if note else []
    lines += [f"  <copyright author={quoteattr(_printable(attribution))}/>"] if attribution else []
    lines.append(" </metadata>")
    # The schema wants all waypoints before all routes, and these before all tracks.
    for stop in stops:
        about = f"<name>{_text(stop.name)}</name><desc>{_text(stop.description)}</desc><type>stop</type>"
        lines.append(f" <wpt {_position(*stop.place)}>{about}</wpt>")
    for track in tracks:
        if track.steps:
            lines += [" <rte>", *_about(track)]
            for step in track.steps:
                about = f"<name>{_text(step.text)}</name><desc>{_text(step.to_text())}</desc>"
                lines.append(f"  <rtept {_position(*step.place)}>{about}</rtept>")
            lines.append(" </rte>")
    for number, track in enumerate(tracks, start=1):
        lines += [" <trk>", *_about(track), f"  <number>{number}</number>", "  <trkseg>"]
        lines += [f"   <trkpt {_position(lon, lat)}/>" for lon, lat in track.points.tolist()]
        lines += ["  </trkseg>", " </trk>"]
    return "\n".join([*lines, "</gpx>", ""])


def _about(track: Track) -> list[str]:
    return [f"  <name>{_text(track.name)}</name>", f"  <desc>{_text(track.description)}</desc>"]


def _position(lon: float, lat: float) -> str:
    # The schema has longitudes below 180 only; the other name of that meridian will do.
    return f'lat="{lat:.7f}" lon="{-180.0 if lon > 179.99999995 else lon:.7f}"'


def _text(text: str) -> str:
    return escape(_printable(text))


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(character for character in text if character.isprintable())
