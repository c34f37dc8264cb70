"""The report for the manager: all in it, nothing to click on, the same bytes again, and the truth about forgeries."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

import veilroute as vr
from street_samples import little_book
from veilroute.plotting import Pages, report_pages, write_report


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
