"""What every room stands on: errors, checks of values, files in and out, keys, registries, progress."""

from __future__ import annotations

__all__: list[str] = []
