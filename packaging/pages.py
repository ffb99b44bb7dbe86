"""pages.py FOLDER: what a system has of a command beside the command, made from the command itself.

Man pages, one for each command (man/man1), and completions for bash, zsh and fish, where each shell looks for
them. Runs without the compiled core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

import espalier
from espalier.cli import build_app

COMPLETIONS = {
    "bash": "bash-completion/completions/espalier",
    "zsh": "zsh/site-functions/_espalier",
    "fish": "fish/vendor_completions.d/espalier.fish",
}


# zsh takes the file for the function when it first completes `espalier`: what only defines another offers nothing then.
_ZSH_AT_ONCE = """[[ $funcstack[1] != _espalier ]] || _espalier_completion "$@"
"""


@dataclass(frozen=True)
class Command:
    """A command with the words that call it. Typer has click's classes, though not always from click itself."""

    words: tuple[str, ...]
    click: Any
    context: Any

    @property
    def page(self) -> str:
        return "-".join(self.words)

    def children(self) -> Iterator[Command]:
        for name, child in sorted(getattr(self.click, "commands", {}).items()):
            yield Command((*self.words, name), child, type(self.context)(child, parent=self.context, info_name=name))


def walk(command: Command) -> Iterator[Command]:
    """The command and all below it."""
    yield command
    for child in command.children():
        yield from walk(child)


def root() -> Command:
    """`espalier` itself."""
    click = typer.main.get_command(build_app())
    return Command(("espalier",), click, click.make_context("espalier", ["--help"], resilient_parsing=True))


def escape(text: str) -> str:
    """Text as roff takes it: signs that it would make typographic, and lines that it would take for requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in text.splitlines())


def paragraphs(text: str) -> str:
    """Paragraphs of prose; what is indented stays as it is."""
    parts = [part for part in text.replace("\b\n", "").split("\n\n") if part.strip()]
    return "\n.PP\n".join(escape("\n".join(line.strip() for line in part.splitlines())) for part in parts)


def parameters(command: Command, kind: str) -> Iterator[str]:
    """The tagged paragraphs of a command's options or arguments."""
    for parameter in command.click.get_params(command.context):
        record = parameter.get_help_record(command.context)
        if parameter.param_type_name == kind and record:
            name, text = record
            yield f".TP\n.B {escape(name)}\n{escape(' '.join(text.split()))}"


def sections(command: Command) -> Iterator[tuple[str, str]]:
    """Titles and bodies, in the order of a page."""
    help_text = command.click.help or ""
    # Command groups may have no more to say than what their commands do.
    summary = help_text.strip().split("\n")[0].split(". ")[0].rstrip(".") or f"commands of {command.page}"
    yield "NAME", f"{escape(command.page)} \\- {escape(summary[:1].lower() + summary[1:])}"
    usage = " ".join(command.click.collect_usage_pieces(command.context))
    yield "SYNOPSIS", f".B {' '.join(command.words)}\n{escape(usage)}"
    yield "DESCRIPTION", paragraphs(help_text) or escape(f"The commands of {' '.join(command.words)}.")
    yield "ARGUMENTS", "\n".join(parameters(command, "argument"))
    yield "OPTIONS", "\n".join(parameters(command, "option"))
    below = [f".BR {escape(child.page)} (1)" for child in command.children()]
    yield "COMMANDS", "\n.br\n".join(below)
    if len(command.words) == 1:
        yield "ENVIRONMENT", "Settings are variables whose names begin with ESPALIER_; espalier doctor lists them."
    else:
        yield "SEE ALSO", f".BR {escape('-'.join(command.words[:-1]))} (1)"


def man_page(command: Command) -> str:
    """The page's source."""
    title = f'.TH "{command.page.upper()}" "1" "" "espalier {espalier.__version__}" "Espalier"\n'
    return title + "".join(f".SH {name}\n{body}\n" for name, body in sections(command) if body)


def write(share: Path) -> None:
    """Everything, below a prefix's `share`."""
    manual = share / "man" / "man1"
    manual.mkdir(parents=True, exist_ok=True)
    for command in walk(root()):
        (manual / f"{command.page}.1").write_text(man_page(command), encoding="utf-8")
    for shell, place in COMPLETIONS.items():
        file = share / place
        file.parent.mkdir(parents=True, exist_ok=True)
        script = get_completion_script(prog_name="espalier", complete_var="_ESPALIER_COMPLETE", shell=shell)
        file.write_text(script.strip() + "\n" + (_ZSH_AT_ONCE if shell == "zsh" else ""), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: pages.py FOLDER, a prefix's share")
    write(Path(sys.argv[1]))
