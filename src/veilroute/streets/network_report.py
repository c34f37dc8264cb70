"""What became of the ways of a file: how many were kept, and why the others were not."""

from dataclasses import asdict, dataclass
from typing import Any

from veilroute.streets.ways import Counts

#: Where one may turn round, in words.
TURNING = {"never": "nowhere", "dead-ends": "at dead ends only", "allow": "anywhere"}


@dataclass(frozen=True, kw_only=True)
class NetworkReport:
    """How a street network was made, in numbers."""

    network: str  #: what the network is for
    unit: str  #: what its costs are measured in
    service: bool  #: whether service roads were wanted
    num_ways_read: int  #: ways in the file
    num_highways: int  #: those among them with a highway tag
    num_ways_kept: int  #: ways in the network
    kept: Counts  #: how many of each kind these are
    dropped: Counts  #: how many are left out for each reason, which is a tag
    num_ways_cut: int  #: ways with a gap because nodes are missing in the file
    num_ways_lost: int  #: ways of which nothing is left for that reason
    num_raw_nodes: int  #: nodes of the ways kept, before simplification
    num_raw_segments: int  #: directed segments between these
    num_nodes_multi: int  #: junctions after simplification, before streets are cut at barriers
    num_edges_multi: int  #: edges between these, with loops and parallel edges
    metres_multi: float  #: the length of these edges
    num_nodes_between: int  #: nodes between junctions that were kept to part loops and parallel edges
    num_loops: int  #: loops that are too short to be parted; they are dropped, as no cheapest walk has one
    metres_loops: float  #: the length of these loops
    num_parallel: int  #: edges that are dropped because the same piece of street is there twice
    metres_parallel: float  #: the length of these parallel edges
    is_connected: bool  #: whether only the largest strongly connected component was kept
    num_nodes_apart: int  #: junctions that were dropped because they are not in it
    num_nodes_illegal: int  #: junctions in it that were dropped because no legal turns lead there or on
    num_edges_apart: int  #: edges that were dropped for that reason
    num_nodes_alone: int  #: junctions that were dropped because no edge is left there
    num_nodes: int  #: junctions of the network
    num_edges: int  #: its directed edges
    metres: float  #: the length of these
    street_m: float  #: of street in the ways kept, each counted once, whatever its directions and what is dropped later
    one_way_share: float  #: of these metres, how many go one way only
    stated_share: float | None  #: how many have a stated speed limit; None where limits play no part
    u_turns: str  #: where one may turn round
    u_turn_cost: float  #: how many seconds that takes
    height: float | None  #: of the vehicle, in metres
    weight: float | None  #: in tonnes
    length: float | None  #: in metres
    num_turn_restrictions: int  #: those in the file for this way of moving, which the network honours
    num_banned_turns: int  #: stretches of the network's junctions that no walk may have in it
    num_restrictions_other: int  #: those for others, or not for this way of moving
    num_restrictions_conditional: int  #: those that hold only at times, which are not read
    num_restrictions_unclear: int  #: those that are left out because their ways or kinds make no sense
    num_restrictions_incomplete: int  #: those that are left out because ways are missing, as at the border of a file
    num_barriers: int  #: nodes that cannot be passed, as bollards and closed gates, at which streets are cut

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        pairs = {name: [list(pair) for pair in getattr(self, name)] for name in ("kept", "dropped")}
        return asdict(self) | pairs

    def to_text(self) -> str:
        """The report for people, some lines."""
        limits = "" if self.stated_share is None else f", {self.stated_share:.0%} with a stated speed limit"
        ways = f"{self.num_ways_kept:,} of {self.num_highways:,} highways among {self.num_ways_read:,} ways"
        nodes = f"{self.num_raw_nodes:,} nodes to {self.num_nodes_multi:,} junctions"
        segments = f"{self.num_raw_segments:,} segments to {self.num_edges_multi:,} edges"
        between = f"; {_many(self.num_nodes_between, 'node')} kept to part streets between the same junctions"
        mark = "highway="
        kinds = tuple((reason.removeprefix(mark), count) for reason, count in self.dropped if reason.startswith(mark))
        others = tuple((reason, count) for reason, count in self.dropped if not reason.startswith(mark))
        is_choice = self.network in ("drive", "truck") and any(kind == "service" for kind, _ in kinds)
        hint = " (--service keeps service roads)" if is_choice else ""
        cut, lost = _many(self.num_ways_cut, "way"), _many(self.num_ways_lost, "way")
        loops = f"{_many(self.num_loops, 'loop')} ({_km(self.metres_loops)})"
        twins = f"{_many(self.num_parallel, 'edge')} there twice ({_km(self.metres_parallel)})"
        outside = _many(self.num_nodes_apart + self.num_nodes_illegal, "junction")
        illegal = f" ({self.num_nodes_illegal:,} for want of legal turns)" if self.num_nodes_illegal else ""
        apart = f"{outside}{illegal}, {_many(self.num_edges_apart, 'edge')}"
        honoured = f"{self.num_turn_restrictions:,} honoured, {_many(self.num_banned_turns, 'turn')} banned"
        unread = (
            ("at times only", self.num_restrictions_conditional),
            ("unclear", self.num_restrictions_unclear),
            ("ways missing in the file", self.num_restrictions_incomplete),
        )
        not_read = tuple((reason, count) for reason, count in unread if count)
        sizes = ((self.height, "m high"), (self.weight, "t"), (self.length, "m long"))
        size = ", ".join(f"{size:g} {unit}" for size, unit in sizes if size is not None)
        price = f", {self.u_turn_cost:g} s each" if self.u_turn_cost else ""
        barriers = _many(self.num_barriers, "barrier")
        # Whether there is something to say, and what.
        lines = (
            (True, f"made from {_km(self.street_m)} of street, {self.one_way_share:.0%} one-way{limits}"),
            (True, f"kept {ways}: {_listed(self.kept)}"),
            (True, f"simplified: {nodes}, {segments}{between if self.num_nodes_between else ''}"),
            (kinds, f"not for {self.network}: {_listed(kinds)}{hint}"),
            (others, f"closed or unfit: {_listed(others)}"),
            (self.num_ways_cut or self.num_ways_lost, f"nodes missing in the file: gaps in {cut}, {lost} lost"),
            (self.num_loops or self.num_parallel, f"of no use to a walk: {loops}, {twins}"),
            (self.is_connected, f"outside the largest connected part: {apart}"),
            (self.network == "truck", f"vehicle: {size or 'no limits of size; give --height, --weight and --length'}"),
            (self.u_turns != "allow" or price, f"turning round: {TURNING[self.u_turns]}{price}"),
            (self.num_turn_restrictions, f"turn restrictions: {honoured}"),
            (not_read, f"turn restrictions not read, so mind the signs: {_listed(not_read)}"),
            (self.num_barriers, f"streets cut at {barriers} (bollards, closed gates)"),
        )
        what = f"{self.network.capitalize()} network: {self.num_nodes:,} junctions, {self.num_edges:,} directed edges"
        said = "".join(f"  {line}\n" for is_there, line in lines if is_there)
        return f"{what}, costs in {self.unit}.\n{said}"


def _listed(counts: Counts) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _km(metres: float) -> str:
    return f"{metres / 1000:,.1f} km"
