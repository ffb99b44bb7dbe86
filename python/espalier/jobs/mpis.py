"""The MPI libraries of this machine: where they are, what they are, and which launcher belongs to them.

Looked for in this order, which is also the order of preference: the `mpiexec` on PATH, the environments of a checkout
(`build/mpi/*`) and of this Python, I_MPI_ROOT, and what the distribution installs beside each other.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.jobs.elf import NotElf, read_elf
from espalier.jobs.libraries import Abi


class Family(StrEnum):
    """Who made an MPI library. It decides the launcher's flags; the ABI decides which of our builds fits."""

    MPICH = "mpich"
    OPENMPI = "openmpi"
    INTEL = "intel"
    MVAPICH = "mvapich"
    CRAY = "cray"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Mpi:
    """One usable MPI library."""

    family: Family
    version: str  # as the library itself says, e.g. "5.0.2"
    abi: Abi
    library: Path  # the libmpi that the ranks load
    launcher: Path | None  # its mpiexec; None if there is none
    origin: str  # how it was found, for people

    @property
    def prefix(self) -> Path:
        """The folder that holds lib/ and bin/."""
        return self.library.parent.parent

    def __str__(self) -> str:
        return f"{self.family} {self.version}"


@dataclass(frozen=True)
class _Candidate:
    library: Path
    launcher: Path | None
    origin: str


# Ordered from the special to the general: MVAPICH and Cray also call themselves MPICH.
_FAMILIES = (
    (re.compile(r"MVAPICH2?\S*\s+Version\s*:\s*(\S+)"), Family.MVAPICH),
    (re.compile(r"CRAY MPICH version\s+(\S+)"), Family.CRAY),
    (re.compile(r"Intel\(R\) MPI Library\s+(\S+)"), Family.INTEL),
    (re.compile(r"Open MPI v([^\s,]+)"), Family.OPENMPI),
    (re.compile(r"MPICH Version:\s*(\S+)"), Family.MPICH),
)

# As modules, folders and their own projects spell them.
_ALIASES = {
    "impi": Family.INTEL,
    "intelmpi": Family.INTEL,
    "intel-mpi": Family.INTEL,
    "ompi": Family.OPENMPI,
    "open-mpi": Family.OPENMPI,
    "mvapich2": Family.MVAPICH,
    "cray-mpich": Family.CRAY,
}

# File names of MPI libraries: libmpi.so.12, Debian's libmpich.so.12, Cray's libmpi_gnu_112.so.12 …
_ABI_NAMES = (
    (re.compile(r"libmpi_abi\.so(\.\d+)*"), Abi.STANDARD),
    (re.compile(r"lib(mpi|mpich|mpi_(cray|gnu|intel|nvidia|amd|aocc)(_\d+)?)\.so\.12(\.\d+)*"), Abi.MPICH),
    (re.compile(r"libmpi\.so\.(20|40)(\.\d+)*"), Abi.OPENMPI),
)

_PROBE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text = ctypes.create_string_buffer(1 << 15)  # above MPI_MAX_LIBRARY_VERSION_STRING of every MPI
length = ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.write(text.value.decode(errors="replace"))
"""


def abi_of_name(name: str) -> Abi | None:
    """The ABI that a library's file name or soname stands for; None if it is no MPI library's."""
    for pattern, abi in _ABI_NAMES:
        if pattern.fullmatch(name):
            return abi
    return None


@cache
def read_library_version(library: Path) -> str:
    """Asks the library itself (MPI_Get_library_version may be called before MPI_Init) in a process of its own.

    Empty for a library that cannot be loaded or asked.
    """
    try:
        # A preloaded library (ours or a tool's) would answer or fail in its place.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(library)],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def read_version(library: Path) -> tuple[Family, str]:
    """Family and version of a library; `unknown` with an empty version where it does not say."""
    return parse_version(read_library_version(library))


def parse_version(text: str) -> tuple[Family, str]:
    """Family and version number out of MPI_Get_library_version's text."""
    for pattern, family in _FAMILIES:
        match = pattern.search(text)
        if match:
            return family, match[1]
    return Family.UNKNOWN, ""


