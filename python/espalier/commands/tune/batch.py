"""Batch scripts that tune several shapes: one job each, one after another, all into the same table."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.base.writing import replace_file

# What starting, and writing the report, takes besides measuring.
_SPARE_S = 300
# Options that the scripts say themselves, or that are about another kind of job.
_OWN = {"sbatch", "nodes", "ppn", "ranks", "lab", "hostfile", "json", "report"}

_SCRIPT = """\
#!/bin/bash
# Measures what is fastest on {shape}, and adds it to the table.
# Partition and account: on sbatch's command line, or SBATCH_PARTITION and SBATCH_ACCOUNT.
#SBATCH --job-name=espalier-tune
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={ppn}
#SBATCH --exclusive
#SBATCH --time={minutes}
#SBATCH --output=%x-{nodes}x{ppn}-%j.out
#SBATCH --signal=B:TERM@60
# One of them at a time: each adds its shape to what the ones before have written.
#SBATCH --dependency=singleton
exec {command}
"""


def write_scripts(context: typer.Context, nodes: list[int], ppn: list[int], seconds: float) -> None:
    """Writes espalier-tune-NODESxPPN.sbatch into this folder for each pair, and says how to go on. `seconds`: what each
    may measure. Raises UserError where a list is missing."""
    for option, numbers in (("--nodes", nodes), ("--ppn", ppn)):
        if not numbers:
            raise UserError(f"--sbatch without {option}: which shapes?", "write --nodes 2,4,8 --ppn 16,32")
    if context.params["lab"] or context.params["ranks"] or context.params["hostfile"]:
        raise UserError("--sbatch is about nodes that Slurm will give", "give --nodes and --ppn only")
    files = []
    for shape in itertools.product(nodes, ppn):
        files.append(Path("espalier-tune-{}x{}.sbatch".format(*shape)))
        replace_file(files[-1], format_script(*shape, seconds, words_given(context)))
    console.out.print("\n".join(f"sbatch {file}" for file in files))
    console.note(
        "submit these: jobs of this name run one after another, and each adds its rows to the same table, which must "
        "lie where all nodes see it; afterwards: espalier table show"
    )


def format_script(nodes: int, ppn: int, seconds: float, words: Iterable[str]) -> str:
    """One script. `words`: further options of espalier tune."""
    command = shlex.join(["espalier", "tune", "--nodes", str(nodes), "--ppn", str(ppn), *words])
    shape = f"{counted(nodes, 'node')} with {counted(ppn, 'rank')} on each"
    minutes = -(-int(seconds + _SPARE_S) // 60)
    return _SCRIPT.format(shape=shape, nodes=nodes, ppn=ppn, minutes=minutes, command=command)


def words_given(context: typer.Context) -> list[str]:
    """The options of this command line that the scripts hand on, as it had them."""
    return [word for parameter in context.command.params for word in _words_of(context, parameter)]


def _words_of(context: typer.Context, parameter: Any) -> Iterator[str]:
    name = parameter.name
    source = context.get_parameter_source(name)
    if name in _OWN or source is None or source.name != "COMMANDLINE":
        return
    value = context.params[name]
    if isinstance(value, bool):
        yield (parameter.opts if value else parameter.secondary_opts)[0]
        return
    for one in value if isinstance(value, list | tuple) else [value]:
        text = str(one.absolute() if isinstance(one, Path) else one)
        yield from (max(parameter.opts, key=len), text)
