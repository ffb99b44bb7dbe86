"""All kept figures as one page: what the paper says, what came out, what holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from espalier.base.units import counted
from espalier.papers.figure import Figure, Kind
from espalier.papers.sources import PAPERS
from espalier.papers.store import Result

_HEAD = """\
# The papers' figures, reproduced

*Written by `make results`; edit the code or the data, not this page.* Each figure: what the paper says, what came out
here, and a verdict that a function computes from the points in the CSV file beside the picture. A verdict judges a
hypothesis at points that are fixed beforehand. It *holds* where all are as the paper says, holds *at so many of them*
where half or more are, and *fails* where fewer are; it *could not be shown here* where no point could be judged, or
where the outcome was put into a model. Beating the native library where the paper lost to it counts for nothing. *Real*
ran on the machine that is named, *emulated* on network namespaces of that machine (`espalier lab`), *simulated* in a
model, *counted* was counted from plans. Shades are the least and greatest of the repetitions. What is noise on a 2-core
virtual machine is told in [bench/METHOD.md](../bench/METHOD.md).

    espalier reproduce --list                 # every figure, where it can run, how long it takes
    espalier reproduce smp/4                  # data, picture and verdict into build/results
    espalier reproduce all --quick            # does everything run? a minute or two
    make results                              # this page again, from the data in docs/results
"""


def write_page(figures: Sequence[Figure], results: Sequence[Result], pictures: Path, page: Path) -> str:
    """The page's text. `pictures` is the folder of the SVG files, named relative to `page`."""
    folder = Path(os.path.relpath(pictures, page.parent))
    parts = [_HEAD, _tally(results), _overview(figures, results)]
    paper = ""
    for figure in figures:
        if figure.paper != paper:
            paper = figure.paper
            it = PAPERS[paper]
            parts.append(f"## {it.title}\n\n{it.source}. Measured on: {it.machine}.\n")
        parts.append(_section(figure, [result for result in results if result.figure.id == figure.id], folder))
    return "\n".join(parts)


def _tally(results: Sequence[Result]) -> str:
    kinds = [result.verdict.kind for result in results]
    names = {Kind.HOLDS: "hold", Kind.CONDITIONAL: "hold in part", Kind.FAILS: "fail", Kind.OPEN: "could not be shown"}
    return (
        f"Of {counted(len(kinds), 'verdict')} "
        + ", ".join(f"{kinds.count(kind)} {name}" for kind, name in names.items())
        + ".\n"
    )


def _overview(figures: Sequence[Figure], results: Sequence[Result]) -> str:
    lines = ["| figure | what | where | |", "|---|---|---|---|"]
    for figure in figures:
        own = [result for result in results if result.figure.id == figure.id]
        link = f"[{figure.id}](#{_anchor(figure)})"
        lines += [
            f"| {link} | {figure.title} | {result.data.where} | {_lower(result.verdict.headline)} |" for result in own
        ]
        if not own:
            lines.append(f"| {link} | {figure.title} | – | {_lower(str(Kind.OPEN))} |")
    return "\n".join(lines) + "\n"


def _section(figure: Figure, results: Sequence[Result], folder: Path) -> str:
    parts = [f"### {_heading(figure)}\n", f"*The paper:* {figure.stated}\n"]
    missing = [way for way in figure.ways if way.where not in {result.data.where for result in results}]
    needs = "; ".join(f"{way.where}: {way.how}" for way in missing)
    if not results:
        parts.append(f"**{Kind.OPEN}**: nobody has run it yet where it could be ({needs}).\n")
    for result in results:
        verdict = result.verdict
        if verdict.hypothesis:
            parts.append(f"*Judged:* {verdict.hypothesis}.\n")
        parts.append(f"**{str(result.data.where).capitalize()}. {verdict.headline}**: {verdict.because}.\n")
        parts += ["\n".join(f"- {_mark(part)}" for part in verdict.parts) + "\n"] if verdict.parts else []
        parts.append(f"![{figure.title}]({(folder / result.name).as_posix()}.svg)\n")
        table = f"[{result.name}.csv]({folder / result.name}.csv)"
        notes = "".join(f"\n- {note}" for note in result.data.notes)
        parts.append(f"- {result.way.how}\n- {result.conditions}{notes}\n- {table}\n")
    if results and missing:
        parts.append(f"Not run yet: {needs}.\n")
    return "\n".join(parts)


def _mark(part: str) -> str:
    """ "yes: …" with its first word in bold."""
    answer, _, text = part.partition(": ")
    return f"**{answer}** {text}"


def _heading(figure: Figure) -> str:
    return f"{figure.id}: {figure.number}, {_lower(figure.title)}"


def _anchor(figure: Figure) -> str:
    """As GitHub makes them: letters, digits, hyphens for blanks."""
    kept = "".join(it for it in _heading(figure).lower() if it.isalnum() or it in " -_")
    return kept.replace(" ", "-")


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]
