"""The page of one file: it loads nothing, runs its own script only, no name breaks out, its lines are the routes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, exposed_book, little_book, little_town
from veilroute.plotting import bend_walks, html_map, street_lines, write_html_map

EVIL = "</script><script>alert(1)</script><!-- {{js}}"


class Page(HTMLParser):
    """The elements of a page, its texts and its scripts as a browser would split them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.texts.append(data)

    @property
    def scene(self) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.scripts[0], validate=True)))

    @property
    def trip(self) -> Any:
        """The first trip."""
        return self.scene["playbook"]["trips"][0]

    @property
    def policy(self) -> str:
        (policy,) = [m["content"] for m in self.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        return policy or ""

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def words(data: object) -> Iterator[str]:
    """All texts in some data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from words(part)


def points(differences: list[int]) -> list[list[int]]:
    found: list[list[int]] = np.cumsum(np.array(differences, dtype=np.int64).reshape(-1, 2), axis=0).tolist()
    return found


def line(town: vr.Domain, route: Any) -> list[list[int]]:
    """A route along the bends of its streets, in decimetres."""
    ((walk,),), positions = bend_walks(town, [[[town.node(label) for label in route]]])
    found: list[list[int]] = np.rint(10 * positions[walk]).astype(np.int64).tolist()
    return found


def test_nothing_is_loaded_and_no_other_script_runs(tmp_path: Path) -> None:
    book = little_book()
    text = html_map(book)
    page = Page(text)
    # The data is letters of base64, in which anything may occur; a name space of XML is a name and no address.
    plain = text.replace(page.scripts[0], "").replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(", plain)
    assert not {"link", "img", "iframe", "object", "embed", "base", "a", "form"} & {tag for tag, _ in page.elements}
    assert not [attributes for _, attributes in page.elements if {"src", "href", "srcset", "data"} & set(attributes)]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert page.policy.startswith(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';")
    assert page.all("html")[0]["lang"] == "en" and [m for m in page.all("meta") if m.get("name") == "viewport"]
    write_html_map(book, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == html_map(little_book())
    for trip in (1, None):  # None is no trip here, although elsewhere it means all
        with pytest.raises(vr.InvalidInputError, match="^trip: expected a trip from 0 to 0"):
            html_map(book, trip=trip)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: little_book(little_town(evil_name=EVIL), m=3),
        lambda: exposed_book(names=dict.fromkeys((102, 103, 112), EVIL)),
        lambda: little_book(names={102: EVIL, 105: EVIL}),
        lambda: vr.with_contingencies(little_book(names={102: EVIL}), [(101, 102), (110, 111)]),
    ],
)
def test_no_name_breaks_out(make: Callable[[], vr.Playbook]) -> None:
    text = html_map(make())
    page = Page(text)
    assert any(EVIL in each for each in words(page.scene))
    assert EVIL not in text
    assert [script.get("type") for script in page.all("script")] == ["application/octet-stream", "module"]
    assert re.fullmatch("[A-Za-z0-9+/]+=*", page.scripts[0])
    assert not any("alert" in each for each in (page.scripts[1], *page.texts))


def test_every_street_is_there_once_with_its_bends() -> None:
    town = little_town()
    drawn, shown = Page(html_map(little_book())).scene["map"], street_lines(town)
    streets = drawn["streets"]
    assert drawn["attribution"] == ATTRIBUTION
    assert len(streets["sizes"]) == len(shown.edges) == 17
    assert sum(streets["sizes"]) == len(streets["points"]) // 2
    assert sum(streets["oneWay"]) == 2
    assert [streets["names"][i] for i in streets["nameIds"]].count("Rantatie") == 3
    assert town.coordinates is not None
    ends = np.array(points(streets["points"]))[np.cumsum(streets["sizes"]) - 1]
    assert np.abs(ends - 10 * town.coordinates[town.indices[shown.edges]]).max() <= 0.5


def test_lines_are_the_routes_and_members_that_part_have_their_own() -> None:
    town, book = little_town(), little_book(m=3)
    page = Page(html_map(book))
    assert [len(group["parts"]) for group in page.trip["classes"]] == [3, 3, 1]
    for group, shown in zip(book.hidden_classes, page.trip["classes"], strict=True):
        assert shown["number"] == book.hidden_classes.index(group) + 1
        begun, *rests = [points(part["points"]) for part in shown["parts"]]
        for at, member in enumerate(group.members):
            whole = begun + rests[at][1:] if rests else begun
            assert whole == line(town, book.route_for(member))
        assert len(shown["directions"]) == len(shown["parts"])


def test_candidates_seen_from_afar_are_joined_to_the_route() -> None:
    afar = vr.WithinDistance(120, measure="walking")
    problem = vr.Problem(little_town(), [vr.Trip(105, 108)], [102, 110, 103, 111], afar)
    (group,) = Page(html_map(vr.solve(problem, vr.Privacy(k=4, ell=0)))).trip["classes"]
    # All four are seen from Keskuskatu, each from the junction one block away.
    assert len(group["sights"]) == 4
    for x1, y1, x2, y2 in group["sights"]:
        assert abs(x1 - x2) <= 1 and abs(y1 - y2) == pytest.approx(1112, abs=2)


def test_scripts_keep_to_the_rules_of_the_page() -> None:
    """No data becomes markup, nothing is evaluated or stored, and no server is asked for anything."""
    made = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    kept = r"localStorage|sessionStorage|indexedDB|document\.cookie"
    asked = r"fetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\("
    for module in files("veilroute.plotting").joinpath("web").iterdir():
        if module.name.endswith(".js"):
            assert not re.search(f"{made}|{kept}|{asked}", module.read_text(encoding="utf-8")), module.name
