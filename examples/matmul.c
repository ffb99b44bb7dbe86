/* Matrix multiplication on a grid of ranks (SUMMA, van de Geijn and Watts 1997): C = A B, panel by panel. In each step
 * the ranks that own a panel of A broadcast it along their row of the grid, those that own a panel of B along their
 * column; everybody multiplies what arrived.
 *
 *   mpiexec -n 6 matmul [N]      N: rows and columns (default 240)
 *
 * Any number of ranks: the grid is as square as can be, and blocks may be uneven. Entries are small whole numbers, so
 * the result is exact; it is checked with a vector, C x = A (B x). Standard output depends on N alone. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of one dimension that position `at` of `parts` owns. */
struct span {
  int begin, count;
};

enum { WIDEST = 32 }; /* panel, in columns of A and rows of B */

static int size; /* of the matrices: size × size */
static struct grid {
  int rows, columns, row, column; /* of ranks; mine */
  MPI_Comm along_row, along_column;
} grid;

static struct span part(int at, int parts) {
  int begin = (int)((long)size * at / parts);
  return (struct span){begin, (int)((long)size * (at + 1) / parts) - begin};
}

static int owner(int index, int parts) {
  int at = 0;
  while (part(at, parts).begin + part(at, parts).count <= index) ++at;
  return at;
}

static double entry_a(int i, int j) { return (i * 3 + j * 5) % 7 - 3; }
static double entry_b(int i, int j) { return (i * 2 + j * j) % 5 - 2; }
static double entry_x(int i) { return i % 4 - 1; }

static double* allocate(long count) {
  double* memory = calloc((size_t)count + 1, sizeof(double));
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

static void make_grid(void) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (grid.rows = 1; (grid.rows + 1) * (grid.rows + 1) <= ranks;) ++grid.rows;
  while (ranks % grid.rows != 0) --grid.rows;
  grid.columns = ranks / grid.rows;
  grid.row = rank / grid.columns;
  grid.column = rank % grid.columns;
  MPI_Comm_split(MPI_COMM_WORLD, grid.row, grid.column, &grid.along_row);
  MPI_Comm_split(MPI_COMM_WORLD, grid.column, grid.row, &grid.along_column);
}

/* Columns k … k + width - 1 of A, or rows of B, from whoever owns them; panels end where an owner's part ends. */
static int panel_width(int k) {
  struct span a = part(owner(k, grid.columns), grid.columns), b = part(owner(k, grid.rows), grid.rows);
  int end = a.begin + a.count < b.begin + b.count ? a.begin + a.count : b.begin + b.count;
  return end - k < WIDEST ? end - k : WIDEST;
}

static void multiply_panel(double* c, int k, int width, double* a, double* b) {
  struct span rows = part(grid.row, grid.rows), columns = part(grid.column, grid.columns);
  int root_a = owner(k, grid.columns), root_b = owner(k, grid.rows);
  for (int i = 0; root_a == grid.column && i < rows.count; ++i)
    for (int j = 0; j < width; ++j) a[i * width + j] = entry_a(rows.begin + i, k + j);
  for (int i = 0; root_b == grid.row && i < width; ++i)
    for (int j = 0; j < columns.count; ++j) b[i * columns.count + j] = entry_b(k + i, columns.begin + j);
  MPI_Bcast(a, rows.count * width, MPI_DOUBLE, root_a, grid.along_row);
  MPI_Bcast(b, width * columns.count, MPI_DOUBLE, root_b, grid.along_column);
  for (int i = 0; i < rows.count; ++i)
    for (int l = 0; l < width; ++l)
      for (int j = 0; j < columns.count; ++j)
        c[(long)i * columns.count + j] += a[i * width + l] * b[l * columns.count + j];
}

static double* multiply(void) {
  struct span rows = part(grid.row, grid.rows), columns = part(grid.column, grid.columns);
  double *c = allocate((long)rows.count * columns.count), *a = allocate((long)rows.count * WIDEST),
         *b = allocate((long)WIDEST * columns.count);
  for (int k = 0, width; k < size; k += width) multiply_panel(c, k, width = panel_width(k), a, b);
  free(a);
  free(b);
  return c;
}

/* y = C x for all rows, summed along the rows of the grid, then collected along a column. */
static void apply(const double* c, double* y) {
  struct span rows = part(grid.row, grid.rows), columns = part(grid.column, grid.columns);
  double *partial = allocate(rows.count), *mine = allocate(rows.count);
  int counts[grid.rows], offsets[grid.rows];
  for (int i = 0; i < rows.count; ++i)
    for (int j = 0; j < columns.count; ++j) partial[i] += c[(long)i * columns.count + j] * entry_x(columns.begin + j);
  MPI_Allreduce(partial, mine, rows.count, MPI_DOUBLE, MPI_SUM, grid.along_row);
  for (int r = 0; r < grid.rows; ++r) counts[r] = part(r, grid.rows).count, offsets[r] = part(r, grid.rows).begin;
  MPI_Allgatherv(mine, rows.count, MPI_DOUBLE, y, counts, offsets, MPI_DOUBLE, grid.along_column);
  free(partial);
  free(mine);
}

/* A (B x), the direct way: every rank alone. */
static void expect(double* y) {
  double* bx = allocate(size);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) bx[i] += entry_b(i, j) * entry_x(j);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) y[i] += entry_a(i, j) * bx[j];
  free(bx);
}

int main(int argc, char** argv) {
  int rank, wrong, any_wrong;
  MPI_Init(&argc, &argv);
  size = argc > 1 ? atoi(argv[1]) : 240;
  if (size < 1) MPI_Abort(MPI_COMM_WORLD, 2);
  make_grid();
  double *c = multiply(), *y = allocate(size), *expected = allocate(size), sum = 0;
  apply(c, y);
  expect(expected);
  wrong = memcmp(y, expected, sizeof(double) * (size_t)size) != 0;
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) sum += y[i] * (i % 11);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%d x %d, checksum %.0f, %s\n", size, size, sum, any_wrong ? "WRONG" : "C x = A (B x)");
  MPI_Comm_free(&grid.along_row);
  MPI_Comm_free(&grid.along_column);
  free(c);
  free(y);
  free(expected);
  MPI_Finalize();
  return any_wrong;
}
