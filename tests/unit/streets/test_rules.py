from __future__ import annotations

import pytest

import veilroute as vr
from veilroute.streets import (
    BOLLARDS,
    CLOSED,
    NETWORKS,
    OBSTACLES,
    OPEN,
    Ruling,
    is_stopped,
    network_called,
    rule_way,
    rules,
    way_speeds,
)

BOTH, FORWARD, BACKWARD = (True, True), (True, False), (False, True)


def tags_of(text: str) -> dict[str, str]:
    """``residential oneway=yes`` as tags."""
    kind, *others = text.split()
    return {"highway": kind} | dict(pair.split("=", 1) for pair in others)


def rule(network: str, text: str, *, service: bool = False) -> Ruling:
    return rule_way(NETWORKS[network], tags_of(text), service=service)


def directions(network: str, text: str) -> tuple[bool, bool]:
    ruling = rule(network, text)
    assert ruling.is_in, ruling.reason
    return ruling.forward, ruling.backward


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("residential", BOTH),
        ("residential oneway=yes", FORWARD),
        ("residential oneway=true", FORWARD),
        ("residential oneway=1", FORWARD),
        ("residential oneway=-1", BACKWARD),
        ("residential oneway=reverse", BACKWARD),
        ("residential oneway=no", BOTH),
        ("residential oneway=false", BOTH),
        ("residential oneway=0", BOTH),
        ("residential oneway=perhaps", BOTH),
        ("residential junction=roundabout", FORWARD),
        ("residential junction=circular", FORWARD),
        ("residential junction=roundabout oneway=-1", BACKWARD),
        ("residential junction=roundabout oneway=no", BOTH),
        ("residential junction=yes", BOTH),
        ("motorway", FORWARD),
        ("motorway_link", FORWARD),
        ("motorway oneway=no", BOTH),
        ("motorway oneway=-1", BACKWARD),
        ("trunk", BOTH),
        ("residential oneway=yes oneway:bicycle=no", FORWARD),
        ("residential oneway:motor_vehicle=yes", FORWARD),
        ("residential oneway=yes oneway:motorcar=no", BOTH),
        ("residential oneway:bicycle=yes", BOTH),
        ("residential motor_vehicle:backward=no", FORWARD),
        ("residential vehicle:forward=no", BACKWARD),
        ("residential access:forward=private motorcar:forward=yes", BOTH),
        ("residential motor_vehicle:backward=destination", BOTH),
        ("residential access:backward=no motor_vehicle:backward=yes", BOTH),
        ("residential vehicle:backward=no motor_vehicle:backward=destination", BOTH),
        ("residential oneway=yes motorcar:backward=yes", BOTH),
        ("residential oneway=yes vehicle:backward=yes", FORWARD),
        ("residential oneway=yes oneway:access=no", FORWARD),
        ("residential cycleway=opposite_lane oneway=yes", FORWARD),
    ],
)
def test_directions_of_cars(text: str, expected: tuple[bool, bool]) -> None:
    assert directions("drive", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("residential oneway=yes", FORWARD),
        ("residential oneway=-1", BACKWARD),
        ("residential junction=roundabout", FORWARD),
        ("residential oneway=yes oneway:bicycle=no", BOTH),
        ("residential oneway=yes oneway:bicycle=-1", BACKWARD),
        ("residential oneway:bicycle=yes", FORWARD),
        ("residential oneway:vehicle=yes", FORWARD),
        ("residential oneway:motor_vehicle=yes", BOTH),
        ("residential oneway=yes cycleway=opposite", BOTH),
        ("residential oneway=yes cycleway=opposite_lane", BOTH),
        ("residential oneway=-1 cycleway=opposite_track", BOTH),
        ("residential oneway=yes cycleway=lane", FORWARD),
        ("residential oneway=yes cycleway:left=opposite_lane", BOTH),
        ("residential oneway=yes cycleway:right=opposite_lane", BOTH),
        ("residential oneway=yes cycleway:both=opposite_lane", BOTH),
        ("residential oneway=yes cycleway:left=lane cycleway:left:oneway=-1", BOTH),
        ("residential oneway=yes cycleway:left=track cycleway:left:oneway=no", BOTH),
        ("residential oneway=yes cycleway:left=lane cycleway:left:oneway=yes", FORWARD),
        ("residential oneway=yes cycleway:left=separate cycleway:left:oneway=-1", FORWARD),
        ("residential oneway=yes cycleway:left=none cycleway:left:oneway=-1", FORWARD),
        ("residential oneway=yes cycleway:left=no cycleway:left:oneway=-1", FORWARD),
        ("residential oneway=-1 cycleway:left=lane cycleway:left:oneway=yes", BOTH),
        ("residential oneway=-1 cycleway:left=lane cycleway:left:oneway=-1", BACKWARD),
        ("residential oneway=yes cycleway=opposite oneway:bicycle=yes", FORWARD),
        ("residential oneway=yes bicycle:backward=yes", BOTH),
        ("residential oneway=-1 bicycle:forward=yes", BOTH),
        ("residential oneway=yes vehicle:backward=yes", FORWARD),
        ("residential bicycle:backward=no", FORWARD),
        ("cycleway oneway=yes", FORWARD),
    ],
)
def test_directions_of_bicycles(text: str, expected: tuple[bool, bool]) -> None:
    assert directions("cycle", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("residential oneway=yes", BOTH),
        ("residential junction=roundabout", BOTH),
        ("residential oneway=reversible", BOTH),
        ("footway oneway:foot=yes", FORWARD),
        ("footway oneway:foot=-1", BACKWARD),
        ("footway foot:backward=no", FORWARD),
    ],
)
def test_directions_on_foot(text: str, expected: tuple[bool, bool]) -> None:
    assert directions("walk", text) == expected


