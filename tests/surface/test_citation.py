"""`CITATION.cff`: what archives and reference managers read, by the rules of the Citation File Format 1.2.0."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import veilroute as vr

ROOT = Path(__file__).resolve().parents[2]


def test_it_has_what_is_required_and_says_what_the_package_says() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert not re.search(r"^\s*[^#\n]*[&*]\w+\s*$", text, re.MULTILINE), "some readers refuse anchors and aliases"
    citation = pytest.importorskip("yaml").safe_load(text)
    assert (str(citation["cff-version"]), citation["type"]) == ("1.2.0", "software") and citation["message"]
    paper = citation["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Takahashi", "Fukunaga"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(citation["version"]) == project["version"] == vr.__version__
    assert [citation[name] for name in ("license", "keywords")] == [project["license"], project["keywords"]]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
