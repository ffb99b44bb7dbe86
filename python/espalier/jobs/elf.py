"""What a dynamically linked file asks the loader for, read from the file without running anything.

Layout: the ELF specification's chapters "Program Header" and "Dynamic Section". Both word sizes and both byte orders
are read; sections are not used, so stripped files work.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from espalier.base.reading import read_regular

# Programs with all their debugging information have some GB at most.
_LARGEST = 8 << 30
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 14, 15, 29


class NotElf(Exception):
    """The file is not a (well-formed) ELF file; the text says why."""


@dataclass(frozen=True)
class Elf:
    """The dynamic section of one file. Paths are as written in it: `$ORIGIN` is not expanded."""

    path: Path
    bits: int  # 32 or 64
    machine: int  # e_machine: 62 is x86-64
    interpreter: str | None  # the loader that an executable names; None for libraries and static programs
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


class _Reader:
    """Bounds-checked access to the file's bytes in its own word size and byte order."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF" or len(data) < 52:
            raise NotElf("does not start with an ELF header")
        if data[4] not in (1, 2) or data[5] not in (1, 2):
            raise NotElf("has an ELF header of unknown word size or byte order")
        self.data = data
        self.wide = data[4] == 2
        self.order = "<" if data[5] == 1 else ">"

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self.order + layout, self.data, offset)
        except (struct.error, OverflowError) as error:
            raise NotElf(f"is cut off at byte {offset}") from error

    def string(self, offset: int) -> str:
        end = self.data.find(b"\0", offset)
        if offset < 0 or end < 0:
            raise NotElf(f"has a string that starts at byte {offset} and never ends")
        return self.data[offset:end].decode(errors="surrogateescape")

    def segments(self) -> Iterator[_Segment]:
        """The program headers, in file order."""
        if self.wide:
            (start,), (size, count) = self.unpack("Q", 32), self.unpack("HH", 54)
        else:
            (start,), (size, count) = self.unpack("I", 28), self.unpack("HH", 42)
        for index in range(count):
            at = start + index * size
            if self.wide:
                kind, _, offset, address, _, length = self.unpack("IIQQQQ", at)
            else:
                kind, offset, address, _, length = self.unpack("IIIII", at)
            yield _Segment(kind, offset, address, length)

    def dynamic(self, segment: _Segment) -> Iterator[tuple[int, int]]:
        """The (tag, value) pairs of the dynamic section, up to its end mark."""
        layout, step = ("QQ", 16) if self.wide else ("II", 8)
        for at in range(segment.offset, segment.offset + segment.size, step):
            tag, value = self.unpack(layout, at)
            if tag == _DT_NULL:
                return
            yield tag, value


def read_elf(path: Path) -> Elf:
    """Reads `path`. Raises NotElf for any other kind of file and OSError for one that cannot be read."""
    reader = _Reader(read_regular(path, _LARGEST))
    segments = list(reader.segments())
    entries = [entry for segment in segments if segment.kind == _PT_DYNAMIC for entry in reader.dynamic(segment)]
    table = next((_file_offset(segments, value) for tag, value in entries if tag == _DT_STRTAB), 0)

    def strings(wanted: int) -> tuple[str, ...]:
        return tuple(reader.string(table + value) for tag, value in entries if tag == wanted)

    def folders(wanted: int) -> tuple[str, ...]:
        return tuple(part for text in strings(wanted) for part in text.split(":") if part)

    interpreters = [reader.string(segment.offset) for segment in segments if segment.kind == _PT_INTERP]
    return Elf(
        path=path,
        bits=64 if reader.wide else 32,
        machine=reader.unpack("H", 18)[0],
        interpreter=interpreters[0] if interpreters else None,
        soname=next(iter(strings(_DT_SONAME)), None),
        needed=strings(_DT_NEEDED),
        rpath=folders(_DT_RPATH),
        runpath=folders(_DT_RUNPATH),
    )


def _file_offset(segments: list[_Segment], address: int) -> int:
    """Where the byte that will be mapped at `address` lies in the file."""
    for segment in segments:
        if segment.kind == _PT_LOAD and 0 <= address - segment.address < segment.size:
            return address - segment.address + segment.offset
    raise NotElf(f"has a dynamic section that points outside the file (address {address:#x})")
