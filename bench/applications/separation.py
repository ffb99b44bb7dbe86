"""Two liquids separate (Cahn and Hilliard) on a periodic grid: mpi4py-fft hands the grid over in each transform.

separation.py SIZE STEPS slab|pencil: a slab is cut along one axis, and handed over once in a transform; a pencil is cut
along two, and handed over twice, among the ranks of a row and of a column.
"""

import sys
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

world = MPI.COMM_WORLD
size, steps, form = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
# FFTW that measures takes what is fastest today, and with it other last bits from run to run.
transform = PFFT(
    world,
    (size, size, size),
    grid=(-1,) if form == "slab" else (-1, -1),
    collapse=form == "slab",
    planner_effort="FFTW_ESTIMATE",
)
share, waves = newDistArray(transform, False), newDistArray(transform, True)
share[:] = np.random.default_rng(1).uniform(-0.1, 0.1, (size, size, size))[transform.local_slice(False)]
whole, half = np.fft.fftfreq(size, 1 / size), np.fft.rfftfreq(size, 1 / size)
mine = transform.local_slice(True)
square = sum(k**2 for k in np.ix_(whole[mine[0]], whole[mine[1]], half[mine[2]]))
step, width, kept = 1e-3, 0.05, 2.0  # kept: what is treated implicitly, so that long steps stay stable
slowed = 1 / (1 + step * square * (kept + width**2 * square))
change = np.empty_like(waves)
world.Barrier()
begin = time.perf_counter()
transform.forward(share, waves)
for _ in range(steps):
    transform.forward(share * (share * share - 1 - kept), change)
    waves -= step * square * change
    waves *= slowed
    transform.backward(waves, share)
seconds = time.perf_counter() - begin
# Sums of whole numbers are the same in any order.
bits, most = np.array(np.ascontiguousarray(share).view(np.uint64).sum()), np.array(np.abs(share).max())
world.Allreduce(MPI.IN_PLACE, bits)
world.Allreduce(MPI.IN_PLACE, most, MPI.MAX)
if world.rank == 0:
    print(f"{form}: {world.size} ranks, purest {float(most)!r}, bits {int(bits):016x}")
    print(f"separated in {seconds:.6f} s")
