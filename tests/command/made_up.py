"""Data of figures nobody measured, to put before the judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from espalier.papers.figure import Data, Point, Where


def made_up(panels: Mapping[str, Mapping[str, Mapping[Any, float]]], where: Where = Where.REAL) -> Data:
    """By panel, curve and place on the axis; every value is exact."""
    points = [
        Point.exact(panel, curve, x, value)
        for panel, curves in panels.items()
        for curve, values in curves.items()
        for x, value in values.items()
    ]
    return Data(where, points)
