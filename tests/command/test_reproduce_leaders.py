"""Far leaders on simulated nodes: simple cases give back what is known, judges read it right."""

from __future__ import annotations

import pytest

from espalier.papers.figure import Data, Kind, Task, Where
from espalier.papers.leaders import figures as leaders
from espalier.papers.leaders import judges
from espalier.papers.leaders.plans import BYTES, CARD, FAR, WIRE, Cluster, broadcast, broadcast_single, gather_single
from made_up import made_up

ONCE = BYTES / (1000 * WIRE)  # µs of one message on the wire


def test_a_tree_of_eight_nodes_takes_three_rounds_and_a_chain_a_little_more_than_one() -> None:
    alone = Cluster(8, 1, 1.0, 4.0)
    assert broadcast(alone, "knomial", "near") == pytest.approx(3 * ONCE, rel=0.03)
    assert broadcast(alone, "chain,segment=64K", "near") == pytest.approx((16 + 6) / 16 * ONCE, rel=0.1)


def test_one_rank_per_node_gains_what_the_far_memory_loses() -> None:
    for share_far in (1.0, 2 / 3, 0.5):
        it = Cluster(8, 1, share_far, 3.0)
        gain = broadcast(it, "knomial", "natural") / broadcast(it, "knomial", "near")
        assert gain == pytest.approx(1 / share_far, rel=0.02)


def test_a_far_root_does_not_slow_those_who_receive_near() -> None:
    it = Cluster(8, 1, 0.5, 3.0)
    assert broadcast_single(it, FAR, CARD) == pytest.approx(broadcast_single(it, CARD, CARD), rel=0.01)


def test_a_far_root_of_a_gather_takes_in_all_blocks_at_its_memorys_rate() -> None:
    it = Cluster(8, 1, 0.5, 3.0)
    assert gather_single(it, CARD, FAR) == pytest.approx(7 * ONCE, rel=0.03)
    assert gather_single(it, FAR, CARD) == pytest.approx(14 * ONCE, rel=0.03)


def test_more_work_inside_the_node_leaves_less_to_gain() -> None:
    def gain(per_node: int) -> float:
        it = Cluster(8, per_node, 0.5, 3.0)
        return broadcast(it, "knomial", "natural") / broadcast(it, "knomial", "near")

    assert gain(1) > gain(8) > 1


def test_a_chain_that_enters_nodes_beside_their_cards_is_faster() -> None:
    it = Cluster(4, 8, 0.5, 4.0)
    assert broadcast(it, "threaded,segment=64K", "near") < broadcast(it, "threaded,segment=64K", "natural")


def gains(curves: dict[str, list[float]], shares: tuple[float, ...] = (1.0, 0.667, 0.5)) -> Data:
    placed = {curve: dict(zip(shares, values, strict=True)) for curve, values in curves.items()}
    return made_up({"p": placed}, Where.SIMULATED)


def test_crossings_lie_between_the_points_around_them() -> None:
    data = gains({"a": [0.0, 20.0, 80.0]}, (1.0, 0.8, 0.5))
    assert judges.crossing(data, "p", "a", 50.0) == pytest.approx(0.65)
    assert judges.crossing(data, "p", "a", 90.0) is None


def test_direction_is_a_model_s_word_at_best() -> None:
    judge = judges.judge_direction("near", "other", 25, 30)
    verdict = judge(gains({"near": [0, 50, 100], "other": [0, 0, 0]}))
    assert verdict.kind is Kind.OPEN
    assert "put in, not found" in verdict.because
    assert judge(gains({"near": [0, 5, 10], "other": [0, 0, 0]})).kind is Kind.FAILS


def test_algorithms_hold_when_all_lie_in_the_band_and_not_when_none_does() -> None:
    assert judges.judge_algorithms(gains({"a": [0, 12, 30], "b": [0, 24, 40]})).kind is Kind.HOLDS
    assert judges.judge_algorithms(gains({"a": [0, 12, 30], "b": [0, 26, 40]})).kind is Kind.CONDITIONAL
    assert judges.judge_algorithms(gains({"a": [0, 2, 30]})).kind is Kind.FAILS
    assert judges.judge_algorithms(gains({"a": [0, 2]}, (1.0, 0.5))).kind is Kind.OPEN


def test_trends_need_the_direction_to_hold_partly_and_the_amounts_to_hold() -> None:
    judge = judges.judge_trend(("two", "four"), 2, 10)
    assert judge(gains({"two": [0, 3, 9], "four": [0, 11, 20]})).kind is Kind.HOLDS
    assert judge(gains({"two": [0, 14, 30], "four": [0, 26, 50]})).kind is Kind.CONDITIONAL
    assert judge(gains({"two": [0, 14, 30], "four": [0, 10, 50]})).kind is Kind.FAILS


def test_measured_gains_count_from_32_kilobytes_up() -> None:
    judge = judges.judge_measured("receiver", "sender")
    sizes = (4096.0, 32768.0, 1048576.0)
    assert judge(gains({"receiver": [1, 26, 30], "sender": [20, 1, 2]}, sizes)).kind is Kind.HOLDS
    assert judge(gains({"receiver": [1, 26, 30], "sender": [0, 1, 25]}, sizes)).kind is Kind.CONDITIONAL
    assert judge(gains({"receiver": [30, 2, 3], "sender": [0, 15, 25]}, sizes)).kind is Kind.FAILS


def test_a_sweep_has_every_curve_at_the_share_that_figure_5_fixes() -> None:
    (figure,) = (figure for figure in leaders.FIGURES if figure.id == "leaders/8")
    data = figure.ways[0].produce(Task(quick=True))
    assert judges.at(data, data.panels[0], "1 rank per node") == pytest.approx(50, abs=1.5)
    assert len(data.panels) == 2
