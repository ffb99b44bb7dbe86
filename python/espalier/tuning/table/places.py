"""Where tables lie when nobody names a place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from espalier.jobs.mpis import Mpi


def own_table(core: Any) -> Path:
    """The user's, which every job finds."""
    return Path(core.table_places(os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", ""))[0])


def lab_table(core: Any, mpi: Mpi) -> Path:
    """What an emulated network teaches must not steer real jobs: a name that no job looks for, one for each MPI."""
    return own_table(core).with_name(f"table-lab-{mpi.family}-{mpi.version}.json")
