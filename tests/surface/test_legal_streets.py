"""Streets, turns and routes held against the raw file, which a plain reader of the tests' own has read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command
from gpx_schema import track_points
from osm_files import draw_turn_town
from plain_osm import read_plain
from raw_turns import RawTurns

U_TURNS = ("dead-ends", "never", "allow")
CASES = [pytest.param(6, id="6"), pytest.param(50, id="50", marks=pytest.mark.slow)]


read_once = lru_cache(maxsize=1)(read_plain)


class Raw:
    """A network and the raw file that it was made from."""

    def __init__(self, path: Path, **options: Any) -> None:
        network = vr.read_osm(path, **options)
        self.domain, self.report = network.domain, network.report
        self.law = RawTurns(read_once(path), u_turns=options.get("u_turns") or "dead-ends")
        assert self.domain.streets is not None
        self.streets = self.domain.streets
        tails, heads, _ = self.domain.edge_arrays()
        self.edges = {pair: edge for edge, pair in enumerate(zip(tails.tolist(), heads.tolist(), strict=True))}
        on_roads = {node for step in self.law.owners for node in step}
        self.at = {place: node for node, place in self.law.plain.nodes.items() if node in on_roads}
        assert len(self.at) == len(on_roads), "no two nodes of streets are at one place"
        # Of the sides of a barrier only places tell which is which, so trips do not start there.
        self.open = [label for label in self.domain.labels or () if label in on_roads - self.law.walls]

    def draw(self, rng: random.Random, num: int) -> vr.Problem:
        """A random trip with random candidates."""
        start, goal, *candidates = rng.sample(self.open, num + 2)
        return vr.Problem(self.domain, [vr.Trip(start, goal)], candidates)

    def nodes_along(self, route: Sequence[Any]) -> list[int]:
        """The nodes of the raw file that a route leads past, by the line that is drawn for it."""
        walk = [self.domain.node(label) for label in route]
        points = [self.streets.lonlat[walk[0]].tolist()]
        for tail, head in pairwise(walk):
            points += self.streets.line(tail, head, self.edges[tail, head]).tolist()[1:]
        return self.nodes_at(points)

    def nodes_at(self, points: Sequence[Sequence[float]]) -> list[int]:
        return [self.at[round(lat * 1e7), round(lon * 1e7)] for lon, lat in points]


@pytest.mark.parametrize("where", ["drawn", "Helsinki"])
def test_the_network_has_the_permitted_steps_and_no_others_and_exported_routes_take_them(
    request: pytest.FixtureRequest, tmp_path: Path, command: Command, where: str
) -> None:
    path = draw_turn_town(tmp_path / "town.osm.pbf", 1) if where == "drawn" else request.getfixturevalue("helsinki")
    raw = Raw(path)
    assert (raw.report.num_loops, raw.report.num_parallel) == (0, 0)
    label = raw.domain.label
    there = {step for a, b in raw.edges for step in pairwise(raw.nodes_along([label(a), label(b)]))}
    assert there == set(raw.law.owners)
    assert command("streets", path, "-o", "city.json", "--connected").code == 0
    ends = [label for label in vr.read_network("city.json").labels or () if label in raw.open]
    plan = ("plan", "city.json", "--start", ends[0], "--goal", ends[-1], "--random-candidates", 8, "-o", "book.json")
    assert command(*plan).code == command("audit", "book.json").code == 0
    assert command("export", "book.json", "-o", "routes.gpx").code == 0
    tracks = track_points(Path("routes.gpx").read_text(encoding="utf-8"))
    assert len(tracks) == len(vr.read_playbook("book.json").hidden_classes) > 1
    for track in tracks:
        assert raw.law.faults(raw.nodes_at(track)) == []
        assert raw.law.faults(raw.nodes_at(track[::-1])), "backwards it is not legal: the check can fail"


@pytest.mark.parametrize("num", CASES)
@pytest.mark.parametrize("where", ["drawn", "Helsinki"])
def test_costs_are_those_of_a_plain_search(
    request: pytest.FixtureRequest, tmp_path: Path, where: str, num: int
) -> None:
    """Dijkstra over (step, what is walked of restrictions, covered), from each node of the file to the next."""
    whole = {}
    if where == "Helsinki":
        path = request.getfixturevalue("helsinki")
        whole = {u_turns: Raw(path, cost="metres", u_turns=u_turns) for u_turns in U_TURNS}
    num_found = 0
    for case in range(num):
        u_turns = U_TURNS[case % 3]
        price = 0.0
        if where == "drawn":
            # Driven at 10 m/s; turning round takes half a minute.
            price = 30.0 if case % 2 and u_turns != "never" else 0.0
            path = draw_turn_town(tmp_path / f"case{case}.osm", 100 + case, side=5)
            raw = Raw(path, cost="seconds", u_turns=u_turns, u_turn_cost=price)
        else:
            raw = whole[u_turns]
        problem = raw.draw(random.Random(case), 1 + case % 4)
        trip = problem.trips[0]
        options: dict[str, Any] = {"price": price, "per_metre": 0.1 if where == "drawn" else 1.0}
        options["places"] = set(raw.domain.labels or ()) if u_turns == "allow" else None
        found = vr.cover(problem, problem.candidates)
        done = [(problem.candidates, found.cost, found.walk)]
        book = vr.solve(problem, vr.Privacy(k=min(2, len(problem.candidates))))
        done += [(each.members, each.routes[0].cost, each.routes[0].nodes) for each in book.classes if each.anonymized]
        for members, cost, walk in done:
            expected = raw.law.cheapest(trip.start, trip.goal, members, **options)  # type: ignore[arg-type]
            # Costs of edges are rounded, to a centimetre or a millisecond.
            assert cost == pytest.approx(expected, abs=0.01 * (len(walk) + 1))
            assert not walk or raw.law.faults(raw.nodes_along(walk)) == []
        num_found += bool(found.walk)
    assert num_found > num / 4
