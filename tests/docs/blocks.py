"""What the pages show: files to write, commands to run, and commands that need more than a test has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"
)
GUIDES = [page for page in PAGES if page.parent.name == "guides"]
# A file with its name in front of it, or a block of commands.
_RUNNABLE = re.compile(
    r"^(?:\*\*`(?P<name>[^`]+)`\*\*\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"(^|\s{2,})#.*$")
_ASSIGNMENT = re.compile(r"^[A-Z_]+=\S*$")


@dataclass(frozen=True)
class Block:
    """A file, or commands where it has no name."""

    name: str
    text: str


def runnable(page: Path) -> list[Block]:
    """The files and `sh` blocks of a page, in its order."""
    found = _RUNNABLE.finditer(page.read_text(encoding="utf-8"))
    return [Block(it["name"] or "", it["text"]) for it in found if it["name"] or it["kind"] == "sh"]


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind `espalier` on every line of a block that calls it, run or not."""
    for line in _code_lines(page.read_text(encoding="utf-8")):
        for part in re.split(
            r"\s(?:\|\|?|&&|;|>)\s|\$\(|\)(?=\s|$)", _COMMENT.sub("", line.strip().removeprefix("$ "))
        ):
            words = _words(part)
            while words and (_ASSIGNMENT.match(words[0]) or words[0] in ("sudo", "export")):
                words.pop(0)
            if words and Path(words[0]).name == "espalier" and "…" not in part:
                yield words[1:]


# What these words begin changes nothing but files that it is told to write, takes a second, and needs neither a job nor
# what jobs have learned.
_HARMLESS = re.compile(
    r"espalier (algorithms|doctor|explain|fabric (check|export|matrix)|lib|node|routes?|settings|table list|topo)\b"
)
# What stands for something of the reader's: DIR, FILE, ./my_app, a place of another machine.
_PLACEHOLDER = re.compile(r"(?<![\w$=.-])([A-Z]{2,}|\./\w+|/(?:var|etc|opt)/\S*|~\w+/\S*)(?![\w=])")
# A writer's word before a block whose lines are not to be run.
_NOT_RUN = re.compile(r"<!-- not run: .+? -->\n+((?:(?:    .*)?\n)+)")


def harmless(page: Path) -> list[str]:
    """The lines of indented blocks that can be typed as they are, wherever the network `fabric` lies in this folder.

    `<!-- not run: why -->` before a block leaves all its lines out.
    """
    text = _NOT_RUN.sub("\n", page.read_text(encoding="utf-8").replace("\\\n", " "))
    found = []
    for line in text.splitlines():
        typed = _COMMENT.sub("", line.strip().removeprefix("$ "))
        if line.startswith("    ") and _HARMLESS.match(typed) and "…" not in typed and not _PLACEHOLDER.search(typed):
            found.append(typed)
    return found


def _code_lines(text: str) -> Iterator[str]:
    """Lines of indented and fenced blocks; those that end with a backslash with what follows."""
    inside = False
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside or line.startswith("    "):
            yield line


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # half of a quoted text: the output of something
        return []
