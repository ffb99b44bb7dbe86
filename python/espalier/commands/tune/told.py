"""What `espalier tune` tells at its end, to people or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape

from espalier.base import console
from espalier.base.core import load_core
from espalier.base.units import counted
from espalier.draw.tuning_page import summary_table
from espalier.tuning.legs import TRANSPORT, Leg
from espalier.tuning.table.file import MPI, UCX, preferred_transport, read_table


def tell(legs: Sequence[Leg], json: bool) -> None:
    for leg in legs:
        for remark in leg.result.remarks:
            console.note(remark)
        if leg.how != "complete":
            reason = "the budget is spent" if leg.how == "out of time" else "interrupted"
            has = f"{leg.summary.decided} of {counted(leg.summary.problems, 'entry')}"
            console.err.print(
                f"espalier: {reason}: the table has {has} and can be used; the same command goes on from here",
                soft_wrap=True,
            )
    if json:
        documents = [_document(leg) for leg in legs]
        console.print_json(documents[0] if len(documents) == 1 else {"transports": documents})
        return
    for leg in legs:
        _tell_leg(leg)
    if len(legs) > 1:
        faster = preferred_transport(read_table(load_core(), legs[0].request.output).raw["rows"])
        console.out.print(f"between nodes, {'UCX' if faster == UCX else 'MPI'} carries messages unless told otherwise")
    console.out.print(f"table:  {escape(str(legs[0].request.output))}", soft_wrap=True)


def _tell_leg(leg: Leg) -> None:
    console.out.print(summary_table(leg.result, leg.shape))
    for line in leg.summary.lines():
        console.out.print(escape(line), soft_wrap=True)
    for violation in leg.result.violations:
        console.out.print(f"[yellow]guideline:[/] {escape(str(violation))}", soft_wrap=True)
    console.out.print(f"report: {escape(str(leg.request.report))}", soft_wrap=True)


def _document(leg: Leg) -> dict[str, Any]:
    result = leg.result
    return {
        "table": str(leg.request.output),
        "report": str(leg.request.report),
        "transport": leg.request.variables.get(TRANSPORT, MPI),
        "ended": leg.how,
        "summary": asdict(leg.summary),
        "decisions": [decision.to_json() for decision in result.decisions.values()],
        "violations": [str(violation) for violation in result.violations],
        "repaired": [str(violation) for violation in result.repaired],
        "apparent": [str(violation) for violation in result.apparent],
        "samples": result.samples,
        "untuned": result.untuned,
        "curves": result.curves,
        "remarks": result.remarks,
    }
