"""The paper's instances as problems, for the scripts in this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import veilroute as vr


@cache
def read_map(path: Path) -> vr.Domain:
    return vr.read_movingai(path)


def read_rows(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "instances" / "paper.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def build_problem(shared: Path, row: dict[str, Any], radius: float) -> vr.Problem:
    return vr.Problem(
        read_map(shared / "maps" / row["map"]),
        [vr.Trip(tuple(row["start"]), tuple(row["goal"]))],
        [tuple(cell) for cell in row["candidates"]],
        vr.WithinDistance(radius),
    )


def optimum_cases(shared: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], vr.Problem, vr.Privacy]]:
    """Row, optimum entry, problem and privacy of every entry."""
    for row in read_rows(shared):
        for entry in row["optimum"]:
            privacy = vr.Privacy(k=entry["k"], ell=entry["ell"], m=entry["m"], spread=entry["spread"])
            yield row, entry, build_problem(shared, row, entry["radius"]), privacy
