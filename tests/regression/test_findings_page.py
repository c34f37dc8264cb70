"""What people read of a plan is true: findings F5, F6 and F13 of the privacy review, and the PDF's false figure.

Three numbers stand together and in this order wherever a person looks: how many places stay possible at least, how sure
an observer can be of one place at worst, and how sure of an area less than ell across at worst.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

import veilroute as vr
from street_samples import little_town
from studio_books import command
from veilroute.domain import label_text
from veilroute.plotting import html_map, playbook_scene, report_pages

TRIP = ("--start", "1,18", "--goal", "33,60", "--radius", 2)
NAMES = ("Places that stay possible", "How sure of one place", "How sure of an area", "Best guess of a place")
GREEN = "#1b7a3d"
INDEX = Path(__file__).parents[2] / "docs" / "index.rst"
FALSE = ("Whoever watches guesses right", "and those closer than", "no place is likelier", "gives one place at most")


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The building of the README as a map, beside it its ten places and a prior with 91 % on the first of them."""
    folder = tmp_path_factory.mktemp("building")
    rooms = vr.generate_rooms(36, 64, seed=11)
    vr.write_movingai(rooms, folder / "building.map")
    places = [label_text(place) for place in vr.draw_candidates(rooms, (1, 18), (33, 60), 10, seed=1)]
    (folder / "places").write_text(" ".join(places))
    rows = [f'"{place}",{910 if at == 0 else 10}\n' for at, place in enumerate(places)]
    (folder / "prior.csv").write_text("place,weight\n" + "".join(rows))
    return folder


def plan(building: Path, *options: object, name: str) -> tuple[str, Path]:
    """What ``plan`` prints, and its playbook."""
    book, places = building / f"{name}.json", (building / "places").read_text()
    done = command("plan", building / "building.map", *TRIP, "--candidates", places, *options, "-o", book)
    assert done.code == 0, done.err
    return done.out, book


@cache
def report(book: Path) -> tuple[str, str]:
    """The text of the report of a playbook, and the colour of its banner."""
    plan = vr.read_playbook(book)
    pages = report_pages(plan, vr.audit(plan)).figures
    (banner, *_) = (box for box in pages[0].artists if isinstance(box, Rectangle))
    return " ".join(text.get_text() for page in pages for text in page.texts), to_hex(banner.get_facecolor())


def surfaces(book: Path) -> dict[str, str]:
    """The texts that people read of a playbook, by where they read them."""
    playbook = vr.read_playbook(book)
    scene = playbook_scene(playbook)["playbook"]
    told = {"audit": command("audit", book).out, "risk": command("risk", book).out, "pdf": report(book)[0]}
    # The page of one file, the studio and notebooks show a scene.
    shown = [scene["summary"], scene.get("observer"), scene["hint"], [trip["lead"] for trip in scene["trips"]]]
    return told | {"page": str(shown), "notebook": vr.audit(playbook)._repr_html_()}


def figures(text: str) -> list[tuple[str, ...]]:
    """The three numbers and the average, each time that they stand together and in order."""
    values = (
        r"at least (\d+)",
        r"at most ([\d.]+%)",
        r"at most ([\d.]+%)",
        r"right ([\d.]+%) of the time, averaged over",
    )
    parts = [rf"{name}[^%\d]*?(?:less than[^%]*?)?{value}" for name, value in zip(NAMES, values, strict=True)]
    return re.findall(r"\D*?".join(parts), re.sub(r"</?t[dhr][^>]*>|\s+", " ", text))


def test_f6_an_observer_of_the_whole_route_is_told_of_beside_the_promise(building: Path) -> None:
    text, book = plan(building, "-k", 3, "--ell", 8, "--m", 10, name="ten")
    wanted = [("10", "10%", "40%", "10%"), ("1", "100%", "100%", "80%")]
    told = {"plan": text, **surfaces(book)}
    assert {where: figures(text) for where, text in told.items()} == dict.fromkeys(told, wanted)
    assert text.index("An observer who sees the first 10 nodes of a route") < text.index("who sees the whole route")


