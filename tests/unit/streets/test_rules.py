"""Which ways belong to a network, in which directions, how fast, and for which vehicles: tables of tags."""

from __future__ import annotations

import pytest

import raw_turns
import veilroute as vr
from veilroute import streets

BOTH, FORWARD, BACKWARD = (True, True), (True, False), (False, True)
MILE = 1.609344


def tags_of(text: str) -> dict[str, str]:
    """``residential oneway=yes`` as tags; a street where no kind is given."""
    pairs = text.split()
    kind = pairs.pop(0) if pairs and "=" not in pairs[0] else "residential"
    return {"highway": kind} | dict(pair.split("=", 1) for pair in pairs)


def rule(network: str, text: str, *, service: bool = False) -> streets.Ruling:
    return streets.rule_way(streets.NETWORKS[network], tags_of(text), service=service)


DIRECTIONS: list[tuple[str, tuple[bool, bool], list[str]]] = [
    ("drive", BOTH, [
        "", "oneway=no", "oneway=perhaps", "junction=roundabout oneway=no", "motorway oneway=no", "trunk",
        "oneway=yes oneway:motorcar=no", "oneway:bicycle=yes", "access:forward=private motorcar:forward=yes",
        "vehicle:backward=no motor_vehicle:backward=destination", "oneway=yes motorcar:backward=yes",
    ]),
    ("drive", FORWARD, [
        "oneway=yes", "oneway=1", "junction=roundabout", "junction=circular", "motorway_link", "motorway",
        "oneway=yes oneway:bicycle=no", "oneway:motor_vehicle=yes", "motor_vehicle:backward=no",
        "oneway=yes vehicle:backward=yes", "oneway=yes oneway:access=no", "cycleway=opposite_lane oneway=yes",
    ]),
    ("drive", BACKWARD, ["oneway=-1", "oneway=reverse", "junction=roundabout oneway=-1", "vehicle:forward=no"]),
    ("cycle", BOTH, [
        "oneway=yes oneway:bicycle=no", "oneway:motor_vehicle=yes", "oneway=yes cycleway=opposite",
        "oneway=-1 cycleway=opposite_track", "oneway=yes cycleway:right=opposite_lane",
        "oneway=yes cycleway:both=opposite_lane", "oneway=yes cycleway:left=lane cycleway:left:oneway=-1",
        "oneway=yes cycleway:left=track cycleway:left:oneway=no",
        "oneway=-1 cycleway:left=lane cycleway:left:oneway=yes", "oneway=yes bicycle:backward=yes",
        "oneway=-1 bicycle:forward=yes", "oneway=reversible oneway:bicycle=no",
    ]),
    ("cycle", FORWARD, [
        "oneway=yes", "junction=roundabout", "oneway:bicycle=yes", "oneway=yes cycleway=lane", "cycleway oneway=yes",
        "oneway=yes cycleway:left=separate cycleway:left:oneway=-1", "oneway=yes vehicle:backward=yes",
        "oneway=yes cycleway:left=no cycleway:left:oneway=-1", "oneway=yes cycleway=opposite oneway:bicycle=yes",
    ]),
    ("cycle", BACKWARD, ["oneway=yes oneway:bicycle=-1", "oneway=-1 cycleway:left=lane cycleway:left:oneway=-1"]),
    ("walk", BOTH, ["oneway=yes", "junction=roundabout", "oneway=reversible"]),
    ("walk", FORWARD, ["footway oneway:foot=yes", "footway foot:backward=no"]),
    ("walk", BACKWARD, ["footway oneway:foot=-1"]),
]  # fmt: skip


@pytest.mark.parametrize(("network", "expected", "texts"), DIRECTIONS)
def test_directions(network: str, expected: tuple[bool, bool], texts: list[str]) -> None:
    for text in texts:
        assert rule(network, text) == streets.Ruling(*expected), text


LEFT_OUT = {
    "drive": [
        "oneway=alternating", "oneway=reversible", "access=private", "access=agricultural;forestry", "area=yes",
        "vehicle=no | access=yes", "motorcar=no | motor_vehicle=yes", "access=no | bicycle=yes foot=yes",
        "motor_vehicle:backward=no | motor_vehicle:forward=no", "service=alley",
        "motor_vehicle:forward=no | oneway:motor_vehicle=yes",
    ],
    "cycle": ["oneway=reversible", "vehicle=no", "bicycle=use_sidepath"],
    "walk": ["foot=no", "access=private", "area=yes"],
}  # fmt: skip
"""The tag that keeps a way out, and those beside it."""
LEFT_IN = {
    "drive": [
        "access=private;yes", "access=no vehicle=yes", "bicycle=no foot=no", "motor_vehicle=no motorcar=yes",
        "primary motorroad=yes", "access=destination", "access=unheard_of",
    ],
    "cycle": [
        "motor_vehicle=no", "vehicle=no bicycle=yes", "trunk bicycle=yes", "footway bicycle=designated",
        "bridleway bicycle=permissive", "path bicycle=dismount;yes",
    ],
    "walk": ["vehicle=no", "access=private foot=yes", "primary motorroad=yes foot=yes", "busway foot=yes"],
}  # fmt: skip


