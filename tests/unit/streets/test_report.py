from __future__ import annotations

import json
from dataclasses import replace

import pytest

import veilroute as vr
from osm_files import Relation, Row, on_grid, pack_ways, restriction
from veilroute.jsontext import dump_canonical
from veilroute.streets import build_network

TOWN: list[Row] = [
    (1, [11, 12, 13], {"highway": "residential", "maxspeed": "30"}),
    (2, [13, 14, 15], {"highway": "primary", "oneway": "yes"}),
    (3, [13, 23], {"highway": "footway"}),
    (4, [23, 33], {"highway": "footway"}),
    (5, [11, 21], {"highway": "service"}),
    (6, [12, 22], {"highway": "residential", "access": "private"}),
    (7, [15, 99], {"highway": "residential"}),
    (8, [15, 98], {"highway": "residential", "oneway": "yes"}),
    (9, [13, 23, 22, 13], {"highway": "residential", "oneway": "yes"}),
]

TURNS: list[Relation] = [
    restriction("no_left_turn", 1, 13, 2),
    restriction("only_straight_on", 1, 13, [9]),
    restriction("restriction:bicycle=no_u_turn", 1, 13, 1),
    restriction("restriction:conditional=no_left_turn", 1, 13, 2),
    restriction("no_left_turn", 1, 13, 77),
    restriction("no_left_turn", 1, 33, 2),
    restriction("restriction=no_right_turn except=motorcar", 1, 13, 2),
]


def report_of(**options: bool | str) -> vr.NetworkReport:
    ways = pack_ways(TOWN, on_grid(11, 12, 13, 14, 15, 21, 22, 23, 33), TURNS)
    barriers = {number: {"barrier": "bollard"} for number in (11, 14, 23, 99)} | {12: {"barrier": "gate"}}
    ways = replace(ways, num_read=20, barriers=barriers)
    return build_network(ways, **options).report  # type: ignore[arg-type]


def test_counts() -> None:
    report = report_of()
    assert (report.num_ways_read, report.num_highways, report.num_ways_kept) == (20, 9, 3)
    assert report.kept == (("residential", 2), ("primary", 1))
    assert report.dropped == (("highway=footway", 2), ("access=private", 1), ("highway=service", 1))
    assert (report.num_ways_cut, report.num_ways_lost) == (0, 2)
    assert (report.num_raw_nodes, report.num_raw_segments) == (7, 9)
    assert (report.num_nodes, report.num_edges, report.num_loops, report.num_nodes_between) == (7, 6, 0, 0)
    assert (report.num_turn_restrictions, report.num_restrictions_other) == (2, 2)
    assert report.num_banned_turns == 2, "to 14 and back to 11; it must be 23"
    assert report.num_restrictions_conditional == report.num_restrictions_incomplete == 1
    assert report.num_restrictions_unclear == 1
    assert report.num_barriers == 2, "11 is a dead end, 99 is not here, and a gate may be open"
    # Two stretches of seven have a limit; the diagonal of the loop is as long as the square root of two.
    whole = 6 + 2**0.5
    assert report.stated_share == pytest.approx(2 / whole, abs=1e-3)
    assert report.one_way_share == pytest.approx(1 - 2 / whole, abs=1e-3)
    assert report.street_m == pytest.approx(111.195 * whole, rel=1e-4)


def test_by_network() -> None:
    assert report_of(network="cycle").num_turn_restrictions == 4
    assert report_of(network="truck").num_turn_restrictions == 3
    walking = report_of(network="walk")
    assert walking.num_turn_restrictions == 0
    assert walking.num_barriers == 0
    assert walking.stated_share is None
    assert walking.one_way_share == 0
    assert report_of(service=True).dropped == (("highway=footway", 2), ("access=private", 1))


def test_the_text_says_what_was_left_out_and_why() -> None:
    text = report_of().to_text()
    assert text.startswith("Drive network: 7 junctions, 6 directed edges, costs in seconds.\n")
    for part in (
        "kept 3 of 9 highways among 20 ways: residential 2, primary 1",
        "simplified: 7 nodes to 3 junctions, 9 segments to 4 edges\n",
        "not for drive: footway 2, service 1 (--service keeps service roads)",
        "closed or unfit: access=private 1",
        "nodes missing in the file: gaps in 0 ways, 2 ways lost",
        "turning round: at dead ends only\n",
        "turn restrictions: 2 honoured, 2 turns banned\n",
        "not read, so mind the signs: at times only 1, unclear 1, ways missing in the file 1\n",
        "streets cut at 2 barriers",
    ):
        assert part in text, part
    assert "largest connected part" not in text
    walking = report_of(network="walk", connected=True).to_text()
    assert "outside the largest connected part: 0 junctions, 0 edges" in walking
    assert "--service" not in report_of(service=True).to_text()
    assert "turn restrictions" not in walking


def test_the_data_are_plain() -> None:
    data = report_of().to_dict()
    again = json.loads(dump_canonical(data))
    assert again == data
    assert again["dropped"][0] == ["highway=footway", 2]
