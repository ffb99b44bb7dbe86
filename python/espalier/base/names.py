"""Names that are none of those that there are: what may have been meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from espalier.base.errors import UserError

# More names than these are no help to who was near one of them.
_FEW = 24
# How the core says it, "unknown knob 'radx': one of radix, cell", and who reads options, "'a' is not one of 'b', 'c'".
_REFUSALS = (r"""["']([^"']*)["'][^"':]*: (?:one of )?([^"']+)$""", r"'([^']*)' is not one of ('.+)")


def suggest(name: str, known: Iterable[str], *, also: Iterable[str] = (), said: str = "known", prefix: str = "") -> str:
    """ "did you mean radix?", before the list of all that are known where those are few; the list alone where none is
    near.

    `also` are further names, which the list does not need. What all begin with, `prefix`, makes none near.
    """
    known = list(known)
    question = ask(name, [*known, *also], prefix)
    return question.rstrip() if question and len(known) > _FEW else f"{question}{said}: {', '.join(known)}"


def ask(name: str, known: Iterable[str], prefix: str = "") -> str:
    """ "did you mean radix? ", in front of what else there is to say; nothing where none is near. Capitals are as good
    as others."""
    names = {it.removeprefix(prefix).casefold(): it for it in known}
    close = difflib.get_close_matches(name.removeprefix(prefix).casefold(), names, n=1)
    return f"did you mean {names[close[0]]}? " if close else ""


def refuse(text: str, remedy: str) -> UserError:
    """An error that others have put into words. Where it names what there is, the remedy begins with the nearest."""
    for pattern in _REFUSALS:
        if found := re.search(pattern, text):
            remedy = ask(found[1], [word.strip("'.") for word in re.split(", | or ", found[2])]) + remedy
    return UserError(text, remedy)
