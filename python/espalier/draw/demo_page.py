"""The demo's report: what ran, what came out, how fast; wins and losses alike."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from statistics import median

from espalier import __version__
from espalier.base import machine
from espalier.base.units import counted, format_bytes, format_time
from espalier.base.writing import replace_file
from espalier.demo.comparison import BENCH, IMB, Answer, Comparison, Results
from espalier.draw.chart import Series, draw_times
from espalier.draw.overview import Dot, Lane, draw_overview
from espalier.draw.page import compose_page

# Between these, the rounds of one machine do not tell two equal programs apart.
FASTER, SLOWER = 1.05, 0.95


def write_report(results: Results, rounds: int, path: Path) -> None:
    """Writes the page to `path`, complete or not at all."""
    body = "\n".join(
        [
            "<h1>The same programs, with and without Espalier</h1>",
            f'<p class="faint">{escape(_machine_line())}</p>',
            f"<p>{_what_ran(results.answers)}</p>",
            _summary(results),
            _overview(results.comparisons),
            _charts(results.comparisons),
            _answers(results.answers),
            _losses(results.comparisons),
            _table(results.comparisons),
            _method(rounds, results),
        ]
    )
    replace_file(path, compose_page("Espalier demo", body))


def verdict(ratio: float) -> str:
    """`win`, `loss` or nothing, when the difference is too small to tell."""
    return "win" if ratio > FASTER else "loss" if ratio < SLOWER else ""


def _machine_line() -> str:
    cores, threads = counted(machine.count_cores(), "core"), counted(machine.count_cpus(), "thread")
    when = time.strftime("%-d %B %Y, %H:%M")
    return (
        f"Espalier {__version__}, {when}; {machine.processor_name()}, {cores} ({threads}), Linux {platform.release()}"
    )


def _what_ran(answers: Sequence[Answer]) -> str:
    if answers and all(it.program == BENCH for it in answers):
        return (
            "Each MPI library's own collectives, and Espalier's in front of it, in one job: what <code>espalier "
            "bench</code> runs. With mpi4py and numpy installed the demo runs an application, too."
        )
    return "Unmodified programs under several MPI libraries: natively, and with Espalier preloaded in front."


def _summary(results: Results) -> str:
    comparisons = results.comparisons
    if not comparisons:
        return "<p>Nothing could be measured here; the reasons are at the end of this page.</p>"
    wins = sum(verdict(comparison.ratio) == "win" for comparison in comparisons)
    losses = sum(verdict(comparison.ratio) == "loss" for comparison in comparisons)
    middle = median(comparison.ratio for comparison in comparisons)
    checked = [answer for answer in results.answers if answer.same_output is not None]
    same = sum(answer.same_output is True for answer in checked)
    cards = [
        (f"{middle:.2f}×", "median of native ÷ Espalier"),
        (f"{wins} of {len(comparisons)}", f"faster by more than {FASTER - 1:.0%}"),
        (f"{losses}", f"slower by more than {1 - SLOWER:.0%}"),
    ]
    if checked:
        cards.append((f"{same} of {len(checked)}", "runs with the same answer, byte for byte"))
    items = "".join(f"<li><b>{number}</b>{escape(text)}</li>" for number, text in cards)
    return f'<ul class="numbers">{items}</ul>'


def _overview(comparisons: Iterable[Comparison]) -> str:
    """All of it in one picture: a lane for each program, MPI and number of ranks."""
    lanes: dict[str, list[Dot]] = {}
    for it in comparisons:
        program, _, part = it.what.rpartition(": ")  # "trees: whole run"; IMB's operations have none
        name = f"{part} of {format_bytes(it.bytes)}" if it.bytes else part
        lane = f"{program or IMB}, {it.mpi}, {counted(it.ranks, 'rank')}"
        lanes.setdefault(lane, []).append(Dot(name, it.ratio, it.first_ratio))
    if not lanes:
        return ""
    title = "How many times faster than natively: right of 1× Espalier is ahead"
    drawn = draw_overview(title, [Lane(name, dots) for name, dots in lanes.items()])
    return f'<figure class="wide">{drawn}</figure>'


def _answers(answers: Iterable[Answer]) -> str:
    rows = []
    for answer in answers:
        same = {True: f"equal ({answer.digest}…)", False: "<b>DIFFERENT</b>", None: "prints times only"}
        reasons = "; ".join(f"{escape(reason)} ({count})" for reason, count in answer.reasons.items())
        rows.append(
            f'<tr><td class="left">{escape(answer.program)}</td><td class="left">{escape(answer.mpi)}</td>'
            f"<td>{answer.ranks}</td><td>{answer.handled}</td><td>{answer.native}</td>"
            f'<td class="left">{reasons or "–"}</td><td class="left">{same[answer.same_output]}</td></tr>'
        )
    head = (
        '<tr><th class="left">program</th><th class="left">MPI</th><th>ranks</th><th>calls run by Espalier</th>'
        '<th>left to the MPI</th><th class="left">why</th><th class="left">standard output</th></tr>'
    )
    return f"<h2>Who ran the calls, and were the answers the same?</h2>{_scrolling(head, rows)}"


def _charts(comparisons: Iterable[Comparison]) -> str:
    figures = []
    sized = [comparison for comparison in comparisons if comparison.bytes]
    for (what, mpi, ranks), group in groupby(sized, key=lambda it: (it.what, it.mpi, it.ranks)):
        line = list(group)
        if len(line) < 2:
            continue
        native = Series("native", "native", [median(point.native) for point in line])
        own = Series("Espalier", "own", [median(point.rounds.second) for point in line])
        first = Series("first run", "first", [point.espalier[0] for point in line])
        marks = [f'<tspan class="{verdict(point.ratio)}">{point.ratio:.1f}×</tspan>' for point in line]
        title = f"{what}, {ranks} ranks, {mpi}"
        lowest = min(range(len(line)), key=lambda at: line[at].ratio)
        chart = draw_times(title, [point.bytes for point in line], [native, first, own], marks, lowest)
        figures.append(f"<figure>{chart}</figure>")
    if not figures:
        return ""
    note = (
        "Time per call over message size, one call after the other; below each size, how many times faster Espalier is "
        "once it has learned (median of the rounds after the first). In the first run nothing was known yet."
    )
    return f'<h2>Over message size</h2><p class="faint">{note}</p><div class="charts">{"".join(figures)}</div>'


def _losses(comparisons: Iterable[Comparison]) -> str:
    slower = sorted((it for it in comparisons if verdict(it.ratio) == "loss"), key=lambda it: it.ratio)
    if not slower:
        return f"<h2>Where Espalier lost</h2><p>Nowhere by more than {1 - SLOWER:.0%}.</p>"
    items = "".join(f"<li>{_loss(it)}</li>" for it in slower)
    return f"<h2>Where Espalier lost</h2><ul>{items}</ul>"


def _loss(it: Comparison) -> str:
    size = f" of {format_bytes(it.bytes)}" if it.bytes else ""
    where = f"{it.what}{size}, {it.ranks} ranks, {it.mpi}"
    return f"{escape(where)}: {it.ratio:.2f}× ({min(it.ratios):.2f}–{max(it.ratios):.2f})"


def _scrolling(head: str, rows: Iterable[str]) -> str:
    return f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>'


def _table(comparisons: Iterable[Comparison]) -> str:
    rows = []
    for it in comparisons:
        rows.append(
            f'<tr><td class="left">{escape(it.what)}</td><td>{format_bytes(it.bytes) if it.bytes else "–"}</td>'
            f'<td class="left">{escape(it.mpi)}</td><td>{it.ranks}</td><td>{format_time(median(it.native))}</td>'
            f'<td>{format_time(median(it.rounds.second))}</td><td class="{verdict(it.ratio)}">{it.ratio:.2f}×</td>'
            f"<td>{min(it.ratios):.2f}–{max(it.ratios):.2f}</td>"
            f'<td class="{verdict(it.first_ratio)}">{it.first_ratio:.2f}×</td></tr>'
        )
    head = (
        '<tr><th class="left">what</th><th>bytes</th><th class="left">MPI</th><th>ranks</th><th>native</th>'
        "<th>Espalier</th><th>native ÷ Espalier</th><th>range</th><th>first run</th></tr>"
    )
    return f"<h2>Every number</h2>{_scrolling(head, rows)}"


def _method(rounds: int, results: Results) -> str:
    programs = {it.program for it in results.answers}
    told = [_HOW_APART if programs - {BENCH} else "", _HOW_TOGETHER if BENCH in programs else "", _LEARNED]
    told += [_HOW_IMB if IMB in programs else "", _SETTINGS]
    text = " ".join(part.format(rounds=counted(rounds, "time")) for part in told if part)
    missing = "".join(f"<li>{escape(reason)}</li>" for reason in results.skipped)
    method = f"<h2>How it was measured</h2><p>{text}</p>"
    return method + (f"<h2>What could not run</h2><ul>{missing}</ul>" if missing else "")


_HOW_APART = (
    "Each program ran natively and with Espalier one after the other, {rounds}; which of the two went first alternated."
)
_HOW_TOGETHER = (
    "The program of <code>espalier bench</code> ran {rounds}; it calls its MPI and Espalier in turns within one job, "
    "checks first that both deliver the right data, and prints medians per call."
)
_LEARNED = (
    "A ratio compares the two runs of one round. In the first round Espalier knew nothing of this machine and learned "
    "in the program's own calls; later rounds began with what was learned, as any second run does: their median and "
    "range are shown, and the first beside."
)
_HOW_IMB = (
    "IMB-MPI1 ran with <code>-sync off</code>: by default it puts a barrier, which is not measured, after each call, "
    "and whoever has the slower barrier finds data waiting. It prints averages over its repetitions and ranks, which a "
    "single disturbance can move; <code>espalier bench</code> measures medians per call."
)
_SETTINGS = "Every MPI ran with the settings that suit it when ranks outnumber processors, in both arms."
