"""espalier demo: reading IMB-MPI1, comparing, the report page, and the program that it runs."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError
from espalier.demo import experiment, jobs, worker
from espalier.demo.comparison import BENCH, IMB, Answer, Comparison, Results
from espalier.demo.experiment import Case, list_cases, run_demo
from espalier.demo.imb import Line, parse_imb
from espalier.draw.chart import Series, draw_times
from espalier.draw.demo_page import write_report
from espalier.draw.overview import Dot, Lane, draw_overview
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import Family, Mpi
from espalier.measure.programs import Finished, count_calls

IMB_OUTPUT = """
#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         1.29         2.18         1.74
      1048576          100      1340.74      1354.05      1347.39

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 2
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         8.93         8.93         8.93


# All processes entering MPI_Finalize
"""

MPICH = Mpi(Family.MPICH, "5.0.2", Abi.MPICH, Path("/opt/lib/libmpi.so.12"), Path("/opt/bin/mpiexec"), "test")


def a_comparison(size: int = 4, native=(2.0, 4.0, 6.0), own=(1.0, 1.0, 2.0), what: str = "Bcast") -> Comparison:
    return Comparison(what, size, "mpich 5.0.2", 2, native, own)


def test_the_tables_of_imb_are_read() -> None:
    assert list(parse_imb(IMB_OUTPUT)) == [
        Line("Bcast", 4, 1.74),
        Line("Bcast", 1048576, 1347.39),
        Line("Barrier", 0, 8.93),
    ]


def test_what_is_no_table_is_passed_over() -> None:
    assert list(parse_imb("123 4.5\n# Benchmarking Bcast\nwords\n1048576 needs more memory than the limit.\n")) == []


def test_a_comparison_takes_its_ratios_round_by_round_and_the_first_apart() -> None:
    assert a_comparison().first_ratio == 2.0
    assert a_comparison().ratios == [4.0, 3.0]
    assert a_comparison().ratio == 3.5
    assert a_comparison(native=(2.0,), own=(1.0,)).ratios == [2.0]
    assert a_comparison().as_json()["ratio_max"] == 4.0


def test_calls_are_summed_over_operations() -> None:
    stats = {
        "MPI_Bcast": {"handled": 3, "native": 1, "reasons": {"one rank": 1}, "choices": {}},
        "MPI_Barrier": {"handled": 2, "native": 2, "reasons": {"one rank": 2}, "choices": {}},
    }
    assert count_calls(stats) == (5, 3, {"one rank": 3})


def test_the_arms_take_turns_at_going_first(monkeypatch, tmp_path: Path) -> None:
    order = []

    def fake(case: Case, scratch: Path, native: bool):
        order.append("native" if native else "own")
        return Finished(0, 1.0, "the same", ""), {("Bcast", 4): 1.0}

    monkeypatch.setattr(experiment, "_run_once", fake)
    run_demo([Case("trees (mpi4py)", MPICH, 2)], 3, tmp_path, lambda text: None)
    assert order == ["native", "own", "own", "native", "native", "own"]


def test_a_launcher_that_did_not_get_as_far_as_the_job_is_started_once_more(monkeypatch, tmp_path: Path) -> None:
    failed = Finished(213, 1.0, "", "The PMIx server's listener thread failed to start.\n----")
    ends = [failed, Finished(0, 1.0, "", "")]
    monkeypatch.setattr(jobs, "run_program", lambda *_: ends.pop(0))
    assert jobs.run_arm(MPICH, 2, ["trees"], tmp_path, native=True).code == 0


def test_a_different_answer_is_noticed(monkeypatch, tmp_path: Path) -> None:
    def fake(case: Case, scratch: Path, native: bool):
        return Finished(0, 1.0, "tree A" if native else "tree B", ""), {("trees", 0): 1.0}

    monkeypatch.setattr(experiment, "_run_once", fake)
    results = run_demo([Case("trees (mpi4py)", MPICH, 2)], 1, tmp_path, lambda text: None)
    assert results.answers[0].same_output is False


def test_a_case_that_fails_is_reported_and_the_others_go_on(monkeypatch, tmp_path: Path) -> None:
    def fake(case: Case, scratch: Path, native: bool):
        if case.ranks == 2:
            raise UserError("it crashed")
        return Finished(0, 1.0, "out", ""), {("Bcast", 4): 1.0}

    monkeypatch.setattr(experiment, "_run_once", fake)
    cases = [Case("IMB-MPI1", MPICH, ranks) for ranks in (2, 4)]
    results = run_demo(cases, 1, tmp_path, lambda text: None)
    assert results.skipped == ["it crashed"]
    assert [comparison.ranks for comparison in results.comparisons] == [4]


def test_without_mpi4py_what_bench_runs_is_compared(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    skipped: list[str] = []
    cases = list_cases([find_checkout() / "build" / "mpi" / "mpich"], [2], skipped)
    assert {case.program for case in cases} == {IMB, BENCH}
    assert [it for it in skipped if "pip install mpi4py numpy" in it] == [
        "trees (mpi4py): no mpi4py here; pip install mpi4py numpy, and applications run, too"
    ]
    results = run_demo([case for case in cases if case.program == BENCH], 2, tmp_path, lambda text: None)
    assert results.skipped == []
    assert {it.what for it in results.comparisons} == {f"bench: {it}" for it in worker.OPERATIONS}
    assert all(len(it.native) == len(it.espalier) == 2 for it in results.comparisons)
    (answer,) = results.answers
    assert answer.handled > 1000
    write_report(results, 2, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "bench, mpich" in page
    assert "IMB-MPI1" not in page


@pytest.fixture
def page(tmp_path: Path) -> str:
    comparisons = [a_comparison(4), a_comparison(1 << 20, (5.0,) * 3, (10.0,) * 3), a_comparison(0, what="Barrier")]
    answers = [
        Answer("IMB-MPI1", "mpich 5.0.2", 2, 1000, 3, {"<one> rank": 3}),
        Answer("trees", "mpich 5.0.2", 2, 500, 0, {}, True, "abcdef"),
    ]
    write_report(Results(comparisons, answers, ["intel & co could not run"]), 3, tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    return (tmp_path / "report.html").read_text()


def test_the_page_needs_nothing_from_outside(page: str) -> None:
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?:""", page)


