"""What is odd about a table, and how two differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from espalier.base.units import counted
from espalier.tuning.environment.distances import describe
from espalier.tuning.problems.guidelines import Violation, check_guidelines
from espalier.tuning.problems.problem import FORMS, Problem
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.table.file import MPI, TableFile, distances_in


def compare(first: Sequence[Any], second: Sequence[Any]) -> list[dict[str, Any]]:
    """Where the rows of two tables differ, by what was measured: operation, shape and size."""
    one, two = ({_key(row): row for row in rows} for rows in (first, second))
    differences = []
    for key in dict.fromkeys((*one, *two)):
        left, right = one.get(key), two.get(key)
        if left is not None and right is not None and left.selection == right.selection:
            continue
        differences.append(
            {
                "operation": key[0],
                "shape": f"{key[1]}x{key[2]}{tell_transport(key[4])}",
                "bytes": key[3],
                "first": left.selection if left else None,
                "second": right.selection if right else None,
                "first_us": left.chosen_us if left else None,
                "second_us": right.chosen_us if right else None,
            }
        )
    return differences


# One way serves all sizes of an uneven form: at single ones it may be this much slower than native (docs/adr/0010).
_LEAST_OF_A_FORM = 0.95
# Jobs that learn keep what they usually do where nothing is better by more than this (src/learn/contest.cpp).
_LEAST_LEARNED = 0.97


def find_faults(rows: Sequence[Any]) -> list[str]:
    """Rows that can never fire, and entries that were slower than native when they were measured."""
    faults = []
    for number, row in enumerate(rows, 1):
        hidden = next((at for at, other in enumerate(rows[: number - 1], 1) if _covers(other, row)), None)
        if hidden is not None:
            faults.append(f"row {number} can never fire: row {hidden} matches first")
        least = _LEAST_OF_A_FORM if row.uneven else _LEAST_LEARNED if row.is_learned else 1.0
        if row.selection != NATIVE and row.native_us < least * row.chosen_us:
            faults.append(f"row {number} is slower than native: {row.chosen_us:.2f} µs > {row.native_us:.2f} µs")
    return faults


def _covers(one: Any, other: Any) -> bool:
    inside = all(
        getattr(one, name)[0] <= getattr(other, name)[0] and getattr(other, name)[1] <= getattr(one, name)[1]
        for name in ("nodes", "ppn", "bytes")
    )
    about = (one.operation, one.transport) == (other.operation, other.transport) and one.uneven <= other.uneven
    return about and inside


def guidelines_of(file: TableFile) -> tuple[list[Violation], list[Violation]]:
    """Those that fail by the table's times, and of these apart those that held side by side when it was made."""
    made = file.raw.get("made", {})
    held = made.get("guidelines_hold", []) if isinstance(made, dict) else []
    failing = _violations(file)
    return [it for it in failing if it.name not in held], [it for it in failing if it.name in held]


def _violations(file: TableFile) -> list[Violation]:
    """The guidelines, shape by shape; only where nodes are full does a row say how many ranks there are."""
    shapes: dict[tuple[int, int, str], dict[Problem, float]] = {}
    for row in file.core.rows:
        if row.chosen_us > 0 and not row.uneven:
            shape = shapes.setdefault((row.nodes[1], row.ppn[1], row.transport), {})
            shape[Problem(row.operation, row.measured_bytes)] = row.chosen_us
    return [it for (nodes, ppn, _), times in shapes.items() for it in check_guidelines(times, nodes * ppn)]


def _key(row: Any) -> tuple[str, int, int, int, str]:
    return name_of(row), row.nodes[0], row.ppn[0], row.measured_bytes, row.transport


def tell_transport(transport: str) -> str:
    """What carried messages between nodes, where it was not the MPI."""
    return "" if transport == MPI else f" over {transport}"


def name_of(row: Any) -> str:
    """The uneven form by the name that it has in the tuner: gatherv."""
    forms = {operation: form for form, operation in FORMS.items()}
    return forms[row.operation] if row.uneven else str(row.operation)


def describe_places(file: TableFile) -> str:
    """At which distances of the processors the table was made, and how many rows know fewer; nothing where that is not
    known."""
    made = distances_in(file.raw)
    rows = [distances_in(row, "measured") for row in file.raw["rows"] if row["selection"] != NATIVE]
    fewer = sum(0 < len(row) < len(made) for row in rows)
    left = f"; {fewer} of {counted(len(rows), 'row')} that are not native met it at one of these only" if fewer else ""
    return f"{describe(made)} (a cache line's round trip){left}" if made else ""
