"""A Poisson problem on a grid, solved by PETSc's conjugate gradients: two or three sums over all ranks in each step."""

import sys

from petsc4py import PETSc

n, method = int(sys.argv[1]), sys.argv[2]
matrix = PETSc.Mat().createAIJ((n * n, n * n), nnz=(5, 2))
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    i, j = divmod(row, n)
    matrix[row, row] = 4.0
    for neighbour, is_inside in ((row - n, i > 0), (row + n, i < n - 1), (row - 1, j > 0), (row + 1, j < n - 1)):
        if is_inside:
            matrix[row, neighbour] = -1.0
matrix.assemble()
solution, source = matrix.createVecs()
source.set(1.0 / n**2)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType(method)
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8, max_it=5000)
begin = PETSc.Log.getTime()
for _ in range(int(sys.argv[3])):
    solution.set(0.0)
    solver.solve(source, solution)
seconds = PETSc.Log.getTime() - begin
PETSc.Sys.Print(f"{method}: {solver.getIterationNumber()} steps, largest {solution.max()[1]:.9f}")
PETSc.Sys.Print(f"solved in {seconds:.6f} s")
