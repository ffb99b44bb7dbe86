"""Wu, Kendall and Aluru: shared memory inside the node."""
