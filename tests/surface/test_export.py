"""Routes and playbooks on streets, as files for devices, maps and people; and what must not be in them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from commands import Command, assert_refused
from street_samples import NAMES, little_book, little_town

SUFFIXES = {"text": ".txt", "json": ".json", "gpx": ".gpx", "geojson": ".geojson", "kml": ".kml", "directions": ".doc"}


@pytest.fixture
def town_book(command: Command) -> vr.Playbook:
    """The little town's playbook, also written as town.json."""
    book = little_book()
    book.write("town.json")
    return book


@pytest.mark.parametrize("format", SUFFIXES)
def test_every_member_of_a_class_gets_the_same_bytes(command: Command, town_book: vr.Playbook, format: str) -> None:
    """Printed, in a file of the format that is named, and in one of the format that its suffix names.

    All of the class are stops, and nobody else.
    """
    for group in town_book.classes:
        assert len(group.members) >= 2
        given = set()
        for member in group.members:
            route = ("route", "town.json", "--transit", member)
            given.add(command(*route, "--format", format).out)
            out = Path(f"{member}{SUFFIXES[format]}")
            assert command(*route, "--format", format, "-o", out).code == 0
            given.add(out.read_text(encoding="utf-8"))
            if format != "directions":
                assert command(*route, "-o", out).code == 0
                given.add(out.read_text(encoding="utf-8"))
        (text,) = given
        if format == "text":
            assert text.split() == [str(node) for node in town_book.route_for(group.members[0])]
        if format in ("gpx", "kml", "directions", "geojson"):
            assert len(text) > 100
            for label in town_book.candidates:
                is_told = label in group.members and format != "geojson"  # a line names nobody
                assert (NAMES[int(str(label))] in text) == is_told


@pytest.mark.parametrize("out", ["van.kmz", "van", "van.csv"])
def test_other_suffixes_are_refused_before_the_secret_is_asked_for(
    command: Command, town_book: vr.Playbook, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(command("route", "town.json", "--transit", "-", "-o", out), ".txt (its nodes), .json, .gpx")
    assert not Path(out).exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("town.json", "-o", "a.kmz"), "one of .gpx, .geojson, .kml, .html, .txt, .csv, .xlsx, .pdf"),
        (("town.json", "-o", "a.gpx", "--trip", 3), "a trip from 0 to 0"),
        (("town.json", "-o", "no/a.gpx"), "a folder that exists"),
        (("none.json", "-o", "a.gpx"), "no such file"),
        (("metres.json", "-o", "a.txt", "--depart", "8:00"), "whose costs are seconds"),
        *((("town.json", "-o", "a.gpx", "--dwell", value), "dwell: expected a") for value in ("-1", "1e6", "nan")),
        (("town.json", "-o", "a.gpx", "--depart", "25:00"), "depart: expected a time of day as HH:MM"),
    ],
)
def test_bad_exports_are_one_line(
    command: Command, town_book: vr.Playbook, arguments: tuple[object, ...], says: str
) -> None:
    little_book(little_town(unit="metres")).write("metres.json")
    assert_refused(command("export", *arguments), says)
    book, _, _, *options = arguments
    if options and "--trip" not in options:
        assert_refused(command("route", book, "--transit", 102, "--format", "directions", *options), says)


def test_export_draws_pictures_as_draw_does(command: Command, town_book: vr.Playbook) -> None:
    """And a .pdf is the report, where `draw` makes a picture of it."""
    for suffix in ("png", "svg", "html", "pdf"):
        for name in ("draw", "export"):
            assert command(name, "town.json", "-o", f"{name}.{suffix}").code == 0
        assert (Path(f"draw.{suffix}").read_bytes() == Path(f"export.{suffix}").read_bytes()) == (suffix != "pdf")


@pytest.mark.parametrize("typed", ["branch NORTH ", "60.17205, 24.9419"])
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
        "nan,nan",
    ],
)
def test_other_secrets_are_refused_without_an_echo(command: Command, town_book: vr.Playbook, typed: str) -> None:
    done = command("route", "town.json", "--transit", typed)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"veilroute: {vr.UnknownCandidateError()}\n"


@pytest.mark.parametrize(
    ("names", "typed", "code"),
    [
        ({102: "Branch", 104: "Branch", 109: "branch"}, "Branch", 2),  # two are called so
        ({102: "Branch", 104: "Branch", 109: "branch"}, "branch", 0),
        (NAMES | {102: "111", 104: "104"}, "111", 2),  # 102 is called so, and 111 is so
        (NAMES | {102: "111", 104: "104"}, "104", 0),  # the name and the number of one
    ],
)
def test_a_name_that_may_mean_two_is_nobody(command: Command, names: dict[Any, str], typed: str, code: int) -> None:
    little_book(names=names).write("town.json")
    assert command("route", "town.json", "--transit", typed).code == code


def test_what_is_nowhere_on_earth_has_pages_and_tables_but_no_streets(command: Command, planned: Path) -> None:
    for suffix in (".html", ".pdf", ".xlsx", ".csv"):
        done = command("export", planned, "-o", f"a{suffix}")
        assert (done.code, done.err) == (0, "")
        assert Path(f"a{suffix}").stat().st_size > 300
    for suffix in (".gpx", ".geojson", ".kml", ".txt"):
        assert_refused(command("export", planned, "-o", f"a{suffix}"), "only street networks")
        assert not Path(f"a{suffix}").exists()
    transit = vr.read_playbook(planned).classes[0].members[0]
    assert isinstance(transit, tuple)
    typed = ",".join(map(str, transit))
    done = command("route", planned, "--transit", typed, "--format", "gpx")
    assert_refused(done, "only street networks")
    assert typed not in done.err


def test_on_standard_output_as_in_a_file_whatever_the_terminal(command: Command, town_book: vr.Playbook) -> None:
    assert command("route", "town.json", "--transit", 102, "-o", "route.kml").code == 0
    call = [sys.executable, "-m", "veilroute", "route", "town.json", "--transit", "102", "--format", "kml"]
    done = subprocess.run(call, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}, check=True)
    assert done.stdout == Path("route.kml").read_bytes()
    assert not done.stdout.isascii()


def test_the_report_of_a_playbook_that_breaks_its_word_ends_with_1(command: Command, town_book: vr.Playbook) -> None:
    replace(town_book, claims=replace(town_book.claims, mac=0.001)).write("forged.json")
    done = command("export", "forged.json", "-o", "a.pdf")
    assert done.code == 1
    assert "does not pass its audit" in done.err
    assert Path("a.pdf").exists()