@pytest.mark.parametrize("network", LEFT_OUT)
def test_access_and_invitations(network: str) -> None:
    for text in LEFT_OUT[network]:
        assert rule(network, text.replace("|", "")) == streets.Ruling(False, False, text.split()[0]), text
    for text in LEFT_IN[network]:
        assert rule(network, text).is_in, text
    others = {"cycle": ["footway bicycle=dismount", "steps bicycle=yes"]}.get(network, [])
    for text in others:
        assert rule(network, text).reason == f"highway={text.split()[0]}"
    if network != "drive":
        assert rule(network, "primary motorroad=yes").reason == "motorroad=yes"


ROADS = "primary_link secondary tertiary unclassified residential living_street road"


@pytest.mark.parametrize(
    ("network", "kinds", "others"),
    [
        (
            "drive", f"{ROADS} motorway trunk_link",
            "service track footway path cycleway steps pedestrian trail crossing platform busway construction "
            "proposed corridor elevator bridleway raceway rest_area services no",
        ),
        (
            "cycle", f"{ROADS} service track cycleway",
            "motorway trunk footway path pedestrian steps trail platform busway",
        ),
        (
            "walk", f"{ROADS} service track cycleway footway path pedestrian steps platform corridor",
            "motorway motorway_link trunk trail construction proposed busway raceway",
        ),
    ],
)  # fmt: skip
def test_kinds(network: str, kinds: str, others: str) -> None:
    for kind in kinds.split():
        assert rule(network, kind).is_in, kind
    for kind in others.split():
        assert rule(network, kind).reason == f"highway={kind}"


@pytest.mark.parametrize(
    ("text", "stopped"),
    [
        ("barrier=bollard motor_vehicle=yes", []),
        ("barrier=gate", []),
        ("barrier=gate access=private", ["drive", "truck", "cycle", "walk"]),
        ("barrier=gate access=no foot=yes", ["drive", "truck", "cycle"]),
        ("barrier=lift_gate vehicle=no bicycle=yes", ["drive", "truck"]),
        ("barrier=gate motor_vehicle=yes hgv=no", ["truck"]),
        ("barrier=height_restrictor maxheight=2.1", []),
    ],
)
def test_barriers(text: str, stopped: list[str]) -> None:
    assert [name for name, network in streets.NETWORKS.items() if streets.is_stopped(network, tags_of(text))] == stopped
    assert set(raw_turns.STOPS_CARS) == streets.OBSTACLES | streets.BOLLARDS and set(raw_turns.CLOSED) <= streets.CLOSED
    drive, walk = streets.NETWORKS["drive"], streets.NETWORKS["walk"]
    for kind in streets.OBSTACLES | streets.BOLLARDS:
        assert streets.is_stopped(drive, {"barrier": kind}) and not streets.is_stopped(walk, {"barrier": kind})


class Asked(dict[str, str]):
    """Tags that remember which keys were looked for."""

    def __init__(self, text: str, asked: set[str]) -> None:
        super().__init__(tags_of(text))
        self._asked = asked

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self._asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._asked.add(str(key))
        return super().__contains__(key)


def test_the_reader_keeps_every_tag_that_is_asked_for() -> None:
    asked: set[str] = set()
    lanes = "cycleway:left=lane cycleway:right=lane cycleway:both=lane"
    for network in streets.NETWORKS.values():
        for text in ("residential", "residential oneway=yes", f"residential oneway=yes {lanes}"):
            streets.rule_way(network, Asked(text, asked), service=True)
            streets.way_speeds(network, Asked(text, asked))
    assert {"junction", "motorroad", "cycleway:left:oneway", "vehicle:backward", "maxspeed:backward"} <= asked
    assert asked <= streets.rules.KEYS


# --- speeds

LIMITS: dict[float, list[str]] = {
    50: ["50", " 50 ", "50 km/h", "50km/h", "50 kph", "FI:urban", "50;signals"],
    0: [
        "signals", "variable", "", "0", "0.5", "0.99", "200.1", "201", "-50", "900", "1e3", "fast", "50 furlongs",
        "FI:", "30 @ (Mo-Fr)", "1000",
    ],
    1: ["1"], 6: ["walk"], 10: ["RU:living_street"], 18.52: ["10 knots"], 20 * MILE: ["20mph"],
    30.0: ["DE:bicycle_road", "DE:zone:30", "50;30", "DE:zone30"],
    30 * MILE: ["30 mph", "GB:nsl_restricted", "50; 30 mph"], 50.5: ["50.5"], 60 * MILE: ["GB:nsl_single"],
    70 * MILE: ["GB:nsl_dual"], 80: ["DE:rural", "BE-VLG:rural"],
    100: ["FI:trunk"], 120: ["RU:motorway"], 130: ["none"], 200: ["200"],
}  # fmt: skip


