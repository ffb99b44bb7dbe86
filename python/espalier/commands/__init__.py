"""One file per command; each has one function of that name, which `espalier.cli` registers."""
