"""The public surface: an import that stays light, and `CITATION.cff`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import veilroute as vr


def test_importing_veilroute_loads_nothing_heavy() -> None:
    heavy = ("numba", "scipy", "matplotlib", "highspy", "networkx", "osmium", "rich", "cyclopts", "msgspec")
    rooms = "veilroute.bench, veilroute.covering, veilroute.kernels, veilroute.streets"
    script = f"import sys, veilroute, {rooms}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_kernels_work_where_no_cache_can_be_written() -> None:
    script = (
        "import numba.core.caching as c\n"
        "def refuse(*a, **k): raise RuntimeError('cannot cache function: no locator available')\n"
        "c.FunctionCache.__init__ = refuse\n"
        "from veilroute.kernels.subsets import count_bits\n"
        "print(count_bits(7))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "3"


def test_the_citation_file_says_what_the_package_says() -> None:
    """And has what the Citation File Format 1.2.0 requires."""
    root = Path(__file__).resolve().parents[2]
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert not re.search(r"^\s*[^#\n]*[&*]\w+\s*$", text, re.MULTILINE), "some readers refuse anchors and aliases"
    citation = pytest.importorskip("yaml").safe_load(text)
    assert (str(citation["cff-version"]), citation["type"]) == ("1.2.0", "software") and citation["message"]
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]] == ["Takahashi", "Fukunaga"]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(citation["version"]) == project["version"] == vr.__version__
    assert [citation[name] for name in ("license", "keywords")] == [project["license"], project["keywords"]]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
