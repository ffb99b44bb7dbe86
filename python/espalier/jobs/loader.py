"""Which libraries a program would load: the dynamic loader's search, followed without running the program.

Source: ld.so(8), "DESCRIPTION": DT_RPATH of the file and of those that loaded it (unless the file has DT_RUNPATH),
LD_LIBRARY_PATH, DT_RUNPATH of the file itself, the cache, the default folders.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from espalier.jobs.elf import Elf, NotElf, read_elf

_CACHE = Path("/etc/ld.so.cache")
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True)
class Dependency:
    """One library that a program needs: its name as written, and the file found for it, if any."""

    name: str
    path: Path | None


@dataclass(frozen=True)
class _Object:
    """A file under way, with the chain of RPATHs that it inherits from those that load it."""

    elf: Elf
    inherited: tuple[str, ...]

    def search(self, library_path: tuple[str, ...]) -> Iterator[str]:
        """The folders searched for what this file needs, in the loader's order."""
        if not self.elf.runpath:
            yield from self.own_rpath()
        yield from library_path
        yield from _expand(self.elf.runpath, self.elf.path)

    def own_rpath(self) -> tuple[str, ...]:
        """What this file searches through RPATH; DT_RUNPATH switches its own off but hands the inherited one on."""
        own = () if self.elf.runpath else _expand(self.elf.rpath, self.elf.path)
        return own + self.inherited


def find_dependencies(program: Path, environment: Mapping[str, str] | None = None) -> list[Dependency]:
    """Every library that `program` needs, directly or not, breadth first as the loader does; each name once.

    `environment` gives LD_LIBRARY_PATH and is this process's own by default. Raises NotElf and OSError for the program
    itself; a library that cannot be read is listed with the path that was found, and not followed.
    """
    variables = os.environ if environment is None else environment
    library_path = tuple(part for part in variables.get("LD_LIBRARY_PATH", "").split(":") if part)
    queue = [_Object(read_elf(program), ())]
    found: dict[str, Dependency] = {}
    while queue:
        current = queue.pop(0)
        for name in current.elf.needed:
            if name in found:
                continue
            elf = _find(name, current, library_path)
            found[name] = Dependency(name, elf.path if elf else None)
            if elf is not None:
                queue.append(_Object(elf, current.own_rpath()))
    return list(found.values())


def _find(name: str, wanted_by: _Object, library_path: tuple[str, ...]) -> Elf | None:
    if "/" in name:
        candidates: Iterator[Path] = iter((Path(name),))
    else:
        candidates = _candidates(name, wanted_by, library_path)
    for candidate in candidates:
        try:
            elf = read_elf(candidate)
        except (NotElf, OSError):
            continue  # the loader, too, goes on to the next folder
        if (elf.bits, elf.machine) == (wanted_by.elf.bits, wanted_by.elf.machine):
            return elf
    return None


def _candidates(name: str, wanted_by: _Object, library_path: tuple[str, ...]) -> Iterator[Path]:
    for folder in wanted_by.search(library_path):
        yield Path(folder, name)
    yield from read_cache(_CACHE).get(name, ())
    for folder in _DEFAULT_FOLDERS:
        yield Path(folder, name)


def _expand(folders: tuple[str, ...], origin: Path) -> tuple[str, ...]:
    here = str(origin.resolve().parent)
    return tuple(folder.replace("${ORIGIN}", here).replace("$ORIGIN", here) for folder in folders)


@cache
def read_cache(path: Path) -> Mapping[str, tuple[Path, ...]]:
    """The loader's cache: library name to files, best first. Empty when there is none or its form is unknown.

    Source: `struct cache_file_new` in glibc's dl-cache.h; older systems put another table in front of it.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    start = data.find(_CACHE_MAGIC)
    if start < 0:
        return {}
    (count,) = struct.unpack_from("=I", data, start + len(_CACHE_MAGIC))
    entries: dict[str, tuple[Path, ...]] = {}
    for index in range(count):
        _, key, value = struct.unpack_from("=iII", data, start + 48 + 24 * index)
        name, file = (_text(data, start + offset) for offset in (key, value))
        entries[name] = (*entries.get(name, ()), Path(file))
    return entries


def _text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode(errors="surrogateescape")
