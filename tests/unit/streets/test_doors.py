"""Doors: where a place is on its street, and the network that is split there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from random import Random

import numpy as np
import pytest

import veilroute as vr
from door_towns import winding_town
from plain_turns import is_legal
from street_samples import little_town, place
from veilroute.domain import Turns, great_circle_m, street_domain, with_rules
from veilroute.streets import DoorFinder, open_doors

METRE_LAT = 1 / 111_195
METRE_LON = METRE_LAT / math.cos(math.radians(60.171))


def beside(label: int, other: int, share: float, *, east_m: float = 0.0, north_m: float = 0.0) -> tuple[float, float]:
    """A point on the straight street between two junctions, moved off it by some metres."""
    (lon, lat), (lon2, lat2) = place(label), place(other)
    return lon + share * (lon2 - lon) + east_m * METRE_LON, lat + share * (lat2 - lat) + north_m * METRE_LAT


def pairs_of(domain: vr.Domain, edges: Iterable[int]) -> list[tuple[object, object]]:
    tails, heads, _ = domain.edge_arrays()
    return [(domain.label(int(tails[edge])), domain.label(int(heads[edge]))) for edge in edges]


def test_a_door_is_the_nearest_point_of_the_nearest_street_as_brute_force_finds_it() -> None:
    town = little_town()
    door = DoorFinder(town).find(beside(101, 102, 0.25, north_m=12))
    assert door.node is None and door.fractions == pytest.approx((0.25, 0.75), abs=0.001)
    assert pairs_of(town, door.edges) == [(101, 102), (102, 101)]
    assert town.streets is not None
    tails, heads, _ = town.edge_arrays()
    rng, finder = Random(4), DoorFinder(town)
    for _ in range(60):
        point = (rng.uniform(24.939, 24.948), rng.uniform(60.1695, 60.1725))
        least = math.inf
        for edge in range(town.num_edges):
            line = town.streets.line(int(tails[edge]), int(heads[edge]), edge)
            for one, other in itertools.pairwise(line):
                shares = np.linspace(0, 1, 400)[:, None]
                least = min(least, float(great_circle_m(one + shares * (other - one), point).min()))
        door = finder.find(point)
        assert door.distance_m == pytest.approx(least, abs=0.3)
        assert great_circle_m(door.lonlat, point) == pytest.approx(door.distance_m, abs=0.3)


def test_the_network_is_split_where_the_door_is() -> None:
    town = little_town()
    finder = DoorFinder(town)
    points = {"Baker": beside(101, 102, 0.25, north_m=5), "School": beside(102, 106, 0.5, east_m=4)}
    split, _ = open_doors(town, [(name, finder.find(point)) for name, point in points.items()])
    assert split.num_nodes == town.num_nodes + 2
    assert split.num_edges == town.num_edges + 3  # the street to the school is one-way
    assert split.streets is not None
    assert town.streets is not None
    assert split.streets.lengths.sum() == pytest.approx(town.streets.lengths.sum())
    assert split.costs.sum() == pytest.approx(town.costs.sum())
    for name, point in points.items():
        assert great_circle_m(split.streets.lonlat[split.node(name)], point) < 5.2
    out = split.indices[split.indptr[split.node("School")] : split.indptr[split.node("School") + 1]]
    assert [split.label(int(node)) for node in out] == [106]


def test_directions_that_run_elsewhere_are_two_streets() -> None:
    """Each has a bend, one to the west and one to the east: a door is on the nearer one alone."""
    west, east = ((side * 40 * METRE_LAT, 100 * METRE_LAT) for side in (-1, 1))
    for there, back, num in ((west, east, 1), (west, west, 2)):
        road = street_domain(
            lonlat=[(0.0, 0.0), (0.0, 200 * METRE_LAT)], tails=[0, 1], heads=[1, 0], costs=[220, 220],
            lengths=[220, 220], unit="metres", shape_ptr=[0, 1, 2], shape=[there, back],
        )  # fmt: skip
        assert len(DoorFinder(road).find((west[0] * 1.1, west[1] + METRE_LAT)).edges) == num


def test_the_shorter_of_two_parallel_streets_is_cut_as_well() -> None:
    """Only the faster of them is driven; how near places are on foot goes by the shorter one."""
    slow = street_domain(
        lonlat=[(0.0, 0.0), (0.0, 200 * METRE_LAT)], tails=[0, 0, 1], heads=[1, 1, 0], costs=[20.0, 40.0, 20.0],
        lengths=[500.0, 115.0, 500.0], unit="seconds",
    )  # fmt: skip
    assert slow.streets is not None
    assert slow.streets.shortest.tolist() == [115.0, 500.0]
    split, _ = open_doors(slow, [("Shop", DoorFinder(slow).find((METRE_LAT, 50 * METRE_LAT)))])
    assert split.streets is not None
    assert sorted(split.streets.shortest.round(1).tolist()) == pytest.approx([28.7, 86.3, 125.0, 375.0], abs=0.3)


def test_the_kerb_is_on_the_right_or_on_the_left() -> None:
    town = little_town()
    north = beside(101, 102, 0.4, north_m=6)  # on the right of who drives west
    for traffic, expected in (("right", [(102, "Baker"), ("Baker", 101)]), ("left", [(101, "Baker"), ("Baker", 102)])):
        finder = DoorFinder(town, side="kerb", traffic=traffic)
        split, _ = open_doors(town, [("Baker", finder.find(north))])
        pairs = pairs_of(split, range(split.num_edges))
        assert [pair for pair in pairs if "Baker" in pair] == [expected[0], expected[1]]
        assert (expected[1][1], expected[0][0]) in pairs  # the other direction goes past


def test_several_places_at_one_spot_have_one_node() -> None:
    town = little_town()
    finder = DoorFinder(town)
    spot, corner = beside(101, 102, 0.4, north_m=6), place(103)
    doors = [("Baker", spot), ("Butcher", spot), ("Café", corner), ("Bar", corner)]
    split, labels = open_doors(town, [(name, finder.find(point)) for name, point in doors])
    assert labels == ("Baker", "Butcher", 103, "Bar")
    assert split.node("Baker") == split.node("Butcher")
    assert split.node("Bar") == split.node(103)
    problem = vr.Problem(split, [vr.Trip(105, 108)], labels)
    assert len(set(problem.candidate_nodes)) == 2
    near = vr.solve(problem, vr.Privacy(k=2, ell=1))
    assert near.claims.num_anonymized == 4
    for group in near.hidden_classes:
        assert len({split.node(label) for label in group.members}) > 1  # nobody is hidden by who is at the same spot
    assert vr.solve(problem, vr.Privacy(k=3, ell=1)).claims.num_anonymized == 0
    # Four names, and an observer who comes to two doors: k counts doors, also where no distance is asked for.
    assert vr.solve(problem, vr.Privacy(k=2, ell=0)).claims.num_anonymized == 4
    assert vr.solve(problem, vr.Privacy(k=3, ell=0)).claims.num_anonymized == 0


def test_a_name_that_the_map_has_already() -> None:
    town = little_town()
    door = DoorFinder(town).find(beside(101, 102, 0.4))
    split, labels = open_doors(town, [("102", door), ("102", door)])
    assert labels == ("102 (place)", "102 (place) (place)")
    assert split.has_label(102)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_legal_stays_so_where_streets_are_split(seed: int) -> None:
    """A walk past doors is legal when the walk over the whole streets is, and it turns round between no junctions."""
    rng = Random(seed)
    town = winding_town(seed, side=3, u_turns=rng.choice(("never", "dead-ends", "allow")))
    assert town.turns is not None
    num, doors = town.num_nodes, []
    for number in range(rng.randint(1, 5)):
        finder = DoorFinder(town, side=rng.choice(("any", "kerb")))
        doors.append((f"place {number}", finder.find((24.9 + rng.random() / 250, 60.1 + rng.random() / 500))))
    split, _ = open_doors(town, doors)
    assert split.turns is not None and split.streets is not None
    tails, heads, _ = split.edge_arrays()
    for edge, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        line = split.streets.line(tail, head, edge)  # bends stay on their side of a door
        assert great_circle_m(line[:-1], line[1:]).sum() == pytest.approx(split.streets.lengths[edge], rel=0.01, abs=1)
    out, split_out = (
        {node: one.indices[one.indptr[node] : one.indptr[node + 1]].tolist() for node in range(one.num_nodes)}
        for one in (town, split)
    )
    for _ in range(40):
        walk = [rng.randrange(num)]
        while len(walk) < 14 and split_out[walk[-1]]:
            walk.append(rng.choice(split_out[walk[-1]]))
        while walk[-1] >= num:
            walk.pop()
        whole = [node for node in walk if node < num]
        turned = any(one == other for one, other in itertools.pairwise(whole))
        between: set[int] = set()
        for node in walk:
            turned |= node in between
            between = between | {node} if node >= num else set()
        if turned and town.turns.u_turns == "allow":
            continue
        assert is_legal(walk, split_out, split.turns) == (is_legal(whole, out, town.turns) and not turned)


def test_turning_round_at_a_kerb_costs_nothing_more() -> None:
    town = with_rules(little_town(), Turns.of("allow", u_turn_cost=20))
    finder = DoorFinder(town, side="kerb")
    with pytest.raises(vr.InvalidInputError, match="--u-turn-cost"):
        open_doors(town, [("Baker", finder.find(beside(101, 102, 0.4, north_m=6)))])


def test_streets_across_the_antimeridian() -> None:
    spots = [(179.995, -16.8), (179.999, -16.8), (-179.997, -16.8), (-179.99, -16.8)]
    tails, heads = [0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]
    metres = [float(great_circle_m(spots[a], spots[b])) for a, b in zip(tails, heads, strict=True)]
    road = street_domain(lonlat=spots, tails=tails, heads=heads, costs=metres, lengths=metres, unit="metres")
    finder = DoorFinder(road)
    for lon in (179.997, 179.9995, 180.0, -180.0, -179.9995, -179.993):
        point = (lon, -16.8001)
        door = finder.find(point)
        assert door.distance_m == pytest.approx(11.12, abs=0.01)
        assert great_circle_m(door.lonlat, point) == pytest.approx(11.12, abs=0.1)
        split, _ = open_doors(road, [("Shop", door)])
        assert split.streets is not None
        assert split.streets.lengths.sum() == pytest.approx(sum(metres))
        away = great_circle_m(split.streets.lonlat[-1], spots[0])
        walk = vr.cover(vr.Problem(split, [vr.Trip(0, "Shop")], ["Shop"]), ["Shop"])
        assert walk.cost == pytest.approx(away, abs=0.2)


@pytest.mark.parametrize("degrees", [-80, -10, 45])
def test_the_kerb_outside_a_hairpin_bend(degrees: int) -> None:
    ends, bend = [(0.0, 0.0), (0.0, 60 * METRE_LAT)], (200 * METRE_LAT, 0.0)
    road = street_domain(
        lonlat=ends, tails=[0, 1], heads=[1, 0], costs=[409, 409], lengths=[409, 409], unit="metres",
        shape_ptr=[0, 1, 2], shape=[bend, bend],
    )  # fmt: skip
    angle = math.radians(degrees)
    outside = bend[0] + 20 * METRE_LAT * math.cos(angle), bend[1] + 20 * METRE_LAT * math.sin(angle)
    assert DoorFinder(road, side="kerb").find(outside).edges == (0,)
    assert DoorFinder(road, side="kerb", traffic="left").find(outside).edges == (1,)
    inside = bend[0] - 60 * METRE_LAT, bend[1] + 8 * METRE_LAT
    assert DoorFinder(road, side="kerb").find(inside).edges == (1,)


def test_a_round_trip_whose_ends_are_called_differently() -> None:
    town = little_town()
    finder = DoorFinder(town)
    points = {"Depot": beside(101, 102, 0.4, north_m=6), "Shop": place(103), "Bar": place(107)}
    named = [*points.items(), ("Garage", points["Depot"])]
    split, labels = open_doors(town, [(name, finder.find(point)) for name, point in named])
    assert split.node("Garage") == split.node("Depot")
    problem = vr.Problem(split, [vr.Trip("Depot", "Garage")], labels[1:3])
    book = vr.solve(problem, vr.Privacy(k=2, ell=1))
    for label in problem.candidates:
        assert book.route_for(label).nodes[-1] == "Depot"
    assert all(claim.holds for claim in vr.audit(book, instance=problem).claims)
