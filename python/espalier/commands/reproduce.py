"""espalier reproduce: the papers' figures, from data to verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.writing import check_output, replace_file
from espalier.draw.figures import draw_figure
from espalier.draw.figures_page import write_page
from espalier.jobs.mpis import Mpi, find_default_mpi, select_mpi
from espalier.papers import run, store
from espalier.papers.figure import Figure, Kind, Task, Where
from espalier.papers.registry import FIGURES
from espalier.papers.sources import PAPERS
from espalier.papers.store import Result

_COLOURS = {Kind.HOLDS: "green", Kind.CONDITIONAL: "yellow", Kind.FAILS: "red", Kind.OPEN: "dim"}


def reproduce(
    figure: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="smp/3, all of a paper (smp), several with commas, or all.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only list: what there is, where it can run.")] = False,
    where: Annotated[Where | None, typer.Option(help="Only data of this kind. Default: every kind there is.")] = None,
    mpi: Annotated[
        str | None, typer.Option(help="MPIs for what runs jobs, separated by commas: mpich-5,openmpi-5,intel.")
    ] = None,
    ppn: Annotated[int, typer.Option(min=2, help="Ranks of each node, where jobs have several nodes.")] = 4,
    quick: Annotated[bool, typer.Option("--quick", help="Few points, seconds: does everything run?")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for CSV, JSON, SVG and PNG.")] = Path(
        "build/results"
    ),
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Judge and draw what is in the folder again; measure nothing.")
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Keep what the folder has of the same figures under other MPIs.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also a page of all that is in the folder (Markdown).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Verdicts and conditions as JSON.")] = False,
) -> None:
    """Reproduce a paper's figure: data (CSV), a drawing (SVG, PNG), what the paper says, and a verdict from the data.

    With several figures, those whose means are missing here are skipped with the reason. `all` also writes a page.
    """
    if figure is None and not (list_ or from_data):
        raise UserError("which figure?", "espalier reproduce --list names them; `all` takes hours")
    figure = figure or "all"
    wanted = run.find(figure)
    check_output("--page", page, ".md")
    if list_:
        _list(wanted, json)
        return
    if from_data:
        results = run.judge_again(wanted, output)
        for result in results:
            draw_figure(result, output)
        if not results:
            raise UserError(
                f"{output} has no data of {'any figure' if figure == 'all' else figure}",
                "name the folder with --output",
            )
    else:
        results = _run(wanted, where, _mpis(mpi, wanted, where), ppn, quick, output, add)
    if page is None and figure == "all":
        page = output / "results.md"
    if page is not None:
        replace_file(page, write_page(FIGURES, store.load(FIGURES, output), output, page))
        console.note(f"wrote {page}")
    if json:
        console.print_json([store.describe(result) for result in results])
    else:
        for result in results:
            _print(result, output)


def _mpis(names: str | None, figures: Sequence[Figure], where: Where | None) -> list[Mpi]:
    """Those asked for; none where no job runs."""
    if names is not None:
        return [select_mpi(name) for name in names.split(",")]
    needed = any(way.uses_mpi for figure in figures for way in figure.ways if where in (None, way.where))
    return [find_default_mpi()] if needed else []


def _run(
    figures: Sequence[Figure],
    where: Where | None,
    mpis: Sequence[Mpi],
    ppn: int,
    quick: bool,
    output: Path,
    add: bool,
) -> list[Result]:
    """All ways of all figures. A single one that cannot run is an error; of several, it is skipped with the reason."""
    if len(figures) == 1:
        pairs = [(figures[0], way) for way in run.choose_ways(figures[0], where)]
    else:
        pairs = [(figure, way) for figure in figures for way in figure.ways if where in (None, way.where)]
    if not pairs:
        raise UserError(f"none of these figures has data that are {where}", "see espalier reproduce --list")
    results = []
    failure: UserError | None = None
    for figure, way in pairs:
        console.note(f"{figure.id}, {way.where} (about {way.takes})")
        try:
            result = run.run(figure, way, Task(quick, mpis, ppn), output, add)
            draw_figure(result, output)
            results.append(result)
        except UserError as error:
            failure = error
            console.note(f"{figure.id}, {way.where}: skipped: {error.message}")
    if not results and failure is not None:
        raise failure
    return results


def _list(figures: Sequence[Figure], json: bool) -> None:
    if json:
        console.print_json([_facts(figure) for figure in figures])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("figure", "paper's", "title", "data (time on 2 cores)"):
        table.add_column(name)
    paper = ""
    for figure in figures:
        if figure.paper != paper:
            paper = figure.paper
            table.add_row(f"[bold]{paper}[/]", "", f"[bold]{escape(PAPERS[paper].title)}[/]", "")
        ways = ", ".join(f"{way.where} ({way.takes})" for way in figure.ways)
        table.add_row(figure.id, figure.number, figure.title, ways)
    console.out.print(table)


def _facts(figure: Figure) -> dict[str, object]:
    return {
        "figure": figure.id,
        "paper": PAPERS[figure.paper].source,
        "number": figure.number,
        "title": figure.title,
        "stated": figure.stated,
        "ways": [{"where": str(way.where), "how": way.how, "takes": way.takes} for way in figure.ways],
    }


def _print(result: Result, output: Path) -> None:
    verdict = result.verdict
    console.out.print(f"[bold]{result.figure.id}[/] {result.figure.title} ({result.data.where})")
    console.out.print(f"  the paper: {escape(result.figure.stated)}")
    console.out.print(f"  [{_COLOURS[verdict.kind]}]{verdict.headline}[/]: {escape(verdict.because)}.")
    for part in verdict.parts:
        console.out.print(f"    {escape(part)}")
    console.out.print(f"  [dim]{escape(str(output / result.name))}.csv, .json, .svg, .png[/]", soft_wrap=True)
