"""From a suite's name to its cells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veilroute import InvalidInputError, UnknownMethodError
from veilroute.bench import PARTITIONING, SUITES, Cell, Choice, Terrain, build_cells, find_terrain, suite_names

MAPS = ("rooms-2", "rooms-6")


@pytest.fixture(scope="module")
def terrain() -> Terrain:
    return find_terrain(num_pairs=2, map_names=MAPS)


def keys(cells: list[Cell]) -> set[str]:
    return {cell.key for cell in cells}


def cells_of(terrain: Terrain, name: str, **choice: object) -> list[Cell]:
    return build_cells(suite_names(name), terrain, Choice(**{"time_limit_s": 4, **choice}))  # type: ignore[arg-type]


def test_sizes_of_the_suites(terrain: Terrain) -> None:
    num_instances = len(terrain.instances)
    assert num_instances == 4
    counts = {name: len(cells_of(terrain, name)) / num_instances for name in SUITES}
    assert counts["table1"] == counts["table2"] == 9 * 3
    assert counts["table3"] == counts["table4"] == 4 * 3 * 6
    assert counts["convergence"] == 5 * 3
    assert counts["klr"] == 2 * 2 * 2 * 3
    assert counts["adversaries"] == 4 + 2 + 2 * 2
    # The first pair of each map, and the first map once more at ell = 10.
    assert counts["examples"] * num_instances == len(MAPS) + 1


def test_suites_share_their_cells(terrain: Terrain) -> None:
    parts = {name: keys(cells_of(terrain, name)) for name in suite_names("all")}
    assert parts["table1"] == parts["table2"]
    assert parts["table3"] == parts["table4"]
    assert parts["convergence"] < parts["table1"]
    # Both methods at (2, 1, radius 0).
    assert len(parts["klr"] & parts["table1"]) == 2 * len(terrain.instances)
    every = cells_of(terrain, "all")
    assert len(every) == len(keys(every))
    assert keys(every) == set().union(*parts.values())


def test_pairs_come_in_turns_and_quick_cells_first(terrain: Terrain) -> None:
    cells = cells_of(terrain, "all")
    turns = [(cell.instance.seed, cell.instance.map_name) for cell in cells]
    assert list(dict.fromkeys(turns)) == [(1, "rooms-2"), (1, "rooms-6"), (2, "rooms-2"), (2, "rooms-6")]
    assert turns == sorted(turns)
    first = [cell for cell in cells_of(terrain, "table1") if cell.instance == cells[0].instance]
    assert [cell.num_candidates for cell in first] == [8] * 9
    assert first[0].method.name == "optimal"
    assert first[-1].method.name == "pbp/df-bb/blind"
    sizes = [cell.num_candidates for cell in cells_of(terrain, "table1")][:27]
    assert sizes == [8] * 9 + [12] * 9 + [16] * 9


def test_cells_are_the_same_whoever_makes_them(terrain: Terrain) -> None:
    again = find_terrain(num_pairs=1, map_names=MAPS)
    fewer = build_cells(["table3"], again, Choice(time_limit_s=4.0))
    assert keys(fewer) < keys(cells_of(terrain, "table3"))
    # Whole numbers and floats are two keys, so each field has one kind.
    for cell in cells_of(terrain, "all"):
        assert isinstance(cell.ell, float)
        assert isinstance(cell.radius, float)
        assert isinstance(cell.time_limit_s, float)
        assert cell.seed == cell.instance.seed


def test_cells_know_the_kind_of_their_map(terrain: Terrain) -> None:
    assert {cell.instance.map_kind for cell in cells_of(terrain, "klr")} == {"rooms"}
    theirs = replace(terrain, is_generated=False)
    assert {cell.instance.map_kind for cell in cells_of(theirs, "klr")} == {"grid"}
    some = replace(terrain, generated=frozenset({"rooms-6"}))
    assert {name: some.kind_of(name) for name in MAPS} == {"rooms-2": "", "rooms-6": "rooms"}


def test_candidates_are_the_first_ones(terrain: Terrain) -> None:
    for cell in cells_of(terrain, "table1"):
        (whole,) = (
            instance
            for instance in terrain.instances
            if (instance.map_name, instance.seed) == (cell.instance.map_name, cell.instance.seed)
        )
        assert cell.instance.candidates == whole.candidates[: cell.num_candidates]


def test_what_is_run_can_be_narrowed(terrain: Terrain) -> None:
    cells = cells_of(terrain, "table1", sizes=(12, 8, 8), methods=("pbp/merge-bb/cost-asc/tunnel", "optimal"))
    assert {cell.num_candidates for cell in cells} == {8, 12}
    assert {cell.method.name for cell in cells} == {"pbp/merge-bb/cost-asc/tunnel", "optimal"}
    assert len(cells) == 2 * 2 * 4
    longer = cells_of(terrain, "table1", time_limit_s=300)
    assert not keys(longer) & keys(cells_of(terrain, "table1"))
    # With `all`, the suites of one size keep theirs.
    others = {cell.num_candidates for cell in cells_of(terrain, "all", sizes=(12,)) if cell.m_ratio is not None}
    assert others == {8}


@pytest.mark.parametrize("sizes", [(1,), (17,), (0,)])
def test_bad_sizes_are_refused(sizes: tuple[int, ...], terrain: Terrain) -> None:
    with pytest.raises(InvalidInputError, match="--candidates.*2 to 16"):
        build_cells(["table1"], terrain, Choice(time_limit_s=1, sizes=sizes))


@pytest.mark.parametrize("draws", [0, 10**30])
def test_bad_draws_are_refused(draws: int) -> None:
    with pytest.raises(InvalidInputError, match="--draws: expected an integer from 1 to 1000"):
        Choice(time_limit_s=1, draws=draws)


@pytest.mark.parametrize("limit", [0, -1, float("inf"), float("nan"), True])
def test_bad_time_limits_are_refused(limit: float) -> None:
    with pytest.raises(InvalidInputError, match="--time-limit"):
        Choice(time_limit_s=limit)


def test_bad_names_are_refused(terrain: Terrain) -> None:
    with pytest.raises(UnknownMethodError, match="table1.*all"):
        suite_names("table9")
    with pytest.raises(UnknownMethodError, match="--method.*" + PARTITIONING[0].name):
        cells_of(terrain, "table1", methods=("pbp/best",))
    with pytest.raises(UnknownMethodError, match="rbp"):
        cells_of(terrain, "table3", methods=("pbp/naive/blind",))
    with pytest.raises(InvalidInputError, match="--candidates.*table1"):
        cells_of(terrain, "table3", sizes=(12,))
