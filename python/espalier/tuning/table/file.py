"""From decisions to the table's file, and back. The format is docs/reference/table-schema.json.

The library's own reader (espalier._core.Table) is the only judge of what a good table is.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.base.reading import read_regular_text
from espalier.tuning.problems.candidates import Machine, is_valid
from espalier.tuning.problems.problem import EXCHANGED, FORMS, OPERATIONS, Problem
from espalier.tuning.search.decisions import BUILT_IN, Decision
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.uneven.forms import is_known_to_both, takes_any_size

# Transports: the MPI's own messages, which tables do not mention, and UCX.
MPI, UCX = "mpi", "ucx"
# UCX must be faster by this factor on average; what needs nothing else to be installed stays otherwise.
_WORTH_A_CHANGE = 1.05

# A measured size speaks for sizes up to this factor away; beyond it the built-in choice is the better guess.
_REACH = 4
# A row about all sizes ends here, beyond any buffer (src/tune/table.cpp).
_ALL_SIZES = 1 << 40
# Uneven forms come before the operations whose rows hold for all forms: the first match wins.
_ORDER = (*FORMS, *OPERATIONS)

# Sizes below the smallest measured one behave like it when it is as small as this: latency is all there is.
_SMALL = 64


@dataclass(frozen=True)
class TableFile:
    """A table as it lies on the disk: what the library reads of it, and everything else that is written there."""

    path: Path
    core: Any  # espalier._core.Table
    raw: Mapping[str, Any]


def read_table(core: Any, path: Path) -> TableFile:
    """Raises UserError with the library's reason where the table is not usable."""
    try:
        table = core.Table.load(str(path))
        return TableFile(path, table, json.loads(read_regular_text(path, core.table_most_bytes)))
    except (ValueError, OSError) as error:
        raise UserError(str(error), "make a new one with espalier tune -o FILE") from error


def distances_in(raw: Mapping[str, Any], part: str = "made") -> list[float]:
    """At which distances of the processors (espalier.tuning.environment.distances) a table was made; none where that
    is not known, or not told in numbers. Of a row, with part="measured", the same."""
    about = raw.get(part)
    told = about.get("line_ns") if isinstance(about, dict) else None
    return [float(it) for it in told if isinstance(it, int | float) and it > 0] if isinstance(told, list) else []


def rows_of(
    decisions: Sequence[Decision], machine: Machine, unreached: Sequence[Decision] = ()
) -> list[dict[str, Any]]:
    """The table's rows: operations in order, sizes ascending, ranges of bytes that do not overlap. `unreached`: what
    holds where nothing was measured (espalier.tuning.table.unreached); there is no row about what is left to the
    built-in choice, and others leave it room.

    An uneven form whose ranks must tell each other sizes first, and that is native at some of them, is native at all
    but the short blocks, which need no telling; unless a plan is among what was settled (forms.settle_shorts).
    """
    rows = []
    by_operation: dict[str, list[Decision]] = {}
    # Of what a job was lost over there is nothing to say, but that uneven blocks do not follow the rows of equal ones.
    told = [it for it in decisions if it.selection != NATIVE or it.calls or it.problem.is_uneven]
    for decision in sorted([*told, *unreached], key=lambda it: (_ORDER.index(it.problem.operation), it.problem.bytes)):
        by_operation.setdefault(decision.problem.operation, []).append(decision)
    for operation, group in by_operation.items():
        if takes_any_size(machine, group[0].problem):
            rows += _rows_of_any_size(group, machine)
            continue
        if operation in EXCHANGED and _is_settled_before_sizes(group):
            rows += _rows_of_exchanged(group, machine)
            continue
        rows += _rows_by_size(group, _ranges(group, machine), machine)
    return rows


def _rows_by_size(
    group: Sequence[Decision], spans: Iterable[tuple[int, int]], machine: Machine
) -> list[dict[str, Any]]:
    each = zip(group, spans, strict=True)
    return [_row(decision, span, machine) for decision, span in each if decision.selection != BUILT_IN]


def _rows_of_any_size(group: Sequence[Decision], machine: Machine) -> list[dict[str, Any]]:
    """Rows without a gap (src/tune/table.hpp, uneven_native_from): the dedicated path, then native if anything. Where
    sizes choose, a row for each."""
    if not is_known_to_both(machine, group[0].problem):
        ours = list(takewhile(lambda decision: decision.selection != NATIVE, group))
        group = group[: len(ours) + 1]  # one row about all that is native
    ends = [math.isqrt(one.problem.bytes * next_.problem.bytes) for one, next_ in pairwise(group)]
    spans = zip([0, *(end + 1 for end in ends)], [*ends, _ALL_SIZES], strict=True)
    return _rows_by_size(group, spans, machine)


def _is_settled_before_sizes(group: Sequence[Decision]) -> bool:
    """Whether short blocks are all that is not native: what no size has to be known for."""
    ways = [decision.selection for decision in group]
    return NATIVE in ways and (ways[0] == NATIVE or set(ways) == {"tiny", NATIVE})


def _rows_of_exchanged(group: Sequence[Decision], machine: Machine) -> list[dict[str, Any]]:
    """Rows without a gap (src/tune/table.hpp, uneven_native_from): short blocks, then native for all others."""
    shorts = list(takewhile(lambda decision: decision.selection == "tiny", group))
    native = next(decision for decision in group if decision.selection == NATIVE)
    rows, begin = [], 0
    for decision, (_, end) in zip(shorts, _ranges(group, machine), strict=False):
        rows.append(_row(decision, (begin, end), machine))
        begin = end + 1
    return [*rows, _row(native, (begin, _ALL_SIZES), machine)]


