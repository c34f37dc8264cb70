from __future__ import annotations

import pytest

import veilroute as vr
from osm_files import Row, on_grid, pack_ways
from veilroute.streets import (
    NETWORKS,
    Vehicle,
    build_network,
    is_stopped,
    network_called,
    parse_metres,
    parse_tonnes,
    rule_way,
    way_speeds,
)

ROAD = {"highway": "residential"}


@pytest.mark.parametrize(
    ("text", "metres"),
    [
        ("3.5", 3.5), ("3,5", 3.5), ("3.5 m", 3.5), ("3.5m", 3.5), ("350 cm", 3.5), ("12'6\"", 3.81), ("12' 6\"", 3.81),
        ("12′6″", 3.81), ("12 ft 6 in", 3.81), ("12 ft", 3.6576), ("12'", 3.6576), ("78\"", 1.9812), ("4;3.5", 3.5),
        ("3.5 M ", 3.5), ("default", None), ("none", None), ("below_default", None), ("", None), ("0", None),
        ("3.5 miles", None), ("-3", None), ("4.5|3.5", None), ("unsigned;3", 3.0), ("1e3", None),
    ],
)  # fmt: skip
def test_metres(text: str, metres: float | None) -> None:
    assert parse_metres(text) == (None if metres is None else pytest.approx(metres))


@pytest.mark.parametrize(
    ("text", "tonnes"),
    [
        ("7.5", 7.5), ("7.5 t", 7.5), ("7,5t", 7.5), ("7500 kg", 7.5), ("8 st", 7.25747792), ("20000 lbs", 9.0718474),
        ("3.5;7.5", 3.5), ("default", None), ("none", None), ("7.5 m", None),
    ],
)  # fmt: skip
def test_tonnes(text: str, tonnes: float | None) -> None:
    assert parse_tonnes(text) == (None if tonnes is None else pytest.approx(tonnes))


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ({"maxheight": "3.8"}, ""),
        ({"maxheight": "3.7"}, "maxheight=3.7"),
        ({"maxheight:physical": "3.7"}, "maxheight:physical=3.7"),
        ({"maxweight": "7.5"}, "maxweight=7.5"),
        ({"maxweight": "3.5", "maxweight:hgv": "12"}, ""),
        ({"maxweightrating:hgv": "7.5"}, "maxweightrating:hgv=7.5"),
        ({"maxlength": "10"}, ""),
        ({"maxlength": "30'"}, "maxlength=30'"),
        ({"hgv": "no"}, "hgv=no"),
        ({"goods": "no"}, "goods=no"),
        ({"goods": "no", "hgv": "destination"}, ""),
        ({"motor_vehicle": "no", "hgv": "yes"}, ""),
        ({"access": "private"}, "access=private"),
        ({"motorcar": "no"}, ""),
        ({"hgv:forward": "no"}, ""),
    ],
)
def test_ways_for_a_truck(tags: dict[str, str], reason: str) -> None:
    truck = network_called("truck", Vehicle(height=3.8, weight=12, length=10))
    assert rule_way(truck, ROAD | tags).reason == reason
    if "hgv:forward" in tags:
        assert not rule_way(truck, ROAD | tags).forward
    if reason.startswith("max"):
        assert rule_way(NETWORKS["truck"], ROAD | tags).is_in, "without a size there are no limits of size"
        assert rule_way(NETWORKS["drive"], ROAD | tags).is_in


def test_speeds() -> None:
    truck, drive = NETWORKS["truck"], NETWORKS["drive"]
    assert way_speeds(truck, {"highway": "motorway"}).forward_kmh == 90
    assert way_speeds(truck, {"highway": "trunk", "maxspeed": "100"}).forward_kmh == 80
    assert way_speeds(truck, {"highway": "residential", "maxspeed": "40"}).forward_kmh == 40
    assert way_speeds(truck, {"highway": "primary", "maxspeed": "80", "maxspeed:hgv": "60"}).backward_kmh == 60
    assert way_speeds(drive, {"highway": "primary", "maxspeed": "80", "maxspeed:hgv": "60"}).backward_kmh == 80


def test_a_bar_across_the_street_stops_who_is_higher() -> None:
    bar = {"barrier": "height_restrictor", "maxheight": "2.1"}
    assert is_stopped(network_called("truck", Vehicle(height=3.0)), bar)
    assert not is_stopped(network_called("truck", Vehicle(height=2.0)), bar)


def test_a_network_for_a_truck() -> None:
    rows: list[Row] = [
        (1, [11, 12], ROAD),
        (2, [12, 13], ROAD | {"maxheight": "3.5 m"}),
        (3, [12, 22], ROAD | {"maxweight": "7.5"}),
    ]
    ways = pack_ways(rows, on_grid(11, 12, 13, 22))
    network = build_network(ways, network="truck", vehicle=Vehicle(height=3.8, weight=7.5))
    assert network.domain.labels == (11, 22)
    assert network.report.dropped == (("maxheight=3.5 m", 1),)
    assert "vehicle: 3.8 m high, 7.5 t\n" in network.report.to_text()
    assert (network.report.height, network.report.weight, network.report.length) == (3.8, 7.5, None)


@pytest.mark.parametrize("size", [{"height": 380}, {"weight": 0}, {"length": float("nan")}, {"height": True}])
def test_sizes_that_no_truck_has(size: dict[str, float]) -> None:
    with pytest.raises(vr.InvalidInputError, match=next(iter(size))):
        Vehicle(**size)
