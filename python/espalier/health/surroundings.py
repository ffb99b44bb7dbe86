"""What a job started from here would complain of: values of settings, and what is to tell it of the network."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from espalier.base import machine
from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.settings import PREFIX, WRITTEN, check_files, check_split, find_refused, known_settings, split_nodes
from espalier.base.units import approximate_bytes, format_bytes
from espalier.health.network import examine_fabric
from espalier.jobs.allocation import find_allocation
from espalier.jobs.diagnosis import Finding, Level
from espalier.jobs.mpis import find_default_mpi
from espalier.jobs.placement import LAUNCHER, find_launcher

_STORE = f"{PREFIX}STORE"
_MEMORY = f"{PREFIX}SHM_LIMIT"


def examine_surroundings(ranks: int | None = None) -> Iterator[Finding]:
    """In the order of the report. `ranks`: of a job that is to run here; None: not said."""
    yield from _examine_values(ranks)
    yield from _examine_launcher()
    yield from _examine_store()
    yield from _examine_memory(ranks)
    yield from _examine_group()
    if os.environ.get("ESPALIER_DISABLE") == "1":
        text = "ESPALIER_DISABLE=1: every call is left to the MPI"
        yield Finding("settings", Level.ERROR, text, "unset it")
    if fabric := os.environ.get("ESPALIER_FABRIC"):
        yield examine_fabric(fabric)


def _examine_values(ranks: int | None) -> Iterator[Finding]:
    known = known_settings()
    for complaint, remedy in find_refused({name: value for name, value in os.environ.items() if name in known}):
        yield Finding("settings", Level.WARNING, complaint, remedy)
    try:
        split = split_nodes(os.environ.get("ESPALIER_VIRTUAL_NODES"))
        if ranks is not None:
            check_split(split, ranks)
    except UserError as error:
        yield Finding("settings", Level.WARNING, f"ESPALIER_VIRTUAL_NODES: {error.message}", error.remedy)
    for name in WRITTEN:
        try:
            check_files({name: os.environ.get(name, "")})
        except UserError as error:
            yield Finding("settings", Level.WARNING, error.message, error.remedy)


def _examine_launcher() -> Iterator[Finding]:
    """ESPALIER_LAUNCHER, as a job under the default MPI would take it."""
    if not os.environ.get(LAUNCHER):
        return
    try:
        mpi, allocation = find_default_mpi(), find_allocation()
    except UserError:
        return  # other findings say so
    try:
        find_launcher(mpi, allocation)
    except UserError as error:
        yield Finding("settings", Level.WARNING, error.message, error.remedy)


def _examine_store() -> Iterator[Finding]:
    """Whether jobs can keep what they learn in the folder that ESPALIER_STORE names, which they make if need be."""
    folder = load_core().probe_store(os.environ[_STORE]) if os.environ.get(_STORE) else ""
    if not folder or os.environ.get("ESPALIER_LEARN") == "off":
        return
    place = Path(folder).absolute()
    existing = next(it for it in (place, *place.parents) if it.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        text = f"{_STORE}={folder}: {existing} takes no files ({error.strerror}), so what jobs learn is not kept"
        yield Finding("settings", Level.WARNING, text, "name a folder that takes files from you, or off")


def _examine_memory(ranks: int | None) -> Iterator[Finding]:
    """Whether what ranks of a node may share is enough for any communicator, and for that of all ranks."""
    core, text = load_core(), os.environ.get(_MEMORY, "")
    try:
        limit = core.parse_bytes(text)
    except ValueError:
        return  # then the default is in force
    for count, calls, level in ((2, "every call is", Level.ERROR), (ranks or 2, "calls of all are", Level.WARNING)):
        if limit < (least := core.least_shared_memory(count)):
            short = f"{_MEMORY}={text}: {count} ranks of a node share {format_bytes(least)} at least, so {calls}"
            yield Finding("settings", level, f"{short} left to the MPI", "unset it, or give 64M or more")
            return


def _examine_group() -> Iterator[Finding]:
    """Whether the control group, as of a container or a batch job, has room for what its ranks may share."""
    granted, shared = machine.memory_limit(), _most_shared()
    if granted is None or granted >= shared:
        return
    text = f"the control group may hold {approximate_bytes(granted)} of memory in all, and ranks of a node may share "
    text += f"{approximate_bytes(shared)} of it ({_MEMORY}): where that runs out, jobs are ended"
    remedy = f"raise the limit, or set {_MEMORY}={max(1, granted // 2 >> 20)}M, which leaves the program a half"
    yield Finding("shared memory", Level.WARNING, text, remedy)


def _most_shared() -> int:
    """What a job started here takes for the limit: values that are none leave the default in force."""
    default = known_settings()[_MEMORY].default
    for text in (os.environ.get(_MEMORY, ""), default):
        with contextlib.suppress(ValueError):
            return int(load_core().parse_bytes(text))
    return 0
