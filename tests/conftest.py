"""What all tests share: jobs that learn neither read nor change what the user's own jobs have learned."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For jobs that several tests share."""
    folder = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "shared"))
        yield folder


@pytest.fixture(autouse=True)
def _own_configuration(_configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's own, empty at first; made when something is kept there."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(_configuration / str(next(_numbers))))
