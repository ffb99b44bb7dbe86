"""The `espalier` command: registers the commands and turns errors into messages and exit codes.

Exit codes: 0 fine; 1 the answer is no (violations found, machine not usable); 2 wrong usage or something missing.
`run` passes on the job's own.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.names import refuse

# What `espalier --help` lists, in groups, and where each command is: imported when it is asked for, as all of them
# together take a second. What is called `app` there is a group of commands.
_PANELS: dict[str, dict[str, str]] = {
    "Your programs": {
        "run": "run:run",
        "compare": "compare:compare",
        "profile": "profile:profile",
        "replay": "replay:replay",
        "hang": "hang:hang",
        "lib": "lib:lib",
        "doctor": "doctor:doctor",
        "settings": "settings:settings",
        "demo": "demo:demo",
    },
    "What a collective does, and how fast": {
        "explain": "explain.command:explain",
        "algorithms": "algorithms:algorithms",
        "verify": "verify:verify",
        "tune": "tune.command:tune",
        "table": "tune.table:app",
        "bench": "bench.app:app",
    },
    "Machines and networks": {
        "node": "node:node",
        "topo": "fabric.topo:topo",
        "route": "fabric.route:route",
        "routes": "fabric.routes:routes",
        "serve": "fabric.serve:serve",
        "fabric": "fabric.app:app",
    },
    "Clusters that one does not have": {
        "simulate": "simulate.command:simulate",
        "reproduce": "reproduce:reproduce",
        "lab": "lab:app",
    },
}
# Everything from the program's name on belongs to the program, dashes included.
_RUN_PROGRAMS = ("run", "compare", "profile")


def build_app(wanted: str | None = None) -> typer.Typer:
    """The command line: all of it, or as much of it as that command needs."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Fast collectives for any MPI, without changing the application.",
        callback=_options,
    )
    for panel, commands in _PANELS.items():
        for name, place in commands.items():
            if wanted in (None, name):
                _add(app, panel, name, place)
    return app


def _add(app: typer.Typer, panel: str, name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f"espalier.commands.{module}"), attribute)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name, rich_help_panel=panel)
    else:
        context = {"allow_interspersed_args": False} if name in _RUN_PROGRAMS else {}
        command: Callable[..., None] = found
        app.command(name, rich_help_panel=panel, context_settings=context)(command)


def _find_wanted(words: Sequence[str]) -> str | None:
    """What these words begin with. None: help, a mistake, or what a shell wants to complete."""
    names = {"--version", *(name for commands in _PANELS.values() for name in commands)}
    return words[0] if words and words[0] in names and "_ESPALIER_COMPLETE" not in os.environ else None


def _print_version(wanted: bool) -> None:
    if wanted:
        from espalier.jobs.build import describe_build  # as commands are

        console.out.print(str(describe_build()), highlight=False)
        raise typer.Exit


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
    """What the console script does, once it is there."""
    try:
        try:
            code = build_app(_find_wanted(sys.argv[1:]))(prog_name="espalier", standalone_mode=False)
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
        if error.filename is None:
            _forget_output()
        sys.exit(2)


def _tell_usage(error: Any) -> int:
    """Words that no command has, told like all other errors. Returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        text = error.format_message().rstrip(".")
        command = error.ctx.command_path if error.ctx else "espalier"
        console.print_error(refuse(text[:1].lower() + text[1:], f"see {command} --help"))
    return int(error.exit_code)


def _forget_output() -> None:
    """Keeps the interpreter's last flush quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
