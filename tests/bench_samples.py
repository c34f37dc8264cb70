"""Made-up records: single ones for figures worked out by hand, and a whole run that looks like a real one."""

from __future__ import annotations

import random
from typing import Any

from veilroute.bench import (
    BEST,
    BOUNDED,
    BOUNDED_KS,
    KLR_ELLS,
    KLR_KS,
    KLR_METHODS,
    KLR_RADII,
    M_RATIOS,
    OPTIMAL,
    PARTITIONING,
    SIZES,
    Cell,
    Instance,
    Method,
    Outcome,
    Record,
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
    *,
    maps: tuple[str, ...] = ("den101d", "den201d"),
    num_pairs: int = 2,
    sizes: tuple[int, ...] = SIZES,
    time_limit_s: float = 300.0,
    methods: tuple[Method, ...] | None = None,
) -> list[Record]:
    """Records of all suites but ``examples``, with figures that look like the paper's."""
    draw = random.Random(5)
    made = []
    for map_name in maps:
        for pair in range(1, num_pairs + 1):
            where: dict[str, Any] = {"map_name": map_name, "pair": pair, "time_limit_s": time_limit_s}
            for size in sizes:
                made += [_partitioned(draw, method, size, where) for method in PARTITIONING]
            made += _bounded(draw, where)
            made += _settings(draw, where)
            made += _watched(draw, where)
    unique = {record.cell.key: record for record in made}
    return [record for record in unique.values() if methods is None or record.cell.method in methods]


def _partitioned(draw: random.Random, method: Method, size: int, where: dict[str, Any]) -> Record:
    optimum = random.Random(f"{where['map_name']} {where['pair']} {size}").uniform(0.12, 0.3)
    if method == OPTIMAL:
        runtime_s = draw.uniform(0.01, 0.2)
        return make_record(method, size=size, mac=optimum, status="optimal", runtime_s=runtime_s, **where)
    if method.partitioner == "naive":
        return make_record(method, size=size, mac=optimum * 2.5, runtime_s=draw.uniform(0.005, 0.6), **where)
    speed = 40.0 if method.heuristic == "blind" else 2.0
    speed *= 3.0 if method.merge_order == "random" else 1.0
    needed = speed * 10 ** ((size - 8) / 1.6) * draw.uniform(0.01, 2)
    limit = where["time_limit_s"]
    is_finished = needed < limit
    is_partial = method.partitioner == "df-bb" and not is_finished
    count = size - 3 if is_partial else size
    steps: list[tuple[float, int, float]] = []
    at, worse = needed / 3000, 2.5
    while at < min(needed, limit):
        reached = min(count, 2 * len(steps) + 2) if method.partitioner == "df-bb" else count
        steps.append((at, reached, optimum * worse))
        at, worse = at * draw.uniform(1.5, 6), 1 + (worse - 1) * 0.6
    final = optimum if is_finished else optimum * worse
    steps.append((min(at, needed, limit), count, final))
    return make_record(
        method,
        size=size,
        mac=final,
        num_anonymized=count,
        is_finished=is_finished,
        runtime_s=min(needed, limit),
        improvements=tuple(steps),
        **where,
    )


def _bounded(draw: random.Random, where: dict[str, Any]) -> list[Record]:
    made = []
    for k in BOUNDED_KS:
        top = (k - 1) * draw.uniform(0.15, 0.4)
        for ratio in M_RATIOS:
            macs = {"rbp": 5.8 * ratio, "cbp": ratio - 0.05, "m-pbp": top * min(1, ratio / 2), "optimal": top}
            for method in BOUNDED:
                runtime_s = {"rbp": 0.006, "cbp": 0.05, "m-pbp": 3.0, "optimal": 0.1}[method.planner]
                made.append(
                    make_record(
                        method,
                        k=k,
                        m_ratio=ratio,
                        mac=macs[method.planner],
                        runtime_s=runtime_s * draw.uniform(0.5, 1.5),
                        **where,
                    )
                )
    return made


def _settings(draw: random.Random, where: dict[str, Any]) -> list[Record]:
    made = []
    for k in KLR_KS:
        for ell in KLR_ELLS:
            for radius in KLR_RADII:
                if (k, ell, radius) == (2, 1, 0):
                    continue  # a cell of Table 1
                mac = (k - 1) * (1 + ell / 5) * (1 + radius % 3) * draw.uniform(0.1, 0.25)
                for method in KLR_METHODS:
                    lost = 2 if method == BEST and ell == 10 and k == 3 else 0
                    made.append(
                        make_record(
                            method,
                            k=k,
                            ell=float(ell),
                            radius=float(radius),
                            mac=mac,
                            num_anonymized=8 - lost,
                            status="optimal" if method == OPTIMAL else "feasible",
                            **where,
                        )
                    )
    return made


def _watched(draw: random.Random, where: dict[str, Any]) -> list[Record]:
    plain: list[tuple[Method, float | None, dict[str, Any]]] = [(method, 1.0, {}) for method in BOUNDED] + [
        (method, None, {}) for method in KLR_METHODS
    ]
    bounded: list[tuple[Method, float | None, dict[str, Any]]] = [
        (OPTIMAL, ratio, {"risk": 0.5, "mechanism": mechanism})
        for ratio in (1.0, None)
        for mechanism in ("partition", "randomised")
    ]
    made = []
    for method, ratio, asked in [*plain, *bounded]:
        chances = sorted(draw.uniform(0.1, 0.9) for _ in range(3))
        names = ("counting", "goal-recognition", "bayesian")
        guesses = tuple((name, chance, min(1.0, chance + 0.1)) for name, chance in zip(names, chances, strict=True))
        watching = {"is_watched": True, **asked}
        made.append(make_record(method, m_ratio=ratio, guesses=guesses, watching=watching, **where))
    return made
