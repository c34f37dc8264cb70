from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veilroute as vr
from street_samples import ATTRIBUTION, as_written_before, exposed_book, little_book, little_town
from veilroute.plotting import bend_walks, html_map, join_modules, street_lines, write_html_map

EVIL = "</script><script>alert(1)</script><!-- {{js}} \u2028"


class Page(HTMLParser):
    """The elements of a page, its texts and its scripts as a browser would split them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag in ("script", "style"):
            (self.scripts if tag == "script" else self.styles).append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.styles[-1] += data
        else:
            self.texts.append(data)

    @property
    def scene(self) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.scripts[0], validate=True)))

    @property
    def data(self) -> Any:
        """The map, and the first trip with its places."""
        scene = self.scene
        book = scene["playbook"]
        return scene["map"] | book["trips"][0] | {"places": book["places"][0]}

    @property
    def words(self) -> list[str]:
        """All that the page says of the playbook, the map and both seats apart."""
        book = self.scene["playbook"]
        return list(_texts({name: value for name, value in book.items() if name not in ("watch", "drive")}))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _texts(part)


@pytest.fixture
def page() -> Page:
    return Page(html_map(little_book()))


def points(differences: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.cumsum(np.array(differences, dtype=np.int64).reshape(-1, 2), axis=0)


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    # The data is letters of base64, in which anything may occur; a name space of XML is a name and no address.
    text = html_map(little_book()).replace(page.scripts[0], "").replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(", text)
    assert not {"link", "img", "iframe", "object", "embed", "base", "a", "form"} & {tag for tag, _ in page.elements}
    assert not [attributes for _, attributes in page.elements if {"src", "href", "srcset", "data"} & set(attributes)]
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_the_policy_admits_this_script_and_no_other(page: Page) -> None:
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("where", ["street", "place", "exposed"])
def test_no_name_breaks_out(where: str) -> None:
    evil = "".join(character for character in EVIL if character.isprintable()).strip()
    if where == "street":
        page = Page(html_map(little_book(little_town(evil_name=evil), m=3)))
        assert evil in page.data["streets"]["names"]
    elif where == "exposed":
        page = Page(html_map(exposed_book(names=dict.fromkeys((102, 103, 112), evil))))
        assert evil in page.scene["playbook"]["notHidden"]
    else:
        page = Page(html_map(little_book(names={102: evil, 105: evil})))
        assert [place["text"] for place in page.data["places"] if evil in place["text"]]
        assert any(evil in text for text in page.words)
    assert len(page.scripts) == 2
    assert [script.get("type") for script in page.all("script")] == ["application/octet-stream", "module"]
    assert re.fullmatch("[A-Za-z0-9+/]+=*", page.scripts[0])
    assert not any("alert" in text for text in (page.scripts[1], *page.texts))


def test_every_street_is_there_once_with_its_bends(page: Page) -> None:
    town = little_town()
    streets, shown = page.data["streets"], street_lines(town)
    # 9 streets from west to east and 8 from north to south, each once.
    assert len(streets["sizes"]) == len(shown.edges) == 17
    assert sum(streets["sizes"]) == len(streets["points"]) // 2 == 2 * 17 + 3 + 1
    assert sum(streets["oneWay"]) == 2
    assert [streets["names"][i] for i in streets["nameIds"]].count("Rantatie") == 3
    assert town.coordinates is not None
    ends = points(streets["points"])[np.cumsum(streets["sizes"]) - 1]
    assert np.abs(ends - 10 * town.coordinates[town.indices[shown.edges]]).max() <= 0.5


def test_routes_follow_the_streets_in_lanes(page: Page) -> None:
    first, second = page.data["classes"]
    assert (first["number"], second["number"]) == (1, 2)
    # Around the north: 5 moves without bends. Around the south: 5 moves with 3 + 1 bends.
    assert [len(group["parts"][0]["points"]) // 2 for group in (first, second)] == [6, 10]
    assert [len(group["parts"][0]["shifts"]) for group in (first, second)] == [5, 9]
    # They share no street, so both run in the middle.
    assert not any(first["parts"][0]["shifts"] + second["parts"][0]["shifts"])
    line = points(second["parts"][0]["points"])
    assert second["box"] == [*line.min(axis=0).tolist(), *line.max(axis=0).tolist()]


@pytest.mark.parametrize("written", [lambda book: book, as_written_before])
def test_where_members_part_each_has_its_own_line_and_directions(
    written: Callable[[vr.Playbook], vr.Playbook],
) -> None:
    book = written(little_book(m=3))
    page = Page(html_map(book))
    # What is shared, and a rest for each of both members; the last class never parts.
    assert [len(group["parts"]) for group in page.data["classes"]] == [3, 3, 1]
    for group, shown in zip(book.classes[:2], page.data["classes"], strict=False):
        begun, *rests = [points(part["points"]).tolist() for part in shown["parts"]]
        for member, rest in zip(group.members, rests, strict=True):
            route = book.route_for(member)
            ((walk,),), positions = bend_walks(little_town(), [[[little_town().node(label) for label in route]]])
            assert begun + rest[1:] == np.rint(10 * positions[walk]).astype(np.int64).tolist() != begun
    headings = [text for text in page.words if re.match("Shared beginning|Rest for|Directions", text)]
    assert [heading.partition(" (")[0] for heading in headings] == [
        *(
            heading
            for group in book.classes[:2]
            for heading in ("Shared beginning", *(f"Rest for {book.name(member)}" for member in group.members))
        ),
        "Directions",
    ]
    now, again = (each.scene["playbook"] for each in (page, Page(html_map(little_book(m=3)))))
    assert now["trips"] == again["trips"]
    assert now["places"] == again["places"]


def test_places_and_words(page: Page) -> None:
    places = page.data["places"]
    assert [place["role"] for place in places] == ["candidate"] * 6 + ["start", "goal"]
    assert places[-2]["text"] == "Depot\nStart"
    assert {place["text"] for place in places[:-2]} >= {"Branch North\nClass 1", "Branch West\nClass 2"}
    text = " ".join([*page.words, page.data["attribution"], page.scripts[1]])
    for words in ("6 of 6", "100 m straight", "optimal", "APR", "delta", "MAC", "veilroute audit", ATTRIBUTION):
        assert words in text, words
    assert "Turn right onto Pohjoiskatu (110 m, 15 s)" in text
    assert "Stop 2 of 3: Branch Yard (after 2 min, stay 60 s)" in text
    assert [len(group["directions"]) for group in page.data["classes"]] == [1, 1]


def test_a_round_trip_shows_start_and_goal_side_by_side() -> None:
    problem = vr.Problem(little_town(), [vr.Trip(105, 105)], [102, 104, 111])
    book = vr.solve(problem, vr.Privacy(k=3, ell=0))
    places = Page(html_map(book)).data["places"]
    assert [place["aside"] for place in places] == [0, 0, 0, -1, 1]


def test_candidates_that_are_not_hidden_are_listed() -> None:
    book = exposed_book(names={103: "Yard & Co"})
    (exposed,) = [place for place in Page(html_map(book)).data["places"] if place["role"] == "not-protected"]
    assert exposed["text"].startswith("Yard & Co\nNot protected")
    assert "Yard & Co" in Page(html_map(book)).scene["playbook"]["notHidden"]


def test_usable_without_a_mouse_and_on_a_phone(page: Page) -> None:
    # What a script makes is tested in a browser (tests/browser).
    assert {"map", "side", "scene"} <= {str(attributes.get("id")) for _, attributes in page.elements}
    assert page.all("html")[0]["lang"] == "en"
    assert [m for m in page.all("meta") if m.get("name") == "viewport"]
    for feature in ("prefers-color-scheme: dark", "@media print", "max-width"):
        assert feature in page.styles[0]


def test_equal_playbooks_give_equal_files(tmp_path: Path) -> None:
    write_html_map(little_book(), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == html_map(little_book())


def test_only_trips_that_are_there() -> None:
    for trip in (1, None):  # None is no trip here, although elsewhere it means all
        with pytest.raises(vr.InvalidInputError, match="^trip: expected a trip from 0 to 0"):
            html_map(little_book(), trip=trip)  # type: ignore[arg-type]


def test_candidates_seen_from_afar_are_joined_to_the_route() -> None:
    problem = vr.Problem(
        little_town(), [vr.Trip(105, 108)], [102, 110, 103, 111], vr.WithinDistance(120, measure="walking")
    )
    book = vr.solve(problem, vr.Privacy(k=4, ell=0))
    (group,) = Page(html_map(book)).data["classes"]
    # All four are seen from Keskuskatu, each from the junction one block away.
    assert len(group["parts"][0]["shifts"]) == 3
    assert len(group["sights"]) == 4
    for x1, y1, x2, y2 in group["sights"]:
        assert abs(x1 - x2) <= 1
        assert abs(y1 - y2) == pytest.approx(1112, abs=2)


def test_a_contingency_is_in_the_list_and_on_the_map() -> None:
    evil = "</script><script>alert(1)</script>"
    book = little_book(names={102: evil}).with_contingencies([(101, 102), (110, 111)])
    text = html_map(book)
    page = Page(text)
    assert len(page.data["detours"]) == 2
    assert all(detour["title"].startswith("If ") and detour["directions"] for detour in page.data["detours"])
    assert any(evil in word for word in page.words)
    assert evil not in text
    coordinates = book.problem.domain.coordinates
    assert coordinates is not None
    for entry, shown in zip(book.contingencies, page.data["detours"], strict=True):
        assert shown["number"] == entry.number
        ends = np.rint(10 * coordinates[[book.problem.domain.node(label) for label in (entry.at, entry.route[-1])]])
        (line,) = (points(part) for part in shown["parts"])
        assert line[[0, -1]].tolist() == ends.tolist()
        assert points(shown["closed"][0])[0].tolist() == ends[0].tolist()
    assert not Page(html_map(little_book())).data["detours"]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run JavaScript")
def test_the_geometry_of_the_page() -> None:
    script = join_modules(["geometry.js"])
    script += """
    const assert = require("node:assert");
    assert.deepEqual([...decode([1, 2, 3, -4])], [1, 2, 4, -2]);
    assert.equal(distanceTo(0, 3, -1, 0, 1, 0), 3);
    assert.deepEqual(lineBeside([[0, 0], [10, 0]], [2]), [[0, -2], [10, -2]]);
    assert.deepEqual([...pointsAlong([[0, 0], [10, 0]], 10)], [[5, 0, 0]]);
    """
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_modules_are_joined_into_one_that_imports_nothing() -> None:
    for name in ("page.js", "day.js"):
        text = join_modules([name])
        assert not re.search(r"^\s*(import|export)\b", text, re.MULTILINE)
        assert "</script" not in text.lower()
        top = re.findall(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", text, re.MULTILINE)
        assert len(set(top)) == len(top), sorted(each for each in top if top.count(each) > 1)
    # Who is imported comes first, and once however many import it.
    joined = join_modules(["canvas.js", "geometry.js"])
    assert joined.index("function decode(") < joined.index("function createBase(") < joined.index("function createMap(")
    assert joined.count("function decode(") == 1


def test_scripts_keep_to_the_rules_of_the_page() -> None:
    """No data becomes markup, nothing is evaluated or stored, and nobody is asked for anything."""
    made = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    kept = r"localStorage|sessionStorage|indexedDB|document\.cookie"
    asked = r"fetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\("
    for module in files("veilroute.plotting").joinpath("web").iterdir():
        if module.name.endswith(".js"):
            assert not re.search(f"{made}|{kept}|{asked}", module.read_text(encoding="utf-8")), module.name