@pytest.mark.parametrize("value", ["alternating", "reversible"])
def test_streets_whose_direction_changes_are_left_out(value: str) -> None:
    assert rule("drive", f"primary oneway={value}").reason == f"oneway={value}"
    assert rule("cycle", f"primary oneway={value}").reason == f"oneway={value}"
    assert directions("cycle", f"primary oneway={value} oneway:bicycle=no") == BOTH


@pytest.mark.parametrize(
    ("network", "text", "reason"),
    [
        ("drive", "residential access=no", "access=no"),
        ("drive", "residential access=private", "access=private"),
        ("drive", "residential access=agricultural;forestry", "access=agricultural;forestry"),
        ("drive", "residential access=private;yes", ""),
        ("drive", "residential access=no vehicle=yes", ""),
        ("drive", "residential access=no motor_vehicle=yes", ""),
        ("drive", "residential access=yes vehicle=no", "vehicle=no"),
        ("drive", "residential vehicle=no motor_vehicle=destination", ""),
        ("drive", "residential motor_vehicle=yes motorcar=no", "motorcar=no"),
        ("drive", "residential motor_vehicle=no motorcar=yes", ""),
        ("drive", "residential access=no bicycle=yes foot=yes", "access=no"),
        ("drive", "residential bicycle=no foot=no", ""),
        ("cycle", "residential motor_vehicle=no", ""),
        ("cycle", "residential vehicle=no", "vehicle=no"),
        ("cycle", "residential vehicle=no bicycle=yes", ""),
        ("cycle", "residential bicycle=no", "bicycle=no"),
        ("cycle", "primary bicycle=use_sidepath", "bicycle=use_sidepath"),
        ("cycle", "footway bicycle=dismount", "highway=footway"),
        ("walk", "residential vehicle=no", ""),
        ("walk", "residential foot=no", "foot=no"),
        ("walk", "residential access=private", "access=private"),
        ("walk", "residential access=private foot=yes", ""),
        ("drive", "residential motor_vehicle:forward=no motor_vehicle:backward=no", "motor_vehicle:backward=no"),
        ("drive", "residential oneway:motor_vehicle=yes motor_vehicle:forward=no", "motor_vehicle:forward=no"),
        ("drive", "residential area=yes", "area=yes"),
        ("walk", "pedestrian area=yes", "area=yes"),
        ("drive", "residential area=no", ""),
    ],
)
def test_access(network: str, text: str, reason: str) -> None:
    assert rule(network, text).reason == reason


@pytest.mark.parametrize(
    "value", ["destination", "customers", "permissive", "delivery", "yes", "designated", "unheard_of"]
)
def test_values_that_leave_a_road_open(value: str) -> None:
    assert rule("drive", f"residential access={value}").is_in


def test_every_value_of_the_tables_of_access() -> None:
    """The tables are written down a second time: a value that is lost from them would be missed nowhere else."""
    closed = {
        "no", "private", "agricultural", "forestry", "emergency", "military", "restricted", "residents", "psv", "bus",
        "taxi", "service", "staff", "employees", "dismount", "use_sidepath",
    }  # fmt: skip
    assert closed == CLOSED
    assert {"yes", "designated", "permissive", "official", "destination", "customers", "delivery", "permit"} == OPEN
    for value in closed:
        assert rule("drive", f"residential access={value}").reason == f"access={value}"


