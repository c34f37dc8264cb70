"""Places on a street network: from what is typed or in a file to a junction, and whether a trip can be meant."""

from __future__ import annotations

import numpy as np
import pytest

import veilroute as vr
from street_samples import little_town, place
from veilroute.domain import Zone, great_circle_m, street_domain
from veilroute.domain.free_flight import free_flight
from veilroute.streets import (
    DoorFinder,
    Located,
    Place,
    check_distinct,
    check_joined,
    check_way,
    locate,
    shared_doors,
    snap,
)

TOWN = little_town()
LON, LAT = place(107)
SPAN = r"latitude 60\.170 to 60\.172, longitude 24\.940 to 24\.946"


def find(text: str | Place, *, far_m: float = 100) -> Located:
    return locate(TOWN, text, field="--start", far_m=far_m)


def points(lonlat: object) -> vr.Domain:
    return street_domain(lonlat=lonlat, tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres")  # type: ignore[arg-type]


# --- snapping


def test_the_nearest_junction_is_that_of_looking_at_all() -> None:
    rng = np.random.default_rng(5)
    lonlat = rng.uniform((24.9, 60.1), (25.0, 60.2), (200, 2))
    for point in rng.uniform((24.9, 60.1), (25.0, 60.2), (20, 2)).tolist():
        found = snap(points(lonlat), tuple(point))
        away = great_circle_m(lonlat, point)
        assert found.node == int(np.argmin(away)) and found.distance_m == pytest.approx(float(away.min()))
    # At 60 degrees a degree of longitude is half as long as one of latitude.
    assert snap(points([(25.0, 60.001), (25.0015, 60.0)]), (25.0, 60.0)).node == 1
    assert snap(TOWN, place(112)).distance_m == 0.0


# --- locating


@pytest.mark.parametrize("text", [f"{LAT},{LON}", f" {LAT} , {LON} ", f"+{LAT}0,{LON}"])
def test_latitude_then_longitude(text: str) -> None:
    found = find(text)
    assert (found.label, found.name, found.warning) == (107, None, None)
    assert found.distance_m == pytest.approx(0, abs=0.01)


def test_names_of_places_go_before_ids() -> None:
    assert find(" 107 ").label == 107 and find("107").distance_m is None
    places = [Place("Kamppi", LAT, LON), Place("101", node="103"), Place("Forum", node="102")]
    assert locate(TOWN, "Kamppi", field="--start", places=places) == find(places[0])
    for text, label in (("Forum", 102), ("101", 103)):
        assert locate(TOWN, text, field="--goal", places=places).label == label
    for text, word in (("kampi", "Did you mean 'Kamppi'"), ("7", "Write LAT,LON .* the name of a place")):
        with pytest.raises(vr.InvalidInputError, match=f"^--goal: '{text}' was not found. {word}"):
            locate(TOWN, text, field="--goal", places=places)


def test_a_warning_beyond_a_distance_and_two_kilometres_at_most() -> None:
    # A hundred-thousandth of a degree of latitude is 1.11 m; the northernmost street is at 60.172.
    near, far = Place("Kamppi", 60.17289, 24.94), Place("Kamppi", 60.17291, 24.94)
    assert find(near).warning is None and "101 m" in (find(far).warning or "") and find(far, far_m=102).warning is None
    with pytest.raises(vr.InvalidInputError, match=f"outside the map .{SPAN}.: the nearest junction is 2.0 km away"):
        find("60.1901,24.94")
    assert find("60.1901,24.94", far_m=2500).label == 101


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *((text, SPAN) for text in ("60.3,24.94", "0,0", "60.171,-24.944")),
        ("24.944,60.171", r"latitude comes first.*'60\.171,24\.944'"),
        *((text, "A latitude is from -90 to 90") for text in ("91,24.94", "-90.01,0", "60.17,181")),
    ],
)
def test_off_the_map_or_the_wrong_way_round(text: str, word: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=f"^--start: .*{word}"):
        find(text)


def test_other_domains_have_no_coordinates(line5: vr.Domain, two_rooms: vr.Domain) -> None:
    assert locate(two_rooms, "1,3", field="--start").label == (1, 3)
    assert locate(line5, "4", field="--start").label == 4
    for domain, text, word in (
        (two_rooms, "1.5,3", "ROW,COL"),
        (two_rooms, "0,3", "a wall"),
        (line5, Place("K", 1.0, 2.0), "only street networks"),
    ):
        with pytest.raises(vr.InvalidInputError, match=word):
            locate(domain, text, field="--start")
    with pytest.raises(vr.InvalidInputError, match="street network"):
        snap(line5, (0.0, 0.0))