def selection_at(rows: Iterable[Mapping[str, Any]], problem: Problem) -> str | None:
    """What these rows, all of one shape, say about a problem; None where the built-in choice is left to decide."""
    for row in rows:
        if "form" in row and not problem.is_uneven:
            continue
        if row["operation"] == problem.even.operation and row["bytes"][0] <= problem.bytes <= row["bytes"][1]:
            return str(row["selection"])
    return None


def _row(decision: Decision, span: tuple[int, int], machine: Machine) -> dict[str, Any]:
    return {
        "operation": decision.problem.even.operation,
        **({"form": "uneven"} if decision.problem.is_uneven else {}),
        **({"transport": machine.transport} if machine.shape.nodes > 1 and machine.transport != MPI else {}),
        "nodes": [machine.shape.nodes] * 2,
        "ppn": [machine.shape.ppn] * 2,
        "bytes": list(span),
        "selection": decision.selection,
        "measured": {
            "bytes": decision.problem.bytes,
            "native_us": decision.native_us,
            "chosen_us": decision.chosen_us,
            "ratio": round(decision.native_us / decision.chosen_us, 3) if decision.chosen_us else 1.0,
            "lowest_ratio": decision.lowest_ratio,
            "highest_ratio": decision.highest_ratio,
            "calls": decision.calls,
            "best": decision.best,
            "best_us": decision.best_us,
            **({"line_ns": [round(it) for it in decision.distances]} if decision.distances else {}),
        },
    }


def _ranges(group: Sequence[Decision], machine: Machine) -> list[tuple[int, int]]:
    """Each measured size speaks for those nearest to it on a logarithmic scale, as far as its selection applies."""
    sizes = [decision.problem.bytes for decision in group]
    if sizes == [0]:
        return [(0, 0)]
    spans = []
    low = 0 if sizes[0] <= _SMALL else sizes[0] // _REACH
    for at, decision in enumerate(group):
        size = sizes[at]
        middle = math.isqrt(size * sizes[at + 1]) if at + 1 < len(group) else 2 * size - 1
        high = _last_valid(machine, decision, min(middle, size * _REACH - 1))
        spans.append((low, high))
        if at + 1 < len(group):
            low = _first_of_next(machine, group[at + 1], high + 1, middle + 1)
    return spans


def _first_of_next(machine: Machine, decision: Decision, earliest: int, usual: int) -> int:
    """A row that ends early leaves its rest to the next one where that applies, too."""
    usual = max(usual, decision.problem.bytes // _REACH)
    near = max(earliest, decision.problem.bytes // _REACH)
    return near if _applies(machine, decision, near) else usual


def _last_valid(machine: Machine, decision: Decision, high: int) -> int:
    """The last size up to `high` that the selection applies to; it applies at the size it was measured at."""
    good, bad = decision.problem.bytes, high + 1
    if _applies(machine, decision, high):
        return high
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _applies(machine, decision, middle) else (good, middle)
    return good


def _applies(machine: Machine, decision: Decision, size: int) -> bool:
    there = Problem(decision.problem.even.operation, size)
    return decision.selection == BUILT_IN or is_valid(machine, there, decision.selection)


def merge_rows(old: Iterable[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The new rows, then the old ones that still say something: of other sizes, operations and shapes."""
    return [*new, *(row for row in old if not any(_replaces(one, row) for one in new))]


def preferred_transport(rows: Iterable[Mapping[str, Any]]) -> str:
    """What should carry messages between nodes: the faster one at the sizes and shapes that were measured over both.

    The sessions were not at the same time, so what counts is how often native fits into each: geometric means.
    """
    ratios: dict[str, dict[tuple[Any, ...], float]] = {MPI: {}, UCX: {}}
    for row in rows:
        if row["nodes"][0] > 1 and row["measured"]["chosen_us"] > 0:
            about = (row["operation"], row.get("form"), *row["nodes"], *row["ppn"], row["measured"]["bytes"])
            ratio = row["measured"]["native_us"] / row["measured"]["chosen_us"]
            ratios[row.get("transport", MPI)].setdefault(about, ratio)
    both = [math.log(ratios[UCX][about] / ratios[MPI][about]) for about in ratios[UCX] if about in ratios[MPI]]
    return UCX if both and math.exp(sum(both) / len(both)) >= _WORTH_A_CHANGE else MPI


def _replaces(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether it speaks of the same problem, or leaves the old row nothing to fire for: the first match wins."""
    if any(new.get(name) != old.get(name) for name in ("operation", "form", "transport", "nodes", "ppn")):
        return False
    inside = new["bytes"][0] <= old["bytes"][0] and old["bytes"][1] <= new["bytes"][1]
    return bool(inside or new["measured"]["bytes"] == old["measured"]["bytes"])


def format_table(
    core: Any,
    signature: Any,
    made: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    model: Mapping[str, Any] | None = None,
) -> str:
    """The file's text: head and rows, one row per line. `model`: what things cost here (environment/model.py)."""
    rows = list(rows)
    transport = preferred_transport(rows)
    head = {
        "espalier_table": core.table_version,
        "machine": signature.machine,
        "mpi": signature.mpi,
        **({"transport": transport} if transport != MPI else {}),
        "made": made,
    } | ({"model": model} if model else {})
    lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in head.items()]
    body = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "\n".join(["{", *lines, '  "rows": [', *([body] if body else []), "  ]", "}", ""])


def write_table(core: Any, path: Path, text: str) -> None:
    """Writes the file, complete or not at all; never one that the library would refuse.

    Raises UserError where the place cannot be written.
    """
    core.Table.parse(text, str(path))
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "name another place with -o FILE") from error
    finally:  # also when somebody stops us here
        with contextlib.suppress(OSError):
            part.unlink()
