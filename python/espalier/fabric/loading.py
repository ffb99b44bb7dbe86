"""From a folder of dumps to a Fabric. The compiled readers stream; this opens the files, packed ones too."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from espalier.base.core import load_core
from espalier.base.errors import UserError

# What is fed at a time: large enough that the calls do not count, small beside any fabric.
_CHUNK = 1 << 20
# More than the tables of the largest subnet that LIDs allow. Packed files can claim to be anything.
_MOST_BYTES = 64 << 30

_REMEDY = "dump the fabric again: ibnetdiscover > DIR/ibnetdiscover.txt; dump_fts > DIR/dump_fts.txt"


@dataclass(frozen=True)
class Snapshot:
    """One fabric, complete, and where it came from."""

    core: Any
    """The compiled Fabric."""
    files: tuple[tuple[Path, str], ...]
    """What was read and as what, in this order."""
    ignored: tuple[Path, ...]
    """Files beside them that are no dumps, or say less."""


def load(folder: Path) -> Snapshot:
    """Reads the dumps in a folder, or a single file. Raises UserError naming file, line and fault; never half."""
    core = load_core()
    with _faults(core, folder):
        paths = _files_of(folder)
        formats = [_detect(core, path) for path in paths]
        loader = core.FabricLoader()
        for path, format in zip(paths, formats, strict=True):
            if format == core.FabricFormat.empty:
                loader.note_empty(str(path))
        chosen = core.choose_fabric_files(formats)
        for index in chosen:
            _feed(core, loader, paths[index], formats[index])
        fabric = loader.finish()
    return Snapshot(
        core=fabric,
        files=tuple((paths[index], formats[index].title) for index in chosen),
        ignored=tuple(path for index, path in enumerate(paths) if index not in set(chosen)),
    )


def _files_of(folder: Path) -> list[Path]:
    if folder.is_dir():
        return sorted(path for path in folder.iterdir() if path.is_file())
    if folder.is_file():
        return [folder]
    raise UserError(f"unreadable: there is no folder or file {folder}", _REMEDY)


@contextmanager
def core_faults(remedy: str) -> Iterator[None]:
    """The core's FabricError as a UserError with this remedy."""
    try:
        yield
    except load_core().FabricError as error:
        raise UserError(str(error), remedy) from error


@contextmanager
def _faults(core: Any, path: Path) -> Iterator[None]:
    """The core's errors, and those of reading and unpacking this path, as what a user is to see."""
    try:
        yield
    except core.FabricError as error:
        raise UserError(str(error), _REMEDY) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        # Unpacking does not say which file it was at; the system's errors have a text without its number.
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{path}: unreadable: {why}", _REMEDY) from error


def _detect(core: Any, path: Path) -> Any:
    with _faults(core, path), _open(path) as file:
        return core.detect_fabric_format(file.read(core.fabric_head_bytes))


def _feed(core: Any, loader: Any, path: Path, format: Any) -> None:
    loader.open(str(path), format)
    total = 0
    with _faults(core, path), _open(path) as file:
        while chunk := file.read(_CHUNK):
            total += len(chunk)
            if total > _MOST_BYTES:
                raise UserError(f"{path}: too-large: it unpacks to more than {_MOST_BYTES >> 30} GiB", _REMEDY)
            loader.feed(chunk)
    loader.close()


def _open(path: Path) -> IO[bytes]:
    """Opens a file, unpacking it when its first bytes say that it is packed, whatever its name."""
    with path.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    if magic == b"\xfd7zXZ\x00":
        return cast(IO[bytes], lzma.open(path, "rb"))
    return path.open("rb")
