"""Installed packages with plug-ins, as files in a folder: what an installer would leave there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, package: str, module: str, offers: Mapping[str, Mapping[str, str]]) -> None:
    """Write a package of one module of the same name, with its entry points by group and name."""
    (folder / f"{package}.py").write_text(module, encoding="utf-8")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in points.items()) for group, points in offers.items()
    ]
    (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
