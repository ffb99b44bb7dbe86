"""Small real programs that know nothing of Espalier."""
