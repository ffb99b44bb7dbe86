"""What has been decided so far, line by line in a file beside the table, so that an interrupted run can go on."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.base.reading import read_regular_text
from espalier.base.writing import replace_file


class Journal:
    """JSON lines: first what the run is about, then one entry per decision, each on the disk before the next begins."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        """Opens or begins the journal; `entries` has what an earlier run about exactly the same left.

        Raises UserError when the file cannot be written.
        """
        self.path = path
        self.entries = _read_entries(path, about)
        try:
            # What there is must survive a kill at any moment, so the new beginning replaces the old one at once.
            replace_file(path, "".join(_line(entry) for entry in (about, *self.entries)))
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}", "name another place with -o FILE") from error

    def append(self, entry: Mapping[str, Any]) -> None:
        """Adds one decision."""
        self._file.write(_line(entry))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, remove: bool) -> None:
        """Ends the journal; `remove` when there is nothing to go on with."""
        self._file.close()
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()


# Some thousand decisions of some KB.
_LARGEST = 256 << 20


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _read_entries(path: Path, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of a journal about the same; none of another. A line that a kill has cut ends the reading."""
    lines = []
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError):
        for line in read_regular_text(path, _LARGEST).splitlines():
            lines.append(json.loads(line))
    if not lines or lines[0] != json.loads(json.dumps(about)):
        return []
    return lines[1:]
