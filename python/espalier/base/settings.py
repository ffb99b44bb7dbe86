"""The library's settings (ESPALIER_* variables) as the command sees them: names checked, values handed on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.units import counted
from espalier.base.writing import check_output

PREFIX = "ESPALIER_"
# What name a file that a job writes when it ends.
WRITTEN = (f"{PREFIX}PROFILE", f"{PREFIX}PROFILE_TRACE", f"{PREFIX}STATS")


@dataclass(frozen=True)
class Setting:
    """One variable that the library reads."""

    name: str
    default: str
    help: str
    value: str | None  # what the environment says; None if it is not set


def known_settings() -> dict[str, Setting]:
    """Every setting by its name, from the compiled library. Raises UserError if that is not built."""
    return {
        setting.name: Setting(setting.name, setting.default, setting.help, os.environ.get(setting.name))
        for setting in load_core().settings()
    }


def parse_settings(pairs: Iterable[str], option: str = "--set") -> dict[str, str]:
    """Turns `--set SHM_LIMIT=64M` (with or without the prefix) into variables; raises UserError for unknown names."""
    known = known_settings() if (pairs := list(pairs)) else {}
    variables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"{option} {pair}: no value", f"write {option} NAME=VALUE")
        full = name if name.startswith(PREFIX) else PREFIX + name.upper()
        if full not in known:
            raise UserError(f"{option} {pair}: there is no setting {full}", suggest(full, sorted(known), prefix=PREFIX))
        variables[full] = value
    return variables


def find_refused(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Values that a job would complain of and not take, by why, each with the remedy."""
    core = load_core()
    for complaint in core.check_settings([f"{name}={value}" for name, value in variables.items()]):
        yield complaint, "`espalier settings` lists them"
    start = f"{PREFIX}CHOICE_"
    for name, text in variables.items():
        # Of native and the short path there is nothing to say.
        if not name.startswith(start) or text in ("", "native") or text.partition(",")[0] == "tiny":
            continue
        try:
            core.parse_choice(name.removeprefix(start).lower(), text)
        except ValueError as error:
            yield f"{name}={text}: {error}", "`espalier algorithms` lists them"


def split_nodes(spec: str | None) -> dict[str, str]:
    """The variable that splits ranks so ("4", "3,1,4", "cyclic:4"); nothing for None.

    Raises UserError for what does not say how: jobs would only warn and run on one node.
    """
    if spec is None:
        return {}
    with user_errors("write --virtual-nodes 4, or 3,1,4, or cyclic:4"):
        load_core().virtual_node_of(spec, 0, 1)
    return {PREFIX + "VIRTUAL_NODES": spec}


def check_split(variables: Mapping[str, str], ranks: int) -> None:
    """Before a job of so many ranks starts. Raises UserError where sizes of virtual nodes ("3,1"), which repeat while
    ranks remain, leave the last node with fewer ranks than they say."""
    spec = variables.get(PREFIX + "VIRTUAL_NODES", "")
    sizes = [int(size) for size in spec.split(",") if size.isdecimal()]
    together = sum(sizes)
    if "," not in spec or not together or ranks % together == 0:
        return
    whole = -(-ranks // together) * together
    raise UserError(
        f"virtual nodes {spec} are of {counted(together, 'rank')} together, and the job has {ranks}",
        f"give sizes that sum up to {ranks}, or -n {whole}",
    )


def check_files(variables: Mapping[str, str]) -> None:
    """Before a job starts here. Raises UserError where what it is to write at its end has no place: all that it has
    recorded would be lost."""
    for name in WRITTEN:
        if file := variables.get(name):
            check_output(name, Path(file))


def unknown_variables(known: Iterable[str]) -> dict[str, str]:
    """ESPALIER_* variables of the environment that are not known, each with a hint at what may have been meant."""
    known = set(known)
    return {
        name: suggest(name, sorted(known), prefix=PREFIX)
        for name in os.environ
        if name.startswith(PREFIX) and name not in known
    }
