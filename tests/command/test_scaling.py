"""The scaling page's arithmetic: which points there are, who is ahead at them, and what is kept of a run cut short."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
NAMES = ("scaling_points", "scaling_page", "scaling", "embedding")
TREE = ("fat tree", 128, "broadcast", 65536)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The modules of bench/, which is no package."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield {name: importlib.import_module(name) for name in NAMES}
    for name in NAMES:
        del sys.modules[name]


def test_ours_is_compared_with_the_quickest_other_that_delivered_the_right_data(bench: dict[str, ModuleType]) -> None:
    row = bench["scaling_points"].Row
    rows = [
        row(*TREE, "espalier", 10.0, 0, "chain"),
        row(*TREE, "mpich", 30.0, 0, ""),
        row(*TREE, "ompi", 20.0, 0, ""),
        row(*TREE, "mvapich2", 5.0, 3, ""),
    ]
    (compared,) = bench["scaling_points"].compare(rows)
    assert compared.other == (20.0, "ompi")
    assert compared.ratio == 2.0


def test_a_played_time_is_ours_only_where_nothing_was_executed(bench: dict[str, ModuleType]) -> None:
    row = bench["scaling_points"].Row
    executed, played = row(*TREE, "espalier", 10.0, 0, "chain"), row(*TREE, "played", 11.0, 0, "chain")
    compare = bench["scaling_points"].compare
    assert [it.ours for it in compare([executed, played])] == [10.0]
    assert [it.ours for it in compare([played])] == [11.0]
    assert compare([played])[0].ratio is None


def test_what_was_run_again_takes_the_place_of_what_was_there(bench: dict[str, ModuleType], tmp_path: Path) -> None:
    points = bench["scaling_points"]
    file = tmp_path / "points.csv"
    for microseconds in (12.0, 10.0):
        points.append(file, [points.Row(*TREE, "espalier", microseconds, 0, "chain,segment=16K")])
    assert points.read(file, points.Row) == [points.Row(*TREE, "espalier", 10.0, 0, "chain,segment=16K")]
    points.rewrite(file, points.read(file, points.Row))
    assert len(file.read_text().splitlines()) == 2


def test_points_whose_buffers_do_not_fit_are_played_but_not_executed(bench: dict[str, ModuleType]) -> None:
    places = bench["scaling"].places
    block = [it.bytes for it in places(4096, "espalier") if (it.network, it.operation) == ("fat tree", "allgather")]
    assert block == [256]
    played = [it.bytes for it in places(4096, "played") if (it.network, it.operation) == ("fat tree", "allgather")]
    assert played == [256, 1 << 10, 16 << 10]


def test_an_alltoall_of_65536_ranks_is_played_on_crowded_nodes(bench: dict[str, ModuleType]) -> None:
    scaling = bench["scaling"]
    crowded = [it for it in scaling.places(65536, "played") if it.network.endswith(scaling.CROWDED)]
    assert {it.operation for it in crowded} == {"alltoall"}
    assert max(scaling.job_at(crowded[0]).node_of) == 1023
    assert not [it for it in scaling.places(65536, "binomial") if it.network.endswith(scaling.CROWDED)]


def test_an_alltoall_of_4096_ranks_is_executed_on_crowded_nodes_too(bench: dict[str, ModuleType]) -> None:
    scaling = bench["scaling"]
    for arm in ("espalier", "ompi", "played"):
        crowded = [it for it in scaling.places(4096, arm) if it.network.endswith(scaling.CROWDED)]
        assert [it.bytes for it in crowded] == [8, 8, 8]
        assert max(scaling.job_at(crowded[0]).node_of) == 63
    assert not [it for it in scaling.places(4096, "registry") if it.network.endswith(scaling.CROWDED)]


def test_the_registry_is_searched_through_every_exchange_but_no_segment_longer_than_the_message(
    bench: dict[str, ModuleType],
) -> None:
    variants = bench["scaling"].variants(bench["scaling"].Case("broadcast", 64 << 10))
    assert variants[0] == ""
    assert any("exchange=bruck" in it for it in variants)
    assert any("segment=16K" in it for it in variants)
    assert not any("segment=64K" in it for it in variants)
    assert len(variants) == len(set(variants))


def test_the_page_says_who_is_ahead_and_where_not(bench: dict[str, ModuleType]) -> None:
    row, cost = bench["scaling_points"].Row, bench["scaling_points"].Cost
    behind = ("dragonfly", 128, "alltoall", 4096)
    rows = [
        row(*TREE, "espalier", 10.0, 0, "chain"),
        row(*TREE, "mpich", 20.0, 0, ""),
        row(*behind, "espalier", 40.0, 0, "pairwise"),
        row(*behind, "ompi", 20.0, 0, ""),
    ]
    text = bench["scaling_page"].summarise(rows, [cost(*TREE, "impi", 601.2, 300, "did not end within 600 s")])
    assert "| all | 1 of 2 | **1.00** | 0.50 | 2.00 |" in text
    assert "| 64 KB or more for each rank | 1 of 2 |" in text  # 512 KB of an all-to-all
    assert "| alltoall | 128 | dragonfly | 4K | 40.0 | 20.0 (ompi) | 0.50 |" in text
    assert "Points that have no time of one of the four, and why" in text
    assert "| impi | broadcast | 128 | fat tree | 64K | did not end within 600 s |" in text
    assert "| ompi | broadcast | 128 | fat tree | 64K | not run |" in text
    assert "| mpich | broadcast" not in text
    assert "| impi | broadcast | 128 | fat tree | 64K | did not end within 600 s | 601 | 300 |" in text


def test_only_what_stands_between_the_marks_is_written_again(bench: dict[str, ModuleType], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- written by bench/scaling.py -->\nold\n<!-- end of what is written -->\nafter\n")
    marks = bench["scaling"].BEGIN, bench["scaling"].END
    bench["embedding"].embed("new\n", page, *marks)
    assert page.read_text() == (
        "before\n<!-- written by bench/scaling.py -->\nnew\n<!-- end of what is written -->\nafter\n"
    )
