"""The last profile of each program that was run under `espalier profile`: what `espalier doctor PROGRAM` tells of."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.writing import replace_file

_MOST_FILES = 32
_LARGEST = 16 << 20  # a page is not read for minutes


def keep_last(program: Path, recorded: Path) -> None:
    """A copy of what the ranks have recorded. A folder that takes no files is no reason to fail."""
    folder = _folder()
    with contextlib.suppress(OSError, UserError):
        if recorded.stat().st_size > _LARGEST:
            return
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(_place_of(program), recorded.read_bytes())
        newest_first = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in newest_first[_MOST_FILES:]:
            file.unlink(missing_ok=True)


def find_last(program: Path) -> Path | None:
    """None where there is none."""
    place = _place_of(program)
    return place if place.is_file() else None


def _place_of(program: Path) -> Path:
    path = program.resolve()
    return _folder() / f"{path.name}-{hashlib.sha256(bytes(path)).hexdigest()[:12]}.json"


def _folder() -> Path:
    """Where the XDG specification has what programs remember from one run to the next."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "espalier" / "profiles"
