"""Orders and what is public about customers, as people save them."""

from __future__ import annotations

from pathlib import Path

import pytest

import veilroute as vr
from sound_files import workbook
from veilroute import Customer, FileFormatError, ManyProblemsError, Terms, Van
from veilroute.base.errors import Problems
from veilroute.domain import Label
from veilroute.formats import ORDERS, read_customers, read_orders

NAMES: dict[Label, str] = {1: "Müller, Söhne", 2: "Baker", 3: "Name", 4: "Dörte"}


@pytest.fixture(scope="module")
def book() -> vr.Playbook:
    """A ring of six with the classes {1, 3} and {2, 4}, or the like; whatever they are, 5 is not hidden."""
    ring = vr.Domain.from_edges(6, range(6), [1, 2, 3, 4, 5, 0], [1] * 6)
    return vr.solve(vr.Problem(ring, [vr.Trip(0, 0)], [1, 2, 3, 4, 0], names=NAMES), vr.Privacy(k=2))


def find(text: str) -> Label | None:
    known = {str(label): label for label in range(6)} | {name: label for label, name in NAMES.items()}
    return known.get(text.strip())


def touched(book: vr.Playbook, raw: bytes, terms: Terms | None = None) -> tuple[frozenset[int], list[str]]:
    problems = Problems()
    found = read_orders(raw, book, terms or Terms((Van(0, 0),)), find, problems)
    try:
        problems.raise_all()
    except FileFormatError as error:
        return found, str(error).splitlines()
    return found, []


def number_of(book: vr.Playbook, *labels: int) -> frozenset[int]:
    groups = enumerate(book.hidden_classes, start=1)
    return frozenset(number for number, group in groups if set(labels) & set(group.members))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    "text",
    [
        "Müller, Söhne\r\nDörte\r\n",
        '"Müller, Söhne"\n"Dörte"\n',
        'Kunde;Qty\n"Müller, Söhne";1\nDörte;\n',
        "place\tamount\nMüller, Söhne\t0,5\nDörte\t1\n",
    ],
)
def test_lists_and_tables_in_any_encoding(book: vr.Playbook, text: str, encoding: str) -> None:
    assert touched(book, text.encode(encoding)) == (number_of(book, 1, 4), [])


@pytest.mark.parametrize("rows", [[["Baker"], ["Dörte"]], [["Order", "Customer"], [17, "Baker"], [18, "Dörte"]]])
def test_workbooks(book: vr.Playbook, tmp_path: Path, rows: list[list[object]]) -> None:
    workbook(rows)(tmp_path / "orders.xlsx")
    assert touched(book, (tmp_path / "orders.xlsx").read_bytes()) == (number_of(book, 2, 4), [])


def test_quantities_are_held_against_the_bound_of_the_customer(book: vr.Playbook) -> None:
    terms = Terms((Van(0, 0),), demand=5, customers={2: Customer(demand=7), 4: Customer(demand=0)})
    raw = "place,quantity\nBaker,7\nName,5.5\nDörte,1\n".encode()
    _, said = touched(book, raw, terms)
    assert [line.partition(": ")[0] for line in said] == ["--orders, line 3", "--orders, line 4"]


def test_no_problem_of_orders_leads_back_to_them(book: vr.Playbook) -> None:
    problems = Problems()
    read_orders(b"place,quantity\nSECRET,1\nBaker,SECRET\n0,1\n2,2\n", book, Terms((Van(0, 0),)), find, problems)
    with pytest.raises(ManyProblemsError) as refused:
        problems.raise_all()
    assert len(refused.value.problems) == 5
    for error in refused.value.problems:
        assert "SECRET" not in f"{error!r}{vars(error)}"
        assert error.field == ORDERS
        assert error.__traceback__ is None
        assert error.__context__ is None


def test_customers_of_a_file_of_places(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text(
        "name;role;lat;lon;Demand;Service (min);Opens;Closes;Rate\n"
        "Yard;start;1;1;;;;;\nDörte;;1;1;4;2,5;8:00;24:00;0,25\nBaker;candidate;1;1;;;;;\n0;;1;1;9;;;;\n",
        encoding="cp1252",
    )
    own = read_customers(path, find, [0], [1, 2, 3, 4])
    assert own == {2: Customer(), 4: Customer(4, 150, 28_800, 86_400, 0.25)}
    assert list(own) == [2, 4], "in the order of the candidates"
