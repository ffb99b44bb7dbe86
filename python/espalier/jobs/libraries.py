"""Where the parts of Espalier that are not Python lie: the preload libraries and the benchmark's workers."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import espalier
from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError


class Abi(StrEnum):
    """The three binary interfaces of MPI that Espalier is built for. The values are part of the file names."""

    MPICH = "mpich"  # MPICH 4 and 5, Intel MPI, MVAPICH, Cray MPICH
    OPENMPI = "openmpi"  # Open MPI 4.1 and 5.0
    STANDARD = "abi"  # the standard ABI of MPI-5, libmpi_abi


# The build that puts another in front of each program, as its MPI needs it.
ANY = "any"


def find_preload_library(abi: Abi) -> Path:
    """The library to put into LD_PRELOAD for programs of this ABI. Raises UserError where it has not been built."""
    return _find(f"libespalier-{abi}.so")


def is_own(library: Path) -> bool:
    """Whether a file is one of Espalier's preload libraries, by its name."""
    return build_of(library) is not None


def build_of(library: Path) -> str | None:
    """Which of Espalier's preload libraries a file is, by its name or that of what it links to: an Abi's value, or
    ANY; None: none of them."""
    for name in (library.name, library.resolve().name):
        if found := re.match(r"libespalier-(\w+)\.so", name):
            return found[1]
    return None


def find_any_library() -> Path:
    """The library that puts the fitting one in front of any program. Raises UserError where it is missing."""
    return _find(f"libespalier-{ANY}.so")


def find_bench_worker(abi: Abi) -> Path:
    """The program that `espalier bench` runs under an MPI of this ABI. Raises UserError where it is missing."""
    return _find(f"espalier_bench_{abi}")


def find_nuioa_worker(abi: Abi) -> Path:
    """The program of `espalier bench nuioa` for an MPI of this ABI. Raises UserError where it is missing."""
    return _find(f"espalier_nuioa_{abi}")


def find_tune_worker(abi: Abi) -> Path:
    """The program that `espalier tune` measures with under an MPI of this ABI. Raises UserError where it is missing."""
    return _find(f"espalier_tune_{abi}")


def find_replay_worker(abi: Abi) -> Path:
    """The program of `espalier replay` for an MPI of this ABI. Raises UserError where it is missing."""
    return _find(f"espalier_replay_{abi}")


def find_simulator() -> Path:
    """The program that plays plans on simulated networks. Raises UserError where it is missing."""
    return _find("espalier-simulator")


def find_executor() -> Path:
    """The library as a program of SimGrid's MPI. Raises UserError where it is missing, as without SimGrid."""
    try:
        return _find("espalier-executor.so")
    except UserError as error:
        remedy = "install SimGrid (Debian: apt-get install libsimgrid-dev), then build Espalier again"
        message = f"running the library on simulated ranks needs SimGrid: {error.message}"
        raise UserError(message, remedy) from error


def _find(name: str) -> Path:
    # An editable installation has two roots: the sources and, for what is compiled, the environment.
    folders = [Path(root) for root in espalier.__path__]
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            return candidate
    places = ", ".join(str(folder) for folder in folders)
    remedy = (
        "run `make setup` in the source tree"
        if find_checkout()
        else "install the package again, from the wheel or package that it came in"
    )
    raise UserError(f"{name} is missing; looked in {places}", remedy)
