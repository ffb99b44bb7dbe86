"""The page of `espalier profile`: where time goes, who is waited for, and what native would take; pictures first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from espalier.base.units import format_time
from espalier.base.writing import replace_file
from espalier.draw.page import compose_page
from espalier.profile.summary import Profile, Row, describe

_MORE_STYLE = (
    "svg .waits { fill: var(--half); } svg .moves { fill: var(--idle); } svg .bar { fill: var(--c0); }"
    " svg .meanwhile { fill: var(--faint); }"
    " th, td:nth-child(2) { white-space: normal; } td:nth-child(n+8), th:nth-child(n+8) { text-align: left;"
    " white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }"
)
_TITLES = ("collective", "communicator", "calls", "seconds, all ranks", "waiting", "imbalance", "saved", "done by")
_WIDTH, _LEFT, _RIGHT, _ROW, _BAR = 900, 300, 150, 22, 14
# More are in the table.
_MOST_BARS = 16

_LEGEND = {
    "seconds, waiting, saved": "sums over all ranks and calls; a size with + stands for all below twice that.",
    "waiting": "until the last rank of the host has come to the call: no collective can make that shorter.",
    "imbalance": "the longest that any rank has been in these calls, divided by the mean of the ranks that make them.",
    "saved": "what native would have taken more, ± twice the standard error; below 0, native is faster.",
    "done by": "the algorithm that Espalier chose, or native, and why (espalier algorithms tells of each).",
}

Bar = tuple[str, Sequence[tuple[str, float]], str]  # its name, its parts' classes and lengths, what stands behind it


def write_page(profile: Profile, program: str, path: Path) -> None:
    """Writes the page to `path`, complete or not at all."""
    title = f"Collectives of {program} on {profile.ranks} ranks"
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1><p>{_marked(profile.verdict)}</p>",
            draw_bars(f"Where time goes ({_colours(profile)})", _times(profile)),
            draw_bars("Who is waited for, in seconds of all others together", _waits(profile)),
            draw_bars(
                "A call that does not block, of one rank (green: start; grey: in between; amber: completion)",
                _started(profile),
            ),
            draw_bars(
                "What a call takes without waiting, of one rank: Espalier (green) and native (blue)", _natives(profile)
            ),
            _table(profile),
        ]
    )
    replace_file(path, compose_page(title, body, _MORE_STYLE))


def _marked(sentence: str) -> str:
    """What stands in backquotes is typed."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))


def draw_bars(title: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars on one scale, each of one or more parts; nothing where there are none."""
    if not bars:
        return ""
    bars = bars[:_MOST_BARS]
    longest = max(sum(length for _, length in parts) for _, parts, _ in bars) or 1.0
    height = _ROW * len(bars) + 8
    # As wide as can be read: on a phone they are moved sideways, as the table is.
    lines = [
        f'<h2>{escape(title)}</h2><div class="scroll">'
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" font-size="12" style="min-width: 40rem">'
    ]
    for row, (name, parts, note) in enumerate(bars):
        y, x = 4 + row * _ROW, float(_LEFT)
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>')
        for style, length in parts:
            width = (_WIDTH - _LEFT - _RIGHT) * length / longest
            lines.append(f'<rect class="{style}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"/>')
            x += width
        lines.append(f'<text x="{x + 6:.1f}" y="{y + 11}">{escape(note)}</text>')
    return "\n".join([*lines, "</svg></div>"])


def _colours(profile: Profile) -> str:
    blocking = ["amber: waiting for the last rank", "green: moving data"] if profile.blocking else []
    started = ["blue: starting and completing what does not block"] if profile.started else []
    return "; ".join([*blocking, *started])


def _times(profile: Profile) -> list[Bar]:
    return [
        (
            f"{describe(row.key)}, {row.key.communicator}",
            [("waits", row.waiting or 0.0), ("moves", row.moving)] if row.key.is_blocking else [("bar", row.seconds)],
            f"{profile.share(row.seconds):.1f} % of the run",
        )
        for row in profile.rows
    ]


def _waits(profile: Profile) -> list[Bar]:
    longest_first = sorted(profile.waited_for.items(), key=lambda it: -it[1])
    return [(f"rank {rank}", [("waits", seconds)], format_time(seconds * 1e6)) for rank, seconds in longest_first]


def _started(profile: Profile) -> list[Bar]:
    bars: list[Bar] = []
    for row in profile.started:
        calls = max(1, sum(part.calls for part in row.parts))
        parts = [("moves", row.start / calls), ("meanwhile", row.between / calls), ("waits", row.completion / calls)]
        bars.append((describe(row.key), parts, f"{format_time(1e6 * row.completion / calls)} in completion"))
    return bars


def _natives(profile: Profile) -> list[Bar]:
    bars: list[Bar] = []
    for row in profile.rows:
        if not row.own.calls or row.native_mean is None:
            continue
        bars.append((describe(row.key), [("moves", row.own.mean)], format_time(row.own.mean * 1e6)))
        bars.append(("native", [("bar", row.native_mean)], format_time(row.native_mean * 1e6)))
    return bars


def _table(profile: Profile) -> str:
    titles = [*_TITLES, *(["called at"] if profile.has_sites else [])]
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{_breakable(cell)}</td>' for cell in _cells(row, profile))}</tr>" for row in profile.rows
    )
    table = f"<div class='scroll'><table><tr>{head}</tr>\n{rows}</table></div>"
    legend = "<br>".join(f"<b>{escape(name)}</b>: {escape(meaning)}" for name, meaning in _LEGEND.items())
    remark = f'<p class="faint">{escape(profile.remark)}</p>' if profile.remark else ""
    return f'<h2>Every kind of call</h2>{table}{remark}<p class="faint">{legend}</p>'


def _breakable(text: str) -> str:
    """Choices have no blanks at which lines could end: they may after a comma."""
    return escape(text).replace(",", ",<wbr>")


def _cells(row: Row, profile: Profile) -> list[str]:
    saving = row.saving
    return [
        describe(row.key),
        row.key.communicator,
        str(row.calls),
        f"{row.seconds:.4g} ± {row.uncertainty:.2g}" if row.timed.calls else f"{row.seconds:.4g}",
        "not known" if row.waiting is None else f"{row.waiting:.4g}",
        f"{row.imbalance:.2f}",
        f"{saving.seconds:.3g} ± {saving.uncertainty:.2g} s" if saving else "not known",
        row.choice,
        *([row.key.site] if profile.has_sites else []),
    ]
