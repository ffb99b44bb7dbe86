"""Tables that are too wide: the cells of the last columns go below their rows, and no word is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_GAP, _LEAST_GAP = 2, 1  # between columns
_INDENT = 4


def stack(table: Table, beneath: int, width: int, console: Console) -> Table | Group:
    """The table itself where it has room in `width`; else with as few of its last columns below their rows as are
    enough, at most `beneath`, and the others as narrow as they have to be."""
    columns = table.columns
    wishes = [_Wish(column, console) for column in columns]
    for below in range(beneath + 1):
        beside = len(columns) - below
        if sum(it.whole for it in wishes[:beside]) + _GAP * (beside - 1) <= width or below == beneath:
            break
    if below == 0:
        return table
    is_narrow = sum(it.cells for it in wishes[:beside]) + _GAP * (beside - 1) > width
    gap = _LEAST_GAP if is_narrow else _GAP
    widths = _share(wishes[:beside], width - gap * (beside - 1))
    lines = [[column.header for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    return Group(*_stack_lines(table, lines, widths, gap, console))


class _Wish:
    """How wide a column would be: with every cell in one line, and its title, too; without folding words."""

    def __init__(self, column: Column, console: Console) -> None:
        def measure(cell: RenderableType) -> Measurement:
            return Measurement.get(console, console.options.update(width=1 << 16), cell)

        title, cells = measure(column.header), [measure(cell) for cell in column.cells]
        self.words = max(it.minimum for it in (title, *cells))
        self.cells = max(title.minimum, *(it.maximum for it in cells)) if cells else title.minimum
        self.whole = max(title.maximum, self.cells)


def _share(wishes: Sequence[_Wish], room: int) -> list[int]:
    """What each gets: all their words, then cells in one line, then titles, from the first column on. Where there is
    not even room for words, the widest give way."""
    widths = [it.words for it in wishes]
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    for wanted in ([it.cells for it in wishes], [it.whole for it in wishes]):
        for place, wish in enumerate(wanted):
            widths[place] += max(0, min(wish - widths[place], room - sum(widths)))
    return widths


def _stack_lines(
    table: Table, lines: Sequence[Sequence[RenderableType]], widths: Sequence[int], gap: int, console: Console
) -> Iterator[RenderableType]:
    for number, cells in enumerate(lines):
        style = table.header_style if number == 0 else ""
        row = Table(box=None, pad_edge=False, show_header=False, padding=(0, gap, 0, 0))
        for column, width in zip(table.columns, widths, strict=False):
            row.add_column(justify=column.justify, width=width, overflow="fold", style=style)
        row.add_row(*cells[: len(widths)])
        yield row
        below = [cell if isinstance(cell, Text) else console.render_str(str(cell)) for cell in cells[len(widths) :]]
        text = Text("  ", style=style, overflow="fold").join(it for it in below if it.plain)
        yield Padding(text, (0, 0, 0, _INDENT), expand=False)
