"""The library's settings (ESPALIER_* variables) as the command sees them: names checked, values handed on."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping

from espalier.core import load_core
from espalier.errors import UserError

PREFIX = "ESPALIER_"


def known_settings() -> dict[str, tuple[str, str]]:
    """Name to (default, help) of every setting, from the compiled library. Raises UserError if it is not built."""
    return {setting.name: (str(setting.default), setting.help) for setting in load_core().settings()}


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Turns `--set SHM_LIMIT=64M` (with or without the prefix) into variables; raises UserError for unknown names."""
    known = known_settings() if (pairs := list(pairs)) else {}
    variables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: no value", "write --set NAME=VALUE")
        full = name if name.startswith(PREFIX) else PREFIX + name.upper()
        if full not in known:
            raise UserError(f"--set {pair}: there is no setting {full}", suggest(full, known))
        variables[full] = value
    return variables


def unknown_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """ESPALIER_* variables that no part of Espalier reads, each with a hint at what may have been meant."""
    known = known_settings()
    names = os.environ if environment is None else environment
    return {name: suggest(name, known) for name in names if name.startswith(PREFIX) and name not in known}


def suggest(name: str, known: Iterable[str]) -> str:
    """The nearest known name, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
