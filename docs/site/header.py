"""The C interface as Markdown, from a header whose comments stand in front of what they are about.

A banner (`/* ---- title ---…`) begins a section, a comment a paragraph, a prototype an entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_PART = re.compile(r"/\*(?P<comment>.*?)\*/|(?P<function>^int\s+Espalier_\w+\([^;]*\);)", re.DOTALL | re.MULTILINE)
_BANNER = re.compile(r"^\s*-{4} (?P<title>.+?) -{4,}\n?(?P<rest>.*)$", re.DOTALL)


def describe(file: Path) -> str:
    """The whole header."""
    return "\n".join(_parts(file.read_text(encoding="utf-8")))


def _parts(text: str) -> Iterator[str]:
    for part in _PART.finditer(text):
        comment, function = part["comment"], part["function"]
        if function:
            yield f"```{{c:function}} {' '.join(function.rstrip(';').split())}\n```\n"
        elif banner := _BANNER.match(comment):
            yield f"## {banner['title'][:1].upper()}{banner['title'][1:]}\n"
            yield _prose(banner["rest"])
        else:
            yield _prose(comment)


def _prose(comment: str) -> str:
    """Without the stars that begin a comment's lines."""
    lines = (re.sub(r"^\s*\*\s?", "", line).strip() for line in comment.splitlines())
    return "\n".join(lines).strip().replace("<", "&lt;") + "\n"
