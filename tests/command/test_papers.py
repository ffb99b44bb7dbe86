"""The papers' figures: what is measured becomes a page and JSON; what could not be measured is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.errors import UserError
from espalier.tuning.worker import ArmTimes, WorkerLostError

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


def a_worker(*answers: dict[str, float | str]) -> Any:
    """A measuring job that gives these answers in turn: arms with their time, or with why they were refused."""
    rest = iter(answers)

    def measure(*_: Any) -> list[ArmTimes]:
        return [
            ArmTimes(name, "", value, 0, (), ())
            if isinstance(value, str)
            else ArmTimes(name, "", "", 9, (value, value, 9 * value), ())
            for name, value in next(rest).items()
        ]

    return SimpleNamespace(measure=measure)


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


def test_the_median_round_counts_and_a_refusal_keeps_its_reason(papers: SimpleNamespace) -> None:
    worker = a_worker({"native": 2.0, "ring": "too large"})
    arms = papers.jobs.time_choices(worker, "allgather", 64, ["native", "ring"], papers.jobs.Effort(3, 40))
    assert arms["native"] == papers.jobs.Arm(2.0, "")
    assert arms["ring"] == papers.jobs.Arm(None, "too large")


def test_a_job_that_is_lost_is_an_error_with_its_last_command(
    papers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def lost(*_: Any) -> Iterator[Any]:
        raise WorkerLostError("the job ended during: curve copy")
        yield

    monkeypatch.setattr(papers.jobs, "Worker", lost)
    with pytest.raises(UserError, match="curve copy"), papers.jobs.choice_job("mpich 5", papers.jobs.Place(1, 2), {}):
        pass


def test_a_choice_that_can_not_serve_every_size_is_left_out_with_its_reason(
    papers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = a_worker({"native": 2.0, "ring": 1.0}, {"native": 3.0, "ring": "too large"})
    monkeypatch.setattr(papers.smp, "choice_job", lambda *_: nullcontext(worker))
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
