"""docs/measured.md from what bench/measures.py left: a verdict per operation, and every ratio to each MPI's own native.

python bench/measures.py                              # build/measures: tables and rows, per MPI and place
python bench/measures_page.py build/measures docs     # docs/measured.md and its data, docs/measured.csv
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import measured_picture
import typer
from embedding import embed
from measures import (
    FLOORS,
    NOWHERE_BELOW,
    Place,
    Verdict,
    comparable,
    describe_distance,
    drift,
    floor_us,
    judge,
    mean_of_all,
)

from espalier.base import console, machine
from espalier.base.errors import UserError
from espalier.base.units import format_bytes
from espalier.measure.paired import Row
from espalier.tuning.verdict.summary import geometric_mean

RATES = ("200mbit",)  # of the emulated cluster, as bench/measures.py names it

BEGIN, END = "<!-- measured: written by bench/measures_page.py -->\n", "<!-- end of measured -->"

HEAD = """# What was measured

Written by `bench/measures_page.py` from [measured.csv](measured.csv). `make measures` measures on your machine: it
tunes every MPI (`espalier tune`), then runs native and Espalier side by side ([method](../bench/METHOD.md)). Ratios are
native ÷ Espalier, medians of the rounds: above 1 Espalier is faster; at 1.0 native mostly won the tuning and was kept.

*Mean* and *lowest* compare ours, on the MPI where it does best, with the fastest native of **all** MPIs for each size.
*Harm* is the lowest ratio to the same MPI's own native, at any size on any MPI; in brackets, what native measured
against native in the same rounds: what falls within that is noise. *As native*: the goal is to be no slower than
native, native was kept wherever ours took longer, and the mean is within 2 % of it.
"""


PICTURE = "![native ÷ Espalier by operation, place and MPI](measured.svg)\n"


def load(folder: Path) -> dict[str, list[Row]]:
    """The rows by place, of all MPIs. Raises UserError when there are none."""
    places: dict[str, list[Row]] = {}
    for file in sorted(folder.glob("*.rows.json")):
        place = file.name.removesuffix(".rows.json").split("-", 2)[2]
        places.setdefault(place, []).extend(Row(**fields_) for fields_ in json.loads(file.read_text()))
    if not places:
        raise UserError(f"{folder} holds no results", "measure first: python bench/measures.py")
    return dict(sorted(places.items(), key=lambda entry: _order(entry[0])))


def _order(place: str) -> tuple[bool, int]:
    return place.startswith("lab-"), int("".join(letter for letter in place if letter.isdigit()))


def _place(name: str) -> Place:
    return Place(_order(name)[1], name.startswith("lab-"))


def _title(name: str) -> str:
    place = _place(name)
    nodes = f"Four emulated nodes, {RATES[0]}, {place.ranks} rank{'s' if place.ranks > 1 else ''} on each"
    return nodes if place.is_lab else f"{place.ranks} ranks"


def describe_drift(folder: Path, name: str) -> str:
    """How much native's times had changed from tuning to measuring, for each MPI of a place."""
    found = []
    for table in sorted(folder.glob(f"*-{name}.table.json")):
        result = table.with_name(table.name.replace(".table.", ".rows."))
        rows = [Row(**fields_) for fields_ in json.loads(result.read_text())] if result.exists() else []
        found.append(f"{drift(table, rows):.2f}")
    return f"Native while measuring ÷ native while tuning, medians: {' / '.join(found)}.\n" if found else ""


def page(places: Mapping[str, Sequence[Row]], where: str, drifts: Mapping[str, str] = MappingProxyType({})) -> str:
    """The whole page. `where` says on what machine and when, `drifts` how steady it was at each place."""
    parts = [HEAD, where, "\n## All places\n", PICTURE, summary(places)]
    for name, rows in places.items():
        parts += [f"\n## {_title(name)}\n", *_floor(name, rows)]
        for part in comparable(rows):
            distance = describe_distance(part)
            parts += [f"### {distance.capitalize()}\n"] if distance else []
            parts += [*_verdict_table(name, part), *_ratio_table(part)]
        parts.append(f"\n{drifts.get(name, '')}")
    return "\n".join(parts) + "\n"


def summary(places: Mapping[str, Sequence[Row]]) -> str:
    """One line per operation, one column per place: geometric means over all sizes, each MPI against its own native."""
    mpis = list(dict.fromkeys(row.mpi for rows in places.values() for row in rows))
    lines = [
        f"Geometric means over all sizes, native ÷ Espalier, {' / '.join(mpis)}:\n",
        "| | " + " | ".join(_title(name) for name in places) + " |",
        "|---" * (len(places) + 1) + "|",
    ]
    for op in dict.fromkeys(row.op for rows in places.values() for row in rows):
        lines.append(f"| {op} | " + " | ".join(_means(rows, op, mpis) for rows in places.values()) + " |")
    return "\n".join(lines) + "\n"


def _means(rows: Sequence[Row], op: str, mpis: Sequence[str]) -> str:
    ratios = {mpi: [row.ratio_median for row in rows if (row.op, row.mpi) == (op, mpi)] for mpi in mpis}
    return " / ".join(f"{geometric_mean(ratios[mpi]):.2f}" if ratios[mpi] else "–" for mpi in mpis)


