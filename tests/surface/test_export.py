"""Routes and playbooks on streets, as files for devices, maps and people; and what must not be in them."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command
from street_samples import NAMES, as_written_before, little_book, little_problem, little_town, two_trip_book
from veilroute.formats import Instance

FORMATS = ("text", "json", "gpx", "geojson", "kml", "directions")


@pytest.fixture
def town_book(command: Command) -> vr.Playbook:
    """The little town's playbook, also written as town.json."""
    book = little_book()
    book.write("town.json")
    return book


@pytest.mark.parametrize("format", FORMATS)
def test_every_member_of_a_class_gets_the_same_bytes(command: Command, town_book: vr.Playbook, format: str) -> None:
    for group in town_book.classes:
        assert len(group.members) >= 2
        given = {command("route", "town.json", "--transit", member, "--format", format).out for member in group.members}
        assert len(given) == 1
        for member in group.members:
            command("route", "town.json", "--transit", member, "--format", format, "-o", f"{member}.out")
        written = {Path(f"{member}.out").read_text(encoding="utf-8") for member in group.members}
        assert written == given


@pytest.mark.parametrize("format", ["gpx", "kml", "directions"])
def test_all_of_the_class_are_stops_and_nobody_else(command: Command, town_book: vr.Playbook, format: str) -> None:
    for group in town_book.classes:
        for member in group.members:
            text = command("route", "town.json", "--transit", member, "--format", format).out
            for label in town_book.candidates:
                assert (NAMES[int(str(label))] in text) == (label in group.members)
            for number in range(1, len(group.members) + 1):
                assert f"Stop {number} of {len(group.members)}" in text
    assert "Depot" in command("route", "town.json", "--transit", 102, "--format", "directions").out


def test_no_candidate_is_named_in_a_line(command: Command, town_book: vr.Playbook) -> None:
    for member in town_book.candidates:
        text = command("route", "town.json", "--transit", member, "--format", "geojson").out
        assert len(text) > 100
        assert "Branch" not in text


@pytest.mark.parametrize("out", ["van.kmz", "van.doc", "van", "van.pdf", "van.csv"])
def test_other_suffixes_are_refused_before_the_secret_is_asked_for(
    command: Command, town_book: vr.Playbook, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = command("route", "town.json", "--transit", "-", "-o", out)
    assert (done.code, done.out) == (2, "")
    assert ".txt (its nodes), .json, .gpx, .geojson or .kml" in done.err
    assert not Path(out).exists()
    assert command("route", "town.json", "--transit", 102, "--format", "directions", "-o", out).code == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--dwell", "-1"), "--dwell: expected a number of seconds"),
        (("--dwell", "1e6"), "--dwell: expected a number of seconds"),
        (("--dwell", "nan"), "--dwell: expected a number of seconds"),
        (("--depart", "25:00"), "--depart: expected a time of day as HH:MM"),
        (("--depart", "noon"), "--depart: expected a time of day as HH:MM"),
    ],
)
def test_times_that_are_none_are_refused(
    command: Command, town_book: vr.Playbook, options: tuple[str, ...], says: str
) -> None:
    done = command("route", "town.json", "--transit", 102, "--format", "gpx", *options)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    done = command("export", "town.json", "-o", "a.gpx", *options)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)


def test_no_clock_where_costs_are_metres(command: Command) -> None:
    little_book(little_town(unit="metres")).write("metres.json")
    asked = ("route", "metres.json", "--transit", 102, "--format", "directions")
    assert "Stop 1 of 3: Branch North (after 220 m, stay 60 s)" in command(*asked).out
    assert "whose costs are seconds" in command(*asked, "--depart", "8:00").err
    done = command("export", "metres.json", "-o", "a.txt", "--depart", "8:00")
    assert (done.code, done.out) == (2, "")
    assert "whose costs are seconds" in done.err


