"""`CITATION.cff`: what archives and reference managers read, by the rules of the Citation File Format 1.2.0."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr

yaml: Any = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
# The keys of the schema that a file may have at its top, and those of a reference that we use.
TOP = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
REFERENCE = {"type", "title", "authors", "year", "month", "collection-title", "conference"}
PERSON = {"family-names", "given-names", "affiliation", "orcid", "email"}
CONFERENCE = {"name", "city", "country", "date-start", "date-end"}


@pytest.fixture
def citation() -> dict[str, Any]:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert not re.search(r"^\s*[^#\n]*[&*]\w+\s*$", text, re.MULTILINE), "some readers refuse anchors and aliases"
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def test_the_file_has_what_is_required_and_nothing_unknown(citation: dict[str, Any]) -> None:
    assert set(citation) <= TOP
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert str(citation["cff-version"]) == "1.2.0"
    assert citation["type"] == "software"
    for author in citation["authors"]:
        assert author.get("name") or {"family-names", "given-names"} <= set(author)
    released = citation.get("date-released")
    assert released is None or isinstance(released, datetime.date)


def test_it_says_what_the_package_says(citation: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(citation["version"]) == project["version"] == vr.__version__
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]


def test_the_paper_is_what_to_cite(citation: dict[str, Any]) -> None:
    paper = citation["preferred-citation"]
    assert set(paper) <= REFERENCE
    assert (paper["type"], paper["year"], paper["month"]) == ("conference-paper", 2024, 5)
    assert [author["family-names"] for author in paper["authors"]] == ["Takahashi", "Fukunaga"]
    assert all(set(author) <= PERSON for author in paper["authors"])
    conference = paper["conference"]
    assert set(conference) <= CONFERENCE
    assert re.fullmatch("[A-Z]{2}", conference["country"])
    assert conference["date-start"] < conference["date-end"]
