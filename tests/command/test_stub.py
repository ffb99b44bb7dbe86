"""The compiled core's stub, which the build generates from src/bindings: what editors and type checkers see."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

core = pytest.importorskip("espalier._core", reason="not built: run `make setup`")

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "espalier"
STUB = Path(core.__file__).with_name("_core.pyi")


@pytest.fixture(scope="module")
def stub() -> ast.Module:
    return ast.parse(STUB.read_text(encoding="utf-8"))


def test_type_checkers_accept_the_stub(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    out, err, code = mypy.run(["--strict", "--config-file=", f"--cache-dir={tmp_path}", str(STUB)])
    assert code == 0, out + err


def test_every_class_and_function_says_what_it_is(stub: ast.Module) -> None:
    named = [node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert [node.name for node in named if not ast.get_docstring(node)] == []


def test_the_package_asks_the_core_for_what_it_has(stub: ast.Module) -> None:
    """load_core() is untyped, so no type checker knows."""
    known = {node.name for node in ast.walk(stub) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    known |= {node.target.id for node in ast.walk(stub) if isinstance(node, ast.AnnAssign)}
    asked = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in re.findall(r"\b(?:core|load_core\(\))\.([a-z]\w*)", _without_imports(file))
    }
    assert len(asked) > 40
    assert asked - known == set()


def _without_imports(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not re.match(r"\s*(from|import) ", line))
