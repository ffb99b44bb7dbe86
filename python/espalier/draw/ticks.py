"""Round numbers for axes of time."""

from __future__ import annotations

import math

_MOST = 8


def time_ticks(total: float) -> list[float]:
    """From 0 on, 1, 2 or 5 of a power of ten apart, at most 9 of them up to `total` (µs)."""
    if total <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(total / _MOST))
    step = next(factor * power for factor in (1, 2, 5, 10) if total / (factor * power) <= _MOST)
    return [step * i for i in range(math.floor(total / step + 1e-9) + 1)]


def spell_tick(tick: float, total: float) -> str:
    """A tick of an axis that ends at `total` (µs), in the unit that suits that: "20 µs", "0.5 ms"."""
    unit, scale = ("µs", 1.0) if total < 1e3 else ("ms", 1e3) if total < 1e6 else ("s", 1e6)
    return f"{tick / scale:.6g} {unit}"
