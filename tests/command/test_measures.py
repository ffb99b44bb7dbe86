"""The measures' arithmetic: against whom, from where to where, and what counts as reached."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType

import pytest

from benches import load
from espalier.base.errors import UserError
from espalier.jobs.mpis import Abi, Family, Mpi
from espalier.measure.paired import Plan, Row, Sample


@pytest.fixture
def measures() -> Iterator[ModuleType]:
    yield load("measures")
    del sys.modules["measures"]


@pytest.fixture
def measures_page(measures: ModuleType) -> Iterator[ModuleType]:
    load("embedding")
    load("measured_picture")
    yield load("measures_page")
    del sys.modules["measures_page"], sys.modules["embedding"], sys.modules["measured_picture"]


def row(mpi: str, native: float, own: float, op: str = "bcast", size: int = 64, line_ns: float = 0) -> Row:
    return Row(op, size, 2, 1, mpi, native, own, native / own, 1, 1, 1, 1, "tiny", line_ns)


def goal(measures: ModuleType):
    return measures.Goal(4, 65536, 1.3)


def test_ours_on_its_best_mpi_meets_the_best_native_of_all(measures: ModuleType) -> None:
    (verdict,) = measures.judge([row("mpich 5", 4.0, 1.0), row("openmpi 5", 2.0, 1.6)], goal(measures))
    assert (verdict.mpi, verdict.mean, verdict.lowest) == ("mpich 5", pytest.approx(2.0), 2.0)
    assert verdict.is_reached


def test_native_that_is_kept_misses_no_goal_of_being_as_fast_by_its_noise(measures: ModuleType) -> None:
    kept = replace(row("mpich 5", 0.99, 1.0), choice="native: native was selected")
    no_slower = measures.Goal(4, 65536, 1.0)
    assert [str(it) for it in measures.judge([kept], no_slower)] == ["as native"]
    assert [str(it) for it in measures.judge([replace(kept, choice="knomial")], no_slower)] == ["missed"]
    assert [str(it) for it in measures.judge([kept], goal(measures))] == ["missed"]
    assert [str(it) for it in measures.judge([replace(kept, espalier_p50_us=1.04)], no_slower)] == ["missed"]


def test_sizes_beyond_the_goals_count_only_against_the_own_native(measures: ModuleType) -> None:
    rows = [row("mpich 5", 3.0, 1.0), row("mpich 5", 100.0, 125.0, size=1 << 20)]
    (verdict,) = measures.judge(rows, goal(measures))
    assert (verdict.mean, verdict.lowest) == (pytest.approx(3.0), 3.0)
    assert (verdict.harm, verdict.harm_at) == (0.8, "1M on mpich 5")
    assert not verdict.is_reached


def test_one_size_below_the_floor_misses_the_goal(measures: ModuleType) -> None:
    (verdict,) = measures.judge([row("mpich 5", 9.0, 1.0), row("mpich 5", 0.9, 1.0, size=4096)], goal(measures))
    assert verdict.mean > 1.3
    assert (verdict.lowest, verdict.lowest_at) == (0.9, 4096)
    assert not verdict.is_reached


def test_a_barrier_has_one_size(measures: ModuleType) -> None:
    (verdict,) = measures.judge([row("mpich 5", 2.0, 1.0, op="barrier", size=0)], goal(measures))
    assert verdict.is_reached


def test_the_wires_floor_is_the_slowest_links(measures: ModuleType) -> None:
    assert measures.floor_us(1 << 20, ["200mbit", "100mbit"]) == pytest.approx(83886.08)
    assert measures.floor_us(1000, ["1gbit"]) == pytest.approx(8)


def test_with_many_ranks_the_mean_counts_over_all_operations_and_the_floor_for_each(measures: ModuleType) -> None:
    rows = [row("mpich 5", 1.2, 1.0), row("mpich 5", 3.0, 1.0, op="reduce"), row("mpich 5", 0.9, 1.0, op="scan")]
    verdicts = measures.judge(rows, measures.Place(8).goal)
    assert [it.is_reached for it in verdicts] == [True, True, False]
    assert measures.mean_of_all(verdicts) == pytest.approx((1.2 * 3.0 * 0.9) ** (1 / 3))


def test_drift_is_how_native_changed_from_tuning_to_measuring(measures: ModuleType, tmp_path) -> None:
    table = tmp_path / "t.json"
    tuned = [("broadcast", 64, 2.0), ("broadcast", 256, 4.0), ("reduce", 64, 1.0), ("scan", 64, 1.0)]
    rows = [{"operation": op, "measured": {"bytes": size, "native_us": us}} for op, size, us in tuned]
    table.write_text(json.dumps({"rows": [*rows, {**rows[0], "form": "uneven"}]}))
    measured = [row("m", 3.0, 1.0), row("m", 8.0, 1.0, size=256), row("m", 1.0, 1.0, op="reduce")]
    assert measures.drift(table, measured) == 1.5
    assert measures.drift(table, []) == 1.0


def test_what_was_measured_at_one_distance_is_judged_apart_if_all_mpis_were(measures: ModuleType) -> None:
    near = [row("mpich 5", 4.0, 1.0, line_ns=100), row("openmpi 5", 2.0, 1.0, line_ns=110)]
    far = [row("mpich 5", 9.0, 3.0, line_ns=500), row("openmpi 5", 6.0, 4.0, line_ns=520)]
    lone = row("mpich 5", 1.0, 9.0, size=4096, line_ns=100), row("openmpi 5", 1.0, 9.0, size=4096, line_ns=500)
    parts = measures.comparable([*far, *near, *lone])
    assert parts == [near, far]
    assert [measures.describe_distance(part) for part in parts] == ["cores 105 ns apart", "cores 510 ns apart"]
    assert [measures.judge(part, goal(measures))[0].mean for part in parts] == [2.0, 2.0]


def test_rounds_go_on_until_every_mpi_met_each_problem_at_each_usual_distance(measures: ModuleType) -> None:
    def sample(op: str, trip: float) -> Sample:
        return Sample(op, 64, 0, 2, 1, 4.0, 2.0, 4.0, "tiny", trip)

    both = [sample("bcast", 100), sample("scan", 100), sample("bcast", 500), sample("scan", 500)]
    assert not measures.has_gaps([both, both])
    assert measures.has_gaps([both, both[:3]])
    assert not measures.has_gaps([both * 5, [*both * 5, sample("bcast", 1500)]]), "one accident is no usual distance"


def test_rounds_go_on_where_native_was_kept_and_disagrees_with_itself(measures: ModuleType) -> None:
    kept = replace(row("mpich 5", 0.9, 1.0), choice="native: native was selected")
    assert measures.is_in_doubt(replace(kept, control_max=1.6))
    assert not measures.is_in_doubt(kept), "passing a call on costs something, and native was always as fast"
    assert not measures.is_in_doubt(replace(kept, ratio_median=1.0, control_max=1.6)), "the median is what it should be"
    assert not measures.is_in_doubt(replace(kept, choice="ring", control_max=1.6)), "ours may be slower in truth"

    def sample(control: float) -> Sample:
        return Sample("bcast", 64, 0, 2, 1, 4.0, 4.4, control, "native: native was selected", 100)

    assert measures.needs_more({"mpich 5": [sample(1.6)]})
    assert not measures.needs_more({"mpich 5": [sample(1.0)]})


def test_the_page_has_a_section_for_each_distance(measures_page: ModuleType) -> None:
    rows = [row("mpich 5", 4.0, 1.0, line_ns=100), row("mpich 5", 4.0, 2.0, line_ns=500)]
    text = measures_page.page({"2-ranks": rows}, "Measured somewhere.")
    assert text.index("### Cores 100 ns apart") < text.index("| bcast | 4.0 |") < text.index("### Cores 500 ns apart")
    assert "| bcast | 2.0 |" in text


def test_the_page_says_beside_how_many_cases_other_programs_were_busy(measures_page: ModuleType) -> None:
    quiet, busy = row("mpich 5", 4.0, 1.0), replace(row("mpich 5", 4.0, 1.0, size=256), disturbed=True)
    assert "busy beside 1 of them" in measures_page.page({"2-ranks": [quiet, busy]}, "")
    assert "Other programs" not in measures_page.page({"2-ranks": [quiet]}, "")


def test_the_page_shows_each_mpi_against_its_own_native_and_marks_harm(measures_page: ModuleType) -> None:
    rows = [row("intel 2021", 3.0, 1.0), row("mpich 5", 0.8, 1.0), row("mpich 5", 2.0, 1.0, op="barrier", size=0)]
    text = measures_page.page({"2-ranks": rows}, "Measured somewhere.")
    assert "## 2 ranks" in text
    assert "| bcast | 3.0 / **0.80** |" in text
    assert "Barriers: 2.0." in text
    assert "1 of 2 operations reach it" in text


def test_the_page_puts_the_emulated_cluster_last_and_compares_with_the_wire(
    measures_page: ModuleType, tmp_path
) -> None:
    for place in ("lab-4-per-node", "16-ranks", "2-ranks"):
        write_rows(tmp_path / f"mpich-5.0.2-{place}.rows.json", [row("mpich 5.0.2", 90e3, 50e3, size=1 << 20)])
    places = measures_page.load(tmp_path)
    assert list(places) == ["2-ranks", "16-ranks", "lab-4-per-node"]
    assert "1.19 times the wire's floor of 41.9 ms" in measures_page.page(places, "")


def test_a_page_of_nothing_says_how_to_measure(measures_page: ModuleType, tmp_path) -> None:
    with pytest.raises(UserError, match="holds no results"):
        measures_page.load(tmp_path)


def test_the_summary_goes_between_its_marks_only(measures_page: ModuleType, tmp_path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"above\n{measures_page.BEGIN}old\n{measures_page.END}\nbelow\n")
    summary = measures_page.summary({"2-ranks": [row("mpich 5", 3.0, 1.0), row("mpich 5", 12.0, 1.0)]})
    measures_page.embed(summary, file, measures_page.BEGIN, measures_page.END)
    text = file.read_text()
    assert "| bcast | 6.00 |" in text
    assert "old" not in text
    assert text.startswith("above\n")
    assert text.endswith("\nbelow\n")
    file.write_text("no marks")
    with pytest.raises(UserError, match="no place for this"):
        measures_page.embed("", file, measures_page.BEGIN, measures_page.END)


def write_rows(file: Path, rows: list[Row]) -> None:
    file.write_text(json.dumps([asdict(it) for it in rows]))


def test_mpis_take_their_rounds_in_turn_and_a_run_goes_on_where_it_was_cut(
    measures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def run(mpi: Mpi, plan: Plan, progress: object) -> list[Sample]:
        asked.append(str(mpi))
        return [Sample("bcast", 64, 0, 2, 1, 4.0, 2.0, 4.0, "tiny")]

    def tune(mpi: Mpi, place: object, effort: object, table: Path) -> None:
        table.write_text('{"rows": []}')

    monkeypatch.setattr(measures, "run_worker", run)
    monkeypatch.setattr(measures, "_tune", tune)
    one, other = (Mpi(family, "1", Abi.MPICH, Path(family.value), None, "") for family in (Family.MPICH, Family.INTEL))
    place, effort = measures.Place(2), measures.Effort("1m", 3, 40)
    (tmp_path / "mpich-1-2-ranks.round-0.json").write_text(json.dumps([asdict(run(one, None, None)[0])]))  # type: ignore[arg-type]
    asked.clear()

    rows = measures.tune_and_measure([one, other], place, effort, tmp_path)

    assert asked == [str(other), str(one), str(other), str(one), str(other)]
    assert [(row.mpi, row.ratio_median) for row in rows] == [(str(one), 2.0), (str(other), 2.0)]
    assert not list(tmp_path.glob("*.round-*")), "once condensed, rounds are not kept"
    assert measures.tune_and_measure([one, other], place, effort, tmp_path) == rows
    assert len(asked) == 5


def test_a_table_that_knows_one_distance_only_is_made_again_once(
    measures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned: list[bool] = []
    trips = iter([100.0, 500.0] * 20)

    def run(mpi: Mpi, plan: Plan, progress: object) -> list[Sample]:
        return [Sample("bcast", 64, 0, 2, 1, 4.0, 2.0, 4.0, "tiny", next(trips))]

    def tune(mpi: Mpi, place: object, effort: object, table: Path) -> None:
        tuned.append(table.exists())
        table.write_text('{"made": {"line_ns": [110]}, "rows": []}')

    monkeypatch.setattr(measures, "run_worker", run)
    monkeypatch.setattr(measures, "_tune", tune)
    mpi = Mpi(Family.MPICH, "1", Abi.MPICH, Path("mpich"), None, "")
    rows = measures.tune_and_measure([mpi], measures.Place(2), measures.Effort("1m", 2, 40), tmp_path)
    assert tuned == [False, True], "with the table that there is: the tuner waits for its distances, too"
    assert [row.line_ns for row in rows] == [100, 500]


def test_results_are_kept_until_there_are_others(
    measures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = iter([4.0, 40.0])  # native as it was while tuning, then of a machine that has become another one
    kept: list[bool] = []
    result = tmp_path / "mpich-1-2-ranks.rows.json"

    def run(mpi: Mpi, plan: Plan, progress: object) -> list[Sample]:
        kept.append(result.exists())
        return [Sample("bcast", 64, 0, 2, 1, next(native), 2.0, 4.0, "tiny")]

    def tune(mpi: Mpi, place: object, effort: object, table: Path) -> None:
        rows = [{"operation": "bcast", "measured": {"bytes": 64, "native_us": 40.0}}]
        table.write_text(json.dumps({"rows": rows}))

    monkeypatch.setattr(measures, "run_worker", run)
    monkeypatch.setattr(measures, "_tune", tune)
    mpi = Mpi(Family.MPICH, "1", Abi.MPICH, Path("mpich"), None, "")
    rows = measures.tune_and_measure([mpi], measures.Place(2), measures.Effort("1m", 1, 40), tmp_path)
    assert kept == [False, True]
    assert [row.native_p50_us for row in rows] == [40.0]


def test_a_table_is_finished_by_its_journal_only_where_a_run_was_cut(measures: ModuleType, tmp_path: Path) -> None:
    files = measures.Files(tmp_path / "some")
    files.journal.write_text("")
    assert measures.is_unfinished(files), "killed before it had a table"
    files.table.write_text("{}")
    os.utime(files.journal, (1, 1))
    assert not measures.is_unfinished(files), "its time was up: what there is counts"
    os.utime(files.table, (0, 0))
    assert measures.is_unfinished(files)


def test_a_round_beside_other_programs_is_run_again(
    measures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = iter([True, True, False])

    def run(mpi: Mpi, plan: Plan, progress: object) -> list[Sample]:
        return [Sample("bcast", 64, 0, 2, 1, 4.0, 2.0, 1.0, "tiny", disturbed=next(disturbed))]

    monkeypatch.setattr(measures, "run_worker", run)
    mpi = Mpi(Family.MPICH, "1", Abi.MPICH, Path("mpich"), None, "")
    files = measures.Files(tmp_path / "some")
    measures._measure_round(mpi, measures.Place(2), measures.Effort("1m", 1, 40), files, 0)
    assert [it["disturbed"] for it in json.loads(files.round(0).read_text())] == [False]


def test_a_table_that_says_no_distance_lacks_none(measures: ModuleType, tmp_path: Path) -> None:
    table = tmp_path / "t.json"
    table.write_text('{"rows": []}')
    assert not measures.lacks_some(table, [100.0, 500.0])


@pytest.fixture
def applications() -> Iterator[ModuleType]:
    yield load("applications")
    del sys.modules["applications"]


@pytest.mark.parametrize(
    ("rounds", "least", "verdict"),
    [(5, 1.1, "**1.20 (1.10 – 1.30)**"), (3, 1.1, "1.20 (1.10 – 1.30)"), (5, 0.9, "1.20 (0.90 – 1.30)")],
)
def test_a_program_stands_out_where_rounds_enough_agree(
    applications: ModuleType, rounds: int, least: float, verdict: str
) -> None:
    program = applications.Program("P", "nowhere", "nothing", ["p"])
    told = {"ranks": 2, "native_s": 1.0, "share": 9, "waiting": None, "most": [], "output": "identical", "load": 1}
    ratio = {"median": 1.2, "min": least, "max": 1.3, "decided": True}  # as rows of before say
    row = applications.row_of(program, {**told, "rounds": rounds, "ratio": ratio})
    assert f"| {verdict} |" in row
