"""The `espalier` command: registers the commands and turns errors into messages and exit codes.

Exit codes: 0 fine; 1 the answer is no (violations found, machine not usable); 2 wrong usage or something missing.
`run` passes on the job's own.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.commands.algorithms import algorithms
from espalier.commands.bench.app import app as bench
from espalier.commands.compare import compare
from espalier.commands.demo import demo
from espalier.commands.doctor import doctor
from espalier.commands.explain.command import explain
from espalier.commands.fabric.app import app as fabric
from espalier.commands.fabric.collect import collect
from espalier.commands.fabric.route import route
from espalier.commands.fabric.routes import routes
from espalier.commands.fabric.serve import serve
from espalier.commands.fabric.topo import topo
from espalier.commands.hang import hang
from espalier.commands.lab import app as lab
from espalier.commands.lib import lib
from espalier.commands.node import node
from espalier.commands.profile import profile
from espalier.commands.replay import replay
from espalier.commands.reproduce import reproduce
from espalier.commands.run import run
from espalier.commands.settings import settings
from espalier.commands.simulate.command import simulate
from espalier.commands.tune.command import tune
from espalier.commands.tune.table import app as table
from espalier.commands.verify import verify
from espalier.jobs.build import describe_build

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fast collectives for any MPI, without changing the application.",
)

# What `espalier --help` lists, in groups. `bench`, `table`, `fabric` and `lab` have commands of their own.
_PANELS: dict[str, tuple[tuple[Callable[..., None], ...], dict[str, typer.Typer]]] = {
    "Your programs": ((run, compare, profile, replay, hang, lib, doctor, settings, demo), {}),
    "What a collective does, and how fast": ((explain, algorithms, verify, tune), {"table": table, "bench": bench}),
    "Machines and networks": ((node, topo, route, routes, serve), {"fabric": fabric}),
    "Clusters that one does not have": ((simulate, reproduce), {"lab": lab}),
}

fabric.command()(collect)
for panel, (commands, groups) in _PANELS.items():
    for command in commands:
        # Everything from the program's name on belongs to the program, dashes included.
        context = {"allow_interspersed_args": False} if command in (run, compare, profile) else {}
        app.command(rich_help_panel=panel, context_settings=context)(command)
    for name, group in groups.items():
        app.add_typer(group, name=name, rich_help_panel=panel)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.out.print(str(describe_build()), highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print version, commit and MPIs.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


# What a full disk says, to a file that has a name or to stdout, which has none.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


# Click's UsageError: Typer brings click under a name of its own, and exports this child of it.
_WrongUsage: Any = typer.BadParameter.__bases__[0]


def main() -> None:
    """The console script."""
    try:
        try:
            code = app(prog_name="espalier", standalone_mode=False)
        finally:
            sys.stdout.flush()  # here, where a failure has somebody to tell
        if isinstance(code, int):
            sys.exit(code)
    except _WrongUsage as error:
        sys.exit(_tell_usage(error))
    except UserError as error:
        console.print_error(error)
        sys.exit(2)
    except BrokenPipeError:
        # The reader (head, less) has gone; there is nobody left to tell.
        _forget_output()
        sys.exit(0)
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        where, remedy = error.filename or "the output", "is the path right, may you use it, and is there room?"
        console.print_error(UserError(f"{where}: {error.strerror}", remedy))
        _forget_output()
        sys.exit(2)


def _tell_usage(error: Any) -> int:
    """Words that no command has, told like all other errors. Returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        text = error.format_message().rstrip(".")
        command = error.ctx.command_path if error.ctx else "espalier"
        console.print_error(UserError(text[:1].lower() + text[1:], f"see {command} --help"))
    return int(error.exit_code)


def _forget_output() -> None:
    """Keeps the interpreter's last flush quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
