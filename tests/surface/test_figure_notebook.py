"""The notebook that ends in a figure: it is run, and shows what it says."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """What a cell shows as text; a picture is there or not."""
    shown = []
    for each in outputs:
        data = each.get("data", {})
        shown.append("".join(each.get("text", data.get("text/plain", ""))) + ("picture" if "image/png" in data else ""))
    return shown


def test_the_notebook_shows_what_its_cells_give_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of date? `python docs/run_notebook.py docs/examples/figure.ipynb` runs it again."""
    notebook = json.loads((DOCS / "examples" / "figure.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    kept = [texts(cell["outputs"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert sum("picture" in text for shown in kept for text in shown) == 1
    monkeypatch.chdir(tmp_path)
    now = runpy.run_path(str(DOCS / "run_notebook.py"))["run_cells"](notebook["cells"])
    assert [texts(outputs) for outputs in now] == kept
    assert Path("figure.pdf").read_bytes().startswith(b"%PDF")
    assert (DOCS / "examples" / "figure.ipynb").stat().st_size < 150_000