def test_f13_an_area_above_one_in_k_is_a_warning_that_names_the_option(building: Path) -> None:
    text, book = plan(building, "-k", 3, "--ell", 8, name="whole")
    wanted = [("4", "25%", "66.7%", "20%")]
    told = {"plan": text, **surfaces(book)}
    assert {where: figures(text) for where, text in told.items()} == dict.fromkeys(told, wanted)
    for where, text in told.items():
        assert "more than 1/k = 33.3%. Use --risk 0.3334 instead of -k 3" in " ".join(text.split()), where
        assert not [sentence for sentence in FALSE if sentence in text], where
    assert report(book)[1] != GREEN, "the banner of the report is green"
    # A report does not take the figure of an area for that of a place.
    place = report(book)[0].partition("How sure of one place")[2].partition("How sure of an area")[0]
    assert place.endswith("at most 25% ")
    assert "#1a7f4b" not in told["notebook"].partition("</p>")[0], "the verdict in a notebook is green"


def test_f13_a_plan_that_keeps_areas_in_bounds_is_green(building: Path) -> None:
    text, book = plan(building, "--risk", 0.34, "--ell", 0, name="bounded")
    told = {"plan": text, **surfaces(book)}
    assert not [where for where, text in told.items() if "Warning" in text or "averaged over all" not in text]
    assert report(book)[1] == GREEN


def test_f13_refused_places_are_part_of_the_figure(building: Path) -> None:
    text, book = plan(building, "--risk", 0.4, "--ell", 0, "--prior", building / "prior.csv", name="refused")
    told = {"plan": text, **surfaces(book)}
    for where, text in told.items():
        flat = " ".join(text.split())
        assert "91% of trips are not covered by this plan" in flat, where
        assert figures(flat) == [("3", "33.3%", "33.3%", "33.3%")], where
        assert "averaged over the trips that are covered" in flat, where
    assert report(book)[1] != GREEN


def test_f13_the_caption_of_the_first_picture_is_true() -> None:
    building = vr.generate_rooms(36, 64, seed=11)
    places = vr.draw_candidates(building, (1, 18), (33, 60), 10, seed=1)
    problem = vr.Problem(building, [vr.Trip((1, 18), (33, 60))], places, vr.WithinDistance(2))
    book = vr.solve(problem, vr.Privacy(k=3, ell=8))
    (route,) = [route for route in vr.risk(book).routes if route.classes == (1,)]
    caption = INDEX.read_text(encoding="utf-8").partition(".. figure::")[2].partition("Where to begin")[0]
    caption = " ".join(caption.split())
    assert len(route.members) == 6
    assert f"cannot be more than {100 * max(route.posterior):.0f} % sure of any" in caption
    assert f"can be {100 * (vr.risk(book).worst or 0):.0f} % sure" in caption
    assert "and no more" not in caption


def test_f5_names_at_one_door_are_counted_as_one_place_and_told_of(tmp_path: Path) -> None:
    town, doors = little_town(), (("dentist", 104), ("bank", 104), ("florist", 109), ("tailor", 109))
    town = replace(town, also=tuple((name, town.node(label)) for name, label in doors))
    problem = vr.Problem(town, [vr.Trip(101, 101)], [name for name, _ in doors])
    vr.write_instance(vr.Instance(problem, vr.Privacy(k=2, ell=0)), tmp_path / "town.json")
    done = command("plan", tmp_path / "town.json", "-o", tmp_path / "book.json")
    assert done.code == 0, done.err
    told = {"plan": done.out, **surfaces(tmp_path / "book.json")}
    for where, text in told.items():
        assert figures(text) == [("2", "50%", "50%", "50%")], where
    for where in ("plan", "page"):
        assert "4 names share 2 doors" in told[where]
    assert "4 names share 2 doors" in str(playbook_scene(vr.read_playbook(tmp_path / "book.json"))["playbook"])
    assert html_map(vr.read_playbook(tmp_path / "book.json"))
