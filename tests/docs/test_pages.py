"""The documentation: it is built without a warning, what it shows can be typed, and what can be run is run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from blocks import GUIDES, PAGES, ROOT, commands, harmless, runnable
from espalier.cli import build_app

# Pages whose blocks are run by a test of their own.
_ELSEWHERE = {"new-algorithm.md"}
RUNNABLE = [page for page in PAGES if page.name not in _ELSEWHERE and any(not it.name for it in runnable(page))]
# What Typer's parser raises for words that it does not know; a file that is not there is no mistake of the page's.
_UNKNOWN = {"NoSuchOption", "NoSuchCommand", "BadOptionUsage", "MissingParameter", "UsageError"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def a_readers(folder: Path) -> dict[str, str]:
    """The environment of somebody who types what a page shows."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("ESPALIER_")}
    path = f"{Path(sys.executable).parent}:{plain['PATH']}"
    return {**plain, "PATH": path, "XDG_CONFIG_HOME": str(folder)}  # no table of whoever runs this


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_all_that_a_page_shows_as_commands_runs(page: Path, tmp_path: Path) -> None:
    environment = a_readers(tmp_path)
    for block in runnable(page):
        if block.name:
            (tmp_path / block.name).write_text(block.text)
            continue
        done = subprocess.run(
            ["bash", "-euc", block.text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, f"{block.text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


# Each command once, where it is shown first.
LINES = {line: name_of(page) for page in reversed((ROOT / "README.md", *GUIDES)) for line in harmless(page)}


def test_there_are_lines_that_can_be_typed_as_they_are() -> None:
    assert {"README.md", "docs/guides/fabric.md", "docs/guides/learning.md"} <= set(LINES.values())
    assert not [line for line in LINES if "my_app" in line or "/etc/" in line]


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_a_guide_can_be_typed_as_it_is(line: str, tmp_path: Path) -> None:
    others = [words.split()[0] for words in line.split("|")[1:]]
    if missing := [it for it in others if shutil.which(it) is None]:
        pytest.skip(f"no {missing[0]} here")
    shutil.copytree(ROOT / "tests" / "data" / "fabric" / "s16" / "00-baseline", tmp_path / "fabric")
    words = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=a_readers(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{LINES[line]}: {line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_a_block_that_a_page_says_is_not_run_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shown = "    $ espalier node -o a.html    # draws\n    espalier explain OP\n\n    espalier lib --any\n"
    page.write_text(shown)
    assert harmless(page) == ["espalier node -o a.html", "espalier lib --any"]
    page.write_text(f"<!-- not run: takes a week -->\n\n{shown}\nText.\n\n    espalier settings\n")
    assert harmless(page) == ["espalier settings"]


@cache
def build_command() -> Any:
    """The command line, which takes a second to put together."""
    return typer.main.get_command(build_app())


def parse(words: list[str]) -> None:
    """As `espalier` would, without doing anything."""
    command = build_command()
    context = None
    while words and words[0] in getattr(command, "commands", {}):
        context = type(context or command.make_context("espalier", ["--help"], resilient_parsing=True))(command)
        command, words = command.commands[words[0]], words[1:]
    try:
        command.make_context("espalier", list(words), parent=context)
    except Exception as error:
        if type(error).__name__ in _UNKNOWN:
            raise AssertionError(f"{' '.join(words)}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_of_a_page_has_the_options_that_it_shows(page: Path) -> None:
    faults = []
    for words in commands(page):
        try:
            parse(words)
        except AssertionError as error:
            faults.append(str(error))
        except SystemExit:
            pass  # --version
    assert faults == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", ROOT / "docs" / "site", ROOT, folder],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    assert (site / "docs" / "index.html").is_file()


def test_search_finds_what_is_generated(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("espalier_alltoallv", "espalier_virtual_nod", "scatter_allgath"):
        assert word in index.lower(), word


def test_the_papers_figures_are_on_it(site: Path) -> None:
    page = (site / "docs" / "results.html").read_text(encoding="utf-8")
    assert page.count("<img") >= 20
    assert all((site / "_images" / f"{name}.svg").is_file() for name in ("smp-1-real", "trees-7-simulated"))


def test_every_setting_and_command_is_in_the_reference(site: Path) -> None:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "packaging" / "pages.py")
    assert spec
    assert spec.loader
    pages = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = pages
    spec.loader.exec_module(pages)
    reference = (site / "docs" / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [it.page for it in pages.walk(pages.root()) if f'id="{it.page}"' not in reference] == []


def found_link(status: str, address: str, info: str = "") -> str:
    """One line of linkcheck's output."""
    entry = {"filename": "a.md", "lineno": 3, "status": status, "code": 0, "uri": address, "info": info}
    return json.dumps(entry) + "\n"


LINKS = found_link("working", "https://a.org") + found_link("broken", "https://b.org", "403 Client Error: Forbidden")
GONE = found_link("broken", "https://c.org", "404 Client Error: Not Found")
SILENT = found_link("local", "b.md") + found_link("broken", "https://d.org", "name or service not known")


@pytest.mark.parametrize(("found", "code"), [(LINKS, 0), (LINKS + GONE, 1), (SILENT, 2), ("", 0)])
def test_a_link_is_gone_where_its_server_says_so_and_not_where_nobody_answers(
    found: str, code: int, tmp_path: Path
) -> None:
    file = tmp_path / "output.json"
    file.write_text(found)
    script = ROOT / "docs" / "site" / "links.py"
    said = subprocess.run([sys.executable, script, file], capture_output=True, text=True, check=False)
    assert said.returncode == code, said.stderr
    assert ("https://c.org: 404" in said.stdout) == (code == 1)
