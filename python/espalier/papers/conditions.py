"""Under which conditions data came about: machine, versions, when, and how busy the machine was."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from espalier import __version__
from espalier.base import machine
from espalier.jobs.mpis import Mpi


@dataclass(frozen=True)
class Conditions:
    """What one needs to know to believe a figure, or to doubt it."""

    machine: str  # "…, 2 cores, Linux 6.1"
    espalier: str  # version
    mpis: tuple[str, ...]  # empty where none ran
    when: str  # date and time, UTC
    seconds: float  # it took
    load: float  # mean number of running processes in the minute before; the figure's own not among them
    quick: bool

    def __str__(self) -> str:
        mpis = f"; {', '.join(self.mpis)}" if self.mpis else ""
        quick = "; a quick run, for tests" if self.quick else ""
        return (
            f"{self.machine}{mpis}; Espalier {self.espalier}, {self.when}, {self.seconds:.0f} s, "
            f"load before {self.load:.1f}{quick}"
        )


def begin(mpis: Sequence[Mpi], quick: bool) -> Conditions:
    """Those of now; `seconds` are to be filled in."""
    return Conditions(
        f"{machine.processor_name()}, {machine.count_cores()} cores, Linux {platform.release()}",
        __version__,
        tuple(str(mpi) for mpi in mpis),
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        0.0,
        round(os.getloadavg()[0], 1),
        quick,
    )


def parse(fields: dict[str, Any]) -> Conditions:
    """From what a JSON file kept."""
    return Conditions(**{**fields, "mpis": tuple(fields["mpis"])})
