"""A JSON schema as Markdown: a table of members for each object in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def describe(file: Path) -> str:
    """The table itself, then what its definitions name."""
    schema = json.loads(file.read_text(encoding="utf-8"))
    parts = [schema["description"], "", *_members("The table", schema)]
    for name, definition in schema.get("$defs", {}).items():
        parts += _members(name, definition)
    return "\n".join(parts)


def _members(title: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    if about := schema.get("description"):
        yield f"{about}\n" if title != "The table" else ""
    if "properties" not in schema:
        yield f"{_kind(schema)}\n"
        return
    yield "| member | is | what it says |\n| --- | --- | --- |"
    required = schema.get("required", ())
    for name, member in schema["properties"].items():
        needed = "" if name in required else ", may be absent"
        yield f"| `{name}` | {_kind(member)}{needed} | {member.get('description', '').replace('|', '&#124;')} |"
    yield ""


def _kind(member: Mapping[str, Any]) -> str:
    """A member's type in a few words."""
    if "$ref" in member:
        return f"a {member['$ref'].rsplit('/', 1)[1]}"
    if "const" in member:
        return f"`{json.dumps(member['const'])}`"
    if "enum" in member:
        return "one of " + ", ".join(f"`{value}`" for value in member["enum"])
    if member.get("type") == "array":
        return f"list of {_kind(member.get('items', {}))}"
    kinds = member.get("type", "anything")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
