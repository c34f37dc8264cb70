"""`veilroute streets`: from a map or a graph from elsewhere to a street network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer import Argument, Option

from veilroute.cli.console import DONE, JsonOption, check_out, emit, emit_json, live_progress
from veilroute.domain.graph import Domain
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.formats.network_file import WRITABLE, network_suffix, read_network, write_network
from veilroute.formats.osm import is_osm_name, read_osm
from veilroute.progress import Progress
from veilroute.streets.network import StreetNetwork


def run_streets(
    source: Path = Argument(
        metavar="IN", help="An .osm.pbf, .osm, .osm.gz or .osm.bz2 file, or a .graphml, .gr, .csv, .json or .npz."
    ),
    out: Path = Option(..., "-o", "--out", metavar="OUT", help="A .json or .npz file."),
    network: str | None = Option(None, metavar="drive|cycle|walk", help="Which streets of a map. [drive]"),
    cost: str | None = Option(None, metavar="seconds|metres", help="What streets cost: time or length. [seconds]"),
    service: bool = Option(False, "--service", help="With service roads: alleys, driveways, ways through yards."),
    connected: bool = Option(
        False, "--connected", help="Only the largest part within which everything can be reached."
    ),
    json: JsonOption = False,
) -> int:
    """Make a street network of a map from OpenStreetMap, or of a graph from elsewhere, and say what was left out."""
    if out.suffix not in WRITABLE:
        raise UnknownMethodError("--out", out.name, tuple(f"*{suffix}" for suffix in WRITABLE))
    check_out(out)
    result: StreetNetwork | Domain
    with live_progress("reading") as report:
        if is_osm_name(source):
            if service and network not in (None, "drive"):
                raise InvalidInputError("--service", "--network drive; the others have service roads anyway")
            given: dict[str, Any] = {"network": network, "cost": cost, "service": service, "connected": connected}
            given = {name: value for name, value in given.items() if value is not None}
            result = read_osm(source, progress=report, **given)
        else:
            _check_graph_options(source, cost, {"--network": network, "--service": service, "--connected": connected})
            result = read_network(source, cost=cost)
        report(Progress("writing"))
        write_network(result, out)
    if json:
        emit_json(_described(result))
    else:
        text = result.report.to_text() if isinstance(result, StreetNetwork) else _line(result)
        emit(f"{text}Written: {out}\n")
    return DONE


def _check_graph_options(source: Path, cost: str | None, others: dict[str, str | bool | None]) -> None:
    """A graph from elsewhere is taken as it is."""
    suffix = network_suffix(source)
    for name, value in others.items():
        if value not in (None, False):
            raise InvalidInputError(name, f"a map from OpenStreetMap; a {suffix} file is taken as it is")
    if cost is not None and suffix not in (".graphml", ".gr"):
        raise InvalidInputError("--cost", f"a map, .graphml or .gr; a {suffix} file says itself what its costs are")


def _described(result: StreetNetwork | Domain) -> dict[str, object]:
    if isinstance(result, StreetNetwork):
        return result.report.to_dict()
    unit = None if result.streets is None else result.streets.unit
    return {"num_nodes": result.num_nodes, "num_edges": result.num_edges, "unit": unit}


def _line(domain: Domain) -> str:
    kind = "Graph" if domain.streets is None else "Street network"
    unit = "" if domain.streets is None else f", costs in {domain.streets.unit}"
    return f"{kind}: {domain.num_nodes:,} junctions, {domain.num_edges:,} directed edges{unit}.\n"
