"""espalier bench: the comparison of collectives by itself, and further measurements by name."""

from __future__ import annotations

import typer

from espalier.commands.bench import bench
from espalier.commands.bench_connections import connections

app = typer.Typer(invoke_without_command=True)
app.callback()(bench)
app.command()(connections)
