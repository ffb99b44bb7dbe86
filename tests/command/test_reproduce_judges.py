"""Verdicts on made-up data: what holds, what holds in part, what does not, what was not measured."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.base.errors import UserError
from espalier.measure.worker import ArmTimes, WorkerLostError
from espalier.papers import measuring
from espalier.papers.figure import Kind, Point, Task, Where
from espalier.papers.groups import judges as groups_judges
from espalier.papers.judging import Ratio, Share, Unjudged, split, weigh
from espalier.papers.measuring import Arm, Effort, Part, Place, under_each_mpi
from espalier.papers.smp import figures as smp
from espalier.papers.smp import judges as smp_judges
from made_up import made_up

K = 1 << 10


def test_every_point_is_judged_and_those_that_are_against_it_are_named() -> None:
    found = [Ratio("one", 4, 2.0), Ratio("one", 65536, 0.9), Ratio("two", 4, 1.5)]
    verdict = split(found, lambda it: it.value > 1, "faster")
    assert verdict.kind is Kind.CONDITIONAL
    assert str(verdict).startswith("Holds at 2 of 3 points: faster at 2 of 3 points (0.90 to 2.00 times)")
    assert "not at 64K in one" in verdict.because
    assert split(found[:1], lambda it: it.value > 1, "faster").kind is Kind.HOLDS
    assert split(found[1:2], lambda it: it.value > 1, "faster").kind is Kind.FAILS
    assert split([], lambda it: True, "faster").kind is Kind.OPEN


def test_a_statement_fails_where_fewer_than_half_of_its_points_hold() -> None:
    assert weigh([("a", True), ("b", False)]).kind is Kind.CONDITIONAL
    fails = weigh([("a", True), ("b", False), ("c", False)], hypothesis="all are")
    assert fails.kind is Kind.FAILS
    assert str(fails) == "Fails: holds at 1 of 3 points; 1 of 3 points are as the paper says."
    assert fails.hypothesis == "all are"


def test_claims_are_weighed_by_their_points() -> None:
    assert weigh([("a", True), ("b", True)]).kind is Kind.HOLDS
    verdict = weigh([("b", Share(1, 8)), ("a", True), ("c", Share(5, 6))])
    assert verdict.points == (7, 15)
    assert verdict.parts == ("yes: a", "1 of 8: b", "5 of 6: c")
    assert weigh([("a", True), ("b", None)]).kind is Kind.HOLDS
    assert weigh([("a", None)]).kind is Kind.OPEN


def test_what_cannot_be_judged_is_told_and_does_not_count() -> None:
    verdict = weigh([("a", Unjudged("noise")), ("b", False)])
    assert verdict.points == (0, 1)
    assert verdict.parts == ("no: b", "not judged: a (noise)")
    assert weigh([("a", Unjudged("noise"))]).kind is Kind.OPEN


def test_access_is_judged_where_every_rank_has_a_core() -> None:
    wins = made_up({"mpich": {"stages": {2: 4, 8: 20}, "one group": {2: 3, 8: 5}}})
    verdict = smp_judges.judge_access(wins)
    assert verdict.kind is Kind.HOLDS
    assert verdict.points == (1, 1)
    assert any("8 ranks: 4.00×) (more ranks than cores" in part for part in verdict.parts)
    noise = made_up({"mpich": {"stages": {2: 3.3, 8: 20}, "one group": {2: 3, 8: 5}}})
    assert smp_judges.judge_access(noise).kind is Kind.FAILS


def test_copying_holds_when_middling_buffers_are_within_noise_of_the_best() -> None:
    best = {4 * K: 10.0, 16 * K: 11.0, 64 * K: 9.8}
    assert smp_judges.judge_copy(made_up({"m": {"8M": dict(best)}})).kind is Kind.HOLDS
    worse = {4 * K: 20.0, 16 * K: 18.0, 64 * K: 9.8}
    assert smp_judges.judge_copy(made_up({"m": {"8M": dict(worse)}})).kind is Kind.FAILS


def test_pipelines_hold_when_sixteen_of_8_kb_beat_all_and_tuning_turns_a_loss_into_a_gain() -> None:
    depths = {"8K cells": {2: 9.0, 16: 5.0}, "16K cells": {2: 8.0, 16: 6.0}}
    sizes = {"native": {4: 2.0, K: 10.0}, "untuned": {4: 3.0, K: 8.0}, "tuned": {4: 1.0, K: 6.0}}
    it = {"m, 1 × 2, 1M, by number of cells": depths, "m, 1 × 2": sizes}
    verdict = smp_judges.judge_pipeline(made_up(it))
    assert verdict.kind is Kind.HOLDS
    assert "yes: 2 buffers of 8K lose to 2 of 16K (m, 1 × 2, 1M: 1.12×)" in verdict.parts
    shallow = {"m, 1 × 2, 1M, by number of cells": {"8K cells": {2: 5.0, 16: 9.0}, "16K cells": {2: 5.0}}}
    assert smp_judges.judge_pipeline(made_up(shallow)).kind is Kind.FAILS


def test_a_broadcast_holds_when_every_size_saves_a_third() -> None:
    assert smp_judges.judge_broadcast(made_up({"m, 1 × 2": {"native": {4: 3}, "Espalier": {4: 1}}})).kind is Kind.HOLDS
    half = made_up({"m, 1 × 2": {"native": {4: 3, K: 3}, "Espalier": {4: 1, K: 2.9}}})
    verdict = smp_judges.judge_broadcast(half)
    assert verdict.kind is Kind.CONDITIONAL
    assert "more than 50 % at 1 of 2 points up to 1K" in verdict.because


def test_a_scatter_counts_all_ranks_blocks_together() -> None:
    one = {"native": {16 * K: 10, 64 * K: 10}, "Espalier": {16 * K: 5, 64 * K: 12}}
    assert smp_judges.judge_scatter(made_up({"m, 1 × 8": one})).points == (1, 1)  # 64K of each of 8 is beyond 128K
    assert smp_judges.judge_scatter(made_up({"m, 1 × 2": one})).points == (1, 2)
    far = smp_judges.judge_scatter(made_up({"m, 4 × 4": {"native": {4: 10}, "Espalier": {4: 5}}}))
    assert far.kind is Kind.HOLDS
    assert "not measured: 40 % less time up to 128 KB in all on one node" in far.parts
    several = made_up({"m, 1 × 8": one, "m, 4 × 4": {"native": {4: 10}, "Espalier": {4: 9}}})
    assert smp_judges.judge_scatter(several).kind is Kind.CONDITIONAL


def test_an_all_to_all_is_judged_up_to_4_kb_and_not_by_what_native_loses() -> None:
    it = {"native": {K: 2, 64 * K: 5}, "cells": {K: 1, 64 * K: 4}}
    verdict = smp_judges.judge_alltoall(made_up({"m, 1 × 2": it}))
    assert verdict.kind is Kind.HOLDS
    assert any("cells at worst 1.25×) (beating native is no failure)" in part for part in verdict.parts)
    it["cells"][K] = 1.8
    assert smp_judges.judge_alltoall(made_up({"m, 1 × 2": it})).kind is Kind.FAILS, "1.1 times is noise"


def test_two_stages_are_judged_alone_and_among_all_but_not_between_jobs() -> None:
    alone = {"native": {K: 6}, "two stages, all ranks": {K: 4}}
    crowded = {"native": {K: 5}, "two stages, all ranks": {K: 9}, "binomial": {K: 4}, "on leaders": {K: 2}}
    verdict = smp_judges.judge_two_stage(made_up({"m, 4 × 1": alone, "m, 4 × 4": crowded}))
    assert verdict.kind is Kind.HOLDS
    assert verdict.points == (2, 2)
    assert sum("in a job of its own" in part for part in verdict.parts) == 2
    alone["two stages, all ranks"] = {K: 5}
    assert smp_judges.judge_two_stage(made_up({"m, 4 × 1": alone, "m, 4 × 4": crowded})).kind is Kind.CONDITIONAL
    del crowded["on leaders"]
    assert "not measured: " in " ".join(smp_judges.judge_two_stage(made_up({"m, 4 × 4": crowded})).parts)


def test_the_table_holds_only_number_for_number() -> None:
    same = {"connections": {"the paper": {"ring": 1.0}, "counted": {"ring": 1.0}}}
    assert groups_judges.judge_table(made_up(same)).kind is Kind.HOLDS
    same["connections"]["counted"]["ring"] = 2.0
    verdict = groups_judges.judge_table(made_up(same))
    assert verdict.kind is Kind.FAILS
    assert "connections of ring: 2, not 1" in verdict.because


def test_bandwidth_holds_when_groups_gain_what_the_paper_says_and_lose_for_large_blocks() -> None:
    rates = {"1 ring": {K: 10.0, 64 * K: 100.0}, "1 direct": {K: 18.0, 64 * K: 90.0}}
    rates |= {f"{groups} direct": {K: 27.0, 64 * K: 80.0} for groups in (2, 3, 4)}
    assert groups_judges.judge_bandwidth(made_up({"m": rates})).kind is Kind.HOLDS
    rates["1 direct"] = {K: 12.0, 64 * K: 90.0}
    verdict = groups_judges.judge_bandwidth(made_up({"m": rates}))
    assert verdict.kind is Kind.CONDITIONAL
    assert "no: below 64 KB up to 1.2× the ring, the paper 1.8× (1 group, m)" in verdict.parts


def test_short_blocks_between_emulated_nodes_are_told_and_not_judged() -> None:
    rates = {"1 ring": {K: 0.009, 64 * K: 100.0}, "4 direct": {K: 0.081, 64 * K: 110.0}}
    verdict = groups_judges.judge_bandwidth(made_up({"m": rates}, Where.EMULATED))
    assert verdict.kind is Kind.FAILS
    assert verdict.points == (0, 1)
    assert any(part.startswith("not judged: below 64 KB up to 9.0× the ring") for part in verdict.parts)


def test_the_abstracts_gains_over_native_are_judged_where_networks_are_what_ranks_wait_for() -> None:
    panels = {"a": {**FAMILY, "native": {4: 3.0, K: 10.0, 16 * K: 140.0}}}
    real = groups_judges.judge_family(made_up(panels))
    assert "yes: gather-based at 4 against native: 3.0×, the paper 3.1× (a)" in real.parts
    emulated = groups_judges.judge_family(made_up(panels, Where.EMULATED))
    assert any(part.startswith("not judged: gather-based at 4 against native") for part in emulated.parts)


FAMILY = {
    "gather-based, 4 groups": {4: 1.0, K: 9.0, 16 * K: 90.0},
    "1 group": {4: 2.0, K: 8.0, 16 * K: 80.0},
    "2 groups": {4: 3.0, K: 9.0, 16 * K: 70.0},
}


def test_the_family_holds_when_each_is_best_in_its_range() -> None:
    assert groups_judges.judge_family(made_up({"p": FAMILY})).kind is Kind.HOLDS
    swapped = {"1 group": FAMILY["2 groups"], "2 groups": FAMILY["1 group"]}
    assert groups_judges.judge_family(made_up({"p": swapped})).kind is Kind.FAILS


def test_the_family_meets_the_best_native_of_all_mpis_and_the_one_beside_it() -> None:
    panels = {
        "a": {**FAMILY, "native": {16 * K: 140.0}, "Espalier": {16 * K: 100.0}},
        "b": {"1 group": {16 * K: 100.0}, "native": {16 * K: 95.0}, "Espalier": {16 * K: 100.0}},
    }
    told = groups_judges.judge_family(made_up(panels)).because
    assert "the best member is 1.36 to 1.36× as fast as the best native of all MPIs" in told
    assert "the best member is at least 0.95×, Espalier's pick at least 0.95×" in told


def test_lean_forms_do_not_count_as_the_papers() -> None:
    lean = {**FAMILY, "2 groups, lean": {4: 0.5, K: 0.5, 16 * K: 0.5}}
    verdict = groups_judges.judge_family(made_up({"p": lean}))
    assert verdict.kind is Kind.HOLDS
    assert "our lean forms, not the paper's, beat all at 3 points" in verdict.because


def test_the_median_round_counts_and_a_refusal_keeps_its_reason() -> None:
    worker: Any = SimpleNamespace(
        measure=lambda *_: [
            ArmTimes("native", "", "", 9, (2.0, 1.0, 18.0)),
            ArmTimes("ring", "", "too large", 0, ()),
        ]
    )
    arms = measuring.time_choices(worker, "allgather", 64, ["native", "ring"], Effort(3, 40))
    assert arms["native"].point("p", "c", 64) == Point("p", "c", 64, 2.0, 1.0, 18.0)
    assert arms["ring"] == Arm((), "too large")


def test_a_job_that_is_lost_is_an_error_with_its_last_command(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def lost(*_: Any) -> Any:
        raise WorkerLostError("the job ended during: curve copy")
        yield

    monkeypatch.setattr(measuring, "Worker", lost)
    mpi: Any = "mpich 5"
    with pytest.raises(UserError, match="curve copy"), measuring.choice_job(mpi, Place(1, 2), {}):
        pass


def test_one_mpi_that_fails_is_a_note_and_all_that_fail_an_error() -> None:
    mpis: Any = ["mpich 5", "intel 2021"]

    def part(mpi: Any) -> Part:
        if mpi == "intel 2021":
            raise UserError("no launcher")
        return Part([Point.exact("p", "c", 1, 1)])

    together = under_each_mpi(Task(mpis=mpis), Where.REAL, ["first"], part)
    assert len(together.points) == 1
    assert list(together.notes) == ["first", "intel 2021: no launcher"]
    with pytest.raises(UserError, match="no launcher"):
        under_each_mpi(Task(mpis=mpis[1:]), Where.REAL, [], part)


def test_an_arm_that_can_not_serve_a_size_is_told_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {
        4: {"native": Arm((2.0,)), "ring": Arm((1.0,))},
        64: {"native": Arm((3.0,)), "ring": Arm((), "too large")},
    }

    @contextmanager
    def job(*_: Any) -> Any:
        yield None

    monkeypatch.setattr(smp, "choice_job", job)
    monkeypatch.setattr(smp, "time_choices", lambda _w, _op, size, _c, _e: times[size])
    bench: Any = smp.Bench("mpich 5", [2], Place(2, 2), Effort(3, 40), [4, 64])
    part = smp._side_by_side(bench, Place(1, 2), "allgather", {"native": "native", "a ring": "ring"}, {})
    assert [(it.curve, it.x, it.value) for it in part.points] == [
        ("native", 4, 2.0),
        ("native", 64, 3.0),
        ("a ring", 4, 1.0),
    ]
    assert list(part.notes) == ["mpich 5, 1 × 2, a ring (ring): too large"]
