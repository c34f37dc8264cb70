"""Made-up records: single ones for figures worked out by hand, and a whole run that looks like a real one."""

from __future__ import annotations

import random
from typing import Any

from veilroute.bench import (
    OPTIMAL,
    SIZES,
    Cell,
    Choice,
    Instance,
    Method,
    Outcome,
    Record,
    build_cells,
    find_terrain,
    suite_names,
)

PROVENANCE: dict[str, Any] = {
    "versions": {"veilroute": "0.1.0", "python": "3.11.9", "platform": "Linux", "numpy": "2.4.6", "numba": "0.68.1"},
    "machine": {"system": "Linux", "processor": "A <fast> one & more", "cores": 2, "memory_mb": 7900},
    "worker": {"host": "here", "pid": 12},
    "run": "abc",
    "finished_at": "2024-05-06T07:08:09.123+00:00",
}


def make_record(
    method: Method,
    *,
    pair: int = 1,
    map_name: str = "den101d",
    size: int = 8,
    k: int = 2,
    ell: float = 1.0,
    radius: float = 0.0,
    m_ratio: float | None = None,
    time_limit_s: float = 300.0,
    mac: float | None = 0.25,
    num_anonymized: int | None = None,
    status: str = "feasible",
    is_finished: bool | None = True,
    runtime_s: float = 1.0,
    improvements: tuple[tuple[float, int, float], ...] = (),
    keep_playbook: bool = False,
    watching: dict[str, Any] | None = None,
    map_sha256: str = "0" * 64,
    finished_at: str = "2024-05-06T07:08:09.123+00:00",
    **more: Any,
) -> Record:
    """A record; what is left out is like in Table 1, with all candidates anonymized."""
    candidates = tuple((0, col) for col in range(size))
    num_anonymized = (0 if mac is None else size) if num_anonymized is None else num_anonymized
    cell = Cell(
        Instance(map_name, pair, (9, 9), (pair, 8), candidates),
        map_sha256,
        method,
        k,
        ell,
        radius,
        m_ratio,
        time_limit_s,
        pair,
        keep_playbook,
        **(watching or {}),
    )
    outcome = Outcome(
        status=status,
        is_finished=is_finished,
        m=None,
        num_coverable=size,
        num_anonymized=num_anonymized,
        apr=num_anonymized / size,
        mac=mac,
        mac_lower_bound=None,
        runtime_s=runtime_s,
        improvements=improvements,
        **more,
    )
    return Record(cell, outcome, {**PROVENANCE, "finished_at": finished_at})


def make_run(
    *, maps: tuple[str, ...] = ("rooms-2", "rooms-6"), num_pairs: int = 2, sizes: tuple[int, ...] = SIZES
) -> list[Record]:
    """Records of all suites of the paper but ``examples``: real cells with made-up outcomes."""
    draw = random.Random(5)
    cells = build_cells(suite_names("all"), find_terrain(num_pairs=num_pairs, map_names=maps), Choice(300.0))
    own = [cell for cell in cells if not cell.keep_playbook and cell.num_candidates in sizes]
    return [Record(cell, _made_up(cell, draw), PROVENANCE) for cell in own]


def _made_up(cell: Cell, draw: random.Random) -> Outcome:
    is_optimal, num = cell.method == OPTIMAL, cell.num_candidates
    mac, runtime_s = draw.uniform(0.1, 0.3) * (1 if is_optimal else 2), 10 ** draw.uniform(-3, 2)
    steps = ((runtime_s / 9, num // 2, 3 * mac), (runtime_s / 2, num, mac))
    names = ("counting", "goal-recognition", "bayesian")
    return Outcome(
        "optimal" if is_optimal else "feasible", is_optimal or draw.random() < 0.7, num_coverable=num,
        num_anonymized=num, apr=1.0, mac=mac, runtime_s=runtime_s, improvements=() if is_optimal else steps,
        guesses=tuple((name, draw.random() / 2, 0.5 + draw.random() / 2) for name in names) if cell.is_watched else (),
    )  # fmt: skip
