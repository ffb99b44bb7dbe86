"""espalier simulate --node-platform, and where its platforms come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.simulation.inside import InsideRequest, platform_names, read_platform, simulate_inside
from espalier.simulation.latencies import find_caches, hand_over, read_latencies
from workshop import Command


def write_matrix(folder: Path, between: list[list[float]]) -> Path:
    path = folder / "machine.csv"
    rows = [[f"{between[i][j]}" if j < i else "" for j in range(len(between))] for i in range(len(between))]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def near_and_far(cores: int, below: int) -> list[list[float]]:
    return [[25.0 if i // below == j // below else 110.0 + i for j in range(cores)] for i in range(cores)]


def test_caches_are_found_where_latencies_have_their_widest_gap(tmp_path: Path) -> None:
    latencies = read_latencies(write_matrix(tmp_path, near_and_far(6, 3)))
    caches = find_caches(latencies)
    assert caches == [[0, 1, 2], [3, 4, 5]]
    assert hand_over(latencies, caches) == [[25.0, 114.0], [114.0, 25.0]]


def test_a_machine_without_a_gap_is_one_cache(tmp_path: Path) -> None:
    flat = [[40.0 + abs(i - j) for j in range(5)] for i in range(5)]
    assert find_caches(read_latencies(write_matrix(tmp_path, flat))) == [[0, 1, 2, 3, 4]]


def test_a_second_thread_of_each_core_is_left_out(tmp_path: Path) -> None:
    cores = near_and_far(2, 1)
    both = [[8.0 if i % 2 == j % 2 else cores[i % 2][j % 2] for j in range(4)] for i in range(4)]
    assert read_latencies(write_matrix(tmp_path, both), threads=2).cores == 2


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(",\n1\n", encoding="utf-8")
    with pytest.raises(UserError, match="square"):
        read_latencies(path)
    path.write_text(",\nfast,\n", encoding="utf-8")
    with pytest.raises(UserError, match="fast"):
        read_latencies(path)


def test_every_platform_says_where_it_comes_from_and_plays_a_barrier() -> None:
    for name in platform_names():
        text = read_platform(name)
        assert "MIT licence" in json.loads(text)["source"]
        assert simulate_inside(InsideRequest(text, "barrier", 0, ranks=16)).microseconds > 0


def test_simulate_shows_ours_beside_peers_and_draws_it(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "who-waits.svg"
    node = ("simulate", "bcast", "--bytes", "16K", "--node-platform", "epyc-7773x", "--ranks", "16")
    shown = command(*node, "--gantt", str(picture))
    assert shown.code == 0, shown.err
    assert "simulated, peers in shape only" in shown.out
    assert "<svg" in picture.read_text(encoding="utf-8")
    arms = json.loads(command(*node, "--json").out)["arms"]
    assert [arm["name"] for arm in arms] == ["ours", "flat", "tuned", "xhc", "acoll"]


def test_what_a_platform_does_not_have_is_said(command: Command) -> None:
    outcome = command("simulate", "bcast", "--node-platform", "abacus")
    assert outcome.code == 2
    assert "no node platform abacus" in outcome.err
    outcome = command("simulate", "bcast", "--node-platform", "graviton3", "--ranks", "65")
    assert outcome.code == 2
    assert "65 ranks on 64 cores" in outcome.err
