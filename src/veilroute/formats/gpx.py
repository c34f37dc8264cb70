"""GPX 1.1: routes for navigation devices.

Files hold no time, so that equal routes give equal bytes. A single route's file depends on the route alone: it names
neither the secret nor any other candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from veilroute.arrays import Floats
from veilroute.domain.geography import streets_of
from veilroute.playbook import Playbook
from veilroute.streets.directions import Itinerary, Step, class_routes, members_text, total_text

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


def route_gpx(itinerary: Itinerary, *, name: str = "Route", steps: Sequence[Step] = ()) -> str:
    """One route as GPX: a track with every point of its line and, with ``steps``, a route from turn to turn."""
    track = Track(name, total_text(itinerary), itinerary.polyline(), steps)
    return gpx_text([track], name=name, attribution=itinerary.attribution)


def playbook_gpx(playbook: Playbook, *, trip: int | None = None) -> str:
    """A whole playbook as GPX: one track for each anonymized class and trip (or for one ``trip``).

    Where the members of a class part, it is the track of what they share, and one for the rest of each follows.
    """
    tracks = []
    for part in (part for route in class_routes(playbook, trip=trip) for part in route.parts):
        description = f"{members_text(playbook, part.members)}: {total_text(part.itinerary)}"
        tracks.append(Track(part.title, description, part.itinerary.polyline()))
    attribution = streets_of(playbook.problem.domain).attribution
    return gpx_text(tracks, name="Playbook", attribution=attribution)


def write_gpx(playbook: Playbook, path: str | Path, *, trip: int | None = None) -> None:
    """Write a whole playbook as :func:`playbook_gpx` makes it."""
    Path(path).write_text(playbook_gpx(playbook, trip=trip), encoding="utf-8", newline="\n")


def gpx_text(tracks: Sequence[Track], *, name: str, attribution: str = "") -> str:
    """The GPX document with these tracks; ``attribution`` is whom to credit for the map."""
    credit = [f"  <copyright author={quoteattr(_printable(attribution))}/>"] if attribution else []
    lines = [_HEAD, " <metadata>", f"  <name>{_text(name)}</name>", *credit, " </metadata>"]
    # The schema wants all routes before all tracks.
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
    return f'lat="{lat:.7f}" lon="{lon:.7f}"'


def _text(text: str) -> str:
    return escape(_printable(text))


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(character for character in text if character.isprintable())