def find_mpis() -> Iterator[Mpi]:
    """Every MPI library found, the preferred one first; each library once, whatever number of ways lead to it.

    One at a time, since asking a library what it is takes a process: stop when satisfied.
    """
    seen: set[Path] = set()
    for candidate in _candidates():
        real = candidate.library.resolve()
        mpi = None if real in seen else _describe(candidate)
        seen.add(real)
        if mpi is not None:
            yield mpi


def find_default_mpi() -> Mpi:
    """The MPI to use when nothing else decides: the one on PATH, else the embedded MPICH."""
    for mpi in find_mpis():
        if mpi.launcher is not None:
            return mpi
    raise UserError(
        "found no MPI: no mpiexec on PATH and no embedded MPICH",
        "run `make setup` in the source tree" if find_checkout() else "install one: pip install mpich",
    )


def find_like(text: str) -> Mpi | None:
    """The MPI here that says of itself what another one, or this one, has said: MPI_Get_library_version's first line.

    The nearest version of the same family where that one is not here; None where there is none, or the text tells
    nothing.
    """
    family, version = parse_version(text)
    if family is Family.UNKNOWN:
        return None
    relatives = []
    for mpi in find_mpis():
        if mpi.family is family and mpi.launcher is not None:
            if mpi.version == version:
                return mpi
            relatives.append(mpi)
    return max(relatives, key=lambda it: _count_equal_parts(it.version, version), default=None)


