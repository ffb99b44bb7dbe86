"""MPI's calls with blocks of different sizes: which algorithms there are, and whether they beat native."""
