"""A profile's file before anything in it is understood: whether it is there, a text, and whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError

NO_PROFILE = "give a file that ESPALIER_PROFILE has named"
_INCOMPLETE = "copy it again, or profile the program again"


def load_json(path: Path) -> Any:
    """What it holds. Raises UserError, naming the file, for one that is not there, and for what is no JSON."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file", "check the spelling, and the folder") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: that is a folder", "name the file in it that holds the profile") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check who may read it") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no profile: it is no text", NO_PROFILE) from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _explain(path, text, error) from error
    except (ValueError, RecursionError) as error:
        trouble = "it holds a number that is too long, or lists within lists without end"
        raise UserError(f"{path} is no profile: {trouble}", NO_PROFILE) from error


def _explain(path: Path, text: str, error: json.JSONDecodeError) -> UserError:
    """Why a text is no JSON: it ends too early, in the middle of a word perhaps; or it is wrong where it breaks off."""
    if not text.strip():
        return UserError(f"{path} is no profile: it is empty", _INCOMPLETE)
    if not text.lstrip().startswith("{"):
        return UserError(f"{path} is no profile: it is no JSON", NO_PROFILE)
    rest = text[error.pos :].strip()
    if error.msg.startswith("Unterminated string") or re.fullmatch(r"[\w.+-]{0,5}", rest):
        return UserError(f"{path} is no profile: it is cut off, at its line {text.count(chr(10)) + 1}", _INCOMPLETE)
    place = f"line {error.lineno}, column {error.colno}"
    return UserError(f"{path} is no profile: it is damaged at {place}, where its JSON breaks off", _INCOMPLETE)
