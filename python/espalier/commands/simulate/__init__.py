"""`espalier simulate`: plans played, or the library executed, on a network that one does not have."""
