"""Data and conditions as files: NAME.csv for every point, NAME.json for the rest. NAME is smp-3-real."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.writing import replace_file
from espalier.papers import conditions
from espalier.papers.conditions import Conditions
from espalier.papers.figure import Data, Figure, Point, Verdict, Way

_COLUMNS = ("panel", "curve", "x", "value", "low", "high")


@dataclass(frozen=True)
class Result:
    """One figure at one place, as kept."""

    figure: Figure
    way: Way
    data: Data
    conditions: Conditions

    @property
    def name(self) -> str:
        """Of its files, without a suffix."""
        return f"{self.figure.id.replace('/', '-')}-{self.data.where}"

    @property
    def verdict(self) -> Verdict:
        """Judged anew each time, so that it always follows from the points."""
        return self.way.judge(self.data)


def save(result: Result, folder: Path) -> None:
    """Writes both files, each complete or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / f"{result.name}.csv", _to_csv(result.data.points))
        replace_file(folder / f"{result.name}.json", json.dumps(describe(result), indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}", "choose another --output") from error


def describe(result: Result) -> dict[str, object]:
    """Everything but the points."""
    figure, verdict = result.figure, result.verdict
    return {
        "figure": figure.id,
        "where": str(result.data.where),
        "title": figure.title,
        "stated": figure.stated,
        "verdict": {
            "kind": verdict.kind.name.lower(),
            "hypothesis": verdict.hypothesis,
            "points": list(verdict.points) if verdict.points else [],
            "sentence": str(verdict),
            "parts": list(verdict.parts),
        },
        "conditions": asdict(result.conditions),
        "notes": list(result.data.notes),
    }


def load(figures: Sequence[Figure], folder: Path) -> list[Result]:
    """What is kept of these figures, in their order and that of their ways. Raises UserError for a damaged file."""
    found = []
    for figure in figures:
        for way in figure.ways:
            if result := load_one(figure, way, folder):
                found.append(result)
    return found


def load_one(figure: Figure, way: Way, folder: Path) -> Result | None:
    """None when the folder has no data of it. Raises UserError for a damaged file."""
    path = folder / f"{figure.id.replace('/', '-')}-{way.where}.json"
    return _read(figure, way, path) if path.exists() else None


def _read(figure: Figure, way: Way, path: Path) -> Result:
    table = path.with_suffix(".csv")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        data = Data(way.where, _from_csv(table.read_text(encoding="utf-8")), tuple(facts["notes"]))
        return Result(figure, way, data, conditions.parse(facts["conditions"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = f"make it again: espalier reproduce {figure.id} --where {way.where}"
        raise UserError(f"{path} or {table.name} cannot be read: {error}", remedy) from error


def _to_csv(points: Sequence[Point]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for it in points:
        x = it.x if isinstance(it.x, str) else f"{it.x:g}" if it.x != int(it.x) else str(int(it.x))
        writer.writerow((it.panel, it.curve, x, *(f"{number:.6g}" for number in (it.value, it.low, it.high))))
    return text.getvalue()


def _from_csv(text: str) -> list[Point]:
    rows = csv.DictReader(io.StringIO(text))
    return [
        Point(
            row["panel"], row["curve"], _parse_x(row["x"]), float(row["value"]), float(row["low"]), float(row["high"])
        )
        for row in rows
    ]


def _parse_x(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