@pytest.mark.parametrize("kmh", LIMITS)
def test_limits(kmh: float) -> None:
    for text in LIMITS[kmh]:
        assert streets.parse_kmh(text) == pytest.approx(kmh), text


@pytest.mark.parametrize(
    ("network", "text", "expected"),
    [
        ("drive", "", (30, 30, False)),
        ("drive", "maxspeed=40", (40, 40, True)),
        ("drive", "maxspeed=40 maxspeed:backward=60", (40, 60, True)),
        ("drive", "maxspeed:forward=20", (20, 30, False)),
        ("drive", "maxspeed=signals", (30, 30, False)),
        ("drive", "maxspeed=signals zone:maxspeed=DE:20", (20, 20, True)),
        ("drive", "source:maxspeed=FI:urban", (50, 50, True)),
        ("drive", "primary maxspeed=80 maxspeed:hgv=60", (80, 80, True)),
        ("truck", "motorway", (90, 90, False)),
        ("truck", "trunk maxspeed=100", (80, 80, True)),
        ("truck", "primary maxspeed=80 maxspeed:hgv=60", (60, 60, True)),
        # Others heed no limits.
        *(("cycle", f"{kind} maxspeed=5", (16, 16, False)) for kind in ("residential", "cycleway")),
        *(("cycle", kind, (12, 12, False)) for kind in ("track", "path")),
        *(("cycle", kind, (10, 10, False)) for kind in ("footway", "pedestrian", "living_street")),
        ("walk", "primary maxspeed=5", (4.8, 4.8, False)),
        *(("walk", kind, (2.4, 2.4, False)) for kind in ("steps", "elevator")),
    ],
)
def test_speeds(network: str, text: str, expected: tuple[float, float, bool]) -> None:
    assert streets.way_speeds(streets.NETWORKS[network], tags_of(text)) == streets.Speeds(*expected)


# --- sizes

METRES: dict[float | None, list[str]] = {
    3.5: ["3.5", "3,5", "3.5 m", "3.5m", "350 cm", "4;3.5", "3.5 M "],
    3.81: ["12'6\"", "12' 6\"", "12′6″", "12 ft 6 in"],
    3.6576: ["12 ft", "12'"], 1.9812: ['78"'], 3.0: ["unsigned;3"],
    None: ["default", "none", "below_default", "", "0", "3.5 miles", "-3", "4.5|3.5", "1e3"],
}  # fmt: skip
TONNES: dict[float | None, list[str]] = {
    7.5: ["7.5", "7.5 t", "7,5t", "7500 kg"], 7.25747792: ["8 st"], 9.0718474: ["20000 lbs"], 3.5: ["3.5;7.5"],
    None: ["default", "none", "7.5 m"],
}  # fmt: skip


def test_metres_and_tonnes() -> None:
    for parse, table in ((streets.parse_metres, METRES), (streets.parse_tonnes, TONNES)):
        for value, texts in table.items():
            for text in texts:
                assert parse(text) == (None if value is None else pytest.approx(value)), text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "") for text in ("maxheight=3.8", "maxweight=3.5 maxweight:hgv=12", "maxlength=10", "motorcar=no")),
        *((text, "") for text in ("goods=no hgv=destination", "motor_vehicle=no hgv=yes", "hgv:forward=no")),
        *((text, text) for text in ("maxheight=3.7", "maxheight:physical=3.7", "maxweight=7.5", "maxlength=30'")),
        *((text, text) for text in ("maxweightrating:hgv=7.5", "hgv=no", "goods=no", "access=private")),
    ],
)
def test_ways_for_a_truck(text: str, reason: str) -> None:
    truck = streets.network_called("truck", streets.Vehicle(height=3.8, weight=12, length=10))
    ruling = streets.rule_way(truck, tags_of(text))
    assert (ruling.reason, ruling.forward) == (reason, not reason and text != "hgv:forward=no")
    bar = {"barrier": "height_restrictor", "maxheight": "2.1"}
    low, lower = (streets.network_called("truck", streets.Vehicle(height=height)) for height in (3, 2))
    assert streets.is_stopped(low, bar) and not streets.is_stopped(lower, bar)
    if reason.startswith("max"):
        assert rule("truck", text).is_in and rule("drive", text).is_in, "without a size there are no limits of size"


@pytest.mark.parametrize("size", [{"height": 380}, {"weight": 0}, {"length": float("nan")}, {"height": True}])
def test_what_there_is_not(size: dict[str, float]) -> None:
    with pytest.raises(vr.InvalidInputError, match=next(iter(size))):
        streets.Vehicle(**size)
    with pytest.raises(vr.InvalidInputError, match="drive, truck, cycle, walk"):
        streets.network_called("fly")