def test_the_page_states_losses_and_reasons(page: str) -> None:
    assert re.search(r"Where Espalier lost</h2><ul><li>Bcast of 1M, 2 ranks, mpich 5.0.2: 0.50×", page)
    assert "&lt;one&gt; rank (3)" in page
    assert "intel &amp; co could not run" in page
    assert "abcdef" in page


def test_the_page_is_well_formed_and_fits_both_themes(page: str) -> None:
    body = page[page.index("<body>") : page.index("</html>")].replace("&nbsp;", " ")
    ElementTree.fromstring(body)
    assert "prefers-color-scheme: dark" in page


def test_the_page_begins_with_all_of_it_and_names_the_lowest(page: str) -> None:
    assert page.index("Espalier is ahead") < page.index("Where Espalier lost")
    assert re.search(r'class="name loss"[^>]*>lowest: 0.50×, Bcast of 1M<', page)
    assert "Bcast of 4: 3.50× having learned" in page
    assert "Bcast of 4: 2.00× in the first run" in page
    assert "IMB-MPI1, mpich 5.0.2, 2 ranks" in page


def test_lanes_are_of_programs_and_far_dots_stay_in_the_picture() -> None:
    lanes = [Lane("trees", [Dot("whole run", 0.01, 1.0)]), Lane("IMB-MPI1", [Dot("Bcast of 4", 5000.0, 2.0)])]
    picture = ElementTree.fromstring(draw_overview("title", lanes))
    (_, _, width, _) = map(float, picture.attrib["viewBox"].split())
    places = [float(it.attrib["cx"]) for it in picture.iter("circle")]
    assert all(0 <= place <= width for place in places)


def test_below_a_chart_the_foremost_size_has_its_mark_and_marks_do_not_touch() -> None:
    sizes = [4, 5, 6, 1 << 20]
    marks = [f'<tspan class="win">{it}.0×</tspan>' for it in range(4)]
    picture = draw_times("title", sizes, [Series("own", "own", [1.0, 1.0, 1.0, 2.0])], marks, foremost=1)
    told = re.findall(r">(\d\.0×)<", picture)
    assert sorted(told) == ["1.0×", "3.0×"]


def test_a_page_without_results_says_so(tmp_path: Path) -> None:
    write_report(Results(skipped=["nothing works"]), 1, tmp_path / "report.html")
    assert "Nothing could be measured" in (tmp_path / "report.html").read_text()


def test_a_chart_has_a_dot_for_every_value_inside_its_frame() -> None:
    sizes = [4, 1024, 1 << 20]
    series = [Series("native", "native", [0.3, 2.0, 99.0]), Series("Espalier", "own", [0.2, 1.0, 98.0])]
    chart = ElementTree.fromstring(draw_times("a <title>", sizes, series, ["1×", "2×", "3×"]))
    dots = [dot for dot in chart.iter() if dot.tag == "circle"]
    assert len(dots) == 6
    assert all(0 < float(dot.get("cx", -1)) < 440 and 0 < float(dot.get("cy", -1)) < 270 for dot in dots)


def test_a_chart_leaves_room_for_the_longest_name() -> None:
    chart = ElementTree.fromstring(draw_times("t", [4, 64], [Series("among all leaders", "own", [1.0, 2.0])], ["", ""]))
    width = float(chart.attrib["viewBox"].split()[2])
    (name,) = [it for it in chart.iter() if it.tag == "text" and it.text == "among all leaders"]
    assert float(name.attrib["x"]) + 7 * len("among all leaders") <= width + 4
