"""espalier doctor: what this machine offers, what is wrong, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.settings import Setting, known_settings
from espalier.base.units import counted
from espalier.commands.settings import settings_table
from espalier.health.program import examine_program
from espalier.health.recorded import judge_last, judge_recorded
from espalier.health.surroundings import examine_surroundings
from espalier.health.tools import examine_own
from espalier.jobs.diagnosis import Finding, Level, examine
from espalier.jobs.programs import inspect_program
from espalier.profile.reading import read_profile


def doctor(
    program: Annotated[
        str | None, typer.Argument(metavar="[PROGRAM]", help="What is to run here: its MPI, its table.")
    ] = None,
    ranks: Annotated[int | None, typer.Option("-n", "--ranks", min=1, help="On how many ranks.")] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="From `espalier profile --keep`: which calls the MPI made, and why. Default: PROGRAM's last profile.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
) -> None:
    """Say what was found on this machine and what is wrong. Exit code 1 if Espalier cannot be used."""
    if ranks is not None and program is None:
        raise UserError(f"-n {ranks}: of which program?", "name the program, too")
    recorded = read_profile(profile) if profile is not None else None
    findings = list(examine(inspect_program(program).abi if program is not None else None))
    if all(finding.topic != "core" or finding.level is Level.OK for finding in findings):
        findings += examine_surroundings(ranks)
        findings += examine_program(program, ranks) if program is not None else examine_own()
        if recorded is not None:
            findings.append(judge_recorded(recorded))
        elif program is not None:
            findings += judge_last(inspect_program(program).path)
    usable = all(finding.level is not Level.ERROR for finding in findings)
    settings = _settings_if_built()
    if json:
        report = {"findings": [asdict(it) for it in findings], "settings": [asdict(it) for it in settings]}
        console.print_json({"usable": usable, **report})
    else:
        _print(findings)
        if given := [it for it in settings if it.value is not None]:
            console.out.print("\nsettings of this environment (espalier settings lists all):")
            console.out.print(settings_table(given))
        console.out.print(_conclude(findings))
    raise typer.Exit(0 if usable else 1)


def _conclude(findings: Sequence[Finding]) -> str:
    levels = Counter(finding.level for finding in findings)
    if levels[Level.ERROR]:
        return "[red]not usable: see the lines marked ✗[/]"
    remarks = levels[Level.WARNING]
    return "[green]usable[/]" + (f", and {counted(remarks, 'line')} marked ! may cost speed" if remarks else "")


def _settings_if_built() -> list[Setting]:
    try:
        return list(known_settings().values())
    except UserError:
        return []  # a finding says so already


def _print(findings: list[Finding]) -> None:
    marks = {Level.OK: "[green]✓[/]", Level.WARNING: "[yellow]![/]", Level.ERROR: "[red]✗[/]"}
    table = Table(box=None, show_header=False, pad_edge=False)
    for column in ("mark", "topic", "text"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        text = escape(finding.text)
        if finding.remedy:
            text += f"\n[dim]→ {escape(finding.remedy)}[/]"
        table.add_row(marks[finding.level], finding.topic, text)
    console.out.print(table)
