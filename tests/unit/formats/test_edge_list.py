from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from sound_files import NODES, Writer, raw, workbook, write
from veilroute.domain import great_circle_m

EDGE_FILES: dict[str, tuple[str, Writer, int, int, str]] = {
    "from_, to_, distance": ("e.csv", raw("from_,to_,distance,oneway\n1,2,5,no\n2,3,6,yes\n"), 3, 3, ""),
    "u, v, length": ("e.csv", raw("u,v,length,oneway\n1,2,5,False\n2,3,6,True\n"), 3, 3, ""),
    "tail, head, with a mark": ("e.csv", raw("\ufefftail\thead\tseconds\r\n1\t2\t5\r\n\n2\t 3\t6"), 3, 4, "two-way"),
    "UTF-16": ("e.csv", raw("from\tto\tcost\toneway\nä\tb\t5\tno\n".encode("utf-16")), 2, 2, ""),
    "workbook": ("e.xlsx", workbook([("from", "to", "cost", "oneway"), (1, 2, 5.5, False), (2, 3, 6, True)]), 3, 3, ""),
    "rows for both directions": ("e.csv", raw("from,to,cost\n1,2,5\n2,1,5\n2,3,6\n"), 3, 3, "as 2 of 3"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDGE_FILES)
def test_edges_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    name, write, num_nodes, num_edges, said = EDGE_FILES[kind]
    write(tmp_path / name)
    told: list[str] = []
    domain = vr.read_edge_list(tmp_path / name, tell=told.append)
    assert (domain.num_nodes, domain.num_edges) == (num_nodes, num_edges)
    assert len(told) == bool(said) and said in "".join(told)


def rows_in_both_directions(num_both: int, num_rows: int) -> str:
    rows = [(0, 1), (1, 0)][:num_both] + [(i, i + 1) for i in range(1, num_rows - num_both + 1)]
    return "from,to,cost\n" + "".join(f"{a},{b},1\n" for a, b in rows)


@pytest.mark.parametrize(("num_rows", "is_directed"), [(20, True), (21, False)])
def test_a_tenth_of_the_rows_in_both_directions_is_enough(tmp_path: Path, num_rows: int, is_directed: bool) -> None:
    path = write(tmp_path, "city.csv", rows_in_both_directions(2, num_rows))
    assert vr.read_edge_list(path).num_edges == (num_rows if is_directed else 2 * (num_rows - 1))
    assert vr.read_edge_list(path, oneway=True).num_edges == num_rows
    assert vr.read_edge_list(path, oneway=False).num_edges == 2 * (num_rows - 1)


@pytest.mark.parametrize(
    ("rows", "costs"),
    [
        ("1;2;5,25\n2;3;1.234\n", [5.25, 1234]),
        ("1;2;1 234\n2;3;1.234\n", [1.234, 1234]),
        ("1;2;1.234.567,5\n2;3;7,250\n", [7.25, 1234567.5]),
    ],
)
def test_commas_and_points_by_the_other_numbers_of_the_column(tmp_path: Path, rows: str, costs: list[float]) -> None:
    domain = vr.read_edge_list(write(tmp_path, "city.csv", f"from;to;cost\n{rows}"))
    assert sorted(set(domain.costs.tolist())) == costs


def test_text_ids_are_ascending_and_numbers_by_value(tmp_path: Path) -> None:
    assert vr.read_edge_list(write(tmp_path, "city.csv", "from,to,cost\nb,a,1.5\na,10,1\n")).labels == ("10", "a", "b")
    assert vr.read_edge_list(write(tmp_path, "city.csv", "from,to,cost\n10,9,1\n")).labels == (9, 10)
    assert vr.read_edge_list(write(tmp_path, "city.csv", "from,to,cost\n1,0,1\n")).labels is None


def test_places_beside_the_edges_make_streets(tmp_path: Path) -> None:
    write(tmp_path, "city.nodes.csv", NODES)
    text = 'from,to,seconds,metres,name,highway,oneway\n7,3,60,600,"Mannerheimintie, east",primary,no\n3,5,90,,,,\n'
    domain = vr.read_edge_list(write(tmp_path, "city.csv", text))
    assert domain.labels == (7, 3, 5)
    assert domain.costs.tolist() == [60, 60, 90]
    streets = domain.streets
    assert streets is not None
    assert streets.unit == "seconds"
    assert streets.lonlat.tolist() == [[24.90, 60.17], [24.91, 60.17], [24.91, 60.18]]
    # The third length is not given: it is the distance between the ends.
    assert streets.lengths.tolist() == [600, 600, great_circle_m([24.91, 60.17], [24.91, 60.18])]
    assert [streets.name(edge) for edge in range(3)] == ["Mannerheimintie, east"] * 2 + [""]
    assert streets.kind(1) == "primary"


@pytest.mark.parametrize(
    ("columns", "unit", "length"),
    [
        ("metres", "metres", 600),
        ("seconds", "seconds", pytest.approx(553, abs=1)),
        ("cost,length", "seconds", 42),
    ],
)
def test_the_unit_follows_from_the_columns(tmp_path: Path, columns: str, unit: str, length: float) -> None:
    rows = "7,3,600,42" if "," in columns else "7,3,600"
    nodes = write(tmp_path, "places.csv", NODES.replace("lat,lon", "latitude,LNG"))
    streets = vr.read_edge_list(write(tmp_path, "city.csv", f"from,to,{columns}\n{rows}\n"), nodes, oneway=True).streets
    assert streets is not None
    assert streets.unit == unit
    assert streets.lengths.tolist() == [length]
