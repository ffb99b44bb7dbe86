"""The tuned table: written from decisions, read back, looked up and checked; and the sizes a budget did not reach."""
