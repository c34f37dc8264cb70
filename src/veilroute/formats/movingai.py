"""Moving AI grid maps (``.map``), and scenarios (``.scen``): pairs of start and goal for a map."""

import re
from dataclasses import dataclass
from pathlib import Path

from veilroute.base.errors import FileFormatError, InvalidInputError, blame_file
from veilroute.base.io import read_text, write_file
from veilroute.domain.graph import Domain
from veilroute.domain.grid import BLOCKED_CHARACTERS, FREE_CHARACTERS, grid_domain


def read_movingai(path: str | Path, *, movement: int = 4) -> Domain:
    """Read a Moving AI map: ``.``, ``G``, ``S`` are free, ``@``, ``O``, ``T``, ``W`` blocked.

    4-way movement has unit costs; 8-way costs 1 and sqrt(2) without corner cutting.
    """
    return parse_movingai(read_text(path), source=path, movement=movement)


def parse_movingai(text: str, *, source: object = "map", movement: int = 4) -> Domain:
    """Build a domain from the text of a map; ``source`` is named in errors."""
    lines = text.split("\n")
    header: dict[str, str] = {}
    body = 0
    for number, line in enumerate(lines[:16], start=1):
        word, _, value = line.strip().partition(" ")
        if word == "map":
            body = number
            break
        header[word] = value.strip()
    if not body or "height" not in header or "width" not in header:
        expected = "expected lines 'type', 'height H', 'width W' and 'map' first"
        raise FileFormatError(source, f"not a Moving AI map; {expected}")
    for name in ("height", "width"):
        if not (re.fullmatch(r"[0-9]{1,6}", header[name]) and int(header[name])):
            raise FileFormatError(source, f"{name}: expected a positive whole number, got {header[name][:20]!r}")
    height, width = int(header["height"]), int(header["width"])
    rows = lines[body:]
    while rows and not rows[-1].strip():
        rows.pop()
    if len(rows) != height:
        promise = f"the header promises {height} rows, the file has {len(rows)}"
        is_cut = len(rows) < height
        raise FileFormatError(source, f"truncated: {promise}" if is_cut else f"{promise}; correct one of them")
    allowed = set(FREE_CHARACTERS + BLOCKED_CHARACTERS)
    for number, row in enumerate(rows, start=body + 1):
        if len(row) != width:
            raise FileFormatError(source, f"ragged row: expected {width} characters, got {len(row)}", number)
        if odd := set(row) - allowed:
            known = f"{FREE_CHARACTERS} or {BLOCKED_CHARACTERS}"
            raise FileFormatError(source, f"unknown terrain {min(odd)!r}; use {known}", number)
    with blame_file(source):
        return grid_domain(rows, movement=movement)


def write_movingai(domain: Domain, path: str | Path) -> None:
    """Write the grid of a domain as a Moving AI map."""
    if domain.grid is None:
        raise InvalidInputError("domain", "a grid; graphs cannot be written as .map")
    header = ["type octile", f"height {domain.grid.height}", f"width {domain.grid.width}", "map"]
    write_file(path, "\n".join([*header, *domain.grid.rows()]) + "\n")


@dataclass(frozen=True)
class Scenario:
    """One line of a scenario file, with cells as (row, col)."""

    map_name: str  #: file name of the map, without directories
    start: tuple[int, int]
    goal: tuple[int, int]
    optimal_length: float  #: length of a shortest path with 8-way movement, as the file states it
    bucket: int  #: difficulty group of the file


def read_scenarios(path: str | Path) -> list[Scenario]:
    """Read all scenarios of a file."""
    scenarios = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        words = line.split()
        if not words or (number == 1 and words[0] == "version"):
            continue
        try:
            bucket, name, _, _, *numbers = words
            col, row, goal_col, goal_row = (int(word) for word in numbers[:4])
            start, goal = (row, col), (goal_row, goal_col)
            scenarios.append(Scenario(Path(name).name, start, goal, float(numbers[4]), int(bucket)))
        except (ValueError, IndexError):
            expected = "expected 'bucket map width height x y x y length'; is this a .scen file?"
            raise FileFormatError(path, expected, number) from None
    if not scenarios:
        raise FileFormatError(path, "no scenarios in the file")
    return scenarios
