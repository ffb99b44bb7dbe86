"""The trees' figures: jobs laid onto networks as the paper's Table I says, and verdicts on made-up data."""

from __future__ import annotations

import pytest

from espalier.papers.figure import Data, Kind, Point, Where
from espalier.papers.trees import figures as trees
from espalier.papers.trees import judges as trees_judges
from espalier.papers.trees import setup as trees_setup
from made_up import made_up

K = 1 << 10


def test_jobs_lie_on_as_many_racks_as_the_papers_average_job() -> None:
    assert [trees.racks_of(hosts) for hosts in (1, 2, 28, 58, 106, 224, 4000)] == [2, 2, 22, 40, 58, 74, 74]
    job = trees.spread_job(58, 1.0, 1)
    assert len(set(job.hosts)) == 58
    assert len({host // 60 for host in job.hosts}) == 40 == job.leaves


def test_packed_jobs_fill_sixteen_hosts_of_each_rack() -> None:
    job = trees.packed_job(64, 1.0, 1)
    assert sorted(host // 60 for host in job.hosts) == [rack for rack in range(4) for _ in range(16)]
    assert list(job.hosts) != sorted(job.hosts)


def test_a_seed_is_a_placement() -> None:
    assert trees.spread_job(58, 1.0, 1) == trees.spread_job(58, 1.0, 1)
    assert trees.spread_job(58, 1.0, 1).hosts != trees.spread_job(58, 1.0, 2).hosts


@pytest.mark.parametrize("oversubscription", trees._OVERSUBSCRIPTIONS)
def test_cables_are_as_fast_as_cards_whatever_the_oversubscription(oversubscription: float) -> None:
    spines = int(trees.spread_job(8, oversubscription, 1).network.split("spines=")[1].split(",")[0])
    assert 60 / spines / oversubscription == pytest.approx(1)


def test_latencies_that_were_put_in_show_nothing() -> None:
    same = made_up({"p": {"the paper": {1: 1.57}, "simulated network": {1: 1.57}}})
    assert trees_judges.judge_latencies(same).kind is Kind.OPEN
    other = made_up({"p": {"the paper": {1: 1.57}, "simulated network": {1: 1.6}}})
    assert trees_judges.judge_latencies(other).kind is Kind.FAILS


def test_sizes_hold_when_the_gain_grows_to_14_per_cent_and_small_ones_gain_little() -> None:
    gains = {"Espalier's choice, few racks": {K: 1.0, 1 << 20: 15.0}, "breadth-first, few racks": {1 << 20: -2.0}}
    verdict = trees_judges.judge_sizes(made_up({"oversubscription 1": gains}))
    assert verdict.kind is Kind.HOLDS
    assert "breadth-first, few racks -2 to -2 %" in verdict.because, "the others are told"
    gains["Espalier's choice, few racks"][1 << 20] = 9.0
    verdict = trees_judges.judge_sizes(made_up({"oversubscription 1": gains}))
    assert verdict.headline == "Holds at 2 of 3 points"
    assert "no: 14 % are reached with 1 MB by a median over placements (9 % at most)" in verdict.parts


def test_placements_are_judged_apart_so_that_zeros_of_one_hide_no_trend_of_the_other() -> None:
    gains = {
        "Espalier's choice, Table I's racks": {K: 0.0, 1 << 20: 0.0},
        "Espalier's choice, few racks": {K: 8.0, 1 << 20: 0.1},
    }
    verdict = trees_judges.judge_sizes(made_up({"oversubscription 1": gains}))
    assert verdict.headline == "Fails: holds at 1 of 5 points"


def test_jobs_are_judged_from_1024_cores_on() -> None:
    gains = {"Espalier's choice": {128.0: 1.0, 1024.0: 14.0}}
    assert trees_judges.judge_jobs(made_up({"oversubscription 2": gains})).kind is Kind.HOLDS
    assert trees_judges.judge_jobs(made_up({"p": {"Espalier's choice": {128.0: 1.0}}})).kind is Kind.OPEN


def test_speeds_hold_when_twice_as_fast_never_slower_and_on_par_with_fast_cards() -> None:
    times = {
        trees_judges.UNAWARE: {K: 10.0, 64 * K: 100.0},
        trees_judges.AWARE: {K: 9.0, 64 * K: 50.0},
        trees_judges.HOMOGENEOUS: {K: 9.0, 64 * K: 40.0},
    }
    assert trees_judges.judge_speeds(made_up({"p": times})).kind is Kind.HOLDS
    times[trees_judges.AWARE][K] = 12.0
    verdict = trees_judges.judge_speeds(made_up({"p": times}))
    assert verdict.headline == "Fails: holds at 1 of 3 points"
    assert "no: never slower (p: at least 0.83×)" in verdict.parts


def test_an_applications_gain_takes_a_share_of_broadcasts_that_nobody_told() -> None:
    verdict = trees_judges.judge_joining(made_up({"256 processes": {"depth-first": {50.0: 8.0, 100.0: 16.0}}}))
    assert verdict.kind is Kind.OPEN
    assert "8 % take 50 % of the time in broadcasts" in verdict.parts[0]
    assert trees_judges.judge_joining(made_up({"p": {"depth-first": {100.0: 5.0}}})).kind is Kind.FAILS
    lucky = Data(Where.SIMULATED, [Point("p", "depth-first", 100.0, 1.0, 0.0, 20.0)])
    assert trees_judges.judge_joining(lucky).kind is Kind.FAILS, "the median counts"


PRINTED = """ leaders  classes         KB        ask      order  same root other root   (ms)
       8        8        0.9       0.40      0.014     0.0001      0.012
      32       16        3.2       1.00      0.100     0.0001      0.050
     256       16        4.1     300.00      0.090     0.0003      0.070
"""


def test_set_up_is_read_from_what_bench_setup_prints() -> None:
    data = Data(Where.REAL, trees_setup.parse_times(PRINTED))
    first, other, same = data.panels
    assert data.curve(first, "Espalier")[32].value == pytest.approx(1.1)
    assert data.curve(first, "the paper")[32].value == 115.5
    assert data.curve(other, "Espalier")[8].value == 0.012
    assert 256 not in data.curve(same, "the paper")


def test_set_up_holds_when_it_is_paid_once() -> None:
    data = Data(Where.REAL, trees_setup.parse_times(PRINTED))
    verdict = trees_judges.judge_setup(data)
    assert verdict.kind is Kind.HOLDS
    assert "28 to 105 times as quick as the paper's" in verdict.because
    dear = PRINTED.replace("0.050", "0.500")
    assert trees_judges.judge_setup(Data(Where.REAL, trees_setup.parse_times(dear))).kind is Kind.CONDITIONAL


def test_leaders_that_are_equally_far_apart_have_nothing_to_order() -> None:
    flat = PRINTED.replace("0.012", "0.000")
    verdict = trees_judges.judge_setup(Data(Where.REAL, trees_setup.parse_times(flat)))
    assert verdict.kind is Kind.HOLDS
    assert verdict.points == (3, 3)
    assert any(part.startswith("not judged: another root costs 0.0 %") for part in verdict.parts)


def test_figure_9_is_judged_at_its_largest_job() -> None:
    panels = {
        "128 processes, oversubscription 1": {"depth-first": {100.0: 1.0}},
        "256 processes, oversubscription 1": {"depth-first": {50.0: 2.0, 100.0: 4.0}},
    }
    verdict = trees_judges.judge_joining(made_up(panels))
    assert verdict.headline == "Fails: holds at 0 of 1 point"
    assert any("256 processes: broadcasts alone save 4.0 to 4.0 %" in part for part in verdict.parts)
