"""Pictures and pages as a browser shows them: in light and dark, and as wide as a phone, against kept ones.

What is kept is coarse (blocks of 20 by 20 pixels), so that another font is no difference, and letters on a ground of
their own colour are. After a change that is meant: UPDATE_PICTURES=1, look at tests/snapshots/pictures, commit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from matplotlib import image

from espalier.base.checkout import find_checkout
from espalier.demo.comparison import Answer, Comparison, Results
from espalier.draw.demo_page import write_report
from espalier.draw.profile_page import write_page
from espalier.profile.reading import read_profile
from espalier.profile.summary import sum_up
from test_profile import a_row, write
from workshop import Command, ask_browser

ROOT = find_checkout() or Path()
KEPT = ROOT / "tests" / "snapshots" / "pictures"
# Pages say where their data are from: named as from the checkout's folder, wherever that is.
FABRIC, NODE = "tests/data/fabric/s16/00-baseline", "tests/snapshots/machines/opteron-4s.xml"
_BLOCK = 20
# Of the way from black to white: on average, and where blocks differ most (a line that moves by some pixels).
_MEAN, _MOST = 0.02, 0.2

PLAN = (
    "explain",
    "broadcast",
    "--bytes",
    "64K",
    "--nodes",
    "4",
    "--ppn",
    "4",
    "--algorithm",
    "chain",
    "--rank",
    "none",
)
PLAYED = ("simulate", "allreduce", "--bytes", "64K", "--nodes", "8", "--ppn", "2", "--platform", "star:hosts=8")
DRAWINGS: dict[str, tuple[str, ...]] = {
    "plan.svg": (*PLAN, "--svg"),
    "plan.html": (*PLAN, "--html"),
    "time.svg": (*PLAYED, "--algorithm", "ring", "--gantt"),
    "links.svg": (*PLAYED, "--algorithm", "ring", "--links"),
    "node.html": ("node", NODE, "-o"),
    "fabric.html": ("topo", "--fabric", FABRIC, "--highlight", "node000:node005", "-o"),
}


def draw_demo(page: Path) -> None:
    """Two programs, of which one lost somewhere."""
    sizes = [4 << 2 * step for step in range(9)]
    bcasts = [
        Comparison(
            "Bcast",
            size,
            "mpich 5.0.2",
            4,
            (2 + size / 900,) * 3,
            (0.5 + size / 700, 0.4 + size / 1000, 0.4 + size / 1000),
        )
        for size in sizes
    ]
    trees = [Comparison("trees: whole run", 0, "intel 2021.18", 2, (2e5,) * 3, (3e5, 2.5e5, 2.5e5))]
    answer = Answer("trees (mpi4py)", "intel 2021.18", 2, 1500, 20, {"native was selected": 20}, True, "cafd60b7")
    write_report(Results([*bcasts, *trees], [answer]), 3, page)


def draw_profile(page: Path) -> None:
    """Four ranks that wait for the last one."""
    ranks = [
        [
            a_row(communicator="4 ranks on 1 node", waiting=1.5 - 0.5 * rank, seconds=3.0, waited_for={"3": 1.0}),
            a_row(communicator="4 ranks on 1 node", operation="MPI_Bcast", size_class=17, seconds=1.0, waiting=0.1),
        ]
        for rank in range(4)
    ]
    write_page(sum_up(read_profile(write(page.with_suffix(".json"), *ranks))), "./app", page)


# Pages of what jobs have taken, from made-up times.
PAGES: dict[str, Callable[[Path], None]] = {"demo.html": draw_demo, "profile.html": draw_profile}
SHOTS = [
    *((name, "light", 1000) for name in (*DRAWINGS, *PAGES)),
    *((name, "dark", 1000) for name in ("plan.svg", "plan.html", "fabric.html", *PAGES)),
    ("plan.html", "light", 400),
]

Shoot = Callable[[str, str, int], Any]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def draw(command: Command, name: str, path: Path) -> None:
    if name in PAGES:
        PAGES[name](path)
    else:
        assert command(*DRAWINGS[name], str(path)).code == 0


@pytest.fixture
def shoot(command: Command, tmp_path: Path) -> Shoot:
    """A drawing's pixels, 800 high, from 0 to 1."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")

    def shot(name: str, theme: str, width: int) -> Any:
        drawing, picture = tmp_path / name, tmp_path / "shot.png"
        draw(command, name, drawing)
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000",
            f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}",
            f"--window-size={width},800", f"--screenshot={picture}",
        ]  # fmt: skip
        address = f"file://{drawing}" + ("#0.5" if name == "plan.html" else "")
        subprocess.run([browser, *flags, address], capture_output=True, timeout=120, check=True)
        return numpy.asarray(image.imread(str(picture)))[..., :3]

    return shot


def coarsen(pixels: Any) -> Any:
    """The mean of each block."""
    rows, columns = (size // _BLOCK for size in pixels.shape[:2])
    cut = pixels[: rows * _BLOCK, : columns * _BLOCK]
    return cut.reshape(rows, _BLOCK, columns, _BLOCK, 3).mean(axis=(1, 3))


def luminance(colour: Any) -> Any:
    """As the Web Content Accessibility Guidelines count it."""
    linear = numpy.where(colour <= 0.03928, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ numpy.array([0.2126, 0.7152, 0.0722])


def contrast_of(pixels: Any) -> float:
    """Between the ground and what differs most from it; 21 is black on white."""
    light = luminance(pixels.reshape(-1, 3))
    ground = float(numpy.median(light))
    extreme = float(light.min() if ground > 0.5 else light.max())
    return (max(ground, extreme) + 0.05) / (min(ground, extreme) + 0.05)


@pytest.mark.parametrize(("name", "theme", "width"), SHOTS)
def test_a_picture_looks_as_it_did(shoot: Shoot, name: str, theme: str, width: int) -> None:
    pixels = shoot(name, theme, width)
    assert contrast_of(pixels[100:700]) > 7, "what is written stands out from its ground"
    assert (numpy.median(pixels) > 0.5) == (theme == "light")
    kept, blocks = KEPT / f"{name}-{theme}-{width}.png", coarsen(pixels)
    if os.environ.get("UPDATE_PICTURES"):
        KEPT.mkdir(exist_ok=True)
        image.imsave(str(kept), blocks)
    differences = abs(blocks - numpy.asarray(image.imread(str(kept)))[..., :3])
    assert differences.mean() < _MEAN
    assert numpy.quantile(differences, 0.98) < _MOST


@pytest.mark.parametrize("name", [name for name in (*DRAWINGS, *PAGES) if name.endswith(".html")])
def test_a_page_is_no_wider_than_a_phone(command: Command, tmp_path: Path, name: str) -> None:
    page = tmp_path / name
    draw(command, name, page)
    assert int(ask_browser(page, 500, "document.documentElement.scrollWidth")) <= 500
