"""Every figure, in the order of the page."""

from __future__ import annotations

from espalier.papers.figure import Figure
from espalier.papers.groups import figures as groups
from espalier.papers.leaders import figures as leaders
from espalier.papers.smp import figures as smp
from espalier.papers.trees import figures as trees

FIGURES: tuple[Figure, ...] = (*groups.FIGURES, *trees.FIGURES, *smp.FIGURES, *leaders.FIGURES)
