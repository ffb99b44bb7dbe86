"""What bench/node_platforms.py makes of measured core-to-core latencies."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from benches import load
from espalier.base.errors import UserError


@pytest.fixture
def latencies() -> ModuleType:
    return load("core_latencies")


def write_matrix(folder: Path, between: list[list[float]]) -> Path:
    path = folder / "machine.csv"
    rows = [[f"{between[i][j]}" if j < i else "" for j in range(len(between))] for i in range(len(between))]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def near_and_far(cores: int, below: int) -> list[list[float]]:
    return [[25.0 if i // below == j // below else 110.0 + i for j in range(cores)] for i in range(cores)]


def test_caches_are_found_where_latencies_have_their_widest_gap(latencies: ModuleType, tmp_path: Path) -> None:
    measured = latencies.read_latencies(write_matrix(tmp_path, near_and_far(6, 3)))
    caches = latencies.find_caches(measured)
    assert caches == [[0, 1, 2], [3, 4, 5]]
    assert latencies.hand_over(measured, caches) == [[25.0, 114.0], [114.0, 25.0]]


def test_a_machine_without_a_gap_is_one_cache(latencies: ModuleType, tmp_path: Path) -> None:
    flat = [[40.0 + abs(i - j) for j in range(5)] for i in range(5)]
    assert latencies.find_caches(latencies.read_latencies(write_matrix(tmp_path, flat))) == [[0, 1, 2, 3, 4]]


def test_a_second_thread_of_each_core_is_left_out(latencies: ModuleType, tmp_path: Path) -> None:
    cores = near_and_far(2, 1)
    both = [[8.0 if i % 2 == j % 2 else cores[i % 2][j % 2] for j in range(4)] for i in range(4)]
    assert latencies.read_latencies(write_matrix(tmp_path, both), threads=2).cores == 2


def test_what_is_no_matrix_is_refused(latencies: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(",\n1\n", encoding="utf-8")
    with pytest.raises(UserError, match="square"):
        latencies.read_latencies(path)
    path.write_text(",\nfast,\n", encoding="utf-8")
    with pytest.raises(UserError, match="fast"):
        latencies.read_latencies(path)
