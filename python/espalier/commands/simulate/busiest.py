"""Which parts of a simulated network or node had most to do, as a terminal shows it."""

from __future__ import annotations

from espalier.base import console
from espalier.base.units import approximate_bytes
from espalier.simulation.simulator import Answer

_SHOWN = 8


def print_busiest(title: str, answer: Answer) -> None:
    """A bar for each of the busiest; nothing where messages shared nothing."""
    busiest = sorted(answer.loads, key=lambda load: -load.busy)[:_SHOWN]
    if busiest:
        console.out.print(f"\n{title}")
    for load in busiest:
        bar = "█" * round(20 * min(load.busy, 1))
        console.out.print(f"  {load.link:24} {bar:20} {load.busy:4.0%}  {approximate_bytes(load.bytes)}")
