"""Where things live in the package, and who may use whom: data flow one way. HACKING.md says the same in words."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "espalier"

# A folder uses those of earlier lines only; what stands in one line does not know each other.
FOLDERS = (
    ("base",),
    ("jobs",),
    ("lab", "fabric", "simulation", "measure", "profile"),
    ("tuning", "replay"),
    ("papers", "demo", "health"),
    ("draw",),
    ("service",),
    ("commands",),
)
TUNING = (("problems",), ("environment",), ("search",), ("uneven",), ("table",), ("verdict",))
# What a user's program could be: it knows nothing of Espalier.
APART = {"examples"}


def folders_of(place: Path) -> set[str]:
    return {path.parent.name for path in place.glob("*/__init__.py")}


def imports_of(file: Path) -> Iterator[str]:
    """Every module that a file names in an import, wherever in the file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports name the whole path"
            yield from (f"{node.module}.{it.name}" for it in node.names)
        elif isinstance(node, ast.Import):
            yield from (it.name for it in node.names)


def list_faults(place: Path, prefix: str, order: Sequence[Sequence[str]]) -> list[str]:
    """Imports against the order, of folders in `place`, which is `prefix` in imports."""
    rank = {name: at for at, names in enumerate(order) for name in names}
    faults = []
    for own, at in rank.items():
        for file in (place / own).rglob("*.py"):
            for module in imports_of(file):
                used = module.removeprefix(f"{prefix}.").split(".")[0] if module.startswith(f"{prefix}.") else ""
                if used in rank and used != own and rank[used] >= at:
                    faults.append(f"{file.relative_to(place)}: {module}")
    return faults


def test_a_folder_uses_those_above_it_only() -> None:
    assert list_faults(PACKAGE, "espalier", FOLDERS) == []


def test_the_tuners_folders_use_those_above_them_only() -> None:
    assert list_faults(PACKAGE / "tuning", "espalier.tuning", TUNING) == []


def test_an_import_against_the_order_is_found(tmp_path: Path) -> None:
    for name, text in (("one", "from espalier.two.of import it\n"), ("two", "def f():\n    import espalier.one\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "of.py").write_text(text)
    assert list_faults(tmp_path, "espalier", (("one",), ("two",))) == ["one/of.py: espalier.two.of.it"]


@pytest.mark.parametrize(
    ("place", "order", "apart"), [(PACKAGE, FOLDERS, APART), (PACKAGE / "tuning", TUNING, set())], ids=("all", "tuning")
)
def test_every_folder_has_its_place_in_the_order(place: Path, order: Sequence[Sequence[str]], apart: set[str]) -> None:
    assert folders_of(place) == {name for names in order for name in names} | apart


def test_files_live_in_folders() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "cli.py"}


def test_every_folder_says_what_lives_there() -> None:
    silent = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("__init__.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_only_commands_know_how_options_are_written() -> None:
    knowing = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if any(module.split(".")[0] == "typer" for module in imports_of(file))
    }
    assert {name for name in knowing if not name.startswith("commands/")} == {"cli.py"}


def test_pictures_are_made_in_one_folder() -> None:
    drawing = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if "<svg" in file.read_text(encoding="utf-8") or any(it.startswith("matplotlib") for it in imports_of(file))
    }
    assert {name for name in drawing if not name.startswith("draw/")} == set()


def test_examples_know_nothing_of_espalier() -> None:
    used = [module for file in (PACKAGE / "examples").rglob("*.py") for module in imports_of(file)]
    assert [module for module in used if module.split(".")[0] == "espalier"] == []
