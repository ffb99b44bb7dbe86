"""Which Espalier this is: its version, the commit it was built from, and the MPI interfaces it has a library for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import espalier
from espalier.base.errors import UserError
from espalier.jobs.libraries import Abi, find_preload_library


@dataclass(frozen=True)
class Build:
    """What `espalier --version` says."""

    version: str
    commit: str  # "unknown" where it was built outside its history
    abis: tuple[Abi, ...]

    def __str__(self) -> str:
        libraries = ", ".join(self.abis) or "none: not built"
        return f"espalier {self.version}\ncommit: {self.commit}\nlibraries for the ABIs: {libraries}"


def describe_build() -> Build:
    """Reads what the installation left beside this package."""
    return Build(espalier.__version__, _commit(), tuple(_abis()))


def _commit() -> str:
    for root in espalier.__path__:
        with suppress(OSError):
            return Path(root, "_commit.txt").read_text(encoding="utf-8").strip() or "unknown"
    return "unknown"


def _abis() -> Iterator[Abi]:
    for abi in Abi:
        with suppress(UserError):
            find_preload_library(abi)
            yield abi
