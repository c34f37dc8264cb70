"""The report: one page that holds all it shows, the same in Markdown, and sentences that follow from the records."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute.bench import BEST, OPTIMAL, SUITES, Page, Record, ReportFiles, how_it_was_made, write_report

COMMAND = "veilroute bench all --preset quick --workers 2"


class ParsedPage(HTMLParser):
    """Reads a page and complains about elements that are not closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.open += [] if tag in ("meta", "img") else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all_of(self, *names: str) -> list[str]:
        """The values of some attributes."""
        return [str(given[name]) for _, given in self.seen for name in names if name in given]


@pytest.fixture(scope="module")
def building() -> vr.Domain:
    return vr.grid_domain(["...@...", ".......", "...@..."])


@pytest.fixture(scope="module")
def example(building: vr.Domain) -> Record:
    problem = vr.Problem(building, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2)).to_dict(embed_domain=False)
    name = "a <b>&\"'| map"
    return make_record(
        OPTIMAL, map_name=name, keep_playbook=True, playbook=book, audit_holds=True, map_sha256=building.sha256
    )


@pytest.fixture(scope="module")
def records(example: Record) -> list[Record]:
    error = "ValueError: <script>x</script>"
    failed = make_record(BEST, pair=9, status="error", is_finished=False, mac=None, error=error)
    return [*make_run(maps=("rooms-2",), num_pairs=1, sizes=(8,)), example, failed]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, building: vr.Domain, records: list[Record]) -> ReportFiles:
    out, domains = tmp_path_factory.mktemp("report") / "new" / "folder", {building.sha256: building}
    return write_report(out, list(SUITES), records, domains=domains, notes=["Maps & <more>."], command=COMMAND)


def test_the_page_is_well_formed_and_holds_all_it_shows(written: ReportFiles) -> None:
    raw = written.html.read_text(encoding="utf-8")
    page = ParsedPage(raw)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[A-Za-z0-9+/=]+", "", raw))
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.seen}
    ids, addresses = page.all_of("id"), page.all_of("src", "href", "action", "data")
    assert len(ids) == len(set(ids)) and {f"suite-{name}" for name in SUITES} <= set(ids)
    pictures = [address for address in addresses if address.startswith("data:image/png;base64,")]
    assert {address.removeprefix("#") for address in addresses} - set(pictures) <= set(ids)
    files = [path for path in written.figures if path.suffix == ".png"]
    held = [base64.b64decode(address.partition(",")[2]) for address in pictures]
    assert held == [path.read_bytes() for path in files] and len(files) == 8
    assert all(path.exists() and path.parent == written.html.parent / "figures" for path in written.figures)
    # What comes from files is text.
    assert "a <b>" not in raw
    for text in ("a <b>&\"'| map", "ValueError: <script>x</script>", "A <fast> one & more", "Maps & <more>."):
        assert text in page.text


def test_the_markdown_links_to_the_pictures_and_has_the_tables(written: ReportFiles) -> None:
    text = written.markdown.read_text(encoding="utf-8")
    assert r"| a \<b\>&amp;" in text and r"ValueError: \<script\>" in text and not re.search(r"https?:", text)
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", text)
    assert len(links) == 8 and all((written.markdown.parent / link).is_file() for link in links)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 8
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    names = {path.name for path in written.tables}
    assert all(path.exists() for path in written.tables) and {name[-4:] for name in names} == {".csv", ".tex"}
    for table in ("table1", "table2", "table3", "table4", "klr-mac", "adversaries", "examples", "table1-means"):
        assert {f"{table}.csv", f"{table}.tex"} <= names
    page = Page("T")
    page.add_heading("A & B", "a")
    page.add_command("echo ```x```")
    assert page.to_markdown() == "# T\n\n## A &amp; B\n\n````console\n$ echo ```x```\n````\n"


def test_same_records_same_bytes(building: vr.Domain, records: list[Record], tmp_path: Path) -> None:
    found = []
    for name, given in (("a", records), ("b", records[::-1])):
        domains = {"other": building, building.sha256: building}
        made = write_report(tmp_path / name, ["examples"], given, domains=domains, notes=(), command=COMMAND)
        paths = (made.html, made.markdown, *made.figures, *made.tables)
        found.append({path.relative_to(tmp_path / name): path.read_bytes() for path in paths})
    assert found[0] == found[1] and len(found[0]) > 4


def test_empty_and_partial_records(tmp_path: Path) -> None:
    empty = write_report(tmp_path / "empty", list(SUITES), [], domains={}, notes=(), command=COMMAND)
    assert empty.figures == () and not list((tmp_path / "empty" / "figures").iterdir())
    page = ParsedPage(empty.html.read_text(encoding="utf-8"))
    assert page.text.count("no records of this suite yet") == len(SUITES) and "Cells: 0;" in page.text
    lonely = [
        make_record(OPTIMAL, keep_playbook=True, playbook={"classes": []}),
        make_record(OPTIMAL, k=3, m_ratio=0.1),
    ]
    partial = write_report(tmp_path / "partial", ["table4", "examples"], lonely, domains={}, notes=(), command=COMMAND)
    assert "1 playbook not drawn" in partial.html.read_text(encoding="utf-8")
    assert [path.name for path in partial.figures] == ["table4.png", "table4.svg", "table4.pdf"]


def test_how_it_was_made() -> None:
    """The numbers in the sentences."""
    records = [
        make_record(BEST, runtime_s=30.0),
        make_record(BEST, pair=2, runtime_s=300.0, is_finished=False),
        make_record(OPTIMAL, status="error", mac=None, is_finished=False, error="no such node"),
        make_record(BEST, k=3),  # of another suite
    ]
    lines = list(how_it_was_made(["table1"], records, ["the paper's maps"]))
    assert lines[0] == "The paper's maps." and re.findall(r"\d+", lines[2]) == ["3", "1", "1", "1"]
    assert "300 s" in lines[3] and "5.5 minutes" in lines[3]
    failed = [replace(records[2], cell=replace(records[2].cell, seed=seed)) for seed in range(12)]
    assert sum("no such node" in line for line in how_it_was_made(["table1"], failed, [])) == 10
