"""What notebooks show of a playbook, an audit and a frontier: it reaches nothing, and no name breaks out of it."""

from __future__ import annotations

import re
from html import unescape

import veilroute as vr
from street_samples import little_book
from veilroute.plotting import html_map

EVIL = "</iframe></script><script>alert(1)</script>"


def shown(thing: object) -> str:
    """What a notebook is given."""
    html = thing._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(html, str)
    return html


def test_a_playbook_is_its_page_in_a_frame_that_reaches_nothing() -> None:
    book = little_book()
    frame = re.fullmatch(
        r'<iframe title="[^"]*" sandbox="([^"]*)" style="[^"]*" srcdoc="([^"]*)"></iframe>', shown(book)
    )
    assert frame is not None
    assert unescape(frame[2]) == html_map(book)
    assert frame[1] == "allow-scripts allow-downloads"  # no access to the notebook, no forms, no windows
    bare = shown(vr.playbook_from_json(book.to_json(embed_domain=False)))
    assert "with_domain" in bare and "iframe" not in bare


def test_names_do_not_break_out_of_the_frame_or_the_tables() -> None:
    book = little_book(names={102: EVIL, 105: EVIL})
    assert EVIL not in shown(book)
    assert not re.search("<script|</iframe", shown(vr.audit(book)))


def test_a_frontier_is_a_chart_that_reaches_nothing() -> None:
    html = shown(vr.frontier(little_book().problem, [vr.Privacy(k=k, ell=1) for k in (2, 3)]))
    assert html.count("<tr>") == 3 and "data:image/png;base64," in html
    assert "http" not in re.sub(r"base64,[^\"]*", "", html)
