"""The `espalier` command, which `python -m espalier` is, too."""

from __future__ import annotations

import sys

from espalier.base.preload import begin_without_sanitizers


def main() -> None:
    """The console script: interrupted while it begins it ends without a word, as later."""
    begin_without_sanitizers()
    try:
        from espalier.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
