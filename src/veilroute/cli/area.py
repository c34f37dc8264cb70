"""`veilroute area`: from polygons to fly in, and others to keep out of, to a network of free flight."""

from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from veilroute.base.errors import UnknownMethodError
from veilroute.cli.console import DONE, JsonOption, check_out, emit, emit_json, live_progress
from veilroute.domain.connectivity import reached_from
from veilroute.domain.graph import Domain
from veilroute.formats.area import read_area
from veilroute.formats.network_file import WRITABLE, write_network

SUFFIXES = (".geojson", ".json")
_MOST_PARTS = 50


def run_area(
    source: Annotated[
        Path, Parameter(name="AREA", help="A .geojson file with polygons; no-fly zones have no_fly: true.")
    ],
    /,
    *,
    out: Annotated[
        Path,
        Parameter(
            name=(
                "-o",
                "--out",
            ),
            metavar="OUT",
            help="A .json or .npz file.",
        ),
    ],
    cell: Annotated[float, Parameter(metavar="METRES", help="How far apart the points of the network are.")],
    ways: Annotated[
        int, Parameter(metavar="8|16", help="Moves from each point: to its neighbours, or as a knight as well.")
    ] = 16,
    json: JsonOption = False,
) -> int:
    """Make a network of free flight, for drones: a lattice of points over an area, and moves that avoid no-fly zones.

    Plan on it as on streets: places are LAT,LON, distances are metres, and routes are exported.
    """
    for path, known, field in ((source, SUFFIXES, "AREA"), (out, WRITABLE, "--out")):
        if path.suffix.lower() not in known:
            raise UnknownMethodError(field, path.name, tuple(f"*{suffix}" for suffix in known))
    check_out(out)
    with live_progress("reading"):
        flight = read_area(source, cell=cell, ways=ways)
        write_network(flight.domain, out)
    domain, sizes = flight.domain, _parts(flight.domain)
    if json:
        area_km2 = round(flight.area_m2 / 1e6, 6)
        about = {"cell_m": cell, "ways": ways, "area_km2": area_km2, "num_no_fly": flight.num_no_fly}
        emit_json({"num_nodes": domain.num_nodes, "num_edges": domain.num_edges, "unit": "metres", **about})
        return DONE
    areas, zones = _number(flight.num_areas, "polygon"), _number(flight.num_no_fly, "no-fly zone")
    lines = [
        f"Free flight: {domain.num_nodes:,} points, {domain.num_edges:,} directed moves, costs in metres.",
        f"  an area of {flight.area_m2 / 1e6:.3g} km² ({areas}) without {zones}; points {cell:g} m apart, {ways} ways",
    ]
    if len(sizes) > 1:
        share = max(sizes) / domain.num_nodes
        lines.append(f"  in {len(sizes)} parts with no way between them; the largest has {share:.0%} of the points")
    emit("\n".join([*lines, f"Written: {out}", ""]))
    return DONE


def _parts(domain: Domain) -> list[int]:
    """How many points each part has within which everything can be reached; of the first parts, where they are many."""
    left, sizes = np.ones(domain.num_nodes, dtype=bool), list[int]()
    while left.any() and len(sizes) < _MOST_PARTS:
        part = reached_from(domain, int(np.argmax(left)))
        left &= ~part
        sizes.append(int(part.sum()))
    return sizes


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
