"""Moving AI scenarios (``.scen``): start and goal pairs for a map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veilroute.errors import FileFormatError
from veilroute.jsontext import read_text


@dataclass(frozen=True)
class Scenario:
    """One line of a scenario file, with cells as (row, col).

    Parameters
    ----------
    map_name
        File name of the map, without directories.
    start, goal
        Cells.
    optimal_length
        Length of a shortest path with 8-way movement, as the file states it.
    bucket
        Difficulty group of the file.
    """

    map_name: str
    start: tuple[int, int]
    goal: tuple[int, int]
    optimal_length: float
    bucket: int


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
            scenarios.append(
                Scenario(Path(name).name, (row, col), (goal_row, goal_col), float(numbers[4]), int(bucket))
            )
        except (ValueError, IndexError):
            raise FileFormatError(
                path, "expected 'bucket map width height x y x y length'; is this a .scen file?", number
            ) from None
    if not scenarios:
        raise FileFormatError(path, "no scenarios in the file")
    return scenarios
