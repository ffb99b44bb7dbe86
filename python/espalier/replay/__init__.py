"""A recorded program's collectives without the program: from its profile, played here or on a simulated cluster."""
