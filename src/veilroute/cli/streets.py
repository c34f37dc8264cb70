"""`veilroute streets`: from a map or a graph from elsewhere to a street network."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, UnknownMethodError
from veilroute.base.run import Progress
from veilroute.cli.console import DONE, JsonOption, check_out, emit, emit_json, live_progress, remark
from veilroute.domain.graph import Domain
from veilroute.formats.network_file import WRITABLE, network_suffix, read_addresses, read_network, write_network
from veilroute.formats.osm import is_osm_name, read_osm
from veilroute.formats.osm_addresses import read_osm_addresses
from veilroute.streets.network import StreetNetwork, connected_part, with_u_turns
from veilroute.streets.network_report import TURNING


def run_streets(
    source: Annotated[
        Path,
        Parameter(
            name="IN",
            help="An .osm.pbf, .osm, .osm.gz or .osm.bz2 file, or a .graphml, .gr, .csv, .xlsx, .json or .npz.",
        ),
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
    network: Annotated[
        str | None, Parameter(metavar="drive|truck|cycle|walk", help="Which streets of a map. [drive]")
    ] = None,
    cost: Annotated[
        str | None, Parameter(metavar="seconds|metres", help="What streets cost: time or length. [seconds]")
    ] = None,
    service: Annotated[
        bool, Parameter(name="--service", help="With service roads: alleys, driveways, ways through yards.")
    ] = False,
    connected: Annotated[
        bool, Parameter(name="--connected", help="Only the largest part within which everything can be reached.")
    ] = False,
    u_turns: Annotated[
        str | None,
        Parameter(
            name="--u-turns",
            metavar="never|dead-ends|allow",
            help="Where to turn round. [dead-ends; allow on foot and by bicycle]",
        ),
    ] = None,
    u_turn_cost: Annotated[
        float, Parameter(name="--u-turn-cost", metavar="SECONDS", help="What turning round takes. [0]")
    ] = 0.0,
    height: Annotated[float | None, Parameter(name="--height", metavar="METRES", help="Of the truck.")] = None,
    weight: Annotated[float | None, Parameter(name="--weight", metavar="TONNES", help="Of the truck, loaded.")] = None,
    length: Annotated[float | None, Parameter(name="--length", metavar="METRES", help="Of the truck.")] = None,
    oneway: Annotated[
        str | None,
        Parameter(
            metavar="yes|no", help="Whether each row of a table is one direction, where no column oneway says it."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Make a street network of a map from OpenStreetMap, or of a graph from elsewhere, and say what was left out."""
    if out.suffix.lower() not in WRITABLE:
        raise UnknownMethodError("--out", out.name, tuple(f"*{suffix}" for suffix in WRITABLE))
    check_out(out)
    result: StreetNetwork | Domain
    with live_progress("reading") as report:
        if is_osm_name(source):
            if service and network not in (None, "drive", "truck"):
                raise InvalidInputError("--service", "--network drive or truck; the others have service roads anyway")
            if oneway is not None:
                raise InvalidInputError("--oneway", "a table of edges; a map says itself which streets are one-way")
            given: dict[str, Any] = {"network": network, "cost": cost, "service": service, "connected": connected}
            given |= {"u_turns": u_turns, "u_turn_cost": u_turn_cost}
            given |= {"height": height, "weight": weight, "length": length}
            given = {name: value for name, value in given.items() if value is not None}
            result = read_osm(source, progress=report, **given)
            addresses = read_osm_addresses(source, progress=report)
            left_out = {}
        else:
            # A graph from elsewhere is taken as it is.
            suffix = network_suffix(source)
            only_maps: dict[str, Any] = {"--network": network, "--service": service}
            only_maps |= {"--height": height, "--weight": weight, "--length": length}
            for name, value in only_maps.items():
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
            if u_turns is not None or u_turn_cost or (suffix not in WRITABLE and whole.streets is not None):
                whole = with_u_turns(whole, u_turns, u_turn_cost)
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
    u_turns = "allow" if result.turns is None else result.turns.u_turns
    summary = {"num_nodes": nodes, "num_edges": edges, "unit": None if streets is None else streets.unit}
    turning = "" if u_turns == "allow" else f"  turning round: {TURNING[u_turns]} (--u-turns)\n"
    text = f"{kind}: {nodes:,} junctions, {edges:,} directed edges{costs}.\n{turning}"
    return summary | {"u_turns": u_turns}, text
