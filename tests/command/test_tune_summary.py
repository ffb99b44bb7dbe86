"""What the search cost and how good its picks are: said on the terminal, on the page and as JSON."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.commands.tune.request import check_place
from espalier.draw.chart import Series, draw_lines
from espalier.draw.tuning_page import write_report
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.journal import Journal
from espalier.tuning.search.run import Options, Result
from espalier.tuning.session import Session
from espalier.tuning.verdict.summary import summarize
from tuning_bench import SimulatedWorker, a_machine


def tuned(tmp_path: Path) -> Result:
    """A broadcast whose fastest selection no race meets: it is two knobs away from where the search starts."""

    def time_of(operation: str, size: int, arm: str) -> float:
        return 10.0 if arm == "native" else 4.0 if arm.endswith("cell=128K,cells=2") else 5.0

    journal = Journal(tmp_path / "journal", {})
    worker = SimulatedWorker(time_of)
    session = Session(a_machine(2), lambda: worker, Options(samples=1), journal, time.monotonic() + 60)
    session.run([Problem("broadcast", 1 << 20)])
    return session.result


def page_of(result: Result, tmp_path: Path) -> str:
    page = tmp_path / "page.html"
    signature = load_core().Signature("a box", "an MPI")
    write_report(result, summarize(result, 1, 2, 1.0), signature, a_machine(2).shape, "mpich 5", page)
    return page.read_text()


def test_the_summary_says_how_many_runs_were_saved_and_how_far_the_pick_is_from_the_best(tmp_path: Path) -> None:
    result = tuned(tmp_path)
    summary = summarize(result, 1, 2, 1.0)
    assert 0 < summary.rounds_run < summary.rounds_exhaustive
    assert summary.worst_distance == 0.25
    text = "\n".join(summary.lines())
    assert f"{summary.rounds_run} runs; trying everything on the grid takes {summary.rounds_exhaustive}" in text
    assert f"{1 - summary.rounds_run / summary.rounds_exhaustive:.0%} saved" in text
    assert "25%" in text


def test_the_page_says_the_same_and_names_what_would_have_been_faster(tmp_path: Path) -> None:
    text = page_of(tuned(tmp_path), tmp_path)
    assert "Tuned for mpich 5: 2 ranks on 1 node" in text
    assert "saved" in text
    assert "cells=2 is the fastest, 25% faster than the pick" in text


def test_the_page_names_first_what_the_table_gains_most_on(tmp_path: Path) -> None:
    result = Result()
    ratios = {4: 1.3, 8: 2.0, 16: 1.1}
    result.untuned = [{"operation": "scan", "bytes": size, "ratio": ratio} for size, ratio in ratios.items()]
    text = page_of(result, tmp_path)
    assert "<li>scan 8: 2.00×</li><li>scan 4: 1.30×</li></ul>" in text
    assert "<details>" not in text


def test_the_page_folds_long_lists(tmp_path: Path) -> None:
    result = Result()
    result.remarks = [f"remark {number}" for number in range(20)]
    assert "<summary>20 of them</summary>" in page_of(result, tmp_path)


def test_where_nothing_was_faster_than_the_pick_the_summary_says_so(tmp_path: Path) -> None:
    best = replace(summarize(tuned(tmp_path), 1, 2, 1.0), worst_distance=0.0)
    assert "where everything was tried, nothing was faster than the pick" in best.lines()


def test_labels_of_sizes_that_lie_close_together_do_not_touch() -> None:
    sizes = [4, 16 << 10, 32 << 10, 64 << 10, 1 << 20]
    picture = draw_lines("", sizes, [Series("native", "native", [1.0] * 5)], ["1.2×"] * 5, str)
    assert ">16K<" in picture
    assert ">32K<" not in picture
    assert picture.count("1.2×") == 4


def test_a_table_below_a_file_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is no folder"):
        check_place(tmp_path / "file" / "table.json")
