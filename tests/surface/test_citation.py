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


@pytest.fixture
def citation() -> dict[str, Any]:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert not re.search(r"^\s*[^#\n]*[&*]\w+\s*$", text, re.MULTILINE), "some readers refuse anchors and aliases"
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def test_the_file_has_what_is_required(citation: dict[str, Any]) -> None:
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (str(citation["cff-version"]), citation["type"]) == ("1.2.0", "software")
    assert all(author.get("name") or {"family-names", "given-names"} <= set(author) for author in citation["authors"])
    released = citation.get("date-released")
    assert released is None or isinstance(released, datetime.date)
    paper = citation["preferred-citation"]
    assert (paper["type"], paper["year"], paper["month"]) == ("conference-paper", 2024, 5)
    assert [author["family-names"] for author in paper["authors"]] == ["Takahashi", "Fukunaga"]
    assert paper["conference"]["date-start"] < paper["conference"]["date-end"]


def test_it_says_what_the_package_says(citation: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(citation["version"]) == project["version"] == vr.__version__
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
