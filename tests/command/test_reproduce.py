"""espalier reproduce: figures by name, data kept and drawn, pages from data alone, messages for what there is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.draw.figures import draw_figure
from espalier.draw.figures_page import write_page
from espalier.papers import run, store
from espalier.papers.conditions import Conditions
from espalier.papers.figure import Axes, Data, Figure, Kind, Point, Task, Verdict, Way, Where
from espalier.papers.registry import FIGURES
from espalier.papers.sources import PAPERS
from espalier.papers.store import Result
from workshop import Command

HERE = Conditions("a machine, 2 cores", "0.1.0", ("mpich 5.0",), "2026-01-01 12:00", 3.5, 0.2, False)
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def a_way(points: list[Point], where: Where = Where.SIMULATED) -> Way:
    def judge(data: Data) -> Verdict:
        return Verdict(Kind.HOLDS, f"{len(data.points)} points")

    return Way(where, lambda task: Data(where, points, ["a note"]), judge, Axes("bytes", "µs"), "made up", "1 s")


def a_figure(points: list[Point]) -> Figure:
    return Figure("smp/3", "Figure 3", "Made up", "it is so.", [a_way(points)])


POINTS = [
    Point("panel, one", "native", 4.0, 2.0, 1.5, 3.0),
    Point("panel, one", "native", 64.0, 8.25, 8.0, 9.0),
    Point("panel, one", "Espalier", 4.0, 1.0, 1.0, 1.0),
    Point("bars", "ours", "a ring", 3.0, 3.0, 3.0),
]


def test_every_figure_has_a_paper_a_name_of_its_own_and_says_what_it_takes() -> None:
    names = [figure.id for figure in FIGURES]
    assert len(set(names)) == len(names)
    for figure in FIGURES:
        assert figure.paper in PAPERS
        assert figure.ways, figure.id
        assert len({way.where for way in figure.ways}) == len(figure.ways)
        assert all(way.takes and way.how for way in figure.ways)
        assert figure.stated.endswith(".")


def test_a_judge_without_points_says_that_nothing_was_shown() -> None:
    for figure in FIGURES:
        for way in figure.ways:
            empty = Data(way.where, [Point.exact("mpich 5, 4 × 4", "nobody's curve", 1.0, 1.0)])
            assert way.judge(empty).kind in (Kind.OPEN, Kind.FAILS), figure.id


def test_points_and_conditions_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    figure = a_figure(POINTS)
    store.save(Result(figure, figure.ways[0], Data(Where.SIMULATED, POINTS, ("a note",)), HERE), tmp_path)
    (back,) = store.load([figure], tmp_path)
    assert list(back.data.points) == POINTS
    assert back.data.notes == ("a note",)
    assert back.conditions == HERE
    assert not list(tmp_path.glob("*.part"))


def test_a_run_under_one_more_mpi_can_be_added_to_what_others_gave(tmp_path: Path) -> None:
    def give(mpi: str, times: list[float], add: bool = True) -> Result:
        points = [Point.exact(f"{mpi}, 4 × 4", "native", 4.0, us) for us in times]
        way = Way(Where.EMULATED, lambda task: Data(Where.EMULATED, points, ["links", f"under {mpi}"]),
                  a_way([]).judge, Axes("bytes", "µs"), "made up", "1 s", uses_mpi=True)  # fmt: skip
        figure = Figure("smp/3", "Figure 3", "Made up", "it is so.", [way])
        return run.run(figure, way, Task(quick=True, mpis=[mpi]), tmp_path, add)  # type: ignore[list-item]

    give("one", [1.0], add=False)
    both = give("two", [2.0])
    assert both.data.panels == ["one, 4 × 4", "two, 4 × 4"]
    again = give("one", [3.0])
    assert [point.value for point in again.data.points] == [2.0, 3.0]
    assert again.conditions.mpis == ("two", "one")
    assert again.data.notes == ("links", "under two", "under one")
    assert give("one", [4.0], add=False).data.panels == ["one, 4 × 4"]


def test_a_run_leaves_data_and_conditions(tmp_path: Path) -> None:
    figure = a_figure(POINTS)
    result = run.run(figure, figure.ways[0], Task(quick=True), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"smp-3-simulated.{suffix}" for suffix in ("csv", "json")}
    facts = json.loads((tmp_path / "smp-3-simulated.json").read_text())
    assert facts["verdict"] == {
        "kind": "holds",
        "hypothesis": "",
        "points": [],
        "sentence": "Holds: 4 points.",
        "parts": [],
    }
    assert facts["conditions"]["quick"] is True
    assert result.conditions.mpis == ()
    rows = list(csv.DictReader((tmp_path / "smp-3-simulated.csv").open()))
    assert [row["x"] for row in rows] == ["4", "64", "4", "a ring"]


def test_the_same_points_make_the_same_picture(tmp_path: Path) -> None:
    figure = a_figure(POINTS)
    result = Result(figure, figure.ways[0], Data(Where.SIMULATED, POINTS), HERE)
    draw_figure(result, tmp_path)
    first = (tmp_path / "smp-3-simulated.svg").read_bytes()
    draw_figure(result, tmp_path)
    assert (tmp_path / "smp-3-simulated.svg").read_bytes() == first
    assert b"panel, one" in first


def test_verdicts_are_judged_anew_from_the_data(tmp_path: Path) -> None:
    figure = a_figure(POINTS)
    run.run(figure, figure.ways[0], Task(), tmp_path)
    table = tmp_path / "smp-3-simulated.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:3]) + "\n")
    (result,) = run.judge_again([figure], tmp_path)
    assert str(result.verdict) == "Holds: 2 points."
    assert "2 points" in (tmp_path / "smp-3-simulated.json").read_text()


def test_damaged_data_are_named_with_what_makes_them_anew(tmp_path: Path) -> None:
    figure = a_figure(POINTS)
    run.run(figure, figure.ways[0], Task(), tmp_path)
    (tmp_path / "smp-3-simulated.csv").write_text("panel\nx\n")
    with pytest.raises(UserError, match=r"smp-3-simulated\.csv cannot be read") as caught:
        store.load([figure], tmp_path)
    assert "espalier reproduce smp/3 --where simulated" in caught.value.remedy


def test_the_page_names_what_holds_and_what_nobody_has_run(tmp_path: Path) -> None:
    done, missing = a_figure(POINTS), Figure("smp/4", "Figure 4", "Not run", "it is so, too.", [a_way([])])
    result = run.run(done, done.ways[0], Task(), tmp_path / "results")
    page = write_page([done, missing], [result], tmp_path / "results", tmp_path / "results.md")
    assert "**Simulated. Holds**: 4 points." in page
    assert "![Made up](results/smp-3-simulated.svg)" in page
    assert "| [smp/4](#smp4-figure-4-not-run) | Not run | – | could not be shown here |" in page
    assert "nobody has run it yet" in page


def test_the_page_names_ways_that_nobody_has_taken_yet(tmp_path: Path) -> None:
    figure = Figure("smp/3", "Figure 3", "Made up", "it is so.", [a_way(POINTS), a_way(POINTS, Where.REAL)])
    result = run.run(figure, figure.ways[0], Task(), tmp_path)
    page = write_page([figure], [result], tmp_path, tmp_path / "results.md")
    assert "Not run yet: real: made up." in page


def test_figures_are_found_by_name_by_paper_and_all_at_once() -> None:
    assert [figure.id for figure in run.find("smp/3,smp/1")] == ["smp/1", "smp/3"]
    assert {figure.paper for figure in run.find("leaders")} == {"leaders"}
    assert run.find("all") == list(FIGURES)


def test_what_there_is_not_is_said(command: Command, tmp_path: Path) -> None:
    outcome = command("reproduce")
    assert (outcome.code, "which figure?" in outcome.err) == (2, True), "all of them take hours"
    outcome = command("reproduce", "smp/99")
    assert outcome.code == 2
    assert "there is no figure 'smp/99'" in outcome.err
    outcome = command("reproduce", "leaders/7", "--where", "emulated")
    assert outcome.code == 2
    assert "leaders/7 has no data that are emulated" in outcome.err
    assert "it can be simulated" in outcome.err
    outcome = command("reproduce", "smp/3", "--from-data", "--output", str(tmp_path))
    assert outcome.code == 2
    assert "has no data of smp/3" in outcome.err


def test_the_list_says_where_each_can_run(command: Command) -> None:
    outcome = command("reproduce", "--list", "--json")
    assert outcome.code == 0, outcome.err
    figures = {it["figure"]: it for it in json.loads(outcome.out)}
    assert {way["where"] for way in figures["groups/5"]["ways"]} == {"simulated", "emulated"}
    assert "leaders/9" in command("reproduce", "--list").out


@pytest.mark.parametrize("name", [f.id for f in FIGURES if f.way(Where.SIMULATED) or f.way(Where.COUNTED)])
def test_a_quick_run_of_every_figure_that_needs_no_machine(command: Command, tmp_path: Path, name: str) -> None:
    (figure,) = run.find(name)
    where = next(way.where for way in figure.ways if way.where in (Where.SIMULATED, Where.COUNTED))
    outcome = command("reproduce", name, "--where", where, "--quick", "--output", str(tmp_path), "--json")
    assert outcome.code == 0, outcome.err
    (result,) = json.loads(outcome.out)
    assert result["verdict"]["sentence"]
    assert (tmp_path / f"{name.replace('/', '-')}-{where}.svg").read_text().startswith("<?xml")


def test_the_page_in_the_repository_is_what_its_data_say() -> None:
    results = store.load(FIGURES, RESULTS)
    page = RESULTS.parent / "results.md"
    assert page.read_text(encoding="utf-8") == write_page(FIGURES, results, RESULTS, page), "run: make results"
    for result in results:
        assert (RESULTS / f"{result.name}.svg").exists()
        assert json.loads((RESULTS / f"{result.name}.json").read_text()) == json.loads(
            json.dumps(store.describe(result))
        ), "run: make results"
        assert not result.conditions.quick
