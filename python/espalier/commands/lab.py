"""espalier lab: an emulated cluster on this machine, network namespaces as nodes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from espalier.base import console
from espalier.base.settings import parse_settings
from espalier.base.units import approximate_bytes, counted
from espalier.jobs import foreground
from espalier.jobs.launch import Job, build_command, choose_target, split_flags
from espalier.lab import cluster, network

app = typer.Typer(
    no_args_is_help=True, help="An emulated cluster: network namespaces as nodes, links at a rate. Root only."
)
_Json = Annotated[bool, typer.Option("--json", help="The same as JSON.")]


@app.command()
def up(
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes.")] = 4,
    rate: Annotated[
        str, typer.Option(help="Each link, both ways: 200mbit; one per node: 200mbit,100mbit.")
    ] = "200mbit",
    delay: Annotated[str | None, typer.Option(help="Added on each node's way out: 50us.")] = None,
    flow_cap: Annotated[
        float, typer.Option(help="What one TCP connection gets of its link at most: 0.55. With 1 there is no cap.")
    ] = 1.0,
    rails: Annotated[int, typer.Option(min=1, help="Interfaces of each node, each on a network of its own.")] = 1,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="With Slurm: srun, sbatch, salloc by espalier lab enter.")
    ] = False,
    cpus: Annotated[int, typer.Option(min=1, help="With --slurm: processors that each node is said to have.")] = 4,
    task_prolog: Annotated[Path | None, typer.Option(help="With --slurm: its TaskProlog.")] = None,
    json: _Json = False,
) -> None:
    """Put the cluster up."""
    spec = network.parse_spec(nodes, rate, delay, flow_cap, rails)
    batch = cluster.WantedSlurm(cpus, task_prolog.absolute() if task_prolog else None) if slurm else None
    cluster.up(spec, batch)
    if json:
        console.print_json(_facts())
        return
    how = "enter -- srun -N2 hostname" if slurm else "run --ppn 2 -- PROGRAM"
    console.note(
        f"{counted(spec.nodes, 'node')} up{', with Slurm' if slurm else ''}; run on them with: espalier lab {how}"
    )


@app.command()
def down(json: _Json = False) -> None:
    """Take it down, with everything that still runs on it."""
    count = cluster.down()
    if json:
        console.print_json({"taken_down": count})
        return
    console.note(f"{counted(count, 'node')} taken down" if count else "no cluster was up; nothing is left")


@app.command()
def status(json: _Json = False) -> None:
    """Show the nodes and what has passed their links."""
    if json and not cluster.is_up():
        console.print_json({"nodes": [], "slurm": False})
        raise typer.Exit(1)
    if json:
        console.print_json(_facts())
        return
    counters = cluster.counters(cluster.load())
    table = Table(box=None, pad_edge=False)
    for name in ("node", "address", "rate", "sent", "received"):
        table.add_column(name, justify="right")
    for counter in counters:
        sent, received = approximate_bytes(counter.sent), approximate_bytes(counter.received)
        table.add_row(str(counter.node), network.address(counter.node, counter.rail), counter.rate, sent, received)
    console.out.print(table)


def _facts() -> dict[str, Any]:
    """Of the cluster that is up."""
    counters = cluster.counters(cluster.load())
    return {"nodes": [asdict(counter) for counter in counters], "slurm": cluster.has_slurm()}


def run(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", show_default=False)],
    ppn: Annotated[int, typer.Option(min=1, help="Ranks per node.")] = 1,
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi-5, intel … Default: the program's own.")] = None,
    native: Annotated[bool, typer.Option("--native", help="Without Espalier.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
    ] = None,
    launcher_flags: Annotated[str, typer.Option("--launcher-flags", metavar="FLAGS", help="More for mpiexec.")] = "",
) -> None:
    """Run PROGRAM on all nodes. The exit code is the job's."""
    hosts = cluster.hosts(cluster.load(), ppn)
    target = choose_target(command[0], mpi)
    flags = split_flags(launcher_flags)
    job = Job(target, hosts.ranks, command, native, parse_settings(settings or []), flags, hosts)
    argv, environment = build_command(job)
    raise typer.Exit(foreground.run(argv, environment))


def enter(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND [ARGS]...", show_default=False)],
) -> None:
    """Run COMMAND on the cluster's front, as on a login node: with --slurm srun, sbatch, squeue. Its exit code."""
    cluster.load()
    raise typer.Exit(foreground.run(*cluster.front_command(command)))


for _command in (run, enter):
    app.command(context_settings={"allow_interspersed_args": False})(_command)
