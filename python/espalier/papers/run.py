"""Runs figures: chooses the way, notes the conditions, keeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.papers import conditions, store
from espalier.papers.figure import Figure, Task, Way, Where
from espalier.papers.registry import FIGURES
from espalier.papers.store import Result


def find(ids: str) -> list[Figure]:
    """ "all", a paper ("smp"), a figure ("smp/3"), or several with commas. Raises UserError for what there is not."""
    words = ids.split(",")
    known = {"all", *(figure.paper for figure in FIGURES), *(figure.id for figure in FIGURES)}
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UserError(
            f"there is no figure '{unknown[0]}'", f"{suggest(unknown[0], sorted(known))}; see espalier reproduce --list"
        )
    return [figure for figure in FIGURES if {"all", figure.paper, figure.id} & set(words)]


def choose_ways(figure: Figure, where: Where | None) -> list[Way]:
    """The way that is asked for, or all. Raises UserError when there is no such way."""
    if where is None:
        return list(figure.ways)
    way = figure.way(where)
    if way is None:
        others = ", ".join(way.where for way in figure.ways)
        raise UserError(f"{figure.id} has no data that are {where}", f"it can be {others}")
    return [way]


def run(figure: Figure, way: Way, task: Task, folder: Path, add: bool = False) -> Result:
    """Makes the data and keeps them; with `add` beside what the folder has under other MPIs. Raises UserError
    when something it needs is missing."""
    begun = conditions.begin(task.mpis if way.uses_mpi else (), task.quick)
    start = time.monotonic()
    data = way.produce(task)
    result = Result(figure, way, data, replace(begun, seconds=round(time.monotonic() - start, 1)))
    if add and (kept := store.load_one(figure, way, folder)):
        result = _join(kept, result)
    store.save(result, folder)
    return result


def _join(old: Result, new: Result) -> Result:
    """The old panels and notes that the new data do not have, then the new ones. What else there is to know is the
    later run's, but for the MPIs and the time."""
    mpis = [mpi for mpi in old.conditions.mpis if mpi not in new.conditions.mpis]
    points = [point for point in old.data.points if point.panel not in new.data.panels]
    notes = [note for note in old.data.notes if not any(mpi in note for mpi in new.conditions.mpis)]
    data = replace(new.data, points=[*points, *new.data.points], notes=tuple(dict.fromkeys([*notes, *new.data.notes])))
    seconds = round(old.conditions.seconds + new.conditions.seconds, 1)
    return replace(
        new, data=data, conditions=replace(new.conditions, mpis=(*mpis, *new.conditions.mpis), seconds=seconds)
    )


def judge_again(figures: Sequence[Figure], folder: Path) -> list[Result]:
    """Judges again what is kept; measures nothing."""
    results = store.load(figures, folder)
    for result in results:
        store.save(result, folder)
    return results
