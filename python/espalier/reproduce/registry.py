"""Every figure, in the order of the page."""

from __future__ import annotations

from espalier.reproduce import groups, leaders, smp, trees
from espalier.reproduce.figure import Figure

FIGURES: tuple[Figure, ...] = (*groups.FIGURES, *trees.FIGURES, *smp.FIGURES, *leaders.FIGURES)
