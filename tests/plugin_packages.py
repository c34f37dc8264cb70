"""Installed packages with plug-ins, as files in a folder: what an installer would leave there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path


def install(
    folder: Path, package: str, module: str, offers: Mapping[str, Mapping[str, str]], *, version: str = "1.0",
    listed: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Write a package of one module of the same name, with its entry points by group and name.

    The files ``listed`` are what the installer has written down; by default it has written down nothing.
    """
    (folder / f"{package}.py").write_text(module, encoding="utf-8")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in points.items()) for group, points in offers.items()
    ]
    (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    if listed is not None:
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in listed), encoding="utf-8")


def install_by_pip(source: Path, folder: Path) -> bool:
    """Build a package as the page about plug-ins says for a machine without network; false if hatchling is not here."""
    if find_spec("hatchling") is None or find_spec("pip") is None:
        return False
    words = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *words, str(source)], check=True)
    return True
