"""Running other people's programs natively and with Espalier, and what their results have to have in common."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pytest

# The programs take seconds; a hang must not hide behind patience.
TIMEOUT_SECONDS = 240
# What the program printed lies in its folder, under this name.
PRINTED = "printed.txt"


@dataclass(frozen=True)
class Case:
    """One way to run a program."""

    ranks: int
    nodes: str | None = None  # ESPALIER_VIRTUAL_NODES; None: one node, as the machine is
    strict: bool = False  # ESPALIER_STRICT: sums of more than two ranks keep the order that the MPI gives them
    verified: bool = False  # ESPALIER_VERIFY: a plan that cannot be proved is not run; its calls go to the MPI

    def __str__(self) -> str:
        words = [f"{self.ranks}-ranks", f"nodes-{self.nodes}" if self.nodes else ""]
        words += ["strict" if self.strict else "", "verified" if self.verified else ""]
        return "-".join(word for word in words if word)

    @property
    def settings(self) -> list[str]:
        """Flags for `espalier run`."""
        nodes = ["--virtual-nodes", self.nodes] if self.nodes else []
        strict = ["--set", "STRICT=1"] if self.strict else []
        return [*nodes, *strict, *(["--set", "VERIFY=1"] if self.verified else [])]

    @property
    def is_exact(self) -> bool:
        """Whether every digit has to be the native one: two operands have one order only, up to exchange."""
        return self.strict or self.ranks == 2


class Application(ABC):
    """A program, its input, and how to read what it found out."""

    name: str
    package: str  # Debian's or PyPI's
    operations: tuple[str, ...]  # the collectives it lives on
    mpi: str | None = None  # None: the program's own

    @abstractmethod
    def find_program(self) -> str | None:
        """Its path, if it is installed."""

    @abstractmethod
    def prepare(self, folder: Path, ranks: int) -> list[str]:
        """Puts the input into `folder`; returns the arguments to call the program with, there."""

    @abstractmethod
    def read_result(self, folder: Path) -> str:
        """Everything the program found out in `folder` except times, with all digits it wrote."""

    @abstractmethod
    def assert_close(self, native: str, own: str) -> None:
        """Checks two results whose sums were added up in different orders."""

    def run(self, folder: Path, ranks: int, *flags: str) -> str:
        """Runs the program in the new `folder` through `espalier run`; returns its result."""
        program = self.require_program()
        folder.mkdir()
        mpi = ["--mpi", self.mpi] if self.mpi else []
        command = [sys.executable, "-m", "espalier", "run", *mpi, *flags, "-n", str(ranks)]
        command += ["--", program, *self.prepare(folder, ranks)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ESPALIER_")}
        # The ranks share the processors already; threads in each would only wait for each other.
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
        )
        said = f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == 0, f"exit code {done.returncode}: {said}"
        assert "has no effect" not in done.stderr, said  # a setting was misspelled or refused
        (folder / PRINTED).write_text(done.stdout)
        return self.read_result(folder)

    def require_program(self) -> str:
        """Its path; skips the test where it is not installed."""
        program = self.find_program()
        if program is None:
            pytest.skip(f"{self.name} is not installed: `make apps` installs {self.package}")
        return program


def on_path(name: str) -> str | None:
    """A program's path, if it is on PATH."""
    return shutil.which(name)


def assert_numbers_close(native: str, own: str, tolerance: float) -> None:
    """Checks that two texts differ in numbers only, and in those by at most `tolerance`, relative above 1."""
    number = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
    assert re.sub(number, "#", native) == re.sub(number, "#", own)
    for one, other in zip(re.findall(number, native), re.findall(number, own), strict=True):
        assert abs(float(one) - float(other)) <= tolerance * max(1.0, abs(float(one))), f"{one} became {other}"
