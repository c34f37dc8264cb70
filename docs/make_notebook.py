"""Run the notebooks of the documentation again, in place: `make notebook`.

python docs/make_notebook.py [NOTEBOOK...]

The times of the run are left out, so that a notebook whose cells give the same is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parent / "examples"


def main() -> None:
    """Run those that are named, or all."""
    for path in map(Path, sys.argv[1:] or sorted(map(str, EXAMPLES.glob("*.ipynb")))):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        NotebookClient(notebook, record_timing=False, kernel_name="python3").execute()
        notebook.metadata["language_info"] = {"name": "python"}  # and not the version on this machine
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
