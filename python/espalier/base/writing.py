"""Files that a user names for results."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from espalier.base.errors import UserError

# What the end of a file's name promises, by whom names are read: browsers, editors, people.
_KINDS = {
    ".svg": "SVG", ".html": "HTML", ".htm": "HTML", ".json": "JSON", ".md": "Markdown", ".csv": "CSV", ".xml": "XML",
    ".conf": "a configuration", ".dot": "Graphviz", ".gv": "Graphviz",
    ".png": "PNG", ".pdf": "PDF", ".jpg": "JPEG", ".jpeg": "JPEG", ".gif": "GIF", ".ps": "PostScript",
}  # fmt: skip

# Names of what this process has open, whatever that is.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")


def check_output(option: str, path: Path | None, *endings: str) -> None:
    """Before work that ends in a file. Raises UserError where `path` cannot be one, or where its name promises another
    kind of file than those with these `endings`; none: any will do. No path: nobody wants it."""
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{option} {path}: that is a folder", "name a file in it")
    if is_stream(path):
        return
    folder = (path.resolve() if path.is_symlink() else path.absolute()).parent
    if not folder.is_dir():
        missing = next(it for it in (*reversed(folder.parents), folder) if not it.is_dir())
        if missing.exists():
            raise UserError(f"{option} {path}: {missing} is no folder", "name another place")
        raise UserError(f"{option} {path}: there is no folder {missing}", f"create it first: mkdir -p {folder}")
    if not os.access(folder, os.W_OK | os.X_OK) and not os.access(path, os.W_OK):
        raise UserError(f"{option} {path}: {folder} takes no files from you", "name another place")
    told, kinds = _KINDS.get(path.suffix.lower()), list(dict.fromkeys(_KINDS[ending] for ending in endings))
    if endings and told is not None and told not in kinds:
        names = " or ".join(str(path.with_suffix(ending)) for ending in endings)
        raise UserError(
            f"{option} {path}: what is written there is {' or '.join(kinds)}, not {told}", f"name it {names}"
        )


def write_text(path: Path, text: str) -> None:
    """Raises UserError when the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "name another file") from error


def is_stream(path: Path) -> bool:
    """Whether what is written there goes into what exists, as a device or a pipe, rather than into a new file."""
    return _DESCRIPTOR.fullmatch(str(path)) is not None or (path.exists() and not path.is_file())


def replace_file(path: Path, content: str | bytes) -> None:
    """Writes the file, complete or not at all: where `path` is a symbolic link, the file that it names. Streams are
    written into. Raises OSError, which names `path`."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if is_stream(path):
            _write_into(path, data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_into(path: Path, data: bytes) -> None:
    # Behind what others have written there: a shell may have opened a file for several to write to.
    stream = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(stream, "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    finally:  # also when somebody stops us here
        with contextlib.suppress(OSError):
            part.unlink()
