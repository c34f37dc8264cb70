"""`veilroute streets`: from a map or a graph from elsewhere to a street network."""

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
            # A graph from elsewhere is taken as it is.
            suffix = network_suffix(source)
            for name, value in {"--network": network, "--service": service, "--connected": connected}.items():
                if value not in (None, False):
                    raise InvalidInputError(name, f"a map from OpenStreetMap; a {suffix} file is taken as it is")
            if cost is not None and suffix not in (".graphml", ".gr"):
                expected = f"a map, .graphml or .gr; a {suffix} file says itself what its costs are"
                raise InvalidInputError("--cost", expected)
            result = read_network(source, cost=cost)
        report(Progress("writing"))
        write_network(result, out)
    summary, text = _describe(result)
    if json:
        emit_json(summary)
    else:
        emit(f"{text}Written: {out}\n")
    return DONE


def _describe(result: StreetNetwork | Domain) -> tuple[dict[str, Any], str]:
    """The network as data and as text."""
    if isinstance(result, StreetNetwork):
        return result.report.to_dict(), result.report.to_text()
    nodes, edges, streets = result.num_nodes, result.num_edges, result.streets
    kind, costs = ("Graph", "") if streets is None else ("Street network", f", costs in {streets.unit}")
    summary = {"num_nodes": nodes, "num_edges": edges, "unit": None if streets is None else streets.unit}
    return summary, f"{kind}: {nodes:,} junctions, {edges:,} directed edges{costs}.\n"
