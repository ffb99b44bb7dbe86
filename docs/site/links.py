"""What `sphinx-build -b linkcheck` found, for `make links`: which links lead nowhere, and what could not be asked.

    python docs/site/links.py build/links/output.json

Exit code 1 where a server says that a page is gone, 2 where none could be reached, which says nothing about the links.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def read(file: Path) -> list[dict[str, Any]]:
    """One entry for each link to the web."""
    entries = [json.loads(line) for line in file.read_text().splitlines() if line]
    return [entry for entry in entries if str(entry["uri"]).startswith("http")]


def judge(entry: dict[str, Any]) -> str:
    """Reached, gone (a server says so), or not asked: it refuses programs, or nobody answers."""
    if entry["status"] in ("working", "redirected", "unchecked", "ignored"):
        return "reached"
    return "gone" if any(f"{code} " in str(entry["info"]) for code in (404, 410)) else "not asked"


def main(file: Path) -> int:
    entries = read(file)
    verdicts = Counter(judge(entry) for entry in entries)
    for entry in entries:
        if judge(entry) != "reached":
            print(f"{entry['filename']}:{entry['lineno']}: {judge(entry)}: {entry['uri']}: {entry['info']}")
    print(f"{len(entries)} links: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    if verdicts["gone"]:
        return 1
    if entries and not verdicts["reached"]:
        print("no server answered: is there a network?")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
