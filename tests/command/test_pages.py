"""Man pages and completions, which are made from the command itself."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from espalier.base.checkout import find_checkout

ROOT = find_checkout() or Path()


@pytest.fixture(scope="module")
def pages() -> Any:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "packaging" / "pages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def share(pages: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    pages.write(folder)
    return folder


def test_every_command_has_a_page_that_names_all_its_options(pages: Any, share: Path) -> None:
    commands = list(pages.walk(pages.root()))
    assert {"espalier", "espalier-run", "espalier-table-show", "espalier-fabric-check"} <= {it.page for it in commands}
    for command in commands:
        text = (share / "man" / "man1" / f"{command.page}.1").read_text()
        for parameter in command.click.get_params(command.context):
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert pages.escape(option) in text, f"{command.page}: {option}"


def test_pages_have_no_line_that_the_formatter_warns_of(share: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff")
    for page in sorted((share / "man" / "man1").iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", page], capture_output=True, text=True, check=False
        )
        warnings = [line for line in done.stderr.splitlines() if "cannot adjust" not in line and "break" not in line]
        assert not warnings, page.name


def test_text_that_looks_like_a_request_stays_text(pages: Any) -> None:
    assert pages.escape(".TH\n'quoted'\n--bytes a\\b") == "\\&.TH\n\\&'quoted'\n\\-\\-bytes a\\eb"


def complete(shell: list[str], script: str, tmp_path: Path) -> list[str]:
    """What a shell offers, with `espalier` on PATH."""
    tool = tmp_path / "espalier"
    tool.write_text(f"#!{sys.executable}\nfrom espalier.cli import main\nmain()\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [*shell, script], env=environment, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    return done.stdout.split()


def test_bash_completes_commands_and_options(share: Path, tmp_path: Path) -> None:
    source = f'. "{share}/bash-completion/completions/espalier"; '
    ask = '_espalier_completion espalier; echo "${COMPREPLY[@]}"'
    assert complete(["bash", "-c"], f"{source} COMP_WORDS=(espalier expl) COMP_CWORD=1; {ask}", tmp_path) == ["explain"]
    assert "--nodes" in complete(
        ["bash", "-c"], f"{source} COMP_WORDS=(espalier explain --no) COMP_CWORD=2; {ask}", tmp_path
    )


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completes_commands(share: Path, tmp_path: Path) -> None:
    script = f'source "{share}/fish/vendor_completions.d/espalier.fish"; complete -C "espalier expl"'
    assert complete(["fish", "-c"], script, tmp_path)[0] == "explain"


# A shell that somebody types into, until Tab, which has it say what is then on the line.
IN_ZSH = r"""
zmodload zsh/zpty
zpty asked zsh -f -i
zpty -w asked "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
zpty -w asked "tell() { zle complete-word; print -r -- \$BUFFER >told; exit }; zle -N tell; bindkey '^I' tell"
zpty -w -n asked "$2"$'\t'
while zpty -r asked line; do :; done
cat told
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("espalier expl", "espalier explain"),
        ("espalier table sh", "espalier table show"),
        ("espalier explain --alg", "espalier explain --algorithm"),
    ],
)
def test_zsh_completes_commands_and_options_at_the_first_tab(
    share: Path, tmp_path: Path, typed: str, told: str
) -> None:
    (tmp_path / "asking").write_text(IN_ZSH)
    (tmp_path / "typed").write_text(typed)
    folder = share / "zsh" / "site-functions"
    assert complete(["zsh", "-f", "-c"], f'. ./asking {folder} "$(<typed)"', tmp_path) == told.split()