ROADS = ["primary_link", "secondary", "tertiary", "unclassified", "residential", "living_street", "road"]
EVERYONES_WAYS = [*ROADS, "service", "track"]


@pytest.mark.parametrize(
    ("network", "kinds", "others"),
    [
        (
            "drive",
            [*ROADS, "motorway", "trunk_link"],
            "service track footway path cycleway steps pedestrian trail crossing platform busway construction "
            "proposed corridor elevator bridleway raceway rest_area services no",
        ),
        ("cycle", [*EVERYONES_WAYS, "cycleway"], "motorway trunk footway path pedestrian steps trail platform busway"),
        (
            "walk",
            [*EVERYONES_WAYS, "cycleway", "footway", "path", "pedestrian", "steps", "platform", "corridor"],
            "motorway motorway_link trunk trail construction proposed busway raceway",
        ),
    ],
)
def test_kinds(network: str, kinds: list[str], others: str) -> None:
    for kind in kinds:
        assert rule(network, kind).is_in, kind
    for kind in others.split():
        assert rule(network, kind).reason == f"highway={kind}"


@pytest.mark.parametrize(
    ("network", "text", "is_in"),
    [
        ("cycle", "trunk bicycle=yes", True),
        ("cycle", "footway bicycle=designated", True),
        ("cycle", "path bicycle=yes", True),
        ("cycle", "pedestrian bicycle=permissive", True),
        ("cycle", "bridleway bicycle=yes", True),
        ("cycle", "busway bicycle=yes", True),
        ("cycle", "steps bicycle=yes", False),
        ("cycle", "primary motorroad=yes", False),
        ("walk", "primary motorroad=yes", False),
        ("walk", "primary motorroad=yes foot=yes", True),
        ("walk", "trunk foot=designated", True),
        ("walk", "busway foot=yes", True),
        ("drive", "primary motorroad=yes", True),
    ],
)
def test_invitations(network: str, text: str, is_in: bool) -> None:
    assert rule(network, text).is_in == is_in


def test_service_roads() -> None:
    assert rule("drive", "service").reason == "highway=service"
    assert rule("drive", "service", service=True).is_in
    assert rule("drive", "service service=alley", service=True).is_in
    assert rule("drive", "service service=parking_aisle", service=True).reason == "service=parking_aisle"
    assert rule("drive", "residential service=alley").reason == "service=alley"
    assert rule("drive", "residential service=alley", service=True).is_in


@pytest.mark.parametrize(
    ("text", "stopped"),
    [
        ("barrier=bollard", ["drive", "truck"]),
        ("barrier=bollard motor_vehicle=yes", []),
        ("barrier=stile", ["drive", "truck", "cycle"]),
        ("barrier=gate", []),
        ("barrier=gate access=private", ["drive", "truck", "cycle", "walk"]),
        ("barrier=gate access=no foot=yes", ["drive", "truck", "cycle"]),
        ("barrier=lift_gate vehicle=no bicycle=yes", ["drive", "truck"]),
        ("barrier=gate motor_vehicle=yes hgv=no", ["truck"]),
        ("barrier=height_restrictor maxheight=2.1", []),
    ],
)
def test_barriers(text: str, stopped: list[str]) -> None:
    tags = dict(pair.split("=") for pair in text.split())
    assert [name for name, network in NETWORKS.items() if is_stopped(network, tags)] == stopped


def test_every_barrier_of_the_tables() -> None:
    obstacles = {
        "stile", "kissing_gate", "turnstile", "full-height_turnstile", "log", "debris", "fence", "wall", "hedge",
    }  # fmt: skip
    assert obstacles == OBSTACLES
    assert {
        "bollard", "block", "cycle_barrier", "motorcycle_barrier", "chain", "planter", "jersey_barrier",
    } == BOLLARDS  # fmt: skip
    for kind in OBSTACLES | BOLLARDS:
        assert is_stopped(NETWORKS["drive"], {"barrier": kind})
        assert not is_stopped(NETWORKS["walk"], {"barrier": kind})


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
    for network in NETWORKS.values():
        for text in ("residential", "residential oneway=yes", f"residential oneway=yes {lanes}"):
            rule_way(network, Asked(text, asked), service=True)
            way_speeds(network, Asked(text, asked))
    assert {"junction", "motorroad", "cycleway:left:oneway", "vehicle:backward", "maxspeed:backward"} <= asked
    assert asked <= rules.KEYS


def test_unknown_networks_are_named() -> None:
    assert network_called("walk").name == "walk"
    with pytest.raises(vr.InvalidInputError, match="network: expected one of drive, truck, cycle, walk, got 'fly'"):
        network_called("fly")
