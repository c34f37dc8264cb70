from __future__ import annotations

import pytest

from veilroute.streets import NETWORKS, Speeds, parse_kmh, rules, way_speeds

MILE = 1.609344


@pytest.mark.parametrize(
    ("text", "kmh"),
    [
        ("50", 50),
        (" 50 ", 50),
        ("50 km/h", 50),
        ("50km/h", 50),
        ("50 kph", 50),
        ("50.5", 50.5),
        ("30 mph", 30 * MILE),
        ("20mph", 20 * MILE),
        ("10 knots", 18.52),
        ("walk", 6),
        ("none", 130),
        ("FI:urban", 50),
        ("FI:trunk", 100),
        ("RU:motorway", 120),
        ("DE:bicycle_road", 30),
        ("DE:rural", 80),
        ("RU:living_street", 10),
        ("DE:zone30", 30),
        ("DE:zone:30", 30),
        ("BE-VLG:rural", 80),
        ("GB:nsl_single", 60 * MILE),
        ("GB:nsl_dual", 70 * MILE),
        ("GB:nsl_restricted", 30 * MILE),
        ("50;30", 30),
        ("50; 30 mph", 30 * MILE),
        ("50;signals", 50),
        ("signals", 0),
        ("variable", 0),
        ("", 0),
        ("0", 0),
        ("0.5", 0),
        ("1", 1),
        ("200", 200),
        ("201", 0),
        ("-50", 0),
        ("900", 0),
        ("1e3", 0),
        ("fast", 0),
        ("50 furlongs", 0),
        ("FI:", 0),
        ("30 @ (Mo-Fr)", 0),
    ],
)
def test_limits(text: str, kmh: float) -> None:
    assert parse_kmh(text) == pytest.approx(kmh)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"maxspeed": "40"}, Speeds(40, 40, True)),
        ({"maxspeed": "40", "maxspeed:backward": "60"}, Speeds(40, 60, True)),
        ({"maxspeed:forward": "20"}, Speeds(20, 30, False)),
        ({"maxspeed:forward": "20", "maxspeed:backward": "25"}, Speeds(20, 25, True)),
        ({"maxspeed": "signals"}, Speeds(30, 30, False)),
        ({"maxspeed": "signals", "zone:maxspeed": "DE:20"}, Speeds(20, 20, True)),
        ({"source:maxspeed": "FI:urban"}, Speeds(50, 50, True)),
        ({"source:maxspeed": "sign"}, Speeds(30, 30, False)),
        ({"maxspeed": "40", "maxspeed:type": "FI:urban", "source:maxspeed": "FI:rural"}, Speeds(40, 40, True)),
        ({}, Speeds(30, 30, False)),
    ],
)
def test_cars(tags: dict[str, str], expected: Speeds) -> None:
    assert way_speeds(NETWORKS["drive"], {"highway": "residential", **tags}) == expected


DEFAULTS_KMH = {
    "motorway": 110, "motorway_link": 60, "trunk": 80, "trunk_link": 50, "primary": 50, "primary_link": 40,
    "secondary": 50, "secondary_link": 40, "tertiary": 40, "tertiary_link": 30, "unclassified": 40, "road": 40,
    "residential": 30, "living_street": 10, "service": 20,
}  # fmt: skip


def test_every_road_has_a_speed() -> None:
    assert DEFAULTS_KMH == rules.DRIVING_KMH
    assert set(DEFAULTS_KMH) == {*rules.MAIN_ROADS, *rules.FAST_ROADS, "service"}
    for kind, kmh in DEFAULTS_KMH.items():
        assert way_speeds(NETWORKS["drive"], {"highway": kind}) == Speeds(kmh, kmh, False), kind


@pytest.mark.parametrize(
    ("network", "kind", "kmh"),
    [
        ("cycle", "residential", 16),
        ("cycle", "footway", 10),
        ("cycle", "cycleway", 16),
        ("cycle", "track", 12),
        ("cycle", "path", 12),
        ("cycle", "pedestrian", 10),
        ("cycle", "living_street", 10),
        ("walk", "primary", 4.8),
        ("walk", "steps", 2.4),
        ("walk", "elevator", 2.4),
    ],
)
def test_others_heed_no_limits(network: str, kind: str, kmh: float) -> None:
    assert way_speeds(NETWORKS[network], {"highway": kind, "maxspeed": "5"}) == Speeds(kmh, kmh, False)
