"""The tables of several MPIs and machines beside each other: what `espalier tune` has measured, what jobs have learned.

The library's own rules (src/tune/places.hpp, src/tune/store.hpp) say which files a job looks at, and which hold.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.tuning.table.file import TableFile, merge_rows, read_table, write_table


@dataclass(frozen=True)
class Stored:
    """A file that jobs look at. `trouble`: why it is of no use to anybody; then there is no `file`."""

    path: Path
    file: TableFile | None
    trouble: str

    @property
    def kind(self) -> str:
        """ "tuned" or "learned"."""
        return "learned" if self.file is not None and self.file.core.is_learned else "tuned"

    @property
    def changed(self) -> str:
        """The file's day and time, as this machine tells them."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.path.stat().st_mtime))

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        if self.file is None:
            return {"path": str(self.path), "trouble": self.trouble}
        signature = self.file.core.signature
        return {
            "path": str(self.path),
            "kind": self.kind,
            "machine": signature.machine,
            "mpi": signature.mpi,
            "rows": len(self.file.core.rows),
            "changed": self.changed,
        }


def files_in_force(core: Any) -> list[Path]:
    """All that a job started here would look at, best first."""
    table, store = (os.environ.get(name, "") for name in ("ESPALIER_TABLE", "ESPALIER_STORE"))
    learned = "off" if os.environ.get("ESPALIER_LEARN") == "off" else store
    return [Path(path) for path in core.probe_table_files(table, learned)]


def list_stored(core: Any) -> Iterator[Stored]:
    """These files, read."""
    for path in files_in_force(core):
        try:
            yield Stored(path, read_table(core, path), "")
        except UserError as error:
            yield Stored(path, None, error.message)


def user_folder(core: Any) -> Path:
    """Where the user's tables lie."""
    return Path(core.store_folders(os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", ""))[0])


def system_folder(core: Any) -> Path:
    """Where everybody's tables lie."""
    return Path(core.store_folders("", "")[-1])


def tuned_table(core: Any, signature: Any) -> Path:
    """Where `espalier tune` puts the user's table for an MPI on this machine."""
    return user_folder(core) / str(core.tuned_name(signature))


def format_like(raw: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    """The file's text with other rows, one in a line."""
    head = {name: value for name, value in raw.items() if name != "rows"}
    lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in head.items()]
    body = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "\n".join(["{", *lines, '  "rows": [', *([body] if body else []), "  ]", "}", ""])


def merge(core: Any, files: Sequence[TableFile]) -> str:
    """One table of several of one machine and MPI: where two are about the same calls, the later file's row counts.

    Raises UserError where they were made for different ones.
    """
    first = files[0]
    rows: list[Mapping[str, Any]] = list(first.raw["rows"])
    for other in files[1:]:
        if reason := core.why_foreign(other.core.signature, first.core.signature):
            told = reason.partition(", this is")[0]
            raise UserError(f"{other.path} was {told}; {first.path} is for {first.core.signature.machine}, "
                            f"{first.core.signature.mpi}", "merge tables of one machine and one MPI")  # fmt: skip
        rows = merge_rows(rows, other.raw["rows"])
    return format_like(first.raw, rows)


def import_table(core: Any, path: Path, folder: Path) -> Path:
    """Checks a table and puts it where jobs find it; into what lies there for the same machine and MPI, if anything.

    Raises UserError where it is of no use, or the place cannot be written.
    """
    file = read_table(core, path)
    name = core.learned_name if file.core.is_learned else core.tuned_name
    place = folder / str(name(file.core.signature))
    known = [read_table(core, place)] if place.exists() else []
    write_table(core, place, merge(core, [*known, file]))
    return place
