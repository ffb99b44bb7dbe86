"""Where a program makes its calls: addresses, as ranks record them, become functions and lines."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from espalier.profile.reading import Kind, Part, Recorded

_PATIENCE_S = 30.0  # debugging information of large programs takes a while to be read


def name_sites(recorded: Recorded) -> Recorded:
    """The same with "main at app.c:12" in the place of "/path/app+0x12ab main", as far as addr2line can tell.

    Without addr2line, or debugging information, the symbol is left and the object's name; else its offset.
    """
    sites = {kind.key.site for kind in recorded.kinds if kind.key.site}
    if not sites:
        return recorded
    names = _name_all(sites)
    kinds: dict[Kind, list[Part]] = {}
    for kind, parts in recorded.kinds.items():
        named = replace(kind, key=replace(kind.key, site=names.get(kind.key.site, "")))
        kinds.setdefault(named, []).extend(parts)
    return replace(recorded, kinds=kinds)


def _name_all(sites: Iterable[str]) -> Mapping[str, str]:
    by_object: dict[str, dict[str, str]] = {}
    names = {}
    for site in sites:
        found = re.fullmatch(r"(.+)\+(0x[0-9a-f]+)(?: (.+))?", site)
        if found is None:
            continue
        by_object.setdefault(found[1], {})[found[2]] = site
        names[site] = f"{found[3] or found[2]} in {Path(found[1]).name}"
    for file, offsets in by_object.items():
        for offset, name in _ask(file, list(offsets)).items():
            names[offsets[offset]] = name
    return names


def _ask(file: str, offsets: list[str]) -> Mapping[str, str]:
    """What addr2line knows of them: "function at file:line"."""
    program = shutil.which("addr2line")
    if program is None:
        return {}
    command = [program, "--functions", "--demangle", "--exe", file, *offsets]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = done.stdout.splitlines()
    known = {}
    for offset, function, place in zip(offsets, lines[::2], lines[1::2], strict=False):
        path, _, line = place.partition(" ")[0].rpartition(":")
        if line.isdigit() and line != "0":
            known[offset] = f"{function} at {Path(path).name}:{line}"
        elif function != "??":
            known[offset] = f"{function} in {Path(file).name}"
    return known
