"""The report for the manager: all in it, nothing to click on, the same bytes again, and the truth about forgeries."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest

import veilroute as vr
from drawn_books import triangle_book
from street_samples import ATTRIBUTION, NAMES, exposed_book, little_book, two_trip_book
from veilroute.plotting import Pages, report_pages, write_report

PAGE_IN = 8.27  # the width of A4


def texts(pages: Pages) -> list[str]:
    """What is on the pages, in the order in which it was put there."""
    return [text.get_text() for figure in pages.figures for text in figure.texts]


def test_the_file_has_no_link_no_date_and_the_same_bytes_again(tmp_path: Path) -> None:
    book = little_book()
    for name, size in (("a", 10), ("b", 20)):
        with mpl.rc_context({"font.family": "serif" if name == "b" else "sans-serif", "font.size": size}):
            write_report(book, tmp_path / f"{name}.pdf", report=vr.audit(book))
    data = (tmp_path / "a.pdf").read_bytes()
    assert data == (tmp_path / "b.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    plain = data + b"".join(zlib.decompress(part) for part in streams if part[:1] == b"x")
    for word in (b"/URI", b"http", b"/JavaScript", b"/Launch", b"CreationDate", b"/A <<"):
        assert word not in plain, word


def hopeless_book() -> vr.Playbook:
    domain = vr.grid_domain(["....."])
    return vr.solve(vr.Problem(domain, [vr.Trip((0, 0), (0, 4))], [(0, 1), (0, 2)]), vr.Privacy(k=2, ell=30))


def graph_book() -> vr.Playbook:
    domain = vr.Domain.from_edges(5, [0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3], [1] * 8)
    return vr.solve(vr.Problem(domain, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2))


@pytest.mark.parametrize(
    "make",
    [
        graph_book, little_book, hopeless_book, exposed_book, two_trip_book, triangle_book, lambda: little_book(m=3),
    ],
)  # fmt: skip
def test_all_kinds_of_playbooks_have_one(make: Callable[[], vr.Playbook]) -> None:
    book = make()
    audit = vr.audit(book)
    said = " ".join(texts(report_pages(book, audit)))
    flat = re.sub(r"\s", "", said)
    for words in (audit.headline, book.sha256, book.domain_sha256, *(book.name(label) for label in book.candidates)):
        assert re.sub(r"\s", "", words) in flat, words
    assert (ATTRIBUTION in said) == (book.problem.domain.streets is not None)


def test_a_forged_playbook_is_not_whitewashed() -> None:
    """Better figures that somebody has written into it are neither in the headline nor in the facts."""
    book = little_book()
    claims = replace(book.claims, total_extra=1.0, worst_extra=0.5, bayes_success=0.01, worst_posterior=0.01)
    forged, pages = replace(book, claims=claims), report_pages(book, vr.audit(book))
    audit = vr.audit(forged)
    said, honest = texts(report_pages(forged, audit)), texts(pages)
    assert not audit.holds
    assert audit.headline in said and audit.headline not in honest
    # What the first page says of privacy and cost is what was measured.
    first = [text.get_text() for text in pages.figures[0].texts]
    figures = {text for text in first if "%" in text or " s " in text}
    assert len(figures) > 4 and figures <= set(said)
    assert "right 1% of the time" not in " ".join(said) and "0.5 s more" not in " ".join(said)


def test_odd_names_are_text(tmp_path: Path) -> None:
    book = little_book(names={**NAMES, 103: "$x_1$ & <b>", 104: "東京 👍"})
    audit = vr.audit(book)
    assert any("$x_1$ & <b>" in text for text in texts(report_pages(book, audit)))
    write_report(book, tmp_path / "o.pdf", report=audit)
    with pytest.raises(vr.InvalidInputError, match="the audit of this playbook"):
        write_report(little_book(), tmp_path / "o.pdf", report=audit)
