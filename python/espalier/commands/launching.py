"""Options of the commands that start jobs: run, compare, profile; where and by what also bench and tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from espalier.base.errors import UserError
from espalier.jobs.launch import Place
from espalier.jobs.layout import Wish
from espalier.jobs.mpis import Mpi
from espalier.jobs.placement import Means, place_job
from espalier.lab import cluster

Program = Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", show_default=False)]
_AS_ALLOCATED = "Default: the batch system's number, else"
# -np is what mpiexec calls it, and hands write.
Ranks = Annotated[
    int | None,
    typer.Option("-n", "-np", "--ranks", min=1, help=f"Number of ranks. {_AS_ALLOCATED} 1.", show_default=False),
]
MeasuredRanks = Annotated[
    int | None,
    typer.Option("-n", "-np", "--ranks", min=2, help=f"Number of ranks. {_AS_ALLOCATED} 2.", show_default=False),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="So many of the batch system's, or host file's, nodes.")]
PerNode = Annotated[int | None, typer.Option("--ppn", min=1, help="Ranks on each node.")]
LauncherWords = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        metavar="WORDS",
        help="mpiexec, srun or flux, with flags if need be; or 'CMD {n} {nodes} {ppn} --'. Default: "
        "ESPALIER_LAUNCHER, else what fits the batch system and the MPI.",
    ),
]
HostFile = Annotated[
    Path | None, typer.Option("--hostfile", help="Hosts to use, one on each line: node0, node0:4 or node0 slots=4.")
]
Overcommit = Annotated[bool, typer.Option("--overcommit", help="Let ranks of a batch job share processors.")]
WantedMpi = Annotated[
    str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path. Default: the program's own.")
]
VirtualNodes = Annotated[str | None, typer.Option(help="Pretend to be several nodes: 4, or 3,1,4, or cyclic:4.")]
SetTexts = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
]
LauncherFlags = Annotated[
    str, typer.Option("--launcher-flags", metavar="FLAGS", help="More flags for mpiexec, in one word.")
]
Lab = Annotated[bool, typer.Option("--lab", help="On all nodes of the emulated cluster (espalier lab up).")]


def place_measuring(mpi: Mpi, wish: Wish, means: Means, lab: bool, lab_ppn: int = 1) -> Place:
    """Where a measuring job goes: the emulated cluster, `lab_ppn` ranks on each node where nobody says, or where this
    process is. Raises UserError for what does not fit together, or does not fit there."""
    if not lab:
        return place_job(mpi, wish, 2, means)
    if wish.nodes is not None or means != Means():
        raise UserError("--lab takes all nodes of the emulated cluster, by mpiexec", "with it give --ppn only")
    return cluster.hosts(cluster.load(), wish.ppn or lab_ppn)
