"""espalier bench and what stands beside it: measurements of single ideas."""

from __future__ import annotations

import typer

from espalier.commands.bench.compare import bench
from espalier.commands.bench.connections import connections
from espalier.commands.bench.nuioa import nuioa

app = typer.Typer(invoke_without_command=True)
app.callback()(bench)
app.command()(connections)
app.command()(nuioa)
