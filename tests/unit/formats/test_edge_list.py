from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from veilroute.domain import great_circle_m

NODES = "id,lat,lon\n7,60.17,24.90\n3,60.17,24.91\n5,60.18,24.91\n"


def write(folder: Path, text: str, name: str = "city.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["from,to,cost", "Source, Target, Weight", "tail,head,length", "u,v,seconds"])
def test_columns_by_any_name_and_delimiter(tmp_path: Path, header: str, delimiter: str) -> None:
    text = f"\ufeff{header}\n10,20,5\r\n20, 30,2\n\n30,10,1\n".replace(",", delimiter)
    domain = vr.read_edge_list(write(tmp_path, text), oneway=True)
    assert domain.labels == (10, 20, 30)
    assert domain.indices.tolist() == [1, 2, 0]
    assert domain.costs.tolist() == [5, 2, 1]
    assert domain.has_integer_costs
    assert domain.streets is None


def test_text_ids_are_ascending_and_numbers_by_value(tmp_path: Path) -> None:
    assert vr.read_edge_list(write(tmp_path, "from,to,cost\nb,a,1.5\na,10,1\n")).labels == ("10", "a", "b")
    assert vr.read_edge_list(write(tmp_path, "from,to,cost\n10,9,1\n")).labels == (9, 10)
    assert vr.read_edge_list(write(tmp_path, "from,to,cost\n1,0,1\n")).labels is None


def test_oneway_says_which_directions_there_are(tmp_path: Path) -> None:
    text = "from,to,cost,oneway\n0,1,1,no\n1,2,2,yes\n2,3,3,-1\n3,4,4,\n4,5,5,FALSE\n"
    tails, heads, costs = vr.read_edge_list(write(tmp_path, text)).edge_arrays()
    edges = list(zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True))
    assert edges == [(0, 1, 1), (1, 0, 1), (1, 2, 2), (3, 2, 3), (3, 4, 4), (4, 5, 5), (5, 4, 5)]


def test_places_beside_the_edges_make_streets(tmp_path: Path) -> None:
    write(tmp_path, NODES, "city.nodes.csv")
    text = 'from,to,seconds,metres,name,highway,oneway\n7,3,60,600,"Mannerheimintie, east",primary,no\n3,5,90,,,,\n'
    domain = vr.read_edge_list(write(tmp_path, text))
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
        ("length", "metres", 600),
        ("cost", "metres", 600),
        ("seconds", "seconds", pytest.approx(553, abs=1)),
        ("travel_time", "seconds", pytest.approx(553, abs=1)),
        ("cost,length", "seconds", 42),
        ("weight,metres", "seconds", 42),
    ],
)
def test_the_unit_follows_from_the_columns(tmp_path: Path, columns: str, unit: str, length: float) -> None:
    rows = "7,3,600,42" if "," in columns else "7,3,600"
    nodes = write(tmp_path, NODES.replace("lat,lon", "latitude,LNG"), "places.csv")
    streets = vr.read_edge_list(write(tmp_path, f"from,to,{columns}\n{rows}\n"), nodes, oneway=True).streets
    assert streets is not None
    assert streets.unit == unit
    assert streets.lengths.tolist() == [length]


def test_x_and_y_are_a_plane(tmp_path: Path) -> None:
    nodes = write(tmp_path, "id,x,y\na,1000,2\nb,3,4.5\n", "places.csv")
    domain = vr.read_edge_list(write(tmp_path, "from,to,cost\na,b,1\n"), nodes)
    assert domain.streets is None
    assert domain.coordinates is not None
    assert domain.coordinates.tolist() == [[1000, 2], [3, 4.5]]
    ids = write(tmp_path, "id\nb\na\n", "ids.csv")
    assert vr.read_edge_list(write(tmp_path, "from,to,cost\na,b,1\n"), ids).labels == ("b", "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("from,to,cost\n", "no edges"),
        ("from,cost\n1,2\n", r"line 1: no column for where an edge ends; call it to or .* \(found: from, cost\)"),
        ("from,to\n1,2\n", "line 1: no column for the cost"),
        ("from,to,cost,weight\n1,2,3,4\n", "line 1: columns cost and weight mean the same; keep one"),
        ("from,to,cost,seconds\n1,2,3,4\n", "line 1: columns cost and seconds mean the same"),
        ("from,to,cost\n1,2,3\n1,2\n", "line 3: expected 3 columns, as in the header, got 2"),
        ("from,to,cost\n1,2,far\n", "line 2: expected a finite number >= 0 as cost, got 'far'"),
        ("from,to,cost\n1,2,-1\n", "line 2: expected a finite number >= 0 as cost, got '-1'"),
        ("from,to,cost\n1,2,inf\n", "line 2: expected a finite number"),
        ('from,to,cost\n1,2,"1,500"\n', "line 2: cost: 1,500 may have a decimal comma or one between thousands"),
        ("from,to,cost,oneway\n1,2,1,maybe\n", "line 2: expected yes, no or -1 as oneway, got 'maybe'"),
        ("from,to,cost\n1,,3\n", "line 2: expected the ids of two nodes"),
        ('from,to,cost\n1,"2,3\n', "line 2: not a table"),
        ('"from,to,cost\n', "line 1: not a table"),
        ("from,to,cost\n1,1e400,1e300\n", r"edges\[0\].cost"),
    ],
)
def test_bad_edges_say_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(vr.FileFormatError, match=message):
        vr.read_edge_list(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,lat,lon\n7,1,2\n", "line 1: no column for the node; call it id"),
        (NODES.replace("3,60", "7,60"), "line 3: expected a node that was not there before, got '7'"),
        (NODES.replace("3,60.17,24.91", "3,124.91,60.17"), "line 3: expected lat from -90 to 90"),
        (NODES.replace("24.90", "east"), "line 2: expected a number as lon, got 'east'"),
        (NODES.replace("24.90", "nan"), "line 2: expected a number as lon"),
    ],
)
def test_bad_nodes_say_what_to_change(tmp_path: Path, text: str, message: str) -> None:
    nodes = write(tmp_path, text, "places.csv")
    with pytest.raises(vr.FileFormatError, match=f"places.csv, {message}"):
        vr.read_edge_list(write(tmp_path, "from,to,cost\n7,3,1\n"), nodes)


def test_edges_to_nowhere_are_named(tmp_path: Path) -> None:
    nodes = write(tmp_path, NODES, "places.csv")
    with pytest.raises(vr.FileFormatError, match="city.csv, line 3: node 9 is not in places.csv"):
        vr.read_edge_list(write(tmp_path, "from,to,cost\n7,3,1\n3,9,1\n"), nodes)
