"""Options of the commands that start a program: run, compare, profile."""

from __future__ import annotations

from typing import Annotated

import typer

Program = Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", show_default=False)]
Ranks = Annotated[int, typer.Option("-n", "--ranks", min=1, help="Number of ranks.")]
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
