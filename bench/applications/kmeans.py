"""k-means: in each step the sums and counts of all clusters are added up over all ranks."""

import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
steps, clusters, dimensions = int(sys.argv[1]), 16, 8
points = np.random.default_rng(world.rank).standard_normal((2000, dimensions))
centres = points[:clusters].copy()
world.Bcast(centres)
begin = time.perf_counter()
for _ in range(steps):
    nearest = ((centres**2).sum(1) - 2 * points @ centres.T).argmin(1)
    sums = np.zeros((clusters, dimensions))
    np.add.at(sums, nearest, points)
    counts = np.bincount(nearest, minlength=clusters).astype(float)
    world.Allreduce(MPI.IN_PLACE, sums)
    world.Allreduce(MPI.IN_PLACE, counts)
    centres = sums / np.maximum(counts, 1)[:, None]
spread = np.array(((points - centres[nearest]) ** 2).sum())
world.Allreduce(MPI.IN_PLACE, spread)
if world.rank == 0:
    print(f"spread {float(spread):.6f}")
    print(f"clustered in {time.perf_counter() - begin:.6f} s")
