"""The report: one page that holds all it shows, the same in Markdown, and sentences that follow from the records."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute.bench import BEST, OPTIMAL, SUITES, Page, Record, ReportFiles, how_it_was_made, write_report

COMMAND = "veilroute bench all --preset quick --workers 2"
VOID = {"meta", "img"}


class ParsedPage(HTMLParser):
    """Reads a page and complains about elements that are not closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        given = dict(attrs)
        self.addresses += [str(given[name]) for name in ("src", "href", "action", "data") if name in given]
        self.ids += [str(given["id"])] if "id" in given else []
        if tag == "img":
            self.images.append(given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


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
def written(tmp_path_factory: pytest.TempPathFactory, building: vr.Domain, example: Record) -> ReportFiles:
    failed = make_record(
        BEST, pair=9, status="error", is_finished=False, mac=None, error="ValueError: <script>x</script>"
    )
    records = [*make_run(maps=("den101d",), num_pairs=1, sizes=(8,)), example, failed]
    out = tmp_path_factory.mktemp("report") / "new" / "folder"
    return write_report(
        out, list(SUITES), records, domains={building.sha256: building}, notes=["Maps & <more>."], command=COMMAND
    )


def test_page_is_well_formed_and_holds_all_it_shows(written: ReportFiles) -> None:
    raw = written.html.read_text(encoding="utf-8")
    page = ParsedPage(raw)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[A-Za-z0-9+/=]+", "", raw))
    assert not {"script", "link", "iframe", "object"} & set(page.seen)
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in page.addresses)
    assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)
    assert {f"suite-{name}" for name in SUITES} <= set(page.ids)


def test_pictures_are_those_of_the_files(written: ReportFiles) -> None:
    page = ParsedPage(written.html.read_text(encoding="utf-8"))
    held = [base64.b64decode(str(image["src"]).partition(",")[2]) for image in page.images]
    files = [path for path in written.figures if path.suffix == ".png"]
    assert held == [path.read_bytes() for path in files]
    assert len(files) == 8
    assert all(image["alt"] for image in page.images)
    assert [path.with_suffix(".png") for path in written.figures if path.suffix == ".svg"] == files
    assert all(path.exists() and path.parent == written.html.parent / "figures" for path in written.figures)


def test_names_from_files_are_escaped(written: ReportFiles) -> None:
    raw = written.html.read_text(encoding="utf-8")
    assert "a <b>" not in raw
    page = ParsedPage(raw)
    assert "a <b>&\"'| map" in page.text
    assert "ValueError: <script>x</script>" in page.text
    assert "A <fast> one & more" in page.text
    markdown = written.markdown.read_text(encoding="utf-8")
    assert r"| a \<b\>&amp;" in markdown
    assert r"ValueError: \<script\>" in markdown


def test_links_of_the_markdown_lead_to_files(written: ReportFiles) -> None:
    text = written.markdown.read_text(encoding="utf-8")
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", text)
    assert len(links) == 8
    assert all((written.markdown.parent / link).is_file() for link in links)
    assert not re.search(r"https?:", text)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 11
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_both_forms_say_the_same(written: ReportFiles) -> None:
    page = ParsedPage(written.html.read_text(encoding="utf-8"))
    markdown = written.markdown.read_text(encoding="utf-8").replace("\\", "")
    for words in (
        "Maps & <more>.".replace("&", "&amp;"),
        "$ veilroute bench all --preset quick --workers 2",
        "Table 1: partitioning strategies",
        "The auditor confirms 1 of 1 playbook.",
        "1 ended with an error",
    ):
        assert words in markdown
        assert words.replace("&amp;", "&") in page.text


