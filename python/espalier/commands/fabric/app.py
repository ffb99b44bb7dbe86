"""espalier fabric: check a set of dumps, export it, print delay matrices."""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier.base import console
from espalier.base.units import counted, parse_bytes
from espalier.base.writing import check_output, write_text
from espalier.commands.fabric.collect import collect
from espalier.fabric import Snapshot, load
from espalier.fabric.export import EXPORTS
from espalier.fabric.loading import core_faults
from espalier.fabric.routes import count_routes
from espalier.fabric.view import View, split_hosts

app = typer.Typer(no_args_is_help=True, help="Dumps of an InfiniBand fabric: check, export, matrix, collect.")
app.command()(collect)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A folder with dumps (or one of them).")]

# What happens on healthy networks too. The rest of the findings makes routes wrong or unknown.
_REMARKS = {"ambiguous-name", "undescribed-node", "separate-parts", "unknown-speed", "inactive-link", "empty-file"}


class Format(StrEnum):
    json = "json"
    dot = "dot"
    slurm = "slurm"
    simgrid = "simgrid"


_ENDINGS = {Format.json: (".json",), Format.dot: (".dot", ".gv"), Format.slurm: (".conf",), Format.simgrid: (".xml",)}


class Metric(StrEnum):
    hops = "hops"
    latency = "latency"
    speed = "speed"
    adapter = "adapter"
    combined = "combined"


@app.command()
def check(
    folder: FolderArgument,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """List what is wrong with a set of dumps, and with the routes between all hosts. Exit code 1 if anything is."""
    snapshot = load(folder)
    counts = count_routes(snapshot.core)
    findings = [(it.kind, it.text) for it in snapshot.core.findings]
    is_bad = any(kind not in _REMARKS for kind, _ in findings) or any(it["status"] != "ok" for it in counts)
    if json:
        console.print_json(
            {
                "good": not is_bad,
                "files": [{"path": str(path), "format": format} for path, format in snapshot.files],
                "ignored": [str(path) for path in snapshot.ignored],
                "switches": sum(node.kind == "switch" for node in snapshot.core.nodes),
                "hosts": len(snapshot.core.hosts),
                "parts": snapshot.core.parts,
                "basis": snapshot.core.basis,
                "routes": counts,
                "findings": [{"kind": kind, "text": text} for kind, text in findings],
            }
        )
    else:
        _print_check(snapshot, counts, findings, is_bad)
    raise typer.Exit(1 if is_bad else 0)


def _print_check(
    snapshot: Snapshot, counts: list[dict[str, Any]], findings: list[tuple[str, str]], is_bad: bool
) -> None:
    core = snapshot.core
    for path, format in snapshot.files:
        console.out.print(f"[bold]read[/]     {escape(str(path))} [dim]({format})[/]", soft_wrap=True)
    switches = sum(node.kind == "switch" for node in core.nodes)
    console.out.print(
        f"[bold]fabric[/]   {counted(switches, 'switch')}, {counted(len(core.hosts), 'host')}, routes from {core.basis}"
    )
    for entry in counts:
        colour = "green" if entry["status"] == "ok" else "red"
        example = "" if entry["status"] == "ok" else f", e.g. {escape(' → '.join(entry['example']))}"
        console.out.print(f"[bold]routes[/]   [{colour}]{entry['status']}[/] {entry['pairs']}{example}")
    for kind, text in findings:
        colour = "yellow" if kind in _REMARKS else "red"
        console.out.print(f"[{colour}]{kind}:[/] {escape(text)}", soft_wrap=True)
    console.out.print("[red]something is wrong[/]" if is_bad else "[green]good[/]")


@app.command()
def export(
    folder: FolderArgument,
    format: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.json,
    hosts: Annotated[list[str] | None, typer.Option(help="Only these: node[000-003],login.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout.")] = None,
) -> None:
    """Write the fabric as JSON, Graphviz, Slurm's topology.conf or a SimGrid platform."""
    check_output("--output", output, *_ENDINGS[format])
    snapshot = load(folder)
    text = EXPORTS[format.value](snapshot, View(snapshot.core, split_hosts(hosts or [])))
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)


@app.command()
def matrix(
    folder: FolderArgument,
    metric: Annotated[
        Metric, typer.Argument(metavar="METRIC", help="What a delay means: hops, latency, speed, adapter, combined.")
    ],
    hosts: Annotated[list[str] | None, typer.Argument(metavar="HOST…", help="Default: all.")] = None,
    bytes_: Annotated[str, typer.Option("--bytes", help="Message size, for `combined`.")] = "64K",
    latency: Annotated[
        str | None, typer.Option(help="µs by links crossed, as 2:1.57,3:2.04. Default: TACC Ranger's.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON; null where there is no route.")] = False,
) -> None:
    """Print the delays between hosts: a row per source, separated by tabs; `inf` where there is no route."""
    core = load(folder).core
    names = split_hosts(hosts or []) or [host.name for host in core.hosts]
    with core_faults("`espalier routes --all` lists all hosts"):
        rows = core.derive_delays(names).matrix(metric.value, parse_bytes(bytes_), read_latency(latency))
    if json:
        values = [[None if math.isinf(value) else value for value in row] for row in rows]
        console.print_json({"metric": metric.value, "hosts": names, "delays": values})
        return
    sys.stdout.write("\t".join(["", *names]) + "\n")
    for name, row in zip(names, rows, strict=True):
        sys.stdout.write("\t".join([name, *(f"{value:.6g}" for value in row)]) + "\n")


def read_latency(text: str | None) -> list[tuple[int, float]]:
    """Reads LINKS:µs,…; nothing for None. Raises BadParameter."""
    if text is None:
        return []
    try:
        pairs = [(int(links), float(us)) for links, us in (pair.split(":") for pair in text.split(","))]
    except ValueError:
        pairs = []
    if not pairs or not all(links > 0 and 0 <= us < math.inf for links, us in pairs):
        raise typer.BadParameter("write LINKS:µs,… as in 2:1.57,4:2.3", param_hint="--latency")
    return sorted(pairs)
