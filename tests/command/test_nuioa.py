"""The simulation of far leaders: its flows share fairly, and it gives back what is known where the case is simple."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "papers"


@pytest.fixture
def nuioa(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    import nuioa

    yield nuioa
    for name in ("nuioa", "nuioa_chart"):
        sys.modules.pop(name)


def test_flows_share_what_is_full_and_take_the_rest(nuioa: Any) -> None:
    both, one, slow = ("wire a",), ("wire a", "wire b"), ("wire b",)
    flows = [nuioa.Flow(1, both), nuioa.Flow(1, one), nuioa.Flow(1, slow, 0.2)]
    assert nuioa.share(flows, memory=4.0) == pytest.approx([0.5, 0.5, 0.2])
    flows = [nuioa.Flow(1, one), nuioa.Flow(1, slow), nuioa.Flow(1, slow), nuioa.Flow(1, both)]
    assert nuioa.share(flows, memory=4.0) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3])


def test_flows_wait_for_those_before_them(nuioa: Any) -> None:
    first = nuioa.Flow(1, ("wire a",))
    assert nuioa.simulate([first, nuioa.Flow(2, ("wire b",), after=[first])], memory=4.0) == pytest.approx(3)


def test_one_rank_per_node_gains_what_the_far_memory_loses(nuioa: Any) -> None:
    gains = dict(zip(nuioa.SHARES, nuioa.gains(1, 1, 4.0), strict=True))
    assert gains[1.0] == pytest.approx(0, abs=1e-6)
    assert gains[0.667] == pytest.approx(50, abs=0.1)
    assert gains[0.5] == pytest.approx(100, abs=1e-6)


def test_a_tree_of_eight_nodes_takes_three_rounds_and_a_chain_a_little_more_than_one(nuioa: Any) -> None:
    assert nuioa.broadcast(nuioa.CARD, 1, 1, 1.0, 4.0) == pytest.approx(3)
    assert nuioa.broadcast(nuioa.CARD, 1, 16, 1.0, 4.0) == pytest.approx((16 + 6) / 16)


def test_more_work_inside_the_node_leaves_less_to_gain(nuioa: Any) -> None:
    alone, full = nuioa.gains(1, 1, 3.0), nuioa.gains(8, 1, 3.0)
    assert 0 < full[-1] < alone[-1]


def test_the_page_marks_where_the_papers_gains_lie(nuioa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["nuioa.py", "--output", str(tmp_path)])
    nuioa.main()
    page = (tmp_path / "nuioa.html").read_text()
    assert "the paper, one rank per core: 10 to 25 %" in page
    assert page.count("<polyline") == 5


def test_crossings_lie_between_the_points_around_them(nuioa: Any) -> None:
    from nuioa_chart import crossing

    assert crossing((1.0, 0.8, 0.5), (0.0, 20.0, 80.0), 50.0) == pytest.approx(0.65)
    assert crossing((1.0, 0.5), (4.0, 4.0), 10.0) is None
    gains = nuioa.gains(1, 1, 4.0)
    assert crossing(nuioa.SHARES, gains, 50.0) == pytest.approx(2 / 3, abs=0.001)
