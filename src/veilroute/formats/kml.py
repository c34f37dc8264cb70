"""KML 2.2: routes, stops and places for globes and map programs.

Files hold no date and load nothing from elsewhere: marks are the program's own, in the colours of the pictures. The
file of a single route depends on the route and on the stops of everybody who could be meant by it; it does not know who
is.
"""

from collections.abc import Iterable, Iterator
from html import escape as escape_html
from pathlib import Path
from xml.sax.saxutils import escape

from veilroute.base.io import write_file
from veilroute.domain.geography import places_on_earth, streets_of
from veilroute.domain.graph import Label
from veilroute.formats.geojson import UNPROTECTED, class_colour
from veilroute.model.playbook import Playbook
from veilroute.streets.directions import Itinerary, stay_text, total_text
from veilroute.streets.sheets import chosen_trips, class_routes, members_text
from veilroute.streets.stops import Schedule

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2">\n<Document>'
_END = "#404040"  # of starts and goals
_WIDE, _NARROW = 5, 3
_OPAQUE = "cc"


def route_kml(itinerary: Itinerary, *, name: str = "Route", schedule: Schedule | None = None) -> str:
    """One route as KML: its line, and its stops."""
    schedule = schedule or Schedule()
    marks = [
        _line(name, total_text(itinerary, schedule), "class-1", itinerary),
        *_stops(itinerary, schedule, "class-1"),
    ]
    note = schedule.note(len(itinerary.stops)) if itinerary.stops else ""
    return _document(name, _style("class-1", class_colour(0)), marks, itinerary.attribution, note)


def playbook_kml(playbook: Playbook, *, trip: int | None = None, schedule: Schedule | None = None) -> str:
    """A whole playbook as KML: a folder for each anonymized class and trip (or for one ``trip``), and one for places.

    A class's folder has its line and its stops. Where the members of a class part, its line is what they share, and one
    for the rest of each follows. Places are starts, goals and candidates.
    """
    schedule = schedule or Schedule()
    styles = _style("end", _END) + _style("unprotected", UNPROTECTED)
    for number in range(len(playbook.hidden_classes)):
        styles += _style(f"class-{number + 1}", class_colour(number))
    marks: list[str] = []
    for route in class_routes(playbook, trip=trip):
        style, title = f"class-{route.number}", route.parts[0].title.partition(", shared beginning")[0]
        folder = []
        for part in route.parts:
            about = f"{members_text(playbook, part.members)}: {total_text(part.itinerary, schedule)}"
            is_rest = part.role == "parting"
            folder.append(_line(part.title, about, f"{style}-rest" if is_rest else style, part.itinerary))
            folder += _stops(part.itinerary, schedule, style)
        marks += _folder(title, folder)
    marks += _folder("Places", _places(playbook, trip))
    attribution = streets_of(playbook.problem.domain).attribution
    return _document("Playbook", styles, marks, attribution, schedule.note())


def write_kml(
    playbook: Playbook, path: str | Path, *, trip: int | None = None, schedule: Schedule | None = None
) -> None:
    """Write a whole playbook as :func:`playbook_kml` makes it."""
    write_file(path, playbook_kml(playbook, trip=trip, schedule=schedule))


def _document(name: str, styles: list[str], marks: Iterable[str], attribution: str, note: str) -> str:
    about = " ".join(part for part in (note, f"Map: {attribution}" if attribution else "") if part)
    lines = [_HEAD, _about(name, about), *styles, *marks, "</Document>", "</kml>", ""]
    return "\n".join(lines)


def _folder(name: str, marks: Iterable[str]) -> list[str]:
    return ["<Folder>", f"<name>{_text(name)}</name>", *marks, "</Folder>"]


def _style(name: str, colour: str) -> list[str]:
    """How lines and points of one kind look: a style for whole routes and one for the rests of members."""
    red, green, blue = colour[1:3], colour[3:5], colour[5:7]
    paint = f"{blue}{green}{red}".lower()  # opacity first, then in this order
    icon = f"<IconStyle><color>ff{paint}</color></IconStyle>"
    return [
        f'<Style id="{name}{suffix}">{icon}'
        f"<LineStyle><color>{_OPAQUE}{paint}</color><width>{width}</width></LineStyle></Style>"
        for suffix, width in (("", _WIDE), ("-rest", _NARROW))
    ]


def _line(name: str, about: str, style: str, itinerary: Itinerary) -> str:
    positions = itinerary.polyline().tolist()
    # A line has two positions at least, also where the route stays where it is.
    points = " ".join(_position(lon, lat) for lon, lat in (positions if len(positions) > 1 else 2 * positions))
    shape = f"<LineString><tessellate>1</tessellate><coordinates>{points}</coordinates></LineString>"
    return _placemark(name, about, style, shape)


def _stops(itinerary: Itinerary, schedule: Schedule, style: str) -> Iterator[str]:
    for stop in itinerary.stops:
        yield _point(stop.text, stay_text(itinerary, stop, schedule), style, itinerary.place(stop.position))


def _places(playbook: Playbook, trip: int | None) -> Iterator[str]:
    """The ends of the trips, then the candidates."""
    domain = playbook.problem.domain

    def at(label: Label, about: str, style: str) -> str:
        lon, lat = places_on_earth(domain, [domain.node(label)])[0].tolist()
        return _point(playbook.name(label), about, style, (lon, lat))

    for which in chosen_trips(playbook, trip):
        ends, of = playbook.trips[which], "" if len(playbook.trips) == 1 else f" of trip {which}"
        yield at(ends.start, f"Start{of}", "end")
        yield at(ends.goal, f"Goal{of}", "end")
    numbers: dict[Label, list[int]] = {}
    for number, group in enumerate(playbook.hidden_classes, start=1):
        for member in group.members:
            numbers.setdefault(member, []).append(number)
    for label in playbook.candidates:
        classes = numbers.get(label)
        about = "Not protected" if classes is None else f"Class {', '.join(map(str, classes))}"
        yield at(label, about, "unprotected" if classes is None else f"class-{classes[0]}")


def _point(name: str, about: str, style: str, place: tuple[float, float]) -> str:
    return _placemark(name, about, style, f"<Point><coordinates>{_position(*place)}</coordinates></Point>")


def _placemark(name: str, about: str, style: str, shape: str) -> str:
    return f"<Placemark>{_about(name, about)}<styleUrl>#{style}</styleUrl>{shape}</Placemark>"


def _about(name: str, about: str) -> str:
    """Name and description; programs show the latter as HTML, so what is markup there is escaped once more."""
    described = f"<description>{_text(escape_html(about, quote=False))}</description>" if about else ""
    return f"<name>{_text(name)}</name>{described}"


def _position(lon: float, lat: float) -> str:
    return f"{lon:.7f},{lat:.7f}"


def _text(text: str) -> str:
    """As XML has it, without the characters that it cannot hold."""
    return escape("".join(character for character in text if character.isprintable()))
