from __future__ import annotations

import csv
import math
import re
import zipfile
from collections.abc import Hashable
from pathlib import Path

import openpyxl
import pytest

import veilroute as vr
from street_samples import little_book
from veilroute.formats import make_table, write_csv, write_xlsx


def rows_of(book: vr.Playbook, path: Path, **options: int) -> list[dict[str, str]]:
    write_csv(book, path, **options)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_extra_is_what_the_route_costs_beyond_the_one_for_the_customer_alone(tmp_path: Path) -> None:
    book = little_book()
    audit = vr.audit(book)
    rows = rows_of(book, tmp_path / "t.csv")
    assert [row["customer"] for row in rows] == [book.name(label) for label in book.candidates]
    table = make_table(book)
    extras = [row.extra for row in table.customers]
    assert math.fsum(extra or 0 for extra in extras) == pytest.approx(audit.total_extra)
    assert max(extra or 0 for extra in extras) == pytest.approx(audit.worst_extra)
    for row, label in zip(rows, book.candidates, strict=True):
        assert float(row["route minutes"]) == pytest.approx(book.route_for(label).cost / 60, abs=0.01)
        alone, extra = float(row["minutes alone"]), float(row["extra minutes"])
        assert float(row["route minutes"]) == pytest.approx(alone + extra, abs=0.02)
        assert row["status"] == "hidden"
        assert row["stops"] == "3"
    assert sorted(row["stop"] for row in rows) == ["1", "1", "2", "2", "3", "3"]


EVIL: dict[Hashable, str] = {
    102: '=HYPERLINK("http://x","y")',
    103: "+1+cmd|'/c calc'!A1",
    104: "@SUM(A1)",
    109: "-33.8, 151.2",
    111: 'a,"b";c',
    112: "-2+3",
}


def test_no_name_is_a_formula(tmp_path: Path) -> None:
    book = little_book(names=EVIL)
    customers = {row["customer"] for row in rows_of(book, tmp_path / "e.csv")}
    assert {'\'=HYPERLINK("http://x","y")', "'@SUM(A1)", "-33.8, 151.2", 'a,"b";c'} <= customers
    assert not [name for name in customers if re.match(r"[=@+]", name)]
    write_xlsx(book, tmp_path / "e.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "e.xlsx")["Customers"]
    cells = [sheet.cell(row, 1) for row in range(2, 8)]
    assert [cell.value for cell in cells] == [EVIL[label] for label in book.candidates]
    assert {cell.data_type for cell in cells} == {"s"}
    with zipfile.ZipFile(tmp_path / "e.xlsx") as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist())
