"""The picture docs/measured.svg: the geometric means of docs/measured.csv, each operation under each MPI at each place.

python bench/measured_picture.py docs/measured.csv docs/measured.svg
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path

from espalier.draw.heat import Heat, draw_heat
from espalier.tuning.verdict.summary import geometric_mean


def draw(entries: Iterable[tuple[str, str, str, float]]) -> str:
    """The picture of (place, MPI, operation, ratio). MPIs without their versions."""
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for place, mpi, operation, ratio in entries:
        ratios.setdefault((operation, place, mpi.split()[0]), []).append(ratio)
    places = dict.fromkeys(place for _, place, _ in ratios)
    return draw_heat(
        Heat(
            "Native ÷ Espalier, geometric means over all sizes",
            list(dict.fromkeys(operation for operation, _, _ in ratios)),
            {place: list(dict.fromkeys(mpi for _, at, mpi in ratios if at == place)) for place in places},
            {key: geometric_mean(values) for key, values in ratios.items()},
        )
    )


def main(data: Path, picture: Path) -> None:
    """Reads the page's data, writes the picture."""
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    entries = [(_spell(it["place"]), it["mpi"], it["op"], float(it["ratio_median"])) for it in rows]
    picture.write_text(draw(entries), encoding="utf-8")


def _spell(place: str) -> str:
    """ "2-ranks" is "2 ranks", "lab-4" four nodes of as many ranks."""
    digits = "".join(letter for letter in place if letter.isdigit())
    return f"4 nodes × {digits}" if place.startswith("lab-") else f"{digits} ranks"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
