from __future__ import annotations

import pytest

import veilroute as vr
from street_samples import little_town, place
from veilroute.domain import street_domain
from veilroute.streets import Located, Place, locate

TOWN = little_town()
LON, LAT = place(107)
CITY_SPAN = r"latitude 60\.170 to 60\.172, longitude 24\.940 to 24\.946"


def find(text: str | Place, *, far_m: float = 100) -> Located:
    return locate(TOWN, text, field="--start", far_m=far_m)


@pytest.mark.parametrize("text", [f"{LAT},{LON}", f" {LAT} , {LON} ", f"+{LAT}0,{LON}"])
def test_latitude_then_longitude(text: str) -> None:
    found = find(text)
    assert found.label == 107
    assert found.distance_m == pytest.approx(0, abs=0.01)
    assert found.name is None
    assert found.warning is None


def test_ids_of_junctions() -> None:
    assert find("107").label == 107
    assert find(" 107 ").distance_m is None
    with pytest.raises(
        vr.InvalidInputError, match=r"--start: expected LAT,LON such as 60\.1720,24\.9400, the id .*'7'"
    ):
        find("7")


def test_names_of_places_go_first() -> None:
    places = [Place("Kamppi", LAT, LON), Place("101", node="103"), Place("Forum", node="102")]
    assert locate(TOWN, "Kamppi", field="--start", places=places) == find(places[0])
    assert locate(TOWN, "Forum", field="--goal", places=places).label == 102
    assert locate(TOWN, "101", field="--goal", places=places).label == 103
    with pytest.raises(vr.InvalidInputError, match="--goal: expected LAT,LON .* or the name of a place"):
        locate(TOWN, "kamppi square", field="--goal", places=places)


def test_a_warning_beyond_a_distance() -> None:
    # A hundred-thousandth of a degree of latitude is 1.11 m.
    near, far = Place("Kamppi", 60.17289, 24.94), Place("Kamppi", 60.17291, 24.94)
    assert find(near).warning is None
    assert find(far).warning == "Kamppi: nearest junction 101 is 101 m away"
    assert find(far, far_m=102).warning is None
    assert find("60.173,24.94", far_m=50).warning == "60.173,24.94: nearest junction 101 is 111 m away"
    with pytest.raises(vr.InvalidInputError, match="far_m"):
        find(far, far_m=-1)


@pytest.mark.parametrize("text", ["60.3,24.94", "61.5,23.8", "0,0", "-60.171,24.944", "60.171,-24.944"])
def test_off_the_map(text: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=rf"a junction \({CITY_SPAN}\), got "):
        find(text)


def test_two_kilometres_are_the_limit_or_what_the_user_says() -> None:
    inside, outside = "60.1899,24.94", "60.1901,24.94"
    assert find(inside).warning == f"{inside}: nearest junction 101 is 1990 m away"
    with pytest.raises(vr.InvalidInputError, match=f"a point on the map, at most 2 km from a junction .{CITY_SPAN}"):
        find(outside)
    assert find(outside, far_m=2500).label == 101


def test_latitude_and_longitude_mixed_up() -> None:
    with pytest.raises(
        vr.InvalidInputError, match=r"longitude,latitude, so write 60\.171,24\.944, got '24\.944,60\.171'"
    ):
        find("24.944,60.171")
    sydney = street_domain(  # longitudes beyond 90, which are no latitudes
        lonlat=[(151.2, -33.86), (151.21, -33.86)], tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres"
    )
    assert locate(sydney, "-33.86,151.2", field="--start").label == 0
    with pytest.raises(vr.InvalidInputError, match=r"so write -33\.86,151\.2,"):
        locate(sydney, "151.2,-33.86", field="--start")


@pytest.mark.parametrize("text", ["91,24.94", "-90.01,0", "60.17,181"])
def test_nowhere_on_earth(text: str) -> None:
    with pytest.raises(vr.InvalidInputError, match="a latitude from -90 to 90, then a longitude from -180 to 180"):
        find(text)


def test_messages_say_where_the_place_came_from() -> None:
    with pytest.raises(vr.InvalidInputError, match=r"^a\.csv, line 3: Kamppi: expected a point on the map"):
        find(Place("Kamppi", 61.0, 24.94, origin="a.csv, line 3"))


def test_other_domains_have_no_coordinates(line5: vr.Domain, two_rooms: vr.Domain) -> None:
    assert locate(two_rooms, "1,3", field="--start").label == (1, 3)
    assert locate(line5, "4", field="--start").label == 4
    with pytest.raises(vr.InvalidInputError, match="--start: expected a cell written as ROW,COL"):
        locate(two_rooms, "1.5,3", field="--start")
    with pytest.raises(vr.InvalidInputError, match="inside a wall"):
        locate(two_rooms, "0,3", field="--start")
    with pytest.raises(vr.InvalidInputError, match="only street networks know latitude"):
        locate(line5, Place("Kamppi", 1.0, 2.0), field="--start")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "both lat and lon, or the id"),
        ({"lat": 60.0}, "both lat and lon"),
        ({"lat": 60.0, "lon": 24.0, "node": "3"}, "or the id"),
        ({"lat": 60.0, "lon": float("nan")}, "finite"),
        ({"node": "3", "role": "depot"}, "start, goal or candidate, got 'depot'"),
    ],
)
def test_places_are_checked_when_they_are_made(values: dict[str, object], message: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=message):
        Place(**values)  # type: ignore[arg-type]


def test_what_a_place_is_called() -> None:
    assert str(Place("Kamppi", 60.17, 24.94)) == "Kamppi"
    assert str(Place(lat=60.17, lon=24.94)) == "60.17,24.94"
    assert str(Place(node="107")) == "107"
