"""Places of a playbook as people type them: nodes, roads, and the secret stop among the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from veilroute.base.errors import Problems, UnknownCandidateError
from veilroute.base.run import Run
from veilroute.domain.graph import Label, folded, label_text, tidy_text
from veilroute.formats.orders import read_customers
from veilroute.model.closure import Pair
from veilroute.model.day import Customer
from veilroute.model.playbook import Playbook
from veilroute.streets import Place, locate
from veilroute.streets.places import snap, typed_coordinates
from veilroute.streets.roads import find_roads, split_places

_FURTHEST_M = 250.0
LONGEST = 10_000  #: signs of a secret that is typed


def read_roads(book: Playbook, text: str, field: str, run: Run) -> tuple[list[Pair], list[Pair]]:
    """The roads that were typed: those closed in both directions, and those in one."""
    return find_roads(book.problem.domain, text, names=book.names, field=field, warn=run.warn)


def find_nodes(book: Playbook, text: str, field: str, run: Run) -> list[Label]:
    """The nodes of a list; all that is wrong with it is told at once."""
    problems = Problems()
    found = []
    for item in split_places(text, book.names.values()):
        with problems.collecting():
            found.append(find_node(book, item, field, run))
    problems.raise_all()
    return found


def find_node(book: Playbook, text: str, field: str, run: Run) -> Label:
    """A node as people type it: its label, a name that the playbook knows, or LAT,LON."""
    known = [Place(name, node=label_text(label)) for label, name in book.names.items()]
    found = locate(book.problem.domain, text.strip(), field=field, places=known)
    if found.warning is not None:
        run.warn(found.warning)
    return found.label


def find_secret(book: Playbook, text: str) -> Label:
    """The candidate that was typed: its text, ``R C`` and ``(R, C)`` for cells, its name, or ``LAT,LON`` on streets."""
    if len(text) > LONGEST:
        raise UnknownCandidateError
    for wanted in (text.rstrip("\r\n"), text.strip()):
        # A name may be what another candidate's node is called: customers and junctions both have numbers.
        exact = [label for label in book.candidates if wanted in (label_text(label), book.names.get(label))]
        if exact:
            return _only(exact)
    wanted = tidy_text(text)
    cells = [label for label in book.candidates if isinstance(label, tuple) and label_text(label) == wanted]
    return _only(cells or _named(book, text.strip()) or _nearest(book, text))


def _only(matching: Sequence[Label]) -> Label:
    # Asked first and not caught, because a KeyError would carry the secret along as the context of ours.
    if len(matching) != 1:
        raise UnknownCandidateError
    return matching[0]


def _named(book: Playbook, text: str) -> list[Label]:
    """The candidates of this name or label in capitals or small letters."""
    names = [(label, book.names[label]) for label in book.candidates if label in book.names]
    names += [(label, label) for label in book.candidates if isinstance(label, str)]
    return list(dict.fromkeys(label for label, name in names if folded(name) == folded(text)))


def _nearest(book: Playbook, text: str) -> list[Label]:
    """The candidates at the node nearest to ``LAT,LON`` or in the cell there; none where another is nearer."""
    typed = typed_coordinates(text)
    if book.domain is None or book.domain.on_earth is None or typed is None:
        return []
    lat, lon = typed
    if not (abs(lon) <= 180 and abs(lat) <= 90):
        return []
    if book.domain.grid is not None:
        cell = book.domain.grid.anchor and book.domain.grid.anchor.cell_at(lat, lon)
        return [label for label in book.candidates if label == cell]
    place = snap(book.domain, (lon, lat))
    is_near = place.distance_m <= _FURTHEST_M
    return [label for label in book.candidates if is_near and book.domain.node(label) == place.node]


def read_public_terms(book: Playbook, path: Path) -> dict[Label, Customer]:
    """What a file says about the customers of a playbook, which is public."""

    def find(text: str) -> Label | None:
        with suppress(UnknownCandidateError):
            return find_secret(book, text)
        return next((end for end in ends if text in (label_text(end), book.names.get(end))), None)

    ends = [end for trip in book.trips for end in (trip.start, trip.goal)]
    return read_customers(path, find, ends, book.candidates)
