"""Streets and routes held against the raw file, which a plain reader of the tests' own has read."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command
from osm_files import Row, write_osm
from plain_osm import PlainMap, is_road, one_way_steps, permitted_steps, read_plain

GPX = "{http://www.topografix.com/GPX/1/1}"
SIDE = 15
NUM_STEPS = 200


def draw_town(path: Path) -> Path:
    """A file with a lattice of streets under all sorts of rules: a third one-way, some of them against the way."""
    rng = random.Random(17)
    places = {
        100 * row + col: (round(24.9 + 0.002 * col + 0.0004 * rng.random(), 7), round(60.1 + 0.001 * row, 7))
        for row in range(SIDE)
        for col in range(SIDE)
    }
    lines = [[100 * row + col for col in range(SIDE)] for row in range(SIDE)]
    lines += [[100 * row + col for row in range(SIDE)] for col in range(SIDE)]
    rules: list[dict[str, str]] = [
        {"oneway": "yes"}, {"oneway": "-1"}, {"oneway": "1"}, {"oneway": "reverse"}, {"junction": "roundabout"},
        {}, {"oneway": "no"}, {},
        {"oneway": "reversible"}, {"access": "private"}, {"motor_vehicle": "no"}, {"highway": "footway"},
        {"vehicle": "no", "motorcar": "yes"}, {"highway": "motorway"},
    ]  # fmt: skip
    rows: list[Row] = []
    for line in lines:
        cut = rng.randrange(2, SIDE - 2)
        for part in (line[: cut + 1], line[cut:]):
            # Both ends of the town are always open, so that there is a town.
            rule = {} if line[0] in (0, 100 * (SIDE - 1)) else rng.choice(rules)
            refs = part if rng.random() < 0.5 else part[::-1]
            rows.append((len(rows) + 1, refs, {"highway": "residential", "name": f"Street {len(rows) // 2}"} | rule))
    return write_osm(path, rows, places)


@pytest.fixture(scope="module", params=["drawn", "Helsinki"])
def raw(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "Helsinki":
        path: Path = request.getfixturevalue("helsinki")
        return path
    return draw_town(tmp_path_factory.mktemp("raw") / "town.osm.pbf")


@pytest.fixture(scope="module")
def plain(raw: Path) -> PlainMap:
    return read_plain(raw)


class Matcher:
    """Turns positions back into the nodes of the raw file."""

    def __init__(self, plain: PlainMap) -> None:
        self.on_roads = {ref for way in plain.ways if is_road(way.tags) for ref in way.refs}
        self.nodes_at: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, place in plain.nodes.items():
            if number in self.on_roads:
                self.nodes_at[place].append(number)

    def steps(self, positions: list[tuple[float, float]]) -> list[list[tuple[int, int]]]:
        """For each move from one (latitude, longitude) to the next the pairs of nodes that it may be."""
        places = [self.nodes_at[round(lat * 1e7), round(lon * 1e7)] for lat, lon in positions]
        assert all(places), "a point of the route is no node of a road"
        return [[(a, b) for a in here for b in there] for here, there in pairwise(places)]


def edge_steps(domain: vr.Domain, plain: PlainMap) -> set[tuple[int, int]]:
    """All moves from one raw node to the next that the edges of a network allow."""
    matcher = Matcher(plain)
    tails, heads, _ = domain.edge_arrays()
    assert domain.streets is not None
    found = set()
    for edge, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        line = [(lat, lon) for lon, lat in domain.streets.line(tail, head, edge).tolist()]
        for pairs in matcher.steps(line):
            found.update(pairs)
    return found


def test_one_way_streets_have_no_way_back(raw: Path, plain: PlainMap) -> None:
    domain = vr.read_osm(raw, network="drive").domain
    there = edge_steps(domain, plain)
    permitted = permitted_steps(plain)
    one_way = one_way_steps(plain)
    drawn = random.Random(6).sample(one_way, min(NUM_STEPS, len(one_way)))
    assert len(drawn) > 40
    for a, b in drawn:
        assert (b, a) in permitted or (b, a) not in there
    backwards = [(b, a) for a, b in drawn if (b, a) not in permitted]
    assert len(backwards) > 40, "nearly all have no way back, else nothing was shown"


def test_the_network_has_the_permitted_steps_and_no_others(raw: Path, plain: PlainMap) -> None:
    network = vr.read_osm(raw, network="drive")
    there = edge_steps(network.domain, plain)
    permitted = {(a, b) for a, b in permitted_steps(plain) if a in plain.nodes and b in plain.nodes and a != b}
    assert there <= permitted
    assert permitted <= there
    assert (network.report.num_loops, network.report.num_parallel) == (0, 0)


def test_routes_take_permitted_directions_only(raw: Path, plain: PlainMap, tmp_path: Path, command: Command) -> None:
    city, playbook, gpx = tmp_path / "city.json", tmp_path / "playbook.json", tmp_path / "routes.gpx"
    assert command("streets", raw, "-o", city, "--connected").code == 0
    labels = vr.read_network(city).labels
    assert labels is not None
    ends = ["--start", labels[0], "--goal", labels[-1]]
    done = command("plan", city, *ends, "--random-candidates", 8, "-k", 2, "-o", playbook)
    assert done.code == 0, done.err
    assert command("audit", playbook).code == 0
    assert command("export", playbook, "-o", gpx).code == 0
    tracks = read_tracks(gpx)
    classes = [group for group in vr.read_playbook(playbook).classes if group.anonymized]
    assert len(tracks) == len(classes) > 1
    permitted, matcher = permitted_steps(plain), Matcher(plain)
    for track in tracks:
        assert len(track) > 2
        for pairs in matcher.steps(track):
            assert any(pair in permitted for pair in pairs)
    # The same track backwards is not legal: the check can fail.
    assert not all(any(pair in permitted for pair in pairs) for t in tracks for pairs in matcher.steps(t[::-1]))


def read_tracks(path: Path) -> list[list[tuple[float, float]]]:
    """The tracks of a GPX file as latitude and longitude."""
    root = ET.parse(path).getroot()
    return [
        [(float(point.attrib["lat"]), float(point.attrib["lon"])) for point in track.iter(f"{GPX}trkpt")]
        for track in root.iter(f"{GPX}trk")
    ]