@pytest.mark.parametrize(
    "values",
    [
        *({}, {"lat": 60.0}, {"lat": 60.0, "lon": 24.0, "node": "3"}, {"lat": 60.0, "lon": float("nan")}),
        {"node": "3", "role": "depot"},
    ],
)
def test_places_are_checked_when_they_are_made(values: dict[str, object]) -> None:
    with pytest.raises(vr.InvalidInputError):
        Place(**values)  # type: ignore[arg-type]


# --- trips


def islands() -> vr.Domain:
    """Mainland a <-> b -> c <-> d, and an island e <-> f; c and d cannot be left to the west."""
    tails, heads = [0, 1, 1, 2, 3, 4, 5], [1, 0, 2, 3, 2, 5, 4]
    lonlat = [(i / 1000, 0.0) for i in range(6)]
    return street_domain(
        lonlat=lonlat, tails=tails, heads=heads, costs=[1] * 7, lengths=[100] * 7, unit="seconds", labels=list("abcdef")
    )


def spot(label: str, name: str | None = None, *, distance_m: float | None = None, origin: str = "--x") -> Located:
    return Located(label, name or label, name, distance_m, origin=origin)


def test_a_way_from_start_to_goal_and_to_the_candidates() -> None:
    """The place on the smaller part is named; one-way streets part candidates from nothing."""
    domain = islands()
    check_way(domain, spot("a"), spot("d"))
    check_way(domain, spot("e"), spot("e"))
    check_joined(domain, spot("d"), [spot("a"), spot("b")])
    pier, quay = (spot("f", "Pier", origin=origin) for origin in ("--goal", "--start"))
    for start, goal, word in (
        (spot("d", "Depot"), spot("b", origin="--goal"), "--goal: .*from Depot to b"),
        (spot("a"), pier, r"--goal: .*Pier \(junction f\) .*not connected to a\."),
        (quay, spot("a"), r"--start: .*Pier \(junction f\) .*not connected to a\."),
    ):
        with pytest.raises(vr.InvalidInputError, match=word):
            check_way(domain, start, goal)
    with pytest.raises(vr.InvalidInputError, match="Quay .junction e. .*not connected to b"):
        check_joined(domain, spot("b"), [spot("a"), spot("c"), spot("e", "Quay")])


def test_two_places_at_one_junction() -> None:
    """A candidate at an end does not count if both came by their ids, as in every problem; else it is a surprise."""
    depot, gate = spot("a", "Depot"), spot("d", "Gate")
    check_distinct(islands(), depot, gate, [spot("b"), spot("c", distance_m=3.0)])
    check_distinct(islands(), depot, spot("a", "Depot, back gate"), [spot("b")])
    check_distinct(islands(), depot, gate, [spot("a"), spot("d")])
    for start, candidates, word in (
        (depot, [spot("b"), spot("b")], "b and b are both"),
        (depot, [spot("a", "Kamppi", distance_m=12.0)], "Depot and Kamppi are both at junction a"),
        (depot, [spot("d", "Kamppi", distance_m=12.0)], "Gate and Kamppi are both at junction d"),
        (spot("a", "Depot", distance_m=3.0), [spot("a"), spot("b")], "Depot and a are both at junction a"),
    ):
        with pytest.raises(vr.InvalidInputError, match=word):
            check_distinct(islands(), start, gate, candidates)


def test_candidates_at_one_door_are_said_by_name() -> None:
    told = shared_doors(islands(), [spot("b", "Bank"), spot("c"), spot("b", "Baker"), spot("c")])
    assert len(told) == 1 and told[0].startswith("Bank, Baker are at one door")


def test_a_place_where_one_cannot_fly() -> None:
    """A lattice with points 20 m apart, and a hole of three by three of them."""
    ring = np.array([(0, 0), (0.004, 0), (0.004, 0.004), (0, 0.004)])
    hole = np.array([(0.001, 0.001), (0.002, 0.001), (0.002, 0.002), (0.001, 0.002)])
    sky = free_flight([Zone("area", (ring,))], [Zone("hospital", (hole,))], cell=20).domain
    for doors in (None, DoorFinder(sky)):
        inside = locate(sky, Place("Roof", 0.0015, 0.0015), field="--x", doors=doors)
        assert inside.warning is not None and inside.warning.startswith("Roof is in a no-fly zone")
        for lat, lon in ((0.003, 0.003), (0.00305, 0.00312), (0.0005, 0.0021)):
            assert locate(sky, Place("Yard", lat, lon), field="--x", doors=doors).warning is None
