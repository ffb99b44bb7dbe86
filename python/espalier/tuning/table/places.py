"""Where tables lie when nobody names a place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from espalier.jobs.mpis import Mpi, read_library_version
from espalier.tuning.table.store import tuned_table


def own_table(core: Any, mpi: Mpi) -> Path:
    """The user's for this machine and MPI, which every job finds."""
    return tuned_table(core, core.probe_signature(read_library_version(mpi.library)))


def lab_table(core: Any, mpi: Mpi) -> Path:
    """What an emulated network teaches must not steer real jobs: a name that no job looks for, one for each MPI."""
    places = core.table_places(os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", ""))
    return Path(places[0]).with_name(f"table-lab-{mpi.family}-{mpi.version}.json")
