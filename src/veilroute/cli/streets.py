"""`veilroute streets`: from a map or a graph from elsewhere to a street network."""

from pathlib import Path
from typing import Any

from typer import Argument, Option

from veilroute.checks import check_name
from veilroute.cli.console import DONE, JsonOption, check_out, emit, emit_json, live_progress, remark
from veilroute.domain.geography import connected_part
from veilroute.domain.graph import Domain
from veilroute.errors import InvalidInputError, UnknownMethodError
from veilroute.formats.network_file import WRITABLE, network_suffix, read_addresses, read_network, write_network
from veilroute.formats.osm import is_osm_name, read_osm
from veilroute.formats.osm_addresses import read_osm_addresses
from veilroute.progress import Progress
from veilroute.streets.network import StreetNetwork


def run_streets(
    source: Path = Argument(
        metavar="IN",
        help="An .osm.pbf, .osm, .osm.gz or .osm.bz2 file, or a .graphml, .gr, .csv, .xlsx, .json or .npz.",
    ),
    out: Path = Option(..., "-o", "--out", metavar="OUT", help="A .json or .npz file."),
    network: str | None = Option(None, metavar="drive|cycle|walk", help="Which streets of a map. [drive]"),
    cost: str | None = Option(None, metavar="seconds|metres", help="What streets cost: time or length. [seconds]"),
    service: bool = Option(False, "--service", help="With service roads: alleys, driveways, ways through yards."),
    connected: bool = Option(
        False, "--connected", help="Only the largest part within which everything can be reached."
    ),
    oneway: str | None = Option(
        None, metavar="yes|no", help="Whether each row of a table is one direction, where no column oneway says it."
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
            if oneway is not None:
                raise InvalidInputError("--oneway", "a table of edges; a map says itself which streets are one-way")
            given: dict[str, Any] = {"network": network, "cost": cost, "service": service, "connected": connected}
            given = {name: value for name, value in given.items() if value is not None}
            result = read_osm(source, progress=report, **given)
            addresses = read_osm_addresses(source, progress=report)
            left_out = {}
        else:
            # A graph from elsewhere is taken as it is.
            suffix = network_suffix(source)
            for name, value in {"--network": network, "--service": service}.items():
                if value not in (None, False):
                    raise InvalidInputError(name, f"a map from OpenStreetMap; a {suffix} file is taken as it is")
            if cost is not None and suffix not in (".graphml", ".gr"):
                expected = f"a map, .graphml or .gr; a {suffix} file says itself what its costs are"
                raise InvalidInputError("--cost", expected)
            if oneway is not None:
                check_name("--oneway", oneway, ("yes", "no"))
                if suffix not in (".csv", ".xlsx"):
                    expected = f"a table of edges; a {suffix} file says itself which streets are one-way"
                    raise InvalidInputError("--oneway", expected)
            whole = read_network(source, cost=cost, oneway=None if oneway is None else oneway == "yes", tell=remark)
            result = connected_part(whole) if connected else whole
            addresses = read_addresses(source)
            left_out = {
                "num_nodes_apart": whole.num_nodes - result.num_nodes,
                "num_edges_apart": whole.num_edges - result.num_edges,
            }
        report(Progress("writing"))
        write_network(result, out, addresses=addresses)
    summary, text = _describe(result)
    num_addresses = len(addresses.entries)
    if json:
        emit_json(summary | left_out | {"num_addresses": num_addresses})
        return DONE
    if left_out.get("num_nodes_apart"):
        apart = f"{left_out['num_nodes_apart']:,} junctions, {left_out['num_edges_apart']:,} edges"
        text += f"  outside the largest connected part: {apart}\n"
    if num_addresses:
        text += f"  addresses and named places for --places and --goal: {num_addresses:,}\n"
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
