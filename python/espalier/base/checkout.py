"""The source tree, where this package runs from one."""

from __future__ import annotations

from pathlib import Path


def find_checkout() -> Path | None:
    """The root of the source tree this package runs from; None for an installed one."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "CMakeLists.txt").exists() and (root / "Makefile").exists() else None