def _verdict_table(name: str, rows: Sequence[Row]) -> Iterator[str]:
    goal = _place(name).goal
    verdicts = judge(rows, goal)
    all_means = geometric_mean(row.ratio_median for row in rows)
    reached = f"{sum(it.is_reached for it in verdicts)} of {len(verdicts)} operations reach it"
    yield (
        f"Goal: {goal}. {reached}; the mean over all operations is {mean_of_all(verdicts):.2f}. "
        f"Over all operations, sizes and MPIs, each against its own native: {all_means:.2f}, "
        f"below {NOWHERE_BELOW} in {sum(row.ratio_median < NOWHERE_BELOW for row in rows)} of {len(rows)} cases."
        f"{_disturbance(rows)}\n"
    )
    yield "| operation | on | mean | lowest | at | harm | at | |"
    yield "|---|---|---|---|---|---|---|---|"
    for it in verdicts:
        yield "| " + " | ".join(_verdict_cells(it, rows)) + " |"
    yield ""


def _disturbance(rows: Sequence[Row]) -> str:
    """What other programs did meanwhile (bench/common/others.h); nothing where they did not disturb."""
    disturbed = sum(row.disturbed for row in rows)
    return f" Other programs were busy beside {disturbed} of them, in most rounds." if disturbed else ""


def _verdict_cells(it: Verdict, rows: Sequence[Row]) -> list[str]:
    worst = min((row for row in rows if row.op == it.operation), key=lambda row: row.ratio_median)
    harm = f"{it.harm:.2f}"
    if it.harm < 1:
        harm += f" ({worst.control_min:.2f}–{worst.control_max:.2f})"
    lowest_at = format_bytes(it.lowest_at)
    return [it.operation, it.mpi, f"{it.mean:.2f}", f"{it.lowest:.2f}", lowest_at, harm, it.harm_at, str(it)]


def _floor(name: str, rows: Sequence[Row]) -> Iterator[str]:
    place = _place(name)
    largest = [row for row in rows if (row.op, row.bytes) == ("bcast", 1 << 20)]
    if not place.is_lab or not largest or place.ranks not in FLOORS:
        return
    floor, best = floor_us(1 << 20, RATES), min(largest, key=lambda row: row.espalier_p50_us)
    native = min(row.native_p50_us for row in largest) / floor
    yield (
        f"Broadcast of 1 MB: {best.espalier_p50_us / floor:.2f} times the wire's floor of {floor / 1e3:.1f} ms on "
        f"{best.mpi}, the best native {native:.2f} times; the goal is {FLOORS[place.ranks]}.\n"
    )


def _ratio_table(rows: Sequence[Row]) -> Iterator[str]:
    """Per operation and size the ratios to own native, one for each MPI."""
    mpis = list(dict.fromkeys(row.mpi for row in rows))
    sizes = sorted({row.bytes for row in rows if row.op == "bcast"})
    yield f"Each against its own native: {' / '.join(mpis)}.\n"
    yield "| | " + " | ".join(format_bytes(size) for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for op in dict.fromkeys(row.op for row in rows if row.op != "barrier"):
        own = {(row.mpi, row.bytes): row for row in rows if row.op == op}
        yield f"| {op} | " + " | ".join(_cell(own, mpis, size) for size in sizes) + " |"
    barriers = {row.mpi: row.ratio_median for row in rows if row.op == "barrier"}
    yield f"\nBarriers: {' / '.join(f'{barriers[mpi]:.1f}' for mpi in mpis if mpi in barriers)}."


def _cell(rows: Mapping[tuple[str, int], Row], mpis: Iterable[str], size: int) -> str:
    """A reduction's vector of 4 bytes is one element of 8: it stands under 4."""
    texts = []
    for mpi in mpis:
        row = rows.get((mpi, size)) or (rows.get((mpi, 8)) if size == 4 else None)
        ratio = row.ratio_median if row else None
        text = "–" if ratio is None else f"{ratio:.1f}" if ratio >= NOWHERE_BELOW else f"**{ratio:.2f}**"
        texts.append(text)
    return " / ".join(texts)


def _write_data(places: Mapping[str, Sequence[Row]], file: Path) -> None:
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["place", *(field.name for field in fields(Row))])
        for name, rows in places.items():
            writer.writerows((name, *astuple(row)) for row in rows)


def main(
    results: Annotated[Path, typer.Argument(help="What bench/measures.py wrote.")],
    output: Annotated[Path, typer.Argument(help="Where measured.md and measured.csv go.")],
    readme: Annotated[Path | None, typer.Option(help="A file that gets the summary between its marks.")] = None,
    remark: Annotated[str, typer.Option(help="What else to say of the machine, below its name.")] = "",
    date: Annotated[str, typer.Option(help="When it was measured.")] = datetime.date.today().isoformat(),
) -> None:
    """Write the page and its data."""
    places = load(results)
    where = f"Measured on {machine.processor_name()}, {machine.count_cores()} cores (a virtual machine's), {date}."
    below = f"{where}\n\n{remark}" if remark else where
    _write_data(places, output / "measured.csv")
    measured_picture.main(output / "measured.csv", output / "measured.svg")
    (output / "measured.md").write_text(page(places, below, {name: describe_drift(results, name) for name in places}))
    if readme is not None:
        embed(f"{where} {summary(places)}", readme, BEGIN, END)


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        console.print_error(error)
        sys.exit(2)
