"""Where a job goes and what starts it: the command line and the batch system together."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from espalier.base.errors import UserError
from espalier.jobs.allocation import Allocation, find_allocation
from espalier.jobs.launchers import Launcher, pick_launcher
from espalier.jobs.layout import Layout, Wish, settle_layout
from espalier.jobs.mpis import Mpi

LAUNCHER = "ESPALIER_LAUNCHER"


@dataclass(frozen=True)
class Placement:
    """A launcher, what it starts, and the batch system's hosts that it may use."""

    launcher: Launcher
    layout: Layout
    allocation: Allocation | None = None
    overcommit: bool = False  # ranks may share processors

    @property
    def ranks(self) -> int:
        return self.layout.ranks

    @property
    def is_here(self) -> bool:
        """Whether all ranks are on this machine, as far as is known."""
        return self.allocation is None and self.layout.nodes in (None, 1) and self.launcher.is_mpiexec


@dataclass(frozen=True)
class Means:
    """What the command line says about how to start a job."""

    launcher: str | None = None  # else ESPALIER_LAUNCHER, else what fits
    hostfile: Path | None = None
    overcommit: bool = False


def place_job(mpi: Mpi, wish: Wish, otherwise: int, means: Means = Means()) -> Placement:
    """Where `wish` goes from here; `otherwise`: how many ranks where nobody says.

    Raises UserError for what does not fit the allocation that this process is in, or the launcher.
    """
    allocation = find_allocation(means.hostfile)
    layout = settle_layout(wish, allocation, otherwise, means.overcommit)
    return Placement(find_launcher(mpi, allocation, means.launcher), layout, allocation, means.overcommit)


def find_launcher(mpi: Mpi, allocation: Allocation | None, wanted: str | None = None) -> Launcher:
    """The one that --launcher wants, else ESPALIER_LAUNCHER, else what fits. Raises UserError for what describes none,
    and for a program that is not here."""
    asked, option = wanted or os.environ.get(LAUNCHER), "--launcher " if wanted else f"{LAUNCHER}="
    launcher = pick_launcher(asked, mpi, allocation, shutil.which("srun") is not None, option)
    if asked and shutil.which(launcher.start[0]) is None:
        missing = f"no such program: {launcher.start[0]}"
        raise UserError(f"{option}{asked}: {missing}", "check the spelling, or give its path")
    return launcher
