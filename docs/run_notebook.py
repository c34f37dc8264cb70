"""Run the notebooks of the documentation and write what their cells show into them, without Jupyter: `make notebook`.

python docs/run_notebook.py [NOTEBOOK...]

A cell shows what it prints and, as in Jupyter, the value of its last line: text, a picture where it is a figure, HTML
where it knows itself as such. Lines that begin with % are for Jupyter alone. Files are written into an empty folder
that is gone afterwards. Tests run the notebooks the same way and compare.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Output = dict[str, Any]


def run_cells(cells: list[dict[str, Any]]) -> list[list[Output]]:
    """What each code cell shows, in order, all in one namespace."""
    names: dict[str, Any] = {}
    return [run_cell("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> list[Output]:
    lines = [line for line in source.split("\n") if not line.startswith("%")]
    tree, printed, value = ast.parse("\n".join(lines)), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[Output] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        outputs.append({"data": data_of(value), "metadata": {}, "output_type": "execute_result"})
    return outputs


def data_of(value: object) -> dict[str, Any]:
    if isinstance(value, Figure):
        raw = io.BytesIO()
        value.savefig(raw, format="png", dpi=90, metadata={"Software": None})
        return {"image/png": base64.b64encode(raw.getvalue()).decode(), "text/plain": ["<Figure>"]}
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def main(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shown = run_cells(notebook["cells"])
        finally:
            os.chdir(here)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, shown, strict=True), start=1):
        counted = [{**each, "execution_count": number} if "data" in each else each for each in outputs]
        cell["execution_count"], cell["outputs"] = number, counted
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    examples = Path(__file__).resolve().parent / "examples"
    for name in sys.argv[1:] or sorted(map(str, examples.glob("*.ipynb"))):
        main(Path(name))
