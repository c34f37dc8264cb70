"""GPX 1.1: routes for navigation devices.

Files hold no time, so that equal routes give equal bytes. A single route's file depends on the route alone: it names
neither the secret nor any other candidate.

The colours of classes, for pictures and for map files alike.

They are those of Okabe and Ito ("Color universal design", 2008), in the order that keeps the first few furthest apart
(CIE Lab) for normal sight, protanopia, deuteranopia and tritanopia alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from veilroute.arrays import Floats
from veilroute.playbook import Playbook
from veilroute.streets.directions import ClassRoute, Step, class_routes, members_text, total_text
from veilroute.streets.itinerary import Itinerary, streets_of

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gpx version="1.1" creator="veilroute" xmlns="http://www.topografix.com/GPX/1/1"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">'
)


@dataclass(frozen=True, eq=False)
class Track:
    """One route as it stands in a file.

    Parameters
    ----------
    name, description
        Shown by the device.
    points
        Longitude and latitude along the route.
    steps
        Turn-by-turn directions; with them the file also has a ``<rte>`` that leads from turn to turn.
    """

    name: str
    description: str
    points: Floats
    steps: Sequence[Step] = field(default_factory=tuple)


def route_gpx(itinerary: Itinerary, *, name: str = "Route", steps: Sequence[Step] = ()) -> str:
    """One route as GPX: a track with every point of its line and, with ``steps``, a route from turn to turn."""
    track = Track(name, total_text(itinerary), itinerary.polyline(), steps)
    return gpx_text([track], name=name, attribution=itinerary.attribution)


def playbook_gpx(playbook: Playbook, *, trip: int | None = None) -> str:
    """A whole playbook as GPX: one track for each anonymized class and trip (or for one ``trip``).

    Where the members of a class part, it is the track of what they share, and one for the rest of each follows.
    """
    tracks = [track for route in class_routes(playbook, trip=trip) for track in _class_tracks(playbook, route)]
    attribution = streets_of(playbook.problem.domain).attribution
    return gpx_text(tracks, name="Playbook", attribution=attribution)


def _class_tracks(playbook: Playbook, route: ClassRoute) -> Iterator[Track]:
    parts = [(route.title, route.group.members, route.itinerary)]
    parts += [(parting.title, parting.members, parting.itinerary) for parting in route.partings]
    for title, members, itinerary in parts:
        description = f"{members_text(playbook, members)}: {total_text(itinerary)}"
        yield Track(title, description, itinerary.polyline())


def write_gpx(playbook: Playbook, path: str | Path, *, trip: int | None = None) -> None:
    """Write a whole playbook as :func:`playbook_gpx` makes it."""
    Path(path).write_text(playbook_gpx(playbook, trip=trip), encoding="utf-8", newline="\n")


def gpx_text(tracks: Sequence[Track], *, name: str, attribution: str = "") -> str:
    """The GPX document with these tracks; ``attribution`` is whom to credit for the map."""
    lines = [_HEAD, " <metadata>", f"  <name>{_text(name)}</name>"]
    if attribution:
        lines.append(f"  <copyright author={quoteattr(_printable(attribution))}/>")
    lines.append(" </metadata>")
    # The schema wants all routes before all tracks.
    for track in tracks:
        if track.steps:
            lines += [" <rte>", f"  <name>{_text(track.name)}</name>", f"  <desc>{_text(track.description)}</desc>"]
            lines += [_route_point(step) for step in track.steps]
            lines.append(" </rte>")
    for number, track in enumerate(tracks, start=1):
        lines += [" <trk>", f"  <name>{_text(track.name)}</name>", f"  <desc>{_text(track.description)}</desc>"]
        lines += [f"  <number>{number}</number>", "  <trkseg>"]
        lines += [f"   <trkpt {_position(lon, lat)}/>" for lon, lat in track.points.tolist()]
        lines += ["  </trkseg>", " </trk>"]
    return "\n".join([*lines, "</gpx>", ""])


def _route_point(step: Step) -> str:
    return (
        f"  <rtept {_position(*step.place)}><name>{_text(step.text)}</name><desc>{_text(step.to_text())}</desc></rtept>"
    )


def _position(lon: float, lat: float) -> str:
    return f'lat="{lat:.7f}" lon="{lon:.7f}"'


def _text(text: str) -> str:
    return escape(_printable(text))


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(character for character in text if character.isprintable())


OKABE_ITO = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#F0E442",  # yellow
    "#000000",  # black
    "#56B4E9",  # sky blue
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#009E73",  # bluish green
)


def class_colour(index: int) -> str:
    """The colour of the class at ``index``, counted from 0; they repeat after eight."""
    return OKABE_ITO[index % len(OKABE_ITO)]