def test_same_records_same_bytes(building: vr.Domain, example: Record, tmp_path: Path) -> None:
    records = [*make_run(maps=("den101d",), num_pairs=2, sizes=(8,)), example]
    first, second = (
        write_report(
            tmp_path / name,
            ["table3", "examples"],
            given,
            domains={"other": building, building.sha256: building},
            notes=(),
            command=COMMAND,
        )
        for name, given in (("a", records), ("b", records[::-1]))
    )
    for one, other in zip(
        (first.html, first.markdown, *first.figures), (second.html, second.markdown, *second.figures), strict=True
    ):
        assert one.read_bytes() == other.read_bytes()
        assert one.relative_to(tmp_path / "a") == other.relative_to(tmp_path / "b")


def test_empty_and_partial_records(tmp_path: Path) -> None:
    empty = write_report(tmp_path / "empty", list(SUITES), [], domains={}, notes=(), command=COMMAND)
    assert empty.figures == ()
    assert not list((tmp_path / "empty" / "figures").iterdir())
    page = ParsedPage(empty.html.read_text(encoding="utf-8"))
    assert page.text.count("There are no records of this suite yet.") == len(SUITES)
    assert "What came out here:" not in page.text, "no sentences without records"
    assert "173 figures." in page.text and "173 figures. It found:" not in page.text, "it has no finding to quote"
    assert "Cells: 0;" in page.text
    lonely = [
        make_record(OPTIMAL, keep_playbook=True, playbook={"classes": []}),
        make_record(OPTIMAL, k=3, m_ratio=0.1),
    ]
    partial = write_report(tmp_path / "partial", ["table4", "examples"], lonely, domains={}, notes=(), command=COMMAND)
    page = ParsedPage(partial.html.read_text(encoding="utf-8"))
    assert "1 playbook not drawn" in page.text
    assert [path.name for path in partial.figures] == ["table4.png", "table4.svg", "table4.pdf"]


def test_how_it_was_made() -> None:
    records = [
        make_record(BEST, runtime_s=30.0, finished_at="2024-05-06T07:00:00.000+00:00"),
        make_record(BEST, pair=2, runtime_s=300.0, is_finished=False, finished_at="2024-05-06T06:00:00.000+00:00"),
        make_record(OPTIMAL, map_name="mine", status="error", mac=None, is_finished=False, error="no such node"),
        make_record(BEST, k=3),  # of another suite
    ]
    lines = list(how_it_was_made(["table1"], records, ["The paper's maps."]))
    assert lines[:2] == ["The paper's maps.", "Suites: table1."]
    assert lines[2] == ("Cells: 3; 1 came to their own end, 1 were stopped by the clock, 1 ended with an error.")
    text = "\n".join(lines)
    assert "Time limit for a cell: 300 s. Sum of the runtimes: 5.5 minutes." in text
    assert "den101d (00000000) and mine (00000000); not among the paper's: mine." in text
    assert "Stopped by the clock: Merge-BB, CostAsc, Tunnel: 1 cell." in text
    assert "Error in optimal on mine, pair 1, 8 candidates, k = 2" in text
    assert ": no such node" in text
    assert "numpy 2.4.6" in text
    assert "cores 2" in text
    assert "The first cell was finished at 2024-05-06T06:00:00.000+00:00, the last at 2024-05-06T07:08:09" in text


def test_code_with_fences_stays_code() -> None:
    page = Page("T")
    page.add_heading("A & B", "a")
    page.add_text("1 < 2")
    page.add_command("echo ```x```")
    assert page.to_markdown() == "# T\n\n## A &amp; B\n\n1 \\< 2\n\n````console\n$ echo ```x```\n````\n"
    assert "<pre><code>$ echo ```x```</code></pre>" in page.to_html()


def test_every_table_is_there_as_csv_and_latex(written: ReportFiles) -> None:
    names = {path.name for path in written.tables}
    assert {path.suffix for path in written.tables} == {".csv", ".tex"} and all(
        path.exists() for path in written.tables
    )
    for table in ("table1", "table2", "table3", "table4", "klr-mac", "klr-apr", "adversaries", "examples"):
        assert {f"{table}.csv", f"{table}.tex"} <= names
    # One map and one instance: no rows by map, nothing to test.
    assert "table1-means.tex" in names and not {"table1-by-map.csv", "table1-paired.csv"} & names