def test_a_route_in_each_format(command: Command, town_book: vr.Playbook) -> None:
    route = town_book.route_for(102)
    assert command("route", "town.json", "--transit", 102).out.split() == [str(node) for node in route]
    said = command("route", "town.json", "--transit", 102, "--format", "directions").out
    assert "\n1. From Depot, head north on Länsitie (110 m, 15 s)\n" in said
    gpx = ET.fromstring(command("route", "town.json", "--transit", 102, "--format", "gpx").out.encode())
    assert [child.tag.rpartition("}")[2] for child in gpx] == ["metadata", "wpt", "wpt", "wpt", "rte", "trk"]
    line = json.loads(command("route", "town.json", "--transit", 102, "--format", "geojson").out)
    assert line["features"][0]["properties"]["cost"] == route.cost


def test_the_suffix_of_the_file_chooses_the_format(command: Command, town_book: vr.Playbook) -> None:
    for suffix, begins in (
        (".gpx", "<?xml"),
        (".geojson", '{"attribution"'),
        (".json", '{"cost"'),
        (".txt", "105\n"),
        (".kml", "<?xml"),
    ):
        done = command("route", "town.json", "--transit", 102, "-o", f"van{suffix}")
        assert (done.code, done.out) == (0, "Route written.\n")
        assert Path(f"van{suffix}").read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize("typed", ["102", "Branch North", "branch NORTH ", "60.172,24.942", "60.17205, 24.9419"])
def test_the_secret_by_node_name_or_place(
    command: Command, town_book: vr.Playbook, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    expected = command("route", "town.json", "--transit", 102).out
    assert command("route", "town.json", "--transit", typed).out == expected
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed + "\n"))
    assert command("route", "town.json", "--transit", "-").out == expected


@pytest.mark.parametrize(
    "typed",
    [
        "Branch Nort",
        "Depot",  # a name, but of no candidate
        "60.171,24.942",  # the nearest junction is no candidate
        "24.942,60.172",  # the wrong way round
        "60.199,24.942",  # off the map
        "1e999,24.942",
        "nan,nan",
        "60.172,",
    ],
)
def test_other_secrets_are_refused_without_an_echo(command: Command, town_book: vr.Playbook, typed: str) -> None:
    done = command("route", "town.json", "--transit", typed)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"veilroute: {vr.UnknownCandidateError()}\n"


def test_a_name_that_two_candidates_have_is_nobody(command: Command) -> None:
    little_book(names={102: "Branch", 104: "Branch", 109: "branch"}).write("town.json")
    assert command("route", "town.json", "--transit", "Branch").code == 2
    assert command("route", "town.json", "--transit", "branch").code == 0


def test_a_name_that_is_the_number_of_another_candidates_junction_is_nobody(command: Command) -> None:
    little_book(names=NAMES | {102: "111", 104: "104"}).write("town.json")
    assert command("route", "town.json", "--transit", "111").code == 2, "102 is called so, and 111 is so"
    assert command("route", "town.json", "--transit", "102").code == 0
    assert command("route", "town.json", "--transit", "104").code == 0, "the name and the number of one"
    assert command("route", "town.json", "--transit", NAMES[111]).code == 0


