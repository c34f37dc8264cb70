"""Equal inputs, equal bytes: in any process, under any hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import veilroute as vr
samples, *kinds = sys.argv[1:]
sys.path.append(samples)
for kind in kinds:
    if kind == "town":
        from street_samples import little_book
        from veilroute.formats.geojson import write_geojson
        from veilroute.formats.gpx import write_gpx
        from veilroute.plotting.html_map import write_html_map
        from veilroute.streets.sheets import playbook_directions
        book = little_book(m=3)
        book.write("town.json")
        write_gpx(book, "town.gpx")
        write_geojson(book, "town.geojson")
        write_html_map(book, "town.html")
        with open("town.txt", "w", encoding="utf-8") as file:
            file.write(playbook_directions(book))
        continue
    if kind == "grid":
        domain = vr.generate_rooms(seed=6)
        visibility = vr.WithinDistance(3)
    elif kind == "streets":
        domain = vr.generate_streets(seed=6)
        visibility = vr.WithinDistance(120)
    else:
        import networkx as nx
        graph = nx.relabel_nodes(nx.random_geometric_graph(60, 0.25, seed=4), lambda n: f"place {n}")
        part = max(nx.connected_components(graph), key=len)
        domain = vr.Domain.from_networkx(graph.subgraph(sorted(part)), default_cost=1)
        visibility = vr.AtNode()
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 11, seed=2)
    problem = vr.Problem(domain, [vr.Trip(start, goal), vr.Trip(goal, start, 2.0)], candidates, visibility)
    vr.solve(problem, vr.Privacy(k=3, ell=4 if kind == "grid" else 0.2), seed=9).write(f"{kind}.json")
"""
KINDS = ("grid", "streets", "names", "town")
FILES = (*(f"{kind}.json" for kind in KINDS), "town.gpx", "town.geojson", "town.html", "town.txt")


@pytest.mark.parametrize("seeds", [("0", "4242"), pytest.param(("1", "2", "3", "random"), marks=pytest.mark.slow)])
def test_same_bytes_under_different_hash_seeds(tmp_path: Path, seeds: tuple[str, ...]) -> None:
    folders = []
    samples = Path(__file__).parents[1]
    for number, hash_seed in enumerate(seeds):
        folders.append(tmp_path / str(number))
        folders[-1].mkdir()
        # A process takes longer to start than to plan, so it plans everything. The next one goes the other way round,
        # so that nothing depends on what was planned before.
        kinds = KINDS if number % 2 == 0 else KINDS[::-1]
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", SCRIPT, samples, *kinds], check=True, env=environment, cwd=folders[-1])
    for name in FILES:
        written = [(folder / name).read_bytes() for folder in folders]
        assert len(set(written)) == 1, name
        assert b"runtime" not in written[0], name
