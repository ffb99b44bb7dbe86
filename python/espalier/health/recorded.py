"""What a profile of a program tells of calls that Espalier left to the MPI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.jobs.diagnosis import Finding, Level
from espalier.profile.last import find_last
from espalier.profile.reading import Recorded, read_profile

_NATIVE = "native: "
_SOME = "some, before set-up or to learn what it takes"  # Espalier made the first
_MOST_KINDS = 4
_FEW = 0.1  # set-up's own, and communicators that are hardly used


def judge_last(program: Path) -> Iterator[Finding]:
    """Of the program's last profile, which is named by when it was made; nothing where there is none."""
    if (file := find_last(program)) is None:
        return
    made = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
    try:
        found = judge_recorded(read_profile(file))
    except UserError:
        return  # of another version, or damaged: the next profile takes its place
    yield replace(found, text=f"the last of {program.name}, {made:%Y-%m-%d %H:%M}: {found.text}")


def judge_recorded(recorded: Recorded) -> Finding:
    """How many of a rank's calls, the most of which kinds, and why. Those that native made for a sample are not
    counted; a kind's reason is that of its first call."""
    calls, left = 0, Counter[str]()
    for kind, parts in recorded.kinds.items():
        calls += max(part.calls for part in parts)
        native = max(part.native - part.sample.calls for part in parts)
        if native > 0:
            choices = (part.choice for part in parts if part.choice.startswith(_NATIVE))
            left[f"{kind.key.name} ({next(choices, _SOME).removeprefix(_NATIVE)})"] += native
    total = left.total()
    if calls == 0:
        return Finding("profile", Level.WARNING, "no collectives were recorded", "was this the run that you mean?")
    text = f"{total} of {counted(calls, 'call')} were left to the MPI ({100 * total / calls:.0f} %)"
    if left:
        text += ": " + "; ".join(f"{count} {what}" for what, count in left.most_common(_MOST_KINDS))
    if total <= _FEW * calls:
        return Finding("profile", Level.OK, text)
    return Finding("profile", Level.WARNING, text, "docs/guides/my-program.md says what is left, and what helps")
