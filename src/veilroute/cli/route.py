"""`veilroute route`: the one command that takes the secret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.audit import DomainOption, MovementOption
from veilroute.cli.console import emit
from veilroute.cli.exit_codes import DONE
from veilroute.domain.labels import Label, label_text, tidy_text
from veilroute.errors import FileFormatError, InvalidInputError, UnknownCandidateError
from veilroute.formats import read_domain
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, Route, read_playbook

FORMATS = ("text", "json", "gpx", "geojson", "directions")
_FURTHEST_M = 250.0
_LONGEST_LINE = 2**20  # of standard input, which may be endless
_OF_SUFFIX = {".json": "json", ".gpx": "gpx", ".geojson": "geojson"}


def run_route(
    playbook: Annotated[Path, typer.Argument(metavar="PLAYBOOK", help="A playbook made by `veilroute plan`.")],
    transit: Annotated[
        str,
        typer.Option(
            metavar="NODE|-", help="The secret: a node, its name, or LAT,LON; - reads it from standard input."
        ),
    ],
    trip: Annotated[int, typer.Option(help="Which trip, from 0.")] = 0,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FORMATS), help="How to give the route; by the suffix of --out, else text, when left out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the route to a file; the secret is not in it."),
    ] = None,
    expose: Annotated[
        bool, typer.Option("--expose", help="Give a route even if it gives the transit point away.")
    ] = False,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Look up the route for a secret transit point.

    Prefer `--transit -`: it keeps the secret out of the shell's history and the list of processes.
    """
    # Whatever is typed in the wrong place may be the secret, so no message here repeats what was typed.
    wanted = format or (_OF_SUFFIX.get(out.suffix.lower(), "text") if out is not None else "text")
    if wanted not in FORMATS:
        raise InvalidInputError("--format", ", ".join(FORMATS[:-1]) + f" or {FORMATS[-1]}")
    book = _read_quietly(playbook, domain, movement)
    secret = _find_secret(book, _ask() if transit == "-" else transit)
    text = _route_text(book, book.route_for(secret, trip, expose=expose), wanted)
    if out is None:
        # These say in themselves, or are read by programs that take it for granted, that they are UTF-8.
        emit(text, is_utf8=wanted in ("gpx", "geojson"))
    else:
        _write_quietly(out, text)
        emit("Route written.\n")
    return DONE


def _route_text(book: Playbook, route: Route, format: str) -> str:
    """The route as text; made from the route, the map and the names of its ends, whoever asked for it."""
    if format == "text":
        return "".join(f"{label_text(node)}\n" for node in route)
    if format == "json":
        return dump_canonical({"route": route.nodes, "cost": route.cost, "trip": route.trip}).decode()
    # Imported here because a route as text needs none of them.
    from veilroute.formats.geojson import route_geojson
    from veilroute.formats.gpx import route_gpx
    from veilroute.streets.directions import directions, directions_text
    from veilroute.streets.itinerary import lay_route

    if book.domain is None:
        raise InvalidInputError("--domain", "the map or instance file: this playbook holds only its hash")
    itinerary = lay_route(book.domain, route)
    if format == "geojson":
        return route_geojson(itinerary, cost=route.cost, trip=route.trip).decode()
    steps = directions(itinerary, names=book.names)
    if format == "gpx":
        name = "Route" if len(book.trips) == 1 else f"Route, trip {route.trip}"
        return route_gpx(itinerary, name=name, steps=steps)
    return directions_text(itinerary, steps)


def _ask() -> str:
    return sys.stdin.readline(_LONGEST_LINE) if sys.stdin is not None else ""


def _read_quietly(path: Path, domain: Path | None, movement: int) -> Playbook:
    try:
        book = read_playbook(path)
    except FileFormatError as error:
        raise FileFormatError("PLAYBOOK", error.problem, error.line) from None
    if domain is None:
        return book
    try:
        return book.with_domain(read_domain(domain, movement=movement))
    except FileFormatError as error:
        raise FileFormatError("--domain", error.problem, error.line) from None
    except InvalidInputError:
        raise InvalidInputError("--domain", "the map or instance file that the playbook was made for") from None


def _write_quietly(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    except (OSError, ValueError):
        pass  # raised below, without the name of the file as its context
    raise InvalidInputError("--out", "a file that can be written; check the path and its permissions")


def _find_secret(book: Playbook, text: str) -> Label:
    """The candidate that was typed: its text, ``R C`` and ``(R, C)`` for cells, its name, or ``LAT,LON`` on streets."""
    exact = {label_text(label): label for label in book.candidates}
    for wanted in (text.rstrip("\r\n"), text.strip()):
        if wanted in exact:
            return exact[wanted]
    tuples = {name: label for name, label in exact.items() if isinstance(label, tuple)}
    wanted = tidy_text(text)
    if wanted in tuples:
        return tuples[wanted]
    found = _named(book, text.strip()) or _nearest(book, wanted)
    # Asked first and not caught, because a KeyError would carry the secret along as the context of ours.
    if len(found) != 1:
        raise UnknownCandidateError
    return found[0]


def _named(book: Playbook, text: str) -> list[Label]:
    """The candidates of this name or, when there are none, of this name in capitals or small letters."""
    names = [(label, book.names[label]) for label in book.candidates if label in book.names]
    same = [label for label, name in names if name == text]
    return same or [label for label, name in names if name.casefold() == text.casefold()]


def _nearest(book: Playbook, text: str) -> list[Label]:
    """The candidate at the junction nearest to ``LAT,LON``; none where another junction is nearer."""
    lat, _, lon = text.partition(",")
    if book.domain is None or book.domain.streets is None or not (_is_number(lat) and _is_number(lon)):
        return []
    from veilroute.streets.snapping import snap

    where = float(lon), float(lat)
    if abs(where[0]) > 180 or abs(where[1]) > 90:
        return []
    place = snap(book.domain, where)
    label = book.domain.label(place.node)
    return [label] if place.distance_m <= _FURTHEST_M and label in book.candidates else []


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-").removeprefix("+").replace(".", "", 1)
    return digits.isascii() and digits.isdigit()
