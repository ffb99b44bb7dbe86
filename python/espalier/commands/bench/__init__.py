"""`espalier bench`: native against Espalier, and beside it measurements of single ideas."""
