"""`python -m espalier` is the `espalier` command."""

from espalier.cli import main

main()
