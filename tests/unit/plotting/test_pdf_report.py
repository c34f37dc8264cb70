"""The report for the manager: all in it, nothing to click on, the same bytes again, and the truth about forgeries."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from drawn_books import triangle_book
from street_samples import ATTRIBUTION, NAMES, exposed_book, little_book, two_trip_book
from veilroute.plotting import Pages, break_lines, pages, text_in, write_report


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of each page that was written, in the order in which they were put there."""
    kept: list[list[str]] = []
    save = Pages.save

    def note(self: Pages, path: str | Path, footer: str) -> None:
        save(self, path, footer)
        kept.extend([text.get_text() for text in page.texts] for page in self._pages)

    monkeypatch.setattr(Pages, "save", note)
    return kept


def test_it_has_everything_a_manager_asks_for(tmp_path: Path, written: list[list[str]]) -> None:
    book = little_book()
    assert write_report(book, tmp_path / "r.pdf").holds
    said = " ".join(text for page in written for text in page)
    for words in (
        "The playbook keeps its word", "6 of 6 customers", "Extra for hiding", "Worst case",
        "right 33.3% of the time, averaged over all trips",
        "minutes alone", "extra minutes", "Branch Harbour", "coverage", "SHA-256", book.sha256, book.domain_sha256,
        ATTRIBUTION, "page 1 of", "behave the same at each",
    ):  # fmt: skip
        assert words in said, words


def test_the_file_has_no_link_no_date_and_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_report(little_book(), tmp_path / f"{name}.pdf")
    data = (tmp_path / "a.pdf").read_bytes()
    assert data == (tmp_path / "b.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    plain = data + b"".join(zlib.decompress(part) for part in streams if part[:1] == b"x")
    for word in (b"/URI", b"http", b"/JavaScript", b"/Launch", b"CreationDate", b"/A <<"):
        assert word not in plain, word


def grid_book() -> vr.Playbook:
    domain = vr.generate_rooms(20, 26, seed=2)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = vr.draw_candidates(domain, start, goal, 8, seed=1)
    return vr.solve(vr.Problem(domain, [vr.Trip(start, goal)], places, vr.WithinDistance(2)), vr.Privacy(k=2))


def graph_book() -> vr.Playbook:
    domain = vr.Domain.from_edges(5, [0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3], [1] * 8)
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))


def hopeless_book() -> vr.Playbook:
    domain = vr.grid_domain(["....."])
    return vr.solve(vr.Problem(domain, [vr.Trip((0, 0), (0, 4))], [(0, 1), (0, 2)]), vr.Privacy(k=2, ell=30))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "make",
    [
        graph_book,
        pytest.param(grid_book, marks=SLOW),
        pytest.param(hopeless_book, marks=SLOW),
        pytest.param(exposed_book, marks=SLOW),
        pytest.param(two_trip_book, marks=SLOW),
        pytest.param(lambda: triangle_book(num_trips=1), marks=SLOW),
        pytest.param(lambda: little_book(m=3), marks=SLOW),
    ],
)
def test_all_kinds_of_playbooks_have_one(make: object, tmp_path: Path, written: list[list[str]]) -> None:
    assert callable(make)
    write_report(make(), tmp_path / "r.pdf")
    said = " ".join(text for page in written for text in page)
    assert "Playbook report" in said
    assert ("minutes" in said) == (make in (exposed_book, two_trip_book) or "Branch" in said)


def test_a_forged_playbook_is_not_whitewashed(tmp_path: Path, written: list[list[str]]) -> None:
    """Whoever claims better figures gets them neither in the headline nor in the facts."""
    book = little_book()
    claims = replace(book.claims, total_extra=1.0, worst_extra=0.5, bayes_success=0.01, worst_posterior=0.01)
    assert not write_report(replace(book, claims=claims), tmp_path / "r.pdf").holds
    said = " ".join(text for page in written for text in page)
    assert "Do not rely on this playbook" in said
    assert "right 33.3% of the time, averaged over all trips" in said
    assert "right 1% of the time" not in said
    assert "0.5 s more" not in said


def test_long_tables_go_on_and_repeat_their_headings(tmp_path: Path, written: list[list[str]]) -> None:
    made = Pages()
    made.heading("Long")
    made.table(["number", "name"], [[str(i), f"Place {i}"] for i in range(150)], colours=["#123456"] * 150)
    made.save(tmp_path / "l.pdf", "footer")
    assert len(written) > 2
    assert all("number" in page and "name" in page for page in written)
    assert [text for page in written for text in page if text.startswith("Place ")] == [
        f"Place {i}" for i in range(150)
    ]


def test_odd_names_fit_their_columns(tmp_path: Path, written: list[list[str]]) -> None:
    odd: dict[Hashable, str] = {**NAMES, 102: "W" * 300, 103: "$x_1$ & <b>", 104: "東京 👍", 109: "a b " * 60}
    write_report(little_book(names=odd), tmp_path / "o.pdf")
    said = [text for page in written for text in page]
    assert any("$x_1$ & <b>" in text for text in said)
    assert all(text_in(text, 7.5) <= pages._WIDTH for text in said)


def test_lines_are_broken_where_they_end() -> None:
    text = "a few words that are longer than the line, andawordthatislongerthanthelineitself"
    lines = break_lines(text, 1.0, 9.0)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_in(line, 9.0) <= 1.0 for line in lines)
    assert break_lines("", 1.0, 9.0) == [""]
    assert break_lines("WW", 0.01, 9.0) == ["W", "W"]


def test_a_name_without_end_takes_no_minutes() -> None:
    began = time.perf_counter()
    lines = break_lines("x" * 8000, 1.0, 9.0)
    assert time.perf_counter() - began < 10
    assert "".join(lines) == "x" * 8000 and len({len(line) for line in lines[:-1]}) == 1