def test_slips_are_not_echoed(command: Command, town_book: vr.Playbook) -> None:
    for arguments in (
        ("--transit", "102", "--format", "Branch North"),
        ("--transit", "102", "-o", "no/Branch North"),
        ("--transit", "102", "--domain", "Branch North.map"),
        ("--transit", "102", "-o", "."),
    ):
        done = command("route", "town.json", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert "Branch" not in done.err
        assert len(done.err.splitlines()) == 1


def test_a_playbook_without_its_map_needs_it(command: Command, town_book: vr.Playbook) -> None:
    town_book.write("bare.json", embed_domain=False)
    vr.write_instance(Instance(little_problem()), "instance.json")
    vr.write_instance(Instance(little_problem(little_town(unit="metres"))), "other.json")
    route = ("route", "bare.json", "--transit", 102, "--format", "directions")
    assert command("route", "bare.json", "--transit", 102).code == 0
    assert "--domain" in command(*route).err
    assert "\n1. From Depot" in command(*route, "--domain", "instance.json").out
    wrong = command(*route, "--domain", "other.json")
    assert wrong.code == 2
    assert "that the playbook was made for" in wrong.err
    assert command("export", "bare.json", "-o", "a.gpx").code == 2
    assert command("export", "bare.json", "-o", "a.gpx", "--domain", "instance.json").code == 0


def test_finite_m_gives_members_their_own_route(command: Command) -> None:
    book = little_book(m=3)
    book.write("town.json")
    ((trip, member), own), *_ = book.classes[0].member_routes.items()
    assert trip == 0
    text = command("route", "town.json", "--transit", member, "--format", "geojson").out
    assert json.loads(text)["features"][0]["properties"]["cost"] == own.cost
    other = next(label for label in book.classes[0].members if label != member)
    assert command("route", "town.json", "--transit", other, "--format", "geojson").out != text


@pytest.mark.parametrize("suffix", [".geojson", ".html", ".txt"])
def test_finite_m_exports_what_is_shared_and_each_rest(command: Command, suffix: str) -> None:
    """No member's whole route stands for the class, whichever version wrote the playbook."""
    book = little_book(m=3)
    book.write("town.json")
    as_written_before(book).write("old.json")
    assert command("export", "town.json", "-o", f"town{suffix}").code == 0
    assert command("export", "old.json", "-o", f"old{suffix}").code == 0
    text, old = (_shown_text(Path(f"{name}{suffix}")) for name in ("town", "old"))
    assert old == text
    assert text.casefold().count("shared beginning") == sum(bool(group.member_routes) for group in book.classes) == 2
    for group in book.classes:
        for member in group.members:
            assert (f"est for {book.name(member)}" in text) == bool(group.member_routes)


def test_the_summary_counts_what_is_shared(command: Command, town_book: vr.Playbook) -> None:
    vr.write_instance(Instance(little_problem(), vr.Privacy(k=2, ell=100, m=3, measure="straight")), "instance.json")
    summary = json.loads(command("plan", "instance.json", "--json").out)
    book = little_book(m=3)
    assert [group["prefix"] for group in summary["classes"]] == [list(group.shared(0)[:3]) for group in book.classes]
    shared = [f"{len(group.shared(0))} nodes{' shared' * bool(group.rests(0))}" for group in book.classes]
    said = command("plan", "instance.json").out
    assert all(words in said for words in shared)


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [
        (".gpx", "<?xml"),
        (".kml", "<?xml"),
        (".geojson", '{"attribution"'),
        (".html", "<!DOCTYPE html>"),
        (".txt", "Class 1: "),
        (".csv", "customer,class,stop,stops,"),
    ],
)
def test_export_writes_all_classes(command: Command, town_book: vr.Playbook, suffix: str, begins: str) -> None:
    done = command("export", "town.json", "-o", f"town{suffix}")
    size = math.ceil(Path(f"town{suffix}").stat().st_size / 1000)
    said = f"Map: town.html ({size} kB)\n" if suffix == ".html" else f"Written: town{suffix}\n"
    assert (done.code, done.out) == (0, said)
    assert Path(f"town{suffix}").read_text(encoding="utf-8").startswith(begins)
    text = _shown_text(Path(f"town{suffix}"))
    assert all(NAMES[int(str(label))] in text for label in town_book.candidates)
    command("export", "town.json", "-o", f"again{suffix}", "--trip", 0)
    assert Path(f"again{suffix}").read_bytes() == Path(f"town{suffix}").read_bytes()


