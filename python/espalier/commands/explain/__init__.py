"""`espalier explain`: which plan a collective gets on a machine, why, and what it moves."""
