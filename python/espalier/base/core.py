"""The way from Python to the compiled core."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError
from espalier.base.names import refuse


def load_core() -> Any:
    """The module `espalier._core`. Raises UserError, with what to do, if it is missing or does not load.

    Untyped on purpose: the compiled module is not there when the sources alone are checked.
    """
    try:
        return importlib.import_module("espalier._core")
    except ImportError as error:
        remedy = "run `make setup` in the source tree" if find_checkout() else "install the package again"
        raise UserError(f"the compiled part of Espalier cannot be loaded: {error}", remedy) from error


@contextmanager
def user_errors(remedy: str) -> Iterator[None]:
    """Turns the core's ValueError, whose text is made for people, into a UserError with this remedy, and with the name
    that was meant where one is near."""
    try:
        yield
    except ValueError as error:
        raise refuse(str(error), remedy) from error
