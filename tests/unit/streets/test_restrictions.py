from __future__ import annotations

import numpy as np
import pytest

from osm_files import Relation, Row, on_grid, pack_ways, restriction
from veilroute import StreetNetwork
from veilroute.streets import NETWORKS, build_network, kinds_for

ROAD = {"highway": "residential"}
# Streets around 22, 23, 33 and 32, cut at every junction, with a dead end or two at each.
CROSSING: list[Row] = [
    (1, [12, 22], ROAD),
    (2, [22, 32], ROAD),
    (3, [21, 22], ROAD),
    (4, [22, 23], ROAD),
    (5, [23, 24], ROAD),
    (6, [23, 33], ROAD),
    (7, [13, 23], ROAD),
    (8, [32, 33], ROAD),
    (9, [31, 32], ROAD),
    (10, [33, 34], ROAD),
]
PLACES = on_grid(11, 12, 13, 14, 20, 21, 22, 23, 24, 31, 32, 33, 34)


def build(*relations: Relation, rows: list[Row] | None = None, **options: object) -> StreetNetwork:
    return build_network(pack_ways(rows or CROSSING, PLACES, relations), **options)  # type: ignore[arg-type]


def banned(network: StreetNetwork) -> list[tuple[object, ...]]:
    turns = network.domain.turns
    return [] if turns is None else [network.domain.labels_of(np.array(stretch)) for stretch in turns.banned]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (restriction("no_left_turn", 1, 22, 3), [(12, 22, 21)]),
        (restriction("no_u_turn", 1, 22, 1), [(12, 22, 12)]),
        (restriction("no_entry", [1, 3], 22, 4), [(12, 22, 23), (21, 22, 23)]),
        (restriction("no_exit", 1, 22, [3, 4]), [(12, 22, 21), (12, 22, 23)]),
        (restriction("no_left_turn;no_u_turn", 1, 22, 3), [(12, 22, 21)]),
        (restriction("only_straight_on", 1, 22, 2), [(12, 22, 12), (12, 22, 21), (12, 22, 23)]),
        (restriction("only_u_turn", 1, 22, 1), [(12, 22, 21), (12, 22, 23), (12, 22, 32)]),
        (restriction("only_left_turn", 1, 22, 99), [(12, 22, 12), (12, 22, 21), (12, 22, 23), (12, 22, 32)]),
        (restriction("no_u_turn", 1, [4], 6), [(12, 22, 23, 33)]),
        (restriction("no_u_turn", 3, [4, 6], 8), [(21, 22, 23, 33, 32)]),
        (
            restriction("only_straight_on", 3, [4], 5),
            [(21, 22, 12), (21, 22, 21), (21, 22, 32), (21, 22, 23, 13), (21, 22, 23, 22), (21, 22, 23, 33)],
        ),
    ],
)
def test_what_a_restriction_bans(relation: Relation, expected: list[tuple[int, ...]]) -> None:
    network = build(relation)
    assert set(banned(network)) == set(expected)
    assert network.report.num_turn_restrictions == 1
    assert network.report.num_banned_turns == len(expected)


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        (restriction("no_left_turn", 1, 22, 99), "incomplete"),
        (restriction("no_left_turn", 99, 22, 3), "incomplete"),
        (restriction("only_left_turn", 1, [4], 99), "incomplete"),
        (restriction("only_left_turn", 1, 22, []), "incomplete"),
        (restriction("no_left_turn", 1, 23, 4), "unclear"),
        (restriction("no_left_turn", 1, [5], 6), "unclear"),
        (restriction("give_way", 1, 22, 3), "unclear"),
        (({"type": "restriction", "restriction": "no_left_turn"}, []), "incomplete"),
        (
            (
                {"restriction": "no_left_turn"},
                [("from", "way", 1), ("via", "node", 22), ("via", "way", 4), ("to", "way", 6)],
            ),
            "unclear",
        ),
        (restriction("restriction:conditional=no_left_turn@(Mo-Fr)", 1, 22, 3), "conditional"),
        (restriction("restriction:motorcar:conditional=no_left_turn@(Mo)", 1, 22, 3), "conditional"),
        (restriction("restriction:bicycle=no_left_turn", 1, 22, 3), "other"),
        (restriction("restriction=no_left_turn except=bicycle;motorcar", 1, 22, 3), "other"),
    ],
)
def test_what_is_left_out_is_counted(relation: Relation, reason: str) -> None:
    network = build(relation)
    assert banned(network) == []
    counts = {name: getattr(network.report, f"num_restrictions_{name}") for name in REASONS}
    assert counts == dict.fromkeys(REASONS, 0) | {reason: 1}
    assert network.report.num_turn_restrictions == 0


REASONS = ("other", "conditional", "unclear", "incomplete")


@pytest.mark.parametrize(
    ("tags", "holds"),
    [
        ({"restriction": "no_left_turn"}, ["drive", "truck", "cycle"]),
        ({"restriction:hgv": "no_left_turn"}, ["truck"]),
        ({"restriction:motorcar": "no_left_turn"}, ["drive"]),
        ({"restriction:foot": "no_left_turn"}, ["walk"]),
        ({"restriction:hgv": "no_left_turn", "except": "vehicle"}, []),
        ({"restriction": "no_u_turn", "restriction:hgv": "no_left_turn"}, ["drive", "truck", "cycle"]),
    ],
)
def test_for_whom(tags: dict[str, str], holds: list[str]) -> None:
    assert [name for name, network in NETWORKS.items() if kinds_for(network, tags)] == holds


def test_the_more_special_kind_holds_as_well() -> None:
    tags = "restriction=no_u_turn restriction:hgv=only_straight_on"
    relation = restriction(tags, 1, 22, 2)
    assert banned(build(relation)) == [(12, 22, 32)], "so it stands there, whatever it is called"
    assert len(banned(build(relation, network="truck"))) == 4


def test_a_long_search_ends() -> None:
    """A restriction over ways in a web of streets, of which there are too many ways through."""
    side = 12
    rows: list[Row] = []
    for line in range(side):
        rows.append((100 + line, [side * line + col for col in range(side)], ROAD))
        rows.append((200 + line, [side * row + line for row in range(side)], ROAD))
    places = {side * row + col: (0.001 * col, 0.001 * row) for row in range(side) for col in range(side)}
    every = [number for number, _, _ in rows]
    rows += [(1, [0, 900], ROAD), (2, [side * side - 1, 901], ROAD)]
    places |= {900: (-0.001, 0.0), 901: (0.02, 0.02)}
    ways = pack_ways(rows, places, [restriction("no_left_turn", 1, every, 2)])
    assert build_network(ways).report.num_restrictions_unclear == 1
