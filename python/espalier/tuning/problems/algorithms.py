"""What the catalogue knows of its algorithms, and what each would do for a problem."""

from __future__ import annotations

from typing import Any

from espalier.tuning.problems.problem import REDUCTIONS


def describe(entry: Any) -> dict[str, Any]:
    """One algorithm as plain values; knobs by name, each with its range as the catalogue spells it."""
    knobs = dict(word.partition("=")[::2] for word in entry.knobs.split())
    return {
        "name": entry.name,
        "operation": entry.operation,
        "between": entry.between,
        "summary": entry.summary,
        "source": entry.source,
        "knobs": knobs,
    }


def try_out(core: Any, topology: Any, entry: dict[str, Any], size: int) -> dict[str, Any]:
    """What the algorithm with its default knobs would do: why not, or the most that one node sends."""
    operation = entry["operation"]
    size = -(-size // 8) * 8 if operation in REDUCTIONS else size
    element = 8 if operation in REDUCTIONS else 1
    choice = core.parse_choice(operation, entry["between"])
    reason = core.why_invalid(topology, operation, size, choice, element=element)
    if reason:
        return {"why_invalid": reason}
    traffic = core.build(topology, operation, size, 0, choice, element=element).traffic()
    return {
        "messages": max(node["messages_out"] for node in traffic),
        "bytes": max(node["bytes_out"] for node in traffic),
        "steps": max(node["steps"] for node in traffic),
    }
