"""Pictures and pages as a browser shows them: in light and dark, and as wide as a phone, against kept ones.

What is kept is coarse (blocks of 20 by 20 pixels), so that another font is no difference, and letters on a ground of
their own colour are. After a change that is meant: UPDATE_PICTURES=1, look at tests/snapshots/pictures, commit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from matplotlib import image

from espalier.base.checkout import find_checkout
from espalier.base.core import load_core
from espalier.demo.comparison import Answer, Comparison, Results
from espalier.draw.demo_page import write_report
from espalier.draw.profile_page import write_page
from espalier.draw.tuning_page import write_report as write_tuning
from espalier.profile.reading import read_profile
from espalier.profile.summary import sum_up
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.search.run import Result
from espalier.tuning.verdict.summary import summarize
from services import serving
from test_profile import a_row, write
from tuning_bench import a_machine
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


def draw_tuning(page: Path) -> None:
    """Three operations; native stays for long allgathers, and in one case for want of a difference."""
    result = Result()
    for place, operation in enumerate(("broadcast", "allgather", "allreduce")):
        for step in range(10):
            native, ratio = 2 + 4**step / 900, max(0.97, 4.0 - place - 0.4 * step)
            tuned = ratio > 1.05
            problem = Problem(operation, 4 << 2 * step)
            result.decisions[problem] = Decision(
                problem, "tiny" if tuned else NATIVE, native, native / ratio if tuned else native, ratio, ratio,
                1000, "tiny", native / ratio, "",
            )  # fmt: skip
    signature = load_core().Signature("AMD EPYC, 2 cores", "mpich 5.0.2")
    write_tuning(result, summarize(result, 30, 2, 80.0), signature, a_machine(2).shape, "mpich 5.0.2", page)


# Pages of what jobs have taken, from made-up times.
PAGES: dict[str, Callable[[Path], None]] = {
    "demo.html": draw_demo,
    "profile.html": draw_profile,
    "tuning.html": draw_tuning,
}
SHOTS = [
    *((name, "light", 1000) for name in (*DRAWINGS, *PAGES)),
    *((name, "dark", 1000) for name in ("plan.svg", "plan.html", "fabric.html", *PAGES)),
    ("plan.html", "light", 400),
    ("demo.html", "print", 720),  # as wide as a sheet of paper
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

    def shot(name: str, theme: str, width: int) -> Any:
        drawing = tmp_path / name
        draw(command, name, drawing)
        if theme == "print":
            drawing.write_text(drawing.read_text().replace("@media print", "@media screen"))
        address = f"file://{drawing}" + ("#0.5" if name == "plan.html" else "")
        return take(address, theme, width, tmp_path / "shot.png")

    return shot


def take(address: str, theme: str, width: int, picture: Path) -> Any:
    """What a browser shows there. Skips the test where there is none."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000",
        f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}",
        f"--window-size={width},800", f"--screenshot={picture}",
    ]  # fmt: skip
    subprocess.run([browser, *flags, address], capture_output=True, timeout=120, check=True)
    return numpy.asarray(image.imread(str(picture)))[..., :3]


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


def compare(pixels: Any, name: str, theme: str, width: int) -> None:
    """With the kept picture, and with what any picture should be."""
    assert contrast_of(pixels[100:700]) > 7, "what is written stands out from its ground"
    assert (numpy.median(pixels) > 0.5) == (theme != "dark")
    kept, blocks = KEPT / f"{name}-{theme}-{width}.png", coarsen(pixels)
    if os.environ.get("UPDATE_PICTURES"):
        KEPT.mkdir(exist_ok=True)
        image.imsave(str(kept), blocks)
    differences = abs(blocks - numpy.asarray(image.imread(str(kept)))[..., :3])
    assert differences.mean() < _MEAN
    assert numpy.quantile(differences, 0.98) < _MOST


@pytest.mark.parametrize(("name", "theme", "width"), SHOTS)
def test_a_picture_looks_as_it_did(shoot: Shoot, name: str, theme: str, width: int) -> None:
    compare(shoot(name, theme, width), name, theme, width)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_services_page_looks_as_it_did(tmp_path: Path, theme: str) -> None:
    with serving(ROOT / FABRIC, tmp_path, "--http", "127.0.0.1:0") as service:
        address = f"{service.url}?from=node000&to=node005"
        compare(take(address, theme, 1000, tmp_path / "shot.png"), "service", theme, 1000)


def test_the_tuners_page_shows_where_it_gains_and_where_native_stays(tmp_path: Path) -> None:
    """Each field of the heat map has its ratio and a colour of its kind; an operation's name leads to its race."""
    page = tmp_path / "tuning.html"
    draw_tuning(page)
    heat = page.read_text().partition("<h2>What is gained</h2>")[2].partition("</figure>")[0]
    fields = re.findall(r'<title>(\w+), bytes, (\w+): ([\d.]+)</title><rect class="(\w+)"', heat)
    assert len(fields) == 30
    assert ("broadcast", "4", "4.00", "better") in fields
    assert ("allreduce", "1M", "1.00", "even") in fields
    assert {kind for _, _, ratio, kind in fields if float(ratio) > 1.05} == {"better"}
    assert [f'href="#{name}"' in heat for name in ("broadcast", "allgather", "allreduce")] == [True] * 3
    assert page.read_text().count('<figure id="') == 3


@pytest.mark.parametrize("name", [name for name in (*DRAWINGS, *PAGES) if name.endswith(".html")])
def test_a_page_is_no_wider_than_a_phone(command: Command, tmp_path: Path, name: str) -> None:
    page = tmp_path / name
    draw(command, name, page)
    assert int(ask_browser(page, 500, "document.documentElement.scrollWidth")) <= 500