def _count_equal_parts(one: str, other: str) -> int:
    """From the first on: 5.0.2 and 5.0.11 have two."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def select_mpi(wanted: str, abi: Abi | None = None) -> Mpi:
    """The MPI that `--mpi` names: a family or an alias of one, the same with the start of a version (`mpich-4`), or a
    path.

    The path may be an installation's folder, its mpiexec or its libmpi. Where an installation has libraries of several
    ABIs, one of `abi` comes first. Raises UserError when nothing fits.
    """
    if "/" in wanted:
        return _mpi_at(Path(wanted), abi)
    mpis = []
    fallback = None
    for mpi in find_mpis():
        mpis.append(mpi)
        if _fits(wanted, mpi.family, mpi.version) and mpi.launcher is not None:
            if abi in (None, mpi.abi):
                return mpi
            fallback = fallback or mpi
    if fallback is not None:
        return fallback
    known = list(dict.fromkeys(f"{mpi.family}-{mpi.version}" for mpi in mpis)) or ["none"]
    families = list(dict.fromkeys(mpi.family for mpi in mpis))
    names = [*families, *(alias for alias, family in _ALIASES.items() if family in families)]
    hint = suggest(wanted, known, also=names, said="found")
    raise UserError(f"--mpi {wanted}: no such MPI here", f"{hint}; a path to one works, too")


def is_named(wanted: str, library: Path) -> bool:
    """Whether a family, or a family with the start of a version, is what this library says of itself. A path names one
    installation, not what is like it."""
    return "/" not in wanted and _fits(wanted, *read_version(library))


def _fits(wanted: str, family: Family, version: str) -> bool:
    name, start = _split_name(wanted.lower().replace("_", "-"))
    return family == _ALIASES.get(name, name) and version.startswith(start)


def _split_name(wanted: str) -> tuple[str, str]:
    """Family or alias, and the start of a version: some names have a hyphen of their own."""
    alias = next((alias for alias in _ALIASES if wanted == alias or wanted.startswith(f"{alias}-")), None)
    if alias is not None:
        return alias, wanted[len(alias) + 1 :]
    name, _, start = wanted.partition("-")
    return name, start


def mpi_of_library(library: Path) -> Mpi:
    """The MPI that a library belongs to, with the launcher of the same installation or else of the same family."""
    real = library.resolve()
    known = (candidate for candidate in _candidates() if candidate.library.resolve() == real)
    own = _Candidate(library, _launcher_in(library.parent.parent), "the program's own")
    mpi = _describe(next(known, own))
    if mpi is None:
        raise UserError(
            f"{library} is an MPI library of an unknown ABI, Espalier has no build for it",
            "use MPICH, Intel MPI, MVAPICH, Cray MPICH, Open MPI or any MPI with the standard ABI",
        )
    if mpi.launcher is None:
        relatives = (other.launcher for other in find_mpis() if other.family == mpi.family and other.launcher)
        mpi = replace(mpi, launcher=next(relatives, None))
    return mpi


def mpi_of_abi(abi: Abi) -> Mpi:
    """The preferred MPI of an ABI, for programs that name one but do not find it."""
    for mpi in find_mpis():
        if mpi.abi == abi and mpi.launcher is not None:
            return mpi
    raise UserError(
        f"the program needs an MPI with the {abi} ABI and there is none here",
        "install it, or name one with --mpi PATH",
    )


def _mpi_at(path: Path, abi: Abi | None) -> Mpi:
    if not path.exists():
        raise UserError(
            f"--mpi {path}: no such file or folder", "name a folder with lib/ and bin/, an mpiexec, or a libmpi"
        )
    if path.is_dir():
        libraries: list[Path] = list(_libraries_in(path))
    elif abi_of_name(path.name):
        libraries = [path]
    else:
        libraries = list(_libraries_beside(path))
    if not libraries:
        raise UserError(
            f"--mpi {path}: found no libmpi there", "name a folder with lib/ and bin/, an mpiexec, or a libmpi"
        )
    fitting = (library for library in libraries if abi_of_name(library.name) is abi)
    return mpi_of_library(next(fitting, libraries[0]).absolute())


def _candidates() -> Iterator[_Candidate]:
    for name in ("mpiexec", "mpirun"):
        launcher = shutil.which(name)
        if launcher:
            for library in _libraries_beside(Path(launcher)):
                yield _Candidate(library, Path(launcher), f"{name} on PATH")
    for prefix, origin in _prefixes():
        for library in _libraries_in(prefix):
            yield _Candidate(library, _launcher_in(prefix), origin)
    for name, launcher_name in (("libmpich.so.12", "mpiexec.mpich"), ("libmpi.so.40", "mpiexec.openmpi")):
        launcher = shutil.which(launcher_name)
        for folder in _system_folders():
            if (folder / name).exists():
                yield _Candidate(folder / name, Path(launcher) if launcher else None, "the distribution")


def _prefixes() -> Iterator[tuple[Path, str]]:
    checkout = find_checkout()
    if checkout is not None:
        # MPICH first: it is the embedded default.
        for name in ("mpich", "openmpi", "impi"):
            yield checkout / "build" / "mpi" / name, f"build/mpi/{name}"
    yield Path(sys.prefix), "this Python environment"
    if os.environ.get("I_MPI_ROOT"):
        yield Path(os.environ["I_MPI_ROOT"]), "I_MPI_ROOT"


def _describe(candidate: _Candidate) -> Mpi | None:
    abi = _abi_of_file(candidate.library)
    if abi is None:
        return None
    family, version = read_version(candidate.library)
    return Mpi(family, version, abi, candidate.library, candidate.launcher, candidate.origin)


def _abi_of_file(library: Path) -> Abi | None:
    try:
        soname = read_elf(library).soname
    except (NotElf, OSError):
        return None
    return abi_of_name(soname or library.name)


def _launcher_in(prefix: Path) -> Path | None:
    launcher = prefix / "bin" / "mpiexec"
    return launcher if launcher.exists() else None


def _libraries_in(prefix: Path) -> Iterator[Path]:
    """The libmpi of an installation. Older Intel MPIs keep it in lib/release."""
    for folder in (prefix / "lib", prefix / "lib64", prefix / "lib" / "release"):
        for name in ("libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1"):
            if (folder / name).exists():
                yield folder / name


def _libraries_beside(launcher: Path) -> Iterator[Path]:
    """The libmpi that a launcher belongs to: in its own installation, or among the system's by its real name."""
    real = launcher.resolve()
    own = list(_libraries_in(real.parent.parent))
    if own:
        yield own[0]
        return
    open_mpi = real.name in ("orterun", "prterun", "mpiexec.openmpi", "mpirun.openmpi")
    for folder in _system_folders():
        for name in ("libmpi.so.40",) if open_mpi else ("libmpich.so.12", "libmpi.so.12"):
            if (folder / name).exists():
                yield folder / name


def _system_folders() -> Iterator[Path]:
    # A Python that does not come from the distribution may not know the distribution's triplet.
    triplets = {sysconfig.get_config_var("MULTIARCH") or "", f"{os.uname().machine}-linux-gnu"}
    for triplet in sorted(triplets - {""}):
        yield Path("/usr/lib", triplet)
    yield Path("/usr/lib64")
