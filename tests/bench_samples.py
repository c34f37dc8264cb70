"""Made-up records: single ones for figures worked out by hand, and a whole run that looks like a real one."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

from veilroute import bench

PROVENANCE: dict[str, Any] = {
    "versions": {"veilroute": "0.1.0", "python": "3.11.9", "platform": "Linux", "numpy": "2.4.6", "numba": "0.68.1"},
    "machine": {"system": "Linux", "processor": "A <fast> one & more", "cores": 2, "memory_mb": 7900},
    "worker": {"host": "here", "pid": 12},
    "run": "abc",
    "finished_at": "2024-05-06T07:08:09.123+00:00",
}
OUTCOMES = {field.name for field in fields(bench.Outcome)}


def make_record(
    method: bench.Method, *, pair: int = 1, map_name: str = "den101d", size: int = 8, mac: float | None = 0.25,
    num_anonymized: int | None = None, map_sha256: str = "0" * 64, **told: Any,
) -> bench.Record:  # fmt: skip
    """A record; what is left out is like in Table 1, with all candidates anonymized."""
    instance = bench.Instance(map_name, pair, (9, 9), (pair, 8), tuple((0, col) for col in range(size)))
    num = (0 if mac is None else size) if num_anonymized is None else num_anonymized
    asked: dict[str, Any] = {"k": 2, "ell": 1.0, "radius": 0.0, "m_ratio": None, "time_limit_s": 300.0}
    came: dict[str, Any] = {"status": "feasible", "is_finished": True, "runtime_s": 1.0}
    asked |= told.pop("watching", {}) | {name: value for name, value in told.items() if name not in OUTCOMES}
    came |= {name: value for name, value in told.items() if name in OUTCOMES}
    cell = bench.Cell(instance, map_sha256, method, seed=pair, **asked)
    outcome = bench.Outcome(num_coverable=size, num_anonymized=num, apr=num / size, mac=mac, **came)
    return bench.Record(cell, outcome, PROVENANCE)


def make_run(
    *, maps: tuple[str, ...] = ("rooms-2", "rooms-6"), num_pairs: int = 2, sizes: tuple[int, ...] = bench.SIZES
) -> list[bench.Record]:
    """Records of all suites of the paper but ``examples``: real cells with made-up outcomes."""
    draw, terrain = random.Random(5), bench.find_terrain(num_pairs=num_pairs, map_names=maps)
    cells = bench.build_cells(bench.suite_names("all"), terrain, bench.Choice(300.0))
    own = [cell for cell in cells if not cell.keep_playbook and cell.num_candidates in sizes]
    return [bench.Record(cell, _made_up(cell, draw), PROVENANCE) for cell in own]


def _made_up(cell: bench.Cell, draw: random.Random) -> bench.Outcome:
    is_optimal, num = cell.method == bench.OPTIMAL, cell.num_candidates
    mac, runtime_s = draw.uniform(0.1, 0.3) * (1 if is_optimal else 2), 10 ** draw.uniform(-3, 2)
    steps = ((runtime_s / 9, num // 2, 3 * mac), (runtime_s / 2, num, mac))
    names = ("counting", "goal-recognition", "bayesian")
    return bench.Outcome(
        "optimal" if is_optimal else "feasible", is_optimal or draw.random() < 0.7, num_coverable=num,
        num_anonymized=num, apr=1.0, mac=mac, runtime_s=runtime_s, improvements=() if is_optimal else steps,
        guesses=tuple((name, draw.random() / 2, 0.5 + draw.random() / 2) for name in names) if cell.is_watched else (),
    )  # fmt: skip