def _shown_text(path: Path) -> str:
    """What an export says; of a page, what its data says of the trips (it also names its playbook by its hash)."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".html":
        return text
    book = _scene(path)["playbook"]
    return json.dumps([book["trips"], book["places"], book["summary"]], ensure_ascii=False)


def _scene(path: Path) -> Any:
    """The data of a page."""
    found = re.search(r'<script[^>]*id="scene"[^>]*>(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_a_map_with_the_second_trip_first(command: Command) -> None:
    two_trip_book().write("two.json")
    assert command("export", "two.json", "-o", "two.html", "--trip", 1).code == 0
    book = _scene(Path("two.html"))["playbook"]
    assert book["shown"] == 1
    assert len(book["trips"]) == len(book["places"]) == 2
    assert book["trips"][1]["lead"].startswith("From 101 to Branch Point.")


def test_a_map_of_what_is_nowhere_on_earth(command: Command, planned: Path) -> None:
    done = command("export", planned, "-o", "grid.html")
    assert done.code == 0
    assert re.fullmatch(r"Map: grid\.html \(\d+ kB\)\n", done.out)
    scene = _scene(Path("grid.html"))
    assert scene["map"]["kind"] == "grid"
    assert scene["map"]["earth"] is None


def test_draw_makes_the_same_map(command: Command, town_book: vr.Playbook) -> None:
    command("export", "town.json", "-o", "export.html")
    assert command("draw", "town.json", "-o", "draw.html").code == 0
    assert Path("draw.html").read_bytes() == Path("export.html").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("town.json", "-o", "a.kmz"), "one of .gpx, .geojson, .kml, .html, .txt, .csv, .xlsx, .pdf"),
        (("town.json", "-o", "a"), "one of .gpx, .geojson, .kml, .html, .txt, .csv, .xlsx, .pdf"),
        (("town.json", "-o", "a.gpx", "--trip", 3), "a trip from 0 to 0"),
        (("town.json", "-o", "no/a.gpx"), "a folder that exists"),
        (("none.json", "-o", "a.gpx"), "no such file"),
    ],
)
def test_bad_exports_are_one_line(
    command: Command, town_book: vr.Playbook, arguments: tuple[object, ...], says: str
) -> None:
    done = command("export", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_other_domains_have_no_streets(command: Command, planned: Path) -> None:
    for suffix in (".gpx", ".geojson", ".kml", ".txt"):
        done = command("export", planned, "-o", f"a{suffix}")
        assert (done.code, done.out) == (2, "")
        assert "only street networks" in done.err
        assert not Path(f"a{suffix}").exists()
    transit = vr.read_playbook(planned).classes[0].members[0]
    assert isinstance(transit, tuple)
    typed = ",".join(map(str, transit))
    done = command("route", planned, "--transit", typed, "--format", "gpx")
    assert (done.code, done.out) == (2, "")
    assert "only street networks" in done.err
    assert typed not in done.err


@pytest.mark.parametrize("format", ["gpx", "geojson", "kml"])
def test_on_standard_output_as_in_a_file_whatever_the_terminal(
    command: Command, town_book: vr.Playbook, format: str
) -> None:
    member = town_book.classes[0].members[0]
    assert command("route", "town.json", "--transit", member, "-o", f"route.{format}").code == 0
    call = [sys.executable, "-m", "veilroute", "route", "town.json", "--transit", str(member), "--format", format]
    done = subprocess.run(call, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}, check=True)
    assert done.stdout == Path(f"route.{format}").read_bytes()
    assert not done.stdout.isascii()


def test_the_report_and_the_tables_are_for_every_map(command: Command, planned: Path) -> None:
    for suffix in (".pdf", ".xlsx", ".csv"):
        done = command("export", planned, "-o", f"a{suffix}")
        assert (done.code, done.out, done.err) == (0, f"Written: a{suffix}\n", "")
        assert Path(f"a{suffix}").stat().st_size > 300


def test_the_report_of_a_playbook_that_breaks_its_word_ends_with_1(command: Command, town_book: vr.Playbook) -> None:
    forged = replace(town_book, claims=replace(town_book.claims, mac=0.001))
    forged.write("forged.json")
    done = command("export", "forged.json", "-o", "a.pdf")
    assert done.code == 1
    assert "does not pass its audit" in done.err
    assert Path("a.pdf").exists()


def test_times_in_summary_and_audit_are_minutes_and_places_have_names(command: Command, town_book: vr.Playbook) -> None:
    vr.write_instance(Instance(little_problem(), vr.Privacy(k=2, ell=100, measure="straight")), "instance.json")
    said = command("plan", "instance.json").out
    assert re.search(r"All routes together cost 40 s \(.*\) more; the worst single detour is 15 s\.", said)
    assert re.search(r"class +size +time +route", said)
    audit = command("audit", "town.json").out
    assert "total extra cost recomputed: 40 s (" in audit
    assert re.search(r"trips +Depot to 108", audit)
    # Two places of one name, and one that is called like the label of another, cannot be mixed up.
    twins = little_book(names={102: "Twin", 103: "Twin", 104: "109"})
    short = replace(
        twins, classes=(replace(twins.classes[0], members=twins.classes[0].members[:1]), *twins.classes[1:])
    )
    short.write("short.json")
    told = command("audit", "short.json").out
    assert "Twin (103)" in told or "Twin (102)" in told
    assert "109 (104)" in told
