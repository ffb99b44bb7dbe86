"""What all tests share: jobs that learn neither read nor change what the user's own jobs have learned, and that begin
as fast as they can."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_numbers = itertools.count()

# Files that take longest. Whole files go to whoever is free (--dist loadfile), in this order: the others would wait for
# one that is begun last.
_LONGEST = ("test_mpi4py.py", "test_conformance.py", "test_nonblocking.py", "test_ucx.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those come first, and all else stays as it is."""
    items.sort(key=lambda item: _LONGEST.index(item.path.name) if item.path.name in _LONGEST else len(_LONGEST))


@pytest.fixture(scope="session", autouse=True)
def _configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For jobs that several tests share."""
    folder = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / "shared"))
        # Open MPI looks for a network by libfabric, and where it finds none sleeps for a second in each job's MPI_Init
        # (btl), and half of the processor's time that a job takes to begin and end goes there (mtl).
        for kind in ("btl", "mtl"):
            if f"OMPI_MCA_{kind}" not in os.environ:
                patch.setenv(f"OMPI_MCA_{kind}", "^ofi")
        yield folder


@pytest.fixture(autouse=True)
def _own_configuration(_configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's own, empty at first; made when something is kept there."""
    folder = str(_configuration / str(next(_numbers)))
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", folder)
