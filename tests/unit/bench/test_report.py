"""The report: a page that holds all it shows, the same bytes each time, and nothing from files in it is markup."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

import pytest

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute import bench

COMMAND = "veilroute bench all --preset quick --workers 2"


def read_page(path: Path) -> tuple[str, str, list[str]]:
    """What is written in a page, what an observer reads, and the addresses that it points to."""
    raw = path.read_text(encoding="utf-8")
    return raw, html.unescape(re.sub(r"<[^>]*>", "", raw)), re.findall(r'(?:src|href|data)="([^"]*)"', raw)


@pytest.fixture
def example(two_rooms: vr.Domain) -> bench.Record:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2)).to_dict(embed_domain=False)
    return make_record(
        bench.OPTIMAL, map_name="../a <b>&\"'| map\n2", keep_playbook=True, playbook=book, map_sha256=two_rooms.sha256
    )


def test_a_report_of_all_suites(example: bench.Record, two_rooms: vr.Domain, tmp_path: Path) -> None:
    failed = make_record(bench.BEST, pair=9, status="error", mac=None, error="ValueError: <script>x</script>")
    records = [*make_run(maps=("rooms-2",), num_pairs=1, sizes=(8,)), example, failed]
    written = bench.write_report(
        tmp_path, list(bench.SUITES), records, domains={two_rooms.sha256: two_rooms}, notes=["Maps & <more>."],
        command=COMMAND,
    )  # fmt: skip
    raw, text, addresses = read_page(written.html)
    # Nothing is fetched, nothing runs, and each picture is in the page and in the folder.
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[A-Za-z0-9+/=]+", "", raw))
    assert not re.search(r"<(script|link|iframe|object)", raw)
    held = [base64.b64decode(each.partition(",")[2]) for each in addresses if each.startswith("data:image/png;base64,")]
    assert held == [path.read_bytes() for path in written.figures if path.suffix == ".png"] and len(held) == 8
    ids = set(re.findall(r'\bid="([^"]*)"', raw))
    assert {each.removeprefix("#") for each in addresses if not each.startswith("data:")} <= ids
    # What comes from files is text; a picture is not called as the file says.
    assert "a <b>" not in raw and all(word in text for word in ("../a <b>&\"'| map", "<script>", "Maps & <more>."))
    assert all(path.parent == tmp_path / "figures" and path.is_file() for path in written.figures)
    assert "example-a-b-map-2-1-k2-ell1.png" in {path.name for path in written.figures}
    text = written.markdown.read_text(encoding="utf-8")
    assert r"a \<b\>&amp;" in text and r"ValueError: \<script\>" in text and not re.search(r"https?:", text)
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", text)
    assert len(links) == 8 and all((written.markdown.parent / link).is_file() for link in links)
    assert {"table1.csv", "klr-mac.tex"} <= {path.name for path in written.tables if path.is_file()}


def test_same_records_same_bytes(example: bench.Record, two_rooms: vr.Domain, tmp_path: Path) -> None:
    records, found = [*make_run(maps=("rooms-2",), num_pairs=1, sizes=(8, 12)), example], []
    for name, given in (("a", records), ("b", records[::-1])):
        domains = {"other": two_rooms, two_rooms.sha256: two_rooms}
        made = bench.write_report(
            tmp_path / name, ["table1", "examples"], given, domains=domains, notes=(), command=COMMAND
        )
        paths = (made.html, made.markdown, *made.figures, *made.tables)
        found.append({path.relative_to(tmp_path / name): path.read_bytes() for path in paths})
    assert found[0] == found[1] and {path.suffix for path in found[0]} >= {".png", ".svg", ".pdf", ".csv", ".tex"}


def test_empty_and_partial_records(example: bench.Record, line5: vr.Domain, tmp_path: Path) -> None:
    empty = bench.write_report(tmp_path / "empty", list(bench.SUITES), [], domains={}, notes=(), command=COMMAND)
    assert read_page(empty.html)[1].count("no records of this suite yet") == len(bench.SUITES) and not empty.figures
    # A playbook is drawn on the map that it was made on, and on no other.
    for domains in ({}, {example.cell.instance.map_name: line5}):
        made = bench.write_report(tmp_path, ["examples"], [example], domains=domains, notes=(), command=COMMAND)
        assert "1 playbook not drawn" in made.html.read_text(encoding="utf-8") and not made.figures


def test_the_points_of_a_chart() -> None:
    """Lines go by what stands across, panels by the rest."""
    records = [
        make_record(method, k=k, m_ratio=ratio, mac=mac * k * ratio)
        for k in (2, 3)
        for ratio in (0.1, 1.0, 10.0)
        for method, mac in ((bench.OPTIMAL, 1.0), (bench.M_PBP, 2.0))
    ]
    layout = bench.Layout("t", "T", columns=("mac",), across="m_ratio", methods=(bench.M_PBP, bench.OPTIMAL))
    figure, num_left_out = bench.draw_chart(layout, bench.Selection(tuple(records)))
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in panels] == ["k 2", "k 3"] and num_left_out == 0
    for k, axes in enumerate(panels, start=2):
        handles, labels = axes.get_legend_handles_labels()
        for drawn, label in zip(handles, labels, strict=True):
            mac = {"m-Pbp": 2.0, "optimal (exact)": 1.0}[label]
            points = drawn.lines[0].get_xydata().tolist()  # type: ignore[attr-defined]
            assert points == [[ratio, pytest.approx(mac * k * ratio)] for ratio in (0.1, 1.0, 10.0)]
