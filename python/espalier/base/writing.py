"""Files that a user names for results."""

from __future__ import annotations

from pathlib import Path

from espalier.base.errors import UserError


def write_text(path: Path, text: str) -> None:
    """Raises UserError when the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "name another file") from error


def replace_file(path: Path, content: str | bytes) -> None:
    """Writes the file, complete or not at all. Raises OSError."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content.encode() if isinstance(content, str) else content)
    part.replace(path)
