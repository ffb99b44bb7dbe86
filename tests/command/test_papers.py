"""The papers' figures: what is measured becomes a page and JSON; what could not be measured is said."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.errors import UserError

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "papers"


@pytest.fixture
def papers(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of bench/papers, which are no package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import figures
    import jobs
    import smp

    yield SimpleNamespace(figures=figures, jobs=jobs, smp=smp)
    for name in ("figures", "jobs", "smp"):
        del sys.modules[name]


def an_answer(**times: float | str) -> str:
    """A line of the measuring job: arms with their times, or with why they were refused."""
    arms = [
        {"arm": name, "refused": value, "p50_us": []}
        if isinstance(value, str)
        else {"arm": name, "refused": "", "p50_us": [value, value, 9 * value]}
        for name, value in times.items()
    ]
    return json.dumps({"arms": arms}) + "\n"


def a_setup(papers: SimpleNamespace) -> Any:
    return papers.smp.Setup("mpich 5", [2], papers.jobs.Place(2, 2), papers.jobs.Effort(3, 40), [4, 64])


def test_a_page_needs_nothing_outside_itself_and_json_has_its_numbers(papers: SimpleNamespace, tmp_path: Path) -> None:
    it = papers.figures
    curves = [it.Curve("native", it.NATIVE, [2.0, 8.0]), it.Curve("Espalier", it.OWN, [1.0, 2.0])]
    figure = it.Figure(4, "Broadcast <here>", "faster", [it.Panel("1 × 2", "bytes", [4, 64], curves, ["a < b"])])
    page = it.write_figures("Title", "Source", ["remark"], [figure], tmp_path / "new").read_text()
    assert "<svg" in page
    assert "2.0×" in page
    assert "4.0×" in page
    assert "Broadcast &lt;here&gt;" in page
    assert "a &lt; b" in page
    assert "href" not in page
    assert "src=" not in page
    (told,) = json.loads((tmp_path / "new" / "smp.json").read_text())["figures"]
    assert [curve["values"] for curve in told["panels"][0]["curves"]] == [[2.0, 8.0], [1.0, 2.0]]
    assert not list((tmp_path / "new").glob("*.part"))


def test_a_choice_job_asks_by_the_line_and_passes_over_chatter(papers: SimpleNamespace) -> None:
    asks, answers = io.StringIO(), io.StringIO(f"[mpiexec] chatter\n{an_answer(native=2.0, ring='too large')}")
    arms = papers.jobs.ChoiceJob(asks, answers, papers.jobs.Effort(3, 40)).measure("allgather", 64, ["native", "ring"])
    assert asks.getvalue() == "measure allgather 64 3 4000 0 native;ring\n"
    assert arms["native"] == papers.jobs.Arm(2.0, "")
    assert arms["ring"] == papers.jobs.Arm(None, "too large")


def test_a_job_that_ends_early_is_an_error(papers: SimpleNamespace) -> None:
    with pytest.raises(UserError):
        papers.jobs.read_answer(io.StringIO("Abort(2) on node 0\n"))


def test_a_choice_that_can_not_serve_every_size_is_left_out_with_its_reason(
    papers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = io.StringIO(an_answer(native=2.0, ring=1.0) + an_answer(native=3.0, ring="too large"))

    @contextmanager
    def job(*_: Any) -> Iterator[Any]:
        yield papers.jobs.ChoiceJob(io.StringIO(), answers, papers.jobs.Effort(3, 40))

    monkeypatch.setattr(papers.smp, "choice_job", job)
    arms = {"native": "native", "a ring": "ring"}
    panel = papers.smp._side_by_side(a_setup(papers), papers.jobs.Place(1, 2), "allgather", arms, {})
    assert [(curve.name, curve.values) for curve in panel.curves] == [("native", [2.0, 3.0])]
    assert panel.notes == ["1 × 2, a ring (ring): too large"]


def test_a_figure_that_fails_under_every_mpi_says_why(papers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> Any:
        raise UserError("no launcher")

    monkeypatch.setattr(papers.smp, "FIGURES", (fail,))
    figure = papers.smp._draw_for_all(1, [a_setup(papers)])
    assert figure.panels == []
    assert figure.notes == ["mpich 5: no launcher"]
