"""espalier table: which tables there are, and what to do with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.base.writing import check_output
from espalier.tuning.table import store
from espalier.tuning.table.file import read_table, write_table

_Json = Annotated[bool, typer.Option("--json", help="The same as JSON.")]
_File = Annotated[Path, typer.Argument(metavar="FILE")]


def list_(json: _Json = False) -> None:
    """Name all tables that jobs look at, best first: for which machine and MPI, tuned or learned, how many rows."""
    stored = list(store.list_stored(load_core()))
    if json:
        console.print_json({"tables": [it.facts() for it in stored]})
        return
    if not stored:
        console.out.print(
            "no tables yet: jobs make some when they end, unless ESPALIER_LEARN says otherwise; so does espalier tune"
        )
        return
    table = Table(box=None, pad_edge=False)
    for name in ("file", "", "rows", "changed", "MPI", "machine"):
        table.add_column(name, justify="right" if name == "rows" else "left", overflow="fold")
    for it in stored:
        if it.file is None:
            table.add_row(escape(str(it.path)), "[red]of no use[/]", "", "", escape(it.trouble), "")
            continue
        signature = it.file.core.signature
        told = (it.kind, str(len(it.file.core.rows)), it.changed, escape(signature.mpi), escape(signature.machine))
        table.add_row(escape(str(it.path)), *told)
    console.print_table(table)


def merge(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write.")],
    json: _Json = False,
) -> None:
    """Make one table of several of one machine and MPI; of rows about the same calls the last file's count."""
    core = load_core()
    check_output("--output", output, ".json")
    write_table(core, output, store.merge(core, [read_table(core, path) for path in files]))
    _tell(core, output, json)


def export(
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Default: the first that `list` names.")] = None,
    json: _Json = False,
) -> None:
    """Copy a table to where another machine of this kind can get it (espalier table import)."""
    core = load_core()
    check_output("--output", output, ".json")
    known = store.files_in_force(core)
    if file is None and not known:
        remedy = "run a job that makes some hundred collective calls, or make one with espalier tune"
        raise UserError("there is no table", remedy)
    source = read_table(core, file or known[0])
    write_table(core, output, store.format_like(source.raw, source.raw["rows"]))
    _tell(core, output, json, source.path)


def import_(file: _File, json: _Json = False) -> None:
    """Put a table among the user's, whatever machine and MPI it is for; rows about the same calls are replaced."""
    core = load_core()
    place = store.import_table(core, file, store.user_folder(core))
    _tell(core, place, json)


def install(
    file: _File,
    system: Annotated[bool, typer.Option("--system", help="For all users of this machine: /etc/espalier.")] = False,
    root: Annotated[Path, typer.Option(help="Another root of the file system, as of an image.")] = Path("/"),
    json: _Json = False,
) -> None:
    """The same for all users of this machine."""
    if not system:
        raise UserError("for whom?", "say --system for all users, or use espalier table import for yourself")
    core = load_core()
    place = store.import_table(core, file, root / store.system_folder(core).relative_to("/"))
    _tell(core, place, json)


def forget(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Default: all that was learned.")
    ] = None,
    json: _Json = False,
) -> None:
    """Remove what jobs have learned, so that the next ones begin anew. Tuned tables stay unless they are named."""
    core = load_core()
    learned = [path for path in store.files_in_force(core) if path.name.startswith("learned-")]
    mine = [path for path in learned if path.parent != store.system_folder(core)]
    for path in files or mine:
        try:
            path.unlink()
        except OSError as error:
            raise UserError(f"cannot remove {path}: {error.strerror}", "see espalier table list") from error
        if not json:
            console.out.print(f"removed {escape(str(path))}", soft_wrap=True)
    if json:
        console.print_json({"removed": [str(path) for path in files or mine]})
    elif not (files or mine):
        console.out.print("nothing was learned")


def _tell(core: Any, path: Path, json: bool, source: Path | None = None) -> None:
    """What lies there now."""
    written = store.Stored(path, read_table(core, path), "")
    if json:
        console.print_json(written.facts() | ({"source": str(source)} if source else {}))
        return
    of = f" of {escape(str(source))}" if source else ""
    console.out.print(f"{escape(str(path))}: {counted(written.facts()['rows'], 'row')}{of}", soft_wrap=True)


def add_to(app: typer.Typer) -> None:
    """Makes these commands of `app`."""
    commands: dict[str, Callable[..., None]] = {
        "list": list_, "merge": merge, "export": export, "import": import_, "install": install, "forget": forget,
    }  # fmt: skip
    for name, command in commands.items():
        app.command(name)(command)
