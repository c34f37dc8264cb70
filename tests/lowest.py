"""The lowest versions that pyproject.toml allows, as a constraints file for pip: ``python tests/lowest.py > FILE``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def lowest_versions(pyproject: str) -> list[str]:
    """One line ``name==version`` for each requirement of the product and its extras; tools of ours are left out."""
    project = tomllib.loads(pyproject)["project"]
    extras = [of for name, of in project["optional-dependencies"].items() if name not in ("docs", "test", "dev")]
    requirements = [*project["dependencies"], *(each for of in extras for each in of)]
    found = {re.split(r"[\[>=<]", each)[0].strip(): re.search(r">=\s*([\w.]+)", each) for each in requirements}
    return sorted(f"{name}=={at_least[1]}" for name, at_least in found.items() if at_least)


if __name__ == "__main__":
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.write("\n".join(lowest_versions(text)) + "\n")
