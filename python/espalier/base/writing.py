"""Files that a user names for results."""

from __future__ import annotations

from pathlib import Path

from espalier.base.errors import UserError


def check_folder(option: str, path: Path | None) -> None:
    """Before work that ends in a file. Raises UserError where `path` cannot be one; None: nobody wants it."""
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{option} {path}: that is a folder", "name a file in it")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.absolute().parent}", "create it first")


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
