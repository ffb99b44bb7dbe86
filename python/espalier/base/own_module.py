"""Command lines that run a module of this package in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import espalier

_RUN = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), {}, '__main__', True)"


def own_module(name: str) -> list[str]:
    """As `python -m NAME`, wherever the package lies: under a prefix it is in a folder that Python does not search."""
    return [sys.executable, "-c", _RUN, str(Path(espalier.__path__[0]).parent), name]
